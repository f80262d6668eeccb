"""docs/performance.md and its charts are what results/layer.json gives, and the check finds where they are not."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])
GENERATED = ["docs/performance.md", "docs/performance/channels_last.svg", "docs/performance/contiguous.svg"]


def generate(root, *options):
    command = [sys.executable, SOURCE / "scripts/performance_page.py", "--root", root, *options]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stderr


@pytest.fixture
def copy(tmp_path):
    for name in ["results/layer.json", *GENERATED]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, tmp_path / name)
    return tmp_path


def test_the_page_is_what_the_record_gives():
    assert generate(SOURCE, "--check") == (0, "")


@pytest.mark.parametrize("name", GENERATED)
def test_a_file_that_was_edited_is_named_and_written_anew(copy, name):
    (copy / name).write_text("edited")
    status, errors = generate(copy, "--check")
    assert status == 1 and name in errors
    assert (copy / name).read_text() == "edited"
    assert generate(copy) == (0, "")
    assert generate(copy, "--check") == (0, "")


def test_a_missing_record_is_one_sentence(tmp_path):
    status, errors = generate(tmp_path, "--check")
    assert status == 1 and errors.startswith("performance_page.py: there is no results/layer.json") and errors.count("\n") == 1


@pytest.mark.parametrize("name", GENERATED[1:])
def test_charts_are_whole_and_show_every_shape(name):
    words = [element.text for element in xml.etree.ElementTree.parse(SOURCE / name).iter() if element.tag.endswith("text")]
    record = json.loads((SOURCE / "results/layer.json").read_text())
    for measurement in record["measurements"]:
        assert " × ".join(map(str, measurement["shape"])) in words
