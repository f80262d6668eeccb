"""The registered operators, driven from Python: torch's own gradient checks and operator checks, and the plain formula."""

import itertools
import os

import pytest
import torch

torch.ops.load_library(os.environ["SAMPLENORM_LIBRARY"])
ops = torch.ops.samplenorm

EPS = 1e-5
KEY = torch.tensor([7, 3, 2, 5])
# Small ratios of small tensors: every method samples several points and leaves most out.
SPECS = [
    "BN", "NS-2/8", "BS-2/8", "FS-1/4", "LS-1/4;least=1", "VDN-2/8", "FRS-1/3",
    "NS-2/8+VDN-2/8", "BS-2/8+VDN-1/8", "FS-1/4+VDN-2/8", "LS-1/4+VDN-2/8;beta=0.3;least=1",
    "BN;stat_batch=3", "LS-1/2;stat_batch=3;least=1", "FS-1/4+VDN-1/8;stat_batch=3;redraw=step",
]
# Eight rows make chunks of 3, 3 and 2.
SHAPES = {"1d": (8, 3), "sequence": (8, 2, 5), "2d": (8, 2, 3, 4), "3d": (8, 1, 2, 3, 2)}
# What follows the normalization: an activation, and whether a residual is added before it.
FUSIONS = {
    "plain": ("identity", False), "relu": ("relu", False), "residual": ("identity", True), "residual_relu": ("relu", True),
    "leaky_relu": ("leaky_relu(0.2)", False), "residual_leaky_relu": ("leaky_relu(0.2)", True), "residual_relu6": ("relu6", True),
    "silu": ("silu", False),
}


def channels_last(x):
    return x.movedim(1, -1).contiguous().movedim(-1, 1)


FORMATS = {"contiguous": lambda x: x, "channels_last": channels_last}


def inputs(shape, dtype=torch.float64, seed=0):
    """x, weight, bias, residual, of which none sits on a kink of an activation."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *sizes: torch.randn(*sizes, generator=generator, dtype=torch.float64).to(dtype)
    channels = shape[1]
    return 3 * draw(*shape) + 1, draw(channels), draw(channels), draw(*shape)


def call(x, weight, bias, residual, spec, activation, key=KEY, lean=False):
    """`x` is a tensor or a list of tensors, which count as concatenated."""
    return ops.sampled_batch_norm(x if isinstance(x, list) else [x], weight, bias, residual, spec, key, EPS, activation, lean)


def saved_of(outputs):
    """What backward takes of forward's outputs, after weight and bias."""
    _, statistics, sample, mask = outputs
    return statistics.detach(), sample.detach(), mask if mask.dim() == 3 else None


def with_fusions(specs):
    """Every spec with the first four fusions and one of the others in turn."""
    others = itertools.cycle(list(FUSIONS)[4:])
    return [(spec, fusion) for spec in specs for fusion in [*list(FUSIONS)[:4], next(others)]]


