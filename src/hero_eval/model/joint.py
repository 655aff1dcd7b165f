"""History and current round fitted together: one likelihood for the reliabilities and the current class rates.

The reliabilities are shared; history's state weights and the current rates are free of each other. Fixing a linear function
of the rates and maximising over all the rest gives its profile likelihood, whose drop from the maximum measures how
implausible that value is without leaning on a normal approximation.
Shapes: P patterns (history's, then current's), J labelers, L answers, S states, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, sparse, special

from hero_eval.model.em import EMOptions, EMReport, climb
from hero_eval.model.latent import Latent, answer_log_likelihood, floored_shares, state_barrier
from hero_eval.model.patterns import Floats, Patterns, sum_by

_FURTHEST = 20.0  # on the logit scale: 2e-9 from the edge


@dataclass(frozen=True)
class Joint:
    """History's model and the current rates (K,)."""

    latent: Latent
    rates: Floats


@dataclass(frozen=True)
class Fixed:
    """Hold  contrast . rates  at `value`."""

    contrast: Floats
    value: float


@dataclass(frozen=True)
class Both:
    """History and current as one set of patterns; the first `n_history` rows are history's."""

    patterns: Patterns
    n_history: int
    barrier: Floats


def stack(history: Patterns, current: Patterns, latent: Latent) -> Both:
    """Current gold, if any, is not used."""
    patterns = replace(
        history,
        cells=sparse.vstack([history.cells, current.cells], format="csr"),
        gold=np.concatenate([history.gold, np.full(current.n_rows, -1)]),
        counts=np.concatenate([history.counts, current.counts]),
        row_of_item=np.concatenate([history.row_of_item, current.row_of_item + history.n_rows]),
        item_weight=np.concatenate([history.item_weight, current.item_weight]),
    )
    return Both(patterns, history.n_rows, state_barrier(patterns.gold, latent.state_class))


def fit_joint(
    both: Both, start: Joint, options: EMOptions, fixed: Fixed | None = None, pseudo: Floats | None = None
) -> tuple[Joint, EMReport]:
    """Maximise the joint likelihood (plus pseudo-answers (J, L, S), if given), maybe with a function of the rates held."""
    shape, state_class = start.latent.answers.shape, start.latent.state_class
    n_states, n_classes = start.latent.n_states, len(start.rates)

    def of(vector: Floats) -> Joint:
        answers = vector[n_states + n_classes :].reshape(shape)
        return Joint(Latent(vector[:n_states], answers, state_class), vector[n_states : n_states + n_classes])

    def step(vector: Floats) -> tuple[Floats, float]:
        at = of(vector)
        post, likelihood = _expect(both, at)
        if pseudo is not None:
            likelihood += float((pseudo * np.log(at.latent.answers)).sum())
        return _vector(_maximise(both, post, at, options.clip, fixed, pseudo)), likelihood

    def within(vector: Floats) -> Floats:
        moved = of(np.maximum(vector, 0.0))
        rates = _held(moved.rates, fixed, options.clip)
        weights = floored_shares(moved.latent.weights, options.clip, axis=0)
        answers = floored_shares(moved.latent.answers, options.clip, axis=1)
        return _vector(Joint(Latent(weights, answers, state_class), rates))

    begin = replace(start, rates=_held(start.rates, fixed, options.clip))
    found, report = climb(step, within, _vector(begin), options)
    return of(found), report


def _vector(point: Joint) -> Floats:
    return np.concatenate([point.latent.weights, point.rates, point.latent.answers.ravel()])


def _expect(both: Both, at: Joint) -> tuple[Floats, float]:
    joint = answer_log_likelihood(both.patterns, at.latent.answers)
    joint += both.barrier
    joint[: both.n_history] += np.log(at.latent.weights)
    joint[both.n_history :] += np.log(at.latent.within_class() * at.rates[at.latent.state_class])
    top = np.maximum.reduce(joint, axis=1, keepdims=True)
    joint -= top
    np.exp(joint, out=joint)
    total = np.add.reduce(joint, axis=1, keepdims=True)
    joint /= total
    return joint, float(both.patterns.counts @ (np.log(total) + top)[:, 0])


