"""Answer patterns: items with the same answers and the same gold become one row with a count.

The likelihood sees nothing else of an item, so whatever size the data have, they are first counted and then fitted.
Shapes: n items, P patterns, J labelers, L answers; a *cell* is one (labeler, answer) pair, numbered j * L + l.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]

# Two independent 64-bit sums make one key of 128 bits: with 10^9 items a collision has odds of about 10^-21.
_KEY_SEED = 0x4845524F
"""Of the random numbers that patterns are recognized by: any would do, and it is always the same."""
_KEY_BLOCK = 1 << 18
"""Items whose keys are made at a time. It bounds memory only: twice as many take twice as much (reasoned)."""
_DENSE_CELLS = 200_000
"""Rows times cells up to which products with a full matrix are faster than with a sparse one. It bounds time only; sums
differ in their last digits (reasoned)."""
_LEAST_DENSE, _FILLED = 30_000, 0.25
"""Of these entries up to which they always are, and the share of labels among more of them from which on: rows of few
labels leave a full matrix nearly empty. It bounds time only, as before."""
_MANY_ENTRIES = 1 << 18
"""Labels of patterns, from which on products go by blocks of rows and keep nothing. It bounds memory only
(reasoned)."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct (answers, gold) rows with counts, and the way back from items to rows.

    cells (P, J*L) sparse ones, who said what; gold (P,) class or -1; counts (P,) sums of item weights;
    row_of_item (n,) the row of each item; item_weight (n,) with mean 1.

    Counted by an engine, items are no longer told apart: an entry of `row_of_item` then stands for `times` items that
    share `item_weight` (chosen so that sums of weights and of their squares are those of the items), and `row_items`
    (P,) says how many items each row has.
    """

    cells: Any
    gold: Ints
    counts: Floats
    row_of_item: Ints
    item_weight: Floats
    n_labelers: int
    n_answers: int
    times: Floats | None = None
    row_items: Floats | None = None

    @property
    def n_items(self) -> int:
        return len(self.row_of_item) if self.row_items is None else round(float(self.row_items.sum()))

    @cached_property
    def items_of_row(self) -> Floats:
        """(P,) how many items each row has."""
        if self.row_items is not None:
            return self.row_items
        if self._items_are_rows:
            return np.ones(self.n_rows)
        return np.bincount(self.row_of_item, minlength=self.n_rows).astype(float)

    @property
    def label_weight(self) -> float:
        """How many labels there are, each as often as its item counts."""
        return float(self.counts @ np.diff(self.cells.indptr))

    @property
    def n_gold(self) -> int:
        """How many items have gold."""
        return round(float(self.items_of_row[self.gold >= 0].sum()))

    @property
    def n_rows(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> float:
        """The sum of all item weights."""
        return float(self.counts.sum())

    @property
    def is_small(self) -> bool:
        """Whether dense matrices over rows and cells are cheaper than sparse ones."""
        return int(self.cells.shape[0]) * int(self.cells.shape[1]) <= _DENSE_CELLS

    @property
    def dense_cells(self) -> Floats:
        """(P, J, L) ones and zeros; for small patterns."""
        forward = self._both_ways[0]
        dense: Floats = forward if self.is_filled else forward.toarray()
        return dense.reshape(self.n_rows, self.n_labelers, self.n_answers)

    @cached_property
    def is_filled(self) -> bool:
        """Whether products with a full matrix are faster than with a sparse one."""
        size = int(self.cells.shape[0]) * int(self.cells.shape[1])
        return self.is_small and (size <= _LEAST_DENSE or len(self.cells.indices) >= _FILLED * size)

    @cached_property
    def _both_ways(self) -> tuple[Any, Any]:
        """The cells and their transpose, full where that is small: a sparse product costs more to start than to do."""
        if self.is_filled:
            dense = self.cells.toarray().astype(float)
            return dense, np.ascontiguousarray(dense.T)
        forward = self.cells.astype(float)
        return forward, forward.T.tocsr()

    @property
    def is_vast(self) -> bool:
        """Whether full copies of what the rows have are to be avoided; then they are not small."""
        return len(self.cells.indices) > _MANY_ENTRIES

    @cached_property
    def _items_are_rows(self) -> bool:
        """Whether each of very many rows is one entry of `row_of_item`, in the same order."""
        return self.is_vast and is_range(self.row_of_item, self.n_rows)

    def row_blocks(self) -> list[slice]:
        """The rows, cut so that no block has many more labels than a product should hold copies of."""
        if not self.is_vast:
            return [slice(0, self.n_rows)] if self.n_rows else []
        ends = self.cells.indptr
        cuts = np.searchsorted(ends, np.arange(0, len(self.cells.indices), _MANY_ENTRIES), side="right") - 1
        bounds = np.unique([0, *cuts, self.n_rows])
        return [slice(int(a), int(b)) for a, b in pairwise(bounds)]

    def from_cells(self, cell_values: Floats) -> Floats:
        """(J*L, m) values of cells summed over each row's labels: (P, m)."""
        if self.is_vast:
            vast: Floats = np.empty((self.n_rows, cell_values.shape[1]))
            for rows in self.row_blocks():
                vast[rows] = self.from_cells_of(rows, cell_values)
            return vast
        forward, back = self._both_ways
        if self.is_filled:  # column-major, so that what follows runs along the rows
            small: Floats = (cell_values.T @ back).T
            return small
        out: Floats = forward @ cell_values
        return np.asfortranarray(out) if self.is_small else out

    def from_cells_of(self, rows: slice, cell_values: Floats) -> Floats:
        """The same of one of the row blocks, which are all rows unless these are very many."""
        if not self.is_vast:
            return self.from_cells(cell_values)
        out: Floats = self.cells[rows] @ cell_values
        return out

    def to_cells(self, row_values: Floats) -> Floats:
        """(P, m) values of rows summed over each cell's rows: (J, L, m)."""
        out: Floats
        if self.is_vast:
            out = np.sum([self.cells[rows].T @ row_values[rows] for rows in self.row_blocks()], axis=0)
        else:
            out = self._both_ways[1] @ row_values
        return out.reshape(self.n_labelers, self.n_answers, -1)

    def to_cells_of(self, rows: slice, row_values: Floats) -> Floats:
        """What the values of one of the row blocks add to that."""
        if not self.is_vast:
            return self.to_cells(row_values)
        out: Floats = self.cells[rows].T @ row_values
        return out.reshape(self.n_labelers, self.n_answers, -1)

    @cached_property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """Every label of every row as (row, labeler, answer)."""
        return self.entries_of(slice(0, self.n_rows))

    def entries_of(self, rows: slice) -> tuple[Ints, Ints, Ints]:
        """The same of some rows that follow each other."""
        ends = self.cells.indptr[rows.start : rows.stop + 1]
        cells = self.cells.indices[ends[0] : ends[-1]].astype(np.int64)
        numbers = np.repeat(np.arange(rows.start, rows.stop), np.diff(ends))
        return numbers, cells // self.n_answers, cells % self.n_answers

    @property
    def row_squares(self) -> Floats:
        """(P,) the sum of each row's squared item weights."""
        squares = self.item_weight**2 if self.times is None else self.item_weight**2 * self.times
        return squares if self._items_are_rows else sum_by(self.row_of_item, squares, self.n_rows)

    def item_sums(self, values: Floats) -> Floats:
        """Sum of (n, d) or (n,) item values within each row, each item taken with its weight."""
        weight = self.item_weight if self.times is None else self.item_weight * self.times
        weighted = values * (weight if values.ndim == 1 else weight[:, None])
        if values.ndim == 1:
            return sum_by(self.row_of_item, weighted, self.n_rows)
        columns = [sum_by(self.row_of_item, c, self.n_rows) for c in weighted.T]
        return np.stack(columns, axis=1) if columns else np.zeros((self.n_rows, 0))

    def to_items(self, row_values: Floats) -> Floats:
        """Row values carried to the items, each times its item weight.

        An entry that stands for several items gets the root of the sum of their squares.
        """
        if not self._items_are_rows:
            return self._weighted(row_values[self.row_of_item], slice(None))
        out = np.empty_like(row_values)
        for start in range(0, self.n_rows, _KEY_BLOCK):
            some = slice(start, start + _KEY_BLOCK)
            out[some] = self._weighted(row_values[some], some)
        return out

    def _weighted(self, taken: Floats, some: slice) -> Floats:
        weight = self.item_weight[some]
        weight = weight if self.times is None else weight * np.sqrt(self.times[some])
        return taken * (weight if taken.ndim == 1 else weight[:, None])

    def reweighted(self, item_weight: Floats) -> Patterns:
        """The same items with other weights, used as they are (not rescaled)."""
        mass = item_weight if self.times is None else item_weight * self.times
        counts = sum_by(self.row_of_item, mass, self.n_rows)
        return replace(self, counts=counts, item_weight=np.asarray(item_weight, dtype=float))


