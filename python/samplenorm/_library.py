"""Loads the operators, torch.ops.samplenorm. The library serves the version of torch that it was built with, and no other."""

import os
from pathlib import Path
from typing import Any

import torch

__version__ = "0.1.0"


def _path() -> Path:
    """The library of a build, where SAMPLENORM_LIBRARY names one; else the one that was installed with this package."""
    named = os.environ.get("SAMPLENORM_LIBRARY")
    if named:
        return Path(named)
    try:
        from samplenorm import _built_with  # type: ignore[attr-defined]  # written when the package is built
    except ImportError:
        raise ImportError("samplenorm: this copy of the package has no built library: install it (pip install . in its sources), or let "
                          "SAMPLENORM_LIBRARY name the libsamplenorm.so of a build") from None

    installed = torch.__version__.split("+")[0]
    if installed != _built_with.TORCH:
        raise ImportError(f"samplenorm {__version__} was built for torch {_built_with.TORCH}, and torch {torch.__version__} is "
                          f"installed: install torch=={_built_with.TORCH}, or build samplenorm anew with this torch "
                          "(pip install --no-build-isolation . in its sources)")
    return Path(__file__).with_name("libsamplenorm.so")


torch.ops.load_library(_path())
ops = torch.ops.samplenorm


def notation(text: str) -> Any:
    """What the text says, and what it draws. Raises ValueError for a wrong one."""
    if not isinstance(text, str):
        what = repr(text) if isinstance(text, (int, float, bytes, type(None))) else f"a {type(text).__name__}"
        raise TypeError(f"samplenorm: expected a notation such as 'LS-1/64', got {what}")
    return torch.classes.samplenorm.Notation(text)
