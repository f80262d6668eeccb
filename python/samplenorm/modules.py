"""BatchNorm1d/2d/3d, which stand where torch's do: the same constructor, state_dict, checks and evaluation. In training the
statistics come from a sample."""

import warnings
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, fx, nn
from torch.nn.modules.batchnorm import _BatchNorm

from samplenorm._library import notation, ops
from samplenorm.activations import IDENTITY, activate, follows_residual, name_of
from samplenorm.deferred import Call, WaitingCall, plain
from samplenorm.draws import Draws, is_recomputed
from samplenorm.few_points import FewPoints
from samplenorm.samples import Group, sample_of

Model = TypeVar("Model", bound=nn.Module)
_PLAIN = (Tensor, nn.Parameter)
_NONE_RUNNING = (None, None, None, None, False)


class _Buffer:
    """A running statistic of a layer. Whoever reads it sees all calls of the layer: one that waits runs first."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, layer: Any, owner: Any = None) -> Any:
        if layer is None:
            return self
        layer.count_waiting()
        return nn.Module.__getattr__(layer, self.name)


class BatchNorm(Draws, _BatchNorm):
    """Batch normalization with the statistics of a sample, for inputs of 2 to 5 dimensions.

    Args:
        spec: which points the statistics come from; `samplenorm.methods()` explains the notation.
        activation: what follows, after the residual if there is one: "relu", "silu", "leaky_relu(0.2)", ..., or a module such as
            `torch.nn.ReLU()`.
        lean: whether y is kept for backward instead of x where the next operation is a convolution or a linear layer, which keeps y
            anyway: half the memory. There is no second derivative then. Under torch.compile, which chooses itself what is kept, it
            makes no difference.

    All others are those of `torch.nn.BatchNorm2d`. A `decay` in the spec goes before `momentum`, unless that is None.

    >>> import torch, samplenorm as sn
    >>> layer = sn.BatchNorm2d(64, spec="FS-1/64")
    >>> layer(torch.randn(8, 64, 16, 16)).shape
    torch.Size([8, 64, 16, 16])
    >>> isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)
    True
    """

    #: Where the layer reports the points of its sample, and its name there. None: it need not, any more.
    few_points: tuple[FewPoints, str] | None = None
    #: Of the last training forward: whether a residual was added, the activation, and what used the output if there was none.
    last_run: tuple[bool, str, str] | None = None
    #: The last call, if it waits and its batch was not counted yet.
    _uncounted: "weakref.ref[WaitingCall] | None" = None
    running_mean, running_var, num_batches_tracked = _Buffer(), _Buffer(), _Buffer()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
                 spec: str = "LS-1/64", activation: str | nn.Module = IDENTITY, lean: bool = False) -> None:
        if isinstance(eps, str):
            raise TypeError(f"samplenorm: expected eps as a number, got {eps!r}; the notation is an argument by name: spec={eps!r}")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.set_up(spec, activation, lean)

    def set_up(self, spec: str, activation: str | nn.Module = IDENTITY, lean: bool = False) -> None:
        """Gives the layer the attributes that torch's BatchNorm does not have."""
        notation(spec)  # torch would take a module for a part of the layer, and not give it to the property
        self.begin_draws()
        self.spec = spec
        self.activation, self.lean = name_of(activation), lean
        self.waits = False  # for an activation or an addition that follows
        self.frozen, self.mode_when_unfrozen = False, self.training
        self.frozen_parameters: list[str] = []  # those that `freeze` took the gradients from
        self.gets_virtual_rows = False  # from a VirtualBatch
        self.original: type[nn.Module] | None = None  # what `restore` makes of a layer that `convert` has changed
        self.few_points = (FewPoints([""]), "")
        self.group, self.rank, self.ranks = "", 0, 1  # of processes whose samples are pooled; none

    @property
    def spec(self) -> str:
        """The notation. A new one holds from the next forward on. Raises ValueError for a wrong one."""
        return self._spec

    @spec.setter
    def spec(self, spec: str) -> None:
        (self._spec, self._decay, self._first_is_batch, self._redraws_each_step, self.virtual_rows,
         self.stat_batch) = notation(spec).read()
        self.change_draws()

    def _always_counts_steps(self) -> bool:
        return self._redraws_each_step

    def sample(self, sizes: Sequence[int]) -> list[Group]:
        """The groups that the next training forward takes of an input of these sizes, virtual rows included: `x[b[0], :, b[1], b[2]]`
        are the points of a box `b` of a 4-d input.

        >>> import samplenorm as sn
        >>> [group] = sn.BatchNorm2d(64, spec="NS-2/8").sample((8, 64, 32, 32))
        >>> group.weight, group.boxes
        (1.0, [(slice(0, 2, 1), slice(0, 32, 1), slice(0, 32, 1))])
        """
        return sample_of(sizes, self.spec, self.draw_key, self.rank, self.ranks, bool(self.group))

    def forward(self, input: Tensor | Sequence[Tensor], residual: Tensor | None = None,
                activation: str | nn.Module | None = None) -> Tensor:
        """The normalized input, plus the residual if there is one, then the activation, which is the layer's own unless it is given.
        Several inputs count as concatenated along channels."""
        name = self.activation if activation is None else name_of(activation)
        if isinstance(input, fx.Proxy):
            return self._traced(input, residual, activation)
        self.count_waiting()  # in the order of the calls
        if not self.training:
            whole = input if isinstance(input, Tensor) else torch.cat(list(input), 1)
            return _finish(_BatchNorm.forward(self, whole), residual, name)  # not a forward with an activation, as timm's
        inputs = [input] if type(input) is Tensor else [plain(each, "another norm") for each in (
            [input] if isinstance(input, Tensor) else input)]
        for each in inputs:
            self._check_input_dim(each)
        if self.virtual_rows and not self.gets_virtual_rows and not torch.compiler.is_compiling():
            self._warn_of_virtual_rows()
        key, counted = self.key_for(inputs[0]), is_recomputed()
        # A lean layer waits for what follows, to see whether that keeps its output.
        if residual is None and (self.lean or (self.waits and name == IDENTITY)) and self._can_wait(inputs):
            waiting = WaitingCall(self, inputs, key, counted)
            self.__dict__["_uncounted"] = weakref.ref(waiting)  # past Module.__setattr__, which takes its time
            return waiting.wait(name)
        call = Call(self, inputs, key, counted)
        fits = residual is None or (len(inputs) == 1 and residual.shape == inputs[0].shape and residual.dtype == inputs[0].dtype and
                                    residual.device == inputs[0].device and follows_residual(name))
        if not fits:
            return _finish(call.run(), residual, name)
        return call.run(residual, name)

    def _can_wait(self, inputs: list[Tensor]) -> bool:
        """Only where backward keeps the input anyway, and no mode, transform, hook or tracer is watching."""
        if (not torch.is_grad_enabled() or self.group or torch.compiler.is_compiling() or torch.is_inference_mode_enabled() or
                torch._C._autograd._top_saved_tensors_default_hooks(False) is not None or torch._C._len_torch_dispatch_stack() > 0 or
                torch._C._are_functorch_transforms_active() or torch._C._is_tracing() or is_recomputed()):
            return False
        tensors = [tensor for tensor in (*inputs, self.weight, self.bias) if tensor is not None]
        for tensor in tensors:
            if type(tensor) not in _PLAIN or tensor.is_inference() or not tensor.is_floating_point():
                return False
        return any([tensor.requires_grad for tensor in tensors])

    def normalize(self, call: Call, residual: Tensor | None, activation: str, lean: bool) -> Tensor:
        running = _NONE_RUNNING if call.counted else call.running
        y: Tensor = ops.sampled_batch_norm(call.inputs, *call.parameters, residual, call.spec, call.key, call.eps, activation, lean,
                                           self.group, self.rank, self.ranks, False, *running)[0]
        if not call.counted:
            call.counted = True
            if self._uncounted is not None:
                self.__dict__["_uncounted"] = None
            if not torch.compiler.is_compiling() and self.few_points is not None:
                self._report_points(call.inputs)
        return y

    def running_statistics(self) -> tuple[Any, ...]:
        """What the operator moves, and how."""
        if not self.track_running_stats or (mean := self._buffer("running_mean")) is None:
            return _NONE_RUNNING
        batches = self._buffer("num_batches_tracked")
        if batches is None:  # as in models that were saved before there was one
            batches = torch.zeros((), dtype=torch.long, device=mean.device)
        # None, which torch.optim.swa_utils.update_bn sets for a while, is the mean of all batches.
        momentum = self.momentum if self._decay is None or self.momentum is None else self._decay
        return mean, self._buffer("running_var"), batches, momentum, self._first_is_batch

    def _buffer(self, name: str) -> Any:
        """As it is, which is faster than `_Buffer`. A parametrized one is elsewhere."""
        return self._buffers[name] if name in self._buffers else getattr(self, name)

    def count_waiting(self) -> None:
        """Runs the last call, if it waits, so that the running statistics are those of all calls."""
        if self._uncounted is not None and (earlier := self._uncounted()) is not None:
            earlier.count()

    def _save_to_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.count_waiting()
        super()._save_to_state_dict(*args, **kwargs)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        batches = state_dict.get(prefix + "num_batches_tracked")
        if isinstance(batches, Tensor) and not batches.is_meta and batches.numel() == 1:
            self.change_draws(step=int(batches))

    def __getstate__(self) -> dict[str, Any]:
        self.count_waiting()
        return {name: value for name, value in self.__dict__.items() if name != "_uncounted"}

    def _warn_of_virtual_rows(self) -> None:
        self.gets_virtual_rows = True  # whoever puts them there without a VirtualBatch is told once
        warnings.warn(f"samplenorm: {self.spec} takes the first {self.virtual_rows} rows of a layer's input for virtual ones, and no "
                      "samplenorm.VirtualBatch puts any there: wrap the model in one", stacklevel=3)

    def _report_points(self, inputs: Sequence[Tensor]) -> None:
        watch, name = self.few_points or (None, "")
        # `recalibrate` lets a layer be BN for a while. Tensors of torch.func and of tracing have no sizes, or others.
        is_plain = (type(self.draw_key) is Tensor and all(type(size) is int for size in inputs[0].shape) and
                    not torch._C._are_functorch_transforms_active())
        if watch is None or not is_plain or inputs[0].numel() == 0 or self.spec.startswith("BN"):
            return
        if not watch.done:
            watch.report(name, notation(self.spec).fewest_points(list(inputs[0].shape), self.draw_key, self.rank, self.ranks,
                                                                 bool(self.group)), self.spec)
        if watch.done:
            self.few_points = None

    def _traced(self, input: fx.Proxy, residual: Any, activation: Any) -> Any:
        """For torch.fx.symbolic_trace a layer is one node, as torch's are."""
        given = {"residual": residual, "activation": activation}
        kwargs = {name: value for name, value in given.items() if value is not None}
        return input.tracer.create_proxy("call_module", input.tracer.path_of_module(self), (input,), kwargs)  # type: ignore[attr-defined]

    def __prepare_scriptable__(self) -> Any:
        """Is called by torch.jit.script, which would put what is returned here into the model for good."""
        raise RuntimeError("samplenorm: torch.jit.script compiles torch's own layers only: call samplenorm.restore(model) first, which changes "
                           "nothing in evaluation, or torch.jit.trace")

    def train(self, mode: bool = True) -> "BatchNorm":
        self.mode_when_unfrozen = mode
        return super().train(mode and not self.frozen)

    def extra_repr(self) -> str:
        text = f"{super().extra_repr()}, spec={self.spec!r}"  # type: ignore[no-untyped-call]
        if self.activation != IDENTITY:
            text += f", activation={self.activation!r}"
        return text + "".join(f", {name}=True" for name in ("lean", "frozen") if getattr(self, name)) + (", sync=True" if self.group else "")

    def _check_input_dim(self, input: Tensor) -> None:
        if not 2 <= input.dim() <= 5:
            raise ValueError(f"expected 2D to 5D input (got {input.dim()}D input)")


