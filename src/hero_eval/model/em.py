"""Stage A: anchored EM, plain as in the paper or accelerated, on pattern counts.

The M-step is the exact maximizer under the clipping bound, so each step raises (never lowers) the likelihood that
`latent.posterior` reports. Acceleration (SQUAREM: a squared extrapolation of two steps) is taken only where it does
not lower that likelihood, so the sequence of accepted points still climbs, to the same maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hero_eval.model.answer_order import answer_classes
from hero_eval.model.latent import Latent, floored_shares, posterior, state_barrier
from hero_eval.model.patterns import Floats, Patterns, dot, sum_by

Expectation = Callable[[Latent], tuple[Floats, Floats, float]]
"""The E-step: expected answers (J, L, S), expected states (S,) and the likelihood, at a point."""

_FIRST_LENGTH = 4.0
"""The longest first extrapolation, in EM steps (SQUAREM's usual 4; it grows where extrapolations pay). It changes the
way to the maximum, not the maximum. Doubled, a few more extrapolations are refused (reasoned)."""
MANY_NUMBERS = 4_000
"""Probabilities in a fit, above which it rests when the likelihood does: a thousand labelers of two classes. Doubled,
fits of one to two thousand labelers take many more steps for digits that nobody sees (reasoned)."""
LEAST_GAIN = 1e-9
"""Of log-likelihood, for each of them: see `EMOptions`. Doubled, rates of such fits are off by up to 1.4 times as much,
still far below their standard errors (reasoned)."""
_GAIN_ROUNDS = 10
"""Over which that gain is taken. Doubled, such fits take ten rounds more (reasoned)."""
MANY_LABELS = 40_000
"""In patterns, from which on the compiled kernel pays for its start, as that of hero3 (`hero3.likelihood`), which the
default loads anyway. It bounds time only; sums differ in their last digits (reasoned)."""


@dataclass(frozen=True)
class EMOptions:
    """clip: bound on every probability; tolerance: on the relative change of the likelihood; max_steps: EM steps.

    `step_tolerance` bounds the largest change of any probability in a step; None (the paper's rule) leaves it out.
    In a fit of more than MANY_NUMBERS probabilities there is always some labeler of few labels that still creeps along
    a flat likelihood. Such a fit also rests when its last ten rounds (three steps each) raised the log-likelihood
    by less than LEAST_GAIN for each probability: where d is still to be gained, no smooth function of the parameters
    is further from its value at the maximum than sqrt(2 d) of its standard errors.
    `plain_steps` are taken before any acceleration: without gold there are several maxima, and the one to end at is
    that which plain EM goes to.
    """

    clip: float = 1e-3
    tolerance: float = 1e-10
    step_tolerance: float | None = 1e-11
    max_steps: int = 10_000
    accelerate: bool = True
    plain_steps: int = 0

    @classmethod
    def paper(cls) -> EMOptions:
        """The paper's own rule: relative change 1e-6, at most 200 plain steps."""
        return cls(tolerance=1e-6, step_tolerance=None, max_steps=200, accelerate=False)


@dataclass(frozen=True)
class EMReport:
    """How a fit went: EM steps taken, the last relative change of the likelihood, and whether that was enough."""

    n_steps: int
    change: float
    converged: bool
    log_likelihood: float
    path: tuple[float, ...] = field(repr=False, default=())

    @property
    def state(self) -> str:
        """In words. How many steps a fit took to rest depends on the processor, so it says that of the others alone."""
        return "converged" if self.converged else f"NOT converged after {self.n_steps:,} step{'s'[: self.n_steps > 1]}"


def gold_start(patterns: Patterns, n_classes: int, clip: float) -> Latent:
    """One state a class, from the gold rows alone.

    A labeler without gold of some class starts from all labelers' pooled answers on that class; a class without any
    gold starts from answers that are right more often than not (2 to 1 for it against all the others together).
    """
    hits, class_counts = gold_counts(patterns, n_classes)
    pooled = hits.sum(axis=0, keepdims=True)
    start = np.where(hits.sum(axis=1, keepdims=True) > 0, hits, pooled)
    guess = np.full((patterns.n_answers, n_classes), 1.0 / max(patterns.n_answers - 1, 1))
    if patterns.n_answers == n_classes:
        np.fill_diagonal(guess, 2.0)
    else:
        guess += 2.0 * answer_classes(patterns.n_answers, n_classes)
    start = np.where(start.sum(axis=1, keepdims=True) > 0, start, guess[None])
    shares = floored_shares(class_counts, clip, axis=0) if class_counts.sum() > 0 else None
    weights = np.full(n_classes, 1.0 / n_classes) if shares is None else shares
    return Latent(weights, floored_shares(start, clip, axis=1), np.arange(n_classes))


def gold_counts(patterns: Patterns, n_classes: int) -> tuple[Floats, Floats]:
    """On gold rows: (J, L, K) how often a labeler gave each answer to each class, and (K,) items of each class."""
    rows = slice(None) if patterns.is_small else np.flatnonzero(patterns.gold >= 0)  # a few of many
    known = (patterns.gold[rows, None] == np.arange(n_classes)[None, :]) * patterns.counts[rows, None]
    if patterns.is_small:
        return patterns.to_cells(known), known.sum(axis=0)
    hits: Floats = patterns.cells[rows].T @ known
    return hits.reshape(patterns.n_labelers, patterns.n_answers, -1), known.sum(axis=0)


def gold_classes(patterns: Patterns, n_classes: int) -> Floats:
    """(K,): how many items have gold of each class."""
    known = np.flatnonzero(patterns.gold >= 0)
    return sum_by(patterns.gold[known], patterns.counts[known], n_classes)


def vote_start(patterns: Patterns, n_classes: int, clip: float) -> Latent:
    """The start of an EM without gold: one M-step from each item's vote shares."""
    votes = vote_counts(patterns, n_classes)
    shares = votes / votes.sum(axis=1, keepdims=True)
    first = Latent(
        np.full(n_classes, 1.0 / n_classes),
        np.full((patterns.n_labelers, patterns.n_answers, n_classes), 1.0 / patterns.n_answers),
        np.arange(n_classes),
    )
    return m_step(patterns, shares, first, clip)


def vote_counts(patterns: Patterns, n_classes: int) -> Floats:
    """(P, K): how many labelers gave each answer in each row."""
    to_answer = np.tile(answer_classes(patterns.n_answers, n_classes), (patterns.n_labelers, 1))
    return patterns.from_cells(to_answer)


def m_step(patterns: Patterns, post: Floats, old: Latent, clip: float, pseudo: Floats | None = None) -> Latent:
    """M-step of Algorithm 1: class weights over all rows, answers by expected counts, both kept off 0 and 1.

    `pseudo` (J, L, S) are answers that a prior adds to those seen.
    """
    expected = post * patterns.counts[:, None]
    cells = patterns.to_cells(expected)
    answers = answer_shares(cells if pseudo is None else cells + pseudo, old, clip)
    return Latent(floored_shares(expected.sum(axis=0), clip, axis=0), answers, old.state_class)


def answer_shares(cells: Floats, old: Latent, clip: float) -> Floats:
    """Expected answers (J, L, S) as shares; a labeler without any label in some state stays as it was."""
    answers = floored_shares(cells, clip, axis=1)
    if np.isnan(np.add.reduce(answers, axis=None)):
        answers = np.where(np.isnan(answers), old.answers, answers)
    return answers


def run_em(
    patterns: Patterns,
    start: Latent,
    options: EMOptions,
    progress: Callable[[int, float], None] | None = None,
    pseudo: Floats | None = None,
    expect: Expectation | None = None,
) -> tuple[Latent, EMReport]:
    """Climb from `start` until the likelihood, and by default the parameters too, stand still.

    `expect` is the E-step, where it is not one over `patterns`. With `pseudo` it is the likelihood plus
    sum(pseudo * log(answers)), the log-density of a Dirichlet prior.
    """
    shares = answer_shares
    if expect is None and takes_kernel(patterns) and patterns.n_answers == 2:
        from hero_eval.model.kernel import pair_shares  # compiled code, which small data need not load

        shares = pair_shares
    expect = expectation(patterns, start) if expect is None else expect
    n_states = start.n_states

    def of(vector: Floats) -> Latent:
        return Latent(vector[:n_states], vector[n_states:].reshape(start.answers.shape), start.state_class)

    def step(vector: Floats) -> tuple[Floats, float]:
        at = of(vector)
        cells, states, log_likelihood = expect(at)
        if pseudo is not None:
            cells = cells + pseudo
            log_likelihood += float((pseudo * np.log(at.answers)).sum())
        answers = shares(cells, at, options.clip)
        return _vector(Latent(floored_shares(states, options.clip, axis=0), answers, at.state_class)), log_likelihood

    def within(vector: Floats) -> Floats:
        moved = of(np.maximum(vector, 0.0))
        weights = floored_shares(moved.weights, options.clip, axis=0)
        return np.concatenate([weights, shares(moved.answers, moved, options.clip).ravel()])

    found, report = run_accelerated_em(step, within, _vector(start), options, progress)
    return of(found), report


def takes_kernel(patterns: Patterns) -> bool:
    return len(patterns.cells.indices) >= MANY_LABELS


def expectation(patterns: Patterns, start: Latent) -> Expectation:
    """The E-step over these patterns, for points with the states of `start`."""
    if takes_kernel(patterns):
        from hero_eval.model.kernel import Kernel  # compiled code, which small data need not load

        return Kernel(patterns).step
    barrier = state_barrier(patterns.gold, start.state_class)

    def expect(at: Latent) -> tuple[Floats, Floats, float]:
        post, by_row = posterior(patterns, at, barrier)
        expected = post * patterns.counts[:, None]
        return patterns.to_cells(expected), expected.sum(axis=0), float(patterns.counts @ by_row)

    return expect


def _vector(point: Latent) -> Floats:
    return np.concatenate([point.weights, point.answers.ravel()])


def run_accelerated_em(
    step: Callable[[Floats], tuple[Floats, float]],
    within: Callable[[Floats], Floats],
    start: Floats,
    options: EMOptions,
    progress: Callable[[int, float], None] | None = None,
    give_up: Callable[[Floats], bool] | None = None,
) -> tuple[Floats, EMReport]:
    """Iterate an EM map to its fixed point, accelerated or plain, or until the caller gives it up at some point.

    `step` gives the image of a point and the likelihood AT the point; `within` brings an extrapolated point back into
    the parameter space. Points are vectors of probabilities: near a bound their steps shrink, so that one such does
    not rule the length of an extrapolation.
    """
    path: list[float] = []
    at, n_steps, change, longest = start, 1, np.inf, _FIRST_LENGTH
    ahead, likelihood = step(at)
    while n_steps < options.max_steps:
        path.append(likelihood)
        further, next_likelihood = step(ahead)
        n_steps += 1
        change = abs(next_likelihood - likelihood) / max(abs(likelihood), 1e-300)
        if progress is not None:
            progress(n_steps, change)
        if change < options.tolerance and (_small_step(at, ahead, options) or _flat(path, next_likelihood, len(at))):
            path.append(next_likelihood)
            return ahead, EMReport(n_steps, change, True, next_likelihood, tuple(path))
        if give_up is not None and give_up(ahead):
            break
        extrapolates = options.accelerate and options.plain_steps < n_steps < options.max_steps
        extrapolated, longest = _squarem(at, ahead, further, longest) if extrapolates else (None, longest)
        at, ahead, likelihood = ahead, further, next_likelihood
        if extrapolated is not None:
            extrapolated = within(extrapolated)
            image, gained = step(extrapolated)
            n_steps += 1
            if gained >= next_likelihood:
                at, ahead, likelihood = extrapolated, image, gained
            else:
                longest = max(_FIRST_LENGTH, longest / 8)
    return at, EMReport(n_steps, float(change), False, likelihood, tuple(path))


def _small_step(old: Floats, new: Floats, options: EMOptions) -> bool:
    return options.step_tolerance is None or bool(np.abs(new - old).max() < options.step_tolerance)


def _flat(path: list[float], likelihood: float, size: int) -> bool:
    """Whether so many numbers have come to rest as far as the likelihood can tell."""
    if size <= MANY_NUMBERS or len(path) < _GAIN_ROUNDS:
        return False
    return likelihood - path[-_GAIN_ROUNDS] < max(LEAST_GAIN * size, 1e-14 * abs(likelihood))


def _squarem(first: Floats, second: Floats, third: Floats, longest: float) -> tuple[Floats | None, float]:
    """The squared extrapolation of two EM steps, no longer than `longest`, and the longest for the next one.

    None where the steps do not slow down, so that there is nothing to gain.
    """
    move = second - first
    bend = third - second
    bend -= move
    size = math.sqrt(dot(bend, bend))
    length = math.sqrt(dot(move, move)) / size if size > 0 else 1.0
    if length <= 1.0:
        return None, longest
    if length >= longest:
        length, longest = longest, 4.0 * longest
    move *= 2 * length
    bend *= length**2
    move += bend
    move += first
    return move, longest
