"""How sure strengths are: the influence of every item's votes, those that taught the labelers' errors included.

The covariance is  H^-1 (J + Q) H^-1:  H the information with priors, J the sum of squares of each cluster's score, Q
what the priors hold. Votes of one item are one cluster, whoever gave them: that labelers err together is in J.
Shapes: as in `vote_model`; R rows (votes of one kind), D = G + J P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hero_eval.model.patterns import Floats, Ints
from hero_eval.model.vote_fit import VoteFit, eliminated, information
from hero_eval.model.vote_model import site_slopes


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


def vote_errors(fit: VoteFit, rows: VoteRows) -> VoteErrors:
    ties, sites = fit.ties, fit.sites
    design = sites.design()
    slopes = site_slopes(ties, sites, design, fit.at)
    known = information(ties, sites, design, fit.priors, slopes)
    back, schur = eliminated(known)
    n_g, n_p = len(schur), len(ties.mean)
    solved = np.linalg.inv(schur)
    to_shared = np.concatenate([solved, -solved @ back.reshape(n_g, -1)], axis=1)
    scores = _scores(fit, design, slopes.by_delta, slopes.by_tau, slopes.by_answers, rows)
    squares = (scores.T @ scores).toarray() if sparse.issparse(scores) else scores.T @ scores
    center = np.eye(n_g)
    center[: sites.n_models, : sites.n_models] -= 1.0 / sites.n_models
    squares[:n_g, :n_g] += known.prior_shared
    for j in range(sites.n_labelers):
        own = slice(n_g + j * n_p, n_g + (j + 1) * n_p)
        squares[own, own] += known.prior_labeler
        squares[n_g - n_p : n_g, own] -= known.prior_labeler
        squares[own, n_g - n_p : n_g] -= known.prior_labeler
    shared = center @ to_shared @ squares @ to_shared.T @ center.T
    labelers = np.linalg.inv(known.labelers).astype(np.float64) if sites.n_labelers else known.labelers
    return VoteErrors(0.5 * (shared + shared.T), labelers, schur)


def _scores(
    fit: VoteFit, design: sparse.csr_array, by_delta: Floats, by_tau: Floats, by_answers: Floats, rows: VoteRows
) -> sparse.csr_array:
    """(clusters, D) scores; of votes that are clusters by themselves one row for each kind, times the root of its
    number."""
    ties, sites = fit.ties, fit.sites
    n_l, n_p = ties.n_states, len(ties.mean)
    blocks = [sparse.diags_array(by_delta.T.ravel()) @ sparse.vstack([design] * n_l)]
    if ties.has_ties:
        blocks.append(sparse.coo_array(by_tau.T.reshape(-1, 1)))
    blocks.append(sparse.coo_array((n_l * sites.n_sites, n_p)))
    if sites.n_labelers:
        known = np.flatnonzero(sites.labeler >= 0)
        place = (np.arange(n_l)[:, None] * sites.n_sites + known[None, :]).ravel()
        who = np.tile(sites.labeler[known], n_l)
        values = by_answers[known].transpose(1, 0, 2).reshape(-1, n_p)
        columns = who[:, None] * n_p + np.arange(n_p)
        where = np.repeat(place, n_p), columns.ravel()
        blocks.append(sparse.coo_array((values.ravel(), where), shape=(n_l * sites.n_sites, sites.n_labelers * n_p)))
    by_answer = sparse.csr_array(sparse.hstack(blocks))
    pick = sparse.csr_array(
        (rows.weight, (rows.row, rows.answer * sites.n_sites + rows.site)),
        shape=(len(rows.counts), n_l * sites.n_sites),
    )
    of_rows = pick @ by_answer
    if rows.cluster is None or rows.cluster_row is None:
        return sparse.csr_array(sparse.diags_array(np.sqrt(rows.counts)) @ of_rows)
    gathered = sparse.csr_array(
        (np.ones(len(rows.cluster)), (rows.cluster, rows.cluster_row)),
        shape=(int(rows.cluster.max()) + 1, len(rows.counts)),
    )
    return sparse.csr_array(gathered @ of_rows)
