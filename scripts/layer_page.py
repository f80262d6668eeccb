"""docs/performance.md and its charts, from results/layer.json."""

import math
from html import escape

import steps_page
from page_parts import line, number, read_record, svg, table, text, where_measured

RECORD = "results/layer.json"
PAGE = "docs/performance.md"
CHARTS = "docs/performance"
FORMATS = ("channels_last", "contiguous")
FUSIONS = ("BN", "BN+ReLU", "BN+add+ReLU")
NORMS = ("FS-1/64", "LS-1/64")


# The record

class Record:
    def __init__(self, content):
        self.content = content
        self.measurements = content["measurements"]
        self.compiled = content.get("torch_compile", {}).get("measurements", [])

    def shapes(self):
        return list(dict.fromkeys(tuple(m["shape"]) for m in self.measurements))

    def find(self, **wanted):
        return next((m for m in self.measurements if all(m[key] == value for key, value in wanted.items())), None)

    def speed(self, rival, shape, fusion, format, norm, path, phase="both"):
        found = self.find(shape=list(shape), fusion=fusion, format=format, norm=norm, path=path)
        speeds = found and found["speed_against"][rival]
        return speeds and speeds[phase]

    def speed_against_compile(self, shape, fusion, format, norm):
        for m in self.compiled:
            if (m["shape"], m["fusion"], m["format"], m["contender"]) == (list(shape), fusion, format, norm):
                return m["speed_against_compile"]["both"]
        return None


def path_for(shape):
    """Small tensors are held against the limit below autograd, whose own cost would hide the kernels'."""
    return "autograd" if 4 * math.prod(shape) > 16 * 2**20 else "raw"


# Markdown

def shape_name(shape):
    return " × ".join(map(str, shape))


def goals_table(goals):
    return table(["goal", "value", "must", "aim", "verdict"],
                 [[f"`{goal['id']}`{' (' + goal['format'] + ')' if 'format' in goal else ''}: {goal['what']}",
                   number(goal["value"]), f"{goal['must']:.2f}", f"{goal['aim']:.2f}", goal["verdict"]] for goal in goals])


def formats_table(goals):
    values = {(goal["id"], goal["format"]): goal for goal in goals}
    rows = []
    for name in dict.fromkeys(goal["id"] for goal in goals):
        found = [values[name, format] for format in FORMATS]
        rows.append([f"`{name}`"] + [f"{number(goal['value'])} ({goal['verdict']})" for goal in found])
    return table(["goal", *FORMATS], rows)


def limit_table(record, format):
    rows = []
    for shape in record.shapes():
        path = path_for(shape)
        cells = [number(record.speed("limit", shape, "BN+ReLU", format, norm, path, phase))
                 for norm in NORMS for phase in ("forward", "backward", "both")]
        rows.append([f"{shape_name(shape)}, {path}", *cells])
    return table(["shape, path"] + [f"{norm} {phase}" for norm in NORMS for phase in ("forward", "backward", "both")], rows)


def rivals_table(record, format):
    rows = []
    for shape in record.shapes():
        for fusion in FUSIONS:
            for norm in NORMS:
                rows.append([f"{shape_name(shape)}, {fusion}, {norm}",
                             number(record.speed("torch", shape, fusion, format, norm, "autograd")),
                             number(record.speed_against_compile(shape, fusion, format, norm)),
                             number(record.speed("exact", shape, fusion, format, norm, "autograd")),
                             number(record.speed("onednn", shape, fusion, format, norm, "raw"))])
    return table(["shape, fusion, norm", "torch", "torch.compile", "our exact BN", "oneDNN, its best format"], rows)


