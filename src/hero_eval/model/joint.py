"""History and current round fitted together: one likelihood for the reliabilities and the current class rates.

The reliabilities are shared; history's state weights and the current rates are free of each other. Fixing a linear
function of the rates and maximizing over all the rest gives its profile likelihood, whose drop from the maximum
measures how implausible that value is without leaning on a normal approximation.
Shapes: P patterns (history's, then current's), J labelers, L answers, S states, K classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse, special

from hero_eval.model.em import EMOptions, EMReport, answer_shares, run_accelerated_em, takes_kernel
from hero_eval.model.latent import Latent, answer_log_likelihood, floored_shares, normalize_log_weights, state_barrier
from hero_eval.model.patterns import Floats, Ints, Patterns, sum_by

_FURTHEST = 20.0
"""On the logit scale: 2e-9 from the edge, as good as on it. Doubled, a few more fits where the profile never falls
(reasoned)."""
_FAR_ROOT = 3.5
"""Of twice the likelihood's drop: an interval of 99.95%, beyond which the profile goes on straight. Doubled, twice the
fits for levels that nobody asks for (reasoned)."""
_ROOT_STEP = 0.6
"""Between the places that are fitted, in roots: straight lines between them are good to a hundredth of a root. Doubled,
half the fits, and ends of intervals off by up to four times as much (reasoned)."""


@dataclass(frozen=True, eq=False)
class Joint:
    """History's model and the current rates (K,)."""

    latent: Latent
    rates: Floats


@dataclass(frozen=True, eq=False)
class Fixed:
    """Hold  contrast . rates  at `value`."""

    contrast: Floats
    value: float


Sums = tuple[Floats, Floats, Floats, float]
"""Expected answers (J, L, S), states (S,) of history and of the current rows, and the likelihood."""


@dataclass(frozen=True, eq=False)
class Both:
    """History and current; current gold, if any, is not used."""

    history: Patterns
    current: Patterns
    state_class: Ints

    @cached_property
    def expect(self) -> Callable[[Joint], Sums]:
        """The E-step, with the sums that the M-step takes."""
        if not (takes_kernel(self.history) or takes_kernel(self.current)):
            return self._expect_stacked
        from hero_eval.model.kernel import Kernel  # compiled code, which small data need not load

        past, now = Kernel(self.history).step, Kernel(self.current).step

        def expect(at: Joint) -> Sums:
            before, past_states, likelihood = past(at.latent)
            here, states, more = now(replace(at.latent, weights=_current_weights(at)))
            return before + here, past_states, states, likelihood + more

        return expect

    @cached_property
    def _stacked(self) -> tuple[Patterns, Floats]:
        """Both as one set of patterns, history's first, and what their gold rules out."""
        history, current = self.history, self.current
        patterns = replace(
            history,
            cells=sparse.vstack([history.cells, current.cells], format="csr"),
            gold=np.concatenate([history.gold, current.gold]),
            counts=np.concatenate([history.counts, current.counts]),
            row_of_item=np.concatenate([history.row_of_item, current.row_of_item + history.n_rows]),
            item_weight=np.concatenate([history.item_weight, current.item_weight]),
            times=None,  # the joint fit looks at rows only
            row_items=None,
        )
        return patterns, state_barrier(patterns.gold, self.state_class)

    def _expect_stacked(self, at: Joint) -> Sums:
        patterns, barrier = self._stacked
        n_history = self.history.n_rows
        joint = answer_log_likelihood(patterns, at.latent.answers)
        joint += barrier
        joint[:n_history] += np.log(at.latent.weights)
        joint[n_history:] += np.log(_current_weights(at))
        post, by_row = normalize_log_weights(joint)
        expected = post * patterns.counts[:, None]
        past, now = expected[:n_history].sum(axis=0), expected[n_history:].sum(axis=0)
        return patterns.to_cells(expected), past, now, float(patterns.counts @ by_row)


def _current_weights(at: Joint) -> Floats:
    """(S,) the states' shares in the current round."""
    out: Floats = at.latent.within_class() * at.rates[at.latent.state_class]
    return out


def stack(history: Patterns, current: Patterns, latent: Latent) -> Both:
    """Current gold, if any, is not used."""
    return Both(history, replace(current, gold=np.full_like(current.gold, -1)), latent.state_class)


