"""promptfoo: results of an evaluation. An assertion is a labeler that says pass or not; a rating by hand is gold."""

from __future__ import annotations

from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_PROVIDER = "coalesce(r ->> '$.provider.id', r ->> '$.provider')"


def _fits(opened: Opening) -> bool:
    return opened.exists("$.results.results") or opened.exists("$.results[0].gradingResult")


def _fill(opened: Opening, _asked: ExportOptions) -> None:
    con = opened.con
    where = "$.results.results" if opened.exists("$.results.results") else "$.results"
    opened.expect(f"json -> '{where}'", ["ARRAY"], "results")
    con.execute(
        f"CREATE TABLE rows AS SELECT number, unnest(CAST(json -> '{where}' AS JSON[])) AS r FROM records "
        f"WHERE json_type(json -> '{where}') = 'ARRAY'"
    )
    opened.expect("r", ["OBJECT"], "a result", "rows")
    opened.expect("r -> '$.gradingResult'", ["OBJECT"], "gradingResult", "rows")
    opened.expect("r -> '$.gradingResult.componentResults'", ["ARRAY"], "componentResults", "rows")
    prompts, providers = con.execute(
        f"SELECT count(DISTINCT r ->> '$.promptIdx'), count(DISTINCT {_PROVIDER}) FROM rows"
    ).fetchone()
    item = "(r ->> '$.testIdx')"
    if prompts > 1:
        item += " || '/' || (r ->> '$.promptIdx')"
    if providers > 1:
        item += f" || '/' || {_PROVIDER}"
    con.execute(
        f"""CREATE TABLE checks AS SELECT *, coalesce(c ->> '$.assertion.metric', c ->> '$.assertion.type') AS name
        FROM (SELECT {item} AS item, r, unnest(CASE WHEN json_array_length(r, '$.gradingResult.componentResults') > 0
              THEN CAST(r -> '$.gradingResult.componentResults' AS JSON[]) ELSE [NULL] END) AS c FROM rows)"""
    )
    con.execute(
        """INSERT INTO answers
        SELECT item,
            CASE WHEN name = 'human' THEN coalesce(c ->> '$.comment_author', 'human')
                 WHEN turn > 1 THEN name || ' #' || turn ELSE name END,
            CASE c ->> '$.pass' WHEN 'true' THEN '1' WHEN 'false' THEN '0' END, name = 'human',
            CASE WHEN (r ->> '$.failureReason') = '2' THEN 'the provider failed'
                 WHEN c IS NULL THEN 'a result without assertions' END,
            NULL, 'judge',
            coalesce(c ->> '$.assertion.provider.id', c ->> '$.assertion.provider'),
            CASE WHEN (c ->> '$.assertion.type') IN ('llm-rubric', 'model-graded-closedqa', 'g-eval')
                 THEN c ->> '$.assertion.rubricPrompt' END,
            NULL
        FROM (SELECT *, row_number() OVER (PARTITION BY item, name) AS turn FROM checks)"""
    )
    con.execute(
        f"""INSERT INTO described SELECT {item}, json_merge_patch(
            CASE WHEN json_type(r, '$.testCase.vars') = 'OBJECT' THEN r -> '$.testCase.vars' ELSE '{{}}'::JSON END,
            json_object('test', CAST(r ->> '$.testIdx' AS INTEGER), 'provider', {_PROVIDER})) FROM rows"""
    )


TOOL = Tool("results.results with gradingResult", _fits, _fill)
