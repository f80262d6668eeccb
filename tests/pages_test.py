"""The pages of docs/ that show figures, and their charts, are what results/ gives, and the check finds where they are not."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])
LAYER_CHARTS = ["docs/performance/channels_last.svg", "docs/performance/contiguous.svg"]
CURVES = ["docs/training/loss.svg", "docs/training/accuracy.svg"]
GENERATED = ["docs/performance.md", "docs/training-results.md", "docs/processes-results.md", "docs/python-results.md", *LAYER_CHARTS, *CURVES]
TUTORIAL = "docs/python.md"  # a generated table in a page that is written by hand


def generate(root, *options):
    command = [sys.executable, SOURCE / "scripts/write_docs.py", "--root", root, *options]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stderr


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(SOURCE / "results", tmp_path / "results")
    for name in [*GENERATED, TUTORIAL]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, tmp_path / name)
    return tmp_path


def words_of(chart):
    return [element.text for element in xml.etree.ElementTree.parse(SOURCE / chart).iter() if element.tag.endswith("text")]


def test_the_pages_are_what_the_records_give():
    assert generate(SOURCE, "--check") == (0, "")


@pytest.mark.parametrize("name", GENERATED)
def test_a_file_that_was_edited_is_named_and_written_anew(copy, name):
    (copy / name).write_text("edited")
    status, errors = generate(copy, "--check")
    assert status == 1 and name in errors
    assert (copy / name).read_text() == "edited"
    assert generate(copy) == (0, "")
    assert generate(copy, "--check") == (0, "")


def test_the_table_in_the_tutorial_is_written_anew_and_the_rest_stays(copy):
    path, whole = copy / TUTORIAL, (SOURCE / TUTORIAL).read_text()
    families = json.loads((SOURCE / "results/python-families.json").read_text())["families"]
    assert all(f"| {row['family']} | {row['norms']} |" in whole for row in families)
    before, rest = whole.split("<!-- families: begin -->\n")
    after = rest.split("<!-- families: end -->\n")[1]
    path.write_text(f"{before}<!-- families: begin -->\nedited\n<!-- families: end -->\n{after}")
    status, errors = generate(copy, "--check")
    assert status == 1 and TUTORIAL in errors
    assert generate(copy) == (0, "") and path.read_text() == whole
    path.write_text("without the lines")
    status, errors = generate(copy)
    assert status == 1 and "families: begin" in errors and errors.count("\n") == 1 and path.read_text() == "without the lines"


@pytest.mark.parametrize("name", ["results/layer.json", "results/step.json", "results/processes.json"])
def test_a_missing_record_is_one_sentence(copy, name):
    (copy / name).unlink()
    status, errors = generate(copy, "--check")
    assert status == 1 and errors.startswith(f"write_docs.py: there is no {name}") and errors.count("\n") == 1


@pytest.mark.parametrize("name", LAYER_CHARTS)
def test_layer_charts_are_whole_and_show_every_shape(name):
    record = json.loads((SOURCE / "results/layer.json").read_text())
    for measurement in record["measurements"]:
        assert " × ".join(map(str, measurement["shape"])) in words_of(name)


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_whole_and_show_every_run(name):
    runs = list((SOURCE / "results/training").glob("*/recipe.json"))
    assert len(runs) >= 4
    for run in runs:
        assert json.loads(run.read_text())["recipe"]["norm"] in words_of(name)
