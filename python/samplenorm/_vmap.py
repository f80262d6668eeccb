"""torch.func.vmap: each of its examples is a batch of its own, with statistics of its own."""

from typing import Any

import torch
from torch import Tensor

from samplenorm._library import ops


def _example(values: Any, dims: Any, index: int) -> Any:
    if isinstance(values, (list, tuple)):
        return [_example(value, dim, index) for value, dim in zip(values, dims)]
    return values if dims is None else values.select(dims, index)


def _one_by_one(operator: Any) -> Any:
    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        results = [operator(*(_example(arg, dim, i) for arg, dim in zip(args, in_dims))) for i in range(info.batch_size)]
        outputs = tuple(_stacked(each) for each in zip(*results))
        return outputs, tuple([0] * len(each) if isinstance(each, list) else 0 for each in outputs)

    return rule


def _stacked(results: tuple[Any, ...]) -> Any:
    if isinstance(results[0], Tensor):
        return torch.stack(results)
    return [torch.stack(each) for each in zip(*results)]


torch.library.register_vmap("samplenorm::sampled_batch_norm", _one_by_one(ops.sampled_batch_norm))
torch.library.register_vmap("samplenorm::sampled_batch_norm_backward", _one_by_one(ops.sampled_batch_norm_backward))
