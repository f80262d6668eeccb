"""Counts, means and deviations of blocks of the sample's points, and a copy of the sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from samplenorm.kernels import formats
from samplenorm.kernels.launch import launch
from samplenorm.kernels.lines import BLOCK_DEVIATION, BLOCK_MEAN, COUNT, LINES_OF_MOMENTS
from samplenorm.kernels.tiles import (
    blocks_for, items_in, multiple, of_channels, of_positions, offsets_in_tile, sum_of_positions, tile_at, tile_offset, tiles_of)

#: Of a listed sample, which is small; and of a whole one.
_FEWEST_ITEMS, _FEWEST_OF_WHOLE = 4, 8
MOST_GROUPS = 2


@dataclass(frozen=True)
class Counts:
    """Points of the groups, where all chunks but the last have the same."""

    groups: int
    of_chunk: tuple[int, int]
    of_last: tuple[int, int]

    @property
    def most(self) -> int:
        return max(self.of_chunk)


def counts_of(counts: Sequence[int], chunks: int) -> Counts | None:
    """None where they are not so, or where there are more groups than the kernels know."""
    groups = len(counts) // chunks
    first, last = tuple(counts[:groups]), tuple(counts[-groups:])
    if groups > MOST_GROUPS or any(tuple(counts[k * groups:(k + 1) * groups]) != first for k in range(chunks - 1)) or max(last) > max(first):
        return None
    return Counts(groups, (first[0], first[1] if groups == 2 else 0), (last[0], last[1] if groups == 2 else 0))


@triton.jit
def listed_points(chunk, group, chunks, count_0, count_1, last_0, last_1):
    """Where a group's points begin in the list, and how many there are."""
    is_last = chunk == chunks - 1
    of_first = tl.where(is_last, last_0, count_0)
    count = tl.where(group == 0, of_first, tl.where(is_last, last_1, count_1))
    return chunk.to(tl.int64) * (count_0 + count_1) + group * of_first, count


