"""Normalizations that wait for what follows them.

In training a layer returns a `Waiting` tensor: it knows its shape and type, and has not run yet. An addition of a residual or an activation
that comes next is taken in, and all of it runs as one call. Any other use makes it run at once. Nothing is traced, so a model's control
flow, modes, hooks and classes stay what they are:

- A waiting tensor that has run becomes a plain one, the same object. In-place operations change that object. Other operations leave it
  waiting: reading it later computes its plain value anew from the layer's input. What took it in does not pass gradients through that value,
  so asking for its gradient then raises. The running statistics count each call of a layer once, at the latest when the model returns.
- It runs with gradients on, as at the layer's call. If what it has to read was changed meanwhile, it raises. (Writes through `.data`
  cannot be seen.)
- A layer does not wait where something else watches: without gradients, under saved-tensor hooks (and so within activation checkpointing),
  with statistics of several processes, in a transform, a mode or a tracer.
- Two things see the tensor without torch's Python functions: a torch.autograd.Function, whose gradient `_State.on_gradient` passes on (and
  whose layer does not wait again), and operators called from C++, such as TorchScript's, which __torch_dispatch__ refuses.
"""

import copy
import math
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch._C import DisableTorchFunctionSubclass
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

from samplenorm import activations
from samplenorm.activations import IDENTITY

if TYPE_CHECKING:
    from samplenorm.modules import BatchNorm

_saved_tensors_hooks = torch._C._autograd._top_saved_tensors_default_hooks
_set_hooks = torch._C.TensorBase._backward_hooks.__set__  # type: ignore[union-attr]
_PLAIN = (Tensor, nn.Parameter)
_IS_RESIDUAL = "another layer, whose residual it is"


class Call:
    """A training forward of a layer, with its arguments as they were."""

    def __init__(self, layer: "BatchNorm", inputs: Sequence[Tensor], key: Tensor, counted: bool) -> None:
        self.layer, self.inputs, self.key, self.counted = layer, inputs, key, counted
        self.parameters, self.spec, self.eps = (layer.weight, layer.bias), layer.spec, layer.eps
        self.running = layer.running_statistics()

    def run(self, residual: Tensor | None = None, activation: str = IDENTITY, lean: bool = False, by: str = "") -> Tensor:
        """`by` is what used the output, if nothing was taken in."""
        y: Tensor = self.layer.normalize(self, residual, activation, lean)
        if not torch.compiler.is_compiling():
            self.layer.__dict__["last_run"] = (residual is not None, activation, by)
        return y


class WaitingCall(Call):
    """One that runs later."""

    def __init__(self, layer: "BatchNorm", inputs: Sequence[Tensor], key: Tensor, counted: bool) -> None:
        super().__init__(layer, inputs, key, counted)
        self.versions = self._versions()
        self.thread = threading.get_ident()
        self.newest: weakref.ref[Waiting] | None = None  # tensor that waits

    def wait(self, activation: str) -> "Waiting":
        if not hasattr(_calls, "waiting"):
            _calls.waiting = []
        _calls.waiting.append(weakref.ref(self))
        return _make(_State(self, None, activation))

    def _versions(self) -> list[Any]:
        return [_version(tensor) for tensor in (*self.inputs, *self.parameters) if tensor is not None]

    def run(self, residual: Tensor | None = None, activation: str = IDENTITY, lean: bool = False, by: str = "") -> Tensor:
        if self._is_freed():
            self.counted = True
            raise RuntimeError("samplenorm: the weight of a layer was freed before the layer had run, which waits for an activation or an "
                               "addition that follows: call the whole model that was converted, or samplenorm.fuse(model, False)")
        if self.versions != self._versions():
            self.counted = True
            _raise_overwritten("the input or a parameter of a layer of samplenorm")
        try:
            return super().run(residual, activation, lean, by)
        except Exception:
            self.counted = True  # an error is told once
            raise

    def _is_freed(self) -> bool:
        """Whether the weight has no memory any more, as with `fully_shard` after a module's forward."""
        weight = self.parameters[0]
        return weight is not None and weight.untyped_storage().size() == 0 and weight.numel() > 0

    def count(self) -> None:
        """Runs what waits, so that the running statistics are those of this call. Other threads count their own."""
        if self.counted or self.thread != threading.get_ident():
            return
        waiting = self.newest and self.newest()
        if waiting is not None:
            plain(waiting)
        else:
            self._count_alone()

    def _count_alone(self) -> None:
        """Nobody has looked at what the layer gave; torch's layer would have counted the batch."""
        self.counted = True
        if self.versions != self._versions() or self._is_freed():
            warnings.warn("samplenorm: the input of a layer whose output nobody used was changed, so that its running statistics miss a "
                          "batch", stacklevel=2)
            return
        self.counted = False
        with torch.no_grad():
            self.layer.normalize(self, None, IDENTITY, False)

    def __del__(self) -> None:
        if not getattr(self, "counted", True) and not sys.is_finalizing() and torch._C._len_torch_dispatch_stack() == 0:
            self._count_alone()


