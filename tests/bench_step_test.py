"""`samplenorm bench step` on a small step: the same network in Python and in other processes takes its turns and agrees on
the loss."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
IN_PYTHON = pathlib.Path(os.environ["SAMPLENORM_SOURCE"]) / "bench/step_in_python.py"
PYTHON = f"python={sys.executable} {IN_PYTHON}"


def run(*options):
    return subprocess.run([PROGRAM, "bench", "step", "--quick", *map(str, options)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    path = tmp_path_factory.mktemp("step") / "step.json"
    result = run("--model", "resnet20", "--batch", 4, "--norm", "BN,LS-1/64", "--json", path, "--data", "synthetic",
                 "--rival", PYTHON,
                 "--rival", f"system=env SAMPLENORM_ALLOCATOR=system {PROGRAM} bench step --norm BN --serve")
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(path.read_text())


def test_all_are_timed_and_compared_with_all(timed):
    record = timed[1]
    names = ["BN", "LS-1/64", "python", "system"]
    assert [step["name"] for step in record["steps"]] == names
    for step in record["steps"]:
        assert step["rounds"] >= 3 and list(step["speed_against"]) == sorted(names)
        assert step["speed_against"][step["name"]] == pytest.approx(1)
        assert 0 < step["forward"]["median"] < step["both"]["median"]
        assert step["name"] in timed[0]
    assert (record["model"], record["batch"], record["side"]) == ("resnet20", 4, 32) and record["commit"]


def test_goals_are_the_speed_against_python_and_the_time_not_waited(timed):
    record = timed[1]
    goals = {goal["id"]: goal for goal in record["goals"]}
    assert goals["step_bn_against_python"]["value"] == pytest.approx(record["steps"][0]["speed_against"]["python"])
    assert goals["step_bn_against_python"]["must"] == 1
    assert 0 <= record["waiting"] <= 1
    assert goals["step_not_waiting"]["value"] == pytest.approx(1 - record["waiting"])


@pytest.mark.parametrize("model, side", [("resnet32", 32), ("resnet18", 64), ("resnet50", 64)])
def test_python_has_the_same_network(model, side):
    result = run("--model", model, "--batch", 4, "--side", side, "--norm", "BN", "--rival", PYTHON)
    assert result.returncode == 0, result.stderr  # it fails where the losses differ


def test_a_rival_with_another_loss_is_refused(tmp_path):
    script = tmp_path / "wrong.sh"
    script.write_text("while read line; do [ $line = loss ] && echo 0.5 || echo done; done")
    result = run("--model", "resnet20", "--batch", 4, "--norm", "BN", "--rival", f"wrong=sh {script}")
    assert result.returncode == 1 and result.stdout.count("\n") <= 2
    assert result.stderr.splitlines()[-1].startswith("samplenorm: wrong: expected the loss")  # behind a warning of the load


def test_a_rival_that_ends_is_named():
    result = run("--model", "resnet20", "--batch", 4, "--norm", "BN", "--rival", "gone=true")
    assert result.returncode == 1 and "true: expected an answer, but the process has ended" in result.stderr


def test_a_rival_without_a_name_is_wrong_use():
    result = run("--rival", "true")
    assert result.returncode == 2 and "expected NAME=COMMAND, got true" in result.stderr