@triton.jit
def listed_tile(points, begin, count, item, stride, map_points, first_channel, BY_POINT: tl.constexpr, CHANNELS: tl.constexpr,
                POSITIONS: tl.constexpr):
    """Offsets of listed points and channels, which of the points exist, and their places in the list."""
    place = item * POSITIONS + tl.arange(0, POSITIONS)
    in_list = place < count
    number = tl.load(points + begin + place, mask=in_list, other=0)
    channel = (first_channel + tl.arange(0, CHANNELS)).to(tl.int64)
    if BY_POINT:
        offsets = number[:, None] * stride + channel[None, :]
    else:
        offsets = channel[:, None] * map_points + ((number // map_points) * stride + number % map_points)[None, :]
    return offsets, in_list, begin + place


@triton.jit
def sample_offsets(place, first_channel, stride, BY_POINT: tl.constexpr, CHANNELS: tl.constexpr):
    """Of points at these places of the list in the copy of the sample, whose stride is that from a run of memory to the next."""
    channel = (first_channel + tl.arange(0, CHANNELS)).to(tl.int64)
    if BY_POINT:
        return place[:, None] * stride + channel[None, :]
    else:
        return channel[:, None] * stride + place[None, :]


@triton.jit(do_not_specialize=["rows", "chunk_rows", "channels", "map_points", "tiles_per_map", "channel_blocks", "items_of_block",
                               "count_0", "count_1", "last_0", "last_1", "x_stride", "sample_stride", "line_stride"])
def moments_kernel(x, points, moments, sample, rows, chunk_rows, channels, map_points, tiles_per_map, channel_blocks, items_of_block,
                   count_0, count_1, last_0, last_1, x_stride, sample_stride, line_stride, GROUPS: tl.constexpr, BY_POINT: tl.constexpr,
                   CHANNELS: tl.constexpr, POSITIONS: tl.constexpr, DIVISOR: tl.constexpr):
    if BY_POINT:
        channels = multiple(channels, DIVISOR)
        line_stride = multiple(line_stride, DIVISOR)
        sample_stride = multiple(sample_stride, DIVISOR)
    else:
        map_points = multiple(map_points, DIVISOR)
    x_stride = multiple(x_stride, DIVISOR)
    block = tl.program_id(0) // channel_blocks
    first_channel = (tl.program_id(0) % channel_blocks) * CHANNELS
    chunk, group = tl.program_id(1) // GROUPS, tl.program_id(1) % GROUPS
    channel = first_channel + tl.arange(0, CHANNELS)
    exists = channel < channels

    # Each lane has a mean and a variance of its own: no sum of squares, which would lose digits where the mean is large.
    RUNS: tl.constexpr = POSITIONS if BY_POINT else CHANNELS
    mean = tl.zeros((RUNS, CHANNELS * POSITIONS // RUNS), tl.float32)
    var = tl.zeros((RUNS, CHANNELS * POSITIONS // RUNS), tl.float32)
    seen = tl.zeros((POSITIONS,), tl.float32)
    begin, count = listed_points(chunk, group, tl.num_programs(1) // GROUPS, count_0, count_1, last_0, last_1)
    if points is not None:
        items = (count + POSITIONS - 1) // POSITIONS
    else:
        items = items_in(chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT, POSITIONS)
    for item in range(block * items_of_block, tl.minimum((block + 1) * items_of_block, items)):
        if points is not None:
            offsets, present, in_list = listed_tile(points, begin, count, item, x_stride, map_points, first_channel, BY_POINT, CHANNELS,
                                                    POSITIONS)
        else:
            first, place, present = tile_at(item, chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT, POSITIONS)
            offsets = tile_offset(first, place, first_channel, x_stride, map_points, BY_POINT) + offsets_in_tile(
                x_stride, map_points, BY_POINT, CHANNELS, POSITIONS)
        valid = of_channels(exists, BY_POINT) & of_positions(present, BY_POINT)
        loaded = tl.load(x + offsets, mask=valid, other=0)
        if sample is not None:
            tl.store(sample + sample_offsets(in_list, first_channel, sample_stride, BY_POINT, CHANNELS), loaded, mask=valid)
        seen += present.to(tl.float32)
        share = of_positions(1.0 / tl.maximum(seen, 1.0), BY_POINT)
        values = loaded.to(tl.float32)
        deviation = values - mean
        mean += tl.where(valid, deviation * share, 0.0)
        var += tl.where(valid, (deviation * (values - mean) - var) * share, 0.0)

    total = tl.sum(seen, axis=0)
    weight = of_positions(seen / tl.maximum(total, 1.0), BY_POINT)
    mean_of_block = sum_of_positions(weight * mean, BY_POINT)
    from_mean = mean - of_channels(mean_of_block, BY_POINT)
    var_of_block = sum_of_positions(weight * (var + from_mean * from_mean), BY_POINT)
    # (blocks, chunks, groups, 3, channels)
    at = moments + (block.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)) * (LINES_OF_MOMENTS * line_stride) + channel
    tl.store(at + COUNT * line_stride, tl.zeros((CHANNELS,), tl.float32) + total, mask=exists)
    tl.store(at + BLOCK_MEAN * line_stride, mean_of_block, mask=exists)
    tl.store(at + BLOCK_DEVIATION * line_stride, tl.sqrt_rn(var_of_block), mask=exists)


def moments(x: Sequence[Tensor], points: Tensor, rows: Sequence[int], counts: Counts, room: int) -> tuple[Tensor, Tensor]:
    channels_last = formats.is_channels_last(x[0])
    layout = formats.layout_of(formats.whole_sizes(x), channels_last)
    chunks, chunk_rows = len(rows) - 1, rows[1]
    listed = points.numel() > 0
    sample = formats.empty_sample(x[0], room, layout)
    if points.numel() < room:
        sample.zero_()
    parts = [(part, tiles_of(layout, part.channels, part.tensor.element_size(), listed)) for part in formats.parts_of(x, channels_last)]
    items = [triton.cdiv(counts.most, tiles.positions) if listed else tiles.items(layout, chunk_rows) for _, tiles in parts]
    blocks = max(blocks_for(of_part, tiles.channel_blocks * chunks * counts.groups, _FEWEST_ITEMS if listed else _FEWEST_OF_WHOLE)
                 for of_part, (_, tiles) in zip(items, parts))
    found = x[0].new_empty([blocks, chunks, counts.groups, LINES_OF_MOMENTS.value, layout.channels], dtype=torch.float32)
    for of_part, (part, tiles) in zip(items, parts):
        launch(moments_kernel, found.device, (tiles.channel_blocks * blocks, chunks * counts.groups), part.tensor,
               points if listed else None, part.of(found, 4), part.of(sample, 1) if listed and room > 0 else None, layout.rows,
               chunk_rows, part.channels, layout.map_points, tiles.per_map, tiles.channel_blocks, triton.cdiv(of_part, blocks),
               *counts.of_chunk, *counts.of_last, layout.stride(part.channels), sample.stride(0 if layout.by_point else 1),
               layout.channels, GROUPS=counts.groups, BY_POINT=layout.by_point, CHANNELS=tiles.channels, POSITIONS=tiles.positions,
               DIVISOR=tiles.divisor)
    return found, sample
