"""How much of a shift between the one past round and the current one is drift, and how much their rates.

With one past round nothing tells how far rounds drift. Labelers who err together are then taken to drift together, by
the prior of its size (`drift`); and of a shift between the two rounds' class rates that their labels show, a part is
taken for drift (`split_shift`).
Shapes: P rows, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.model.even_logits import even_covariance, even_norm, even_precision
from hero_eval.model.hero3.drift import DRIFT_DF, mean_slopes, sd_given_gold
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import EDGE_ITEMS, off_edge

TYPICAL_SHIFT = 0.5
"""Of drifts, and of moves of the rates, on the logit scale, where one past round shows neither. A choice, judged on
real rounds (`benchmarks/one_past_round.py`). Doubled (measured on four rounds of tqa and imagenhub with one past round
each, of which three tenths have gold): rates move by .002 to .05, intervals by up to 7%."""
_STEP = 1e-4
"""Of the central differences by the shift that labels show, on the logit scale. Doubled, influences change in their
seventh digit (reasoned)."""
_GRID: Floats = np.linspace(-5.0, 5.0, 401)
_SIZES: Floats = np.sinh(_GRID)
"""Drifts of size 1, out to 74: close to each other in the middle, and far out, since the tails are long. A grid twice
as dense or as far changes no digit that is shown (reasoned)."""
_DENSITY: Floats = (1.0 + _SIZES**2 / DRIFT_DF) ** (-(DRIFT_DF + 1.0) / 2.0) * np.cosh(_GRID)
"""Of Student's t distribution there, for steps of `_GRID`. It follows from the grid and `DRIFT_DF`."""


def split_shift(seen: Floats, reach: Floats, size: float = TYPICAL_SHIFT) -> Floats:
    """(K-1,): how much of a shift between two rounds' class logits is one of their rates.

    `seen` (K-1,) is the shift that labels show, `reach` (K-1, K-1) its derivative by drift, which is of that `size`.
    Rates move by about `TYPICAL_SHIFT`, but now and then much farther (a Cauchy distribution). The mean of what they
    moved is returned: where labels tell the classes well, drift reaches the rate little, and the shift is believed;
    where they do not, a small one is mostly taken for drift, and a large one is still believed.
    """
    length = even_norm(seen)
    if length == 0.0:
        return seen
    pull = reach.T @ even_precision(len(seen)) @ seen
    steps = _SIZES * (size * float(np.sqrt(pull @ even_covariance(len(seen)) @ pull)) / length)
    weights = _DENSITY / (1.0 + ((length - steps) / TYPICAL_SHIFT) ** 2)
    drift = float(steps @ weights / weights.sum())
    return seen * ((length - drift) / length)


def split_slopes(seen: Floats, reach: Floats, size: float = TYPICAL_SHIFT) -> Floats:
    """(K-1, K-1): the derivative of `split_shift` by the shift that labels show."""
    columns = [
        split_shift(seen + e, reach, size) - split_shift(seen - e, reach, size) for e in _STEP * np.eye(len(seen))
    ]
    out: Floats = np.stack(columns, axis=1) / (2.0 * _STEP)
    return out


@dataclass(frozen=True, eq=False)
class DriftSplit:
    """Rates (K,) of the current round with a part of their shift from the one past round taken for drift.

    past (P,): the weights of that round's rows; by_current, by_past (K-1, K-1): how the means of both rounds' class
    shares move the rates.
    """

    rates: Floats
    past: Floats
    by_current: Floats
    by_past: Floats


def split_drift(fit: LevelModel, shares: Floats, rates: Floats, information: float) -> DriftSplit | None:
    """None where several past rounds show drift, where labelers err each by itself, and where one class is all.

    `shares` (P, K) are the rows' class shares with all shifts that are known, `rates` (K,) their mean in the current
    round, `information` that of the current round's gold on its drift.
    """
    rows = fit.rows
    with_gold = np.unique(rows.round[rows.known & ~rows.is_current])
    if fit.shape.n_levels == 0 or len(with_gold) != 1:
        return None
    counts = rows.patterns.counts
    past, now = counts * (rows.round == with_gold[0]), counts * rows.is_current
    if past.sum() == 0.0 or np.sum(rates * now.sum() >= EDGE_ITEMS) < 2:
        return None
    before, after = off_edge(past @ fit.shares / past.sum(), float(past.sum())), off_edge(rates, float(now.sum()))
    seen = _log_ratios(after) - _log_ratios(before)
    reach = _log_slopes(after) @ mean_slopes(shares, now)
    size = float(sd_given_gold(np.array(TYPICAL_SHIFT), information))
    kept = _log_ratios(before) + split_shift(seen, reach, size)
    by_shift = split_slopes(seen, reach, size)
    found = np.exp(log_softmax(np.concatenate([[0.0], kept]), axis=0))
    back = np.linalg.inv(_log_slopes(found))
    by_past = back @ (np.eye(len(seen)) - by_shift) @ _log_slopes(before)
    return DriftSplit(found, past, back @ by_shift @ _log_slopes(after), by_past)


def _log_ratios(rates: Floats) -> Floats:
    out: Floats = np.log(rates[1:] / rates[0])
    return out


def _log_slopes(rates: Floats) -> Floats:
    """(K-1, K-1): d log-ratios / d rates[1:]."""
    out: Floats = np.diag(1.0 / rates[1:]) + 1.0 / rates[0]
    return out
