"""The rate of one round minus that of another, by one method: value, influences, and the drift that remains.

The value is exactly the difference of the two rates that are shown beside it. What its interval allows for beyond the
noise of items is not the sum of what the two rates' intervals do: drift that both rounds share cancels, as far as past
rounds that were labeled together show that it is shared (`model.shared_drift`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from hero_eval.counting.count import is_large
from hero_eval.estimate import Estimate
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.curves import NoSurer, resampled
from hero_eval.estimation.diagnostics import past_rounds_tell
from hero_eval.estimation.headline import headline, rate_contrast
from hero_eval.estimation.intervals import SAFE_GOLD, fit_floor, interval_kind
from hero_eval.estimation.question import Current, Question
from hero_eval.findings import Finding, unique
from hero_eval.influence import Influence, Part
from hero_eval.methods.result import Fit
from hero_eval.model.em import gold_classes
from hero_eval.model.hero3.drift import gold_shift, no_drift
from hero_eval.model.hero3.shared_drift import SharedDrift, Side, learn_shared_drift, pair_variance, past_shares
from hero_eval.model.patterns import Floats, Ints
from hero_eval.model.rates import EDGE_ITEMS
from hero_eval.round import Round

TOGETHER = 0.5
"""Two rounds that share so much of the smaller one's items and labelers were labeled together: they are one batch."""


def difference_of(analysis: Analysis, positive: object = None) -> Estimate:
    """The first current round's rate minus the second's. The two are in `.distribution` as 'a' and 'b'."""
    return Differences.of(analysis, positive).between(0, 1)


@dataclass(frozen=True, eq=False)
class AnalyzedRound:
    """A current round: the analysis that has it, and where."""

    analysis: Analysis
    at: int

    @property
    def fit(self) -> Fit:
        return self.analysis.fits[self.at]

    @property
    def current(self) -> Current:
        return self.analysis.question.currents[self.at]

    @property
    def past(self) -> tuple[Round, ...]:
        reliability = self.analysis.question.reliability
        return () if reliability is None else reliability.rounds


@dataclass(frozen=True, eq=False)
class Differences:
    """All differences between the current rounds' rates, with what they share worked out once.

    `peers`: every round has an analysis of its own, in which the others are the last of its past rounds.
    """

    rounds: tuple[AnalyzedRound, ...]
    positive: object = None
    peers: bool = False

    @classmethod
    def of(cls, analysis: Analysis, positive: object = None) -> Self:
        """Of rounds that are all current in one analysis."""
        places = range(len(analysis.question.currents))
        return cls(tuple(AnalyzedRound(analysis, at) for at in places), positive)

    @cached_property
    def rates(self) -> tuple[Estimate, ...]:
        """The headline of every current round."""
        return tuple(headline(one.analysis, one.at, self.positive) for one in self.rounds)

    @cached_property
    def drifts(self) -> DriftParts:
        return DriftParts(self.rounds, self.peers)

    @property
    def question(self) -> Question:
        """What all have in common is in the first."""
        return self.rounds[0].analysis.question

    @cached_property
    def df(self) -> float:
        """Of the intervals of all: those of the round that has least behind it."""
        return min(one.analysis.question.df for one in self.rounds)

    def between(self, i: int, j: int) -> Estimate:
        """The rate of the current round at `i` minus that of the one at `j`."""
        return _difference(self, (i, j))


def _difference(differences: Differences, at: tuple[int, int]) -> Estimate:
    rounds, positive = [differences.rounds[place] for place in at], differences.positive
    analysis, question = rounds[0].analysis, rounds[0].analysis.question
    fits, currents = [one.fit for one in rounds], [one.current for one in rounds]
    one, other = (differences.rates[place] for place in at)
    kind, remark = interval_kind(question, fits, currents, linear=False)
    value, influence = one.value - other.value, one.influence - other.influence
    contrast = rate_contrast(question, positive)
    found = [*one.findings, *other.findings, *_pairing(*currents), *remark]
    if question.options.interval != "paper" and any(fit.between is not None for fit in fits):
        influence = differences.drifts.into(influence, contrast[1:] - contrast[0], *at)
        found += differences.drifts.findings(*at)
    curve = None
    if kind == "bootstrap":
        drawn = analysis.replicates.rates
        curve = resampled((drawn[at[0]] - drawn[at[1]]) @ contrast, value, influence.skewness())
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
        floor=_floor(rounds, contrast, one.bounds, influence),
        past_tells=kind == "influence" and all(past_rounds_tell(fit) for fit in fits),
    )
    if kind == "influence" and math.isfinite(value) and _lacks_gold(question):
        values = one.value, other.value
        longer = NoSurer(difference.curve, one.curve, other.curve, values, difference.bounds)
        difference = replace(difference, curve=longer)
    worst = next((fit.report for fit in fits if fit.report is not None and not fit.report.converged), fits[0].report)
    sides = [
        replace(side.analysis.round_items(side.at), factor=factor, marks={"side": name})
        for side, (name, factor) in zip(rounds, (("a", 1.0), ("b", -1.0)), strict=True)
    ]
    items = analysis.items_of(contrast, sides)
    return replace(difference, em=worst, distribution={"a": one, "b": other}, item_results=items)


