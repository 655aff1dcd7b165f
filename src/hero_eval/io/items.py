"""Item columns: covariates, texts and weights, one value for each labeled item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.io.arrays import Coded, encode_raw, settle, show, take, to_numbers
from hero_eval.io.bridge import kept
from hero_eval.io.distinct import Codes
from hero_eval.io.kinds import date_problem, kind_of
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import Named, absent, number_problems, positions
from hero_eval.io.values import count_of

LABELER_PREFIX = "labeler:"
"""A covariate called "labeler:NAME" is the answer of that labeler, not a column."""

MOST_TIMES = 1e9
"""How many times as much as another an item may weigh."""

# Gold is no covariate, wherever it stands: as one it would tell the answer.
_NOT_DESCRIBING = {"items": ("item", "gold"), "labels": ("item", "labeler", "label", "gold")}


@dataclass(frozen=True)
class Described:
    """The item columns, aligned with the labeled items."""

    name: str
    """How messages call the table."""
    from_labels: bool
    """Whether the columns are those that the labels table had besides its own."""
    ids: Any
    """All items of the table, sorted: a pyarrow array."""
    lacking: NDArray[np.bool_]
    """(n_items,) labeled items that the table does not have."""
    columns: Mapping[str, Any]
    weight: NDArray[np.float64] | None
    varying: tuple[str, ...]
    """Columns that were ignored because they differ within an item."""
    duplicates: int

    def others(self, item_ids: Any) -> list[str]:
        """Items of the table that are not among these."""
        return list(kept(self.ids, positions(self.ids, item_ids) < 0).to_pylist())


@dataclass(frozen=True)
class _Rows:
    """For each column, the row that speaks for each item of the table."""

    of_column: Mapping[str, Codes]
    varying: tuple[str, ...] = ()
    duplicates: int = 0


def describe(
    table: Named, ids: Coded, item_ids: Any, *, from_labels: bool, options: ReadOptions, problems: list[Problem]
) -> Described:
    """The columns of `table`, whose rows have these `ids`, for the items `item_ids`.

    Items described twice, differently, are E114; weights that are none are E112, E113 or E115.
    """
    ignored = _NOT_DESCRIBING["labels" if from_labels else "items"]
    names = [name for name in table.columns if name not in ignored]
    settle_rows = _rows_within_labels if from_labels else _rows_of_items
    rows = settle_rows(table, ids, names, options, problems)
    own = positions(item_ids, ids.texts) if names or not from_labels else np.zeros(len(item_ids), np.int64)
    columns = {name: take(table.columns[name], np.append(of, -1)[own]) for name, of in rows.of_column.items()}
    weight = columns.pop("weight", None)
    return Described(
        name=table.name,
        from_labels=from_labels,
        ids=ids.texts,
        lacking=own < 0,
        columns=columns,
        weight=None if weight is None else _weights(table.column("weight"), weight, item_ids, problems),
        varying=rows.varying,
        duplicates=rows.duplicates,
    )


def _rows_of_items(table: Named, ids: Coded, names: list[str], _options: ReadOptions, problems: list[Problem]) -> _Rows:
    """An items table has one row for each item; a second one may only repeat it."""
    first = settle(ids.codes, len(ids.texts), np.zeros_like(ids.codes))
    duplicates = int((ids.codes >= 0).sum()) - len(ids.texts)
    if duplicates:
        clashes = {}
        for name in names:
            clashes[name] = settle(ids.codes, len(ids.texts), encode_raw(table.columns[name]), null_counts=True).clashes
        if any(map(len, clashes.values())):
            problems.append(_described_twice(table, ids, first.rows, clashes))
    return _Rows(dict.fromkeys(names, first.rows), duplicates=duplicates)


def _rows_within_labels(
    table: Named, ids: Coded, names: list[str], options: ReadOptions, problems: list[Problem]
) -> _Rows:
    """Columns of the labels that are the same on all rows of an item describe it; others are ignored."""
    wanted = {*options.covariates, options.text, "weight"}
    of_column, varying = {}, []
    for name in names:
        settled = settle(ids.codes, len(ids.texts), encode_raw(table.columns[name]))
        if not len(settled.clashes):
            of_column[name] = settled.rows
        elif name in wanted:
            problems.append(_described_twice(table, ids, settled.rows, {name: settled.clashes}))
        else:
            varying.append(name)
    return _Rows(of_column, varying=tuple(varying))


def _described_twice(table: Named, ids: Coded, rows: Codes, clashes: Mapping[str, Codes]) -> Problem:
    name = next(name for name, found in clashes.items() if len(found))
    row = clashes[name][0]
    code = ids.codes[row]
    column = table.columns[name]
    count = len(np.unique(ids.codes[np.concatenate(list(clashes.values()))]))
    return Problem(
        "E114",
        f"{table.column(name)} has different values on the rows of one item, for {count_of(count, 'item')}, "
        f"for example item {ids.text(code)!r}: {show(column, rows[code])} and {show(column, row)}. "
        "Keep one value for each item.",
    )


def _weights(place: str, column: Any, item_ids: Any, problems: list[Problem]) -> NDArray[np.float64]:
    """Weights as numbers; E112, E113 or E115 unless all are finite and above zero."""
    numbers = to_numbers(column)
    problems += number_problems(place, column, numbers, item_ids, "or drop the column")
    missing = np.isnan(numbers.values)
    missing[numbers.bad] = False
    low = numbers.values <= 0
    useless = np.flatnonzero(missing | low)
    if len(useless):
        first = int(useless[0])
        problems.append(
            Problem(
                "E115",
                f"{place} is missing for {int(missing.sum())} and zero or negative for {int(low.sum())} of "
                f"{len(item_ids)} items, for example {show(column, first)} (item {str(item_ids[first])!r}). "
                "Give every item that has labels a weight above 0, or drop the column.",
            )
        )
    elif not problems:
        problems += out_of_proportion(place, float(numbers.values.min()), float(numbers.values.max()))
    return numbers.values


def out_of_proportion(place: str, least: float, most: float) -> list[Problem]:
    """E115 for weights of which some would leave the others without any say."""
    if not most > MOST_TIMES * least:
        return []
    message = (
        f"{place} runs from {least:g} to {most:g}: items of which one weighs more than {MOST_TIMES:g} times as much as "
        "another cannot be counted together. Correct these values, or drop the column."
    )
    return [Problem("E115", message)]


def _covariate_problems(place: str, column: Any, item_ids: Any) -> list[Problem]:
    """E112, E113 or E137 for a column that cannot be a covariate; categories and vectors can."""
    kind = kind_of(column)
    if kind in ("category", "vector"):
        return []
    if kind == "date":
        return [date_problem(place, column)]
    return number_problems(place, column, to_numbers(column), item_ids)


def check_named(
    table: Named,
    described: Described | None,
    item_ids: Any,
    labelers: tuple[str, ...] | None,
    options: ReadOptions,
    problems: list[Problem],
) -> None:
    """E202, E112 and E113 for the covariates and the text column that the caller named."""
    available = [name for name in table.columns if name not in ("item", "labeler", "label", "gold", "weight")]
    for name in options.covariates:
        if name.startswith(LABELER_PREFIX):
            labeler = name.removeprefix(LABELER_PREFIX)
            if labelers is not None and labeler not in labelers:
                problems.append(absent(options.name, "labeler", labeler, labelers))
        elif name not in available:
            problems.append(absent(options.name, "column", name, available))
        elif described is not None and name in described.columns:
            problems += _covariate_problems(table.column(name), described.columns[name], item_ids)
    if options.text is not None and options.text not in available:
        problems.append(absent(options.name, "column", options.text, available))
