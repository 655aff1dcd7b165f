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
from scipy import sparse

from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Floats
from hero_eval.model.vote_model import (
    SiteSlopes,
    TieModel,
    VoteParameters,
    VoteSites,
    confusions,
    log_likelihood,
    site_slopes,
    state_shares,
)

MEAN_SPREAD = 1.5
"""Standard deviation of what is thought of the labelers' mean before any gold. Doubled, nothing changes once some tens
of votes have gold (reasoned)."""
PRIOR_LABELERS = 2.0
"""As many labelers of the usual spread are thought of as seen. A choice, for when there are one to three."""
STRENGTH_SPREAD = 3.0
"""Standard deviation of strengths (logits) where votes are noisy and many: 520 points of Elo. It moves no strength by
more than a few thousandths where each model has hundreds of votes (reasoned)."""
_PRIOR_MODELS, _USUAL_SPREAD = 2.0, 1.0
_TOLERANCE = 1e-10
_PRIOR_TOLERANCE = 1e-5
_REST = 1e-8
_SHORTER = 0.7
"""A step back that is not shorter than this part of the one before says that both went too far."""
_SHORTEST = 1.0 / 64.0
_LONGEST = 2.0
"""Log-odds that a step may go."""
_MOST_STEPS = 200
_RIDGE = 1e-8
_POINTS = 5


@dataclass(frozen=True, eq=False)
class VotePriors:
    """spread (P,): of labelers around their mean; strengths: the standard deviation of strengths, inf for none."""

    spread: Floats
    strengths: float = np.inf


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
    priors = VotePriors(ties.spread, _USUAL_SPREAD if shrink else weak)
    design = sites.design()
    at, steps, change = _maximum(ties, sites, design, _start(ties, sites), priors, progress)
    if not (noisy or shrink):
        return VoteFit(ties, sites, at, priors, steps, change, bool(change < _REST))
    nodes, pace = _Nodes.of(len(ties.mean)), _Pace()
    for _ in range(_MOST_STEPS):
        at, learned, change = _integrated_step(ties, sites, design, at, priors, nodes, shrink, pace)
        moved = float(np.abs(np.log(learned.spread / priors.spread)).max()) if noisy else 0.0
        if shrink:
            moved = max(moved, abs(float(np.log(learned.strengths / priors.strengths))))
        priors, steps = learned, steps + 1
        if progress is not None:
            progress(steps, change)
        if change < _REST and moved < _PRIOR_TOLERANCE:
            break
    return VoteFit(ties, sites, at, priors, steps, change, bool(change < _REST))


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
    design: sparse.csr_array,
    at: VoteParameters,
    priors: VotePriors,
    progress: Callable[[int, float], None] | None,
) -> tuple[VoteParameters, int, float]:
    """Fisher scoring with halved steps where a whole one does not climb."""
    value, change = _objective(ties, sites, design, at, priors), np.inf
    for step in range(1, _MOST_STEPS + 1):
        slopes = site_slopes(ties, sites, design, at)
        whole = _step(ties, sites, design, at, priors, slopes)
        size = 1.0
        while size > 1e-6:
            tried = at.moved(whole, size)
            found = _objective(ties, sites, design, tried, priors)
            if found >= value - 1e-12 * abs(value):
                break
            size /= 2.0
        largest = size * max(np.abs(whole.strengths).max(initial=0.0), np.abs(whole.answers).max(initial=0.0))
        change = float(max(largest, size * np.abs(whole.beta).max(initial=0.0), size * abs(whole.tau)))
        at, value = tried, found
        if progress is not None:
            progress(step, change)
        if change < _TOLERANCE or size <= 1e-6:
            break
    return at, step, change


def _objective(
    ties: TieModel, sites: VoteSites, design: sparse.csr_array, at: VoteParameters, priors: VotePriors
) -> float:
    apart = (at.answers - at.mean) / priors.spread
    around = (at.mean - ties.mean) / MEAN_SPREAD if sites.n_labelers else np.zeros(1)
    out = log_likelihood(ties, sites, design, at) - 0.5 * float((apart**2).sum() + (around**2).sum())
    return out - 0.5 * float((at.strengths**2).sum()) / priors.strengths**2


