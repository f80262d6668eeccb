"""fuse: the same numbers in fewer passes, or the reason why not."""

import copy
import operator

import pytest
import torch
from torch import nn
from torch.nn import functional

import samplenorm as sn


class Block(nn.Module):
    """Every way in which people write ReLU and addition."""

    def __init__(self, style, shortcut=False):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=style == "in place")
        self.shortcut = nn.Sequential(nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4)) if shortcut else None
        self.style = style

    def forward(self, x):
        short = x if self.shortcut is None else self.shortcut(x)
        if self.style == "function":
            return functional.relu(self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)), inplace=True))) + short)
        if self.style == "method":
            return self.bn2(self.conv2(self.bn1(self.conv1(x)).relu())).add(short).relu_()
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.style == "in place":
            y += short
            return self.relu(y)
        return torch.relu(short + y)


def state_and_gradients(model, x):
    leaf = x.clone().requires_grad_()
    y = model(leaf)
    (y * x.sin()).sum().backward()
    return [y, leaf.grad, *(p.grad for p in model.parameters()), *model.buffers()]


@pytest.mark.parametrize("shortcut", [False, True])
@pytest.mark.parametrize("style", ["module", "in place", "function", "method"])
def test_a_fused_block_gives_the_same_outputs_gradients_and_statistics(style, shortcut):
    model = sn.convert(nn.Sequential(Block(style, shortcut), Block(style)), "LS-1/4;least=1").double()
    reports = []
    fused = sn.fuse(copy.deepcopy(model), report=reports.append)
    assert reports[0].relu == ["0.bn1", "1.bn1"] and reports[0].residual == ["0.bn2", "1.bn2"] and not reports[0].failed
    assert not any("relu" in str(node.target) or node.target in (operator.add, operator.iadd) for node in fused.graph.nodes)
    assert list(fused.state_dict()) == list(model.state_dict())
    x = torch.randn(6, 4, 8, 8, dtype=torch.float64)
    for actual, expected in zip(state_and_gradients(fused, x), state_and_gradients(model, x), strict=True):
        torch.testing.assert_close(actual, expected)
    assert torch.equal(fused.eval()(x), model.eval()(x))


def test_a_fused_model_shares_parameters_and_leaves_the_original_right():
    model = sn.convert(Block("in place"), "LS-1/4;least=1")
    twin, x = copy.deepcopy(model), torch.randn(6, 4, 8, 8)
    fused = sn.fuse(model)
    assert all(a is b for a, b in zip(fused.parameters(), model.parameters()))
    assert torch.equal(model(x), twin(x))


def test_restore_takes_a_fused_model_apart():
    model = nn.Sequential(Block("in place", True), Block("function"))
    x = torch.randn(6, 4, 8, 8)
    fused = sn.fuse(sn.convert(copy.deepcopy(model), "LS-1/4;least=1"))
    fused(x)
    expected = fused.eval()(x)
    plain = sn.restore(fused)
    assert {type(m) for m in plain.modules() if "Norm" in type(m).__name__} == {nn.BatchNorm2d}
    assert torch.equal(plain(x), expected)
    model.load_state_dict(plain.state_dict())
    assert torch.equal(model.eval()(x), expected)


@pytest.mark.parametrize("what", ["norm", "sum"])
def test_what_another_layer_reads_too_is_not_fused(what):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm2d(4)

        def forward(self, x):
            y = self.bn(x) if what == "norm" else self.bn(2 * x) + x
            return torch.relu(y) + y

    reports = []
    fused = sn.fuse(sn.convert(Two(), "LS-1/4;least=1"), report=reports.append)
    assert not reports[0].relu and not reports[0].residual and fused(torch.randn(4, 4, 8, 8)).min() < 0


@pytest.mark.parametrize("method", [False, True])
def test_an_addition_that_writes_into_the_residual_is_not_fused(method):
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm2d(4)

        def forward(self, x):
            short = x * 2
            alias = short
            if method:
                short.add_(self.bn(x))
            else:
                short += self.bn(x)
            return torch.relu(short) + alias

    model = sn.convert(Writes(), "LS-1/4;least=1")
    x = torch.randn(4, 4, 8, 8)
    assert torch.equal(sn.fuse(copy.deepcopy(model))(x), model(x))


def test_a_norm_whose_input_is_written_to_does_not_wait_for_its_residual():
    class Overwrites(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm2d(4)

        def forward(self, x):
            x = x * 2
            y = self.bn(x)
            x.add_(1)
            return torch.relu(y + x)

    model = sn.convert(Overwrites(), "LS-1/4;least=1")
    x = torch.randn(4, 4, 8, 8)
    with torch.no_grad():
        assert torch.equal(sn.fuse(copy.deepcopy(model))(x), model(x))


def test_where_tracing_fails_the_reason_is_told_and_the_parts_are_fused():
    class Dynamic(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block("module")

        def forward(self, x):
            return self.block(x) if x.sum() > 0 else self.block(-x)

    model = sn.convert(Dynamic(), "LS-1/4;least=1")
    reports = []
    assert sn.fuse(model, report=reports.append) is model
    assert reports[0].relu == ["block.bn1"] and list(reports[0].failed) == [""]
    assert "symbolically traced variables cannot be used as inputs to control flow" in str(reports[0])


def test_a_model_that_is_another_in_training_is_left_as_it_was():
    class Drops(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm2d(4)

        def forward(self, x):
            return functional.dropout(torch.relu(self.bn(x)), 0.5, self.training)

    model, reports = sn.convert(Drops(), "LS-1/4;least=1"), []
    assert sn.fuse(model, report=reports.append) is model and type(model) is Drops
    assert "it computes something else in training than in evaluation" in str(reports[0])


def test_a_model_with_hooks_on_its_blocks_is_left_as_it_was():
    model, calls = sn.convert(nn.Sequential(Block("module")), "LS-1/4;least=1"), []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    reports = []
    assert type(sn.fuse(model, report=reports.append)[0]) is Block
    assert "has hooks, which a graph does not call" in str(reports[0])
    model(torch.randn(4, 4, 8, 8))
    assert calls == [1]


@pytest.mark.parametrize("where", ["norm", "relu", "identity"])
def test_hooks_on_layers_and_on_relus_see_what_they_saw(where):
    model = sn.convert(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Identity(), nn.ReLU()), "LS-1/4;least=1")
    seen = []
    model[{"norm": 1, "identity": 2, "relu": 3}[where]].register_forward_hook(lambda module, inputs, output: seen.append(output))
    x = torch.randn(4, 3, 8, 8)
    model(x)
    sn.fuse(model)(x)
    assert len(seen) == 2 and torch.equal(seen[0], seen[1])


def test_a_model_without_layers_of_ours_is_an_error():
    with pytest.raises(ValueError, match="call samplenorm.convert first"):
        sn.fuse(Block("module"))
