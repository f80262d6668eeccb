"""Runs checks in several processes of torch.distributed (Gloo, CPU tensors), for tests."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run_in_processes(checks, ranks, folder):
    """Each check is called with (rank, ranks) in each of so many processes; all of them in the same ones, since starting one costs more
    than they do."""
    mp.spawn(_run_checks, args=(ranks, folder / "store", checks), nprocs=ranks)


def _run_checks(rank, ranks, store, checks):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # all on this machine, whatever its name resolves to
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for check in checks:
        try:
            check(rank, ranks)
        except Exception as error:
            raise AssertionError(f"{check.__name__} on rank {rank} of {ranks}: {error}") from error
    dist.destroy_process_group()
