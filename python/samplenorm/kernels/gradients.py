"""Adds up the blocks' sums: dweight and dbias of this process, and the correction from the sums of all processes."""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from samplenorm.kernels.launch import launch
from samplenorm.kernels.lines import GROUP_MEANS, RSTD, SCALE

_CHANNELS = 16
_MOST_BLOCKS = 64


@triton.jit
def sums_of_lines(sums, begin, step, lines, channel, exists, channels, LINES: tl.constexpr, CHANNELS: tl.constexpr):
    """D and P, added up over `lines` pairs of them, each `step` elements after the one before."""
    sum_dz = tl.zeros((LINES, CHANNELS), tl.float32)
    sum_dz_xhat = tl.zeros((LINES, CHANNELS), tl.float32)
    for first in range(0, lines, LINES):
        line = first + tl.arange(0, LINES)
        at = sums + begin + line.to(tl.int64)[:, None] * step + channel[None, :]
        valid = (line < lines)[:, None] & exists[None, :]
        sum_dz += tl.load(at, mask=valid, other=0)
        sum_dz_xhat += tl.load(at + channels, mask=valid, other=0)
    return tl.sum(sum_dz, axis=0), tl.sum(sum_dz_xhat, axis=0)


@triton.jit(do_not_specialize=["blocks", "pooled_blocks"])
def gradients_kernel(sums, pooled_sums, statistics, dweight, dbias, correction, weight_0, weight_1, blocks, pooled_blocks, channels,
                     GROUPS: tl.constexpr, ONE_CHUNK: tl.constexpr, LINES: tl.constexpr, CHANNELS: tl.constexpr):
    """A program a chunk finds its correction; one more adds all chunks up, or the only one does both."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    exists = channel < channels
    chunk, chunks = tl.program_id(1).to(tl.int64), 1 if ONE_CHUNK else tl.num_programs(1) - 1
    pair = 2 * channels  # D and P of a chunk
    if chunk == chunks:
        sum_dz, sum_dz_xhat = sums_of_lines(sums, 0, pair, blocks * chunks, channel, exists, channels, LINES, CHANNELS)
        tl.store(dbias + channel, sum_dz, mask=exists)
        tl.store(dweight + channel, sum_dz_xhat, mask=exists)
    else:
        sum_dz, sum_dz_xhat = sums_of_lines(pooled_sums, chunk * pair, chunks * pair, pooled_blocks, channel, exists, channels, LINES,
                                            CHANNELS)
        lines = statistics + chunk * ((GROUP_MEANS + 2 * GROUPS) * channels) + channel
        if ONE_CHUNK:
            tl.store(dbias + channel, sum_dz, mask=exists)
            tl.store(dweight + channel, sum_dz_xhat, mask=exists)
        scale = tl.load(lines + SCALE * channels, mask=exists, other=0)
        rstd = tl.load(lines + RSTD * channels, mask=exists, other=0)
        for group in tl.static_range(GROUPS):
            count = tl.load(lines + (GROUP_MEANS + GROUPS + group) * channels, mask=exists, other=1)
            scaled = (weight_0 if group == 0 else weight_1) * scale / count
            at = correction + (chunk * GROUPS + group) * pair + channel
            tl.store(at, scaled * sum_dz, mask=exists)
            tl.store(at + channels, scaled * rstd * sum_dz_xhat, mask=exists)


def gradients(sums: Tensor, pooled_sums: Tensor, statistics: Tensor, weights: Sequence[float]) -> tuple[Tensor, Tensor, Tensor]:
    one_chunk = pooled_sums is sums and sums.shape[1] == 1
    sums, pooled_sums, statistics = sums.contiguous(), pooled_sums.contiguous(), statistics.contiguous()
    blocks, chunks, _, channels = sums.shape
    dweight, dbias = sums.new_empty([channels]), sums.new_empty([channels])
    correction = sums.new_empty([chunks, len(weights), 2, channels])
    lines = min(triton.next_power_of_2(max(blocks * chunks, pooled_sums.shape[0])), _MOST_BLOCKS)
    launch(gradients_kernel, sums.device, (triton.cdiv(channels, _CHANNELS), 1 if one_chunk else chunks + 1), sums, pooled_sums, statistics, dweight, dbias,
           correction, float(weights[0]), float(weights[-1]), blocks, pooled_sums.shape[0], channels, GROUPS=len(weights), ONE_CHUNK=one_chunk,
           LINES=lines, CHANNELS=_CHANNELS, most_registers=128)
    return dweight, dbias, correction
