"""`samplenorm study` as a process, on networks and data so small that each study takes seconds: all eight write the records
that docs/studies-format.md promises, go on where they were stopped, and say in one sentence what is wrong."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
TRAINING = ["--data", "synthetic", "--seeds", "2", "--set", "model=small", "--set", "limit=128", "--set", "epochs=2",
            "--set", "batch=64", "--set", "recalibrate=1"]
TIMING = ["--model", "resnet8", "--batch", "8", "--side", "16"]
RUN = {"model", "data", "images", "epochs", "norm", "seed", "sampled", "top1", "top5", "recalibrated_top1", "train_loss", "seconds"}


TIMED = ("cost", "speed", "regularity")  # in one file; the others have a file for each result


def study(name, folder, *options):
    words = [PROGRAM, "study", name, "--quick", "--out", folder, *options]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def results(folder, name):
    found = []
    for file in [folder / f"{name}.jsonl"] if name in TIMED else sorted((folder / name).glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert lines[0]["kind"] == "begin" and lines[0]["study"] == name and lines[0]["scale"] == "quick"
        assert {"command", "date", "commit", "cpu", "threads", "load_average", "settings", "schema"} <= lines[0].keys()
        found += [line for line in lines if line["kind"] == "result"]
    return found


def done(name, folder, *options):
    result = study(name, folder, *options)
    assert result.returncode == 0, result.stderr
    records = "accuracy" if name == "curves" else name
    assert result.stdout.splitlines()[-1] == str(folder / (f"{name}.jsonl" if name in TIMED else records))
    assert not list(folder.glob("unfinished/*/*")), "what is done needs no folder to go on"
    return results(folder, records)


def test_accuracy_has_a_result_for_each_norm_and_seed(tmp_path):
    found = done("accuracy", tmp_path, *TRAINING)
    norms = {line["norm"] for line in found}
    assert {"BN", "FS-1/64", "LS-1/64", "NS-4/128", "BS-4/128", "VDN-4/128", "FS-1/64+VDN-2/128"} <= norms
    assert len(found) == 2 * len(norms)
    for line in found:
        assert RUN <= line.keys() and 0 <= line["top1"] <= 1 and line["images"] == 128
    assert {line["sampled"] for line in found if line["norm"] == "BS-4/128"} == {4 / 128}


def test_curves_take_the_runs_of_accuracy_and_show_their_losses(tmp_path):
    options = [*TRAINING, "--norm", "BN,LS-1/64"]
    done("accuracy", tmp_path, *options)
    # With the seconds that it took: a run that is trained again has others.
    before = {path: path.read_bytes() for path in tmp_path.glob("accuracy/*.jsonl")}
    assert len(before) == 4
    found = done("curves", tmp_path, *options)
    assert {path: path.read_bytes() for path in tmp_path.glob("accuracy/*.jsonl")} == before
    for line in found:
        assert line["steps"] == [1, 2, 3, 4] and len(line["losses"]) == 4 and len(line["epoch_top1"]) == 1


def test_decay_changes_the_running_statistics_only(tmp_path):
    found = done("decay", tmp_path, *TRAINING)
    assert {line["alpha"] for line in found} == {0.01, 0.1, 0.3, 0.5, 0.7, 0.9}
    assert len(found) == 12 and all(RUN <= line.keys() for line in found)
    for seed in (1, 2):
        assert len({line["train_loss"] for line in found if line["seed"] == seed}) == 1


def test_micro_has_the_papers_configurations(tmp_path):
    found = done("micro", tmp_path, *TRAINING)
    assert {(line["norm"], line["gradient_batch"], line["statistic_batch"]) for line in found} == {
        ("BN", 64, 32), ("BN", 64, 4), ("VDN-2/128", 64, 4), ("GN-8", 64, 4)}


def test_error_has_a_row_for_each_layer_and_both_formulas(tmp_path):
    found = done("error", tmp_path, *TRAINING, "--set", "model=resnet8", "--set", "batch=16")
    layers = [line for line in found if line["part"] == "layers"]
    assert {line["norm"] for line in layers} == {"NS-4/128", "BS-4/128", "FS-1/32", "VDN-1/128", "FRS-1/32", "LS-1/32"}
    for line in layers:
        assert len(line["layers"]) == 7 and line["layers"][0] == "bn1"
        for kind in ("mean", "deviation"):
            assert [len(row) for row in line[f"{kind}_correlation"]] == [7] * 7
            for box in line[f"{kind}_errors"]:
                assert 0 <= box["low"] <= box["q1"] <= box["median"] <= box["q3"] <= box["high"]
            assert -1 <= line[f"{kind}_correlation_average"] <= 1
    variance = next(line for line in found if line["part"] == "variance")
    assert {point["pattern"] for point in variance["points"]} == {"patch", "lattice", "rows"}
    average = next(line for line in found if line["part"] == "moving_average")
    assert all(point["predicted"] == pytest.approx(point["alpha"] / (2 - point["alpha"])) for point in average["points"])


def test_cost_compares_with_no_normalization(tmp_path):
    (line,) = done("cost", tmp_path, *TIMING)
    assert (line["model"], line["batch"], line["side"]) == ("resnet8", 8, 16)
    assert [norm["norm"] for norm in line["norms"]] == ["torch", "BN", "LS-1/64", "none"]
    assert line["norms"][-1]["speed"] == 1
    for norm in line["norms"]:
        assert norm["seconds"]["q1"] <= norm["seconds"]["median"] <= norm["seconds"]["q3"]
        assert norm["iterations_per_second"] == pytest.approx(1 / norm["seconds"]["median"])


def test_speed_has_layers_and_steps_of_every_norm(tmp_path):
    (line,) = done("speed", tmp_path, *TIMING)
    assert line["reference"] == "torch" and sum(layer["count"] for layer in line["layers"]) == 7
    assert [step["norm"] for step in line["steps"]] == ["torch", "BN", "L1BN", "RBN", "NS-4/128", "BS-4/128", "FS-1/32",
                                                        "VDN-1/128", "FS-1/64+VDN-2/128", "LS-1/32", "none"]
    assert line["steps"][0]["step_speed"] == 1 and all(step["layers_speed"] > 0 for step in line["steps"])


def test_regularity_has_every_pattern_with_every_index(tmp_path):
    found = done("regularity", tmp_path, *TIMING)
    assert [line["id"] for line in found] == ["layers", "places, channels_last", "places, contiguous"]
    for line in found[1:]:
        kinds = {(place["pattern"], place["index"], place["redrawn"]) for place in line["places"]}
        assert len(kinds) == 12
        assert line["places"][0]["cost"] == 1


def test_a_study_that_is_stopped_goes_on_with_the_same_command(tmp_path):
    options = [*TRAINING, "--norm", "BN,LS-1/64,FS-1/64"]
    words = [PROGRAM, "study", "accuracy", "--quick", "--out", tmp_path, *options]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(tmp_path.glob("accuracy/*.jsonl")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    errors = process.communicate()[1]
    assert process.returncode == 130, errors
    assert str(tmp_path) in errors.splitlines()[-1]
    before = results(tmp_path, "accuracy")
    assert 1 <= len(before) < 6
    after = done("accuracy", tmp_path, *options)
    assert len(after) == len({line["id"] for line in after}) == 6
    assert all(line in after for line in before)


@pytest.mark.parametrize("words, status, part", [
    (["accuracies", "--quick"], 2, "accuracies"),
    (["accuracy"], 2, "quick"),
    (["accuracy", "--quick", "--full"], 2, "full"),
    (["cost", "--standard"], 1, "no standard form"),
    (["speed", "--quick", "--jobs", "2"], 1, "--jobs"),
    (["accuracy", "--quick", "--jobs", "0"], 2, "--jobs"),
    (["accuracy", "--quick", "--norm", "XS-1/64"], 2, "XS"),
    (["accuracy", "--quick", "--data", "nowhere"], 1, "nowhere"),
    (["accuracy", "--quick", "--data", "synthetic", "--set", "epoch=2"], 1, "epoch"),
    (["speed", "--quick", "--model", "resnet19"], 1, "resnet19"),
])
def test_wrong_use_is_said_in_one_sentence(tmp_path, words, status, part):
    result = subprocess.run([str(PROGRAM), "study", *words, "--out", str(tmp_path / "out")], capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    assert part in result.stderr


def test_other_settings_need_another_folder(tmp_path):
    done("cost", tmp_path, *TIMING, "--norm", "BN")
    result = study("cost", tmp_path, "--model", "resnet8", "--batch", "4", "--side", "16", "--norm", "BN")
    lines = [line for line in result.stderr.splitlines() if "timings are unreliable" not in line]  # on a busy machine
    assert result.returncode == 1 and "--out" in lines[-1] and len(lines) <= 2
