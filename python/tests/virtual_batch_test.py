"""Virtual rows, the data set's statistics they are drawn from, and recalibration."""

import warnings

import pytest
import torch
from torch import nn

import samplenorm as sn


class Spy(nn.Module):
    """Notes what it gets."""

    def forward(self, x):
        self.seen = x
        return {"rows": x * 2, "means": (x.mean((1, 2, 3)),)}


def test_virtual_rows_come_before_the_batch_and_are_taken_off_every_output():
    spy = Spy()
    model = sn.VirtualBatch(spy, mean=[1.0, 2.0, 3.0], std=[0.1, 0.2, 0.3], rows=50)
    x = torch.randn(4, 3, 16, 16)
    output = model(x)
    assert torch.equal(spy.seen[50:], x) and torch.equal(output["rows"], 2 * x) and torch.equal(output["means"][0], x.mean((1, 2, 3)))
    torch.testing.assert_close(spy.seen[:50].mean((0, 2, 3)), torch.tensor([1.0, 2.0, 3.0]), rtol=0, atol=0.02)
    torch.testing.assert_close(spy.seen[:50].std((0, 2, 3)), torch.tensor([0.1, 0.2, 0.3]), rtol=0.03, atol=0)
    first = spy.seen[:50]
    model(x)
    assert not torch.equal(spy.seen[:50], first)
    sn.set_step(model, 0)
    model(x)
    assert torch.equal(spy.seen[:50], first)
    assert torch.equal(model.eval()(x)["rows"], 2 * x) and torch.equal(spy.seen, x)


def test_the_format_of_the_batch_is_kept():
    spy = Spy()
    sn.VirtualBatch(spy, [0.0] * 3, [1.0] * 3, 2)(torch.randn(4, 3, 8, 8).contiguous(memory_format=torch.channels_last))
    assert spy.seen.is_contiguous(memory_format=torch.channels_last)


def test_the_layers_say_how_many_rows_and_each_statistic_batch_has_its_own():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    sn.convert(model, "FS-1/4+VDN-2/128;stat_batch=3", seed=4)
    virtual = sn.VirtualBatch(model, [0.0] * 3, [1.0] * 3)
    assert virtual.rows == 2 and virtual.stat_batch == 3 and virtual.draw_key[0] == 4
    x = torch.randn(8, 3, 8, 8)
    y = virtual(x)
    assert y.shape == (8, 4, 6, 6)
    # The chunks are independent of each other.
    sn.set_step(virtual, 0)
    changed = x.clone()
    changed[3:] = 0
    assert torch.equal(virtual(changed)[:3], y[:3]) and not torch.equal(virtual(changed)[3:], y[3:])


def test_virtual_rows_reach_the_gradients_of_the_weights():
    torch.manual_seed(0)
    model = sn.VirtualBatch(sn.convert(nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)), "VDN-2/128"), [0.0] * 3, [1.0] * 3)
    x = torch.randn(4, 3, 8, 8)
    model(x).square().sum().backward()
    gradient = model.model[0].weight.grad.clone()
    sn.set_step(model, 1)
    model.zero_grad()
    model(x).square().sum().backward()
    assert not torch.allclose(model.model[0].weight.grad, gradient)


def test_wrong_use_gets_one_clear_sentence():
    layer = sn.BatchNorm2d(3, spec="VDN-2/128")
    with pytest.raises(ValueError, match="expected rows=2, which the model's layers ask for, got 3"):
        sn.VirtualBatch(layer, [0.0] * 3, [1.0] * 3, 3)
    with pytest.raises(ValueError, match="say rows="):
        sn.VirtualBatch(nn.Conv2d(3, 3, 1), [0.0] * 3, [1.0] * 3)
    with pytest.raises(ValueError, match="expected a mean and a std of size"):
        sn.VirtualBatch(layer, [0.0] * 3, [1.0] * 2)
    with pytest.raises(ValueError, match="expected outputs with a row for each of the 6 inputs"):
        sn.VirtualBatch(nn.Sequential(nn.Flatten(0)), [0.0] * 3, [1.0] * 3, 2)(torch.randn(4, 3, 8, 8))


def test_layers_whose_virtual_rows_nobody_gives_warn_once():
    model, x = sn.convert(nn.Sequential(nn.BatchNorm2d(3)), "FS-1/4+VDN-2/128"), torch.randn(6, 3, 8, 8)
    with pytest.warns(UserWarning, match=r"takes the first 2 rows of a layer's input for virtual ones.* wrap the model in one"):
        model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(x)
        sn.VirtualBatch(sn.convert(nn.Sequential(nn.BatchNorm2d(3)), "FS-1/4+VDN-2/128"), [0.0] * 3, [1.0] * 3)(x)
        converted_later = sn.VirtualBatch(nn.Sequential(nn.BatchNorm2d(3)), [0.0] * 3, [1.0] * 3, 2)
        sn.convert(converted_later, "FS-1/4+VDN-2/128;stat_batch=3")(x)
    assert converted_later.stat_batch == 3
    with pytest.raises(ValueError, match="expected rows=4, which the model's layers ask for, got 2"):
        sn.convert(converted_later, "VDN-4/128")
    assert converted_later.model[0].virtual_rows == 2


