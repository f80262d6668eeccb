"""Merges the blocks' moments into a layer's statistics, and moves the running statistics."""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from samplenorm.kernels.launch import launch
from samplenorm.kernels.lines import (
    BLOCK_DEVIATION, BLOCK_MEAN, COUNT, GROUP_MEANS, LINES_OF_MOMENTS, MEAN, RSTD, SCALE, SHIFT, UNBIASED_VAR)

#: Channels, blocks and chunks of a tile.
_CHANNELS = 16
_MOST_BLOCKS, _MOST_CHUNKS = 64, 16


@triton.jit
def moved(running, target, share):
    """From running towards the target, as torch.lerp does it."""
    change = target - running
    return tl.where(share < 0.5, running + share * change, target - change * (1.0 - share))


@triton.jit
def sum_of_blocks(values):
    """(chunks, blocks, channels) to (chunks, channels)."""
    return tl.sum(values, axis=1)


@triton.jit
def merged(moments, group, chunk, in_chunks, channel, exists, blocks, chunks, groups, channels, CHUNKS: tl.constexpr,
           BLOCKS: tl.constexpr, CHANNELS: tl.constexpr):
    """Count, mean and variance of a group, (chunks, channels), from those of its blocks."""
    line = (chunk * groups + group).to(tl.int64)[:, None, None] * (LINES_OF_MOMENTS * channels) + channel[None, None, :]
    block_stride = tl.cast(chunks, tl.int64) * groups * LINES_OF_MOMENTS * channels
    valid = in_chunks[:, None, None] & exists[None, None, :]
    count = tl.zeros((CHUNKS, CHANNELS), tl.float32)
    for first in range(0, blocks, BLOCKS):
        block = (first + tl.arange(0, BLOCKS))[None, :, None]
        at = moments + block * block_stride + line
        count += sum_of_blocks(tl.load(at + COUNT * channels, mask=valid & (block < blocks), other=0))
    share = (1.0 / tl.maximum(count, 1.0))[:, None, :]
    mean = tl.zeros((CHUNKS, CHANNELS), tl.float32)
    for first in range(0, blocks, BLOCKS):
        block = (first + tl.arange(0, BLOCKS))[None, :, None]
        at = moments + block * block_stride + line
        weight = share * tl.load(at + COUNT * channels, mask=valid & (block < blocks), other=0)
        mean += sum_of_blocks(weight * tl.load(at + BLOCK_MEAN * channels, mask=valid & (block < blocks), other=0))
    var = tl.zeros((CHUNKS, CHANNELS), tl.float32)
    for first in range(0, blocks, BLOCKS):
        block = (first + tl.arange(0, BLOCKS))[None, :, None]
        at = moments + block * block_stride + line
        weight = share * tl.load(at + COUNT * channels, mask=valid & (block < blocks), other=0)
        from_mean = tl.load(at + BLOCK_MEAN * channels, mask=valid & (block < blocks), other=0) - mean[:, None, :]
        deviation = tl.load(at + BLOCK_DEVIATION * channels, mask=valid & (block < blocks), other=0)
        # A block without points says nothing, even where the mean is infinite.
        var += sum_of_blocks(tl.where(weight > 0, weight * (deviation * deviation + from_mean * from_mean), 0.0))
    return count, mean, var


