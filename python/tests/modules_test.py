"""The layers: what torch's BatchNorm does with everything, the plain formula with a sample, and what users do with modules."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import samplenorm as sn
from plain_formula import plain_formula

SHAPES = {sn.BatchNorm1d: (6, 4, 5), sn.BatchNorm2d: (6, 4, 5, 7), sn.BatchNorm3d: (6, 4, 3, 5, 4)}
SPECS = ["BN", "NS-2/6", "BS-2/6", "FS-1/4", "LS-1/4;least=1", "FRS-1/3", "FS-1/4+VDN-2/6", "LS-1/4;stat_batch=3;least=1", "LS-1/4+VDN-1/6;stat_batch=2;least=1"]


def twin_of(ours):
    return {sn.BatchNorm1d: nn.BatchNorm1d, sn.BatchNorm2d: nn.BatchNorm2d, sn.BatchNorm3d: nn.BatchNorm3d}[ours]


def values(*sizes, seed=0):
    return 2 * torch.randn(*sizes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1


OPTIONS = [{}, {"eps": 1e-3, "momentum": 0.3}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}, {"bias": False}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", SHAPES)
def test_bn_equals_torchs_layer_in_outputs_gradients_and_running_statistics(kind, options):
    ours = kind(4, dtype=torch.float64, spec="BN", **options)
    torchs = twin_of(kind)(4, dtype=torch.float64, **options)
    for step in range(3):
        x = values(*SHAPES[kind], seed=step)
        results = []
        for layer in (ours, torchs):
            leaf = x.clone().requires_grad_()
            y = layer(leaf)
            results.append((y, *torch.autograd.grad((y * x.cos()).sum(), [leaf, *layer.parameters()])))
        for actual, expected in zip(*results):
            torch.testing.assert_close(actual, expected)
    assert list(ours.state_dict()) == list(torchs.state_dict())
    for name, value in torchs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value)
    torchs.load_state_dict(ours.state_dict())
    assert torch.equal(ours.eval()(x), torchs.eval()(x))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", SHAPES)
def test_outputs_and_gradients_are_those_of_the_plain_formula_on_the_groups_of_sample(kind, spec):
    layer = kind(4, dtype=torch.float64, spec=spec)
    nn.init.uniform_(layer.weight, 0.5, 2)
    nn.init.uniform_(layer.bias, -1, 1)
    x = values(*SHAPES[kind]).requires_grad_()
    expected = plain_formula(layer, x)
    y = layer(x)
    torch.testing.assert_close(y, expected)
    leaves = [x, layer.weight, layer.bias]
    for actual, wanted in zip(torch.autograd.grad((y * x.detach().sin()).sum(), leaves),
                              torch.autograd.grad((expected * x.detach().sin()).sum(), leaves)):
        torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("spec", ["BN", "FS-1/4", "LS-1/4+VDN-2/6;least=1"])
def test_gradients_pass_torchs_numerical_check(spec):
    layer = sn.BatchNorm2d(2, dtype=torch.float64, spec=spec, track_running_stats=False)
    sn.set_epoch(layer, 0)  # not to be drawn anew in the middle of it
    x, residual = values(6, 2, 3, 4).requires_grad_(), values(6, 2, 3, 4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, residual: layer(x, residual, activation="relu"), (x, residual))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape, dtype", [((6, 4, 5, 7), torch.float64), ((1, 4, 1, 1), torch.float64), ((6, 4, 5, 7), torch.float32)])
def test_residual_and_relu_are_added_also_where_they_cannot_be_fused(training, shape, dtype):
    fused, plain = (sn.BatchNorm2d(4, dtype=torch.float64, spec="LS-1/4;least=1", activation=activation).train(training) for activation in ("relu", "identity"))
    sn.set_seed(fused, 0), sn.set_seed(plain, 0)
    x, residual = values(6, 4, 5, 7), values(*shape).to(dtype)
    torch.testing.assert_close(fused(x, residual), torch.relu(plain(x) + residual))


def test_a_residual_of_another_shape_gets_its_gradient():
    layer, shift = sn.BatchNorm2d(4, spec="LS-1/4;least=1"), torch.zeros(1, 4, 1, 1, requires_grad=True)
    layer(torch.randn(6, 4, 5, 7), shift, activation="relu").sum().backward()
    assert shift.grad.abs().sum() > 0


def test_samples_depend_on_seed_layer_and_epoch_and_on_nothing_else():
    model = nn.Sequential(sn.BatchNorm2d(4, spec="FS-1/64"), sn.BatchNorm2d(4, spec="FS-1/64"))
    shape = (8, 4, 64, 64)
    draws = {}
    for seed in (0, 1):
        sn.set_seed(model, seed)
        for epoch in (0, 1):
            sn.set_epoch(model, epoch)
            for layer in (0, 1):
                draws[seed, epoch, layer] = model[layer].sample(shape)
    assert all(draws[a] != draws[b] for a in draws for b in draws if a != b)
    other = copy.deepcopy(model)
    other(torch.randn(shape))
    assert other[0].sample(shape) == model[0].sample(shape)
    sn.set_seed(other, 0), sn.set_epoch(other, 1)
    assert other[1].sample(shape) == draws[0, 1, 1]


def test_redraw_step_draws_at_every_training_forward_and_can_be_resumed():
    layer = sn.BatchNorm2d(4, spec="FS-1/64;redraw=step")
    x = torch.randn(4, 4, 64, 64)
    draws = []
    for _ in range(3):
        draws.append(layer.sample(x.shape))
        layer(x)
    assert draws[0] != draws[1] != draws[2]
    layer.eval()(x)
    sn.set_step(layer, 1)
    assert layer.sample(x.shape) == draws[1]


def test_decay_and_first_of_the_notation_go_before_momentum():
    layer, x = sn.BatchNorm2d(4, spec="BN;decay=0.7;first=batch", momentum=0.1), torch.randn(8, 4, 5, 5)
    layer(x)
    torch.testing.assert_close(layer.running_mean, x.mean((0, 2, 3)))
    layer(x + 1)
    torch.testing.assert_close(layer.running_mean, x.mean((0, 2, 3)) + 0.7)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("spec", ["LS-1/4;least=1", "FS-1/4;redraw=step"])
def test_activation_checkpointing_gives_the_same_gradients_and_counts_a_batch_once(spec, reentrant):
    layer, x = sn.BatchNorm2d(4, spec=spec), torch.randn(6, 4, 8, 8)
    twin = copy.deepcopy(layer)
    for _ in range(2):
        leaves = [x.clone().requires_grad_() for _ in range(2)]
        (layer(leaves[0]) * x.sin()).sum().backward()
        (checkpoint(twin, leaves[1], use_reentrant=reentrant) * x.sin()).sum().backward()
        assert torch.equal(leaves[0].grad, leaves[1].grad)
    for name, value in layer.state_dict().items():
        assert torch.equal(twin.state_dict()[name], value), name


def test_an_empty_batch_gives_empty_outputs_and_leaves_the_running_statistics_alone():
    layer = sn.BatchNorm2d(4)
    x = torch.empty(0, 4, 5, 5, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.shape == x.shape and layer.weight.grad.eq(0).all()
    assert layer.running_mean.eq(0).all() and layer.num_batches_tracked == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bit_activations_keep_statistics_and_parameters_in_float32(dtype):
    layer, x = sn.BatchNorm2d(8, spec="LS-1/4;least=1"), torch.randn(8, 8, 8, 8)
    full = copy.deepcopy(layer)
    y = layer(x.to(dtype).requires_grad_())
    y.sum().backward()
    assert y.dtype == dtype and layer.weight.grad.dtype == layer.running_mean.dtype == torch.float32
    torch.testing.assert_close(y.float(), full(x.to(dtype).float()), rtol=0.02, atol=0.02)


def test_autocast_trains_a_network():
    model = sn.convert(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2)), "LS-1/4;least=1")
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    x, labels = torch.randn(16, 3, 8, 8), torch.arange(16) % 2
    losses = []
    for _ in range(20):
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_layers_can_be_copied_pickled_and_saved():
    layer = sn.BatchNorm2d(4, spec="FS-1/4;decay=0.5", activation="relu")
    sn.set_seed(layer, 5), sn.set_epoch(layer, 3)
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    x = torch.randn(6, 4, 8, 8)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), torch.load(file, weights_only=False)):
        assert repr(twin) == repr(layer) and torch.equal(twin(x), copy.deepcopy(layer)(x))


def test_the_lean_mode_gives_the_same_gradients():
    x, kernel = torch.randn(8, 4, 16, 16).double(), torch.ones(1, 4, 1, 1, dtype=torch.float64, requires_grad=True)
    gradients = []
    for lean in (False, True):
        layer, leaf = sn.BatchNorm2d(4, activation="relu", spec="LS-1/64;least=1", lean=lean, dtype=torch.float64), x.clone().requires_grad_()
        sn.set_seed(layer, 0)
        z = nn.functional.conv2d(layer(leaf), kernel)
        gradients += torch.autograd.grad((z * x).sum(), [leaf, layer.weight])
    torch.testing.assert_close(gradients[2:], gradients[:2])


@pytest.mark.parametrize("kind", SHAPES)
def test_layers_are_instances_of_torchs_class(kind):
    """As code asks that leaves norms out of weight decay, or gives them their first weights."""
    layer = kind(4)
    assert isinstance(layer, twin_of(kind)) and isinstance(layer, nn.modules.batchnorm._BatchNorm)


def test_what_a_layer_is_can_be_read():
    assert repr(sn.BatchNorm1d(3, activation="relu")) == ("SampledBatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, "
                                                  "track_running_stats=True, spec='LS-1/64', activation='relu')")


def test_wrong_use_gets_one_clear_sentence_and_the_usual_exception():
    with pytest.raises(ValueError, match=r"unknown method 'FX', expected one of .*\n  FX-1/64\n  \^"):
        sn.BatchNorm2d(4, spec="FX-1/64")
    with pytest.raises(TypeError, match="expected a notation such as 'LS-1/64', got 64"):
        sn.BatchNorm2d(4, spec=64)
    with pytest.raises(ValueError, match=r"expected 4D input \(got 3D input\)"):
        sn.BatchNorm2d(4)(torch.randn(2, 4, 5))
    with pytest.raises(ValueError, match=r"Expected more than 1 value per channel when training, got input size \[1, 4, 8, 8\] of which"):
        sn.BatchNorm2d(4, spec="FS-1/64;least=1")(torch.randn(1, 4, 8, 8))
    with pytest.raises(ValueError, match="real rows behind the 2 virtual rows"):
        sn.BatchNorm2d(4, spec="VDN-2/128")(torch.randn(2, 4, 8, 8))
    with pytest.raises(RuntimeError, match=r"expected a weight of size \[5\]"):
        sn.BatchNorm2d(4)(torch.randn(2, 5, 8, 8))
    with pytest.raises(ValueError, match="expected epoch from 0"):
        sn.set_epoch(sn.BatchNorm2d(4), -1)
    with pytest.raises(TypeError, match="expected epoch as a whole number, got 1.5"):
        sn.set_epoch(sn.BatchNorm2d(4), 1.5)
    with pytest.raises(ValueError, match="samplenorm.set_epoch: expected a model with layers of samplenorm, got none"):
        sn.set_epoch(nn.BatchNorm2d(4), 3)
    with pytest.raises(TypeError, match="expected eps as a number, got 'LS-1/4'; the notation is an argument by name"):
        sn.BatchNorm2d(3, "LS-1/4")
    with pytest.raises(ValueError, match="expected an activation.*got \"swish\""):
        sn.BatchNorm2d(3, activation="swish")
    with pytest.raises(ValueError, match="as one of the modules Identity, ReLU, .* got Tanh"):
        sn.BatchNorm2d(3, activation=nn.Tanh())


def test_a_new_notation_takes_whole_effect():
    layer = sn.BatchNorm2d(4, spec="FS-1/4")
    layer.spec = "FS-1/4+VDN-2/8;decay=0.5;stat_batch=4;redraw=step"
    assert (layer.virtual_rows, layer.stat_batch) == (2, 4) and "FS-1/4+VDN-2/8" in repr(layer)
    with pytest.raises(ValueError, match="unknown method"):
        layer.spec = "FX-1/4"
    assert layer.spec.startswith("FS-1/4+VDN-2/8")


def test_a_layer_that_was_never_told_an_epoch_draws_anew_by_its_own_count_and_so_does_a_resumed_one():
    def draws(layer, steps):
        found = []
        for _ in range(steps):
            found.append(layer.sample((4, 4, 16, 16)))
            layer(torch.randn(4, 4, 16, 16))
        return found

    layer = sn.BatchNorm2d(4, spec="FS-1/64")
    sn.set_step(layer, 498)
    before, same, after = draws(layer, 3)
    assert before == same != after
    resumed = sn.BatchNorm2d(4, spec="FS-1/64")
    sn.set_seed(resumed, 0), sn.set_seed(layer, 0)
    layer.num_batches_tracked.fill_(501)  # as it would have counted from the first step
    resumed.load_state_dict(layer.state_dict())
    assert draws(resumed, 2) == draws(layer, 2)
    sn.set_epoch(layer, 0)
    sn.set_step(layer, 499)
    assert draws(layer, 2) == [layer.sample((4, 4, 16, 16))] * 2


def test_parts_that_are_made_apart_draw_apart_and_models_of_one_seed_alike():
    parts = [sn.convert(nn.Sequential(nn.BatchNorm2d(4)), "FS-1/64") for _ in range(2)]
    shape = (4, 4, 64, 64)
    assert parts[0][0].sample(shape) != parts[1][0].sample(shape)
    for part in parts:
        sn.set_seed(part, 0)
    assert parts[0][0].sample(shape) == parts[1][0].sample(shape)


@pytest.mark.parametrize("spec", ["LS-1/4", "LS-1/4;decay=0.7"])
def test_update_bn_gives_the_mean_over_all_batches(spec):
    model = sn.convert(nn.Sequential(nn.BatchNorm2d(4)), spec)
    batches = [torch.randn(8, 4, 4, 4) + i for i in range(5)]
    torch.optim.swa_utils.update_bn(batches, model)
    torch.testing.assert_close(model[0].running_mean, torch.stack(batches).mean((0, 1, 3, 4)))


def test_the_notation_is_explained_in_python_too():
    text = sn.methods()
    assert all(name in text for name in ("LS-a/b", "FS-a/b", "VDN", "least=", "redraw=")) and repr(text) == text


def test_frozen_layers_keep_their_statistics_whatever_train_says():
    model = sn.convert(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), "LS-1/4;least=1")
    x = torch.randn(4, 3, 8, 8)
    model(x)
    expected, kept = model.eval()(x), copy.deepcopy(model.state_dict())
    assert sn.freeze(model, parameters=True) is model
    model.train()
    assert torch.equal(model(x), expected) and not model[1].weight.requires_grad
    for name, value in model.state_dict().items():
        assert torch.equal(value, kept[name])
    sn.unfreeze(model)
    assert model[1].training and model[1].weight.requires_grad
    model(x)
    assert not torch.equal(model[1].running_mean, kept["1.running_mean"])
    sn.freeze(model)
    model.eval()
    sn.unfreeze(model)
    assert not model[1].training
    model[1].bias.requires_grad_(False)
    sn.unfreeze(sn.freeze(model, parameters=True))
    assert model[1].weight.requires_grad and not model[1].bias.requires_grad
    with pytest.raises(ValueError, match="samplenorm.freeze: expected a model with layers of samplenorm"):
        sn.freeze(nn.Linear(2, 2))


@pytest.mark.parametrize("spec", ["BN", "FS-1/4;redraw=step"])
def test_what_is_done_in_inference_mode_does_not_disturb_training(spec):
    with torch.inference_mode():
        model = sn.convert(nn.Sequential(nn.BatchNorm2d(4)), spec)
        model.load_state_dict(nn.Sequential(nn.BatchNorm2d(4)).state_dict())
    model = sn.convert(nn.Sequential(nn.BatchNorm2d(4)), spec)
    x = torch.randn(6, 4, 8, 8)
    with torch.inference_mode():
        sn.set_epoch(model, 1)
        model(x)  # a training forward, which counts
    model(x).sum().backward()
    assert model[0].num_batches_tracked == 2 and not model[0].draw_key.is_inference()
