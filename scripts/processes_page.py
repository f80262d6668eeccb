"""docs/processes-results.md, from results/processes.json and the runs in results/micro/."""

from page_parts import number, read_record, table, where_measured
from run_records import commands, percent, read_runs

BENCH = "results/processes.json"
RUNS = "results/micro"
PAGE = "docs/processes-results.md"


def steps_table(content):
    rows = []
    for step in content["steps"]:
        seconds, directions = step["seconds"], [step["forward"], step["backward"]]
        rows.append([step["name"], f"{1e3 * seconds['median']:.1f}", f"{1e3 * seconds['q1']:.1f}–{1e3 * seconds['q3']:.1f}",
                     number(step["speed_against_sync_bn"]), str(sum(part["collectives"] for part in directions)),
                     f"{sum(part['bytes_a_process'] for part in directions) / 1e3:.1f}",
                     f"{1e3 * step['modelled_waiting_seconds']:.2f}"])
    workers = content["model_of_workers"]["workers"]
    return table(["statistics", "step ms", "quartiles", "speed to Sync BN", "collectives", "kB a process",
                  f"modelled wait of {workers} workers, ms"], rows)


def batches(run):
    statistic = run.recipe["stat_batch"] or run.recipe["batch"]
    return f"({run.recipe['batch']}, {'–' if run.norm.startswith('GN') else statistic})"


def runs_table(runs):
    rows = []
    for run in runs:
        last = run.epochs[-1]
        rows.append([f"`{run.norm}`", batches(run), f"{run.recipe['rate']:g}", percent(last["test_top1"]),
                     percent(last.get("recalibrated_top1")), f"{last['train_loss']:.3f}"])
    return table(["norm", "(gradient, statistic) batch", "highest rate", "test top-1", "recalibrated", "training loss"], rows)


def page(content, runs):
    recipe, about, wire = runs[0].recipe, runs[0].about, content["model_of_workers"]
    gradients = content["steps"][0]["gradients"]
    return f"""# What statistics over several processes give, and what they cost

Written by `./run docs` from `{BENCH}` and `{RUNS}`; do not edit. [processes.md](processes.md) explains the words.

## A step of {content["ranks"]} processes

{content["model"]}, {content["batch_of_a_process"]} images on each process; all take turns, and a step ends when the last process is done. Collectives and bytes
are those of statistics, forward and backward; the gradients' {gradients["collectives"]} collectives of {gradients["bytes_a_process"] / 1e6:.2f} MB in all come on top for everyone.

{steps_table(content)}

The last column is not measured but modelled: {wire["workers"]} workers, {1e6 * wire["latency_seconds"]:g} µs from one to another, {8e-9 * wire["bytes_per_second"]:g} Gbit/s
([assumptions](processes.md#what-many-workers-would-pay)).

{where_measured(content)}

## Accuracy with tiny statistic batches

{recipe["model"]} on {recipe["data"]}, {recipe["epochs"]} epochs, {recipe["schedule"]} schedule, seed {recipe["seed"]}{f", {recipe['limit']} training images" if recipe["limit"] else ""}; one run each. The paper has the same
comparison on ImageNet (its Figure 9): 64 workers with 4 images each that take their statistics from virtual rows, against GN and against BN
with 32 images each.

{runs_table(runs)}

{commands(runs)}

Commit `{about["commit"]}`, {about["cpu"]}, threads: {about["threads"]}.
""".rstrip() + "\n"


def files(root):
    """Path -> content of everything that is generated."""
    content = read_record(root, BENCH, f"./run bench processes --json {BENCH}")
    content["command"] = f"mpirun -n {content['ranks']} {content['command']}"  # of which each process knows its own part
    return {PAGE: page(content, read_runs(root, RUNS))}
