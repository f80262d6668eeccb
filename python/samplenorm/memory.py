"""Memory that the process keeps instead of giving it back to the system."""

from samplenorm._library import ops


def keep_pages(keep: bool = True) -> None:
    """Makes this process keep the memory of tensors on the CPU that are freed: a large tensor gets the place of the last one of its size.

    A training step frees and allocates the same large tensors again and again. Where they go back to the system each time, the kernel has
    to find, clear and map their pages anew, which often costs more than normalization does. Call it once, at the start or at any time
    between steps; it concerns everything that torch allocates on the CPU from then on, and up to a quarter of the machine's memory is kept
    unused. `keep_pages(False)` undoes it and gives the memory back. Tensors on GPUs, which torch keeps anyway, are not concerned.

    >>> import torch, samplenorm as sn
    >>> sn.keep_pages()
    >>> place = torch.empty(1 << 20).data_ptr()
    >>> torch.empty(1 << 20).data_ptr() == place
    True
    >>> sn.keep_pages(False)
    """
    if not isinstance(keep, bool):
        raise TypeError(f"samplenorm.keep_pages: expected True or False, got {keep!r}")
    ops.keep_pages(keep)
