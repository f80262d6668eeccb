"""`samplenorm study --standard --jobs 2` on tiny runs: each norm at its own rate, side by side, killed at any moment and started
again, in a folder that is locked, in the background of measurements."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
TINY = ["--data", "synthetic", "--seeds", "2", "--norm", "BN,LS-1/64;least=1", "--set", "model=small", "--set", "limit=512",
        "--set", "epochs=3", "--set", "batch=32", "--set", "recalibrate=1", "--set", "checkpoint_every=5"]


def words(folder, *options):
    return [str(word) for word in (PROGRAM, "study", "accuracy", "curves", "--standard", "--out", folder, *TINY, *options)]


def run(folder, *options):
    return subprocess.run(words(folder, *options), capture_output=True, text=True)


def results(folder):
    """Results and epochs without what the clock says."""
    found = {}
    for file in folder.glob("accuracy/*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found[file.name] = [{key: value for key, value in line.items() if "seconds" not in key} for line in lines[1:]]
    return found


def state_of(process):
    return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


def wait_until(condition, seconds=300):  # what is at the lowest priority may wait for long
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    result = run(folder, "--jobs", "2")
    assert result.returncode == 0, result.stderr
    return folder


def test_the_first_seed_has_two_rates_and_the_others_the_better_one(undisturbed):
    found = results(undisturbed)
    assert len(found) == 6
    runs = [lines[-1] for lines in found.values()]
    for norm in ("BN", "LS-1/64;least=1"):
        first = {run["rate"]: run["top1"] for run in runs if run["norm"] == norm and run["seed"] == 1}
        (second,) = [run for run in runs if run["norm"] == norm and run["seed"] == 2]
        assert first.keys() == {0.2, 0.05}
        assert second["rate"] == max(first, key=lambda rate: (first[rate], rate))


def test_a_result_is_a_small_file_with_a_line_for_each_epoch(undisturbed):
    for file in undisturbed.glob("accuracy/*.jsonl"):
        kinds = [json.loads(line)["kind"] for line in file.read_text().splitlines()]
        assert kinds == ["begin", "epoch", "epoch", "epoch", "result"]
        assert file.stat().st_size < 20_000


def test_killed_at_random_moments_it_ends_with_the_same_records(undisturbed, tmp_path):
    moments = random.Random(7)
    kills = 0
    for _ in range(40):
        process = subprocess.Popen(words(tmp_path, "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        try:
            assert process.wait(moments.uniform(0.4, 2.0)) == 0, process.stderr.read()
            break
        except subprocess.TimeoutExpired:
            kills += 1
            # All of them at once; or the first one alone, and the others see that it is gone.
            (os.killpg if kills % 2 else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
    else:
        result = run(tmp_path, "--jobs", "2")
        assert result.returncode == 0, result.stderr
    assert kills >= 2
    assert results(tmp_path) == results(undisturbed)


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to the first", "to all, as a terminal does"])
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_with_checkpoints(undisturbed, tmp_path, sent, send):
    process = subprocess.Popen(words(tmp_path, "--jobs", "2", "--set", "checkpoint_every=0"), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("unfinished/accuracy/*/metrics.jsonl")))
    send(process.pid, sent)
    errors = process.communicate()[1]
    assert process.returncode == 128 + sent and "the same command goes on" in errors.splitlines()[-1]
    assert len(errors.splitlines()) == 2, errors  # the other is that synthetic data need no fetching
    assert list(tmp_path.glob("unfinished/accuracy/*/checkpoint-*")) or list(tmp_path.glob("accuracy/*"))
    assert run(tmp_path, "--jobs", "2", "--set", "checkpoint_every=0").returncode == 0
    assert results(tmp_path) == results(undisturbed)


def test_a_run_whose_record_is_damaged_is_trained_anew(undisturbed, tmp_path):
    process = subprocess.Popen(words(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stands_at_a_checkpoint():  # a run that goes on may be finished before it is killed
        process.send_signal(signal.SIGSTOP)
        found = list(tmp_path.glob("unfinished/accuracy/*/checkpoint-*.safetensors"))
        if not found:
            process.send_signal(signal.SIGCONT)
        return found

    assert wait_until(stands_at_a_checkpoint)
    process.kill()
    process.wait()
    for file in tmp_path.glob("unfinished/accuracy/*/metrics.jsonl"):
        file.unlink()
    result = run(tmp_path, "--jobs", "2")
    assert result.returncode == 0 and "trained anew" in result.stderr
    assert results(tmp_path) == results(undisturbed)


def test_another_network_needs_another_folder(undisturbed):
    result = run(undisturbed, "--model", "resnet8")
    assert result.returncode == 1 and "settings" in result.stderr and "--out" in result.stderr


def test_folders_of_two_machines_are_merged_by_copying(undisturbed, tmp_path):
    (tmp_path / "accuracy").mkdir()
    files = sorted(undisturbed.glob("accuracy/*.jsonl"))
    for file in files[:3]:
        (tmp_path / "accuracy" / file.name).write_bytes(file.read_bytes())
    result = run(tmp_path, "--jobs", "2")
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 3 + 2, result.stdout  # results, and where they are
    assert results(tmp_path) == results(undisturbed)


def test_a_second_program_says_who_works_in_the_folder(tmp_path):
    first = subprocess.Popen(words(tmp_path, "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("unfinished/accuracy/*/metrics.jsonl")):
        time.sleep(0.01)
    second = run(tmp_path)
    status = run(tmp_path, "--status", "--jobs", "2", "--json", tmp_path / "status.json")
    first.kill()
    first.wait()
    assert second.returncode == 1 and len(second.stderr.splitlines()) == 1
    assert f"process {first.pid} " in second.stderr and "--out" in second.stderr
    assert status.returncode == 0 and "running" in status.stdout
    tasks = json.loads((tmp_path / "status.json").read_text())["tasks"]
    assert len(tasks) == 6 and {"running", "waiting"} <= {task["state"] for task in tasks}
    # The owner is gone: its lock stands in nobody's way.
    assert run(tmp_path, "--jobs", "2").returncode == 0


@pytest.mark.parametrize("change, part", [
    (lambda line: line | {"scale": "quick"}, "quick"),
    (lambda line: line | {"settings": "data=cifar10"}, "settings"),
    (lambda line: line | {"schema": 99}, "schema"),
    (lambda line: line | {"task": "another"}, "another"),
])
def test_a_file_that_does_not_belong_there_is_named_and_kept(undisturbed, tmp_path, change, part):
    (tmp_path / "accuracy").mkdir()
    file = tmp_path / "accuracy/BN_rate_0.2_seed_1.jsonl"
    begin, *rest = (undisturbed / "accuracy" / file.name).read_text().splitlines()
    file.write_text("\n".join([json.dumps(change(json.loads(begin))), *rest]) + "\n")
    before = file.read_bytes()
    result = run(tmp_path, "--jobs", "2")
    assert result.returncode == 1 and file.name in result.stderr and part in result.stderr
    assert file.read_bytes() == before


def test_a_full_disk_loses_nothing(undisturbed, tmp_path):
    # Files may not grow: a checkpoint cannot be written.
    result = subprocess.run(["prlimit", "--fsize=20000", *words(tmp_path, "--jobs", "2")], capture_output=True, text=True,
                            restore_signals=False)  # the signal for it stays ignored: writing fails
    assert result.returncode == 1 and "cannot write" in result.stderr
    assert not results(tmp_path)
    assert run(tmp_path, "--jobs", "2").returncode == 0
    assert results(tmp_path) == results(undisturbed)


def test_what_is_in_the_background_stands_still_while_something_is_timed(tmp_path):
    environment = os.environ | {"SAMPLENORM_RUNTIME_DIR": str(tmp_path)}
    long = [*words(tmp_path / "runs", "--jobs", "2", "--background"), "--set", "epochs=1000"]
    background = subprocess.Popen(long, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: list(tmp_path.glob("runs/unfinished/accuracy/*/metrics.jsonl")))
        assert os.sched_getscheduler(background.pid) == os.SCHED_IDLE or os.getpriority(os.PRIO_PROCESS, background.pid) == 19
        assert state_of(background.pid) != "T"
        command = [PROGRAM, "undisturbed", "sh", "-c", "cat; exit 3"]
        timed = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        other = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert wait_until(lambda: state_of(background.pid) == "T")
        said = timed.stderr.readline()
        assert b"stands still" in said and str(background.pid).encode() in said
        other.stderr.readline()
        timed.kill()  # also one that is killed lets go; the other one still measures
        timed.wait()
        time.sleep(0.3)
        assert state_of(background.pid) == "T"
        other.stdin.close()
        assert other.wait() == 3
        assert wait_until(lambda: state_of(background.pid) != "T")
    finally:
        background.send_signal(signal.SIGCONT)
        background.terminate()
        assert background.wait() == 143
