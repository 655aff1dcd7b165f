"""Which method tells two models apart when none is named: HERO-1 and HERO-3 together, unless past pairs speak for one.

A past pair is two past rounds with gold that were labeled together (the same prompts and labelers). It is played as the
question is: both rounds current with their gold hidden, the others history. What the gold says of the difference has a
sampling error of its own, which is allowed for; gold that tells differences to a few points only cannot tell methods
apart that err by less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hero_eval.engines.counting import is_large
from hero_eval.errors import HeroError
from hero_eval.estimate import Estimate
from hero_eval.findings import Finding
from hero_eval.model.em import EMOptions
from hero_eval.model.patterns import Floats
from hero_eval.reliability import Reliability, fit_with
from hero_eval.round import Round
from hero_eval.targets.choice import LEAST_GOLD, MOST_LABELS, Choice, best_with_gold, figures, told_figures
from hero_eval.targets.question import Options, ask
from hero_eval.targets.rate import class_scores, positive_of
from hero_eval.targets.readings import Combined, Reading, batch_numbers, difference_of
from hero_eval.targets.replay import DEFAULT, LEAST_ROUNDS, Play, Quantity, Rivalry, Seen, gold_seen, rival

BOTH = "hero1+hero3"
"""The mean of two readings, each weighed as below."""
WEIGHTS = {"hero1": 0.2, "hero3": 0.8}
"""Neither is the better one on all real pairs; where HERO-3 is, it is so by more. With these weights the mean errs
less than either on some sets, and lies between the two on others."""
MOST_PAIRS = 6
MOST_ERROR = 0.05
"""Gold that tells a difference no better than this says nothing of methods that err by a few points."""
_PAIRS_EACH = 2  # of a round: pairs that share a round err together
_DOUBTS = ("F104", "F210", "F301", "F302", "F303")


@dataclass
class Choosing:
    """Chooses for two rounds as `ask` wants it, and remembers what it chose and why."""

    currents: tuple[Round, ...]
    positive: object = None
    asked: bool = False
    """Both methods were asked for by name."""
    name: str = ""
    why: str = ""
    findings: tuple[Finding, ...] = ()

    def __call__(
        self, past: Sequence[Round], classes: tuple[str, ...], options: Options, em: EMOptions, shrinkage: float
    ) -> Choice:
        """The method of the reading that counts most."""
        if self.asked:
            self.name, self.why = BOTH, "asked for"
            return Choice(DEFAULT, self.why)
        wants = bool(options.covariates) or options.text is not None or options.groups is not None
        if wants or options.interval is not None or shrinkage > 0 or em != EMOptions():
            chosen = best_with_gold(past, classes, options, em, shrinkage)
            self.name = chosen.name
            return chosen
        n_gold = sum(one.n_gold > 0 for one in past)
        if n_gold < 2:
            self.name, self.why = BOTH, "one past round has gold: drift is unknown"
            return Choice(DEFAULT, self.why)
        self.name, self.why = self._by_pairs(past, classes, options, em, shrinkage)
        return Choice(DEFAULT if self.name == BOTH else self.name, self.why)

    def _by_pairs(
        self, past: Sequence[Round], classes: tuple[str, ...], options: Options, em: EMOptions, shrinkage: float
    ) -> tuple[str, str]:
        named = positive_of(classes, [*self.currents, *past], self.positive)
        contrast = np.isin(np.array(classes), named).astype(float) if named else class_scores(classes, None)
        if contrast is None:
            return DEFAULT, "history has gold; without a positive class past pairs cannot be compared"
        quantity = Quantity("difference", contrast, (float(contrast.min()), float(contrast.max())))
        pairs, lack = pairs_to_play(past, classes, quantity)
        if not pairs:
            return BOTH, f"history has gold; {lack}, so readings by hero1 and hero3 are averaged"
        play = PairPlay(past, classes, quantity, options, em, shrinkage, named or None)
        plays = [one for pair in pairs for one in play(*pair)]
        name, why = choice_of(plays, len(pairs))
        methods = (*WEIGHTS, BOTH)
        data = {
            "pairs": [[past[i].name, past[j].name] for i, j in pairs],
            "methods": {method: figures(plays, method) for method in methods},
        }
        message = (
            f"{len(pairs)} pairs of past rounds were played as current with their gold hidden: "
            f"{told_figures(plays, methods)}. {name} was taken; name the method to save the trial"
        )
        self.findings = (Finding("F306", message, data),)
        return name, f"backtest of past pairs: {why}"


def choice_of(plays: Sequence[Play], n_pairs: int) -> tuple[str, str]:
    """Both, or the one of them that is clearly better; and why."""
    rivals = [rival(plays, name, BOTH) for name in WEIGHTS]
    clear = [one for one in rivals if one.clear]
    winner = max(clear, key=lambda one: one.score.mean, default=None)
    if winner is None:
        return BOTH, f"over {n_pairs} pairs neither hero1 nor hero3 alone is clearly better than both"
    return winner.method, _told(winner)


def _told(winner: Rivalry) -> str:
    return (
        f"over {winner.n_rounds} pairs its interval score is lower than that of both methods together by "
        f"{winner.score.mean:.3f} ± {winner.score.error:.3f}, and its errors by {winner.error.mean:.3f} ± "
        f"{winner.error.error:.3f}"
    )


def pairs_to_play(
    past: Sequence[Round], classes: tuple[str, ...], quantity: Quantity
) -> tuple[list[tuple[int, int]], str]:
    """Positions of pairs whose gold tells a difference well, or why there are none."""
    n_labels = sum(one.n_labels for one in past)
    if n_labels > MOST_LABELS or is_large(past):
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
    """Plays pairs of past rounds by HERO-1, by HERO-3 and by both."""

    past: Sequence[Round]
    classes: tuple[str, ...]
    quantity: Quantity
    options: Options
    em: EMOptions
    shrinkage: float
    positive: object = None

    def __call__(self, i: int, j: int) -> list[Play]:
        others = tuple(one for place, one in enumerate(self.past) if place not in (i, j))
        history = fit_with(others, self.em, self.classes, shrinkage=self.shrinkage)
        rounds = self.past[i].without_gold(), self.past[j].without_gold()
        try:
            readings = [reading_by(name, rounds, history, self.options, self.positive) for name in WEIGHTS]
            sides = [reading.sides for reading in readings]
        except HeroError as error:
            if error.exit_code != 3:
                raise
            return []  # what the others leave as history does not support an answer
        if not all(math.isfinite(side.value) for pair in sides for side in pair):
            return []
        seen = pair_seen(self.past[i], self.past[j], self.classes, self.quantity)
        name = f"{self.past[i].name} - {self.past[j].name}"
        plays = [
            _play(name, method, difference_of(Combined([reading])), seen)
            for method, reading in zip(WEIGHTS, readings, strict=True)
        ]
        both = Combined([reading.weighing(WEIGHTS[method]) for method, reading in zip(WEIGHTS, readings, strict=True)])
        return [*plays, _play(name, BOTH, difference_of(both), seen)]


def _play(name: str, method: str, estimate: Estimate, seen: Seen) -> Play:
    low, high = estimate.interval()
    return Play(name, method, "difference", estimate.value, low, high, estimate.level, estimate.bounds, seen)


def reading_by(
    method: str, rounds: Sequence[Round], history: Reliability, options: Options, positive: object
) -> Reading:
    """Both rounds by a method that was not asked for by name."""

    def best(*_: object) -> Choice:
        return Choice(method, "")

    return Reading(ask(list(rounds), history, options, best=best), 1.0, positive)


def sound_reading(
    method: str, rounds: Sequence[Round], history: Reliability, options: Options, positive: object
) -> Reading | None:
    """A reading that may be averaged with another: it has a value, and nothing says that it rests on too little."""
    try:
        found = reading_by(method, rounds, history, options, positive)
        return found if _is_sound(found) else None
    except HeroError as error:
        if error.exit_code != 3:
            raise
        return None


def needs_second(reading: Reading) -> bool:
    """Whether another reading can add something: not where one past round shows that labelers err each by itself."""
    past = () if reading.question.reliability is None else reading.question.reliability.rounds
    if sum(one.n_gold > 0 for one in past) > 1:
        return True
    return any(fit.between is not None and fit.between.drift.counts for fit in reading.fits)


def _is_sound(reading: Reading) -> bool:
    codes = {one.code for side in reading.sides for one in side.findings}
    return math.isfinite(reading.value) and math.isfinite(reading.influence.variance()) and not codes & set(_DOUBTS)
