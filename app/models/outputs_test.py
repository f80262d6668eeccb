"""Torchvision's networks with our weights give our outputs, in training and in evaluation, and take every tensor by its name."""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest
import torch

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/app_models_test"


def import_torchvision():
    """It may be built for another torch; only its own operators are missing then, and none is used here."""
    try:
        import torchvision
    except RuntimeError:
        folder = pathlib.Path(importlib.util.find_spec("torchvision").origin).parent
        names = set(re.findall(r'(?:register_meta\("|torchvision::)(\w+)', (folder / "_meta_registrations.py").read_text()))
        for name in names:
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
        import torchvision
    return torchvision


def part(tensors, prefix):
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


@pytest.mark.parametrize("name, parameters", [("mobilenet_v2", 3_504_872), ("resnet18", 11_689_512)])
def test_torchvisions_network_gives_the_same(name, parameters, tmp_path):
    result = subprocess.run([PROGRAM, "--gtest_filter=Outputs.AreWrittenForPython"], capture_output=True, text=True,
                            env={**os.environ, "SAMPLENORM_TEST_FOLDER": str(tmp_path), "SAMPLENORM_TEST_MODEL": name})
    assert result.returncode == 0, result.stdout + result.stderr
    ours = torch.load(tmp_path / "outputs.pt", weights_only=False)  # a dictionary of C++
    model = getattr(import_torchvision().models, name)().double()
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0  # ours has none
    model.load_state_dict(part(ours, "before."), strict=True)
    with torch.no_grad():
        torch.testing.assert_close(model.train()(ours["images"]), ours["training"], rtol=1e-8, atol=1e-8)
        for key, value in model.state_dict().items():
            torch.testing.assert_close(ours["after." + key].to(value.dtype), value, rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(model.eval()(ours["images"]), ours["evaluation"], rtol=1e-8, atol=1e-8)
