"""Finds normalizations that a ReLU follows, directly or behind a residual's addition, and makes each one call."""

import logging
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional

from samplenorm.activation import NormAct
from samplenorm.hooks import has_hooks
from samplenorm.modules import BatchNorm

log = logging.getLogger("samplenorm")

_RELU_FUNCTIONS = {functional.relu, torch.relu, torch.relu_, functional.relu_}
_ADD_FUNCTIONS = {operator.add, operator.iadd, torch.add}


@dataclass
class Fusion:
    """What `fuse` did; as a string, in words."""

    relu: list[str] = field(default_factory=list)  #: names of layers with a ReLU
    residual: list[str] = field(default_factory=list)  #: names of layers with a residual and a ReLU
    failed: dict[str, str] = field(default_factory=dict)  #: modules that could not be traced, and why

    def __str__(self) -> str:
        text = f"{len(self.relu)} layers with ReLU and {len(self.residual)} with residual and ReLU are one call each"
        for name, why in self.failed.items():
            text += f"; {name or 'the model'} as a whole could not be traced ({why})"
        return text


class _Proxy(fx.Proxy):
    """Writes in place where the model does: fx itself takes `a += b` for `a = a + b`, which others who hold `a` would notice."""


for _name in ("iadd", "isub", "imul", "itruediv"):
    def _in_place(self: fx.Proxy, other: Any, _target: Any = getattr(operator, _name)) -> fx.Proxy:
        return self.tracer.create_proxy("call_function", _target, (self, other), {})

    setattr(_Proxy, f"__{_name}__", _in_place)


class _Tracer(fx.Tracer):
    def proxy(self, node: fx.Node) -> fx.Proxy:
        return _Proxy(node, self)

    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        return isinstance(module, BatchNorm) or super().is_leaf_module(module, name)


def fuse(model: nn.Module, *, report: Callable[[Fusion], object] | None = None) -> nn.Module:
    """A model that computes the same, in which normalization, addition of a residual and ReLU are one pass over the data. It shares all
    parameters and buffers with `model`, has the same state_dict, and is a torch.fx.GraphModule: methods other than forward are gone.

    Where the model as a whole cannot be traced, its parts are tried; what cannot be traced stays as it was, and `report`, which is
    called with what was done, has the reason. It is also logged, at level INFO, or WARNING if nothing could be traced. Layers and ReLUs
    with hooks stay apart, so that the hooks see what they saw.

    >>> import torch, samplenorm as sn
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    >>> fused = sn.fuse(sn.convert(model, "LS-1/64"), report=print)
    1 layers with ReLU and 0 with residual and ReLU are one call each
    """
    if not any(isinstance(module, BatchNorm) for module in model.modules()):
        raise ValueError("samplenorm.fuse: expected a model with layers of samplenorm, got none: call samplenorm.convert first")
    done = Fusion()
    fused = _fused(model, "", done)
    log.log(logging.WARNING if done.failed and not (done.relu or done.residual) else logging.INFO, "%s", done)
    if report is not None:
        report(done)
    return fused


