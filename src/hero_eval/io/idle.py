"""Answers that the caller named, as missing or to be read as others, and that nobody gave: the option did nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import Coded
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.values import MISSING, fold

if TYPE_CHECKING:
    from hero_eval.any_round import AnyRound

Idle = frozenset[tuple[str, str]]
"""(option, answer) for each; ("gold", column) for a column of gold that is not there."""


def idle_answers(options: ReadOptions, columns: Iterable[Coded | None]) -> Idle:
    """What `missing` and `map` name and these columns of answers do not have."""
    there = [one for one in columns if one is not None]
    aside = {fold(text) for one in there for text in one.aside} | {fold(text) for text in MISSING}
    mapped = {text for one in there for text in one.mapped}
    unsaid = {("missing", one) for one in options.missing if fold(one) not in aside}
    return frozenset(unsaid | {("map", one) for one in options.mapped if fold(one) not in mapped})


def idle_gold(options: ReadOptions, found: bool) -> Idle:
    """The column of gold that was named, where there is none."""
    return frozenset() if found or "gold" not in options.columns else frozenset({("gold", options.columns["gold"])})


def idle_of(rounds: Sequence[AnyRound]) -> Idle:
    """What had no effect on any of these rounds."""
    if not rounds:
        return frozenset()
    return frozenset.intersection(*(one.idle for one in rounds))


def idle_note(idle: Idle) -> Finding | None:
    """F132 for options that did nothing; None if all did something."""
    parts = []
    for option in ("missing", "map"):
        names = sorted(one for of, one in idle if of == option)
        if names:
            parts.append(f"{option} names {name_some(names)}")
    if not parts:
        return None
    verb = "which no label and no gold is: it had no effect"
    data = {of: sorted(one for what, one in idle if what == of) for of in ("missing", "map")}
    return Finding("F132", f"{' and '.join(parts)}, {verb}", data)
