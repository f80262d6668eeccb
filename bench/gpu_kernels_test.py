"""Every kernel compiles for real targets: no spills, at most 128 registers, accesses of 16 bytes where channels allow them.

Here the launches of a layer with 64 channels; python bench/gpu_kernels.py compiles those of all sizes, and results/gpu-kernels.json is what
it found."""

import json
from pathlib import Path

import pytest

import gpu_kernels

FIGURES = Path(__file__).resolve().parent.parent / "results" / "gpu-kernels.json"
MOST_REGISTERS = {"sm_80": 128, "sm_90": 128, "gfx942": 128}
KERNELS = {"moments_kernel", "statistics_kernel", "apply_kernel", "backward_kernel", "gradients_kernel", "correct_kernel"}


def check(found):
    assert found["spilled_bytes"] == 0, found
    assert found["registers"] <= MOST_REGISTERS[found["target"]], found
    streams = found["kernel"] in ("apply_kernel", "backward_kernel")
    if streams and found["allows_16_bytes"]:
        assert found["accesses_of_16_bytes"] > 0, found


@pytest.mark.parametrize("target", gpu_kernels.TARGETS)
def test_kernels_of_a_layer_compile(target):
    launches = gpu_kernels.recorded(quick=True)
    assert {launch.kernel.__name__ for launch in launches} == KERNELS
    for launch, layer in launches.items():
        check(gpu_kernels.compiled(target, launch, layer))


def test_the_published_figures_are_of_every_kernel_and_target():
    figures = json.loads(FIGURES.read_text())["kernels"]
    assert {(found["kernel"], found["target"]) for found in figures} == {(kernel, target) for kernel in KERNELS for target in MOST_REGISTERS}
    for found in figures:
        check(found)
