"""The package with several processes of torch.distributed (Gloo, CPU tensors): DDP with statistics of each process, and pooled."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel

import samplenorm as sn
from gloo_processes import run_in_processes

ROWS = 8


def network(spec, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3, bias=False), nn.BatchNorm2d(2))
    sn.set_seed(sn.convert(model.double(), spec, **options), 0)
    return model


def batch(step):
    return torch.randn(ROWS, 3, 9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(step))


def train(model, forward, rows, ranks=1):
    """The loss is a sum over rows; DDP divides gradients by the number of ranks, which the rate makes up for."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01 * ranks)
    for step in range(3):
        sn.set_epoch(model, step)
        optimizer.zero_grad()
        forward(batch(step)[rows]).square().sum().backward()
        optimizer.step()
    return model.state_dict()


def pooled_statistics_under_ddp_train_as_one_process_does(rank, ranks):
    rows = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
    for spec in ("BN", "LS-1/4;least=1", "FS-1/4"):
        alone = network(spec)
        expected = train(alone, alone, slice(None))
        for compiled in (False, True):
            model = network(spec, sync=True)
            wrapped = DistributedDataParallel(model)
            actual = train(model, torch.compile(wrapped, backend="aot_eager") if compiled else wrapped, rows, ranks)
            for name, value in expected.items():
                torch.testing.assert_close(actual[name], value, rtol=1e-7, atol=1e-9, msg=lambda text: f"{spec} {name}: {text}")


def a_sync_batch_norm_of_torch_becomes_one_that_works_on_cpu_tensors(rank, ranks):
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(3))).double()
    sn.convert(model, "BN")
    model(batch(0)[rank * ROWS // ranks:(rank + 1) * ROWS // ranks])
    torch.testing.assert_close(model[0].running_mean, 0.1 * batch(0).mean((0, 2, 3)))
    torch.testing.assert_close(model[0].running_var, 0.9 + 0.1 * batch(0).var((0, 2, 3)))


def a_smaller_group_pools_over_its_own_processes(rank, ranks):
    groups = [dist.new_group(range(first, first + ranks // 2)) for first in (0, ranks // 2)]
    mine = rank // (ranks // 2)
    layer = sn.sync(sn.BatchNorm2d(3, spec="BN", dtype=torch.float64), groups[mine])
    share = 2 * ROWS // ranks
    layer(batch(mine)[:share * (ranks // 2)].split(share)[rank % (ranks // 2)])
    torch.testing.assert_close(layer.running_mean, 0.1 * batch(mine)[:share * (ranks // 2)].mean((0, 2, 3)))


def statistics_of_each_process_are_its_own_with_the_same_draws(rank, ranks):
    model = network("FS-1/4")
    wrapped = DistributedDataParallel(model, broadcast_buffers=False)
    wrapped(batch(rank))
    alone = network("FS-1/4")
    alone(batch(rank))
    torch.testing.assert_close(model[1].running_mean, alone[1].running_mean)
    draws = [None] * ranks
    dist.all_gather_object(draws, str(model[1].sample((8, 4, 32, 32))))
    assert len(set(draws)) == 1


def virtual_rows_differ_between_processes_and_nodes_chooses_who_has_them(rank, ranks):
    class Spy(nn.Sequential):
        def forward(self, x):
            self.seen = x
            return super().forward(x)

    def seen(spec, **options):
        spy = Spy(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
        model = sn.VirtualBatch(sn.convert(spy, spec), [0.0] * 3, [1.0] * 3)
        if options.get("sync"):
            sn.sync(model)
        assert model(torch.zeros(4, 3, 8, 8)).shape == (4, 4, 6, 6)
        everyones = [None] * ranks
        dist.all_gather_object(everyones, spy.seen[:-4])
        return everyones

    local = seen("VDN-2/128")
    assert all(len(rows) == 2 for rows in local) and not torch.equal(local[0], local[1])
    assert sorted(len(rows) for rows in seen("VDN-2/128;nodes=1", sync=True)) == [0] * (ranks - 1) + [2]


def fully_sharded_data_parallel_trains_as_one_process_does(rank, ranks):
    """The weights of a norm at the end of a wrapped module are freed before the activation after it."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4))
            self.bn = nn.BatchNorm2d(4)

        def forward(self, x):
            x = torch.relu(self.layers(x))
            return torch.relu(self.bn(x) + x)

    def losses(wrap, convert_first=True):
        torch.manual_seed(0)
        model = Model()
        model = wrap(sn.convert(model, "LS-1/4;least=1")) if convert_first else sn.convert(wrap(model), "LS-1/4;least=1")
        sn.set_seed(model, 0)
        optimizer, found = torch.optim.SGD(model.parameters(), 0.1), []
        for step in range(3):
            optimizer.zero_grad()
            found.append(model(batch(step).float()).square().mean())
            found[-1].backward()
            optimizer.step()
        return torch.stack(found).detach(), sn.report(model)

    expected, _ = losses(lambda model: model)
    for kinds, fused in (((), 2), ((nn.Sequential,), 1), ((nn.BatchNorm2d, sn.BatchNorm2d), 0)):
        for convert_first in (True, False):
            actual, report = losses(lambda model: FullyShardedDataParallel(
                model, auto_wrap_policy=ModuleWrapPolicy(set(kinds)), device_id=torch.device("cpu")), convert_first)
            torch.testing.assert_close(actual, expected)
            assert report.fused == fused, report


CHECKS = [pooled_statistics_under_ddp_train_as_one_process_does, a_sync_batch_norm_of_torch_becomes_one_that_works_on_cpu_tensors,
          a_smaller_group_pools_over_its_own_processes, statistics_of_each_process_are_its_own_with_the_same_draws,
          virtual_rows_differ_between_processes_and_nodes_chooses_who_has_them, fully_sharded_data_parallel_trains_as_one_process_does]


@pytest.mark.parametrize("ranks", [2, 4])
def test_layers_in_gloo_processes_have_statistics_of_their_own_or_pooled_ones(ranks, tmp_path):
    run_in_processes(CHECKS, ranks, tmp_path)
