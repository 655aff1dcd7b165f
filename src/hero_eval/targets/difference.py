"""How much better is model A than model B on the same prompts? Paired by item id, shared history counted once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hero_eval.confidence import Normal, resampled
from hero_eval.estimate import Estimate, Influence, Part, Source
from hero_eval.findings import Finding, unique
from hero_eval.model.history import Progress
from hero_eval.round import Round
from hero_eval.targets.intervals import edge_floor, interval_kind
from hero_eval.targets.question import History, Options, Question, ask, require_round
from hero_eval.targets.rate import headline, rate_contrast


def estimate_difference(
    a: Round,
    b: Round,
    history: History = None,
    *,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: str | Sequence[str] | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Rate of A minus rate of B. The two rates are in `.distribution` as 'a' and 'b'."""
    options = Options(
        method, covariates, text, penalty, level, interval, cluster, replicates, seed, groups=groups, progress=progress
    )
    for side in (a, b):
        require_round(side)
        side.item_ids  # noqa: B018  pairs are found by id: a round that is counted without its items refuses here
    question = ask([a, b], history, options)
    fits = question.fits()
    one, other = (
        headline(question, current, fit, positive) for current, fit in zip(question.currents, fits, strict=True)
    )
    kind, remark = interval_kind(question, fits, question.currents, linear=False)
    findings = unique([*one.findings, *other.findings, *_pairing(question), *remark])
    low, high = one.bounds
    value, influence = one.value - other.value, one.influence - other.influence
    curve = None
    if kind == "bootstrap":
        contrast = rate_contrast(question, positive)
        drawn = question.replicates.rates
        curve = resampled((drawn[0] - drawn[1]) @ contrast, value, influence.skewness())
    difference = question.finish(
        "difference",
        f"difference in {one.what}",
        value,
        centre=one.centre - other.centre,
        influence=influence,
        kind=kind,
        curve=curve,
        n_items=one.n_items + other.n_items,
        fit=fits[0],
        findings=findings,
        bounds=(low - high, high - low),
        logit=False,
        floor=_floor(one, other) if any(fit.on_edge for fit in fits) else 0.0,
    )
    worst = next((fit.report for fit in fits if fit.report is not None and not fit.report.converged), fits[0].report)
    source = Source((a, b), question.reliability or history)
    difference = replace(difference, em=worst, distribution={"a": one, "b": other}, source=source)
    return _nothing(difference, a, b) if a.holds_same_as(b) else difference


def _nothing(difference: Estimate, a: Round, b: Round) -> Estimate:
    """A round compared with itself: no draw of items or labels could make the two differ."""
    message = f"{a.name!r} and {b.name!r} hold the same items, labels and gold: a round does not differ from itself"
    remark = Finding("F113", message, {"round": a.name, "same_as": b.name})
    return replace(
        difference,
        value=0.0,
        centre=0.0,
        influence=Influence((Part("current", np.zeros(1)),)),
        curve=Normal(0.0, 0.0, difference.bounds, logit=False),
        least_error=0.0,
        findings=unique([*difference.findings, remark]),
    )


def _floor(one: Estimate, other: Estimate) -> float:
    """The least standard error of a difference of which a side lies on the edge."""
    return math.hypot(*(edge_floor(side.centre, side.bounds, side.n_items) for side in (one, other)))


def _pairing(question: Question) -> list[Finding]:
    first, second = (np.asarray(current.all_ids) for current in question.currents)
    both = np.intersect1d(first.astype(str), second.astype(str))
    alone = len(first) + len(second) - 2 * len(both)
    if not alone:
        return []
    message = f"{len(both)} items are labelled for both models and paired; {alone} for one model only"
    return [Finding("F106", message, {"paired": len(both), "unpaired": alone})]
