"""A seeded sweep over methods, shapes, chunks, activations and memory formats against the plain formula, and bugs that must not return.

The sample of each case comes from the notation itself; torch's autograd differentiates the formula.
"""

import functools
import itertools
import os
import random

import pytest
import torch
import torch.nn.functional as F

torch.ops.load_library(os.environ["SAMPLENORM_LIBRARY"])
ops = torch.ops.samplenorm
Notation = torch.classes.samplenorm.Notation

EPS = 1e-5
KEY = torch.tensor([7, 3, 2, 5])
PIECEWISE_LINEAR = {"identity": lambda z: z, "relu": F.relu, "relu6": F.relu6,
                    "leaky_relu(0.2)": functools.partial(F.leaky_relu, negative_slope=0.2)}
ACTIVATIONS = {**PIECEWISE_LINEAR, "elu": F.elu, "silu": F.silu, "hardswish": F.hardswish, "gelu": F.gelu,
               "gelu(tanh)": functools.partial(F.gelu, approximate="tanh")}


def channels_last(x):
    return x.movedim(1, -1).contiguous().movedim(-1, 1)


FORMATS = {"contiguous": lambda x: x.contiguous(), "channels_last": channels_last}
METHODS = ["BN", "NS", "BS", "FS", "LS", "FRS", "VDN", "NS+VDN", "BS+VDN", "FS+VDN", "LS+VDN"]
RATIOS = ["1/1", "1/1", "1/2", "2/3", "3/7", "1/4", "1/16", "1/64", "4/128"]


