"""Batch normalization from a few percent of the data.

    import samplenorm as sn

    model = sn.convert(model, "LS-1/64")   # every BatchNorm takes its statistics from a sample
    model = sn.fuse(model)                 # optional: normalization, residual and ReLU in one pass
    for epoch in range(epochs):
        sn.set_epoch(model, epoch)         # draws new samples
        ...                                # train as before
    model = sn.restore(model)              # plain BatchNorm again, for deployment

The notation of the samples ("LS-1/64", "FS-1/64+VDN-2/128", ...) is explained in the README.
"""

import samplenorm._vmap  # noqa: F401  registers its rules
from samplenorm._library import __version__
from samplenorm.conversion import Conversion, convert, restore
from samplenorm.dataset_stats import DatasetStats, dataset_stats
from samplenorm.draws import set_epoch, set_seed, set_step
from samplenorm.freezing import freeze, unfreeze
from samplenorm.fusion import Fusion, fuse
from samplenorm.modules import BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d
from samplenorm.processes import sync
from samplenorm.recalibration import recalibrate
from samplenorm.samples import Group
from samplenorm.virtual_batch import VirtualBatch

__all__ = [
    "BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conversion", "DatasetStats", "Fusion", "Group", "VirtualBatch",
    "convert", "dataset_stats", "freeze", "fuse", "recalibrate", "restore", "set_epoch", "set_seed", "set_step", "sync",
    "unfreeze", "__version__",
]
