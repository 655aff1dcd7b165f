"""From tables to the contents of a round, collecting every problem before raising one error.

Each step reads what it can and reports what it cannot; later steps work on whatever is left. So a caller
hears of a missing column in the labels, a contradiction in the gold and an infinite covariate in one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import InputError, Problem
from hero_eval.findings import Finding, name_some
from hero_eval.io.answers import Times, agree_on_answers, answer_notes, misspelled, times_said
from hero_eval.io.arrays import set_aside
from hero_eval.io.bridge import kept, taken
from hero_eval.io.distinct import Codes
from hero_eval.io.experts import expert_notes, with_experts
from hero_eval.io.idle import Idle, idle_answers, idle_gold, idle_note
from hero_eval.io.items import Described, check_named, describe
from hero_eval.io.label_scales import on_other_scales
from hero_eval.io.labels import (
    Gold,
    Labels,
    SortedLabels,
    gold_of_items,
    read_gold,
    read_labels,
    settle_gold,
    settle_labels,
)
from hero_eval.io.own_words import read_own_words
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.reshape import reshaped
from hero_eval.io.scores import as_numbers, cut_labels, find_scores, many_golds, unmet_answers, with_scores
from hero_eval.io.strays import blank_answers, stray_problems, stray_texts
from hero_eval.io.tables import InputTables, Named, missing_columns, positions, read_ids, rename, unknown_mappings
from hero_eval.io.values import count_of, fold

Part = TypeVar("Part", Labels, Gold)
NEEDED: Mapping[str, tuple[str, ...]] = {
    "labels": ("item", "labeler", "label"),
    "gold": ("item", "gold"),
    "items": ("item",),
}


@dataclass(frozen=True)
class Contents:
    """What a `Round` holds; the shapes are explained there."""

    name: str
    ids: Any
    """The items' ids: a pyarrow or numpy array of text."""
    labelers: tuple[str, ...]
    values: tuple[str, ...]
    label_item: Codes
    label_labeler: Codes
    label_answer: Codes
    gold: Codes
    weight: NDArray[np.float64] | None
    columns: Mapping[str, Any]
    """Item columns: pyarrow arrays of length n_items."""
    items_name: str
    """How messages call the table that the item columns came from."""
    classes_given: tuple[str, ...] | None
    positive: str | None
    notes: tuple[Finding, ...]
    frame_kind: str
    answers: tuple[str, ...] | None = None
    """What labels may say, where that is not `values`."""
    label_score: NDArray[np.float64] | None = None
    label_kind: str | None = None
    gold_number: NDArray[np.float64] | None = None
    """(n_items,) the golds as numbers, where they are cut into classes; what counts of them is where `gold` is."""
    idle: Idle = frozenset()
    """Answers that the caller named and that nobody gave."""
    words_meant: Mapping[str, str] = field(default_factory=dict)
    word_ends: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Labelers' own words that were read as others: `OwnWords` explains both."""

    @cached_property
    def item_ids(self) -> NDArray[np.object_]:
        """(n_items,) the ids as text; made when somebody asks, for an estimate hardly ever does."""
        if isinstance(self.ids, np.ndarray):
            return self.ids
        return np.array(self.ids.to_pylist(), np.object_)

    def every(self, step: int) -> tuple[str, ...]:
        """The id of one item out of so many."""
        places = np.arange(0, len(self.ids), step)
        return tuple(
            self.ids[places].tolist() if isinstance(self.ids, np.ndarray) else taken(self.ids, places).to_pylist()
        )


@dataclass(frozen=True)
class Tables:
    """The tables under our column names; None = not given, or not readable."""

    labels: Named | None
    gold: Named | None
    items: Named | None


