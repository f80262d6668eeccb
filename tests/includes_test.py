"""The include-direction check finds what it is there to find."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])


def check(root):
    result = subprocess.run([sys.executable, SOURCE / "scripts/check_includes.py", root], capture_output=True, text=True)
    return result.returncode, result.stdout


def test_the_project_keeps_its_directions():
    assert check(SOURCE) == (0, "includes go only where the architecture lets them\n")


@pytest.mark.parametrize("file, line, problem", [
    ("lib/core/a.h", '#include "nn/plan.h"', "lib/core may not include from lib/nn"),
    ("lib/samplers/a.cc", "#include <torch/torch.h>", "lib/samplers may not use torch"),
    ("lib/kernels/a.cc", '#include "samplers/method.h"', "lib/kernels may not include from lib/samplers"),
    ("lib/include/samplenorm/sample.h", "#include <ATen/ATen.h>", "plain data"),
    ("lib/include/samplenorm/norm.h", '#include "core/layout.h"', "may not include from lib/core"),
    ("app/cli/a.cc", '#include "nn/plan.h"', "app/cli may not include from lib/nn"),
    ("app/report/a.cc", "#include <torch/torch.h>", "app/report may not use torch"),
    ("lib/comm/threads.cc", "#include <mpi.h>", "only lib/comm/mpi.cc"),
    ("app/cli/mpi.cc", "#include <mpi.h>", "only lib/comm/mpi.cc may use MPI"),
    ("lib/nn/a.cc", "#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>", "only lib/comm/c10d.cc may use c10d"),
    ("lib/include/samplenorm/communicator.h", "#include <torch/torch.h>", "plain data"),
    ("bench/a.cc", '#include "samplers/method.h"', "bench may not include from lib/samplers"),
    ("lib/nn/a.cc", '#include "bench/limit.h"', "lib/nn may not include from bench"),
    ("bench/limit.cc", "#include <oneapi/dnnl/dnnl.hpp>", "only bench/onednn.cc may use oneDNN"),
    ("lib/extra/a.cc", "", "not in the table"),
    ("bench/extra/a.cc", "", "not in the table"),
    ("lib/core/a.h", '#include "layout.h"', "is in no folder"),
])
def test_a_wrong_include_is_named_with_its_line(tmp_path, file, line, problem):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"\n{line}\n")
    status, output = check(tmp_path)
    assert status == 1
    assert problem in output
    assert line == "" or f"{file}:2" in output