def gradcheck_cases():
    """Maps as above; every other shape with ReLU after a residual and one of the others in turn."""
    cases = [(spec, "2d", fusion) for spec, fusion in with_fusions(SPECS)]
    others = itertools.cycle([fusion for fusion in FUSIONS if fusion != "residual_relu"])
    for spec, name in itertools.product(SPECS, [name for name in SHAPES if name != "2d"]):
        cases += [(spec, name, "residual_relu"), (spec, name, next(others))]
    return cases


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("spec, shape, fusion", gradcheck_cases())
def test_backward_passes_torchs_numerical_gradient_check(spec, shape, fusion, memory_format):
    activation, with_residual = FUSIONS[fusion]
    x, weight, bias, residual = inputs(SHAPES[shape])
    tensors = [FORMATS[memory_format](x), weight, bias] + ([FORMATS[memory_format](residual)] if with_residual else [])
    for tensor in tensors:
        tensor.requires_grad_()

    def function(x, weight, bias, residual=None):
        return call(x, weight, bias, residual, spec, activation)[0]

    assert torch.autograd.gradcheck(function, tensors, eps=1e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("spec, fusion", with_fusions(["BN", "LS-1/4;least=1", "FS-1/4+VDN-2/8", "BS-1/2;stat_batch=3"]))
def test_second_derivative_passes_torchs_numerical_check(spec, fusion):
    activation, with_residual = FUSIONS[fusion]
    x, weight, bias, residual = inputs((5, 2, 2, 2))
    tensors = [channels_last(x), weight, bias] + ([channels_last(residual)] if with_residual else [])
    for tensor in tensors:
        tensor.requires_grad_()

    def function(x, weight, bias, residual=None):
        return call(x, weight, bias, residual, spec, activation)[0]

    assert torch.autograd.gradgradcheck(function, tensors, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("spec", SPECS)
def test_gradients_that_can_be_differentiated_again_are_the_same(spec, fusion):
    activation, with_residual = FUSIONS[fusion]
    tensors = [tensor.requires_grad_() for tensor in inputs((8, 2, 3, 4))]
    y = call(*tensors[:3], tensors[3] if with_residual else None, spec, activation)[0]
    wanted = tensors if with_residual else tensors[:3]
    dy = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view_as(y)
    once = torch.autograd.grad(y, wanted, dy, retain_graph=True)
    for actual, expected in zip(torch.autograd.grad(y, wanted, dy, create_graph=True), once):
        torch.testing.assert_close(actual, expected)


def test_differentiating_the_backward_operator_itself_is_an_error_not_a_wrong_number():
    x, weight, bias, _ = inputs((5, 2, 2, 2))
    saved = saved_of(call(x, weight, bias, None, "BN", "identity"))
    dx = ops.sampled_batch_norm_backward(torch.ones_like(x).requires_grad_(), [x], weight, bias, *saved, "BN", KEY)[0][0]
    with pytest.raises(RuntimeError, match="not implemented"):
        dx.sum().backward()


@pytest.mark.parametrize("sizes", [(), (4,), (2, 2, 2, 2, 2, 2)])
def test_an_input_of_too_few_or_too_many_dimensions_is_an_error(sizes):
    with pytest.raises(RuntimeError, match="expected an input of 2 to 5 dimensions"):
        call(torch.ones(sizes), None, None, None, "BN", "identity")


def test_saved_tensors_of_another_size_or_type_are_an_error_not_a_stray_read():
    x, weight, bias, residual = inputs((5, 2, 3, 3))
    outputs = call(x.clone().requires_grad_(), weight, bias, residual, "LS-1/4;least=1", "relu")
    saved = dict(zip(("statistics", "sample", "mask"), saved_of(outputs)))

    def backward(**changed):
        return ops.sampled_batch_norm_backward(x, [x], weight, bias, *{**saved, **changed}.values(), "LS-1/4;least=1", KEY, "relu")

    backward()
    for name, right in saved.items():
        for wrong in (right[..., :1], right[:, :1], right[..., :0], right.to(torch.int32)):
            with pytest.raises(RuntimeError, match=f"expected forward's {name}"):
                backward(**{name: wrong})


def test_nothing_is_kept_for_backward_where_there_will_be_none():
    x, weight, bias, residual = inputs((8, 3, 4, 5))
    arguments = (weight, bias, residual, "LS-1/4;least=1", KEY, EPS, "relu")
    kept = ops.sampled_batch_norm([x.clone().requires_grad_()], *arguments, lean=True)
    assert kept[2].numel() > 0 and kept[3].numel() > 0
    assert ops.sampled_batch_norm([x.clone().requires_grad_()], *arguments)[2].numel() == 0  # x itself is kept
    with torch.no_grad():
        without_gradients = ops.sampled_batch_norm([x.clone().requires_grad_()], *arguments)
    for outputs in (ops.sampled_batch_norm([x], *arguments), without_gradients, ops.sampled_batch_norm([x], *arguments, lean=True)):
        assert torch.equal(outputs[0], kept[0]) and torch.equal(outputs[1], kept[1])
        assert outputs[2].numel() == outputs[3].numel() == 0


@pytest.mark.parametrize("spec, fusion", with_fusions(SPECS))
def test_operators_pass_torchs_operator_check(spec, fusion):
    activation, with_residual = FUSIONS[fusion]
    x, weight, bias, residual = inputs((8, 3, 4, 3), torch.float32)
    residual = residual.requires_grad_() if with_residual else None
    parts = [x[:, :1].requires_grad_(), x[:, 1:].requires_grad_()] if residual is None else [x.requires_grad_()]
    arguments = (parts, weight.requires_grad_(), bias.requires_grad_(), residual, spec, KEY, EPS, activation)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static")
    torch.library.opcheck(ops.sampled_batch_norm.default, arguments, test_utils=tests)


def test_moving_running_statistics_passes_torchs_operator_check():
    running = (torch.zeros(3), torch.ones(3), torch.tensor(0), None, True)
    arguments = ([torch.randn(4, 3, 5)], None, None, None, "BS-1/2", KEY, EPS, "identity", False, "", 0, 1, False, *running)
    torch.library.opcheck(ops.sampled_batch_norm.default, arguments,
                          test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))


def test_running_statistics_of_another_size_are_refused():
    for sizes in ((4, 3), (3, 4)):
        running = (torch.zeros(sizes[0]), torch.ones(sizes[1]), torch.tensor(0))
        with pytest.raises(RuntimeError, match="expected a running (mean|variance) of size \\[3\\]"):
            ops.sampled_batch_norm([torch.randn(4, 3, 5)], None, None, None, "BN", KEY, EPS, "identity", False, "", 0, 1, False, *running)
    with pytest.raises(RuntimeError, match="expected running statistics all three"):
        ops.sampled_batch_norm([torch.randn(4, 3, 5)], None, None, None, "BN", KEY, EPS, running_mean=torch.zeros(3))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("fusion", FUSIONS)
def test_meta_tensors_get_the_shapes_types_and_strides_of_the_cpu(spec, fusion):
    activation, with_residual = FUSIONS[fusion]
    for shape, dtype, layout in itertools.product(SHAPES.values(), (torch.float64, torch.bfloat16), FORMATS.values()):
        x, weight, bias, residual = inputs(shape, dtype)
        real = [layout(x), weight, bias, layout(residual) if with_residual else None]
        meta = [tensor if tensor is None else tensor.to("meta") for tensor in real]
        for tensors in (real, meta):
            tensors[1].requires_grad_()  # else nothing is kept for backward
        outputs, shapes = call(*real, spec, activation), call(*meta, spec, activation)

        def backward(tensors, saved):
            dx, *others = ops.sampled_batch_norm_backward(tensors[0], tensors[:1], *tensors[1:3], *saved_of(saved), spec, KEY, activation)
            return (*dx, *others)

        gradients, gradient_shapes = backward(real, outputs), backward(meta, shapes)
        for actual, expected in zip((*shapes, *gradient_shapes), (*outputs, *gradients)):
            assert (actual.shape, actual.dtype, actual.stride()) == (expected.shape, expected.dtype, expected.stride())


def test_mix_equals_the_plain_formula_written_in_python():
    """An end-to-end witness: (0.3 of two virtual rows, 0.7 of the first two real ones), derivatives by torch's autograd."""
    x, weight, bias, residual = inputs((8, 3, 4, 5))
    for tensor in (x, weight, bias, residual):
        tensor.requires_grad_()
    groups = [(0.7, x[2:4]), (0.3, x[:2])]
    mean = sum(w * g.mean((0, 2, 3)) for w, g in groups)
    var = sum(w * g.var((0, 2, 3), unbiased=False) for w, g in groups)
    per_channel = lambda v: v[None, :, None, None]
    plain = torch.relu((x - per_channel(mean)) / torch.sqrt(per_channel(var) + EPS) * per_channel(weight)
                       + per_channel(bias) + residual)
    ours = call(x, weight, bias, residual, "NS-2/6+VDN-2/8;beta=0.3", "relu")[0]
    torch.testing.assert_close(ours, plain)
    dy = torch.randn_like(plain)
    expected = torch.autograd.grad(plain, (x, weight, bias, residual), dy, retain_graph=True)
    for actual, wanted in zip(torch.autograd.grad(ours, (x, weight, bias, residual), dy), expected):
        torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("activation", ["identity", "relu", "silu"])
@pytest.mark.parametrize("spec", ["BN", "FS-1/4", "LS-1/4+VDN-2/8;least=1", "LS-1/2;stat_batch=3;least=1"])
def test_several_inputs_give_what_their_concatenation_gives(spec, activation, memory_format):
    whole, weight, bias, _ = inputs((8, 12, 3, 4))
    parts = [FORMATS[memory_format](part.clone()).requires_grad_() for part in whole.split([1, 8, 3], 1)]
    if memory_format == "channels_last":
        parts = parts[::-1]  # one channel alone lies in both orders; the first input decides
        whole = torch.cat([part.detach() for part in parts], 1)
    whole = FORMATS[memory_format](whole).requires_grad_()
    parameters = [weight.requires_grad_(), bias.requires_grad_()]
    expected = call(whole, *parameters, None, spec, activation)
    actual = call(parts, *parameters, None, spec, activation)
    for name, a, e in zip(("y", "statistics", "sample"), actual, expected):
        torch.testing.assert_close(a, e, msg=name)
    dy = torch.linspace(-1, 2, whole.numel(), dtype=whole.dtype).view(whole.shape)
    for create_graph in (False, True):
        wanted = torch.autograd.grad(expected[0], [whole, *parameters], dy, retain_graph=True, create_graph=create_graph)
        found = torch.autograd.grad(actual[0], [*parts, *parameters], dy, retain_graph=True, create_graph=create_graph)
        torch.testing.assert_close(torch.cat(found[:3], 1), wanted[0])
        torch.testing.assert_close(found[3:], wanted[1:])


def test_inputs_that_do_not_fit_together_are_an_error():
    weight = bias = None
    for parts, message in (([], "expected one or more inputs"),
                           ([torch.ones(4, 2, 3, 3), torch.ones(4, 2, 3, 4)], "differ in their channels alone"),
                           ([torch.ones(4, 2, 3, 3), torch.ones(4, 2, 3, 3).double()], "differ in their channels alone")):
        with pytest.raises((RuntimeError, ValueError), match=message):
            call(parts, weight, bias, None, "BN", "identity")
    with pytest.raises(RuntimeError, match="expected one input with a residual"):
        call([torch.ones(4, 2, 3, 3)] * 2, weight, bias, torch.ones(4, 4, 3, 3), "BN", "relu")


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("activation", ["identity", "relu"])
@pytest.mark.parametrize("spec", ["FS-1/4", "LS-1/4;least=1", "FS-1/4+VDN-2/8", "LS-1/2;stat_batch=3;least=1"])
def test_the_lean_mode_gives_the_same_gradients_and_keeps_y_not_x(spec, activation, memory_format):
    x, weight, bias, _ = inputs((8, 3, 4, 5))
    weight = weight.sign() * (weight.abs() + 0.5)
    tensors = [FORMATS[memory_format](x).requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]
    dy = torch.linspace(-1, 2, x.numel(), dtype=x.dtype).view_as(x)
    kept = []

    def gradients(lean):
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.data_ptr()) or t, lambda t: t):
            y = call(*tensors, None, spec, activation, lean=lean)[0]
        assert (tensors[0].data_ptr() in kept) != lean and (y.data_ptr() in kept) == lean
        return torch.autograd.grad(y, tensors, dy)

    torch.testing.assert_close(gradients(lean=True), gradients(lean=False), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", ["a weight of zero", "a large bias", "a residual", "statistics of all points", "silu"])
def test_the_lean_mode_keeps_x_where_y_does_not_tell_it(case):
    x, weight, bias, residual = inputs((8, 3, 4, 5))
    weight = weight.sign() * (weight.abs() + 0.5)
    if case == "a weight of zero":
        weight[1] = 0
    if case == "a large bias":
        bias[2] = 100
    tensors = [x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]
    arguments = (residual if case == "a residual" else None, "BN" if case == "statistics of all points" else "LS-1/4;least=1",
                 "silu" if case == "silu" else "relu")
    dy = torch.linspace(-1, 2, x.numel(), dtype=x.dtype).view_as(x)
    lean, full = (torch.autograd.grad(call(*tensors, *arguments, lean=lean)[0], tensors, dy) for lean in (True, False))
    assert all(torch.equal(a, b) for a, b in zip(lean, full))


def test_the_lean_mode_has_no_second_derivative_and_says_so():
    x, weight, bias, _ = inputs((8, 3, 4, 5))
    y = call(x.requires_grad_(), weight.abs() + 1, bias, None, "LS-1/4;least=1", "relu", lean=True)[0]
    with pytest.raises(RuntimeError, match="lean mode keeps no x"):
        torch.autograd.grad(y.sum(), x, create_graph=True)
