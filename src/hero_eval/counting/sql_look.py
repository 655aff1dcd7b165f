"""One look at the labels and gold of a round in files: who gave which answer how often, and what is wrong with that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.counting.checks import nameless_rows, outside_classes
from hero_eval.counting.engine import Names
from hero_eval.counting.sql import floats
from hero_eval.counting.sql_tables import SqlTables
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.findings import Finding
from hero_eval.io.answers import Answers, agree_on_answers, answer_notes, misspelled
from hero_eval.io.arrays import Coded, encode_answers, encode_ids, set_aside
from hero_eval.io.idle import Idle, idle_answers, idle_gold, idle_note
from hero_eval.io.scores import find_scores, unmet_answers
from hero_eval.io.strays import blank_answers, stray_problem, stray_texts
from hero_eval.model.patterns import Floats, sum_by


@dataclass(frozen=True)
class Look:
    """What one pass over the labels shows."""

    labelers: Names
    answers: Answers
    said: Any
    """The distinct (labeler, label) as they stand in the file, with their `cell`: labeler * L + answer."""
    n_rows: int
    n_empty: int
    given: Floats
    """(J, L) how often each labeler gave each answer."""
    golds: Any
    """The distinct gold values as they stand, with their `code`; None without gold."""
    n_aside: int = 0
    """How many of the empty ones hold an answer that was to count as not given."""
    notes: tuple[Finding, ...] = ()
    idle: Idle = frozenset()
    """Options that had no effect."""


def look_at(sql: SqlTables) -> Look:
    """One pass over who said what; all problems with it are raised together."""
    labels = sql.tables["labels"]
    seen = sql.session.query(
        f"SELECT labeler, label, count(*) AS n, count(CASE WHEN {sql.no_id} THEN 1 END) AS lost "
        f"FROM {sql.view('labels', ('item', 'labeler', 'label'))} AS t GROUP BY labeler, label"
    )
    if not seen.num_rows:
        raise wrong("E105", f"{labels.name} has a header but no rows. Give at least one row.")
    keep = frozenset(sql.options.class_texts)
    people = encode_ids(seen["labeler"])
    spoken = encode_answers(seen["label"], keep, sql.options.missing)
    times = floats(seen["n"])
    usable = (people.codes >= 0) & (spoken.codes >= 0)
    if not usable.any():
        raise wrong("E119", f"{labels.column('label')} is empty in all rows. Give at least one label.")
    golds, gold = _look_at_gold(sql, keep)
    problems: list[Problem] = []
    gold_times = None if gold is None else floats(golds["n"])
    said, known = _times(spoken, times), _times(gold, gold_times)
    blanks = blank_answers(said, known, sql.options)
    if blanks:
        spoken, gold = set_aside(spoken, blanks), gold and set_aside(gold, blanks)
        usable = (people.codes >= 0) & (spoken.codes >= 0)
        said, known = _times(spoken, times), _times(gold, gold_times)
    strays, instead = stray_texts(said, known, sql.options)
    if strays:
        cells = int(sum(said[text] for text in strays))
        raise InputError([stray_problem(labels.column("label"), strays, cells, "", instead)])
    if find_scores(said, known, sql.options, labels.column("label"), problems):
        message = (
            f"{labels.column('label')} holds scores ({len(said)} distinct numbers), which no engine counts. Read the "
            "round with engine='memory' (command: --engine memory)"
        )
        raise wrong("E214", message)
    problems += [] if problems else unmet_answers(said, known, sql.options, labels.column("label"))
    answers = agree_on_answers(said, known, sql.options, complete=True, problems=problems)
    problems += misspelled(labels.column("label"), answers, spoken, times)
    problems += nameless_rows(labels, people, spoken, times, float(floats(seen["lost"]).sum()))
    problems += outside_classes(labels.column("label"), spoken, answers.of_label(spoken.codes), times, answers)
    if gold is not None:
        codes = answers.of_gold(gold.codes)
        place = sql.tables[sql.home_of_gold or "gold"].column("gold")
        assert gold_times is not None
        problems += misspelled(place, answers, gold, gold_times, in_gold=True)
        problems += outside_classes(place, gold, codes, gold_times, answers)
        golds = golds.select(["gold"]).append_column("code", [codes]).filter(codes >= 0)
    if problems:
        raise InputError(problems)
    notes = answer_notes(answers, spoken, gold, times, gold_times, blanks)
    idle = idle_answers(sql.options, (spoken, gold)) | idle_gold(sql.options, gold is not None)
    remark = None if sql.options.lenient else idle_note(idle)
    notes = notes if remark is None else (*notes, remark)
    return replace(_look(seen, people, spoken, answers, usable, golds), notes=notes, idle=idle)


def _look_at_gold(sql: SqlTables, keep: frozenset[str]) -> tuple[Any, Coded | None]:
    home = sql.home_of_gold
    if home is None:
        return None, None
    seen = sql.session.query(f"SELECT gold, count(*) AS n FROM {sql.view(home, ('gold',))} AS t GROUP BY gold")
    return seen, encode_answers(seen["gold"], keep, sql.options.missing)


def _times(coded: Coded | None, times: Floats | None) -> dict[str, float]:
    """How often each text was said, where a row stands for several."""
    if coded is None or times is None:
        return {}
    texts, known = coded.list_texts(), coded.codes >= 0
    return dict(zip(texts, sum_by(coded.codes[known], times[known], len(texts)).tolist(), strict=True))


def _look(seen: Any, people: Coded, spoken: Coded, answers: Answers, usable: Any, golds: Any) -> Look:
    active = np.unique(people.codes[usable])
    rank = np.full(len(people.texts) + 1, -1, np.int64)
    rank[active] = np.arange(len(active))
    cell = rank[people.codes] * len(answers.values) + answers.of_label(spoken.codes)
    texts = people.list_texts()
    times = floats(seen["n"])
    shape = len(active), len(answers.values)
    return Look(
        labelers=tuple(texts[code] for code in active),
        answers=answers,
        said=seen.select(["labeler", "label"]).append_column("cell", [cell]).filter(usable),
        n_rows=int(times.sum()),
        n_empty=int(times[spoken.codes < 0].sum()),
        given=sum_by(cell[usable], times[usable], shape[0] * shape[1]).reshape(shape),
        golds=golds,
        n_aside=int(sum(times[rows].sum() for rows in spoken.aside.values())),
    )
