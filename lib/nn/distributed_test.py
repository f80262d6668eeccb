"""The operators under torch.distributed: statistics over the processes of a Gloo group, on CPU tensors.

Every process compares what it gets for its rows with what one process gets for all of them.
"""

import os

import pytest
import torch
import torch.distributed as dist

from gloo_processes import run_in_processes

ROWS, CHANNELS, SIDE = 8, 3, 6
KEY = torch.tensor([7, 3, 2, 0])


def load():
    torch.ops.load_library(os.environ["SAMPLENORM_LIBRARY"])
    return torch.ops.samplenorm.sampled_batch_norm


def problem():
    """x, weight, bias, residual and the gradient of y, of all processes together."""
    generator = torch.Generator().manual_seed(5)
    draw = lambda *sizes: torch.randn(*sizes, generator=generator, dtype=torch.float64)
    shape = (ROWS, CHANNELS, SIDE, SIDE)
    return 2 * draw(*shape) + 1, draw(CHANNELS), draw(CHANNELS), draw(*shape), draw(*shape)


def results(operator, rows, spec, rank=0, ranks=1, group="", activation="relu"):
    """y and the gradients of x, weight, bias and residual, of the rows in the slice."""
    x, weight, bias, residual, dy = problem()
    x, residual, dy = (tensor[rows].contiguous(memory_format=torch.channels_last) for tensor in (x, residual, dy))
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias, residual)]
    y = operator([x], weight, bias, residual, spec, KEY, 1e-5, activation, False, group, rank, ranks)[0]
    return [y, *torch.autograd.grad(y, leaves, dy)]


def assert_same(mine, whole, rows):
    for name, a, b in zip(("y", "dx", "dresidual"), (mine[0], mine[1], mine[4]), (whole[0], whole[1], whole[4])):
        torch.testing.assert_close(a, b[rows], rtol=1e-9, atol=1e-10, msg=lambda text: f"{name}: {text}")
    for a, b in zip(mine[2:4], whole[2:4]):  # of the process's own rows: the user's all-reduce adds them up
        total = a.detach().clone()
        dist.all_reduce(total)
        torch.testing.assert_close(total, b, rtol=1e-9, atol=1e-10)


def sync_equals_one_process(rank, ranks):
    operator, group = load(), dist.group.WORLD.group_name
    rows = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
    for spec in ("BN", "FS-1/4", "LS-1/4;least=1"):
        for activation in ("relu", "leaky_relu(0.2)", "identity"):
            mine = results(operator, rows, spec, rank, ranks, group, activation)
            assert_same(mine, results(operator, slice(None), spec, activation=activation), rows)


def sync_takes_unequal_and_empty_shares(rank, ranks):
    operator, group = load(), dist.group.WORLD.group_name
    first = [0, 3, 3, 7, ROWS] if ranks == 4 else [0, 0, ROWS]
    rows = slice(first[rank], first[rank + 1])
    for spec in ("BN", "FS-1/4"):
        assert_same(results(operator, rows, spec, rank, ranks, group), results(operator, slice(None), spec), rows)


