"""`samplenorm profile` on a small step: the record has every norm layer of the network, and its figures add up."""

import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
NORMS = ["torch", "BN", "LS-1/64", "FS-1/64"]


def run(*options):
    return subprocess.run([PROGRAM, "profile", *map(str, options)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    result = run("--model", "resnet20", "--batch", 8, "--quick", "--json", path)
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(path.read_text())


def test_the_record_says_of_what_it_is(profiled):
    record = profiled[1]
    assert (record["model"], record["batch"], record["side"]) == ("resnet20", 8, 32)
    assert record["reference"] == "torch" and record["threads"] == 2 and record["command"]


def test_every_norm_layer_is_there_once_with_its_shape(profiled):
    layers = profiled[1]["layers"]
    names = [name for layer in layers for name in layer["names"]]
    expected = {"bn1"} | {f"layer{stage}.{block}.bn{i}" for stage in (1, 2, 3) for block in range(3) for i in (1, 2)}
    assert len(names) == len(expected) and set(names) == expected
    found = {(tuple(layer["shape"]), layer["fusion"]): layer["count"] for layer in layers}
    maps = {(8, 16, 32, 32): 3, (8, 32, 16, 16): 3, (8, 64, 8, 8): 3}
    assert found == {(shape, fusion): count + (fusion == "BN+ReLU" and shape[1] == 16)
                     for shape, count in maps.items() for fusion in ("BN+ReLU", "BN+add+ReLU")}
    for layer in layers:
        assert layer["count"] == len(layer["names"]) and layer["parts"] == [layer["shape"][1]]


def test_every_norm_is_timed_in_every_layer_and_in_whole_steps(profiled):
    record = profiled[1]
    assert [step["norm"] for step in record["steps"]] == NORMS
    for timed in record["steps"] + [norm for layer in record["layers"] for norm in layer["norms"].values()]:
        assert timed["rounds"] >= 3
        for phase in ("forward", "backward", "both"):
            assert 0 < timed[phase]["q1"] <= timed[phase]["median"] <= timed[phase]["q3"]
    for layer in record["layers"]:
        assert set(layer["norms"]) == set(NORMS)
        assert layer["norms"]["torch"]["sampled"] == layer["norms"]["BN"]["sampled"] == 1
        assert layer["norms"]["FS-1/64"]["sampled"] < 0.1
        points = layer["shape"][0] * layer["shape"][2] * layer["shape"][3]
        assert min(1024, points) <= layer["norms"]["LS-1/64"]["sampled"] * points <= points


def test_figures_add_up(profiled):
    record = profiled[1]
    steps = {step["norm"]: step for step in record["steps"]}
    reference = steps["torch"]
    for norm, step in steps.items():
        for phase in ("forward", "backward", "both"):
            total = sum(layer["count"] * layer["norms"][norm][phase]["median"] for layer in record["layers"])
            assert step["layers_seconds"][phase] == pytest.approx(total)
        assert step["share"] == pytest.approx(step["layers_seconds"]["both"] / step["both"]["median"])
        saved = reference["layers_seconds"]["both"] - step["layers_seconds"]["both"]
        assert step["saved_by_layers"] == pytest.approx(saved / reference["both"]["median"])
    assert sum(layer["share"] for layer in record["layers"]) == pytest.approx(reference["share"])
    assert reference["saved_by_layers"] == reference["saved_by_steps"] == 0


def test_the_tables_show_layers_and_norms(profiled):
    output = profiled[0]
    assert "4 x bn1" in output and "3 x layer3.0.bn2" in output and "(8, 64, 8, 8)" in output
    assert "saves by steps" in output and all(f"\n{norm} " in output for norm in NORMS)


def test_dense_layers_are_timed_as_the_parts_that_they_normalize(tmp_path):
    path = tmp_path / "profile.json"
    result = run("--model", "densenet121", "--batch", 4, "--side", 32, "--quick", "--norm", "torch,LS-1/64",
                 "--json", path)
    assert result.returncode == 0, result.stderr
    layers = {layer["names"][0]: layer for layer in json.loads(path.read_text())["layers"]}
    assert layers["features.denseblock1.denselayer3.norm1"]["parts"] == [64, 32, 32]
    assert layers["features.denseblock1.denselayer1.norm2"]["count"] == 6
    assert sum(layer["count"] for layer in layers.values()) == 121


def test_norms_with_virtual_rows_and_without_statistics_can_be_profiled():
    result = run("--model", "resnet20", "--batch", 4, "--side", 16, "--quick", "--norm", "FS-1/64+VDN-2/128,VBN-2,GN-8,none")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("options, status, says", [
    (["--model", "resnet19"], 2, "unknown model 'resnet19', expected one of small, resnet8, resnet20"),
    ([], 2, "--model is required"),
    (["--model", "resnet20", "--norm", "XS-1"], 2, "unknown norm 'XS'"),
    (["--model", "resnet20", "--batch", "0"], 2, "--batch"),
    (["--model", "resnet20", "--batch", "4", "--norm", "GN-32"], 1, "divides the 16 channels"),
    (["--model", "resnet20", "--json", "/nowhere/profile.json"], 1, "/nowhere/profile.json"),
])
def test_wrong_use_is_named(options, status, says):
    result = run(*options)
    assert result.returncode == status and says in result.stderr
