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

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Floats, Ints

NO_PAIR = -1
NO_LABELER = -1


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

    def design(self) -> sparse.csr_array:
        """(S, M + d): delta = design @ (strengths, beta)."""
        rows = np.flatnonzero(self.first >= 0)
        ones = np.ones(len(rows))
        pairs = sparse.coo_array(
            (
                np.concatenate([ones, -ones]),
                (np.concatenate([rows, rows]), np.concatenate([self.first[rows], self.second[rows]])),
            ),
            shape=(self.n_sites, self.n_models),
        )
        by_covariate = np.where((self.first >= 0)[:, None], self.covariates, 0.0)
        return sparse.csr_array(sparse.hstack([pairs, sparse.coo_array(by_covariate)]))


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


def site_slopes(ties: TieModel, sites: VoteSites, design: sparse.csr_array, at: VoteParameters) -> SiteSlopes:
    delta = design @ np.concatenate([at.strengths, at.beta])
    paired = sites.first >= 0
    pi = np.where(paired[:, None], state_shares(ties, delta, at.tau), sites.phi)
    every = np.concatenate([confusions(ties, at.answers), np.eye(ties.n_states)[None]])
    answers = every[sites.labeler]  # NO_LABELER is the last: the state itself
    share = np.maximum(np.einsum("sk,skl->sl", pi, answers), 1e-300)

    def through_state(by: Floats) -> Floats:
        moved = pi * (by - (pi @ by)[:, None])
        out: Floats = np.einsum("sk,skl->sl", np.where(paired[:, None], moved, 0.0), answers) / share
        return out

    center = np.einsum("jkl,klp->jkp", every[:-1], ties.answers)
    slopes = every[:-1, :, :, None] * (ties.answers[None] - center[:, :, None, :])
    padded = np.concatenate([slopes, np.zeros((1, *slopes.shape[1:]))])
    by_answers = np.einsum("sk,sklp->slp", pi, padded[sites.labeler]) / share[:, :, None]
    by_tau = through_state(ties.tie) if ties.has_ties else np.zeros_like(share)
    return SiteSlopes(share, through_state(ties.slope), by_tau, by_answers)


def log_likelihood(ties: TieModel, sites: VoteSites, design: sparse.csr_array, at: VoteParameters) -> float:
    delta = design @ np.concatenate([at.strengths, at.beta])
    pi = np.where((sites.first >= 0)[:, None], state_shares(ties, delta, at.tau), sites.phi)
    every = np.concatenate([confusions(ties, at.answers), np.eye(ties.n_states)[None]])
    share = np.einsum("sk,skl->sl", pi, every[sites.labeler])
    used = sites.counts > 0
    return float(sites.counts[used] @ np.log(np.maximum(share[used], 1e-300)))
