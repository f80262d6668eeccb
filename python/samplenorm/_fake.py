"""What the operators give, by shapes alone: for torch.compile and torch.export.

Tensors may be of any device beside a key on the CPU, and their sizes may be symbols. How many points a sample has is no formula of such
sizes, so it is then a number that is not known before the graph runs: one graph serves many sizes."""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from samplenorm._library import notation
from samplenorm.activations import IDENTITY

_LINES_BEFORE_GROUP_MEANS = 5


def _is_channels_last(x: Tensor) -> bool:
    """As lies_channels_last() of lib/nn has it."""
    return x.dim() > 2 and not x.is_contiguous() and x.movedim(1, -1).is_contiguous()


def _empty(x: Tensor, sizes: Sequence[Any], channels_last: bool) -> Tensor:
    if not channels_last:
        return x.new_empty(sizes)
    return x.new_empty([sizes[0], *sizes[2:], sizes[1]]).movedim(-1, 1)


def _sizes(x: Sequence[Tensor]) -> list[Any]:
    return [x[0].shape[0], sum(part.shape[1] for part in x), *x[0].shape[2:]]


def _plan_sizes(spec: str, sizes: list[Any], ranks: int, sync: bool, has_copy: bool) -> tuple[Any, int, Any]:
    """Chunks, groups, and room for the copy of the sample."""
    known = notation(spec)
    if all(isinstance(size, int) for size in sizes):
        chunks, groups, room = known.plan_sizes(sizes, ranks, sync)
        return chunks, groups, room if has_copy else 0
    virtual_rows, stat_batch = known.read()[4:]
    typical = [max(64, 4 * (virtual_rows + 1))] + [16] * (len(sizes) - 1)
    groups = known.plan_sizes(typical, ranks, sync)[1]
    chunks = torch.library.get_ctx().new_dynamic_size() if stat_batch else 1
    is_whole = spec.split(";")[0] == "BN"
    return chunks, groups, torch.library.get_ctx().new_dynamic_size() if has_copy and not is_whole else 0


def _mask(x: Tensor, sizes: Sequence[Any], by_point: bool) -> Tensor:
    """A bit for each element (lib/nn/tensor_layout.h)."""
    runs, length = (prod(sizes[2:]), sizes[1]) if by_point else (sizes[1], prod(sizes[2:]))
    bits = x.new_empty([sizes[0], runs, (length + 7) // 8], dtype=torch.uint8)
    return bits.transpose(1, 2) if by_point else bits


@torch.library.register_fake("samplenorm::sampled_batch_norm", allow_override=True)  # type: ignore[untyped-decorator]
def _forward(x: list[Tensor], weight: Tensor | None, bias: Tensor | None, residual: Tensor | None, spec: str, key: Tensor, eps: float,
             activation: str = IDENTITY, lean: bool = False, group: str = "", rank: int = 0, ranks: int = 1,
             keep: bool = False, *running: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    first, sizes, channels_last = x[0], _sizes(x), _is_channels_last(x[0])
    chunks, groups, room = _plan_sizes(spec, sizes, ranks, bool(group), keep and lean)
    kind = torch.float64 if first.dtype == torch.float64 else torch.float32
    is_empty = all(isinstance(size, int) for size in sizes) and 0 in sizes
    new = first.new_zeros if is_empty else first.new_empty
    statistics = new([chunks, _LINES_BEFORE_GROUP_MEANS + 2 * groups, sizes[1]], dtype=kind)
    by_point = channels_last or prod(sizes[2:]) == 1  # the channels of a point lie side by side
    sample = first.new_empty([room, sizes[1]]) if by_point else first.new_empty([sizes[1], room]).t()
    has_mask = keep and residual is not None and activation != IDENTITY
    mask = _mask(first, sizes, by_point) if has_mask else first.new_empty([0], dtype=torch.uint8)
    return _empty(first, sizes, channels_last), statistics, sample, mask


@torch.library.register_fake("samplenorm::sampled_batch_norm_backward", allow_override=True)  # type: ignore[untyped-decorator]
def _backward(dy: Tensor, x: list[Tensor], weight: Tensor | None, bias: Tensor | None, statistics: Tensor, sample: Tensor,
              mask: Tensor | None, spec: str, key: Tensor, activation: str = IDENTITY, lean: bool = False, group: str = "", rank: int = 0,
              ranks: int = 1, want_dx: bool = True) -> tuple[list[Tensor], Tensor, Tensor, Tensor]:
    has_mask = mask is not None and mask.dim() != 1
    channels_last = _is_channels_last(x[0])
    dx = [_empty(part, part.shape, channels_last) for part in x] if want_dx else []
    dresidual = _empty(dy, dy.shape, channels_last) if has_mask and want_dx else dy.new_empty([0])
    return dx, statistics.new_empty([statistics.shape[2]]), statistics.new_empty([statistics.shape[2]]), dresidual
