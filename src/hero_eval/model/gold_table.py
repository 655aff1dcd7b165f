"""How labelers answer each class, by the gold they met, with the labels of all items as help: prediction-powered.

Labels of labelers who err together agree more than their skill deserves, so a fit that takes them as independent
over-rates them. Here that fit only predicts the class of every item (f, without its gold); the items with gold (y) say
by how much the prediction is off. For labeler j, class k and answers A, with g(z) = (A - s) z,

    lambda mean over items without gold of g(f) + mean over items with gold of (g(y) - lambda g(f)) = 0

has the root s = P(answer | class) whatever the labelers share, if gold went to a random part; lambda is what makes its
variance least (0: gold alone). Shapes: J labelers, L answers, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.model.latent import Latent, class_log_likelihood
from hero_eval.model.patterns import Floats, Ints, Patterns, sum_by


@dataclass(frozen=True, eq=False)
class _Met:
    """What one labeler met: items with and without gold, as rows that stand for `weight` items each."""

    answer: Ints
    weight: Floats
    predicted: Floats  # (n, K)
    gold: Floats  # (n, K), no class where unknown
    known: Floats  # (n,) 0 or 1
    items: Floats

    def mean(self, values: Floats, known: bool) -> Floats:
        """Of the items with gold, or without; 0 where there are none."""
        weight = self.weight * (self.known if known else 1.0 - self.known)
        out: Floats = weight @ values / max(weight.sum(), 1e-300)
        return out

    def size(self, known: bool) -> float:
        """How many items of equal weight these are worth."""
        here = self.known > 0 if known else self.known == 0
        weight, items = self.weight[here], self.items[here]
        return float(weight.sum() ** 2 / max((weight**2 / items).sum(), 1e-300)) if here.any() else 0.0


def answers_by_gold(patterns: Patterns, latent: Latent, fallback: Floats) -> tuple[Floats, Floats]:
    """P(answer | class) and its standard error, (J, L, K) each; without gold of a class as `fallback` has it, error
    unknown."""
    value, error = fallback.copy(), np.full(fallback.shape, np.nan)
    n_classes = fallback.shape[2]
    logs = class_log_likelihood(patterns, latent) + np.log(_class_weights(latent, n_classes))
    predicted = special.softmax(logs, axis=1)
    rows, labeler, answer = patterns.entries
    order = np.argsort(labeler, kind="stable")
    starts = np.searchsorted(labeler[order], np.arange(len(fallback) + 1))
    gold = np.eye(n_classes)[np.maximum(patterns.gold, 0)] * (patterns.gold >= 0)[:, None]
    for j in range(len(fallback)):
        at = order[starts[j] : starts[j + 1]]
        of = rows[at]
        met = _Met(
            answer[at],
            patterns.counts[of],
            predicted[of],
            gold[of],
            (patterns.gold[of] >= 0).astype(float),
            patterns.items_of_row[of],
        )
        for k in range(n_classes):
            if met.known @ met.gold[:, k] > 0:
                value[j, :, k], error[j, :, k] = _one_class(met, k, fallback.shape[1])
    return value, error


def _class_weights(latent: Latent, n_classes: int) -> Floats:
    out: Floats = np.maximum(sum_by(latent.state_class, latent.weights, n_classes), 1e-12)
    return out


def _one_class(met: _Met, k: int, n_answers: int) -> tuple[Floats, Floats]:
    """(L,) each: the shares of the answers to items of class k, and their errors."""
    said = np.eye(n_answers)[met.answer]
    y, f = met.gold[:, k], met.predicted[:, k]
    n_gold, n_open = met.size(True), met.size(False)
    share, power = _root(met, said, y, f, 0.0), 0.0
    if n_open > 0:
        for _ in range(2):  # the power at the root by gold alone, then at the root that it gives
            power = _power(met, said - share, y, f, n_gold / n_open)
            share = _root(met, said, y, f, power)
    off = said - share
    kept = off * (y - power * f)[:, None]
    variance = _variance(met, kept, True) / n_gold
    if n_open > 0:
        variance = variance + power**2 * _variance(met, off * f[:, None], False) / n_open
    size = max(met.mean(y - power * f, True) + power * met.mean(f, False), 1e-12)
    error = np.sqrt(variance) / size
    # a few answers that are all alike have no spread, and still leave much open
    n_class = float((met.known * y) @ met.items)
    smooth = (n_class * np.clip(share, 0.0, 1.0) + 1.0) / (n_class + 2.0)
    told = 1.0 - _explained(met, off * y[:, None], off * f[:, None])
    least = np.sqrt(told * smooth * (1.0 - smooth) / (n_class + 2.0))
    return np.clip(share, 0.0, 1.0), np.maximum(error, least)


def _root(met: _Met, said: Floats, y: Floats, f: Floats, power: float) -> Floats:
    """(L,) the root at this power; the denominator is kept to what gold alone may shrink it to."""
    left = (y - power * f)[:, None]
    top = met.mean(said * left, True) + power * met.mean(said * f[:, None], False)
    below = met.mean(left[:, 0], True) + power * met.mean(f, False)
    if below <= 0.2 * met.mean(y, True):  # the help hurts: it would divide by next to nothing
        return met.mean(said * y[:, None], True) / met.mean(y, True)
    out: Floats = top / below
    return out


def _power(met: _Met, off: Floats, y: Floats, f: Floats, ratio: float) -> float:
    """The lambda of the least variance, of all answers together, between 0 and 1."""
    gy, gf = off * y[:, None], off * f[:, None]
    both = met.mean(gy * gf, True) - met.mean(gy, True) * met.mean(gf, True)
    spread = _variance(met, gf, True)
    return float(np.clip(both.sum() / max((1.0 + ratio) * spread.sum(), 1e-300), 0.0, 1.0))


def _variance(met: _Met, values: Floats, known: bool) -> Floats:
    n = met.size(known)
    out: Floats = np.maximum(met.mean(values**2, known) - met.mean(values, known) ** 2, 0.0) * n / max(n - 1.0, 1.0)
    return out


def _explained(met: _Met, gy: Floats, gf: Floats) -> Floats:
    """(L,) the share of the variance on gold that the prediction explains."""
    both = met.mean(gy * gf, True) - met.mean(gy, True) * met.mean(gf, True)
    spread = _variance(met, gy, True) * _variance(met, gf, True)
    out: Floats = np.where(spread > 1e-12, np.clip(both**2 / np.maximum(spread, 1e-300), 0.0, 0.95), 0.0)
    return out
