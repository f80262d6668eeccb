"""How much memory the kernels move, in passes over the activations ("units")."""

import pytest

from gpu_bytes import CASES, units

FORWARD, BACKWARD = {False: (2, 2.05), True: (3.06, 3.15)}, {False: (3, 3.05), True: (4.06, 4.15)}


@pytest.mark.filterwarnings("ignore")  # values that were never written
@pytest.mark.parametrize("dtype, channels_last, with_residual", CASES)
def test_a_large_layer_moves_five_units_and_with_a_residual_seven(dtype, channels_last, with_residual):
    forward, backward, sample = units(dtype, channels_last, with_residual)
    for found, (least, most) in ((forward, FORWARD[with_residual]), (backward, BACKWARD[with_residual]), (sample, (0, 0.1))):
        assert least <= found <= most, (forward, backward, sample)