def fit_joint(both: Both, start: Joint, options: EMOptions, fixed: Fixed | None = None) -> tuple[Joint, EMReport]:
    """Maximize the joint likelihood, maybe with a function of the rates held at a value."""
    shape, state_class = start.latent.answers.shape, start.latent.state_class
    n_states, n_classes = start.latent.n_states, len(start.rates)

    def of(vector: Floats) -> Joint:
        answers = vector[n_states + n_classes :].reshape(shape)
        return Joint(Latent(vector[:n_states], answers, state_class), vector[n_states : n_states + n_classes])

    def step(vector: Floats) -> tuple[Floats, float]:
        at = of(vector)
        sums = both.expect(at)
        return _vector(_m_step(sums, at, options.clip, fixed)), sums[-1]

    def within(vector: Floats) -> Floats:
        moved = of(np.maximum(vector, 0.0))
        rates = _held(moved.rates, fixed, options.clip)
        weights = floored_shares(moved.latent.weights, options.clip, axis=0)
        answers = floored_shares(moved.latent.answers, options.clip, axis=1)
        return _vector(Joint(Latent(weights, answers, state_class), rates))

    begin = replace(start, rates=_held(start.rates, fixed, options.clip))
    found, report = run_accelerated_em(step, within, _vector(begin), options)
    return of(found), report


def _vector(point: Joint) -> Floats:
    return np.concatenate([point.latent.weights, point.rates, point.latent.answers.ravel()])


def _m_step(sums: Sums, old: Joint, clip: float, fixed: Fixed | None) -> Joint:
    cells, past, now, _ = sums
    answers = answer_shares(cells, old.latent, clip)
    of_class, n_classes = old.latent.state_class, len(old.rates)
    weights = past
    if len(of_class) > n_classes:  # states share out their class alike in both rounds; history alone weighs the classes
        whole = past + now
        share = whole / sum_by(of_class, whole, n_classes)[of_class]
        weights = share * sum_by(of_class, past, n_classes)[of_class]
    rates = _held(sum_by(of_class, now, n_classes), fixed, clip)
    return Joint(Latent(floored_shares(weights, clip, axis=0), answers, of_class), rates)


def _held(counts: Floats, fixed: Fixed | None, clip: float) -> Floats:
    """Rates that maximize sum(counts * log rate), on the simplex and with the held function at its value."""
    if fixed is None:
        return floored_shares(counts, min(clip, 1e-9), axis=0)
    gap = fixed.contrast - fixed.value
    counts = np.maximum(counts, 1e-9 * counts.sum())
    total = float(counts.sum())
    if len(counts) == 2:
        share = -gap[0] / (gap[1] - gap[0])
        return np.array([1.0 - share, share])
    low, high = -total / gap.max(), -total / gap.min()
    edge = 1e-12 * (high - low)

    from scipy import optimize  # takes long to load, and two classes do without

    def balance(multiplier: float) -> float:
        return float((counts * gap / (total + multiplier * gap)).sum())

    multiplier = optimize.brentq(balance, low + edge, high - edge, xtol=1e-14 * total, rtol=8.9e-16)
    rates: Floats = counts / (total + multiplier * gap)
    held: Floats = rates / rates.sum()
    return held


@dataclass(frozen=True, eq=False)
class Profile:
    """Signed roots of twice the drop of the likelihood at rising places on the logit scale, and if all fits converged.

    The root is 0 at the value that fits best; a root of 1.96 marks the end of a 95% interval.
    """

    places: Floats
    roots: Floats
    converged: bool


def profile(
    both: Both, maximum: tuple[Joint, EMReport], contrast: Floats, spacing: float, options: EMOptions
) -> Profile:
    """The profile likelihood of  contrast . rates,  walked out from its maximum; `spacing` guesses the first step."""
    best, report = maximum
    least, most = float(contrast.min()), float(contrast.max())
    share = (float(contrast @ best.rates) - least) / (most - least)
    center = float(special.logit(min(max(share, 1e-8), 1 - 1e-8)))
    places, roots, converged = [center], [0.0], report.converged
    for side in (-1.0, 1.0):
        place, root, step, at = center, 0.0, spacing, best
        while root < _FAR_ROOT and abs(place + side * step) < _FURTHEST:
            place += side * step
            value = least + (most - least) * float(special.expit(place))
            at, held = fit_joint(both, at, options, Fixed(contrast, value))
            converged = converged and held.converged
            new_root = math.sqrt(max(0.0, 2 * (report.log_likelihood - held.log_likelihood)))
            places.append(place)
            roots.append(side * max(root, new_root))
            if (
                new_root - root > 2.5 * _ROOT_STEP and step > 0.02
            ):  # too far for a straight line: go back and look between
                place, step = place - side * step, 0.4 * step
                continue
            step *= min(max(_ROOT_STEP / max(new_root - root, 1e-3), 0.5), 2.5)
            root = max(root, new_root)
    order = np.argsort(places, kind="stable")
    return Profile(np.array(places)[order], np.maximum.accumulate(np.array(roots)[order]), converged)
