"""What draws at random depends on: (seed, layer, epoch, step), and nothing else. There is no generator with a state."""

import itertools

import torch
from torch import Tensor, nn

SEED, LAYER, EPOCH, STEP = range(4)
_layers = itertools.count()


class Draws:
    """Of modules that draw at random. The key is a tensor, so that a compiled graph takes another one without being compiled again,
    no buffer, so that it is neither saved nor moved nor broadcast, and never written in place, since graphs keep it."""

    draw_key: Tensor

    def begin_draws(self) -> None:
        self.draw_key = torch.tensor([0, next(_layers), 0, 0], dtype=torch.long, device="cpu")

    def change_draws(self, **changes: int) -> None:
        numbers = self.draw_key.tolist()
        for name, value in changes.items():
            if not 0 <= value < 2**63:
                raise ValueError(f"samplenorm: expected {name} from 0 to 2**63 - 1, got {value}")
            numbers[("seed", "layer", "epoch", "step").index(name)] = value
        self.draw_key = torch.tensor(numbers, dtype=torch.long, device="cpu")


_ONE_STEP = torch.tensor([0, 0, 0, 1], dtype=torch.long, device="cpu")


def after(key: Tensor, steps: int = 1) -> Tensor:
    """The key so many steps later."""
    return torch.add(key, _ONE_STEP, alpha=steps)


def _all(model: nn.Module) -> list[Draws]:
    return [module for module in model.modules() if isinstance(module, Draws)]


def set_seed(model: nn.Module, seed: int) -> None:
    """Gives everything in the model that draws at random this seed, and its number in the order of registration.

    `convert` does it already. Without either the seed is 0, and layers are numbered as they are made in this process.
    """
    for number, module in enumerate(_all(model)):
        module.change_draws(seed=seed, layer=number)


def set_epoch(model: nn.Module, epoch: int) -> None:
    """Begins an epoch: samples are drawn anew, the same ones in every process and every run with this seed.

    Under `redraw=step` and `redraw=never` the epoch makes no difference.

    >>> import samplenorm as sn
    >>> layer = sn.BatchNorm2d(16, spec="FS-1/64")
    >>> first = layer.sample((8, 16, 32, 32))
    >>> sn.set_epoch(layer, 1)
    >>> layer.sample((8, 16, 32, 32)) == first
    False
    >>> sn.set_epoch(layer, 0)
    >>> layer.sample((8, 16, 32, 32)) == first
    True
    """
    for module in _all(model):
        module.change_draws(epoch=epoch)


def set_step(model: nn.Module, step: int) -> None:
    """Says which training step comes next, for `redraw=step` and for virtual rows. Every training forward counts up by itself: this
    is needed only to resume a run."""
    for module in _all(model):
        module.change_draws(step=step)
