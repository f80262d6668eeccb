"""The six steps in Triton, run by its interpreter, against plain formulas in float64."""

import os

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import pytest
import torch

from plain_steps import EPS, FUNCTIONS, Layer
from samplenorm.kernels import activations
from samplenorm.kernels.apply import apply_kernel
from samplenorm.kernels.launch import launch
from samplenorm.kernels.moments import counts_of
from samplenorm.kernels.steps import STEPS

PIECEWISE_LINEAR = ("relu", "relu6", "leaky_relu(0.3)")
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def in_format(x, channels_last):
    return x.contiguous() if not channels_last else x.movedim(1, -1).contiguous().movedim(-1, 1)


def make_layer(sizes, sample, dtype, weights=(1.0,), stat_batch=0, channels_last=False):
    """A layer in float64 whose values are those of the dtype, the activations as a tensor, and as maps."""
    x = in_format((3 * torch.randn(sizes, dtype=torch.float64) + torch.randn(1, sizes[1], *[1] * (len(sizes) - 2)).double()).to(dtype), channels_last)
    maps = x.double().reshape(sizes[0], sizes[1], -1).requires_grad_()
    chunk_rows = stat_batch or sizes[0]
    rows = [*range(0, sizes[0], chunk_rows), sizes[0]]
    places = maps.shape[2]
    groups = []
    for begin, end in zip(rows, rows[1:]):
        every = torch.arange(begin * places, end * places)
        if sample == "whole":
            groups.append([every])
            continue
        drawn = every[torch.randperm(every.numel())[:max(2, int(every.numel() * sample))]]
        cut = max(1, drawn.numel() // 3)
        groups.append([drawn] if len(weights) == 1 else [drawn[:cut], drawn[cut:]])
    weight, bias = torch.randn(2, sizes[1], dtype=torch.float32).double().requires_grad_().unbind()
    return Layer(maps, rows, groups, list(weights), weight, bias), x


def close(actual, expected, tolerance, scale=None):
    expected = expected.detach()
    bound = tolerance * (float(expected.abs().max()) if scale is None else scale) + 1e-6
    error = float((actual.double() - expected).abs().max()) if expected.numel() else 0.0
    assert error <= bound, f"off by {error}, allowed {bound}"


def check_steps(sizes, sample=0.3, dtype=torch.float32, weights=(1.0,), stat_batch=0, channels_last=False, activation="relu",
                with_residual=False, split=None, extra_room=0):
    torch.manual_seed(len(sizes) * 100 + sizes[1])
    layer, x = make_layer(sizes, sample, dtype, weights, stat_batch, channels_last)
    inputs = [in_format(part, channels_last) for part in x.split(split, 1)] if split else [x]
    whole = sample == "whole"
    points = torch.empty(0, dtype=torch.long) if whole else layer.points
    room = 0 if whole else points.numel() + extra_room
    tolerance = TOLERANCE[dtype]

    moments, copy = STEPS["moments"](inputs, points, layer.rows, layer.counts, room)
    assert moments.shape[1:] == (len(layer.groups), len(weights), 3, sizes[1]) and copy.shape == (room, sizes[1])
    if not whole:
        assert torch.equal(copy[:points.numel()].double(), layer.at(layer.x, points).detach()) and not copy[points.numel():].any()
    counts = moments[:, :, :, 0].double()
    assert torch.equal(counts.sum(0)[..., 0].flatten(), torch.tensor(layer.counts, dtype=torch.float64))

    running = [torch.zeros(sizes[1]), torch.ones(sizes[1]), torch.tensor(4)]
    gamma, beta = layer.weight.detach().float(), layer.bias.detach().float()
    statistics = STEPS["statistics"](moments, list(weights), gamma, beta, EPS, *running, 0.1, False)
    expected = layer.statistics().detach()
    for line in range(expected.shape[1]):
        close(statistics[:, line], expected[:, line], 1e-5)
    assert running[2] == 5
    close(running[0], 0.1 * expected[:, 0].mean(0), 1e-5)
    close(running[1], 0.9 + 0.1 * expected[:, 2].mean(0), 1e-5)

    residual = in_format(torch.randn(sizes, dtype=torch.float64).to(dtype), channels_last) if with_residual else None
    residual_maps = residual.double().reshape(layer.x.shape).requires_grad_() if with_residual else None
    y, mask = STEPS["apply"](inputs, residual, statistics, layer.rows, activation, with_residual)
    plain_y = layer.forward(residual_maps, activation)
    close(y.reshape(layer.x.shape), plain_y, tolerance)
    assert y.stride() == x.stride()

    dy = in_format(torch.randn(sizes, dtype=torch.float64).to(dtype), channels_last)
    inputs_of_grad = [layer.x, layer.weight, layer.bias] + ([residual_maps] if with_residual else [])
    plain = torch.autograd.grad(plain_y, inputs_of_grad, dy.double().reshape(layer.x.shape))
    mask = mask if with_residual else None
    dx, sums, dresidual = STEPS["backward"](dy, inputs, mask, statistics, None, layer.rows, activation, False, not whole)
    dweight, dbias, correction = STEPS["gradients"](sums, sums, statistics, list(weights))
    if whole:
        assert dx == []
        dx, none, dresidual = STEPS["backward"](dy, inputs, mask, statistics, correction, layer.rows, activation, False, True)
        assert none.numel() == 0
    else:
        again = [part.clone() for part in dx]
        STEPS["correct"](dx, inputs, copy[:0], statistics, correction, points, layer.rows, layer.counts)
        STEPS["correct"](again, [], copy, statistics, correction, points, layer.rows, layer.counts)  # by the copy alone
        assert all(map(torch.equal, dx, again))
    assert [part.stride() for part in dx] == [part.stride() for part in inputs]
    close(torch.cat(dx, 1).reshape(layer.x.shape), plain[0], 2 * tolerance)
    points_in_all = layer.x.numel() / sizes[1]
    close(dweight, plain[1], 1e-5, scale=points_in_all)
    close(dbias, plain[2], 1e-5, scale=points_in_all)
    if with_residual:
        close(dresidual.reshape(layer.x.shape), plain[3], tolerance)
        assert dresidual.stride() == dy.stride()
    return y, dx


SHAPES = [(8, 5), (6, 3, 7), (5, 17, 9, 5), (4, 2, 2, 3, 5), (3, 70, 4, 4), (2, 1, 6, 6), (7, 8, 1, 1), (2, 130, 3, 3)]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes", SHAPES)
def test_every_shape_type_and_format(sizes, dtype, channels_last):
    check_steps(sizes, dtype=dtype, channels_last=channels_last and len(sizes) > 2, sample=0.5)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_every_activation(activation, channels_last):
    check_steps((4, 11, 5, 3), activation=activation, channels_last=channels_last)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("activation", PIECEWISE_LINEAR)
def test_residuals_with_masks(activation, dtype, channels_last):
    for sizes in ((4, 11, 5, 3), (2, 70, 3, 3), (3, 9)):
        check_steps(sizes, activation=activation, dtype=dtype, channels_last=channels_last and len(sizes) > 2, with_residual=True)


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_whole_sample(channels_last):
    for with_residual in (False, True):
        check_steps((5, 17, 7, 5), "whole", channels_last=channels_last, with_residual=with_residual)
    check_steps((5, 6, 3, 5), "whole", stat_batch=2, channels_last=channels_last)


@pytest.mark.parametrize("channels_last", [False, True])
def test_chunks_groups_and_room(channels_last):
    check_steps((7, 5, 4, 3), stat_batch=2, channels_last=channels_last, with_residual=True)
    check_steps((7, 5, 4, 3), weights=(0.3, 0.7), channels_last=channels_last, extra_room=3)
    check_steps((7, 5, 4, 3), weights=(0.3, 0.7), stat_batch=3, channels_last=channels_last)
    check_steps((41, 3, 2, 2), stat_batch=2, channels_last=channels_last)


@pytest.mark.parametrize("channels_last", [False, True])
def test_several_inputs(channels_last):
    for dtype in (torch.float32, torch.bfloat16):
        check_steps((4, 13, 5, 3), split=[3, 9, 1], dtype=dtype, channels_last=channels_last)
    check_steps((4, 13, 5, 3), "whole", split=[12, 1], channels_last=channels_last)


@pytest.mark.parametrize("channels_last", [False, True])
def test_many_blocks(channels_last):
    """More than one block of partial sums, in every step that has them."""
    check_steps((16, 8, 40, 31), 0.9, channels_last=channels_last)
    check_steps((16, 8, 40, 31), "whole", channels_last=channels_last)


def test_repeated_runs_are_equal_to_the_last_bit():
    first, second = (check_steps((16, 8, 40, 31), 0.9, channels_last=True) for _ in range(2))
    assert torch.equal(first[0], second[0]) and torch.equal(first[1][0], second[1][0])


@pytest.mark.parametrize("momentum, first_is_batch, batches", [(None, False, 2), (None, False, 0), (0.1, True, 0), (0.1, True, 3), (0.7, False, 0)])
def test_running_statistics_are_moved_by_the_share_of_the_batch(momentum, first_is_batch, batches):
    """More channels than a program takes at once, and several chunks."""
    moments = torch.rand(3, 2, 1, 3, 37) + 1
    moments[:, :, :, 0] = 5
    running = [torch.randn(37), torch.rand(37), torch.tensor(batches)]
    before = [tensor.clone() for tensor in running]
    found = STEPS["statistics"](moments, [1.0], None, None, EPS, *running, momentum, first_is_batch)
    share = momentum if momentum is not None else 1 / (batches + 1)
    share = 1 if first_is_batch and batches == 0 else share
    for line, new, old in ((0, running[0], before[0]), (2, running[1], before[1])):
        close(new, ((1 - share) * old + share * found[:, line].mean(0)).double(), 1e-5)
    assert running[2] == batches + 1


def test_nan_and_infinity_go_where_torchs_relu_lets_them():
    nan, infinity = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, -1.0, 2.0]])
    statistics = torch.tensor([[0.0, 1, 1, 1, 0, 0, 1]]).view(1, 7, 1).expand(1, 7, 4).contiguous()  # scale 1, shift 0
    y, _ = STEPS["apply"]([x], None, statistics, [0, 1], "relu", False)
    assert y[0, 0] == 1 and y[0, 1].isnan() and y[0, 2] == 0
    dy = torch.tensor([[nan, 1.0, infinity, infinity]])
    (dx,), _, _ = STEPS["backward"](dy, [x], None, statistics, None, [0, 1], "relu", False, True)
    assert dx[0, 0].isnan() and dx[0, 1] == 1 and dx[0, 2] == 0 and dx[0, 3] == infinity


