"""A tally: one round, or several as one, as counts of answer patterns, without its items.

Every engine ends here, and from here on all of them are one. Tallies add up, so a history grows by adding the tally of
a new round to those that are there; `tally_files` keeps them.
Shapes: P rows, J labelers, L answers, d covariates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.model.moments import Moments, add_moments
from hero_eval.model.patterns import (
    Floats,
    Ints,
    Patterns,
    group_rows,
    numbers_up_to,
    smallest_whole,
    sparse_cells,
    sum_by,
    take_rows,
)

_BLOCK = 1 << 18
"""Rows of which every label gets a number at a time. It bounds memory only."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Answer patterns with counts.

    cells (entries,) labeler * L + answer, sorted within a row; ends (P+1,) where rows begin; gold (P,) position in
    `values` or -1; items (P,) how many; weight and square (P,) sums of the items' weights, which have mean 1, and of
    their squares; n_labels says how many labels there were. `answers` (L,) are what labels say, where that is not
    `values`: the bins of scores.
    """

    labelers: tuple[str, ...]
    values: tuple[str, ...]
    cells: Ints
    ends: Ints
    gold: Ints
    items: Floats
    weight: Floats
    square: Floats
    n_labels: int
    moments: Moments | None = None
    answers: tuple[str, ...] | None = None

    @property
    def n_answers(self) -> int:
        return len(self.values if self.answers is None else self.answers)

    @property
    def n_rows(self) -> int:
        return len(self.items)

    @property
    def n_items(self) -> int:
        return round(float(self.items.sum()))

    @property
    def n_gold(self) -> int:
        return round(float(self.items[self.gold >= 0].sum()))

    def labels_of(self) -> Floats:
        """(J,) how many labels each labeler gave."""
        out: Floats = self.labels_by_answer().sum(axis=1)
        return out

    def labels_by_answer(self) -> Floats:
        """(J, L) how often each labeler gave each answer."""
        shape = len(self.labelers), self.n_answers
        out = np.zeros(shape[0] * shape[1])
        for rows in _blocks(self.n_rows):
            ends = self.ends[rows.start : rows.stop + 1]
            out += sum_by(self.cells[ends[0] : ends[-1]], np.repeat(self.items[rows], np.diff(ends)), len(out))
        return out.reshape(shape)


@dataclass(frozen=True, eq=False)
class Aligned:
    """A tally on labelers and classes that others share. `row` (P,) is where each of its rows went, -1 = nowhere."""

    patterns: Patterns
    row: Ints
    labels_set_aside: int
    items_set_aside: int


def align(tally: Tally, labelers: Sequence[str], classes: Sequence[str]) -> Aligned:
    """Patterns on these labelers and classes; labels by others are left out, rows that are then alike become one."""
    place = {name: position for position, name in enumerate(labelers)}
    class_of = {name: position for position, name in enumerate(classes)}
    people = np.array([place.get(name, -1) for name in tally.labelers], dtype=np.int64)
    values = np.array([class_of[value] for value in tally.values], dtype=np.int64)
    answers = values if tally.answers is None else np.arange(tally.n_answers)
    n_answers = len(classes) if tally.answers is None else tally.n_answers
    moved = np.where(people[:, None] >= 0, people[:, None] * n_answers + answers[None, :], -1).ravel()
    same = bool((values == np.arange(len(values))).all())
    gold = tally.gold if same else np.where(tally.gold >= 0, values[tally.gold], -1)
    if moved.min() >= 0 and (np.diff(moved) > 0).all():  # nobody is left out and the order stays: so do the rows
        row = numbers_up_to(tally.n_rows)
        cells = tally.cells if moved[-1] == len(moved) - 1 else moved[tally.cells]
        return Aligned(_patterns(cells, tally.ends, row, gold, row, tally, len(labelers), n_answers), row, 0, 0)
    return _align_some(tally, moved, gold, len(labelers), n_answers)


def _align_some(tally: Tally, moved: Ints, gold: Ints, n_labelers: int, n_answers: int) -> Aligned:
    """Where cells change their order, or are left out (-1 in `moved`): rows that are then alike become one."""
    cells, lengths = _moved_rows(tally.cells, tally.ends, moved)
    aside = round(float(tally.items @ (np.diff(tally.ends) - lengths)))
    kept = np.flatnonzero(lengths)
    ends = _ends_of(lengths[kept])
    gold = gold[kept]
    first, group = group_rows(cells, ends, gold, n_labelers * n_answers)
    row = np.full(tally.n_rows, -1, group.dtype)
    row[kept] = group
    patterns = _patterns(cells, ends, first, gold, row, tally, n_labelers, n_answers)
    return Aligned(patterns, row, aside, round(float(tally.items[row < 0].sum())))


def _patterns(
    cells: Ints, ends: Ints, first: Ints, gold: Ints, row: Ints, tally: Tally, n_labelers: int, n_answers: int
) -> Patterns:
    """Rows `first` of the cells, with what the tally's rows sum up to in each."""
    indptr, chosen = take_rows(cells, ends, first)
    items, weight, square = tally.items, tally.weight, tally.square
    if first is not row:
        kept, unweighted = row >= 0, weight is items and square is items
        items = sum_by(row[kept], items[kept], len(first))
        weight, square = (
            (items, items) if unweighted else (sum_by(row[kept], of[kept], len(first)) for of in (weight, square))
        )
    scale = items.sum() / weight.sum() if len(items) else 1.0
    if scale != 1.0:
        weight, square = weight * scale, square * scale**2
    plain = weight is square or bool(np.array_equal(weight, square))  # nobody weighed anything: one number for all
    return Patterns(
        cells=sparse_cells(chosen, indptr, n_labelers * n_answers),
        gold=gold if first is row else gold[first],
        counts=weight,
        row_of_item=row if first is row else numbers_up_to(len(first)),
        item_weight=np.broadcast_to(1.0, len(weight)) if plain else square / weight,
        n_labelers=n_labelers,
        n_answers=n_answers,
        times=weight if plain else weight**2 / square,
        row_items=items,
    )