def information(
    ties: TieModel, sites: VoteSites, design: sparse.csr_array, priors: VotePriors, slopes: SiteSlopes
) -> VoteInformation:
    """What the votes tell, were the model true, and what the priors add to it."""
    n_m, n_d, n_p = sites.n_models, sites.n_covariates, len(ties.mean)
    n_t = int(ties.has_ties)
    weight = sites.counts.sum(axis=1)[:, None] * slopes.share
    shared = np.zeros((n_m + n_d + n_t + n_p,) * 2)
    pairs = weight * slopes.by_delta
    by_delta = (pairs * slopes.by_delta).sum(axis=1)
    shared[: n_m + n_d, : n_m + n_d] = (design.T @ (sparse.diags_array(by_delta) @ design)).toarray()
    at = n_m + n_d
    if n_t:
        shared[:at, at] = shared[at, :at] = design.T @ (pairs * slopes.by_tau).sum(axis=1)
        shared[at, at] = (weight * slopes.by_tau**2).sum()
    cross = np.zeros((len(shared), sites.n_labelers, n_p))
    labelers = np.zeros((sites.n_labelers, n_p, n_p))
    seen = np.flatnonzero(sites.labeler >= 0)
    if len(seen):
        who = sites.labeler[seen]
        chosen = sparse.csr_array(
            (np.ones(len(seen)), (np.arange(len(seen)), who)), shape=(len(seen), sites.n_labelers)
        )
        by, some = slopes.by_answers[seen], design[seen]
        for p in range(n_p):
            values = (pairs[seen] * by[:, :, p]).sum(axis=1)
            cross[:at, :, p] = (some.T @ (sparse.diags_array(values) @ chosen)).toarray()
            if n_t:
                cross[at, :, p] = np.bincount(
                    who, ((weight * slopes.by_tau)[seen] * by[:, :, p]).sum(axis=1), sites.n_labelers
                )
            for q in range(p + 1):
                of = (weight[seen] * by[:, :, p] * by[:, :, q]).sum(axis=1)
                labelers[:, p, q] = labelers[:, q, p] = np.bincount(who, of, sites.n_labelers)
    return _with_priors(ties, sites, priors, shared, labelers, cross)


def _with_priors(
    ties: TieModel, sites: VoteSites, priors: VotePriors, shared: Floats, labelers: Floats, cross: Floats
) -> VoteInformation:
    n_m, n_p = sites.n_models, len(ties.mean)
    prior = np.zeros_like(shared)
    prior[:n_m, :n_m] = np.eye(n_m) / priors.strengths**2
    precision = np.diag(priors.spread**-2.0)
    last = slice(len(shared) - n_p, None)
    if sites.n_labelers:
        prior[last, last] = sites.n_labelers * precision + np.eye(n_p) / MEAN_SPREAD**2
    else:
        shared[last, last] = np.eye(n_p)  # nobody to have a mean
    shared = shared + prior
    # Only differences of strengths count: their sum stays where it is.
    scale = max(float(np.trace(shared[:n_m, :n_m])) / n_m, 1e-12)
    shared[:n_m, :n_m] += scale / n_m
    shared[n_m : len(shared) - n_p, n_m : len(shared) - n_p] += _RIDGE * np.eye(len(shared) - n_p - n_m)
    crossed = cross.copy()
    crossed[last] -= precision[:, None, :]
    return VoteInformation(shared, labelers + precision, crossed, prior, precision)


def _gradient(
    ties: TieModel,
    sites: VoteSites,
    design: sparse.csr_array,
    at: VoteParameters,
    priors: VotePriors,
    slopes: SiteSlopes,
) -> tuple[Floats, Floats]:
    """By the shared parameters (G,) and by each labeler's (J, P)."""
    by_delta = design.T @ (sites.counts * slopes.by_delta).sum(axis=1)
    n_m = sites.n_models
    by_delta[:n_m] -= at.strengths / priors.strengths**2
    tie = [(sites.counts * slopes.by_tau).sum()] if ties.has_ties else []
    apart = (at.answers - at.mean) / priors.spread**2
    mean = apart.sum(axis=0) - (at.mean - ties.mean) / MEAN_SPREAD**2 if sites.n_labelers else np.zeros(len(ties.mean))
    per_site = np.einsum("sl,slp->sp", sites.counts, slopes.by_answers)
    own = np.zeros((sites.n_labelers + 1, len(ties.mean)))
    np.add.at(own, sites.labeler, per_site)
    return np.concatenate([by_delta, tie, mean]), own[: sites.n_labelers] - apart


def _step(
    ties: TieModel,
    sites: VoteSites,
    design: sparse.csr_array,
    at: VoteParameters,
    priors: VotePriors,
    slopes: SiteSlopes,
) -> VoteParameters:
    known = information(ties, sites, design, priors, slopes)
    shared, own = _gradient(ties, sites, design, at, priors, slopes)
    back, schur = eliminated(known)
    step = np.linalg.solve(schur, shared - np.einsum("gjp,jp->g", back, own))
    answers = np.linalg.solve(known.labelers, (own - np.einsum("gjp,g->jp", known.cross, step))[:, :, None])[:, :, 0]
    n_m, n_d = sites.n_models, sites.n_covariates
    tau = float(step[n_m + n_d]) if ties.has_ties else 0.0
    return VoteParameters(step[:n_m], step[n_m : n_m + n_d], tau, step[-len(ties.mean) :], answers)


def eliminated(known: VoteInformation) -> tuple[Floats, Floats]:
    """(G, J, P): cross times the inverse of each labeler's block; and (G, G): the shared block less what goes through
    the labelers."""
    inverse = np.linalg.inv(known.labelers) if len(known.labelers) else known.labelers
    back = np.einsum("gjp,jpq->gjq", known.cross, inverse)
    n_g = len(known.shared)
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


