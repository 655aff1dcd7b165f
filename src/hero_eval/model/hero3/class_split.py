"""Where the labels of a round by themselves part its classes, and how far past gold bears that out.

Labelers may all become stricter from one round to the next. HERO-3 then reads every item as worse, and only gold would
tell. But where many labelers show the level of each item almost surely, the *shape* of a round shows it too: two humps
with a valley between them stay two humps, wherever the labelers' common mood has moved them. A shape can be read in two
ways, each of which gives rates s_r of round r without its own gold:

- Dawid and Skene's EM on one round alone finds the valley, and counts the items on either side. It needs nothing of
  other rounds; but where humps overlap, their tails are counted on the wrong side, and rates come out too near a half.
- Humps proper (`humps`), one of normal shape for each class, correct for that overlap, as far as humps are normal and
  keep their distance.

Let d_r be the shift of the class logits that would bring HERO-3's reading of round r to s_r. In round r the logits are
taken to be off by  m + c d_r + b_r,  with b_r the drift that nothing explains (`drift`) and one weight c between 0
(the shape tells nothing) and 1 (the shape is right), the same for all rounds. The past rounds' gold gives the joint
posterior of the way of reading, c, m and the size of b; the answer is averaged over it. A valley that is always a
little on one side of the expert's boundary is what m is for; one that is always far from it speaks against the shapes.

Where labelers err each by itself, labels can show what mood all of them share in a round (`moods`). Reading a round
with its mood moves every item by its own labels, d_i instead of d_r; all else is the same (`split_by_moods`).

What c is beforehand of shapes depends on how surely labels tell the levels. Below `BLURRED` nothing of a shape can be
seen that is not made by the labelers' own noise, and c is 0; above `CLEAR` it is probably large.
Shapes: P rows, R rounds (the last is current), K classes, S ways of reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from hero_eval.model.even_logits import even_precision, widest
from hero_eval.model.hero3.drift import (
    SIZES,
    DriftPosterior,
    gold_rows,
    label_shares,
    mean_slopes,
    shift_logits,
    size_log_prior,
    size_marginals,
)
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.hero3.moods import Moods
from hero_eval.model.patterns import Floats, sum_by

BLURRED, CLEAR = 0.96, 0.98
"""Shares of the levels' variance that labels tell, between which the shape of a round begins to count. Chosen on
simulated rounds of a hundred judges (`benchmarks/many_judges.py`, docs/method.md). They are shares near 1 and cannot be
doubled; twice as far from 1, shapes would count in rounds whose humps labelers' own noise makes (reasoned)."""
MEAN_SD = 0.25
"""Of m: how far from the valley the expert's boundary lies in all rounds. A few dozen golds tell it worse than that.
Doubled, shapes that are always off to one side are spoken against less (reasoned)."""
LEAST_ROUNDS = 3
"""Past rounds with gold: two differences between rounds at least, to hold the shapes' against. Doubled, teams with
three to five past rounds would do without shapes (reasoned)."""
WEIGHTS: Floats = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""The grid of c, from "the shape tells nothing" to "the shape is right". Twice as dense, its mean changes by a few
hundredths (reasoned)."""
_WEIGHTS_PRIOR: Floats = np.array([0.1, 0.2, 0.3, 0.4])
"""Of the weights but 0, where shapes are seen: probably large. They are shares and sum to 1: nothing to double."""
_MOST_PRIOR = 0.95
"""Of that prior: shapes may tell nothing, and gold may say so. With .9, the other 5% less sure, gold needs a little
less to say it (reasoned)."""
_MOOD_WEIGHTS_PRIOR: Floats = np.array([0.05, 0.05, 0.1, 0.2, 0.6])
"""Of all weights, where labels show moods: these come from the model that explains labels best, and are probably right.
They are shares and sum to 1: nothing to double."""
_FARTHEST = 4.0
"""Logits: a shape that would move a round farther is not read from it. Doubled, a round whose labels part off a few
items could be moved to next to none of a class (reasoned)."""
_STEPS = 100
"""Of the search for a shift, which is monotone. Doubled, nothing changes (reasoned)."""
_REST = 1e-9
"""The move, in logits, below which the search ends. Doubled, nothing changes that could be seen (reasoned)."""


@dataclass(frozen=True, eq=False)
class ClassSplit:
    """How far the current round's class logits are moved because of its shape, (K-1,), and the drift that is left.

    weight: the posterior mean of c; moves (R, K-1): what the shapes say, d_r, on average over the ways of reading them.
    by_row (P, K-1): what each row's class logits are moved by beside the shift, where moods are read; open: the part of
    the drift's variance that comes from what is not known of them.
    """

    shift: Floats
    drift: DriftPosterior
    weight: float
    moves: Floats
    by_row: Floats | None = None
    open: float = 0.0


def level_certainty(fit: LevelModel) -> float:
    """How much of the variance of items' levels is told by their labels; 0 without levels."""
    if fit.shape.n_levels == 0:
        return 0.0
    theta, counts = fit.shape.theta, fit.rows.patterns.counts
    mean = fit.post @ theta
    open_part = float(counts @ (fit.post @ theta**2 - mean**2)) / counts.sum()
    told = float(counts @ (mean - counts @ mean / counts.sum()) ** 2) / counts.sum()
    return float(told / max(told + open_part, 1e-300))


