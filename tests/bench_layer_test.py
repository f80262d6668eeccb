"""`samplenorm bench layer` on its smallest shape: the record has everything that the page and the goals need."""

import json
import os
import pathlib
import re
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
SHAPE = [128, 64, 8, 8]
FUSIONS = ["BN", "BN+ReLU", "BN+add+ReLU"]
OUR_NORMS = ["BN", "FS-1/64", "LS-1/64"]
LARGE = {"nhwc_large_forward", "nhwc_large_backward", "nchw_big_maps", "torch_large_bn", "torch_large_bn_relu",
         "torch_large_bn_add_relu"}
SMALL = {"nhwc_small_raw", "nchw_small_maps", "torch_small_bn", "torch_small_bn_relu", "torch_small_bn_add_relu",
         "onednn_best", "exact_bn"}


def run(*options):
    return subprocess.run([PROGRAM, "bench", "layer", *options], capture_output=True, text=True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "layer.json"
    result = run("--quick", "--shape", ",".join(map(str, SHAPE)), "--json", path)
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(path.read_text())


def test_the_record_says_where_when_and_of_what_it_is(measured):
    record = measured[1]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date"])
    assert re.fullmatch(r"([0-9a-f]{12}(-dirty)?)?", record["commit"])
    assert record["threads"] == 2 and record["load_average"] >= 0
    for key in ("command", "samplenorm", "libtorch", "onednn", "cpu"):
        assert record[key]


def test_every_contender_is_measured_once_with_its_spread(measured):
    measurements = measured[1]["measurements"]
    found = [(m["fusion"], m["format"], m["norm"], m["path"]) for m in measurements]
    assert len(set(found)) == len(found)
    expected = {(fusion, form, norm, path) for fusion in FUSIONS for form in ("channels_last", "contiguous")
                for norm in OUR_NORMS for path in ("autograd", "raw")}
    expected |= {(fusion, form, "torch", "autograd") for fusion in FUSIONS for form in ("channels_last", "contiguous")}
    expected |= {(fusion, None, "limit", path) for fusion in FUSIONS for path in ("", "ordinary stores", "streaming stores")}
    onednn = {case for case in found if case[2] == "oneDNN"}
    assert set(found) - onednn == expected
    for fusion in FUSIONS[:2]:
        formats = {path for other, form, _, path in onednn if other == fusion and form is None}
        assert formats >= {"nhwc", "nchw"} and len(formats) == 3
    assert len(onednn) == 6  # none with a residual
    for m in measurements:
        assert m["shape"] == SHAPE and m["rounds"] >= 3
        for phase in ("forward", "backward", "both"):
            assert 0 < m[phase]["q1"] <= m[phase]["median"] <= m[phase]["q3"]


def test_ratios_are_there_where_there_is_a_rival(measured):
    for m in measured[1]["measurements"]:
        speeds = m["speed_against"]
        assert set(speeds) == {"limit", "torch", "exact", "onednn"}
        assert speeds["limit"]["both"] > 0
        assert (speeds["torch"] is None) == (m["format"] is None)
        assert (speeds["onednn"] is None) == (m["fusion"] == "BN+add+ReLU")


def test_all_goals_are_there_and_null_where_their_class_was_not_measured(measured):
    output, record = measured
    goals = {goal["id"]: goal for goal in record["goals"]}
    assert set(goals) == LARGE | SMALL and len(record["goals"]) == len(goals)
    for name, goal in goals.items():
        assert goal["what"] and 0 < goal["must"] < goal["aim"]
        assert (goal["value"] is None) == (name in LARGE), name
    by_format = {(goal["id"], goal["format"]): goal["value"] for goal in record["goals_by_format"]}
    assert set(by_format) == {(name, form) for name in goals if not name.startswith(("nhwc", "nchw"))
                              for form in ("channels_last", "contiguous")}
    assert re.search(r"nhwc_large_forward +null", output)


def test_what_was_not_asked_for_gives_goals_without_a_value(tmp_path):
    path = tmp_path / "layer.json"
    assert run("--quick", "--shape", "4,16,4,4", "--norm", "LS-1/64", "--json", path).returncode == 0
    assert all(goal["value"] is None for goal in json.loads(path.read_text())["goals"])


@pytest.mark.parametrize("shape", ["1,2,3", "1,2,3,0", "1,2,3,x", "1,2,3,4,5"])
def test_a_wrong_shape_is_wrong_use(shape):
    result = run("--shape", shape)
    assert result.returncode == 2 and "expected four positive numbers N,C,H,W" in result.stderr
