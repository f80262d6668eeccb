"""BatchNorm1d/2d/3d, which stand where torch's do: the same constructor, state_dict, checks and evaluation. In training the
statistics come from a sample."""

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.nn.modules.batchnorm import _BatchNorm

from samplenorm._library import notation, ops
from samplenorm.draws import Draws, after
from samplenorm.few_points import FewPoints
from samplenorm.samples import Group, sample_of

Model = TypeVar("Model", bound=nn.Module)


def _is_recomputed() -> bool:
    """Whether backward runs this forward again (activation checkpointing): it counts once."""
    return not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1


class BatchNorm(Draws, _BatchNorm):
    """Batch normalization with the statistics of a sample, for inputs of 2 to 5 dimensions.

    Args:
        spec: which points the statistics come from, in the notation of the README.
        relu: whether a ReLU follows, behind the residual if there is one.
        lean: whether y, which the next layer keeps anyway, is kept for backward instead of x, where that is possible. Such a layer
            has no second derivative. Under torch.compile, which chooses itself what is kept, it makes no difference.

    All others are those of `torch.nn.BatchNorm2d`. A `decay` in the spec goes before `momentum`.

    >>> import torch, samplenorm as sn
    >>> layer = sn.BatchNorm2d(64, spec="FS-1/64")
    >>> layer(torch.randn(8, 64, 16, 16)).shape
    torch.Size([8, 64, 16, 16])
    >>> isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)
    True
    """

    #: Where the layer reports the points of its sample, and its name there. None: it need not, any more.
    few_points: tuple[FewPoints, str] | None = None

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
                 spec: str = "LS-1/64", relu: bool = False, lean: bool = False) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.set_up(spec, relu, lean)

    def set_up(self, spec: str, relu: bool = False, lean: bool = False) -> None:
        """All that a BatchNorm of torch has not."""
        self.set_spec(spec)
        self.relu, self.lean = relu, lean
        self.frozen, self.mode_when_unfrozen = False, self.training
        self.frozen_parameters: list[str] = []  # those that `freeze` took the gradients from
        self.gets_virtual_rows = False  # from a VirtualBatch
        self.original: type[nn.Module] | None = None  # what `restore` makes of a layer that `convert` has made
        self.few_points = (FewPoints([""]), "")
        self.group, self.rank, self.ranks = "", 0, 1  # of processes whose samples are pooled; none
        self.begin_draws()

    def set_spec(self, spec: str) -> None:
        """Takes the statistics from other points from now on. Raises ValueError for a wrong notation."""
        (self.spec, self._decay, self._first_is_batch, self._redraws_each_step, self.virtual_rows,
         self.stat_batch) = notation(spec).read()

    def sample(self, sizes: Sequence[int]) -> list[Group]:
        """The groups that the next training forward takes of an input of these sizes, virtual rows included: `x[b[0], :, b[1], b[2]]`
        are the points of a box `b` of a 4-d input.

        >>> import samplenorm as sn
        >>> [group] = sn.BatchNorm2d(64, spec="NS-2/8").sample((8, 64, 32, 32))
        >>> group.weight, group.boxes
        (1.0, [(slice(0, 2, 1), slice(0, 32, 1), slice(0, 32, 1))])
        """
        return sample_of(sizes, self.spec, self.draw_key, self.rank, self.ranks, bool(self.group))

    def forward(self, input: Tensor, residual: Tensor | None = None, relu: bool | None = None) -> Tensor:
        """The normalized input, plus the residual if there is one, then ReLU if `relu`, or the layer's own, says so."""
        relu = self.relu if relu is None else relu
        if not self.training:
            return self._finish(super().forward(input), residual, relu)
        self._check_input_dim(input)
        if self.virtual_rows and not self.gets_virtual_rows and not torch.compiler.is_compiling():
            self._warn_of_virtual_rows()
        recomputed = _is_recomputed()
        key = after(self.draw_key, -1) if recomputed and self._redraws_each_step else self.draw_key
        if torch.compiler.is_compiling():
            key = key.to(input.device)  # tracing wants all tensors of an operator in one place
        fits = residual is None or (residual.shape == input.shape and residual.dtype == input.dtype)
        y, mean, _, var, *_ = ops.sampled_batch_norm(
            [input], self.weight, self.bias, residual if fits else None, self.spec, key, self.eps, relu and fits,
            self.lean and not torch.compiler.is_compiling(), self.group, self.rank, self.ranks)
        if not recomputed:
            if not torch.compiler.is_compiling() and self.few_points is not None:
                self._report_points(input)
            self._count(input, mean, var)
        return y if fits else self._finish(y, residual, relu)

    def _count(self, input: Tensor, mean: Tensor, var: Tensor) -> None:
        if self._redraws_each_step:
            self.draw_key = after(self.draw_key)
        if not self.track_running_stats or self.running_mean is None:
            return
        batches = self.num_batches_tracked
        if batches is None:  # as in models that were saved before there was one
            batches = torch.zeros((), dtype=torch.long, device=input.device)
        if input.numel() == 0 and not self.group:
            batches.add_(1)
        else:
            momentum = self.momentum if self._decay is None else self._decay
            with torch.no_grad():
                ops.update_running_statistics_(self.running_mean, self.running_var, batches, mean, var, momentum,
                                               self._first_is_batch)

    def _warn_of_virtual_rows(self) -> None:
        self.gets_virtual_rows = True  # whoever puts them there without a VirtualBatch is told once
        warnings.warn(f"samplenorm: {self.spec} takes the first {self.virtual_rows} rows of a layer's input for virtual ones, and no "
                      "samplenorm.VirtualBatch puts any there: wrap the model in one", stacklevel=3)

    def _report_points(self, input: Tensor) -> None:
        watch, name = self.few_points or (None, "")
        # `recalibrate` lets a layer be BN for a while. Tensors of torch.func and of tracing have no sizes, or others.
        plain = type(self.draw_key) is Tensor and all(type(size) is int for size in input.shape) and not is_functorch_wrapped_tensor(input)
        if watch is None or not plain or input.numel() == 0 or self.spec.startswith("BN"):
            return
        if not watch.done:
            watch.report(name, notation(self.spec).fewest_points(list(input.shape), self.draw_key, self.rank, self.ranks, bool(self.group)),
                         self.spec)
        if watch.done:
            self.few_points = None

    @staticmethod
    def _finish(y: Tensor, residual: Tensor | None, relu: bool) -> Tensor:
        if residual is not None:
            y = y + residual
        return torch.relu(y) if relu else y

    def train(self, mode: bool = True) -> "BatchNorm":
        self.mode_when_unfrozen = mode
        return super().train(mode and not self.frozen)

    def extra_repr(self) -> str:
        flags = "".join(f", {name}=True" for name in ("relu", "lean", "frozen") if getattr(self, name))
        torchs = super().extra_repr()  # type: ignore[no-untyped-call]
        return f"{torchs}, spec={self.spec!r}{flags}" + (", sync=True" if self.group else "")

    def _check_input_dim(self, input: Tensor) -> None:
        if not 2 <= input.dim() <= 5:
            raise ValueError(f"expected 2D to 5D input (got {input.dim()}D input)")


class BatchNorm1d(BatchNorm, nn.BatchNorm1d):
    """For inputs (N, C) and (N, C, L), where `torch.nn.BatchNorm1d` stands; see `BatchNorm` for the arguments."""

    _check_input_dim = nn.BatchNorm1d._check_input_dim


class BatchNorm2d(BatchNorm, nn.BatchNorm2d):
    """For inputs (N, C, H, W), where `torch.nn.BatchNorm2d` stands; see `BatchNorm` for the arguments."""

    _check_input_dim = nn.BatchNorm2d._check_input_dim


class BatchNorm3d(BatchNorm, nn.BatchNorm3d):
    """For inputs (N, C, D, H, W), where `torch.nn.BatchNorm3d` stands; see `BatchNorm` for the arguments."""

    _check_input_dim = nn.BatchNorm3d._check_input_dim
