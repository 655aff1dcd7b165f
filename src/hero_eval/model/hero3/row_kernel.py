"""HERO-3's E-step in one compiled pass over the rows, on all cores: the sums of an M-step, and nothing kept by row.

The likelihood of a row's components is a product over its labels' cells and its key. Every cell's and key's numbers are
taken relative to the largest of their components, so that products stay within a float64 and no exponential is needed;
what was taken off is added back to the log-likelihood, as a sum over cells. Rows of so many or such telling labels that
a product might not hold go by logarithms. Loops over a handful of components are several times as fast if their number
is known when they are compiled, so few components have a pass for each number of them. Rows are cut into chunks by the
data alone, and the chunks' sums are added in their order, so that no digit depends on the number of threads.
Shapes: P rows, C cells and N keys (numbered behind the cells), E components.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from hero_eval.model.compiling import njit
from hero_eval.model.hero3.shape import KeyedRows
from hero_eval.model.lanes import add_to, load, scaled, store, times, total
from hero_eval.model.patterns import Floats, Ints, dot
from hero_eval.model.threads import run_chunks

_CHUNK = 1 << 16
"""Labels of a chunk: a millisecond of work. It bounds time only; it must not depend on the machine, since sums are
taken by chunks. Doubled, half the chunks, and last digits differ (reasoned)."""
_MOST_CHUNKS = 64
"""More would only add sums to be added up. Doubled: as above."""
_OWN_SUMS = 1 << 24
"""Entries that all chunks' own sums may take together: 128 MB. Doubled, twice the memory (reasoned)."""
_MOST_LOG = 690.0
"""Of a product that is still a float64: e^-708 is the least. Doubled, products would be 0."""
_LEAST_PRODUCT = 1e-150
"""Of rows' likelihoods, before its logarithm is taken: the square of it is still a float64. Doubled, as before."""
MOST_UNROLLED = 16
"""Components up to which there is a pass for each number of them. It bounds time only, that of compiling included; last
digits differ (reasoned)."""


@njit(nogil=True, cache=True)
def _expect(
    start: int,
    stop: int,
    ends: Any,
    cells: Any,
    keys: Any,
    counts: Any,
    ratios: Any,
    logs: Any,
    bounds: Any,
    own: Any,
    post: Any,
) -> float:
    """Rows [start, stop): expected items by cell or key and component into `own`; shares into `post` unless it is
    empty. Returns the log-likelihood relative to what was taken off; bounds: the log of the smallest ratio of a label's
    cell and of a key."""
    n_components, keep = ratios.shape[1], len(post) > 0
    joint = np.empty(n_components)
    likelihood = 0.0
    for row in range(start, stop):
        key, first, last = keys[row], ends[row], ends[row + 1]
        whole, top = 0.0, 0.0
        if bounds[1] + (last - first) * bounds[0] < _MOST_LOG:
            for e in range(n_components):
                joint[e] = ratios[key, e]
            for k in range(first, last):
                cell = cells[k]
                for e in range(n_components):
                    joint[e] *= ratios[cell, e]
        else:
            for e in range(n_components):
                joint[e] = logs[key, e]
            for k in range(first, last):
                cell = cells[k]
                for e in range(n_components):
                    joint[e] += logs[cell, e]
            top = -np.inf
            for e in range(n_components):
                top = max(top, joint[e])
            for e in range(n_components):
                joint[e] = np.exp(joint[e] - top)
        for e in range(n_components):
            whole += joint[e]
        count = counts[row]
        likelihood += count * (top + np.log(whole))
        if keep:
            for e in range(n_components):
                post[row, e] = joint[e] / whole
        scale = count / whole
        for e in range(n_components):
            joint[e] *= scale
            own[key, e] += joint[e]
        for k in range(first, last):
            cell = cells[k]
            for e in range(n_components):
                own[cell, e] += joint[e]
    return likelihood


@cache
def _expect_few(n_components: int) -> Callable[..., float]:
    """The pass for so many components, of rows whose products all hold."""

    @njit(nogil=True, cache=True)
    def expect(
        start: int,
        stop: int,
        ends: Any,
        cells: Any,
        keys: Any,
        counts: Any,
        ratios: Any,
        own: Any,
        post: Any,
    ) -> float:
        """As `_expect`."""
        keep = len(post) > 0
        likelihood, product = 0.0, 1.0
        for row in range(start, stop):
            key, first, last = keys[row], ends[row], ends[row + 1]
            joint = load(ratios, key, n_components)
            for k in range(first, last):
                joint = times(joint, load(ratios, cells[k], n_components))
            whole = total(joint)
            count = counts[row]
            if count == 1.0 and whole > _LEAST_PRODUCT:
                product *= whole
                if product < _LEAST_PRODUCT:
                    likelihood += np.log(product)
                    product = 1.0
            else:
                likelihood += count * np.log(whole)
            joint = scaled(joint, 1.0 / whole)
            if keep:
                store(post, row, joint)
            joint = scaled(joint, count)
            add_to(own, key, joint)
            for k in range(first, last):
                add_to(own, cells[k], joint)
        return likelihood + np.log(product)  # type: ignore[no-any-return]

    return expect


