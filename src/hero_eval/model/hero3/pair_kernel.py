"""Sums over pairs of labels, in a compiled pass over the rows: what the information of HERO-3's parameters is made of.

What not seeing a row's component loses is the covariance, by the components' shares, of the derivatives of its
log-weights. A label's derivative by its labeler's parameters is taken against its mean, the row's score; then products
of two labels' are summed by their labelers' parameters, and those of a label and a component's share by parameter and
key; of keys' own parameters the components' shares suffice. So a row costs the square of its labels, however many
labelers there are. Chunks are those of `row_kernel`: no digit depends on the number of threads.
Shapes: P rows, N keys, J labelers, L answers, E components, q basis functions, w = (L-1)q parameters of a labeler.
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
from hero_eval.model.lanes import add_to, load, scaled, times, total
from hero_eval.model.patterns import Floats
from hero_eval.model.threads import run_chunks

_MOST_CHUNKS = 4
"""Their sums are large, and to add them up takes time too. Doubled, eight threads could help (reasoned)."""
_MOST_TABLE = 1 << 20
"""Entries of a table of cells by cells and components, above which derivatives are multiplied row by row instead: such
a table is no longer close to the processor. It bounds time only; sums differ in their last digits (reasoned)."""
MOST_SUMS = 1 << 25
"""Entries of one chunk's sums, above which this pass is not taken: 256 MB. It bounds memory only (reasoned)."""


