"""Activations that run inside of a normalization: their names, and torch's functions and modules for them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from samplenorm._library import ops

IDENTITY = "identity"
#: f' takes two values, so that one bit a point is enough for backward: these can follow a residual.
PIECEWISE_LINEAR = (IDENTITY, "relu", "relu6", "leaky_relu")

_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    IDENTITY: lambda y: y, "relu": torch.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "elu": F.elu, "silu": F.silu,
    "hardswish": F.hardswish, "gelu": F.gelu, "gelu(tanh)": partial(F.gelu, approximate="tanh"),
}


def names() -> list[str]:
    """Those that can be fused, without their parameters."""
    return list(_FUNCTIONS)


def leaky_relu(slope: float) -> str:
    return f"leaky_relu({float(slope)!r})"


def elu(alpha: float) -> str:
    return f"elu({float(alpha)!r})"


def gelu(approximate: str) -> str:
    return "gelu(tanh)" if approximate == "tanh" else "gelu"


_MODULES: dict[type[nn.Module], Callable[[Any], str]] = {
    nn.Identity: lambda module: IDENTITY, nn.ReLU: lambda module: "relu", nn.ReLU6: lambda module: "relu6",
    nn.LeakyReLU: lambda module: leaky_relu(module.negative_slope), nn.ELU: lambda module: elu(module.alpha),
    nn.SiLU: lambda module: "silu", nn.Hardswish: lambda module: "hardswish", nn.GELU: lambda module: gelu(module.approximate),
}


def name_of_module(module: nn.Module) -> str | None:
    """None for a module that is no such activation."""
    name = _MODULES.get(type(module))
    return name and name(module)


def name_of(activation: str | nn.Module) -> str:
    """The name of an activation that a user gives. Raises ValueError for one that does not exist."""
    name = name_of_module(activation) if isinstance(activation, nn.Module) else activation
    if not isinstance(name, str):
        what = type(activation).__name__ if isinstance(activation, nn.Module) else repr(activation)
        raise ValueError(f"samplenorm: expected an activation by its name, such as 'relu', or as one of the modules "
                         f"{', '.join(kind.__name__ for kind in _MODULES)}, got {what}")
    if name not in _FUNCTIONS:
        ops.activate(torch.empty(0), name)  # says what is wrong with it
    return name


def follows_residual(name: str) -> bool:
    return name.partition("(")[0] in PIECEWISE_LINEAR


def activate(y: Tensor, name: str) -> Tensor:
    """By torch's own functions where it has them, so that evaluation is exported as they are."""
    function = _FUNCTIONS.get(name)
    if function is not None:
        return function(y)
    kind, _, parameter = name.rstrip(")").partition("(")
    if kind in _FUNCTIONS:
        return _FUNCTIONS[kind](y, float(parameter))
    activated: Tensor = ops.activate(y, name)
    return activated
