"""From torch's BatchNorm to ours in a whole model, and back."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.lazy import LazyModuleMixin

from samplenorm.activation import NormAct, replaces_norm_act
from samplenorm.draws import set_seed
from samplenorm.few_points import FewPoints
from samplenorm.fusion import take_apart
from samplenorm.modules import BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, Model
from samplenorm.processes import are_there, check_processes
from samplenorm.processes import sync as sync_layers
from samplenorm.virtual_batch import VirtualBatch

log = logging.getLogger("samplenorm")
Layer = TypeVar("Layer", bound=nn.Module)

_OURS: dict[type[nn.Module], type[BatchNorm]] = {
    nn.BatchNorm1d: BatchNorm1d, nn.BatchNorm2d: BatchNorm2d, nn.BatchNorm3d: BatchNorm3d, nn.SyncBatchNorm: BatchNorm,
}
_TORCHS = {BatchNorm1d: nn.BatchNorm1d, BatchNorm2d: nn.BatchNorm2d, BatchNorm3d: nn.BatchNorm3d, BatchNorm: nn.SyncBatchNorm}


@dataclass
class Conversion:
    """What `convert` did; as a string, in words."""

    spec: str
    changed: list[str] = field(default_factory=list)  #: names of the layers that are ours now
    left: dict[str, str] = field(default_factory=dict)  #: names of the other normalizations, and why they stay

    def __str__(self) -> str:
        text = f"{len(self.changed)} layers take their statistics by {self.spec}"
        if self.left:
            text += f"; {len(self.left)} stay as they were: " + ", ".join(f"{name} ({why})" for name, why in self.left.items())
        return text


def convert(model: Model, spec: str = "LS-1/64", *, only: Callable[[str, nn.Module], bool] | Iterable[str] | None = None,
            seed: int = 0, sync: bool = False, process_group: "dist.ProcessGroup | None" = None, lean: bool = False,
            report: Callable[[Conversion], object] | None = None) -> Model:
    """Lets every BatchNorm1d/2d/3d and SyncBatchNorm of the model take its statistics from a sample.

    Layers are replaced within the model, and keep their parameters (the same objects: an optimizer goes on with them), statistics,
    device, type, hooks, modes and any other attribute. Layers of samplenorm get the new notation.

    Args:
        spec: the notation, "LS-1/64", "FS-1/64+VDN-2/128", ...
        only: which layers: a function of (name, layer), or their names, in which * stands for anything.
        seed: of all draws.
        sync: whether samples are pooled over processes; always so for what was a SyncBatchNorm. See `samplenorm.sync`.
        lean: see `BatchNorm`.
        report: is called with what was changed; it is logged at level INFO in any case.

    Returns the model, or the new layer where the model is a single one.

    >>> import torch, samplenorm as sn
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    >>> sn.convert(model, "FS-1/64", report=print)[1]
    1 layers take their statistics by FS-1/64
    BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True, spec='FS-1/64')
    """
    example = BatchNorm(1, spec=spec)  # what is wrong with the arguments is found before anything is changed
    example.change_draws(seed=seed)
    done = Conversion(example.spec)
    virtual_batches = [module for module in model.modules() if isinstance(module, VirtualBatch)]
    for virtual in virtual_batches if example.virtual_rows else ():
        virtual.check_rows(example.virtual_rows)
    if sync:
        check_processes("convert")
    wanted = _selection(only)
    names = {id(module): name for name, module in model.named_modules()}

    def replacement(module: nn.Module) -> nn.Module:
        if not isinstance(module, _BatchNorm):
            return module
        name = names[id(module)]
        if not wanted(name, module):
            done.left[name] = "not chosen"
        elif isinstance(module, BatchNorm):
            module.set_spec(spec)
            module.lean = module.lean or lean
            done.changed.append(name)
        elif (why := _cannot(module)) is not None:
            done.left[name] = why
        else:
            done.changed.append(name)
            return _ours(module, spec, lean)
        return module

    model = cast(Model, _replace(model, replacement))
    if not done.changed:
        raise ValueError("samplenorm.convert: expected a model with BatchNorm1d, 2d, 3d or SyncBatchNorm"
                         f"{' that `only` chooses' if only is not None else ''}, got none" +
                         (f"; {done}" if done.left else ""))
    set_seed(model, seed)
    _watch_points(model)
    for virtual in virtual_batches:
        virtual.serve_layers()
    for layer in model.modules():
        if isinstance(layer, BatchNorm):
            was_sync = layer.original is nn.SyncBatchNorm
            if sync or (was_sync and are_there()):
                sync_layers(layer, process_group or getattr(layer, "process_group", None))
    log.info("%s", done)
    if report is not None:
        report(done)
    return model


def restore(model: Model) -> Model:
    """Gives every layer of samplenorm its class of torch back, with the same parameters and statistics: evaluation does not change, to
    the last bit. What `fuse` put together is taken apart.

    >>> import torch, samplenorm as sn
    >>> model = sn.convert(torch.nn.Sequential(torch.nn.BatchNorm2d(8)), "LS-1/64")
    >>> sn.restore(model)[0]
    BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """
    for module in model.modules():
        if isinstance(module, torch.fx.GraphModule):
            take_apart(module)
    return cast(Model, _replace(model, lambda module: _torchs(module) if isinstance(module, BatchNorm) else module))


def _watch_points(model: nn.Module) -> None:
    """One warning of few points for all layers."""
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, BatchNorm) and not layer.spec.startswith("BN")}
    watch = FewPoints(layers)
    for name, layer in layers.items():
        layer.few_points = (watch, name)


def _selection(only: Callable[[str, nn.Module], bool] | Iterable[str] | None) -> Callable[[str, nn.Module], bool]:
    if only is None:
        return lambda name, module: True
    if callable(only):
        return only
    patterns = [only] if isinstance(only, str) else list(only)
    return lambda name, module: any(fnmatchcase(name, pattern) for pattern in patterns)


def _cannot(module: _BatchNorm) -> str | None:
    if replaces_norm_act(module):
        return None
    if isinstance(module, LazyModuleMixin):
        return f"a {type(module).__name__} that has not seen an input yet"
    if type(module) not in _OURS:
        return f"a {type(module).__name__}, whose forward is its own"
    return None


def _ours(module: _BatchNorm, spec: str, lean: bool) -> BatchNorm:
    layer = _with_class(module, NormAct if replaces_norm_act(module) else _OURS[type(module)])
    layer.set_up(spec, lean=lean)
    layer.original = type(module)
    return layer


#: What set_up() gives a layer.
_ADDED = set(BatchNorm(1).__dict__) - set(nn.BatchNorm2d(1).__dict__)


def _torchs(layer: BatchNorm) -> nn.Module:
    if layer.relu:
        raise ValueError(f"samplenorm.restore: expected layers without a ReLU of their own, got {layer}")
    plain: nn.Module = _with_class(layer, layer.original or _TORCHS[type(layer)])
    for name in _ADDED:
        plain.__dict__.pop(name, None)
    return plain


def _with_class(module: nn.Module, kind: type[Layer]) -> Layer:
    """The module's twin of another class: the same parameters, buffers, hooks and attributes."""
    twin = kind.__new__(kind)
    for name, value in module.__dict__.items():
        twin.__dict__[name] = value.copy() if isinstance(value, dict) else value
    return twin


def _replace(model: nn.Module, replacement: Callable[[nn.Module], nn.Module]) -> nn.Module:
    """Each module once, however often the model has it."""
    known: dict[int, nn.Module] = {}
    for module in list(model.modules()):
        known[id(module)] = replacement(module)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if known[id(child)] is not child:
                setattr(module, name, known[id(child)])
    return known[id(model)]
