"""docs/python-results.md, from results/python.json."""

from page_parts import number, read_record, table, where_measured

BENCH = "results/python.json"
PAGE = "docs/python-results.md"


def page(content):
    rows = [[row["contender"], f"{row['milliseconds']:.0f}", number(row["speed"])] for row in content["results"]]
    return f"""# What converting a network in Python gives

Written by `./run docs` from `{BENCH}`; do not edit. [The tutorial](python.md) explains the words.

A training step (forward, backward, SGD) of {content["model"]} with {content["batch"]} images of {content["side"]} x {content["side"]}, channels_last. The contenders take turns, {content["rounds"]}
rounds; speeds are medians of the ratio to the original's eager step of the same round. Exact contenders gave the original's loss first. Pages
stay with the process for all of them.

{table(["network", "ms", "speed to the original"], rows)}

{where_measured(content)}""".rstrip() + "\n"


def files(root):
    """Path -> content of everything that is generated."""
    return {PAGE: page(read_record(root, BENCH, f"./run bench python --json {BENCH}"))}
