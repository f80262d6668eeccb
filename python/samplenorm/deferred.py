"""Normalizations that wait for what follows them.

In training a layer returns a `Waiting` tensor: it knows its shape and type, and has not run yet. An addition of a residual or an activation
that comes next is taken in, and all of it runs as one call. Any other use makes it run at once. Nothing is traced, so a model's control
flow, modes, hooks and classes stay what they are:

- A waiting tensor that has run becomes a plain one, the same object. In-place operations change that object, others leave it as it is: who
  looks at it again gets its plain value, computed anew from the layer's input. The running statistics count each call of a layer once.
- It runs in the modes of the layer's call (gradients, saved-tensor hooks), whenever that is. If what it has to read was written in place
  meanwhile, it raises.
- What reaches the tensor without torch's Python functions is a torch.autograd.Function, which gets its gradient by `_State.on_gradient`,
  or an operator that __torch_dispatch__ refuses.
"""

import copy
import sys
import weakref
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch._C import DisableTorchFunctionSubclass
from torch.nn import functional as F

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
        self.parameters, self.spec = (layer.weight, layer.bias), layer.spec

    def run(self, residual: Tensor | None = None, activation: str = IDENTITY, lean: bool = False, by: str = "") -> Tensor:
        """`by` says why this runs without more."""
        y: Tensor = self.layer.normalize(self, residual, activation, lean)
        if not torch.compiler.is_compiling():
            self.layer.last_run = (residual is not None, activation, by)
        return y


class WaitingCall(Call):
    """One that runs later."""

    def __init__(self, layer: "BatchNorm", inputs: Sequence[Tensor], key: Tensor, counted: bool) -> None:
        super().__init__(layer, inputs, key, counted)
        self.versions = self._versions()
        self.hooks = _saved_tensors_hooks(False)
        self.newest: weakref.ref[Waiting] | None = None  # tensor that waits

    def wait(self, activation: str) -> "Waiting":
        return _make(_State(self, None, activation))

    def _versions(self) -> list[int]:
        return [tensor._version for tensor in (*self.inputs, *self.parameters) if tensor is not None]

    def run(self, residual: Tensor | None = None, activation: str = IDENTITY, lean: bool = False, by: str = "") -> Tensor:
        if self.versions != self._versions():
            _raise_overwritten("the input or a parameter of a layer of samplenorm")
        if self._is_freed():
            raise RuntimeError("samplenorm: the weight of a layer was freed before the layer had run, which waits for an activation or an "
                               "addition that follows: call the whole model that was converted, or samplenorm.fuse(model, False)")
        return super().run(residual, activation, lean, by)

    def _is_freed(self) -> bool:
        """Whether the weight has no memory any more, as with `fully_shard` after a module's forward."""
        weight = self.parameters[0]
        return weight is not None and weight.untyped_storage().size() == 0 and weight.numel() > 0

    def count(self) -> None:
        """Runs what waits, so that the running statistics are those of this call."""
        waiting = self.newest and self.newest()
        if waiting is not None and not self.counted:
            plain(waiting)

    def __del__(self) -> None:
        # Nobody has looked at what the layer gave; torch's layer would have counted the batch.
        if not self.counted and not sys.is_finalizing() and self.versions == self._versions() and not self._is_freed():
            with torch.no_grad():
                self.layer.normalize(self, None, IDENTITY, False)


class _State:
    """What a waiting tensor stands for: f(norm + residual)."""

    __slots__ = ("call", "residual", "residual_version", "activation", "value")

    def __init__(self, call: WaitingCall, residual: Tensor | None = None, activation: str = IDENTITY) -> None:
        self.call, self.residual, self.activation = call, residual, activation
        self.residual_version = None if residual is None else residual._version
        self.value: Tensor | None = None  # where the waiting tensor itself cannot become it

    def activated(self, name: str) -> "_State":
        state = _State(self.call, self.residual, name)
        state.residual_version = self.residual_version
        return state

    def run(self, by: str, lean: bool = False) -> Tensor:
        """In the modes of the layer's call."""
        if self.residual is not None and self.residual._version != self.residual_version:
            _raise_overwritten("a tensor that was added to the output of a layer of samplenorm")
        if self.is_in_modes():
            return self.call.run(self.residual, self.activation, lean, by)
        with _modes_of_a_call():
            return self.call.run(self.residual, self.activation, lean, by)

    def is_in_modes(self) -> bool:
        return (torch.is_grad_enabled() and not torch.is_inference_mode_enabled() and
                _saved_tensors_hooks(False) == self.call.hooks)

    def can_add(self) -> bool:
        return self._is_open() and self.residual is None and len(self.call.inputs) == 1 and self.is_in_modes()

    def can_take(self, residual: Tensor) -> bool:
        x = self.call.inputs[0]
        return (self.can_add() and type(residual) in _PLAIN and residual.shape == x.shape and residual.dtype == x.dtype and
                residual.device == x.device)

    def can_activate(self, name: str) -> bool:
        return (self._is_open() and (self.residual is None or activations.follows_residual(name)) and self.is_in_modes())

    def _is_open(self) -> bool:
        return self.call.layer.waits and self.activation == IDENTITY and self.value is None

    def on_gradient(self, gradient: Tensor) -> Tensor:
        """A torch.autograd.Function that took the waiting tensor for an input sends its gradient here, past the value's own graph."""
        message = ("samplenorm: a torch.autograd.Function got the output of a layer before it had run, and its gradient cannot be passed on "
                   "by torch.autograd.grad, twice, or beside others: call samplenorm.fuse(model, False)")
        if torch.is_grad_enabled() or not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(message)
        try:
            torch.autograd.backward(self.run("a torch.autograd.Function"), gradient)
        except RuntimeError as error:
            raise RuntimeError(message) from error
        return gradient


