"""What the answers of a round mean: one list of values for labels and gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import Coded
from hero_eval.io.distinct import Codes
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import Named
from hero_eval.io.values import BINARY_WORDS, alike, canonical, count_of, fold, in_class_order, is_binary

RARE = 0.01
"""An answer is rare if it has no larger share of the labels than this, or is there `RARE_TIMES` at most."""
RARE_TIMES = 2
COMMON = 10
"""An answer is common beside a rare one if it was given so many times as often."""
SHOWN_ROWS = 5
"""Numbers of which there are more than these are scores. A class costs a rate of every other class and labeler: fits of
a hundred classes take minutes and gigabytes."""
MOST_TEXTS = 100
"""Other answers of which there are more are hardly classes either."""
Times = Mapping[str, float]
"""How often each distinct text was said."""


@dataclass(frozen=True)
class Answers:
    """The canonical values, and where each distinct text of labels and gold is among them (-1 = outside)."""

    values: tuple[str, ...]
    classes: tuple[str, ...] | None
    positive: str | None
    label_index: Codes
    gold_index: Codes
    respelled: Mapping[str, str] = field(default_factory=dict)
    """Texts that count as another, from which only case or inner space tells them."""
    suspects: Mapping[str, str] = field(default_factory=dict)
    """Rare answers that look like a misspelling of another, and which."""
    gold_suspects: Mapping[str, str] = field(default_factory=dict)
    """The same of gold."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Yes, no and their like, of which results speak as 1 and 0; true and false need no word."""

    def of_label(self, codes: Codes) -> Codes:
        return _moved(self.label_index, codes)

    def of_gold(self, codes: Codes) -> Codes:
        return _moved(self.gold_index, codes)


def _moved(index: Codes, codes: Codes) -> Codes:
    same = bool((index == np.arange(len(index))).all())
    return codes if same else np.append(index, -1)[codes]


def times_said(coded: Coded) -> Times:
    """How many rows have each text."""
    texts = coded.list_texts()
    known = coded.codes if coded.complete else coded.codes[coded.codes >= 0]
    times = np.bincount(known, minlength=len(texts))
    return {text: float(of) for text, of in zip(texts, times, strict=True)}


def agree_on_answers(
    labels: Times,
    gold: Times,
    options: ReadOptions,
    *,
    complete: bool,
    problems: list[Problem],
) -> Answers:
    """One list of values for labels and gold.

    An unusable `positive` is E118, unless answers that were not seen (not `complete`) might have held it.
    """
    binary = is_binary([*labels, *gold, *(options.classes or ())])
    one_of = {} if binary else _one_spelling(labels, gold, options)
    texts = (*labels, *gold, *options.class_texts)
    spell = {text: canonical(one_of.get(text, text), binary=binary) for text in texts}
    classes = tuple(spell[text] for text in options.classes) if options.classes is not None else None
    values = classes or in_class_order(spell[text] for text in (*labels, *gold))
    index = {value: position for position, value in enumerate(values)}
    told = BINARY_WORDS - {"true", "false"}
    positive = spell[options.positive] if options.positive is not None else None
    allowed = values if classes or not binary else ("0", "1")
    if positive is not None and positive not in allowed and (classes or complete):
        problems.append(_wrong_positive(options, values, given=classes is not None))
    judged = classes is None and options.spelling
    too_many = _too_many(values) if judged else []
    problems += too_many
    judged = judged and not too_many  # to compare all of them with each other would take forever
    return Answers(
        values=values,
        classes=classes,
        positive=positive,
        label_index=np.array([index.get(spell[text], -1) for text in labels], np.int64),
        gold_index=np.array([index.get(spell[text], -1) for text in gold], np.int64),
        respelled=one_of,
        suspects=_suspects(labels, gold, spell, options) if judged else {},
        gold_suspects=_gold_suspects(labels, gold, spell, options) if judged else {},
        words={text: spell[text] for text in (*labels, *gold) if fold(text) in told and spell[text] in ("0", "1")},
    )


def _too_many(values: tuple[str, ...]) -> list[Problem]:
    """E124 for texts of their own that nobody named as classes; numbers are scores."""
    if len(values) <= MOST_TEXTS:
        return []
    return [
        Problem(
            "E124",
            f"there are {len(values):,} different answers, for example {name_some([values[0], values[-1]])}. They look "
            "like free text, and not like classes: every class takes a rate of its own for each labeler and each other "
            "class, and so many cannot be fitted in reasonable time and memory. Sort them into classes; if they are "
            "classes, name all of them (classes=[...]; command: --classes).",
        )
    ]


