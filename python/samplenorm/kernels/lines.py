"""Lines of the tensors that steps exchange (lib/nn/steps.h), as constants that kernels can use."""

import triton.language as tl

MEAN = tl.constexpr(0)
RSTD = tl.constexpr(1)
UNBIASED_VAR = tl.constexpr(2)
SCALE = tl.constexpr(3)
SHIFT = tl.constexpr(4)
#: As many as there are groups, and then as many counts.
GROUP_MEANS = tl.constexpr(5)

COUNT, BLOCK_MEAN, BLOCK_DEVIATION, LINES_OF_MOMENTS = (tl.constexpr(line) for line in range(4))
