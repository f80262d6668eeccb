"""Contenders of `./run bench python`: a network, as it is or converted, and its training step, in this process or in one of its own."""

import collections
import json
import pathlib
import subprocess
import sys
import time

import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

import python_networks
import samplenorm as sn

ORIGINAL, NONE = "original", "none"
#: What in-step timers count: operators by parts of their names. A norm's own work is not all: torch's ReLUs copy and clone, too.
TIMED = {"norm": ("batch_norm", "samplenorm::"), "activation": ("relu", "silu", "hardtanh", "threshold", "clamp", "hardswish"),
         "cat": ("aten::cat",)}


def variants(norm):
    """Name of a contender: its notation, None for the original, and other arguments of convert."""
    return {ORIGINAL: (None, {}), "converted, BN": ("BN", {"fuse": False}), "converted and fused, BN": ("BN", {}),
            f"converted, {norm}": (norm, {"fuse": False}), f"converted and fused, {norm}": (norm, {}), "lean": (norm, {"lean": True})}


def network_of(model, name, norm):
    original = python_networks.make(model)
    if name == NONE:
        return python_networks.without_norms(original)
    spec, options = variants(norm)[name]
    return original if spec is None else sn.convert(original, spec, **options)


class Contender:
    def __init__(self, name, network, images, labels, backend=None):
        self.name, self.network, self.images, self.labels = name, network, images, labels
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0, momentum=0.9, weight_decay=1e-4)
        self.forward = torch.compile(network, backend=backend) if backend else network
        self.seconds = []

    def step(self):
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.forward(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def timed_step(self):
        begin = time.perf_counter()
        self.step()
        self.seconds.append(time.perf_counter() - begin)

    def inside(self):
        """Milliseconds of one step in norms, activations, additions and concatenations, by torch's profiler."""
        with profile(activities=[ProfilerActivity.CPU]) as trace:
            self.step()
        milliseconds = collections.Counter()
        for event in trace.key_averages():
            name = event.key.lower()
            kind = next((kind for kind, words in TIMED.items() if any(word in name for word in words)), None)
            if kind is None and name in ("aten::add", "aten::add_", "aten::copy_"):
                kind = name.removeprefix("aten::").strip("_")
            if kind:
                milliseconds[kind] += event.self_cpu_time_total / 1e3
        return dict(milliseconds)

    def kept_bytes(self):
        """What one forward leaves allocated: what it keeps for backward. By PyTorch's own allocator alone: pages must not be kept."""
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
            loss = functional.cross_entropy(self.network(self.images), self.labels)
        kept = sum(event.self_cpu_memory_usage for event in trace.key_averages())
        loss.backward()
        return kept


def data_of(model, batch, side):
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(batch, 3, side, side, generator=generator).contiguous(memory_format=torch.channels_last)
    return images, torch.randint(10 if side == 32 else 1000, (batch,), generator=generator)


class InAProcess:
    """A contender with a process of its own: the original network with PyTorch's default allocation, as users have it; or any, for its peak of
    memory. It stands still but for its turns."""

    def __init__(self, name, model, contender, norm, batch, side, keep_pages):
        self.name, self.seconds = name, []
        words = [sys.executable, __file__, json.dumps([model, contender, norm, batch, side, keep_pages, torch.get_num_threads()])]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"./run bench python: the process of '{self.name}' ended")
        return float(answer)

    def step(self):
        return self.ask("loss")

    def timed_step(self):
        self.seconds.append(self.ask("seconds"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def peak_bytes():
    """Of this process; getrusage's figure is at least that of the process that started it."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0


def serve(model, name, norm, batch, side, keep_pages, threads):
    torch.set_num_threads(threads)
    if keep_pages:
        sn.keep_pages()
    contender = Contender(name, network_of(model, name, norm), *data_of(model, batch, side))
    for request in map(str.strip, sys.stdin):
        if request == "loss":
            print(contender.step(), flush=True)
        elif request == "seconds":
            contender.timed_step()
            print(contender.seconds[-1], flush=True)
        elif request == "kept":
            print(contender.kept_bytes(), flush=True)
        else:
            print(peak_bytes(), flush=True)


if __name__ == "__main__":
    serve(*json.loads(sys.argv[1]))
