"""The layers under torch.compile, torch.export, torch.onnx and torch.func."""

import copy

import onnx.reference
import pytest
import torch
from torch import nn

import samplenorm as sn

SPECS = ["BN", "LS-1/4;least=1", "FS-1/4+VDN-2/8", "BS-2/8;redraw=step", "LS-1/4;stat_batch=4;least=1"]


def network(spec, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4, **options))
    sn.set_seed(sn.convert(model, spec), 0)
    return model


def train(model, forward, steps, sizes=(8,), epoch_length=2):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        if step % epoch_length == 0:
            sn.set_epoch(model, step // epoch_length)
        x = torch.randn(sizes[step % len(sizes)], 3, 9, 9, generator=generator)
        optimizer.zero_grad()
        forward(x).square().mean().backward()
        optimizer.step()
    return model.state_dict()


def assert_same_state(actual, expected, **tolerance):
    for name, value in expected.items():
        torch.testing.assert_close(actual[name], value, msg=lambda text: f"{name}: {text}", **tolerance)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("spec", SPECS)
def test_compiled_training_has_no_graph_break_and_trains_the_same(spec, momentum):
    torch.compiler.reset()
    eager, compiled = network(spec, momentum=momentum), network(spec, momentum=momentum)
    expected = train(eager, eager, 4)
    actual = train(compiled, torch.compile(compiled, fullgraph=True, backend="aot_eager"), 4)
    assert_same_state(actual, expected)


def test_inductor_trains_the_same():
    torch.compiler.reset()
    eager, compiled = network("LS-1/4;least=1"), network("LS-1/4;least=1")
    expected = train(eager, eager, 3)
    assert_same_state(train(compiled, torch.compile(compiled, fullgraph=True), 3), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", ["LS-1/64;least=1", "FS-1/64", "BS-2/8;redraw=step"])
def test_new_epochs_and_steps_need_no_new_compilation(spec):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    compilations = []

    def backend(graph, inputs):
        compilations.append(graph)
        return graph.forward

    model = network(spec)
    train(model, torch.compile(model, fullgraph=True, backend=backend), 12, epoch_length=1)
    assert len(compilations) == 1


def test_a_last_batch_of_another_size_and_dynamic_shapes_train_the_same():
    torch.compiler.reset()
    for dynamic in (None, True):
        eager, compiled = network("LS-1/4;least=1"), network("LS-1/4;least=1")
        expected = train(eager, eager, 6, sizes=(8, 8, 5))
        forward = torch.compile(compiled, fullgraph=True, backend="aot_eager", dynamic=dynamic)
        assert_same_state(train(compiled, forward, 6, sizes=(8, 8, 5)), expected)


def test_evaluation_is_exported_as_plain_batch_norm():
    model = network("LS-1/4;least=1").eval()
    x = torch.randn(2, 3, 9, 9)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},))
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert sum("batch_norm" in target for target in targets) == 2 and not any("samplenorm" in target for target in targets)
    torch.testing.assert_close(program.module()(torch.cat([x, x])), model(torch.cat([x, x])))


def test_onnx_gets_evaluation_and_computes_the_same():
    model, x = network("LS-1/4;least=1"), torch.randn(4, 3, 9, 9)
    model(x)
    program = torch.onnx.export(model.eval(), (x,), dynamo=True, verbose=False).model_proto
    assert {node.domain for node in program.graph.node} == {""}  # operators of ONNX itself
    [y] = onnx.reference.ReferenceEvaluator(program).run(None, {program.graph.input[0].name: x.numpy()})
    torch.testing.assert_close(torch.from_numpy(y), model(x), rtol=1e-4, atol=1e-5)


def test_training_can_be_exported():
    model = network("LS-1/4;least=1")
    x = torch.randn(8, 3, 9, 9)
    program = torch.export.export(model, (x,))
    assert sum("sampled_batch_norm" in str(node.target) for node in program.graph.nodes) == 2
    torch.testing.assert_close(program.module()(x), copy.deepcopy(model)(x))


