"""A round in files, counted by an SQL engine: the same statements on DuckDB and on Spark.

1. One look at the labels: who gave which answer how often.
2. Each (labeler, answer) gets the numbers that `words` gives it; an item's sums of them spell its pattern.
3. Items are grouped, with their gold and covariates: one aggregation, and no join of large tables.
4. Equal keys are grouped. Only these groups leave the engine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hero_eval.counting.checks import (
    column_problems,
    item_problems,
    labelled_twice,
    nameless_rows,
    numeric_texts,
    outside_classes,
)
from hero_eval.counting.engine import Names, Session
from hero_eval.counting.memory import ItemArrays, arrays_of_labels
from hero_eval.counting.passes import Passes
from hero_eval.counting.pattern_keys import plan_words
from hero_eval.counting.sql import Sums, floats, is_number, literal
from hero_eval.counting.tally import Tally
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.findings import Finding
from hero_eval.io.answers import Answers, agree_on_answers, answer_notes, misspelled
from hero_eval.io.arrays import Coded, encode_answers, encode_ids
from hero_eval.io.columns import Named, rename
from hero_eval.io.frames import Source as Frame
from hero_eval.io.read_options import Options
from hero_eval.io.validate import NEEDED
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Floats, Ints, sum_by

MOST_LABELS = 200_000_000
"""Labels that do not collapse into patterns and are more than this stay in the engine."""
NOT_COVARIATES = ("item", "labeler", "label", "gold", "weight")
_SERIAL = itertools.count()


@dataclass(frozen=True)
class Look:
    """What one pass over the labels shows."""

    labelers: Names
    answers: Answers
    said: Any
    """The distinct (labeler, label) as they stand in the file, with their `cell`: labeler * L + answer."""
    n_rows: int
    n_empty: int
    golds: Any
    """The distinct gold values as they stand, with their `code`; None without gold."""
    n_aside: int = 0
    """How many of the empty ones hold an answer that was to count as not given."""
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Kept:
    """Items that the engine keeps, and how their groups were summed."""

    asked: tuple[Names, Names | None]
    sums: Sums
    keys: str
    there: str


class SqlSource:
    """A round in files. Nothing is read before it is needed."""

    def __init__(self, session: Session, files: Mapping[str, Path], options: Options) -> None:
        self.session = session
        self.files = files
        self.options = options
        self._serial = next(_SERIAL)
        self._tallies: dict[tuple[Names, Names | None], Tally] = {}
        self._long: dict[tuple[Names, Names | None], ItemArrays] = {}
        self._kept: _Kept | None = None
        self._notes: tuple[Finding, ...] = ()
        self._repeats = 0
        self._totals: tuple[int, int, int] | None = None
        self._tables = self._read_headers()

    # What there is

    def _read_headers(self) -> dict[str, Named]:
        frames = {
            table: Frame(str(file), self.session.header(self.session.scan(file)), "files")
            for table, file in self.files.items()
        }
        named = {table: rename(frame, NEEDED[table], self.options.columns) for table, frame in frames.items()}
        problems = column_problems(list(frames.values()), named, self.options, NOT_COVARIATES)
        if problems:
            raise InputError(problems)
        return named

    @property
    def labelers(self) -> Names:
        return self.look.labelers

    @property
    def values(self) -> Names:
        return self.look.answers.values

    @property
    def classes(self) -> Names | None:
        return self.look.answers.classes

    @property
    def positive(self) -> str | None:
        return self.look.answers.positive

    def column_names(self) -> Names:
        return tuple(name for name in self._columns(self._home_of_items) if name not in NOT_COVARIATES)

    def numeric_columns(self) -> Names:
        """Columns of numbers in the items table; of a single table only those that the caller named."""
        if self._home_of_items == "labels":
            return tuple(name for name in self.options.covariates if name in self.column_names())
        columns, texts = self._columns("items"), self._numeric_texts
        kinds = {name: columns[name].type for name in self.column_names()}
        return tuple(name for name, kind in kinds.items() if is_number(kind) or str(kind) == "bool" or name in texts)

    @cached_property
    def _numeric_texts(self) -> frozenset[str]:
        """Columns of the items that are text by type, as all of a CSV file are, but numbers by what they say."""
        columns = self._columns("items")
        texts = [name for name in self.column_names() if "str" in str(columns[name].type)]
        return numeric_texts(self.session, self._view("items", texts), texts) if texts else frozenset()

    def notes(self) -> tuple[Finding, ...]:
        return self._notes

    def _columns(self, table: str) -> Mapping[str, Any]:
        return self._tables[table].columns if table in self._tables else {}

    @property
    def _home_of_items(self) -> str:
        return "items" if "items" in self._tables else "labels"

    @property
    def _home_of_gold(self) -> str | None:
        return next((name for name in ("gold", "labels", "items") if "gold" in self._columns(name)), None)

    @property
    def _weighted(self) -> bool:
        return "weight" in self._columns(self._home_of_items)

    @cached_property
    def look(self) -> Look:
        """One pass over who said what; all problems with it are raised together."""
        labels = self._tables["labels"]
        seen = self.session.query(
            f"SELECT labeler, label, count(*) AS n, count(CASE WHEN {self._no_id} THEN 1 END) AS lost "
            f"FROM {self._view('labels', ('item', 'labeler', 'label'))} AS t GROUP BY labeler, label"
        )
        if not seen.num_rows:
            raise wrong("E105", f"{labels.name} has a header but no rows. Give at least one row.")
        keep = frozenset(self.options.class_texts)
        people = encode_ids(seen["labeler"])
        spoken = encode_answers(seen["label"], keep, self.options.missing)
        times = floats(seen["n"])
        usable = (people.codes >= 0) & (spoken.codes >= 0)
        if not usable.any():
            raise wrong("E119", f"{labels.column('label')} is empty in all rows. Give at least one label.")
        golds, gold = self._look_at_gold(keep)
        problems: list[Problem] = []
        gold_times = None if gold is None else floats(golds["n"])
        answers = agree_on_answers(
            _times(spoken, times), _times(gold, gold_times), self.options, complete=True, problems=problems
        )
        problems += misspelled(labels.column("label"), answers, spoken, times)
        problems += nameless_rows(labels, people, spoken, times, float(floats(seen["lost"]).sum()))
        problems += outside_classes(labels.column("label"), spoken, answers.of_label(spoken.codes), times, answers)
        if gold is not None:
            codes = answers.of_gold(gold.codes)
            place = self._tables[self._home_of_gold or "gold"].column("gold")
            assert gold_times is not None
            problems += misspelled(place, answers, gold, gold_times, in_gold=True)
            problems += outside_classes(place, gold, codes, gold_times, answers)
            golds = golds.select(["gold"]).append_column("code", [codes]).filter(codes >= 0)
        if problems:
            raise InputError(problems)
        notes = answer_notes(answers, spoken, gold, times, gold_times)
        return _look(seen, people, spoken, answers, usable, golds, notes)

    @property
    def _no_id(self) -> str:
        """SQL for an item without an id; only texts can be empty, and asking others would cost a pass."""
        text = self._text_ids or "str" in str(self._columns("labels")["item"].type)
        return "item IS NULL OR item = ''" if text else "item IS NULL"

    def _look_at_gold(self, keep: frozenset[str]) -> tuple[Any, Coded | None]:
        home = self._home_of_gold
        if home is None:
            return None, None
        seen = self.session.query(f"SELECT gold, count(*) AS n FROM {self._view(home, ('gold',))} AS t GROUP BY gold")
        return seen, encode_answers(seen["gold"], keep, self.options.missing)

    # SQL

    def _name(self, what: str) -> str:
        return f"hero_{what}_{self._serial}"

    @cached_property
    def _text_ids(self) -> bool:
        """Ids of different types are compared as text."""
        return len({str(table.columns["item"].type) for table in self._tables.values()}) > 1

    def _view(self, table: str, ours: Sequence[str], *, distinct: bool = False) -> str:
        """A subquery with these columns of a table, under our names."""
        parts = []
        for name in dict.fromkeys(ours):
            column = self.session.quoted(self._tables[table].theirs.get(name, name))
            column = f"CAST({column} AS STRING)" if name == "item" and self._text_ids else column
            parts.append(f"{column} AS {self.session.quoted(name)}")
        select = "SELECT DISTINCT" if distinct else "SELECT"
        return f"({select} {', '.join(parts)} FROM {self.session.scan(self.files[table])})"

    def _number(self, name: str) -> str:
        """SQL for an item column as a number or null."""
        column, kind = f"l.{self.session.quoted(name)}", self._columns(self._home_of_items)[name].type
        if str(kind) == "bool":
            return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
        number = f"CAST({column} AS DOUBLE)" if is_number(kind) else f"TRY_CAST(trim({column}) AS DOUBLE)"
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"

    def _said(self, covariates: Names, shown: Mapping[str, str], *, all_rows: bool) -> str:
        """The rows of the labels table with what `shown` (SQL by name) takes from them, their gold and covariates."""
        home, extra = self._home_of_gold, [*covariates, *(["weight"] if self._weighted else [])]
        inline = extra if self._home_of_items == "labels" else []
        columns = ["item", "labeler", "label", *inline, *(["gold"] if home == "labels" else [])]
        source = (
            f"{self._view('labels', columns, distinct=self._repeats > 0)} AS l {'LEFT JOIN' if all_rows else 'JOIN'} "
            f"{self._name('cells')} AS c ON l.labeler = c.c_labeler AND l.label = c.c_label"
        )
        filled = {
            **shown,
            "gold": "g.code" if home == "labels" else "NULL",
            **self._described(covariates, bool(inline)),
        }
        filled |= self._listed("0")
        if home == "labels":
            source += f" LEFT JOIN {self._name('golds')} AS g ON l.gold = g.g_gold"
        return f"SELECT l.item AS item, {_as(filled)} FROM {source}"

    def _described(self, covariates: Names, known: bool) -> dict[str, str]:
        """SQL for covariates and weight, or nulls in their places."""
        out = {f"x{j}": self._number(name) if known else "NULL" for j, name in enumerate(covariates)}
        return out | ({"w": self._number("weight") if known else "NULL"} if self._weighted else {})

    def _listed(self, sql: str) -> dict[str, str]:
        """Whether an item is in the items table, if there is one."""
        return {"listed": sql} if "items" in self._tables else {}

    def _items(self, words: Sequence[str], covariates: Names, *, all_rows: bool) -> str:
        """One row an item: words, gold (-1 = none), covariates; `clash` tells which of them contradict each other."""
        shown = {name: f"coalesce(c.{name}, 0e0)" if all_rows else f"c.{name}" for name in words}
        parts = [self._said(covariates, shown, all_rows=all_rows)]
        nothing = dict.fromkeys(words, "0e0")
        home = self._home_of_gold
        if home in ("gold", "items"):
            filled = {**nothing, "gold": "g.code", **self._described(covariates, False), **self._listed("0")}
            source = f"{self._view(home, ('item', 'gold'))} AS l JOIN {self._name('golds')} AS g ON l.gold = g.g_gold"
            parts.append(f"SELECT l.item AS item, {_as(filled)} FROM {source}")
        if self._home_of_items == "items":
            columns = ["item", *covariates, *(["weight"] if self._weighted else [])]
            filled = {**nothing, "gold": "NULL", **self._described(covariates, True), **self._listed("1")}
            parts.append(f"SELECT l.item AS item, {_as(filled)} FROM {self._view('items', columns)} AS l")
        values = [*(f"x{j}" for j in range(len(covariates))), *(["w"] if self._weighted else [])]
        clash = " + ".join(
            f"CASE WHEN min({name}) <> max({name}) THEN {2**position} ELSE 0 END"
            for position, name in enumerate(["gold", *values])
        )
        kept = [f"sum({name}) AS {name}" for name in words]
        kept += ["coalesce(max(gold), -1) AS gold", *(f"max({name}) AS {name}" for name in values)]
        kept += [f"max({name}) AS {name}" for name in self._listed("")]
        return f"SELECT item, {', '.join(kept)}, {clash} AS clash FROM ({' UNION ALL '.join(parts)}) AS r GROUP BY item"

    # Counting

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        if self.stays:
            raise wrong(
                "E212",
                f"round {self.options.name!r} has {self.look.n_rows:,} labels by {len(self.labelers):,} labelers: too "
                "many patterns for memory. It can be history for hero1; split it for all else",
            )
        asked = covariates, labelers
        if asked not in self._tallies:
            wider = self._wider(covariates, labelers)
            if wider == covariates:
                self._tallies[asked] = self._count(covariates, labelers)
            else:
                whole = self._tallies[wider, labelers]
                moments = whole.moments.of(covariates) if whole.moments is not None and covariates else None
                self._tallies[asked] = replace(whole, moments=moments)
        return self._tallies[asked]

    def _wider(self, covariates: Names, labelers: Names | None) -> Names:
        """Covariates of a count that was made already and has all of these; else these."""
        counted = {*self._long, *([self._kept.asked] if self._kept is not None else [])}
        return next((names for names, who in counted if who == labelers and set(covariates) <= set(names)), covariates)

    def _lend(self, words: Mapping[str, Any], labelers: Names | None) -> bool:
        """Give the engine the numbers of each (labeler, label); whether some labels will have none."""
        import pyarrow as pa

        look = self.look
        table = pa.table({"c_labeler": look.said["labeler"], "c_label": look.said["label"], **words})
        some_left_out = look.n_empty > 0
        if labelers is not None:
            known = np.isin(np.array(look.labelers, dtype=object), np.array(labelers, dtype=object))
            table = table.filter(known[np.asarray(look.said["cell"]) // len(look.answers.values)])
            some_left_out = some_left_out or not known.all()
        self.session.lend(self._name("cells"), table)
        if look.golds is not None:
            self.session.lend(self._name("golds"), look.golds.rename_columns(["g_gold", "code"]))
        return some_left_out

    def _count(self, covariates: Names, labelers: Names | None) -> Tally:
        look = self.look
        n_answers = len(look.answers.values)
        cell = np.asarray(look.said["cell"], np.int64)
        words = plan_words(len(look.labelers), n_answers)
        if words is None:
            return self._count_long(covariates, labelers)
        all_rows = self._lend(words.columns(cell // n_answers, cell % n_answers), labelers)
        grouped, moments = self._patterns(words.names, covariates, labelers, all_rows)
        cells, ends, once = words.read([floats(grouped[name]) for name in words.names])
        if not once:
            self._refuse_clashes()
            return self._count(covariates, labelers)
        return _tally(look, grouped, cells, ends, moments)

    def _refuse_clashes(self) -> None:
        """Labels that contradict each other are refused; exact repeats are dropped from now on."""
        said = self.look.said.rename_columns(["c_labeler", "c_label", "cell"])
        self.session.lend(self._name("said"), said)
        view = self._view("labels", ("item", "labeler", "label"))
        problem, repeats = labelled_twice(self.session, view, self._name("said"), self._tables["labels"], self.values)
        if problem is not None or self._repeats:
            raise InputError(
                problem or Problem("E108", f"{self._tables['labels'].name} repeats labels in two spellings.")
            )
        self._repeats = repeats

    def _patterns(
        self, words: list[str], covariates: Names, labelers: Names | None, all_rows: bool
    ) -> tuple[Any, Moments | None]:
        """Groups of equal keys, in order, and the moments of the covariates."""
        table, there = self._name("items"), f"{words[-1]} > 0"
        self.session.keep(table, self._items(words, covariates, all_rows=all_rows))
        facts = self._facts(table, there, covariates, labelers)
        keys = ", ".join([*words, "gold"])
        sums = Sums(self.session, facts, len(covariates), self._weighted)
        shown = ", ".join([*sums.counts(), *sums.by_row()])
        order = f"WHERE {there} GROUP BY {keys} ORDER BY {keys}"
        grouped = self.session.query(f"SELECT {keys}, {shown} FROM {table} {order}")
        if not covariates:
            self.session.drop(table)
            return grouped, None
        self._kept = _Kept((covariates, labelers), sums, keys, there)
        whole = self.session.query(f"SELECT {', '.join(sums.overall())} FROM {table} WHERE {there}")
        return grouped, sums.moments(covariates, grouped, whole)

    def _facts(self, table: str, there: str, covariates: Names, labelers: Names | None) -> dict[str, float]:
        """What must be known of all items before they are summed; what is wrong with them is raised."""
        listed = "listed" if "items" in self._tables else "0"
        shown = [
            f"count(CASE WHEN {there} THEN 1 END) AS n_items",
            f"count(CASE WHEN NOT ({there}) THEN 1 END) AS unlabelled",
            f"count(CASE WHEN NOT ({there}) AND gold >= 0 AND {listed} = 0 THEN 1 END) AS stray",
            f"count(CASE WHEN {there} AND {listed} = 0 THEN 1 END) AS lacking",
            f"count(CASE WHEN NOT ({there}) AND {listed} = 1 THEN 1 END) AS idle",
            f"count(CASE WHEN {self._no_id} THEN 1 END) AS nameless",
            "coalesce(max(clash), 0) AS clash",
        ]
        for name in [*(f"x{j}" for j in range(len(covariates))), *(["w"] if self._weighted else [])]:
            of = f"CASE WHEN {there} THEN {name} END"
            shown += [f"{how}({of}) AS {name}_{what}" for how, what in _FACTS]
        row = self.session.query(f"SELECT {', '.join(shown)} FROM {table}").to_pylist()[0]
        facts = {name: math.nan if value is None else float(value) for name, value in row.items()}
        if labelers is not None:  # items that only others labelled look as if nobody had
            facts |= {"stray": 0.0, "lacking": 0.0, "idle": 0.0}
        problems = item_problems(self.session, self._tables, facts, covariates, self._view)
        if problems:
            raise InputError(problems)
        if labelers is None:
            self._notes = self._remarks(int(facts["unlabelled"]))
        return facts

    def _remarks(self, unlabelled: int) -> tuple[Finding, ...]:
        found = []
        if self._repeats:
            data = {"count": self._repeats, "labels": self._repeats}
            found.append(
                Finding("F101", f"exact duplicates were dropped: {self._repeats} (labels {self._repeats})", data)
            )
        if unlabelled:
            found.append(Finding("F102", f"items without labels were set aside: {unlabelled}", {"count": unlabelled}))
        empty = self.look.n_empty - self.look.n_aside
        if empty:
            found.append(Finding("F103", f"rows without a label were ignored: {empty}", {"count": empty}))
        return (*found, *self.look.notes)

    def grams(self, covariates: Names, labelers: Names | None, forms: Forms) -> Floats:
        tally = self.tally(covariates, labelers)
        wider = self._wider(covariates, labelers)
        forms = forms.among(covariates, wider)
        if (wider, labelers) in self._long:
            return self._long[wider, labelers].grams(forms, tally.n_rows)
        if self._kept is None or self._kept.asked != (wider, labelers):
            self._count(wider, labelers)
        kept = self._kept
        assert kept is not None
        inner, grams = kept.sums.gram_columns(forms)
        size = len(forms.first) + 1
        found = self.session.query(
            f"SELECT {kept.keys}, {', '.join(grams)} FROM (SELECT *, {inner} FROM {self._name('items')} "
            f"WHERE {kept.there}) AS t GROUP BY {kept.keys} ORDER BY {kept.keys}"
        )
        out = np.zeros((found.num_rows, size, size))
        for a, b in itertools.combinations_with_replacement(range(size), 2):
            out[:, a, b] = out[:, b, a] = floats(found[f"g{a}_{b}"])
        out *= tally.square.sum() / out[:, 0, 0].sum()  # to weights of mean 1
        return out

    # Patterns that do not collapse

    def _count_long(self, covariates: Names, labelers: Names | None) -> Tally:
        """Too many labelers for keys: labels leave the engine as numbers, sorted by item, and are counted in memory."""
        look = self.look
        all_rows = self._lend({"k0": np.ones(len(look.said)), "cell": look.said["cell"]}, labelers)
        table = self._name("items")
        self.session.keep(table, self._items(["k0"], covariates, all_rows=all_rows))
        self._facts(table, "k0 > 0", covariates, labelers)
        shown = ", ".join(
            ["k0", "gold", *(f"x{j}" for j in range(len(covariates))), *(["w"] if self._weighted else [])]
        )
        about = self.session.query(f"SELECT {shown} FROM {table} WHERE k0 > 0 ORDER BY item")
        self.session.drop(table)
        view = self._view("labels", ("item", "labeler", "label"), distinct=self._repeats > 0)
        said = self.session.query(
            f"SELECT CAST(c.cell AS INT) AS cell FROM {view} AS l JOIN {self._name('cells')} AS c "
            "ON l.labeler = c.c_labeler AND l.label = c.c_label ORDER BY l.item, c.cell"
        )
        arrays = arrays_of_labels(about, said["cell"], look.labelers, self.values, covariates)
        if arrays is None:
            self._refuse_clashes()
            return self._count_long(covariates, labelers)
        self._long[covariates, labelers] = arrays
        return arrays.tally

    @property
    def stays(self) -> bool:
        """Whether the labels must stay in the engine: patterns that do not collapse, and too many for memory."""
        look = self.look
        return plan_words(len(look.labelers), len(look.answers.values)) is None and look.n_rows > MOST_LABELS

    def totals(self) -> tuple[int, int, int]:
        """Items, labels and items with gold, without more than these leaving the engine."""
        if self._totals is None:
            all_rows = self._lend({"k0": np.ones(len(self.look.said))}, None)
            there = f"({self._items(['k0'], (), all_rows=all_rows)}) AS t WHERE k0 > 0"
            found = self.session.query(
                f"SELECT count(*) AS n, sum(k0) AS k, count(CASE WHEN gold >= 0 THEN 1 END) AS g FROM {there}"
            ).to_pylist()[0]
            self._totals = int(found["n"]), int(found["k"]), int(found["g"])
        return self._totals

    def passes(self, labelers: Sequence[str], classes: Sequence[str]) -> tuple[Passes, Tally]:
        """The labels laid out for EM by passes, on labelers and classes that several rounds share, and the tally of
        the items with gold."""
        look = self.look
        place, spot = ({name: p for p, name in enumerate(names)} for names in (labelers, classes))
        people = np.array([place[name] for name in look.labelers], dtype=np.int64)
        answers = np.array([spot[name] for name in self.values], dtype=np.int64)
        own = np.asarray(look.said["cell"], np.int64)
        shared = people[own // len(self.values)] * len(classes) + answers[own % len(self.values)]
        all_rows = self._lend({"k0": np.ones(len(own)), "cell": shared.astype(np.int32)}, None)
        items, labels, golden = (self._name(what) for what in ("pass_items", "pass_labels", "pass_golden"))
        self.session.keep(items, self._items(["k0"], (), all_rows=all_rows))
        facts = self._facts(items, "k0 > 0", (), None)
        view = self._view("labels", ("item", "labeler", "label"), distinct=self._repeats > 0)
        self.session.keep(
            labels,
            f"SELECT l.item AS item, CAST(c.cell AS INT) AS cell FROM {view} AS l JOIN {self._name('cells')} AS c "
            "ON l.labeler = c.c_labeler AND l.label = c.c_label",
        )
        mean = facts["w_mean"] if self._weighted else 1.0
        code = " ".join(f"WHEN {k} THEN {int(answers[k])}" for k in range(len(answers)))
        weight = f"w / {literal(mean)}" if self._weighted else "1e0"
        self.session.keep(
            golden, f"SELECT item, CASE gold {code} ELSE -1 END AS gold, {weight} AS w, k0 FROM {items} WHERE k0 > 0"
        )
        about = self.session.query(f"SELECT k0, gold, w FROM {golden} WHERE gold >= 0 ORDER BY item")
        said = self.session.query(
            f"SELECT l.cell AS cell FROM {labels} AS l JOIN {golden} AS g ON l.item = g.item "
            "WHERE g.gold >= 0 ORDER BY l.item, l.cell"
        )
        arrays = arrays_of_labels(about, said["cell"], tuple(labelers), tuple(classes), ())
        if arrays is None:
            self._refuse_clashes()
            return self.passes(labelers, classes)
        heaviest = facts["w_max"] / mean if self._weighted else 1.0
        made = Passes(self.session, labels, golden, len(labelers) * len(classes), len(classes), heaviest)
        return made, arrays.tally


_FACTS = (("count", "n"), ("avg", "mean"), ("min", "min"), ("max", "max"))


def _as(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in columns.items())


def _times(coded: Coded | None, times: Floats | None) -> dict[str, float]:
    """How often each text was said, where a row stands for several."""
    if coded is None or times is None:
        return {}
    texts, known = coded.list_texts(), coded.codes >= 0
    return dict(zip(texts, sum_by(coded.codes[known], times[known], len(texts)).tolist(), strict=True))


def _look(
    seen: Any, people: Coded, spoken: Coded, answers: Answers, usable: Any, golds: Any, notes: tuple[Finding, ...]
) -> Look:
    active = np.unique(people.codes[usable])
    rank = np.full(len(people.texts) + 1, -1, np.int64)
    rank[active] = np.arange(len(active))
    cell = rank[people.codes] * len(answers.values) + answers.of_label(spoken.codes)
    texts = people.list_texts()
    times = floats(seen["n"])
    return Look(
        labelers=tuple(texts[code] for code in active),
        answers=answers,
        said=seen.select(["labeler", "label"]).append_column("cell", [cell]).filter(usable),
        n_rows=int(times.sum()),
        n_empty=int(times[spoken.codes < 0].sum()),
        golds=golds,
        n_aside=int(sum(times[rows].sum() for rows in spoken.aside.values())),
        notes=notes,
    )


def _tally(look: Look, grouped: Any, cells: Ints, ends: Ints, moments: Moments | None) -> Tally:
    """The groups as a tally, with weights of mean 1."""
    items = floats(grouped["items"])
    weight, square = items, items
    if "weight" in grouped.column_names:
        weight, square = floats(grouped["weight"]), floats(grouped["square"])
        factor = items.sum() / weight.sum()
        weight, square = weight * factor, square * factor**2
        moments = None if moments is None else moments.weighted(factor)
    return Tally(
        labelers=look.labelers,
        values=look.answers.values,
        cells=cells,
        ends=ends,
        gold=np.asarray(grouped["gold"].to_numpy(), np.int64),
        items=items,
        weight=weight,
        square=square,
        n_labels=round(float((np.diff(ends) * items).sum())),
        moments=moments,
    )
