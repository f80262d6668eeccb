"""From torch's BatchNorm to ours in a whole model, and back. A layer stays the same object, and only its class changes: whoever holds it,
hooks it or shares it goes on as before."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.lazy import LazyModuleMixin

from samplenorm import fusing
from samplenorm.activations import IDENTITY
from samplenorm.few_points import FewPoints
from samplenorm.known_layers import NormAct, dense_layer_for, norm_act_class
from samplenorm.modules import BatchNorm, Model, SampledBatchNorm1d, SampledBatchNorm2d, SampledBatchNorm3d
from samplenorm.processes import are_there, check_processes
from samplenorm.processes import sync as sync_layers
from samplenorm.virtual_batch import VirtualBatch

log = logging.getLogger("samplenorm")

_OURS: dict[type[nn.Module], type[BatchNorm]] = {
    nn.BatchNorm1d: SampledBatchNorm1d, nn.BatchNorm2d: SampledBatchNorm2d, nn.BatchNorm3d: SampledBatchNorm3d,
    nn.SyncBatchNorm: BatchNorm,
}
_TORCHS = {ours: torchs for torchs, ours in _OURS.items()}


@dataclass
class Conversion:
    """What `convert` did; as a string, in words."""

    spec: str
    changed: list[str] = field(default_factory=list)  #: names of the layers that are ours now
    left: dict[str, str] = field(default_factory=dict)  #: names of the other normalizations, and why they stay

    def __str__(self) -> str:
        text = f"{len(self.changed)} layers take their statistics by {self.spec}"
        if self.left:
            reasons: dict[str, list[str]] = {}
            for name, why in self.left.items():
                reasons.setdefault(why, []).append(name)
            text += f"; {len(self.left)} stay as they were: " + ", ".join(f"{_some(names)} ({why})" for why, names in reasons.items())
        return text


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def convert(model: Model, spec: str = "LS-1/64", *, fuse: bool = True,
            only: Callable[[str, nn.Module], bool] | Iterable[str] | None = None, seed: int = 0, sync: bool = False,
            process_group: "dist.ProcessGroup | None" = None, lean: bool = False,
            report: Callable[[Conversion], object] | None = None) -> Model:
    """Lets every BatchNorm1d/2d/3d and SyncBatchNorm of the model take its statistics from a sample.

    Layers stay the same objects, of another class that is a subclass of what they were (but for SyncBatchNorm). They keep their
    parameters, statistics, device, type, hooks, modes and any other attribute. Layers of samplenorm get the new notation.

    Args:
        spec: the notation, "LS-1/64", "FS-1/64+VDN-2/128", ...; `samplenorm.methods()` explains it.
        fuse: whether layers run together with the addition of a residual and the activation that follow; see `samplenorm.fuse`.
        only: which layers: a function of (name, layer), or their names, in which * stands for anything.
        seed: of all draws.
        sync: whether samples are pooled over processes; always so for what was a SyncBatchNorm. See `samplenorm.sync`.
        lean: see `BatchNorm`.
        report: is called with what was changed. It is logged, too, at level INFO, or WARNING if normalizations had to stay as they were.

    Returns the model.

    >>> import torch, samplenorm as sn
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    >>> sn.convert(model, "FS-1/64", report=print)[1]
    1 layers take their statistics by FS-1/64
    SampledBatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True, spec='FS-1/64')
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"samplenorm.convert: expected a torch.nn.Module and then a notation, got a {type(model).__name__} first")
    example = BatchNorm(1, spec=spec)  # what is wrong with the arguments is found before anything is changed
    example.change_draws(seed=seed)
    done = Conversion(example.spec)
    virtual_batches = [module for module in model.modules() if isinstance(module, VirtualBatch)]
    for virtual in virtual_batches if example.virtual_rows else ():
        virtual.check_rows(example.virtual_rows)
    if sync:
        check_processes("convert")
    wanted = _selection(only)
    for name, module in list(model.named_modules()):
        if not isinstance(module, _BatchNorm):
            continue
        if not wanted(name, module):
            done.left[name] = "not chosen"
        elif isinstance(module, BatchNorm):
            module.spec = spec
            module.lean = module.lean or lean
            done.changed.append(name)
        elif (why := _cannot(module)) is not None:
            done.left[name] = why
        else:
            _make_ours(module, spec, lean)
            done.changed.append(name)
    if not done.changed:
        raise ValueError("samplenorm.convert: expected a model with BatchNorm1d, 2d, 3d or SyncBatchNorm"
                         f"{' that `only` chooses' if only is not None else ''}, got none" +
                         (f"; {done}" if done.left else ""))
    for module in model.modules():
        if isinstance(module, BatchNorm):
            module.change_draws(seed=seed)
            if sync or (module.original is nn.SyncBatchNorm and are_there()):
                sync_layers(module, process_group or getattr(module, "process_group", None))
        elif (serving := dense_layer_for(type(module))) is not None:
            module.__class__ = _combined(serving, type(module))
    _watch_points(model)
    for virtual in virtual_batches:
        virtual.serve_layers()
    fusing.fuse(model, fuse)
    log.log(logging.WARNING if any(why != "not chosen" for why in done.left.values()) else logging.INFO, "%s", done)
    if report is not None:
        report(done)
    return model


