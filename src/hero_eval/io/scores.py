"""Labels that are scores: numbers on a scale that each labeler has for itself.

Here they are recognized; `score_bins` cuts them into a few ordered bins.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.findings import Finding, name_some
from hero_eval.io.answers import Answers, Times
from hero_eval.io.arrays import Coded
from hero_eval.io.distinct import Codes
from hero_eval.io.dressed import dressed_answers
from hero_eval.io.labels import SortedLabels
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.score_bins import distribution_of
from hero_eval.io.values import BINARY, as_missing, folded_answer, number, number_text

MOST_ANSWERS = 20
"""Distinct numbers above which labels are scores, and gold is no class."""
_NUMBERS_TO_STRAYS = 5
"""Distinct numbers for each text that is none, from which on the text is taken for a slip."""
_MOST_NUMBERS = 100
"""Distinct numbers that may be answers if the caller says so: a fit of as many classes takes minutes."""


def as_numbers(texts: Iterable[str]) -> NDArray[np.float64]:
    """The numbers that texts spell, yes and no as 1 and 0; nan where one spells none, or one that is not finite."""
    found = [number(BINARY.get(text.lower(), text)) for text in texts]
    values = np.array([np.nan if value is None else value for value in found], np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def are_scores(labels: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether the distinct texts of labels are scores: numbers, of which there are many, or fractions that gold does
    not have, or others than 0 and 1 where gold is 0 or 1, or two words."""
    if not labels or (len(labels) <= 2 and set(labels) <= {"0", "1"}):
        return False
    values = as_numbers(labels)
    if np.isnan(values).any():
        return False
    known = as_numbers(gold)
    if np.isnan(known).all() and len({folded_answer(text) for text in gold}) == 2:
        known = np.array([0.0, 1.0])
    if len(np.unique(values)) > MOST_ANSWERS:
        return True
    if (values != np.round(values)).any() and not (known != np.round(known)).any():
        return True
    return len(gold) > 0 and set(known) <= {0.0, 1.0} and not set(values) <= {0.0, 1.0}


def find_scores(labels: Times, gold: Times, options: ReadOptions, place: str, problems: list[Problem]) -> bool:
    """Whether these labels are to be read as scores, as beside gold of many numbers they must be; what stands against
    it is reported."""
    if many_golds(gold, options):
        words = [text for text, value in zip(labels, as_numbers(labels), strict=True) if np.isnan(value)]
        if words or options.label_kind == "answer":
            problems.append(_unlike_gold(gold, words, place))
        return not words
    if options.label_kind == "score":
        words = [text for text, value in zip(labels, as_numbers(labels), strict=True) if np.isnan(value)]
        if words:
            problems.append(
                Problem(
                    "E126",
                    f"{place} holds answers that are not numbers, though label_kind is 'score': {name_some(words)}. "
                    'Say which number each stands for (map={"good": 1}; command: --map good=1), or count them as not '
                    f"given ({as_missing(words)}).",
                )
            )
        return not words
    values = as_numbers(labels)
    if options.label_kind == "answer" and len(labels) > _MOST_NUMBERS and not np.isnan(values).any():
        message = (
            f"label_kind is 'answer', but {place} holds {len(labels)} distinct numbers, each of which would be a "
            "class. Leave label_kind out, so that they count as scores, or round them to a few grades."
        )
        problems.append(Problem("E201", message))
        return True
    if options.label_kind is not None or options.classes is not None:
        return False
    strays = [text for text, value in zip(labels, values, strict=True) if np.isnan(value)]
    if any(problem.code == "E126" for problem in problems):
        return True  # labelers' own words, which were told
    if strays and len(labels) - len(strays) > MOST_ANSWERS and len(strays) * _NUMBERS_TO_STRAYS < len(labels):
        problems.append(
            Problem(
                "E126",
                f"{place} holds {len(labels) - len(strays)} distinct numbers, as scores do, and answers that are not "
                f"numbers: {name_some(strays)}. Say which number each stands for ({_as_ends(strays)}), correct "
                f"them, count them as not given ({as_missing(strays)}), or say that every number is an answer of its "
                "own (label_kind='answer'; command: --label-kind answer).",
            )
        )
        return True
    return are_scores(list(labels), list(gold))