@triton.jit(do_not_specialize=["blocks", "chunks", "momentum"])
def statistics_kernel(moments, weight, bias, statistics, running_mean, running_var, batches, weight_0, weight_1, eps, momentum, blocks,
                      chunks, channels, GROUPS: tl.constexpr, CUMULATIVE: tl.constexpr, FIRST_IS_BATCH: tl.constexpr,
                      CHUNKS: tl.constexpr, BLOCKS: tl.constexpr, CHANNELS: tl.constexpr):
    share = momentum
    if batches is not None and (CUMULATIVE or FIRST_IS_BATCH):
        batch = tl.load(batches) + 1
        if CUMULATIVE:
            share = 1.0 / batch.to(tl.float32)
        if FIRST_IS_BATCH:
            share = tl.where(batch == 1, 1.0, share)

    # One program takes all channels where it has to read the number of batches, which it must not write before.
    for first in range(tl.program_id(0) * CHANNELS, channels, tl.num_programs(0) * CHANNELS):
        channel = first + tl.arange(0, CHANNELS)
        exists = channel < channels
        gamma = tl.full((CHANNELS,), 1.0, tl.float32)
        beta = tl.zeros((CHANNELS,), tl.float32)
        if weight is not None:
            gamma = tl.load(weight + channel, mask=exists, other=0).to(tl.float32)
        if bias is not None:
            beta = tl.load(bias + channel, mask=exists, other=0).to(tl.float32)
        sum_of_means = tl.zeros((CHANNELS,), tl.float32)
        sum_of_vars = tl.zeros((CHANNELS,), tl.float32)
        for first_chunk in range(0, chunks, CHUNKS):
            chunk = first_chunk + tl.arange(0, CHUNKS)
            in_chunks = chunk < chunks
            valid = in_chunks[:, None] & exists[None, :]
            lines = statistics + chunk.to(tl.int64)[:, None] * ((GROUP_MEANS + 2 * GROUPS) * channels) + channel[None, :]
            mean = tl.zeros((CHUNKS, CHANNELS), tl.float32)
            var = tl.zeros((CHUNKS, CHANNELS), tl.float32)
            unbiased = tl.zeros((CHUNKS, CHANNELS), tl.float32)
            for group in tl.static_range(GROUPS):
                count, group_mean, group_var = merged(moments, group, chunk, in_chunks, channel, exists, blocks, chunks, GROUPS, channels,
                                                      CHUNKS, BLOCKS, CHANNELS)
                share_of_group = weight_0 if group == 0 else weight_1
                mean += share_of_group * group_mean
                var += share_of_group * group_var
                unbiased += share_of_group * (group_var * (count / tl.maximum(count - 1.0, 1.0)))
                tl.store(lines + (GROUP_MEANS + group) * channels, group_mean, mask=valid)
                tl.store(lines + (GROUP_MEANS + GROUPS + group) * channels, count, mask=valid)
            rstd = 1.0 / tl.sqrt_rn(var + eps)
            scale = rstd * gamma[None, :]
            tl.store(lines + MEAN * channels, mean, mask=valid)
            tl.store(lines + RSTD * channels, rstd, mask=valid)
            tl.store(lines + UNBIASED_VAR * channels, unbiased, mask=valid)
            tl.store(lines + SCALE * channels, scale, mask=valid)
            tl.store(lines + SHIFT * channels, beta[None, :] - mean * scale, mask=valid)
            sum_of_means += tl.sum(tl.where(valid, mean, 0.0), axis=0)
            sum_of_vars += tl.sum(tl.where(valid, unbiased, 0.0), axis=0)
        if running_mean is not None:
            old_mean = tl.load(running_mean + channel, mask=exists, other=0).to(tl.float32)
            old_var = tl.load(running_var + channel, mask=exists, other=0).to(tl.float32)
            new_mean = moved(old_mean, sum_of_means / chunks, share)
            new_var = moved(old_var, sum_of_vars / chunks, share)
            tl.store(running_mean + channel, new_mean.to(running_mean.dtype.element_ty), mask=exists)
            tl.store(running_var + channel, new_var.to(running_var.dtype.element_ty), mask=exists)
    if batches is not None:
        tl.debug_barrier()  # every warp has read the number by now
        if tl.program_id(0) == 0:
            tl.store(batches, tl.load(batches) + 1)


def statistics(moments: Tensor, weights: Sequence[float], weight: Tensor | None, bias: Tensor | None, eps: float,
               running_mean: Tensor | None, running_var: Tensor | None, num_batches_tracked: Tensor | None, momentum: float | None,
               first_is_batch: bool) -> Tensor:
    moments = moments.contiguous()
    blocks, chunks, groups, _, channels = moments.shape
    found = moments.new_empty([chunks, GROUP_MEANS.value + 2 * groups, channels])
    tile_chunks = min(triton.next_power_of_2(chunks), _MOST_CHUNKS)
    tile_blocks = min(triton.next_power_of_2(blocks), _MOST_BLOCKS // tile_chunks)
    reads_batches = running_mean is not None and (momentum is None or first_is_batch)
    programs = 1 if reads_batches else triton.cdiv(channels, _CHANNELS)
    batches = num_batches_tracked if running_mean is not None else None
    launch(statistics_kernel, found.device, (programs,), moments, _dense(weight), _dense(bias), found, running_mean, running_var, batches,
           float(weights[0]), float(weights[-1]), float(eps), 0.0 if momentum is None else float(momentum), blocks, chunks, channels,
           GROUPS=groups, CUMULATIVE=momentum is None, FIRST_IS_BATCH=first_is_batch, CHUNKS=tile_chunks, BLOCKS=tile_blocks,
           CHANNELS=_CHANNELS, most_registers=128)
    return found


def _dense(parameter: Tensor | None) -> Tensor | None:
    return None if parameter is None else parameter.contiguous()
