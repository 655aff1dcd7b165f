"""One look at labels that are scores, in files: who gave how many, and what else than numbers is among them.

Distinct scores may be as many as labels, so they stay in the engine; what leaves it is a row for each labeler, and one
for each distinct label that is no plain number.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.counting.checks import nameless_problems, outside_classes
from hero_eval.counting.engine import Names
from hero_eval.counting.score_sql import SCORE, ScoreColumn, odd_to_lend
from hero_eval.counting.sql import floats
from hero_eval.counting.sql_tables import SqlTables
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.io.answers import Answers, agree_on_answers, answer_notes, misspelled
from hero_eval.io.arrays import Coded, encode_answers, encode_ids, set_aside
from hero_eval.io.scores import as_numbers, find_scores, many_golds
from hero_eval.io.strays import blank_answers, stray_problem, stray_texts
from hero_eval.io.values import number, number_text
from hero_eval.model.patterns import Floats, sum_by


@dataclass(frozen=True)
class GoldSeen:
    """The distinct golds of a round as they stand (`table`: gold, n), and coded; None without gold."""

    table: Any
    coded: Coded | None

    @property
    def times(self) -> Floats | None:
        return None if self.coded is None else floats(self.table["n"])


@dataclass(frozen=True, eq=False)
class ScoreLook:
    """What one pass over scores shows, but for the scores, which stay in the engine."""

    labelers: Names
    answers: Answers
    """Those of gold; labels have none before they are cut into bins."""
    who: Any
    """Labelers as they stand in the file (`c_labeler`), and their number `j`."""
    column: ScoreColumn
    n_rows: int
    n_empty: int
    n_aside: int
    golds: Any
    notes: tuple[Any, ...]
    facts: tuple[Any, ...]
    """Labels, lowest and highest score of every labeler, by which rounds are told apart at no cost."""


def times_of(coded: Coded | None, times: Floats | None) -> dict[str, float]:
    """How often each text was said, where a row stands for several."""
    if coded is None or times is None:
        return {}
    texts, known = coded.list_texts(), coded.codes >= 0
    return dict(zip(texts, sum_by(coded.codes[known], times[known], len(texts)).tolist(), strict=True))


def look_at_scores(sql: SqlTables, gold: GoldSeen, sample: Collection[float]) -> ScoreLook | None:
    """One pass over who gave scores; all problems with them are raised together. None if they are no scores after all.

    `sample` are some of the numbers.
    """
    labels = sql.tables["labels"]
    unsaid = tuple(value for text in sql.options.missing if (value := number(text)) is not None)
    column = ScoreColumn(labels.columns["label"].type, unsaid)
    seen = _seen(sql, column)
    if not seen.num_rows:
        raise wrong("E105", f"{labels.name} has a header but no rows. Give at least one row.")
    keep, known = frozenset(sql.options.class_texts), gold.coded
    people = encode_ids(seen["labeler"])
    odd = encode_answers(seen["odd"], keep, sql.options.missing)
    rows, given = floats(seen["n"]), floats(seen["given"])
    said = _said(odd, rows, given, sample)
    blanks = blank_answers(said, times_of(known, gold.times), sql.options)
    if blanks:
        odd, known = set_aside(odd, blanks), known and set_aside(known, blanks)
        said = _said(odd, rows, given, sample)
    times = times_of(known, gold.times)
    refuse_strays(sql, said, times)
    problems: list[Problem] = []
    if not find_scores(said, times, sql.options, labels.column("label"), problems):
        if not problems:
            return None
    elif not problems and many_golds(times, sql.options):
        raise _many_golds(sql, len(times))
    numbers = np.append(as_numbers(odd.list_texts()), np.nan)[odd.codes]
    given = given + np.where(np.isnan(numbers), 0.0, rows)
    if not problems and not given.sum():
        raise wrong("E119", f"{labels.column('label')} is empty in all rows. Give at least one label.")
    answers = agree_on_answers({}, times, sql.options, complete=True, problems=problems)
    lost = float(floats(seen["lost"]).sum())
    problems += nameless_problems(labels, float(given[people.codes < 0].sum()), lost, float(rows.sum()))
    golds = gold_codes(sql, gold, known, answers, problems)
    if problems:
        raise InputError(problems)
    column = _lend_odd(sql, column, seen, numbers)
    notes = answer_notes(answers, odd, known, rows, gold.times, blanks)
    labelers, who = _who(seen, people, given)
    sql.session.lend(sql.name("who"), who)
    aside = int(sum(rows[of].sum() for of in odd.aside.values()))
    return ScoreLook(
        labelers=labelers,
        answers=answers,
        who=who,
        column=column,
        n_rows=int(rows.sum()),
        n_empty=int(rows.sum() - given.sum()),
        n_aside=aside,
        golds=golds,
        notes=notes,
        facts=_facts(seen, people, given),
    )


def gold_codes(sql: SqlTables, gold: GoldSeen, known: Coded | None, answers: Answers, problems: list[Problem]) -> Any:
    """The distinct golds as they stand, with their codes among the answers; what is wrong with them is reported."""
    if known is None or gold.times is None:
        return None
    place, codes = sql.tables[sql.home_of_gold or "gold"].column("gold"), answers.of_gold(known.codes)
    problems += misspelled(place, answers, known, gold.times, in_gold=True)
    problems += outside_classes(place, known, codes, gold.times, answers)
    return gold.table.select(["gold"]).append_column("code", [codes]).filter(codes >= 0)


def _seen(sql: SqlTables, column: ScoreColumn) -> Any:
    """For every labeler its plain scores, and its odd labels one by one."""
    view = sql.view("labels", ("item", "labeler", "label"))
    odd, score = column.is_odd("label"), column.score("label", "")
    inner = (
        f"SELECT labeler, CASE WHEN {odd} THEN label END AS odd, CASE WHEN {odd} THEN NULL ELSE {score} END AS "
        f"{SCORE}, CASE WHEN {sql.no_id} THEN 1 ELSE 0 END AS lost FROM {view} AS l"
    )
    return sql.session.query(
        f"SELECT labeler, odd, count(*) AS n, count({SCORE}) AS given, sum(lost) AS lost, min({SCORE}) AS low, "
        f"max({SCORE}) AS high FROM ({inner}) AS t GROUP BY labeler, odd"
    )


def _said(odd: Coded, rows: Floats, given: Floats, sample: Collection[float]) -> dict[str, float]:
    """How often labels were said: odd ones as they are, and all numbers as if they were those of the sample."""
    share = float(given.sum()) / max(len(sample), 1)
    numbers = {number_text(float(value)): share for value in sorted(sample)} if share else {}
    return {**numbers, **times_of(odd, rows)}


def refuse_strays(sql: SqlTables, said: dict[str, float], gold: dict[str, float]) -> None:
    """E147 for words among numbers, and for gold among yes and no that is neither."""
    home = sql.tables[sql.home_of_gold or "labels"]
    sides = ((said, gold, False, sql.tables["labels"].column("label")), (gold, said, True, home.column("gold")))
    problems = []
    for times, beside, in_gold, place in sides:
        strays, instead = stray_texts(times, beside, sql.options, in_gold=in_gold)
        if strays:
            cells = int(sum(times[text] for text in strays))
            problems.append(stray_problem(place, strays, cells, "", instead))
    if problems:
        raise InputError(problems)


def _many_golds(sql: SqlTables, n_golds: int) -> Exception:
    place = sql.tables[sql.home_of_gold or "gold"].column("gold")
    return wrong(
        "E214",
        f"{place} has {n_golds} distinct numbers, whose mean asks for items one by one, and {sql.session.name} counts "
        "this round without holding them. Read it with engine='memory' (command: --engine memory), or make gold 1 "
        "where the number is high enough and 0 elsewhere",
    )


def _lend_odd(sql: SqlTables, column: ScoreColumn, seen: Any, numbers: Floats) -> ScoreColumn:
    """The column that knows odd labels; most files have none that matters."""
    import pyarrow as pa

    spelled = seen["odd"].combine_chunks()
    there = np.flatnonzero(np.asarray(spelled.is_valid().to_numpy(zero_copy_only=False)))
    if not len(there) or (np.isnan(numbers[there]).all() and not column.unsaid):
        return column
    first: dict[Any, int] = {}
    for row in there:
        first.setdefault(spelled[int(row)].as_py(), int(row))
    rows = list(first.values())
    scores = {place: float(numbers[row]) for place, row in enumerate(rows) if not np.isnan(numbers[row])}
    sql.session.lend(sql.name("odd"), odd_to_lend(spelled.take(pa.array(rows)), scores))
    return replace(column, odd_table=sql.name("odd"))


def _who(seen: Any, people: Coded, given: Floats) -> tuple[Names, Any]:
    """The labelers that gave scores, and how the file spells them."""
    import pyarrow as pa

    active = np.unique(people.codes[(given > 0) & (people.codes >= 0)])
    rank = np.full(len(people.texts) + 1, -1, np.int64)
    rank[active] = np.arange(len(active))
    number = rank[people.codes]
    spelled = seen["labeler"].combine_chunks()
    first: dict[Any, int] = {}
    for row in np.flatnonzero(number >= 0):
        first.setdefault(spelled[int(row)].as_py(), int(row))
    rows = list(first.values())
    texts = people.list_texts()
    table = pa.table({"c_labeler": spelled.take(pa.array(rows, pa.int64())), "j": number[rows]})
    return tuple(texts[code] for code in active), table


def _facts(seen: Any, people: Coded, given: Floats) -> tuple[Any, ...]:
    low, high = (np.nan_to_num(floats(seen[name])) for name in ("low", "high"))
    order = np.lexsort((given, high, low, people.codes))
    return tuple(map(tuple, np.column_stack([people.codes, given, low, high])[order].tolist()))
