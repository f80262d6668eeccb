"""Counts the bytes that the Triton kernels load and store, by wrapping Triton's interpreter: lanes that are masked out do not count.

    python bench/gpu_bytes.py [--json results/gpu-bytes.json]

Figures are in units, passes over the activations. Of a large grid the first programs run, and count for all: in the layers here, all
programs have the same to do."""

import os

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
os.environ["SAMPLENORM_KERNELS"] = "triton"

import argparse
import contextlib
import json
from collections import Counter
from pathlib import Path
from unittest import mock

import torch
from triton.runtime.interpreter import InterpreterBuilder

import samplenorm  # noqa: F401  registers the kernels
from samplenorm._library import ops
from samplenorm.kernels.launch import launches_by

SIZES = (256, 64, 64, 64)
CASES = [(torch.bfloat16, True, False), (torch.bfloat16, False, False), (torch.float32, True, False), (torch.bfloat16, True, True),
         (torch.bfloat16, False, True)]


@contextlib.contextmanager
def counted(most_programs=64):
    """Gives a Counter: bytes by kernel."""
    moved, current = Counter(), ["", 1.0]
    load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

    def add(pointers, mask):
        moved[current[0]] += current[1] * int(mask.data.sum()) * (pointers.get_element_ty().primitive_bitwidth // 8)

    def counted_load(builder, pointers, mask, *others):
        add(pointers, mask)
        return load(builder, pointers, mask, *others)

    def counted_store(builder, pointers, values, mask, *others):
        add(pointers, mask)
        return store(builder, pointers, values, mask, *others)

    def named(start):
        def run(kernel, grid, *others):
            programs = min(grid[0], most_programs)
            current[:] = kernel.__name__, grid[0] / programs
            start(kernel, (programs, *grid[1:]), *others)

        return run

    with mock.patch.object(InterpreterBuilder, "create_masked_load", counted_load), \
            mock.patch.object(InterpreterBuilder, "create_masked_store", counted_store), launches_by(named):
        yield moved


def units(dtype, channels_last, with_residual, sizes=SIZES):
    """Of forward, of backward, and of the steps that touch the sample alone (moments, correct)."""
    memory_format = torch.channels_last if channels_last else torch.contiguous_format
    x, residual, dy = (torch.zeros(sizes, dtype=dtype).to(memory_format=memory_format) for _ in range(3))
    weight, bias = (torch.ones(sizes[1], requires_grad=True) for _ in range(2))
    running = (torch.zeros(sizes[1]), torch.ones(sizes[1]), torch.tensor(0), 0.1, False)
    one = x.numel() * x.element_size()
    with counted() as forward:
        y = ops.sampled_batch_norm([x.requires_grad_()], weight, bias, residual.requires_grad_() if with_residual else None, "LS-1/64",
                                   torch.tensor([1, 2, 3, 4]), 1e-5, "relu", False, "", 0, 1, False, *running)[0]
    with counted() as backward:
        y.backward(dy)
    sample = (forward.pop("moments_kernel") + backward.pop("correct_kernel")) / one
    return sum(forward.values()) / one, sum(backward.values()) / one, sample


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    layers = []
    for dtype, channels_last, with_residual in CASES:
        forward, backward, sample = units(dtype, channels_last, with_residual)
        layers.append({"sizes": SIZES, "dtype": str(dtype).removeprefix("torch."), "channels_last": channels_last, "norm": "LS-1/64",
                       "residual": with_residual, "forward": round(forward, 4), "backward": round(backward, 4), "sample": round(sample, 4)})
        print(json.dumps(layers[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"layers": layers}, indent=1) + "\n")


if __name__ == "__main__":
    main()
