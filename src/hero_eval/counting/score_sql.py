"""Labels that are scores, in SQL: a label as a number, and a number as the bin that it lies in.

Engines read plain numbers. Whatever else a label may be (yes, a number that counts as not given, a slip) is *odd*: the
few distinct ones are read by the code that reads them in memory, and lent to the engine with the numbers they stand
for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.counting.sql import is_number, literal
from hero_eval.io.score_bins import ScoreCuts

SCORE = "hero_score"
"""The column of a label's number; users have columns called score."""
_LARGEST = literal(1.7e308)


@dataclass(frozen=True)
class ScoreColumn:
    """The column of labels as scores: of which type it is, which numbers count as not given, and the names under which
    the engine knows odd labels and, once there are bins, where they begin."""

    kind: Any
    unsaid: tuple[float, ...] = ()
    odd_table: str | None = None
    cuts_table: str | None = None
    n_cuts: int = 0

    def _number(self, column: str) -> str:
        """SQL for the number that a label plainly spells; null if it does not."""
        if str(self.kind) == "bool":
            return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
        if not is_number(self.kind):
            text = f"trim(CAST({column} AS STRING))"  # engines differ in what else they take for a number: 1d, 0x1p3
            plain = f"translate({text}, '0123456789+-.eE', '') = ''"
            return f"CASE WHEN {plain} THEN TRY_CAST({text} AS DOUBLE) + 0e0 END"
        # numbers of other widths become those that their digits spell, as in memory
        exact = str(self.kind) == "double" or "int" in str(self.kind)
        number = column if exact else f"CAST({column} AS STRING)"
        return f"CASE WHEN isnan(CAST({column} AS DOUBLE)) THEN NULL ELSE CAST({number} AS DOUBLE) + 0e0 END"

    def _is_nothing(self, column: str) -> str:
        nan = f" OR isnan({column})" if str(self.kind) in ("double", "float", "halffloat") else ""
        return f"({column} IS NULL{nan})"

    def is_odd(self, column: str) -> str:
        """SQL for a label that is there and is no plain number, or one that counts as not given."""
        number = self._number(column)
        unsaid = f" OR ({number}) IN ({', '.join(map(literal, self.unsaid))})" if self.unsaid else ""
        beyond = f"({number}) IS NULL OR abs({number}) > {_LARGEST}"
        return f"(NOT {self._is_nothing(column)} AND ({beyond}{unsaid}))"

    def score(self, column: str, odd: str) -> str:
        """SQL for a label's score; `odd` is the alias of the odd labels, if there are any."""
        number = f"CASE WHEN abs({self._number(column)}) <= {_LARGEST} THEN {self._number(column)} END"
        if self.odd_table is None:
            return number
        return f"CASE WHEN {odd}.o_label IS NOT NULL THEN {odd}.o_score ELSE {number} END"

    def joined(self, relation: str) -> str:
        """The relation, called s, with its odd labels, called o."""
        if self.odd_table is None:
            return f"{relation} AS s"
        return f"{relation} AS s LEFT JOIN {self.odd_table} AS o ON s.label = o.o_label"

    def scored(self, relation: str, columns: Sequence[str], *, distinct: bool = False) -> str:
        """A subquery with these columns of a relation that has a column label, and the score."""
        shown = [*(f"s.{name} AS {name}" for name in columns), f"{self.score('s.label', 'o')} AS {SCORE}"]
        return f"(SELECT {'DISTINCT ' if distinct else ''}{', '.join(shown)} FROM {self.joined(relation)})"

    def binned(self, relation: str, columns: Sequence[str], quoted_label: str) -> str:
        """The same with the bin as the label; null where there is no score, or a labeler without bins."""
        steps = " ".join(f"WHEN t.{SCORE} >= c.b{k} THEN c.p{k}" for k in range(self.n_cuts, 0, -1))
        bins = f"CASE WHEN t.{SCORE} IS NULL THEN NULL {steps} ELSE c.p0 END"
        shown = [*(f"t.{name} AS {name}" for name in columns), f"{bins} AS {quoted_label}"]
        return (
            f"(SELECT {', '.join(shown)} FROM {relation} AS t LEFT JOIN {self.cuts_table} AS c "
            "ON t.labeler = c.c_labeler)"
        )

    def with_cuts(self, table: str, n_cuts: int) -> ScoreColumn:
        return replace(self, cuts_table=table, n_cuts=n_cuts)


def cuts_to_lend(who: Any, cuts: ScoreCuts, names: Sequence[str]) -> tuple[Any, int]:
    """A row for each labeler as the file spells it (`who`: c_labeler, j): where its bins but the first begin (b1, ...),
    and their places among all bins (p0, ...); and how many beginnings there are at most."""
    import pyarrow as pa

    place = {name: position for position, name in enumerate(cuts.labelers)}
    rows = [place[names[j]] for j in who["j"].to_pylist()]
    most = max(len(cuts.lows[row]) for row in rows) - 1
    columns: dict[str, Any] = {"c_labeler": who["c_labeler"], "p0": [int(cuts.places[row][0]) for row in rows]}
    for k in range(1, most + 1):
        there = [len(cuts.lows[row]) > k for row in rows]
        lows = [float(cuts.lows[row][k]) if known else None for row, known in zip(rows, there, strict=True)]
        bins = [int(cuts.places[row][k]) if known else None for row, known in zip(rows, there, strict=True)]
        columns |= {f"b{k}": pa.array(lows, pa.float64()), f"p{k}": pa.array(bins, pa.int64())}
    columns["p0"] = pa.array(columns["p0"], pa.int64())
    return pa.table(columns), most


def cells_of(who: Any, cuts: ScoreCuts, names: Sequence[str]) -> Any:
    """Every bin of every labeler as the file spells it: labeler, label (the bin) and cell."""
    import pyarrow as pa

    place = {name: position for position, name in enumerate(cuts.labelers)}
    number = np.asarray(who["j"], np.int64)
    bins = [np.unique(cuts.places[place[names[j]]]) for j in number]
    row = np.repeat(np.arange(len(bins)), [len(of) for of in bins])
    label = np.concatenate(bins)
    cell = number[row] * cuts.n_bins + label
    return pa.table({"labeler": who["c_labeler"].take(pa.array(row)), "label": label, "cell": cell})


def odd_to_lend(labels: Any, scores: Mapping[int, float]) -> Any:
    """Odd labels as the file spells them, and by position the number that each stands for."""
    import pyarrow as pa

    numbers = [scores.get(place) for place in range(len(labels))]
    return pa.table({"o_label": labels, "o_score": pa.array(numbers, pa.float64())})
