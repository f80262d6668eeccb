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
    return sn.convert(model, spec)


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
    eager, compiled = sn.fuse(network("LS-1/4;least=1")), sn.fuse(network("LS-1/4;least=1"))
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


@pytest.mark.parametrize("prepare", [lambda model: model, sn.fuse], ids=["converted", "fused"])
def test_onnx_gets_evaluation_and_computes_the_same(prepare):
    model, x = prepare(network("LS-1/4;least=1")), torch.randn(4, 3, 9, 9)
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


def test_a_model_on_another_device_can_be_traced():
    """There is no such device here: tracing alone, with tensors that have no values."""
    with torch._subclasses.fake_tensor.FakeTensorMode():
        x, weight, bias = (torch.empty(*sizes, device="cuda") for sizes in ((8, 3, 6, 6), (3,), (3,)))
        key = torch.empty(4, dtype=torch.long, device="cuda")
        y, mean, *_ = torch.ops.samplenorm.sampled_batch_norm([x], weight, bias, None, "LS-1/4;least=1", key, 1e-5, True)
        assert y.device == mean.device == torch.device("cuda", 0) and y.shape == x.shape


@pytest.mark.parametrize("spec", SPECS)
def test_every_operator_passes_torchs_operator_check(spec):
    ops = torch.ops.samplenorm
    key = torch.tensor([7, 3, 2, 5])
    x = torch.randn(8, 3, 4, 3, requires_grad=True)
    weight, bias = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    torch.library.opcheck(ops.sampled_batch_norm.default, ([x], weight, bias, None, spec, key, 1e-5, True))
    residual = torch.randn(8, 3, 4, 3, requires_grad=True)
    torch.library.opcheck(ops.sampled_batch_norm.default, ([x], weight, bias, residual, spec, key, 1e-5, True))
    with torch.no_grad():
        _, mean, rstd, _, group_mean, sampled, _ = ops.sampled_batch_norm([x], weight, bias, None, spec, key, 1e-5, True)
        torch.library.opcheck(ops.sampled_batch_norm_backward.default,
                              (x.detach(), [x.detach()], weight.detach(), bias.detach(), mean, rstd, group_mean, sampled, None, spec, key, True))


def test_the_smaller_operators_pass_torchs_operator_check():
    ops = torch.ops.samplenorm
    key = torch.tensor([7, 3, 2, 5])
    torch.library.opcheck(ops.update_running_statistics_.default,
                          (torch.zeros(3), torch.ones(3), torch.tensor(0), torch.randn(2, 3), torch.rand(2, 3), None, True))
    mean, std = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    torch.library.opcheck(ops.virtual_rows.default, ([2, 3, 8, 8], mean, std, None, key, 0))
    root = ops.root_of_spectrum(torch.eye(3, dtype=torch.complex128).expand(8, 8, 3, 3))
    torch.library.opcheck(ops.virtual_rows.default, ([2, 3, 8, 8], mean, std, root, key, 0))
    torch.library.opcheck(ops.statistics_of_batches.default, (torch.randn(4, 3), torch.rand(4, 3)))
    torch.library.opcheck(ops.root_of_spectrum.default, (torch.eye(3, dtype=torch.complex128).expand(8, 8, 3, 3),))
