"""The rates of a round by the humps of its levels: one of normal shape for each class, which the round moves together.

Where labels show the level of each item almost surely, a round looks like humps on the scale of levels, one for each
class. Humps of one width are what class logits that rise evenly with the level come from, as HERO-3 has them. They are
as wide and as far apart in all rounds; a round moves all of its humps by as much (a_r, normal around 0), and its rates
are free. EM over all rounds with their gold tells where the humps lie; then each round is read by its labels alone.
Shapes: P rows, R rounds, K classes that gold shows, T ticks on the scale of levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from hero_eval.model.hero3.drift_split import TYPICAL_SHIFT
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Bools, Floats, Ints, sum_by

_TICKS: Floats = np.linspace(-4.5, 4.5, 61)
"""Finer than the fit's levels, and somewhat farther. Twice as many change nothing that could be seen (reasoned)."""
_MOVES: Floats = np.linspace(-3.0, 3.0, 25)
"""Of a round's humps, in standard deviations; what lies beyond has next to no weight (reasoned)."""
_MOVE_ROUNDS = 2.0
"""As many rounds' moves of `TYPICAL_SHIFT` are added to those that are seen: a few rounds cannot show their spread.
Doubled, moves lie a little nearer to `TYPICAL_SHIFT` (reasoned)."""
_ITEM = 0.5
"""Items of each class that are added to a round: Jeffreys' prior. Doubled, rates of small rounds lie nearer to even."""
_STEPS = 100
"""Of EM for the rates of one round. Doubled, nothing changes (reasoned)."""
_HUMP_STEPS = 300
"""Of EM for the humps. Doubled, nothing changes (reasoned)."""
_REST = 1e-6
"""Below which moves and rates rest. Doubled, rates change in their sixth digit (reasoned)."""
_LEAST_WIDTH = 0.1
"""The least variance of a hump, about that of a tick: narrower ones could not be told apart (reasoned)."""


def hump_rates(fit: LevelModel) -> Floats:
    """(R, K): rates of each round by humps of normal shape, one for each class that gold shows, which a round moves
    together.

    Humps of one width are what class logits that rise evenly with the level come from, as HERO-3 has them. Gold of all
    rounds and the levels of all items tell where humps lie; then each round is read by its labels alone.
    """
    rows = fit.rows
    told, counts = _told(fit), rows.patterns.counts
    classes = np.unique(rows.patterns.gold[rows.known])
    humps = _fit_humps(told, counts, rows.round, np.searchsorted(classes, rows.patterns.gold), rows.known, len(classes))
    rates = np.zeros((rows.n_rounds, rows.n_classes))
    for r in range(rows.n_rounds):
        rates[r, classes] = humps.rates(told[rows.round == r], counts[rows.round == r])
    return rates


def _told(fit: LevelModel) -> Floats:
    """(P, T): the likelihood of each row's labels at each tick, its largest being 1."""
    lines = fit.parameters.answers @ np.stack([np.ones(len(_TICKS)), _TICKS])
    logs = log_softmax(np.concatenate([np.zeros((len(lines), 1, len(_TICKS))), lines], axis=1), axis=1)
    found = fit.rows.patterns.from_cells(logs.reshape(-1, len(_TICKS)))
    out: Floats = np.exp(found - found.max(axis=1, keepdims=True))
    return out


@dataclass(frozen=True, eq=False)
class Humps:
    """Of normal humps: their middles (K,), the variance within and that of rounds' moves."""

    middles: Floats
    within: float
    between: float

    def density(self, move: Floats | float) -> Floats:
        """(..., K, T): at the ticks, once moved by `move` (...)."""
        away = _TICKS - self.middles[:, None] - np.asarray(move)[..., None, None]
        out: Floats = np.exp(-0.5 * away**2 / self.within)
        return out

    def rates(self, told: Floats, counts: Floats) -> Floats:
        """(K,): the rates of one round, averaged over how far it may have moved."""
        found, logs = [], []
        for step in _MOVES:
            by_class = told @ self.density(step * np.sqrt(self.between)).T + 1e-300
            rates = np.full(len(self.middles), 1.0 / len(self.middles))
            for _ in range(_STEPS):
                joint = by_class * rates
                new = counts @ (joint / joint.sum(axis=1, keepdims=True)) + _ITEM
                moved, rates = rates, new / new.sum()
                if np.abs(rates - moved).max() < _REST:
                    break
            found.append(rates)
            logs.append(counts @ np.log(by_class @ rates) + _ITEM * np.log(rates).sum() - 0.5 * step**2)
        out: Floats = np.exp(np.array(logs) - logsumexp(logs)) @ np.stack(found)
        return out


def _fit_humps(told: Floats, counts: Floats, of_round: Ints, gold: Ints, known: Bools, n_classes: int) -> Humps:
    """By EM; rounds' rates are free, their moves normal around 0."""
    n_rounds = int(of_round.max()) + 1
    levels = told @ _TICKS / told.sum(axis=1)
    allowed = ~known[:, None] | (gold[:, None] == np.arange(n_classes))
    middles = sum_by(gold[known], (counts * levels)[known], n_classes) / sum_by(gold[known], counts[known], n_classes)
    within = max(float(np.average((levels - middles[gold])[known] ** 2)), _LEAST_WIDTH)
    humps = Humps(middles, within, TYPICAL_SHIFT**2)
    rates, moves = np.full((n_rounds, n_classes), 1.0 / n_classes), np.zeros(n_rounds)
    powers = np.stack([np.ones(len(_TICKS)), _TICKS, _TICKS**2])
    for _ in range(_HUMP_STEPS):
        prior = rates[:, :, None] * humps.density(moves)
        number, first, second = (np.empty((n_rounds, n_classes)) for _ in range(3))
        for r in range(n_rounds):
            at = of_round == r
            by_class = (told[at] @ prior[r].T) * allowed[at] + 1e-300
            share = counts[at, None] * allowed[at] / by_class.sum(axis=1, keepdims=True)
            at_tick = (share.T @ told[at]) * prior[r]  # (K, T): items expected
            number[r], first[r], second[r] = powers @ at_tick.T
        rates = (number + _ITEM) / (number + _ITEM).sum(axis=1, keepdims=True)
        sure = number.sum(axis=1) / humps.within + 1.0 / humps.between
        middles = (first - number * moves[:, None]).sum(axis=0) / np.maximum(number.sum(axis=0), 1e-9)
        new = (first - number * middles).sum(axis=1) / humps.within / sure
        rest = float(np.abs(new - moves).max())
        moves = new
        at_class = middles + moves[:, None]
        squares = float((second - 2.0 * at_class * first + at_class**2 * number).sum())
        between = float((moves**2 + 1.0 / sure).sum() + _MOVE_ROUNDS * TYPICAL_SHIFT**2) / (n_rounds + _MOVE_ROUNDS)
        humps = Humps(middles, max(squares / float(number.sum()), _LEAST_WIDTH), between)
        if rest < _REST:
            break
    return humps
