"""python -m samplenorm.info, as a user runs it."""

import json
import os
import subprocess
import sys

import pytest
import torch

import samplenorm as sn


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "samplenorm.info", *arguments], env={**os.environ, **environment}, capture_output=True, text=True)


def test_prints_versions_and_kernels():
    result = run()
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert f"samplenorm: {sn.__version__}" in lines
    assert f"torch: {torch.__version__}" in lines
    assert "kernels on cpu: samplenorm" in lines


def test_json_names_what_can_really_be_fused():
    values = json.loads(run("--json").stdout)
    x = torch.randn(4, 3, 5, 5)
    for name in values["fused activations"]:
        y = sn.BatchNorm2d(3, activation=name)(x)
        assert y.shape == x.shape and torch.isfinite(y).all(), name
    for name in values["fused after a residual"]:
        assert sn.BatchNorm2d(3, activation=name)(x, x).shape == x.shape
    assert "relu" in values["fused activations"] and "identity" not in values["fused activations"]


@pytest.mark.parametrize("argument", ["--nonsense", "surplus"])
def test_wrong_use_is_told(argument):
    result = run(argument)
    assert result.returncode == 2 and argument in result.stderr and not result.stdout
