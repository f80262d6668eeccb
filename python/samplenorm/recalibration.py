"""Exact running statistics before evaluation, what detectron2 calls PreciseBN."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from samplenorm._library import ops
from samplenorm.modules import BatchNorm
from samplenorm.progress import Progress


def input_of(batch: Any) -> Tensor:
    """A loader's batch is a tensor, or has it first: (images, labels)."""
    while isinstance(batch, (tuple, list)) and batch:
        batch = batch[0]
    if not isinstance(batch, Tensor):
        raise TypeError(f"samplenorm: expected batches that are a tensor or a tuple with a tensor first, got {type(batch).__name__}")
    return batch


@contextmanager
def _exact(model: nn.Module, layers: list[BatchNorm]) -> Iterator[None]:
    """The whole model in evaluation, but for the layers, which take the statistics of each batch, all of it, and keep nothing else."""
    modes = {module: module.training for module in model.modules()}
    kept = [(layer.spec, layer.momentum, layer.num_batches_tracked.clone()) for layer in layers]
    model.eval()
    for layer in layers:
        layer.set_spec("BN")
        layer.momentum, layer.training = 1.0, True
    try:
        yield
    finally:
        for layer, (spec, momentum, batches) in zip(layers, kept):
            layer.set_spec(spec)
            layer.momentum = momentum
            layer.num_batches_tracked.copy_(batches)
        for module, mode in modes.items():
            module.training = mode


@torch.no_grad()
def recalibrate(model: nn.Module, loader: Iterable[Any], batches: int | None = None, *,
                forward: Callable[[Any], Any] | None = None, progress: bool = False) -> nn.Module:
    """Recomputes the running statistics of every layer of samplenorm exactly, over so many batches of the loader (all, without a
    number). Weights and modes stay as they are, and so do frozen layers. Returns the model.

    A patch of fixed place or a few virtual rows give good statistics to train with, but biased running ones.

    Args:
        loader: gives tensors, or tuples with the model's input first.
        forward: calls the model with a batch, where `model(input)` is not the way.
        progress: whether a bar is shown on a terminal.
    """
    if batches is not None and batches < 1:
        raise ValueError(f"samplenorm.recalibrate: expected 1 or more batches, got {batches}")
    layers = [module for module in model.modules()
              if isinstance(module, BatchNorm) and module.running_mean is not None and not module.frozen]
    if not layers:
        raise ValueError("samplenorm.recalibrate: expected a model with layers of samplenorm that have running statistics and are not "
                         "frozen, got none")
    device = next((tensor.device for tensor in model.parameters()), torch.device("cpu"))
    means: list[list[Tensor]] = [[] for _ in layers]
    variances: list[list[Tensor]] = [[] for _ in layers]
    before = [(layer.running_mean.clone(), layer.running_var.clone()) for layer in layers]
    with _exact(model, layers), Progress(batches if batches is not None else _length(loader), "batches", progress) as bar:
        try:
            for batch in islice(loader, batches):
                if forward is None:
                    model(input_of(batch).to(device))
                else:
                    forward(batch)
                for layer, mean, variance in zip(layers, means, variances):
                    mean.append(layer.running_mean.clone())
                    variance.append(layer.running_var.clone())
                bar.step()
            if not means[0]:
                raise ValueError("samplenorm.recalibrate: expected batches from the loader, got none")
        except BaseException:
            for layer, (mean, variance) in zip(layers, before):
                layer.running_mean.copy_(mean)
                layer.running_var.copy_(variance)
            raise
    for layer, mean, variance in zip(layers, means, variances):
        exact_mean, exact_variance = ops.statistics_of_batches(torch.stack(mean), torch.stack(variance))
        layer.running_mean.copy_(exact_mean)
        layer.running_var.copy_(exact_variance)
    return model


def _length(loader: Iterable[Any]) -> int | None:
    return len(loader) if hasattr(loader, "__len__") else None
