"""Sums over the points at which labelers are integrated out: every site of votes is gone through at each of them.

Shapes: as in `vote_model`; Q points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Floats, Ints
from hero_eval.model.threads import run_chunks
from hero_eval.model.vote_model import (
    TieModel,
    VoteParameters,
    VoteSites,
    confusions,
    site_states,
    state_slopes,
)

_MANY_SITES = 20_000
"""From which compiled passes pay for their start. It bounds time only; sums differ in their last digits (reasoned)."""


def weigh_points(
    ties: TieModel, parts: Sequence[SiteColumns], places: Floats, logs: Floats
) -> tuple[Floats, list[Floats]]:
    """(Q, J): the weights of points (Q, J, P) in the light of each labeler's votes, given their `logs` (Q, J) before,
    which are overwritten; and for each part (K, S) what its votes say of the states."""
    many = sum(part.sites.n_sites for part in parts) >= _MANY_SITES
    return (_sum_compiled if many else _sum_by_columns)(ties, parts, places, logs)


def _sum_by_columns(
    ties: TieModel, parts: Sequence[SiteColumns], places: Floats, logs: Floats
) -> tuple[Floats, list[Floats]]:
    """The same in numpy, a point at a time."""
    for place, of_node in zip(places, logs, strict=True):
        every = _answers_at(ties, place)
        for part in parts:
            of_node[part.here] += part.log_likelihoods(every)
    weights = np.exp(log_softmax(logs, axis=0))
    told = [np.zeros_like(part.states) for part in parts]
    for place, weight in zip(places, weights, strict=True):
        every, of_labelers = _answers_at(ties, place), np.append(1.0 / len(places), weight)
        for part, so_far in zip(parts, told, strict=True):
            so_far += part.told(every, of_labelers)
    return weights, told


def _sum_compiled(
    ties: TieModel, parts: Sequence[SiteColumns], places: Floats, logs: Floats
) -> tuple[Floats, list[Floats]]:
    """The same by compiled passes, on all cores; parts are added up in their order."""
    from hero_eval.model import vote_kernel  # compiled code, which few votes need not load

    found: list[Floats] = [np.zeros((0, 0))] * len(parts)

    def every(part: SiteColumns) -> Floats:
        """(1 + labelers here, K, L, Q)."""
        here = np.stack([_answers_at(ties, place[part.here]) for place in places])
        return np.ascontiguousarray(here.transpose(3, 1, 2, 0))

    def add_logs(at: int) -> None:
        part = parts[at]
        found[at] = vote_kernel.log_likelihoods(part.who_here, part.states, part.counts, every(part))[1:]

    def tell(at: int) -> None:
        part = parts[at]
        of_labelers = np.vstack([np.full(len(places), 1.0 / len(places)), weights[:, part.here].T])
        found[at] = vote_kernel.told(part.who_here, part.states, part.counts, every(part), of_labelers)

    run_chunks(add_logs, len(parts))
    for part, own in zip(parts, found, strict=True):
        logs[:, part.here] += own.T
    weights = np.exp(log_softmax(logs, axis=0))
    run_chunks(tell, len(parts))
    return weights, found


def _answers_at(ties: TieModel, place: Floats) -> Floats:
    """(K, L, 1 + J): how each labeler answers, and before them one who says what the state is."""
    every = np.concatenate([np.eye(ties.n_states)[None], confusions(ties, place)])
    return np.ascontiguousarray(every.transpose(1, 2, 0))


@dataclass(frozen=True, eq=False)
class SiteColumns:
    """Some sites with their states, and what moves these, as columns: all are gone through at every point at which
    labelers are summed. who (S,): 1 + labeler; states, by_delta, by_tau (K, S); counts (L, S)."""

    sites: VoteSites
    who: Ints
    states: Floats
    by_delta: Floats
    by_tau: Floats
    counts: Floats

    @classmethod
    def of(cls, ties: TieModel, sites: VoteSites, at: VoteParameters) -> SiteColumns:
        states = site_states(ties, sites, at)
        by_delta = state_slopes(sites, states, ties.slope)
        by_tau = state_slopes(sites, states, ties.tie) if ties.has_ties else np.zeros((1, ties.n_states))
        return cls(sites, sites.labeler + 1, *map(_columns, (states, by_delta, by_tau, sites.counts)))

    @property
    def here(self) -> slice:
        """The labelers who have a site here."""
        return slice(self.sites.among.start, self.sites.among.stop)

    @property
    def who_here(self) -> Ints:
        """(S,): 1 + the place among these, 0 for no labeler."""
        return self.sites.place_among

    def log_likelihoods(self, every: Floats) -> Floats:
        """Of the votes of each labeler who is here."""
        own = np.take(every, self.who, axis=2)
        return self.sites.by_labeler((self.counts * np.log(self._shares(own))).sum(axis=0))

    def told(self, every: Floats, weights: Floats) -> Floats:
        """(K, S): what the votes say of each state, times the weights (1 + J,) of those who gave them."""
        own = np.take(every, self.who, axis=2)
        ratio = self.counts * weights[self.who] / self._shares(own)
        out: Floats = (own * ratio).sum(axis=1)
        return out

    def _shares(self, own: Floats) -> Floats:
        """(L, S): the probability of each answer, from own (K, L, S): how the site's labeler answers."""
        out: Floats = self.states[0] * own[0]
        for state, of_state in zip(self.states[1:], own[1:], strict=True):
            out += state * of_state
        return np.maximum(out, 1e-300, out=out)


def _columns(rows: Floats) -> Floats:
    return np.ascontiguousarray(rows.T)
