"""Argilla: records nested (responses and suggestions by question) or flat (question.responses, question.suggestion)."""

from __future__ import annotations

from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_JUDGE = "'judge', a ->> '$.agent', NULL, NULL"
_PERSON = "'person', NULL, NULL, NULL"


def _flat_questions(opened: Opening) -> list[str]:
    """Questions of a flat export."""
    rows = opened.con.execute("SELECT DISTINCT unnest(json_keys(json)) FROM records").fetchall()
    keys = {row[0] for row in rows}
    ends = (".responses", ".suggestion")
    return sorted({key.removesuffix(end) for key in keys for end in ends if key.endswith(end)})


def _fits(opened: Opening) -> bool:
    if {"responses", "fields"} <= set(opened.keys) or {"suggestions", "fields"} <= set(opened.keys):
        return True
    return any(key.endswith((".responses", ".suggestion")) for key in opened.keys)


def _fill(opened: Opening, _asked: ExportOptions) -> None:
    if "fields" in opened.keys:
        _fill_nested(opened)
    else:
        _fill_flat(opened)


def _fill_nested(opened: Opening) -> None:
    for name in ("responses", "suggestions", "fields", "metadata"):
        opened.expect(f"json -> '$.{name}'", ["OBJECT"], name)
    opened.con.execute(
        """CREATE TABLE asked AS
        SELECT number, json ->> '$.id' AS item, key, json -> '$.responses' -> ('$."' || key || '"') AS said
        FROM (SELECT number, json, unnest(json_keys(json, '$.responses')) AS key FROM records)"""
    )
    opened.expect("said", ["ARRAY"], "the responses to a question", "asked")
    opened.con.execute(
        f"""INSERT INTO answers
        SELECT item, a ->> '$.user_id', a ->> '$.value', FALSE,
            CASE WHEN json_type(a -> '$.value') IN ('ARRAY', 'OBJECT') THEN 'more than one value'
                 WHEN coalesce(a ->> '$.status', 'submitted') <> 'submitted'
                 THEN 'a response that is ' || (a ->> '$.status') END,
            key, {_PERSON}
        FROM (SELECT item, key, unnest(CAST(said AS JSON[])) AS a FROM asked)"""
    )
    opened.con.execute(
        f"""INSERT INTO answers
        SELECT json ->> '$.id', coalesce(a ->> '$.agent', 'suggestion'), a ->> '$.value', FALSE,
            CASE WHEN json_type(a -> '$.value') IN ('ARRAY', 'OBJECT') THEN 'more than one value' END, key, {_JUDGE}
        FROM (SELECT json, key, json -> '$.suggestions' -> ('$."' || key || '"') AS a
              FROM (SELECT json, unnest(json_keys(json, '$.suggestions')) AS key FROM records))"""
    )
    opened.con.execute(
        """INSERT INTO described SELECT json ->> '$.id', json_merge_patch(coalesce(json -> '$.fields', '{}'::JSON),
        coalesce(json -> '$.metadata', '{}'::JSON)) FROM records"""
    )


def _fill_flat(opened: Opening) -> None:
    questions = _flat_questions(opened)
    for name in questions:
        path = '$."' + name.replace("'", "''")
        for part in ("", ".users", ".status"):
            opened.expect(f"json -> '{path}.responses{part}\"'", ["ARRAY"], f"{name}.responses{part}")
        opened.con.execute(
            f"""INSERT INTO answers
            SELECT item, who, said ->> '$', FALSE,
                CASE WHEN json_type(said) IN ('ARRAY', 'OBJECT') THEN 'more than one value'
                     WHEN coalesce(state, 'submitted') <> 'submitted' THEN 'a response that is ' || state END,
                $name, {_PERSON}
            FROM (SELECT json ->> '$.id' AS item,
                unnest(CAST(json -> '{path}.responses"' AS JSON[])) AS said,
                unnest(CAST(json -> '{path}.responses.users"' AS VARCHAR[])) AS who,
                unnest(CAST(json -> '{path}.responses.status"' AS VARCHAR[])) AS state
                FROM records WHERE json_type(json -> '{path}.responses"') = 'ARRAY')""",
            {"name": name},
        )
        opened.con.execute(
            f"""INSERT INTO answers
            SELECT json ->> '$.id', coalesce(json ->> '{path}.suggestion.agent"', 'suggestion'),
                json ->> '{path}.suggestion"', FALSE,
                CASE WHEN json_type(json -> '{path}.suggestion"') IN ('ARRAY', 'OBJECT') THEN 'more than one value' END,
                $name, 'judge', json ->> '{path}.suggestion.agent"', NULL, NULL
            FROM records WHERE coalesce(json_type(json -> '{path}.suggestion"'), 'NULL') <> 'NULL'""",
            {"name": name},
        )
    rows = opened.con.execute("SELECT DISTINCT unnest(json_keys(json)) FROM records").fetchall()
    own = ("id", "status", "_server_id")
    leads = tuple(f"{name}.{part}" for name in questions for part in ("responses", "suggestion"))
    kept = [row[0] for row in rows if row[0] not in own and not row[0].startswith(leads)]
    parts = []
    for key in kept:
        text = key.replace("'", "''")
        parts.append(f"'{text}', json -> '$.\"{text}\"'")
    opened.con.execute(f"INSERT INTO described SELECT json ->> '$.id', json_object({', '.join(parts)}) FROM records")


TOOL = Tool("records with fields and responses, or columns such as question.responses", _fits, _fill)
