"""Records of all studies as docs/studies-format.md has them, with figures of a likely size, for tests of what reads them."""

import json
import math
import random

NORMS = ["BN", "NS-4/128", "BS-4/128", "FS-1/64", "FS-1/32", "VDN-2/128", "FS-1/64+VDN-2/128", "LS-1/64", "LS-1/32"]
SAMPLED = {"BN": 1, "NS-4/128": 4 / 128, "NS-1/128": 1 / 128, "BS-4/128": 4 / 128, "FS-1/64": 1 / 64, "FS-1/32": 1 / 32, "VDN-2/128": 2 / 128,
           "FS-1/64+VDN-2/128": 1 / 64 + 2 / 128, "LS-1/64": 1 / 64, "LS-1/32": 1 / 32}
STEP_NORMS = ["torch", "BN", "LS-1/64", "FS-1/32", "none"]
SEEDS = [1, 2, 3]
LAYERS = ["bn1"] + [f"layer{stage}.{block}.bn{i}" for stage in (1, 2, 3) for block in (0, 1, 2) for i in (1, 2)]
ALPHAS = [0.1, 0.3, 0.5, 0.7, 0.9]
BATCHES = [("BN", 256, 32), ("BN", 256, 4), ("VDN-2/128", 256, 4), ("LS-1/32", 256, 4), ("GN-8", 256, 256)]
FAILED = "the loss was not a number in step 31 of epoch 1"

_random = random.Random(5)


def noisy(value, part=0.01):
    return value * (1 + _random.uniform(-part, part))


def spread(seconds):
    return {"q1": seconds * 0.98, "median": seconds, "q3": seconds * 1.03}


def run(norm, seed, **more):
    worse = {"NS": 0.05, "BS": 0.02, "VDN": 0.015}.get(norm.split("-")[0], 0.002)
    top1 = noisy(0.86 - worse * (2 if seed is None else 1))
    return {"id": f"{norm}, seed {seed}", "model": "resnet20", "data": "cifar10", "images": 10000, "epochs": 4, "norm": norm,
            "seed": seed, "sampled": SAMPLED.get(norm, 1), "top1": top1, "top5": 0.99, "recalibrated_top1": top1 + 0.004,
            "train_loss": noisy(0.45), "seconds": 120.5, **more}


def failed_run(norm, seed, **more):
    whole = run(norm, seed, **more)
    return {key: whole[key] for key in ("id", "model", "data", "images", "epochs", "norm", "seed", "sampled")} | {"failed": FAILED}


def curve(norm):
    steps = list(range(10, 310, 10))
    return {"steps": steps, "losses": [0.4 + 1.9 * math.exp(-step / 90) + noisy(0.05, 0.5) for step in steps]}


def cost():
    return [{"id": model, "model": model, "batch": 32, "side": side, "norms": [
        {"norm": norm, "seconds": spread(1 / rate), "iterations_per_second": rate, "speed": rate / fast}
        for norm, rate in (("none", fast), ("torch", 0.62 * fast), ("BN", 0.71 * fast), ("LS-1/64", 0.93 * fast))]}
        for model, side, fast in (("resnet18", 112, 4.2), ("resnet50", 112, 1.3))]


def accuracy():
    return [run(norm, seed) for norm in NORMS for seed in SEEDS] + [failed_run("NS-1/128", seed) for seed in SEEDS[:2]]


def curves():
    return [run(norm, seed, **curve(norm), epoch_top1=[0.4, 0.6, 0.7, 0.8]) for norm in ("BN", "FS-1/64", "LS-1/64", "LS-1/32", "BS-4/128")
            for seed in SEEDS[:2]] + [failed_run("FRS-1/32", 1)]


def box(median):
    return {"low": median * 0.3, "q1": median * 0.7, "median": median, "q3": median * 1.4, "high": median * 2.5}


def layer_errors(norm, size, together):
    matrix = [[1 if i == j else together * math.exp(-abs(i - j) / 6) - 0.05 for j in range(len(LAYERS))] for i in range(len(LAYERS))]
    return {"id": norm, "part": "layers", "model": "resnet20", "data": "cifar10", "norm": norm, "steps": 78, "layers": LAYERS,
            "mean_errors": [box(noisy(size, 0.4)) for _ in LAYERS], "deviation_errors": [box(noisy(2 * size, 0.4)) for _ in LAYERS],
            "mean_correlation": matrix, "deviation_correlation": [[0.5 * value for value in line] for line in matrix],
            "mean_correlation_average": together / 3, "deviation_correlation_average": together / 6}


