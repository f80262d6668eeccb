"""On a GPU nothing waits for the device, a layer has six launches, and no CUDA graph freezes a sample: tested without one, on tensors that have
a device and no memory."""

import contextlib
from unittest import mock

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import samplenorm  # noqa: F401  registers the operators' rules
from samplenorm._library import ops
from samplenorm.kernels import aten, capture, launch, steps

WAITS = ("_local_scalar_dense", "item", "is_nonzero", "equal")
NO_LAUNCHES = ("prim.device", "empty", "view", "slice", "narrow", "select", "transpose", "permute", "t.default", "detach", "alias", "expand",
               "unsqueeze", "new_empty", "as_strided", "movedim", "contiguous", "empty_like")


class Calls(TorchDispatchMode):
    """Records ATen's operators, and copies to the CPU."""

    def __init__(self):
        super().__init__()
        self.names, self.copies_to_cpu = [], []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.names.append(str(function).removeprefix("aten."))
        sources = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.device.type == "cuda"]
        if sources and isinstance(result, torch.Tensor) and result.device.type == "cpu":
            self.copies_to_cpu.append(str(function))
        return result


def layer_of_steps(sizes, points, with_residual):
    """The launches of a layer's forward and backward, by the steps themselves, and all that ATen did beside."""
    launches = []
    with FakeTensorMode(), Calls() as calls, launch.launches_by(lambda _: lambda kernel, *others: launches.append(kernel.__name__)), \
            mock.patch.object(steps, "has_kernels", lambda device: True), mock.patch.object(launch, "on_device", lambda device: mock.MagicMock()):
        new = lambda *shape, dtype=torch.bfloat16: torch.empty(shape, dtype=dtype, device="cuda")
        x, residual, numbers = new(*sizes), new(*sizes) if with_residual else None, new(points, dtype=torch.long)
        channels = [new(sizes[1], dtype=torch.float32) for _ in range(4)]
        rows, counts = [0, sizes[0]], [points]
        calls.names.clear()
        moments, sample = steps.STEPS["moments"]([x], numbers, rows, counts, 0)
        statistics = steps.STEPS["statistics"](moments, [1.0], *channels[:2], 1e-5, *channels[2:], new(dtype=torch.long), 0.1, False)
        y, mask = steps.STEPS["apply"]([x], residual, statistics, rows, "relu", with_residual)
        forward = len(launches)
        dx, sums, _ = steps.STEPS["backward"](y, [x], mask if with_residual else None, statistics, None, rows, "relu", False, True)
        *_, correction = steps.STEPS["gradients"](sums, sums, statistics, [1.0])
        steps.STEPS["correct"](dx, [x], sample, statistics, correction, numbers, rows, counts)
    return forward, len(launches) - forward, calls


@pytest.mark.parametrize("with_residual", [False, True])
def test_a_layer_has_three_launches_forward_and_three_backward_and_waits_for_nothing(with_residual):
    forward, backward, calls = layer_of_steps((8, 16, 14, 14), 98, with_residual)
    assert (forward, backward) == (3, 3)
    assert [name for name in calls.names if not name.startswith(NO_LAUNCHES)] == []
    assert calls.copies_to_cpu == []


@pytest.mark.parametrize("spec", ["LS-1/4;least=1", "BN", "FS-1/4+VDN-2/8", "LS-1/2;stat_batch=4;least=1"])
def test_the_driver_waits_for_nothing(spec):
    key = torch.tensor([1, 2, 3, 4])
    by_driver = torch._C.DispatchKey.CompositeExplicitAutograd
    with FakeTensorMode(allow_non_fake_inputs=True), Calls() as calls:
        x = torch.empty(8, 16, 14, 14, device="cuda")
        weight, bias, mean, var = (torch.empty(16, device="cuda") for _ in range(4))
        batches = torch.empty((), dtype=torch.long, device="cuda")
        y, statistics, sample, mask = ops.sampled_batch_norm.default._op_dk(
            by_driver, [x], weight, bias, x, spec, key, 1e-5, "relu", False, "", 0, 1, True, mean, var, batches, 0.1, False)
        ops.sampled_batch_norm_backward.default._op_dk(by_driver, y, [x], weight, bias, statistics, sample, mask, spec, key, "relu")
    assert "samplenorm.moments.default" in calls.names and "samplenorm.backward.default" in calls.names, calls.names
    assert [name for name in calls.names if name.split(".")[0] in WAITS] == [] and calls.copies_to_cpu == []


def test_a_sample_cannot_be_captured_by_a_cuda_graph():
    for is_capturing in (True, False):
        with FakeTensorMode(), mock.patch.object(capture, "_HAS_CUDA", True), \
                mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: is_capturing):
            drawn, none = (torch.empty(count, dtype=torch.long, device="cuda") for count in (3, 0))
            capture.refuse_capture(none)
            with pytest.raises(RuntimeError, match="must not capture a layer that draws") if is_capturing else contextlib.nullcontext():
                capture.refuse_capture(drawn)


@pytest.mark.parametrize("moments", [steps.STEPS["moments"], aten.moments])
def test_both_ways_to_find_moments_refuse_a_capture(moments):
    with FakeTensorMode(), mock.patch.object(capture, "_HAS_CUDA", True), \
            mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: True):
        x, points = torch.empty(2, 3, device="cuda"), torch.empty(1, dtype=torch.long, device="cuda")
        with pytest.raises(RuntimeError, match="must not capture a layer that draws"):
            moments([x], points, [0, 2], [1], 1)


def test_torch_compile_leaves_the_layers_out_of_cuda_graphs():
    """mode="reduce-overhead" captures what lies between operators with this tag."""
    for operator in (ops.sampled_batch_norm.default, ops.sampled_batch_norm_backward.default):
        assert torch.Tag.cudagraph_unsafe in operator.tags