def pooling_on_the_device_equals_one_process(rank, ranks):
    """As the driver pools where a group serves the activations' device: what is exchanged stays tensors."""
    load()
    ops, group = torch.ops.samplenorm, dist.group.WORLD.group_name
    x, weight, bias, _, dy = problem()
    first = [0, 3, 3, 7, ROWS] if ranks == 4 else [0, 5, ROWS]  # a process has no rows
    rows, everything = [0, first[rank + 1] - first[rank]], torch.empty(0, dtype=torch.long)
    mine = slice(first[rank], first[rank + 1])

    def steps(x, dy, rows, pool_moments, pool_sums):
        moments, _ = ops.moments([x], everything, rows, [rows[1] * SIDE * SIDE], 0)
        statistics = ops.statistics(pool_moments(moments), [1.0], weight, bias, 1e-5, None, None, None, None, False)
        sums = ops.backward(dy, [x], None, statistics, None, rows, "relu", False, False)[1]
        return statistics, ops.gradients(sums, pool_sums(sums), statistics, [1.0])[2]

    alone = steps(x, dy, [0, ROWS], lambda moments: moments, lambda sums: sums)
    together = steps(x[mine], dy[mine], rows, lambda moments: ops.gathered_moments(moments, group, ranks),
                     lambda sums: ops.reduced_sums(sums, group))
    for a, b in zip(together, alone, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def few_nodes_give_all_the_same_statistics(rank, ranks):
    operator, group = load(), dist.group.WORLD.group_name
    x = problem()[0]
    half = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
    statistics = operator([x[half]], None, None, None, "BS-2/4;nodes=1/2", KEY, 1e-5, "identity", False, group, rank, ranks)[1]
    everyones = [torch.empty_like(statistics) for _ in range(ranks)]
    dist.all_gather(everyones, statistics)
    assert all(torch.equal(other, statistics) for other in everyones)


def few_nodes_get_the_gradients_of_the_plain_formula(rank, ranks):
    """Statistics are those of the rows that the chosen processes sample; the gradients of all rows go into these alone."""
    operator, group, share = load(), dist.group.WORLD.group_name, ROWS // ranks
    x, weight, bias, residual, dy = (tensor.requires_grad_() for tensor in problem())
    for spec in ("BS-1/2;nodes=1/2", "BS-1/1;nodes=1/2"):
        sampled = []
        for other in range(ranks):
            boxes = torch.classes.samplenorm.Notation(spec).sample([share, CHANNELS, SIDE, SIDE], KEY, other, ranks, True)[2]
            sampled += [x[other * share + box[1]:other * share + box[2]] for box in boxes]
        assert 0 < len(sampled) < ranks
        var, mean = torch.var_mean(torch.cat(sampled), (0, 2, 3), unbiased=False, keepdim=True)
        z = (x - mean) / (var + 1e-5).sqrt() * weight.view(1, -1, 1, 1) + bias.view(1, -1, 1, 1) + residual
        whole = [torch.relu(z), *torch.autograd.grad(torch.relu(z), (x, weight, bias, residual), dy)]
        rows = slice(rank * share, (rank + 1) * share)
        assert_same(results(operator, rows, spec, rank, ranks, group), whole, rows)


def local_equals_a_statistic_batch_in_one_process(rank, ranks):
    operator = load()
    share = ROWS // ranks
    rows = slice(rank * share, (rank + 1) * share)
    for spec in ("BN", "BS-1/2", "FS-1/4", "LS-1/4;least=1"):
        whole = results(operator, slice(None), f"{spec};stat_batch={share}")
        assert_same(results(operator, rows, spec, rank, ranks), whole, rows)


def sync_works_under_torch_compile(rank, ranks):
    operator, group = load(), dist.group.WORLD.group_name
    rows = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
    x, weight, bias, residual, dy = problem()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def layer(x, weight, bias):
        return operator([x * 2], weight, bias, None, "LS-1/4;least=1", KEY, 1e-5, "relu", False, group, rank, ranks)[0] + 1

    def plain(x, weight, bias):
        return operator([x * 2], weight, bias, None, "LS-1/4;least=1", KEY, 1e-5, "relu")[0] + 1

    mine, whole = x[rows].clone().requires_grad_(), x.clone().requires_grad_()
    y, expected = layer(mine, weight, bias), plain(whole, weight, bias)
    torch.testing.assert_close(y, expected[rows], rtol=1e-9, atol=1e-10)
    y.backward(dy[rows])
    expected.backward(dy)
    torch.testing.assert_close(mine.grad, whole.grad[rows], rtol=1e-9, atol=1e-10)


def wrong_groups_and_ranks_are_told(rank, ranks):
    operator, group = load(), dist.group.WORLD.group_name
    x = problem()[0]
    with pytest.raises((RuntimeError, ValueError), match="no such group"):
        operator([x], None, None, None, "BN", KEY, 1e-5, "identity", False, "no such group", rank, ranks)
    with pytest.raises((RuntimeError, ValueError), match=f"expected rank {rank} of {ranks}"):
        operator([x], None, None, None, "BN", KEY, 1e-5, "identity", False, group)


CHECKS = [sync_equals_one_process, sync_takes_unequal_and_empty_shares, few_nodes_give_all_the_same_statistics,
          pooling_on_the_device_equals_one_process, few_nodes_get_the_gradients_of_the_plain_formula, local_equals_a_statistic_batch_in_one_process,
          sync_works_under_torch_compile, wrong_groups_and_ranks_are_told]


@pytest.mark.parametrize("ranks", [2, 4])
def test_statistics_over_gloo_processes_equal_those_of_one_process(ranks, tmp_path):
    run_in_processes(CHECKS, ranks, tmp_path)
