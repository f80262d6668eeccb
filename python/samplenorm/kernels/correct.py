"""dx -= offset + slope (x - the group's mean) at the sample's points, where x is read unless there is a copy of the sample."""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from samplenorm.kernels import formats
from samplenorm.kernels.launch import launch
from samplenorm.kernels.lines import GROUP_MEANS
from samplenorm.kernels.moments import Counts, listed_points, listed_tile, sample_offsets
from samplenorm.kernels.tiles import multiple, of_channels, of_positions, tiles_of


@triton.jit(do_not_specialize=["channels", "map_points", "channel_blocks", "count_0", "count_1", "last_0", "last_1", "x_stride",
                               "sample_stride", "chunk_stride", "line_stride"])
def correct_kernel(dx, x, sample, statistics, correction, points, channels, map_points, channel_blocks, count_0, count_1, last_0, last_1,
                   x_stride, sample_stride, chunk_stride, line_stride, GROUPS: tl.constexpr, BY_POINT: tl.constexpr,
                   CHANNELS: tl.constexpr, POSITIONS: tl.constexpr, DIVISOR: tl.constexpr):
    if BY_POINT:
        channels = multiple(channels, DIVISOR)
        line_stride = multiple(line_stride, DIVISOR)
        x_stride = multiple(x_stride, DIVISOR)
        if sample is not None:
            sample_stride = multiple(sample_stride, DIVISOR)
    item = tl.program_id(0) // channel_blocks
    first_channel = (tl.program_id(0) % channel_blocks) * CHANNELS
    chunk, group = tl.program_id(1) // GROUPS, tl.program_id(1) % GROUPS
    channel = first_channel + tl.arange(0, CHANNELS)
    exists = channel < channels
    begin, count = listed_points(chunk, group, tl.num_programs(1) // GROUPS, count_0, count_1, last_0, last_1)
    if item * POSITIONS < count:
        offsets, present, in_list = listed_tile(points, begin, count, item, x_stride, map_points, first_channel, BY_POINT, CHANNELS,
                                                POSITIONS)
        at = statistics + chunk.to(tl.int64) * chunk_stride + (GROUP_MEANS + group) * line_stride + channel
        mean = of_channels(tl.load(at, mask=exists, other=0), BY_POINT)
        at = correction + tl.program_id(1).to(tl.int64) * (2 * line_stride) + channel
        offset = of_channels(tl.load(at, mask=exists, other=0), BY_POINT)
        slope = of_channels(tl.load(at + line_stride, mask=exists, other=0), BY_POINT)

        valid = of_channels(exists, BY_POINT) & of_positions(present, BY_POINT)
        if sample is not None:
            values = tl.load(sample + sample_offsets(in_list, first_channel, sample_stride, BY_POINT, CHANNELS), mask=valid, other=0)
        else:
            values = tl.load(x + offsets, mask=valid, other=0)
        gradient = tl.load(dx + offsets, mask=valid, other=0).to(tl.float32)
        gradient -= offset + slope * (values.to(tl.float32) - mean)
        tl.store(dx + offsets, gradient.to(dx.dtype.element_ty), mask=valid)


def correct(dx: Sequence[Tensor], x: Sequence[Tensor], sample: Tensor, statistics: Tensor, correction: Tensor, points: Tensor, rows: Sequence[int],
            counts: Counts) -> None:
    channels_last = formats.is_channels_last(dx[0])
    layout = formats.layout_of(formats.whole_sizes(dx), channels_last)
    has_copy = sample.shape[0] > 0
    copy = sample.contiguous() if layout.by_point else sample.t().contiguous().t()
    statistics, correction = statistics.contiguous(), correction.contiguous()
    chunks = len(rows) - 1
    for part in formats.parts_of(dx, channels_last):
        tiles = tiles_of(layout, part.channels, part.tensor.element_size(), gathers=True)
        items = triton.cdiv(counts.most, tiles.positions)
        launch(correct_kernel, copy.device, (tiles.channel_blocks * items, chunks * counts.groups), part.tensor,
               None if has_copy else formats.dense(x[part.index], channels_last), part.of(copy, 1) if has_copy else None,
               part.of(statistics, 2), part.of(correction, 3), points, part.channels, layout.map_points, tiles.channel_blocks,
               *counts.of_chunk, *counts.of_last, layout.stride(part.channels), copy.stride(0 if layout.by_point else 1),
               statistics.stride(0), statistics.stride(1), GROUPS=counts.groups, BY_POINT=layout.by_point, CHANNELS=tiles.channels,
               POSITIONS=tiles.positions, DIVISOR=tiles.divisor)
