"""Every activation of the operator: values and derivatives are those of torch's own function after the normalization."""

import functools
import math
import os

import pytest
import torch
import torch.nn.functional as F

torch.ops.load_library(os.environ["SAMPLENORM_LIBRARY"])
ops = torch.ops.samplenorm

EPS = 1e-5
KEY = torch.tensor([7, 3, 2, 5])
ACTIVATIONS = {
    "identity": lambda z: z, "relu": F.relu, "relu6": F.relu6,
    "leaky_relu": F.leaky_relu, "leaky_relu(0.2)": functools.partial(F.leaky_relu, negative_slope=0.2),
    "elu": F.elu, "elu(0.7)": functools.partial(F.elu, alpha=0.7),
    "silu": F.silu, "hardswish": F.hardswish, "gelu": F.gelu, "gelu(tanh)": functools.partial(F.gelu, approximate="tanh"),
}
PIECEWISE_LINEAR = ["identity", "relu", "relu6", "leaky_relu", "leaky_relu(0.2)"]
CURVED = [name for name in ACTIVATIONS if name not in PIECEWISE_LINEAR]
FORMATS = {"contiguous": lambda x: x.contiguous(), "channels_last": lambda x: x.movedim(1, -1).contiguous().movedim(-1, 1)}
KINKS = [-3.0, 0.0, 3.0, 6.0]
# Kernels call an activation for up to 2048 values at a time: maps and channels of more, remainders of vectors, and one channel.
SHAPES = [(6, 37, 5, 7), (4, 3, 33, 63), (4, 2053, 2), (10, 131), (8, 1, 3, 3), (4, 5, 2, 3, 3)]
# Of y and of gradients, relative to themselves and to the largest. bfloat16 keeps 8 bits, and a sample's dx is rounded twice.
TOLERANCE = {torch.float64: (1e-10, 1e-10), torch.float32: (2e-5, 2e-5), torch.bfloat16: (2 ** -8, 2 ** -7)}


def call(x, weight, bias, residual, spec, activation):
    return ops.sampled_batch_norm([x], weight, bias, residual, spec, KEY, EPS, activation)[0]


def normalized(x, weight, bias, rows):
    """By the statistics of the first rows."""
    view = [1, -1] + [1] * (x.dim() - 2)
    var, mean = torch.var_mean(x[:rows].transpose(0, 1).flatten(1), 1, unbiased=False)
    return (x - mean.view(view)) / (var + EPS).sqrt().view(view) * weight.view(view) + bias.view(view)


