"""How much memory the kernels move, in passes over the activations ("units"). On a device the same loads and stores happen."""

import os

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
os.environ["SAMPLENORM_KERNELS"] = "triton"

import pytest
import torch

from counted_bytes import counted
from samplenorm._library import ops
import samplenorm  # noqa: F401  registers the kernels

SIZES = (256, 64, 64, 64)


def units(dtype, channels_last, with_residual, sizes=SIZES):
    """Of forward and of backward, without what concerns the sample alone; and the share of those."""
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


@pytest.mark.parametrize("dtype, channels_last", [(torch.bfloat16, True), (torch.bfloat16, False), (torch.float32, True)])
def test_a_layer_with_relu_moves_five_units(dtype, channels_last):
    forward, backward, sample = units(dtype, channels_last, with_residual=False)
    assert 2 <= forward <= 2.05 and 3 <= backward <= 3.05 and sample < 0.1, (forward, backward, sample)


@pytest.mark.parametrize("channels_last", [True, False])
def test_with_a_residual_it_moves_seven_units_and_the_mask(channels_last):
    forward, backward, sample = units(torch.bfloat16, channels_last, with_residual=True)
    assert 3.06 <= forward <= 3.15 and 4.06 <= backward <= 4.15 and sample < 0.1, (forward, backward, sample)
