"""What the answers of a round mean: one list of values for labels and gold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.errors import Problem
from hero_eval.findings import name_some
from hero_eval.reading.arrays import Coded, Codes
from hero_eval.reading.columns import Named
from hero_eval.reading.options import Options
from hero_eval.reading.values import canonical, count_of, in_class_order, is_binary


@dataclass(frozen=True)
class Answers:
    """The canonical values, and where each distinct text of labels and gold is among them (-1 = outside)."""

    values: tuple[str, ...]
    classes: tuple[str, ...] | None
    positive: str | None
    label_index: Codes
    gold_index: Codes

    def of_label(self, codes: Codes) -> Codes:
        return np.append(self.label_index, -1)[codes]

    def of_gold(self, codes: Codes) -> Codes:
        return np.append(self.gold_index, -1)[codes]


def agree_on_answers(
    label_texts: list[str],
    gold_texts: list[str],
    options: Options,
    *,
    complete: bool,
    problems: list[Problem],
) -> Answers:
    """One list of values for labels and gold.

    An unusable `positive` is E118, unless answers that were not seen (not `complete`) might have held it.
    """
    binary = is_binary([*label_texts, *gold_texts, *(options.classes or ())])
    spell = {text: canonical(text, binary=binary) for text in (*label_texts, *gold_texts, *options.class_texts)}
    classes = tuple(spell[text] for text in options.classes) if options.classes is not None else None
    values = classes or in_class_order(spell[text] for text in (*label_texts, *gold_texts))
    index = {value: position for position, value in enumerate(values)}
    positive = spell[options.positive] if options.positive is not None else None
    allowed = values if classes or not binary else ("0", "1")
    if positive is not None and positive not in allowed and (classes or complete):
        problems.append(_wrong_positive(options, values, given=classes is not None))
    return Answers(
        values=values,
        classes=classes,
        positive=positive,
        label_index=np.array([index.get(spell[text], -1) for text in label_texts], np.int64),
        gold_index=np.array([index.get(spell[text], -1) for text in gold_texts], np.int64),
    )


def _wrong_positive(options: Options, values: tuple[str, ...], *, given: bool) -> Problem:
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
            f"(item {items.text(items.codes[first])!r}{by}). Correct the values, or add them to the classes.",
        )
    )
