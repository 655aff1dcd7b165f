"""A difference of two rounds as one method reads it, or several: value, influences, and the drift that remains.

Several readings are averaged. Their errors have different causes (HERO-1 takes labelers to err apart from each other,
HERO-3 leans on gold for where the classes part), so that the mean errs less than either, or little more than the
better one, and nobody knows beforehand which that is. Where they disagree, the gap is doubt, and is in the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.confidence import NoSurer, resampled
from hero_eval.engines.counting import count, is_large
from hero_eval.estimate import Estimate, Influence, Part
from hero_eval.findings import unique
from hero_eval.methods.registry import Fit
from hero_eval.methods.stage_b import carry
from hero_eval.model.between import gold_shift, no_drift
from hero_eval.model.em import gold_counts
from hero_eval.model.history import HistoryFit
from hero_eval.model.patterns import Floats, Ints, Patterns
from hero_eval.model.shared_drift import (
    GoldShares,
    SharedDrift,
    Side,
    join_shares,
    learn_shared_drift,
    pair_variance,
    past_shares,
    prior_drift,
)
from hero_eval.round import Round
from hero_eval.targets.intervals import SAFE_GOLD, edge_floor, interval_kind
from hero_eval.targets.question import Question
from hero_eval.targets.rate import headline, rate_contrast

TOGETHER = 0.5
"""Two rounds that share so much of the smaller one's items and labelers were labeled together: they are one batch."""
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Reading:
    """Both rounds by one method, and how much it counts."""

    question: Question
    weight: float = 1.0
    positive: object = None

    def weighing(self, weight: float) -> Reading:
        """The same, counting so much; what was worked out is kept."""
        other = Reading(self.question, weight, self.positive)
        known = [name for name in ("sides", "batches", "drift_sides") if name in self.__dict__]
        other.__dict__.update({name: self.__dict__[name] for name in known})
        return other

    @property
    def fits(self) -> list[Fit]:
        return self.question.fits()

    @cached_property
    def sides(self) -> tuple[Estimate, Estimate]:
        """The rates of the two rounds."""
        one, other = (
            headline(self.question, current, fit, self.positive)
            for current, fit in zip(self.question.currents, self.fits, strict=True)
        )
        return one, other

    @property
    def value(self) -> float:
        return self.sides[0].value - self.sides[1].value

    @property
    def centre(self) -> float:
        return self.sides[0].centre - self.sides[1].centre

    @property
    def influence(self) -> Influence:
        """Of the items, and without drift."""
        both = self.sides[0].influence - self.sides[1].influence
        return Influence(tuple(part for part in both.parts if part.source != "rounds"))

    @property
    def knows_drift(self) -> bool:
        """Whether the method allows for drift by itself."""
        return self.question.options.interval != "paper" and all(fit.between is not None for fit in self.fits)

    @property
    def own_variance(self) -> float:
        """From labelers' moves against each other."""
        own = [fit.between.own for fit in self.fits if fit.between is not None]
        return float(sum(self.along @ one @ self.along for one in own))

    @property
    def along(self) -> Floats:
        contrast = rate_contrast(self.question, self.positive)
        out: Floats = contrast[1:] - contrast[0]
        return out

    @cached_property
    def batches(self) -> Ints:
        """Of the past rounds, and then of the two current ones."""
        past = () if self.question.reliability is None else self.question.reliability.rounds
        return batch_numbers([*past, *(current.round for current in self.question.currents)])

    @property
    def shown_before(self) -> bool:
        """Whether a past round with gold was labeled together with the two, so that what they share is in the fit."""
        past = () if self.question.reliability is None else self.question.reliability.rounds
        return any(
            one.n_gold > 0 and number == self.batches[-1] for one, number in zip(past, self.batches, strict=False)
        )

    @cached_property
    def drift_sides(self) -> tuple[Side, Side]:
        """How far drift may have moved each of the two rates."""
        if self.knows_drift:
            one, other = (self._level_side(fit) for fit in self.fits)
        else:
            drift = self._anchored_drift()
            one, other = (
                Side.of_shares(anchored_shares(here.current, here.anchored), here.current.counts, drift)
                for here in (current.evidence for current in self.question.currents)
            )
        return one, other

    def _level_side(self, fit: Fit) -> Side:
        assert fit.between is not None
        assert fit.levels is not None
        rows, drift = fit.levels.rows, fit.between.drift
        together = self.batches[-1] == self.batches[-2]
        if not drift.counts or not together:
            return Side(fit.between.slopes(), SharedDrift(drift, no_drift(drift.n_rounds), True, 0))
        shared = learn_shared_drift(past_shares(fit.levels), self.batches[:-2], drift)
        has_gold = not fit.over_both and bool((rows.known & rows.is_current).any())
        information = gold_shift(fit.levels, drift.size)[1] if has_gold and shared.known else 0.0
        return Side(fit.between.slopes(), shared, information)

    def _anchored_drift(self) -> SharedDrift:
        """HERO-1 knows of no drift; past gold shows how far its readings of rounds are off from each other."""
        reliability, classes = self.question.reliability, self.question.classes
        assert reliability is not None
        learned = self.question.currents[0].evidence.anchored
        past = [count([one], reliability.labelers, classes).patterns for one in reliability.rounds]
        seen = [_gold_shares(patterns, learned, number) for number, patterns in enumerate(past)]
        return learn_shared_drift(join_shares(seen), self.batches[:-2], prior_drift())


