"""`Influence`: how far each item of each round moves a number.

Influences are the common currency: sums, differences and ratios of estimates are sums of influences; a variance is the
sum of their squares, items with the same id together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hero_eval.model.patterns import Floats, sum_by

_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Part:
    """Influences of the items of one source. Items with equal ids move together; ids=None: each item by itself.

    `distinct` promises that no id occurs twice within this part, so that a part alone need not be grouped.
    """

    source: str
    values: Floats
    ids: NDArray[np.object_] | None = None
    distinct: bool = True
    times: Floats | None = None
    """Where a value stands for several items (it is then the root of the sum of their squares): how many."""
    by_mean: Floats | None = None
    """What of the values goes through the historical mean of covariates, where that is known apart."""

    def __add__(self, other: Part) -> Part:
        """The same items' influences on a sum."""
        known = [part.by_mean for part in (self, other) if part.by_mean is not None]
        return replace(self, values=self.values + other.values, by_mean=sum(known[1:], known[0]) if known else None)

    def __mul__(self, factor: float) -> Part:
        by_mean = None if self.by_mean is None else factor * self.by_mean
        return replace(self, values=factor * self.values, by_mean=by_mean)


@dataclass(frozen=True, eq=False)
class Influence:
    """How far each item moves an estimate, by source (history, current)."""

    parts: tuple[Part, ...]

    def __add__(self, other: Influence) -> Influence:
        merged = list(self.parts)
        for part in other.parts:
            for position, mine in enumerate(merged):
                same_items = mine.ids is part.ids and len(mine.values) == len(part.values)
                if mine.source == part.source and same_items:
                    merged[position] = mine + part
                    break
            else:
                merged.append(part)
        return Influence(tuple(merged))

    def __mul__(self, factor: float) -> Influence:
        return Influence(tuple(part * factor for part in self.parts))

    __rmul__ = __mul__

    def __sub__(self, other: Influence) -> Influence:
        return self + other * -1.0

    def units(self) -> Floats:
        """The influence of each independent unit: items of one source with the same id are one unit."""
        return np.concatenate([self._source_units(source) for source in sorted({part.source for part in self.parts})])

    def variance(self) -> float:
        """The sum of squared influences of independent units."""
        return sum(self.variance_of_sources().values()) if self.parts else math.nan

    def variance_of_sources(self) -> dict[str, float]:
        """What each source adds to it."""
        sources = sorted({part.source for part in self.parts})
        return {source: _sum_of_squares(self._source_units(source)) for source in sources}

    def skewness(self) -> float:
        """The sum of cubes over the sum of squares to the power 1.5; a value that stands for several is shared out."""
        cubes = 0.0
        for source in {part.source for part in self.parts}:
            parts = [part for part in self.parts if part.source == source]
            if any(part.times is not None for part in parts):
                roots = [np.sqrt(part.times) if part.times is not None else 1.0 for part in parts]
                cubes += sum(float(np.sum(part.values**3 / root)) for part, root in zip(parts, roots, strict=True))
            else:
                cubes += float(np.sum(self._source_units(source) ** 3))
        squares = self.variance()
        return cubes / squares**1.5 if squares > 0 else 0.0

    def variance_by_source(self) -> dict[str, float]:
        """What each source adds to the variance: where the width of an interval comes from.

        Of history, what comes by the covariates' mean is told apart as `covariates` where it is known.
        """
        found = self.variance_of_sources()
        past = [part for part in self.parts if part.source == "history"]
        if len(past) == 1 and past[0].by_mean is not None and (past[0].ids is None or past[0].distinct):
            by_mean = float(past[0].values @ past[0].by_mean)
            if 0.0 < by_mean < found["history"]:  # else the two offset each other, and no share is either's own
                found |= {"history": found["history"] - by_mean, "covariates": by_mean}
        return found

    def _source_units(self, source: str) -> Floats:
        parts = [part for part in self.parts if part.source == source]
        if len(parts) == 1 and (parts[0].ids is None or parts[0].distinct):
            return parts[0].values
        ids = np.concatenate([self._ids(part) for part in parts]).astype(str)
        _, group = np.unique(ids, return_inverse=True)
        return sum_by(group, np.concatenate([part.values for part in parts]), int(group.max()) + 1)

    @staticmethod
    def _ids(part: Part) -> NDArray[np.object_]:
        if part.ids is None:
            return np.arange(len(part.values)).astype(object)
        return part.ids


def _sum_of_squares(values: Floats) -> float:
    """Some at a time: squares of all of very many would fill memory."""
    return float(sum(np.sum(values[start : start + _BLOCK] ** 2) for start in range(0, len(values), _BLOCK)))
