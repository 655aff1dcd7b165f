"""The influences of HERO-2, item by item, or the sums of their squares where covariates are held as sums.

An item's influence is quadratic in its covariates, with coefficients that depend on its row.
Shapes: n current items, N of history, P rows, d covariates, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hero_eval.model.moments import Forms
from hero_eval.model.patterns import Floats, Patterns
from hero_eval.model.regression import Covariates, SummedCovariates


@dataclass(frozen=True, eq=False)
class Pulls:
    """What an item's influence on the rates depends on, with a = (z - mean) . toward and b = (z - mean) . gamma.

    A current item's is (constant - target * a + (a - 1) * b) @ turn, and (known - b) @ turn with all but scores known;
    a history item's is by_reliability + z @ by_mean. toward (d,), gamma and by_mean (d, K-1), turn (K-1, K-1);
    constant, target, known (P, K-1) and by_reliability by row.
    """

    toward: Floats
    gamma: Floats
    constant: Floats
    target: Floats
    known: Floats
    turn: Floats
    by_reliability: Floats
    by_mean: Floats


@dataclass(frozen=True, eq=False)
class Influences:
    """As `Fit` has them. Factors (K-1, K-1) of the sums of squares stand for items' influences wherever these are only
    squared and summed."""

    current: Floats
    history: Floats
    paper: Floats
    by_mean: Floats | None = None


def item_influences(pulls: Pulls, now: Patterns, past: Patterns, covariates: Covariates) -> Influences:
    """(n, K-1) of current and (N, K-1) of history."""
    row, weight = now.row_of_item, now.item_weight[:, None]
    centerd = covariates.current - covariates.mean
    a, b = (centerd @ pulls.toward)[:, None], centerd @ pulls.gamma
    quadratic = pulls.constant[row] - pulls.target[row] * a + (a - 1.0) * b
    by_mean = past.item_weight[:, None] * (covariates.history @ pulls.by_mean)
    return Influences(
        current=weight * quadratic @ pulls.turn,
        history=past.to_items(pulls.by_reliability) + by_mean,
        paper=weight * (pulls.known[row] - b) @ pulls.turn,
        by_mean=by_mean,
    )


def summed_influences(
    pulls: Pulls, now: Patterns, past: Patterns, covariates: SummedCovariates, grams: Callable[[Forms], Floats]
) -> Influences:
    """Factors (K-1, K-1), from sums of products of (1, a, (a - 1) b) by row, in which the influence is linear."""
    here, there, by_mean = covariates.here, covariates.there, pulls.by_mean
    n, d, n_scores = len(here.names), len(there.names), pulls.gamma.shape[1]
    directions = np.concatenate([pulls.toward[None, :], pulls.gamma.T])
    on = directions @ covariates.on
    by_row = grams(Forms(-directions @ covariates.offset, on[:, :n], on[:, n:]))
    weights = np.zeros((len(pulls.constant), n_scores, n_scores + 2))
    weights[:, :, 0] = pulls.constant
    weights[:, :, 1] = -pulls.target
    weights[:, :, 2:] = np.eye(n_scores)
    current = np.einsum("pka,pab,plb->kl", weights, by_row, weights, optimize=True)
    base = pulls.known + covariates.offset @ pulls.gamma
    less = -on[1:]  # the regression, taken away from the scores
    sums = np.concatenate([here.seen_sq, here.sums_sq], axis=1) @ less.T
    known = _squares(base, now.row_squares, sums, less @ here.products_sq @ less.T)
    products = by_mean.T @ there.products_sq[d:, d:] @ by_mean
    return Influences(
        current=_factor(pulls.turn.T @ current @ pulls.turn),
        history=_factor(_squares(pulls.by_reliability, past.row_squares, there.sums_sq @ by_mean, products)),
        paper=_factor(pulls.turn.T @ known @ pulls.turn),
    )


def _squares(base: Floats, squares: Floats, sums: Floats, products: Floats) -> Floats:
    """The sum of w^2 (base + v) (base + v)' over items, base (P, m) by row, from sums of w^2, w^2 v and w^2 v v'."""
    cross = base.T @ sums
    out: Floats = (base * squares[:, None]).T @ base + cross + cross.T + products
    return out


def _factor(whole: Floats) -> Floats:
    """F with F'F = whole; nan stays nan."""
    if not np.isfinite(whole).all():
        return np.full_like(whole, np.nan)
    values, vectors = np.linalg.eigh(0.5 * (whole + whole.T))
    out: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return out
