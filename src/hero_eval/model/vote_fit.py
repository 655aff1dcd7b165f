"""Strengths, tie rate and labelers' answers fitted together to votes, by Fisher scoring; priors learned on the way.

What labelers share is found at the maximum of the likelihood in which each labeler's own parameters are integrated out
(by Gauss and Hermite's rule around its mode): at a joint maximum, with many labelers of little gold each, strengths
would come out too far apart.

Labelers' parameters theta_j are normal around a mean, with standard deviations that the labelers' own spread shows:
those of little gold, or none, count as their peers do. Strengths have a weak prior where votes are noisy, since noise
beyond what the labelers are known for would drive them to infinity; where the graph of pairs is sparse its standard
deviation too is learned, and draws the strengths together.

The information has the shape of an arrow: labelers meet only through what they share (strengths, beta, tau and their
mean), so it is solved by eliminating each labeler's few parameters first.
Shapes: as in `vote_model`; G = M + d + T + P shared parameters, T = 1 with a tie parameter, else 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from hero_eval.model.patterns import Floats
from hero_eval.model.vote_columns import SiteColumns, weigh_points
from hero_eval.model.vote_model import (
    SiteSlopes,
    TieModel,
    VoteParameters,
    VoteSites,
    log_likelihood,
    site_slopes,
)

MEAN_SPREAD = 1.5
"""Standard deviation of what is thought of the labelers' mean before any gold. Doubled, nothing changes once some tens
of votes have gold (reasoned)."""
PRIOR_LABELERS = 2.0
"""As many labelers of the usual spread are thought of as seen. A choice, for when there are one to three."""
STRENGTH_SPREAD = 3.0
"""Standard deviation of strengths (logits) where votes are noisy and many: 520 points of Elo. It moves no strength by
more than a few thousandths where each model has hundreds of votes (reasoned)."""
TIE_SPREAD = 3.0
"""Standard deviation of tau where no vote is a tie, or each is, which would drive it to infinity: at 300 votes it stays
where less than 1 in 100 would be one. A choice."""
_PRIOR_MODELS, _USUAL_SPREAD = 2.0, 1.0
_TOLERANCE = 1e-10
_START_TOLERANCE = 1e-2
"""Of the joint maximum where it is but the start of what follows."""
_PRIOR_TOLERANCE = 1e-5
_REST = 1e-8
_SHORTER = 0.7
"""A step back that is not shorter than this part of the one before says that both went too far."""
_SHORTEST = 1.0 / 64.0
_LONGEST = 2.0
"""Log-odds that a step may go."""
_MOST_STEPS = 200
_RIDGE = 1e-8
_LEAP_EVERY = 5
"""Steps from one leap of the spreads to the next, in which the rest follows (measured, with _LEAP_SETTLED: of 3 to 6
steps and .25 to .5 these took the fewest)."""
_LEAP_SHARE, _LEAP_FARTHEST, _LEAP_SETTLED = 0.99, 2.0, 0.5
_POINTS = 5


@dataclass(frozen=True, eq=False)
class VotePriors:
    """spread (P,): of labelers around their mean; strengths, tau: the standard deviation of these, inf for none."""

    spread: Floats
    strengths: float = np.inf
    tau: float = np.inf

    def scaled(self, by: Floats) -> VotePriors:
        """Spreads, and last the strengths', times these (P + 1,)."""
        return replace(self, spread=self.spread * by[:-1], strengths=self.strengths * float(by[-1]))


@dataclass(frozen=True, eq=False)
class VoteInformation:
    """shared (G, G), labelers (J, P, P) and cross (G, J, P) blocks, priors included; prior_* what they add."""

    shared: Floats
    labelers: Floats
    cross: Floats
    prior_shared: Floats
    prior_labeler: Floats


@dataclass(frozen=True, eq=False)
class VoteFit:
    """The maximum, what it was learned with, and how the search went."""

    ties: TieModel
    sites: VoteSites
    at: VoteParameters
    priors: VotePriors
    n_steps: int
    change: float
    converged: bool


