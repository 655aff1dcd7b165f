"""Side-by-side votes as noisy answers on the true preference: the likelihood, its slopes and its information.

Of two models a (shown first) and b the true preference on an item is a state k, with log-odds that are linear in
    delta = strength_a - strength_b + covariates . beta   and   tau (how common ties are):
half: states A, B with P(A) = 1 / (1 + exp(-delta)), where a tie counts as half a vote for each (Bradley and Terry);
davidson: states A, B, tie with weights exp(delta / 2), exp(-delta / 2), exp(tau) (Davidson).
A labeler j answers l with probability C_j[k, l], a softmax of Z[k, l] . theta_j, theta_j = (d, b, ...): d is how well
it tells the two, b how much it favors what is shown first. The same with A and B exchanged, and b turned, holds of the
same pair in the other order. A labeler "never errs" where C is the identity.

A vote without gold says  log sum_k pi_k C_j[k, l];  each vote by itself, so that labelers who err together bias nothing
(a composite likelihood; `vote_errors` allows for what votes of one item share). Gold says log pi_gold, and its votes
log C_j[gold, l]. A state that gold leaves open (a tie, where ties are halves) has the weights phi.

All votes of the same pair, labeler and gold are a *site*, with the number of each answer.
Shapes: S sites, K states, L answers, M models, J labelers, P parameters of a labeler, d covariates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Bools, Floats, Ints

NO_PAIR = -1
NO_LABELER = -1
_PART = 32_768
"""Sites that are gone through at once: few enough that what is made of them stays in the processor's cache."""


@dataclass(frozen=True, eq=False)
class TieModel:
    """slope, tie (K,): what delta and tau add to the states' log-weights; answers (K, L, P): Z. mean, spread (P,): what
    is thought of labelers before any gold, and how far they may lie from each other."""

    name: str
    slope: Floats
    tie: Floats
    answers: Floats
    mean: Floats
    spread: Floats

    @property
    def n_states(self) -> int:
        return len(self.slope)

    @property
    def has_ties(self) -> bool:
        return bool(self.tie.any())

    def state_weights(self, outcome: Ints) -> Floats:
        """(n, K): where 0, 1, 2 say A, B and tie."""
        table = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]) if self.n_states == 2 else np.eye(3)
        out: Floats = table[outcome]
        return out

    def worth(self) -> Floats:
        """(K,): what each state is worth to the first model."""
        return np.array([1.0, 0.0, 0.5])[: self.n_states]