def test_torch_func_differentiates_and_maps_a_layer_without_running_statistics():
    layer = sn.BatchNorm2d(3, spec="LS-1/4;least=1", track_running_stats=False, dtype=torch.float64)
    x = torch.randn(4, 3, 4, 4, dtype=torch.float64)
    parameters = dict(layer.named_parameters())

    def loss(parameters, x):
        return (torch.func.functional_call(layer, parameters, (x,)) * x.cos()).sum()

    by_func = torch.func.grad(loss)(parameters, x)
    by_autograd = torch.autograd.grad(loss(parameters, x), list(parameters.values()))
    for actual, expected in zip(by_func.values(), by_autograd):
        torch.testing.assert_close(actual, expected)

    batches = torch.randn(5, 4, 3, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(torch.func.vmap(layer)(batches), torch.stack([layer(batch) for batch in batches]))
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, batches)
    torch.testing.assert_close(each["weight"][2], torch.func.grad(loss)(parameters, batches[2])["weight"])

    small = x[:, :, :2, :2]
    jacobian = torch.func.jacrev(layer)(small)
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(layer, small))


ON_DEVICE = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)


class Watch(torch.utils._python_dispatch.TorchDispatchMode):
    steps = ("moments", "statistics", "apply", "backward", "gradients", "correct")

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func), [arg.device.type for arg in args if isinstance(arg, torch.Tensor)], kwargs or {}))
        if func.namespace == "samplenorm" and func._opname in self.steps:
            with self:  # by the ATen calls that serve such a device, and not by shapes
                return func.redispatch(ON_DEVICE, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("residual", [False, True])
def test_a_layer_on_another_device_reads_nothing_back_and_its_key_stays_on_the_cpu(residual):
    """There is no such device here: tensors without values stand for it."""
    key = torch.tensor([1, 2, 3, 4])
    with torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True), Watch() as watch:
        x, weight, bias = (torch.empty(*sizes, device="cuda") for sizes in ((8, 3, 6, 6), (3,), (3,)))
        added = torch.empty(8, 3, 6, 6, device="cuda") if residual else None
        ops, spec = torch.ops.samplenorm, "LS-1/4;least=1"
        y, statistics, sample, mask = ops.sampled_batch_norm([x], weight, bias, added, spec, key, 1e-5, "relu", keep=True)
        assert y.device == statistics.device == torch.device("cuda", 0) and y.shape == x.shape
        [dx], dweight, *_ = ops.sampled_batch_norm_backward(y, [x], weight, bias, statistics, sample, mask, spec, key, "relu")
        assert dx.shape == x.shape and dweight.device.type == "cuda"
    for name, devices, options in watch.calls:
        assert "_local_scalar_dense" not in name and "item" not in name
        assert not ("_to_copy" in name and str(options.get("device")) == "cpu" and "cuda" in devices), name


def test_the_steps_in_aten_calls_read_nothing_back():
    """The driver itself, step by step, as a device without kernels of its own runs it."""
    key = torch.tensor([1, 2, 3, 4])
    for spec in SPECS:
        with torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True), Watch() as watch:
            x, weight, bias, residual = (torch.empty(*sizes, device="cuda") for sizes in ((8, 3, 6, 6), (3,), (3,), (8, 3, 6, 6)))
            forward, backward = torch.ops.samplenorm.sampled_batch_norm.default, torch.ops.samplenorm.sampled_batch_norm_backward.default
            _, statistics, sample, mask = forward.redispatch(ON_DEVICE, [x], weight, bias, residual, spec, key, 1e-5, "relu", keep=True)
            backward.redispatch(ON_DEVICE, x, [x], weight, bias, statistics, sample, mask, spec, key, "relu")
        names = " ".join(name for name, *_ in watch.calls)
        assert "_local_scalar_dense" not in names and "item" not in names.split()
        assert all(f"samplenorm.{step}" in names for step in Watch.steps[:5]) and "aten.rsqrt" in names and "aten.relu" not in names
        for name, devices, options in watch.calls:
            assert not (("_to_copy" in name or "copy_" in name) and str(options.get("device")) == "cpu" and "cuda" in devices), name