def fit_votes(
    ties: TieModel, sites: VoteSites, *, shrink: bool = False, progress: Callable[[int, float], None] | None = None
) -> VoteFit:
    """`shrink` learns how far strengths lie apart, and draws them together by it."""
    noisy = sites.n_labelers > 0
    weak = STRENGTH_SPREAD if noisy else np.inf
    priors = VotePriors(ties.spread, _USUAL_SPREAD if shrink else weak, _tie_spread(ties, sites))
    tolerance = _START_TOLERANCE if noisy or shrink else _TOLERANCE
    at, steps, change = _maximum(ties, sites, _start(ties, sites), priors, progress, tolerance)
    if not (noisy or shrink):
        return VoteFit(ties, sites, at, priors, steps, change, bool(change < _REST))
    nodes, pace, leap = _Nodes.of(len(ties.mean)), _Pace(), _Leap()
    for _ in range(_MOST_STEPS):
        at, learned, change = _integrated_step(ties, sites, at, priors, nodes, shrink, pace)
        move = np.log(
            np.append(learned.spread / priors.spread, learned.strengths / priors.strengths if shrink else 1.0)
        )
        steps += 1
        if progress is not None:
            progress(steps, change)
        if change < _REST and float(np.abs(move).max()) < _PRIOR_TOLERANCE:
            priors = learned
            break
        beyond = leap.beyond(move, change)
        if beyond.any():
            pace.rest()
        priors = learned.scaled(np.exp(beyond))
    return VoteFit(ties, sites, at, priors, steps, change, bool(change < _REST))


def _tie_spread(ties: TieModel, sites: VoteSites) -> float:
    if not ties.has_ties:
        return np.inf
    said = sites.counts.sum(axis=0)
    tied = said[ties.tie > 0].sum()
    return np.inf if 0.0 < tied < said.sum() else TIE_SPREAD


def _start(ties: TieModel, sites: VoteSites) -> VoteParameters:
    return VoteParameters(
        np.zeros(sites.n_models),
        np.zeros(sites.n_covariates),
        0.0,
        ties.mean.copy(),
        np.tile(ties.mean, (sites.n_labelers, 1)),
    )


def _maximum(
    ties: TieModel,
    sites: VoteSites,
    at: VoteParameters,
    priors: VotePriors,
    progress: Callable[[int, float], None] | None,
    tolerance: float,
) -> tuple[VoteParameters, int, float]:
    """Fisher scoring with halved steps where a whole one does not climb. Where the maximum is but a start, it is left
    as soon as steps grow: with few votes a labeler it lies far off, and the way there is long."""
    value, change = _objective(ties, sites, at, priors), np.inf
    for step in range(1, _MOST_STEPS + 1):
        last = change
        whole = _step(ties, sites, at, priors)
        size = 1.0
        while size > 1e-6:
            tried = at.moved(whole, size)
            found = _objective(ties, sites, tried, priors)
            if found >= value - 1e-12 * abs(value):
                break
            size /= 2.0
        largest = size * max(np.abs(whole.strengths).max(initial=0.0), np.abs(whole.answers).max(initial=0.0))
        change = float(max(largest, size * np.abs(whole.beta).max(initial=0.0), size * abs(whole.tau)))
        at, value = tried, found
        if progress is not None:
            progress(step, change)
        if change < tolerance or size <= 1e-6 or (tolerance == _START_TOLERANCE and change > last):
            break
    return at, step, change


def _objective(ties: TieModel, sites: VoteSites, at: VoteParameters, priors: VotePriors) -> float:
    apart = (at.answers - at.mean) / priors.spread
    around = (at.mean - ties.mean) / MEAN_SPREAD if sites.n_labelers else np.zeros(1)
    out = log_likelihood(ties, sites, at) - 0.5 * float((apart**2).sum() + (around**2).sum())
    return out - 0.5 * float((at.strengths**2).sum()) / priors.strengths**2 - 0.5 * (at.tau / priors.tau) ** 2


@dataclass(frozen=True, eq=False)
class VoteSums:
    """What the votes tell, were the model true, as the blocks of `VoteInformation`; and the slopes of the likelihood by
    the shared parameters (G,) and by each labeler's own (J, P)."""

    shared: Floats
    labelers: Floats
    cross: Floats
    by_shared: Floats
    by_labeler: Floats


