"""Starts kernels. All launches go through here, so that tests and benchmarks can watch or replace them."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import torch

#: One launch: the kernel, how many programs, its arguments in order, its compile-time constants, and the compiler's options.
Start = Callable[[Any, tuple[int, ...], tuple[Any, ...], dict[str, Any], dict[str, Any]], None]

WARPS = 4
_INTERPRETER = threading.Lock()  # it serves one thread


def on_device(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Triton launches on the current device, which need not be that of the tensors."""
    if device.type == "cpu":
        return _INTERPRETER
    if device.index is None:
        return contextlib.nullcontext()
    return torch.accelerator.device_index(device.index)


def for_nvidia_only(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that other compilers do not know."""
    return {name: value for name, value in options.items() if name == "maxnreg"}


def _start(kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], constants: dict[str, Any], options: dict[str, Any]) -> None:
    if torch.version.hip is not None or torch.xpu.is_available():
        options = {name: value for name, value in options.items() if name not in for_nvidia_only(options)}
    kernel[grid](*args, **constants, **options)


_starter: Start = _start


def launch(kernel: Any, device: torch.device, grid: tuple[int, ...], *args: Any, most_registers: int | None = None,
           **constants: Any) -> None:
    """Runs `grid` programs of a kernel on a device. Returns before they are done. NVIDIA's compiler spills some registers of small kernels
    so that more of them run at once; not so where it is told how many it may use."""
    if 0 in grid:
        return
    with on_device(device):
        _starter(kernel, grid, args, constants, {"num_warps": WARPS} | ({"maxnreg": most_registers} if most_registers else {}))


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