HALF = TieModel(
    "half",
    np.array([0.5, -0.5]),
    np.zeros(2),
    np.array([[[1.0, 1.0], [0.0, 0.0]], [[-1.0, 1.0], [0.0, 0.0]]]),
    np.array([1.1, 0.0]),
    np.array([0.7, 0.4]),
)
DAVIDSON = TieModel(
    "davidson",
    np.array([0.5, -0.5, 0.0]),
    np.array([0.0, 0.0, 1.0]),
    np.array(
        [
            [[1.0, 0.5, 0.0, 0.0], [0.0, -0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            [[0.0, 0.5, 0.0, 0.0], [1.0, -0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            [[0.0, 0.5, 0.0, 0.0], [0.0, -0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
        ]
    ),
    np.array([1.1, 0.0, 0.0, 1.0]),
    np.array([0.7, 0.4, 0.7, 0.7]),
)
TIE_MODELS = {one.name: one for one in (HALF, DAVIDSON)}


@dataclass(frozen=True, eq=False)
class VoteSites:
    """first, second (S,): models, or NO_PAIR where only what labelers do counts; labeler (S,): NO_LABELER where the
    state itself was seen; phi (S, K): the weights of states where there is no pair; covariates (S, d); counts
    (S, L)."""

    first: Ints
    second: Ints
    labeler: Ints
    phi: Floats
    covariates: Floats
    counts: Floats
    n_models: int
    n_labelers: int

    @property
    def n_sites(self) -> int:
        return len(self.first)

    @property
    def n_covariates(self) -> int:
        return int(self.covariates.shape[1])

    def taken(self, which: Ints | slice) -> VoteSites:
        """Some of the sites."""
        names = ("first", "second", "labeler", "phi", "covariates", "counts")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def parts(self) -> Iterator[VoteSites]:
        """The sites, a few thousand at a time: millions of them at once would take gigabytes."""
        for start in range(0, max(self.n_sites, 1), _PART):
            yield self.taken(slice(start, start + _PART))

    def delta(self, at: VoteParameters) -> Floats:
        """(S,): how far the first model is ahead; 0 where there is no pair."""
        strengths = np.append(at.strengths, 0.0)  # NO_PAIR is the last
        out: Floats = strengths[self.first] - strengths[self.second]
        return out + self._of_pairs @ at.beta if self.n_covariates else out

    def by_linear(self, values: Floats) -> Floats:
        """(M + d,): the sum over sites of values (S,) times the slopes of delta by strengths and beta."""
        n = self.n_models + 1
        of_models = np.bincount(self.first + 1, values, n) - np.bincount(self.second + 1, values, n)
        return np.concatenate([of_models[1:], values @ self._of_pairs])

    def by_linear_twice(self, values: Floats) -> Floats:
        """(M + d, M + d): as `by_linear`, times the same slopes once more."""
        n_m, n = self.n_models, self.n_models + 1
        met = np.bincount((self.first + 1) * n + self.second + 1, values, n * n).reshape(n, n)[1:, 1:]
        out = np.zeros((n_m + self.n_covariates,) * 2)
        out[:n_m, :n_m] = np.diag(met.sum(axis=0) + met.sum(axis=1)) - met - met.T
        for d, column in enumerate(self._of_pairs.T):
            out[:, n_m + d] = out[n_m + d, :] = self.by_linear(values * column)
        return out

    def by_linear_and_labeler(self, values: Floats) -> Floats:
        """(M + d, labelers `among`): as `by_linear`, of each labeler's sites by themselves."""
        n, n_j, who = self.n_models + 1, len(self.among) + 1, self.place_among
        won, lost = (np.bincount((of + 1) * n_j + who, values, n * n_j) for of in (self.first, self.second))
        of_pairs = [np.bincount(who, values * column, n_j)[None, :] for column in self._of_pairs.T]
        return np.concatenate([(won - lost).reshape(n, n_j)[1:], *of_pairs])[:, 1:]

    def by_labeler(self, values: Floats) -> Floats:
        """(labelers `among`,): the sum over each labeler's sites of values (S,)."""
        found = np.bincount(self.place_among, values, len(self.among) + 1)[1:]
        return found.astype(np.float64)  # without a site they are whole numbers

    @cached_property
    def among(self) -> range:
        """From the first to the last labeler who has a site here: sites are sorted by labeler, so that of many labelers
        each part has a few."""
        seen = self.labeler[self.labeler >= 0]
        return range(int(seen.min()), int(seen.max()) + 1) if len(seen) else range(0)

    @cached_property
    def place_among(self) -> Ints:
        """(S,): 1 + the place among these, 0 for no labeler."""
        return np.maximum(self.labeler - self.among.start + 1, 0)

    @property
    def is_paired(self) -> Bools:
        return np.asarray(self.first >= 0)

    @property
    def _of_pairs(self) -> Floats:
        """(S, d): covariates, 0 where there is no pair."""
        return np.where(self.is_paired[:, None], self.covariates, 0.0)


@dataclass(frozen=True, eq=False)
class VoteParameters:
    """strengths (M,), beta (d,), tau, mean (P,) of the labelers, answers (J, P)."""

    strengths: Floats
    beta: Floats
    tau: float
    mean: Floats
    answers: Floats

    def moved(self, step: VoteParameters, by: float) -> VoteParameters:
        return VoteParameters(
            self.strengths + by * step.strengths,
            self.beta + by * step.beta,
            self.tau + by * step.tau,
            self.mean + by * step.mean,
            self.answers + by * step.answers,
        )


def confusions(ties: TieModel, answers: Floats) -> Floats:
    """(J, K, L): how each labeler answers in each state."""
    logits = np.einsum("klp,jp->jkl", ties.answers, answers)
    out: Floats = np.exp(log_softmax(logits, axis=2))
    return out


def state_shares(ties: TieModel, delta: Floats, tau: float) -> Floats:
    """(n, K): pi."""
    logits = delta[:, None] * ties.slope + tau * ties.tie
    out: Floats = np.exp(log_softmax(logits, axis=1))
    return out


@dataclass(frozen=True, eq=False)
class SiteSlopes:
    """share (S, L): the probability of each answer; scores of log share (S, L) by delta, by tau, (S, L, P) by the
    labeler's own parameters."""

    share: Floats
    by_delta: Floats
    by_tau: Floats
    by_answers: Floats


def site_states(ties: TieModel, sites: VoteSites, at: VoteParameters) -> Floats:
    """(S, K): pi, or what gold leaves open."""
    return np.where(sites.is_paired[:, None], state_shares(ties, sites.delta(at), at.tau), sites.phi)


def state_slopes(sites: VoteSites, states: Floats, by: Floats) -> Floats:
    """(S, K): how the states move with delta or tau (`by` its slopes), 0 where there is no pair."""
    return np.where(sites.is_paired[:, None], states * (by - (states @ by)[:, None]), 0.0)


def _answers_among(ties: TieModel, sites: VoteSites, at: VoteParameters) -> Floats:
    """(1 + labelers `among`, K, L): how they answer, and before them the state itself, which a site without a labeler
    shows. Of many thousands of labelers a part of the sites has a few."""
    here = at.answers[sites.among.start : sites.among.stop]
    return np.concatenate([np.eye(ties.n_states)[None], confusions(ties, here)])


def site_slopes(ties: TieModel, sites: VoteSites, at: VoteParameters) -> SiteSlopes:
    pi = site_states(ties, sites, at)
    every, who = _answers_among(ties, sites, at), sites.place_among
    answers = every[who]
    share = np.maximum(np.einsum("sk,skl->sl", pi, answers), 1e-300)

    def through_state(by: Floats) -> Floats:
        out: Floats = np.einsum("sk,skl->sl", state_slopes(sites, pi, by), answers) / share
        return out

    center = np.einsum("jkl,klp->jkp", every[1:], ties.answers)
    slopes = every[1:, :, :, None] * (ties.answers[None] - center[:, :, None, :])
    padded = np.concatenate([np.zeros((1, *slopes.shape[1:])), slopes])
    by_answers = np.einsum("sk,sklp->slp", pi, padded[who]) / share[:, :, None]
    by_tau = through_state(ties.tie) if ties.has_ties else np.zeros_like(share)
    return SiteSlopes(share, through_state(ties.slope), by_tau, by_answers)


def log_likelihood(ties: TieModel, sites: VoteSites, at: VoteParameters) -> float:
    out = 0.0
    for part in sites.parts():
        every = _answers_among(ties, part, at)
        share = np.einsum("sk,skl->sl", site_states(ties, part, at), every[part.place_among])
        used = part.counts > 0
        out += float(part.counts[used] @ np.log(np.maximum(share[used], 1e-300)))
    return out
