"""Whether layers take in the addition of a residual and the activation that follow them, and what they took in."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from samplenorm.activations import IDENTITY
from samplenorm.deferred import count_all, plain
from samplenorm.layers import layers_of
from samplenorm.modules import BatchNorm, Model


def fuse(model: Model, on: bool = True) -> Model:
    """Switches fusing on or off: whether layers of samplenorm run together with the addition of a residual and the activation that
    follow them in training. The model stays what it is: its classes, its hooks, its state_dict and what it computes. `convert` has
    switched it on. Returns the model.

    >>> import torch, samplenorm as sn
    >>> model = sn.convert(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()))
    >>> _ = model(torch.randn(4, 3, 8, 8))
    >>> print(sn.report(model))
    1 of 1 norms ran with what follows: 1 with relu
    >>> _ = sn.fuse(model, False)(torch.randn(4, 3, 8, 8))
    >>> print(sn.report(model))
    0 of 1 norms ran with what follows
      1 alone (fusing is off)
    """
    for layer in layers_of(model, "fuse"):
        layer.waits = on and layer is not model  # what a single layer gives is nobody's to make plain
    remove_hooks(model)
    if on and not isinstance(model, BatchNorm):
        model.register_forward_pre_hook(_watch_shards)
        model.register_forward_hook(_plain_outputs, prepend=True)
    return model


def remove_hooks(model: nn.Module) -> None:
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for number, hook in list(hooks.items()):
                if hook is _plain_outputs or hook is _watch_shards:
                    del hooks[number]


def _plain_outputs(module: nn.Module, args: Any, outputs: Any) -> Any:
    """What leaves the model is plain, and all of its batches are counted."""
    if torch.compiler.is_compiling():
        return None
    outputs = plain(outputs)
    count_all()
    return outputs


def _watch_shards(model: nn.Module, args: Any) -> None:
    """What leaves a module that `fully_shard` or FullyShardedDataParallel serves is plain, too: the parameters that a layer would read later
    are freed there."""
    if torch.compiler.is_compiling():
        return
    for module in _shards(model):
        if _plain_outputs not in module._forward_hooks.values():
            module.register_forward_hook(_plain_outputs, prepend=True)


def _shards(model: nn.Module) -> list[nn.Module]:
    fsdp = sys.modules.get("torch.distributed.fsdp")
    if fsdp is None:
        return []
    found = [module for module in model.modules() if isinstance(module, (fsdp.FSDPModule, fsdp.FullyShardedDataParallel))]
    # FullyShardedDataParallel frees parameters after the module that it has wrapped, and before its own hooks.
    return [module.module if isinstance(module, fsdp.FullyShardedDataParallel) else module for module in found]


@dataclass
class Report:
    """How the layers ran in the last training step; as a string, in words."""

    activation: dict[str, str] = field(default_factory=dict)  #: layers that ran with an activation: its name
    residual: list[str] = field(default_factory=list)  #: layers that ran with the addition of a residual
    residual_activation: dict[str, str] = field(default_factory=dict)  #: layers that ran with both: the activation's name
    alone: dict[str, str] = field(default_factory=dict)  #: layers that ran alone, and what used their output
    unused: list[str] = field(default_factory=list)  #: layers that have not run in training

    @property
    def fused(self) -> int:
        return len(self.activation) + len(self.residual) + len(self.residual_activation)

    def __str__(self) -> str:
        kinds = [f"{count} with {name}" for name, count in Counter(self.activation.values()).items()]
        kinds += [f"{len(self.residual)} with a residual"] * bool(self.residual)
        kinds += [f"{count} with a residual and {name}" for name, count in Counter(self.residual_activation.values()).items()]
        text = f"{self.fused} of {self.fused + len(self.alone)} norms ran with what follows"
        text += ": " + ", ".join(kinds) if kinds else ""
        for why, count in Counter(self.alone.values()).most_common():
            text += f"\n  {count} alone ({why})"
        return text + (f"\n  {len(self.unused)} have not run in training" if self.unused else "")


def report(model: nn.Module) -> Report:
    """How the layers of samplenorm ran in the last training step: with what they were fused, and why others ran alone. Layers that ran
    under torch.compile are not counted: there `torch.compile(model, backend="samplenorm")` fuses them."""
    found = Report()
    for name, layer in _named(model):
        if layer.last_run is None:
            found.unused.append(name)
            continue
        residual, activation, used_by = layer.last_run
        if residual and activation != IDENTITY:
            found.residual_activation[name] = activation
        elif residual:
            found.residual.append(name)
        elif activation != IDENTITY:
            found.activation[name] = activation
        else:
            found.alone[name] = used_by and f"its output went to {used_by}" or ("fusing is off" if not layer.waits else "it did not wait")
    return found


def _named(model: nn.Module) -> Iterable[tuple[str, BatchNorm]]:
    layers_of(model, "report")
    return ((name, module) for name, module in model.named_modules() if isinstance(module, BatchNorm))
