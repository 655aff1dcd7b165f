"""Markdown that a name cannot break out of. It loads nothing, so that every command can afford it."""

from __future__ import annotations

from collections.abc import Sequence

from hero_eval.phrasing import printable


def escape(text: str) -> str:
    """Keep a name such as `a|b` or `a_b` from being taken for markup."""
    safe = printable(text)
    for character in "\\`*_[]<>|#":
        safe = safe.replace(character, f"\\{character}")
    return safe


def code_spans(text: str) -> str:
    """Words between backticks stay code, the rest is escaped."""
    parts = text.split("`")
    return "".join(f"`{printable(part)}`" if place % 2 else escape(part) for place, part in enumerate(parts))


def row(cells: Sequence[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else escape(cell.strip()) for cell in cells) + " |"
