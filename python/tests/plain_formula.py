"""For tests: what a layer computes in training, written as the formula, for torch's autograd to differentiate."""

import torch


def plain_formula(layer, x):
    chunks = {}
    for group in layer.sample(x.shape):
        points = torch.cat([x[(box[0], slice(None), *box[1:])].movedim(1, -1).reshape(-1, x.size(1)) for box in group.boxes])
        mean, var = chunks.get(group.chunk, (0, 0))
        chunks[group.chunk] = (mean + group.weight * points.mean(0), var + group.weight * points.var(0, unbiased=False))
    per_channel = [1, -1] + [1] * (x.dim() - 2)
    rows = layer.stat_batch + layer.virtual_rows if layer.stat_batch else x.size(0)
    parts = [((part - mean.view(per_channel)) / (var.view(per_channel) + layer.eps).sqrt())
             for part, (mean, var) in zip(x.split(rows), chunks.values(), strict=True)]
    return torch.cat(parts) * layer.weight.view(per_channel) + layer.bias.view(per_channel)
