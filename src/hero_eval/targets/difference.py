"""How much better is model A than model B on the same prompts? Paired by item id, shared history counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hero_eval.estimate import Estimate
from hero_eval.findings import Finding
from hero_eval.model.history import Progress
from hero_eval.round import Round
from hero_eval.targets.question import History, Options, Question, ask, unique
from hero_eval.targets.rate import rate_estimate


def estimate_difference(
    a: Round,
    b: Round,
    history: History = None,
    *,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str = "influence",
    positive: str | Sequence[str] | None = None,
    penalty: float | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Rate of A minus rate of B. The two rates are in `.distribution` as 'a' and 'b'."""
    options = Options(method, covariates, text, penalty, level, interval, progress=progress)
    question = ask([a, b], history, options)
    fits = question.fits()
    one, other = (
        rate_estimate(question, current, fit, positive) for current, fit in zip(question.currents, fits, strict=True)
    )
    findings = unique([*one.findings, *other.findings, *_pairing(question)])
    low, high = one.bounds
    difference = question.finish(
        "difference",
        f"difference in {one.what}",
        one.value - other.value,
        centre=one.centre - other.centre,
        influence=one.influence - other.influence,
        n_items=one.n_items + other.n_items,
        fit=fits[0],
        findings=findings,
        bounds=(low - high, high - low),
        logit=False,
    )
    worst = next((fit.report for fit in fits if fit.report is not None and not fit.report.converged), fits[0].report)
    return replace(difference, report=worst, distribution={"a": _plain(one), "b": _plain(other)})


def _plain(estimate: Estimate) -> Estimate:
    return replace(estimate, distribution={}, mean_score=None)


def _pairing(question: Question) -> list[Finding]:
    first, second = (current.all_ids for current in question.currents)
    both = np.intersect1d(first.astype(str), second.astype(str))
    alone = len(first) + len(second) - 2 * len(both)
    if not alone:
        return []
    message = f"{len(both)} items are labelled for both models and paired; {alone} for one model only"
    return [Finding("F106", message, {"paired": len(both), "unpaired": alone})]
