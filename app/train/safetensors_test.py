"""Python's own safetensors and the ones here read each other's files, and a checkpoint loads into a network of Python."""

import os
import pathlib
import subprocess

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/app_train_test"
TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool]


def run_test(name, folder, **environment):
    """Runs one C++ test, which works in `folder` and leaves its files there."""
    result = subprocess.run([PROGRAM, f"--gtest_filter={name}"], capture_output=True, text=True,
                            env={**os.environ, "SAMPLENORM_TEST_FOLDER": str(folder), **environment})
    assert result.returncode == 0 and "1 test from" in result.stdout, result.stdout + result.stderr


def copied(file, folder):
    """The file read and written anew by C++."""
    run_test("SafetensorsTest.ACopyIsTheSameInEveryType", folder, SAMPLENORM_TEST_FILE=str(file))
    return folder / "copy.safetensors"


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.reshape(-1).view(torch.uint8),
                                                                      b.reshape(-1).view(torch.uint8))


def test_a_file_goes_from_python_to_cpp_and_back(tmp_path):
    torch.manual_seed(0)
    tensors = {str(dtype): (torch.randn(3, 5, 7) * 50).abs().to(dtype) for dtype in TYPES}
    tensors |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4), "odd": torch.ones(3, dtype=torch.bool)}
    metadata = {"key": 'a "text"\nof lines, ä'}
    save_file(tensors, tmp_path / "python.safetensors", metadata)
    copy = copied(tmp_path / "python.safetensors", tmp_path)
    loaded = load_file(copy)
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert same_bits(loaded[name], tensor), name
    with safe_open(copy, "pt") as file:
        assert file.metadata() == metadata


def test_a_file_without_metadata_goes_there_and_back(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "python.safetensors")
    assert load_file(copied(tmp_path / "python.safetensors", tmp_path)).keys() == {"a"}


@pytest.fixture
def checkpoint(tmp_path):
    run_test("CheckpointTest.ComesBackAsItWasWritten", tmp_path)
    return tmp_path / "some.safetensors"


def test_a_checkpoint_loads_into_the_same_network(checkpoint):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3, bias=False), torch.nn.BatchNorm2d(2))
    tensors = load_file(checkpoint)
    result = net.load_state_dict(tensors, strict=False)
    assert result.missing_keys == []
    assert result.unexpected_keys == ["optimizer.0.weight.momentum_buffer"]
    assert torch.equal(net[0].weight, tensors["0.weight"])


def test_a_checkpoint_says_what_it_is(checkpoint):
    with safe_open(checkpoint, "pt") as file:
        metadata = file.metadata()
    assert {key: metadata[key] for key in ("model", "epoch", "step")} == {"model": "two_layers", "epoch": "3", "step": "141"}
    assert metadata.keys() >= {"recipe", "format_version", "checksum"}
