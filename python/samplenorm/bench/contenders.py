"""What is timed: a layer or a network as it is, compiled, converted, converted and fused, and without its normalization."""

import copy
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

import samplenorm as sn

NETWORKS = {"resnet50": "resnet50", "mobilenet_v2": "mobilenetv2_100", "efficientnet_b0": "efficientnet_b0", "densenet121": "densenet121"}


class Block(nn.Module):
    """A layer as networks have it."""

    def __init__(self, channels: int, residual: bool) -> None:
        super().__init__()
        self.norm, self.activation, self.residual = nn.BatchNorm2d(channels), nn.ReLU(), residual

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(x)
        return self.activation(y + x if self.residual else y)


def small_network() -> nn.Module:
    """Where neither torchvision nor timm is installed."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def network(name: str) -> nn.Module:
    """From torchvision or timm. Raises ValueError where neither has it."""
    if name == "small":
        return small_network()
    for package, function in (("torchvision.models", name), ("timm.models", NETWORKS.get(name, name))):
        try:
            make = getattr(importlib.import_module(package), function, None)
        except (ImportError, RuntimeError):  # torchvision's own operators may not fit this torch
            continue
        if make is not None:
            return make()
    raise ValueError(f"samplenorm.bench: expected a network of torchvision or timm, or 'small', got {name!r}")


def without_norms(model: nn.Module) -> nn.Module:
    for name, module in list(model.named_modules()):
        if isinstance(module, _BatchNorm):
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, nn.Identity())
    return model


@dataclass
class Contender:
    name: str
    model: Callable[[Tensor], Tensor]
    parameters: list[Tensor]
    amp: torch.dtype | None
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None

    def step(self, x: Tensor) -> Tensor:
        """Forward and backward; gives the loss."""
        with torch.autocast(x.device.type, dtype=self.amp, enabled=self.amp is not None):
            loss = self.model(x).float().square().mean()
        loss.backward()
        for parameter in self.parameters:
            parameter.grad = None
        x.grad = None
        return loss.detach()


def contenders(original: nn.Module, spec: str, amp: torch.dtype | None, compiles: bool) -> list[Contender]:
    def contender(name: str, model: nn.Module, runs: Callable[[Tensor], Tensor] | None = None) -> Contender:
        return Contender(name, runs or model, list(model.parameters()), amp)

    made = [contender("original", copy.deepcopy(original))]
    if compiles:
        model = copy.deepcopy(original)
        made.append(contender("compiled", model, torch.compile(model)))
    made.append(contender("converted", sn.convert(copy.deepcopy(original), spec, fuse=False)))
    made.append(contender("fused", sn.convert(copy.deepcopy(original), spec)))
    made.append(contender("none", without_norms(copy.deepcopy(original))))
    return made
