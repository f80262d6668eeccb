"""A bar on a terminal, nothing elsewhere."""

import sys
import time


class Progress:
    def __init__(self, total: int | None, what: str, shown: bool) -> None:
        self.total, self.what, self.done = total, what, 0
        self.shown = shown and sys.stderr.isatty()
        self.begin = time.monotonic()

    def step(self) -> None:
        self.done += 1
        if not self.shown:
            return
        rate = self.done / max(time.monotonic() - self.begin, 1e-9)
        if self.total:
            filled = 30 * self.done // self.total
            left = (self.total - self.done) / rate
            text = f"[{'#' * filled}{' ' * (30 - filled)}] {self.done}/{self.total} {self.what}, {rate:.3g}/s, {left:.0f} s left"
        else:
            text = f"{self.done} {self.what}, {rate:.3g}/s"
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print(file=sys.stderr)
