"""Writes the pages of docs/ that show figures, and their charts, from results/, so that every number on them was measured.

    python3 scripts/write_docs.py [--check] [--root DIR]

--check writes nothing and fails where a file is not what it would write.
"""

import argparse
import pathlib
import sys

import gpu_page
import layer_page
import processes_page
import python_page
import training_page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    stale = []
    generated = {}
    for module in (layer_page, training_page, processes_page, python_page, gpu_page):
        generated.update(module.files(arguments.root))
    for name, content in generated.items():
        path = arguments.root / name
        if path.exists() and path.read_text() == content:
            continue
        stale.append(name)
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    if arguments.check and stale:
        sys.exit(f"write_docs.py: not what results/ gives (run ./run docs): {', '.join(stale)}")


if __name__ == "__main__":
    main()
