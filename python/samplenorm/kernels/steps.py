"""The six steps by kernels (lib/nn/steps.h says what they do), and by ATen calls what has no kernel: float64, and whatever the kernels do
not know. Both give the same."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from triton import knobs

from samplenorm.kernels import activations, apply, backward, correct, formats, gradients, moments, statistics
from samplenorm.kernels.aten import by_aten
from samplenorm.kernels.capture import refuse_capture
from samplenorm.kernels.devices import has_kernels
from samplenorm.kernels.tiles import tiles_of

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)

if knobs.runtime.interpret:
    from samplenorm.kernels import interpreter

    interpreter.mend()


def _has_kernels(x: Sequence[Tensor], rows: Sequence[int]) -> bool:
    """Also whether all chunks have the same rows, but for the last, which may have fewer."""
    if x[0].dtype not in _DTYPES or not has_kernels(x[0].device):
        return False
    sizes = formats.whole_sizes(x)
    if 0 in sizes or any(rows[k] != k * rows[1] for k in range(len(rows) - 1)) or rows[-1] - rows[-2] > rows[1]:
        return False
    layouts = [formats.layout_of(sizes, channels_last) for channels_last in (False, True)]
    return all(tiles_of(layout, sizes[1], x[0].element_size()).fit_32_bits(layout, sizes[1]) for layout in layouts)


def _moments(x: list[Tensor], points: Tensor, rows: list[int], counts: list[int], room: int) -> tuple[Tensor, Tensor]:
    refuse_capture(points)
    known = moments.counts_of(counts, len(rows) - 1)
    if known is None or known.most == 0 or not _has_kernels(x, rows):
        return by_aten("moments")(x, points, rows, counts, room)
    return moments.moments(x, points, rows, known, room)


def _statistics(found: Tensor, weights: list[float], weight: Tensor | None, bias: Tensor | None, eps: float, running_mean: Tensor | None,
                running_var: Tensor | None, num_batches_tracked: Tensor | None, momentum: float | None, first_is_batch: bool) -> Tensor:
    written = [tensor for tensor in (running_mean, running_var, num_batches_tracked) if tensor is not None]
    fits = (found.dtype == torch.float32 and found.numel() > 0 and len(weights) <= moments.MOST_GROUPS and has_kernels(found.device) and
            all(tensor.is_contiguous() for tensor in written) and len(written) in (0, 3))
    step = statistics.statistics if fits else by_aten("statistics")
    return step(found, weights, weight, bias, eps, running_mean, running_var, num_batches_tracked, momentum, first_is_batch)


def _apply(x: list[Tensor], residual: Tensor | None, found: Tensor, rows: list[int], activation: str,
           keep_mask: bool) -> tuple[Tensor, Tensor]:
    function = activations.find(activation)
    if function is None or not _has_kernels(x, rows):
        return by_aten("apply")(x, residual, found, rows, activation, keep_mask)
    return apply.apply(x, residual, found, rows, function, keep_mask)


def _backward(dy: Tensor, x: list[Tensor], mask: Tensor | None, found: Tensor, correction: Tensor | None, rows: list[int], activation: str,
              lean: bool, want_dx: bool) -> tuple[list[Tensor], Tensor, Tensor]:
    function = activations.find(activation)
    if function is None or not _has_kernels(x, rows):
        return by_aten("backward")(dy, x, mask, found, correction, rows, activation, lean, want_dx)
    return backward.backward(dy, x, mask, found, correction, rows, function, lean, want_dx)


def _gradients(sums: Tensor, pooled_sums: Tensor, found: Tensor, weights: list[float]) -> tuple[Tensor, Tensor, Tensor]:
    fits = sums.dtype == torch.float32 and sums.numel() > 0 and len(weights) <= moments.MOST_GROUPS and has_kernels(sums.device)
    return (gradients.gradients if fits else by_aten("gradients"))(sums, pooled_sums, found, weights)


def _correct(dx: list[Tensor], x: list[Tensor], sample: Tensor, found: Tensor, correction: Tensor, points: Tensor, rows: list[int],
             counts: list[int]) -> None:
    known = moments.counts_of(counts, len(rows) - 1)
    if known is None or known.most == 0 or not _has_kernels(dx, rows):
        by_aten("correct")(dx, x, sample, found, correction, points, rows, counts)
    else:
        correct.correct(dx, x, sample, found, correction, points, rows, known)


STEPS: dict[str, Callable[..., Any]] = {
    "moments": _moments, "statistics": _statistics, "apply": _apply, "backward": _backward, "gradients": _gradients, "correct": _correct,
}
