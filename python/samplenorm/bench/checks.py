"""Answers before times: with the notation BN, a converted model must give what the original gives."""

import copy

import torch
from torch import Tensor, nn

import samplenorm as sn


def check(model: nn.Module, x: Tensor, name: str) -> None:
    """Raises RuntimeError where outputs or gradients differ by more than rounding."""
    for fuse in (False, True):
        original, converted = copy.deepcopy(model), sn.convert(copy.deepcopy(model), "BN", fuse=fuse)
        results = []
        for each in (original, converted):
            torch.manual_seed(0)  # for dropout
            y = each(x.detach())
            y.float().square().mean().backward()
            gradients = [parameter.grad for parameter in each.parameters() if parameter.grad is not None]
            results.append([y.detach(), *gradients])
        # A gradient may be zero but for rounding, as that of a bias before a norm is.
        least = 1e-3 * max(float(each.abs().max()) for each in results[0])
        for expected, actual in zip(*results):
            error = float((actual - expected).abs().max() / expected.abs().max().clamp(min=least))
            if not error < 0.02:
                raise RuntimeError(f"samplenorm.bench: {name}, {'fused' if fuse else 'converted'} with BN: off by {error:.3g} of the largest value")
