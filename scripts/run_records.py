"""The runs of `samplenorm train` that results/ keeps: their recipes and metrics."""

import json

from page_parts import read_record


class Run:
    """A run's recipe.json and metrics.jsonl."""

    def __init__(self, root, folder):
        self.about = read_record(root, f"{folder}/recipe.json", "samplenorm train")
        self.recipe = self.about["recipe"]
        lines = [json.loads(line) for line in (root / folder / "metrics.jsonl").read_text().splitlines()]
        self.steps = [line for line in lines if line["kind"] == "step"]
        self.epochs = [line for line in lines if line["kind"] == "epoch"]

    @property
    def norm(self):
        return self.recipe["norm"]

    def losses(self, steps_per_point):
        """(epochs done, mean training loss) of every so many steps."""
        per_epoch = self.epochs[0]["step"]
        parts = [self.steps[i:i + steps_per_point] for i in range(0, len(self.steps), steps_per_point)]
        return [((part[0]["step"] + len(part) / 2) / per_epoch, sum(step["loss"] for step in part) / len(part))
                for part in parts]

    def accuracies(self, key):
        return [(epoch["epoch"] + 1, 100 * epoch[key]) for epoch in self.epochs if key in epoch]

    def waiting(self):
        return sum(step["waited_seconds"] for step in self.steps) / sum(step["seconds"] for step in self.steps)


def read_runs(root, folder):
    """BN first, then by the names of their folders."""
    names = sorted(path.name for path in (root / folder).glob("*") if path.is_dir())
    if not names:
        raise SystemExit(f"write_docs.py: there are no runs in {folder}: make them with samplenorm train")
    return sorted((Run(root, f"{folder}/{name}") for name in names), key=lambda run: run.norm != "BN")


def commands(runs):
    """As recorded; of a run that was resumed, whose last command says only that, one that makes it anew."""
    return "\n".join(f"    {anew(run) if '--resume' in run.about['command'] else run.about['command']}" for run in runs)


def anew(run):
    shown = ("model", "data", "norm", "epochs", "rate", "recalibrate", "seed")
    return "samplenorm train " + " ".join(f"--{key} {run.recipe[key]}" for key in shown)


def percent(part):
    return "–" if part is None else f"{100 * part:.2f} %"
