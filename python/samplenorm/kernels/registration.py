"""Registers the kernels with PyTorch's dispatcher: for CUDA and ROCm ("cuda") and Intel's GPUs ("xpu"); with SAMPLENORM_KERNELS=triton for the
CPU, too, where Triton's interpreter runs them (TRITON_INTERPRET=1), for tests. With SAMPLENORM_KERNELS=aten for no device."""

import importlib.util
import logging
import os
import warnings
from collections.abc import Callable
from typing import Any

import torch

from samplenorm.kernels import aten

_STEPS = ("moments", "statistics", "apply", "backward", "gradients", "correct")
_log = logging.getLogger("samplenorm")
_library: torch.library.Library | None = None


def gpus_run_triton() -> bool:
    return importlib.util.find_spec("triton") is not None and os.environ.get("SAMPLENORM_KERNELS") != "aten"


def register() -> None:
    """Does so once, and nothing where there is no triton: other devices than the CPU then run by ATen calls."""
    global _library
    chosen = os.environ.get("SAMPLENORM_KERNELS", "")
    if chosen not in ("", "triton", "aten"):
        raise ImportError(f"samplenorm: expected SAMPLENORM_KERNELS as 'triton' or 'aten', or not at all, got {chosen!r}")
    if _library is not None:
        return
    has_triton = importlib.util.find_spec("triton") is not None
    if chosen == "triton" and not has_triton:
        raise ImportError("samplenorm: SAMPLENORM_KERNELS=triton expects triton, which is not installed")
    if chosen == "triton" and os.environ.get("TRITON_INTERPRET") != "1":
        raise ImportError("samplenorm: SAMPLENORM_KERNELS=triton sends tensors on the CPU through Triton's interpreter: set TRITON_INTERPRET=1, too")
    _library = torch.library.Library("samplenorm", "IMPL")
    if not gpus_run_triton():
        _log.info("samplenorm: %s: GPUs run plain ATen calls, which are slower",
                  "SAMPLENORM_KERNELS=aten" if has_triton else "triton is not installed")
        _library.impl("moments", aten.moments, "CUDA")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the CPU's kernels are replaced
        for name in _STEPS:
            for key in ("CUDA", "XPU") + (("CPU",) if chosen == "triton" else ()):
                _library.impl(name, _step(name), key)


def _step(name: str) -> Callable[..., Any]:
    """Imports triton when it is called first: who has no GPU does not wait for it."""
    def step(*args: Any) -> Any:
        from samplenorm.kernels.steps import STEPS

        return STEPS[name](*args)

    return step