@njit(nogil=True, cache=True)
def _carry(
    start: int, stop: int, ends: Any, cells: Any, keys: Any, counts: Any, moves: Any, post: Any, own: Any
) -> None:
    """Rows [start, stop): how far a row's components move against their mean, times their items, by cell or key."""
    n_components = moves.shape[1]
    moved = np.empty(n_components)
    for row in range(start, stop):
        key, first, last = keys[row], ends[row], ends[row + 1]
        for e in range(n_components):
            moved[e] = moves[key, e]
        for k in range(first, last):
            cell = cells[k]
            for e in range(n_components):
                moved[e] += moves[cell, e]
        mean = 0.0
        for e in range(n_components):
            mean += post[row, e] * moved[e]
        for e in range(n_components):
            moved[e] = (moved[e] - mean) * post[row, e] * counts[row]
            own[key, e] += moved[e]
        for k in range(first, last):
            cell = cells[k]
            for e in range(n_components):
                own[cell, e] += moved[e]


def chunk_cuts(keyed: KeyedRows, room: int, most: int = _MOST_CHUNKS) -> Ints:
    """Where chunks of rows begin, and the end of the last, if a chunk's own sums have so many entries."""
    ends = keyed.patterns.cells.indptr
    n_chunks = min(max(int(ends[-1]) // _CHUNK, 1), most, max(_OWN_SUMS // max(room, 1), 1))
    wanted = np.linspace(0, int(ends[-1]), n_chunks + 1)[1:-1]
    return np.concatenate([[0], np.searchsorted(ends, wanted), [keyed.patterns.n_rows]])


class RowKernel:
    """Rows laid out for the passes."""

    def __init__(self, keyed: KeyedRows) -> None:
        patterns = keyed.patterns
        self._n_cells = int(patterns.cells.shape[1])
        self._size = self._n_cells + len(keyed.row)
        small = np.int32 if self._size < 1 << 31 else np.int64
        self._ends = patterns.cells.indptr.astype(np.int64)
        self._cells = patterns.cells.indices.astype(small, copy=False)
        self._keys = (keyed.of_row + self._n_cells).astype(small)
        self._longest = int(np.diff(self._ends).max(initial=0))
        self._counts = patterns.counts
        by_cell, by_key = keyed.to_keys(patterns.counts[:, None])
        self._met: Floats = np.concatenate([by_cell[:, 0], by_key[:, 0]])
        self._cuts = chunk_cuts(keyed, self._size * 8)

    def expect(self, of_cells: Floats, of_keys: Floats, post: Floats | None = None) -> tuple[Floats, Floats, float]:
        """Expected items by cell (C, E) and key (N, E), and the log-likelihood, from logarithms of the components'
        likelihoods by cell and key; every row's shares into `post` (P, E)."""
        logs = np.concatenate([of_cells, of_keys])
        tops = logs.max(axis=1)
        logs -= tops[:, None]
        ratios = np.exp(logs)
        least = np.where(np.isfinite(logs), logs, 0.0).min(axis=1)
        bounds = np.array([-least[: self._n_cells].min(), -least[self._n_cells :].min()])
        own = np.zeros((len(self._cuts) - 1, self._size, logs.shape[1]))
        sums = np.zeros(len(own))
        kept = np.empty((0, logs.shape[1])) if post is None else post
        holds = bounds[1] + self._longest * bounds[0] < _MOST_LOG
        few = _expect_few(logs.shape[1]) if holds and logs.shape[1] <= MOST_UNROLLED else None

        def work(chunk: int) -> None:
            span = self._cuts[chunk], self._cuts[chunk + 1]
            data = self._ends, self._cells, self._keys, self._counts
            if few is None:
                sums[chunk] = _expect(*span, *data, ratios, logs, bounds, own[chunk], kept)
            else:
                sums[chunk] = few(*span, *data, ratios, own[chunk], kept)

        run_chunks(work, len(own))
        both = own[0] if len(own) == 1 else own.sum(axis=0)
        log_likelihood = float(sums.sum()) + dot(self._met, np.where(self._met > 0.0, tops, 0.0))
        return both[: self._n_cells], both[self._n_cells :], log_likelihood

    def carry(self, of_cells: Floats, of_keys: Floats, counts: Floats, post: Floats) -> tuple[Floats, Floats]:
        """Moves of components by cell (C, E) and key (N, E), summed for each row, taken against their mean by the row's
        shares (P, E), times these and the row's count; then summed by cell and key."""
        moves = np.concatenate([of_cells, of_keys])
        own = np.zeros((len(self._cuts) - 1, *moves.shape))

        def work(chunk: int) -> None:
            span = self._cuts[chunk], self._cuts[chunk + 1]
            _carry(*span, self._ends, self._cells, self._keys, counts, moves, post, own[chunk])

        run_chunks(work, len(own))
        both = own.sum(axis=0)
        return both[: self._n_cells], both[self._n_cells :]
