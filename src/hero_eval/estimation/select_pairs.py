"""Which method tells two models apart when none is named: HERO-3, unless past pairs speak for HERO-1.

A past pair is two past rounds with gold that were labeled together (the same prompts and labelers). It is played as the
question is: both rounds current with their gold hidden, the others history. What the gold says of the difference has a
sampling error of its own, which is allowed for; gold that tells differences to a few points only cannot tell methods
apart that err by less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from hero_eval.errors import HeroError
from hero_eval.estimation.headline import class_scores, wanted_classes
from hero_eval.estimation.options import Options
from hero_eval.estimation.prepare import RoundSet
from hero_eval.estimation.replay import (
    DEFAULT,
    LEAST_ROUNDS,
    Play,
    Quantity,
    Seen,
    analyze,
    gold_seen,
    options_of,
    play_of,
)
from hero_eval.estimation.rivals import figures, rival, told_figures
from hero_eval.estimation.select import LEAST_GOLD, MOST_LABELS, MethodChoice, best_with_gold
from hero_eval.estimation.shared_fits import SharedFits, play_order
from hero_eval.estimation.subtract import batch_numbers, difference_of
from hero_eval.findings import Finding
from hero_eval.gold_scale import gold_means
from hero_eval.model.em import EMOptions
from hero_eval.model.patterns import Floats
from hero_eval.round import Round

RIVAL = "hero1"
METHODS = (RIVAL, DEFAULT)
MOST_PAIRS = 6
MOST_ERROR = 0.05
"""Gold that tells a difference no better than this says nothing of methods that err by a few points."""
_PAIRS_EACH = 2  # of a round: pairs that share a round err together


def best_by_pairs(rounds: RoundSet, options: Options, *, positive: object) -> MethodChoice:
    """The method for a difference of two rounds over a history that has gold."""
    past, classes = rounds.past, rounds.classes
    wants = options.wants_covariates or options.groups is not None or options.interval in ("profile", "paper")
    if wants or rounds.is_large or rounds.fitted_otherwise:
        return best_with_gold(rounds, options)
    if sum(one.n_gold > 0 for one in past) == 1:
        return MethodChoice(DEFAULT, "one past round has gold: drift is unknown")
    named = wanted_classes(classes, rounds.all_rounds, positive, options.at_least)
    contrast = np.isin(np.array(classes), named).astype(float) if named else class_scores(classes, None)
    if contrast is None and (means := gold_means(past)) is not None:
        contrast = means.values
    if contrast is None:
        return _untold("without a positive class past pairs cannot be compared")
    quantity = Quantity("difference", contrast, (float(contrast.min()), float(contrast.max())))
    pairs, lack = pairs_to_play(past, classes, quantity)
    shown = None if options.at_least is not None else named or None  # the options say it already
    if not pairs:
        return _untold(lack)
    play = PairPlay(past, classes, quantity, options, rounds.em, rounds.shrinkage, shown)
    plays = [one for pair in pairs for one in play(*pair)]
    name, why = choice_of(plays, len(pairs))
    data = {
        "pairs": [[past[i].name, past[j].name] for i, j in pairs],
        "methods": {method: figures(plays, method) for method in METHODS},
    }
    message = (
        f"{len(pairs)} pairs of past rounds were played as current with their gold hidden: "
        f"{told_figures(plays, METHODS)}. {name} was chosen"
    )
    return MethodChoice(name, f"backtest of past pairs: {why}", (Finding("F306", message, data),))


def _untold(lack: str) -> MethodChoice:
    """Past pairs that say nothing leave the default."""
    action = "Nothing; past pairs with gold for most of their items would choose. Name the method to take another."
    remark = Finding("F306", f"{DEFAULT} was chosen, untried: {lack}", {"pairs": []}, action)
    return MethodChoice(DEFAULT, f"history has gold; {lack}", (remark,))


def choice_of(plays: Sequence[Play], n_pairs: int) -> tuple[str, str]:
    """The default, unless its rival is clearly better in interval score and in error; and why."""
    found = rival(plays, RIVAL)
    score, error = (f"{gain.mean:+.3f} ± {gain.error:.3f}" for gain in (found.score, found.error))
    if found.clear:
        return RIVAL, f"over {found.n_rounds} pairs it gains on {DEFAULT} {score} in interval score, {error} in error"
    if found.n_rounds < LEAST_ROUNDS:
        return DEFAULT, f"{found.n_rounds} of {n_pairs} pairs that both methods could play cannot tell them apart"
    unclear = f"{RIVAL} does not clearly gain on it ({score} in interval score, {error} in error)"
    return DEFAULT, f"over {found.n_rounds} pairs {unclear}"


def pairs_to_play(
    past: Sequence[Round], classes: tuple[str, ...], quantity: Quantity
) -> tuple[list[tuple[int, int]], str]:
    """Positions of pairs whose gold tells a difference well, or why there are none."""
    if sum(one.n_labels for one in past) > MOST_LABELS:
        return [], f"above {MOST_LABELS:,} labels methods are not tried on past pairs unasked"
    enough = [position for position, one in enumerate(past) if one.n_gold >= LEAST_GOLD]
    batches = batch_numbers(past)
    together = [(i, j) for i, j in combinations(enough, 2) if batches[i] == batches[j]]
    n_gold = sum(one.n_gold > 0 for one in past)
    if len(together) < LEAST_ROUNDS or n_gold < 4:
        return [], "too few past rounds with gold share their items and labelers to tell methods apart"
    errors = {(i, j): pair_seen(past[i], past[j], classes, quantity).error for i, j in together}
    span = quantity.bounds[1] - quantity.bounds[0]
    good = [pair for pair in together if errors[pair] <= MOST_ERROR * span]
    used = dict.fromkeys(enough, 0)
    taken: list[tuple[int, int]] = []
    for pair in sorted(good, key=lambda pair: (errors[pair], pair)):
        if len(taken) < MOST_PAIRS and max(used[pair[0]], used[pair[1]]) < _PAIRS_EACH:
            taken.append(pair)
            used[pair[0]] += 1
            used[pair[1]] += 1
    if len(taken) < LEAST_ROUNDS:
        typical = float(np.median(list(errors.values())))
        return (
            [],
            f"the gold of past pairs tells their differences to ± {typical:.2g} only and cannot tell methods apart",
        )
    return sorted(taken), ""


def pair_seen(one: Round, other: Round, classes: Sequence[str], quantity: Quantity) -> Seen:
    """What the gold of two rounds says of their difference; items with gold in both count as pairs."""
    first, second = (gold_seen(side, classes, quantity) for side in (one, other))
    values, shared = _gold_values(one, other, classes, quantity)
    together = 0.0
    if shared > 2 and values.std(axis=1).min() > 0.0:
        together = float(np.corrcoef(*values)[0, 1]) * shared / math.sqrt(first.n_gold * second.n_gold)
    variance = first.error**2 + second.error**2 - 2.0 * together * first.error * second.error
    n_gold, n_items = first.n_gold + second.n_gold, first.n_items + second.n_items
    return Seen(first.mean - second.mean, math.sqrt(max(variance, 0.0)), n_gold, n_items)


def _gold_values(one: Round, other: Round, classes: Sequence[str], quantity: Quantity) -> tuple[Floats, int]:
    """(2, n): the quantity of the items with gold in both rounds; and how many they are."""
    found = []
    for side in (one, other):
        place = np.array([classes.index(value) for value in side.values])
        known = side.gold >= 0
        values = quantity.contrast[place[side.gold[known]]]
        found.append(dict(zip(map(str, side.item_ids[known]), values.tolist(), strict=True)))
    shared = sorted(found[0].keys() & found[1].keys())
    return np.array([[of[item] for item in shared] for of in found], dtype=np.float64).reshape(2, -1), len(shared)


@dataclass(frozen=True, eq=False)
class PairPlay:
    """Plays pairs of past rounds by each method; later pairs start from the first one's fits, if they are shared."""

    past: Sequence[Round]
    classes: tuple[str, ...]
    quantity: Quantity
    options: Options
    em: EMOptions
    shrinkage: float
    positive: object = None
    shared: SharedFits | None = field(default_factory=SharedFits)

    def __call__(self, i: int, j: int) -> list[Play]:
        """Nothing where what the others leave as history does not support an answer by every method."""
        others = tuple(one for place, one in enumerate(self.past) if place not in (i, j))
        shares = self.shared or SharedFits()
        history = shares.history(others, self.em, self.classes, self.shrinkage)
        orders = [play_order(len(self.past), i, j), play_order(len(self.past), j, i)]
        rounds = self.past[i].without_gold(), self.past[j].without_gold()
        seen = pair_seen(self.past[i], self.past[j], self.classes, self.quantity)
        name = f"{i}: {self.past[i].name} - {j}: {self.past[j].name}"
        plays = []
        for method in METHODS:
            try:
                analysis = analyze(rounds, history, options_of(method, self.options))
                if self.shared is not None:
                    analysis = self.shared.analysis(analysis, orders)
                plays.append(play_of(name, method, difference_of(analysis, self.positive), seen))
            except HeroError as error:
                if error.exit_code != 3:
                    raise
                return []
        return plays if all(math.isfinite(one.value) for one in plays) else []
