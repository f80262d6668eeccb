"""Starts kernels. All launches go through here, so that tests and benchmarks can watch or replace them."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch

#: One launch: the kernel, how many programs, its arguments in order, its compile-time constants, and its warps.
Start = Callable[[Any, tuple[int, ...], tuple[Any, ...], dict[str, Any], int], None]

WARPS = 4


def on_device(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Triton launches on the current device, which need not be that of the tensors."""
    if device.type == "cpu" or device.index is None:
        return contextlib.nullcontext()
    return torch.accelerator.device_index(device.index)


def _start(kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], constants: dict[str, Any], warps: int) -> None:
    kernel[grid](*args, **constants, num_warps=warps)


_starter: Start = _start


def launch(kernel: Any, device: torch.device, grid: tuple[int, ...], *args: Any, warps: int = WARPS, **constants: Any) -> None:
    """Runs `grid` programs of a kernel on a device. Returns before they are done."""
    if 0 in grid:
        return
    with on_device(device):
        _starter(kernel, grid, args, constants, warps)


@contextlib.contextmanager
def launches_by(start: Callable[[Start], Start]) -> Any:
    """Within it launches go to start(the usual way), for instance to be counted."""
    global _starter
    before = _starter
    _starter = start(before)
    try:
        yield
    finally:
        _starter = before