def _one_spelling(labels: Times, gold: Times, options: ReadOptions) -> dict[str, str]:
    """Texts that count as another one: that of the classes, else of gold, else the most frequent.

    Answers that the classes tell apart by nothing but case stay apart, and single letters that gold tells apart.
    """
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys((*labels, *gold, *options.class_texts)):
        groups.setdefault(fold(text), []).append(text)
    found: dict[str, str] = {}
    for key, group in groups.items():
        named = [text for text in group if text in (options.classes or ())]
        spoken = named if options.classes is not None else [text for text in group if text in gold]
        apart = len(spoken) > 1 and (options.classes is not None or len(key) == 1)
        if len(group) < 2 or apart or (options.classes is not None and not named):
            continue
        first = min(spoken or group, key=lambda text: (-gold.get(text, 0.0), -labels.get(text, 0.0), text))
        found |= {text: first for text in group if text != first}
    return found


def _suspects(labels: Times, gold: Times, spell: Mapping[str, str], options: ReadOptions) -> dict[str, str]:
    """Answers that are rare, never in gold, and spelled like a common one, which is in gold if there is any."""
    times = _by_value(labels, spell)
    sure = {spell[text] for text in (*gold, *([options.positive] if options.positive is not None else []))}
    few = max(RARE * sum(times.values()), RARE_TIMES)
    found = {}
    for value, said in times.items():
        if value in sure or said > few:
            continue
        likely = [
            other
            for other, often in times.items()
            if often >= COMMON * said and (not gold or other in sure) and alike(value, other)
        ]
        if likely:
            found[value] = max(likely, key=lambda other: (times[other], other))
    return found


def _gold_suspects(labels: Times, gold: Times, spell: Mapping[str, str], options: ReadOptions) -> dict[str, str]:
    """Gold that no label gives, and that is spelled like an answer that gold and labels give far more often."""
    said, known = _by_value(labels, spell), _by_value(gold, spell)
    positive = None if options.positive is None else spell[options.positive]
    found = {}
    for value, times in known.items():
        likely = [
            other
            for other, often in known.items()
            if min(often, said.get(other, 0.0)) >= COMMON * times and alike(value, other)
        ]
        if likely and value not in said and value != positive:
            found[value] = max(likely, key=lambda other: (known[other], other))
    return found


def _by_value(texts: Times, spell: Mapping[str, str]) -> dict[str, float]:
    out: dict[str, float] = {}
    for text, of in texts.items():
        out[spell[text]] = out.get(spell[text], 0.0) + of
    return out


def misspelled(
    place: str,
    answers: Answers,
    coded: Coded,
    times: NDArray[np.float64] | None = None,
    *,
    table: Named | None = None,
    in_gold: bool = False,
) -> list[Problem]:
    """E123 for every answer that looks like a misspelling; with `times` a row stands for several, and has no number."""
    suspects = answers.gold_suspects if in_gold else answers.suspects
    if not suspects:
        return []
    index = answers.of_gold(coded.codes) if in_gold else answers.of_label(coded.codes)
    by_none = "label" if in_gold else "gold"
    problems = []
    for value, likely in suspects.items():
        rows = np.flatnonzero(index == answers.values.index(value))
        count = len(rows) if times is None else int(times[rows].sum())
        more = ", ..." if len(rows) > SHOWN_ROWS else ""
        numbers = ", ".join(str(row + 1) for row in rows[:SHOWN_ROWS]) + more
        where = "" if times is not None else f" (data {'row' if len(rows) == 1 else 'rows'} {numbers})"
        if table is not None and table.origin is not None:
            where = f" ({'; '.join(table.origin(int(row)) for row in rows[:SHOWN_ROWS])}{more})"
        problems.append(
            Problem(
                "E123",
                f"{place} is {value!r} in {count_of(count, 'row')}{where}, an answer that no {by_none} gives and that "
                f"looks like a misspelling of {likely!r}. Correct it; if it is an answer of its own, name all possible "
                f"answers (classes=[...]; command: --classes), and if it is none, leave it out (missing=[{value!r}]; "
                f"command: --missing).",
            )
        )
    return problems