def _finish(y: Tensor, residual: Tensor | None, activation: str) -> Tensor:
    if residual is not None:
        y = y + residual
    return activate(y, activation)


# Not named as torch's: timm, which goes by names, would put a norm of its own in the place of a "BatchNorm2d".


class SampledBatchNorm1d(BatchNorm, nn.BatchNorm1d):
    """For inputs (N, C) and (N, C, L), where `torch.nn.BatchNorm1d` stands; see `BatchNorm` for the arguments."""

    _check_input_dim = nn.BatchNorm1d._check_input_dim


class SampledBatchNorm2d(BatchNorm, nn.BatchNorm2d):
    """For inputs (N, C, H, W), where `torch.nn.BatchNorm2d` stands; see `BatchNorm` for the arguments."""

    _check_input_dim = nn.BatchNorm2d._check_input_dim


class SampledBatchNorm3d(BatchNorm, nn.BatchNorm3d):
    """For inputs (N, C, D, H, W), where `torch.nn.BatchNorm3d` stands; see `BatchNorm` for the arguments."""

    _check_input_dim = nn.BatchNorm3d._check_input_dim


BatchNorm1d, BatchNorm2d, BatchNorm3d = SampledBatchNorm1d, SampledBatchNorm2d, SampledBatchNorm3d
