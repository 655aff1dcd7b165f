"""The rate of one round minus that of another, by one method: value, influences, and the drift that remains.

The value is exactly the difference of the two rates that are shown beside it. What its interval allows for beyond the
noise of items is not the sum of what the two rates' intervals do: drift that both rounds share cancels, as far as past
rounds that were labeled together show that it is shared (`model.shared_drift`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.counting.count import is_large
from hero_eval.estimate import Estimate, Influence, Part
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.curves import NoSurer, resampled
from hero_eval.estimation.diagnostics import past_rounds_tell
from hero_eval.estimation.headline import headline, rate_contrast
from hero_eval.estimation.intervals import SAFE_GOLD, edge_floor, interval_kind
from hero_eval.estimation.question import Question
from hero_eval.findings import Finding, unique
from hero_eval.methods.result import Fit
from hero_eval.model.em import gold_counts
from hero_eval.model.hero3.drift import gold_shift, no_drift
from hero_eval.model.hero3.shared_drift import SharedDrift, Side, learn_shared_drift, pair_variance, past_shares
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round import Round

TOGETHER = 0.5
"""Two rounds that share so much of the smaller one's items and labelers were labeled together: they are one batch."""


def difference_of(analysis: Analysis, positive: object = None) -> Estimate:
    """The first current round's rate minus the second's. The two are in `.distribution` as 'a' and 'b'."""
    question, fits = analysis.question, analysis.fits
    one, other = (headline(analysis, at, positive) for at in range(2))
    kind, remark = interval_kind(question, fits, question.currents, linear=False)
    value, influence = one.value - other.value, one.influence - other.influence
    contrast = rate_contrast(question, positive)
    found = [*one.findings, *other.findings, *_pairing(question), *remark]
    if question.options.interval != "paper" and any(fit.between is not None for fit in fits):
        drift = _PairDrift(question, fits)
        influence = drift.into(influence, contrast[1:] - contrast[0])
        found += drift.findings()
    curve = None
    if kind == "bootstrap":
        drawn = analysis.replicates.rates
        curve = resampled((drawn[0] - drawn[1]) @ contrast, value, influence.skewness())
    low, high = one.bounds
    difference = analysis.finish(
        "difference",
        f"difference in {one.what}",
        value,
        center=one.center - other.center,
        influence=influence,
        kind=kind,
        curve=curve,
        n_items=one.n_items + other.n_items,
        fit=fits[0],
        findings=unique(found),
        bounds=(low - high, high - low),
        logit=False,
        floor=_floor(one, other) if any(fit.on_edge for fit in fits) else 0.0,
        past_tells=kind == "influence" and all(past_rounds_tell(fit) for fit in fits),
    )
    if kind == "influence" and math.isfinite(value) and _lacks_gold(question):
        values = one.value, other.value
        longer = NoSurer(difference.curve, one.curve, other.curve, values, difference.bounds)
        difference = replace(difference, curve=longer)
    worst = next((fit.report for fit in fits if fit.report is not None and not fit.report.converged), fits[0].report)
    sides = [
        replace(analysis.round_items(at), factor=factor, marks={"side": name})
        for at, (name, factor) in enumerate((("a", 1.0), ("b", -1.0)))
    ]
    items = analysis.items_of(contrast, sides)
    return replace(difference, em=worst, distribution={"a": one, "b": other}, item_results=items)


