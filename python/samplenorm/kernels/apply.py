"""y = f(scale x + shift + residual), and with keep_mask the bits that say where f' is 1."""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from samplenorm.kernels import formats
from samplenorm.kernels.activations import Activation
from samplenorm.kernels.launch import launch
from samplenorm.kernels.lines import SCALE, SHIFT
from samplenorm.kernels.masks import mask_offsets, packed
from samplenorm.kernels.tiles import items_in, multiple, of_channels, of_positions, offsets_in_tile, tile_at, tile_offset, tiles_of

#: Of a program: enough that what it reads of the statistics is little, and more of them in large layers.
_FEWEST_ITEMS, _MOST_ITEMS, _PROGRAMS = 4, 16, 2048


@triton.jit(do_not_specialize=["rows", "chunk_rows", "channels", "map_points", "tiles_per_map", "channel_blocks", "items_of_block", "x_stride",
                               "y_stride", "chunk_stride", "line_stride", "run_bytes"])
def apply_kernel(x, residual, statistics, y, mask, parameter, rows, chunk_rows, channels, map_points, tiles_per_map, channel_blocks,
                 items_of_block, x_stride, y_stride, chunk_stride, line_stride, run_bytes, ACTIVATION: tl.constexpr, BY_POINT: tl.constexpr,
                 CHANNELS: tl.constexpr, POSITIONS: tl.constexpr, DIVISOR: tl.constexpr):
    if BY_POINT:
        channels = multiple(channels, DIVISOR)
        line_stride = multiple(line_stride, DIVISOR)
    else:
        map_points = multiple(map_points, DIVISOR)
    y_stride = multiple(y_stride, DIVISOR)
    if x_stride is not None:
        x_stride = multiple(x_stride, DIVISOR)
    block = tl.program_id(0) // channel_blocks
    first_channel = (tl.program_id(0) % channel_blocks) * CHANNELS
    chunk = tl.program_id(1)
    channel = first_channel + tl.arange(0, CHANNELS)
    exists = channel < channels
    lines = statistics + chunk.to(tl.int64) * chunk_stride + channel
    scale = of_channels(tl.load(lines + SCALE * line_stride, mask=exists, other=0), BY_POINT)
    shift = of_channels(tl.load(lines + SHIFT * line_stride, mask=exists, other=0), BY_POINT)

    in_tile = offsets_in_tile(y_stride, map_points, BY_POINT, CHANNELS, POSITIONS)
    x_in_tile = in_tile if x_stride is None else offsets_in_tile(x_stride, map_points, BY_POINT, CHANNELS, POSITIONS)
    items = items_in(chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT, POSITIONS)
    for item in range(block * items_of_block, tl.minimum((block + 1) * items_of_block, items)):
        first, place, in_map = tile_at(item, chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT, POSITIONS)
        valid = of_channels(exists, BY_POINT) & of_positions(in_map, BY_POINT)
        begin = tile_offset(first, place, first_channel, y_stride, map_points, BY_POINT)
        x_begin = begin if x_stride is None else tile_offset(first, place, first_channel, x_stride, map_points, BY_POINT)
        # Fused for certain: backward has to find the same z, to the last bit.
        z = tl.fma(tl.load(x + x_begin + x_in_tile, mask=valid, other=0).to(tl.float32), scale, shift)
        if residual is not None:
            z += tl.load(residual + begin + in_tile, mask=valid, other=0).to(tl.float32)
        value, derivative = ACTIVATION(z, parameter)
        tl.store(y + begin + in_tile, value.to(y.dtype.element_ty), mask=valid)
        if mask is not None:
            RUNS: tl.constexpr = POSITIONS if BY_POINT else CHANNELS
            bytes_at, bytes_exist = mask_offsets(first, place, first_channel, channels, run_bytes, in_map, BY_POINT, CHANNELS, POSITIONS)
            tl.store(mask + bytes_at, packed((derivative == 1) & valid, RUNS, CHANNELS * POSITIONS // RUNS), mask=bytes_exist)


def apply(x: Sequence[Tensor], residual: Tensor | None, statistics: Tensor, rows: Sequence[int], activation: Activation,
          keep_mask: bool) -> tuple[Tensor, Tensor]:
    sizes, channels_last = formats.whole_sizes(x), formats.is_channels_last(x[0])
    layout = formats.layout_of(sizes, channels_last)
    y = formats.empty(x[0], sizes, channels_last)
    mask = formats.empty_mask(x[0], layout) if keep_mask else None
    residual = None if residual is None else formats.dense(residual, channels_last)
    statistics = statistics.contiguous()
    chunks, chunk_rows = len(rows) - 1, rows[1]
    for part in formats.parts_of(x, channels_last):
        tiles = tiles_of(layout, part.channels, part.tensor.element_size())
        items = tiles.items(layout, chunk_rows)
        items_of_block = max(_FEWEST_ITEMS, min(_MOST_ITEMS, items * tiles.channel_blocks * chunks // _PROGRAMS))
        blocks = triton.cdiv(items, items_of_block)
        launch(apply_kernel, y.device, (tiles.channel_blocks * blocks, chunks), part.tensor, residual,
               part.of(statistics, 2), part.of(y, 1), mask, activation.parameter, layout.rows, chunk_rows, part.channels,
               layout.map_points, tiles.per_map, tiles.channel_blocks, items_of_block, layout.stride_of_part(part.channels),
               layout.stride(layout.channels), statistics.stride(0), statistics.stride(1), layout.run_bytes,
               ACTIVATION=activation.function, BY_POINT=layout.by_point, CHANNELS=tiles.channels, POSITIONS=tiles.positions,
               DIVISOR=tiles.divisor)
    return y, x[0].new_empty([0], dtype=torch.uint8) if mask is None else mask


