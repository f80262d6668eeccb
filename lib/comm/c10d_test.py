"""Process groups of torch.distributed as communicators: three processes with gloo. Run with a rank, this file is one of them."""

import ctypes
import os
import pathlib
import subprocess
import sys

SIZE = 3


def load():
    library = ctypes.CDLL(str(pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "lib/libc10d_checks.so"))
    library.held_is_destroyed.restype = ctypes.c_bool
    return library


def process(rank, folder):
    import torch.distributed as dist
    checks = load()

    def start(name):
        dist.init_process_group("gloo", init_method=f"file://{folder}/{name}", rank=rank, world_size=SIZE)
        return dist.group.WORLD.group_name.encode()

    # Behind the last one's end another group takes its name: the communicator is another, too, and counts from 0.
    names = set()
    for turn in ("first", "second"):
        name = start(turn)
        names.add(name)
        assert checks.collectives_of(name) == 0
        assert checks.check_process_group(name) == 0
        assert checks.collectives_of(name) > 0  # still the same object
        ends = dist.new_group([0, SIZE - 1])
        if rank in (0, SIZE - 1):
            assert checks.check_process_group(ends.group_name.encode()) == 0
        del ends
        checks.hold(name)
        dist.barrier()
        dist.destroy_process_group()
        assert checks.held_is_destroyed()
        assert checks.collectives_of(name) == -1
    assert len(names) == 1


def test_groups_do_what_a_communicator_does(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "LOCAL_WORLD_SIZE"}
    environment["GLOO_SOCKET_IFNAME"] = "lo"
    ranks = [subprocess.Popen([sys.executable, __file__, str(rank), tmp_path], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(SIZE)]
    try:
        outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0] * SIZE, "\n".join(outputs)
    assert all("no communicator is registered as" in output and "has been destroyed" in output for output in outputs)


if __name__ == "__main__":
    process(int(sys.argv[1]), sys.argv[2])
