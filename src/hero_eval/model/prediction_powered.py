"""Prediction-powered means: the gold of a random part of the items, and for all items what the labels predict.

With prediction f_i of item i's class (K shares that add up to 1), gold y_i of a random part and a power lambda,

    rates = lambda * mean over all items of f  +  mean over the items with gold of (y - lambda * f)

is the rate whatever f is, if f_i owes nothing to y_i: the second mean corrects what the first gets wrong. Lambda = 0 is
the plain mean of gold. The variance is least at the slope of y on f, which gold shows; where that is few, the slope is
drawn towards 0 by twice what its own error explains of it.

Predictions are those of HERO-3's model, and each item with gold is predicted as if its own gold were not known: by one
Newton step away from the fit of all (`left_out`), which is close to fitting anew. The score of item i is s_i(k) if its
class is known to be k; d_k = s_i(k) - sum_l f_l s_i(l) is what knowing that adds. Forgetting the gold y moves the
parameters by -(H - sum_l f_l d_l d_l')^-1 d_y and log f_k by d_k' times that; in the K-space of M = D H^-1 D' it
is -M (I - diag(f) M)^-1 e_y.

A model that forgets a gold of class 1 expects less of class 1 everywhere. Compared with the mean prediction of a model
that knows it, such an item would look as if labels had spoken against it: with few golds that alone hides half of what
labels tell. So each prediction is measured from the mean of all items by the same model, the one without its gold
(Zrnic and Candes, 2024, center every fold so); f_i - mean of f is then nought on average, given that model.

Few golds may agree with their predictions by luck: fifteen that all do so leave no residual, though one item in ten may
be predicted wrongly. The labels of all items tell how often: by the model gold falls beside its prediction with a
variance of  sum_k mean of f_k (1 - f_k)  +  (1 - lambda)^2 times the variance of f. Golds whose residuals vary less are
taken to vary that much (`_no_luckier`); a model that is too sure of itself leaves the interval to what gold shows.
Shapes: n items, K classes, P rows, m rows with gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.level_information import LevelInformation
from hero_eval.model.hero3.shape import RoundRows
from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Bools, Floats, Ints

CAUTION = 2.0
"""Of squared errors of a slope that are taken off its square: one is what chance adds on average, and a power that is
too large costs more than one that is too small (`benchmarks/own_gold.py`). Doubled, predictions count for less where
golds are few, and intervals are nearer to those of gold alone (reasoned)."""
_LEAST_SHARE = 1e-12
"""Of a class, so that its logarithm is a number. Doubled, nothing changes (reasoned)."""
_FARTHEST = 20.0
"""Of a move on the logit scale: a gold that alone decides its item leaves nothing to predict it by. Doubled, nothing
that could be seen: shares are 0 or 1 there (reasoned)."""


@dataclass(frozen=True, eq=False)
class Powered:
    """Class rates (K,), each item's influence on them (n, K), the power, and the golds' worth as a plain sample.

    by_gold (n, K): the influence by the residuals that gold shows, however small they are by luck.
    """

    rates: Floats
    influence: Floats
    by_gold: Floats
    power: float
    worth: float


@dataclass(frozen=True, eq=False)
class GoldSample:
    """Golds of one sample beside what labels predict of them: seen and foreseen (m, K).

    part, times (m,): the share of one of the golds in their mean, and as how many alike it counts, `n_gold` in all.
    """

    seen: Floats
    foreseen: Floats
    part: Floats
    times: Floats
    n_gold: int


def powered_mean(
    prediction: Floats,
    gold: Ints,
    weight: Floats,
    gold_weight: Floats,
    times: Floats | None = None,
    n_gold: int = 0,
    beside: Sequence[GoldSample] = (),
) -> Powered:
    """The rates of items whose predictions are (n, K) and whose gold is a class, or -1 where it is not known.

    weight (n,): what each item counts for; gold_weight (n,): what it counts for among the items with gold (of items
    that had gold with different probabilities, the weight over the probability). Without any gold nothing is known.
    times (n,): as how many alike each counts, where items were not told apart, and then `n_gold` is how many of all
    have gold; influences are then the roots of the sums of their squares. `beside`: golds of other items that are
    predicted by the same fit, which tell how far predictions hold, and nothing of the rates.
    """
    known = (gold >= 0) & (gold_weight > 0.0)
    if not known.any():  # items drawn again may all be without
        unknown = np.full(prediction.shape, np.nan)
        return Powered(unknown[0], unknown, unknown, 0.0, 0.0)
    each = np.ones(len(gold)) if times is None else times
    golds = int(known.sum()) if times is None else n_gold
    part = gold_weight[known] / (each * gold_weight)[known].sum()
    seen = np.eye(prediction.shape[1])[gold[known]]
    foreseen = prediction[known]
    samples = (GoldSample(seen, foreseen, part, each[known], golds), *beside)
    power = 0.0 if known.all() else tuned_power(samples)
    rest = seen - power * foreseen
    share = weight / (each * weight).sum()
    middle = (each * share) @ prediction
    corrected = (each[known] * part) @ rest
    # degrees of freedom: the mean's, and of the slope's what these golds have in it
    lost = 1.0 + (golds / sum(one.n_gold for one in samples) if power > 0.0 else 0.0)
    loose = np.sqrt(golds / (golds - lost)) if golds > lost else np.nan
    rates = power * middle + corrected
    shown = loose * part[:, None] * (rest - corrected)
    plain = loose * part[:, None] * (seen - rates)
    worth = 1.0 / float(each[known] @ part**2)
    least = expected_rest(prediction, each * share, power) / worth if power > 0.0 else 0.0
    root = np.sqrt(each)[:, None]
    by_labels = power * share[:, None] * (prediction - middle)
    by_gold, influence = by_labels * root, by_labels * root
    by_gold[known] += shown * root[known]
    influence[known] += _no_luckier(shown * root[known], plain * root[known], least)
    return Powered(rates, influence, by_gold, power, worth)


def expected_rest(prediction: Floats, share: Floats, power: float) -> float:
    """The variance of what gold has beyond its prediction times the power, over all classes, if predictions hold.

    prediction (n, K); share (n,): what each item counts for, 1 in all.
    """
    held = np.clip(prediction, 0.0, 1.0)
    apart = held - share @ held
    each = held * (1.0 - held) + (1.0 - power) ** 2 * apart**2
    return float((share @ each).sum())


def _no_luckier(shown: Floats, plain: Floats, least: float) -> Floats:
    """The golds' influences (m, K), with as much of those that they have on a plain mean as makes the variance `least`.

    shown + c plain: as if labels had foreseen that much less of each gold.
    """
    lack = least - float((shown**2).sum())
    square = float((plain**2).sum())
    if not (lack > 0.0 and square > 0.0):
        return shown
    half = float((shown * plain).sum())
    out: Floats = shown + (np.sqrt(half**2 + square * lack) - half) / square * plain
    return out


def tuned_power(samples: Sequence[GoldSample]) -> float:
    """The slope of gold on its predictions, between 0 and 1, drawn towards 0 as far as chance explains it.

    Every sample is measured from its own means, and counts for as much as it has golds.
    """
    n_gold = sum(one.n_gold for one in samples)
    if n_gold < 2 + len(samples):
        return 0.0
    weights, seen, foreseen = [], [], []
    for one in samples:
        whole = one.times * one.part
        weights.append(one.times * (one.part * one.n_gold / n_gold) ** 2)
        seen.append(one.seen - whole @ one.seen)
        foreseen.append(one.foreseen - whole @ one.foreseen)
    each, gap_seen, gap_foreseen = np.concatenate(weights)[:, None], np.concatenate(seen), np.concatenate(foreseen)
    spread = float((each * gap_foreseen**2).sum())
    if spread <= 1e-12 * float(each.sum()):
        return 0.0
    slope = float((each * gap_seen * gap_foreseen).sum()) / spread
    if slope <= 0.0:
        return 0.0
    rest = float((each * (gap_seen - slope * gap_foreseen) ** 2).sum()) / (n_gold - 1.0 - len(samples))
    return min(slope * max(0.0, 1.0 - CAUTION * rest / spread / slope**2), 1.0)


def gold_sample(fit: LevelFit, number: int) -> GoldSample | None:
    """The golds of one round of a fit, and what labels and all other golds predict of them; None if there are none."""
    rows, patterns = fit.rows, fit.rows.patterns
    here = rows.round == number
    where = rows.known & here
    if not patterns.counts[where].any():  # items drawn again may all be without
        return None
    foreseen = left_out(fit, where, np.where(here, patterns.counts, 0.0))
    weight, times = _weight_each(rows, where), patterns.items_of_row[where]
    seen = np.eye(rows.n_classes)[patterns.gold[where]]
    return GoldSample(seen, foreseen, weight / float(times @ weight), times, round(float(times.sum())))


def left_out(fit: LevelFit, where: Bools, average: Floats | None = None) -> Floats:
    """(m, K): the class shares of the rows `where`, all of which have gold, by their labels and every gold but one of
    their own.

    With the weights of an average (P,) they are measured from it: the mean of blind shares moves, too, when a gold is
    forgotten, and what it moves by is taken off again.
    """
    rows = _some_rows(fit.rows, np.flatnonzero(where))
    n_classes, gold = rows.n_classes, rows.patterns.gold
    shares = np.maximum(replace(fit, rows=rows.blind()).shares, _LEAST_SHARE)
    shares /= shares.sum(axis=1, keepdims=True)
    if not len(gold):
        return shares
    first = _scores(fit, rows, 0)
    apart = np.stack([(_scores(fit, rows, k) - first).toarray() for k in range(1, n_classes)], axis=1)  # (m, K-1, p)
    solved = fit.information.solve(apart.reshape(-1, apart.shape[2]).T).T.reshape(apart.shape)
    met = np.zeros((len(gold), n_classes, n_classes))
    met[:, 1:, 1:] = np.einsum("mkp,mlp->mkl", apart, solved)
    center = np.eye(n_classes) - shares[:, None, :]  # from s(k) - s(0) to d_k
    met = center @ met @ center.transpose(0, 2, 1)
    met *= _weight_each(fit.rows, where)[:, None, None]
    solvable = np.eye(n_classes) - shares[:, :, None] * met
    known = np.linalg.solve(solvable, np.eye(n_classes)[gold][:, :, None])[:, :, 0]
    move = np.einsum("mkl,ml->mk", met, known)
    out: Floats = np.exp(log_softmax(np.log(shares) - np.clip(move, -_FARTHEST, _FARTHEST), axis=1))
    if average is None:
        return out
    moved = np.einsum("ml,mlk->mk", known, center)[:, 1:] * _weight_each(fit.rows, where)[:, None]
    lost = np.clip(np.einsum("mk,mkp->mp", moved, solved) @ _mean_slope(fit, average), -1.0, 1.0)  # by the mean
    out += np.column_stack([-lost.sum(axis=1), lost])
    return out


def _mean_slope(fit: LevelFit, average: Floats) -> Floats:
    """(p, K-1): the derivative by the parameters of the mean of all rows' shares [1:], by their labels alone."""
    blind = replace(fit, rows=fit.rows.blind())
    pull = (average / average.sum())[:, None, None] * np.eye(fit.rows.n_classes)[:, 1:]
    return LevelInformation(blind).gradient(pull)


def _some_rows(rows: RoundRows, at: Ints) -> RoundRows:
    """Some of the rows, each one item."""
    patterns, one = rows.patterns, np.ones(len(at))
    some = replace(
        patterns,
        cells=patterns.cells[at],
        gold=patterns.gold[at],
        counts=one,
        row_of_item=np.arange(len(at)),
        item_weight=one,
        times=None,
    )
    return replace(rows, patterns=some, round=rows.round[at], covariates=rows.covariates[at])


def _scores(fit: LevelFit, rows: RoundRows, gold: int) -> Any:
    """(m, p) sparse: the scores of rows if all of them were of this class."""
    as_one = replace(rows.patterns, gold=np.full(rows.patterns.n_rows, gold))
    return LevelInformation(replace(fit, rows=replace(rows, patterns=as_one))).scores


def _weight_each(rows: RoundRows, where: Bools) -> Floats:
    """(m,) what an item of each of these rows counts for."""
    patterns = rows.patterns
    out: Floats = patterns.counts[where] / np.maximum(patterns.items_of_row[where], 1.0)
    return out
