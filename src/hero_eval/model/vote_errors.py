"""How sure strengths are: the influence of every item's votes, those that taught the labelers' errors included.

The covariance is  H^-1 (J + Q) H^-1:  H the information with priors, J the sum of squares of each cluster's score, Q
what the priors hold. Votes of one item are one cluster, whoever gave them: that labelers err together is in J.
Shapes: as in `vote_model`; R rows (votes of one kind), D = G + J P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.model.vote_fit import VoteFit, VoteInformation, eliminated, information, vote_sums
from hero_eval.model.vote_model import site_slopes

_PART = 65_536
"""Clusters whose scores are held at once."""


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Which answers of which sites each kind of vote counts in: entries (row, site, answer, weight), and how many votes
    are of each kind (R,); cluster_row, cluster (n,): the kind and the cluster of each vote, None where each vote is a
    cluster by itself."""

    row: Ints
    site: Ints
    answer: Ints
    weight: Floats
    counts: Floats
    cluster_row: Ints | None = None
    cluster: Ints | None = None


@dataclass(frozen=True, eq=False)
class VoteErrors:
    """shared (G, G): the covariance of strengths, beta, tau and the labelers' mean; labelers (J, P, P): of each
    labeler's own parameters, given the shared ones."""

    shared: Floats
    labelers: Floats
    schur: Floats


def vote_errors(fit: VoteFit, rows: VoteRows, tied: Bools | None = None) -> VoteErrors:
    """`tied` (M,): models whose votes are all ties, None for none."""
    ties, sites = fit.ties, fit.sites
    known = information(ties, sites, fit.priors, vote_sums(ties, sites, fit.at))
    back, schur = eliminated(known)
    n_g = len(schur)
    solved = np.linalg.inv(schur)
    to_shared = np.concatenate([solved, -solved @ back.reshape(n_g, -1)], axis=1)
    center = np.eye(n_g)
    center[: sites.n_models, : sites.n_models] -= 1.0 / sites.n_models
    spread = _influences(fit, rows, to_shared) + _by_priors(known, to_shared)
    if tied is not None and tied.any():
        spread += _by_chance(fit, tied, to_shared)
    shared = center @ spread @ center.T
    labelers = np.linalg.inv(known.labelers).astype(np.float64) if sites.n_labelers else known.labelers
    return VoteErrors(0.5 * (shared + shared.T), labelers, schur)


def _by_priors(known: VoteInformation, to_shared: Floats) -> Floats:
    """(G, G): what the priors hold, carried to the shared parameters by to_shared (G, D)."""
    n_g, n_p = len(known.shared), len(known.prior_labeler)
    shared, own = to_shared[:, :n_g], to_shared[:, n_g:].reshape(n_g, -1, n_p)
    out = shared @ known.prior_shared @ shared.T
    if own.shape[1]:
        held = own @ known.prior_labeler
        across = held.sum(axis=1) @ shared[:, n_g - n_p :].T
        out += held.reshape(n_g, -1) @ own.reshape(n_g, -1).T - across - across.T
    return out


def _influences(fit: VoteFit, rows: VoteRows, to_shared: Floats) -> Floats:
    """(G, G): the sum over clusters of the squares of their scores, carried to the shared parameters."""
    squares = sparse.csr_array((to_shared.shape[1],) * 2)  # sparse, as few of many labelers meet on an item
    counted = _counted_answers(fit, rows)
    for start in range(0, counted.shape[0], _PART):
        scores = _scores(fit, counted[start : start + _PART])
        squares = squares + scores.T @ scores
    out: Floats = to_shared @ (squares @ to_shared.T)
    return out


def _by_chance(fit: VoteFit, tied: Bools, to_shared: Floats) -> Floats:
    """(G, G): what votes on models that only tie would vary by, were each decided by a coin.

    Ties of equal models have scores of zero: by these alone nothing would be surer than a model that was seen once.
    """
    at = fit.sites.n_models + fit.sites.n_covariates
    held = np.zeros((at, at))
    for part in fit.sites.parts():
        slopes = site_slopes(fit.ties, part, fit.at)
        told = part.counts.sum(axis=1) * (slopes.share * slopes.by_delta**2).sum(axis=1)
        held += part.by_linear_twice(np.where(tied[part.first] | tied[part.second], told, 0.0))
    out: Floats = to_shared[:, :at] @ held @ to_shared[:, :at].T
    return out


def _counted_answers(fit: VoteFit, rows: VoteRows) -> sparse.csr_array:
    """(clusters, S L): how often each cluster gave each answer of each site; of votes that are clusters by themselves
    one row for each kind, times the root of its number."""
    picked = sparse.csr_array(
        (rows.weight, (rows.row, rows.site * fit.ties.n_states + rows.answer)),
        shape=(len(rows.counts), fit.sites.n_sites * fit.ties.n_states),
    )
    if rows.cluster is None or rows.cluster_row is None:
        picked.data *= np.sqrt(np.repeat(rows.counts, np.diff(picked.indptr)))
        return picked
    gathered = sparse.csr_array(
        (np.ones(len(rows.cluster)), (rows.cluster, rows.cluster_row)),
        shape=(int(rows.cluster.max()) + 1, len(rows.counts)),
    )
    return sparse.csr_array(gathered @ picked)


def _scores(fit: VoteFit, counted: sparse.csr_array) -> sparse.csr_array:
    """(clusters, D): the scores of some clusters, from the answers that count in them."""
    ties, n_p = fit.ties, len(fit.ties.mean)
    site, answer = np.divmod(counted.indices, ties.n_states)
    sites = fit.sites.taken(site)
    slopes = site_slopes(ties, sites, fit.at)
    entry = np.arange(len(site))
    by_delta = slopes.by_delta[entry, answer]
    at = sites.n_models + sites.n_covariates
    n_g = at + int(ties.has_ties) + n_p
    paired, labeled = np.flatnonzero(sites.is_paired), np.flatnonzero(sites.labeler >= 0)
    values = [by_delta[paired], -by_delta[paired]]
    where = [(paired, sites.first[paired]), (paired, sites.second[paired])]
    for d in range(sites.n_covariates):
        values.append((by_delta * sites.covariates[:, d])[paired])
        where.append((paired, np.full(len(paired), sites.n_models + d)))
    if ties.has_ties:
        values.append(slopes.by_tau[entry, answer])
        where.append((entry, np.full(len(entry), at)))
    for p in range(n_p if sites.n_labelers else 0):
        values.append(slopes.by_answers[labeled, answer[labeled], p])
        where.append((labeled, n_g + sites.labeler[labeled] * n_p + p))
    of_entries = sparse.csr_array(
        (np.concatenate(values), tuple(np.concatenate(one) for one in zip(*where, strict=True))),
        shape=(len(site), n_g + sites.n_labelers * n_p),
    )
    of_clusters = sparse.csr_array((counted.data, entry, counted.indptr), shape=(counted.shape[0], len(site)))
    return sparse.csr_array(of_clusters @ of_entries)