def add(tallies: Sequence[Tally]) -> Tally:
    """Several rounds as one. Covariates are kept if all of them have the same."""
    if len(tallies) == 1:
        return tallies[0]
    labelers = tuple(sorted({name for one in tallies for name in one.labelers}))
    values = tuple(dict.fromkeys(value for one in tallies for value in one.values))
    place = {name: position for position, name in enumerate(labelers)}
    spot = {name: position for position, name in enumerate(values)}
    n_answers = len(values) if tallies[0].answers is None else tallies[0].n_answers
    cells, lengths, gold = [], [], []
    for one in tallies:
        assert one.answers == tallies[0].answers  # scores of all rounds were cut into the same bins
        people = np.array([place[name] for name in one.labelers], dtype=np.int64)
        codes = np.array([*(spot[name] for name in one.values), -1], dtype=np.int64)
        answers = codes[:-1] if one.answers is None else np.arange(n_answers)
        moved = (people[:, None] * n_answers + answers).ravel()
        sorted_cells, n_labels = _moved_rows(one.cells, one.ends, moved)
        cells.append(sorted_cells)
        lengths.append(n_labels)
        gold.append(codes[one.gold])
    items = np.concatenate([one.items for one in tallies])
    plain = all(one.weight is one.items and one.square is one.items for one in tallies)  # nobody weighed anything
    together = Tally(
        labelers=labelers,
        values=values,
        cells=np.concatenate(cells),
        ends=_ends_of(np.concatenate(lengths)),
        gold=np.concatenate(gold),
        items=items,
        weight=items if plain else np.concatenate([one.weight for one in tallies]),
        square=items if plain else np.concatenate([one.square for one in tallies]),
        n_labels=sum(one.n_labels for one in tallies),
        answers=tallies[0].answers,
    )
    with_moments = [one.moments for one in tallies if one.moments is not None]
    if len(with_moments) == len(tallies) and len({one.names for one in with_moments}) == 1:
        rows = np.split(np.arange(together.n_rows), np.cumsum([one.n_rows for one in tallies])[:-1])
        together = replace(together, moments=add_moments(with_moments, rows, together.n_rows))
    return _grouped(together)[0]


