"""./run bench python: validates, times, and writes a record."""

import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])


def bench(*options):
    return subprocess.run([sys.executable, SOURCE / "bench/python_package.py", *map(str, options)], capture_output=True, text=True)


def test_a_quick_run_writes_a_record_of_all_eager_contenders(tmp_path):
    result = bench("--quick", "--model", "resnet20", "--json", tmp_path / "python.json")
    assert result.returncode == 0, result.stderr
    record = json.loads((tmp_path / "python.json").read_text())
    (network,) = record["networks"]
    names = [row["contender"] for row in network["results"]]
    assert names == ["original", "converted, BN", "converted and fused, BN", "converted, LS-1/64", "converted and fused, LS-1/64", "none",
                     "original, default allocation"]
    assert network["results"][0]["speed"] == 1 and all(row["milliseconds"] > 0 and len(row["seconds"]) == 2 for row in network["results"])
    assert all(found["milliseconds"] > 0 for found in network["inside"].values())
    kept = {name: memory["kept_bytes"] for name, memory in network["memory"].items()}
    assert 0 < kept["lean"] < kept["converted and fused, LS-1/64"] < kept["original"]
    assert all(name in result.stdout for name in names) and {"commit", "cpu", "command", "load_average", "goals"} <= record.keys()


def test_wrong_use_gets_one_sentence_and_status_2():
    for option in ("--norm", "--model"):
        result = bench(option, "XX")
        assert result.returncode == 2 and "XX" in result.stderr