def vote_sums(ties: TieModel, sites: VoteSites, at: VoteParameters) -> VoteSums:
    n_p, n_j = len(ties.mean), sites.n_labelers
    n_g = sites.n_models + sites.n_covariates + int(ties.has_ties) + n_p
    out = VoteSums(
        np.zeros((n_g, n_g)), np.zeros((n_j, n_p, n_p)), np.zeros((n_g, n_j, n_p)), np.zeros(n_g), np.zeros((n_j, n_p))
    )
    for part in sites.parts():
        slopes = site_slopes(ties, part, at)
        weight = part.counts.sum(axis=1)[:, None] * slopes.share
        _add_shared(out, ties, part, slopes, weight)
        if len(part.among):
            _add_labelers(out, ties, part, slopes, weight)
    return out


def _add_shared(out: VoteSums, ties: TieModel, part: VoteSites, slopes: SiteSlopes, weight: Floats) -> None:
    at = part.n_models + part.n_covariates
    out.shared[:at, :at] += part.by_linear_twice((weight * slopes.by_delta**2).sum(axis=1))
    out.by_shared[:at] += part.by_linear((part.counts * slopes.by_delta).sum(axis=1))
    if ties.has_ties:
        out.shared[:at, at] += part.by_linear((weight * slopes.by_delta * slopes.by_tau).sum(axis=1))
        out.shared[at, :at] = out.shared[:at, at]
        out.shared[at, at] += (weight * slopes.by_tau**2).sum()
        out.by_shared[at] += (part.counts * slopes.by_tau).sum()


def _add_labelers(out: VoteSums, ties: TieModel, part: VoteSites, slopes: SiteSlopes, weight: Floats) -> None:
    at, here = part.n_models + part.n_covariates, slice(part.among.start, part.among.stop)
    for p in range(len(ties.mean)):
        by = slopes.by_answers[:, :, p]
        out.by_labeler[here, p] += part.by_labeler((part.counts * by).sum(axis=1))
        out.cross[:at, here, p] += part.by_linear_and_labeler((weight * slopes.by_delta * by).sum(axis=1))
        if ties.has_ties:
            out.cross[at, here, p] += part.by_labeler((weight * slopes.by_tau * by).sum(axis=1))
        for q in range(p + 1):
            out.labelers[here, p, q] += part.by_labeler((weight * by * slopes.by_answers[:, :, q]).sum(axis=1))
            out.labelers[here, q, p] = out.labelers[here, p, q]


def information(ties: TieModel, sites: VoteSites, priors: VotePriors, sums: VoteSums) -> VoteInformation:
    """What the votes tell, were the model true, and what the priors add to it."""
    n_m, n_p = sites.n_models, len(ties.mean)
    prior = np.zeros_like(sums.shared)
    prior[:n_m, :n_m] = np.eye(n_m) / priors.strengths**2
    if ties.has_ties:
        prior[n_m + sites.n_covariates, n_m + sites.n_covariates] = 1.0 / priors.tau**2
    precision = np.diag(priors.spread**-2.0)
    shared = sums.shared.copy()
    last = slice(len(shared) - n_p, None)
    if sites.n_labelers:
        prior[last, last] = sites.n_labelers * precision + np.eye(n_p) / MEAN_SPREAD**2
    else:
        shared[last, last] = np.eye(n_p)  # nobody to have a mean
    shared += prior
    # Only differences of strengths count: their sum stays where it is.
    scale = max(float(np.trace(shared[:n_m, :n_m])) / n_m, 1e-12)
    shared[:n_m, :n_m] += scale / n_m
    shared[n_m : len(shared) - n_p, n_m : len(shared) - n_p] += _RIDGE * np.eye(len(shared) - n_p - n_m)
    crossed = sums.cross.copy()
    crossed[last] -= precision[:, None, :]
    return VoteInformation(shared, sums.labelers + precision, crossed, prior, precision)