_calls = threading.local()  # those of this thread that wait


def count_all() -> None:
    """Counts every call of this thread that waits."""
    waiting, _calls.waiting = getattr(_calls, "waiting", []), []
    for reference in waiting:
        if (call := reference()) is not None:
            call.count()


def _version(tensor: Tensor) -> tuple[int, bool, int]:
    """Another one after the tensor was written in place, detached in place or given other data."""
    return tensor._version, tensor.requires_grad, tensor.data_ptr()


class _State:
    """What a waiting tensor stands for: f(norm + residual)."""

    __slots__ = ("call", "residual", "residual_version", "activation", "value", "was_taken_in")

    def __init__(self, call: WaitingCall, residual: Tensor | None = None, activation: str = IDENTITY) -> None:
        self.call, self.residual, self.activation = call, residual, activation
        self.residual_version = None if residual is None else _version(residual)
        self.value: Tensor | None = None  # the result, if the waiting tensor could not be swapped for it
        self.was_taken_in = False  # by an operation that is not in place

    def activated(self, name: str) -> "_State":
        state = _State(self.call, self.residual, name)
        state.residual_version = self.residual_version
        return state

    def run(self, by: str, lean: bool = False) -> Tensor:
        """In the modes of the layer's call."""
        if self.residual is not None and _version(self.residual) != self.residual_version:
            _raise_overwritten("a tensor that was added to the output of a layer of samplenorm")
        if self.is_in_modes():
            return self.call.run(self.residual, self.activation, lean, by)
        with _modes_of_a_call():
            return self.call.run(self.residual, self.activation, lean, by)

    def is_in_modes(self) -> bool:
        return torch.is_grad_enabled() and not torch.is_inference_mode_enabled() and _saved_tensors_hooks(False) is None

    def can_add(self) -> bool:
        return self._is_open() and self.residual is None and len(self.call.inputs) == 1 and self.is_in_modes()

    def can_take(self, residual: Tensor) -> bool:
        x = self.call.inputs[0]
        return (self.can_add() and type(residual) in _PLAIN and residual.shape == x.shape and residual.dtype == x.dtype and
                residual.device == x.device and not residual.is_inference())

    def can_activate(self, name: str) -> bool:
        return (self._is_open() and (self.residual is None or activations.follows_residual(name)) and self.is_in_modes())

    def _is_open(self) -> bool:
        return self.call.layer.waits and self.activation == IDENTITY and self.value is None

    def on_gradient(self, gradient: Tensor) -> Tensor:
        """A torch.autograd.Function that took the waiting tensor for an input sends its gradient here, past the value's own graph."""
        message = ("samplenorm: a torch.autograd.Function got the output of a layer before it had run, and its gradient cannot be passed on "
                   "if torch.autograd.grad is used or backward runs twice: call samplenorm.fuse(model, False)")
        if torch.is_grad_enabled() or not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(message)
        try:
            torch.autograd.backward(self.run("a torch.autograd.Function"), gradient, retain_graph=True)
        except RuntimeError as error:
            raise RuntimeError(message) from error
        return gradient


def _raise_overwritten(what: str) -> None:
    raise RuntimeError(f"samplenorm: {what} was written in place, detached or replaced while the layer was still waiting for the operation "
                       "that follows it: write to a copy, or call samplenorm.fuse(model, False)")


@contextmanager
def _modes_of_a_call() -> Iterator[None]:
    """Gradients on, and no saved-tensor hooks: those that are active now are of another part of the model."""
    autograd = torch._C._autograd
    hooks = []
    while (top := _saved_tensors_hooks(False)) is not None:
        hooks.append(top)
        autograd._pop_saved_tensors_default_hooks()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for pack, unpack in reversed(hooks):
            autograd._push_saved_tensors_default_hooks(pack, unpack)


