"""lm-eval: per-sample logs. A metric, with its filter, is a labeler of the document."""

from __future__ import annotations

from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_OWN = (
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
)  # fmt: skip


def _fits(opened: Opening) -> bool:
    return {"doc_id", "doc"} <= set(opened.keys)


def _fill(opened: Opening, _asked: ExportOptions) -> None:
    con = opened.con
    opened.expect("json -> '$.doc_id'", ["UBIGINT", "BIGINT", "VARCHAR"], "doc_id")
    opened.expect("json -> '$.doc'", ["OBJECT", "VARCHAR"], "doc")
    own = ", ".join(f"'{name}'" for name in _OWN)
    con.execute(
        f"""INSERT INTO answers
        SELECT json ->> '$.doc_id',
            metric || CASE WHEN coalesce(json ->> '$.filter', 'none') = 'none' THEN ''
                           ELSE ',' || (json ->> '$.filter') END,
            json ->> ('$."' || metric || '"'), FALSE,
            CASE WHEN json_type(json, '$."' || metric || '"') IN ('ARRAY', 'OBJECT')
                 THEN 'a metric that is not a single value' END,
            NULL, 'judge', NULL, NULL, NULL
        FROM (SELECT json, unnest(CASE WHEN json_type(json, '$.metrics') = 'ARRAY'
            THEN CAST(json -> '$.metrics' AS VARCHAR[])
            ELSE list_filter(json_keys(json), lambda k: NOT list_contains([{own}], k)) END) AS metric FROM records)"""
    )
    con.execute(
        """INSERT INTO described SELECT json ->> '$.doc_id', json_merge_patch(
            CASE WHEN json_type(json, '$.doc') = 'OBJECT' THEN json -> '$.doc' ELSE '{}'::JSON END,
            json_object('target', json ->> '$.target')) FROM records"""
    )


TOOL = Tool("samples with doc_id and doc", _fits, _fill)