def _integrated_step(
    ties: TieModel,
    sites: VoteSites,
    design: sparse.csr_array,
    at: VoteParameters,
    priors: VotePriors,
    nodes: _Nodes,
    shrink: bool,
    pace: _Pace,
) -> tuple[VoteParameters, VotePriors, float]:
    """One step of the shared parameters by the gradient of the integrated likelihood; labelers' modes, and spreads."""
    slopes = site_slopes(ties, sites, design, at)
    known = information(ties, sites, design, priors, slopes)
    back, schur = eliminated(known)
    shared, own = _gradient(ties, sites, design, at, priors, slopes)
    squares = np.zeros(len(ties.mean))
    if sites.n_labelers:
        at = replace(at, answers=at.answers + np.linalg.solve(known.labelers, own[:, :, None])[:, :, 0])
        covariance = np.linalg.inv(known.labelers).astype(np.float64)
        shared, squares = _integrated(ties, sites, design, at, priors, covariance, nodes)
    step = np.linalg.solve(schur, shared).astype(np.float64)
    n_m, n_d, n_p = sites.n_models, sites.n_covariates, len(ties.mean)
    tau = float(step[n_m + n_d]) if ties.has_ties else 0.0
    answers = -np.einsum("gjp,g->jp", back, step)
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
    design: sparse.csr_array,
    at: VoteParameters,
    priors: VotePriors,
    covariance: Floats,
    nodes: _Nodes,
) -> tuple[Floats, Floats]:
    """(G,): the gradient by the shared parameters with each labeler's own integrated out, around its mode; and (P,) the
    labelers' expected squares around their mean, summed."""
    roots = np.linalg.cholesky(covariance)
    states = np.where((sites.first >= 0)[:, None], state_shares(ties, design @ _linear(at), at.tau), sites.phi)
    whom, n_j = sites.labeler, sites.n_labelers
    logs, by_delta, by_tau, places = [], [], [], []
    for x, log_weight in zip(nodes.x, nodes.logs, strict=True):
        place = at.answers + np.einsum("jpq,q->jp", roots, x)
        every = np.concatenate([confusions(ties, place), np.eye(ties.n_states)[None]])
        share, delta, tau = _site_scores(ties, sites, states, every)
        of_site = np.einsum("sl,sl->s", sites.counts, np.log(share))
        apart = (place - at.mean) / priors.spread
        logs.append(np.bincount(whom + 1, of_site, n_j + 1)[1:] - 0.5 * (apart**2).sum(axis=1) + log_weight)
        by_delta.append(delta)
        by_tau.append(tau)
        places.append(place)
    weights = np.exp(log_softmax(np.stack(logs), axis=0))  # (Q, J)
    of_sites = np.concatenate([weights, np.full((len(weights), 1), 1.0 / len(weights))], axis=1)[:, whom]
    delta = np.einsum("qs,qs->s", of_sites, np.stack(by_delta))
    linear = design.T @ delta
    linear[: sites.n_models] -= at.strengths / priors.strengths**2
    tie = [float(np.einsum("qs,qs->", of_sites, np.stack(by_tau)))] if ties.has_ties else []
    apart = np.stack(places) - at.mean
    mean = np.einsum("qj,qjp->p", weights, apart) / priors.spread**2 - (at.mean - ties.mean) / MEAN_SPREAD**2
    return np.concatenate([linear, tie, mean]), np.einsum("qj,qjp->p", weights, apart**2)


def _site_scores(ties: TieModel, sites: VoteSites, states: Floats, every: Floats) -> tuple[Floats, Floats, Floats]:
    """(S, L) shares of the answers, and (S,) the votes' scores by delta and by tau."""
    answers = every[sites.labeler]
    share = np.maximum(np.einsum("sk,skl->sl", states, answers), 1e-300)
    ratio = np.where((sites.first >= 0)[:, None], sites.counts / share, 0.0)

    def score(by: Floats) -> Floats:
        moved = states * (by - (states @ by)[:, None])
        out: Floats = np.einsum("sk,skl,sl->s", moved, answers, ratio)
        return out

    return share, score(ties.slope), score(ties.tie) if ties.has_ties else np.zeros(sites.n_sites)


def _linear(at: VoteParameters) -> Floats:
    return np.concatenate([at.strengths, at.beta])


def _learned_spread(strengths: Floats, schur: Floats) -> float:
    """The standard deviation of strengths that best explains those found, and what is still open of them."""
    n = len(strengths)
    center = np.eye(n) - 1.0 / n
    covariance = center @ np.linalg.inv(schur)[:n, :n] @ center
    square = float(strengths @ strengths + np.trace(covariance)) + _PRIOR_MODELS * _USUAL_SPREAD**2
    return float(np.sqrt(square / (n - 1 + _PRIOR_MODELS)))
