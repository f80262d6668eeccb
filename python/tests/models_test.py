"""Models that people train: timm's ResNet, DenseNet, MobileNet and EfficientNet, and a U-Net: converted, fused, trained, restored."""

import copy
import importlib.util
import pathlib
import re

import pytest
import torch
from torch import nn
from torch.nn import functional

import samplenorm as sn


def import_timm():
    """torchvision, which timm imports, may be built for another torch; only its own operators are missing then, and none is used here."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        folder = pathlib.Path(importlib.util.find_spec("torchvision").origin).parent
        names = set(re.findall(r'(?:register_meta\("|torchvision::)(\w+)', (folder / "_meta_registrations.py").read_text()))
        for name in names:
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
    import timm
    return timm


class DoubleConvolution(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, classes=2, width=8):
        super().__init__()
        self.down = nn.ModuleList([DoubleConvolution(3, width), DoubleConvolution(width, 2 * width)])
        self.bottom = DoubleConvolution(2 * width, 4 * width)
        self.up = nn.ModuleList([DoubleConvolution(6 * width, 2 * width), DoubleConvolution(3 * width, width)])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            kept.append(block(x))
            x = functional.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for block, short in zip(self.up, reversed(kept)):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2.0), short], 1))
        return self.head(x)


def make(name):
    torch.manual_seed(0)
    if name == "unet":
        return UNet()
    return import_timm().create_model(name, num_classes=2)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", ["resnet18", "densenet121", "mobilenetv2_100", "efficientnet_b0", "unet"])
def test_a_real_model_trains_and_evaluates_as_plain_batch_norm_after_restore(name, fused):
    model = make(name)
    twin = copy.deepcopy(model)
    kinds = [type(module) for module in model.modules()]
    norms = sum(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())
    reports = []
    model = sn.convert(model, "LS-1/64;least=1", report=reports.append)
    assert len(reports[0].changed) == norms and not reports[0].left
    if fused:
        model = sn.fuse(model, report=reports.append)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    x = torch.randn(16, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    labels = torch.arange(16) % 2
    before = [parameter.clone() for parameter in model.parameters()]
    for step in range(10):
        sn.set_epoch(model, step // 5)
        output = model(x)
        loss = functional.cross_entropy(output if output.dim() == 2 else output.mean((2, 3)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert torch.isfinite(loss)
    # Some begin with a weight of 0 behind the last norm of a block, so that what is before it learns later.
    assert sum(not torch.equal(a, b) for a, b in zip(model.parameters(), before)) > 0.5 * len(before)

    expected = model.eval()(x)
    restored = sn.restore(model)
    assert not any(isinstance(module, sn.BatchNorm) for module in restored.modules())
    if not fused:
        assert [type(module) for module in restored.modules()] == kinds
    assert torch.equal(restored(x), expected)
    twin.load_state_dict(restored.state_dict())
    assert torch.equal(twin.eval()(x), expected)


def test_fusing_finds_what_a_resnet_has():
    reports = []
    sn.fuse(sn.convert(make("resnet18"), "LS-1/64"), report=reports.append)
    assert not reports[0].failed and len(reports[0].relu) == 9 and len(reports[0].residual) == 8


def test_a_hook_on_the_relu_of_timms_norm_and_activation_is_called():
    import_timm()
    from timm.layers import BatchNormAct2d
    layer, seen = sn.convert(BatchNormAct2d(4), "LS-1/4;least=1"), []
    layer.act.register_forward_hook(lambda module, inputs, output: seen.append(output))
    y = layer(torch.randn(4, 4, 8, 8))
    assert len(seen) == 1 and torch.equal(seen[0], y)
