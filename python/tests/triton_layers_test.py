"""The layers' own tests, through the Triton kernels, which the interpreter runs on the CPU. In processes of their own: triton looks at its
environment when it is imported.

With the environment variable SAMPLENORM_WHOLE set (./run check), the slower files too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [f"python/tests/{name}_test.py" for name in ("modules", "conversion", "few_points", "virtual_batch", "fusing", "processes_of_python")]
if os.environ.get("SAMPLENORM_WHOLE"):
    FILES += [f"python/tests/{name}_test.py" for name in ("least", "compile")]
    FILES += [f"lib/nn/{name}_test.py" for name in ("sweep", "operators", "activations", "distributed")]


@pytest.mark.parametrize("file", FILES)
def test_layers_by_the_triton_kernels(file):
    # -p samplenorm imports the package first: tests of the operators alone would not.
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "samplenorm", "-W", "ignore", ROOT / file],
                          env=os.environ | {"SAMPLENORM_KERNELS": "triton", "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