@dataclass(frozen=True, eq=False)
class _PairDrift:
    """What drift leaves open of a difference of two rounds, by a method that allows for drift."""

    question: Question
    fits: Sequence[Fit]

    @cached_property
    def batches(self) -> Ints:
        """Of the past rounds, and then of the two current ones."""
        return batch_numbers([*self._past, *(current.round for current in self.question.currents)])

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        one, other = (self._side(fit) for fit in self.fits)
        return one, other

    def into(self, influence: Influence, along: Floats) -> Influence:
        """The influences with one part for all drift, in the place of one for each round's."""
        moves = [fit.between.covariance_without_drift() for fit in self.fits if fit.between is not None]
        variance = float(sum(along @ one @ along for one in moves))
        variance += pair_variance(*self.sides, along, self._together and not self._shown_before)
        items = [part for part in influence.parts if part.source != "rounds"]
        return Influence(
            (*items, Part("rounds", np.array([math.sqrt(max(variance, 0.0))]), np.array(["pair"], object)))
        )

    def findings(self) -> list[Finding]:
        """Whether past rounds showed how much of their drift two models share."""
        drift = self.sides[0].drift
        if drift.known or not drift.own.known or not drift.own.is_present:
            return []
        message = (
            "no two past rounds with gold share items and labelers, so that nothing shows how much of their drift two "
            "models share: the interval takes each to drift by itself"
        )
        return [Finding("F316", message, {"drift_sd": drift.own.size, "pairs": drift.n_pairs})]

    @property
    def _past(self) -> tuple[Round, ...]:
        return () if self.question.reliability is None else self.question.reliability.rounds

    @property
    def _together(self) -> bool:
        return bool(self.batches[-1] == self.batches[-2])

    @property
    def _shown_before(self) -> bool:
        """Whether a past round with gold was labeled together with the two, so that what they share is in the fit."""
        return any(one.n_gold > 0 and at == self.batches[-1] for one, at in zip(self._past, self.batches, strict=False))

    def _side(self, fit: Fit) -> Side:
        between, levels = fit.between, fit.levels
        if between is None or levels is None:
            n_free = len(self.question.classes) - 1
            return Side(np.zeros((n_free, n_free)), SharedDrift(no_drift(0), no_drift(0), True, 0))
        drift = between.drift
        if not drift.is_present or not self._together:
            return Side(between.slopes(), SharedDrift(drift, no_drift(drift.n_rounds), True, 0))
        shared = learn_shared_drift(past_shares(levels), self.batches[:-2], drift)
        has_gold = not fit.over_both and bool((levels.rows.known & levels.rows.is_current).any())
        information = gold_shift(levels, drift.size)[1] if has_gold and shared.known else 0.0
        return Side(between.slopes(), shared, information)


def _lacks_gold(question: Question) -> bool:
    """Whether some class has no gold, or next to none: what was not seen then bounds the rates."""
    if question.reliability is None or question.method.by_design:
        return False
    _, by_class = gold_counts(question.reliability.counted.patterns, len(question.classes))
    return bool(by_class.min() < SAFE_GOLD)


def _floor(one: Estimate, other: Estimate) -> float:
    """The least standard error of a difference of which a side lies on the edge."""
    return math.hypot(*(edge_floor(side.center, side.bounds, side.n_items) for side in (one, other)))


def _pairing(question: Question) -> list[Finding]:
    first, second = (current.round.item_ids for current in question.currents)
    both = np.intersect1d(first.astype(str), second.astype(str))
    alone = len(first) + len(second) - 2 * len(both)
    if not alone:
        return []
    message = f"{len(both)} items are labeled for both models and paired; {alone} for one model only"
    return [Finding("F106", message, {"paired": len(both), "unpaired": alone})]


def batch_numbers(rounds: Sequence[Round]) -> Ints:
    """(R,): rounds that share most items and labelers, directly or through others, have one number.

    A round that is kept without its items is a batch of its own.
    """
    known = [not is_large([one]) for one in rounds]
    items = [set(map(str, one.item_ids)) if is_known else set() for one, is_known in zip(rounds, known, strict=True)]
    labelers = [set(one.labelers) for one in rounds]
    numbers = np.arange(len(rounds))
    for i in range(len(rounds)):
        for j in range(i):
            if _overlap(items[i], items[j]) and _overlap(labelers[i], labelers[j]):
                numbers[numbers == numbers[i]] = numbers[j]
    return numbers


def _overlap(one: set[str], other: set[str]) -> bool:
    least = min(len(one), len(other))
    return least > 0 and len(one & other) >= TOGETHER * least
