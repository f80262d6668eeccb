"""Times torch.compile's BatchNorm2d, alone, with ReLU and with a residual and ReLU, forward and backward, against torch's
eager one and against ours (both through autograd), on the shapes of `samplenorm bench layer`.

    ./run bench layer --json results/layer.json      # runs the program, then this

With --json the figures go under the key "torch_compile" of that file, which is made if it is not there.
"""

import argparse
import itertools
import json
import os
import pathlib
import resource
import statistics
import sys
import time

SHAPES = [(32, 64, 112, 112), (32, 64, 56, 56), (32, 256, 56, 56), (32, 512, 28, 28), (32, 1024, 14, 14), (32, 512, 7, 7),
          (128, 16, 32, 32), (128, 32, 16, 16), (128, 64, 8, 8)]
FORMATS = ("channels_last", "contiguous")
FUSIONS = ("BN", "BN+ReLU", "BN+add+ReLU")
NORMS = ("FS-1/64", "LS-1/64")
EPS, MOMENTUM, KEY = 1e-5, 0.1, [1, 0, 0, 0]
TOLERANCE = 1e-3
LIBRARY = pathlib.Path(__file__).resolve().parent.parent / "build/release/lib/libsamplenorm.so"


class Wrong(Exception):
    """What went wrong, in one sentence."""


def parse_shape(text):
    try:
        sizes = tuple(int(word) for word in text.split(","))
    except ValueError:
        sizes = ()
    if len(sizes) != 4 or min(sizes) <= 0:
        raise argparse.ArgumentTypeError(f"expected four positive numbers N,C,H,W, got {text}")
    return sizes


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="add the figures to this file")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--shape", type=parse_shape, action="append", metavar="N,C,H,W", help="may be repeated")
    parser.add_argument("--library", type=pathlib.Path, default=os.environ.get("SAMPLENORM_LIBRARY", LIBRARY),
                        help="the built libsamplenorm.so")
    return parser.parse_args()


def load_torch(library):
    try:
        import torch
    except ImportError:
        raise Wrong("this needs PyTorch for Python: run it by ./run bench layer, or with .venv/bin/python")
    if not pathlib.Path(library).exists():
        raise Wrong(f"there is no {library}: build it with ./run build, or name it with --library")
    torch.ops.load_library(str(library))
    return torch


class Layer:
    """One contender on one case: function(x, weight, bias, residual) -> y, forward and backward through autograd."""

    def __init__(self, torch, function, tensors):
        self.torch, self.function = torch, function
        self.inputs, self.dy = tensors
        self.wanted = [tensor for tensor in self.inputs if tensor is not None]

    def answer(self):
        y = self.function(*self.inputs)
        return (y, *self.torch.autograd.grad(y, self.wanted, self.dy))

    def call(self):
        """Seconds of forward and of backward."""
        begin = time.perf_counter()
        y = self.function(*self.inputs)
        middle = time.perf_counter()
        gradients = self.torch.autograd.grad(y, self.wanted, self.dy)
        end = time.perf_counter()
        del y, gradients
        return middle - begin, end - middle


def make_tensors(torch, shape, memory_format, fusion):
    generator = torch.Generator().manual_seed(1)
    layout = getattr(torch, memory_format + "_format") if memory_format == "contiguous" else torch.channels_last

    def random(*sizes):
        return torch.randn(*sizes, generator=generator)

    channels = shape[1]
    x = (1.5 * random(*shape) + 0.3).contiguous(memory_format=layout)
    residual = random(*shape).contiguous(memory_format=layout) if "add" in fusion else None
    inputs = [x, random(channels).abs() + 0.5, 0.2 * random(channels), residual]
    for tensor in inputs:
        if tensor is not None:
            tensor.requires_grad_()
    dy = random(*shape).contiguous(memory_format=layout)
    if "ReLU" in fusion:
        with torch.no_grad():  # rounding alone decides on which side of the ReLU such a point falls
            z = torch.nn.functional.batch_norm(x, None, None, inputs[1], inputs[2], True, MOMENTUM, EPS)
            dy[(z if residual is None else z + residual).abs() < 1e-4] = 0
    return inputs, dy


def torch_norm(torch, channels, fusion):
    running_mean, running_var = torch.zeros(channels), torch.ones(channels)

    def forward(x, weight, bias, residual):
        y = torch.nn.functional.batch_norm(x, running_mean, running_var, weight, bias, True, MOMENTUM, EPS)
        if residual is not None:
            y += residual
        return torch.relu_(y) if "ReLU" in fusion else y

    return forward


