"""Bytes that kernels load and store, counted by wrapping Triton's interpreter: lanes that are masked out do not count.

Of a large grid the first programs run, and count for all: in layers whose programs all have the same to do."""

import contextlib
from collections import Counter
from unittest import mock

from triton.runtime.interpreter import InterpreterBuilder

from samplenorm.kernels.launch import launches_by


@contextlib.contextmanager
def counted(most_programs=64):
    """Gives a Counter: bytes by kernel."""
    moved, current = Counter(), ["", 1.0]
    load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

    def add(pointers, mask):
        moved[current[0]] += current[1] * int(mask.data.sum()) * (pointers.get_element_ty().primitive_bitwidth // 8)

    def counted_load(builder, pointers, mask, *others):
        add(pointers, mask)
        return load(builder, pointers, mask, *others)

    def counted_store(builder, pointers, values, mask, *others):
        add(pointers, mask)
        return store(builder, pointers, values, mask, *others)

    def named(start):
        def run(kernel, grid, *others):
            programs = min(grid[0], most_programs)
            current[:] = kernel.__name__, grid[0] / programs
            start(kernel, (programs, *grid[1:]), *others)

        return run

    with mock.patch.object(InterpreterBuilder, "create_masked_load", counted_load), \
            mock.patch.object(InterpreterBuilder, "create_masked_store", counted_store), launches_by(named):
        yield moved
