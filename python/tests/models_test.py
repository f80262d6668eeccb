"""Converted models under the tools that people train them with: timm's switches, Lightning, accelerate, FSDP, checkpointing."""

import copy

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

import samplenorm as sn
from outside_models import FAMILIES, Family, import_timm, train

pytestmark = pytest.mark.filterwarnings("ignore")
SMALL = Family("resnet10t", 32)


def twins(model, spec="LS-1/64"):
    """Fused, and not; in float64, so that rounding does not grow to a difference."""
    models = [sn.convert(copy.deepcopy(model).double(), spec, fuse=fuse) for fuse in (True, False)]
    return [sn.set_seed(each, 3) or each for each in models]


def assert_trains_alike(model, images):
    fused, apart = twins(model)
    torch.testing.assert_close(train(fused, images.double(), 3), train(apart, images.double(), 3), rtol=1e-7, atol=1e-9)
    for name, value in apart.state_dict().items():
        torch.testing.assert_close(fused.state_dict()[name], value, rtol=1e-6, atol=1e-8)
    return fused


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.ModuleList([self.block(3, width), self.block(width, 2 * width)])
        self.bottom = self.block(2 * width, 4 * width)
        self.up = nn.ModuleList([self.block(6 * width, 2 * width), self.block(3 * width, width)])
        self.head = nn.Conv2d(width, 4, 1)

    def block(self, inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                             nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))

    def forward(self, x):
        kept = []
        for block in self.down:
            kept.append(block(x))
            x = functional.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for block, short in zip(self.up, reversed(kept)):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2.0), short], 1))
        return self.head(x)


def test_a_u_net_trains_fused_as_apart():
    assert len(sn.report(assert_trains_alike(UNet(), SMALL.images())).activation) == 10


# timm

@pytest.mark.parametrize("name", ["resnet10t", "efficientnet_b0"])
def test_checkpointing_of_timm_stays(name):
    model = Family(name).make()
    model.set_grad_checkpointing(True)
    fused = assert_trains_alike(model, Family(name).images())
    assert fused.grad_checkpointing and "it did not wait" in sn.report(fused).alone.values()


@pytest.mark.parametrize("name", ["resnet10t", "efficientnet_b0"])
def test_drop_path_stays_and_what_comes_before_it_is_fused(name):
    plain, dropping = (assert_trains_alike(Family(name).make(drop_path_rate=rate), Family(name).images()) for rate in (0.0, 0.1))
    assert sn.report(dropping).activation == sn.report(plain).activation


def test_sync_batch_norm_of_timm_keeps_activations():
    from timm.layers import SyncBatchNormAct, convert_sync_batchnorm
    model = sn.convert(FAMILIES["efficientnet"].make(), "LS-1/64").eval()
    images = FAMILIES["efficientnet"].images()
    expected = model(images)
    converted = convert_sync_batchnorm(model)
    assert sum(isinstance(module, SyncBatchNormAct) for module in converted.modules()) == 49
    assert not any(isinstance(module, sn.BatchNorm) for module in converted.modules())
    assert torch.equal(converted.eval()(images), expected)


@pytest.mark.parametrize("name", ["efficientnet", "resnet"])
def test_freezing_and_unfreezing_by_timm_keeps_activations(name):
    model = sn.convert(FAMILIES[name].make(), "LS-1/64").eval()
    from timm.utils.model import freeze_batch_norm_2d, unfreeze_batch_norm_2d
    images = FAMILIES[name].images()
    expected = model(images)
    frozen = freeze_batch_norm_2d(model)
    assert not any(isinstance(module, sn.BatchNorm) for module in frozen.modules())
    torch.testing.assert_close(frozen.train()(images), expected, rtol=1e-4, atol=1e-4)
    unfrozen = unfreeze_batch_norm_2d(frozen).eval()
    torch.testing.assert_close(unfrozen(images), expected, rtol=1e-4, atol=1e-4)


def test_a_layer_of_ours_as_timms_norm_layer_is_an_error_and_no_norm_of_timms():
    with pytest.raises(AssertionError, match="No equivalent norm_act layer for sampledbatchnorm2d"):
        import_timm().create_model("mobilenetv2_035", norm_layer=sn.BatchNorm2d)


def test_timms_norm_has_its_activation_once_in_evaluation():
    import_timm()
    from timm.layers import BatchNormAct2d
    layer, x = BatchNormAct2d(4, act_layer=nn.SiLU).eval(), torch.randn(4, 4, 8, 8)
    expected = layer(x)
    assert torch.equal(sn.convert(layer, "LS-1/64")(x), expected) and torch.equal(sn.restore(layer)(x), expected)