def anchored_shares(patterns: Patterns, learned: HistoryFit) -> Floats:
    """(P, K): HERO-1's P(class | labels) of the rows of one round, at that round's own rates."""
    carried = carry(patterns, learned)
    joint = carried.likelihood * np.maximum(carried.root.rates, _LEAST_SHARE)
    shares = np.maximum(joint / joint.sum(axis=1, keepdims=True), _LEAST_SHARE)
    out: Floats = shares / shares.sum(axis=1, keepdims=True)
    return out


def _gold_shares(patterns: Patterns, learned: HistoryFit, number: int) -> GoldShares:
    known = patterns.gold >= 0
    logs = np.log(anchored_shares(patterns, learned)[known])
    return GoldShares(logs, patterns.gold[known], patterns.counts[known], np.full(int(known.sum()), number))


@dataclass(frozen=True, eq=False)
class Combined:
    """The weighted mean of several readings, or one alone."""

    readings: Sequence[Reading]

    @property
    def value(self) -> float:
        return math.fsum(one.weight * one.value for one in self.readings)

    @property
    def centre(self) -> float:
        return math.fsum(one.weight * one.centre for one in self.readings)

    @property
    def gap(self) -> float:
        """How far the readings lie apart: their standard deviation around the mean."""
        away = [one.weight * (one.value - self.value) ** 2 for one in self.readings]
        return math.sqrt(math.fsum(away))

    @property
    def drift(self) -> SharedDrift | None:
        """What the last reading, that of most weight, learned of drift; None where it allows for none."""
        last = self.readings[-1]
        return last.drift_sides[0].drift if last.knows_drift else None

    def influence(self) -> Influence:
        """Of all items, with what drift and the readings' gap add as one more part."""
        items = self.readings[0].influence * self.readings[0].weight
        for one in self.readings[1:]:
            items = items + one.influence * one.weight
        if not self.readings[-1].knows_drift:
            return items
        variance = self.drift_variance() + self.gap**2
        return Influence((*items.parts, Part("rounds", np.array([math.sqrt(variance)]), np.array(["pair"], object))))

    def drift_variance(self) -> float:
        last = self.readings[-1]
        moves = math.fsum(one.weight**2 * one.own_variance for one in self.readings)
        sides = [one.drift_sides for one in self.readings]
        weights = [one.weight for one in self.readings]
        a, b = last.batches[-2:]
        a_sides, b_sides = ([pair[of] for pair in sides] for of in (0, 1))
        return moves + pair_variance(a_sides, b_sides, weights, last.along, bool(a == b) and not last.shown_before)


def difference_of(whole: Combined) -> Estimate:
    """The estimate of the difference, with the findings of the reading that counts most."""
    last = whole.readings[-1]
    question, (one, other) = last.question, last.sides
    kind, remark = interval_kind(question, last.fits, question.currents, linear=False)
    influence = whole.influence()
    curve = None
    if kind == "bootstrap":
        drawn = question.replicates.rates
        contrast = rate_contrast(question, last.positive)
        curve = resampled((drawn[0] - drawn[1]) @ contrast, whole.value, influence.skewness())
    low, high = one.bounds
    difference = question.finish(
        "difference",
        f"difference in {one.what}",
        whole.value,
        centre=whole.centre,
        influence=influence,
        kind=kind,
        curve=curve,
        n_items=one.n_items + other.n_items,
        fit=last.fits[0],
        findings=unique([*one.findings, *other.findings, *remark]),
        bounds=(low - high, high - low),
        logit=False,
        floor=_floor(one, other) if any(fit.on_edge for fit in last.fits) else 0.0,
    )
    if not _lacks_gold(question) or kind != "influence" or not math.isfinite(whole.value):
        return difference
    values = one.value, other.value
    return replace(difference, curve=NoSurer(difference.curve, one.curve, other.curve, values, difference.bounds))


def _lacks_gold(question: Question) -> bool:
    """Whether some class has no gold, or next to none: what was not seen then bounds the rates."""
    if question.reliability is None:
        return False
    _, by_class = gold_counts(question.reliability.counted.patterns, len(question.classes))
    return bool(by_class.min() < SAFE_GOLD)


def _floor(one: Estimate, other: Estimate) -> float:
    """The least standard error of a difference of which a side lies on the edge."""
    return math.hypot(*(edge_floor(side.centre, side.bounds, side.n_items) for side in (one, other)))


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
