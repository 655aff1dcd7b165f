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
from hero_eval.model.patterns import Floats, Ints, Patterns, group_rows, sparse_cells, sum_by, take_rows


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
        times = np.repeat(self.items, np.diff(self.ends))
        shape = len(self.labelers), self.n_answers
        return sum_by(self.cells, times, shape[0] * shape[1]).reshape(shape)


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
        row = np.arange(tally.n_rows)
        cells = tally.cells if moved[-1] == len(moved) - 1 else moved[tally.cells]
        return Aligned(_patterns(cells, tally.ends, row, gold, row, tally, len(labelers), n_answers), row, 0, 0)
    return _align_some(tally, moved, gold, len(labelers), n_answers)


def _align_some(tally: Tally, moved: Ints, gold: Ints, n_labelers: int, n_answers: int) -> Aligned:
    """Where cells change their order, or are left out (-1 in `moved`): rows that are then alike become one."""
    of_row = np.repeat(np.arange(tally.n_rows), np.diff(tally.ends))
    cells = moved[tally.cells]
    known = cells >= 0
    cells, of_row = cells[known], of_row[known]
    aside = round(float((np.repeat(tally.items, np.diff(tally.ends))[~known]).sum()))
    order = np.lexsort((cells, of_row))
    lengths = np.bincount(of_row, minlength=tally.n_rows)
    kept = np.flatnonzero(lengths)
    ends = np.concatenate([[0], np.cumsum(lengths[kept])])
    gold = gold[kept]
    first, group = group_rows(cells[order], ends, gold, n_labelers * n_answers)
    row = np.full(tally.n_rows, -1, dtype=np.int64)
    row[kept] = group
    patterns = _patterns(cells[order], ends, first, gold, row, tally, n_labelers, n_answers)
    return Aligned(patterns, row, aside, round(float(tally.items[row < 0].sum())))


def _patterns(
    cells: Ints, ends: Ints, first: Ints, gold: Ints, row: Ints, tally: Tally, n_labelers: int, n_answers: int
) -> Patterns:
    """Rows `first` of the cells, with what the tally's rows sum up to in each."""
    indptr, chosen = take_rows(cells, ends, first)
    items, weight, square = tally.items, tally.weight, tally.square
    if first is not row:
        kept = row >= 0
        items, weight, square = (sum_by(row[kept], of[kept], len(first)) for of in (items, weight, square))
    scale = items.sum() / weight.sum() if len(items) else 1.0
    if scale != 1.0:
        weight, square = weight * scale, square * scale**2
    plain = bool(np.array_equal(weight, square))  # nobody weighed anything: one number for all
    return Patterns(
        cells=sparse_cells(chosen, indptr, n_labelers * n_answers),
        gold=gold if first is row else gold[first],
        counts=weight,
        row_of_item=row if first is row else np.arange(len(first)),
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
    cells, gold = [], []
    for one in tallies:
        assert one.answers == tallies[0].answers  # scores of all rounds were cut into the same bins
        people = np.array([place[name] for name in one.labelers], dtype=np.int64)
        codes = np.array([*(spot[name] for name in one.values), -1], dtype=np.int64)
        answers = codes if one.answers is None else np.arange(n_answers)
        cells.append(people[one.cells // one.n_answers] * n_answers + answers[one.cells % one.n_answers])
        gold.append(codes[one.gold])
    lengths = np.concatenate([np.diff(one.ends) for one in tallies])
    together = Tally(
        labelers=labelers,
        values=values,
        cells=np.concatenate(cells),
        ends=np.concatenate([[0], np.cumsum(lengths)]),
        gold=np.concatenate(gold),
        items=np.concatenate([one.items for one in tallies]),
        weight=np.concatenate([one.weight for one in tallies]),
        square=np.concatenate([one.square for one in tallies]),
        n_labels=sum(one.n_labels for one in tallies),
        answers=tallies[0].answers,
    )
    with_moments = [one.moments for one in tallies if one.moments is not None]
    if len(with_moments) == len(tallies) and len({one.names for one in with_moments}) == 1:
        rows = np.split(np.arange(together.n_rows), np.cumsum([one.n_rows for one in tallies])[:-1])
        together = replace(together, moments=add_moments(with_moments, rows, together.n_rows))
    return _collapsed(together)


def _collapsed(tally: Tally) -> Tally:
    """Rows that are alike made one."""
    of_row = np.repeat(np.arange(tally.n_rows), np.diff(tally.ends))
    return _grouped(replace(tally, cells=tally.cells[np.lexsort((tally.cells, of_row))]))[0]


def _grouped(tally: Tally) -> tuple[Tally, Ints]:
    """The same of rows whose cells are sorted, and (P,) where each row went."""
    first, group = group_rows(tally.cells, tally.ends, tally.gold, len(tally.labelers) * tally.n_answers)
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
