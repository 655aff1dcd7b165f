"""Sums over pairs of labels, in compiled passes over the rows: what the information of HERO-3's parameters is made of.

What not seeing a row's component loses is the variance, by the components' shares, of the derivatives of its
log-weights: the mean of their products less the product of their means, which is the row's score. The first is summed
by the two cells or keys that meet, the second by the two labelers' parameters, and by a labeler's parameters and a key;
of keys' own parameters the components' shares suffice. So a row costs the square of its labels, however many labelers
there are. Chunks are those of `row_kernel`: no digit depends on the number of threads.
Shapes: P rows, C cells, N keys (numbered behind the cells), J labelers, L answers, E components, q basis functions,
w = (L-1)q parameters of a labeler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hero_eval.model.compiling import njit
from hero_eval.model.hero3.row_kernel import chunk_cuts
from hero_eval.model.hero3.shape import KeyedRows
from hero_eval.model.kernel import run_chunks
from hero_eval.model.patterns import Floats

_MOST_CHUNKS = 4
"""Their sums are large, and to add them up takes time too. Doubled, eight threads could help (reasoned)."""
MOST_SUMS = 1 << 25
"""Entries of one chunk's sums, above which these passes are not taken: 256 MB. It bounds memory only (reasoned)."""


@cache
def _add_tables(n_components: int) -> Callable[..., None]:
    """The pass for so many components: `row_kernel` says why that is to be known."""

    @njit(nogil=True, cache=True)
    def add_tables(start: int, stop: int, ends: Any, cells: Any, keys: Any, counts: Any, post: Any, own: Any) -> None:
        """Rows [start, stop): items of each component into (C+N, C+N, E), by the two that meet, the first no later."""
        items = np.empty(n_components)
        for row in range(start, stop):
            key, first, last = keys[row], ends[row], ends[row + 1]
            for e in range(n_components):
                items[e] = counts[row] * post[row, e]
                own[key, key, e] += items[e]
            for k in range(first, last):
                a = cells[k]
                for m in range(k, last):
                    b = cells[m]
                    for e in range(n_components):
                        own[a, b, e] += items[e]
                for e in range(n_components):
                    own[a, key, e] += items[e]

    return add_tables


