"""Inspect: logs as JSON or .eval. A scorer is a labeler; a score that a person edited is gold by that person."""

from __future__ import annotations

from hero_eval.errors import wrong
from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_GRADES = "CASE {0} WHEN 'C' THEN '1' WHEN 'P' THEN '0.5' WHEN 'I' THEN '0' WHEN 'N' THEN '0' ELSE {0} END"


def _fits(opened: Opening) -> bool:
    keys = set(opened.keys)
    return {"eval", "samples"} <= keys or {"eval", "plan", "status"} <= keys


def _fill(opened: Opening, _asked: ExportOptions) -> None:
    con = opened.con
    if "samples" not in opened.keys:
        remedy = "Take the log itself, not its header, of a run that logged its samples (--log-samples)."
        raise wrong("E122", f"{opened.file} is a log of Inspect without its samples, which hold the scores. {remedy}")
    opened.expect("json -> '$.samples'", ["ARRAY"], "samples")
    con.execute(
        "CREATE TABLE samples AS SELECT number, s, json -> '$.eval' AS run FROM (SELECT number, json, "
        "unnest(CAST(json -> '$.samples' AS JSON[])) AS s FROM records WHERE json_type(json -> '$.samples') = 'ARRAY')"
    )
    opened.expect("s", ["OBJECT"], "a sample", "samples")
    opened.expect("s -> '$.scores'", ["OBJECT"], "the scores of a sample", "samples")
    epochs = con.execute("SELECT max(CAST(s ->> '$.epoch' AS INTEGER)) FROM samples").fetchone()[0]
    item = "(s ->> '$.id')" + (" || '/' || (s ->> '$.epoch')" if (epochs or 1) > 1 else "")
    con.execute(
        f"""CREATE TABLE scores AS
        SELECT {item} AS item, scorer, sc, run, s -> '$.error' AS error FROM (
            SELECT *, s -> '$.scores' -> ('$."' || scorer || '"') AS sc FROM (
                SELECT *, unnest(json_keys(s, '$.scores')) AS scorer FROM samples))"""
    )
    con.execute(
        """INSERT INTO answers (gold, dropped) SELECT FALSE,
            CASE WHEN coalesce(json_type(s, '$.error'), 'NULL') <> 'NULL' THEN 'a sample that failed, without a score'
                 ELSE 'a sample without a score' END
        FROM samples WHERE coalesce(len(json_keys(s, '$.scores')), 0) = 0"""
    )
    con.execute(
        """CREATE TABLE given AS SELECT *,
            CASE WHEN json_array_length(sc, '$.history') > 0 THEN sc -> '$.history[0].value' ELSE sc -> '$.value' END
                AS first_value,
            list_filter(CAST(coalesce(sc -> '$.history', '[]'::JSON) AS JSON[]), lambda h:
                json_type(h, '$.provenance') = 'OBJECT' AND (h ->> '$.value') IS DISTINCT FROM 'UNCHANGED') AS edits
        FROM scores"""
    )
    said, edited = _GRADES.format("(v ->> '$')"), _GRADES.format("(sc ->> '$.value')")
    options = (
        "list_filter(CAST(coalesce(run -> '$.scorers', '[]'::JSON) AS JSON[]), lambda o: (o ->> '$.name') = scorer)[1]"
    )
    con.execute(
        f"""INSERT INTO answers
        SELECT item, scorer || coalesce('.' || part, ''), {said}, FALSE,
            CASE WHEN json_type(v) IN ('ARRAY', 'OBJECT') THEN 'a score of several values'
                 WHEN edits_only THEN 'a score that a person added' END,
            part, 'judge', {options} ->> '$.options.model', NULL,
            nullif(CAST({options} -> '$.options' AS VARCHAR), '{{}}')
        FROM (SELECT item, scorer, run, first_value AS v, NULL AS part, len(edits) > 0 AND
                json_type(sc, '$.history[0].provenance') = 'OBJECT' AS edits_only FROM given
              WHERE json_type(first_value) <> 'OBJECT'
              UNION ALL
              SELECT item, scorer, run, first_value -> ('$."' || part || '"'), part, FALSE
              FROM (SELECT *, unnest(json_keys(first_value)) AS part FROM given
                    WHERE json_type(first_value) = 'OBJECT'))"""
    )
    con.execute(
        f"""INSERT INTO answers
        SELECT item, edits[-1] ->> '$.provenance.author', {edited}, TRUE,
            CASE WHEN json_type(sc, '$.value') IN ('ARRAY', 'OBJECT') THEN 'a score of several values' END,
            NULL, 'person', NULL, NULL, NULL
        FROM given WHERE len(edits) > 0"""
    )
    con.execute(
        f"""INSERT INTO described SELECT {item}, json_merge_patch(
            CASE WHEN json_type(s, '$.metadata') = 'OBJECT' THEN s -> '$.metadata' ELSE '{{}}'::JSON END,
            json_object('sample', s ->> '$.id', 'epoch', CAST(s ->> '$.epoch' AS INTEGER),
                'input', CASE WHEN json_type(s, '$.input') = 'VARCHAR' THEN s ->> '$.input' END,
                'target', CASE WHEN json_type(s, '$.target') = 'VARCHAR' THEN s ->> '$.target' END)) FROM samples"""
    )


TOOL = Tool("a log with eval and samples", _fits, _fill)