def problem(shape, dtype, seed=0):
    """x, weight, bias, residual and dy, with z on both sides of all kinks."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *sizes: torch.randn(*sizes, generator=generator, dtype=torch.float64)
    x, residual, dy = (draw(*shape).to(dtype) for _ in range(3))
    parameter_type = torch.float32 if dtype == torch.bfloat16 else dtype
    return 2 * x + 1, (3 * draw(shape[1])).to(parameter_type), (2 * draw(shape[1])).to(parameter_type), residual, dy


def assert_near(actual, expected, tolerance, name):
    """Relative to the value and, by a quarter, to the largest."""
    atol = 0.25 * tolerance * expected.abs().max().item()
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=atol, msg=lambda text: f"{name}: {text}")


def assert_same_as_torch(activation, dtype, memory_format, shape, spec, with_residual):
    *tensors, dy = problem(shape, dtype)
    tensors[0], tensors[3] = FORMATS[memory_format](tensors[0]), FORMATS[memory_format](tensors[3])
    if not with_residual:
        tensors.pop()
    ours = [tensor.clone().requires_grad_() for tensor in tensors]
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    y = call(*ours[:3], ours[3] if with_residual else None, spec, activation)
    z = normalized(*exact[:3], shape[0] if spec == "BN" else shape[0] // 2)
    expected = ACTIVATIONS[activation](z + exact[3] if with_residual else z)
    of_values, of_gradients = TOLERANCE[dtype]
    assert y.dtype == dtype and y.stride() == tensors[0].stride()
    assert_near(y, expected, of_values, f"y of {spec} {shape}")
    gradients = torch.autograd.grad(y, ours, dy), torch.autograd.grad(expected, exact, dy.double())
    for name, actual, wanted in zip(("x", "weight", "bias", "residual"), *gradients):
        assert_near(actual, wanted, of_gradients, f"gradient of {name} of {spec} {shape}")


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_values_and_derivatives_are_those_of_torchs_function_after_the_normalization(activation, dtype, memory_format):
    for shape in SHAPES:
        for spec in ("BN", "NS-1/2"):
            assert_same_as_torch(activation, dtype, memory_format, shape, spec, with_residual=False)


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("activation", PIECEWISE_LINEAR)
def test_piecewise_linear_ones_are_those_of_torch_after_a_residual(activation, dtype, memory_format):
    for shape in SHAPES:
        for spec in ("BN", "NS-1/2"):
            assert_same_as_torch(activation, dtype, memory_format, shape, spec, with_residual=True)


def leaves(shape):
    x, weight, bias, _, _ = problem(shape, torch.float64)
    return [FORMATS["channels_last"](x).requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]


@pytest.mark.parametrize("spec", ["BN", "NS-1/2"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_backward_passes_torchs_numerical_gradient_check(activation, spec):
    function = lambda *tensors: call(*tensors, None, spec, activation)
    assert torch.autograd.gradcheck(function, leaves((4, 3, 2, 3)), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("activation", ["gelu", "elu(0.7)"])
def test_second_derivative_passes_torchs_numerical_check(activation):
    function = lambda *tensors: call(*tensors, None, "NS-1/2", activation)
    assert torch.autograd.gradgradcheck(function, leaves((4, 2, 1, 3)), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_value_exactly_on_a_kink_has_torchs_value_and_derivative(activation, dtype, memory_format):
    """A weight of zero: z is the bias to the last bit, and every channel sits on one kink."""
    x, _, _, _, dy = problem((6, 20, 3, 7), dtype)
    x, kinks = FORMATS[memory_format](x).requires_grad_(), torch.tensor(KINKS).repeat(5)
    weight, bias = (values.to(torch.promote_types(dtype, torch.float32)).requires_grad_() for values in (0 * kinks, kinks.clone()))
    exact = kinks.double().requires_grad_()
    expected = ACTIVATIONS[activation](exact.view(1, -1, 1, 1).expand(x.shape))
    for spec in ("BN", "NS-1/2"):
        y = call(x, weight, bias, None, spec, activation)
        torch.testing.assert_close(y.double(), expected, rtol=TOLERANCE[dtype][0], atol=0)
        dx, dbias = torch.autograd.grad(y, (x, bias), dy)
        assert_near(dbias, torch.autograd.grad(expected, exact, dy.double(), retain_graph=True)[0], 1e-5, "gradient of the bias")
        assert not dx.any()


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("activation", PIECEWISE_LINEAR)
def test_a_residual_exactly_on_a_kink_has_torchs_value_and_derivative(activation, dtype, memory_format):
    x, _, _, residual, dy = problem((6, 20, 3, 7), dtype)
    residual.view(-1)[::3] = torch.tensor(KINKS, dtype=dtype).repeat(210)
    x, residual = FORMATS[memory_format](x), FORMATS[memory_format](residual).requires_grad_()
    zeros = torch.zeros(20, dtype=torch.promote_types(dtype, torch.float32))
    y = call(x, zeros, zeros, residual, "NS-1/2", activation)
    plain = residual.detach().clone().requires_grad_()
    expected = ACTIVATIONS[activation](plain)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(torch.autograd.grad(y, residual, dy)[0], torch.autograd.grad(expected, plain, dy)[0])


def kind(x):
    """0: finite, 1: NaN, 2 and 3: infinities."""
    return x.isnan() * 1 + x.isposinf() * 2 + x.isneginf() * 3


def fused_and_not(activation, x, weight, bias, dy):
    """y and dx of the fused operator; then two of torch's function after the normalization alone: what torch makes of NaN and infinity
    depends on whether a value is one of a vector, which those that lie apart in memory never are."""
    together, function = lambda z: z, ACTIVATIONS[activation]
    apart = lambda z: torch.stack([z, z], -1)[..., 0]
    for y in (call(x, weight, bias, None, "NS-1/2", activation),
              *(function(place(call(x, weight, bias, None, "NS-1/2", "identity"))) for place in (together, apart))):
        yield y.detach(), torch.autograd.grad(y, x, dy)[0]


def assert_one_of(actual, expected, tolerance, name):
    """The same number, NaN or infinity as in one of the expected tensors, at each place."""
    same = torch.zeros_like(actual, dtype=torch.bool)
    for one in expected:
        finite = one.isfinite()
        near = torch.where(finite, actual - one, 0).abs() <= tolerance * (one.abs() + 0.25 * one[finite].abs().max())
        same |= (kind(actual) == kind(one)) & (near | ~finite)
    wrong = ~same
    assert same.all(), f"{name}: {actual[wrong][:5]} where torch has {[one[wrong][:5] for one in expected]}"


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_infinity_and_nan_outside_of_the_sample_become_what_torch_makes_of_them(activation, dtype, memory_format):
    """At many places, in whole vectors and in their remainders; the sample is the first half of the rows."""
    x, weight, bias, _, dy = problem((8, 13, 5, 8), dtype)  # a multiple of 64 elements: no remainders for torch
    places = torch.rand(x.shape, generator=torch.Generator().manual_seed(3))
    places[:4] = 1
    places[:, ::3] = 1  # channels that stay finite
    for bad, (low, high) in {torch.inf: (0, 0.1), -torch.inf: (0.1, 0.2), torch.nan: (0.2, 0.3)}.items():
        x[(places >= low) & (places < high)] = bad
    layout = FORMATS[memory_format]
    (y, dx), *expected = fused_and_not(activation, layout(x).requires_grad_(), weight, bias, layout(dy))
    for name, actual, wanted in zip(("y", "dx"), (y, dx), zip(*expected)):
        assert_one_of(actual, wanted, TOLERANCE[dtype][1], name)
        assert actual[:, ::3].isfinite().all()


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_values_whose_exponential_overflows_stay_finite_as_in_torch(activation, dtype, memory_format):
    x, weight, bias, _, dy = problem((8, 13, 5, 7), dtype)
    layout = FORMATS[memory_format]
    (y, dx), *expected = fused_and_not(activation, layout(x).requires_grad_(), 1e4 * weight, bias, layout(dy))
    for name, actual, wanted in zip(("y", "dx"), (y, dx), zip(*expected)):
        assert actual.isfinite().all()
        assert_one_of(actual, wanted, TOLERANCE[dtype][1], name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_values_of_every_magnitude_have_torchs_value_and_derivative(activation, dtype):
    """A weight of zero, and a channel for each power of ten. Torch's gelu is less precise: 0 where ours still is 1e-22."""
    largest = int(math.log10(torch.finfo(dtype).max))
    powers = torch.tensor([10.0 ** power for power in range(-largest, largest)], dtype=torch.float64).to(dtype)
    bias = torch.cat([powers, -powers]).requires_grad_()
    x = torch.randn(4, len(bias), dtype=dtype, generator=torch.Generator().manual_seed(0))
    y, expected = call(x, torch.zeros_like(bias), bias, None, "BN", activation), ACTIVATIONS[activation](bias)
    for row in y:
        torch.testing.assert_close(row, expected, rtol=TOLERANCE[dtype][0], atol=1e-15, equal_nan=True)
    once = torch.zeros_like(y)
    once[0] = 1
    torch.testing.assert_close(torch.autograd.grad(y, bias, once)[0], torch.autograd.grad(expected.sum(), bias)[0],
                               rtol=TOLERANCE[dtype][1], atol=1e-15, equal_nan=True)


def complaint(activation, residual=None):
    x = torch.ones(4, 2, 3, 3)
    with pytest.raises((RuntimeError, ValueError)) as error:
        call(x, None, None, residual, "BN", activation)
    return str(error.value)


@pytest.mark.parametrize("name", ["swish", "", "ReLU", "relu ", "relu(1)", "silu()", "leaky_relu(x)", "leaky_relu()", "leaky_relu(0.2",
                                  "leaky_relu(0.2) ", "leaky_relu(nan)", "elu(inf)", "elu(1, 2)", "gelu(erf)", "gelu(tanh"])
def test_an_unknown_name_or_parameter_is_an_error_that_names_it_and_all_there_are(name):
    text = complaint(name)
    assert "\n" not in text and f'"{name}"' in text and "expected an activation" in text
    assert all(known in text for known in ACTIVATIONS if "0." not in known)


@pytest.mark.parametrize("activation", CURVED)
def test_a_curved_one_after_a_residual_is_an_error_that_says_so(activation):
    text = complaint(activation, torch.ones(4, 2, 3, 3))
    assert "\n" not in text and "expected a piecewise linear activation after a residual" in text and text.endswith(f"got {activation}")