def _words_read(answers: Answers) -> list[Finding]:
    """F137 for words that were read as 1 and 0."""
    read = dict(sorted(answers.words.items(), key=lambda one: (one[1], one[0])))
    if not read:
        return []
    said = ", ".join(f"{text!r} as {value!r}" for text, value in read.items())
    return [Finding("F137", f"answers were read as 0 and 1: {said}", {"answers": read})]


def answer_notes(
    answers: Answers,
    labels: Coded,
    gold: Coded | None,
    label_times: NDArray[np.float64] | None = None,
    gold_times: NDArray[np.float64] | None = None,
    blanks: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """F115, F116, F133 and F137: what was forgiven, what was left out, and what yes and no were read as."""
    sides = [(labels, label_times), *([(gold, gold_times)] if gold is not None else [])]

    def add_up(rows_of: Callable[[Coded], Sequence[tuple[str, NDArray[np.bool_]]]]) -> dict[str, int]:
        found: dict[str, int] = {}
        for coded, times in sides:
            for text, rows in rows_of(coded):
                count = int(rows.sum() if times is None else times[rows].sum())
                if count:
                    found[text] = found.get(text, 0) + count
        return found

    def cased(coded: Coded) -> list[tuple[str, NDArray[np.bool_]]]:
        codes = {text: code for code, text in enumerate(coded.list_texts())} if answers.respelled else {}
        return [(text, coded.codes == codes[text]) for text in answers.respelled if text in codes]

    other_case = add_up(cased)
    spaced = add_up(lambda coded: [] if coded.padded is None else [("", coded.padded)]).get("", 0)
    unsaid = add_up(lambda coded: list(coded.aside.items()))
    notes = []
    if other_case or spaced:
        said = [f"{text!r} as {answers.respelled[text]!r} ({count})" for text, count in other_case.items()]
        said += [f"space around {count_of(spaced, 'answer')} was ignored"] if spaced else []
        data = {"count": sum(other_case.values()), "answers": other_case, "padded": spaced}
        message = f"answers that differ only in case or space count as one: {', '.join(said)}"
        notes.append(Finding("F115", message, data))
    notes += _words_read(answers)
    blank = {text: count for text, count in unsaid.items() if fold(text) in blanks}
    asked = {text: count for text, count in unsaid.items() if text not in blank}
    for code, what, found in (
        ("F133", "cells that hold no answer count as not given", blank),
        ("F116", "answers that count as not given", asked),
    ):
        if found:
            said = [f"{text!r} {count}" for text, count in found.items()]
            notes.append(Finding(code, f"{what}: {', '.join(said)}", {"count": sum(found.values()), "answers": found}))
    return tuple(notes)


def _wrong_positive(options: ReadOptions, values: tuple[str, ...], *, given: bool) -> Problem:
    what, remedy = ("classes", "") if given else ("values seen", " If the others were not used, give classes=.")
    return Problem(
        "E118",
        f"positive={options.positive!r} is not among the {what}: {name_some(list(values), 12)}.{remedy}",
    )


def outside_classes(
    table: Named,
    items: Coded,
    labelers: Coded | None,
    answers: Coded,
    agreed: Answers,
    problems: list[Problem],
) -> None:
    """E109: answers that are none of the classes which the caller gave. `labelers` is None for gold."""
    if agreed.classes is None:
        return
    index = agreed.of_gold(answers.codes) if labelers is None else agreed.of_label(answers.codes)
    named = (items.codes >= 0) & (True if labelers is None else labelers.codes >= 0)
    rows = np.flatnonzero((index < 0) & (answers.codes >= 0) & named)
    if not len(rows):
        return
    first, column = rows[0], "gold" if labelers is None else "label"
    by = "" if labelers is None else f", labeler {labelers.text(labelers.codes[first])!r}"
    problems.append(
        Problem(
            "E109",
            f"{table.column(column)} is outside the classes {name_some(list(agreed.classes), 12)} in "
            f"{count_of(len(rows), 'row')}, for example {answers.text(answers.codes[first])!r} "
            f"(item {items.text(items.codes[first])!r}{by}). Correct the values, add them to the classes, or count "
            "them as not given (missing=; command: --missing).",
        )
    )
