"""The points that a layer takes its statistics from, as slices."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from samplenorm._library import notation

Box = tuple[slice, ...]


@dataclass
class Group:
    """Boxes pooled into one mean and one (biased) variance per channel. The layer's statistics are the sums of the groups' means and
    variances, times their weights."""

    weight: float
    #: Each a tuple of slices, of rows, then of the map: (rows, heights, widths) for a 4-d input.
    boxes: list[Box] = field(default_factory=list)
    #: Which statistic batch it belongs to, with `stat_batch`; the weights of each add up to 1.
    chunk: int = 0


def sample_of(sizes: Sequence[int], spec: str, key: Tensor, rank: int, ranks: int, sync: bool) -> list[Group]:
    weights, chunks, boxes = notation(spec).sample(list(sizes), key, rank, ranks, sync)
    groups = [Group(weight, chunk=chunk) for weight, chunk in zip(weights, chunks)]
    # A box is the number of its group, then begin, end and step of rows, depths, heights and widths.
    dims = len(sizes) - 2
    for number, *ends in boxes:
        slices = [slice(*ends[i:i + 3]) for i in range(0, 12, 3)]
        groups[number].boxes.append((slices[0], *slices[4 - dims:]))
    return groups