def our_norm(torch, channels, fusion, spec):
    running_mean, running_var, batches = torch.zeros(channels), torch.ones(channels), torch.tensor(0)
    key = torch.tensor(KEY)

    def forward(x, weight, bias, residual):
        activation = "relu" if "ReLU" in fusion else "identity"
        return torch.ops.samplenorm.sampled_batch_norm([x], weight, bias, residual, spec, key, EPS, activation, False, "", 0, 1, False,
                                                       running_mean, running_var, batches, MOMENTUM, False)[0]

    return forward


def check(compiled, eager, case):
    for what, actual, expected in zip(("output", "dx", "dweight", "dbias", "dresidual"), compiled.answer(), eager.answer()):
        difference, largest = (actual - expected).abs().max().item(), expected.abs().max().item()
        if not difference <= TOLERANCE * largest:  # a NaN is not
            raise Wrong(f"torch.compile, {case}: expected eager torch's {what}, found a difference of {difference:.3g} "
                        f"(largest value {largest:.3g})")


def settle(layer, most_calls):
    """Calls that do not count: one for the caches, more while the allocator still meets new pages (as the program does)."""
    for _ in range(most_calls):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        layer.call()
        if resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before <= 64:
            return


def time_in_rounds(layers, rounds, repeats, seconds_per_turn, settling_calls):
    """As the program does it: turns in every round, one call that does not count, then the median of the repeats."""
    times = {name: {"forward": [], "backward": [], "both": []} for name in layers}
    names = list(layers)
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            settle(layers[name], settling_calls)
            calls = []
            begin = time.perf_counter()
            while len(calls) < repeats or time.perf_counter() - begin < seconds_per_turn:
                calls.append(layers[name].call())
            times[name]["forward"].append(statistics.median(forward for forward, _ in calls))
            times[name]["backward"].append(statistics.median(backward for _, backward in calls))
            times[name]["both"].append(statistics.median(map(sum, calls)))
    return times


def quartiles(values):
    if len(values) == 1:
        return {"q1": values[0], "median": values[0], "q3": values[0]}
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return {"q1": q1, "median": median, "q3": q3}


def speed_against_compile(times, name):
    """Medians of the ratios in each round: above 1 the contender is faster than torch.compile."""
    return {phase: statistics.median(a / b for a, b in zip(times["torch.compile"][phase], times[name][phase]))
            for phase in ("forward", "backward", "both")}


def measure(torch, shape, memory_format, fusion, quick):
    tensors = make_tensors(torch, shape, memory_format, fusion)
    torch._dynamo.reset()
    functions = {"torch eager": torch_norm(torch, shape[1], fusion),
                 "torch.compile": torch.compile(torch_norm(torch, shape[1], fusion), dynamic=False),
                 **{norm: our_norm(torch, shape[1], fusion, norm) for norm in NORMS}}
    layers = {name: Layer(torch, function, tensors) for name, function in functions.items()}
    check(layers["torch.compile"], layers["torch eager"], f"{fusion} on {shape} {memory_format}")
    times = time_in_rounds(layers, *((3, 1, 1e-3, 1) if quick else (9, 3, 3e-3, 12)))
    return [{"shape": list(shape), "format": memory_format, "fusion": fusion, "contender": name,
             **{phase: quartiles(values) for phase, values in times[name].items()},
             "speed_against_compile": speed_against_compile(times, name)} for name in layers]


def show(records):
    for record in records:
        print(f"{record['fusion'] + ': ' + record['contender']:<28}" +
              "".join(f"  {1e3 * record[phase]['median']:>10.3f}" for phase in ("forward", "backward", "both")) +
              f"  {record['speed_against_compile']['both']:>10.2f}")


def write(path, torch, records):
    content = json.loads(path.read_text()) if path.exists() else {}
    content["torch_compile"] = {"torch": torch.__version__, "threads": torch.get_num_threads(), "measurements": records}
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    beside.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
    beside.replace(path)


def main():
    arguments = parse_arguments()
    torch = load_torch(arguments.library)
    if arguments.json and not arguments.json.parent.is_dir():
        raise Wrong(f"cannot write {arguments.json}: there is no folder {arguments.json.parent}")
    if arguments.json and arguments.json.exists():
        try:
            json.loads(arguments.json.read_text())
        except ValueError:
            raise Wrong(f"{arguments.json} is there and is no JSON file")
    records = []
    for shape, memory_format in itertools.product(arguments.shape or SHAPES, FORMATS):
        head = f"{'x'.join(map(str, shape))} {memory_format}"
        print(f"\n{head:<28}  forward ms  backward ms     both ms  compile/it\n{'-' * 78}")
        for fusion in FUSIONS:
            found = measure(torch, shape, memory_format, fusion, arguments.quick)
            show(found)
            sys.stdout.flush()
            records += found
    if arguments.json:
        write(arguments.json, torch, records)


if __name__ == "__main__":
    try:
        main()
    except Wrong as error:
        sys.exit(f"torch_compile.py: {error}")
