"""docs/paper.md and the table of README.md are what results/studies and its folder standard give, and `samplenorm report` writes them and only them."""

import os
import pathlib
import shutil
import subprocess

import pytest

import study_records

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])
PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
STUDIES = SOURCE / "results/studies"
MARKED = "# A\n\n<!-- studies: begin -->\nold\n<!-- studies: end -->\n\nThe rest.\n"


def report(folder, *arguments):
    result = subprocess.run([PROGRAM, "report", *arguments], cwd=folder, capture_output=True, text=True)
    return result.returncode, result.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "studies").mkdir()
    study_records.write_studies(tmp_path / "studies")
    (tmp_path / "README.md").write_text(MARKED)
    return tmp_path


@pytest.mark.skipif(not STUDIES.exists(), reason="no studies were run yet")
def test_page_and_readme_are_what_the_records_give(tmp_path):
    shutil.copy(SOURCE / "README.md", tmp_path)
    assert report(tmp_path, STUDIES, STUDIES / "standard", "--page", "paper.md", "--readme", "README.md") == (0, "")
    for written, kept in (("paper.md", "docs/paper.md"), ("README.md", "README.md")):
        assert (tmp_path / written).read_text() == (SOURCE / kept).read_text(), f"{kept}: run ./run docs"


def test_a_page_is_written_and_no_html(folder):
    assert report(folder, "studies", "--page", "paper.md") == (0, "")
    page = (folder / "paper.md").read_text()
    assert page.startswith("# The paper, reproduced\n") and "| `BN` |" in page
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "paper.md", "studies"]
    assert (folder / "README.md").read_text() == MARKED


def test_the_table_takes_the_place_between_its_lines(folder):
    assert report(folder, "studies", "--readme", "README.md", "-o", "report.html") == (0, "")
    text = (folder / "README.md").read_text()
    assert text.startswith("# A\n\n<!-- studies: begin -->\n\n| norm | ") and "old" not in text
    assert text.endswith("|\n\n<!-- studies: end -->\n\nThe rest.\n")
    assert (folder / "report.html").exists()


def test_a_readme_without_the_lines_is_one_sentence(folder):
    (folder / "README.md").write_text("nothing\n")
    status, errors = report(folder, "studies", "--readme", "README.md")
    assert status == 1 and "studies: begin" in errors and errors.count("\n") == 1
    assert (folder / "README.md").read_text() == "nothing\n"
