"""Rounds whose labelers count on different scales, from 0 to 1 here and from 1 to 5 there: no history of each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from hero_eval.any_round import AnyRound
from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.scores import as_numbers
from hero_eval.io.values import SCALE_TOPS, number_text
from hero_eval.round import Round

LEAST = 10
"""Labels on each side below which nothing is said."""
BEYOND, BELOW = 0.2, 0.2
"""Labels of one scale above the end of the other, and of the other below its beginning: both, and scales differ."""
MOSTLY = 0.8
"""So many above the end of the other are enough; half of them beside a scale from 0 to 1."""

SURELY = 30
"""Labels on each side from which a single labeler's scale is looked at: with ten of 1 to 10, all may lie below 1 by
chance where that labeler is strict. Doubled, a judge with few labels may change its scale unseen."""
INSIDE = 0.8
"""Of a judge's probabilities so many are neither 0 nor 1; where none is, somebody put a threshold to them."""
MOST_LOOKED_AT = 20
"""Labelers whose scales are looked at one by one where each takes a pass over the data."""


@dataclass(frozen=True)
class NumberFacts:
    """Of some labels that are numbers: how many, from where to where, and how many are beyond two bounds."""

    n: float
    low: float
    high: float
    above: float
    below: float


class CountsNumbers(Protocol):
    """A round whose items are not at hand."""

    def number_facts(self, who: Collection[str] | None, above: float, below: float) -> NumberFacts | None: ...


def refuse_other_scales(rounds: Sequence[AnyRound]) -> None:
    """E210 if a round and the last one, the current where there is one, have the same labelers on other scales.

    Nothing is said of rounds whose classes or kind of label the caller named.
    """
    telling = [one for one in rounds if _is_open(one)]
    tops = [_top(one) for one in telling]
    if not telling or tops[-1] is None:
        return
    for one in telling[:-1]:
        if other := _other_scales(one, telling[-1]):
            _refuse(one, telling[-1], other)
    for one, top in zip(telling[:-1], tops[:-1], strict=True):
        if top is not None and top != tops[-1]:
            low, high = (one, telling[-1]) if top < tops[-1] else (telling[-1], one)
            if _differ(low, high, min(top, tops[-1])):
                _refuse(one, telling[-1])


def _is_open(one: AnyRound) -> bool:
    return one.classes_given is None and one.kind_given is None


def _facts(
    one: AnyRound, who: Collection[str] | None = None, above: float = np.inf, below: float = -np.inf
) -> NumberFacts | None:
    """Of the labels of these labelers, all if None; None if there are none, or answers that are no numbers."""
    if not one.holds_items:
        return cast(CountsNumbers, one).number_facts(who, above, below)
    held = cast(Round, one)
    numbers = as_numbers(held.answer_values)[held.label_answer] if held.label_score is None else held.label_score
    if who is not None:
        numbers = numbers[np.array([name in who for name in held.labelers], np.bool_)[held.label_labeler]]
    return facts_of(numbers, np.ones(len(numbers)), above, below)


def facts_of(
    numbers: NDArray[np.float64], times: NDArray[np.float64], above: float, below: float
) -> NumberFacts | None:
    """The facts of numbers that were said so many times; None if one of them is none."""
    if not len(numbers) or np.isnan(numbers).any():
        return None
    beyond, short = float(times[numbers > above].sum()), float(times[numbers < below].sum())
    return NumberFacts(float(times.sum()), float(numbers.min()), float(numbers.max()), beyond, short)


def _top(one: AnyRound) -> float | None:
    """The end of the common scale that the labels lie on; None if they are no numbers of such a scale."""
    values = as_numbers(() if one.has_scores else one.answer_values)
    found = _facts(one) if one.has_scores else facts_of(values, np.ones(len(values)), np.inf, -np.inf)
    if found is None or found.low < 0:
        return None
    return next((top for top in SCALE_TOPS if found.high <= top), None)


def _differ(low: AnyRound, high: AnyRound, top: float) -> bool:
    """Whether labelers of both count on different scales, of which the lower ends at `top`."""
    shared = set(low.labelers) & set(high.labelers)
    theirs = _facts(high, shared, above=top)
    mine = None if theirs is None else _facts(low, shared, below=theirs.low)
    if theirs is None or mine is None or min(mine.n, theirs.n) < LEAST or mine.low == mine.high:
        return False
    beyond, below = theirs.above / theirs.n, mine.below / mine.n
    return beyond >= (0.5 if top == 1.0 else MOSTLY) or (beyond >= BEYOND and below >= BELOW)


