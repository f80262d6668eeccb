"""Compiles the Triton kernels for GPUs that need not be here, as layers of many sizes would launch them, and says what became of them.

    python bench/gpu_kernels.py [--quick] [--json results/gpu-kernels.json]

The launches are recorded from the package's own steps, on tensors without memory; then each kernel is compiled with the specialization
that Triton would choose for these arguments."""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from samplenorm.kernels.launch import WARPS, for_nvidia_only, launches_by
from samplenorm.kernels.steps import STEPS

TARGETS = {"sm_80": GPUTarget("cuda", 80, 32), "sm_90": GPUTarget("cuda", 90, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}
TYPES = (torch.float32, torch.bfloat16)
CHANNELS = (3, 16, 24, 64, 96, 256, 2048)
_POINTERS = {torch.float32: "*fp32", torch.bfloat16: "*bf16", torch.float16: "*fp16", torch.int64: "*i64", torch.uint8: "*u8"}


@dataclass(frozen=True)
class Launch:
    kernel: Any
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Any], ...]
    divisible: tuple[int, ...]  # places of arguments that are multiples of 16
    options: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Layer:
    sizes: tuple[int, ...]
    dtype: torch.dtype
    channels_last: bool
    activation: str
    residual: bool
    points: int  # of the sample; 0: all

    @property
    def allows_16_bytes(self) -> bool:
        run = self.sizes[1] if self.channels_last else self.sizes[2] * self.sizes[3]
        return run * self.dtype.itemsize % 16 == 0

    def __str__(self) -> str:
        return (f"{' x '.join(map(str, self.sizes))}, {str(self.dtype).removeprefix('torch.')}, "
                f"{'channels_last' if self.channels_last else 'contiguous'}, {self.activation}{' after a residual' if self.residual else ''}, "
                f"{self.points or 'all'} points")


@dataclass
class Recorder:
    layer: Layer | None = None
    launches: dict[Launch, Layer] = field(default_factory=dict)

    def start(self, kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], constants: dict[str, Any],
              options: dict[str, Any]) -> None:
        names = kernel.arg_names
        signature, fixed, divisible = {}, dict(constants), []
        for place, (name, value) in enumerate(zip(names, args)):
            specialized = not kernel.params[place].do_not_specialize
            if isinstance(value, Tensor):
                signature[name] = _POINTERS[value.dtype]
                if value.storage_offset() * value.element_size() % 16 == 0:
                    divisible.append(place)
            elif value is None or (isinstance(value, int) and value == 1 and specialized):
                fixed[name] = value
            elif isinstance(value, int):
                signature[name] = "i32" if -2**31 <= value < 2**31 else "i64"
                if value % 16 == 0 and specialized:
                    divisible.append(place)
            else:
                signature[name] = "fp32"
        for name in fixed:
            signature[name] = "constexpr"
        ordered = tuple((name, signature[name]) for name in names)
        self.launches.setdefault(Launch(kernel, ordered, tuple(sorted(fixed.items(), key=lambda item: item[0])), tuple(divisible),
                                        tuple(options.items())),
                                 self.layer)


