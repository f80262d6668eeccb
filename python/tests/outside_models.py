"""Models of others, small: one of each family of timm that has batch normalization, and the decoders of segmentation_models_pytorch."""

import importlib.util
import pathlib
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field

import torch
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


@dataclass
class Family:
    model: str
    side: int = 64
    options: dict = field(default_factory=dict)
    always: bool = False  # whether its test runs without SAMPLENORM_WHOLE
    smaller: dict = field(default_factory=dict)  # options that make it quick to train

    def make(self, small=False, **options):
        torch.manual_seed(0)
        options = self.options | (self.smaller if small else {}) | options
        timm = import_timm()
        if self.model.startswith("smp."):
            import segmentation_models_pytorch as smp
            return getattr(smp, self.model.removeprefix("smp."))(encoder_weights=None, classes=4, **options)
        return timm.create_model(self.model, pretrained=False, num_classes=4, **options)

    def images(self):
        images = torch.randn(4, 3, self.side, self.side, generator=torch.Generator().manual_seed(1))
        return images.contiguous(memory_format=torch.channels_last)


def _families():
    always = dict(resnet="resnet10t", resnext="resnext26ts", resnest="resnest14d", skresnet="skresnet18", regnet="regnety_002",
                  dla="dla46_c", efficientnet="efficientnet_b0", mobilenetv2="mobilenetv2_035", mobilenetv3="mobilenetv3_small_050",
                  mobilenetv4="mobilenetv4_conv_small_035", mnasnet="mnasnet_small", ghostnet="ghostnet_050", lcnet="lcnet_035",
                  tinynet="tinynet_e", rexnet="rexnet_100", darknet="cs3darknet_s", repvgg="repvgg_a0", fastvit="fastvit_t8",
                  mobilevit="mobilevit_xxs", efficientvit="efficientvit_b0", vovnet="ese_vovnet19b_slim_dw")
    others = dict(res2net="res2net50_48w_2s", seresnet="legacy_seresnet18", resnetv2="resnetv2_18", hrnet="hrnet_w18_small",
                  tf_efficientnetv2="tf_efficientnetv2_b0", mixnet="mixnet_s", fbnet="fbnetc_100", hardcorenas="hardcorenas_a",
                  cspresnet="cspresnet50", mobileone="mobileone_s0", xception="xception41", dpn="dpn48b", selecsls="selecsls42b",
                  tresnet="tresnet_m", gernet="gernet_s", hgnet="hgnetv2_b0", repvit="repvit_m0_9", convmixer="convmixer_768_32")
    families = {name: Family(model, always=name in always) for name, model in (always | others).items()}
    families |= {
        "densenet": Family("densenet121", 32, always=True), "levit": Family("levit_128s", options={"img_size": 64}, always=True),
        "vgg_bn": Family("vgg11_bn", 32, smaller={"mlp_ratio": 0.05}),
        "inception_v3": Family("inception_v3", 80), "inception_v4": Family("inception_v4", 80),
        # Takes no other side.
        "efficientformer": Family("efficientformer_l1", 224, smaller={"depths": (1, 1, 1, 2), "embed_dims": (8, 16, 32, 64)}),
        "nasnet": Family("nasnetalarge", smaller={"stem_size": 16, "num_features": 24 * 16}),
    }
    encoder = {"encoder_name": "tu-resnet10t"}
    decoders = {"Unet": 64, "FPN": 64, "DeepLabV3Plus": 64, "PAN": 128, "PSPNet": 64, "Linknet": 64, "MAnet": 64}
    families |= {f"smp {name}": Family(f"smp.{name}", side, encoder, name in ("FPN", "PSPNet", "DeepLabV3Plus", "PAN"))
                 for name, side in decoders.items()}
    return dict(sorted(families.items()))


FAMILIES = _families()

#: Families of which less than 95 % of the norms that an activation or an addition follows are fused, and why.
NOT_FUSED = {
    "ghostnet": "the shortcut's norm is added in place to a concatenation, which stays where it is",
    "levit": "a reshape from rows to tokens is between a norm and its activation",
    "smp PAN": "a sigmoid follows, which the operators do not have",
}
_FOLLOWS = {"add", "add_", "relu", "relu_", "relu6", "hardtanh", "leaky_relu", "elu", "silu", "gelu", "hardswish", "sigmoid", "sigmoid_",
            "hardsigmoid", "tanh", "mish", "prelu", "softplus", "selu", "celu",
            "reshape_as"}  # as LeViT's layers do before an activation


def plain_outputs(outputs):
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def train(model, images, steps, rate=1e-5):
    """The losses. Dropout is the same for all models."""
    optimizer = torch.optim.SGD(model.parameters(), rate)
    labels, losses = torch.arange(len(images)) % 4, []
    for step in range(steps):
        torch.manual_seed(step)
        outputs = [each if each.dim() == 2 else each.mean((2, 3)) for each in plain_outputs(model(images))]
        loss = sum(functional.cross_entropy(each, labels) for each in outputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def fused_share(report):
    """Of the norms that an activation or an addition follows: how many are fused. What another norm takes in as its residual is."""
    missed = sum(why.removeprefix("its output went to ") in _FOLLOWS for why in report.alone.values())
    return report.fused / max(1, report.fused + missed)


def survey(name):
    """How the norms of a family run, as a row of docs/python-results.md."""
    family, conversions = FAMILIES[name], []
    model = sn.convert(family.make(), "LS-1/64", report=conversions.append)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small images have few points
        train(model, family.images(), 1)
    report = sn.report(model)
    return {"family": name, "model": family.model, "norms": len(conversions[0].changed) + len(conversions[0].left),
            "activation": len(report.activation), "residual": len(report.residual), "both": len(report.residual_activation),
            "alone": dict(Counter(report.alone.values()).most_common()), "unused": len(report.unused),
            "left": dict(Counter(conversions[0].left.values()).most_common()), "share": fused_share(report),
            "reason": NOT_FUSED.get(name, "")}