def parse_round(sources: InputTables, options: ReadOptions) -> Contents:
    """The contents of a round; InputError with all problems if there are any."""
    sources = with_experts(reshaped(sources, options), options)
    problems = [*sources.problems, *options.problems]
    tables = _name_columns(sources, options, problems)
    labels = read_labels(tables.labels, options, problems)
    gold = None if "gold" in sources.broken else _find_gold(tables, labels, options, problems)
    labels, own = read_own_words(labels, gold, options, problems)
    labels, gold, blanks = _of_answers(labels, gold, options, problems)
    said, known = _times(labels), _times(gold)
    place = labels.table.column("label") if labels else "labels"
    as_scores = replace(options, label_kind="score") if on_other_scales(labels, gold, options) else options
    scored = find_scores(said, known, as_scores, place, problems)
    problems += [] if scored or problems else unmet_answers(said, known, options, place, own.hint)
    answers = agree_on_answers(
        {} if scored else said,
        known,
        replace(options, spelling=False) if many_golds(known, options) else options,
        complete=labels is not None and not sources.broken and not _are_grades(said, known, options),
        problems=problems,
    )
    if scored and labels is not None:
        answers, scale = with_scores(answers, labels.answers)
    problems += misspelled(labels.table.column("label"), answers, labels.answers, table=labels.table) if labels else []
    if gold and labels:
        problems += misspelled(gold.table.column("gold"), answers, gold.answers, table=gold.table, in_gold=True)
    settled = settle_labels(labels, answers, problems) if labels else None
    gold_answers, gold_duplicates = settle_gold(gold, answers, problems)
    described = None if "items" in sources.broken else _describe(tables, labels, settled, options, problems)
    aside = _check_ids(settled, gold, gold_answers, described, sources, problems)
    if problems or labels is None or settled is None or sources.labels is None:
        raise InputError(problems)
    known_gold = gold_of_items(gold, gold_answers, settled.item_ids)
    idle = idle_answers(options, (labels.answers, gold.answers if gold else None))
    idle |= idle_gold(options, gold is not None)
    note = None if options.lenient else idle_note(idle)
    cut = cut_labels(settled, scale[settled.answer]) if scored else None
    return Contents(
        name=options.name,
        ids=settled.item_ids,
        labelers=settled.labelers,
        values=answers.values,
        label_item=settled.item,
        label_labeler=settled.labeler,
        label_answer=settled.answer if cut is None else cut.bins,
        gold=known_gold,
        weight=described.weight if described else None,
        columns=described.columns if described else {},
        items_name=described.name if described else "items",
        classes_given=answers.classes,
        positive=answers.positive,
        notes=(
            *sources.notes,
            *_notes(labels, settled, gold_duplicates, described, aside),
            *answer_notes(answers, labels.answers, gold.answers if gold else None, blanks=blanks),
            *own.notes,
            *expert_notes(settled.labelers, int((known_gold >= 0).sum())),
            *(() if cut is None else (cut.note,)),
            *(() if note is None else (note,)),
        ),
        frame_kind=sources.labels.kind,
        answers=None if cut is None else cut.names,
        label_score=None if cut is None else cut.score,
        label_kind=options.label_kind,
        idle=idle,
        words_meant=own.meant,
        word_ends=own.ends,
    )


def _name_columns(sources: InputTables, options: ReadOptions, problems: list[Problem]) -> Tables:
    """Tables under our names. Missing columns and empty tables are reported here."""
    mapped = {ours: theirs for ours, theirs in options.columns.items() if ours != "criterion" or not options.criterion}
    wrong_mappings = {} if sources.broken else unknown_mappings(sources.given(), mapped)
    if options.among_several:
        wrong_mappings.pop("gold", None)  # another round may have it
    problems += wrong_mappings.values()
    named: dict[str, Named] = {}
    for table, needed in NEEDED.items():
        source = getattr(sources, table)
        if source is None:
            continue
        named[table] = rename(source, needed, options.columns)
        empty = not named[table].n_rows
        # Without rows nobody can tell whether each labeler has a column of its own.
        if not (empty and table == "labels" and not {"labeler", "label"} & set(named[table].columns)):
            problems += missing_columns(named[table], needed, wrong_mappings)
        if empty:
            remedy = "Give at least one row." if table == "labels" else "Leave it out if there is nothing to say."
            problems.append(Problem("E105", f"{source.name} has a header but no rows. {remedy}"))
    return Tables(named.get("labels"), named.get("gold"), named.get("items"))


def _find_gold(tables: Tables, labels: Labels | None, options: ReadOptions, problems: list[Problem]) -> Gold | None:
    """Gold from its own table, else from a `gold` column of the labels or of the items."""
    if tables.gold is not None:
        return read_gold(tables.gold, options, problems)
    for table in (tables.labels, tables.items):
        if table is not None and "gold" in table.columns:
            items = labels.items if labels is not None and table is tables.labels else None
            return read_gold(table, options, problems, borrowed=True, items=items)
    return None


def _are_grades(said: Times, known: Times, options: ReadOptions) -> bool:
    """Whether labels are numbers without gold, and the class that is asked for is a word: other rounds' gold has it."""
    word = options.positive is not None and bool(np.isnan(as_numbers([options.positive])[0]))
    return word and not known and not set(said) <= {"0", "1"} and not bool(np.isnan(as_numbers(said)).any())


def _times(part: Labels | Gold | None) -> Times:
    return {} if part is None else times_said(part.answers)


