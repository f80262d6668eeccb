"""PyTorch's own inputs for its BatchNorm, which the wheel of torch ships, given to ours with the sample "everything"."""

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

import samplenorm as sn

OURS = {"nn.BatchNorm1d": sn.BatchNorm1d, "nn.BatchNorm2d": sn.BatchNorm2d, "nn.BatchNorm3d": sn.BatchNorm3d}
MODULES = [info for info in module_db if info.name in OURS]
OPERATORS = [info for info in op_db if info.name == "nn.functional.batch_norm" and not info.variant_test_name]


def leaves(tensors):
    return [tensor for tensor in tensors if isinstance(tensor, torch.Tensor) and tensor.requires_grad]


def outcome(call, inputs):
    """What it returns and its gradients, or the class of its error."""
    try:
        y = call()
        wanted = leaves(inputs)
        return [y, *torch.autograd.grad(y.sum() + (y * torch.arange(y.numel(), dtype=y.dtype).view_as(y)).sum(), wanted, allow_unused=True)]
    except (ValueError, RuntimeError) as error:
        return type(error)


def assert_same(actual, expected, **tolerance):
    if isinstance(expected, type) or isinstance(actual, type):
        assert actual == expected
        return
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, **tolerance)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("info", MODULES, ids=lambda info: info.name)
def test_the_inputs_of_module_info_give_what_torchs_layer_gives(info, training):
    inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
    assert inputs
    for each in inputs:
        constructor, forward = each.constructor_input, each.forward_input
        torchs = info.module_cls(*constructor.args, **constructor.kwargs).double().train(training)
        ours = OURS[info.name](*constructor.args, **constructor.kwargs, spec="BN").double().train(training)
        for repeat in range(2):
            expected = outcome(lambda: torchs(*forward.args, **forward.kwargs), [*forward.args, *torchs.parameters()])
            actual = outcome(lambda: ours(*forward.args, **forward.kwargs), [*forward.args, *ours.parameters()])
            assert_same(actual, expected)
        for name, value in torchs.state_dict().items():
            torch.testing.assert_close(ours.state_dict()[name], value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("info", OPERATORS, ids=lambda info: info.name)
def test_the_sample_inputs_of_batch_norm_give_what_torchs_function_gives(info, dtype):
    # The function takes inputs of one dimension too, in evaluation; layers, torch's as ours, do not.
    samples = [each for each in info.sample_inputs("cpu", dtype, requires_grad=True) if each.input.dim() > 1]
    assert len(samples) > 8
    # torch adds float32 up in float32, we in float64.
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {}
    for sample in samples:
        x, (running_mean, running_var, *more) = sample.input, sample.args
        arguments = dict(zip(("weight", "bias", "training", "momentum", "eps"), more)) | sample.kwargs
        weight, bias = arguments.get("weight"), arguments.get("bias")
        options = {"eps": arguments.get("eps", 1e-5), "momentum": arguments.get("momentum", 0.1)}
        layer = sn.BatchNorm(x.size(1), spec="BN", affine=False, track_running_stats=running_mean is not None, **options)
        layer.weight, layer.bias = ((None if each is None else torch.nn.Parameter(each.detach().clone())) for each in (weight, bias))
        if running_mean is not None:
            layer.running_mean, layer.running_var = running_mean.detach().clone(), running_var.detach().clone()
        layer.train(arguments.get("training", False))
        kept = [None if each is None else each.detach().clone() for each in (running_mean, running_var)]
        expected = outcome(lambda: torch.nn.functional.batch_norm(x, *kept, **arguments), [x, weight, bias])
        if not layer.training and running_mean is None:
            continue  # the function refuses it; a layer without running statistics evaluates by its batch, as torch's does
        assert_same(outcome(lambda: layer(x), [x, layer.weight, layer.bias]), expected, **tolerance)
        if running_mean is not None and not isinstance(expected, type):
            torch.testing.assert_close([layer.running_mean, layer.running_var], kept, **tolerance)
