"""Statistics of a few points are noise: a model whose samples have fewer than 32 points a channel somewhere says so once."""

import warnings
from collections.abc import Iterable

FEW = 32


class FewPoints:
    """Shared by the layers of a model. Each reports the points of its sample in its first training forward. When all have reported, or
    one comes for the second time, there is one warning if there are too few points in some layer."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = set(names)
        self.reports: dict[str, tuple[int | None, str]] = {}
        self.done = False

    def report(self, name: str, points: int | None, spec: str) -> None:
        """`points` are None where the layer is taken whole."""
        if name not in self.reports:
            self.reports[name] = (points, spec)
            if self.reports.keys() < self.names:
                return
        if not self.done:
            self.done = True
            self._warn()

    def _warn(self) -> None:
        few = [(points, name, spec) for name, (points, spec) in self.reports.items() if points is not None and points < FEW]
        if not few:
            return
        points, name, spec = min(few)
        where = f"layer {name}" if name else "a layer"
        others = f" ({len(few)} of {len(self.reports)} layers have fewer than {FEW})" if len(self.names) > 1 else ""
        advice = "more virtual rows give more points" if spec.startswith("VDN") else f"';least={FEW}' in the notation asks for more"
        warnings.warn(f"samplenorm: {spec} takes the statistics of {where} from {points} points a channel{others}. So few points give "
                      f"noisy statistics: {advice}; LS-1/64 takes 1,024 where the layer has them", stacklevel=7)
