"""docs/python-results.md, from results/python.json and results/python-families.json."""

from page_parts import number, read_record, table, where_measured

BENCH = "results/python.json"
FAMILIES = "results/python-families.json"
PAGE = "docs/python-results.md"


def page(content, families):
    rows = [[row["contender"], f"{row['milliseconds']:.0f}", number(row["speed"])] for row in content["results"]]
    return f"""# What converting a network in Python gives

Written by `./run docs` from `{BENCH}` and `{FAMILIES}`; do not edit. [The tutorial](python.md) explains the words.

A training step (forward, backward, SGD) of {content["model"]} with {content["batch"]} images of {content["side"]} x {content["side"]}, channels_last. The contenders take turns, {content["rounds"]}
rounds; speeds are medians of the ratio to the original's eager step of the same round. Exact contenders gave the original's loss first. Pages
stay with the process for all of them.

{table(["network", "ms", "speed to the original"], rows)}

{where_measured(content).rstrip()}

## What is fused in which models

{families_table(families)}
"""


def families_table(content):
    rows = content["families"]
    head = ["family", "model", "norms", "with an activation", "with a residual", "with both", "share", "alone: where the output went"]
    counts = ("norms", "activation", "residual", "both")
    lines = [[row["family"], f"`{row['model']}`", *(str(row[key]) for key in counts), f"{row['share']:.0%}", alone(row)] for row in rows]
    fewer = "".join(f"- {row['family']}: {row['reason']}\n" for row in rows if row["reason"])
    return f"""A training step of a small model of each family of timm {content["timm"]} that has batch normalization, and of the decoders of
segmentation_models_pytorch {content["segmentation_models_pytorch"]} (`smp`, with timm's `resnet10t` as the encoder), after `samplenorm.convert(model)`: how many norms ran in one call with
the activation that follows, with the addition of a residual, or with both. The share is of the norms whose output goes straight to an activation or
an addition. Where the outputs of two norms are added, one is the other's residual; it runs alone, and the share leaves it out.
`python/tests/families_test.py` checks that each model trains as it does without fusing.

{table(head, lines)}

Families with a share of less than 95 %, and why:

{fewer}
Made with torch {content["torch"]}, samplenorm {content["samplenorm"]}, {content["date"]}, commit `{content["commit"]}`, by `{content["command"]}`."""


def alone(row):
    """Where the outputs of norms that ran alone went, the norms that have not run, and those that were not converted."""
    def place(why):
        return why.removeprefix("its output went to ").replace("another layer, whose residual it is", "another norm, as its residual").strip("_")

    parts = [f"{count} {place(why)}" for why, count in row["alone"].items()]
    parts += [f"{row['unused']} have not run"] * bool(row["unused"])
    parts += [f"{count} not converted: {why}" for why, count in row["left"].items()]
    return ", ".join(parts) or "–"


def files(root):
    """Path -> content of everything that is generated."""
    families = read_record(root, FAMILIES, "scripts/families.py")
    return {PAGE: page(read_record(root, BENCH, f"./run bench python --json {BENCH}"), families)}
