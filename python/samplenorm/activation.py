"""timm's layers of a norm and an activation in one: a BatchNorm2d with the modules `drop` and `act` behind it."""

from torch import Tensor, nn

from samplenorm.hooks import has_hooks
from samplenorm.modules import BatchNorm2d


def replaces_norm_act(module: nn.Module) -> bool:
    """By its name and its parts: timm itself need not be installed."""
    return (type(module).__name__ == "BatchNormAct2d" and isinstance(module, nn.BatchNorm2d) and
            isinstance(getattr(module, "drop", None), nn.Module) and isinstance(getattr(module, "act", None), nn.Module))


class NormAct(BatchNorm2d):
    """Takes the place of timm's BatchNormAct2d, with the same drop and act; a ReLU is fused."""

    act: nn.Module
    drop: nn.Module

    def forward(self, input: Tensor, residual: Tensor | None = None, relu: bool | None = None) -> Tensor:
        plain = type(self.act) is nn.ReLU and type(self.drop) is nn.Identity and not has_hooks(self.act) and not has_hooks(self.drop)
        if self.training and plain:
            return super().forward(input, residual, relu=True)
        return self.act(self.drop(super().forward(input, residual, relu)))
