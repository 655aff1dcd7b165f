"""promptfoo: results of an evaluation. An assertion is a labeler that says pass or not; a rating by hand is gold."""

from __future__ import annotations

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_PROVIDER = "coalesce(r ->> '$.provider.id', r ->> '$.provider')"


def _fits(opened: Opening) -> bool:
    return opened.exists("$.results.results") or opened.exists("$.results[*].gradingResult")


def _fill(opened: Opening, asked: ExportOptions) -> None:
    con = opened.con
    _load_rows(opened)
    opened.expect("r", ["OBJECT"], "a result", "rows")
    opened.expect("r -> '$.gradingResult'", ["OBJECT"], "gradingResult", "rows")
    opened.expect("r -> '$.gradingResult.componentResults'", ["ARRAY"], "componentResults", "rows")
    item = _item_of(opened)
    _choose_provider(opened, asked)
    metric = "CASE WHEN name <> 'human' THEN name END" if asked.fields else "NULL"
    con.execute(
        f"""CREATE TABLE checks AS SELECT *, coalesce(c ->> '$.assertion.metric', c ->> '$.assertion.type') AS name
        FROM (SELECT {item} AS item, r, unnest(CASE WHEN json_array_length(r, '$.gradingResult.componentResults') > 0
              THEN CAST(r -> '$.gradingResult.componentResults' AS JSON[]) ELSE [NULL] END) AS c FROM rows)"""
    )
    con.execute(
        f"""INSERT INTO answers
        SELECT item,
            CASE WHEN name = 'human' THEN coalesce(c ->> '$.comment_author', 'human')
                 WHEN turn > 1 THEN name || ' #' || turn ELSE name END,
            CASE c ->> '$.pass' WHEN 'true' THEN '1' WHEN 'false' THEN '0' END, name = 'human',
            CASE WHEN (r ->> '$.failureReason') = '2' THEN 'the provider failed'
                 WHEN c IS NULL THEN 'a result without assertions' END,
            {metric}, 'judge',
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


def _item_of(opened: Opening) -> str:
    """The test, and where the file has several prompts the number of the prompt: the same one for every provider.

    `promptIdx` counts columns, each provider's prompts after those of the one before, and `prompt.raw` is the prompt
    with the test's own words; `promptId` and the label are of the prompt as it was written.
    """
    con = opened.con
    con.execute(
        f"""CREATE TABLE placed AS SELECT *, coalesce(r ->> '$.promptId', r ->> '$.prompt.label', place) AS prompt
        FROM (SELECT *, CAST(dense_rank() OVER (PARTITION BY {_PROVIDER}
              ORDER BY CAST(r ->> '$.promptIdx' AS INTEGER)) AS VARCHAR) AS place FROM rows)"""
    )
    con.execute(
        """CREATE TABLE prompts AS SELECT prompt, row_number() OVER (ORDER BY min(CAST(place AS INTEGER)), prompt) - 1
        AS number FROM placed GROUP BY prompt"""
    )
    con.execute(
        "CREATE OR REPLACE TABLE rows AS SELECT placed.number AS number, r, prompts.number AS asked FROM placed "
        "JOIN prompts USING (prompt) ORDER BY placed.number"
    )
    several = con.execute("SELECT count(*) FROM prompts").fetchall()[0][0] > 1
    return "((r ->> '$.testIdx') || '/' || asked)" if several else "(r ->> '$.testIdx')"


def _choose_provider(opened: Opening, asked: ExportOptions) -> None:
    """The rows of one provider; E121 if there are several and none is named."""
    there = _providers(opened)
    if asked.provider is not None and asked.provider not in there:
        raise wrong("E121", f"--provider is {asked.provider!r}, but {opened.file} has results of: {name_some(there)}.")
    if asked.provider is None and len(there) > 1:
        raise wrong(
            "E121",
            f"{opened.file} has results of {len(there)} providers: {name_some(there)}. They are two models, and so two "
            "rounds: choose one with --provider NAME",
        )
    if asked.provider is not None:
        opened.con.execute(f"DELETE FROM rows WHERE {_PROVIDER} IS DISTINCT FROM ?", [asked.provider])


def listed_providers(opened: Opening) -> list[str]:
    """The models whose results a file holds."""
    _load_rows(opened)
    return _providers(opened)


def _load_rows(opened: Opening) -> None:
    """The table `rows`: a result for each test, prompt and provider."""
    where = "$.results.results" if opened.exists("$.results.results") else "$.results"
    opened.expect(f"json -> '{where}'", ["ARRAY"], "results")
    opened.con.execute(
        f"CREATE TABLE rows AS SELECT number, unnest(CAST(json -> '{where}' AS JSON[])) AS r FROM records "
        f"WHERE json_type(json -> '{where}') = 'ARRAY'"
    )


def _providers(opened: Opening) -> list[str]:
    """The models whose results are in the table `rows`."""
    found = opened.con.execute(f"SELECT DISTINCT {_PROVIDER} AS p FROM rows WHERE p IS NOT NULL ORDER BY p").fetchall()
    return [str(row[0]) for row in found]


TOOL = Tool("results.results with gradingResult", _fits, _fill)