def sparse_cells(cells: Ints, ends: Ints, n_cells: int) -> Any:
    """Rows of cells (from ends[r] to ends[r+1]) as a sparse matrix of ones, in as few bytes as they take."""
    small = smallest_whole(max(len(cells), n_cells))
    parts = _ones(len(cells)), cells.astype(small, copy=False), ends.astype(small, copy=False)
    return sparse.csr_array(parts, shape=(len(ends) - 1, n_cells))


def smallest_whole(largest: int) -> type[np.int32] | type[np.int64]:
    """Of the types that a sparse matrix may have its numbers in, the one that holds whole numbers up to this one."""
    return np.int32 if largest < 1 << 31 else np.int64


_SHARED: list[weakref.ref[NDArray[np.int8]]] = []


def _ones(size: int) -> NDArray[np.int8]:
    """Ones, which nobody changes: very many of them are shared by the matrices that need about as many."""
    if size <= _MANY_ENTRIES:
        return np.ones(size, np.int8)
    shared = _SHARED[0]() if _SHARED else None
    if shared is None or not size <= len(shared) <= 4 * size:
        shared = np.ones(size, np.int8)
        shared.flags.writeable = False
        _SHARED[:] = [weakref.ref(shared)]
    return shared[:size]


def is_range(numbers: Ints, size: int) -> bool:
    """Whether these are the numbers from 0 to size - 1 in their order; a block at a time, since they may be many."""
    if len(numbers) != size:
        return False
    return all(
        np.array_equal(numbers[start : start + _KEY_BLOCK], np.arange(start, min(start + _KEY_BLOCK, size)))
        for start in range(0, size, _KEY_BLOCK)
    )