def restore(model: Model) -> Model:
    """Gives every layer of samplenorm its class of torch back, with the same parameters and statistics: evaluation does not change, to
    the last bit. A `VirtualBatch` adds no rows any more. Returns the model.

    >>> import torch, samplenorm as sn
    >>> model = sn.convert(torch.nn.Sequential(torch.nn.BatchNorm2d(8)), "LS-1/64")
    >>> sn.restore(model)[0]
    BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """
    layers = [module for module in model.modules() if isinstance(module, BatchNorm)]
    for layer in layers:
        if layer.activation != IDENTITY:
            raise ValueError(f"samplenorm.restore: expected layers without an activation of their own, got {layer}")
    fusing.remove_hooks(model)
    for layer in layers:
        layer.__class__ = layer.original or _TORCHS[type(layer)]  # type: ignore[assignment]
        for name in _ADDED:
            layer.__dict__.pop(name, None)
    for module in model.modules():
        if isinstance(module, VirtualBatch):
            module.is_needed = False
        elif (combined := _COMBINED.get(type(module))) is not None:
            module.__class__ = combined
    return model


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
    if isinstance(module, LazyModuleMixin):
        return f"a {type(module).__name__} that has not seen an input yet"
    if _ours_for(type(module)) is None:
        return f"a {type(module).__name__}, whose forward is its own"
    return None


def _ours_for(kind: type[nn.Module]) -> type[BatchNorm] | None:
    """Our class for torch's, timm's or a subclass of torch's that computes what torch's does."""
    if kind in _OURS:
        return _OURS[kind]
    if kind is norm_act_class():
        return _combined(NormAct, kind)
    for torchs, ours in _OURS.items():
        if issubclass(kind, torchs) and kind.forward is torchs.forward and torchs is not nn.SyncBatchNorm:
            return _combined(ours, kind)
    return None


#: Classes that are ours and others' at once, by the two; and the others' by them.
_MADE: dict[tuple[type, type], type] = {}
_COMBINED: dict[type, type] = {}


def _combined(ours: type, kind: type) -> Any:
    """A class that is both, named as the other's. Its objects can be copied, and pickled if the other's can be imported."""
    if (ours, kind) in _MADE:
        return _MADE[ours, kind]

    def reduce_ex(self: Any, protocol: Any) -> Any:
        state = self.__getstate__() if isinstance(self, BatchNorm) else self.__dict__
        return _made_again, (ours, kind), state

    combined = type(kind.__name__, (ours, kind), {"__reduce_ex__": reduce_ex, "__module__": kind.__module__, "__doc__": ours.__doc__})
    _MADE[ours, kind], _COMBINED[combined] = combined, kind
    return combined


def _made_again(ours: type, kind: type) -> Any:
    return object.__new__(_combined(ours, kind))


def _make_ours(module: _BatchNorm, spec: str, lean: bool) -> None:
    kind = type(module)
    ours = _ours_for(kind)
    assert ours is not None
    module.__class__ = ours
    assert isinstance(module, BatchNorm)
    module.set_up(spec, lean=lean)
    module.original = kind


#: What set_up() and training give a layer.
_ADDED = (set(BatchNorm(1).__dict__) | {"last_run", "_uncounted"}) - set(nn.BatchNorm2d(1).__dict__)
