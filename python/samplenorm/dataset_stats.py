"""Mean, deviation and power spectrum of a data set, for virtual rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from samplenorm.progress import Progress
from samplenorm.recalibration import _length, input_of


class DatasetStats(NamedTuple):
    mean: Tensor  #: (C), float64
    std: Tensor  #: (C), float64, of the population
    spectrum: Tensor | None = None  #: (H, W, C, C), for fields that look like the data


def dataset_stats(loader: Iterable[Any], *, spectrum: bool = False, progress: bool = True) -> DatasetStats:
    """Of the images that the loader gives (tensors, or tuples with the images first), per channel, in one pass. With `spectrum` the
    mean power spectrum too, for which all images have one size. A bar is shown on a terminal.

    >>> import torch, samplenorm as sn
    >>> images = torch.arange(24.).view(2, 3, 2, 2)
    >>> sn.dataset_stats([images], progress=False).mean
    tensor([ 7.5000, 11.5000, 15.5000], dtype=torch.float64)
    """
    statistics = None
    with Progress(_length(loader), "batches", progress) as bar:
        for batch in loader:
            images = input_of(batch)
            if statistics is None:
                if images.dim() != 4:
                    raise ValueError(f"samplenorm.dataset_stats: expected images (N, C, H, W), got size {tuple(images.shape)}")
                statistics = torch.classes.samplenorm.DatasetStatistics(images.size(1), spectrum)
            statistics.add(images)
            bar.step()
    if statistics is None:
        raise ValueError("samplenorm.dataset_stats: expected batches from the loader, got none")
    return DatasetStats(statistics.mean(), statistics.std(), statistics.spectrum() if spectrum else None)