class Waiting(Tensor):
    """The output of a layer that has not run yet."""

    _state: _State

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _METADATA:
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if func in _ASK_FOR_GRADIENTS:
            _check_not_taken_in(args, kwargs)
        take = _TAKEN_IN.get(func)
        if take is not None:
            result = take(*args, **kwargs)
            if result is not NotImplemented:
                return result
        by = getattr(func, "__name__", str(func))
        if func in _KEEP_THEIR_INPUT and len(args) > 1 and _keeps_its_input(args[0], args[1]):
            _ran(args[0], by, lean=args[0]._state.call.layer.lean)
        return func(*_run(args, by), **_run(kwargs, by))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise RuntimeError(f"samplenorm: {func} got the output of a layer before it had run: call samplenorm.fuse(model, False), so that "
                           "layers do not wait for an activation that follows")


def _make(state: _State) -> Waiting:
    x = state.call.inputs[0]
    shape: Any = x.shape
    if len(state.call.inputs) > 1:
        shape = [x.size(0), sum(part.size(1) for part in state.call.inputs), *x.shape[2:]]
    waiting: Waiting = Tensor._make_wrapper_subclass(
        Waiting, shape, dtype=x.dtype, device=x.device, requires_grad=True)
    return _go_on_as(waiting, state)


def _go_on_as(waiting: Waiting, state: _State) -> Waiting:
    waiting._state = state
    state.call.newest = weakref.ref(waiting)
    with DisableTorchFunctionSubclass():
        _set_hooks(waiting, {0: state.on_gradient})
    return waiting


def plain(value: Any, by: str = "the end of the model") -> Any:
    """The same, with every waiting tensor in it run, since `by` uses it."""
    return _run(value, by)


