"""Times layers and networks with and without samplenorm, on whatever device there is.

    python -m samplenorm.bench [--quick] [--networks resnet50,mobilenet_v2,...] [--amp] [--channels-last] [--json FILE]

First, answers are checked: converted with BN, which is exact, a model must give what it gave. Please send the JSON of a GPU: no figure of
this project comes from one so far (docs/gpu.md)."""

import argparse
import importlib.util
import json
import platform
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

import samplenorm as sn
from samplenorm.bench.checks import check
from samplenorm.bench.contenders import NETWORKS, Block, contenders, network
from samplenorm.bench.timing import summary, time_in_turns

LAYERS = {"64x56x56": (64, 56), "256x56x56": (256, 56), "512x28x28": (512, 28), "2048x7x7": (2048, 7)}


def machine(device: torch.device) -> dict[str, Any]:
    """What figures depend on."""
    found: dict[str, Any] = {"device": platform.processor() or platform.machine(), "torch": torch.__version__, "samplenorm": sn.__version__,
                             "python": platform.python_version(), "cuda": torch.version.cuda, "hip": torch.version.hip, "triton": None}
    if importlib.util.find_spec("triton"):
        import triton

        found["triton"] = triton.__version__
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found |= {"device": properties.name, "multiprocessors": properties.multi_processor_count, "memory": properties.total_memory,
                  "driver": _driver()}
    return found


def _driver() -> str | None:
    import subprocess

    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                              check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return None


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m samplenorm.bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="(default: the accelerator, else the CPU)")
    parser.add_argument("--norm", default="LS-1/64", help="(default: %(default)s)")
    has_networks = any(importlib.util.find_spec(package) for package in ("torchvision", "timm"))
    parser.add_argument("--networks", default=",".join(NETWORKS) if has_networks else "small", help="(default: %(default)s)")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--side", type=int, default=224, help="of images (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=5, help="in a round (default: %(default)s)")
    parser.add_argument("--amp", action="store_true", help="bfloat16 by autocast; layers alone in bfloat16")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--quick", action="store_true", help="one small layer and network, few rounds: that it works")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.quick:
        options.networks, options.batch, options.side, options.rounds, options.steps = "small", 4, 32, 2, 1
        options.no_compile = True
    return options


def run(kind: str, name: str, model: nn.Module, sizes: tuple[int, ...], device: torch.device, options: argparse.Namespace) -> dict[str, Any]:
    """Checks and times one model on inputs of these sizes."""
    memory_format = torch.channels_last if options.channels_last else torch.contiguous_format
    model = model.to(device).to(memory_format=memory_format).train()  # type: ignore[call-overload]
    dtype = torch.bfloat16 if options.amp and kind == "layer" else torch.float32
    x = torch.randn(sizes, device=device).to(memory_format=memory_format)
    check(model, x, name)
    amp = torch.bfloat16 if options.amp and kind == "network" else None
    entrants = contenders(model, options.norm, amp, not options.no_compile)
    x = x.to(dtype).requires_grad_(kind == "layer")  # in networks, layers' inputs need gradients by themselves
    time_in_turns(entrants, x, options.rounds, options.steps)
    results = [summary(entrant, entrants[0]) for entrant in entrants]
    print(f"{name} {list(sizes)}", file=sys.stderr)
    for result in results:
        print(f"  {result['name']:10} {1e3 * result['seconds']:9.3f} ms   {result['of_original']:.3f} of the original", file=sys.stderr)
    return {"kind": kind, "name": name, "sizes": list(sizes), "dtype": str(dtype).removeprefix("torch."), "results": results}


def main(arguments: list[str] | None = None) -> None:
    options = options_of(arguments)
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    device = torch.device(options.device or accelerator or "cpu")
    record: dict[str, Any] = {"machine": machine(device), "norm": options.norm, "amp": options.amp, "channels_last": options.channels_last,
                              "rounds": options.rounds, "models": []}
    layers = {"16x8x8": (16, 8)} if options.quick else LAYERS
    for name, (channels, side) in layers.items():
        for residual in (False, True):
            title = f"{name} BN{'+add' if residual else ''}+ReLU"
            record["models"].append(run("layer", title, Block(channels, residual), (options.batch, channels, side, side), device, options))
    for name in options.networks.split(","):
        record["models"].append(run("network", name, network(name), (options.batch, 3, options.side, options.side), device, options))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, RuntimeError) as error:
        sys.exit(f"samplenorm.bench: {error}" if not str(error).startswith("samplenorm") else str(error))