def numbers_up_to(size: int) -> Ints:
    """The numbers from 0 to size - 1, very many of them in half the bytes."""
    return np.arange(size, dtype=np.int64 if size <= _KEY_BLOCK else smallest_whole(size))


def sum_by(index: Ints, values: Floats, size: int) -> Floats:
    """Sums of `values` that share an index, (size,)."""
    out: Floats = np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)
    return out


def dot(first: Floats, second: Floats) -> float:
    """The sum of products, by pairs and on one core: a linear algebra library would wake threads for microseconds of
    work, which on a busy machine costs milliseconds."""
    return float(np.add.reduce(first * second))


def count_patterns(
    label_item: Ints,
    label_labeler: Ints,
    label_answer: Ints,
    *,
    n_items: int,
    n_labelers: int,
    n_answers: int,
    gold: Ints | None = None,
    weight: Floats | None = None,
) -> Patterns:
    """Count items into patterns. Labels come sorted by item; every item has at least one label."""
    cell = label_labeler * n_answers + label_answer
    ends = np.concatenate([[0], np.cumsum(np.bincount(label_item, minlength=n_items))])
    return count_rows(cell, ends, n_labelers=n_labelers, n_answers=n_answers, gold=gold, weight=weight)


def count_rows(
    cell: Ints,
    ends: Ints,
    *,
    n_labelers: int,
    n_answers: int,
    gold: Ints | None = None,
    weight: Floats | None = None,
) -> Patterns:
    """`count_patterns` for labels that are cells already; an item's are those from ends[i] to ends[i+1]."""
    n_items = len(ends) - 1
    item_gold = np.full(n_items, -1, dtype=np.int64) if gold is None else gold
    item_weight = np.ones(n_items)
    if weight is not None and n_items:  # a part may hold no item of a labeler whom history knows
        item_weight = np.asarray(weight, dtype=float) / np.mean(weight)
    first, row_of_item = group_rows(cell, ends, item_gold, n_labelers * n_answers)
    indptr, chosen = take_rows(cell, ends, first)
    all_apart = len(first) == n_items
    return Patterns(
        cells=sparse_cells(chosen, indptr, n_labelers * n_answers),
        gold=item_gold if all_apart else item_gold[first],
        counts=item_weight if all_apart else sum_by(row_of_item, item_weight, len(first)),
        row_of_item=row_of_item,
        item_weight=item_weight,
        n_labelers=n_labelers,
        n_answers=n_answers,
    )


