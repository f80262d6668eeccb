"""Tensors as the kernels see them: lib/nn/tensor_layout.h in Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """N rows, C channels and S points a map of a dense tensor. By point: the channels of a point lie side by side; otherwise the points
    of a channel's map."""

    rows: int
    channels: int
    map_points: int
    by_point: bool

    @property
    def run_bytes(self) -> int:
        """Bytes of a mask for an inner run of memory."""
        return ((self.channels if self.by_point else self.map_points) + 7) // 8

    def stride(self, channels: int) -> int:
        """Elements from a point to the next, or from a row to the next where not by point, of a tensor with so many channels."""
        return channels if self.by_point else channels * self.map_points

    def stride_of_part(self, channels: int) -> int | None:
        """None where it is that of the whole: kernels then have half as many offsets to keep."""
        return None if channels == self.channels else self.stride(channels)


def is_channels_last(x: Tensor) -> bool:
    """As lies_channels_last() of lib/nn has it."""
    return x.dim() > 2 and not x.is_contiguous() and x.movedim(1, -1).is_contiguous()


def layout_of(sizes: Sequence[int], channels_last: bool) -> Layout:
    map_points = prod(sizes[2:])
    return Layout(sizes[0], sizes[1], map_points, channels_last or map_points == 1)


def whole_sizes(x: Sequence[Tensor]) -> list[int]:
    return [x[0].shape[0], sum(part.shape[1] for part in x), *x[0].shape[2:]]


def empty(like: Tensor, sizes: Sequence[int], channels_last: bool) -> Tensor:
    if not channels_last:
        return like.new_empty(sizes)
    if len(sizes) in (4, 5):  # with torch's own strides where sizes of 1 leave a choice
        last = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
        return torch.empty(sizes, dtype=like.dtype, device=like.device, memory_format=last)
    return like.new_empty([sizes[0], *sizes[2:], sizes[1]]).movedim(-1, 1)


def dense(x: Tensor, channels_last: bool) -> Tensor:
    """The tensor itself where it lies densely in this format, else a copy."""
    same_in_both = x.numel() == x.shape[0] * x.shape[1] or x.shape[1] == 1
    fits = is_channels_last(x) if channels_last and not same_in_both else x.is_contiguous()
    return x if fits else empty(x, x.shape, channels_last).copy_(x)


def mask_sizes(layout: Layout) -> list[int]:
    if layout.by_point:
        return [layout.rows, layout.run_bytes, layout.map_points]
    return [layout.rows, layout.channels, layout.run_bytes]


def empty_mask(like: Tensor, layout: Layout) -> Tensor:
    runs = layout.map_points if layout.by_point else layout.channels
    mask = like.new_empty([layout.rows, runs, layout.run_bytes], dtype=torch.uint8)
    return mask.transpose(1, 2) if layout.by_point else mask


def bytes_of_mask(mask: Tensor, layout: Layout) -> Tensor:
    """The mask's bytes in their order in memory."""
    return (mask.transpose(1, 2) if layout.by_point else mask).contiguous()


def backward_is_channels_last(x: Sequence[Tensor], mask: Tensor | None) -> bool:
    """The mask's format where there is one, else that of x: hooks may have repacked what was saved."""
    if mask is None:
        return is_channels_last(x[0])
    return list(mask.shape) != mask_sizes(layout_of(whole_sizes(x), False))


def empty_sample(like: Tensor, room: int, layout: Layout) -> Tensor:
    """(room, C), in the order of memory that the layout has."""
    return like.new_empty([room, layout.channels]) if layout.by_point else like.new_empty([layout.channels, room]).t()


@dataclass(frozen=True)
class Part:
    """One of several inputs that count as concatenated along channels."""

    tensor: Tensor
    index: int
    first_channel: int

    @property
    def channels(self) -> int:
        return self.tensor.shape[1]

    def of(self, whole: Tensor, dim: int) -> Tensor:
        """This part's channels of something that has those of all parts."""
        return whole.narrow(dim, self.first_channel, self.channels)


def parts_of(x: Sequence[Tensor], channels_last: bool) -> list[Part]:
    """Those that have channels."""
    parts, first = [], 0
    for index, tensor in enumerate(x):
        if tensor.shape[1] > 0:
            parts.append(Part(dense(tensor, channels_last), index, first))
        first += tensor.shape[1]
    return parts
