"""Classes of others that `convert` knows: timm's norms with an activation, and the layers of DenseNets."""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from samplenorm.activations import IDENTITY, name_of_module
from samplenorm.hooks import has_hooks
from samplenorm.modules import BatchNorm, SampledBatchNorm2d


class NormAct(SampledBatchNorm2d):
    """Takes the place of timm's BatchNormAct2d, and is one: a norm with the modules `drop` and `act` after it."""

    act: nn.Module
    drop: nn.Module

    def forward(self, input: Tensor | Sequence[Tensor], residual: Tensor | None = None,
                activation: str | nn.Module | None = None) -> Tensor:
        if self.training and residual is None and activation is None:
            fused = self._fused_activation()
            if fused is not None:
                return super().forward(input, None, fused)
        return self.act(self.drop(super().forward(input, residual, activation)))

    def _fused_activation(self) -> str | None:
        if not self.waits or type(self.drop) is not nn.Identity or has_hooks(self.act) or has_hooks(self.drop):
            return None
        name = name_of_module(self.act)
        return None if name == IDENTITY else name


class _DenseLayer(nn.Module):
    """A layer of a DenseNet hands its inputs to the norm one by one: they are not concatenated in memory."""

    norm1: nn.Module
    conv1: nn.Module

    def _takes_a_list(self) -> bool:
        norm = self.norm1
        return isinstance(norm, BatchNorm) and norm.training and norm.waits and not has_hooks(norm) and not torch.compiler.is_compiling()


class TorchvisionDenseLayer(_DenseLayer):
    relu1: nn.Module

    def bn_function(self, inputs: Sequence[Tensor]) -> Any:
        if not self._takes_a_list():
            return super().bn_function(inputs)  # type: ignore[misc]
        return self.conv1(self.relu1(self.norm1(inputs)))


class TimmDenseLayer(_DenseLayer):
    def bottleneck_fn(self, xs: Sequence[Tensor]) -> Any:
        if not self._takes_a_list():
            return super().bottleneck_fn(xs)  # type: ignore[misc]
        return self.conv1(self.norm1(xs))


def _class_of(module: str, name: str) -> type | None:
    """None where nobody has imported it."""
    return getattr(sys.modules.get(module), name, None)


def norm_act_class() -> type | None:
    return _class_of("timm.layers.norm_act", "BatchNormAct2d")


def dense_layer_for(kind: type) -> type | None:
    """What serves this class of others' layers of a DenseNet; None for any other class."""
    if kind is _class_of("torchvision.models.densenet", "_DenseLayer"):
        return TorchvisionDenseLayer
    if kind is _class_of("timm.models.densenet", "DenseLayer"):
        return TimmDenseLayer
    return None
