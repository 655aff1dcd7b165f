"""Balanced: HERO-3 and PPI on the current round's own gold, each counted for as much as that gold supports.

PPI is right whatever the labelers are like; HERO-3 is surer where its model is right. With w the weight of HERO-3 and
a gap between the two, the mean square error is estimated by  V(w) + w^2 gap^2,  where V(w) is the variance of the
mixture by both methods' influences on the same items and gap^2 stands for HERO-3's squared bias. The weight is the one
for which this is least, times the square of PPI's power: predictions that do not hold for gold left out speak against
the model that made them. It goes by the residuals that gold shows: few golds that agree with predictions by luck
must not speak for the model. The interval takes the two as if they erred together, so that it is never shorter than a
mean of theirs, PPI's with what its golds may have missed. With more than two classes one weight serves all, and squares
are added up over the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods import hero3 as model_based
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.ppi import posteriors_at, ppi_fit
from hero_eval.methods.registry import GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats

_ACTION = "Nothing; name `ppi` or `hero3` to take one of them alone."


@dataclass(frozen=True)
class Mixture:
    """The weight of the first of two estimates, and the mixture's standard error, over all classes."""

    weight: float
    error: float


def mixture(first: Floats, second: Floats, beyond: float, gap: Floats, power: float, error: float) -> Mixture:
    """How to mix an estimate that may be biased with one that is not.

    first, second (N, K): the items' influences on both; `beyond`: variance of the first that no item explains; gap
    (K,): first minus second; `power`: how far the first's predictions hold for gold left out; `error`: the standard
    error of the second over all classes, which may be more than its influences show.
    """
    bias = float(gap @ gap)
    apart = float(((first - second) ** 2).sum()) + beyond + bias
    own = float((second**2).sum())
    gain = own - float((first * second).sum())
    weight = power**2 * min(max(gain / apart, 0.0), 1.0) if apart > 0.0 else 0.0
    off = float((first**2).sum()) + beyond + bias
    return Mixture(weight, (1.0 - weight) * error + weight * math.sqrt(off))


def rates(evidence: JointEvidence) -> Floats:
    return balanced(evidence).rates


@method(
    "balanced",
    "hero3 and ppi on the current round's own gold, blended by how well that gold supports hero3",
    JointEvidence,
    rates,
    gold=GoldNeed.OWN,
)
def balanced(evidence: JointEvidence) -> Fit:
    by_model = model_based.hero3(evidence)
    assert by_model.levels is not None
    by_design = ppi_fit(evidence, by_model.levels)
    if by_design.on_edge or not _measured(by_model) or not _measured(by_design):
        reason = "on the edge" if by_design.on_edge else "too little gold"
        said = f"ppi alone ({reason}): {_say(by_design)}"
        return replace(by_design, findings=(*by_design.findings, Finding("F306", said, {"weight": 0.0}, _ACTION)))
    past = np.zeros((0, by_model.current.shape[1])) if by_model.history is None else by_model.history
    first = _all_classes(np.concatenate([past, by_model.current]))
    designs = (by_design.paper, by_design.current)
    shown, second = (_all_classes(np.concatenate([np.zeros_like(past), of])) for of in designs)
    power = float(next(one.data["power"] for one in by_design.findings if one.code == "F320"))
    error = math.sqrt(float((second**2).sum()))
    found = mixture(first, shown, _beyond(by_model), by_model.rates - by_design.rates, power, error)
    w = found.weight
    mixed = second + w * (first - second)
    length = math.sqrt(float((mixed**2).sum()))
    mixed = mixed[:, 1:] * (found.error / length if length > 0.0 else 1.0)
    said = f"hero3 alone says {_say(by_model)}, ppi alone {_say(by_design)}; hero3 got {w:.0%} of the weight"
    data = {"weight": w, "hero3": by_model.rates.tolist(), "ppi": by_design.rates.tolist()}
    kept = tuple(one for one in by_model.findings if one.code in ("F301", "F204"))
    mean = by_design.rates + w * (by_model.rates - by_design.rates)
    return replace(
        by_design,
        rates=mean,
        inside=by_design.inside + w * (by_model.inside - by_design.inside),
        current=mixed[len(past) :],
        history=mixed[: len(past)] if by_model.history is not None else None,
        paper=mixed[len(past) :],
        findings=(*by_design.findings, *kept, Finding("F306", said, data, _ACTION)),
        posteriors=posteriors_at(evidence, by_model.levels, mean),
    )


def _measured(fit: Fit) -> bool:
    return bool(np.isfinite(fit.current).all() and (fit.history is None or np.isfinite(fit.history).all()))


def _all_classes(influence: Floats) -> Floats:
    """(N, K) from the influences on rates[1:]."""
    return np.column_stack([-influence.sum(axis=1), influence])


def _beyond(fit: Fit) -> float:
    """The variance, over all classes, that drift and labelers' own moves add."""
    if fit.between is None:
        return 0.0
    covariance = fit.between.covariance()
    return float(np.trace(covariance) + covariance.sum())


def _say(fit: Fit) -> str:
    return ", ".join(f"{rate:.3f}" for rate in (fit.rates[1:] if len(fit.rates) == 2 else fit.rates))
