"""torch.compile(model, backend="samplenorm"): inductor, after a pass that fuses layers with what follows them.

Under torch.compile layers do not wait (samplenorm.deferred). The pass works on Dynamo's graph, in which the operations in place are still
what they are and everything that the model does is a node, so that what may be fused can be seen."""

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx
from torch.nn import functional as F

from samplenorm import activations
from samplenorm.activations import IDENTITY
from samplenorm._library import ops

_NORMS = (ops.sampled_batch_norm, ops.sampled_batch_norm.default)
_INPUTS, _RESIDUAL, _ACTIVATION = 0, 3, 7  # arguments of the operator
_RUNNING = slice(13, 16)
_ADDITIONS = (operator.add, operator.iadd, torch.add, "add", "add_")
_IN_PLACE = (operator.iadd, "add_")
_WRITING_OPERATORS = {operator.setitem, operator.delitem, *(getattr(operator, name) for name in (
    "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift", "isub", "itruediv", "ixor"))}


def backend(graph: fx.GraphModule, example_inputs: list[Any], **options: Any) -> Callable[..., Any]:
    """For torch.compile: fuses, and then compiles as inductor does."""
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(fused(graph), example_inputs, **options)  # type: ignore[return-value]


def fused(graph: fx.GraphModule) -> fx.GraphModule:
    """The graph with each layer, the concatenation before it, and the residual and the activation after it as one call."""
    modes = _modes(graph.graph)
    for node in list(graph.graph.nodes):
        if node.op != "call_function" or node.target not in _NORMS:
            continue
        _take_concatenation(node, modes)
        output = _output_of(node)
        if output is not None and _argument(node, _ACTIVATION, IDENTITY) == IDENTITY:
            _take_addition(node, output, modes)
            _take_activation(node, output, modes)
    graph.graph.lint()
    graph.recompile()
    return graph


def _modes(graph: fx.Graph) -> dict[fx.Node, tuple[bool, int]]:
    """Of each node: whether gradients are on, and how many other changes of modes (autocast) come before it."""
    modes: dict[fx.Node, tuple[bool, int]] = {}
    gradients, changes = torch.is_grad_enabled(), 0
    for node in graph.nodes:
        name = getattr(node.target, "__name__", "")
        if name == "_set_grad_enabled":
            gradients = bool(node.args[0])
        elif name.startswith(("_enter_", "_exit_")):
            changes += 1
        modes[node] = (gradients, changes)
    return modes


def _argument(node: fx.Node, place: int, otherwise: Any = None) -> Any:
    return node.args[place] if len(node.args) > place else otherwise


def _set(node: fx.Node, place: int, value: Any) -> None:
    args = list(node.args)
    args[place] = value
    node.args = tuple(args)


def _output_of(norm: fx.Node) -> fx.Node | None:
    outputs = [user for user in norm.users if user.target is operator.getitem and user.args[1] == 0]
    return outputs[0] if len(outputs) == 1 and len(norm.args) > _ACTIVATION else None


def _only_user(node: fx.Node) -> fx.Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _between(first: fx.Node, last: fx.Node) -> list[fx.Node]:
    nodes, node = [], first.next
    while node is not last:
        nodes.append(node)
        node = node.next
    return nodes


def _may_write(node: fx.Node) -> bool:
    """Whether it may write to one of its arguments, other than running statistics."""
    target: Any = node.target
    if node.op in ("placeholder", "get_attr", "output") or target in _NORMS:
        return False
    schemas = [getattr(target, "_schema", None), getattr(getattr(target, "default", None), "_schema", None)]
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    return bool(node.kwargs.get("inplace") or "out" in node.kwargs or any(arg is True for arg in node.args[1:]) or
                any(schema is not None and schema.is_mutable for schema in schemas) or name.endswith("_") or target in _WRITING_OPERATORS)


