"""Training steps of ResNet-50 in Python: as it is, converted without fusing, and converted and fused; eager and under torch.compile.

    ./run bench python [--quick] [--json FILE] [--model resnet50] [--batch 16] [--side 112] [--norm LS-1/64]

All contenders take their steps in turns; every figure is the median over rounds of a contender's time over that of the original's
eager step in the same round. First, each contender must give the loss of the original (converted ones with BN, which is exact).
"""

import argparse
import copy
import json
import os
import pathlib
import random
import platform
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional

import samplenorm as sn
import samplenorm.compiled  # registers its backend
from step_in_python import make_network


def arguments():
    parser = argparse.ArgumentParser(prog="./run bench python", description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50", help="resnet18, 34, 50 or 101, or resnet20, 32, 44, 56 or 110 for small images")
    parser.add_argument("--batch", type=int, default=16, help="images in a step (default: %(default)s)")
    parser.add_argument("--side", type=int, default=112, help="height and width of the images (default: %(default)s)")
    parser.add_argument("--norm", default="LS-1/64", help="of the converted networks (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="(default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="few rounds of a small case, eager only: that it works")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the record there")
    options = parser.parse_args()
    for name in ("batch", "side", "rounds"):
        if getattr(options, name) < 1:
            parser.error(f"expected --{name} of 1 or more, got {getattr(options, name)}")
    if options.quick:
        options.rounds, options.batch, options.side = 2, 4, 64
    try:
        sn.BatchNorm2d(1, spec=options.norm)
    except ValueError as error:
        parser.error(str(error))
    return options


class Contender:
    def __init__(self, name, network, images, labels, backend=None):
        self.name, self.images, self.labels = name, images, labels
        self.network = network.train()
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


def contenders(options):
    torch.manual_seed(1)
    images = torch.randn(options.batch, 3, options.side, options.side).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(1000, (options.batch,))
    original = make_network(options.model, 3, 1000).to(memory_format=torch.channels_last)
    converted = lambda spec, fuse: sn.convert(copy.deepcopy(original), spec, fuse=fuse)
    networks = {
        "original": lambda: copy.deepcopy(original),
        "converted, BN": lambda: converted("BN", False),
        "converted and fused, BN": lambda: converted("BN", True),
        f"converted, {options.norm}": lambda: converted(options.norm, False),
        f"converted and fused, {options.norm}": lambda: converted(options.norm, True),
    }
    all_of_them = [Contender(f"{name}, eager", make(), images, labels) for name, make in networks.items()]
    if not options.quick:
        compiled = {"original": "inductor", f"converted, {options.norm}": "inductor", f"converted and fused, {options.norm}": "samplenorm"}
        all_of_them += [Contender(f"{name}, compiled", networks[name](), images, labels, backend) for name, backend in compiled.items()]
    return all_of_them


def check(all_of_them):
    """Warms every contender up; exact ones must give the original's loss."""
    expected = all_of_them[0].step()
    for contender in all_of_them:
        loss = contender.step()
        exact = "BN" in contender.name or contender.name.startswith("original")
        if not (abs(loss - expected) < 1e-3 * abs(expected) if exact else 0 < loss < float("inf")):
            sys.exit(f"python_package.py: expected a loss of {expected:.5f} from '{contender.name}', got {loss:.5f}")


LAYERS = 10


class CallCost:
    """Microseconds of a norm and a ReLU in training, forward alone, in a chain of ten: as one call that waits, as two calls, and as torch's two.

    The tiny layer shows what the calls cost; the other is the smallest of MobileNetV2 at batch 16 and 112 x 112, channels_last."""

    SHAPES = {"tiny": (2, 8, 2, 2), "the smallest of MobileNetV2": (16, 160, 4, 4)}

    def __init__(self, norm, rounds):
        self.rounds, self.results = rounds, []
        for name, shape in self.SHAPES.items():
            x = torch.randn(shape).contiguous(memory_format=torch.channels_last)
            apart = torch.nn.Sequential(*(layer for _ in range(LAYERS) for layer in (torch.nn.BatchNorm2d(shape[1]), torch.nn.ReLU())))
            one, two = (sn.convert(copy.deepcopy(apart), norm, fuse=fuse) for fuse in (True, False))
            self.measure(name, {"one call that waits": one, "two calls": two, "torch's two calls": apart}, x)

    def measure(self, layer, networks, x, calls=10):
        microseconds = {name: [] for name in networks}
        for round_number in range(-1, self.rounds):
            for name in random.Random(round_number).sample(list(networks), len(networks)):
                begin = time.perf_counter()
                for _ in range(calls):
                    networks[name](x)
                if round_number >= 0:
                    microseconds[name].append(1e6 * (time.perf_counter() - begin) / calls / LAYERS)
        self.results += [{"layer": layer, "shape": list(x.shape), "calls": name, "microseconds": statistics.median(values), "rounds": values}
                         for name, values in microseconds.items()]


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.processor()


def commit():
    result = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], capture_output=True, text=True,
                            cwd=pathlib.Path(__file__).parent)
    return result.stdout.strip()


def main():
    options = arguments()
    load = os.getloadavg()[0]
    if load > 0.5 * os.cpu_count():
        print(f"timings are unreliable, since the load is {load:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    all_of_them = contenders(options)
    check(all_of_them)
    for round_number in range(options.rounds):
        for contender in random.Random(round_number).sample(all_of_them, len(all_of_them)):
            contender.timed_step()
        print(f"round {round_number + 1}/{options.rounds}", file=sys.stderr)

    base = all_of_them[0].seconds
    rows = []
    for contender in all_of_them:
        speed = statistics.median(reference / own for reference, own in zip(base, contender.seconds))
        rows.append({"contender": contender.name, "milliseconds": 1e3 * statistics.median(contender.seconds), "speed": speed,
                     "seconds": contender.seconds})
    print(f"A training step of {options.model}, {options.batch} images of {options.side} x {options.side}, on {cpu()}, "
          f"{torch.get_num_threads()} threads")
    for row in rows:
        print(f"  {row['contender']:<40} {row['milliseconds']:9.1f} ms   {row['speed']:5.2f} x the original")
    cost = CallCost(options.norm, options.rounds)
    print(f"A norm ({options.norm}) and a ReLU, forward in training, microseconds")
    for row in cost.results:
        print(f"  {row['layer']:<28} {row['calls']:<20} {row['microseconds']:7.1f}")
    if options.json:
        record = {"command": " ".join(["./run bench python", *sys.argv[1:]]), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                  "samplenorm": sn.__version__, "commit": commit(), "libtorch": torch.__version__, "cpu": cpu(),
                  "threads": torch.get_num_threads(), "load_average": load, "model": options.model, "batch": options.batch,
                  "side": options.side, "rounds": options.rounds, "results": rows, "calls": cost.results}
        beside = options.json.with_name(options.json.name + ".part")
        beside.write_text(json.dumps(record, indent=1) + "\n")
        beside.replace(options.json)


if __name__ == "__main__":
    main()
