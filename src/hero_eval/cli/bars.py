"""Intervals drawn as text on a common axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 24
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    width: int = WIDTH

    def place(self, value: float) -> int:
        share = (value - self.low) / (self.high - self.low)
        return min(self.width - 1, max(0, round(share * (self.width - 1))))

    def title(self) -> str:
        """Where the axis starts and ends."""
        left, right = f"{self.low:g}", f"{self.high:g}"
        return left + right.rjust(self.width - len(left))

    def draw(self, value: float, low: float, high: float, mark: float | None = None) -> str:
        """├──●──┤ with a dotted line at `mark`."""
        cells = [" "] * self.width
        if mark is not None:
            cells[self.place(mark)] = "┊"
        if not math.isnan(value):
            start, end = self.place(low), self.place(high)
            cells[start : end + 1] = "─" * (end - start + 1)
            cells[start], cells[end] = "├", "┤"
            if mark is not None and start < self.place(mark) < end:
                cells[self.place(mark)] = "┼"
            cells[self.place(value)] = "●"
        return "".join(cells)


def common_axis(values: Sequence[float], bounds: tuple[float, float]) -> Axis:
    """A round-numbered axis that holds all finite values, within the range that is possible."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return Axis(*bounds)
    low, high = min(known), max(known)
    reach = max(high - low, 1e-6)
    unit = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(unit * step for step in STEPS if unit * step * 4 >= reach)
    places = max(0, 1 - math.floor(math.log10(step)))
    start = max(bounds[0], round(math.floor(low / step) * step, places))
    end = min(bounds[1], round(math.ceil(high / step) * step, places))
    return Axis(start, end) if end > start else Axis(*bounds)
