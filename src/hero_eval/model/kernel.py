"""EM steps over labels that do not collapse into few patterns: one pass over compressed sparse rows, on all cores.

Rows are cut into chunks, and each chunk sums into cells of its own; the chunks' sums are then added in their order. How
many chunks there are depends on the data alone, so the sums do not depend on the number of threads.

For two states only the log ratio of their likelihoods enters: with t = log odds of state 1, its posterior is
1 / (1 + exp(-t)), and a row adds  max(t, 0) + log(1 + exp(-|t|))  to the likelihood relative to state 0. What state 0
alone adds is a sum over cells. Logs are taken of products of up to 512 rows, since each factor is between 1 and 2.
Shapes: P rows, C cells, S states.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numba import njit

from hero_eval.model.latent import Latent
from hero_eval.model.patterns import Floats, Patterns
from hero_eval.model.threads import thread_count

_CHUNK = 1 << 19
_MOST_CHUNKS = 64
_OWN_SUMS = 1 << 25  # entries that all chunks' own sums may take together


@lru_cache(maxsize=1)
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="hero-kernel")


def _run(work: Callable[[int], None], n_chunks: int) -> None:
    threads = thread_count()
    if threads == 1 or n_chunks == 1:
        for chunk in range(n_chunks):
            work(chunk)
        return
    list(_pool(threads).map(work, range(n_chunks)))


_BLOCK = 512


@njit(nogil=True, cache=True)
def _log_odds(ends: Any, cells: Any, delta: Any, prior: float, odds: Any) -> None:
    label = ends[0]
    for row in range(len(ends) - 1):
        t = prior
        for k in range(label, ends[row + 1]):
            t += delta[cells[k]]
        label = ends[row + 1]
        odds[row] = t


@njit(nogil=True, cache=True)
def _share_out(odds: Any, shares: Any, tails: Any) -> float:
    """Posteriors of state 1, exp(-|t|), and the sum of log(1 + exp(t)), of at most _BLOCK rows."""
    product, above = 1.0, 0.0
    for i in range(len(odds)):
        t = odds[i]
        e = np.exp(-abs(t))
        q = 1.0 / (1.0 + e)
        shares[i] = q if t > 0.0 else e * q
        tails[i] = e
        product *= 1.0 + e
        above += max(t, 0.0)
    return np.log(product) + above  # type: ignore[no-any-return]


@njit(nogil=True, cache=True)
def _add_shares(ends: Any, cells: Any, shares: Any, own: Any) -> float:
    total = 0.0
    label = ends[0]
    for row in range(len(ends) - 1):
        share = shares[row]
        total += share
        for k in range(label, ends[row + 1]):
            own[cells[k]] += share
        label = ends[row + 1]
    return total


@njit(nogil=True, cache=True)
def _two_states(
    start: int, stop: int, ends: Any, cells: Any, special: Any, delta: Any, prior: float, own: Any
) -> tuple[float, float]:
    """Rows [start, stop): state 1's counts by cell into `own`; returns its total and the likelihood over state 0's.

    All rows are first taken as one item without gold; `special` (rows, counts, gold) are those that are not.
    """
    rows, counts, gold = special
    at = np.searchsorted(rows, start)
    total, likelihood = 0.0, 0.0
    odds, tails, shares = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        here, size = ends[first : last + 1], last - first
        _log_odds(here, cells, delta, prior, odds)
        likelihood += _share_out(odds[:size], shares, tails)
        while at < len(rows) and rows[at] < last:
            i = rows[at] - first
            alone = max(odds[i], 0.0) + np.log1p(tails[i])
            if gold[at] >= 0:
                shares[i] = gold[at] * counts[at]
                likelihood += shares[i] * odds[i] - alone
            else:
                shares[i] *= counts[at]
                likelihood += (counts[at] - 1.0) * alone
            at += 1
        total += _add_shares(here, cells, shares, own)
    return total, likelihood


@njit(nogil=True, cache=True)
def _many_states(
    start: int,
    stop: int,
    ends: Any,
    cells: Any,
    counts: Any,
    gold: Any,
    logs: Any,
    prior: Any,
    state_class: Any,
    own: Any,
    totals: Any,
) -> float:
    """Rows [start, stop) for any number of states: expected counts by cell and state, state totals, likelihood."""
    n_states = len(prior)
    joint = np.empty(n_states)
    likelihood = 0.0
    for row in range(start, stop):
        for s in range(n_states):
            joint[s] = prior[s]
        for k in range(ends[row], ends[row + 1]):
            for s in range(n_states):
                joint[s] += logs[cells[k], s]
        known = gold[row]
        top = -np.inf
        for s in range(n_states):
            if known < 0 or state_class[s] == known:
                top = max(top, joint[s])
        whole = 0.0
        for s in range(n_states):
            joint[s] = np.exp(joint[s] - top) if known < 0 or state_class[s] == known else 0.0
            whole += joint[s]
        count = counts[row]
        likelihood += count * (top + np.log(whole))
        for s in range(n_states):
            joint[s] *= count / whole
            totals[s] += joint[s]
        for k in range(ends[row], ends[row + 1]):
            for s in range(n_states):
                own[cells[k], s] += joint[s]
    return likelihood


class Kernel:
    """Patterns laid out for the passes; `step` is one E-step with the sums that the M-step takes."""

    def __init__(self, patterns: Patterns) -> None:
        n_cells = int(patterns.cells.shape[1])
        self._shape = patterns.n_labelers, patterns.n_answers
        n_labels = len(patterns.cells.indices)
        self._ends = patterns.cells.indptr.astype(np.int32 if n_labels < 1 << 31 else np.int64, copy=False)
        small = np.uint16 if n_cells <= 1 << 16 else np.int32
        self._cells = patterns.cells.indices.astype(small)
        self._counts = patterns.counts
        self._gold = patterns.gold.astype(np.int8)
        rows = np.flatnonzero((patterns.gold >= 0) | (patterns.counts != 1.0))
        self._special = rows, patterns.counts[rows], patterns.gold[rows]
        by_size = max(len(self._cells) // _CHUNK, 1)
        n_chunks = int(min(by_size, _MOST_CHUNKS, max(_OWN_SUMS // max(n_cells, 1), 1)))
        wanted = np.linspace(0, len(self._cells), n_chunks + 1)
        self._cuts = np.searchsorted(self._ends, wanted)
        self._cuts[-1] = patterns.n_rows

    @cached_property
    def _cell_counts(self) -> Floats:
        """(C,) how often each cell occurs: what the states have together."""
        out = np.zeros(int(np.prod(self._shape)))
        _add_shares(self._ends, self._cells, self._counts, out)
        return out

    def step(self, latent: Latent) -> tuple[Floats, Floats, float]:
        """Expected answers (J, L, S), expected states (S,), and the likelihood, at this point."""
        plain = latent.n_states == 2 and bool((latent.state_class == np.arange(2)).all())
        return self._step_of_two(latent) if plain else self._step_of_many(latent)

    def _step_of_two(self, latent: Latent) -> tuple[Floats, Floats, float]:
        logs = np.log(latent.answers).reshape(-1, 2)
        prior = np.log(latent.weights)
        n_chunks = len(self._cuts) - 1
        own = np.zeros((n_chunks, len(logs)))
        sums = np.zeros((n_chunks, 2))
        delta, lead = logs[:, 1] - logs[:, 0], float(prior[1] - prior[0])

        def work(chunk: int) -> None:
            sums[chunk] = _two_states(
                self._cuts[chunk],
                self._cuts[chunk + 1],
                self._ends,
                self._cells,
                self._special,
                delta,
                lead,
                own[chunk],
            )

        _run(work, n_chunks)
        first = own.sum(axis=0)
        answers = np.stack([self._cell_counts - first, first], axis=1).reshape(*self._shape, 2)
        yes, above = sums.sum(axis=0)
        whole = float(self._counts.sum())
        base = float(self._cell_counts @ logs[:, 0]) + whole * float(prior[0])
        return np.maximum(answers, 0.0), np.array([whole - yes, yes]), base + float(above)

    def _step_of_many(self, latent: Latent) -> tuple[Floats, Floats, float]:
        n_states = latent.n_states
        logs = np.ascontiguousarray(np.log(latent.answers).reshape(-1, n_states))
        prior = np.log(latent.weights)
        n_chunks = len(self._cuts) - 1
        own = np.zeros((n_chunks, len(logs), n_states))
        totals = np.zeros((n_chunks, n_states))
        heights = np.zeros(n_chunks)
        state_class = latent.state_class.astype(np.int64)

        def work(chunk: int) -> None:
            heights[chunk] = _many_states(
                self._cuts[chunk],
                self._cuts[chunk + 1],
                self._ends,
                self._cells,
                self._counts,
                self._gold,
                logs,
                prior,
                state_class,
                own[chunk],
                totals[chunk],
            )

        _run(work, n_chunks)
        return own.sum(axis=0).reshape(*self._shape, n_states), totals.sum(axis=0), float(heights.sum())