def shape_is_seen(fit: LevelModel) -> bool:
    """Whether labels tell levels surely enough, and enough past rounds have gold, for shapes to be held against it."""
    rows = fit.rows
    n_rounds = len(np.unique(rows.round[rows.known & ~rows.is_current]))
    return n_rounds >= LEAST_ROUNDS and level_certainty(fit) > BLURRED


def shift_to(shares: Floats, counts: Floats, rates: Floats) -> Floats:
    """(K-1,): the shift of all class logits at which the mean of the class shares (P, K) is `rates` (K,)."""
    shift = np.zeros(shares.shape[1] - 1)
    for _ in range(_STEPS):
        now = shift_logits(shares, shift)
        gap = (rates - counts @ now / counts.sum())[1:]
        slopes = mean_slopes(now, counts) + 1e-9 * np.eye(len(gap))
        new = _at_most(_FARTHEST, shift + _at_most(1.0, np.linalg.solve(slopes, gap)))
        moved = float(np.abs(new - shift).max())
        shift = new
        if moved < _REST:
            break
    return shift


def _at_most(most: float, shift: Floats) -> Floats:
    """The shift (K-1,), or so much of it that no two classes are farther apart."""
    return shift * min(1.0, most / max(float(widest(shift[None, :, None])[0, 0]), 1e-300))


def learn_split(fit: LevelModel, *readings: Floats) -> ClassSplit:
    """What gold makes of the shapes; each of `readings` (R, K) are the rates that rounds have by one way of reading."""
    rows = fit.rows
    shares, counts = label_shares(fit), rows.patterns.counts
    of_round = [rows.round == r for r in range(rows.n_rounds)]
    moves = np.stack(
        [[shift_to(shares[at], counts[at], rates[r]) for r, at in enumerate(of_round)] for rates in readings]
    )
    before = _weight_prior(level_certainty(fit))
    cells = [(0, WEIGHTS[0], before[0])]  # without weight all ways of reading are one
    cells += [(s, c, p / len(moves)) for s in range(len(moves)) for c, p in zip(WEIGHTS[1:], before[1:], strict=True)]
    by_round = rows.round[rows.known]
    chance, means = _by_gold(fit, [c * moves[s][by_round] for s, c, _ in cells], np.array([p for _, _, p in cells]))
    by_cell = np.stack([c * moves[s, -1] for s, c, _ in cells])[:, None] + means - means[0]
    shift = np.einsum("ik,ikc->c", chance, by_cell)
    drift = _left_open(fit, chance, _spread(chance, by_cell))
    chances = chance.sum(axis=1)
    of_reading = sum_by(np.array([s for s, _, _ in cells[1:]]), chances[1:], len(moves))
    said = np.tensordot(of_reading / of_reading.sum(), moves, axes=1)
    return ClassSplit(shift, drift, float(chances @ [c for _, c, _ in cells]), said)


