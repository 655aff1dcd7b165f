"""From kinds of votes to the sites that the likelihood is a sum over, and the graph of pairs.

Shapes: R kinds of votes ("cells": the same pair, labeler, label, gold and covariates), S sites, M models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.model.vote_errors import VoteRows
from hero_eval.model.vote_model import NO_LABELER, NO_PAIR, TieModel, VoteSites


@dataclass(frozen=True, eq=False)
class VoteCells:
    """first, second (R,): models, -1 in votes that only teach; labeler (R,); label, gold (R,): 0 A, 1 B, 2 tie, -1
    none; counts (R,); covariates (R, d); cell, cluster (n,): of each vote, None where every vote is a cluster."""

    first: Ints
    second: Ints
    labeler: Ints
    label: Ints
    gold: Ints
    counts: Floats
    covariates: Floats
    n_models: int
    n_labelers: int
    cell: Ints | None = None
    cluster: Ints | None = None

    @property
    def is_paired(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(self.first >= 0)


def sites_of(ties: TieModel, cells: VoteCells, noisy: bool) -> tuple[VoteSites, VoteRows]:
    """`noisy`: labelers err, as gold shows; else every vote is taken for true, unless its gold says otherwise."""
    parts = _parts(cells, noisy)
    row = np.concatenate([one.row for one in parts])
    outcome = np.concatenate([one.outcome for one in parts])
    first = np.concatenate([np.where(one.paired, cells.first[one.row], NO_PAIR) for one in parts])
    second = np.concatenate([np.where(one.paired, cells.second[one.row], NO_PAIR) for one in parts])
    labeler = np.concatenate([np.where(one.labeled, cells.labeler[one.row], NO_LABELER) for one in parts])
    open_gold = np.concatenate([np.where(one.paired, -1, cells.gold[one.row]) for one in parts])
    by = np.where(first >= 0, _distinct_rows(cells.covariates)[row], 0)
    key = labeler + 1  # first, so that sites are sorted by labeler
    for code, size in ((first + 1, cells.n_models + 1), (second + 1, cells.n_models + 1)):
        key = key * size + code
    for code in (open_gold + 1, by):
        key = key * (int(code.max(initial=0)) + 1) + code
    _, chosen, site = np.unique(key, return_index=True, return_inverse=True)
    site = site.reshape(-1)
    weights = ties.state_weights(outcome)  # answers are counted as states are: a tie may be half of each
    entries = np.nonzero(weights)
    spread = weights[entries]
    n_sites, n_l = len(chosen), ties.n_states
    counts: Floats = (
        np.bincount(site[entries[0]] * n_l + entries[1], spread * cells.counts[row[entries[0]]], n_sites * n_l)
        .reshape(n_sites, n_l)
        .astype(np.float64)
    )
    known = open_gold[chosen]
    phi = np.where((known >= 0)[:, None], ties.state_weights(np.maximum(known, 0)), 1.0 / n_l)
    sites = VoteSites(
        first[chosen],
        second[chosen],
        labeler[chosen],
        phi,
        cells.covariates[row[chosen]],
        counts,
        cells.n_models,
        cells.n_labelers if noisy else 0,
    )
    rows = VoteRows(row[entries[0]], site[entries[0]], entries[1], spread, cells.counts, cells.cell, cells.cluster)
    return sites, rows


@dataclass(frozen=True, eq=False)
class _SitePart:
    """What some cells say: of which outcome, with or without the pair, with or without the labeler."""

    row: Ints
    outcome: Ints
    paired: bool
    labeled: bool


def _parts(cells: VoteCells, noisy: bool) -> list[_SitePart]:
    paired, gold, label = cells.is_paired, cells.gold >= 0, cells.label >= 0
    if not noisy:
        row = np.flatnonzero(paired & (gold | label))
        seen = np.where(cells.gold[row] >= 0, cells.gold[row], cells.label[row])
        return [_SitePart(row, seen, True, False)]
    by_gold, taught, voted = (np.flatnonzero(one) for one in (paired & gold, gold & label, paired & ~gold & label))
    return [
        _SitePart(by_gold, cells.gold[by_gold], True, False),
        _SitePart(taught, cells.label[taught], False, True),
        _SitePart(voted, cells.label[voted], True, True),
    ]


def _distinct_rows(values: Floats) -> Ints:
    """(R,): rows of the same covariates have the same number."""
    if values.shape[1] == 0:
        return np.zeros(len(values), dtype=np.int64)
    found: Ints = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    return found


def components(cells: VoteCells) -> list[Ints]:
    """The groups of models that votes connect, largest first; models without votes are groups by themselves."""
    use = cells.is_paired
    graph = sparse.coo_array(
        (np.ones(int(use.sum())), (cells.first[use], cells.second[use])), shape=(cells.n_models, cells.n_models)
    )
    _, group = csgraph.connected_components(graph, directed=False)
    found = [np.flatnonzero(group == number) for number in range(int(group.max()) + 1)]
    return sorted(found, key=lambda one: (-len(one), int(one[0])))


def votes_of_models(cells: VoteCells) -> Floats:
    """(M,): how many votes each model has."""
    use = cells.is_paired
    both = np.concatenate([cells.first[use], cells.second[use]])
    out: Floats = np.bincount(both, np.tile(cells.counts[use], 2), cells.n_models).astype(np.float64)
    return out


def models_that_only_tie(cells: VoteCells) -> Bools:
    """(M,): whether no vote on a model says that it, or the other, is better."""
    told = cells.is_paired & np.isin(np.where(cells.gold >= 0, cells.gold, cells.label), (0, 1))
    out = np.ones(cells.n_models, dtype=np.bool_)
    out[cells.first[told]] = out[cells.second[told]] = False
    return out


def labelers_of_one_side(cells: VoteCells, least: int) -> Ints:
    """Those who name the same side in all their votes on pairs that they saw in both orders, if these are `least` or
    more: the models cannot be why."""
    use = np.flatnonzero(cells.is_paired & np.isin(cells.label, (0, 1)))
    first, second, who = cells.first[use], cells.second[use], cells.labeler[use]
    pair = (who * cells.n_models + np.minimum(first, second)) * cells.n_models + np.maximum(first, second)
    _, kind = np.unique(pair, return_inverse=True)
    in_order = np.bincount(kind[first < second], minlength=len(use)) > 0
    in_other = np.bincount(kind[first > second], minlength=len(use)) > 0
    both = (in_order & in_other)[kind]
    counts = np.where(both, cells.counts[use], 0.0)
    total, first_named = (
        np.bincount(who, counts * of, cells.n_labelers) for of in (np.ones(len(use)), cells.label[use] == 0)
    )
    return np.flatnonzero((total >= least) & ((first_named == 0) | (first_named == total)))


def has_finite_strengths(cells: VoteCells) -> bool:
    """Whether every model is connected with every other by wins in both directions: else strengths without errors of
    labelers would be infinite."""
    use = np.flatnonzero(cells.is_paired)
    said = np.where(cells.gold[use] >= 0, cells.gold[use], cells.label[use])
    first, second = cells.first[use], cells.second[use]
    wins, losses = np.isin(said, (0, 2)), np.isin(said, (1, 2))
    start = np.concatenate([first[wins], second[losses]])
    end = np.concatenate([second[wins], first[losses]])
    graph = sparse.coo_array((np.ones(len(start)), (start, end)), shape=(cells.n_models, cells.n_models))
    return bool(csgraph.connected_components(graph, directed=True, connection="strong")[0] == 1)
