"""Lists of names as people write them, on the command line and in forms: a,b,c and ours=theirs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from hero_eval.errors import InputError, Problem, wrong


def split(option: str, text: str | None) -> list[str] | None:
    """a,b,c as a list; quotes keep a comma within a name, and a line break separates like a comma. None stays None."""
    if text is None:
        return None
    try:
        rows = list(csv.reader(io.StringIO(text.strip(), newline=""), skipinitialspace=True))
    except csv.Error as error:
        raise wrong("E201", f"{option} cannot be read as a list of names: {error}.") from error
    return [part.strip() for row in rows for part in row] or [""]


def names(option: str, text: str | None) -> list[str] | None:
    """As `split`, but every name must say something."""
    parts = split(option, text)
    if parts is not None and not all(parts):
        raise wrong("E201", f"{option} is {text!r}, which holds an empty name. Separate names by single commas.")
    return parts


def joined(parts: Iterable[str], by: str = ",") -> str:
    """Names as one text that `split` reads back: those that hold a comma or a quote stand in quotes."""
    return by.join('"' + name.replace('"', '""') + '"' if set(name) & {",", '"'} else name for name in parts)


MAPPED = "OLD=NEW, such as good=1 or good=1,bad=0"
"""How answers that are read as others are written."""


def mapping(option: str, pairs: Sequence[str], like: str = "ours=theirs, such as labeler=rater") -> dict[str, str]:
    """ours=theirs, repeated, as a mapping; `option` says where they stand, such as "--column is", `like` how to write
    them."""
    problems: list[Problem] = []
    found: dict[str, str] = {}
    for pair in pairs:
        ours, equals, theirs = (part.strip() for part in pair.partition("="))
        if not (ours and equals and theirs):
            problems.append(Problem("E201", f"{option} {pair!r}. Write {like}."))
        elif found.setdefault(ours, theirs) != theirs:
            place = option.split()[0]
            problems.append(Problem("E201", f"{place} maps {ours!r} to {found[ours]!r} and to {theirs!r}."))
    if problems:
        raise InputError(problems)
    return found


def chosen_values(option: str, pairs: Sequence[str] | None) -> dict[str, list[str]] | None:
    """COLUMN=VALUE, repeated; values of one column add up. None where nothing is said."""
    found: dict[str, list[str]] = {}
    for pair in pairs or ():
        column, equals, value = (part.strip() for part in pair.partition("="))
        if not (column and equals and value):
            raise wrong("E201", f"{option} is {pair!r}. Write COLUMN=VALUE, such as category=coding")
        found.setdefault(column, []).append(value)
    return found or None
