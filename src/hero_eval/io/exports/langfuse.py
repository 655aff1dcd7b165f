"""Langfuse: scores, as the API gives them (a page with data, a list, or a record a line)."""

from __future__ import annotations

from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_KEYS = {"traceId", "name", "source"}


def _fits(opened: Opening) -> bool:
    return set(opened.keys) >= _KEYS or (opened.exists("$.data[0].traceId") and opened.exists("$.data[0].name"))


def _fill(opened: Opening, _asked: ExportOptions) -> None:
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
    opened.con.execute(
        """INSERT INTO answers
        SELECT coalesce(s ->> '$.traceId', s ->> '$.sessionId') || coalesce('/' || (s ->> '$.observationId'), ''),
            CASE WHEN (s ->> '$.source') = 'ANNOTATION' THEN s ->> '$.authorUserId' ELSE s ->> '$.name' END,
            coalesce(s ->> '$.stringValue', s ->> '$.value'), FALSE,
            CASE WHEN (s ->> '$.source') = 'ANNOTATION' AND (s ->> '$.authorUserId') IS NULL
                 THEN 'an annotation without an author' END,
            s ->> '$.name',
            CASE WHEN (s ->> '$.source') = 'ANNOTATION' THEN 'person' ELSE 'judge' END,
            CASE WHEN (s ->> '$.source') <> 'ANNOTATION' THEN s ->> '$.metadata.model' END,
            CASE WHEN (s ->> '$.source') <> 'ANNOTATION' THEN
                coalesce(s ->> '$.metadata.prompt', s ->> '$.metadata.prompt_version', s ->> '$.configId') END,
            NULL
        FROM scores"""
    )


TOOL = Tool("scores with traceId, name and source", _fits, _fill)
