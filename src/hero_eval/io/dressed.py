"""Answers in dress: "4/5", "Score: 4", "★★★★", "[[A]]", "Yes.": what they seem to mean is proposed, and not taken."""

from __future__ import annotations

import re
from collections.abc import Collection

from hero_eval.io.values import folded_answer, number_text

_NUMBER = re.compile(r"[^\d.,+-]*([+-]?\d+(?:\.\d+)?)\s*(?:(?:/|out of|of)\s*\d+)?[^\d]*")
_OUT_OF = re.compile(r"\d\s*(?:/|out of|of)\s*(\d+)")
_STARS = re.compile(r"([★⭐])\ufe0f?(?:\1\ufe0f?)*[☆\s]*")
_TIE = frozenset({"c", "tie", "equal", "draw"})


def dressed_answers(labels: Collection[str], gold: Collection[str]) -> dict[str, str]:
    """What labels seem to mean: gold's answers without punctuation, or numbers; empty if not all of them do."""
    known = {folded_answer(text): text for text in gold}
    bare = {text: re.sub(r"^\W+|\W+$", "", text) for text in labels}
    named = {text: known[of] for text, said in bare.items() if (of := folded_answer(said)) in known}
    if {*known} <= {"a", "b", "tie"} and named:
        named |= {text: known.get("tie", "tie") for text, said in bare.items() if folded_answer(said) in _TIE}
    if len(named) == len(bare):
        return dict(sorted(named.items()))
    numbers = {text: _number_in(text) for text in labels}
    found = {text: value for text, value in numbers.items() if value is not None}
    if len(found) < len(numbers) or len({out[1] for text in labels if (out := _OUT_OF.search(text))}) > 1:
        return {}
    return {text: number_text(value) for text, value in sorted(found.items(), key=lambda of: of[1])}


def _number_in(text: str) -> float | None:
    """The one number that a text holds, or how many stars it has."""
    if _STARS.fullmatch(text):
        return float(text.count("★") + text.count("⭐"))
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found else None
