"""One look at the labels and gold of a round in files: who gave which answer how often, and what is wrong with that."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.counting.checks import nameless_problems, outside_classes
from hero_eval.counting.engine import Names
from hero_eval.counting.score_look import GoldSeen, ScoreLook, gold_codes, look_at_scores, refuse_strays, times_of
from hero_eval.counting.sql import floats
from hero_eval.counting.sql_tables import SqlTables
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.findings import Finding
from hero_eval.io.answers import Answers, agree_on_answers, answer_notes, misspelled
from hero_eval.io.arrays import Coded, encode_answers, encode_ids, set_aside
from hero_eval.io.idle import Idle, idle_answers, idle_gold, idle_note
from hero_eval.io.scores import as_numbers, find_scores, unmet_answers
from hero_eval.io.strays import blank_answers
from hero_eval.model.patterns import Floats, sum_by

FIRST_ROWS = 10_000
MANY_NUMBERS = 100
"""Distinct numbers among the first labels of a file, above which they are scores beyond doubt."""
MOST_PAIRS = 2_000_000
"""Distinct labels of all labelers, above which they are looked at in the engine: more would fill memory."""
MOST_SAMPLED = 100_000
"""Texts of which numbers are looked for to see what labels are."""


@dataclass(frozen=True)
class Look:
    """What one pass over the labels shows."""

    labelers: Names
    answers: Answers
    said: Any
    """The distinct (labeler, label) as they stand in the file, with their `cell`: labeler * L + answer."""
    n_rows: int
    n_empty: int
    golds: Any
    """The distinct gold values as they stand, with their `code`; None without gold."""
    given: Floats | None = None
    """(J, L) how often each labeler gave each answer; None where they are bins of scores."""
    n_aside: int = 0
    """How many of the empty ones hold an answer that was to count as not given."""
    notes: tuple[Finding, ...] = ()
    idle: Idle = frozenset()
    """Options that had no effect."""
    bins: Names | None = None
    """What labels say, where they are scores that were cut into bins."""

    @property
    def n_answers(self) -> int:
        return len(self.answers.values if self.bins is None else self.bins)


def look_at(sql: SqlTables) -> Look | ScoreLook:
    """One pass over who said what; all problems with it are raised together."""
    labels, options = sql.tables["labels"], sql.options
    keep = frozenset(options.class_texts)
    gold = _look_at_gold(sql, keep)
    open_kind = options.label_kind is None and options.classes is None
    first = _first_numbers(sql) if open_kind else set()
    if options.label_kind == "score" or len(first) > MANY_NUMBERS:
        scores = look_at_scores(sql, gold, first)
        if scores is not None:
            return scores
    seen = sql.session.query(
        f"SELECT labeler, label, count(*) AS n, count(CASE WHEN {sql.no_id} THEN 1 END) AS lost FROM "
        f"{sql.view('labels', ('item', 'labeler', 'label'))} AS t GROUP BY labeler, label"
        f"{f' LIMIT {MOST_PAIRS + 1}' if open_kind else ''}"
    )
    if not seen.num_rows:
        raise wrong("E105", f"{labels.name} has a header but no rows. Give at least one row.")
    people = encode_ids(seen["labeler"])
    spoken = encode_answers(seen["label"], keep, options.missing)
    if seen.num_rows > MOST_PAIRS:
        scores = look_at_scores(sql, gold, _finite(spoken.list_texts()))
        if scores is not None:
            return scores
    times, known = floats(seen["n"]), gold.coded
    usable = (people.codes >= 0) & (spoken.codes >= 0)
    if not usable.any():
        raise wrong("E119", f"{labels.column('label')} is empty in all rows. Give at least one label.")
    said, in_gold = times_of(spoken, times), times_of(known, gold.times)
    blanks = blank_answers(said, in_gold, options)
    if blanks:
        spoken, known = set_aside(spoken, blanks), known and set_aside(known, blanks)
        usable = (people.codes >= 0) & (spoken.codes >= 0)
        said, in_gold = times_of(spoken, times), times_of(known, gold.times)
    refuse_strays(sql, said, in_gold)
    problems: list[Problem] = []
    if find_scores(said, in_gold, options, labels.column("label"), problems) and not problems:
        scores = look_at_scores(sql, gold, _finite(said))
        if scores is not None:
            return scores
    problems += [] if problems else unmet_answers(said, in_gold, options, labels.column("label"))
    answers = agree_on_answers(said, in_gold, options, complete=True, problems=problems)
    problems += misspelled(labels.column("label"), answers, spoken, times)
    nameless = float(times[(people.codes < 0) & (spoken.codes >= 0)].sum())
    problems += nameless_problems(labels, nameless, float(floats(seen["lost"]).sum()), float(times.sum()))
    problems += outside_classes(labels.column("label"), spoken, answers.of_label(spoken.codes), times, answers)
    golds = gold_codes(sql, gold, known, answers, problems)
    if problems:
        raise InputError(problems)
    notes = answer_notes(answers, spoken, known, times, gold.times, blanks)
    idle = idle_answers(options, (spoken, known)) | idle_gold(options, known is not None)
    remark = None if options.lenient else idle_note(idle)
    notes = notes if remark is None else (*notes, remark)
    return replace(_look(seen, people, spoken, answers, usable, golds), notes=notes, idle=idle)


def _first_numbers(sql: SqlTables) -> set[float]:
    """The distinct numbers among some labels."""
    some = sql.session.query(f"SELECT label FROM {sql.view('labels', ('label',))} AS t LIMIT {FIRST_ROWS}")
    return _finite(encode_answers(some["label"]).list_texts())


def _finite(texts: Iterable[str]) -> set[float]:
    """The numbers among some texts, as many as tell what they are."""
    numbers = as_numbers(itertools.islice(texts, MOST_SAMPLED))
    return set(numbers[~np.isnan(numbers)].tolist())


def _look_at_gold(sql: SqlTables, keep: frozenset[str]) -> GoldSeen:
    home = sql.home_of_gold
    if home is None:
        return GoldSeen(None, None)
    seen = sql.session.query(f"SELECT gold, count(*) AS n FROM {sql.view(home, ('gold',))} AS t GROUP BY gold")
    return GoldSeen(seen, encode_answers(seen["gold"], keep, sql.options.missing))


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
