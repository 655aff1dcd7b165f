"""What can be wrong with a round that an SQL engine reads, in the words that a round in memory has for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hero_eval.counting.engine import Names, Session
from hero_eval.counting.sql import is_number
from hero_eval.errors import Problem
from hero_eval.findings import name_some
from hero_eval.io.answers import Answers
from hero_eval.io.arrays import LARGEST, Coded
from hero_eval.io.items import LABELER_PREFIX, out_of_proportion
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import InputTable, Named, absent, missing_columns, unknown_mappings
from hero_eval.io.validate import NEEDED
from hero_eval.io.values import MISSING, count_of
from hero_eval.model.patterns import Floats, Ints


def column_problems(
    frames: Sequence[InputTable], named: Mapping[str, Named], options: ReadOptions, taken: Sequence[str]
) -> list[Problem]:
    """E104, E118 and E202: columns that are missing, or were mapped or named in vain."""
    wrong_mappings = unknown_mappings(frames, options.columns)
    problems = [*options.problems, *wrong_mappings.values()]
    for table, of in named.items():
        problems += missing_columns(of, NEEDED[table], wrong_mappings)
    about = named.get("items", named["labels"])
    available = [name for name in about.columns if name not in taken]
    wanted = [name for name in options.covariates if not name.startswith(LABELER_PREFIX)]
    wanted += [] if options.text is None else [options.text]
    return problems + [absent(options.name, "column", name, available) for name in wanted if name not in available]


def nameless_problems(table: Named, nameless: float, lost: float, whole: float) -> list[Problem]:
    """E107: rows that have a label but no labeler, and rows without an item."""
    return [
        Problem(
            "E107",
            f"{table.column(column)} is empty in {rows:.0f} of {whole:.0f} rows. "
            f"Give each row its {column}, or drop these rows.",
        )
        for column, rows in (("labeler", nameless), ("item", lost))
        if rows
    ]


def outside_classes(place: str, coded: Coded, index: Ints, times: Floats, answers: Answers) -> list[Problem]:
    """E109: answers that are none of the classes which the caller gave."""
    outside = (index < 0) & (coded.codes >= 0)
    if answers.classes is None or not outside.any():
        return []
    message = (
        f"{place} is outside the classes {name_some(list(answers.classes), 12)} in "
        f"{count_of(int(times[outside].sum()), 'row')}, for example {coded.text(coded.codes[outside][0])!r}. "
        "Correct the values, or add them to the classes."
    )
    return [Problem("E109", message)]


def labeled_twice(
    session: Session, labels: str, table: Named, spelled: Callable[[float], str]
) -> tuple[Problem | None, int]:
    """E108 if one labeler gave one item different labels; else how many exact repeats there are.

    `labels` is SQL with columns item, c_labeler and cell, a number for every answer, which `spelled` spells.
    """
    pairs = (
        "SELECT item, c_labeler, min(cell) AS low, max(cell) AS high, count(*) AS n "
        f"FROM ({labels}) AS j GROUP BY item, c_labeler"
    )
    total = session.query(
        "SELECT count(CASE WHEN low <> high THEN 1 END) AS clashes, sum(n - 1) AS repeats "
        f"FROM ({pairs}) AS p WHERE n > 1"
    ).to_pylist()[0]
    clashes = int(total["clashes"])
    if not clashes:
        return None, int(total["repeats"])
    one = session.query(f"SELECT * FROM ({pairs}) AS p WHERE low <> high ORDER BY item, c_labeler LIMIT 1").to_pylist()[
        0
    ]
    given = " and ".join(repr(spelled(one[end])) for end in ("low", "high"))
    message = (
        f"{table.name} has different labels by one labeler for one item in {count_of(clashes, 'case')}, "
        f"for example item {str(one['item'])!r}, labeler {str(one['c_labeler'])!r}: {given}. "
        "Keep one label for each item and labeler."
    )
    return Problem("E108", message), 0


def item_problems(
    session: Session,
    tables: Mapping[str, Named],
    facts: Mapping[str, float],
    covariates: Names,
    view: Callable[[str, Sequence[str]], str],
) -> list[Problem]:
    """E107 and E110 to E115: what is wrong with ids, gold, covariates and weights."""
    about = "items" if "items" in tables else "labels"
    weighted = "w_n" in facts
    problems = [*_id_problems(session, tables, facts, view), *_clashes(tables, facts, [*covariates, "weight"])]
    numeric = {f"x{j}": name for j, name in enumerate(covariates)} | ({"w": "weight"} if weighted else {})
    unusable = []
    for key, name in numeric.items():
        place, column = tables[about].column(name), tables[about].columns[name]
        if facts[f"{key}_min"] < -LARGEST or facts[f"{key}_max"] > LARGEST:
            message = f"{place} is infinite or beyond {LARGEST:g} for some items. Correct these values, or "
            unusable.append(Problem("E113", f"{message}choose another column."))
        elif not is_number(column.type) and str(column.type) != "bool":
            unusable += _not_numeric(session, view(about, (name,)), name, place)
    return problems + (unusable or _weight_problems(tables[about], facts))


def _id_problems(
    session: Session, tables: Mapping[str, Named], facts: Mapping[str, float], view: Callable[[str, Sequence[str]], str]
) -> list[Problem]:
    """Items without an id (E107), and ids that do not line up between the tables (E111)."""
    problems = []
    for name in ("gold", "items") if facts["nameless"] else ():
        if name not in tables:
            continue
        empty = "count(CASE WHEN item IS NULL OR CAST(item AS STRING) = '' THEN 1 END)"
        row = session.query(f"SELECT {empty} AS n, count(*) AS whole FROM {view(name, ('item',))} AS t").to_pylist()[0]
        if row["n"]:
            message = f"{tables[name].column('item')} is empty in {row['n']} of {row['whole']} rows. "
            problems.append(Problem("E107", f"{message}Give each row its item, or drop these rows."))
    if problems:
        return problems
    if facts["lacking"] and facts["idle"]:
        message = (
            f"{tables['items'].name} does not line up with the labels: it describes "
            f"{count_of(int(facts['idle']), 'item')} without labels, and lacks "
            f"{count_of(int(facts['lacking']), 'item')} with labels. Use the same ids in both."
        )
        problems.append(Problem("E111", message))
    elif facts["stray"]:
        message = (
            f"{tables['gold'].name if 'gold' in tables else tables['labels'].name} has gold for "
            f"{count_of(int(facts['stray']), 'item')} without labels. Use the same ids in both, drop these rows, or "
            "list the items in an items table."
        )
        problems.append(Problem("E111", message))
    return problems


def _clashes(tables: Mapping[str, Named], facts: Mapping[str, float], columns: Sequence[str]) -> list[Problem]:
    """Different values for one item: of its gold (E110), of a column (E114)."""
    about = "items" if "items" in tables else "labels"
    gold = next((name for name in ("gold", "labels") if name in tables and "gold" in tables[name].columns), about)
    problems = []
    for position, name in enumerate(["gold", *columns]):
        if int(facts["clash"]) >> position & 1:
            place = tables[gold if name == "gold" else about].column(name)
            message = f"{place} has different values for one item. Keep one value for each item."
            problems.append(Problem("E110" if name == "gold" else "E114", message))
    return problems


def numeric_texts(session: Session, view: str, names: Sequence[str]) -> frozenset[str]:
    """Those of some columns of text that hold numbers throughout, and at least one."""
    missing = ", ".join(f"'{text}'" for text in sorted(MISSING))
    shown = []
    for position, name in enumerate(names):
        column = f"trim({session.quoted(name)})"
        shown.append(f"count(CASE WHEN {column} NOT IN ({missing}) THEN 1 END) AS said{position}")
        shown.append(f"count(TRY_CAST({column} AS DOUBLE)) AS read{position}")
    found = session.query(f"SELECT {', '.join(shown)} FROM {view} AS t").to_pylist()[0]
    sound = [position for position in range(len(names)) if 0 < found[f"said{position}"] <= found[f"read{position}"]]
    return frozenset(names[position] for position in sound)


def _not_numeric(session: Session, view: str, name: str, place: str) -> list[Problem]:
    column, missing = session.quoted(name), ", ".join(f"'{text}'" for text in sorted(MISSING))
    bad: dict[str, Any] = session.query(
        f"SELECT count(*) AS n, min({column}) AS one FROM {view} AS t "
        f"WHERE trim({column}) NOT IN ({missing}) AND TRY_CAST(trim({column}) AS DOUBLE) IS NULL"
    ).to_pylist()[0]
    if not bad["n"]:
        return []
    message = (
        f"{place} is not numeric in {count_of(int(bad['n']), 'row')}, for example {bad['one']!r}. "
        "Correct these values, leave them empty, or choose another column."
    )
    return [Problem("E112", message)]


def _weight_problems(table: Named, facts: Mapping[str, float]) -> list[Problem]:
    if "w_n" not in facts:
        return []
    if facts["w_n"] == facts["n_items"] and facts["w_min"] > 0:
        return out_of_proportion(table.column("weight"), facts["w_min"], facts["w_max"])
    missing, whole = facts["n_items"] - facts["w_n"], facts["n_items"]
    message = (
        f"{table.column('weight')} is missing for {missing:.0f} of {whole:.0f} items; the others are from "
        f"{facts['w_min']:g} to {facts['w_max']:g}. "
        "Give every item that has labels a finite weight above 0, or drop the column."
    )
    return [Problem("E115", message)]
