"""python -m samplenorm.bench runs on the CPU, too, and writes what it found."""

import json
import subprocess
import sys

import pytest
import torch
from torch import nn

from samplenorm.bench.checks import check
from samplenorm.bench.contenders import network


@pytest.mark.filterwarnings("ignore")
def test_it_runs_on_the_cpu_and_writes_json(tmp_path):
    file = tmp_path / "found.json"
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "samplenorm.bench", "--quick", "--device", "cpu", "--channels-last",
                           "--amp", "--json", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert found["machine"]["torch"] == torch.__version__ and len(found["models"]) == 3
    for model in found["models"]:
        assert [result["name"] for result in model["results"]] == ["original", "converted", "fused", "none"]
        assert all(result["seconds"] > 0 and result["of_original"] > 0 for result in model["results"])


def test_an_unknown_network_gets_one_sentence():
    with pytest.raises(ValueError, match="expected a network of torchvision or timm, or 'small', got 'no_such_network'"):
        network("no_such_network")


@pytest.mark.filterwarnings("ignore")
def test_wrong_answers_are_noticed(monkeypatch):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    x = torch.randn(4, 3, 8, 8)
    check(model, x, "right")
    import samplenorm
    usual = samplenorm.convert

    def wrong(model, spec, **options):
        with torch.no_grad():
            model[1].bias += 0.5
        return usual(model, spec, **options)

    monkeypatch.setattr("samplenorm.bench.checks.sn.convert", wrong)
    with pytest.raises(RuntimeError, match="wrong, converted with BN: off by"):
        check(model, x, "wrong")
