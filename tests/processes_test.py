"""`mpirun -n K samplenorm train`: what several processes train is what one would have trained; a process that dies ends all
of them, and the run can be resumed, by any number of them."""

import array
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from train_test import PROGRAM, checkpoints, figures, lines, tensors

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")

# More processes than cores, as root and within a container.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none"}
RECIPE = ["--model", "small", "--data", "synthetic", "--limit", "96", "--batch", "16", "--seed", "5"]
STEPS = 96 // 16


def command(ranks, *options):
    start = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    return [*start, str(PROGRAM), "train", *(str(option) for option in options)]


def train(ranks, *options):
    return subprocess.run(command(ranks, *options), env=ENVIRONMENT, capture_output=True, text=True, timeout=120)


def trained(ranks, folder, *options):
    result = train(ranks, *RECIPE, "--out", folder, *options)
    assert result.returncode == 0, result.stderr
    return result


def sentences(result_or_text):
    text = result_or_text if isinstance(result_or_text, str) else result_or_text.stderr
    return [line for line in text.splitlines() if line.startswith("samplenorm: ")]


def losses(folder):
    return [line["loss"] for line in lines(folder) if line["kind"] == "step"]


def assert_near(folder, other, tolerance):
    """The same weights and running statistics up to rounding; momentum shows every ReLU that rounding has turned."""
    ours, theirs = tensors(checkpoints(folder)[-1]), tensors(checkpoints(other)[-1])
    assert ours.keys() == theirs.keys()
    for name, (kind, _, content) in ours.items():
        if name.startswith("optimizer."):
            continue
        if kind != "F32":
            assert content == theirs[name][2], name
            continue
        values, expected = array.array("f", content), array.array("f", theirs[name][2])
        scale = max(abs(value) for value in expected)
        assert max(abs(a - b) for a, b in zip(values, expected)) <= tolerance * scale, name


