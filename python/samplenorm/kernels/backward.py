"""dx = scale dz, the residual's gradient dz, and partial sums of dz and of dz xhat, in one pass over dy and x."""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from samplenorm.kernels import formats
from samplenorm.kernels.activations import Activation
from samplenorm.kernels.launch import launch
from samplenorm.kernels.lines import MEAN, RSTD, SCALE, SHIFT
from samplenorm.kernels.masks import mask_offsets, unpacked
from samplenorm.kernels.tiles import (
    blocks_for, items_in, multiple, of_channels, of_positions, offsets_in_tile, sum_of_positions, tile_at, tile_offset, tiles_of)

_FEWEST_ITEMS = 8


@triton.jit(do_not_specialize=["rows", "chunk_rows", "channels", "map_points", "tiles_per_map", "channel_blocks", "items_of_block", "x_stride",
                               "y_stride", "chunk_stride", "line_stride", "run_bytes"])
def backward_kernel(dy, x, mask, statistics, correction, dx, dresidual, sums, parameter, slope, rows, chunk_rows, channels, map_points,
                    tiles_per_map, channel_blocks, items_of_block, x_stride, y_stride, chunk_stride, line_stride, run_bytes,
                    ACTIVATION: tl.constexpr, LEAN: tl.constexpr, BY_POINT: tl.constexpr, CHANNELS: tl.constexpr,
                    POSITIONS: tl.constexpr, DIVISOR: tl.constexpr):
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
    mean = of_channels(tl.load(lines + MEAN * line_stride, mask=exists, other=0), BY_POINT)
    scale = of_channels(tl.load(lines + SCALE * line_stride, mask=exists, other=0), BY_POINT)
    shift = of_channels(tl.load(lines + SHIFT * line_stride, mask=exists, other=0), BY_POINT)
    if correction is not None:  # of one group, (chunks, 2, channels)
        at = correction + chunk.to(tl.int64) * (2 * line_stride) + channel
        correction_offset = of_channels(tl.load(at, mask=exists, other=0), BY_POINT)
        correction_slope = of_channels(tl.load(at + line_stride, mask=exists, other=0), BY_POINT)

    RUNS: tl.constexpr = POSITIONS if BY_POINT else CHANNELS
    LENGTH: tl.constexpr = CHANNELS if BY_POINT else POSITIONS
    sum_dz = tl.zeros((RUNS, LENGTH), tl.float32)
    sum_dz_x = tl.zeros((RUNS, LENGTH), tl.float32)
    in_tile = offsets_in_tile(y_stride, map_points, BY_POINT, CHANNELS, POSITIONS)
    x_in_tile = in_tile if x_stride is None else offsets_in_tile(x_stride, map_points, BY_POINT, CHANNELS, POSITIONS)
    items = items_in(chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT, POSITIONS)
    for item in range(block * items_of_block, tl.minimum((block + 1) * items_of_block, items)):
        first, place, in_map = tile_at(item, chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT, POSITIONS)
        valid = of_channels(exists, BY_POINT) & of_positions(in_map, BY_POINT)
        begin = tile_offset(first, place, first_channel, y_stride, map_points, BY_POINT)
        x_begin = begin if x_stride is None else tile_offset(first, place, first_channel, x_stride, map_points, BY_POINT)
        values = tl.load(x + x_begin + x_in_tile, mask=valid, other=0).to(tl.float32)
        dz = tl.load(dy + begin + in_tile, mask=valid, other=0).to(tl.float32)
        if mask is not None:
            bytes_at, bytes_exist = mask_offsets(first, place, first_channel, channels, run_bytes, in_map, BY_POINT, CHANNELS, POSITIONS)
            is_one = unpacked(tl.load(mask + bytes_at, mask=bytes_exist, other=0), RUNS, LENGTH)
            derivative = tl.where(is_one, 1.0, slope)
        else:
            z = values if LEAN else tl.fma(values, scale, shift)
            value, derivative = ACTIVATION(z, parameter)
        dz = tl.where(derivative == 0, 0.0, dz * derivative)  # whatever dy is

        deviation = values - mean
        if sums is not None:
            sum_dz += tl.where(valid, dz, 0.0)
            sum_dz_x += tl.where(valid, dz * deviation, 0.0)
        if dresidual is not None:
            tl.store(dresidual + begin + in_tile, dz.to(dresidual.dtype.element_ty), mask=valid)
        if dx is not None:
            gradient = scale * dz
            if correction is not None:
                gradient -= correction_offset + correction_slope * deviation
            tl.store(dx + x_begin + x_in_tile, gradient.to(dx.dtype.element_ty), mask=valid)

    if sums is not None:  # (blocks, chunks, 2, channels)
        rstd = tl.load(lines + RSTD * line_stride, mask=exists, other=0)
        at = sums + (block.to(tl.int64) * tl.num_programs(1) + chunk) * (2 * line_stride) + channel
        tl.store(at, sum_of_positions(sum_dz, BY_POINT), mask=exists)
        tl.store(at + line_stride, sum_of_positions(sum_dz_x, BY_POINT) * rstd, mask=exists)


def backward(dy: Tensor, x: Sequence[Tensor], mask: Tensor | None, statistics: Tensor, correction: Tensor | None, rows: Sequence[int],
             activation: Activation, lean: bool, want_dx: bool) -> tuple[list[Tensor], Tensor, Tensor]:
    channels_last = formats.backward_is_channels_last(x, mask)
    sizes = formats.whole_sizes(x)
    layout = formats.layout_of(sizes, channels_last)
    dy, statistics = formats.dense(dy, channels_last), statistics.contiguous()
    bits = None if mask is None else formats.bytes_of_mask(mask, layout)
    correction = None if correction is None else correction.contiguous()
    chunks, chunk_rows = len(rows) - 1, rows[1]
    parts = [(part, tiles_of(layout, part.channels, part.tensor.element_size())) for part in formats.parts_of(x, channels_last)]
    blocks = max(blocks_for(tiles.items(layout, chunk_rows), tiles.channel_blocks * chunks, _FEWEST_ITEMS) for _, tiles in parts)

    dx = [formats.empty(each, each.shape, channels_last) for each in x] if want_dx else []
    dresidual = formats.empty(dy, sizes, channels_last) if want_dx and mask is not None else None
    sums = None if correction is not None else statistics.new_empty([blocks, chunks, 2, layout.channels])
    for part, tiles in parts:
        launch(backward_kernel, dy.device, (tiles.channel_blocks * blocks, chunks), part.of(dy, 1), part.tensor, bits,
               part.of(statistics, 2), None if correction is None else part.of(correction, 3), dx[part.index] if want_dx else None,
               dresidual, None if sums is None else part.of(sums, 3), activation.parameter, activation.slope, layout.rows, chunk_rows,
               part.channels, layout.map_points, tiles.per_map, tiles.channel_blocks,
               triton.cdiv(tiles.items(layout, chunk_rows), blocks), layout.stride_of_part(part.channels), layout.stride(layout.channels),
               statistics.stride(0), statistics.stride(1), layout.run_bytes, ACTIVATION=activation.function, LEAN=lean,
               BY_POINT=layout.by_point, CHANNELS=tiles.channels, POSITIONS=tiles.positions, DIVISOR=tiles.divisor)
    none = x[0].new_empty([0])
    return dx, statistics.new_empty([0]) if sums is None else sums, none if dresidual is None else dresidual
