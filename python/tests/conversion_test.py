"""convert and restore: whole models, with all that hangs on their layers."""

import copy
import logging
import pickle

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

import samplenorm as sn


class Subclass(nn.BatchNorm2d):
    """Computes what torch's class does."""

    def __init__(self, channels):
        super().__init__(channels)
        self.note = "own"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(2, 4, 3)
        self.deep = nn.BatchNorm3d(4)
        self.flat = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4, affine=False))
        self.head = nn.BatchNorm1d(4, momentum=None, bias=False)
        self.shared = self.flat[0]

    def forward(self, x):
        x = self.deep(self.conv(x)).mean(2)
        return self.head(self.shared(self.flat(x)).mean((2, 3)))


X = torch.randn(6, 2, 6, 8, 8, generator=torch.Generator().manual_seed(3))


def test_every_batch_norm_is_replaced_and_keeps_all_that_it_has():
    model = Net().double()
    model.deep.weight.requires_grad_(False)
    model.head.eval()
    model.deep.note = "kept"
    calls = []
    model.flat[0].register_forward_hook(lambda *_: calls.append("hook"))
    before, parameters = copy.deepcopy(model.state_dict()), dict(model.named_parameters())
    reports = []
    assert sn.convert(model, "FS-1/4", report=reports.append) is model
    assert reports[0].changed == ["deep", "flat.0", "flat.2", "head"] and not reports[0].left
    assert [type(module) for module in model.modules() if isinstance(module, _BatchNorm)] == [
        sn.BatchNorm3d, sn.BatchNorm2d, sn.BatchNorm2d, sn.BatchNorm1d]
    assert model.shared is model.flat[0]
    assert dict(model.named_parameters()) == parameters and all(a is parameters[name] for name, a in model.named_parameters())
    for name, value in before.items():
        assert torch.equal(model.state_dict()[name], value)
    assert model.deep.note == "kept" and not model.head.training and model.deep.training and model.head.momentum is None
    model.head.train()
    model(X.double())
    assert calls == ["hook"] * 2


def test_restore_gives_torchs_layers_back_and_the_same_evaluation_to_the_last_bit():
    model = Net()
    kinds = [type(module) for module in model.modules()]
    sn.convert(model, "LS-1/4;least=1")
    for _ in range(3):
        model(X)
    expected = model.eval()(X)
    assert sn.restore(model) is model
    assert [type(module) for module in model.modules()] == kinds
    assert torch.equal(model(X), expected)
    assert repr(model) == repr(Net()) and vars(model.deep).keys() == vars(nn.BatchNorm3d(4)).keys()
    plain = Net().eval()
    plain.load_state_dict(model.state_dict())
    assert torch.equal(plain(X), expected)


def test_layers_stay_the_same_objects_with_their_ties_and_hook_handles():
    layer, calls = nn.BatchNorm2d(4), []
    model = nn.Module()
    model.first = model.second = layer
    model.forward = lambda x: model.second(torch.relu(model.first(x)))
    handle = layer.register_forward_hook(lambda *_: calls.append(1))
    sn.convert(model, "LS-1/4;least=1")
    assert model.first is model.second is layer and type(layer) is sn.BatchNorm2d
    model(torch.randn(6, 4, 8, 8))
    handle.remove()
    model(torch.randn(6, 4, 8, 8))
    assert calls == [1, 1]
    assert sn.restore(model).first is model.second is layer


def test_subclasses_that_compute_as_torchs_do_are_converted_copied_and_pickled():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), Subclass(4), nn.ReLU())
    sn.convert(model, "LS-1/4;least=1")
    assert isinstance(model[1], Subclass) and isinstance(model[1], sn.BatchNorm2d) and model[1].note == "own"
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert isinstance(twin[1], sn.BatchNorm2d) and twin[1].note == "own" and twin[1].spec == "LS-1/4;least=1"
        assert twin(torch.randn(4, 3, 8, 8)).shape == (4, 4, 6, 6)
        assert type(sn.restore(twin)[1]) is Subclass
    assert type(sn.restore(model)[1]) is Subclass


def test_parametrized_layers_are_converted_and_restored():
    class Positive(nn.Module):
        def forward(self, x):
            return x.abs() + 0.1

    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    torch.nn.utils.parametrize.register_parametrization(model[1], "weight", Positive())
    x = torch.randn(4, 3, 8, 8)
    expected = copy.deepcopy(model).eval()(x)
    sn.convert(model, "LS-1/4;least=1")
    model(x).sum().backward()
    assert model[1].parametrizations.weight.original.grad is not None
    model[1].reset_running_stats()
    assert torch.equal(sn.restore(model).eval()(x), expected)
    assert torch.nn.utils.parametrize.is_parametrized(model[1], "weight")


def test_a_layer_that_was_never_converted_is_restored_to_torchs():
    layer = sn.restore(sn.BatchNorm2d(4, spec="FS-1/4"))
    assert type(layer) is nn.BatchNorm2d and vars(layer).keys() == vars(nn.BatchNorm2d(4)).keys()
    with pytest.raises(ValueError, match="expected layers without an activation of their own"):
        sn.restore(sn.BatchNorm2d(4, activation="relu"))


def test_a_converted_model_can_be_traced_symbolically():
    model = sn.convert(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), "LS-1/4;least=1")
    traced, x = torch.fx.symbolic_trace(model), torch.randn(4, 3, 8, 8)
    assert [node.op for node in traced.graph.nodes].count("call_module") == 3
    assert torch.equal(traced(x), copy.deepcopy(model)(x))
    torch.fx.symbolic_trace(model.eval())


