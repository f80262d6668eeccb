"""`samplenorm demo` on few images: every norm learns the same batches, and the record has what the table shows."""

import json
import os
import pathlib
import subprocess

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
NORMS = ["torch", "BN", "LS-1/64", "FS-1/64+VDN-2/128"]


def demo(*options, **environment):
    return subprocess.run([PROGRAM, "demo", *map(str, options)], capture_output=True, text=True,
                          env={**os.environ, **environment})


def test_networks_of_one_seed_differ_in_their_norm_only(tmp_path):
    path = tmp_path / "demo.json"
    result = demo("--data", "synthetic", "--limit", 1024, "--batch", 32, "--norm", ",".join(NORMS), "--json", path,
                  "--out", tmp_path / "demo")
    assert result.returncode == 0, result.stderr
    record = json.loads(path.read_text())
    assert (record["model"], record["data"], record["training_images"]) == ("small", "synthetic", 1024)
    results = {found["norm"]: found for found in record["results"]}
    assert list(results) == NORMS
    torch, ours = results["torch"], results["BN"]
    assert abs(torch["training_loss"] - ours["training_loss"]) < 1e-2 * torch["training_loss"]
    assert torch["relative_speed"] == 1
    for name, found in results.items():
        assert name in result.stdout
        assert found["training_loss"] < 2.3  # less than that of guessing among ten classes
        assert 0 < found["step_seconds"]["q1"] <= found["step_seconds"]["q3"]
    report = tmp_path / "demo/report.html"
    assert result.stdout.splitlines()[-1].endswith(str(report)) and "FS-1/64+VDN-2/128" in report.read_text()
    lines = [json.loads(line) for line in (tmp_path / "demo/demo.jsonl").read_text().splitlines()]
    assert [line["norm"] for line in lines[1:]] == NORMS
    assert all(len(line["steps"]) == len(line["losses"]) == 32 for line in lines[1:])


def test_a_second_demo_takes_the_place_of_the_first(tmp_path):
    for norm in ("BN", "LS-1/64"):
        result = demo("--data", "synthetic", "--limit", 128, "--batch", 64, "--norm", norm, "--out", tmp_path / "demo")
        assert result.returncode == 0, result.stderr
    assert [json.loads(line).get("norm") for line in (tmp_path / "demo/demo.jsonl").read_text().splitlines()] == [
        None, "LS-1/64"]


def test_missing_data_are_told_in_one_sentence(tmp_path):
    result = demo("--data", "cifar100", "--data-folder", tmp_path / "none")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert "CIFAR-100 is expected as train.bin and test.bin" in result.stderr


def test_without_npm_it_says_so_and_takes_the_images_that_debian_has(tmp_path):
    result = demo("--limit", 256, "--norm", "BN", "--out", tmp_path / "demo", SAMPLENORM_DATA=str(tmp_path / "none"), PATH=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "Fashion-MNIST instead" in result.stderr and "small on fashion-mnist, 256 images" in result.stderr
    assert "BN" in result.stdout
