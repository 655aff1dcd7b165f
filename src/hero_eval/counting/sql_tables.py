"""The tables of a round in files as SQL: which columns they have, and a row for each item with what is known of it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hero_eval.counting.checks import column_problems, numeric_texts
from hero_eval.counting.engine import Names, Session
from hero_eval.counting.score_sql import ScoreColumn
from hero_eval.counting.sql import is_number
from hero_eval.errors import InputError
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import InputTable, Named, rename
from hero_eval.io.validate import NEEDED

NOT_COVARIATES = ("item", "labeler", "label", "gold", "weight")
_SERIAL = itertools.count()


class SqlTables:
    """Labels, gold and items in files, under our names. Only their headers are read."""

    def __init__(self, session: Session, files: Mapping[str, Path], options: ReadOptions) -> None:
        self.session = session
        self.files = files
        self.options = options
        self.without_repeats = False  # set once labels that are there twice are known to be exact repeats
        self.score: ScoreColumn | None = None  # set once scores are cut into bins, which then are the labels
        self._part: tuple[int, int] | None = None
        self._serial = next(_SERIAL)
        self.tables = self._read_headers()

    def _read_headers(self) -> dict[str, Named]:
        frames = {
            table: InputTable(str(file), self.session.header(self.session.scan(file)), "files")
            for table, file in self.files.items()
        }
        named = {table: rename(frame, NEEDED[table], self.options.columns) for table, frame in frames.items()}
        problems = column_problems(list(frames.values()), named, self.options, NOT_COVARIATES)
        if problems:
            raise InputError(problems)
        return named

    def column_names(self) -> Names:
        return tuple(name for name in self.columns(self.home_of_items) if name not in NOT_COVARIATES)

    def numeric_columns(self) -> Names:
        """Columns of numbers in the items table; of a single table only those that the caller named."""
        if self.home_of_items == "labels":
            return tuple(name for name in self.options.covariates if name in self.column_names())
        columns, texts = self.columns("items"), self._numeric_texts
        kinds = {name: columns[name].type for name in self.column_names()}
        return tuple(name for name, kind in kinds.items() if is_number(kind) or str(kind) == "bool" or name in texts)

    @cached_property
    def _numeric_texts(self) -> frozenset[str]:
        """Columns of the items that are text by type, as all of a CSV file are, but numbers by what they say."""
        columns = self.columns("items")
        texts = [name for name in self.column_names() if "str" in str(columns[name].type)]
        return numeric_texts(self.session, self.view("items", texts), texts) if texts else frozenset()

    def columns(self, table: str) -> Mapping[str, Any]:
        return self.tables[table].columns if table in self.tables else {}

    @property
    def home_of_items(self) -> str:
        return "items" if "items" in self.tables else "labels"

    @property
    def home_of_gold(self) -> str | None:
        return next((name for name in ("gold", "labels", "items") if "gold" in self.columns(name)), None)

    @property
    def weighted(self) -> bool:
        return "weight" in self.columns(self.home_of_items)

    @property
    def no_id(self) -> str:
        """SQL for an item without an id; only texts can be empty, and asking others would cost a pass."""
        text = self._text_ids or "str" in str(self.columns("labels")["item"].type)
        return "item IS NULL OR item = ''" if text else "item IS NULL"

    def name(self, what: str) -> str:
        return f"hero_{what}_{self._serial}"

    @cached_property
    def _text_ids(self) -> bool:
        """Ids of different types are compared as text."""
        return len({str(table.columns["item"].type) for table in self.tables.values()}) > 1

    def with_scores(self, column: ScoreColumn) -> SqlTables:
        """The same tables, of whose labels these columns make bins; what the engine keeps for them is another's."""
        same = copy.copy(self)
        same._serial = next(_SERIAL)
        same.score = column
        return same

    def part(self, number: int, count: int) -> SqlTables:
        """The same tables, of one of `count` parts of their items: all rows of an item are in the same one."""
        same = copy.copy(self)
        same._part = (number, count) if count > 1 else None
        return same

    def view(self, table: str, ours: Sequence[str], *, distinct: bool = False) -> str:
        """A subquery with these columns of a table, under our names; scores as bins."""
        if table != "labels" or self.score is None or "label" not in ours:
            return self._plain(table, ours, distinct=distinct)
        others, label = self._others(ours), self.session.quoted("label")
        return self.score.binned(self.scored(self.score, ours, distinct=distinct), others, label)

    def scored(self, column: ScoreColumn, ours: Sequence[str], *, distinct: bool = False) -> str:
        """A subquery with these columns of the labels, and the score instead of the label."""
        return column.scored(self._plain("labels", ours), self._others(ours), distinct=distinct)

    def _others(self, ours: Sequence[str]) -> list[str]:
        return [self.session.quoted(name) for name in dict.fromkeys(ours) if name != "label"]

    def _plain(self, table: str, ours: Sequence[str], *, distinct: bool = False) -> str:
        parts, where = [], ""
        for name in dict.fromkeys(ours):
            column = self.session.quoted(self.tables[table].theirs.get(name, name))
            column = f"CAST({column} AS STRING)" if name == "item" and self._text_ids else column
            parts.append(f"{column} AS {self.session.quoted(name)}")
            if name == "item" and self._part is not None:
                number, count = self._part
                where = f" WHERE {self.session.part(column, count)} = {number}"
        select = "SELECT DISTINCT" if distinct else "SELECT"
        return f"({select} {', '.join(parts)} FROM {self.session.scan(self.files[table])}{where})"

    def _number(self, name: str) -> str:
        """SQL for an item column as a number or null."""
        column, kind = f"l.{self.session.quoted(name)}", self.columns(self.home_of_items)[name].type
        if str(kind) == "bool":
            return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
        number = f"CAST({column} AS DOUBLE)" if is_number(kind) else f"TRY_CAST(trim({column}) AS DOUBLE)"
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"

    def _said(self, covariates: Names, shown: Mapping[str, str], *, all_rows: bool) -> str:
        """The rows of the labels table with what `shown` (SQL by name) takes from them, their gold and covariates."""
        home, extra = self.home_of_gold, [*covariates, *(["weight"] if self.weighted else [])]
        inline = extra if self.home_of_items == "labels" else []
        columns = ["item", "labeler", "label", *inline, *(["gold"] if home == "labels" else [])]
        source = (
            f"{self.view('labels', columns, distinct=self.without_repeats)} AS l {'LEFT JOIN' if all_rows else 'JOIN'} "
            f"{self.name('cells')} AS c ON l.labeler = c.c_labeler AND l.label = c.c_label"
        )
        filled = {
            **shown,
            "gold": "g.code" if home == "labels" else "NULL",
            **self._described(covariates, bool(inline)),
        }
        filled |= self._listed("0") | self._met("1", all_rows)
        if home == "labels":
            source += f" LEFT JOIN {self.name('golds')} AS g ON l.gold = g.g_gold"
        return f"SELECT l.item AS item, {_as(filled)} FROM {source}"

    def _described(self, covariates: Names, known: bool) -> dict[str, str]:
        """SQL for covariates and weight, or nulls in their places."""
        out = {f"x{j}": self._number(name) if known else "NULL" for j, name in enumerate(covariates)}
        return out | ({"w": self._number("weight") if known else "NULL"} if self.weighted else {})

    def _listed(self, sql: str) -> dict[str, str]:
        """Whether an item is in the items table, if there is one."""
        return {"listed": sql} if "items" in self.tables else {}

    def _met(self, sql: str, all_rows: bool) -> dict[str, str]:
        """Whether an item of the gold table is in the labels table: where labels are empty it may be so without any."""
        return {"met": sql} if all_rows and self.home_of_gold == "gold" else {}

    def is_stray(self, there: str, *, all_rows: bool) -> str:
        """SQL for an item with gold that no other table has, `there` for one with labels."""
        if self.home_of_gold == "labels":
            return "FALSE"
        others = ["met", *self._listed("")] if self._met("", all_rows) else [*self._listed("")]
        return " AND ".join([f"NOT ({there})", "gold >= 0", *(f"{name} = 0" for name in others)])

    def items(self, words: Sequence[str], covariates: Names, *, all_rows: bool) -> str:
        """A row for each item: words, gold (-1 = none), covariates; `clash` tells which of them contradict."""
        shown = {name: f"coalesce(c.{name}, 0e0)" if all_rows else f"c.{name}" for name in words}
        parts = [self._said(covariates, shown, all_rows=all_rows)]
        nothing = dict.fromkeys(words, "0e0")
        home = self.home_of_gold
        if home in ("gold", "items"):
            filled = {**nothing, "gold": "g.code", **self._described(covariates, False), **self._listed("0")}
            filled |= self._met("0", all_rows)
            source = f"{self.view(home, ('item', 'gold'))} AS l JOIN {self.name('golds')} AS g ON l.gold = g.g_gold"
            parts.append(f"SELECT l.item AS item, {_as(filled)} FROM {source}")
        if self.home_of_items == "items":
            columns = ["item", *covariates, *(["weight"] if self.weighted else [])]
            filled = {**nothing, "gold": "NULL", **self._described(covariates, True), **self._listed("1")}
            filled |= self._met("0", all_rows)
            parts.append(f"SELECT l.item AS item, {_as(filled)} FROM {self.view('items', columns)} AS l")
        values = [*(f"x{j}" for j in range(len(covariates))), *(["w"] if self.weighted else [])]
        clash = " + ".join(
            f"CASE WHEN min({name}) <> max({name}) THEN {2**position} ELSE 0 END"
            for position, name in enumerate(["gold", *values])
        )
        kept = [f"sum({name}) AS {name}" for name in words]
        kept += ["coalesce(max(gold), -1) AS gold", *(f"max({name}) AS {name}" for name in values)]
        kept += [f"max({name}) AS {name}" for name in (*self._listed(""), *self._met("", all_rows))]
        return f"SELECT item, {', '.join(kept)}, {clash} AS clash FROM ({' UNION ALL '.join(parts)}) AS r GROUP BY item"


def _as(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