def start(ranks, folder, *options):
    """A run that is in its steps: it has written a checkpoint."""
    process = subprocess.Popen(command(ranks, *RECIPE, "--out", folder, *options), env=ENVIRONMENT, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and len(checkpoints(folder)) == 0:
        time.sleep(0.005)
    assert process.poll() is None, process.stderr.read()
    return process


def process_of_rank(mpirun, rank):
    for child in pathlib.Path(f"/proc/{mpirun.pid}/task/{mpirun.pid}/children").read_text().split():
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise AssertionError(f"no process of rank {rank}")


# Every step of several processes

@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "run"
    trained(1, folder, "--norm", "BN", "--epochs", "1", "--sync")
    return folder


@pytest.mark.parametrize("ranks", [2, 3])
def test_pooled_statistics_give_what_one_process_gives(alone, tmp_path, ranks):
    """Three processes have shares of different sizes."""
    result = trained(ranks, tmp_path / "run", "--norm", "BN", "--epochs", "1", "--sync", "--json", tmp_path / "figures.json")
    assert losses(tmp_path / "run") == pytest.approx(losses(alone), rel=1e-4)
    assert_near(tmp_path / "run", alone, 1e-2)
    epoch, expected = ([line for line in lines(folder) if line["kind"] == "epoch"][0] for folder in (tmp_path / "run", alone))
    assert epoch["test_loss"] == pytest.approx(expected["test_loss"], rel=1e-3)
    assert epoch["train_top1"] == pytest.approx(expected["train_top1"], abs=0.02)

    assert f"{ranks} processes, statistics pooled over them" in result.stderr.splitlines()[0]
    assert len(re.findall("^epoch 1/1", result.stdout, re.M)) == 1, "rank 0 alone prints"
    record = json.loads((tmp_path / "figures.json").read_text())
    assert record["ranks"] == ranks
    statistics, gradients = record["traffic"]["statistics"], record["traffic"]["gradients"]
    assert statistics["collectives"] == 2 * 3, "one in forward and one in backward for each of the three layers"
    assert gradients["collectives"] == 1
    weights = sum(len(content) for name, (_, _, content) in tensors(checkpoints(alone)[-1]).items()
                  if not name.startswith("optimizer.") and ("weight" in name or "bias" in name))
    assert weights <= gradients["bytes"] <= 1.01 * weights
    assert re.search(r"bytes in 6 collectives for statistics, \d+ bytes in 1 for gradients", result.stdout)
    assert json.loads((tmp_path / "run/recipe.json").read_text())["ranks"] == ranks


@pytest.mark.parametrize("norm", ["VDN-1/8", "BS-2/4", "LS-1/64;least=1"])
def test_processes_with_statistics_of_their_own_are_statistic_batches_of_one(tmp_path, norm):
    options = ["--norm", norm, "--epochs", "1"]
    trained(1, tmp_path / "one", *options, "--stat-batch", "4")
    trained(4, tmp_path / "four", *options)
    trained(2, tmp_path / "two", *options, "--stat-batch", "4")
    for several in ("four", "two"):
        assert losses(tmp_path / several) == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
        assert_near(tmp_path / several, tmp_path / "one", 1e-2)


# Stopping, dying and going on

LONG = ["--norm", "FS-1/64+VDN-2/128;redraw=step", "--epochs", "8", "--set", "checkpoint_every=2"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of two processes that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    trained(2, folder, *LONG)
    return folder


def assert_same_run(folder, other):
    assert tensors(checkpoints(folder)[-1]) == tensors(checkpoints(other)[-1])
    assert figures(folder) == figures(other)


def test_a_rank_that_is_killed_ends_all_and_the_run_goes_on_to_the_same_bits(whole, tmp_path):
    mpirun = start(2, tmp_path / "run", *LONG)
    os.kill(process_of_rank(mpirun, 1), signal.SIGKILL)
    begin = time.monotonic()
    errors = mpirun.communicate(timeout=30)[1]
    assert time.monotonic() - begin < 5
    assert mpirun.returncode != 0
    assert "rank 1" in errors
    assert len(losses(tmp_path / "run")) < 8 * STEPS
    result = trained(2, tmp_path / "run", *LONG, "--resume")
    assert "resumed behind step" in result.stderr
    assert sentences(result) == [], "no checkpoint is damaged"
    assert_same_run(tmp_path / "run", whole)


@pytest.mark.parametrize("whom, number, status", [("mpirun", signal.SIGUSR1, 138), ("rank 1", signal.SIGTERM, 143)])
def test_a_signal_to_one_stops_all_with_a_checkpoint(whole, tmp_path, whom, number, status):
    mpirun = start(2, tmp_path / "run", *LONG)
    os.kill(mpirun.pid if whom == "mpirun" else process_of_rank(mpirun, 1), number)
    errors = mpirun.communicate(timeout=30)[1]
    assert mpirun.returncode == status, errors
    assert len(sentences(errors)) == 1 and "samplenorm train --resume" in sentences(errors)[0]
    assert len(losses(tmp_path / "run")) < 8 * STEPS
    trained(2, tmp_path / "run", *LONG, "--resume")
    # The running statistics of two processes were averaged at another step, so that their last bits may differ.
    ours, theirs = tensors(checkpoints(tmp_path / "run")[-1]), tensors(checkpoints(whole)[-1])
    assert [name for name in ours if ours[name] != theirs[name] and "running_" not in name] == []
    assert_near(tmp_path / "run", whole, 1e-5)


@pytest.mark.parametrize("before, after", [(2, 3), (2, 1), (1, 2)])
def test_another_number_of_processes_goes_on_with_pooled_statistics(alone, tmp_path, before, after):
    options = ["--norm", "BN", "--epochs", "1", "--sync", "--set", "checkpoint_every=3"]
    trained(before, tmp_path / "run", *options)
    checkpoints(tmp_path / "run")[-1].unlink()  # the one before is that of step 3
    result = trained(after, tmp_path / "run", *options, "--resume")
    assert "resumed behind step 3 of 6" in result.stderr
    assert sentences(result) == []
    assert losses(tmp_path / "run") == pytest.approx(losses(alone), rel=1e-4)
    assert_near(tmp_path / "run", alone, 1e-2)


def test_another_number_of_processes_is_told_of_where_it_changes_the_statistics(tmp_path):
    options = ["--norm", "LS-1/64", "--epochs", "1", "--set", "checkpoint_every=3"]
    trained(2, tmp_path / "run", *options)
    checkpoints(tmp_path / "run")[-1].unlink()
    result = trained(1, tmp_path / "run", *options, "--resume")
    assert len(sentences(result)) == 1
    assert "trained by 2 processes and goes on with 1" in sentences(result)[0]


# Errors

@pytest.mark.parametrize("options, words", [
    (["--data", "cifar10", "--data-folder", "not/there"], ["not/there"]),
    (["--batch", "1"], ["a batch of 1 images cannot be shared by 2 processes"]),
    (["--sync", "--stat-batch", "4"], ["only one of them"]),
    (["--norm", "none", "--set", "rate=1e6", "--set", "schedule=steps", "--set", "warm_up=0"],
     ["the loss is", "the first value that is not finite comes out of"])])
def test_an_error_of_all_is_one_sentence(tmp_path, options, words):
    kept = [word for key, value in zip(RECIPE[::2], RECIPE[1::2]) if key not in options for word in (key, value)]
    result = train(2, *kept, *options, "--out", tmp_path / "run")
    assert result.returncode == 1, result.stderr
    assert len(sentences(result)) == 1, result.stderr
    assert sentences(result)[0].startswith("samplenorm: rank 0: ")
    assert all(word in sentences(result)[0] for word in words), result.stderr


def test_an_error_of_one_names_it_and_ends_all(tmp_path):
    program = [str(PROGRAM), "train", *RECIPE, "--out", str(tmp_path / "run")]
    wrong = [*program, "--set", "epochs=none"]
    result = subprocess.run(["mpirun", "--oversubscribe", "-n", "1", *program, ":", "-n", "1", *wrong], env=ENVIRONMENT,
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert len(sentences(result)) == 1, result.stderr
    assert sentences(result)[0].startswith("samplenorm: rank 1: ") and "epochs=none" in sentences(result)[0]
