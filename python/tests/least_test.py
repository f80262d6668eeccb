"""`least`: samples have so many points where the layer has them, and what BatchNorm accepts is accepted."""

import itertools

import pytest
import torch
from outside_models import import_timm
from torch import nn

import samplenorm as sn
from plain_formula import plain_formula

METHODS = ["NS-1/8", "BS-1/2", "FS-1/4", "LS-1/6", "LS-1/64", "FRS-1/5", "FRS-1/1", "NS-1/4+VDN-1/8", "BS-1/4+VDN-2/8", "LS-1/4+VDN-1/8"]
SHAPES = [(1, 3, 9), (2, 3), (7, 3), (5, 3, 11), (1, 3, 3, 5), (4, 3, 5, 7), (7, 3, 3, 3), (2, 3, 1, 1), (3, 3, 2, 3, 5), (9, 3, 1, 2, 2)]
LEAST = [1, 2, 7, 64, 1024]
STAT_BATCH = ["", ";stat_batch=2", ";stat_batch=3", ";stat_batch=4"]


def assert_same_as_the_formula(layer, x):
    leaves = [x.requires_grad_(), layer.weight, layer.bias]
    expected, y = plain_formula(layer, x), layer(x)
    torch.testing.assert_close(y, expected)
    for actual, wanted in zip(torch.autograd.grad((y * x.detach().sin()).sum(), leaves),
                              torch.autograd.grad((expected * x.detach().sin()).sum(), leaves)):
        torch.testing.assert_close(actual, wanted)


def layer_of(spec, channels=3):
    torch.manual_seed(1)
    layer = sn.BatchNorm(channels, dtype=torch.float64, spec=spec)
    nn.init.uniform_(layer.weight, 0.5, 2)
    nn.init.uniform_(layer.bias, -1, 1)
    sn.set_seed(layer, 0)  # which of a lattice's offsets it gets must not depend on the layers made before
    layer.gets_virtual_rows = True  # they need not be of a VirtualBatch here
    return layer


def is_accepted(spec, shape):
    try:
        layer_of(spec)(torch.randn(shape, dtype=torch.float64))
        return True
    except ValueError as error:
        assert "Expected more than 1 value per channel when training" in str(error)
        return False


@pytest.mark.filterwarnings("ignore:.*So few points")
@pytest.mark.parametrize("stat_batch", STAT_BATCH)
@pytest.mark.parametrize("method", METHODS)
def test_odd_shapes_and_remainders_equal_the_plain_formula(method, stat_batch):
    for (rows, *rest), least, memory_format in itertools.product(SHAPES, LEAST, (torch.contiguous_format, torch.channels_last)):
        layer = layer_of(f"{method};least={least}{stat_batch}")
        chunks = -(-rows // layer.stat_batch) if layer.stat_batch else 1
        shape = (rows + chunks * layer.virtual_rows, *rest)
        # With virtual rows a single real row has others beside it.
        accepted = layer.virtual_rows > 0 or is_accepted(f"BN{stat_batch}", shape)
        if not accepted:
            assert not is_accepted(layer.spec, shape)
        if least > 1 and accepted or is_accepted(layer.spec, shape):
            x = 2 * torch.randn(shape, dtype=torch.float64) + 1
            if len(shape) == 4:
                x = x.contiguous(memory_format=memory_format)
            try:
                assert_same_as_the_formula(layer, x)
            except Exception as error:
                raise AssertionError(f"{layer.spec} on {shape}") from error


def test_a_remainder_that_is_taken_whole_equals_the_plain_formula():
    assert_same_as_the_formula(layer_of("BS-1/2;stat_batch=3", 64), torch.randn(4, 64, 32, 32, dtype=torch.float64))


@pytest.mark.parametrize("spec", ["FRS-1/1", "LS-1/1", "FS-1/1", "BS-1/1", "NS-1/1", "LS-1/64"])
def test_all_points_equal_torchs_layer(spec):
    ours, torchs = sn.BatchNorm2d(64, spec=spec), nn.BatchNorm2d(64)
    x = torch.randn(4, 64, 15, 15)
    results = []
    for layer in (ours, torchs):
        leaf = x.clone().requires_grad_()
        y = layer(leaf)
        results.append([y, *torch.autograd.grad((y * x.cos()).sum(), [leaf, *layer.parameters()])])
    for actual, expected in zip(*results):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*So few points")
@pytest.mark.parametrize("spec", ["NS-1/128", "BS-1/128", "FS-1/64", "LS-1/64", "FRS-1/1000"])
def test_two_values_a_channel_are_enough_and_one_gets_torchs_complaint(spec):
    for shape in ((2, 4, 1, 1), (1, 4, 1, 2)):
        assert sn.BatchNorm2d(4, spec=spec)(torch.randn(shape)).isfinite().all()
    for layer in (nn.BatchNorm2d(4), sn.BatchNorm2d(4, spec=spec)):
        with pytest.raises(ValueError, match=r"Expected more than 1 value per channel when training, got input size .*1, 4, 1, 1"):
            layer(torch.randn(1, 4, 1, 1))


def resnet18():
    torch.manual_seed(0)
    try:
        from torchvision.models import resnet18 as make
        return make()
    except (ImportError, RuntimeError):
        return import_timm().create_model("resnet18")


def gradient_norm(spec, batch):
    model = sn.convert(resnet18(), spec)
    x = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(3))[:batch]
    model.zero_grad()
    nn.functional.cross_entropy(model(x), torch.arange(batch)).backward()
    norms = [parameter.grad.norm() for parameter in model.parameters()]
    assert all(norm.isfinite() for norm in norms)
    return torch.stack(norms).norm().item()


def test_one_or_two_images_train_a_resnet_with_gradients_of_batch_norms_size():
    assert gradient_norm("LS-1/64", 1) > 0
    assert 1 / 1.5 < gradient_norm("LS-1/64", 2) / gradient_norm("BN", 2) < 1.5