def _gradient(
    ties: TieModel, sites: VoteSites, at: VoteParameters, priors: VotePriors, sums: VoteSums
) -> tuple[Floats, Floats]:
    """By the shared parameters (G,) and by each labeler's (J, P)."""
    shared, n_p = sums.by_shared.copy(), len(ties.mean)
    shared[: sites.n_models] -= at.strengths / priors.strengths**2
    if ties.has_ties:
        shared[sites.n_models + sites.n_covariates] -= at.tau / priors.tau**2
    apart = (at.answers - at.mean) / priors.spread**2
    if sites.n_labelers:
        shared[-n_p:] += apart.sum(axis=0) - (at.mean - ties.mean) / MEAN_SPREAD**2
    return shared, sums.by_labeler - apart


def _step(ties: TieModel, sites: VoteSites, at: VoteParameters, priors: VotePriors) -> VoteParameters:
    sums = vote_sums(ties, sites, at)
    known = information(ties, sites, priors, sums)
    shared, own = _gradient(ties, sites, at, priors, sums)
    back, schur = eliminated(known)
    n_g = len(shared)
    step = np.linalg.solve(schur, shared - back.reshape(n_g, -1) @ own.ravel()).astype(np.float64)
    left = own - (step @ known.cross.reshape(n_g, -1)).reshape(own.shape)
    answers = np.linalg.solve(known.labelers, left[:, :, None])[:, :, 0].astype(np.float64)
    n_m, n_d = sites.n_models, sites.n_covariates
    tau = float(step[n_m + n_d]) if ties.has_ties else 0.0
    return VoteParameters(step[:n_m], step[n_m : n_m + n_d], tau, step[-len(ties.mean) :], answers)


def eliminated(known: VoteInformation) -> tuple[Floats, Floats]:
    """(G, J, P): cross times the inverse of each labeler's block; and (G, G): the shared block less what goes through
    the labelers."""
    inverse = np.linalg.inv(known.labelers) if len(known.labelers) else known.labelers
    n_g, n_p = len(known.shared), known.cross.shape[2]
    back = np.zeros_like(known.cross)
    for p, q in product(range(n_p), repeat=2):
        back[:, :, q] += known.cross[:, :, p] * inverse[:, p, q]
    through = back.reshape(n_g, -1) @ known.cross.reshape(n_g, -1).T
    return back, known.shared - through


@dataclass(frozen=True, eq=False)
class _Nodes:
    """x (Q, P), logs (Q,): points and log-weights by which a normal distribution is summed (Gauss and Hermite)."""

    x: Floats
    logs: Floats

    @classmethod
    def of(cls, n_parameters: int) -> _Nodes:
        points, weights = np.polynomial.hermite_e.hermegauss(_POINTS if n_parameters <= 2 else 3)
        places = np.array(list(product(range(len(points)), repeat=n_parameters)))
        return cls(points[places], np.log(weights)[places].sum(axis=1) + 0.5 * (points[places] ** 2).sum(axis=1))


@dataclass(eq=False)
class _Pace:
    """How much of a step is taken.

    The information is that of the joint maximum, not of the integrated likelihood: where labelers tell little, whole
    steps go too far, back and forth. Half of each is taken then, and half of that.
    """

    size: float = 1.0
    last: Floats | None = None

    def of(self, step: Floats) -> float:
        last = step if self.last is None else self.last
        if step @ last < 0.0 and step @ step > _SHORTER**2 * (last @ last):
            self.size = max(self.size / 2.0, _SHORTEST)
        self.last = step
        return min(self.size, _LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))

    def rest(self) -> None:
        """After a leap: the way back from it is no sign of steps that go too far."""
        self.last = None


@dataclass(eq=False)
class _Leap:
    """Spreads move towards their end by nearly the same share at every step, of thousands of labelers very slowly. From
    two moves the end is seen (Aitken), and every few steps gone to; where it lies is not changed by that."""

    last: Floats | None = None
    wait: int = _LEAP_EVERY

    def beyond(self, move: Floats, change: float) -> Floats:
        """How far to go beyond this move (log scale): not at most steps, not before the rest has followed (`change` is
        its last), and not where two moves do not agree."""
        last, self.last = self.last, move
        self.wait -= 1
        if last is None or self.wait > 0 or change > _LEAP_SETTLED * float(np.abs(move).max()):
            return np.zeros_like(move)
        self.last, self.wait = None, _LEAP_EVERY
        share = np.divide(move, last, out=np.zeros_like(move), where=last != 0.0)
        share = np.where(share > 0.0, np.minimum(share, _LEAP_SHARE), 0.0)
        return np.clip(move * share / (1.0 - share), -_LEAP_FARTHEST, _LEAP_FARTHEST)


