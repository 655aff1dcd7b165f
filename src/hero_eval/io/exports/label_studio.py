"""Label Studio: JSON (a record a task, with annotations and predictions) and JSON-MIN (a record an annotation)."""

from __future__ import annotations

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_ANSWER = """CASE r ->> '$.type'
    WHEN 'choices' THEN CASE WHEN json_array_length(r, '$.value.choices') = 1 THEN r ->> '$.value.choices[0]' END
    WHEN 'rating' THEN r ->> '$.value.rating'
    WHEN 'number' THEN r ->> '$.value.number'
    WHEN 'pairwise' THEN r ->> '$.value.selected' END"""
_UNUSABLE = """CASE WHEN r IS NULL THEN 'an annotation without an answer'
    WHEN (r ->> '$.type') = 'choices' AND json_array_length(r, '$.value.choices') > 1 THEN 'several choices at once'
    WHEN (r ->> '$.type') NOT IN ('choices', 'rating', 'number', 'pairwise')
    THEN 'a region of type ' || (r ->> '$.type') END"""


def _fits(opened: Opening) -> bool:
    whole = "annotations" in opened.keys and "data" in opened.keys
    return whole or {"annotation_id", "annotator", "id"} <= set(opened.keys)


def _fill(opened: Opening, asked: ExportOptions) -> None:
    if opened.exists("$.annotation_id"):
        _fill_min(opened, asked)
        return
    opened.expect("json -> '$.annotations'", ["ARRAY"], "annotations")
    opened.expect("json -> '$.predictions'", ["ARRAY", "UBIGINT"], "predictions")
    opened.expect("json -> '$.data'", ["OBJECT"], "data")
    opened.expect("json -> '$.id'", ["UBIGINT", "BIGINT", "VARCHAR"], "id")
    opened.con.execute(
        """CREATE TABLE said AS
        SELECT number, json ->> '$.id' AS item, a, FALSE AS judge
        FROM (SELECT number, json, unnest(CAST(json -> '$.annotations' AS JSON[])) AS a FROM records)
        UNION ALL
        SELECT number, json ->> '$.id', a, TRUE
        FROM (SELECT number, json, unnest(CAST(json -> '$.predictions' AS JSON[])) AS a FROM records
              WHERE json_type(json -> '$.predictions') = 'ARRAY')
        WHERE json_type(a) = 'OBJECT'"""
    )
    opened.expect("a", ["OBJECT"], "an annotation", "said")
    opened.expect("a -> '$.result'", ["ARRAY"], "the result of an annotation", "said")
    opened.con.execute(
        f"""INSERT INTO answers
        SELECT item,
            CASE WHEN judge THEN coalesce(a ->> '$.model_version', 'prediction') ELSE coalesce(
                a ->> '$.completed_by.email', a ->> '$.completed_by.username', a ->> '$.completed_by.id',
                a ->> '$.completed_by') END,
            {_ANSWER},
            coalesce(a ->> '$.ground_truth', 'false') = 'true' AND NOT judge,
            CASE WHEN (a ->> '$.was_cancelled') = 'true' THEN 'a canceled annotation' ELSE {_UNUSABLE} END,
            r ->> '$.from_name',
            CASE WHEN judge THEN 'judge' ELSE 'person' END,
            CASE WHEN judge THEN a ->> '$.model_version' END, NULL, NULL
        FROM (SELECT *, unnest(CASE WHEN (a ->> '$.was_cancelled') IS DISTINCT FROM 'true'
                               AND json_array_length(a, '$.result') > 0
                               THEN CAST(a -> '$.result' AS JSON[]) ELSE [NULL] END) AS r FROM said)"""
    )
    opened.con.execute("INSERT INTO described SELECT json ->> '$.id', json -> '$.data' FROM records")


def _fill_min(opened: Opening, asked: ExportOptions) -> None:
    data, fields = _parts_of_min(opened, asked)
    for name in fields:
        path = '$."' + name.replace('"', '\\"') + '"'
        opened.con.execute(
            """INSERT INTO answers
            SELECT json ->> '$.id', json ->> '$.annotator', answer, FALSE,
                CASE WHEN answer IS NOT NULL THEN NULL
                     WHEN json_type(said) IN ('OBJECT', 'ARRAY') THEN 'several choices at once'
                     ELSE 'an annotation without an answer' END,
                $name, 'person', NULL, NULL, NULL
            FROM (SELECT json, said, CASE json_type(said)
                    WHEN 'ARRAY' THEN CASE WHEN json_array_length(said) = 1 THEN coalesce(
                        said ->> '$[0].rating', said ->> '$[0].number', said ->> '$[0].selected',
                        CASE WHEN json_type(said, '$[0]') = 'VARCHAR' THEN said ->> '$[0]' END) END
                    WHEN 'OBJECT' THEN coalesce(said ->> '$.rating', said ->> '$.number', said ->> '$.selected')
                    ELSE said ->> '$' END AS answer
                  FROM (SELECT json, json -> $path AS said FROM records))""",
            {"path": path, "name": name},
        )
    kept = ", ".join(f"{_quote(name)}, json -> '$.{_escape(name)}'" for name in data)
    opened.con.execute(f"INSERT INTO described SELECT json ->> '$.id', json_object({kept}) FROM records")


_OWN = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")


def _parts_of_min(opened: Opening, asked: ExportOptions) -> tuple[list[str], list[str]]:
    """The keys that are data, and those that are answers.

    They come in order: the task's data, its id, the answers, then who gave them. Another program may have sorted them;
    then the caller has to say which are answers, and E121 asks.
    """
    rows = opened.con.execute("SELECT DISTINCT json_keys(json) FROM records").fetchall()
    orders = [(keys, *_borders(keys)) for (keys,) in rows]
    if any(start > end for _, start, end in orders):
        return _named_parts(opened, asked)
    data = dict.fromkeys(key for keys, start, _ in orders for key in keys[:start])
    fields = dict.fromkeys(key for keys, start, end in orders for key in keys[start + 1 : end])
    return list(data), list(fields)


def _borders(keys: list[str]) -> tuple[int, int]:
    """Where the data end, and where the answers do."""
    return keys.index("id") if "id" in keys else 0, keys.index("annotator") if "annotator" in keys else len(keys)


def _named_parts(opened: Opening, asked: ExportOptions) -> tuple[list[str], list[str]]:
    others = [name for name in opened.keys if name not in _OWN]
    unknown = [name for name in asked.fields if name not in others]
    if unknown or not asked.fields:
        what = f"{opened.file} has its keys sorted, so that nothing tells which of {name_some(others)} is the answer"
        raise wrong("E121", f"{what}. Choose: --field NAME (may be repeated).")
    return [name for name in others if name not in asked.fields], list(asked.fields)


def _quote(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _escape(name: str) -> str:
    return '"' + name.replace('"', '\\"').replace("'", "''") + '"'


TOOL = Tool("tasks with data and annotations (JSON), or annotation_id and annotator (JSON-MIN)", _fits, _fill)