def _maximise(
    both: Both, post: Floats, old: Joint, clip: float, fixed: Fixed | None, pseudo: Floats | None
) -> Joint:
    expected = post * both.patterns.counts[:, None]
    cells = both.patterns.to_cells(expected)
    answers = floored_shares(cells if pseudo is None else cells + pseudo, clip, axis=1)
    if np.isnan(np.add.reduce(answers, axis=None)):
        answers = np.where(np.isnan(answers), old.latent.answers, answers)
    past, now = expected[: both.n_history].sum(axis=0), expected[both.n_history :].sum(axis=0)
    of_class, n_classes = old.latent.state_class, len(old.rates)
    weights = past
    if len(of_class) > n_classes:  # states share out their class alike in both rounds; history alone weighs the classes
        whole = past + now
        share = whole / sum_by(of_class, whole, n_classes)[of_class]
        weights = share * sum_by(of_class, past, n_classes)[of_class]
    rates = _held(sum_by(of_class, now, n_classes), fixed, clip)
    return Joint(Latent(floored_shares(weights, clip, axis=0), answers, of_class), rates)


def _held(counts: Floats, fixed: Fixed | None, clip: float) -> Floats:
    """Rates that maximise sum(counts * log rate), on the simplex and with the held function at its value."""
    if fixed is None:
        return floored_shares(counts, min(clip, 1e-9), axis=0)
    gap = fixed.contrast - fixed.value
    counts = np.maximum(counts, 1e-12)
    total = float(counts.sum())
    if len(counts) == 2:
        share = -gap[0] / (gap[1] - gap[0])
        return np.array([1.0 - share, share])
    low, high = -total / gap.max(), -total / gap.min()
    edge = 1e-12 * (high - low)

    def balance(multiplier: float) -> float:
        return float((counts * gap / (total + multiplier * gap)).sum())

    multiplier = optimize.brentq(balance, low + edge, high - edge, xtol=1e-14 * total, rtol=8.9e-16)
    rates: Floats = counts / (total + multiplier * gap)
    return rates / rates.sum()


@dataclass(frozen=True)
class Profile:
    """The value that fits best, and where the likelihood has dropped by the level's share on either side."""

    value: float
    low: float
    high: float
    converged: bool


@dataclass
class _Running:
    """Where the last held fit ended, from which the next one starts."""

    at: Joint
    converged: bool


def profile_interval(
    both: Both,
    start: Joint,
    contrast: Floats,
    level: float,
    options: EMOptions,
    pseudo: Floats | None = None,
) -> Profile:
    """Values of  contrast . rates  that the joint likelihood does not reject, between the contrast's bounds."""
    best, report = fit_joint(both, start, options, None, pseudo)
    centre = float(contrast @ best.rates)
    least, most = float(contrast.min()), float(contrast.max())
    drop = float(special.chdtri(1.0, 1.0 - level)) / 2.0
    state = _Running(best, report.converged)

    def excess(scaled: float) -> float:
        value = least + (most - least) * float(special.expit(scaled))
        state.at, held_report = fit_joint(both, state.at, options, Fixed(contrast, value), pseudo)
        state.converged = state.converged and held_report.converged
        return report.log_likelihood - held_report.log_likelihood - drop

    inner = min(max((centre - least) / (most - least), 1e-9), 1 - 1e-9)
    at = float(special.logit(inner))
    ends = []
    for side in (-1.0, 1.0):
        state.at = best
        ends.append(_crossing(excess, at, drop, side))
    low, high = (least + (most - least) * float(special.expit(end)) for end in ends)
    return Profile(centre, low, high, state.converged)


def _crossing(excess: Callable[[float], float], at: float, drop: float, side: float) -> float:
    """Where `excess`, which is -drop at `at`, turns positive going out; infinity if it never does.

    Values already seen are kept and not computed anew, as each comes from a fit started where the last one ended.
    """
    inner, below, step = at, -drop, 0.25
    for _ in range(30):
        outer = inner + side * step
        if abs(outer) > _FURTHEST:
            return side * np.inf
        above = excess(outer)
        if above > 0:
            return _between(excess, inner, below, outer, above)
        inner, below, step = outer, above, step * 1.6
    return side * np.inf


def _between(excess: Callable[[float], float], inner: float, below: float, outer: float, above: float) -> float:
    """The crossing in a bracket, by secants with a halving now and then."""
    for trial in range(40):
        guess = outer - above * (outer - inner) / (above - below)
        if trial % 3 == 2:
            guess = 0.5 * (inner + outer)
        value = excess(guess)
        inner, below, outer, above = (inner, below, guess, value) if value > 0 else (guess, value, outer, above)
        if abs(outer - inner) < 1e-3 or abs(value) < 1e-3:
            break
    return outer - above * (outer - inner) / (above - below)
