"""`Estimate`: a number, how sure it is, and what one must know about it. All surfaces render this one thing.

Influences are the common currency: `Influence` holds how far each item of each round moves the number. Sums,
differences and ratios of estimates are sums of influences; a variance is the sum of their squares, items with the same
id together.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hero_eval.errors import wrong
from hero_eval.findings import Finding
from hero_eval.model.em import EMReport
from hero_eval.model.patterns import Floats

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Part:
    """Influences of the items of one source. Items with equal ids move together; ids=None: each item by itself."""

    source: str
    values: Floats
    ids: NDArray[np.object_] | None = None


@dataclass(frozen=True)
class Influence:
    """How far each item moves an estimate, by source (history, current)."""

    parts: tuple[Part, ...]

    def __add__(self, other: Influence) -> Influence:
        merged = list(self.parts)
        for part in other.parts:
            for position, mine in enumerate(merged):
                same_items = mine.ids is part.ids and len(mine.values) == len(part.values)
                if mine.source == part.source and same_items:
                    merged[position] = Part(mine.source, mine.values + part.values, mine.ids)
                    break
            else:
                merged.append(part)
        return Influence(tuple(merged))

    def __mul__(self, factor: float) -> Influence:
        return Influence(tuple(Part(part.source, factor * part.values, part.ids) for part in self.parts))

    __rmul__ = __mul__

    def __sub__(self, other: Influence) -> Influence:
        return self + other * -1.0

    def variance(self) -> float:
        """Sum over items of squared influence; items of one source with the same id count as one item."""
        return sum(self._source_variance(source) for source in sorted({part.source for part in self.parts}))

    def _source_variance(self, source: str) -> float:
        parts = [part for part in self.parts if part.source == source]
        if len(parts) == 1:
            return float(np.sum(parts[0].values ** 2))
        ids = np.concatenate([self._ids(part) for part in parts])
        _, group = np.unique(ids.astype(str), return_inverse=True)
        return float(np.sum(np.bincount(group, weights=np.concatenate([part.values for part in parts])) ** 2))

    @staticmethod
    def _ids(part: Part) -> NDArray[np.object_]:
        if part.ids is None:
            return np.arange(len(part.values)).astype(object)
        return part.ids


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and interval.

    `target` says which question, `what` which quantity in words; `bounds` is the range the quantity can take;
    `centre` is the value, or a point just inside the range if the value lies on its edge; `distribution` and
    `mean_score` come with a rate.
    """

    target: str
    what: str
    value: float
    method: str
    n_items: int
    n_gold: int
    level: float
    interval_kind: str
    bounds: tuple[float, float]
    centre: float
    influence: Influence = field(repr=False)
    why: str = ""
    logit: bool = True
    report: EMReport | None = None
    findings: tuple[Finding, ...] = ()
    distribution: Mapping[str, Estimate] = field(default_factory=dict)
    mean_score: Estimate | None = None

    @property
    def std_error(self) -> float:
        if math.isnan(self.value):
            return math.nan
        return math.sqrt(self.influence.variance())

    @property
    def converged(self) -> bool:
        return self.report is None or self.report.converged

    def interval(self, level: float | None = None) -> tuple[float, float]:
        """Low and high; the whole range if the data say nothing."""
        level = check_level(self.level if level is None else level)
        logit = self.logit and self.interval_kind != "paper"
        return interval_around(self.value, self.std_error, level, self.bounds, self.centre if logit else None)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown, in plain types; unknown numbers are None."""
        low, high = self.interval()
        out: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "target": self.target,
            "what": self.what,
            "value": number(self.value),
            "std_error": number(self.std_error),
            "interval": {
                "level": self.level,
                "low": number(low),
                "high": number(high),
                "kind": self.interval_kind,
            },
            "method": self.method,
            "why": self.why,
            "n_items": self.n_items,
            "n_gold": self.n_gold,
            "converged": self.converged,
            "em": None if self.report is None else {"steps": self.report.n_steps, "change": number(self.report.change)},
            "findings": [finding.to_dict() for finding in self.findings],
        }
        if self.distribution:
            out["distribution"] = {name: _brief(one) for name, one in self.distribution.items()}
        if self.mean_score is not None:
            out["mean_score"] = _brief(self.mean_score)
        return out

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"Estimate({self.what} {self.value:.4f}, {self.level:.0%} interval {low:.4f} to {high:.4f}, {self.method}, "
            f"{self.n_items} items, {self.n_gold} gold)"
        )

    def _repr_html_(self) -> str:
        low, high = self.interval()
        rows = "".join(f"<li><code>{f.code}</code> {html.escape(f.message)}</li>" for f in self.findings)
        return (
            f"<div><b>{html.escape(self.what)}</b>: <b>{self.value:.4f}</b> "
            f"({self.level:.0%} interval {low:.4f} to {high:.4f}; {html.escape(self.method)}, {self.n_items} items, "
            f"{self.n_gold} gold)<ul>{rows}</ul></div>"
        )


def interval_around(
    value: float, error: float, level: float, bounds: tuple[float, float], centre: float | None
) -> tuple[float, float]:
    """A normal interval, on the logit scale of the bounds around `centre`, or plain and cut at the bounds if None."""
    low, high = bounds
    if not math.isfinite(error):
        return low, high
    z = float(special.ndtri(0.5 + level / 2))
    share = math.nan if centre is None else (centre - low) / (high - low)
    if not 0.0 < share < 1.0:
        return max(low, value - z * error), min(high, value + z * error)
    width = z * error / (high - low) / (share * (1 - share))
    at = special.logit(share)
    lower, upper = (low + (high - low) * float(special.expit(at + side * width)) for side in (-1, 1))
    return min(lower, value), max(upper, value)


def _brief(estimate: Estimate) -> dict[str, Any]:
    low, high = estimate.interval()
    return {
        "value": number(estimate.value),
        "std_error": number(estimate.std_error),
        "low": number(low),
        "high": number(high),
    }


def number(value: float) -> float | None:
    """A float for JSON, which knows no nan and no infinity."""
    return float(value) if math.isfinite(value) else None


def check_level(level: float) -> float:
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise wrong("E201", f"level is {level!r}. It is a probability between 0 and 1, such as 0.95")
    return float(level)