@pytest.mark.parametrize("spec", SPECS)
def test_one_graph_serves_many_input_sizes(spec):
    torch.compiler.reset()
    compilations = []

    def backend(graph, inputs):
        compilations.append(graph)
        return graph.forward

    eager, compiled = network(spec), network(spec)
    forward = torch.compile(compiled, fullgraph=True, backend=backend, dynamic=True)
    sizes = [8, 12, 16, 10, 14, 20, 6, 18, 22, 24, 26]
    assert_same_state(train(compiled, forward, 11, sizes=sizes), train(eager, eager, 11, sizes=sizes))
    assert len(compilations) <= 2


def test_the_backend_fuses_what_follows_a_norm_and_trains_the_same():
    import samplenorm.compiled

    class Net(nn.Module):
        def __init__(self, in_place):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.conv3, self.bn3 = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
            self.bn4, self.conv4, self.bn5 = nn.BatchNorm2d(8), nn.Conv2d(8, 4, 1), nn.BatchNorm2d(4)
            self.relu, self.in_place = nn.ReLU(in_place), in_place

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            short = self.bn3(self.conv3(x))
            if self.in_place:
                y += short
            else:
                y = short + y
            y = self.relu(y)
            z = nn.functional.silu(self.bn4(torch.cat([y, short], 1)))
            z = self.bn5(self.conv4(z))
            return torch.relu(z) + z

    for in_place in (False, True):
        torch.compiler.reset()
        graphs = []

        def backend(graph, inputs):
            graphs.append(samplenorm.compiled.fused(graph))
            return graphs[-1].forward

        torch.manual_seed(0)
        original = Net(in_place)
        eager, compiled, inductor = (sn.convert(copy.deepcopy(original), "LS-1/4;least=1") for _ in range(3))
        for model in (eager, compiled, inductor):
            sn.set_seed(model, 0)
        expected = train(eager, eager, 3)
        assert_same_state(train(compiled, torch.compile(compiled, fullgraph=True, backend=backend), 3), expected)
        calls = [node.args for node in graphs[0].graph.nodes if "sampled_batch_norm" in str(node.target)]
        found = sorted((len(args[0]), args[3] is not None, args[7]) for args in calls)
        assert found == [(1, False, "identity"), (1, False, "identity"), (1, False, "relu"), (1, True, "relu"), (2, False, "silu")]
        assert_same_state(train(inductor, torch.compile(inductor, backend="samplenorm"), 3), expected, rtol=1e-4, atol=1e-5)


class Passed(nn.Module):
    """A model whose forward is a function of itself and x."""

    def __init__(self, function):
        super().__init__()
        self.c1, self.c2, self.bn, self.wide = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.BatchNorm2d(6)
        self.function = function

    def forward(self, x):
        return self.function(self, x)


def concatenated_without_gradients(m, x):
    with torch.no_grad():
        z = torch.cat([m.c1(x), m.c2(x)], 1)
    return torch.relu(m.wide(z))


def overwrites(write):
    def function(m, x):
        c = m.c1(x)
        with torch.no_grad():
            y = m.bn(c.detach())
            write(c)
        return y + c

    return function


def shared(m, x):
    a = m.bn(x)
    b = m.bn(x.exp())
    return torch.relu(a + b)


def reads_the_running_mean(m, x):
    y = m.bn(m.c1(x))
    s = x * m.bn.running_mean.view(1, -1, 1, 1)
    return torch.relu(y + s)


def writes_a_part(m, x):
    a, b = m.c1(x).detach(), m.c2(x).detach()
    z = torch.cat([a, b], 1)
    a.mul_(2)
    return m.wide(z)


@pytest.mark.parametrize("function", [concatenated_without_gradients, overwrites(lambda c: c.relu_()), overwrites(lambda c: c.mul_(2)),
                                      overwrites(lambda c: torch.ops.aten.mul_.Scalar(c, 2)), shared, reads_the_running_mean, writes_a_part])
