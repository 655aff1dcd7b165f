"""A tally with the items behind it in memory, so that products of their covariates can be summed by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from hero_eval.counting.engine import Names
from hero_eval.counting.memory import count_in_memory
from hero_eval.counting.tally import Tally, without_items
from hero_eval.findings import Finding
from hero_eval.model.moments import Forms, Moments, features
from hero_eval.model.patterns import Floats, Ints, Patterns, count_rows, sum_by
from hero_eval.round import Round

_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class ItemArrays:
    """A tally together with its items: the row of each, its weight, and its covariates as `Moments` has them."""

    tally: Tally
    row: Ints
    weight: Floats
    seen: Floats
    values: Floats

    def grams(self, forms: Forms, n_rows: int) -> Floats:
        """Sums of w^2 f f' by row, see `CountSource.grams`."""
        of = features(forms.of(self.seen, self.values)) * self.weight[:, None]
        size = of.shape[1]
        out = np.zeros((n_rows, size, size))
        for a, b in combinations_with_replacement(range(size), 2):
            out[:, a, b] = out[:, b, a] = sum_by(self.row, of[:, a] * of[:, b], n_rows)
        return out


def with_covariates(patterns: Patterns, tally: Tally, names: Names, columns: Floats) -> ItemArrays:
    """The items of patterns counted in memory with their covariates (n, d), nan = missing."""
    row, weight = patterns.row_of_item, patterns.item_weight
    if not names:
        nothing = np.zeros((len(row), 0))
        return ItemArrays(tally, row, weight, nothing, nothing)
    seen = ~np.isnan(columns)
    observed = seen.sum(axis=0).astype(float)
    filled = np.where(seen, columns, 0.0)
    center = filled.sum(axis=0) / np.maximum(observed, 1.0)
    away = np.where(seen, columns - center, 0.0)
    reach = np.abs(away).max(axis=0, initial=0.0)
    scale = np.where(reach > 0, reach, 1.0)
    flags, values = seen.astype(float), away / scale

    def by_row(of: Floats, factor: Floats) -> Floats:
        return np.stack([sum_by(row, column * factor, patterns.n_rows) for column in of.T], axis=1)

    both = np.concatenate([flags, values], axis=1)
    moments = Moments(
        names=names,
        center=center,
        scale=scale,
        seen=by_row(flags, weight),
        sums=by_row(values, weight),
        seen_sq=by_row(flags, weight**2),
        sums_sq=by_row(values, weight**2),
        products=(both * weight[:, None]).T @ both,
        products_sq=(both * weight[:, None] ** 2).T @ both,
        observed=observed,
        largest=np.abs(filled).max(axis=0, initial=0.0),
    )
    return ItemArrays(replace(tally, moments=moments), row, weight, flags, values)


def arrays_of_labels(
    about: Any, cells: Any, labelers: Names, values: Names, covariates: Names, answers: Names | None = None
) -> ItemArrays | None:
    """Items and their labels, both sorted by item, as an engine gave them; None if a labeler labeled an item twice.

    `about` has a row per item (k0 labels, gold, x0 ..., maybe w), `cells` a number per label, sorted within the item;
    `answers` are the bins of scores.
    """
    n_answers = len(values if answers is None else answers)
    cell = np.asarray(cells.to_numpy())
    ends = np.concatenate([[0], np.cumsum(np.asarray(about["k0"].to_numpy(), np.int64))])
    if ends[-1] != len(cell) or _labeled_twice(cell, ends, n_answers):
        return None
    patterns = count_rows(
        cell,
        ends,
        n_labelers=len(labelers),
        n_answers=n_answers,
        gold=np.asarray(about["gold"].to_numpy(), np.int64),
        weight=np.asarray(about["w"].to_numpy(), np.float64) if "w" in about.column_names else None,
    )
    columns = [np.asarray(about[f"x{j}"].to_numpy(), np.float64) for j in range(len(covariates))]
    table = np.stack(columns, axis=1) if columns else np.zeros((about.num_rows, 0))
    return with_covariates(patterns, without_items(patterns, labelers, values, answers), covariates, table)


def _labeled_twice(cell: Ints, ends: Ints, n_answers: int) -> bool:
    """Whether an item has two labels by one labeler, which then follow each other."""
    begins = np.zeros(len(cell) + 1, dtype=bool)
    begins[ends] = True
    for start in range(1, len(cell), _BLOCK):  # a block at a time: quotients of all labels would fill memory
        stop = min(start + _BLOCK, len(cell))
        who = cell[start - 1 : stop] // n_answers
        if ((who[1:] == who[:-1]) & ~begins[start:stop]).any():
            return True
    return False


class MemorySource:
    """A round in memory behind the interface of the engines."""

    stays = False

    def totals(self) -> tuple[int, int, int]:
        whole = self.tally()
        return whole.n_items, whole.n_labels, whole.n_gold

    def __init__(self, one: Round) -> None:
        self._round = one
        self.labelers = one.labelers
        self.values = one.values
        self.answers = one.answer_values if one.has_scores else None
        self.scored = one.has_scores
        self.classes = one.classes_given
        self.positive = one.positive
        self.idle = one.idle
        self.label_kind = one.kind_given
        self._counted: dict[tuple[Names, Names | None], ItemArrays] = {}

    def _arrays(self, covariates: Names, labelers: Names | None) -> ItemArrays:
        asked = covariates, labelers
        if asked not in self._counted:
            known = [name for name in self.labelers if labelers is None or name in set(labelers)]
            counted = count_in_memory([self._round], known, self.values)
            assert counted.kept is not None
            columns = [self._round.covariate(name)[counted.kept] for name in covariates]
            table = np.stack(columns, axis=1) if columns else np.zeros((int(counted.kept.sum()), 0))
            tally = without_items(counted.patterns, known, self.values, self.answers)
            self._counted[asked] = with_covariates(counted.patterns, tally, covariates, table)
        return self._counted[asked]

    def gold_values(self) -> Names:
        return self._round.gold_values

    def labels_by_answer(self) -> Floats:
        return self._round.labels_by_answer()

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        return self._arrays(covariates, labelers).tally

    def grams(self, covariates: Names, labelers: Names | None, forms: Forms) -> Floats:
        arrays = self._arrays(covariates, labelers)
        return arrays.grams(forms, arrays.tally.n_rows)

    def notes(self) -> tuple[Finding, ...]:
        return self._round.notes

    def column_names(self) -> Names:
        return self._round.column_names

    def numeric_columns(self) -> Names:
        return self._round.numeric_columns()