@dataclass(frozen=True, eq=False)
class DriftParts:
    """What drift leaves open of differences of current rounds, by a method that allows for drift."""

    rounds: Sequence[AnalyzedRound]
    peers: bool = False
    _sides: dict[tuple[int, bool], Side] = field(default_factory=dict)

    @cached_property
    def batches(self) -> Ints:
        """Of the past rounds that all have, and then of the current ones."""
        return batch_numbers([*self._shared_past, *(one.current.round for one in self.rounds)])

    def into(self, influence: Influence, along: Floats, i: int, j: int) -> Influence:
        """The influences with one part for all drift, in the place of one for each round's."""
        betweens = [self.rounds[at].fit.between for at in (i, j)]
        moves = [one.covariance_without_drift() for one in betweens if one is not None]
        together = self._together(i, j)
        variance = float(sum(along @ one @ along for one in moves))
        sides = self.side(i, together), self.side(j, together)
        own = pair_variance(*sides, along, together and not self._shown_before(i))
        variance += own * self._returned(i) * self._returned(j)
        items = [part for part in influence.parts if part.source != "rounds"]
        return Influence(
            (*items, Part("rounds", np.array([math.sqrt(max(variance, 0.0))]), np.array(["pair"], object)))
        )

    def findings(self, i: int, j: int) -> list[Finding]:
        """Whether past rounds showed how much of their drift two models share."""
        drift = self.side(i, self._together(i, j)).drift
        if drift.known or not drift.own.known or not drift.own.is_present:
            return []
        message = (
            "no two past rounds with gold share items and labelers, so that nothing shows how much of their drift two "
            "models share: the interval takes each to drift by itself"
        )
        return [Finding("F316", message, {"drift_sd": drift.own.size, "pairs": drift.n_pairs})]

    @property
    def _shared_past(self) -> tuple[Round, ...]:
        past = self.rounds[0].past
        return past[: len(past) - len(self.rounds) + 1] if self.peers else past

    def _returned(self, i: int) -> float:
        """By how much more two peers' drifts part them: what raises one is a part of what the other is lowered by."""
        n_golden = sum(one.n_gold > 0 for one in self.rounds[i].past)
        return 1.0 + 1.0 / n_golden if self.peers and n_golden else 1.0

    def _together(self, i: int, j: int) -> bool:
        here = self.batches[len(self._shared_past) :]
        return bool(here[i] == here[j])

    def _past_batches(self, i: int) -> Ints:
        """Those of the past rounds of the round at `i`."""
        n_past = len(self._shared_past)
        others: Ints = np.delete(self.batches[n_past:], i) if self.peers else self.batches[:0]
        return np.concatenate([self.batches[:n_past], others])

    def _shown_before(self, i: int) -> bool:
        """Whether a past round with gold was labeled together with this one, so that what they share is in the fit."""
        batch = self.batches[len(self._shared_past) + i]
        past = zip(self.rounds[i].past, self._past_batches(i), strict=True)
        return any(one.n_gold > 0 and at == batch for one, at in past)

    def side(self, i: int, together: bool) -> Side:
        """How far the round at `i` may drift beside another that was labeled together with it, or was not."""
        if (i, together) not in self._sides:
            self._sides[i, together] = self._learned(i, together)
        return self._sides[i, together]

    def _learned(self, i: int, together: bool) -> Side:
        fit = self.rounds[i].fit
        between, levels = fit.between, fit.levels
        if between is None or levels is None:
            n_free = len(fit.rates) - 1
            return Side(np.zeros((n_free, n_free)), SharedDrift(no_drift(0), no_drift(0), True, 0))
        drift = between.drift.of_one_round  # what past rounds were off by is the same for both sides
        if not drift.is_present or not together:
            return Side(between.slopes(), SharedDrift(drift, no_drift(drift.n_rounds), True, 0))
        shared = learn_shared_drift(past_shares(levels), self._past_batches(i), drift)
        has_gold = not fit.over_both and bool((levels.rows.known & levels.rows.is_current).any())
        information = gold_shift(levels, drift.size)[1] if has_gold and shared.known else 0.0
        return Side(between.slopes(), shared, information)


def _lacks_gold(question: Question) -> bool:
    """Whether some class has no gold, or next to none: what was not seen then bounds the rates."""
    if question.reliability is None or question.method.by_design:
        return False
    by_class = gold_classes(question.reliability.counted.patterns, len(question.classes))
    return bool(by_class.min() < SAFE_GOLD)


def _floor(
    rounds: Sequence[AnalyzedRound], contrast: Floats, bounds: tuple[float, float], influence: Influence
) -> float:
    """The least standard error of a difference: of one of which a side lies on the edge, or whose sides are labeled
    alike, so that items seem to leave nothing open. Nobody is surer of that than if half an item had differed."""
    if any(one.fit.on_edge for one in rounds):
        return math.hypot(*(fit_floor(one.fit, contrast, bounds, one.current.n_items) for one in rounds))
    least = (bounds[1] - bounds[0]) * math.sqrt(EDGE_ITEMS) / max(min(one.current.n_items for one in rounds), 1)
    return least if influence.variance() < least**2 else 0.0


def _pairing(one: Current, other: Current) -> list[Finding]:
    first, second = one.round.item_ids, other.round.item_ids
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