def page(record, first_sections):
    content = record.content
    compiled = "" if record.compiled else " (torch.compile was not measured)"
    parts = [f"""# How fast it is

Written by `./run docs` from `results/`; do not edit. Ratios are medians over rounds in which all contenders take turns;
above 1 we are faster. What users feel comes first: whole steps; then layers as in a network; then a layer alone.

{first_sections}
## A layer alone

The same tensors again and again, from `{RECORD}`: what fits into the cache stays there.

{where_measured(content, f"{content['onednn']}{compiled}")}
### Goals

A goal takes the worse of FS-1/64 and LS-1/64 in every case and the geometric mean over the cases of its class. A tensor is
large above 16 MiB. The limit is the faster of two plain loops that move the same bytes: a copy for forward, two tensors read
and one written for backward.
""", goals_table(content["goals"]), """
Those over both memory formats, in each alone:
""", formats_table(content["goals_by_format"]), """
### Against the limit

BN+ReLU, time of the limit divided by ours: 1 is the price of a copy.
"""]
    for format in FORMATS:
        parts += [f"#### {format}\n", f"![{format}: each shape against the limit](performance/{format}.svg)\n",
                  limit_table(record, format), ""]
    parts += ["""### Against the rivals

Forward and backward, the rival's time divided by ours; through autograd, but for oneDNN, which has none: there our operators
are called below it.
"""]
    for format in FORMATS:
        parts += [f"#### {format}\n", rivals_table(record, format), ""]
    return "\n".join(parts).rstrip() + "\n"


# Charts

WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 760, 176, 24, 64, 66, 12
BARS = [("FS-1/64", "forward", "a"), ("FS-1/64", "backward", "b"), ("LS-1/64", "forward", "c"), ("LS-1/64", "backward", "d")]


def chart(record, format):
    shapes = record.shapes()
    bottom = TOP + ROW * len(shapes)
    speeds = {(shape, norm, phase): record.speed("limit", shape, "BN+ReLU", format, norm, path_for(shape), phase)
              for shape in shapes for norm, phase, _ in BARS}
    top_value = max(1.1, *(speed for speed in speeds.values() if speed is not None), 0)
    top_value = math.ceil(5 * top_value + 0.01) / 5
    x = lambda value: LEFT + (WIDTH - LEFT - RIGHT) * value / top_value
    title = f"BN+ReLU, {format}: speed in parts of the limit"
    out = [text(LEFT, 22, title, cls="title")]
    for i, (norm, phase, cls) in enumerate(BARS):
        out += [f'<rect x="{LEFT + 140 * i}" y="36" width="12" height="12" class="{cls}"/>',
                text(LEFT + 140 * i + 18, 47, f"{norm} {phase}")]
    step = 0.2 if top_value <= 2 else math.ceil(top_value / 10)
    for tick in range(int(top_value / step + 0.01) + 1):
        value = tick * step
        out += [line(x(value), TOP, x(value), bottom, "grid"), text(x(value), bottom + 18, f"{value:.1f}", "middle")]
    for i, shape in enumerate(shapes):
        y = TOP + ROW * i + (ROW - len(BARS) * BAR) / 2
        out.append(text(LEFT - 10, y + 2 * BAR + 4, shape_name(shape), "end"))
        for j, (norm, phase, cls) in enumerate(BARS):
            speed = speeds[shape, norm, phase]
            if speed is None:
                continue
            out += [f'<rect x="{LEFT}" y="{y + j * BAR:g}" width="{x(speed) - LEFT:.1f}" height="{BAR - 1}" class="{cls}">'
                    f"<title>{escape(f'{shape_name(shape)}, {norm} {phase}: {speed:.2f}')}</title></rect>"]
    out += [line(LEFT, TOP, LEFT, bottom, "axis"), line(LEFT, bottom, WIDTH - RIGHT, bottom, "axis"),
            line(x(1), TOP - 6, x(1), bottom, "limit"),
            text((LEFT + WIDTH - RIGHT) / 2, bottom + 40, "limit's time / ours (dashed: the limit itself)", "middle"),
            text(LEFT - 10, TOP - 8, "N × C × H × W", "end")]
    return svg(WIDTH, bottom + 52, title, out)


def files(root):
    """Path -> content of everything that is generated."""
    record = Record(read_record(root, RECORD, f"./run bench layer --json {RECORD}"))
    return {PAGE: page(record, steps_page.sections(root)), **{f"{CHARTS}/{format}.svg": chart(record, format) for format in FORMATS}}
