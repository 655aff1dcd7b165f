"""HERO-2 from sums of covariates by answer pattern: the mathematics of `hero2` and `model.control`, without items.

The tilt needs only sums by row and products over all items. An item's influence is quadratic in its covariates, with
coefficients that depend on its row:  q = c_row - t_row * a + (a - 1) * b,  a and b linear in the covariates. So sums of
products of the features (1, a, (a - 1) b), by row, give the sum of squared influences exactly.
Shapes: P rows, d covariates, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hero_eval.methods.current_rate import Carried, carry, tilt_gradient
from hero_eval.methods.evidence import CountedCovariates, CovariateEvidence
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Bools, Floats
from hero_eval.model.rates import Root, solve_rates
from hero_eval.model.regression import Ridge, solve_ridge

_COLLINEAR = 1e-10  # of a column's variance: what is left of it beside the columns before it


@dataclass(frozen=True, eq=False)
class Ready:
    """The current round's covariates z, centred at the historical mean and scaled, as sums; d of them are kept.

    rows (P, d) sums of w z; mean (d,), variance (d, d); `turn` (d, 2D) makes z of the (s, y) of all D covariates.
    """

    kept: tuple[int, ...]
    constant: tuple[int, ...]
    collinear: tuple[int, ...]
    absent: tuple[int, ...]
    rows: Floats
    mean: Floats
    variance: Floats
    turn: Floats
    shift: Floats
    missing: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Tilt:
    """HERO-1, the covariates, their regression, and the root of the tilted score."""

    carried: Carried
    ready: Ready
    ridge: Ridge
    root: Root


def prepare_counts(evidence: CovariateEvidence, counted: CountedCovariates, *, drop_collinear: bool) -> Ready:
    """Centre at the historical mean, scale; drop what carries nothing (constant) or nothing new (collinear)."""
    here = counted.current
    past = counted.history.moved(here.centre, here.scale)
    total, n = evidence.current.total, len(counted.names)
    seen_past, seen_here = past.seen.sum(axis=0), here.seen.sum(axis=0)
    absent = ~((seen_past > 0) & (seen_here > 0))
    means = past.sums.sum(axis=0) / np.maximum(seen_past, 1e-300)
    turn = np.concatenate([-np.diag(means), np.eye(n)], axis=1)
    rows = here.sums - here.seen * means
    mean = rows.sum(axis=0) / total
    variance = turn @ here.products @ turn.T / total - np.outer(mean, mean)
    scale = np.sqrt(np.maximum(np.diag(variance), 0.0))
    constant = ~absent & (scale * here.scale <= 1e-9 * np.maximum(here.largest, 1e-300))
    usable = np.nonzero(~absent & ~constant)[0]
    unit = np.where(scale > 0, scale, 1.0)
    collinear: tuple[int, ...] = ()
    if drop_collinear and len(usable):
        independent = _independent((variance / np.outer(unit, unit))[np.ix_(usable, usable)])
        collinear = tuple(int(c) for c in usable[~independent])
        usable = usable[independent]
    n_items = evidence.current.n_items, evidence.history.n_items if evidence.history is not None else 0
    missing = [
        1.0 - float(of.observed[usable].mean()) / count if len(usable) else 0.0
        for of, count in zip((here, past), n_items, strict=True)
    ]
    ready = Ready(
        kept=tuple(int(c) for c in usable),
        constant=tuple(int(c) for c in np.nonzero(constant)[0]),
        collinear=collinear,
        absent=tuple(int(c) for c in np.nonzero(absent)[0]),
        rows=(rows / unit)[:, usable],
        mean=(mean / unit)[usable],
        variance=(variance / np.outer(unit, unit))[np.ix_(usable, usable)],
        turn=(turn / unit[:, None])[usable],
        shift=np.zeros(0),
        missing=(max(missing[0], 0.0), max(missing[1], 0.0)),
    )
    return replace(ready, shift=_mean_shift(here, past, ready))


def _independent(variance: Floats) -> Bools:
    """Which columns are not (nearly) combinations of the columns before them, by their covariance."""
    left = variance.copy()
    keep = np.zeros(len(left), dtype=bool)
    for c in range(len(left)):
        if left[c, c] > _COLLINEAR:
            keep[c] = True
            left = left - np.outer(left[:, c], left[c]) / left[c, c]
    return keep


def _mean_shift(here: Moments, past: Moments, ready: Ready) -> Floats:
    """(d,) z-statistics of the difference between the current and the historical mean of each covariate."""

    def mean_variance(of: Moments) -> tuple[Floats, Floats]:
        n = len(of.names)
        kept = np.array(ready.kept, dtype=int)
        mass = of.seen.sum(axis=0)[kept]
        sums = ready.turn @ np.concatenate([of.seen.sum(axis=0), of.sums.sum(axis=0)])
        mean = sums / mass
        squares = np.einsum("da,ab,db->d", ready.turn, of.products_sq, ready.turn)
        with_flag = np.einsum("da,ad->d", ready.turn, of.products_sq[:, :n][:, kept])
        flags = np.diag(of.products_sq)[:n][kept]
        return mean, (squares - 2 * mean * with_flag + mean**2 * flags) / mass**2

    there, here_variance = mean_variance(here)
    _, past_variance = mean_variance(past)
    shift: Floats = there / np.sqrt(np.maximum(here_variance + past_variance, 1e-300))
    return shift


def counted_tilt(evidence: CovariateEvidence, counted: CountedCovariates, penalty: float | None) -> Tilt:
    carried = carry(evidence.current, evidence.anchored)
    ready = prepare_counts(evidence, counted, drop_collinear=penalty == 0.0)
    total, counts = evidence.current.total, evidence.current.counts
    psi = carried.psi(carried.pilot)
    middle = counts @ psi / total
    covariance = ready.rows.T @ psi / total - np.outer(ready.mean, middle)
    spread = float((counts @ (psi - middle) ** 2).sum() / total)
    ridge = solve_ridge(ready.variance, covariance, spread, evidence.current.n_items, penalty)
    root = solve_rates(carried.likelihood, counts, ridge.gamma.T @ ready.mean)
    return Tilt(carried, ready, ridge, root)


def counted_influences(
    evidence: CovariateEvidence, counted: CountedCovariates, tilt: Tilt, at: Floats
) -> tuple[Floats, Floats, Floats]:
    """Factors (K-1, K-1) of the sums of squared influences: of current, of history, and of current in the paper's way.

    They stand for the items' influences wherever these are only squared and summed.
    """
    carried, ready, ridge = tilt.carried, tilt.ready, tilt.ridge
    total, counts = evidence.current.total, evidence.current.counts
    inverse = carried.inverse_information(at)
    pilot = carried.inside
    pilot_inverse = carried.inverse_information(pilot)
    psi = carried.psi(at)
    direct = psi - counts @ psi / total
    toward = ridge.inverse @ ready.mean
    row_along = (ready.rows @ toward - counts * (ready.mean @ toward)) / total
    pilot_psi = carried.psi(pilot)
    bend = -(pilot_psi * row_along[:, None]).T @ pilot_psi
    constant = direct + ridge.penalty * toward @ ridge.gamma - pilot_psi @ pilot_inverse @ bend.T
    target = carried.psi(carried.pilot)
    target = target - counts @ target / total
    current = _sum_of_squares(counted, ready, toward, ridge.gamma, constant, target)
    gradient = carried.mean_gradients(at) - tilt_gradient(carried, row_along, pilot, pilot_inverse, bend)
    return (
        _factor(current, inverse / total),
        _history_factor(evidence, counted, tilt, gradient, inverse),
        _factor(_paper_squares(evidence, counted, tilt, direct), inverse / total),
    )


def _sum_of_squares(
    counted: CountedCovariates, ready: Ready, toward: Floats, gamma: Floats, constant: Floats, target: Floats
) -> Floats:
    """(K-1, K-1) sum of w^2 q q' with q = constant - target * a + (a - 1) * b; a along `toward`, b along gamma."""
    n, n_scores = len(counted.names), gamma.shape[1]
    directions = np.concatenate([toward[None, :], gamma.T])
    on = directions @ ready.turn
    grams = counted.grams(Forms(-directions @ ready.mean, on[:, :n], on[:, n:]))
    weights = np.zeros((len(constant), n_scores, n_scores + 2))
    weights[:, :, 0] = constant
    weights[:, :, 1] = -target
    weights[:, :, 2:] = np.eye(n_scores)
    out: Floats = np.einsum("pka,pab,plb->kl", weights, grams, weights, optimize=True)
    return out