def _of_answers(
    labels: Labels | None, gold: Gold | None, options: ReadOptions, problems: list[Problem]
) -> tuple[Labels | None, Gold | None, frozenset[str]]:
    """Labels and gold without cells that hold no answer: those that say nothing, which are told, and strays (E147)."""
    blanks = blank_answers(_times(labels), _times(gold), options)
    labels, gold = _aside(labels, blanks), _aside(gold, blanks)
    said, known = _times(labels), _times(gold)
    found = stray_problems(labels.table, "label", labels.answers, known, options) if labels else []
    found += stray_problems(gold.table, "gold", gold.answers, said, options, in_gold=True) if gold else []
    if found:
        odd = [
            *stray_texts(said, known, options, wide=True)[0],
            *stray_texts(known, said, options, wide=True, in_gold=True)[0],
        ]
        labels, gold = _aside(labels, frozenset(map(fold, odd))), _aside(gold, frozenset(map(fold, odd)))
    problems += found
    return labels, gold, blanks


def _aside(part: Part | None, texts: frozenset[str]) -> Part | None:
    if part is None or not texts:
        return part
    return replace(part, answers=set_aside(part.answers, texts))


def _describe(
    tables: Tables, labels: Labels | None, settled: SortedLabels | None, options: ReadOptions, problems: list[Problem]
) -> Described | None:
    """Item columns from the items table, else from the labels.

    They are aligned with the labeled items; if the labels are unusable, with their own, so as to be checked.
    """
    table = tables.items or tables.labels
    if table is None:
        return None
    from_labels = tables.items is None
    described, item_ids = None, None
    ids = labels.items if labels and from_labels else read_ids(table, "item", [] if from_labels else problems)
    if ids is not None and table.n_rows:
        item_ids = settled.item_ids if settled else ids.texts
        described = describe(table, ids, item_ids, from_labels=from_labels, options=options, problems=problems)
    check_named(table, described, item_ids, settled.labelers if settled else None, options, problems)
    return described


def _check_ids(
    settled: SortedLabels | None,
    gold: Gold | None,
    gold_answers: Codes,
    described: Described | None,
    sources: InputTables,
    problems: list[Problem],
) -> list[str]:
    """The items to set aside because they have no labels. Ids that do not line up are E111."""
    if settled is None:
        return []
    unlabeled = set(settled.unlabeled.to_pylist())
    in_items = described is not None and not described.from_labels
    listed = unlabeled | set(described.others(settled.item_ids) if described and in_items else ())
    if gold is not None and "items" not in sources.broken:
        away = kept(gold.items.texts, gold_answers >= 0)
        away = kept(away, positions(away, settled.item_ids) < 0).to_pylist()
        unknown = sorted(set(away) - listed)
        if unknown:
            problems.append(_unknown_gold(gold.table.name, unknown, settled))
    if described and in_items:
        strangers = sorted(listed - unlabeled)
        lacking = kept(settled.item_ids, described.lacking).to_pylist()
        if strangers and lacking:
            problems.append(_misaligned_items(described, strangers, lacking))
    return sorted(listed)


def _unknown_gold(table: str, unknown: Sequence[str], settled: SortedLabels) -> Problem:
    return Problem(
        "E111",
        f"{table} has gold for {count_of(len(unknown), 'item')} without labels, for example {unknown[0]!r}; "
        f"the labels have ids such as {str(settled.item_ids[0])!r}. Use the same ids in both, drop these "
        "rows, or list the items in an items table.",
    )


def _misaligned_items(described: Described, strangers: Sequence[str], lacking: Sequence[str]) -> Problem:
    return Problem(
        "E111",
        f"{described.name} does not line up with the labels: it describes {count_of(len(strangers), 'item')} "
        f"without labels, for example {strangers[0]!r}, and lacks {count_of(len(lacking), 'item')} with "
        f"labels, for example {lacking[0]!r}. Use the same ids in both.",
    )


def _notes(
    labels: Labels, settled: SortedLabels, gold_duplicates: int, described: Described | None, aside: list[str]
) -> tuple[Finding, ...]:
    notes = []
    by_table = {
        "labels": settled.duplicates,
        "gold": gold_duplicates,
        "items": described.duplicates if described else 0,
    }
    dropped = {table: count for table, count in by_table.items() if count}
    if dropped:
        total = sum(dropped.values())
        where = ", ".join(f"{table} {count}" for table, count in dropped.items())
        notes.append(Finding("F101", f"exact duplicates were dropped: {total} ({where})", {"count": total, **dropped}))
    if aside:
        message = f"items without labels were set aside: {len(aside)} ({name_some(aside)})"
        notes.append(Finding("F102", message, {"count": len(aside), "items": aside[:5]}))
    unsaid = 0 if labels.answers.complete else int((labels.answers.codes < 0).sum())
    empty = unsaid - sum(int(rows.sum()) for rows in labels.answers.aside.values())
    if empty:
        notes.append(Finding("F103", f"rows without a label were ignored: {empty}", {"count": empty}))
    if described and described.varying:
        names = list(described.varying)
        message = f"columns of the labels that differ within an item were ignored: {name_some(names)}"
        notes.append(Finding("F107", message, {"count": len(names), "columns": names}))
    return tuple(notes)