def test_the_lean_mode_finds_xhat_from_y():
    torch.manual_seed(5)
    y, dy = torch.randn(6, 4, 3, 3).relu(), torch.randn(6, 4, 3, 3)
    weight, bias = torch.rand(4) + 0.5, torch.randn(4)
    statistics = torch.zeros(1, 7, 4)
    statistics[0, 0], statistics[0, 1], statistics[0, 3] = bias, 1 / weight, 2.0  # seen from y: mean, rstd, scale
    (dx,), sums, _ = STEPS["backward"](dy, [y], None, statistics, None, [0, 6], "relu", True, True)
    dz = torch.where(y > 0, dy, 0)
    xhat = (y - bias.view(1, 4, 1, 1)) / weight.view(1, 4, 1, 1)
    torch.testing.assert_close(dx, 2 * dz)
    torch.testing.assert_close(sums.sum(0)[0], torch.stack([dz.sum((0, 2, 3)), (dz * xhat).sum((0, 2, 3))]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("by_point", [True, False])
def test_offsets_have_64_bits(by_point):
    """Two points, or rows, that are further apart than 32 bits count: memory that is never touched takes no room."""
    stride = 2**31 + 16
    map_points = 1 if by_point else 8
    x = torch.empty(stride + 64, dtype=torch.float16).as_strided((2, 8, map_points), (stride, map_points, 1))
    x.copy_(torch.arange(2.0 * 8 * map_points).view_as(x))
    y = torch.zeros(2, 8, map_points, dtype=torch.float16)
    statistics = torch.tensor([[0.0, 1, 1, 2, 1, 0, 1]]).view(1, 7, 1).expand(1, 7, 8).contiguous()  # scale 2, shift 1
    launch(apply_kernel, x.device, (1, 1), x, None, statistics, y, None, 0.0, 2, 2, 8, map_points, 1, 1, 2, stride, 8 * map_points, 56, 8, 1,
           ACTIVATION=activations.find("identity").function, BY_POINT=by_point, CHANNELS=8, POSITIONS=8, DIVISOR=8)
    assert torch.equal(y, 2 * x + 1)


def test_activations_have_the_names_of_the_library():
    assert activations.find("leaky_relu(0.25)").parameter == activations.find("leaky_relu(0.25)").slope == 0.25
    assert activations.find("elu").parameter == 1 and activations.find("gelu(tanh)").function is not activations.find("gelu").function
    assert activations.find("swish") is None


def test_irregular_counts_are_left_to_aten():
    assert counts_of([4, 4, 3], 3).of_last == (3, 0) and counts_of([4, 2, 3, 1], 2).of_chunk == (4, 2)
    assert counts_of([4, 3, 4], 3) is None and counts_of([1, 1, 1], 1) is None