def _paper_squares(evidence: CovariateEvidence, counted: CountedCovariates, tilt: Tilt, direct: Floats) -> Floats:
    """(K-1, K-1) sum of w^2 of the scores less their regression, taken as known."""
    ready, gamma, here = tilt.ready, tilt.ridge.gamma, counted.current
    base = direct + ready.mean @ gamma
    turned = np.concatenate([here.seen_sq, here.sums_sq], axis=1) @ ready.turn.T @ gamma
    own = (base * evidence.current.row_squares[:, None]).T @ base
    cross = base.T @ turned
    both = gamma.T @ ready.turn @ here.products_sq @ ready.turn.T @ gamma
    out: Floats = own - cross - cross.T + both
    return out


def _history_factor(
    evidence: CovariateEvidence, counted: CountedCovariates, tilt: Tilt, gradient: Floats, inverse: Floats
) -> Floats:
    """History items pull on the reliabilities, by their row, and on the historical mean, by their covariates."""
    information, ready = tilt.carried.learned.information, tilt.ready
    rows = information.row_influence(information.solve(gradient) @ inverse)
    past = counted.history.moved(counted.current.centre, counted.current.scale)
    kept = np.array(ready.kept, dtype=int)
    seen_share = counted.current.seen.sum(axis=0)[kept] / evidence.current.total
    pull = (seen_share / past.seen.sum(axis=0)[kept])[:, None] * tilt.ridge.gamma @ inverse
    assert evidence.history is not None
    own = (rows * evidence.history.row_squares[:, None]).T @ rows
    cross = rows.T @ (np.concatenate([past.seen_sq, past.sums_sq], axis=1) @ ready.turn.T @ pull)
    both = pull.T @ ready.turn @ past.products_sq @ ready.turn.T @ pull
    return _factor(own + cross + cross.T + both, np.eye(len(own)))


def _factor(squares: Floats, turn: Floats) -> Floats:
    """F with F'F = turn' squares turn; nan stays nan."""
    whole = turn.T @ squares @ turn
    if not np.isfinite(whole).all():
        return np.full_like(whole, np.nan)
    values, vectors = np.linalg.eigh(0.5 * (whole + whole.T))
    out: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return out
