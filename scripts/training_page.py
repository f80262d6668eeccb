"""docs/training-results.md and its curves, from results/step.json and the runs in results/training*/."""

from page_parts import line, number, read_record, svg, table, text, where_measured
from run_records import commands, percent, read_runs

STEP = "results/step.json"
RUNS = "results/training"
RUNS_AT_A_LOWER_RATE = "results/training-rate-0.025"
PAGE = "docs/training-results.md"
CHARTS = "docs/training"
STEPS_PER_POINT = 50


# Markdown

def runs_table(runs):
    rows = []
    for run in runs:
        last = run.epochs[-1]
        rows.append([f"`{run.norm}`", percent(last["test_top1"]), percent(last.get("recalibrated_top1")),
                     percent(last["test_top5"]), f"{last['train_loss']:.3f}", percent(run.waiting())])
    return table(["norm", "test top-1", "recalibrated", "test top-5", "training loss", "waiting for data"], rows)


def steps_table(content):
    rows = []
    for step in content["steps"]:
        both = step["both"]
        rows.append([step["name"], *(f"{1e3 * step[phase]['median']:.1f}" for phase in ("forward", "backward", "both")),
                     f"{1e3 * both['q1']:.1f}–{1e3 * both['q3']:.1f}",
                     number(step["speed_against"].get("python")), number(step["speed_against"].get("BN"))])
    return table(["step with", "forward ms", "backward ms", "both ms", "quartiles", "speed to python", "to BN"], rows)


def goals_table(goals):
    return table(["goal", "value", "must", "verdict"],
                 [[f"`{goal['id']}`: {goal['what']}", "–" if goal["value"] is None else f"{goal['value']:.3f}",
                   f"{goal['must']:.2f}", goal["verdict"]] for goal in goals])


def page(step, runs, others):
    first, other = runs[0], others[0]
    recipe = first.recipe
    return f"""# What training gives, and what it costs

Written by `./run docs` from `{RUNS}`, `{RUNS_AT_A_LOWER_RATE}` and `{STEP}`; do not edit.

## Accuracy

{recipe["model"]} on {recipe["data"]}, {recipe["epochs"]} epochs of batches of {recipe["batch"]}, {recipe["schedule"]} schedule with a highest rate of
{recipe["rate"]:g}, seed {recipe["seed"]}: the same weights at the beginning and the same images in the same order for all, one run each. "Recalibrated" is the accuracy
of the same weights with running statistics computed anew over {recipe["recalibrate"]} training batches.

{runs_table(runs)}

![Training loss of each run](training/loss.svg)

![Test accuracy of each run](training/accuracy.svg)

{commands(runs)}

Commit `{first.about["commit"]}`, {first.about["cpu"]}, threads: {first.about["threads"]}. Accuracies do not depend on what else runs on a machine; the
time that is waited for data does.

### A schedule that is fair to all: a highest rate of {other.recipe["rate"]:g}

Where the sample of a layer moves at the beginning of an epoch, as the patch of FS does, the loss jumps, and the jump grows with the
rate. This is the highest rate that we tried at which every method recovers from it.

{runs_table(others)}

![Training loss of each run at the lower rate](training/loss-at-the-lower-rate.svg)

![Test accuracy of each run at the lower rate](training/accuracy-at-the-lower-rate.svg)

{commands(others)}

Commit `{other.about["commit"]}`, {other.about["cpu"]}, threads: {other.about["threads"]}.

## Speed of a step

{step["model"]}, {step["batch"]} images of {step["side"]} × {step["side"]}: forward, loss, backward and update. All take turns, each in the process that it needs; ratios are
medians over the rounds, above 1 is faster. "python" is the same network written with `torch.nn` and PyTorch's default settings
(`bench/step_in_python.py`), with the same weights and the same loss.

{steps_table(step)}

{goals_table(step["goals"])}

The rows with the name of a malloc are our BN in a process that uses it: glibc's as it is, which gives large tensors back to the system
at every step; glibc's with its thresholds raised; jemalloc and mimalloc as Debian has them. The plain rows, and every program of
ours, have our own allocator for large tensors on top of the second (`lib/nn/keep_pages.cc`).

{where_measured(step)}
""".rstrip() + "\n"


# Curves

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 56, 24, 84, 48


def curves(title, y_title, series, ticks, epochs):
    """`series`: (name, colour, dashed, points)."""
    low, high = ticks[0], ticks[-1]
    x = lambda epoch: LEFT + (WIDTH - LEFT - RIGHT) * epoch / epochs
    y = lambda value: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (min(max(value, low), high) - low) / (high - low)
    out = [text(LEFT, 22, title, cls="title")]
    for tick in ticks:
        out += [line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "grid"), text(LEFT - 8, y(tick) + 4, f"{tick:g}", "end")]
    for epoch in range(epochs + 1):
        out.append(text(x(epoch), HEIGHT - BOTTOM + 18, str(epoch), "middle"))
    out += [line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"),
            text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "epochs", "middle"), text(LEFT, TOP - 10, y_title)]
    position = LEFT
    for name, colour, dashed, points in series:
        path = " ".join(f"{x(epoch):.1f},{y(value):.1f}" for epoch, value in points)
        out.append(f'<polyline points="{path}" class="curve s{colour}{" dashed" if dashed else ""}"/>')
        if dashed:
            continue
        out += [line(position, 46, position + 22, 46, f"curve s{colour}"), text(position + 28, 50, name)]
        position += 52 + 8 * len(name)
    return svg(WIDTH, HEIGHT, title, out)


def ticks_over(values, step):
    low, high = int(min(values) / step) * step, (int(max(values) / step) + 1) * step
    return [round(low + step * i, 6) for i in range(round((high - low) / step) + 1)]


def loss_chart(runs):
    series = [(run.norm, i, False, run.losses(STEPS_PER_POINT)) for i, run in enumerate(runs)]
    highest = max(value for *_, points in series for _, value in points)
    return curves(f"Training loss, mean of {STEPS_PER_POINT} steps", "cross entropy", series, ticks_over([0, highest], 0.5),
                  runs[0].recipe["epochs"])


def accuracy_chart(runs):
    series = []
    for i, run in enumerate(runs):
        series.append((run.norm, i, False, run.accuracies("test_top1")))
        series.append((run.norm, i, True, run.accuracies("recalibrated_top1")))
    values = [value for *_, points in series for _, value in points]
    return curves("Test accuracy with the running statistics, and recalibrated (dashed)", "top-1, %", series,
                  ticks_over(values, 10), runs[0].recipe["epochs"])


def files(root):
    """Path -> content of everything that is generated."""
    step = read_record(root, STEP, f"./run bench step --json {STEP}")
    runs, others = read_runs(root, RUNS), read_runs(root, RUNS_AT_A_LOWER_RATE)
    return {PAGE: page(step, runs, others), f"{CHARTS}/loss.svg": loss_chart(runs),
            f"{CHARTS}/accuracy.svg": accuracy_chart(runs), f"{CHARTS}/loss-at-the-lower-rate.svg": loss_chart(others),
            f"{CHARTS}/accuracy-at-the-lower-rate.svg": accuracy_chart(others)}
