"""Networks that `./run bench python` times, by name: timm's, and ResNets of our own."""

import copy
import importlib.util
import pathlib
import re

import torch
from torch import nn

from step_in_python import CIFAR_DEPTHS, STAGES, make_network

#: name: (timm's name or None, images in a step, side of an image)
NETWORKS = {
    "mobilenetv2": ("mobilenetv2_100", 32, 112),
    "efficientnet_b0": ("efficientnet_b0", 16, 112),
    "densenet121": ("densenet121", 16, 112),
    "resnet50": ("resnet50", 16, 112),
    **{f"resnet{depth}": (None, 128, 32) for depth in CIFAR_DEPTHS},
    **{name: (None, 16, 112) for name in STAGES if name != "resnet50"},
}
PUBLISHED = ("mobilenetv2", "efficientnet_b0", "densenet121", "resnet50", "resnet56")


def make(name):
    """The network in training, channels_last."""
    torch.manual_seed(1)
    theirs, _, side = NETWORKS[name]
    network = _timm().create_model(theirs) if theirs else make_network(name, 3, 10 if side == 32 else 1000)
    return network.to(memory_format=torch.channels_last).train()


def without_norms(network):
    """A copy whose norms do nothing; activations that are a part of timm's norms stay."""
    network = copy.deepcopy(network)
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.modules.batchnorm._BatchNorm):
                setattr(parent, name, getattr(child, "act", nn.Identity()))
    return network


def _timm():
    """torchvision, which timm imports, may be built for another torch; its own operators are missing then, and none is used here."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        folder = pathlib.Path(importlib.util.find_spec("torchvision").origin).parent
        for name in set(re.findall(r'(?:register_meta\("|torchvision::)(\w+)', (folder / "_meta_registrations.py").read_text())):
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
    import timm
    return timm
