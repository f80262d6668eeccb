"""mpirun: four processes do what a communicator does, and none is left behind when one of them fails."""

import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/mpi_checks"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_", "PMIX_"))},
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",  # as in containers
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # containers forbid reading the memory of other processes
    "OMPI_MCA_btl": "self,vader",  # and may have no network
}


def run(*command):
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def mpirun(count, word):
    return run("mpirun", "--oversubscribe", "-n", str(count), PROGRAM, word)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_processes_do_what_a_communicator_does(count):
    result = mpirun(count, "check")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [f"rank {rank} of {count}: good" for rank in range(count)]


def test_a_process_alone_is_a_world_of_one():
    result = run(PROGRAM, "check")
    assert (result.returncode, result.stdout) == (0, "rank 0 of 1: good\n"), result.stderr


def test_a_process_knows_whether_mpirun_started_it():
    assert run(PROGRAM, "started").stdout == "alone\n"
    assert mpirun(2, "started").stdout == "by mpirun\n" * 2


@pytest.mark.parametrize("how, status", [("abort", 3), ("fail", 4), ("throw", 134)])
def test_a_process_that_fails_ends_those_that_wait_for_it(how, status):
    result = mpirun(4, how)
    assert result.returncode == status, result.stderr
    assert how == "throw" or result.stdout == "leaving"


def test_abort_without_mpi_ends_the_process():
    assert run(PROGRAM, "abort-without-mpi").returncode == 5
