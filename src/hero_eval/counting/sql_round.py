"""A round in files, counted by an SQL engine: the same statements on DuckDB and on Spark.

1. One look at the labels: who gave which answer how often (`sql_look`).
2. Each (labeler, answer) gets the numbers that `pattern_keys` gives it; an item's sums of them spell its pattern.
3. Items are grouped, with their gold and covariates: one aggregation, and no join of large tables (`sql_tables`).
4. Equal keys are grouped. Only these groups leave the engine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.counting.checks import item_problems, labeled_twice
from hero_eval.counting.engine import Names
from hero_eval.counting.item_arrays import ItemArrays
from hero_eval.counting.long_labels import LongLabels, joined_facts, n_parts
from hero_eval.counting.pattern_keys import plan_words
from hero_eval.counting.score_look import ScoreLook
from hero_eval.counting.sql import Sums, floats
from hero_eval.counting.sql_look import Look
from hero_eval.counting.sql_tables import SqlTables
from hero_eval.counting.tally import Tally
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.findings import Finding
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Floats, Ints

MOST_LABELS = 200_000_000
"""Labels that do not collapse into patterns are refused above this number: in memory they would take about 25 bytes
each, as those of the largest benchmark do (`docs/results/scale.csv`, 150 million labels of 1,000 labelers)."""
_FACTS = (("count", "n"), ("avg", "mean"), ("min", "min"), ("max", "max"))


@dataclass(frozen=True)
class _Kept:
    """Items that the engine keeps, and how their groups were summed."""

    asked: tuple[Names, Names | None]
    sums: Sums
    keys: str
    there: str


class SqlSource:
    """A round in files, after a look at its labels. Nothing is counted before it is needed."""

    scored = False

    def __init__(self, sql: SqlTables, look: Look) -> None:
        self.session = sql.session
        self.files = sql.files
        self.options = sql.options
        self.look = look
        self._sql = sql
        self._tallies: dict[tuple[Names, Names | None], Tally] = {}
        self._long: dict[tuple[Names, Names | None], ItemArrays] = {}
        self._kept: _Kept | None = None
        self._notes: tuple[Finding, ...] = ()
        self._repeats = 0
        self._totals: tuple[int, int, int] | None = None

    @property
    def labelers(self) -> Names:
        return self.look.labelers

    @property
    def values(self) -> Names:
        return self.look.answers.values

    @property
    def answers(self) -> Names | None:
        return self.look.bins

    @property
    def classes(self) -> Names | None:
        return self.look.answers.classes

    @property
    def positive(self) -> str | None:
        return self.look.answers.positive

    def gold_values(self) -> Names:
        return seen_in_gold(self.look)

    @property
    def label_kind(self) -> str | None:
        return self.options.label_kind

    @property
    def idle(self) -> frozenset[tuple[str, str]]:
        return self.look.idle

    def labels_by_answer(self) -> Floats:
        return self.tally().labels_by_answer() if self.look.given is None else self.look.given

    def column_names(self) -> Names:
        return self._sql.column_names()

    def numeric_columns(self) -> Names:
        return self._sql.numeric_columns()

    def notes(self) -> tuple[Finding, ...]:
        return self._notes

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        if self.stays:
            raise wrong(
                "E212",
                f"round {self.options.name!r} has {self.look.n_rows:,} labels by {len(self.labelers):,} labelers: too "
                f"many patterns for memory. Split it into rounds of at most {MOST_LABELS:,} labels",
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
            table = table.filter(known[np.asarray(look.said["cell"]) // look.n_answers])
            some_left_out = some_left_out or not known.all()
        self.session.lend(self._sql.name("cells"), table)
        if look.golds is not None:
            self.session.lend(self._sql.name("golds"), look.golds.rename_columns(["g_gold", "code"]))
        return some_left_out

    def _count(self, covariates: Names, labelers: Names | None) -> Tally:
        look = self.look
        n_answers = look.n_answers
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
        labels, spelled = self._labels_given()
        problem, repeats = labeled_twice(self.session, labels, self._sql.tables["labels"], spelled)
        if problem is not None or self._repeats:
            raise InputError(
                problem or Problem("E108", f"{self._sql.tables['labels'].name} repeats labels in two spellings.")
            )
        self._repeats = repeats
        self._sql.without_repeats = repeats > 0

    def _labels_given(self) -> tuple[str, Callable[[float], str]]:
        """Every label as a number (SQL: item, c_labeler, cell), and how to spell it."""
        said = self.look.said.rename_columns(["c_labeler", "c_label", "cell"])
        self.session.lend(self._sql.name("said"), said)
        labels = (
            "SELECT l.item AS item, c.c_labeler AS c_labeler, c.cell AS cell FROM "
            f"{self._sql.view('labels', ('item', 'labeler', 'label'))} AS l JOIN {self._sql.name('said')} AS c "
            "ON l.labeler = c.c_labeler AND l.label = c.c_label"
        )
        return labels, lambda cell: self.values[int(cell) % len(self.values)]

    def _patterns(
        self, words: list[str], covariates: Names, labelers: Names | None, all_rows: bool
    ) -> tuple[Any, Moments | None]:
        """Groups of equal keys, in order, and the moments of the covariates."""
        table, there = self._sql.name("items"), f"{words[-1]} > 0"
        self.session.keep(table, self._sql.items(words, covariates, all_rows=all_rows))
        facts = self._facts_of(self._sql, table, there, covariates, all_rows=all_rows)
        self._accept(facts, covariates, labelers)
        keys = ", ".join([*words, "gold"])
        sums = Sums(self.session, facts, len(covariates), self._sql.weighted)
        shown = ", ".join([*sums.counts(), *sums.by_row()])
        order = f"WHERE {there} GROUP BY {keys} ORDER BY {keys}"
        grouped = self.session.query(f"SELECT {keys}, {shown} FROM {table} {order}")
        if not covariates:
            self.session.drop(table)
            return grouped, None
        self._kept = _Kept((covariates, labelers), sums, keys, there)
        whole = self.session.query(f"SELECT {', '.join(sums.overall())} FROM {table} WHERE {there}")
        return grouped, sums.moments(covariates, grouped, whole)

    def _facts_of(
        self, sql: SqlTables, table: str, there: str, covariates: Names, *, all_rows: bool
    ) -> dict[str, float]:
        """What must be known of all items before they are summed, `table` as `SqlTables.items` makes it."""
        listed = "listed" if "items" in sql.tables else "0"
        shown = [
            f"count(CASE WHEN {there} THEN 1 END) AS n_items",
            f"count(CASE WHEN NOT ({there}) THEN 1 END) AS unlabeled",
            f"count(CASE WHEN {sql.is_stray(there, all_rows=all_rows)} THEN 1 END) AS stray",
            f"count(CASE WHEN {there} AND {listed} = 0 THEN 1 END) AS lacking",
            f"count(CASE WHEN NOT ({there}) AND {listed} = 1 THEN 1 END) AS idle",
            f"count(CASE WHEN {sql.no_id} THEN 1 END) AS nameless",
            "coalesce(max(clash), 0) AS clash",
        ]
        for name in [*(f"x{j}" for j in range(len(covariates))), *(["w"] if sql.weighted else [])]:
            of = f"CASE WHEN {there} THEN {name} END"
            shown += [f"{how}({of}) AS {name}_{what}" for how, what in _FACTS]
        row = self.session.query(f"SELECT {', '.join(shown)} FROM {table}").to_pylist()[0]
        return {name: math.nan if value is None else float(value) for name, value in row.items()}

    def _accept(self, facts: dict[str, float], covariates: Names, labelers: Names | None) -> None:
        """Raise what is wrong with the items, and keep what is worth a remark."""
        if labelers is not None:  # items that only others labeled look as if nobody had
            facts |= {"stray": 0.0, "lacking": 0.0, "idle": 0.0}
        problems = item_problems(self.session, self._sql.tables, facts, covariates, self._sql.view)
        if problems:
            raise InputError(problems)
        if labelers is None:
            self._notes = self._remarks(int(facts["unlabeled"]))

    def _remarks(self, unlabeled: int) -> tuple[Finding, ...]:
        found = []
        if self._repeats:
            data = {"count": self._repeats, "labels": self._repeats}
            found.append(
                Finding("F101", f"exact duplicates were dropped: {self._repeats} (labels {self._repeats})", data)
            )
        if unlabeled:
            found.append(Finding("F102", f"items without labels were set aside: {unlabeled}", {"count": unlabeled}))
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
            f"SELECT {kept.keys}, {', '.join(grams)} FROM (SELECT *, {inner} FROM {self._sql.name('items')} "
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
        cell = look.said["cell"]
        all_rows = self._lend({"k0": np.ones(len(look.said)), "cell": cell}, labelers)
        found = LongLabels(look.n_rows, len(look.labelers), look.n_answers, covariates)
        parts, count = [], n_parts(look.n_rows)
        for number in range(count):
            facts, about, said = self._part(self._sql.part(number, count), covariates, all_rows)
            parts.append(facts)
            found.add(about, said["cell"])
        self._accept(joined_facts(parts), covariates, labelers)
        if not found.once:
            self._refuse_clashes()
            return self._count_long(covariates, labelers)
        self._long[covariates, labelers] = arrays = found.arrays(look.labelers, self.values, self.answers)
        return arrays.tally

    def _part(self, sql: SqlTables, covariates: Names, all_rows: bool) -> tuple[dict[str, float], Any, Any]:
        """Of some of the items: facts, a row for each with labels, and their labels, both in the order of the items."""
        table = sql.name("items")
        self.session.keep(table, sql.items(["k0"], covariates, all_rows=all_rows))
        facts = self._facts_of(sql, table, "k0 > 0", covariates, all_rows=all_rows)
        columns = ["k0", "gold", *(f"x{j}" for j in range(len(covariates))), *(["w"] if sql.weighted else [])]
        about = self.session.query(f"SELECT {', '.join(columns)} FROM {table} WHERE k0 > 0 ORDER BY item")
        self.session.drop(table)
        view = sql.view("labels", ("item", "labeler", "label"), distinct=sql.without_repeats)
        said = self.session.query(
            f"SELECT CAST(c.cell AS INT) AS cell FROM {view} AS l JOIN {sql.name('cells')} AS c "
            "ON l.labeler = c.c_labeler AND l.label = c.c_label ORDER BY l.item, c.cell"
        )
        return facts, about, said

    @property
    def stays(self) -> bool:
        """Whether the labels must stay in the engine: patterns that do not collapse, and too many for memory."""
        return stay_in_engine(len(self.look.labelers), self.look.n_answers, self.look.n_rows)

    def totals(self) -> tuple[int, int, int]:
        """Items, labels and items with gold, without more than these leaving the engine."""
        if self._totals is None:
            all_rows = self._lend({"k0": np.ones(len(self.look.said))}, None)
            there = f"({self._sql.items(['k0'], (), all_rows=all_rows)}) AS t WHERE k0 > 0"
            found = self.session.query(
                f"SELECT count(*) AS n, sum(k0) AS k, count(CASE WHEN gold >= 0 THEN 1 END) AS g FROM {there}"
            ).to_pylist()[0]
            self._totals = int(found["n"]), int(found["k"]), int(found["g"])
        return self._totals


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
        answers=look.bins,
    )


def stay_in_engine(n_labelers: int, n_answers: int, n_labels: int) -> bool:
    """Whether there are too many labels of patterns that do not collapse."""
    return plan_words(n_labelers, n_answers) is None and n_labels > MOST_LABELS


def seen_in_gold(look: Look | ScoreLook) -> Names:
    """The values that gold has."""
    codes = [] if look.golds is None else sorted(set(look.golds["code"].to_pylist()))
    return tuple(look.answers.values[code] for code in codes)
