"""Training steps of networks in Python: as they are, converted without fusing, converted and fused, and without norms.

    ./run bench python [--quick] [--json FILE] [--model mobilenetv2,resnet50,...] [--norm LS-1/64] [--compiled]

All contenders of a network take their steps in turns, in another order in each round, until the 95 % interval of every ratio to the original's
step is within 2 % or 100 rounds are done. Pages are kept (samplenorm.keep_pages) for all of them; one more is the original in a process of its
own with PyTorch's default allocation, as users have it. First, each contender must give the loss of the original (converted ones with BN, which is
exact). Beside the clock, torch's profiler adds up what is spent within norms, activations, additions and concatenations.
"""

import argparse
import copy
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

import torch

import samplenorm as sn
import samplenorm.compiled  # registers its backend
from python_contenders import NONE, ORIGINAL, Contender, InAProcess, data_of, network_of
from python_networks import NETWORKS, PUBLISHED

DEFAULT_ALLOCATION = "original, default allocation"
#: Speed of the fused network: with pages kept for both, against the original as users have it, and inside norms and what goes with them.
MUST_AND_AIM = {"mobilenetv2": ((1.20, 1.33), (1.60, 2.0), (2.2, 3.5)), "efficientnet_b0": ((1.10, 1.18), (1.25, 1.5), (2.2, 3.5)),
                "densenet121": ((1.12, 1.22), (1.25, 1.5), (2.2, 3.5)), "resnet50": ((1.05, 1.12), (1.15, 1.3), (2.2, 3.5))}


