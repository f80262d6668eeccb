"""No sample is frozen by a CUDA graph in silence."""

import torch
from torch import Tensor

_HAS_CUDA = torch.backends.cuda.is_built()  # else tensors "on cuda" are those of a tracer


def refuse_capture(points: Tensor) -> None:
    """A graph would replay the sample of its capture for ever. One that takes all points (no list of them) may be captured."""
    if _HAS_CUDA and points.numel() > 0 and points.is_cuda and torch.cuda.is_current_stream_capturing():
        raise RuntimeError("samplenorm: a CUDA graph must not capture a layer that draws samples, since every replay would take the sample of "
                           "the capture: leave the normalization out of the graph (torch.compile does so by itself), or use the notation BN")