def _run(value: Any, by: str) -> Any:
    """Containers stay the same objects, unless a waiting tensor in them could not become its value."""
    if type(value) is Waiting:
        return _ran(value, by)
    if isinstance(value, (list, tuple)):
        items = [_run(each, by) for each in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        entries = {key: _run(each, by) for key, each in value.items()}
        if all(entries[key] is old for key, old in value.items()):
            return value
        copied = copy.copy(value)
        for key, new in entries.items():
            copied[key] = new
        return copied
    return value


def _ran(waiting: Waiting, by: str, lean: bool = False) -> Tensor:
    if waiting._state.value is not None:
        return waiting._state.value
    return _become(waiting, waiting._state.run(by, lean))


def _become(waiting: Waiting, value: Tensor) -> Tensor:
    """Makes the waiting tensor the plain one, for all who have it. If C++ code holds the waiting tensor, or a hook or a mode may hold its
    value, they cannot be swapped: the value is then kept in `_state.value`."""
    with DisableTorchFunctionSubclass():
        is_held = waiting._use_count() > 1  # type: ignore[attr-defined]
        if is_held and not torch.is_grad_enabled():  # as in the forward of a torch.autograd.Function
            waiting._state.call.layer.waits = False
        if is_held or _saved_tensors_hooks(False) is not None or torch._C._len_torch_dispatch_stack() > 0:
            waiting._state.value = value
            return value
        del waiting._state
        _set_hooks(waiting, None)
        torch._C._swap_tensor_impl(waiting, value)
    waiting.__class__ = Tensor  # type: ignore[assignment]
    return waiting


def _activate(waiting: Any, name: str, in_place: bool) -> Any:
    if type(waiting) is not Waiting or not waiting._state.can_activate(name):
        return NotImplemented
    state = waiting._state
    state.was_taken_in = not in_place
    if state.call.layer.lean:  # the next operation decides whether y can be kept instead of x
        activated = state.activated(name)
        return _go_on_as(waiting, activated) if in_place else _make(activated)
    y = state.activated(name).run("")
    return _become(waiting, y) if in_place else y


def _add(input: Any, other: Any, in_place: bool = False, **options: Any) -> Any:
    if options:
        return NotImplemented
    first, second = input, other
    if type(second) is int and second == 0 and type(first) is Waiting and first._state.value is None and first._state.is_in_modes():
        return first if in_place else _make(first._state.activated(first._state.activation))  # as in sum([...])
    for waiting, residual in ((first, second), (second, first)):
        if type(waiting) is not Waiting or waiting is residual or not waiting._state.can_add() or not isinstance(residual, Tensor):
            continue
        if in_place and waiting is second:
            return _add_to(first, second)
        if type(residual) is Waiting:
            residual = _ran(residual, _IS_RESIDUAL)
        if waiting._state.can_take(residual):
            added = _State(waiting._state.call, residual)
            waiting._state.was_taken_in = not in_place
            return _go_on_as(waiting, added) if in_place else _make(added)
    return NotImplemented


def _add_to(first: Tensor, second: Waiting) -> Any:
    """first += second, where `first` cannot take `second` in: it goes on as what `second` makes of its value."""
    if type(first) is not Waiting or first._state.value is not None:
        return NotImplemented
    value = first._state.run(_IS_RESIDUAL)
    if second._state.can_take(value):
        return _go_on_as(first, _State(second._state.call, value))
    _become(first, value)
    return NotImplemented


def _keeps_its_input(input: Any, weight: Any) -> bool:
    """Whether it is a waiting tensor that the operation saves as it is: not a copy of another type."""
    return (type(input) is Waiting and isinstance(weight, Tensor) and weight.requires_grad and
            not torch.is_autocast_enabled(weight.device.type))


def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Without anything to drop it is the tensor itself, for torch's too."""
    return input if type(input) is Waiting and input._state.value is None and (p == 0 or (not training and 0 <= p <= 1)) else NotImplemented


def _hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    return _activate(input, "relu6", inplace) if (min_val, max_val) == (0, 6) else NotImplemented


def _gelu(input: Tensor, approximate: str = "none") -> Any:
    return _activate(input, activations.gelu(approximate), False) if approximate in ("none", "tanh") else NotImplemented


def _scaled(input: Tensor, name: Callable[[float], str], parameter: float, inplace: bool) -> Any:
    return _activate(input, name(parameter), inplace) if math.isfinite(parameter) else NotImplemented


def _check_not_taken_in(*values: Any) -> None:
    for value in tree_leaves(values):
        if type(value) is Waiting and value._state.was_taken_in:
            raise RuntimeError("samplenorm: a gradient was asked for at the output of a layer that ran together with the operation after it, so "
                               "that no gradient passes there: call samplenorm.fuse(model, False)")


def _named(name: str, in_place: bool = False) -> Callable[..., Any]:
    return lambda input, inplace=in_place: _activate(input, name, inplace)


_TAKEN_IN: dict[Any, Callable[..., Any]] = {
    F.relu: _named("relu"), torch.relu: _named("relu"), Tensor.relu: _named("relu"),
    torch.relu_: _named("relu", True), Tensor.relu_: _named("relu", True),
    F.relu6: _named("relu6"), F.hardtanh: _hardtanh, F.silu: _named("silu"), F.hardswish: _named("hardswish"),
    F.leaky_relu: lambda input, negative_slope=0.01, inplace=False: _scaled(input, activations.leaky_relu, negative_slope, inplace),
    F.elu: lambda input, alpha=1.0, inplace=False: _scaled(input, activations.elu, alpha, inplace),
    F.gelu: _gelu,
    F.dropout: _dropout, torch.add: _add, Tensor.add: _add, Tensor.__add__: _add, Tensor.__radd__: _add,
    Tensor.add_: lambda input, other, **options: _add(input, other, True, **options),
    Tensor.__iadd__: lambda input, other: _add(input, other, True),
}

#: Answered without running. Not the device: activation checkpointing asks for it before it hands tensors to a torch.autograd.Function.
_METADATA = {
    Tensor.shape.__get__, Tensor.dtype.__get__, Tensor.ndim.__get__, Tensor.layout.__get__,  # type: ignore[attr-defined]
    Tensor.size, Tensor.dim, Tensor.numel, Tensor.__len__, Tensor.is_floating_point, torch.is_floating_point, torch.numel,
}

_ASK_FOR_GRADIENTS = {Tensor.retain_grad, Tensor.register_hook, torch.autograd.grad, torch.autograd.backward}

#: They save their first argument for backward. If one of them follows a lean layer, the layer saves its output, which is kept anyway,
#: instead of its input; whatever would overwrite that output would be an error with torch's layers as well.
_KEEP_THEIR_INPUT = {F.conv1d, F.conv2d, F.conv3d, torch.conv1d, torch.conv2d, torch.conv3d, F.linear,
                     F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d}