def take_rows(cells: Ints, ends: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The cells of some rows, in their order: where each begins, and the cells."""
    if is_range(rows, len(ends) - 1):
        return ends, cells
    lengths = np.diff(ends)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    out = np.empty(starts[-1], cells.dtype)
    for begin in range(0, len(rows), _KEY_BLOCK):  # a block at a time: a number a label would fill memory
        here = slice(begin, min(begin + _KEY_BLOCK, len(rows)))
        first, last = starts[here.start], starts[here.stop]
        out[first:last] = cells[np.arange(first, last) - np.repeat(starts[:-1][here] - ends[rows[here]], lengths[here])]
    return starts, out


def group_rows(cells: Ints, ends: Ints, gold: Ints, n_cells: int) -> tuple[Ints, Ints]:
    """Of rows of cells (from ends[r] to ends[r+1], none empty) that are alike with their gold: the first of each group,
    and each row's group; groups in the order of appearance."""
    n_rows = len(ends) - 1
    if n_rows < 1:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    met = _met_again(next(_pattern_keys(cells, ends, gold, n_cells)))
    if met is None:  # half a key tells all apart: nothing to group
        apart = numbers_up_to(n_rows)
        return apart, apart
    if 2 * len(met) > n_rows:
        return _group(_pattern_keys(cells, ends, gold, n_cells))
    within, chosen = take_rows(cells, ends, met)
    first, group = _group(_pattern_keys(chosen, within, gold[met], n_cells))
    leads = np.ones(n_rows, dtype=bool)
    leads[met] = False
    leads[met[first]] = True
    number = np.cumsum(leads, dtype=numbers_up_to(n_rows).dtype) - 1
    number[met] = number[met[first]][group]
    return np.flatnonzero(leads), number


def _met_again(key: NDArray[np.uint64]) -> Ints | None:
    """The rows whose key some other row has as well; None if there are none."""
    in_order = np.sort(key)
    again = in_order[1:][in_order[1:] == in_order[:-1]]
    del in_order
    if not len(again):
        return None
    again = np.unique(again)
    found = []
    for start in range(0, len(key), _KEY_BLOCK):
        some = key[start : start + _KEY_BLOCK]
        place = np.minimum(np.searchsorted(again, some), len(again) - 1)
        found.append(start + np.flatnonzero(again[place] == some))
    return np.concatenate(found)


def row_keys(patterns: Patterns) -> NDArray[np.uint64]:
    """(P,) a number for each row, by its answers and gold alone."""
    size = int(patterns.cells.shape[1])
    return next(_pattern_keys(patterns.cells.indices, patterns.cells.indptr, patterns.gold, size))


def _pattern_keys(cell: Ints, ends: Ints, gold: Ints, n_cells: int) -> Iterator[NDArray[np.uint64]]:
    """Two random 64-bit numbers a cell, summed over an item's labels (wrapping), and its gold's added."""
    n_gold = int(gold.max(initial=-1)) + 2
    numbers = np.random.default_rng(_KEY_SEED).integers(0, 2**64, size=(2, n_cells + n_gold), dtype=np.uint64)
    for of in numbers:
        key = np.empty(len(ends) - 1, np.uint64)
        for begin in range(0, len(key), _KEY_BLOCK):  # a block at a time: a number a label would fill memory
            here = ends[begin : begin + _KEY_BLOCK + 1]
            known = gold[begin : begin + _KEY_BLOCK].astype(np.intp)
            sums = np.add.reduceat(of[cell[here[0] : here[-1]]], here[:-1] - here[0])
            np.add(sums, of[n_cells + 1 + known], out=key[begin : begin + _KEY_BLOCK])
        yield key


def _group(keys: Iterator[NDArray[np.uint64]]) -> tuple[Ints, Ints]:
    """Of equal keys: the first item of each group, and each item's group; groups in the order of appearance."""
    first_key = next(keys)
    n_items = len(first_key)
    order = np.argsort(first_key)
    in_order = first_key[order]
    changed = np.ones(n_items, dtype=bool)
    changed[1:] = in_order[1:] != in_order[:-1]
    second_key = next(keys)
    if (np.diff(second_key[order])[~changed[1:]] != 0).any():  # half a key met by chance: the whole key decides
        order = np.lexsort((second_key, first_key))
        changed[1:] = np.any([key[order][1:] != key[order][:-1] for key in (first_key, second_key)], axis=0)
    earliest = np.minimum.reduceat(order, np.flatnonzero(changed))
    leads = np.zeros(n_items, dtype=bool)
    leads[earliest] = True
    rank = (np.cumsum(leads) - 1)[earliest]
    group = np.empty(n_items, dtype=np.int64)
    group[order] = rank[np.cumsum(changed) - 1]
    return np.flatnonzero(leads), group


def patterns_of_matrix(
    labels: NDArray[Any], n_answers: int, gold: NDArray[Any] | None = None, weight: Floats | None = None
) -> Patterns:
    """Patterns of a dense (n, J) matrix of answers in which -1 means not labeled."""
    item, labeler = np.nonzero(labels >= 0)
    return count_patterns(
        item,
        labeler,
        labels[item, labeler].astype(np.int64),
        n_items=labels.shape[0],
        n_labelers=labels.shape[1],
        n_answers=n_answers,
        gold=None if gold is None else gold.astype(np.int64),
        weight=weight,
    )