def test_the_backend_fuses_nothing_that_would_change_the_result(function):
    import samplenorm.compiled

    torch.compiler.reset()
    torch.manual_seed(0)
    original, x = Passed(function), torch.randn(8, 3, 6, 6)
    eager, compiled = (sn.convert(copy.deepcopy(original), "LS-1/4;least=1", fuse=False) for _ in range(2))
    sn.set_seed(eager, 0), sn.set_seed(compiled, 0)
    forward = torch.compile(compiled, backend=lambda graph, inputs: samplenorm.compiled.fused(graph).forward)
    for model, call in ((eager, eager), (compiled, forward)):
        for _ in range(2):
            y = call(x)
        y.square().sum().backward()
    torch.testing.assert_close(call(x), eager(x))
    assert_same_state(compiled.state_dict(), eager.state_dict())
    for (name, a), b in zip(compiled.named_parameters(), eager.parameters()):
        assert (a.grad is None) == (b.grad is None), name
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad)


def test_a_compiled_part_takes_what_an_eager_layer_gives():
    torch.compiler.reset()
    eager, mixed = network("LS-1/4;least=1"), network("LS-1/4;least=1")
    mixed[3] = torch.compile(mixed[3], backend="aot_eager")
    mixed[2] = nn.Identity()
    eager[2] = nn.Identity()
    x = torch.randn(8, 3, 9, 9)
    torch.testing.assert_close(mixed(x), eager(x))


@pytest.mark.parametrize("spec", SPECS)
def test_every_operator_passes_torchs_operator_check(spec):
    ops = torch.ops.samplenorm
    key = torch.tensor([7, 3, 2, 5])
    x = torch.randn(8, 3, 4, 3, requires_grad=True)
    weight, bias = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    torch.library.opcheck(ops.sampled_batch_norm.default, ([x], weight, bias, None, spec, key, 1e-5, "silu"))
    residual = torch.randn(8, 3, 4, 3, requires_grad=True)
    torch.library.opcheck(ops.sampled_batch_norm.default, ([x], weight, bias, residual, spec, key, 1e-5, "relu"))
    running = (torch.zeros(3), torch.ones(3), torch.tensor(0), None, True)
    torch.library.opcheck(ops.sampled_batch_norm.default,
                          ([x], weight, bias, residual, spec, key, 1e-5, "relu", False, "", 0, 1, False, *running))
    with torch.no_grad():
        _, statistics, sample, _ = ops.sampled_batch_norm([x], weight, bias, None, spec, key, 1e-5, "relu", keep=True)
        torch.library.opcheck(ops.sampled_batch_norm_backward.default,
                              (x.detach(), [x.detach()], weight.detach(), bias.detach(), statistics, sample, None, spec, key, "relu"))


def test_the_smaller_operators_pass_torchs_operator_check():
    ops = torch.ops.samplenorm
    key = torch.tensor([7, 3, 2, 5])
    mean, std = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    torch.library.opcheck(ops.virtual_rows.default, ([2, 3, 8, 8], mean, std, None, key, 0))
    root = ops.root_of_spectrum(torch.eye(3, dtype=torch.complex128).expand(8, 8, 3, 3))
    torch.library.opcheck(ops.virtual_rows.default, ([2, 3, 8, 8], mean, std, root, key, 0))
    torch.library.opcheck(ops.statistics_of_batches.default, (torch.randn(4, 3), torch.rand(4, 3)))
    torch.library.opcheck(ops.root_of_spectrum.default, (torch.eye(3, dtype=torch.complex128).expand(8, 8, 3, 3),))


def test_a_compiled_training_forward_in_inference_mode_does_not_disturb_training_that_is_not_compiled():
    """Dynamo cannot ask whether inference mode is on: the compiled model itself cannot go on training after such a forward."""
    model = sn.convert(nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()), "FS-1/4;redraw=step")
    compiled, x = torch.compile(model, backend="aot_eager"), torch.randn(6, 4, 8, 8)
    with torch.inference_mode():
        compiled(x)
    model(x).sum().backward()
    compiled(x).sum().backward()
    assert model[0].num_batches_tracked == 3 and not model[0].draw_key.is_inference()