def test_dataset_stats_are_those_of_all_images_at_once():
    images = 3 * torch.rand(30, 3, 8, 6, dtype=torch.float64) + torch.tensor([0.0, 1.0, 2.0]).view(3, 1, 1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, torch.arange(30)), batch_size=7)
    stats = sn.dataset_stats(loader, progress=False)
    torch.testing.assert_close(stats.mean, images.mean((0, 2, 3)))
    torch.testing.assert_close(stats.std, images.std((0, 2, 3), unbiased=False))
    assert stats.spectrum is None


def test_fields_with_the_spectrum_of_the_data_have_its_correlation_between_neighbours():
    smooth = nn.functional.avg_pool2d(torch.randn(400, 3, 20, 20), 5, 1)
    stats = sn.dataset_stats([smooth], spectrum=True, progress=False)
    spy = Spy()
    sn.VirtualBatch(spy, stats.mean, stats.std, 400, spectrum=stats.spectrum)(smooth[:1])

    def neighbours(x):
        x = x - x.mean()
        return ((x[..., 1:] * x[..., :-1]).mean() / x.square().mean()).item()

    assert neighbours(spy.seen[:400]) == pytest.approx(neighbours(smooth), abs=0.06) and neighbours(smooth) > 0.7


def test_dataset_stats_of_nothing_or_of_no_images_are_an_error():
    with pytest.raises(ValueError, match="expected batches from the loader, got none"):
        sn.dataset_stats([], progress=False)
    with pytest.raises(ValueError, match="expected images"):
        sn.dataset_stats([torch.zeros(2, 3)], progress=False)
    with pytest.raises(TypeError, match="expected batches that are a tensor"):
        sn.dataset_stats([{"x": 1}], progress=False)


def converted(spec):
    torch.manual_seed(0)
    return sn.convert(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Conv2d(4, 2, 3), nn.BatchNorm2d(2)), spec)


@pytest.mark.parametrize("spec", ["FS-1/64", "LS-1/4;decay=0.5;least=1", "FS-1/64+VDN-2/8"])
def test_recalibration_gives_the_exact_statistics_and_leaves_all_else(spec):
    model = converted(spec)
    batches = [(2 * torch.randn(10, 3, 12, 12) + i, torch.zeros(10)) for i in range(5)]
    whole = sn.VirtualBatch(model, [0.0] * 3, [1.0] * 3) if "VDN" in spec else model
    whole(batches[0][0])
    modes, count = [m.training for m in whole.modules()], model[1].num_batches_tracked.clone()
    assert sn.recalibrate(whole, iter(batches), 4) is whole
    first = torch.cat([model[0](x) for x, _ in batches[:4]])
    torch.testing.assert_close(model[1].running_mean, first.mean((0, 2, 3)))
    torch.testing.assert_close(model[1].running_var, first.var((0, 2, 3)), rtol=1e-3, atol=0)
    assert [m.training for m in whole.modules()] == modes and model[1].spec == spec.split(";decay")[0] + spec[len(spec.split(";decay")[0]):]
    assert torch.equal(model[1].num_batches_tracked, count) and model[1].momentum == 0.1


def test_recalibration_leaves_frozen_layers_alone():
    model = converted("LS-1/4;least=1")
    sn.freeze(model[1])
    kept = model[1].running_mean.clone()
    sn.recalibrate(model, [torch.randn(10, 3, 12, 12) + 5])
    assert torch.equal(model[1].running_mean, kept) and not model[1].training and model[4].running_mean.abs().sum() > 0
    with pytest.raises(ValueError, match="are not frozen, got none"):
        sn.recalibrate(sn.freeze(model), [torch.randn(10, 3, 12, 12)])


def test_recalibration_of_layers_without_a_number_of_batches():
    """As in models that were saved before there was one."""
    layer, x = sn.BatchNorm2d(3), torch.randn(10, 3, 12, 12)
    layer.num_batches_tracked = None
    sn.recalibrate(layer, [x])
    torch.testing.assert_close(layer.running_mean, x.mean((0, 2, 3)))


def test_recalibration_that_fails_changes_nothing():
    model = converted("LS-1/4;least=1")
    model(torch.randn(4, 3, 12, 12))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError):
        sn.recalibrate(model, [torch.randn(4, 3, 12, 12), torch.randn(4, 5, 12, 12)])
    with pytest.raises(ValueError, match="expected batches from the loader, got none"):
        sn.recalibrate(model, [])
    with pytest.raises(ValueError, match="expected 1 or more batches, got 0"):
        sn.recalibrate(model, [], 0)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert model[1].spec == "LS-1/4;least=1" and model[1].training
