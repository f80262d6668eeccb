"""Times contenders in turns, so that what disturbs the machine disturbs all of them."""

import statistics
import time
from typing import Any

import torch
from torch import Tensor

from samplenorm.bench.contenders import Contender


def wait_for(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize()


def time_in_turns(contenders: list[Contender], x: Tensor, rounds: int, steps: int) -> None:
    for contender in contenders:  # compiles, and fills caches
        for _ in range(2):
            contender.step(x)
        if x.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
            contender.step(x)
            contender.peak_bytes = torch.cuda.max_memory_allocated()
    for _ in range(rounds):
        for contender in contenders:
            wait_for(x.device)
            begin = time.perf_counter()
            for _ in range(steps):
                contender.step(x)
            wait_for(x.device)
            contender.seconds.append((time.perf_counter() - begin) / steps)


def summary(contender: Contender, original: Contender) -> dict[str, Any]:
    """The median, the quartiles, and the median over rounds of the ratio to the original in the same round."""
    ratios = [mine / its for mine, its in zip(contender.seconds, original.seconds)]
    quartiles = statistics.quantiles(contender.seconds, n=4) if len(contender.seconds) > 1 else contender.seconds * 3
    return {"name": contender.name, "seconds": statistics.median(contender.seconds), "quartiles": [quartiles[0], quartiles[2]],
            "of_original": statistics.median(ratios), "peak_bytes": contender.peak_bytes}