def arguments():
    parser = argparse.ArgumentParser(prog="./run bench python", description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=",".join(PUBLISHED), help=f"networks, of {', '.join(NETWORKS)} (default: %(default)s)")
    parser.add_argument("--batch", type=int, help="images in a step (default: the network's own)")
    parser.add_argument("--side", type=int, help="height and width of the images (default: the network's own)")
    parser.add_argument("--norm", default="LS-1/64", help="of the converted networks (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=100, help="at most (default: %(default)s)")
    parser.add_argument("--compiled", action="store_true", help="torch.compile's contenders, too: minutes for each network")
    parser.add_argument("--quick", action="store_true", help="few rounds of a small case: that it works")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the record there")
    options = parser.parse_args()
    options.model = options.model.split(",")
    for name in options.model:
        if name not in NETWORKS:
            parser.error(f"expected --model of {', '.join(NETWORKS)}, got {name}")
    for name in ("batch", "side", "rounds"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            parser.error(f"expected --{name} of 1 or more, got {getattr(options, name)}")
    if options.quick:
        options.rounds, options.batch, options.side = 2, 4, 32
    try:
        sn.BatchNorm2d(1, spec=options.norm)
    except ValueError as error:
        parser.error(str(error))
    return options


def fused(norm):
    return f"converted and fused, {norm}"


def names_of(norm):
    return [ORIGINAL, "converted, BN", "converted and fused, BN", f"converted, {norm}", fused(norm), NONE]


def check(all_of_them):
    """Warms every contender up; exact ones must give the original's loss."""
    expected = all_of_them[0].step()
    for contender in all_of_them:
        loss = contender.step()
        exact = "BN" in contender.name or contender.name.startswith(ORIGINAL)
        if not (abs(loss - expected) < 1e-3 * abs(expected) if exact else loss == loss or contender.name == NONE):
            sys.exit(f"./run bench python: expected a loss of {expected:.5f} from '{contender.name}', got {loss:.5f}")


def speeds(base, own):
    return [reference / seconds for reference, seconds in zip(base.seconds, own.seconds)]


def interval(values, draws=1000):
    """The 95 % interval of the median, by bootstrap."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws) - 1]


def is_settled(all_of_them):
    for contender in all_of_them[1:]:
        values = speeds(all_of_them[0], contender)
        low, high = interval(values, draws=200)
        if high - low > 0.04 * statistics.median(values):
            return False
    return True


class Network:
    """All measurements of one network."""

    def __init__(self, model, options):
        _, batch, side = NETWORKS[model]
        self.model, self.norm = model, options.norm
        self.batch, self.side = options.batch or batch, options.side or side
        data = data_of(model, self.batch, self.side)
        self.contenders = [Contender(name, network_of(model, name, self.norm), *data) for name in names_of(self.norm)]
        if options.compiled:
            for name, backend in ((ORIGINAL, "inductor"), (fused(self.norm), "samplenorm")):
                self.contenders.append(Contender(f"{name}, compiled", network_of(model, name, self.norm), *data, backend))
        self.contenders.append(self.in_a_process(DEFAULT_ALLOCATION, ORIGINAL))
        check(self.contenders)
        fewest = min(9, options.rounds)
        for round_number in range(options.rounds):
            for contender in random.Random(round_number).sample(self.contenders, len(self.contenders)):
                contender.timed_step()
            print(f"{model}: round {round_number + 1}", file=sys.stderr)
            if round_number + 1 >= fewest and round_number % 3 == 2 and is_settled(self.contenders):
                break
        self.inside = {name: [] for name in (ORIGINAL, fused(self.norm), NONE)}
        for _ in range(min(5, options.rounds)):
            for contender in self.contenders:
                if contender.name in self.inside:
                    self.inside[contender.name].append(contender.inside())
        self.contenders[-1].end()
        self.memory = {name: self.memory_of(name) for name in (ORIGINAL, fused(self.norm), "lean")}

    def in_a_process(self, name, contender):
        return InAProcess(name, self.model, contender, self.norm, self.batch, self.side, keep_pages=False)

    def memory_of(self, name):
        process = self.in_a_process(name, name)
        process.step()
        kept = process.ask("kept")
        process.step()
        result = {"kept_bytes": kept, "peak_bytes": process.ask("peak")}
        process.end()
        return result

    def milliseconds_inside(self, name):
        """What copies and additions take in the network without norms is not normalization's."""
        def total(step, kinds):
            return sum(step.get(kind, 0) for kind in kinds)

        without = statistics.median(total(step, ("add", "copy")) for step in self.inside[NONE])
        own = statistics.median(total(step, ("norm", "activation", "cat", "add", "copy")) for step in self.inside[name])
        additions = min(without, statistics.median(total(step, ("add", "copy")) for step in self.inside[fused(self.norm)]))
        return own - additions

    def record(self):
        base = self.contenders[0]
        rows = []
        for contender in self.contenders:
            values = speeds(base, contender)
            rows.append({"contender": contender.name, "milliseconds": 1e3 * statistics.median(contender.seconds),
                         "speed": statistics.median(values), "interval": interval(values), "seconds": contender.seconds})
        return {"model": self.model, "batch": self.batch, "side": self.side, "results": rows, "memory": self.memory,
                "inside": {name: {"milliseconds": self.milliseconds_inside(name), "steps": steps} for name, steps in self.inside.items()
                           if name != NONE}}


def goals(networks, norm):
    found = []
    for network in networks:
        speed = {row["contender"]: row for row in network["results"]}
        values = (speed[fused(norm)]["speed"],
                  statistics.median(speeds_of(speed[DEFAULT_ALLOCATION], speed[fused(norm)])),
                  network["inside"][ORIGINAL]["milliseconds"] / network["inside"][fused(norm)]["milliseconds"])
        for kind, value, (must, aim) in zip(("step", "step_default_allocation", "inside"), values, MUST_AND_AIM.get(network["model"], ())):
            found.append({"id": f"{kind}_{network['model']}", "value": value, "must": must, "aim": aim})
        if network["model"] == "resnet50":
            kept = network["memory"]
            found.append({"id": "lean_resnet50", "value": kept[ORIGINAL]["kept_bytes"] / kept["lean"]["kept_bytes"], "must": 1.6, "aim": 2})
    return found


def speeds_of(base, own):
    return [reference / seconds for reference, seconds in zip(base["seconds"], own["seconds"])]


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


def report(network):
    print(f"A training step of {network['model']}, {network['batch']} images of {network['side']} x {network['side']}, on {cpu()}, "
          f"{torch.get_num_threads()} threads")
    for row in network["results"]:
        low, high = row["interval"]
        print(f"  {row['contender']:<40} {row['milliseconds']:9.1f} ms   {row['speed']:5.2f} x the original ({low:.2f} to {high:.2f})")
    for name, found in network["inside"].items():
        print(f"  in norms and what goes with them: {name:<30} {found['milliseconds']:7.1f} ms")
    for name, memory in network["memory"].items():
        print(f"  kept for backward: {name:<40} {memory['kept_bytes'] / 2**20:7.0f} MiB, peak of the process {memory['peak_bytes'] / 2**20:.0f} MiB")


def main():
    options = arguments()
    load = os.getloadavg()[0]
    if load > 0.5 * os.cpu_count():
        print(f"timings are unreliable, since the load is {load:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    cost = CallCost(options.norm, min(options.rounds, 15))
    sn.keep_pages()
    networks = []
    for model in options.model:
        networks.append(Network(model, options).record())
        report(networks[-1])
    print(f"A norm ({options.norm}) and a ReLU, forward in training, microseconds")
    for row in cost.results:
        print(f"  {row['layer']:<28} {row['calls']:<20} {row['microseconds']:7.1f}")
    found = goals(networks, options.norm)
    for goal in found:
        verdict = "aim reached" if goal["value"] >= goal["aim"] else "reached" if goal["value"] >= goal["must"] else "missed"
        print(f"  {goal['id']:<40} {goal['value']:6.2f}   must {goal['must']:.2f}   aim {goal['aim']:.2f}   {verdict}")
    if options.json:
        record = {"command": " ".join(["./run bench python", *sys.argv[1:]]), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                  "samplenorm": sn.__version__, "commit": commit(), "libtorch": torch.__version__, "cpu": cpu(),
                  "threads": torch.get_num_threads(), "load_average": load, "norm": options.norm, "networks": networks,
                  "calls": cost.results, "goals": found}
        beside = options.json.with_name(options.json.name + ".part")
        beside.write_text(json.dumps(record, indent=1) + "\n")
        beside.replace(options.json)


if __name__ == "__main__":
    main()
