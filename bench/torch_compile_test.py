"""bench/torch_compile.py on a small shape, as `./run bench layer --json` calls it after the program."""

import json
import os
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).with_name("torch_compile.py")
SHAPE = [4, 8, 6, 6]


def run(*options):
    return subprocess.run([sys.executable, SCRIPT, "--library", os.environ["SAMPLENORM_LIBRARY"], *options], capture_output=True, text=True)


def test_figures_are_added_to_the_record(tmp_path):
    record = tmp_path / "layer.json"
    record.write_text('{"measurements": [1]}')
    result = run("--quick", "--shape", ",".join(map(str, SHAPE)), "--json", record)
    assert result.returncode == 0, result.stderr
    content = json.loads(record.read_text())
    assert content["measurements"] == [1]
    found = content["torch_compile"]["measurements"]
    assert {(each["format"], each["fusion"], each["contender"]) for each in found} == {
        (layout, fusion, contender) for layout in ("channels_last", "contiguous") for fusion in ("BN", "BN+ReLU", "BN+add+ReLU")
        for contender in ("torch eager", "torch.compile", "FS-1/64", "LS-1/64")}
    assert all(each["shape"] == SHAPE and each["both"]["median"] > 0 for each in found)
    assert list(tmp_path.iterdir()) == [record]


def test_a_file_that_is_no_record_is_left_alone(tmp_path):
    record = tmp_path / "layer.json"
    record.write_text("not JSON")
    result = run("--json", record)
    assert result.returncode == 1 and "is no JSON file" in result.stderr
    assert record.read_text() == "not JSON"
