"""TensorBoard itself reads the event files of a run, before and after it was resumed."""

import os
import pathlib
import subprocess

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/app_record_test"
TEST = "RunFolderTest.AResumedRunGoesOnAsIfItHadNotStopped"


@pytest.fixture
def run(tmp_path):
    """The folder of a run of 11 steps, 4 an epoch, that was killed at its end and resumed behind its first epoch."""
    result = subprocess.run([PROGRAM, f"--gtest_filter={TEST}"], env={**os.environ, "SAMPLENORM_TEST_FOLDER": str(tmp_path)},
                            capture_output=True, text=True)
    assert result.returncode == 0 and "1 test from" in result.stdout, result.stdout + result.stderr
    return tmp_path


def load(path):
    events = EventAccumulator(str(path))
    events.Reload()
    return events


def test_tensorboard_reads_the_first_file_whole(run):
    first = load(sorted(run.glob("events.out.tfevents.*"))[0])
    assert first.file_version == 2
    loss = first.Scalars("train/loss")
    assert [point.step for point in loss] == list(range(11))
    assert [point.value for point in loss] == [2 - 0.125 * step for step in range(11)]
    assert all(point.wall_time > 1.7e9 for point in loss)
    assert {"train/loss", "train/rate", "test/loss", "test/top1", "test/top5"} <= set(first.Tags()["scalars"])


def test_the_resumed_run_is_one_curve_without_repetition(run):
    whole = load(run)
    assert [point.step for point in whole.Scalars("train/loss")] == list(range(11))
    assert [(point.step, point.value) for point in whole.Scalars("test/top1")] == [(3, 0.25), (7, 0.5)]


def test_a_file_that_was_cut_off_does_not_hide_what_follows(run):
    first = sorted(run.glob("events.out.tfevents.*"))[0]
    first.write_bytes(first.read_bytes()[:-5])
    assert [point.step for point in load(run).Scalars("train/loss")] == list(range(11))