def split_by_moods(fit: LevelModel, moods: Moods) -> ClassSplit:
    """What gold makes of the moods that labels show: the same posterior, with a move d of every row, by its labels."""
    rows, shares = fit.rows, label_shares(fit)
    moves = moods.moves(shares)
    chance, means = _by_gold(fit, [c * moves[rows.known] for c in WEIGHTS], _MOOD_WEIGHTS_PRIOR)
    weight = float(chance.sum(axis=1) @ WEIGHTS)
    of_round = _typical_moves(fit, shares, moves)
    by_cell = WEIGHTS[:, None, None] * of_round[-1] + means
    spread = _spread(chance, by_cell) + weight**2 * _unsure(fit, shift_logits(shares, weight * moves), moods)
    shift = np.einsum("ik,ikc->c", chance, means)
    return ClassSplit(shift, _left_open(fit, chance, spread), weight, of_round, weight * moves, spread)


def _by_gold(fit: LevelModel, moves: Sequence[Floats], prior: Floats) -> tuple[Floats, Floats]:
    """(C, M): how probable each of C cells and each size of drift are by gold, if a cell moves the logits of the rows
    with gold as it says (C times (n, K-1)) and has this prior (C,); (C, M, K-1): the mean m of each."""
    rows = fit.rows
    _, number = np.unique(rows.round[rows.known], return_inverse=True)
    offset, gold, of_gold = gold_rows(fit, rows.known)
    joint = np.empty((len(moves), len(SIZES)))
    means = np.empty((len(moves), len(SIZES), rows.n_classes - 1))
    for i, move in enumerate(moves):
        moved = offset.copy()
        moved[:, 1:] += move
        joint[i], means[i] = size_marginals(moved, gold, number, of_gold, MEAN_SD**-2)
    joint += np.log(prior)[:, None] + size_log_prior()
    return np.exp(joint - logsumexp(joint)), means


def _left_open(fit: LevelModel, chance: Floats, spread: float) -> DriftPosterior:
    """The drift that nothing explains, and what is open of the explanations."""
    n_rounds = len(np.unique(fit.rows.round[fit.rows.known]))
    return DriftPosterior(np.sqrt(SIZES**2 + spread), chance.sum(axis=0), n_rounds)


def _typical_moves(fit: LevelModel, shares: Floats, moves: Floats) -> Floats:
    """(R, K-1): the mean move of each round's rows (P, K-1), those counting most whose classes are open."""
    rows = fit.rows
    weight = (rows.patterns.counts * (1.0 - (shares**2).sum(axis=1)))[:, None]
    out: Floats = rows.sums_by_round(moves * weight) / np.maximum(rows.sums_by_round(weight), 1e-300)
    return out


def _unsure(fit: LevelModel, shares: Floats, moods: Moods) -> float:
    """The variance of the current round's shift because labels do not tell its mood for certain."""
    here = np.where(fit.rows.is_current, fit.rows.patterns.counts, 0.0)
    rates = (here @ shares / here.sum())[1:]
    of_rates = np.diag(rates) - np.outer(rates, rates)
    to_shift = np.linalg.solve(mean_slopes(shares, here) + 1e-9 * np.eye(len(rates)), of_rates)
    covariance = to_shift @ moods.unsure @ to_shift.T
    return float(np.trace(even_precision(len(rates)) @ covariance)) / len(rates)


def _spread(chance: Floats, by_cell: Floats) -> float:
    """How far shifts (C, M, K-1) that have these chances (C, M) spread around their mean."""
    off = by_cell - np.einsum("ik,ikc->c", chance, by_cell)
    n_free = int(by_cell.shape[2])
    return float(np.einsum("ik,ikc,cd,ikd->", chance, off, even_precision(n_free), off)) / n_free


def _weight_prior(certainty: float) -> Floats:
    """The prior of the weights."""
    seen = _MOST_PRIOR * min(max((certainty - BLURRED) / (CLEAR - BLURRED), 0.0), 1.0)
    out: Floats = np.maximum(np.append(1.0 - seen, seen * _WEIGHTS_PRIOR), 1e-300)
    return out
