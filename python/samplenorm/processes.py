"""Statistics of several processes together, by a process group of torch.distributed."""

import torch.distributed as dist

from samplenorm.modules import BatchNorm, Model
from samplenorm.virtual_batch import VirtualBatch


def are_there() -> bool:
    return dist.is_available() and dist.is_initialized()


def check_processes(caller: str) -> None:
    if not are_there():
        raise RuntimeError(f"samplenorm.{caller}: expected processes of torch.distributed, got none: call "
                           "torch.distributed.init_process_group first")


def sync(model: Model, process_group: "dist.ProcessGroup | None" = None) -> Model:
    """Pools the samples of all layers over the processes of the group (all of them, without one): on CPU tensors too, with unequal and
    with empty shares, and under torch.compile. All processes have to call it, with models of the same seed.

    After loading a pickled model it has to be called again, since a rank is of one process alone. Returns the model.
    """
    check_processes("sync")
    layers = [module for module in model.modules() if isinstance(module, (BatchNorm, VirtualBatch))]
    if not layers:
        raise ValueError("samplenorm.sync: expected a model with layers of samplenorm, got none: call samplenorm.convert first")
    group = process_group or dist.group.WORLD
    assert group is not None
    for layer in layers:
        layer.group, layer.rank, layer.ranks = group.group_name, dist.get_rank(group), dist.get_world_size(group)
    return model
