"""A mask has a bit for each element, and each inner run of memory begins with a byte of its own (lib/kernels/arguments.h)."""

import triton
import triton.language as tl


@triton.jit
def mask_offsets(first, place, first_channel, channels, run_bytes, valid, BY_POINT: tl.constexpr, CHANNELS: tl.constexpr,
                 POSITIONS: tl.constexpr):
    """The places of a tile's bytes, and which of them exist. The tile is as tile_at() has it, its valid positions included."""
    if BY_POINT:
        begin = first * run_bytes + first_channel // 8
        byte = first_channel // 8 + tl.arange(0, CHANNELS // 8)
        offsets = tl.arange(0, POSITIONS)[:, None] * run_bytes + tl.arange(0, CHANNELS // 8)[None, :]
        return begin + offsets, valid[:, None] & (byte < run_bytes)[None, :]
    else:
        begin = (first * channels + first_channel) * run_bytes + place // 8
        byte = place // 8 + tl.arange(0, POSITIONS // 8)
        offsets = tl.arange(0, CHANNELS)[:, None] * run_bytes + tl.arange(0, POSITIONS // 8)[None, :]
        exists = (first_channel + tl.arange(0, CHANNELS) < channels)[:, None] & (byte < run_bytes)[None, :]
        return begin + offsets, exists


@triton.jit
def packed(bits, RUNS: tl.constexpr, LENGTH: tl.constexpr):
    """(runs, length) of 0 and 1 as (runs, length / 8) bytes."""
    eights = tl.reshape(bits.to(tl.int32), (RUNS, LENGTH // 8, 8))
    return tl.sum(eights << tl.arange(0, 8)[None, None, :], axis=2).to(tl.uint8)


@triton.jit
def unpacked(bytes, RUNS: tl.constexpr, LENGTH: tl.constexpr):
    """(runs, length / 8) bytes as (runs, length) conditions."""
    bits = (bytes.to(tl.int32)[:, :, None] >> tl.arange(0, 8)[None, None, :]) & 1
    return tl.reshape(bits, (RUNS, LENGTH)) != 0