def error():
    layers = [layer_errors(*each) for each in (("NS-4/128", 0.08, 0.8), ("BS-4/128", 0.09, 0.1), ("FS-1/64", 0.06, 0.05), ("LS-1/64", 0.01, -0.2))]
    variance = {"id": "variance", "part": "variance", "layer": "layer1.0.bn1", "points": [
        {"pattern": pattern, "s": s, "measured": noisy(factor / s, 0.2), "predicted": factor / s, "independent": 1 / s}
        for pattern, factor in (("patch", 30), ("lattice", 1.4), ("rows", 12)) for s in (16, 64, 256, 1024)]}
    average = {"id": "moving average", "part": "moving_average", "norm": "BS-4/128", "points": [
        {"alpha": alpha, "measured": noisy(alpha / (2 - alpha), 0.1), "predicted": alpha / (2 - alpha)} for alpha in ALPHAS]}
    return [*layers, variance, average]


def timed(seconds):
    return {"rounds": 7, "forward": spread(seconds * 0.4), "backward": spread(seconds * 0.6), "both": spread(seconds)}


def network_speed(model, seconds):
    parts = {"torch": 0.4, "BN": 0.3, "LS-1/64": 0.17, "FS-1/32": 0.18, "none": 0.1}
    layers = [{"names": [f"layer{i}.0.bn1", f"layer{i}.1.bn1"], "count": 2, "shape": [32, 16 * 2**i, 64 >> i, 64 >> i], "parts": [16 * 2**i],
               "fusion": "BN+ReLU", "share": 0.1,
               "norms": {norm: timed(part * seconds / 8) | {"sampled": SAMPLED.get(norm, 1)} for norm, part in parts.items()}} for i in range(4)]
    steps = [timed(seconds * (0.6 + part)) | {"norm": norm, "layers_seconds": {"forward": 0.4 * part * seconds, "backward": 0.6 * part * seconds,
             "both": part * seconds}, "share": part / (0.6 + part), "saved_by_layers": 0.4 - part, "saved_by_steps": 0.4 - part,
             "layers_speed": 0.4 / part, "step_speed": 1 / (0.6 + part)} for norm, part in parts.items()]
    return {"id": model, "model": model, "batch": 32, "side": 112, "reference": "torch", "layers": layers, "steps": steps}


def speed():
    return [network_speed("resnet18", 0.25), network_speed("densenet121", 0.9)]


def places(form):
    entries = [(pattern, index, redrawn) for pattern in ("patch", "lattice", "scattered") for index in ("shared", "per channel")
               for redrawn in ("static", "each step")]
    return {"id": f"places, {form}", "part": "places", "format": form, "shape": [128, 64, 56, 56], "places": [
        {"pattern": pattern, "index": index, "redrawn": redrawn, "seconds": spread(1e-4 * (1 + i)), "cost": 1 + i}
        for i, (pattern, index, redrawn) in enumerate(entries)]}


def regularity():
    return [network_speed("resnet20", 0.1) | {"id": "layers", "part": "layers"}, places("channels_last"), places("contiguous")]


def decay():
    return [run("BS-4/128", seed, alpha=alpha, id=f"alpha {alpha}, seed {seed}") for alpha in ALPHAS for seed in SEEDS[:2]]


def micro():
    return [run(norm, seed, gradient_batch=gradient, statistic_batch=statistic, id=f"{norm} ({gradient}, {statistic}), seed {seed}")
            for norm, gradient, statistic in BATCHES for seed in SEEDS]


def demo():
    return [{"id": norm, "model": "small", "data": "cifar10", "images": 50000, "epochs": 1, "norm": norm, "top1": noisy(0.6),
             "train_loss": noisy(1.1), "images_per_second": noisy(2000), "speed": noisy(1.2), **curve(norm)}
            for norm in ("BN", "FS-1/64", "LS-1/64")]


STUDIES = {study.__name__: study for study in (cost, accuracy, curves, error, speed, regularity, decay, micro, demo)}


def begin(study, **more):
    return {"kind": "begin", "study": study, "scale": "quick", "command": f"samplenorm study {study} --quick --out records",
            "date": "2025-03-04T05:06:07Z", "commit": "0123456789ab", "cpu": "A Processor of Four Cores", "threads": 2,
            "load_average": 0.25, **more}


def write_study(folder, study, results, **more):
    """The lines of one study in two program runs, the second of which made the last result."""
    kinds = [{"kind": "result", **result} for result in results]
    lines = [begin(study, **more), *kinds[:-1], begin(study, **more | {"date": "2025-03-05T05:06:07Z"}), *kinds[-1:]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{study}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_studies(folder, names=STUDIES):
    for name in names:
        write_study(folder, name, STUDIES[name]())
