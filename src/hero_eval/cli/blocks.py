"""What a page is made of. A page is a list of blocks; `render` shows it on a terminal, `markdown` writes it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hero_eval.findings import Finding


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Line:
    """A paragraph; `strong` for the one sentence that matters, `whole` for what is to be copied, such as a path."""

    text: str
    strong: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Facts:
    """Names and their values, one below the other."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """`cut` lets a column of names give way when space is short; a column of numbers never does."""

    name: str
    align: Literal["left", "right"] = "right"
    cut: bool = False
    chart: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text; `breaks` are the rows before which a gap sets a group apart."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    breaks: frozenset[int] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Remarks:
    """Findings, warnings first, each with whom it concerns (such as methods) if not the whole page."""

    findings: Sequence[tuple[Finding, str]]


Block = Heading | Line | Facts | Table | Remarks
Page = list[Block]


def remarks(findings: Sequence[Finding]) -> Page:
    """The findings as a block, or nothing if there are none."""
    return [Remarks([(finding, "") for finding in findings])] if findings else []
