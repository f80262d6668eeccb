"""Kernels in Triton for the six steps of a layer. Importing this needs triton; `samplenorm` works without it."""
