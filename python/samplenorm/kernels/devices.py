"""Which devices the kernels serve."""

import functools
import logging

import torch
from triton import knobs
from triton.runtime import driver

from samplenorm.kernels.launch import on_device

_log = logging.getLogger("samplenorm")


@functools.cache
def has_kernels(device: torch.device) -> bool:
    """Whether Triton can run on a device; asked once for each."""
    if device.type == "cpu":
        return bool(knobs.runtime.interpret)
    if device.type == "meta":
        return True
    try:
        with on_device(device):
            driver.active.get_current_target()
        if device.type == "cuda" and torch.version.hip is None and torch.cuda.get_device_capability(device) < (7, 0):
            raise RuntimeError("Triton needs compute capability 7.0")
    except Exception as reason:  # whatever a driver, a compiler or a library says
        _log.warning("samplenorm: no Triton kernels on %s, which runs slower steps instead: %s", device, reason)
        return False
    return True
