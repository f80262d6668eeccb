"""`samplenorm train` and `samplenorm eval` as processes: a run that is killed and resumed ends with the weights of one that
was not, to the last bit; and what can go wrong is said in one sentence."""

import fcntl
import json
import os
import pathlib
import random
import re
import resource
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
# Every kind of draw: a sample for each step, virtual rows, order and augmentation.
RECIPE = ["--model", "resnet20", "--data", "synthetic", "--norm", "FS-1/64+VDN-2/128;redraw=step", "--epochs", "2",
          "--batch", "32", "--limit", "320", "--seed", "5", "--set", "checkpoint_every=3"]
STEPS = 2 * 10


def command(*options):
    return [str(word) for word in (PROGRAM, *options)]


def run(*options):
    return subprocess.run(command(*options), capture_output=True, text=True)


def train(*options):
    return run("train", *options)


def checkpoints(folder):
    return sorted(folder.glob("*.safetensors"), key=lambda path: path.stat().st_mtime_ns)


def tensors(path):
    """Every tensor's bytes; of the trainer's own sums there are times in, which differ."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    begin = 8 + size
    return {name: (entry["dtype"], entry["shape"], content[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]])
            for name, entry in header.items() if not name.startswith("trainer.")}


def recipe_with(*options):
    """RECIPE with other values for these options."""
    kept = [word for key, value in zip(RECIPE[::2], RECIPE[1::2]) if key not in options[::2] for word in (key, value)]
    return [*kept, *options]


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def figures(folder):
    """The lines of metrics.jsonl without their times."""
    return [{key: value for key, value in line.items() if not key.endswith(("seconds", "time"))} for line in lines(folder)]


def assert_same_run(folder, other):
    ours, theirs = tensors(checkpoints(folder)[-1]), tensors(checkpoints(other)[-1])
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert figures(folder) == figures(other)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run and the seconds that it took."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    begin = time.monotonic()
    result = train(*RECIPE, "--out", folder, "--json", folder.parent / "figures.json")
    assert result.returncode == 0, result.stderr
    return folder, time.monotonic() - begin, result


def test_a_run_says_what_it_did(whole):
    folder, _, result = whole
    epochs = re.findall(r"^epoch (\d)/2: loss [\d.]+, top-1 [\d.]+ %, top-5 [\d.]+ %, [\d.]+ s, waited for data [\d.]+ %$",
                        result.stdout, re.M)
    assert epochs == ["1", "2"]
    record = json.loads((folder / "recipe.json").read_text())
    assert record["recipe"]["norm"] == "FS-1/64+VDN-2/128;redraw=step" and record["recipe"]["weight_decay"] == 5e-4
    for key in ("command", "commit", "cpu", "threads"):
        assert key in record
    final = json.loads((folder.parent / "figures.json").read_text())
    assert [epoch["step"] for epoch in final["epochs"]] == [STEPS // 2, STEPS]
    assert pathlib.Path(final["checkpoint"]) == checkpoints(folder)[-1]


def wait_for_steps(process, folder, count):
    """Until the run has written this many steps, or has ended."""
    file = folder / "metrics.jsonl"
    while process.poll() is None and (not file.exists() or file.read_text().count('"kind":"step"') < count):
        time.sleep(0.002)


def test_a_run_that_is_killed_and_resumed_ends_with_the_same_bits(whole, tmp_path):
    folder, seconds, _ = whole
    out, moments = tmp_path / "run", random.Random(0)
    # By steps, not by time: machines differ. Each kill is behind the next checkpoint, so that the run gets on.
    for least in (1, 5, 8, 12, STEPS - 3):
        process = subprocess.Popen(command("train", *RECIPE, "--out", out, "--resume"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        wait_for_steps(process, out, least)
        time.sleep(moments.uniform(0, 1) * seconds / STEPS / 2)  # anywhere within a step
        process.send_signal(signal.SIGKILL)
        errors = process.communicate()[1]
        assert process.returncode == -signal.SIGKILL, errors
    result = train(*RECIPE, "--out", out, "--resume")
    assert result.returncode == 0, result.stderr
    assert_same_run(out, folder)


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_a_checkpoint_and_says_how_to_go_on(whole, tmp_path, number, status):
    out = tmp_path / "run"
    process = subprocess.Popen(command("train", *RECIPE, "--out", out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    while process.poll() is None and len(checkpoints(out)) == 0:
        time.sleep(0.01)
    process.send_signal(number)
    errors = process.communicate()[1]
    assert process.returncode == status, errors
    sentence = errors.splitlines()[-1]
    assert f"samplenorm train --resume --out {out}" in sentence
    done = len([line for line in lines(out) if "loss" in line])
    assert done < STEPS
    result = train("--resume", "--out", out)  # the recipe is the run's own
    assert result.returncode == 0, result.stderr
    assert_same_run(out, whole[0])


def take_terminal():
    """Makes stdin the terminal of the process that is about to start, in a session of its own."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_terminal_that_is_closed_leaves_a_checkpoint(whole, tmp_path):
    out = tmp_path / "run"
    ours, theirs = os.openpty()
    process = subprocess.Popen(command("train", *RECIPE, "--out", out), stdin=theirs, stdout=theirs, stderr=theirs,
                               preexec_fn=take_terminal)
    os.close(theirs)
    while process.poll() is None and len(checkpoints(out)) == 0:
        select.select([ours], [], [], 0.01)[0] and os.read(ours, 4096)
    os.close(ours)  # sends SIGHUP; whatever the run says from now on fails
    assert process.wait() == 128 + signal.SIGHUP
    assert 0 < len(lines(out)) < STEPS
    result = train("--resume", "--out", out)
    assert result.returncode == 0, result.stderr
    assert_same_run(out, whole[0])


