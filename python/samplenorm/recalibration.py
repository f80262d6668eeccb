"""Exact running statistics before evaluation, what detectron2 calls PreciseBN."""

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from samplenorm._library import ops
from samplenorm.modules import BatchNorm, Model
from samplenorm.progress import Progress


def input_of(batch: Any) -> Tensor:
    """A loader's batch is a tensor, or has it first: (images, labels)."""
    while isinstance(batch, (tuple, list)) and batch:
        batch = batch[0]
    if not isinstance(batch, Tensor):
        raise TypeError(f"samplenorm: expected batches that are a tensor or a tuple with a tensor first, got {type(batch).__name__}")
    return batch


def _running(layer: BatchNorm) -> tuple[Tensor, Tensor]:
    """Its running mean and variance, which it has."""
    assert layer.running_mean is not None and layer.running_var is not None
    return layer.running_mean, layer.running_var


@contextmanager
def _exact(model: nn.Module, layers: list[BatchNorm]) -> Iterator[None]:
    """The whole model in evaluation, but for the layers, whose running statistics are those of the last batch, all of it. Then all is as
    it was."""
    modes = {module: module.training for module in model.modules()}
    kept = [(layer.spec, layer.momentum, [buffer.clone() for buffer in layer.buffers(recurse=False)]) for layer in layers]
    model.eval()
    for layer in layers:
        layer.spec = "BN"
        layer.momentum, layer.training = 1.0, True
    try:
        yield
    finally:
        for layer, (spec, momentum, before) in zip(layers, kept):
            layer.spec = spec
            layer.momentum = momentum
            for buffer, value in zip(layer.buffers(recurse=False), before):
                buffer.copy_(value)
        for module, mode in modes.items():
            module.training = mode


@torch.no_grad()
def recalibrate(model: Model, loader: Iterable[Any], batches: int | None = None, *,
                forward: Callable[[Any], Any] | None = None, progress: bool = False) -> Model:
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
    with _exact(model, layers), Progress(batches if batches is not None else _length(loader), "batches", progress) as bar:
        for batch in islice(loader, batches):
            if forward is None:
                model(input_of(batch).to(device))
            else:
                forward(batch)
            for layer, of_mean, of_variance in zip(layers, means, variances):
                mean, variance = _running(layer)
                of_mean.append(mean.clone())
                of_variance.append(variance.clone())
            bar.step()
    if not means[0]:
        raise ValueError("samplenorm.recalibrate: expected batches from the loader, got none")
    for layer, of_mean, of_variance in zip(layers, means, variances):
        for running, exact in zip(_running(layer), ops.statistics_of_batches(torch.stack(of_mean), torch.stack(of_variance))):
            running.copy_(exact)
    return model


def _length(loader: Iterable[Any]) -> int | None:
    return len(loader) if isinstance(loader, Sized) else None
