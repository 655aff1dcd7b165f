"""Langfuse: scores, as the API gives them (a page with data, a list, or a record a line).

An item is a trace, with all scores of its observations; or, if asked, an observation.
"""

from __future__ import annotations

from hero_eval.errors import wrong
from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening
from hero_eval.io.values import count_of

_KEYS = {"traceId", "name", "source"}


def _fits(opened: Opening) -> bool:
    return set(opened.keys) >= _KEYS or (opened.exists("$.data[*].traceId") and opened.exists("$.data[*].name"))


def _fill(opened: Opening, asked: ExportOptions) -> None:
    opened.con.execute(
        "CREATE TABLE scores AS SELECT number, json AS s FROM records WHERE NOT json_exists(json, '$.data')"
    )
    opened.expect("json -> '$.data'", ["ARRAY"], "data")
    opened.con.execute(
        "INSERT INTO scores SELECT number, unnest(CAST(json -> '$.data' AS JSON[])) FROM records "
        "WHERE json_type(json -> '$.data') = 'ARRAY'"
    )
    opened.expect("s", ["OBJECT"], "a score", "scores")
    opened.expect("s -> '$.traceId'", ["VARCHAR"], "traceId", "scores")
    opened.expect("s -> '$.source'", ["VARCHAR"], "source", "scores")
    opened.expect("s -> '$.value'", ["DOUBLE", "UBIGINT", "BIGINT", "VARCHAR", "BOOLEAN"], "value", "scores")
    whole = f"coalesce({_said('traceId')}, {_said('sessionId')})"
    if asked.item == "observation":
        whole += f" || coalesce('/' || {_said('observationId')}, '')"
    author = _said("authorUserId")
    opened.con.execute(
        f"""INSERT INTO answers
        SELECT {whole},
            CASE WHEN (s ->> '$.source') = 'ANNOTATION' THEN {author} ELSE s ->> '$.name' END,
            coalesce({_said("stringValue")}, {_said("value")}), FALSE,
            CASE WHEN (s ->> '$.source') = 'ANNOTATION' AND {author} IS NULL
                 THEN 'an annotation without an author' END,
            s ->> '$.name',
            CASE WHEN (s ->> '$.source') = 'ANNOTATION' THEN 'person' ELSE 'judge' END,
            CASE WHEN (s ->> '$.source') <> 'ANNOTATION' THEN s ->> '$.metadata.model' END,
            CASE WHEN (s ->> '$.source') <> 'ANNOTATION' THEN
                coalesce(s ->> '$.metadata.prompt', s ->> '$.metadata.prompt_version', s ->> '$.configId') END,
            NULL
        FROM scores"""
    )
    _count_other_pages(opened)
    if asked.item != "observation":
        _refuse_split_traces(opened)


def _count_other_pages(opened: Opening) -> None:
    """The API gives scores page by page, and says on each how many there are: one page alone is easily taken for all.

    Those that the file does not hold count as dropped.
    """
    missing = opened.con.execute(
        "SELECT max(try_cast(json ->> '$.meta.totalItems' AS BIGINT)) - (SELECT count(*) FROM scores) FROM records"
    ).fetchone()[0]
    if missing is not None and missing > 0:
        opened.con.execute(
            "INSERT INTO answers (gold, dropped) SELECT FALSE, 'on other pages of the API, not in this file' "
            "FROM range(?)",
            [missing],
        )


def _said(key: str) -> str:
    """A field in SQL; in a table the cell of a score without it is empty."""
    return f"nullif(s ->> '$.{key}', '')"


def _refuse_split_traces(opened: Opening) -> None:
    """E108 where one labeler says different things of two observations of a trace: then they are two items."""
    found = opened.con.execute(
        "SELECT item, labeler, count(*) OVER () FROM answers WHERE dropped IS NULL GROUP BY item, labeler, field "
        "HAVING count(DISTINCT answer) > 1 ORDER BY item, labeler LIMIT 1"
    ).fetchall()
    if found:
        item, labeler, count = found[0]
        raise wrong(
            "E108",
            f"{opened.file} has different scores by one labeler for one trace in {count_of(count, 'case')}, for "
            f"example trace {item!r}, labeler {labeler!r}. If each observation is an item of its own, say so: "
            "--item observation",
        )


TOOL = Tool("scores with traceId, name and source", _fits, _fill)