def _blocks(n_rows: int) -> list[slice]:
    """Rows, some at a time: a number a label of all of them would fill memory."""
    return [slice(start, min(start + _BLOCK, n_rows)) for start in range(0, n_rows, _BLOCK)]


def _ends_of(lengths: Ints) -> Ints:
    """Where rows of these lengths begin, and the last one ends."""
    ends: Ints = np.zeros(len(lengths) + 1, smallest_whole(int(lengths.sum(dtype=np.int64))))
    np.cumsum(lengths, out=ends[1:])
    return ends


def _moved_rows(cells: Ints, ends: Ints, moved: Ints) -> tuple[Ints, Ints]:
    """The cells in another numbering, -1 = left out, sorted within their rows; and how many each row has then."""
    out = np.empty(len(cells), smallest_whole(max(len(cells), int(moved.max(initial=0)))))
    lengths, n = np.empty(len(ends) - 1, np.int32), 0
    for rows in _blocks(len(ends) - 1):
        here = ends[rows.start : rows.stop + 1]
        found = moved[cells[here[0] : here[-1]]]
        of_row = np.repeat(np.arange(rows.stop - rows.start), np.diff(here))
        known = found >= 0
        found, of_row = found[known], of_row[known]
        out[n : n + len(found)] = found[np.lexsort((found, of_row))]
        lengths[rows] = np.bincount(of_row, minlength=rows.stop - rows.start)
        n += len(found)
    return out[:n], lengths


def _grouped(tally: Tally) -> tuple[Tally, Ints]:
    """The same of rows whose cells are sorted, and (P,) where each row went."""
    first, group = group_rows(tally.cells, tally.ends, tally.gold, len(tally.labelers) * tally.n_answers)
    if len(first) == tally.n_rows:  # all apart, and in their order
        return tally, group
    ends, chosen = take_rows(tally.cells, tally.ends, first)
    together = replace(
        tally,
        cells=chosen,
        ends=ends,
        gold=tally.gold[first],
        items=sum_by(group, tally.items, len(first)),
        weight=sum_by(group, tally.weight, len(first)),
        square=sum_by(group, tally.square, len(first)),
        moments=None if tally.moments is None else add_moments([tally.moments], [group], len(first)),
    )
    return together, group


def hide_gold(tally: Tally) -> tuple[Tally, Ints]:
    """The tally as if no item had gold, and (P,) where each row went."""
    return _grouped(replace(tally, gold=np.full_like(tally.gold, -1)))


def are_alike(one: Tally, other: Tally) -> bool:
    """Whether two tallies count the same patterns equally often."""
    facts = [(of.labelers, of.values, of.answers, of.n_labels) for of in (one, other)]
    if facts[0] != facts[1]:
        return False
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("ends", "cells", "gold", "items"))


def without_items(
    patterns: Patterns, labelers: Sequence[str], values: Sequence[str], answers: tuple[str, ...] | None = None
) -> Tally:
    """The tally of patterns counted in memory, with weights as they are there (mean 1)."""
    row = patterns.row_of_item
    unweighted = bool((patterns.item_weight == 1.0).all())  # then one array is all three
    items = patterns.counts if unweighted else patterns.items_of_row
    return Tally(
        labelers=tuple(labelers),
        values=tuple(values),
        cells=patterns.cells.indices,
        ends=patterns.cells.indptr,
        gold=patterns.gold,
        items=items,
        weight=patterns.counts,
        square=patterns.counts if unweighted else sum_by(row, patterns.item_weight**2, patterns.n_rows),
        n_labels=round(float((np.diff(patterns.cells.indptr) * items).sum())),
        answers=answers,
    )