@cache
def _add_tables(n_components: int, width: int, n_free: int) -> Callable[..., None]:
    """The pass where tables of cells by cells are small: sums of rows' items, and of products of their labels'
    scores."""

    @njit(nogil=True, cache=True)
    def add_tables(
        start: int,
        stop: int,
        ends: Any,
        cells: Any,
        keys: Any,
        counts: Any,
        post: Any,
        slopes: Any,
        scores: Any,
        pairs: Any,
        met: Any,
        products: Any,
        by_key: Any,
        squares: Any,
    ) -> None:
        """Rows [start, stop): items of each component by pair of cells into `pairs` (C C, E), the first no later, and
        by key and cell into `met` (N C, E); products of scores by pair of labelers into one half of `products`
        (J J w, w), by key, parameter and component into `by_key` (N J w, E), of shares by key into `squares` (N E, E).

        `slopes` (C w, E) are labels' derivatives; `scores` (labels of a row, w) is room to work in.
        """
        n_cells = len(slopes) // width
        n_labelers = n_cells // (n_free + 1)
        for row in range(start, stop):
            key, first, last, count = keys[row], ends[row], ends[row + 1], counts[row]
            shares = load(post, row, n_components)
            items = scaled(shares, count)
            for e in range(n_components):
                add_to(squares, key * n_components + e, scaled(items, post[row, e]))
            for k in range(first, last):
                cell, at = np.int64(cells[k]), k - first
                add_to(met, key * n_cells + cell, items)
                for m in range(k + 1, last):
                    add_to(pairs, cell * n_cells + cells[m], items)
                labeler = cell // (n_free + 1)
                place = (key * n_labelers + labeler) * width
                for i in range(width):
                    scores[at, i] = total(times(shares, load(slopes, cell * width + i, n_components)))
                    add_to(by_key, place + i, scaled(items, scores[at, i]))
            for k in range(last - first):  # behind the loop above, whose scores are read as rows
                labeler = cells[first + k] // (n_free + 1)
                for m in range(k + 1):
                    place = (cells[first + m] // (n_free + 1) * n_labelers + labeler) * width
                    weight = 0.5 * count if m == k else count
                    for h in range(width):
                        add_to(products, place + h, scaled(load(scores, k, width), weight * scores[m, h]))

    return add_tables


@cache
def _add_lost(n_components: int, n_basis: int, n_free: int) -> Callable[..., None]:
    """The pass for so many components, basis functions and answers but the first: `row_kernel` says why these are to be
    known."""
    width = n_free * n_basis

    @njit(nogil=True, cache=True)
    def add_lost(
        start: int,
        stop: int,
        ends: Any,
        cells: Any,
        keys: Any,
        counts: Any,
        post: Any,
        share: Any,
        basis: Any,
        off: Any,
        same: Any,
        apart: Any,
        by_key: Any,
        squares: Any,
    ) -> None:
        """Rows [start, stop): covariances of a label's derivatives with themselves into `same` (J, w, w), with those of
        the row's later labels into `apart` (Jw, Jw), and with the components into `by_key` (N, Jw, E); of the
        components into one half of `squares` (N, E, E).

        `off` (labels of a row, w, E), the derivatives against their means, is room to work in.
        """
        items, weighted = np.empty(n_components), np.empty(n_components)
        for row in range(start, stop):
            key, first, last = keys[row], ends[row], ends[row + 1]
            for e in range(n_components):
                items[e] = counts[row] * post[row, e]
            for e in range(n_components):
                for f in range(e):
                    squares[key, e, f] -= items[e] * post[row, f]
                squares[key, e, e] += items[e] * (1.0 - post[row, e])
            for k in range(first, last):
                labeler, answer = cells[k] // (n_free + 1), cells[k] % (n_free + 1)
                for free in range(n_free):
                    given = 1.0 if answer == free + 1 else 0.0
                    for b in range(n_basis):
                        mean = 0.0
                        for e in range(n_components):
                            slope = (given - share[labeler, free, e]) * basis[b, e]
                            off[k - first, free * n_basis + b, e] = slope
                            mean += post[row, e] * slope
                        for e in range(n_components):
                            off[k - first, free * n_basis + b, e] -= mean
            for k in range(first, last):
                own, at = cells[k] // (n_free + 1), k - first
                for i in range(width):
                    place = own * width + i
                    for e in range(n_components):
                        weighted[e] = items[e] * off[at, i, e]
                        by_key[key, place, e] += weighted[e]
                    for h in range(i + 1):
                        total = 0.0
                        for e in range(n_components):
                            total += weighted[e] * off[at, h, e]
                        same[own, i, h] += total
                    for m in range(k + 1, last):
                        other = (cells[m] // (n_free + 1)) * width
                        for h in range(width):
                            total = 0.0
                            for e in range(n_components):
                                total += weighted[e] * off[m - first, h, e]
                            apart[place, other + h] += total

    return add_lost


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over rows of covariances by the components' shares, each times the row's count.

    answers (Jw, Jw): of two labelers' derivatives; by_key (N, Jw, E): of a labeler's and the components themselves;
    squares (N, E, E): of these.
    """

    answers: Floats
    by_key: Floats
    squares: Floats


def fits_in_memory(keyed: KeyedRows, n_components: int, width: int) -> bool:
    """Whether the sums of one chunk are few enough."""
    return _size(keyed, n_components, width) <= MOST_SUMS


def _size(keyed: KeyedRows, n_components: int, width: int) -> int:
    n_answers = keyed.patterns.n_labelers * width
    return n_answers**2 + len(keyed.row) * n_components * (n_answers + n_components)


def pair_sums_of(keyed: KeyedRows, counts: Floats, post: Floats, share: Floats, basis: Floats) -> PairSums:
    """All sums; counts (P,), components' shares (P, E), P(answer | component) but the first answer's (J, L-1, E)."""
    if int(keyed.patterns.cells.shape[1]) ** 2 * post.shape[1] <= _MOST_TABLE:
        return _sums_by_tables(keyed, counts, post, share, basis)
    patterns, n_keys, n_components = keyed.patterns, len(keyed.row), post.shape[1]
    width = share.shape[1] * basis.shape[1]
    n_answers = len(share) * width
    longest = int(np.diff(patterns.cells.indptr).max(initial=0))
    rows = patterns.cells.indptr.astype(np.int64), patterns.cells.indices.astype(np.int32, copy=False)
    data = (
        *rows,
        keyed.of_row.astype(np.int32),
        counts,
        np.ascontiguousarray(post),
        share,
        np.ascontiguousarray(basis.T),
    )
    cuts = chunk_cuts(keyed, _size(keyed, n_components, width), _MOST_CHUNKS)
    n_chunks = len(cuts) - 1
    same, apart = np.zeros((n_chunks, len(share), width, width)), np.zeros((n_chunks, n_answers, n_answers))
    by_key = np.zeros((n_chunks, n_keys, n_answers, n_components))
    squares = np.zeros((n_chunks, n_keys, n_components, n_components))
    add_lost = _add_lost(n_components, basis.shape[1], share.shape[1])

    def work(chunk: int) -> None:
        own = same[chunk], apart[chunk], by_key[chunk], squares[chunk]
        add_lost(cuts[chunk], cuts[chunk + 1], *data, np.empty((longest, width, n_components)), *own)

    run_chunks(work, n_chunks)
    half = apart.sum(axis=0)
    answers = half + half.T
    labelers = np.arange(len(share))
    answers.reshape(len(share), width, len(share), width)[labelers, :, labelers] += _from_below(same.sum(axis=0))
    return PairSums(answers, by_key.sum(axis=0), _from_below(squares.sum(axis=0)))


def _sums_by_tables(keyed: KeyedRows, counts: Floats, post: Floats, share: Floats, basis: Floats) -> PairSums:
    """The same by tables of cells: a label's derivatives are those of its cell, and multiply whole tables."""
    patterns, n_keys, n_components = keyed.patterns, len(keyed.row), post.shape[1]
    n_labelers, n_free = share.shape[:2]
    n_answers, n_cells, width = n_labelers * n_free * basis.shape[1], n_labelers * (n_free + 1), n_free * basis.shape[1]
    given = np.eye(n_free + 1)[:, 1:, None] - share[:, None]  # (J, L, L-1, E): 1 for the answer, less what was expected
    slopes = (given[:, :, :, None] * basis.T).reshape(n_labelers, n_free + 1, width, n_components)
    data = (
        patterns.cells.indptr.astype(np.int64),
        patterns.cells.indices.astype(np.int32, copy=False),
        keyed.of_row.astype(np.int64),
        counts,
        np.ascontiguousarray(post),
        slopes.reshape(-1, n_components),
    )
    shapes = [
        (n_cells**2, n_components),
        (n_keys * n_cells, n_components),
        (n_labelers * n_answers, width),
        (n_keys * n_answers, n_components),
        (n_keys * n_components, n_components),
    ]
    room = sum(height * breadth for height, breadth in shapes)
    cuts = chunk_cuts(keyed, room, min(_MOST_CHUNKS, max(len(data[1]) // room, 1)))  # sums take less time than labels
    sums = [np.zeros((len(cuts) - 1, *one)) for one in shapes]
    longest = int(np.diff(patterns.cells.indptr).max(initial=0))
    add_tables = _add_tables(n_components, width, n_free)

    def work(chunk: int) -> None:
        scores = np.empty((longest, width))
        add_tables(cuts[chunk], cuts[chunk + 1], *data, scores, *(one[chunk] for one in sums))

    run_chunks(work, len(cuts) - 1)
    pairs, met, products, by_key, squares = (one[0] if len(one) == 1 else one.sum(axis=0) for one in sums)
    by_cell = met.reshape(n_keys, n_cells, n_components)
    pairs.reshape(n_cells, n_cells, -1)[np.arange(n_cells), np.arange(n_cells)] += 0.5 * by_cell.sum(axis=0)
    half = _multiplied(pairs.reshape(n_cells, n_cells, -1), slopes)
    half -= products.reshape(n_labelers, n_labelers, width, width).transpose(0, 2, 1, 3).reshape(half.shape)
    of_key = np.einsum("njle,jlie->njie", by_cell.reshape(n_keys, n_labelers, n_free + 1, -1), slopes)
    open_part = np.zeros((n_keys, n_components, n_components))
    each = np.arange(n_components)
    open_part[:, each, each] = squares.sum(axis=1).reshape(n_keys, -1)
    return PairSums(
        half + half.T,
        (of_key.reshape(by_key.shape) - by_key).reshape(n_keys, n_answers, -1),
        open_part - squares.reshape(open_part.shape),
    )


def _multiplied(table: Floats, slopes: Floats) -> Floats:
    """(Jw, Jw): a table of cells by cells (C, C, E) times the derivatives of both (J, L, w, E), over components."""
    n_labelers, n_answers, width, n_components = slopes.shape
    out = np.zeros((n_labelers * width,) * 2)
    for e in range(n_components):
        of_cell = slopes[:, :, :, e].transpose(0, 2, 1)
        once = of_cell @ table[:, :, e].reshape(n_labelers, n_answers, -1)
        both = of_cell @ once.reshape(len(out), -1).T.reshape(n_labelers, n_answers, -1)
        out += both.reshape(out.shape).T
    return out


def _from_below(halves: Floats) -> Floats:
    """Symmetric matrices (n, w, w) from their lower halves."""
    out: Floats = halves + np.tril(halves, -1).transpose(0, 2, 1)
    return out
