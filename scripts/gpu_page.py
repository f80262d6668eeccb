"""docs/gpu-results.md: what was counted and compiled, from results/gpu-bytes.json and results/gpu-kernels.json, and a model of times."""

import json

#: Memory bandwidth that streaming kernels reach, in bytes a second: 85 % of the data sheets' 2.039, 3.35 and 5.3 TB/s.
DEVICES = {"A100 80 GB": 0.85 * 2.039e12, "H100 SXM": 0.85 * 3.35e12, "MI300X": 0.85 * 5.3e12}
#: Units of rivals, forward and backward together (docs/gpu.md says how they were found): without and with a residual.
RIVALS = {"PyTorch, eager": (13, 16), "torch.compile": (9.5, 12)}
#: A large layer of ResNet-50: 256 images, 256 channels, 56 x 56, bfloat16.
BYTES_OF_A_UNIT = 2 * 256 * 256 * 56 * 56


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def counted(layers):
    rows = []
    for layer in layers:
        total = layer["forward"] + layer["backward"]
        name = f"{layer['dtype']}, {'channels_last' if layer['channels_last'] else 'contiguous'}, BN{'+add' if layer['residual'] else ''}+ReLU"
        rows.append((name, f"{layer['forward']:.3f}", f"{layer['backward']:.3f}", f"{total:.3f}", f"{layer['sample']:.3f}"))
    return table(("layer", "forward", "backward", "both", "the sample"), rows)


def compiled(kernels):
    rows = []
    for kernel in dict.fromkeys(found["kernel"] for found in kernels):
        row = [f"`{kernel}`"]
        for target in dict.fromkeys(found["target"] for found in kernels):
            these = [found for found in kernels if (found["kernel"], found["target"]) == (kernel, target)]
            row.append(f"{max(found['registers'] for found in these)} / {sum(found['spilled_bytes'] for found in these)}")
        rows.append((*row, len(these)))
    return table(("kernel", *(f"{target}: registers / bytes spilled" for target in dict.fromkeys(f["target"] for f in kernels)), "variants"), rows)


def modelled(layers):
    ours = [next(layer for layer in layers if layer["residual"] == residual and layer["channels_last"] and layer["dtype"] == "bfloat16")
            for residual in (False, True)]
    units = RIVALS | {"samplenorm": tuple(layer["forward"] + layer["backward"] + layer["sample"] for layer in ours)}
    rows = []
    for name, pair in units.items():
        times = [f"{1e6 * amount * BYTES_OF_A_UNIT / bandwidth:.0f}" for amount in pair for bandwidth in DEVICES.values()]
        rows.append((name, *times))
    return table(("", *(f"{name}, {what}" for what in ("BN+ReLU", "BN+add+ReLU") for name in DEVICES)), rows)


def files(root):
    layers = json.loads((root / "results/gpu-bytes.json").read_text())["layers"]
    record = json.loads((root / "results/gpu-kernels.json").read_text())
    sizes = " x ".join(map(str, layers[0]["sizes"]))
    text = ["# GPU kernels: what was counted, compiled and modelled", "",
            "Written by `./run docs` from `results/gpu-bytes.json` and `results/gpu-kernels.json`. No GPU was at hand: [gpu.md](gpu.md) says what that means.", "",
            "## Bytes moved", "",
            f"In units, passes over the activations, of a layer of {sizes} with {layers[0]['norm']}: counted in Triton's interpreter.", "",
            *counted(layers), "",
            "## Compiled", "",
            f"By triton {record['triton']}, {record['warps']} warps, layers of 3 to 2048 channels in float32 and bfloat16: the most registers of any variant, and the bytes that all of them spill.",
            "", *compiled(record["kernels"]), "",
            "## A model of times, not a measurement", "",
            "Microseconds of a layer's forward and backward (256 x 256 x 56 x 56, bfloat16), if nothing but memory counted and it reached 85 % of the "
            "data sheet's bandwidth: units times bytes over bandwidth. **Nobody has measured these.**", "", *modelled(layers), ""]
    return {"docs/gpu-results.md": "\n".join(text)}
