"""`samplenorm profile --cores --bandwidth`: the predicted figures follow from the measured ones by the model that it states."""

import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
NORMS = ["torch", "LS-1/64", "GN-8"]
CORES, BANDWIDTH = 64, 200e9


def run(*options):
    return subprocess.run([PROGRAM, "profile", *map(str, options)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    path = tmp_path_factory.mktemp("prediction") / "profile.json"
    result = run("--model", "mobilenet_v2", "--batch", 2, "--side", 32, "--quick", "--norm", ",".join(NORMS),
                 "--cores", CORES, "--bandwidth", 200, "--json", path)
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(path.read_text())


def test_layers_are_those_of_mobilenet(profiled):
    counts = {}
    for layer in profiled[1]["layers"]:
        counts[layer["fusion"]] = counts.get(layer["fusion"], 0) + layer["count"]
    assert counts == {"BN": 7, "BN+ReLU6": 35, "BN+add": 10}


def test_the_prediction_follows_from_the_measured_figures(profiled):
    record = profiled[1]
    prediction = record["prediction"]
    assert (prediction["cores"], prediction["bytes_per_second"]) == (CORES, BANDWIDTH)
    faster = CORES / prediction["threads_measured"]
    assert prediction["threads_measured"] == record["threads"]
    predicted = {norm["norm"]: norm for norm in prediction["norms"]}
    assert list(predicted) == NORMS
    for step in record["steps"][:2]:
        layers = sum(max(layer["count"] * layer["norms"][step["norm"]]["bytes"][phase] / BANDWIDTH,
                         layer["count"] * layer["norms"][step["norm"]][phase]["median"] / faster)
                     for layer in record["layers"] for phase in ("forward", "backward"))
        rest = max(0, step["both"]["median"] - step["layers_seconds"]["both"]) / faster
        found = predicted[step["norm"]]
        assert found["layers_seconds"] == pytest.approx(layers) and found["rest_seconds"] == pytest.approx(rest)
        assert found["step_seconds"] == pytest.approx(layers + rest)
        assert found["share"] == pytest.approx(layers / (layers + rest))
        assert found["speed"] == pytest.approx(predicted["torch"]["step_seconds"] / found["step_seconds"])
    assert predicted["GN-8"]["step_seconds"] is None and predicted["GN-8"]["speed"] is None


def test_the_check_has_both_steps_and_the_error(profiled):
    record = profiled[1]
    check = record["prediction"]["check"]
    assert (check["threads_measured"], check["cores"]) == (1, record["threads"]) and check["bytes_per_second"] > 0
    assert [norm["norm"] for norm in check["norms"]] == NORMS
    for norm, step in zip(check["norms"], record["steps"]):
        assert norm["measured_seconds"] == step["both"]["median"]
        if norm["norm"] == "GN-8":
            assert norm["error"] is None
        else:
            assert norm["error"] == pytest.approx(norm["step_seconds"] / norm["measured_seconds"] - 1)


def test_the_output_and_the_help_state_the_model(profiled):
    output, record = profiled
    model = record["prediction"]["model"]
    assert "roofline model, not a measurement" in model and model in output
    assert all(assumption in output for assumption in record["prediction"]["assumptions"])
    assert "64 cores, 200 GB/s" in output and "speed to torch" in output and "error" in output
    assert model in " ".join(run("--help").stdout.split())


def test_one_thread_leaves_the_model_unchecked(tmp_path):
    path = tmp_path / "profile.json"
    result = subprocess.run([PROGRAM, "profile", "--model", "small", "--batch", "2", "--quick", "--norm", "torch", "--cores", "8",
                             "--bandwidth", "50", "--json", path], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
    assert "The model is not checked" in result.stdout and json.loads(path.read_text())["prediction"]["check"] is None


@pytest.mark.parametrize("options, says", [
    (["--cores", "0", "--bandwidth", "200"], "--cores: expected a whole number of cores from 1 to 1000000, got 0"),
    (["--cores", "2.5", "--bandwidth", "200"], "--cores: expected a whole number of cores from 1 to 1000000, got 2.5"),
    (["--cores", "many", "--bandwidth", "200"], "got many"),
    (["--cores", "64", "--bandwidth", "-1"], "--bandwidth: expected gigabytes a second, a number above 0, got -1"),
    (["--cores", "64", "--bandwidth", "0"], "--bandwidth: expected gigabytes a second, a number above 0, got 0"),
    (["--cores", "64", "--bandwidth", "nan"], "got nan"),
    (["--cores", "64"], "--cores requires --bandwidth"),
    (["--bandwidth", "200"], "--bandwidth requires --cores"),
])
def test_wrong_use_is_named(options, says):
    result = run("--model", "resnet20", *options)
    assert result.returncode == 2 and says in result.stderr