def test_a_run_under_nohup_goes_on_when_its_terminal_is_closed(whole, tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(command("train", *RECIPE, "--out", out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_steps(process, out, 1)
    process.send_signal(signal.SIGHUP)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    assert_same_run(out, whole[0])


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(whole, tmp_path):
    out = tmp_path / "run"
    assert train(*RECIPE, "--out", out, "--quiet").returncode == 0
    newest = checkpoints(out)[-1]
    content = bytearray(newest.read_bytes())
    content[-1000] ^= 1
    newest.write_bytes(content)
    result = train(*RECIPE, "--out", out, "--resume")
    assert result.returncode == 0, result.stderr
    assert str(newest) in result.stderr and "resumed behind step" in result.stderr
    assert_same_run(out, whole[0])


def test_a_finished_run_that_is_resumed_stays_as_it_is(whole):
    before = checkpoints(whole[0])[-1].read_bytes()
    result = train(*RECIPE, "--out", whole[0], "--resume")
    assert result.returncode == 0 and "2 epochs, 20 steps" in result.stdout
    assert checkpoints(whole[0])[-1].read_bytes() == before


def test_workers_do_not_change_a_run(whole, tmp_path):
    assert train(*RECIPE, "--out", tmp_path / "run", "--workers", "3", "--quiet").returncode == 0
    assert_same_run(tmp_path / "run", whole[0])


def test_evaluation_gives_what_training_gave(whole, tmp_path):
    folder = whole[0]
    last = [line for line in lines(folder) if "test_top1" in line][-1]
    for what in (folder, checkpoints(folder)[-1]):
        file = tmp_path / "eval.json"
        result = run("eval", what, "--recalibrate", "4", "--json", file)
        assert result.returncode == 0, result.stderr
        record = json.loads(file.read_text())
        assert record["scores"]["top1"] == pytest.approx(last["test_top1"])
        assert record["scores"]["top5"] == pytest.approx(last["test_top5"])
        assert 0 <= record["recalibrated"]["top1"] <= 1
        assert "recalibrated: top-1" in result.stdout


def test_recalibration_is_recorded_and_does_not_change_the_weights(whole, tmp_path):
    out = tmp_path / "run"
    assert train(*RECIPE, "--out", out, "--recalibrate", "3", "--quiet").returncode == 0
    ours, theirs = tensors(checkpoints(out)[-1]), tensors(checkpoints(whole[0])[-1])
    assert ours == theirs
    assert all("recalibrated_top1" in line for line in lines(out) if "test_top1" in line)


def fails_in_one_sentence(result, *words):
    assert result.returncode == 1, result.stderr
    sentence = result.stderr.splitlines()[-1]
    assert sentence.startswith("samplenorm: ")
    for word in words:
        assert word in sentence


def test_a_folder_with_a_run_is_not_overwritten(whole):
    fails_in_one_sentence(train(*RECIPE, "--out", whole[0]), "--resume", "--out", str(whole[0]))


@pytest.mark.parametrize("change, words", [
    (["--norm", "BN"], ["norm is 'FS-1/64+VDN-2/128;redraw=step' there and 'BN' here"]),
    (["--model", "resnet32"], ["model is 'resnet20' there and 'resnet32' here"]),
    (["--set", "momentum=0.8"], ["momentum is '0.9' there and '0.8' here"])])
def test_a_run_is_not_resumed_with_another_recipe(whole, change, words):
    fails_in_one_sentence(train("--resume", "--out", whole[0], *change), *words)


@pytest.mark.parametrize("options, words", [
    (["--norm", "XS-1/64"], []),
    (["--model", "resnet21"], ["unknown model 'resnet21'"]),
    (["--data", "cifar11"], ["unknown data set 'cifar11'"]),
    (["--data", "cifar10", "--data-folder", "not/there"], ["not/there"]),
    (["--batch", "4096"], ["expected at least 4096 images, for one batch, found 320"]),
    (["--set", "weightdecay=1"], ["weightdecay", "the nearest is 'weight_decay'"]),
    (["--set", "epochs"], ["expected KEY=VALUE"]),
    (["--recipe", "quik"], ["'quik'", "'quick'"]),
    (["--recipe", "not/there.json"], ["cannot read the recipe not/there.json"])])
def test_bad_input_gives_one_sentence_and_leaves_no_run(tmp_path, options, words):
    result = train(*recipe_with(*options), "--out", tmp_path / "run")
    assert result.returncode == 1 and "samplenorm: " in result.stderr
    assert all(word in result.stderr for word in words), result.stderr
    assert not (tmp_path / "run").exists()


def test_a_loss_that_is_not_finite_ends_the_run_and_names_step_layer_and_checkpoint(tmp_path):
    result = train(*recipe_with("--norm", "none", "--rate", "1e6", "--set", "checkpoint_every=1"), "--out", tmp_path / "run")
    fails_in_one_sentence(result)
    sentence = result.stderr.splitlines()[-1]
    assert re.search(r"step \d+", sentence)
    assert "last good checkpoint" in sentence or "no checkpoint" in sentence


def limit_file_size(size):
    """As on a full disk, a file of this process cannot grow beyond `size` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size, file", [(100_000, "checkpoint-"), (200, "metrics.jsonl")])
def test_a_full_disk_gives_one_sentence_and_keeps_what_was_there(whole, tmp_path, size, file):
    out = tmp_path / "run"
    process = subprocess.Popen(command("train", *RECIPE, "--out", out, "--quiet"), stderr=subprocess.PIPE, text=True)
    wait_for_steps(process, out, 4)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 143, process.stderr.read()
    before = {path.name: path.read_bytes() for path in checkpoints(out)}
    assert len(before) == 2

    result = subprocess.run(command("train", "--resume", "--out", out, "--quiet"), capture_output=True, text=True,
                            preexec_fn=lambda: limit_file_size(size))
    fails_in_one_sentence(result, "cannot write", str(out / file))
    assert {path.name: path.read_bytes() for path in out.glob("*.safetensors*")} == before

    result = train("--resume", "--out", out)  # with space again
    assert result.returncode == 0, result.stderr
    assert_same_run(out, whole[0])


@pytest.mark.parametrize("folder, words", [
    ("/proc/samplenorm", ["cannot make the folder /proc/samplenorm"]),  # nobody can write there, not even root
    ("a file", ["a file"])])
def test_a_folder_that_cannot_be_written_gives_one_sentence(tmp_path, folder, words):
    (tmp_path / "a file").write_text("mine")
    fails_in_one_sentence(train(*RECIPE, "--out", tmp_path / folder, "--quiet"), *words)
    assert (tmp_path / "a file").read_text() == "mine"


def test_eval_of_nothing_gives_one_sentence(tmp_path):
    fails_in_one_sentence(run("eval", tmp_path / "nothing"), "no run and no checkpoint")
    fails_in_one_sentence(run("eval", tmp_path), "no whole checkpoint")
    (tmp_path / "x.safetensors").write_bytes(b"not a checkpoint")
    fails_in_one_sentence(run("eval", tmp_path / "x.safetensors"), "x.safetensors")


def test_help_lists_every_field():
    result = train("--help")
    assert result.returncode == 0
    for word in ("weight_decay=0.0005", "schedule=one-cycle", "--resume", "Example:"):
        assert word in result.stdout
