"""`mpirun -n 2 samplenorm bench processes` on a small step: every way to statistics is timed, and its calls are counted."""

import json
import shutil
import subprocess

import pytest

from processes_test import ENVIRONMENT
from train_test import PROGRAM

LAYERS = 19  # of resnet20
# Channels of its norms: the first one and six in each stage.
CHANNELS = [16] * 7 + [32] * 6 + [64] * 6

needs_mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")


def bench(ranks, *options):
    start = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    command = [*start, PROGRAM, "bench", "processes", "--quick", "--batch", "4", *map(str, options)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("processes") / "processes.json"
    result = bench(2, "--json", path)
    assert result.returncode == 0, result.stderr
    content = json.loads(path.read_text())
    assert all(step["name"] in result.stdout for step in content["steps"])
    return content


@needs_mpi
def test_all_are_timed_and_compared_with_sync_bn(record):
    names = [step["name"] for step in record["steps"]]
    assert names[0] == "Sync BN" and {"Sync FS-1/64", "Local VDN-2/128", "GN-8"} <= set(names)
    assert record["steps"][0]["speed_against_sync_bn"] == pytest.approx(1)
    assert all(0 < step["seconds"]["q1"] <= step["seconds"]["median"] <= step["seconds"]["q3"] for step in record["steps"])
    assert (record["model"], record["ranks"], record["batch_of_a_process"]) == ("resnet20", 2, 4) and record["commit"]


@needs_mpi
def test_a_layer_takes_one_collective_in_each_direction_with_all_values_in_one_buffer(record):
    for step in record["steps"]:
        expected = LAYERS if step["sync"] else 0
        assert [step[direction]["collectives"] for direction in ("forward", "backward")] == [expected, expected]
    pooled = sum(8 * (1 + 2 * channels) for channels in CHANNELS)
    sums = sum(8 * 2 * channels for channels in CHANNELS)
    sync_bn, few = record["steps"][0], [step for step in record["steps"] if "nodes" in step["norm"]]
    assert (sync_bn["forward"]["bytes_a_process"], sync_bn["backward"]["bytes_a_process"]) == (pooled, sums)
    assert len(few) == 2 and all(step["forward"]["bytes_a_process"] == pooled / 2 for step in few)


@needs_mpi
def test_the_model_gives_waiting_to_pooled_statistics_alone(record):
    for step in record["steps"]:
        assert (step["modelled_waiting_seconds"] > 0) == step["sync"], step["name"]


def test_one_process_alone_is_told_to_bring_another():
    result = bench(1)
    assert result.returncode == 1
    assert result.stderr == "samplenorm: expected several processes, as in: mpirun -n 2 samplenorm bench processes\n"
