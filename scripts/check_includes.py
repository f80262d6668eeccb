"""Fails on an #include that goes against the architecture: each folder may use only what its line below names.

Run as `python3 scripts/check_includes.py ROOT`; prints one line for each wrong include.
"""

import pathlib
import re
import sys

# Folder -> the folders of this project that it may include from (its own is always allowed), and outside libraries.
PROJECT = {
    "lib/include/samplenorm": ["lib/include/samplenorm"],
    "lib/core": ["lib/include/samplenorm"],
    "lib/samplers": ["lib/core", "lib/include/samplenorm"],
    "lib/kernels": ["lib/kernels/activations", "lib/core", "lib/include/samplenorm"],
    "lib/kernels/activations": ["lib/kernels"],
    "lib/comm": ["lib/core", "lib/include/samplenorm"],
    "lib/nn": ["lib/core", "lib/samplers", "lib/kernels", "lib/kernels/activations", "lib/comm", "lib/include/samplenorm"],
    "app/models": ["lib/include/samplenorm"],
    "app/data": ["app/record", "lib/include/samplenorm"],
    "app/record": ["lib/include/samplenorm"],
    "app/train": ["app/models", "app/data", "app/record", "lib/include/samplenorm"],
    "app/study": ["app/models", "app/data", "app/record", "app/train", "bench", "lib/include/samplenorm"],
    "app/report": ["app/record", "lib/include/samplenorm"],
    "bench": ["app/models", "lib/nn", "lib/core", "lib/kernels", "lib/include/samplenorm"],
    "app/cli": ["app/models", "app/data", "app/record", "app/train", "app/study", "app/report", "bench",
                "lib/include/samplenorm"],
    "examples": ["lib/include/samplenorm"],
}
TORCH = re.compile(r"^(torch|ATen|c10)/")
MAY_USE_TORCH = {"lib/include/samplenorm", "lib/nn", "lib/comm", "app/models", "app/data", "app/train", "app/study", "app/cli", "bench",
                 "examples"}
# A sample and its notation are plain data: no torch even though other public headers have it.
PLAIN_HEADERS = {"error.h", "sample.h", "notation.h", "communicator.h", "mpi.h"}
# What only one file may include, for the others to stay free of it.
ONLY_IN = [
    (re.compile(r"^torch/csrc/distributed/"), "lib/comm/c10d.cc", "c10d"),
    (re.compile(r"^mpi(-ext)?\.h$"), "lib/comm/mpi.cc", "MPI"),
    (re.compile(r"^(oneapi/dnnl/|dnnl)"), "bench/onednn.cc", "oneDNN"),
]


def included(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
        if match:
            yield number, match[1] == '"', match[2]


def folder_of(name):
    """The project's folder that an include such as "core/philox.h" comes from."""
    head = name.rsplit("/", 1)[0] if "/" in name else ""
    for folder in PROJECT:
        if head and ("/" + folder).endswith("/" + head):
            return folder
    return None


def wrong_includes(root):
    for folder, allowed in PROJECT.items():
        for path in sorted(root.joinpath(folder).glob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            for number, quoted, name in included(path):
                where = f"{path.relative_to(root)}:{number}"
                if quoted:
                    source = folder_of(name)
                    if source is None:
                        yield f'{where}: "{name}" is in no folder of the project (write folder/file.h)'
                    elif source != folder and source not in allowed:
                        yield f'{where}: {folder} may not include from {source} ("{name}")'
                    continue
                for pattern, only, library in ONLY_IN:
                    if pattern.match(name) and path != root / only:
                        yield f"{where}: only {only} may use {library} (<{name}>)"
                if TORCH.match(name):
                    if folder not in MAY_USE_TORCH:
                        yield f"{where}: {folder} may not use torch (<{name}>)"
                    elif folder == "lib/include/samplenorm" and path.name in PLAIN_HEADERS:
                        yield f"{where}: {path.name} is plain data and may not use torch (<{name}>)"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    unknown = sorted({str(p.parent.relative_to(root)) for top in ("lib", "app", "bench") for p in root.joinpath(top).rglob("*.cc")}
                     - set(PROJECT))
    problems = [f"{folder}: not in the table of scripts/check_includes.py" for folder in unknown]
    problems += wrong_includes(root)
    print("\n".join(problems) or "includes go only where the architecture lets them")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
