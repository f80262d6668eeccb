"""The six steps as plain formulas in float64, for comparison. Tensors are seen as (N, C, S)."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

FUNCTIONS = {
    "identity": lambda z: z, "relu": torch.relu, "relu6": F.relu6, "leaky_relu(0.3)": lambda z: F.leaky_relu(z, 0.3), "elu": F.elu,
    "elu(0.7)": lambda z: F.elu(z, 0.7), "silu": F.silu, "hardswish": F.hardswish, "gelu": F.gelu,
    "gelu(tanh)": lambda z: F.gelu(z, approximate="tanh"),
}
EPS = 1e-5


@dataclass
class Layer:
    """Of (N, C, S) in float64: chunks of rows, each with groups of points, which have weights."""

    x: Tensor
    rows: list[int]
    groups: list[list[Tensor]]  # of each chunk, the numbers of each group's points
    weights: list[float]
    weight: Tensor
    bias: Tensor

    @property
    def points(self) -> Tensor:
        return torch.cat([group for chunk in self.groups for group in chunk])

    @property
    def counts(self) -> list[int]:
        return [group.numel() for chunk in self.groups for group in chunk]

    def at(self, tensor: Tensor, points: Tensor) -> Tensor:
        """(points, C)"""
        return tensor.transpose(1, 2).flatten(0, 1)[points]

    def chunk(self, k: int) -> slice:
        return slice(self.rows[k], self.rows[k + 1])

    def moments(self) -> tuple[Tensor, Tensor]:
        """Means and variances, (chunks, groups, C)."""
        values = [[self.at(self.x, group) for group in chunk] for chunk in self.groups]
        return (torch.stack([torch.stack([group.mean(0) for group in chunk]) for chunk in values]),
                torch.stack([torch.stack([group.var(0, unbiased=False) for group in chunk]) for chunk in values]))

    def statistics(self) -> Tensor:
        means, variances = self.moments()
        counts = torch.tensor(self.counts, dtype=torch.float64).view(len(self.groups), -1, 1)
        weights = torch.tensor(self.weights, dtype=torch.float64).view(1, -1, 1)
        mean, var = (weights * means).sum(1), (weights * variances).sum(1)
        unbiased = (weights * variances * counts / (counts - 1).clamp(min=1)).sum(1)
        rstd = (var + EPS).rsqrt()
        scale = rstd * self.weight
        lines = torch.stack([mean, rstd, unbiased, scale, self.bias - mean * scale], 1)
        return torch.cat([lines, means, counts.expand_as(means)], 1)

    def forward(self, residual: Tensor | None, activation: str) -> Tensor:
        """Differentiable, by autograd."""
        lines = self.statistics()
        z = torch.cat([self.x[self.chunk(k)] * lines[k, 3, :, None] + lines[k, 4, :, None] for k in range(len(self.groups))])
        return FUNCTIONS[activation](z if residual is None else z + residual)
