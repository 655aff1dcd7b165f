"""Answers as text: what counts as missing, what counts as yes or no, and in which order classes come.

The same answer arrives as `True` from one tool, `1.0` from another and `"Yes"` from a third. Rounds from all
three must share their classes, so answers are made canonical here, on the few distinct values and never row
by row.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "NULL", "None"})
"""What files write for "no value". Ids are exempt: a labeler may be called "NA"."""

BINARY: Mapping[str, str] = {
    **dict.fromkeys(("0", "false", "f", "no", "n"), "0"),
    **dict.fromkeys(("1", "true", "t", "yes", "y"), "1"),
}
SCALE_TOPS = (1.0, 5.0, 10.0, 100.0)
"""Where common scales of numbers end."""
BINARY_WORDS = frozenset(BINARY) - {"0", "1"}

_INTEGRAL = re.compile(r"([+-]?\d+)\.0+")
_EXACT = 2.0**53  # above this, a float no longer names one integer


def number_text(value: float) -> str:
    """A number as a person would write it: 7.0 is "7", so that integers survive a trip through floats."""
    if math.isfinite(value) and value == int(value) and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


def plain_text(value: Any) -> str | None:
    """Any single value as text; None if it stands for nothing."""
    if _is_nothing(value):
        return None
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value)
    return str(value)


def _is_nothing(value: Any) -> bool:
    """None, NaN, NaT or pandas.NA: what is not equal to itself, or cannot say."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True
    except ValueError:  # an array
        return False


def answer_text(value: Any, keep: frozenset[str] = frozenset()) -> str | None:
    """An answer as stripped text; None if missing. `keep` are classes that only look missing, like "None"."""
    text = plain_text(value)
    if text is None:
        return None
    text = text.strip()
    if text in MISSING and text not in keep:
        return None
    integral = _INTEGRAL.fullmatch(text)
    return integral[1] if integral else text


def fold(text: str) -> str:
    """What two spellings of one answer have in common: neither case nor space tells answers apart."""
    return " ".join(text.split()).casefold()


def folded_answer(text: str) -> str:
    """The same of answers, with all ways of saying yes and no made alike."""
    return BINARY.get(text.lower(), fold(text))


def alike(one: str, other: str) -> bool:
    """Whether one of two answers may be a misspelling of the other.

    One letter more, less, other or swapped in a word of some length, two in a long one; in one of three letters, two
    swapped. Numbers differ by what they say, so digits must agree; and first letters, in which "correct" differs from
    "incorrect" and typos seldom do.
    """
    mine, theirs = (re.findall(r"\w+", fold(text)) for text in (one, other))
    if len(mine) != len(theirs):
        mine, theirs = ["".join(mine)], ["".join(theirs)]
    apart = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
    return len(apart) == 1 and _near_words(*apart[0])


def _near_words(one: str, other: str) -> bool:
    short, long = sorted((len(one), len(other)))
    swapped = sorted(one) == sorted(other)
    if short < 3 or (long < 4 and not swapped) or one[0] != other[0]:
        return False
    if re.sub(r"\D", "", one) != re.sub(r"\D", "", other):
        return False
    return _edits(one, other) <= (2 if short >= 7 else 1)


def _edits(one: str, other: str) -> int:
    """How many letters to insert, drop, change or swap with their neighbor."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, theirs in enumerate(other, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != theirs))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == theirs:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was likely meant: one that a slip or two of the keyboard make of it, or that differs in case."""
    wanted = fold(name)
    allowed = 1 if len(wanted) < 5 else 2 if len(wanted) < 10 else 3
    best: tuple[int, str] | None = None
    for one in names:
        other = fold(one)
        if abs(len(other) - len(wanted)) > allowed:
            continue
        apart = _edits(wanted, other)
        if apart <= allowed and apart < max(len(wanted), len(other)) and (best is None or apart < best[0]):
            best = (apart, one)
    return None if best is None else best[1]


def is_binary(texts: Iterable[str]) -> bool:
    """Whether all of these answers are some way of saying 0 or 1."""
    return all(text.lower() in BINARY for text in texts)


def canonical(text: str, *, binary: bool) -> str:
    """The one spelling of this answer, given whether the round's answers are all binary."""
    return BINARY.get(text.lower(), text) if binary else text


def in_class_order(values: Iterable[str]) -> tuple[str, ...]:
    """Numeric order if all are numbers, else alphabetical."""
    distinct = sorted(set(values))
    numbers = [number(value) for value in distinct]
    if any(value is None for value in numbers):
        return tuple(distinct)
    return tuple(value for _, value in sorted(zip(numbers, distinct, strict=True)))


def number(text: str) -> float | None:
    """The number that this text spells, or None. Python's "1_000" is not a number in a table."""
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) else value


def count_of(number: int, what: str) -> str:
    """ "1 item", "2 items"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(values: Sequence[str], most: int = 12) -> str:
    """Names for a message as they are, shortened when there are many."""
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def as_missing(texts: Sequence[str]) -> str:
    """The option that counts these answers as not given, as Python and as the command take it."""
    some = list(texts[:5])
    command = ",".join(f'"{text}"' if "," in text else text for text in some)
    return f"missing={some}; command: --missing {shlex.quote(command)}"