def _share_buffers(nodes: list[fx.Node], others: list[fx.Node]) -> bool:
    """Whether the others use running statistics that the nodes move."""
    buffers = {buffer for node in nodes if node.target in _NORMS for buffer in node.args[_RUNNING]}
    return any(buffer in other.all_input_nodes for other in others for buffer in buffers)


def _sizes_and_type(node: Any) -> Any:
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    return (value.shape, value.dtype, value.device) if isinstance(value, Tensor) else None


def _take_concatenation(norm: fx.Node, modes: dict[fx.Node, Any]) -> None:
    inputs = _argument(norm, _INPUTS, [])
    if len(inputs) != 1 or _argument(norm, _RESIDUAL) is not None:
        return
    whole = inputs[0]
    is_cat = isinstance(whole, fx.Node) and whole.target in (torch.cat, torch.concat) and isinstance(_argument(whole, 0), (list, tuple))
    if not is_cat or modes[whole] != modes[norm] or len(whole.users) != 1 or (_argument(whole, 1, whole.kwargs.get("dim", 0)) != 1) or "out" in whole.kwargs:
        return
    parts = list(whole.args[0])
    kinds = [_sizes_and_type(part) for part in parts]
    if None in kinds or any(kind[1:] != kinds[0][1:] for kind in kinds) or any(map(_may_write, _between(whole, norm))):
        return
    _set(norm, _INPUTS, parts)
    norm.graph.erase_node(whole)


def _take_addition(norm: fx.Node, output: fx.Node, modes: dict[fx.Node, Any]) -> None:
    total = _only_user(output)
    if total is None or modes[norm] != modes[total] or total.target not in _ADDITIONS or total.kwargs or len(total.args) != 2 or len(_argument(norm, _INPUTS)) != 1:
        return
    first, second = total.args
    if first is second or (total.target in _IN_PLACE and first is not output):
        return
    residual = second if first is output else first
    if _sizes_and_type(residual) is None or _sizes_and_type(residual) != _sizes_and_type(output):
        return
    between = _between(norm, total)
    if any(map(_may_write, between)):
        return
    # The norm waits for its residual, and all that depends on the norm waits with it.
    waiting = [norm]
    for node in between:
        if any(source in waiting for source in node.all_input_nodes):
            waiting.append(node)
    if residual in waiting or _share_buffers(waiting, [node for node in between if node not in waiting]):
        return
    for node in waiting:
        total.prepend(node)
    _set(norm, _RESIDUAL, residual)
    total.replace_all_uses_with(output)
    norm.graph.erase_node(total)


def _take_activation(norm: fx.Node, output: fx.Node, modes: dict[fx.Node, Any]) -> None:
    activation = _only_user(output)
    name = _name_of(activation) if activation is not None else None
    if activation is None or name is None or modes[norm] != modes[activation]:
        return
    if _argument(norm, _RESIDUAL) is not None and not activations.follows_residual(name):
        return
    _set(norm, _ACTIVATION, name)
    activation.replace_all_uses_with(output)
    norm.graph.erase_node(activation)


def _name_of(node: fx.Node) -> str | None:
    """The activation that a node is."""
    def argument(place: int, name: str, otherwise: Any) -> Any:
        return _argument(node, place, node.kwargs.get(name, otherwise))

    target: Any = node.target
    if target in (torch.relu, torch.relu_, F.relu, "relu", "relu_"):
        return "relu"
    if target is F.hardtanh and (argument(1, "min_val", -1.0), argument(2, "max_val", 1.0)) == (0, 6):
        return "relu6"
    if target is F.leaky_relu:
        return activations.leaky_relu(argument(1, "negative_slope", 0.01))
    if target is F.elu:
        return activations.elu(argument(1, "alpha", 1.0))
    if target is F.gelu:
        return activations.gelu(argument(1, "approximate", "none"))
    names = {F.relu6: "relu6", F.silu: "silu", F.hardswish: "hardswish"}
    return names.get(target)


def _register() -> None:
    from torch._dynamo import register_backend

    register_backend(backend, name="samplenorm")


_register()
