"""Writes results/python-families.json: how the norms of a model of each family run in training, fused with what follows or alone.

    PYTHONPATH=python SAMPLENORM_LIBRARY=build/release/lib/libsamplenorm.so .venv/bin/python scripts/families.py [FAMILY...]

With families, it prints theirs and writes nothing.
"""

import json
import logging
import pathlib
import subprocess
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))

import samplenorm as sn  # noqa: E402
from outside_models import FAMILIES, import_timm, survey  # noqa: E402


def commit():
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def main():
    logging.getLogger("samplenorm").setLevel(logging.ERROR)
    chosen = sys.argv[1:]
    unknown = set(chosen) - set(FAMILIES)
    if unknown:
        sys.exit(f"families.py: expected some of {', '.join(FAMILIES)}, got {', '.join(unknown)}")
    rows = []
    for name in chosen or FAMILIES:
        rows.append(survey(name))
        print(json.dumps(rows[-1]), flush=True)
    if chosen:
        return
    import segmentation_models_pytorch as smp
    record = {"date": time.strftime("%Y-%m-%d"), "commit": commit(), "samplenorm": sn.__version__, "torch": torch.__version__,
              "timm": import_timm().__version__, "segmentation_models_pytorch": smp.__version__,
              "command": ".venv/bin/python scripts/families.py", "families": rows}
    (ROOT / "results" / "python-families.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
