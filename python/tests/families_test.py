"""A model of each family that people train, converted: fused and not fused it trains alike, and restored it is what it was.

Half of the families take three steps. With the environment variable SAMPLENORM_WHOLE set, all of them take ten. In float64, so that
rounding does not grow to a difference."""

import copy
import os

import pytest
import torch

import samplenorm as sn
from outside_models import FAMILIES, NOT_FUSED, fused_share, plain_outputs, train

WHOLE = bool(os.environ.get("SAMPLENORM_WHOLE"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if WHOLE or family.always])
def test_a_family_trains_fused_as_apart_and_restores(name):
    family = FAMILIES[name]
    model, images = family.make(small=True).double(), family.images().double()
    apart = copy.deepcopy(model)
    kinds, keys = [type(module) for module in model.modules()], list(model.state_dict())
    conversions = []
    sn.set_seed(sn.convert(model, "LS-1/64", report=conversions.append), 3), sn.set_seed(sn.convert(apart, "LS-1/64", fuse=False), 3)
    assert not conversions[0].left and list(model.state_dict()) == keys and type(model) is kinds[0]

    steps = 10 if WHOLE else 3
    losses = train(model, images, steps)
    torch.testing.assert_close(losses, train(apart, images, steps), rtol=1e-6, atol=1e-9)
    assert len(set(losses)) > 1
    share = fused_share(sn.report(model))
    assert (share < 0.95) == (name in NOT_FUSED), sn.report(model)

    with torch.no_grad():
        expected = plain_outputs(model.eval()(images))
        sn.restore(model)
        assert [type(module) for module in model.modules()] == kinds and list(model.state_dict()) == keys
        assert all(map(torch.equal, plain_outputs(model(images)), expected))
