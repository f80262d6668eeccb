"""How work is split into programs, by shapes alone: the same on every device, so that results are, too.

A tile has some channels times some positions: points in the order of memory where the layout is by point, else places in one row's maps.
An item is one tile of a channel block; a program takes one or several of them, one after the other."""

from dataclasses import dataclass
from math import gcd

import triton
import triton.language as tl

from samplenorm.kernels.formats import Layout

#: Threads of 4 warps access 16 bytes at once where runs of memory allow it, and take two such pieces of a tile. Where they cannot, each
#: element needs an address of its own, and a thread takes 4 of them. With twice as many, backward needs more than 128 registers.
_THREADS = 128
_WIDEST = 16
_ELEMENTS_WITH_ADDRESSES = 4 * _THREADS
_MOST_CHANNELS = 64
#: The inner run of a tile, along which bits are packed, has whole bytes of them.
_FEWEST_IN_RUN = 8
#: Programs that fill the largest devices twice. More of them would have more partial sums to add up.
_PROGRAMS = 1024
_MOST_OFFSET = 2**31 - 1


@dataclass(frozen=True)
class Tiles:
    channels: int
    positions: int
    channel_blocks: int
    per_map: int  # tiles of a row's map; 1 where the layout is by point
    divisor: int  # of strides and sizes: a power of two

    def items(self, layout: Layout, rows: int) -> int:
        """Of a channel block and so many rows."""
        if layout.by_point:
            return triton.cdiv(rows * layout.map_points, self.positions)
        return rows * self.per_map

    def fit_32_bits(self, layout: Layout, channels: int) -> bool:
        """Whether offsets within a tile do. Those of tiles are always of 64 bits."""
        if layout.by_point:
            return self.positions * channels <= _MOST_OFFSET
        return (self.channels + 1) * layout.map_points <= _MOST_OFFSET


def tiles_of(layout: Layout, channels: int, bytes_of_element: int, gathers: bool = False) -> Tiles:
    """For a part with so many channels. One that gathers takes single points, wherever they are."""
    run = gcd(channels, layout.channels) if layout.by_point else layout.map_points
    divisor = gcd(run, _WIDEST)
    is_wide = divisor * bytes_of_element >= _WIDEST and (layout.by_point or not gathers)
    elements = 2 * _THREADS * _WIDEST // bytes_of_element if is_wide else _ELEMENTS_WITH_ADDRESSES
    if layout.by_point:
        block = min(_MOST_CHANNELS, max(_FEWEST_IN_RUN, triton.next_power_of_2(channels)))
        return Tiles(block, elements // block, triton.cdiv(channels, block), 1, divisor)
    whole_map = max(_FEWEST_IN_RUN, triton.next_power_of_2(layout.map_points))
    block = min(triton.next_power_of_2(channels), elements // min(64, whole_map))
    positions = min(whole_map, elements // block)
    return Tiles(block, positions, triton.cdiv(channels, block), triton.cdiv(layout.map_points, positions), divisor)


def blocks_for(items: int, programs_beside: int, fewest_items: int) -> int:
    """Into how many blocks to split `items`, of which each has at least some; so many programs run beside each block."""
    return max(1, min(triton.cdiv(items, fewest_items), _PROGRAMS // max(1, programs_beside)))


@triton.jit
def multiple(value, DIVISOR: tl.constexpr):
    """The value itself, which is a multiple of the divisor: written so that the compiler sees it, and uses wide accesses. It looks for
    multiples of 16 by itself, and for no others."""
    return value // DIVISOR * DIVISOR


@triton.jit
def items_in(chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT: tl.constexpr, POSITIONS: tl.constexpr):
    """How many items a chunk has; the last one may be short of rows."""
    here = tl.minimum(rows - tl.cast(chunk, tl.int64) * chunk_rows, chunk_rows)
    if BY_POINT:
        return ((here * map_points + POSITIONS - 1) // POSITIONS).to(tl.int32)
    else:
        return (here * tiles_per_map).to(tl.int32)


@triton.jit
def tile_at(item, chunk, chunk_rows, rows, map_points, tiles_per_map, BY_POINT: tl.constexpr, POSITIONS: tl.constexpr):
    """Of an item of a chunk: its first point (by point) or its row, its first place in the map, and which of its positions exist."""
    first_row = tl.cast(chunk, tl.int64) * chunk_rows
    positions = tl.arange(0, POSITIONS)
    if BY_POINT:
        first = first_row * map_points + tl.cast(item, tl.int64) * POSITIONS
        end = tl.minimum(first_row + chunk_rows, rows) * map_points
        return first, 0, positions < end - first
    else:
        place = (item % tiles_per_map) * POSITIONS
        return first_row + item // tiles_per_map, place, place + positions < map_points


@triton.jit
def tile_offset(first, place, first_channel, stride, map_points, BY_POINT: tl.constexpr):
    """Where the tile begins. The stride is that of a point (by point) or of a row."""
    if BY_POINT:
        return first * stride + first_channel
    else:
        return first * stride + tl.cast(first_channel, tl.int64) * map_points + place


@triton.jit
def offsets_in_tile(stride, map_points, BY_POINT: tl.constexpr, CHANNELS: tl.constexpr, POSITIONS: tl.constexpr):
    """Of its elements from its beginning: runs of memory lie along the last dimension."""
    if BY_POINT:
        return tl.arange(0, POSITIONS)[:, None] * stride + tl.arange(0, CHANNELS)[None, :]
    else:
        return tl.arange(0, CHANNELS)[:, None] * map_points + tl.arange(0, POSITIONS)[None, :]


@triton.jit
def of_channels(values, BY_POINT: tl.constexpr):
    """Values of channels as something that broadcasts over a tile."""
    if BY_POINT:
        return values[None, :]
    else:
        return values[:, None]


@triton.jit
def of_positions(values, BY_POINT: tl.constexpr):
    if BY_POINT:
        return values[:, None]
    else:
        return values[None, :]


@triton.jit
def sum_of_positions(values, BY_POINT: tl.constexpr):
    """A tile's sums for each channel."""
    if BY_POINT:
        return tl.sum(values, axis=0)
    else:
        return tl.sum(values, axis=1)
