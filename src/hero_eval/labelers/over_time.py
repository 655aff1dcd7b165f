"""Each labeler's reliability round by round, and who drifts.

Every round is fitted by itself, on its own gold. A share that a labeler gets right has an interval on the logit scale;
whether it is the same in all rounds is tested by Cochran's Q there, with Holm's correction for the many tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from hero_eval.classes import common_classes
from hero_eval.errors import HeroError, unsupported
from hero_eval.findings import Finding, name_some
from hero_eval.labelers.fitting import fit_reliability
from hero_eval.labelers.reliability import TOGETHER, Reliability, p_text
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.round import Round

DRIFT_LEVEL = 0.05
"""How often somebody is flagged though nobody drifts."""


@dataclass(frozen=True)
class Point:
    """One share of one labeler in one round."""

    labeler: str
    round: str
    what: str
    """sensitivity, specificity, or right_CLASS."""
    labels: int
    gold: int
    value: float
    std_error: float
    """nan at a bound, which has none."""
    low: float
    high: float


@dataclass(frozen=True)
class Drift:
    """How surely one share of one labeler is not the same in all rounds."""

    labeler: str
    what: str
    rounds: int
    p_value: float
    """Corrected for the number of tests."""
    lowest: tuple[str, float]
    highest: tuple[str, float]

    @property
    def drifts(self) -> bool:
        return self.p_value < DRIFT_LEVEL


@dataclass(frozen=True)
class OverTime(Framed):
    """Reliability by round. `skipped` are rounds that cannot be fitted, with the reason."""

    points: tuple[Point, ...]
    drifts: tuple[Drift, ...]
    skipped: Mapping[str, str]
    level: float
    findings: tuple[Finding, ...]

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each labeler, round and share."""
        names = ("labeler", "round", "what", "labels", "gold", "value", "std_error", "low", "high")
        columns = {name: [getattr(point, name) for point in self.points] for name in names}
        return to_frame(columns, checked_backend(backend, "files"))


def reliability_over_time(rounds: Sequence[Round], level: float = 0.95) -> OverTime:
    """Fit each round by itself, oldest first; E302 if none has gold."""
    if rounds:
        common_classes(rounds)  # rounds of different questions are refused
    points: list[Point] = []
    skipped: dict[str, str] = {}
    together: dict[str, Reliability] = {}
    for one in rounds:
        if not one.n_gold:
            skipped[one.name] = "no gold"
            continue
        try:
            fitted = fit_reliability([one])
            points += _points(one, fitted, level)
            together |= {one.name: fitted} if fitted.errs_together else {}
        except HeroError as error:
            skipped[one.name] = str(error)
    if not points:
        names = ", ".join(repr(one.name) for one in rounds[:5]) or "none"
        raise unsupported("E302", f"no round with gold can be looked at (rounds: {names}). Add gold: hero add --gold")
    drifts = _drifts(points)
    found = [*_together(together), *(_finding(one) for one in drifts if one.drifts)]
    return OverTime(tuple(points), drifts, skipped, level, tuple(found))


def _together(rounds: Mapping[str, Reliability]) -> list[Finding]:
    """The rounds in which labelers err together, whose shares are by gold."""
    if not rounds:
        return []
    tested = {name: one.dependence for name, one in rounds.items() if one.dependence is not None}
    known = {name: one.correlation for name, one in tested.items()}
    sure = p_text(min(one.p_value for one in tested.values()))  # a small correlation may be beyond chance all the same
    fact = (
        f"labelers err together given the gold in {name_some(list(known))} (residual correlation up to "
        f"{max(known.values()):.2f}, {sure}); their shares there go by gold, with the labels as help"
    )
    return [Finding("F206", fact, {"rounds": list(known), "correlation": list(known.values())}, TOGETHER, doubts=False)]


def _points(one: Round, fit: Reliability, level: float) -> list[Point]:
    rows = fit.to_frame("pyarrow").to_pylist()
    shares = [key.removesuffix("_se") for key in rows[0] if key.endswith("_se")]
    z = float(special.ndtri(0.5 + level / 2))
    return [_point(one.name, row, share, z) for row in rows for share in shares]


def _point(name: str, row: Mapping[str, Any], share: str, z: float) -> Point:
    value, error = float(row[share]), float(row[f"{share}_se"])
    low, high = math.nan, math.nan
    scaled = _logit_error(value, error)
    if math.isfinite(scaled):
        center = _logit(value)
        low, high = (1.0 / (1.0 + math.exp(-(center + side * z * scaled))) for side in (-1.0, 1.0))
    return Point(row["labeler"], name, share, row["labels"], row["gold"], value, error, low, high)


def _logit(value: float) -> float:
    return math.log(value / (1.0 - value))


def _logit_error(value: float, error: float) -> float:
    """The standard error on the logit scale; nan where there is none."""
    inside = 0.0 < value < 1.0 and math.isfinite(error) and error > 0.0
    return error / (value * (1.0 - value)) if inside else math.nan


def _drifts(points: Sequence[Point]) -> tuple[Drift, ...]:
    """One test for each labeler and share that at least two rounds tell something about."""
    tested = []
    for labeler, what in dict.fromkeys((point.labeler, point.what) for point in points):
        own = [one for one in points if (one.labeler, one.what) == (labeler, what) and math.isfinite(one.low)]
        if len(own) < 2:
            continue
        centers = np.array([_logit(one.value) for one in own])
        weights = np.array([_logit_error(one.value, one.std_error) for one in own]) ** -2.0
        mean = float(weights @ centers / weights.sum())
        spread = float(weights @ (centers - mean) ** 2)
        tested.append((labeler, what, own, float(special.chdtrc(len(own) - 1, spread))))
    corrected = holm([p for *_, p in tested])
    return tuple(
        Drift(labeler, what, len(own), p, _end(own, min), _end(own, max))
        for (labeler, what, own, _), p in zip(tested, corrected, strict=True)
    )


def _end(own: Sequence[Point], which: Any) -> tuple[str, float]:
    point = which(own, key=lambda one: one.value)
    return point.round, point.value


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values that hold together (Holm 1979)."""
    out = [1.0] * len(p_values)
    worst = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        worst = max(worst, min(1.0, p_values[position] * (len(p_values) - rank)))
        out[position] = worst
    return out


def _finding(drift: Drift) -> Finding:
    (low_round, low), (high_round, high) = drift.lowest, drift.highest
    message = (
        f"{drift.what} of {drift.labeler!r} drifts: {low:.2f} in {low_round!r}, {high:.2f} in {high_round!r} "
        f"(p = {drift.p_value:.1g} over {drift.rounds} rounds)"
    )
    return Finding("F209", message, {"labeler": drift.labeler, "what": drift.what, "p_value": drift.p_value})
