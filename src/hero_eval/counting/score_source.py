"""A round of scores in files: its labels are bins, which it has by itself, or together with other rounds.

Where labels are there twice, memory drops repeats before it cuts; so items are counted once without bins, which shows
repeats, and then the distinct scores of every labeler are kept in the engine, from which bins are learned
(`score_pool`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.counting.engine import Names, Session
from hero_eval.counting.score_look import ScoreLook
from hero_eval.counting.score_pool import ScorePart, pooled
from hero_eval.counting.score_sql import SCORE, cells_of, cuts_to_lend
from hero_eval.counting.sql_look import Look, look_at
from hero_eval.counting.sql_round import SqlSource, seen_in_gold, stay_in_engine
from hero_eval.counting.sql_tables import SqlTables
from hero_eval.counting.tally import Tally
from hero_eval.findings import Finding
from hero_eval.io.score_bins import MOST_BINS, ScoreCuts, ScoreDistribution
from hero_eval.io.values import number_text
from hero_eval.model.moments import Forms
from hero_eval.model.patterns import Floats


class BinnedSource(SqlSource):
    """A round of scores in these bins."""

    scored = True
    is_cut = True

    def __init__(self, base: ScoredSource, cuts: ScoreCuts) -> None:
        first = base.first
        sql = base.sql.with_scores(first.column)
        sql.without_repeats = base.repeats > 0
        table, n_cuts = cuts_to_lend(first.who, cuts, first.labelers)
        sql.session.lend(sql.name("cuts"), table)
        sql.score = first.column.with_cuts(sql.name("cuts"), n_cuts)
        look = Look(
            labelers=first.labelers,
            answers=first.answers,
            said=cells_of(first.who, cuts, first.labelers),
            n_rows=first.n_rows,
            n_empty=first.n_empty,
            golds=first.golds,
            n_aside=first.n_aside,
            notes=first.notes,
            bins=cuts.names,
        )
        super().__init__(sql, look)
        self.base = base
        self._repeats = base.repeats

    @property
    def repeats(self) -> int:
        """Labels that are there once more."""
        return self._repeats

    def in_bins(self, cuts: ScoreCuts) -> BinnedSource:
        return self.base.in_bins(cuts)

    def part(self) -> ScorePart:
        return self.base.part()

    @property
    def facts(self) -> tuple[Any, ...]:
        return self.base.facts

    def _labels_given(self) -> tuple[str, Callable[[float], str]]:
        who = self.base.sql.name("who")
        labels = (
            f"SELECT l.item AS item, c.c_labeler AS c_labeler, l.{SCORE} AS cell FROM "
            f"{self._sql.scored(self.base.first.column, ('item', 'labeler', 'label'))} AS l JOIN {who} AS c "
            f"ON l.labeler = c.c_labeler WHERE l.{SCORE} IS NOT NULL"
        )
        return labels, number_text


class ScoredSource:
    """A round of scores before it is known with which others it goes."""

    scored = True
    is_cut = False
    idle: frozenset[tuple[str, str]] = frozenset()

    def __init__(self, sql: SqlTables, first: ScoreLook) -> None:
        self.session: Session = sql.session
        self.files = sql.files
        self.options = sql.options
        self.sql = sql
        self.first = first
        self.repeats = 0
        self._binned: dict[tuple[Any, ...], BinnedSource] = {}
        self.labelers: Names = first.labelers
        self.values: Names = first.answers.values
        self.classes: Names | None = first.answers.classes
        self.positive: str | None = first.answers.positive
        self.label_kind: str | None = sql.options.label_kind
        self.facts = first.facts

    @property
    def stays(self) -> bool:
        return stay_in_engine(len(self.labelers), MOST_BINS, self.first.n_rows)

    @property
    def answers(self) -> Names:
        return self._own[0].answers or ()

    def gold_values(self) -> Names:
        return seen_in_gold(self.first)

    def labels_by_answer(self) -> Floats:
        return self._own[0].labels_by_answer()

    @cached_property
    def _whole(self) -> BinnedSource:
        """All scores in one bin: enough to see what is wrong with items, and which labels are there twice."""
        nothing = tuple(np.zeros(1) for _ in self.labelers), tuple(np.zeros(1, np.int64) for _ in self.labelers)
        found = BinnedSource(self, ScoreCuts(self.labelers, *nothing, 2))
        if not self.stays:
            found.tally()
            self.repeats = found.repeats
        return found

    def part(self) -> ScorePart:
        """The distinct scores of every labeler, in the engine."""
        return self._part

    @cached_property
    def _part(self) -> ScorePart:
        self.session.lend(self.sql.name("who"), self.first.who)
        columns = ("item", "labeler", "label")
        view = self.sql.scored(self.first.column, columns, distinct=self._whole.repeats > 0)
        relation = self.session.share(
            self.sql.name("scores"),
            f"SELECT w.j AS j, t.{SCORE} AS score, count(*) AS n FROM {view} AS t JOIN {self.sql.name('who')} AS w "
            f"ON t.labeler = w.c_labeler WHERE t.{SCORE} IS NOT NULL GROUP BY w.j, t.{SCORE}",
        )
        return ScorePart(self.labelers, self.session, relation)

    @cached_property
    def _own(self) -> tuple[BinnedSource, ScoreDistribution]:
        """In bins by this round alone, as a round in memory is before others join it."""
        shape = pooled([self.part()])
        return self.in_bins(shape.cut()), shape

    def in_bins(self, cuts: ScoreCuts) -> BinnedSource:
        """The round in these bins; counts that were made are there again."""
        place = {name: position for position, name in enumerate(cuts.labelers)}
        rows = [place[name] for name in self.labelers]
        key = (cuts.n_bins, *(array.tobytes() for row in rows for array in (cuts.lows[row], cuts.places[row])))
        if key not in self._binned:
            assert self._whole is not None  # what is there twice must be known first
            self._binned[key] = BinnedSource(self, cuts)
        return self._binned[key]

    def totals(self) -> tuple[int, int, int]:
        return self._whole.totals() if self.stays else _sizes(self._whole.tally())

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        return self._own[0].tally(covariates, labelers)

    def grams(self, covariates: Names, labelers: Names | None, forms: Forms) -> Floats:
        return self._own[0].grams(covariates, labelers, forms)

    def notes(self) -> tuple[Finding, ...]:
        source, shape = self._own
        return (*source.notes(), shape.note(len(source.answers or ())))

    def column_names(self) -> Names:
        return self.sql.column_names()

    def numeric_columns(self) -> Names:
        return self.sql.numeric_columns()


def _sizes(tally: Tally) -> tuple[int, int, int]:
    return tally.n_items, tally.n_labels, tally.n_gold


def open_source(sql: SqlTables) -> SqlSource | ScoredSource:
    """The round behind these tables, after a look at its labels; all problems with them are raised together."""
    found = look_at(sql)
    return SqlSource(sql, found) if isinstance(found, Look) else ScoredSource(sql, found)


def reopened_as_scores(source: SqlSource) -> SqlSource | ScoredSource:
    """The round with its labels read as scores, which other rounds showed them to be."""
    return open_source(SqlTables(source.session, source.files, replace(source.options, label_kind="score")))