def _fused(module: nn.Module, name: str, done: Fusion) -> nn.Module:
    if isinstance(module, BatchNorm) or not any(isinstance(part, BatchNorm) for part in module.modules()):
        return module
    try:
        graph = _traced(module)
    except Exception as error:  # whatever the model's own code raises when it meets a proxy
        done.failed[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        for child_name, child in module.named_children():
            setattr(module, child_name, _fused(child, f"{name}.{child_name}".lstrip("."), done))
        return module
    result = fx.GraphModule(module, graph, type(module).__name__)
    _put_together(result, name, done)
    _arrange_like(result, module)
    return result


def _arrange_like(graph_module: nn.Module, original: nn.Module) -> None:
    """Gives it the original's modes, and all of its parts in their order, those too that the graph does not use: state_dict and
    parameters() stay the same."""
    graph_module.training = original.training
    for name in ("_parameters", "_buffers", "_modules"):
        parts, theirs = getattr(graph_module, name), getattr(original, name)
        arranged = {key: parts.get(key, value) for key, value in theirs.items()}
        parts.clear()
        parts.update(arranged)
    for name, child in original._modules.items():
        mine = graph_module._modules[name]
        if child is not None and mine is not None and mine is not child:
            _arrange_like(mine, child)


class _Untraceable(Exception):
    pass


def _traced(module: nn.Module) -> fx.Graph:
    """Its graph, if that is the same in training and in evaluation: what it is now would be its graph for ever."""
    for name, part in module.named_modules():
        inner = not (isinstance(part, BatchNorm) or part.__module__.startswith("torch.nn")) or isinstance(part, nn.Sequential)
        if inner and has_hooks(part):
            raise _Untraceable(f"{name or 'it'} has hooks, which a graph does not call")
    modes = [(part, part.training) for part in module.modules()]
    try:
        graphs = []
        for mode in (True, False):
            module.train(mode)
            graphs.append(_Tracer().trace(module))
    finally:
        for part, mode in modes:
            part.training = mode
    if str(graphs[0]) != str(graphs[1]):
        raise _Untraceable("it computes something else in training than in evaluation")
    return graphs[0]


def _put_together(module: fx.GraphModule, prefix: str, done: Fusion) -> None:
    for node in list(module.graph.nodes):  # timm's networks have them between norm and ReLU
        if node.op == "call_module" and _is_plain(_part(node, module), nn.Identity) and len(node.args) == 1:
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    order = {node: place for place, node in enumerate(module.graph.nodes)}
    for relu in list(module.graph.nodes):
        if not _is_relu(relu, module):
            continue
        before = relu.all_input_nodes[0]
        norm, residual = (before, None) if _is_norm(before, module) else _norm_and_residual(before, module, order)
        if norm is None or len(before.users) > 1:
            continue
        if residual is not None and not _may_wait(norm, relu):
            continue
        # With the residual it waits until that is there; without, it stays where it is.
        with module.graph.inserting_before(norm if residual is None else relu):
            kwargs: dict[str, Any] = {"relu": True} if residual is None else {"residual": residual, "relu": True}
            fused = module.graph.call_module(str(norm.target), norm.args, kwargs)
        relu.replace_all_uses_with(fused)
        for node in dict.fromkeys((relu, before, norm)):
            module.graph.erase_node(node)
        (done.relu if residual is None else done.residual).append(f"{prefix}.{norm.target}".lstrip("."))
    module.graph.lint()
    module.recompile()


def take_apart(module: fx.GraphModule) -> None:
    """Undoes what _put_together() did."""
    for node in list(module.graph.nodes):
        if not (node.op == "call_module" and node.kwargs.get("relu") is True and _is_layer(node, module)):
            continue
        with module.graph.inserting_after(node):
            relu = module.graph.call_function(functional.relu, (node,))
        node.replace_all_uses_with(relu, delete_user_cb=lambda user, relu=relu: user is not relu)
        residual = node.kwargs.get("residual")
        node.kwargs = {}
        if residual is not None:
            with module.graph.inserting_before(relu):
                relu.args = (module.graph.call_function(operator.add, (node, residual)),)
    module.graph.lint()
    module.recompile()


def _part(node: fx.Node, module: fx.GraphModule) -> nn.Module:
    return module.get_submodule(str(node.target))


def _is_layer(node: fx.Node, module: fx.GraphModule) -> bool:
    layer = _part(node, module)
    return isinstance(layer, BatchNorm) and not isinstance(layer, NormAct) and not layer.relu


def _is_norm(node: fx.Node, module: fx.GraphModule) -> bool:
    """A layer of ours that may do more than before: nobody else looks at what it gives."""
    return (node.op == "call_module" and _is_layer(node, module) and not has_hooks(_part(node, module)) and
            not node.kwargs and len(node.args) == 1 and len(node.users) == 1)


def _is_plain(part: nn.Module, kind: type[nn.Module]) -> bool:
    """Of this very class, and without hooks: nobody would miss the call."""
    return type(part) is kind and not has_hooks(part)


def _is_relu(node: fx.Node, module: fx.GraphModule) -> bool:
    if node.op == "call_module":
        return _is_plain(_part(node, module), nn.ReLU)
    return (node.op == "call_function" and node.target in _RELU_FUNCTIONS) or (
        node.op == "call_method" and node.target in ("relu", "relu_"))


def _norm_and_residual(node: fx.Node, module: fx.GraphModule, order: dict[fx.Node, int]) -> tuple[fx.Node | None, Any]:
    is_sum = (node.op == "call_function" and node.target in _ADD_FUNCTIONS) or (node.op == "call_method" and node.target in ("add", "add_"))
    if not is_sum or node.kwargs or len(node.args) != 2:
        return None, None
    first, second = node.args
    if not isinstance(first, fx.Node) or not isinstance(second, fx.Node):
        return None, None
    pairs = [(first, second)]
    if node.target not in (operator.iadd, "add_"):  # which write to the first: the residual must not change
        # The later of two norms: the other one, a shortcut's, need not wait for it.
        pairs = sorted([(first, second), (second, first)], key=lambda pair: -order.get(pair[0], -1))
    for norm, residual in pairs:
        if norm is not residual and _is_norm(norm, module):
            return norm, residual
    return None, None


def _may_wait(norm: fx.Node, relu: fx.Node) -> bool:
    """Whether nothing that lies between them writes to what the norm reads."""
    node = norm.next
    while node is not relu:
        if norm.args[0] in node.all_input_nodes:
            return False
        node = node.next
    return True
