"""Cells that hold no answer: what files write for "nothing" beside numbers, and a few words among numbers.

A word among numbers would become a class of its own, or take a whole column out of a wide table, without anybody
having said so. What plainly means "nothing" counts as not given, with a finding; the rest is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.findings import name_some
from hero_eval.io.arrays import Coded
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import Named
from hero_eval.io.values import as_missing, canonical, count_of, fold, is_binary, number, number_text

Times = Mapping[str, float]
NOTHING = frozenset(
    (
        *("n/a", "#n/a", "<na>", "na", "nan", "nil", "none", "null", "missing"),
        *("-", "--", "–", "—", "?", ".", ".."),
        *("#null!", "#value!", "#ref!", "#div/0!", "#name?"),
    )
)
"""Spellings of "nothing" that are hardly ever an answer."""
FAILED = frozenset({"error", "err", "#error", "failed", "failure", "timeout", "exception"})
"""Words that tell of a failed call where other answers are numbers; among words they may be answers."""
MOST_STRAYS = 0.1
"""Of a column of numbers, the share of cells that may be something else."""
MOST_FILLED = 0.4
"""Of gold, the share of cells above which a word that no label gives stands for none."""
PLACEHOLDERS = frozenset({-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0})
"""Numbers that programs write where there is none."""
_AS_TEXTS = frozenset(map(number_text, PLACEHOLDERS))
FEW, RARE = 2, 0.01
"""Other numbers than 0 and 1 that look like slips: so many cells, or this share of them."""


def is_blank(text: str) -> bool:
    """Whether a cell with this text most likely holds no answer."""
    return fold(text) in NOTHING or fold(text) in FAILED


def parted(times: Times) -> tuple[list[str], list[str]]:
    """The texts that spell numbers, and the others, if nearly all cells hold numbers; else ([], [])."""
    numbers = [text for text in times if number(text) is not None]
    others = [text for text in times if number(text) is None]
    strange = sum(times[text] for text in others if not is_blank(text))
    total = sum(times[text] for text in numbers) + strange
    return (numbers, others) if numbers and strange <= MOST_STRAYS * total else ([], [])


def blank_answers(labels: Times, gold: Times, options: ReadOptions) -> frozenset[str]:
    """Answers that count as not given, folded: "N/A" or "error" among numbers, "N/A" beside gold that never is, and
    such gold, if there is little of it, beside labels that never are."""
    if options.classes is not None or not options.spelling:
        return frozenset()
    named = {fold(text) for text in options.class_texts}
    found: set[str] = set()
    for mine, other in ((labels, gold), (gold, labels)):
        if parted(mine)[0] and (not other or parted(other)[0]):
            found |= {fold(text) for text in mine if is_blank(text)}
    said, known = {fold(text) for text in labels}, {fold(text) for text in gold}
    if len(known - NOTHING) >= 2:
        found |= (said & NOTHING) - known
    if len(said - NOTHING) >= 2:
        unheard = {text: times for text, times in gold.items() if fold(text) in NOTHING - said}
        if sum(unheard.values()) <= MOST_STRAYS * sum(gold.values()):
            found |= {fold(text) for text in unheard}
    return frozenset(found - named)


def stray_texts(
    times: Times, beside: Times, options: ReadOptions, *, wide: bool = False, in_gold: bool = False
) -> tuple[list[str], str]:
    """Words among numbers, numbers that stand for none, other numbers among 0 and 1, or in gold other words among yes
    and no, and what the others are; `beside` are labels for gold, or the other way round. In a wide table also what
    only a cell or two say, and never gold."""
    if options.classes is not None or not options.spelling or options.label_kind is not None or is_binary(times):
        return [], ""
    named = {fold(text) for text in (*options.class_texts, *beside)}
    lonely = _lonely(times, beside) if wide else []
    for found, instead in (
        (parted(times)[1], "a number"),
        _placeholders(times, in_gold=in_gold),
        (_slips(times, beside), "0 or 1"),
        (_unheard(times, beside) if in_gold else [], "yes or no"),
        (_fillers(times, beside) if in_gold else [], "answers that labels give"),
        (lonely, "an answer that gold gives"),
    ):
        strays = [text for text in found if fold(text) not in named]
        if strays:
            return strays, instead
    return [], ""


def stray_problems(
    table: Named, column: str, coded: Coded, beside: Times, options: ReadOptions, *, in_gold: bool = False
) -> list[Problem]:
    """E147 for the cells of `stray_texts`, with the place of the first."""
    texts = coded.list_texts()
    counts = np.bincount(coded.codes[coded.codes >= 0], minlength=len(texts))
    times = {text: float(count) for text, count in zip(texts, counts, strict=True) if count}
    strays, instead = stray_texts(times, beside, options, wide=table.origin is not None, in_gold=in_gold)
    if not strays:
        return []
    rows: NDArray[np.int64] = np.flatnonzero(np.isin(coded.codes, [texts.index(text) for text in strays]))
    where = f" ({'first in ' if len(rows) > 1 else ''}{table.place(column, int(rows[0]))})"
    return [stray_problem(table.name, strays, len(rows), where, instead, in_gold=in_gold)]


def stray_problem(
    name: str, strays: list[str], cells: int, where: str, instead: str, *, in_gold: bool = False
) -> Problem:
    """E147."""
    scores = ""
    if instead.startswith("numbers") and not in_gold:
        scores = "; if labels are scores, say so (label_kind='score'; command: --label-kind score)"
    return Problem(
        "E147",
        f"{name} holds {name_some(strays)} in {count_of(cells, 'cell')}{where}, where the others hold {instead}. "
        f"Correct it; if it is no answer, count it as not given ({as_missing(strays)}); if it is one, name all "
        f"answers (classes=[...]; command: --classes){scores}.",
    )


def _placeholders(times: Times, *, in_gold: bool) -> tuple[list[str], str]:
    """Numbers such as -1 and 99 where all others lie far from them, and where those lie; of labels few, since they may
    be on that scale."""
    if not any(text in times for text in _AS_TEXTS):
        return [], ""
    values = {text: value for text in times if (value := number(canonical(text, binary=True))) is not None}
    rest = [value for value in values.values() if value not in PLACEHOLDERS]
    if len(rest) < 2 or len(values) < len(times):
        return [], ""
    strange = [
        text
        for text, value in values.items()
        if value in PLACEHOLDERS and (min(rest) >= 0.0 > value or (value > 0.0 and max(rest) <= 10.0))
    ]
    few = sum(times[text] for text in strange) <= MOST_STRAYS * sum(times.values())
    return (strange if few or in_gold else []), f"numbers from {number_text(min(rest))} to {number_text(max(rest))}"


def _lonely(times: Times, beside: Times) -> list[str]:
    """Answers of a cell or two that gold, of two answers or more, never gives."""
    known, total = {fold(text) for text in beside}, sum(times.values())
    strange = [text for text in times if fold(text) not in known]
    cells = sum(times[text] for text in strange)
    return strange if len(known) > 1 and cells <= FEW and cells <= RARE * total else []


def _unheard(gold: Times, labels: Times) -> list[str]:
    """Words that little gold says and no label, where all else is a way of saying yes or no."""
    said = {fold(text) for text in labels}
    strange = [text for text in gold if fold(text) not in said and not is_binary([fold(text)]) and number(text) is None]
    others = {canonical(fold(text), binary=True) for text in (*labels, *gold) if text not in strange}
    cells = sum(gold[text] for text in strange)
    little = cells <= MOST_STRAYS * sum(gold.values())
    return strange if others == {"0", "1"} and labels and little else []


def _fillers(gold: Times, labels: Times) -> list[str]:
    """A word that most cells of gold hold and no label, beside several answers that both give: "unlabeled", "TODO"."""
    said = {fold(text) for text in labels}
    strange = [text for text in gold if fold(text) not in said and number(text) is None]
    most = sum(gold[text] for text in strange) > MOST_FILLED * sum(gold.values())
    return strange if len(strange) == 1 and len(gold) > 2 and most else []


def _slips(times: Times, beside: Times) -> list[str]:
    """Numbers beyond 0 and 1 in a cell or two, where all others, and what they are held against, are 0 or 1.

    Fractions between them are scores, of which a judge may give few.
    """
    values = {text: value for text in times if (value := number(text)) is not None}
    strange = [text for text, value in values.items() if not 0.0 <= value <= 1.0]
    plain = [text for text, value in values.items() if value in (0.0, 1.0)]
    held_against = {number(text) for text in beside}
    if len(values) < len(times) or len(strange) + len(plain) < len(times) or not held_against <= {0.0, 1.0}:
        return []
    cells, total = sum(times[text] for text in strange), sum(times.values())
    return strange if beside and len(plain) == 2 and cells <= max(FEW, RARE * total) and 10 * cells <= total else []