def _as_ends(words: Sequence[str]) -> str:
    """Words as the numbers 0, 1, ... in their order, which the caller may change."""
    numbers = ",".join(f"{word}={at}" for at, word in enumerate(sorted(words)[:5]))
    return f"such as --map {shlex.quote(numbers)}"


def many_golds(gold: Times, options: ReadOptions) -> bool:
    """Whether gold is numbers, of which there are more than can be classes."""
    if options.classes is not None or len(gold) <= MOST_ANSWERS:
        return False
    numbers = as_numbers(gold)
    return not np.isnan(numbers).any() and len(np.unique(numbers)) > MOST_ANSWERS


def _unlike_gold(gold: Times, words: list[str], place: str) -> Problem:
    values = as_numbers(gold)
    low, high = number_text(float(values.min())), number_text(float(values.max()))
    what = f"{place} holds {name_some(words)}" if words else "label_kind is 'answer'"
    return Problem(
        "E125",
        f"gold has {len(gold)} distinct numbers, from {low} to {high}, more than the {MOST_ANSWERS} that can be "
        f"classes, so that labels must be numbers too; but {what}. Say which number each stands for (map=; command: "
        "--map), leave label_kind out, or make gold 1 where the number is high enough and 0 elsewhere.",
    )


OF_PAIRS = frozenset({"a", "b", "tie", "both bad"})
"""What is said of two answers side by side."""


def unmet_answers(
    labels: Times, gold: Times, options: ReadOptions, place: str, hint: Mapping[str, str] | None = None
) -> list[Problem]:
    """E127 for labels and gold that share no answer, though they are no numbers; `hint` is what gold shows them to
    mean."""
    if not labels or not gold or options.classes is not None:
        return []
    said, known = ({folded_answer(text) for text in texts} for texts in (labels, gold))
    if said | known <= OF_PAIRS:  # all of them answers to one question, whichever the few golds happen to be
        return []
    if said & known or not (np.isnan(as_numbers(labels)).any() or np.isnan(as_numbers(gold)).any()):
        return []
    each = sorted(labels)[:5]
    pairs, command = ", ".join(f"{one!r}: ..." for one in each), ",".join(f"{one}=..." for one in each)
    how = "Say which gold each label means, one of gold's in place of the dots"
    hint = hint if hint and {*labels} <= {*hint} else dressed_answers(labels, gold)
    if hint:
        how = "Say which gold, or number, each label means. They seem to mean this"
        pairs, command = str(dict(hint))[1:-1], ",".join(f"{word}={of}" for word, of in hint.items())
    return [
        Problem(
            "E127",
            f"{place} and gold share no answer: labels have {name_some(sorted(labels))}, gold has "
            f"{name_some(sorted(gold))}. {how}: map={{{pairs}}} (command: --map {shlex.quote(command)}). If a "
            "column that is no labeler's was taken for one, name those that are (labelers=[...]; command: --labelers "
            "A,B).",
        )
    ]


def with_scores(answers: Answers, labels: Coded) -> tuple[Answers, NDArray[np.float64]]:
    """Answers whose labels point into the distinct numbers, and these: "1.50" and "1.5" are one score."""
    numbers, index = np.unique(as_numbers(labels.list_texts()), return_inverse=True)
    return replace(answers, label_index=index.astype(np.int64)), numbers


@dataclass(frozen=True)
class CutLabels:
    """The labels of a round as bins of its own scores, their names, the scores, and what is to be said of them."""

    bins: Codes
    names: tuple[str, ...]
    score: NDArray[np.float64]
    note: Finding


def cut_labels(labels: SortedLabels, score: NDArray[np.float64]) -> CutLabels:
    """Bins by the scores of this round alone; `on_one_scale` cuts those of several rounds together."""
    shape = distribution_of(score, labels.labeler, labels.labelers)
    cuts = shape.cut()
    return CutLabels(cuts.bins(score, labels.labeler, labels.labelers), cuts.names, score, shape.note(cuts.n_bins))
