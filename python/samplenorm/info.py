"""What a report of a problem needs: versions, the machine, which kernels run where, and what is fused.

    python -m samplenorm.info [--json]
"""

import argparse
import importlib.metadata
import json
import os
import platform
import sys

import torch

import samplenorm
from samplenorm.activations import IDENTITY, PIECEWISE_LINEAR, names
from samplenorm.kernels.registration import gpus_run_triton


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _kernels_by_device() -> dict[str, str]:
    on_gpus = "Triton" if gpus_run_triton() else "ATen calls (slower)"
    kernels = {"cpu": "Triton's interpreter (for tests)" if os.environ.get("SAMPLENORM_KERNELS") == "triton" else "samplenorm"}
    for kind, device in (("cuda", torch.cuda), ("xpu", torch.xpu)):
        for index in range(device.device_count()):
            kernels[f"{kind}:{index}, {device.get_device_name(index)}"] = on_gpus
    return kernels


def info() -> dict[str, object]:
    """The same as a dictionary."""
    return {
        "samplenorm": samplenorm.__version__,
        "torch": torch.__version__,
        "triton": _version("triton"),
        "timm": _version("timm"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "instruction set, by torch": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "kernels": _kernels_by_device(),
        "fused activations": [name for name in names() if name != IDENTITY],
        "fused after a residual": [name for name in PIECEWISE_LINEAR if name != IDENTITY],
    }


def _lines(values: dict[str, object]) -> list[str]:
    lines = []
    for name, value in values.items():
        if isinstance(value, dict):
            lines += [f"{name} on {key}: {each}" for key, each in value.items()]
        elif isinstance(value, list):
            lines.append(f"{name}: {', '.join(value)}")
        else:
            lines.append(f"{name}: {'not installed' if value is None else value}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m samplenorm.info", description="Prints what a report of a problem needs.")
    parser.add_argument("--json", action="store_true", help="for machines")
    options = parser.parse_args()
    values = info()
    sys.stdout.write((json.dumps(values, indent=2) if options.json else "\n".join(_lines(values))) + "\n")


if __name__ == "__main__":
    main()
