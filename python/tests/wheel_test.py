"""The wheel that ./run wheel builds, installed in an environment of its own."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])
PROGRAM = """
import pathlib, sys
import torch
import samplenorm as sn
assert pathlib.Path(sn.__file__).is_relative_to(sys.prefix), sn.__file__
model = sn.convert(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()), "LS-1/64")
model(torch.randn(4, 3, 16, 16)).sum().backward()
assert "samplenorm" in torch._dynamo.list_backends()
sn.dataset_stats([torch.randn(2, 3, 4, 4)])
print(sn.__version__, sn.restore(model))
"""


def run(*command, **options):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SAMPLENORM_", "PYTHON"))}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, **options)


@pytest.fixture(scope="module")
def wheel():
    result = run(SOURCE / "run", "wheel")
    assert result.returncode == 0, result.stdout + result.stderr
    return pathlib.Path(result.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """An environment with the wheel and its dependencies alone."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    result = run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    assert result.returncode == 0, result.stderr
    return folder / "bin/python"


def test_the_wheel_has_the_package_and_the_library_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"samplenorm/__init__.py", "samplenorm/py.typed", "samplenorm/libsamplenorm.so", "samplenorm/_built_with.py"} <= names
    assert all(re.match(r"samplenorm(/|-[0-9.]+\.dist-info/)", name) for name in names)
    assert not any(str(SOURCE).encode() in zipfile.ZipFile(wheel).read(name) for name in names if not name.endswith(".so"))


def test_the_wheel_runs_in_a_clean_environment(python, tmp_path):
    result = run(python, "-c", PROGRAM, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("0.1.0 ") and "BatchNorm2d(8, eps=1e-05" in result.stdout


def test_all_libraries_it_needs_come_with_it_or_with_torch(python):
    """Whoever installs the wheel need not have any package of Debian's, but for the C++ runtime that torch itself needs."""
    library = next(python.parents[1].glob("lib/python3*/site-packages/samplenorm/libsamplenorm.so"))
    places = dict(re.findall(r"(\S+) => (\S+)", run("ldd", library).stdout))
    assert "libhwy.so.1" in places and "libtorch_cpu.so" in places
    system = {name for name, place in places.items() if not pathlib.Path(place).is_relative_to(python.parents[1])}
    assert system <= {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1"}


def test_another_torch_is_refused_with_what_to_do(python, tmp_path):
    result = run(python, "-c", "import torch; torch.__version__ = '2.12.1+cpu'; import samplenorm", cwd=tmp_path)
    assert result.returncode == 1
    assert "ImportError: samplenorm 0.1.0 was built for torch 2.13.0, and torch 2.12.1+cpu is installed" in result.stderr