@cache
def _add_scores(n_components: int, n_basis: int, n_free: int) -> Callable[..., None]:
    """The pass for so many components, basis functions and answers but the first."""
    width = n_free * n_basis

    @njit(nogil=True, cache=True)
    def add_scores(
        start: int,
        stop: int,
        ends: Any,
        cells: Any,
        keys: Any,
        counts: Any,
        post: Any,
        share: Any,
        basis: Any,
        score: Any,
        same: Any,
        apart: Any,
        by_key: Any,
        squares: Any,
    ) -> None:
        """Rows [start, stop): products of scores, of labelers with themselves into `same` (J, w, w) and with later ones
        into `apart` (Jw, Jw); with the components' shares into `by_key` (N, Jw, E); of these into one half
        of `squares` (N, E, E).

        `score` (labels of a row, w) is room to work in.
        """
        along, items = np.empty((n_basis, n_components)), np.empty(n_components)
        for row in range(start, stop):
            key, first, last = keys[row], ends[row], ends[row + 1]
            for e in range(n_components):
                items[e] = counts[row] * post[row, e]
                for b in range(n_basis):
                    along[b, e] = post[row, e] * basis[e, b]
            for e in range(n_components):
                for f in range(e + 1):
                    squares[key, e, f] += items[e] * post[row, f]
            for k in range(first, last):
                labeler, answer = cells[k] // (n_free + 1), cells[k] % (n_free + 1)
                for free in range(n_free):
                    given = 1.0 if answer == free + 1 else 0.0
                    for b in range(n_basis):
                        total = 0.0
                        for e in range(n_components):
                            total += (given - share[labeler, free, e]) * along[b, e]
                        score[k - first, free * n_basis + b] = total
            for k in range(first, last):
                own, at = cells[k] // (n_free + 1), k - first
                for i in range(width):
                    one, place = score[at, i], own * width + i
                    for e in range(n_components):
                        by_key[key, place, e] += one * items[e]
                    weight = counts[row] * one
                    for h in range(width):
                        same[own, i, h] += weight * score[at, h]
                    for m in range(k + 1, last):
                        other = (cells[m] // (n_free + 1)) * width
                        for h in range(width):
                            apart[place, other + h] += weight * score[m - first, h]

    return add_scores


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over rows, each times its count.

    tables (C+N, C+N, E): items of each component by the two cells or keys that meet. answers (Jw, Jw): products of two
    labelers' scores; by_key (N, Jw, E): of a labeler's score and the components' shares; squares (N, E, E): of these.
    """

    tables: Floats
    answers: Floats
    by_key: Floats
    squares: Floats


def fits_in_memory(keyed: KeyedRows, n_components: int, width: int) -> bool:
    """Whether the sums of one chunk are few enough."""
    return max(_sizes(keyed, n_components, width)) <= MOST_SUMS


def _sizes(keyed: KeyedRows, n_components: int, width: int) -> tuple[int, int]:
    """Entries of the tables, and of the scores' products."""
    n_all, n_keys = int(keyed.patterns.cells.shape[1]) + len(keyed.row), len(keyed.row)
    n_answers = keyed.patterns.n_labelers * width
    return n_all**2 * n_components, n_answers**2 + n_keys * n_components * (n_answers + n_components)


def pair_sums_of(keyed: KeyedRows, counts: Floats, post: Floats, share: Floats, basis: Floats) -> PairSums:
    """All sums; counts (P,), components' shares (P, E), P(answer | component) but the first answer's (J, L-1, E)."""
    patterns, n_keys, n_components = keyed.patterns, len(keyed.row), post.shape[1]
    n_cells, width = int(patterns.cells.shape[1]), share.shape[1] * basis.shape[1]
    n_answers = len(share) * width
    post = np.ascontiguousarray(post)
    rows = patterns.cells.indptr.astype(np.int64), patterns.cells.indices.astype(np.int32, copy=False)
    of_row = keyed.of_row.astype(np.int32)
    behind = of_row + np.int32(n_cells)
    longest = int(np.diff(patterns.cells.indptr).max(initial=0))
    room, others = _sizes(keyed, n_components, width)
    cuts = chunk_cuts(keyed, room, _MOST_CHUNKS)
    tables_of = _add_tables(n_components)
    tables = np.zeros((len(cuts) - 1, n_cells + n_keys, n_cells + n_keys, n_components))

    def work_on_tables(chunk: int) -> None:
        tables_of(cuts[chunk], cuts[chunk + 1], *rows, behind, counts, post, tables[chunk])

    run_chunks(work_on_tables, len(tables))
    table = tables[0] if len(tables) == 1 else tables.sum(axis=0)
    pieces = chunk_cuts(keyed, others, _MOST_CHUNKS)
    n_pieces = len(pieces) - 1
    same, apart = np.zeros((n_pieces, len(share), width, width)), np.zeros((n_pieces, n_answers, n_answers))
    by_key = np.zeros((n_pieces, n_keys, n_answers, n_components))
    squares = np.zeros((n_pieces, n_keys, n_components, n_components))

    scores_of = _add_scores(n_components, basis.shape[1], share.shape[1])

    def work_on_scores(chunk: int) -> None:
        own = same[chunk], apart[chunk], by_key[chunk], squares[chunk]
        data = *rows, of_row, counts, post, share, basis, np.empty((longest, width))
        scores_of(pieces[chunk], pieces[chunk + 1], *data, *own)

    run_chunks(work_on_scores, n_pieces)
    half = apart.sum(axis=0)
    answers = half + half.T
    labelers = np.arange(len(share))
    answers.reshape(len(share), width, len(share), width)[labelers, :, labelers] += same.sum(axis=0)
    whole = table + table.transpose(1, 0, 2)  # one half is empty
    each = np.arange(len(table))
    whole[each, each] = table[each, each]
    below = np.tril(squares.sum(axis=0))
    return PairSums(whole, answers, by_key.sum(axis=0), below + np.tril(below, -1).transpose(0, 2, 1))