def test_a_hook_on_the_activation_of_timms_norm_is_called():
    import_timm()
    from timm.layers import BatchNormAct2d
    layer, seen = sn.convert(BatchNormAct2d(4), "LS-1/4;least=1"), []
    layer.act.register_forward_hook(lambda module, inputs, output: seen.append(output))
    y = layer(torch.randn(4, 4, 8, 8))
    assert len(seen) == 1 and torch.equal(seen[0], y)


# DenseNet

def torchvisions_densenet():
    import_timm()
    from torchvision.models.densenet import DenseNet
    torch.manual_seed(0)
    return DenseNet(8, (2, 3), 16, num_classes=4)


def timms_densenet():
    import_timm()
    from timm.models.densenet import DenseNet
    torch.manual_seed(0)
    return DenseNet(8, (2, 3), num_classes=4)


@pytest.mark.parametrize("make", [torchvisions_densenet, timms_densenet])
def test_layers_of_a_densenet_get_lists_and_concatenate_nothing_in_training(make, monkeypatch):
    images, concatenated = SMALL.images(), []
    fused = assert_trains_alike(make(), images)
    assert sn.report(fused).fused == sum(isinstance(module, sn.BatchNorm) for module in fused.modules())
    concatenate = torch.cat
    monkeypatch.setattr(torch, "cat", lambda *args, **kwargs: concatenated.append(args) or concatenate(*args, **kwargs))
    fused(images.double())
    assert len(concatenated) == 2  # what leaves each block
    sn.fuse(fused, False)(images.double())
    assert len(concatenated) == 2 + 2 + 5  # and what each layer gets
    fused.eval()(images.double())
    assert len(concatenated) == 9 + 7


# segmentation_models_pytorch

@pytest.mark.parametrize("name", ["smp FPN", "smp DeepLabV3Plus", "smp PAN", "smp PSPNet"])
def test_decoders_keep_what_their_parents_read(name):
    model = FAMILIES[name].make()
    kinds, public = [type(module) for module in model.modules()], [name for name in dir(model.encoder) if not name.startswith("_")]
    sn.convert(model, "LS-1/64")
    assert set(public) <= set(dir(model.encoder))
    assert all(isinstance(module, kind) for module, kind in zip(model.modules(), kinds, strict=True))
    model(FAMILIES[name].images()).sum().backward()
    assert all(parameter.grad is not None for parameter in model.decoder.parameters())


# Trainers

def test_lightning_trains_a_converted_module_that_keeps_its_class(tmp_path):
    lightning = pytest.importorskip("lightning")

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.losses = SMALL.make(), []

        def training_step(self, batch, index):
            loss = functional.cross_entropy(self.network(batch[0]), batch[1])
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-3)

    model = sn.convert(Classifier(), "LS-1/64")
    assert type(model) is Classifier
    before = copy.deepcopy(model.state_dict())
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(SMALL.images().repeat(2, 1, 1, 1), torch.arange(8) % 4), 4)
    trainer = lightning.Trainer(accelerator="cpu", devices=1, max_steps=2, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path)
    trainer.fit(model, data)
    assert type(model) is Classifier and len(model.losses) == 2 and sn.report(model).fused == 11
    assert sum(not torch.equal(value, before[name]) for name, value in model.state_dict().items()) > 0.5 * len(before)


def test_accelerate_prepares_and_trains_a_converted_model():
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    model = sn.convert(SMALL.make(), "LS-1/64")
    kind = type(model)
    prepared, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 1e-3))
    loss = functional.cross_entropy(prepared(SMALL.images()), torch.arange(4))
    accelerator.backward(loss)
    optimizer.step()
    assert type(accelerator.unwrap_model(prepared)) is kind and sn.report(model).fused == 11 and torch.isfinite(loss)


class Blocks(nn.Module):
    """The activation after the first block's norm is not in the block."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())

    def forward(self, x):
        return self.second(torch.relu(self.first(x))).mean((2, 3))


@pytest.fixture
def one_process(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("converted_first", [True, False])
def test_fully_sharded_models_train_alike_whenever_they_are_converted(converted_first, one_process):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def shard(model):
        mesh = init_device_mesh("cpu", (1,))
        for part in (model.first, model.second, model):
            fully_shard(part, mesh=mesh)
        return model

    images = SMALL.images()
    expected, model = sn.convert(Blocks(), "LS-1/64;least=1"), Blocks()
    model = shard(sn.convert(model, "LS-1/64;least=1")) if converted_first else sn.convert(shard(model), "LS-1/64;least=1")
    sn.set_seed(expected, 3), sn.set_seed(model, 3)
    torch.testing.assert_close(train(model, images, 3, 0.01), train(expected, images, 3, 0.01))
    assert isinstance(model, Blocks) and sn.report(model).fused >= 1
    kinds = [type(module) for module in model.modules()]
    sn.restore(model)
    assert not any(isinstance(module, sn.BatchNorm) for module in model.modules()) and type(model) is kinds[0]
    train(model, images, 1)