def test_layers_that_had_to_stay_are_warned_of_by_reason(caplog):
    class Special(nn.BatchNorm2d):
        def forward(self, x):
            return super().forward(x) + 1

    sn.convert(nn.Sequential(nn.BatchNorm2d(3), *(Special(3) for _ in range(5))), "LS-1/4;least=1")
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.message.endswith("5 stay as they were: 1, 2, 3 and 2 more (a Special, whose forward is its own)")


def test_swapped_arguments_get_one_sentence():
    with pytest.raises(TypeError, match="^samplenorm.convert: expected a torch.nn.Module and then a notation, got a str first$"):
        sn.convert("LS-1/64", Net())
    with pytest.raises(TypeError, match="expected a notation such as 'LS-1/64', got a Net"):
        sn.convert(Net(), Net())


def test_an_optimizer_made_before_goes_on_with_the_converted_model():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    before = model.head.weight.clone()
    sn.convert(model)
    model(X).cos().sum().backward()
    optimizer.step()
    assert not torch.equal(model.head.weight, before)


def test_layers_can_be_chosen_by_name_pattern_and_function():
    def changed(only):
        reports = []
        sn.convert(Net(), "LS-1/4;least=1", only=only, report=reports.append)
        return reports[0].changed, list(reports[0].left)

    assert changed(["deep", "flat.*"]) == (["deep", "flat.0", "flat.2"], ["head"])
    assert changed("head") == (["head"], ["deep", "flat.0", "flat.2"])
    assert changed(lambda name, layer: isinstance(layer, nn.BatchNorm2d) and layer.affine)[0] == ["flat.0"]


def test_layers_of_ours_get_the_new_notation():
    model = sn.convert(sn.convert(Net(), "LS-1/4;least=1"), "BS-2/6", lean=True)
    assert all(module.lean for module in model.modules() if isinstance(module, sn.BatchNorm))
    assert {module.spec for module in model.modules() if isinstance(module, sn.BatchNorm)} == {"BS-2/6"}
    assert type(sn.restore(model).deep) is nn.BatchNorm3d


def test_a_single_layer_and_a_sync_batch_norm_are_converted():
    layer = sn.convert(nn.BatchNorm2d(4), "LS-1/4;least=1")
    assert type(layer) is sn.BatchNorm2d and type(sn.restore(layer)) is nn.BatchNorm2d
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(4)))
    sn.convert(model, "LS-1/4;least=1")  # without processes: it is alone
    assert model[0](torch.randn(4, 4, 8, 8)).shape == (4, 4, 8, 8)
    assert type(sn.restore(model)[0]) is nn.SyncBatchNorm


def test_a_subclass_with_a_forward_of_its_own_is_left_and_named():
    class Special(nn.BatchNorm2d):
        def forward(self, x):
            return super().forward(x) + 1

    reports = []
    model = sn.convert(nn.Sequential(nn.BatchNorm2d(3), Special(3)), "LS-1/4;least=1", report=reports.append)
    assert type(model[1]) is Special and reports[0].left == {"1": "a Special, whose forward is its own"}
    assert str(reports[0]) == ("1 layers take their statistics by LS-1/4;least=1; 1 stay as they were: 1 (a Special, whose forward is its own)")


def test_what_was_changed_is_logged(caplog):
    with caplog.at_level(logging.INFO, "samplenorm"):
        sn.convert(Net(), "LS-1/4;least=1")
    assert caplog.messages == ["4 layers take their statistics by LS-1/4;least=1"]


def test_wrong_use_gets_one_clear_sentence_and_changes_nothing():
    with pytest.raises(ValueError, match="expected a model with BatchNorm1d, 2d, 3d or SyncBatchNorm, got none"):
        sn.convert(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="that `only` chooses, got none"):
        sn.convert(Net(), only="no such layer")
    model = Net()
    with pytest.raises(ValueError, match="FS-1/0"):
        sn.convert(model, "FS-1/0")
    with pytest.raises(ValueError, match="expected seed from 0"):
        sn.convert(model, "LS-1/4;least=1", seed=-1)
    with pytest.raises(ValueError, match="a LazyBatchNorm2d that has not seen an input yet"):
        sn.convert(nn.LazyBatchNorm2d(), "LS-1/4;least=1")
    with pytest.raises(RuntimeError, match="call torch.distributed.init_process_group first"):
        sn.convert(model, "LS-1/4;least=1", sync=True)
    assert repr(model) == repr(Net())


def test_layers_draw_by_their_number_in_the_model_after_set_seed():
    first, second = sn.convert(Net(), "FS-1/4"), sn.convert(Net(), "FS-1/4")
    sn.set_seed(first, 1), sn.set_seed(second, 1)
    shape = (6, 4, 32, 32)
    assert first.flat[0].sample(shape) == second.flat[0].sample(shape) != first.flat[2].sample(shape)


def test_torchscript_traces_a_model_and_says_what_to_do_to_script_it():
    torch.manual_seed(0)
    x = torch.randn(8, 3, 8, 8)
    for training in (True, False):
        model = sn.convert(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), "FS-1/4;redraw=step").train(training)
        with pytest.raises(RuntimeError, match=r"torch.jit.script compiles torch's own layers only: call samplenorm.restore\(model\) first"):
            torch.jit.script(model)
        assert type(model[1]) is sn.BatchNorm2d
        expected = copy.deepcopy(model)(x)
        torch.testing.assert_close(torch.jit.trace(model, x)(x), expected)  # in training with the draw at hand
    torch.testing.assert_close(torch.jit.script(sn.restore(model))(x), model(x))