def _raise_overwritten(what: str) -> None:
    raise RuntimeError(f"samplenorm: {what} was written in place before the layer had run, which waits for an activation or an addition "
                       "that follows: copy that tensor first, or call samplenorm.fuse(model, False)")


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
        take = _TAKEN_IN.get(func)
        if take is not None:
            result = take(*args, **kwargs)
            if result is not NotImplemented:
                return result
        by = getattr(func, "__name__", str(func))
        if func in _KEEP_THEIR_INPUT and _keeps_its_input(*args, **kwargs):
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
    if type(value) is Waiting:
        return _ran(value, by)
    if isinstance(value, (list, tuple)) and any(isinstance(each, (Waiting, list, tuple, dict)) for each in value):
        items = [_run(each, by) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict) and any(isinstance(each, (Waiting, list, tuple, dict)) for each in value.values()):
        copied = copy.copy(value)
        copied.update((key, _run(each, by)) for key, each in value.items())
        return copied
    return value


def _ran(waiting: Waiting, by: str, lean: bool = False) -> Tensor:
    if waiting._state.value is not None:
        return waiting._state.value
    return _become(waiting, waiting._state.run(by, lean))


def _become(waiting: Waiting, value: Tensor) -> Tensor:
    """Makes the waiting tensor the plain one, for all who have it. Where C++ code holds the one, or a saved-tensor hook may hold the
    other, that cannot be, and the value stands beside it."""
    with DisableTorchFunctionSubclass():
        if waiting._use_count() > 1 or _saved_tensors_hooks(False) is not None:  # type: ignore[attr-defined]
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
    if state.call.layer.lean:  # the next operation decides whether y can be kept instead of x
        activated = state.activated(name)
        return _go_on_as(waiting, activated) if in_place else _make(activated)
    y = state.activated(name).run("")
    return _become(waiting, y) if in_place else y


def _add(first: Any, second: Any, in_place: bool = False, **options: Any) -> Any:
    if options:
        return NotImplemented
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


def _keeps_its_input(input: Any, weight: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether it is a waiting tensor that the operation saves as it is: not a copy of another type."""
    return (type(input) is Waiting and isinstance(weight, Tensor) and weight.requires_grad and
            not torch.is_autocast_enabled(weight.device.type))


def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Without anything to drop it is the tensor itself, for torch's too."""
    return input if type(input) is Waiting and input._state.value is None and (p == 0 or (not training and 0 <= p <= 1)) else NotImplemented


def _hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    return _activate(input, "relu6", inplace) if (min_val, max_val) == (0, 6) else NotImplemented


def _named(name: str, in_place: bool = False) -> Callable[..., Any]:
    return lambda input, inplace=in_place: _activate(input, name, inplace)


_TAKEN_IN: dict[Any, Callable[..., Any]] = {
    F.relu: _named("relu"), torch.relu: _named("relu"), Tensor.relu: _named("relu"),
    torch.relu_: _named("relu", True), Tensor.relu_: _named("relu", True),
    F.relu6: _named("relu6"), F.hardtanh: _hardtanh, F.silu: _named("silu"), F.hardswish: _named("hardswish"),
    F.leaky_relu: lambda input, negative_slope=0.01, inplace=False: _activate(input, activations.leaky_relu(negative_slope), inplace),
    F.elu: lambda input, alpha=1.0, inplace=False: _activate(input, activations.elu(alpha), inplace),
    F.gelu: lambda input, approximate="none": _activate(input, activations.gelu(approximate), False),
    F.dropout: _dropout, torch.add: _add, Tensor.add: _add, Tensor.__add__: _add, Tensor.__radd__: _add,
    Tensor.add_: lambda first, second, **options: _add(first, second, True, **options),
    Tensor.__iadd__: lambda first, second: _add(first, second, True),
}

#: Answered without running. Not the device: activation checkpointing asks for it before it hands tensors to a torch.autograd.Function.
_METADATA = {
    Tensor.shape.__get__, Tensor.dtype.__get__, Tensor.ndim.__get__, Tensor.layout.__get__,  # type: ignore[attr-defined]
    Tensor.size, Tensor.dim, Tensor.numel, Tensor.__len__, Tensor.is_floating_point, torch.is_floating_point, torch.numel,
}

#: They save their first argument for backward. A lean layer that they follow saves its output, too, instead of its input; whatever
#: would overwrite that output would be an error with torch's layers as well.
_KEEP_THEIR_INPUT = {F.conv1d, F.conv2d, F.conv3d, torch.conv1d, torch.conv2d, torch.conv3d, F.linear,
                     F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d}
