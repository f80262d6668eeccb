"""The steps by ATen calls (lib/nn/aten_steps.cc), whatever is registered for a device."""

from collections.abc import Callable
from typing import Any

import torch

from samplenorm._library import ops
from samplenorm.kernels.capture import refuse_capture


def by_aten(step: str) -> Callable[..., Any]:
    operator = getattr(ops, step).default
    return lambda *args: operator._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *args)


def moments(x: Any, points: Any, *others: Any) -> Any:
    """For CUDA without kernels: graphs must not capture it, either."""
    refuse_capture(points)
    return by_aten("moments")(x, points, *others)
