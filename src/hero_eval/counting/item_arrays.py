"""A tally with the items behind it in memory, so that products of their covariates can be summed by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from hero_eval.counting.engine import Names
from hero_eval.counting.memory import count_in_memory
from hero_eval.counting.tally import Tally, without_items
from hero_eval.findings import Finding
from hero_eval.model.moments import Forms, Moments, features
from hero_eval.model.patterns import Floats, Ints, Patterns, sum_by
from hero_eval.round import Round


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
    if not names:  # then nobody asks for products, and the items need not be held
        nothing = np.zeros((0, 0))
        return ItemArrays(tally, np.zeros(0, np.int64), np.zeros(0), nothing, nothing)
    row, weight = patterns.row_of_item, patterns.item_weight
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
