"""Triton's interpreter, for tests, closer to a device: it cuts float32 off where it makes bfloat16 of it, and devices round to the nearest; and
it keeps arguments alive until garbage is collected, which tests of memory notice."""

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder, TensorHandle

_usual_cast = InterpreterBuilder.cast_impl


def _bfloat16(values: Any) -> Any:
    bits = values.view(np.uint32)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # to even where two are as near
    return np.where(np.isnan(values), (bits >> 16) | 0x40, nearest).astype(np.uint16)


def _cast(builder: Any, source: Any, kind: Any) -> Any:
    kinds = source.dtype.scalar, kind.scalar
    if kinds == (tl.float32, tl.bfloat16):
        return TensorHandle(_bfloat16(source.data), tl.bfloat16)
    if kinds == (tl.bfloat16, tl.float32):
        return TensorHandle((source.data.astype(np.uint32) << 16).view(np.float32), tl.float32)
    return _usual_cast(builder, source, kind)


def _as_they_are(executor: Any, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Tensors are on the CPU: nothing has to be copied there."""
    return list(args), dict(kwargs)


def mend() -> None:
    InterpreterBuilder.cast_impl = _cast
    GridExecutor._init_args_hst = _as_they_are
    GridExecutor._restore_args_dev = lambda *args: None