def _other_scales(past: AnyRound, current: AnyRound) -> list[str]:
    """Labelers who by themselves are on another scale now: the others may be many, and hide it."""
    shared = sorted(set(past.labelers) & set(current.labelers))
    if not (past.holds_items and current.holds_items) and len(shared) > MOST_LOOKED_AT:
        return []
    before, now = _spread(past, shared), _spread(current, shared)
    return [shared[at] for at in np.flatnonzero(before.outgrown_by(now) | now.outgrown_by(before))]


@dataclass(frozen=True, eq=False)
class _Spread:
    """Of labelers' numbers (J,): how many, and how many lie below 0, above 1, above 10, and between 0 and 1; none of a
    labeler who also said words."""

    n: NDArray[np.float64]
    negative: NDArray[np.float64]
    above_one: NDArray[np.float64]
    above_ten: NDArray[np.float64]
    inside: NDArray[np.float64]

    def outgrown_by(self, other: _Spread) -> NDArray[np.bool_]:
        """Whether these end at 1 or 10 and most others do not, or are 0 and 1 alone where the others lie between."""
        asked = (np.minimum(self.n, other.n) >= SURELY) & (self.negative == 0) & (other.negative == 0)
        cut = (self.inside == 0) & (other.above_one == 0) & (other.inside >= INSIDE * other.n)
        beyond_one = cut | (other.above_one >= 0.5 * other.n)
        beyond_ten = (self.above_ten == 0) & (other.above_ten >= MOSTLY * other.n)
        out: NDArray[np.bool_] = asked & np.where(self.above_one == 0, beyond_one, beyond_ten)
        return out


def _spread(one: AnyRound, names: Sequence[str]) -> _Spread:
    """Of these labelers' labels."""
    if not one.holds_items:
        found = np.zeros((5, len(names)))
        for at, name in enumerate(names):
            facts = [_facts(one, {name}, above, below) for above, below in ((1.0, 0.0), (10.0, 0.0), (0.0, 1.0))]
            if (first := facts[0]) is not None and (second := facts[1]) is not None and (last := facts[2]) is not None:
                inside = max(last.above + last.below - last.n, 0.0)
                found[:, at] = first.n, first.below, first.above, second.above, inside
        return _Spread(*found)
    held = cast(Round, one)
    place = {name: at for at, name in enumerate(held.labelers)}
    counts, words = _spread_of_all(held)
    return _Spread(*np.where(words, 0.0, counts)[:, [place[name] for name in names]])


def _spread_of_all(held: Round) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What `_Spread` counts of every labeler (5, J), and who said words (J,)."""
    of, n_labelers = held.label_labeler, len(held.labelers)
    if held.label_score is None:  # labels are counted once, whatever is asked of the numbers that they spell
        numbers, n_answers = as_numbers(held.answer_values), len(held.answer_values)
        said = np.bincount(of * n_answers + held.label_answer, minlength=n_labelers * n_answers)
        times = said.reshape(n_labelers, n_answers).astype(float)
        return np.stack([times @ hit for hit in _hits(numbers)]), times @ np.isnan(numbers) > 0
    numbers = held.label_score
    counts = [np.bincount(of[hit], minlength=n_labelers).astype(float) for hit in _hits(numbers)]
    return np.stack(counts), np.bincount(of[np.isnan(numbers)], minlength=n_labelers) > 0


def _hits(numbers: NDArray[np.float64]) -> tuple[NDArray[np.bool_], ...]:
    """Which numbers each count of `_Spread` is of."""
    between = (numbers > 0) & (numbers < 1)
    return ~np.isnan(numbers), numbers < 0, numbers > 1, numbers > 10, between


def _refuse(past: AnyRound, current: AnyRound, who: Sequence[str] = ()) -> None:
    shared = list(who) or sorted(set(past.labelers) & set(current.labelers))
    facts = [found for one in (past, current) if (found := _facts(one, shared)) is not None]
    within = all(found.high <= 1 for found in facts)
    spans = []
    places = [repr(past.name), repr(current.name)] if past.name != current.name else ["history", "the current round"]
    for one, place, found in zip((past, current), places, facts, strict=True):
        bare = within and not _spread(one, shared).inside.any()
        ends = f"from {number_text(found.low)} to {number_text(found.high)}"
        spans.append(f"{'are 0 and 1 alone' if bare else f'go {ends}'} in {place}")
    mend = "in the files" if past.has_scores or current.has_scores else "(map=; command: --map)"
    raise wrong(
        "E210",
        f"{' and '.join(places)} are on different scales: the labels of {name_some(shared)} "
        f"{' and '.join(spans)}. Past rounds teach only of the scale that they are on: bring both to one scale {mend}, "
        "or leave the other round out. If it is one scale, name all answers (classes=[...]; command: "
        "--classes) or, of scores, the kind (label_kind='score'; command: --label-kind score).",
    )
