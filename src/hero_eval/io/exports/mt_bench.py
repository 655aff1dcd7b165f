"""MT-Bench and FastChat: pairwise judgments by people or models, and single ratings.

The two models of a pair come in any order, so a pair is turned until the first is the first of the alphabet: A is then
the same model in all judgments of an item. A model judge sees both orders; where its two verdicts differ, it is a tie.
"""

from __future__ import annotations

from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening

_ONE = "coalesce(json ->> '$.model_a', json ->> '$.model_1')"
_TWO = "coalesce(json ->> '$.model_b', json ->> '$.model_2')"


def _fits(opened: Opening) -> bool:
    keys = set(opened.keys)
    human, pair = {"model_a", "model_b", "winner"}, {"model_1", "model_2", "g1_winner"}
    single = {"model", "judge", "score"}
    return "question_id" in keys and (human <= keys or pair <= keys or single <= keys)


def _fill(opened: Opening, _asked: ExportOptions) -> None:
    opened.expect("json -> '$.question_id'", ["UBIGINT", "BIGINT", "VARCHAR"], "question_id")
    opened.con.execute(
        """CREATE TABLE judged AS SELECT number, json, json ->> '$.question_id' AS question,
            coalesce('/' || (json ->> '$.turn'), '') AS turn,
            CASE json_type(json, '$.judge')
                WHEN 'ARRAY' THEN concat_ws('/', json ->> '$.judge[0]', json ->> '$.judge[1]')
                ELSE json ->> '$.judge' END AS judge,
            json_type(json, '$.judge') = 'ARRAY' AS by_model FROM records"""
    )
    opened.expect("json -> '$.judge'", ["VARCHAR", "ARRAY"], "judge", "judged")
    if opened.exists("$.score"):
        _fill_single(opened)
    else:
        _fill_pairs(opened)


def _fill_single(opened: Opening) -> None:
    opened.con.execute(
        """INSERT INTO answers
        SELECT question || '/' || (json ->> '$.model') || turn, judge, json ->> '$.score', FALSE,
            CASE WHEN CAST(json ->> '$.score' AS DOUBLE) < 0 THEN 'no verdict' END, NULL, 'judge',
            json ->> '$.judge[0]', json ->> '$.judge[1]', NULL FROM judged"""
    )
    opened.con.execute(
        """INSERT INTO described SELECT question || '/' || (json ->> '$.model') || turn,
            json_object('question', question, 'model', json ->> '$.model', 'turn', CAST(json ->> '$.turn' AS INTEGER))
        FROM judged"""
    )


def _fill_pairs(opened: Opening) -> None:
    item = f"question || '/' || least({_ONE}, {_TWO}) || '/' || greatest({_ONE}, {_TWO}) || turn"
    opened.con.execute(
        f"""CREATE TABLE verdicts AS SELECT *, {item} AS item, {_ONE} > {_TWO} AS turned,
            CASE WHEN json_exists(json, '$.winner') THEN json ->> '$.winner'
                 WHEN 'error' IN (json ->> '$.g1_winner', json ->> '$.g2_winner') THEN 'error'
                 WHEN (json ->> '$.g1_winner') = (json ->> '$.g2_winner') THEN json ->> '$.g1_winner'
                 ELSE 'tie' END AS verdict FROM judged"""
    )
    opened.con.execute(
        """INSERT INTO answers
        SELECT item, judge,
            CASE WHEN verdict IN ('model_a', 'model_1') THEN CASE WHEN turned THEN 'B' ELSE 'A' END
                 WHEN verdict IN ('model_b', 'model_2') THEN CASE WHEN turned THEN 'A' ELSE 'B' END
                 WHEN verdict LIKE 'tie%' THEN 'tie' END,
            FALSE,
            CASE WHEN verdict = 'error' THEN 'no verdict'
                 WHEN verdict NOT IN ('model_a', 'model_b', 'model_1', 'model_2') AND verdict NOT LIKE 'tie%'
                 THEN 'a verdict that is not known: ' || verdict END,
            NULL, CASE WHEN by_model THEN 'judge' END, json ->> '$.judge[0]', json ->> '$.judge[1]', NULL
        FROM verdicts"""
    )
    opened.con.execute(
        f"""INSERT INTO described SELECT item, json_object('question', question, 'model_a', least({_ONE}, {_TWO}),
            'model_b', greatest({_ONE}, {_TWO}), 'turn', CAST(json ->> '$.turn' AS INTEGER)) FROM verdicts"""
    )


TOOL = Tool("judgments with question_id, judge and a winner or a score", _fits, _fill)
