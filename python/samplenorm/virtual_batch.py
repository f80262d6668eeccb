"""Virtual rows before the batch, for the methods that sample them (VDN)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from samplenorm._library import notation, ops
from samplenorm.draws import SEED, Draws
from samplenorm.modules import BatchNorm


class VirtualBatch(Draws, nn.Module):
    """A model that sees a few random inputs, like those of the data set, before the real ones in training; in evaluation there are
    none. Its loss and its user never see these rows, its gradients do, by way of the statistics.

    Args:
        model: takes the batch (N, C, ...) as its first argument. Every tensor that it returns has a row for each of its inputs.
        mean, std: (C), of the inputs as the model gets them; `dataset_stats` finds them.
        rows: how many; without it as many as the model's layers ask for: 2 for "VDN-2/128".
        spectrum: of `dataset_stats`, for fields with the data's own power spectrum; without it the noise is white.

    Where the layers have a `stat_batch`, each such part of the batch gets rows of its own.

    >>> import torch, samplenorm as sn
    >>> model = sn.convert(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)), "FS-1/64+VDN-2/128")
    >>> virtual = sn.VirtualBatch(model, mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2])
    >>> virtual(torch.rand(16, 3, 32, 32)).shape
    torch.Size([16, 8, 30, 30])
    """

    def __init__(self, model: nn.Module, mean: Any, std: Any, rows: int | None = None, *, spectrum: Tensor | None = None) -> None:
        super().__init__()
        self.model = model
        asked = {layer.virtual_rows for layer in self._layers()}
        if rows is None:
            if len(asked) != 1:
                raise ValueError(f"samplenorm.VirtualBatch: expected layers that ask for one number of virtual rows, got "
                                 f"{sorted(asked) or 'none that does'}: say rows=")
            [rows] = asked
        if rows < 1:
            raise ValueError(f"samplenorm.VirtualBatch: expected 1 or more rows, got {rows}")
        self.rows = rows
        self.is_needed = True  # until `restore`
        for number in asked:
            self.check_rows(number)
        self.stat_batch = 0
        self.mean, self.std = (torch.as_tensor(each, dtype=torch.float64, device="cpu").clone() for each in (mean, std))
        if self.mean.dim() != 1 or self.mean.shape != self.std.shape:
            raise ValueError(f"samplenorm.VirtualBatch: expected a mean and a std of size [channels], got {tuple(self.mean.shape)} and "
                             f"{tuple(self.std.shape)}")
        self.color = None if spectrum is None else ops.root_of_spectrum(spectrum)
        self.group, self.rank, self.ranks = "", 0, 1
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self.rank, self.ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self.begin_draws()
        self.serve_layers()

    def _layers(self) -> list[BatchNorm]:
        """Those that sample virtual rows."""
        return [layer for layer in self.model.modules() if isinstance(layer, BatchNorm) and layer.virtual_rows]

    def check_rows(self, asked: int) -> None:
        if asked != self.rows:
            raise ValueError(f"samplenorm.VirtualBatch: expected rows={asked}, which the model's layers ask for, got {self.rows}")

    def serve_layers(self) -> None:
        """Takes seed and statistic batch from the model's layers, as they are now."""
        for layer in self._layers():
            self.is_needed = True
            layer.gets_virtual_rows = True
            self.stat_batch = layer.stat_batch
            self.change_draws(seed=layer.draw_key.tolist()[SEED])

    def forward(self, batch: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not self.training or not self.is_needed or not self._carries_rows():
            return self.model(batch, *args, **kwargs)
        real = batch.split(self.stat_batch) if self.stat_batch else [batch]
        parts: list[Tensor] = []
        key = self.key_for(batch)
        for chunk, rows in enumerate(real):
            parts += [self._virtual_rows(batch, key, self.rank * len(real) + chunk), rows]
        output = self.model(torch.cat(parts), *args, **kwargs)
        total = batch.size(0) + self.rows * len(real)
        return tree_map_only(Tensor, lambda tensor: self._real_rows(tensor, total), output)

    def _virtual_rows(self, batch: Tensor, key: Tensor, chunk: int) -> Tensor:
        sizes = [self.rows, *batch.shape[1:]]
        rows = ops.virtual_rows(sizes, self.mean, self.std, self.color, key, chunk).to(batch)
        last = batch.dim() == 4 and batch.is_contiguous(memory_format=torch.channels_last)
        return rows.contiguous(memory_format=torch.channels_last) if last else rows  # so that torch.cat keeps the format

    def _real_rows(self, output: Tensor, total: int) -> Tensor:
        if output.dim() == 0 or output.size(0) != total:
            raise ValueError(f"samplenorm.VirtualBatch: expected outputs with a row for each of the {total} inputs, of which {self.rows} "
                             f"are virtual in each statistic batch, got size {tuple(output.shape)}")
        if not self.stat_batch:
            return output[self.rows:]
        return torch.cat([part[self.rows:] for part in output.split(self.rows + self.stat_batch)])

    def _carries_rows(self) -> bool:
        """With Sync only the processes that `nodes` chooses have virtual rows."""
        return not self.group or any(notation(spec).carries_virtual_rows(self.draw_key, self.rank, self.ranks)
                                     for spec in {layer.spec for layer in self._layers()})

    def extra_repr(self) -> str:
        field = "white" if self.color is None else "spectrum"
        return f"rows={self.rows}, field={field}" + (f", stat_batch={self.stat_batch}" if self.stat_batch else "")
