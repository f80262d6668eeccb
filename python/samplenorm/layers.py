"""The layers of samplenorm in a model."""

from torch import nn

from samplenorm.modules import BatchNorm


def layers_of(model: nn.Module, caller: str) -> list[BatchNorm]:
    layers = [module for module in model.modules() if isinstance(module, BatchNorm)]
    if not layers:
        raise ValueError(f"samplenorm.{caller}: expected a model with layers of samplenorm, got none: call samplenorm.convert first")
    return layers
