"""Votes counted where they are: DuckDB groups them, and only the kinds of votes come to memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hero_eval.counting.duckdb import DuckSession
from hero_eval.errors import wrong
from hero_eval.io.tables import InputTable
from hero_eval.io.vote_table import guessed_columns, no_rows_left, parse_votes, wanted_values
from hero_eval.votes import Votes, counted, votes_in

_KINDS = ("model_a", "model_b", "labeler", "label", "gold")


def count_votes(
    path: Path,
    columns: Mapping[str, str],
    mapped: Mapping[str, str],
    covariates: tuple[str, ...],
    name: str,
    memory_limit: str | None,
    where: Mapping[str, Any] | None = None,
) -> Votes:
    """The votes of a file, grouped by DuckDB; where an item has several votes, or there are covariates, each vote of
    these columns alone is read."""
    session = DuckSession(memory_limit)
    relation = session.scan(path)
    names = session.header(relation).column_names
    relation = _chosen(session, relation, names, where or {}, path)
    said = {**guessed_columns(names, columns), **columns}
    theirs = {ours: said.get(ours, ours) for ours in ("item", *_KINDS)}
    there = {ours: session.quoted(of) for ours, of in theirs.items() if of in names}
    kinds = [ours for ours in _KINDS if ours in there]
    if len({"model_a", "model_b", "label"} & set(kinds)) < 3:  # what is missing is said by the reader
        return votes_in(InputTable(str(path), session.header(relation), "files"), columns, mapped, covariates, name)
    listed = ", ".join(f"{there[ours]} AS {session.quoted(ours)}" for ours in kinds)
    if covariates or not _items_differ(session, relation, there.get("item")):
        extra = [
            session.quoted(column)
            for covariate in covariates
            for column in (covariate, f"{covariate}_a", f"{covariate}_b")
            if column in names
        ]
        item = [f"{there['item']} AS item"] if "item" in there else []
        table = session.query(f"SELECT {', '.join([listed, *item, *extra])} FROM {relation}")
        return votes_in(InputTable(str(path), table, "files"), {}, mapped, covariates, name)
    group = ", ".join(there[ours] for ours in kinds)
    table = session.query(
        f"SELECT {listed}, CAST(count(*) AS DOUBLE) AS hero_votes FROM {relation} GROUP BY {group} ORDER BY ALL"
    )
    rows = parse_votes(InputTable(str(path), table, "files"), {}, mapped, counts="hero_votes")
    return counted(rows, name, "files", items=int(rows.counts.sum()))


def _chosen(session: DuckSession, relation: str, names: Sequence[str], where: Mapping[str, Any], path: Path) -> str:
    """The rows whose columns have the values that are asked for; E202 or E532 as memory says it."""
    for column, wanted in wanted_values(where).items():
        if column not in names:
            has = ", ".join(names)
            raise wrong("E202", f"{path} has no column {column!r} to choose by. Columns: {has}")
        as_text = f"CAST({session.quoted(column)} AS VARCHAR)"
        listed = ", ".join("'" + value.replace("'", "''") + "'" for value in wanted)
        narrowed = f"(SELECT * FROM {relation} WHERE {as_text} IN ({listed}))"
        if not session.query(f"SELECT 1 AS one FROM {narrowed} LIMIT 1").num_rows:
            known = f"SELECT DISTINCT {as_text} AS value FROM {relation} WHERE value IS NOT NULL LIMIT 13"
            there = session.query(known)
            raise no_rows_left(str(path), column, wanted, there["value"].to_pylist())
        relation = narrowed
    return relation


def _items_differ(session: DuckSession, relation: str, item: str | None) -> bool:
    """Whether no two votes are on one item."""
    if item is None:
        return True
    found = session.query(f"SELECT count({item}) = count(DISTINCT {item}) AS differ FROM {relation}")
    return bool(found["differ"][0].as_py())
