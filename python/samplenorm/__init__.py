"""Batch normalization from a few percent of the data.

    import samplenorm as sn

    model = sn.convert(model)              # every BatchNorm takes its statistics from a sample, and runs with what follows it
    for epoch in range(epochs):
        sn.set_epoch(model, epoch)         # draws new samples
        ...                                # train as before
    model = sn.restore(model)              # plain BatchNorm again, for deployment

Samples have a notation: "LS-1/64", the default, takes 1/64 of the points, spread evenly. `samplenorm.methods()` explains them all.
"""

import samplenorm._fake
import samplenorm._vmap  # noqa: F401  both register their rules
from samplenorm._library import __version__
from samplenorm.conversion import Conversion, convert, restore
from samplenorm.dataset_stats import DatasetStats, dataset_stats
from samplenorm.draws import set_epoch, set_seed, set_step
from samplenorm.freezing import freeze, unfreeze
from samplenorm.fusing import Report, fuse, report
from samplenorm.memory import keep_pages
from samplenorm.kernels import registration as _registration
from samplenorm.methods import methods
from samplenorm.modules import (
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, SampledBatchNorm1d, SampledBatchNorm2d, SampledBatchNorm3d)
from samplenorm.processes import sync
from samplenorm.recalibration import recalibrate
from samplenorm.samples import Group
from samplenorm.virtual_batch import VirtualBatch

__all__ = [
    "BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conversion", "DatasetStats", "Group", "Report", "SampledBatchNorm1d",
    "SampledBatchNorm2d", "SampledBatchNorm3d", "VirtualBatch", "convert", "dataset_stats", "freeze", "fuse", "keep_pages", "methods",
    "recalibrate", "report", "restore", "set_epoch", "set_seed", "set_step", "sync", "unfreeze", "__version__",
]

_registration.register()
