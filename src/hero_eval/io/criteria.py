"""Several criteria in one wide table: columns such as `helpful_gpt` and `safe_gpt`, and which belong together.

A column is of a criterion if its name begins or ends with it, set off by one of `_ . : / -` or a space; what is left
of the name is the labeler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_APART = re.compile(r"[_.:/\- ]+")


@dataclass(frozen=True)
class Grid:
    """Columns by criterion and labeler."""

    criteria: tuple[str, ...]
    labelers: tuple[str, ...]
    cells: tuple[tuple[str, str, str], ...]
    """(criterion, labeler, column)"""

    @property
    def all_columns(self) -> tuple[str, ...]:
        return tuple(column for _, _, column in self.cells)

    def columns_of(self, criterion: str) -> dict[str, str]:
        """The labelers of a criterion, and their columns."""
        wanted = criterion.lower()
        return {labeler: column for of, labeler, column in self.cells if of.lower() == wanted}


def hidden_grid(
    columns: Sequence[str], is_labeler: Callable[[str], bool], is_expert: Callable[[str], bool]
) -> Grid | None:
    """These columns, all of which look like labelers', as a grid of criteria and labelers; None if they are none.

    A part of which `is_labeler` knows the name is the labeler; else the second one is. Experts may have answered some
    of the criteria alone.
    """
    for first in (True, False):
        pairs = [pair for one in columns for pair in _splits(one, first)]
        grid = _full_grid(pairs, is_labeler, is_expert)
        if grid is not None:
            return grid
    return None


def named_grid(header: Sequence[str], criterion: str) -> Grid:
    """The columns of a named criterion, and those of others with the same labelers."""
    own = [(criterion, rest, one) for one in header if (rest := _rest(one, criterion)) is not None]
    people = tuple(dict.fromkeys(rest for _, rest, _ in own))
    taken = {column for _, _, column in own}
    cells, criteria = list(own), [criterion] if own else []
    for one in header:
        for person in people:
            other = _rest(one, person)
            if other is not None and one not in taken:
                cells.append((other, person, one))
                criteria.append(other)
                taken.add(one)
    if not own:
        criteria = [part for one in header for part, _, _ in _splits(one, True)]
    return Grid(tuple(dict.fromkeys(criteria)), people, tuple(cells))


def belongs_to(name: str, criteria: Sequence[str], is_labeler: Callable[[str], bool]) -> bool:
    """Whether a column is a labeler's answer to one of these criteria, by its name."""
    return any((rest := _rest(name, of)) is not None and is_labeler(rest) for of in criteria)


def _rest(name: str, part: str) -> str | None:
    """What is left of a name that begins or ends with a part set off from it."""
    lowered, wanted = name.lower(), part.lower()
    for rest, between in (
        (name[len(part) :], name[len(part) : len(part) + 1]) if lowered.startswith(wanted) else ("", ""),
        (name[: -len(part)], name[: -len(part)][-1:]) if lowered.endswith(wanted) else ("", ""),
    ):
        left = _APART.sub("", rest[:1]) + rest[1:-1] + _APART.sub("", rest[-1:]) if len(rest) > 1 else ""
        if between and _APART.fullmatch(between) and left:
            return left
    return None


def _splits(name: str, first: bool) -> list[tuple[str, str, str]]:
    """(criterion, labeler, column) by the first or last place at which a name can be parted."""
    marks = list(_APART.finditer(name))
    if not marks:
        return []
    mark = marks[0] if first else marks[-1]
    left, right = name[: mark.start()], name[mark.end() :]
    return [(left, right, name)] if left and right else []


def _full_grid(
    pairs: Sequence[tuple[str, str, str]], is_labeler: Callable[[str], bool], is_expert: Callable[[str], bool]
) -> Grid | None:
    """Two criteria or more, each with the same two labelers or more, besides experts; known judges may be more."""
    by: dict[str, dict[str, str]] = {}
    for of, labeler, column in pairs:
        by.setdefault(of, {})[labeler] = column
    sets = {of: frozenset(one for one in people if not is_expert(one)) for of, people in by.items()}
    listed = list(sets.values())
    shared = max(listed, key=lambda people: (len(people) > 1, listed.count(people), len(people)), default=frozenset())
    known = any(map(is_labeler, shared))
    criteria = [of for of, people in sets.items() if people == shared or (known and people > shared)]
    if len(shared) < 2 or len(criteria) < 2:
        return None
    people = tuple(dict.fromkeys(one for of in criteria for one in by[of]))
    cells = [cell for cell in pairs if cell[0] in criteria]
    if any(map(is_labeler, criteria)) and not any(map(is_labeler, people)):
        turned = tuple((labeler, of, column) for of, labeler, column in cells)
        return Grid(people, tuple(criteria), turned)
    return Grid(tuple(criteria), people, tuple(cells))
