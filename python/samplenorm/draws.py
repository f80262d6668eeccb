"""What draws at random depends on: (seed, layer, epoch, step), and nothing else. There is no generator with a state."""

import itertools
import operator
from collections import deque
from typing import SupportsIndex

import torch
from torch import Tensor, nn

SEED, LAYER, EPOCH, STEP = range(4)
#: The epoch of what was never told one: it draws anew by itself, after so many steps (lib/nn/checks.cc).
UNTOLD, STEPS_OF_A_DRAW = -1, 500
_layers = itertools.count()
_ONE_STEP = torch.tensor([0, 0, 0, 1], dtype=torch.long, device="cpu")


def is_recomputed() -> bool:
    """Whether backward runs this forward again (activation checkpointing)."""
    return not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1


class Draws:
    """Of modules that draw at random. The key is a tensor: a compiled graph takes another one without being compiled again. It is no
    buffer: it is neither saved nor moved nor broadcast. It is never written in place: graphs keep it."""

    draw_key: Tensor
    #: (some values of the input, the key) of forwards that backward may run again.
    _remembered: deque[tuple[Tensor, Tensor]] | None

    def begin_draws(self) -> None:
        self.draw_key = _key([0, next(_layers), UNTOLD, 0])
        self._counts_steps = True
        self._remembered, self._was_recomputed = None, False

    def change_draws(self, **changes: SupportsIndex) -> None:
        numbers = self.draw_key.tolist()
        for name, value in changes.items():
            try:
                number = operator.index(value)
            except TypeError:
                raise TypeError(f"samplenorm: expected {name} as a whole number, got {value!r}") from None
            if not 0 <= number < 2**63:
                raise ValueError(f"samplenorm: expected {name} from 0 to 2**63 - 1, got {number}")
            numbers[("seed", "layer", "epoch", "step").index(name)] = number
        self._counts_steps = numbers[EPOCH] == UNTOLD or self._always_counts_steps()
        self.draw_key = _key(numbers)

    def _always_counts_steps(self) -> bool:
        return True

    def key_for(self, x: Tensor) -> Tensor:
        """The key of a training forward on x. Each forward counts as a step. One that backward runs again gets the key that it had."""
        if is_recomputed():
            return self._key_of_recomputed(x)
        key = self.draw_key
        is_compiled = torch.compiler.is_compiling()
        if not is_compiled and torch._C._is_tracing():  # torch.jit.trace records the draw at hand
            return key
        if not is_compiled and key.is_inference():  # from a compiled forward in inference mode
            key = _key(key.tolist())
        if not is_compiled and _may_be_recomputed():
            if self._remembered is None or self._was_recomputed:  # backward is done with those before
                self._remembered, self._was_recomputed = deque(maxlen=64), False
            self._remembered.append((_some_values(x), key))
        if self._counts_steps:
            if is_compiled:
                self.draw_key = torch.add(key, _ONE_STEP)
            elif torch.is_inference_mode_enabled():
                self.draw_key = _key((key + _ONE_STEP).tolist())
            else:
                self.__dict__["draw_key"] = torch.add(key, _ONE_STEP)  # past Module.__setattr__, which takes its time
        return key

    def _key_of_recomputed(self, x: Tensor) -> Tensor:
        remembered, self._was_recomputed = self._remembered or (), True
        if all(key is self.draw_key for _, key in remembered) and (remembered or not self._counts_steps):
            return self.draw_key
        values = _some_values(x)
        keys = [key for known, key in remembered if known.shape == values.shape and torch.equal(known, values)]
        if keys and all(self._draws_alike(key, keys[0]) for key in keys):
            return keys[0]
        found = "several of" if keys else "not one of"
        raise RuntimeError(f"samplenorm: backward runs a forward again (activation checkpointing) whose input is {found} the last "
                           f"{len(remembered)} that this layer has seen, so that its sample is not known: call backward after each forward, use "
                           "preserve_rng_state=True and deterministic operators, or call samplenorm.set_epoch and leave out redraw=step")

    def _draws_alike(self, key: Tensor, other: Tensor) -> bool:
        return torch.equal(key, other) or (not self._always_counts_steps() and _epoch(key) == _epoch(other))


def _key(numbers: list[int]) -> Tensor:
    """One that later forwards can save for backward, even if it is made in inference mode."""
    with torch.inference_mode(False):
        return torch.tensor(numbers, dtype=torch.long, device="cpu")


def _epoch(key: Tensor) -> int:
    """As lib/nn/checks.cc has it."""
    _, _, epoch, step = key.tolist()
    return step // STEPS_OF_A_DRAW if epoch == UNTOLD else epoch


def _may_be_recomputed() -> bool:
    """Activation checkpointing runs the first forward without gradients, or packs what is saved."""
    return not torch.is_grad_enabled() or torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def _some_values(x: Tensor) -> Tensor:
    """The bits of 64 values of x, or fewer, and of its smallest and largest."""
    x = x.detach()
    if x.numel() == 0:
        return x.new_empty(0, dtype=torch.uint8)
    step = (x.numel() // 64) | 1  # odd: not the same place of every map
    if torch.ops.aten.is_non_overlapping_and_dense(x):
        values = x.as_strided(((x.numel() - 1) // step + 1,), (step,), x.storage_offset())
    else:
        values = x.reshape(-1)[::step]
    return torch.cat([values, x.min().view(1), x.max().view(1)]).view(torch.uint8)


def _all(model: nn.Module, caller: str) -> list[Draws]:
    found: list[Draws] = [module for module in model.modules() if isinstance(module, Draws)]
    if not found:
        raise ValueError(f"samplenorm.{caller}: expected a model with layers of samplenorm, got none: call samplenorm.convert first")
    return found


def set_seed(model: nn.Module, seed: SupportsIndex) -> None:
    """Gives everything in the model that draws at random this seed, and its number in the order of registration: two models that are
    built alike draw alike.

    Without it the seed is that of `convert`, and layers are numbered as they are made in this process: no two draw alike.
    """
    for number, module in enumerate(_all(model, "set_seed")):
        module.change_draws(seed=seed, layer=number)


def set_epoch(model: nn.Module, epoch: SupportsIndex) -> None:
    """Begins an epoch: samples are drawn anew, the same ones in every process and every run with this seed.

    A layer that was never told an epoch draws anew every 500 training forwards. It counts them as `num_batches_tracked` does, so that a
    run that is resumed from a checkpoint draws what it would have drawn. Under `redraw=step` and `redraw=never` the epoch makes no
    difference.

    >>> import samplenorm as sn
    >>> layer = sn.BatchNorm2d(16, spec="FS-1/64")
    >>> sn.set_epoch(layer, 0)
    >>> first = layer.sample((8, 16, 32, 32))
    >>> sn.set_epoch(layer, 1)
    >>> layer.sample((8, 16, 32, 32)) == first
    False
    >>> sn.set_epoch(layer, 0)
    >>> layer.sample((8, 16, 32, 32)) == first
    True
    """
    for module in _all(model, "set_epoch"):
        module.change_draws(epoch=epoch)


def set_step(model: nn.Module, step: SupportsIndex) -> None:
    """Says which training step comes next, for `redraw=step`, for virtual rows and for layers that were never told an epoch. Every training
    forward counts up by itself, and loading a checkpoint sets the count: this is needed only to resume a run with virtual rows."""
    for module in _all(model, "set_step"):
        module.change_draws(step=step)
