"""Activations inside of kernels. One is a function that gives its value and its derivative at z, and a line of the table.

Names, values at kinks, at infinity and at NaN are those of lib/kernels/activations."""

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl


@triton.jit
def normal_cdf(z, exp):
    """The normal distribution's cumulative function; `exp` is e^(-z^2 / 2). The fit is that of activations/vector_math-inl.h: it keeps its digits
    for negative z, and takes a third of the registers that erf does."""
    t = 1.0 / (1.0 + 0.3 * tl.minimum(tl.abs(z), 15.0))
    fit = 0.11243559 - 0.020623464 * t
    fit = -0.22821355 + fit * t
    fit = 0.19178446 + fit * t
    fit = -0.07942343 + fit * t
    fit = 0.0961568 + fit * t
    fit = 0.07838966 + fit * t
    fit = 0.11023542 + fit * t
    fit = 0.11957181 + fit * t
    fit = 0.11968669 + fit * t
    lower = exp * t * fit
    return tl.where(z < 0, lower, 1.0 - lower)


@triton.jit
def sigmoid(z):
    return 1.0 / (1.0 + tl.exp(-z))


@triton.jit
def expm1(z):
    """e^z - 1 for z <= 0. Near 0, where the difference would lose its digits, by the series: the first term left out is z^8 / 8!."""
    series = 1.0 / 720 + z * (1.0 / 5040)
    series = 1.0 / 120 + z * series
    series = 1.0 / 24 + z * series
    series = 1.0 / 6 + z * series
    series = 0.5 + z * series
    series = z + z * z * series
    return tl.where(z > -0.3, series, tl.exp(z) - 1.0)


@triton.jit
def identity(z, parameter):
    return z, tl.full(z.shape, 1.0, tl.float32)


@triton.jit
def relu(z, parameter):
    return tl.where(z <= 0, 0.0, z), tl.where(z <= 0, 0.0, 1.0)


@triton.jit
def relu6(z, parameter):
    below, above = z <= 0, z >= 6
    return tl.where(below, 0.0, tl.where(above, 6.0, z)), tl.where(below | above, 0.0, 1.0)


@triton.jit
def leaky_relu(z, parameter):
    return tl.where(z > 0, z, parameter * z), tl.where(z > 0, 1.0, parameter)


@triton.jit
def elu(z, parameter):
    return tl.where(z < 0, parameter * expm1(z), z), tl.where(z > 0, 1.0, parameter * tl.exp(z))


@triton.jit
def silu(z, parameter):
    s = sigmoid(z)
    return z / (1.0 + tl.exp(-z)), s * (1.0 + z * (1.0 - s))


@triton.jit
def hardswish(z, parameter):
    below, above = z <= -3, z >= 3
    gate = tl.where(below, 0.0, tl.where(above, 1.0, (z + 3.0) / 6.0))
    return z * gate, tl.where(below, 0.0, tl.where(above, 1.0, z / 3.0 + 0.5))


@triton.jit
def gelu(z, parameter):
    exp = tl.exp(-0.5 * z * z)
    cdf = normal_cdf(z, exp)
    return z * cdf, cdf + z * (0.3989422804014327 * exp)


@triton.jit
def gelu_tanh(z, parameter):
    """z s(2u) with the sigmoid s and u = sqrt(2/pi) (z + 0.044715 z^3)."""
    cubic = 0.07135481282716 * z * z
    two_u = z * (1.5957691216057308 + cubic)
    s = sigmoid(two_u)
    return z / (1.0 + tl.exp(-two_u)), s + z * (s * (1.0 - s)) * (1.5957691216057308 + 3.0 * cubic)


@dataclass(frozen=True)
class Activation:
    function: Any
    parameter: float = 0.0
    #: f' where a mask's bit is not set.
    slope: float = 0.0


_TABLE: dict[str, Any] = {
    "identity": identity, "relu": relu, "relu6": relu6, "leaky_relu": leaky_relu, "elu": elu, "silu": silu, "hardswish": hardswish,
    "gelu": gelu, "gelu(tanh)": gelu_tanh,
}
_DEFAULT_PARAMETERS = {"leaky_relu": 0.01, "elu": 1.0}


def find(name: str) -> Activation | None:
    """The activation of a name such as "leaky_relu(0.2)"; None for one that has no kernel."""
    if name in _TABLE:
        kind, parameter = name, _DEFAULT_PARAMETERS.get(name, 0.0)
    else:
        kind, _, text = name.rstrip(")").partition("(")
        if kind not in _DEFAULT_PARAMETERS:
            return None
        parameter = float(text)
    return Activation(_TABLE[kind], parameter, parameter if kind == "leaky_relu" else 0.0)
