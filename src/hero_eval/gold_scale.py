"""Gold of many numbers (0 to 100, or any real number), cut into a few ordered classes for the model of the labelers.

The mean is that of the numbers themselves: a class counts for the mean m_k of its golds, whose sampling error goes into
the interval. Where all golds of a round are higher, those within a class are so too, which the classes' rates do not
show. If rounds differ by an exponential tilt of the golds' distribution (as normal ones whose mean moves do), the rates
show the share v of the move that the variance between classes has of the golds' whole variance; so classes count for
m + (m_k - m) / v,  with m the mean of all golds. Golds that lie in heaps have a v near 1, and nothing changes. A share
("at least 7") assumes nothing of the kind: gold is cut once, at the number that was asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hero_eval.any_round import AnyRound
from hero_eval.errors import wrong
from hero_eval.findings import Finding
from hero_eval.io.distinct import Codes
from hero_eval.io.score_bins import distribution_of
from hero_eval.io.scores import MOST_ANSWERS, as_numbers
from hero_eval.io.values import count_of, number_text
from hero_eval.model.patterns import Floats, Ints, sum_by
from hero_eval.round import Round

LEAST_CLASSES, MOST_CLASSES = 3, 6
GOLD_PER_CLASS = 15
"""Golds that a class takes. With fewer and larger classes a shift of all golds would be missed by more, with more and
smaller ones their rates would be chance (`benchmarks/numeric_gold.py`)."""


def has_numeric_gold(rounds: Sequence[AnyRound]) -> bool:
    """Whether the golds of these rounds together are more different numbers than can be classes."""
    held = [one for one in rounds if isinstance(one, Round) and one.holds_items]
    if any(one._contents.gold_number is not None for one in held):
        return len(held) == len(rounds)
    if len(held) < len(rounds) or any(one.classes_given is not None for one in held):
        return False
    seen = {value for one in held for value in np.array(one.values, dtype=object)[np.unique(one.gold[one.gold >= 0])]}
    if len(seen) <= MOST_ANSWERS:
        return False
    numbers = as_numbers(sorted(seen))
    return not np.isnan(numbers).any() and len(np.unique(numbers)) > MOST_ANSWERS


def gold_numbers(one: Round) -> Floats:
    """(n_items,) the golds as numbers; nan where there is none."""
    kept = one._contents.gold_number
    if kept is not None:
        return np.where(one.gold >= 0, kept, np.nan)
    return np.append(as_numbers(one.values), np.nan)[one.gold]


def cut_gold(rounds: Sequence[Round], at_least: float | None) -> tuple[Round, ...]:
    """The rounds with gold in the same ordered classes; or in two, below `at_least` and from it on."""
    if _are_cut(rounds, at_least):
        return tuple(rounds)
    numbers = [gold_numbers(one) for one in rounds]
    known = np.concatenate([of[np.isfinite(of)] for of in numbers])
    if at_least is not None and not (known.min() < at_least <= known.max()):
        side = "no gold reaches it" if at_least > known.max() else "every gold does"
        low, high = number_text(float(known.min())), number_text(float(known.max()))
        raise wrong("E129", f"at_least is {number_text(at_least)}, but {side}: gold goes from {low} to {high}")
    cuts = np.array([at_least]) if at_least is not None else _cuts(known)
    names = _names(cuts, share=at_least is not None)
    note = None if at_least is not None else _note(known, len(names))
    return tuple(
        _cut(one, of, cuts, names, note if one is rounds[-1] else None) for one, of in zip(rounds, numbers, strict=True)
    )


def _are_cut(rounds: Sequence[Round], at_least: float | None) -> bool:
    """Whether all of them are in the classes that are asked for: rounds whose gold was hidden keep their classes."""
    first = rounds[0].classes_given
    if first is None or any(one._contents.gold_number is None or one.classes_given != first for one in rounds):
        return False
    return len(first) > 2 if at_least is None else first == _names(np.array([at_least]), share=True)


def _cuts(known: Floats) -> Floats:
    """(K-1,) the least number of every class but the first; classes are as evenly filled as equal numbers allow."""
    most = min(max(len(known) // GOLD_PER_CLASS, LEAST_CLASSES), MOST_CLASSES)
    cuts: Floats = distribution_of(known, np.zeros(len(known), np.int64), ["gold"]).cut(most).lows[0][1:]
    return cuts


def _names(cuts: Floats, *, share: bool) -> tuple[str, ...]:
    texts = [number_text(float(cut)) for cut in cuts]
    between = [f"{low} to below {high}" for low, high in pairwise(texts)]
    return (f"below {texts[0]}", *between, f"{texts[-1]} or more" if share else f"from {texts[-1]} on")


def _cut(one: Round, numbers: Floats, cuts: Floats, names: tuple[str, ...], note: Finding | None) -> Round:
    gold: Codes = np.where(np.isfinite(numbers), np.searchsorted(cuts, numbers, side="right"), -1)
    notes = tuple(of for of in one.notes if of.code != "F119")
    contents = dataclasses.replace(
        one._contents,
        values=names,
        classes_given=names,
        gold=gold,
        gold_number=numbers,
        notes=notes if note is None else (*notes, note),
    )
    return Round._of(contents)


def _note(known: Floats, n_classes: int) -> Finding:
    low, high = number_text(float(known.min())), number_text(float(known.max()))
    message = (
        f"gold has {count_of(len(np.unique(known)), 'distinct number')} from {low} to {high}: it was cut into "
        f"{n_classes} ordered classes, each of which counts for the mean of its golds"
    )
    return Finding("F119", message, {"classes": n_classes, "low": float(known.min()), "high": float(known.max())})


@dataclass(frozen=True, eq=False)
class GoldMeans:
    """What each class counts for (K,), the range of all golds, and how items move it.

    The rates r make  (1 - stretch) mean + stretch * sum_k r_k m_k.  For each round (n_items,) `moves` has how far an
    item's gold moves the m_k of its class, of which `classes` has the number (-1: no gold), `mean_moves` how far it
    moves the mean of all golds.
    """

    values: Floats
    bounds: tuple[float, float]
    stretch: float
    moves: tuple[Floats, ...]
    mean_moves: tuple[Floats, ...]
    classes: tuple[Ints, ...]

    def influences(self, rates: Floats) -> list[Floats]:
        """For each round how far its items move the mean of a round with these rates (K,), through what classes count
        for."""
        return [
            self.stretch * np.append(rates, 0.0)[of] * move + (1.0 - self.stretch) * of_mean
            for of, move, of_mean in zip(self.classes, self.moves, self.mean_moves, strict=True)
        ]


def gold_means(rounds: Sequence[Round], beside: Sequence[Round] = ()) -> GoldMeans | None:
    """What every class counts for by the golds of these rounds; None if gold is not cut for the sake of its mean.

    A class of which they have none counts for what it does in the rounds `beside`.
    """
    held = [one for one in (*rounds, *beside) if isinstance(one, Round) and one.holds_items]
    if not held or held[0]._contents.gold_number is None or len(held[0].values) < LEAST_CLASSES:
        return None
    every = np.concatenate([gold_numbers(one)[one.gold >= 0] for one in held])
    bounds = float(every.min()), float(every.max())
    gold = np.concatenate([one.gold for one in rounds])
    number = np.concatenate([gold_numbers(one) for one in rounds])
    weight = np.concatenate([_weights(one) for one in rounds])
    known = gold >= 0
    of, y, w = gold[known], number[known], weight[known]
    mass, count = (sum_by(of, each, len(held[0].values)) for each in (w, np.ones(len(w))))
    lent = gold_means(beside) if beside and (mass == 0).any() else None
    middle = lent.values if lent is not None else np.linspace(*bounds, len(mass))
    means = np.where(mass > 0, sum_by(of, w * y, len(mass)) / np.maximum(mass, 1e-300), middle)
    whole = float(w @ y / w.sum()) if len(w) else float(middle.mean())
    stretch = _stretch(means[of], y, w, whole)
    loose = np.sqrt(count / np.maximum(count - 1.0, 0.5))  # the error of a mean that was learned from the same golds
    moves, mean_moves = np.zeros(len(gold)), np.zeros(len(gold))
    moves[known] = (loose / np.maximum(mass, 1e-300))[of] * w * (y - means[of])
    mean_moves[known] = w * (y - whole) / max(float(w.sum()), 1e-300)
    ends = np.cumsum([one.n_items for one in rounds])[:-1]
    parts = (tuple(np.split(each, ends)) for each in (moves, mean_moves, gold))
    return GoldMeans(whole + (means - whole) * stretch, bounds, stretch, *parts)


def _stretch(between: Floats, numbers: Floats, weight: Floats, mean: float) -> float:
    """1 / v: the golds' variance over that between classes."""
    if len(numbers) < 2:
        return 1.0
    within = float(weight @ (numbers - between) ** 2)
    apart = float(weight @ (between - mean) ** 2)
    return (apart + within) / apart if apart > 0.0 else 1.0


def _weights(one: Round) -> Floats:
    """What each item's gold stands for: its weight, and more if it was less likely to be given gold."""
    weight = np.ones(one.n_items) if one.weight is None else one.weight / one.weight.mean()
    probability = one.gold_probability() if one.n_gold else None
    out: Floats = weight if probability is None else weight / probability
    return out