def run_steps(layer: Layer) -> None:
    """All steps of a layer, without values."""
    memory_format = torch.channels_last if layer.channels_last else torch.contiguous_format
    x = torch.empty(layer.sizes, dtype=layer.dtype, device="meta").to(memory_format=memory_format)
    channels = layer.sizes[1]
    rows, counts = [0, layer.sizes[0]], [layer.points or x.numel() // channels]
    numbers = torch.empty(layer.points, dtype=torch.long, device="meta")
    of_channels = [torch.empty(channels, device="meta") for _ in range(4)]
    batches = torch.empty((), dtype=torch.long, device="meta")
    moments, sample = STEPS["moments"]([x], numbers, rows, counts, 0)
    statistics = STEPS["statistics"](moments, [1.0], *of_channels[:2], 1e-5, *of_channels[2:], batches, 0.1, False)
    y, mask = STEPS["apply"]([x], torch.empty_like(x) if layer.residual else None, statistics, rows, layer.activation, layer.residual)
    bits = mask if layer.residual else None
    dx, sums, _ = STEPS["backward"](y, [x], bits, statistics, None, rows, layer.activation, False, layer.points > 0)
    *_, correction = STEPS["gradients"](sums, sums, statistics, [1.0])
    if layer.points:
        STEPS["correct"](dx, [x], sample, statistics, correction, numbers, rows, counts)
    else:
        STEPS["backward"](y, [x], bits, statistics, correction, rows, layer.activation, False, True)


def _layers(quick: bool) -> Iterator[Layer]:
    for dtype, channels, channels_last in itertools.product(TYPES, (64,) if quick else CHANNELS, (True, False)):
        size = 56 if channels <= 256 else 7
        cases = [("relu", False, 2048), ("relu", True, 2048)]
        if channels == 64 and not quick:
            cases += [(activation, False, 2048) for activation in ("relu6", "leaky_relu", "elu", "silu", "hardswish", "gelu", "gelu(tanh)")]
            cases += [("identity", False, 0), ("leaky_relu", True, 0), ("relu6", True, 2048)]
        for activation, residual, points in cases:
            yield Layer((32, channels, size, size), dtype, channels_last, activation, residual, points)


def recorded(quick: bool) -> dict[Launch, Layer]:
    """Different launches, each with the first layer that makes it."""
    recorder = Recorder()
    with launches_by(lambda _: recorder.start):
        for recorder.layer in _layers(quick):
            run_steps(recorder.layer)
    return recorder.launches


def _source(launch: Launch) -> ASTSource:
    names = launch.kernel.arg_names
    constants = {(names.index(name),): value for name, value in launch.constants}
    attributes = {(place,): [["tt.divisibility", 16]] for place in launch.divisible}
    return ASTSource(launch.kernel, dict(launch.signature), constants, attributes)


def _of_nvidia(compiled: Any, capability: int) -> dict[str, int]:
    ptx = compiled.asm["ptx"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        architecture = f"sm_{capability}{'a' if capability >= 90 else ''}"
        said = subprocess.run([triton.knobs.nvidia.ptxas.path, "-v", f"--gpu-name={architecture}", source, "-o", f"{source}.o"], check=True,
                              capture_output=True, text=True).stderr
    registers, stores, loads = (int(re.search(pattern, said)[1]) for pattern in (  # type: ignore[index]
        r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes spill loads"))
    wide = r"(?:ld|st)\.global[.\w:]*\.(?:v4\.[bfu]32|v2\.[bfu]64)"
    return {"registers": registers, "spilled_bytes": stores + loads, "accesses_of_16_bytes": len(re.findall(wide, ptx)),
            "accesses": len(re.findall(r"(?:ld|st)\.global", ptx))}


def _of_amd(compiled: Any) -> dict[str, int]:
    text = compiled.asm["amdgcn"]
    number = lambda name: int(re.search(rf"\.{name}:\s+(\d+)", text)[1])  # type: ignore[index]
    accesses = re.findall(r"(?:global|buffer)_(?:load|store)_(\w+)", text)
    return {"registers": number("vgpr_count"), "spilled_bytes": 4 * (number("vgpr_spill_count") + number("sgpr_spill_count")),
            "accesses_of_16_bytes": sum(kind.startswith("dwordx4") for kind in accesses), "accesses": len(accesses)}


def compiled(target: str, launch: Launch, layer: "Layer") -> dict[str, Any]:
    """What became of a launch."""
    return {"kernel": launch.kernel.__name__, "first_layer": str(layer), "allows_16_bytes": layer.allows_16_bytes, "target": target,
            **_compiled(target, launch)}


def _compiled(target: str, launch: Launch) -> dict[str, int]:
    options = dict(launch.options)
    if TARGETS[target].backend == "hip":
        for name in for_nvidia_only(options):
            del options[name]
        return _of_amd(triton.compile(_source(launch), target=TARGETS[target], options=options))
    return _of_nvidia(triton.compile(_source(launch), target=TARGETS[target], options=options), TARGETS[target].arch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="64 channels only")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    for launch, layer in recorded(options.quick).items():
        for target in options.targets.split(","):
            found = compiled(target, launch, layer)
            results.append(found)
            print(json.dumps(found), file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps({"triton": triton.__version__, "warps": WARPS, "kernels": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
