"""The first sections of docs/performance.md: whole training steps (results/python.json), layers in a ring (results/layer-ring.json), and what
`least` costs (results/least.json)."""

from page_parts import number, read_record, table, where_measured

STEPS, RING, LEAST = "results/python.json", "results/layer-ring.json", "results/least.json"
NAMES = {"mobilenetv2": "MobileNetV2", "efficientnet_b0": "EfficientNet-B0", "densenet121": "DenseNet-121", "resnet50": "ResNet-50",
         "resnet56": "ResNet-56"}


def verdict(goal):
    return "aim reached" if goal["value"] >= goal["aim"] else "reached" if goal["value"] >= goal["must"] else "missed"


def goals_table(goals):
    return table(["goal", "value", "must", "aim", "verdict"],
                 [[f"`{goal['id']}`", number(goal["value"]), f"{goal['must']:.2f}", f"{goal['aim']:.2f}", goal.get("verdict") or verdict(goal)]
                  for goal in goals])


def network_name(network):
    return f"{NAMES.get(network['model'], network['model'])}, {network['batch']} x {network['side']} x {network['side']}"


def speed(row):
    low, high = row["interval"]
    return f"{row['speed']:.2f} ({low:.2f}–{high:.2f})"


def steps_table(content):
    contenders = [row["contender"] for row in content["networks"][0]["results"] if row["contender"] != "original"]
    rows = []
    for network in content["networks"]:
        by_name = {row["contender"]: row for row in network["results"]}
        rows.append([network_name(network), f"{by_name['original']['milliseconds']:.0f}", *(speed(by_name[name]) for name in contenders)])
    return table(["network, images", "original, ms", *contenders], rows)


def inside_table(content):
    rows = []
    for network in content["networks"]:
        (_, before), (_, after) = network["inside"].items()
        rows.append([network_name(network), f"{before['milliseconds']:.1f}", f"{after['milliseconds']:.1f}",
                     number(before["milliseconds"] / after["milliseconds"])])
    return table(["network", "original, ms", f"{content['norm']}, fused, ms", "ratio"], rows)


def memory_table(content):
    rows = []
    for network in content["networks"]:
        kept = [memory["kept_bytes"] / 2**20 for memory in network["memory"].values()]
        peaks = [memory["peak_bytes"] / 2**20 for memory in network["memory"].values()]
        rows.append([network_name(network), *(f"{value:.0f}" for value in kept), number(kept[0] / kept[2]), *(f"{value:.0f}" for value in peaks)])
    names = list(content["networks"][0]["memory"])
    return table(["network", *(f"kept: {name}" for name in names), "original / lean", *(f"peak: {name}" for name in names)], rows)


def calls_table(content):
    rows = [[f"{row['layer']}, {row['calls']}", f"{row['microseconds']:.1f}"] for row in content["calls"]]
    return table(["a norm and a ReLU, forward", "microseconds"], rows)


def steps_section(content):
    return f"""## Whole training steps

Forward, backward and SGD of networks of timm (ResNet-56: our own for small images), eager, channels_last, in Python. Speeds are to the original network in the same process,
medians with 95 % intervals; pages are kept (`samplenorm.keep_pages()`) for all but "default allocation", which is the original in a process of its own as
users have it. "none" is the network without norms: no norm can be faster than that.

{steps_table(content)}

What of a step is spent within norms, activations, additions and concatenations, forward and backward, by torch's profiler (what additions and copies take that have
nothing to do with norms, such as the optimizer's, is taken off both):

{inside_table(content)}

Memory, in MiB: what a forward keeps for backward, and the peak of a process with two steps (with all of its libraries):

{memory_table(content)}

What the calls from Python cost: the tiny layer has next to no data.

{calls_table(content)}

Goals; the three of a network are: its step against the original's, against the original's with default allocation, and the time inside.

{goals_table(content["goals"])}

{where_measured(content).rstrip()}
"""


def ring_rows(content, fusion, format):
    rows = []
    found = {(tuple(m["shape"]), m["norm"]): m for m in content["measurements"] if m["fusion"] == fusion and m["format"] == format}
    for shape in dict.fromkeys(tuple(m["shape"]) for m in content["measurements"]):
        sampled, exact = found[shape, "LS-1/64"]["speed_against"], found[shape, "BN"]["speed_against"]
        rows.append([" × ".join(map(str, shape)), *(number(sampled["limit"][phase]) for phase in ("forward", "backward")),
                     number(sampled["torch"]["both"]), number(exact["torch"]["both"])])
    return rows


def ring_section(content):
    head = ["shape", "LS-1/64: forward to a copy", "backward to triad", "LS-1/64 to torch", "our exact BN to torch"]
    tables = "\n\n".join(f"{fusion}, {format}:\n\n{table(head, ring_rows(content, fusion, format))}"
                         for fusion in ("BN+ReLU", "BN") for format in ("channels_last", "contiguous"))
    return f"""## Layers in a ring

As in a network, where a layer never finds its tensors in the cache: up to 64 layers with tensors of their own, 256 MB in all, forward through all of them and backward in
reverse, everybody in the same regime. The rival's time divided by ours, through autograd; pages are kept for all.

{tables}

{goals_table(content["goals"])}

{where_measured(content, content["onednn"]).rstrip()}
"""


def least_section(content):
    """All norms of a network, each layer timed alone."""
    milliseconds = {norm: sum(1e3 * layer["count"] * layer["norms"][norm]["both"]["median"] for layer in content["layers"])
                    for norm in content["layers"][0]["norms"]}
    fewest = milliseconds["LS-1/64;least=2"]
    order = ["torch", "BN", *sorted((norm for norm in milliseconds if norm.startswith("LS")), key=milliseconds.get)]
    rows = [[f"`{norm}`", f"{milliseconds[norm]:.1f}", number(milliseconds[norm] / fewest)] for norm in order]
    return f"""## What `least` costs

All norms of {NAMES[content["model"]]} with {content["batch"]} images of {content["side"]} x {content["side"]}, forward and backward, activation and residual fused, every layer timed alone; `LS-1/64` has `least=1024`. What it
gives is in [the paper, reproduced](paper.md).

{table(["norm", "ms", "to the ratio alone"], rows)}

{where_measured(content).rstrip()}
"""


def sections(root):
    steps = read_record(root, STEPS, f"./run bench python --json {STEPS}")
    ring = read_record(root, RING, f"./run bench layer --ring --json {RING}")
    least = read_record(root, LEAST, f"samplenorm profile --model resnet50 --json {LEAST}")
    return "\n".join([steps_section(steps), ring_section(ring), least_section(least)])