def _integrated_step(
    ties: TieModel,
    sites: VoteSites,
    at: VoteParameters,
    priors: VotePriors,
    nodes: _Nodes,
    shrink: bool,
    pace: _Pace,
) -> tuple[VoteParameters, VotePriors, float]:
    """One step of the shared parameters by the gradient of the integrated likelihood; labelers' modes, and spreads."""
    sums = vote_sums(ties, sites, at)
    known = information(ties, sites, priors, sums)
    back, schur = eliminated(known)
    shared, own = _gradient(ties, sites, at, priors, sums)
    squares = np.zeros(len(ties.mean))
    if sites.n_labelers:
        at = replace(at, answers=at.answers + np.linalg.solve(known.labelers, own[:, :, None])[:, :, 0])
        covariance = np.linalg.inv(known.labelers).astype(np.float64)
        shared, squares = _integrated(ties, sites, at, priors, covariance, nodes)
    step = np.linalg.solve(schur, shared).astype(np.float64)
    n_m, n_d, n_p = sites.n_models, sites.n_covariates, len(ties.mean)
    tau = float(step[n_m + n_d]) if ties.has_ties else 0.0
    answers = -(step @ back.reshape(len(step), -1)).reshape(at.answers.shape)
    used = step if sites.n_labelers else step[:-n_p]
    whole = VoteParameters(step[:n_m], step[n_m : n_m + n_d], tau, step[-n_p:], answers)
    moved = at.moved(whole, pace.of(used))
    out = priors
    if sites.n_labelers:
        total = squares + PRIOR_LABELERS * ties.spread**2
        out = replace(out, spread=np.sqrt(total / (sites.n_labelers + PRIOR_LABELERS)))
    if shrink:
        out = replace(out, strengths=_learned_spread(at.strengths, schur))
    return moved, out, float(np.abs(used).max(initial=0.0))


def _integrated(
    ties: TieModel,
    sites: VoteSites,
    at: VoteParameters,
    priors: VotePriors,
    covariance: Floats,
    nodes: _Nodes,
) -> tuple[Floats, Floats]:
    """(G,): the gradient by the shared parameters with each labeler's own integrated out, around its mode; and (P,) the
    labelers' expected squares around their mean, summed."""
    places = at.answers + np.einsum("jpq,nq->njp", np.linalg.cholesky(covariance), nodes.x)
    apart = places - at.mean
    logs = nodes.logs[:, None] - 0.5 * ((apart / priors.spread) ** 2).sum(axis=2)
    parts = [SiteColumns.of(ties, part, at) for part in sites.parts()]
    weights, told = weigh_points(ties, parts, places, logs)
    linear, tie = np.zeros(sites.n_models + sites.n_covariates), -at.tau / priors.tau**2
    for part, found in zip(parts, told, strict=True):
        linear += part.sites.by_linear((part.by_delta * found).sum(axis=0))
        tie += float((part.by_tau * found).sum())
    linear[: sites.n_models] -= at.strengths / priors.strengths**2
    mean = np.einsum("qj,qjp->p", weights, apart) / priors.spread**2 - (at.mean - ties.mean) / MEAN_SPREAD**2
    shared = np.concatenate([linear, [tie] if ties.has_ties else [], mean])
    return shared, np.einsum("qj,qjp->p", weights, apart**2)


def _learned_spread(strengths: Floats, schur: Floats) -> float:
    """The standard deviation of strengths that best explains those found, and what is still open of them."""
    n = len(strengths)
    center = np.eye(n) - 1.0 / n
    covariance = center @ np.linalg.inv(schur)[:n, :n] @ center
    square = float(strengths @ strengths + np.trace(covariance)) + _PRIOR_MODELS * _USUAL_SPREAD**2
    return float(np.sqrt(square / (n - 1 + _PRIOR_MODELS)))