class Case:
    """One call of the operator. `parts` inputs count as concatenated along channels."""

    def __init__(self, number):
        draw = random.Random(number)
        self.number, method = number, METHODS[number % len(METHODS)]
        real, _, virtual = method.rpartition("+") if "+" in method else (method, "", method)
        self.virtual_rows = draw.choice([1, 2, 3]) if virtual == "VDN" else 0
        stat_batch = draw.choice([0, 0, 1, 2, 3, 4, 5])
        names = [] if real == "VDN" else [real if real == "BN" else f"{real}-{draw.choice(RATIOS)}"]
        options = [f"stat_batch={stat_batch}"] if stat_batch else []
        least = draw.choice([None, 1, 2, 7, 1_000_000])
        if least and real not in ("BN", "VDN"):
            options.append(f"least={least}")
        if self.virtual_rows:
            names.append(f"VDN-{self.virtual_rows}/8")
        beta = draw.choice([None, 0.3, 0, 1])
        if "+" in method and beta is not None:
            options.append(f"beta={beta}")
        if real in ("BS", "FS", "LS", "FRS"):
            options.append(f"redraw={draw.choice(['epoch', 'step', 'never'])}")
        self.spec = ";".join(["+".join(names), *options])

        real_rows = draw.choice([1, 2, 3, 4, 5, 7, 9, 12])
        chunk_rows = stat_batch or real_rows
        self.chunk_rows = chunk_rows + self.virtual_rows
        dims = draw.choice([2, 3, 4, 4, 4, 5])
        sides = [draw.choice([1, 2, 3, 5, 7] if dims == 5 else [1, 1, 2, 3, 5, 7, 8, 11, 13]) for _ in range(dims - 2)]
        rows = real_rows + self.virtual_rows * -(-real_rows // chunk_rows)
        self.shape = (rows, draw.choice([1, 1, 2, 3, 5, 8, 17, 33]), *sides)
        self.residual = draw.random() < 0.4
        self.activation = draw.choice(list(PIECEWISE_LINEAR if self.residual else ACTIVATIONS))
        self.memory_format = draw.choice(list(FORMATS))
        self.parts = 1 if self.residual else draw.choice([1, 1, 2, 3])
        self.lean = draw.random() < 0.2
        self.key = torch.tensor([draw.randrange(2 ** 40) for _ in range(4)])

    def __str__(self):
        words = (self.number, self.spec, "x".join(map(str, self.shape)), self.memory_format, self.activation,
                 "residual" if self.residual else "", f"{self.parts} parts" if self.parts > 1 else "", "lean" if self.lean else "")
        return " ".join(str(word) for word in words if word != "")

    def torch_refuses(self):
        """Whether BatchNorm would refuse a chunk, which has one value per channel then. Virtual rows count if they have a weight."""
        first = self.virtual_rows if "beta=0;" in self.spec + ";" else 0
        for chunk in torch.zeros(self.shape).split(self.chunk_rows):
            try:
                F.batch_norm(chunk[first:], None, None, training=True)
            except ValueError:
                return True
        return False

    def tensors(self):
        """Inputs, weight, bias, residual (or none), all requiring gradients, and dy."""
        generator = torch.Generator().manual_seed(self.number)
        draw = lambda *sizes: torch.randn(*sizes, generator=generator, dtype=torch.float64)
        layout = FORMATS[self.memory_format]
        x = 2 * draw(*self.shape) + 1
        parts = [layout(part.clone()).requires_grad_() for part in x.tensor_split(self.parts, 1)]
        weight, bias = (3 * draw(self.shape[1])).requires_grad_(), (2 * draw(self.shape[1])).requires_grad_()
        residual = layout(draw(*self.shape)).requires_grad_() if self.residual else None
        return parts, weight, bias, residual, draw(*self.shape)


def points_of(x, boxes):
    """x at the boxes' points, (points, C)."""
    n, c, *sides = x.shape
    depth, height, width = [1] * (3 - len(sides)) + sides
    numbers = []
    for box in boxes:
        ranges = [range(*box[i:i + 3]) for i in (1, 4, 7, 10)]
        numbers += [((row * depth + d) * height + h) * width + w for row, d, h, w in itertools.product(*ranges)]
    return x.movedim(1, -1).reshape(-1, c)[numbers]


def plain_statistics(x, spec, key, weight, bias):
    """The lines of each chunk, (chunks, 5 + 2 groups, C)."""
    weights, chunks, boxes = Notation(spec).sample(list(x.shape), key, 0, 1, False)
    lines = []
    for chunk in range(max(chunks) + 1):
        mean, var, unbiased_var, group_means, counts = 0, 0, 0, [], []
        for group in (g for g in range(len(weights)) if chunks[g] == chunk):
            points = points_of(x, [box for box in boxes if box[0] == group])
            group_means.append(points.mean(0))
            counts.append(torch.full_like(group_means[-1], len(points)))
            squares = (points - group_means[-1]).square().sum(0)
            mean, var = mean + weights[group] * group_means[-1], var + weights[group] * squares / len(points)
            unbiased_var = unbiased_var + weights[group] * squares / max(len(points) - 1, 1)
        rstd = 1 / (var + EPS).sqrt()
        lines.append(torch.stack([mean, rstd, unbiased_var, rstd * weight, bias - mean * rstd * weight, *group_means, *counts]))
    return torch.stack(lines)


def plain_formula(x, weight, bias, residual, spec, key, activation):
    """y and the statistics."""
    statistics = plain_statistics(x, spec, key, weight, bias)
    _, _, _, _, virtual_rows, stat_batch = Notation(spec).read()
    view = [1, -1] + [1] * (x.dim() - 2)
    chunks = x.split(virtual_rows + stat_batch if stat_batch else len(x))
    normalized = [(chunk - lines[0].view(view)) * lines[1].view(view) for chunk, lines in zip(chunks, statistics, strict=True)]
    z = torch.cat(normalized) * weight.view(view) + bias.view(view)
    return ACTIVATIONS[activation](z if residual is None else z + residual), statistics


def assert_near(actual, expected, name):
    atol = 1e-9 * (1 + expected.abs().max().item())
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=atol, msg=lambda text: f"{name}: {text}")


def assert_is_plain_formula(parts, weight, bias, residual, dy, spec, key, activation, lean=False):
    y, statistics, _, _ = ops.sampled_batch_norm(parts, weight, bias, residual, spec, key, EPS, activation, lean)
    expected_y, expected_statistics = plain_formula(torch.cat(parts, 1), weight, bias, residual, spec, key, activation)
    assert_near(y, expected_y, "y")
    assert_near(statistics, expected_statistics.detach(), "statistics")
    leaves = [*parts, weight, bias] + ([] if residual is None else [residual])
    names = [f"input {i}" for i in range(len(parts))] + ["weight", "bias", "residual"]
    for name, actual, expected in zip(names, *(torch.autograd.grad(one, leaves, dy) for one in (y, expected_y))):
        if expected.numel():
            assert_near(actual, expected, f"gradient of {name}")


