"""What the generated pages have in common: where the figures come from, tables, and the strokes of their charts."""

import json
from html import escape


def read_record(root, name, command):
    """The JSON in this file; `command` makes it."""
    path = root / name
    if not path.exists():
        raise SystemExit(f"write_docs.py: there is no {name}: make it with {command}")
    return json.loads(path.read_text())


# Markdown

def number(value):
    return "–" if value is None else f"{value:.2f}"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def doubts(content):
    """A paragraph where the figures cannot be relied on."""
    reasons = ["a quick run"] if "--quick" in content["command"].split() else []
    if content["load_average"] > 0.5 * content["threads"]:
        reasons.append("on a machine that was busy with other things")
    if content["commit"].endswith("-dirty") or not content["commit"]:
        reasons.append("of code that is in no commit")
    return f"\n**Not to be relied on**: this was {', '.join(reasons)}.\n" if reasons else ""


def where_measured(content, with_what=""):
    """The processor, the date, the commit and the command of a record, as a list."""
    versions = f"samplenorm {content['samplenorm']}, libtorch {content['libtorch']}"
    return f"""- processor: {content["cpu"]}, threads: {content["threads"]}; load before the run: {content["load_average"]:.2f}
- when: {content["date"]}, commit `{content["commit"]}`
- {versions}{", " + with_what if with_what else ""}
- command: `{content["command"]}`
{doubts(content)}"""


# Charts

# Light and dark by the reader's own setting; the colours differ in lightness too.
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .limit { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 5 3 }
  .curve { fill: none; stroke-width: 2 }
  .dashed { stroke-dasharray: 6 4 }
  .a { fill: #0969da } .b { fill: #80b8f0 } .c { fill: #9a5b00 } .d { fill: #e0a84e }
  .s0 { stroke: #57606a } .s1 { stroke: #0969da } .s2 { stroke: #9a5b00 } .s3 { stroke: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .axis { stroke: #6e7681 } .grid { stroke: #30363d } .limit { stroke: #ff7b72 }
    .a { fill: #58a6ff } .b { fill: #1f4f8f } .c { fill: #e3b341 } .d { fill: #7d5a12 }
    .s0 { stroke: #b1bac4 } .s1 { stroke: #58a6ff } .s2 { stroke: #e3b341 } .s3 { stroke: #3fb950 }
  }
"""


def text(x, y, words, anchor="start", cls=None):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{f" class={chr(34)}{cls}{chr(34)}" if cls else ""}>{escape(words)}</text>'


def line(x1, y1, x2, y2, cls):
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{cls}"/>'


def svg(width, height, title, elements):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
                      f'aria-label="{escape(title)}">', f"<style>{STYLE}</style>", *elements, "</svg>"]) + "\n"
