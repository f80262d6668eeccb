"""docs/python-results.md, from results/python.json and results/python-families.json, and the table of models in docs/python.md."""

from page_parts import read_record, table, where_measured
from steps_page import steps_table

BENCH = "results/python.json"
FAMILIES = "results/python-families.json"
PAGE = "docs/python-results.md"
TUTORIAL = "docs/python.md"
BEGIN, END = "<!-- families: begin -->\n", "<!-- families: end -->\n"


def page(content, families):
    return f"""# What converting a network in Python gives

Written by `./run docs` from `{BENCH}` and `{FAMILIES}`; do not edit. [The tutorial](python.md) explains the words.

Training steps (forward, backward, SGD), channels_last: speeds to the original network, medians with 95 % intervals. What the columns mean, the time
inside the norms, memory and goals are on [the page of performance](performance.md#whole-training-steps).

{steps_table(content)}

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


def short_table(content):
    rows = content["families"]
    lines = [[row["family"], *(str(row[key]) for key in ("norms", "activation", "residual", "both")), f"{row['share']:.0%}"] for row in rows]
    fewer = "; ".join(f"{row['family']}: {row['reason']}" for row in rows if row["reason"])
    return f"""{table(["family", "norms", "with an activation", "with a residual", "with both", "share"], lines)}

Less than 95 %: {fewer}."""


def tutorial(root, families):
    """The page as it is, with the table between its two lines."""
    path = root / TUTORIAL
    text = path.read_text() if path.exists() else ""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"write_docs.py: {TUTORIAL} needs the lines {BEGIN.strip()} and {END.strip()}, between which a table goes")
    return f"{before}{begin}\n{short_table(families)}\n\n{end}{after}"


def files(root):
    """Path -> content of everything that is generated."""
    families = read_record(root, FAMILIES, "scripts/families.py")
    return {PAGE: page(read_record(root, BENCH, f"./run bench python --json {BENCH}"), families), TUTORIAL: tutorial(root, families)}