CASES = [Case(number) for number in range(330)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients_are_those_of_the_plain_formula_and_what_batch_norm_accepts_is_accepted(case):
    parts, weight, bias, residual, dy = case.tensors()
    call = functools.partial(assert_is_plain_formula, parts, weight, bias, residual, dy, case.spec, case.key, case.activation, case.lean)
    if case.torch_refuses():
        with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
            call()
    elif "least=1;" in case.spec + ";":  # samples of one point are asked for
        try:
            call()
        except ValueError as error:
            assert "samples 1 value per channel" in str(error)
    else:
        call()


def test_the_sweep_has_every_kind_of_case_and_few_that_are_refused():
    assert sum(case.torch_refuses() for case in CASES) < len(CASES) / 8
    assert {len(case.shape) for case in CASES} == {2, 3, 4, 5}
    assert {(case.activation, case.residual) for case in CASES} == {*itertools.product(PIECEWISE_LINEAR, (True, False)),
                                                                    *((name, False) for name in ACTIVATIONS)}
    assert {(case.number % len(METHODS), case.memory_format) for case in CASES} == {*itertools.product(range(len(METHODS)), FORMATS)}
    assert any("stat_batch" in case.spec and case.shape[0] % case.chunk_rows for case in CASES)


def problem(shape, channels=None, layout=channels_last, seed=0):
    """Inputs with so many channels each, weight, bias, residual and dy."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *sizes: torch.randn(*sizes, generator=generator, dtype=torch.float64)
    x = 2 * draw(*shape) + 1
    parts = [layout(part.clone()).requires_grad_() for part in x.split(channels or shape[1], 1)]
    weight, bias, residual = draw(shape[1]), draw(shape[1]), layout(draw(*shape))
    return parts, weight.requires_grad_(), bias.requires_grad_(), residual.requires_grad_(), draw(*shape)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_last_chunk_of_fewer_rows_stays_within_its_copy_of_the_sample(dtype, layout):
    parts, weight, bias, _, dy = problem((4, 64, 32, 32), layout=FORMATS[layout])
    assert_is_plain_formula(parts, weight, bias, None, dy, "BS-1/2;stat_batch=3", KEY, "relu")
    x = parts[0].detach().to(dtype).requires_grad_()
    for step in range(20):  # a write past the end may need some allocations to show
        key = torch.tensor([7, 3, step, 5])
        y, _, sample, _ = ops.sampled_batch_norm([x], None, None, None, "BS-1/2;stat_batch=3", key, EPS, "identity", lean=True)
        boxes = Notation("BS-1/2;stat_batch=3").sample(list(x.shape), key, 0, 1, False)[2]
        taken = points_of(x.detach(), boxes)
        torch.testing.assert_close(sample[:len(taken)], taken, rtol=0, atol=0)
        assert torch.autograd.grad(y.square().sum(), x)[0].isfinite().all()


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("shape", [(6, 5, 3, 4), (9, 3), (2, 1, 7)])
@pytest.mark.parametrize("spec", ["FRS-1/1", "LS-1/1", "FS-1/1", "NS-1/1", "BS-1/1;least=1", "FRS-1/1;stat_batch=2"])
def test_a_sample_of_everything_is_batch_norm_backward_too(spec, shape, layout):
    parts, weight, bias, residual, dy = problem(shape, layout=FORMATS[layout])
    if shape[0] == 9 and "stat_batch" in spec:
        dy, residual = dy[:8], residual[:8].detach().requires_grad_()
        parts = [parts[0][:8].detach().requires_grad_()]
    assert_is_plain_formula(parts, weight, bias, residual, dy, spec, KEY, "relu")
    bn = spec.replace(spec.split(";")[0], "BN").replace(";least=1", "")
    results = [ops.sampled_batch_norm(parts, weight, bias, residual, one, KEY, EPS, "relu")[0] for one in (spec, bn)]
    gradients = [torch.autograd.grad(y, [*parts, weight, bias, residual], dy) for y in results]
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("channels", [[3, 0], [0, 3], [0, 2, 0, 1, 0]], ids=str)
@pytest.mark.parametrize("spec", ["BN", "FS-1/4", "LS-1/4+VDN-2/8;least=1", "LS-1/2;stat_batch=3;least=1"])
def test_an_input_without_channels_among_others_changes_nothing(spec, channels, layout):
    parts, weight, bias, _, dy = problem((8, 3, 3, 4), channels, layout=FORMATS[layout])
    for activation in ("identity", "relu", "silu"):
        assert_is_plain_formula(parts, weight, bias, None, dy, spec, KEY, activation)


@pytest.mark.parametrize("channels", [[3, 0], [0, 3]], ids=str)
@pytest.mark.parametrize("spec", ["BN", "FS-1/4"])
def test_an_input_without_channels_among_others_has_second_derivatives(spec, channels):
    parts, weight, bias, _, dy = problem((8, 3, 3, 4), channels)
    y = ops.sampled_batch_norm(parts, weight, bias, None, spec, KEY, EPS, "silu")[0]
    once = torch.autograd.grad(y, [*parts, weight, bias], dy, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(y, [*parts, weight, bias], dy, create_graph=True), once)


@pytest.mark.parametrize("shape", [(4, 0, 3, 3), (0, 3, 4, 4), (4, 3, 0, 4), (0, 3)])
@pytest.mark.parametrize("parts", [1, 2])
def test_an_empty_input_gives_an_empty_output_and_gradients_of_zero(shape, parts):
    x = [torch.randn(shape).requires_grad_() for _ in range(parts)]
    weight, bias = torch.ones(parts * shape[1]).requires_grad_(), torch.zeros(parts * shape[1]).requires_grad_()
    y = ops.sampled_batch_norm(x, weight, bias, None, "FS-1/4", KEY, EPS, "relu")[0]
    assert y.shape == torch.cat(x, 1).shape
    dx, dweight, dbias = (torch.autograd.grad(y.sum(), [x[0], weight, bias]))
    assert dx.shape == shape and not dweight.any() and not dbias.any()


def reversed_order(tensor):
    """The same values with the last two of its dimensions, or channels and map, the other way round in memory."""
    if tensor.dim() < 2:
        return tensor
    return tensor.t().contiguous().t() if tensor.dim() == 2 else channels_last(tensor)


def spread(tensor):
    """The same values with a gap after each."""
    return torch.stack([tensor, tensor], -1)[..., 0]


REPACKED = {"contiguous": lambda tensor: tensor.contiguous(), "channels_last": reversed_order, "spread": spread}
FUSIONS = [("identity", False), ("relu", False), ("silu", False), ("identity", True), ("relu", True), ("leaky_relu(0.2)", True)]


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("packed", REPACKED)
@pytest.mark.parametrize("activation, with_residual", FUSIONS)
def test_saved_tensors_that_come_back_in_another_memory_format_give_the_same_gradients(activation, with_residual, packed, layout):
    for spec, shape in itertools.product(["BN", "FS-1/4", "LS-1/4+VDN-2/8;least=1", "LS-1/2;stat_batch=3;least=1"],
                                         [(8, 5, 3, 4), (8, 9, 7), (8, 3, 2, 3, 2), (8, 6)]):
        for channels, lean in [(None, False), (None, True)] + ([] if with_residual else [([2, shape[1] - 2], False)]):
            parts, weight, bias, residual, dy = problem(shape, channels, FORMATS[layout])
            residual = residual if with_residual else None
            leaves = [*parts, weight, bias] + ([residual] if with_residual else [])
            found, count = [], 0

            def pack(tensor):
                nonlocal count
                again = REPACKED[packed](tensor)
                assert torch.equal(again, tensor)
                count += again.stride() != tensor.stride()
                return again

            for pack_one in (lambda tensor: tensor, pack):
                with torch.autograd.graph.saved_tensors_hooks(pack_one, lambda tensor: tensor):
                    y = ops.sampled_batch_norm(parts, weight, bias, residual, spec, KEY, EPS, activation, lean)[0]
                found.append(torch.autograd.grad(y, leaves, dy))
            assert count > 0 or len(shape) == 2 or packed == layout, "nothing came back in another format"
            torch.testing.assert_close(found[1], found[0], rtol=1e-11, atol=1e-11)


def test_more_plans_than_are_remembered_still_give_right_results():
    """600 plans of 9216 points: the first ones are forgotten, and made again for the second round and for a late backward."""
    x = torch.randn(64, 1, 16, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    layer = lambda key: ops.sampled_batch_norm([x], None, None, None, "FS-9/16", torch.tensor([1, key, 0, 0]), EPS, "relu")
    early = layer(0)[0]
    places = set()
    for key in [*range(600), *range(600)]:
        with torch.no_grad():
            mean = layer(key)[1][0, 0, 0]
        (_, *box), = Notation("FS-9/16").sample(list(x.shape), torch.tensor([1, key, 0, 0]), 0, 1, False)[2]
        places.add(tuple(box))
        torch.testing.assert_close(mean, x.detach()[:, :, box[6]:box[7], box[9]:box[10]].mean())
    assert len(places) > 20
    expected = plain_formula(x, torch.ones(1), torch.zeros(1), None, "FS-9/16", torch.tensor([1, 0, 0, 0]), "relu")[0]
    dy = torch.linspace(-1, 2, x.numel(), dtype=x.dtype).view_as(x)
    torch.testing.assert_close(torch.autograd.grad(early, x, dy), torch.autograd.grad(expected, x, dy))
