"""Tables under our own column names, and what to say when a column is missing or is not what it should be."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval.errors import Problem
from hero_eval.io.arrays import LARGEST, Numbers, show
from hero_eval.io.frames import Source
from hero_eval.io.values import listed

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "item": (
        "task",
        "id",
        "prompt",
        "prompt_id",
        "example",
        "question_id",
        "item_id",
        "task_id",
        "example_id",
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
    "label": ("answer", "rating", "value", "response", "vote", "labels", "judgment", "score"),
    "gold": ("truth", "expert", "target", "ground_truth", "gold_label", "reference", "label"),
}


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

    def column(self, ours: str) -> str:
        """How to call a column in a message."""
        return f"{self.name} column {self.theirs.get(ours, ours)!r}"


def rename(source: Source, needed: Sequence[str], columns: Mapping[str, str]) -> Named:
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
        theirs=theirs,
        header=tuple(table.column_names),
        n_rows=table.num_rows,
    )


def unknown_mappings(sources: Sequence[Source], columns: Mapping[str, str]) -> dict[str, Problem]:
    """Mapped columns that no table has, by our name.

    Where a table has the column under our name already there is nothing to map: one mapping serves rounds of two tools.
    """
    seen = [name for source in sources for name in source.table.column_names]
    there = "; ".join(f"{source.name} has {listed(source.table.column_names)}" for source in sources)
    return {
        ours: Problem(
            "E104",
            f"columns maps {ours!r} to {theirs!r}, but no table has a column {theirs!r}: {there}."
            f"{_meant(theirs, seen)}",
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
    for ours in needed:
        if ours in table.columns or ours in reported:
            continue
        theirs = suggest(ours, free) or "..."
        remedy = f'Map it: columns={{"{ours}": "{theirs}"}} (command: --column {ours}={theirs})'
        header = listed(table.header) or "none"
        problems.append(Problem("E104", f"{table.name} has no column {ours!r}. Columns: {header}. {remedy}"))
    return problems


def suggest(ours: str, available: Sequence[str]) -> str | None:
    """The available column that most likely means this one of ours."""
    lowered = {name.lower().strip(): name for name in reversed(available)}
    for synonym in (ours, *SYNONYMS.get(ours, ())):
        if synonym in lowered:
            return lowered[synonym]
    near = difflib.get_close_matches(ours, list(lowered), n=1)
    return lowered[near[0]] if near else None


def absent(round_name: str, kind: str, name: str, available: Sequence[str]) -> Problem:
    """E202 for a covariate, text or flag column that a round does not have."""
    there = listed(available) if available else "none"
    return Problem("E202", f"round {round_name!r} has no {kind} {name!r}. It has: {there}.{_meant(name, available)}")


def _meant(name: str, available: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, available, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


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
