"""Whether a round's own gold agrees with the model: HERO-3's rates against those that rest on that gold alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.estimation.question import Current, Question
from hero_eval.findings import Finding
from hero_eval.labelers.reliability import p_text
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.ppi import ppi_fit
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats

LEAST_TO_DISAGREE = 20
"""Golds of a current round from which they may contradict the model."""


@dataclass(frozen=True, eq=False)
class Disagreement:
    """The rates by the model and by PPI, both (K,), and the test of their difference."""

    model: Floats
    design: Floats
    statistic: float
    p_value: float


def disagreement(fit: Fit, current: Current) -> Disagreement | None:
    """Whether HERO-3's rates and those that rest on the round's gold alone differ beyond chance.

    Both are moved by the same items, so that the error of their difference is that of the differences of influences,
    and of what HERO-3 allows for drift. None where there is too little gold to tell.
    """
    evidence = current.evidence
    if fit.levels is None or not isinstance(evidence, JointEvidence) or current.round.n_gold < LEAST_TO_DISAGREE:
        return None
    other = ppi_fit(evidence, fit.levels)
    if other.on_edge or fit.on_edge:
        return None
    apart = fit.current - other.current
    covariance = apart.T @ apart
    if fit.history is not None:
        covariance = covariance + fit.history.T @ fit.history
    if fit.between is not None:
        covariance = covariance + fit.between.covariance()
    gap = (fit.rates - other.rates)[1:]
    if not (np.isfinite(covariance).all() and np.linalg.eigvalsh(covariance).min() > 0.0):
        return None
    statistic = float(gap @ np.linalg.solve(covariance, gap))
    df = current.round.n_gold - 1.0
    return Disagreement(fit.rates, other.rates, statistic, float(special.fdtrc(len(gap), df, statistic / len(gap))))


def disagreement_finding(question: Question, gap: Disagreement, done: str) -> Finding:
    k = int(np.argmax(np.abs(gap.model - gap.design))) if len(gap.model) > 2 else 1
    message = (
        f"the model and the current round's own gold disagree ({p_text(gap.p_value)}): hero3 puts the rate of "
        f"{question.classes[k]!r} at {gap.model[k]:.3f}, ppi at {gap.design[k]:.3f}; {done}"
    )
    data = {"p_value": gap.p_value, "statistic": gap.statistic}
    rates = {"hero3": gap.model, "ppi": gap.design}
    each = {name: dict(zip(question.classes, of.tolist(), strict=True)) for name, of in rates.items()}
    return Finding("F220", message, {**data, **each})
