"""Tables as they were given and under our own column names, their columns of ids and answers as codes, and what to say
when a column is missing or is not what it should be."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.findings import Finding
from hero_eval.io.arrays import LARGEST, Coded, Numbers, encode_answers, encode_ids, mapped_answers, show
from hero_eval.io.bridge import to_numpy
from hero_eval.io.distinct import Codes
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.values import listed, nearest

TABLES = ("labels", "gold", "items")

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "item": (
        "item_id",
        "id",
        "task_id",
        "example_id",
        "prompt_id",
        "question_id",
        "sample_id",
        "task",
        "prompt",
        "example",
        "question",
    ),
    "labeler": (
        "rater",
        "annotator",
        "worker",
        "judge",
        "user",
        "labeler_id",
        "worker_id",
        "rater_id",
        "annotator_id",
    ),
    "label": (
        "answer",
        "rating",
        "value",
        "response",
        "vote",
        "labels",
        "judgment",
        "score",
        "verdict",
        "judgement",
        "choice",
        "decision",
    ),
    "gold": ("truth", "expert", "target", "ground_truth", "gold_label", "reference", "label"),
}

# What dataframe libraries write for a row index that nobody asked to keep. It is no covariate.
_INDEX_COLUMN = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True)
class InputTable:
    """One input table, and how to speak of it."""

    name: str
    """"labels" for a dataframe, the path for a file: a call often reads several rounds, each with its labels.csv."""
    table: Any
    """A pyarrow Table."""
    kind: str
    """Where it came from: pandas, polars, pyarrow, duckdb or files."""
    theirs: Mapping[str, str] = field(default_factory=dict)
    """What messages call a column that was renamed on the way."""
    origin: Callable[[int], str] | None = None
    """Where a row came from, of a table that was made of a wide one; None: it is a row of the table itself."""


@dataclass(frozen=True)
class InputTables:
    """The tables of a round. Those in `broken` were given but could not be read; `problems` say why."""

    labels: InputTable | None
    gold: InputTable | None
    items: InputTable | None
    broken: frozenset[str]
    problems: tuple[Problem, ...]
    notes: tuple[Finding, ...] = ()
    """What was found while the tables were brought into shape."""
    shaped: bool = False
    """Whether they were: what was chosen of them is not chosen again."""

    def given(self) -> list[InputTable]:
        return [source for source in (self.labels, self.gold, self.items) if source is not None]


def gather(sources: Mapping[str, InputTable], broken: Collection[str], problems: Sequence[Problem]) -> InputTables:
    """The tables by name as `InputTables`."""
    return InputTables(
        labels=sources.get("labels"),
        gold=sources.get("gold"),
        items=sources.get("items"),
        broken=frozenset(broken),
        problems=tuple(problems),
    )


def without_index(table: Any) -> Any:
    """The table without row numbers that an export left behind."""
    return table.select([column for column in table.column_names if not _INDEX_COLUMN.fullmatch(column)])


@dataclass(frozen=True)
class Named:
    """A table whose columns go by our names."""

    name: str
    columns: Mapping[str, Any]
    theirs: Mapping[str, str]
    """Our name of a column → its name in the table, where they differ."""
    header: tuple[str, ...]
    """The columns as the table has them, for messages."""
    n_rows: int
    origin: Callable[[int], str] | None = None

    def place(self, ours: str, row: int) -> str:
        """Where a cell is, for a message."""
        if self.origin is not None:
            return self.origin(row)
        return f"column {self.theirs.get(ours, ours)!r}, data row {row + 1}"

    def column(self, ours: str) -> str:
        """How to call a column in a message."""
        if self.origin is not None and ours == "label":
            return f"{self.name} (in its labelers' columns)"
        return f"{self.name} column {self.theirs.get(ours, ours)!r}"


def rename(source: InputTable, needed: Sequence[str], columns: Mapping[str, str]) -> Named:
    """The table under our names. A mapped column replaces one that has our name already.

    A column that the table needs under its own name stays as well: `columns={"gold": "label"}` is meant for a
    gold table whose answers are called "label", and must not take the labels away from the labels table.
    """
    table = source.table
    theirs = {ours: name for ours, name in columns.items() if name in table.column_names}
    moved = {name for name in theirs.values() if name not in needed or name in columns}
    kept = {name: table[name] for name in table.column_names if name not in moved}
    mapped = {ours: table[name] for ours, name in theirs.items()}
    return Named(
        name=source.name,
        columns={**kept, **mapped},
        theirs={**source.theirs, **theirs},
        header=tuple(table.column_names),
        n_rows=table.num_rows,
        origin=source.origin,
    )


def unknown_mappings(sources: Sequence[InputTable], columns: Mapping[str, str]) -> dict[str, Problem]:
    """Mapped columns that no table has, by our name.

    Where a table has the column under our name already there is nothing to map: one mapping serves rounds of two tools.
    """
    seen = [name for source in sources for name in source.table.column_names]
    there = "; ".join(f"{source.name} has {listed(source.table.column_names)}" for source in sources)
    return {
        ours: Problem(
            "E104",
            f"columns maps {ours!r} to {theirs!r}, but no table has a column {theirs!r}: {there}.{meant(theirs, seen)}",
        )
        for ours, theirs in columns.items()
        if theirs not in seen and ours not in seen and sources
    }


def missing_columns(table: Named, needed: Sequence[str], reported: Collection[str]) -> list[Problem]:
    """A problem for each needed column that the table lacks, with the mapping that would most likely mend it.

    Columns in `reported` have a mapping that is wrong itself, and need no second message.
    """
    free = [name for name in table.header if name not in needed and name not in table.theirs.values()]
    problems = []
    found: dict[str, str] = {}
    for ours in needed:
        if ours in table.columns or ours in reported:
            continue
        theirs = suggest(ours, free) or "..."
        found[ours] = theirs
        remedy = f'Map it: columns={{"{ours}": "{theirs}"}} (command: --column {shlex.quote(f"{ours}={theirs}")})'
        header = listed(table.header) or "none"
        problems.append(Problem("E104", f"{table.name} has no column {ours!r}. Columns: {header}. {remedy}"))
    if len(found) > 1 and "..." not in found.values():
        last = problems.pop()
        command = " ".join(f"--column {shlex.quote(f'{ours}={theirs}')}" for ours, theirs in found.items())
        problems.append(Problem(last.code, f"{last.message}. All at once: columns={found} (command: {command})"))
    if {"labeler"} == {"labeler", "label"} & {*needed} - {*table.columns} - {*reported} and found["labeler"] == "...":
        last = problems.pop()
        problems.append(Problem(last.code, f"{last.message}. {_GOLD_AND_COLUMNS}"))
    if {"labeler", "label"} <= {*needed} - {*table.columns} - {*reported}:
        last = problems.pop()
        problems.append(Problem(last.code, f"{last.message}. {_OTHER_SHAPES}"))
    return problems


_OTHER_SHAPES = (
    "If each labeler has a column of its own, name these: labelers=[...] (command: --labelers A,B); what a labeling "
    "tool exported is read by hero import"
)

_GOLD_AND_COLUMNS = (
    "If 'label' is what an expert says, and labelers have columns of their own: columns={'gold': 'label'}, "
    "labelers=[...] (command: --column gold=label --labelers A,B)"
)


def suggest(ours: str, available: Sequence[str]) -> str | None:
    """The available column that most likely means this one of ours."""
    lowered = {name.lower().strip(): name for name in reversed(available)}
    for synonym in (ours, *SYNONYMS.get(ours, ())):
        if synonym in lowered:
            return lowered[synonym]
    near = nearest(ours, list(lowered))
    return lowered[near] if near is not None else None


def absent(round_name: str, kind: str, name: str, available: Sequence[str]) -> Problem:
    """E202 for a covariate, text or flag column that a round does not have."""
    there = listed(available) if available else "none"
    return Problem("E202", f"round {round_name!r} has no {kind} {name!r}. It has: {there}.{meant(name, available)}")


def meant(name: str, available: Sequence[str]) -> str:
    """A question after the name that was likely meant, or nothing."""
    near = nearest(name, available)
    return f" Did you mean {near!r}?" if near is not None else ""


def number_problems(
    place: str, column: Any, numbers: Numbers, ids: Any, remedy: str = "leave them empty, or choose another column"
) -> list[Problem]:
    """E112 and E113: what keeps this column (one value for each item of `ids`) from serving as numbers."""
    problems = []
    beyond = f"infinite or beyond {LARGEST:g}"
    for code, positions, what in (("E112", numbers.bad, "not numeric"), ("E113", numbers.infinite, beyond)):
        if len(positions):
            first = int(positions[0])
            problems.append(
                Problem(
                    code,
                    f"{place} is {what} for {len(positions)} of {len(ids)} items, for example "
                    f"{show(column, first)} (item {str(ids[first])!r}). Correct these values, {remedy}.",
                )
            )
    return problems


def read_ids(
    table: Named, column: str, problems: list[Problem], where: NDArray[np.bool_] | None = None
) -> Coded | None:
    """A column of ids; null ids (in the rows `where` they matter) are E107."""
    if column not in table.columns:
        return None
    coded = _readable(table, column, problems, encode_ids)
    if coded is None:
        return None
    null = np.flatnonzero((coded.codes < 0) & (True if where is None else where)) if not coded.complete else None
    if null is not None and len(null):
        problems.append(
            Problem(
                "E107",
                f"{table.column(column)} is empty in {len(null)} of {table.n_rows} rows, "
                f"first in data row {null[0] + 1}. Give each row its {column}, or drop these rows.",
            )
        )
    return coded


def read_answers(table: Named, column: str, options: ReadOptions, problems: list[Problem]) -> Coded | None:
    """A column of answers, as the table writes them."""
    if column not in table.columns:
        return None
    keep = frozenset(options.class_texts)
    coded = _readable(table, column, problems, lambda values: encode_answers(values, keep, options.missing))
    return coded if coded is None or not options.mapped else mapped_answers(coded, options.mapped)


def _readable(table: Named, column: str, problems: list[Problem], encode: Callable[[Any], Coded]) -> Coded | None:
    import pyarrow as pa

    try:
        return encode(table.columns[column])
    except pa.ArrowException as error:
        kind = table.columns[column].type
        reason = " ".join(str(error).split())[:120]
        problems.append(Problem("E117", f"{table.column(column)} of type {kind} cannot be read as text: {reason}."))
        return None


def positions(ids: Any, among: Any) -> Codes:
    """Where each id is in `among`, -1 = nowhere. Both are pyarrow arrays of text."""
    import pyarrow.compute as pc

    if ids.equals(among):
        return np.arange(len(ids))
    return to_numpy(pc.index_in(ids, value_set=among), -1).astype(np.int64)
