"""A page as Markdown: the same blocks, written down."""

from __future__ import annotations

from collections.abc import Sequence

from hero_eval.cli.blocks import Block, Facts, Heading, Line, Page, Remarks, Table
from hero_eval.cli.guard import printable


def write(title: str, page: Page) -> str:
    return "\n\n".join([f"# {_escape(title)}", *(_block(block) for block in page)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {_escape(text)}"
        case Line(text, strong):
            return f"**{_escape(text)}**" if strong else _escape(text)
        case Facts(rows):
            return "\n".join(f"- {_escape(name)}: {_escape(value)}" for name, value in rows)
        case Remarks(findings):
            return "\n".join(
                f"- {finding.severity} `{finding.code}` "
                + _escape(f"{whom}: {finding.message}" if whom else finding.message)
                for finding, whom in findings
            )
        case Table():
            return _table(block)


def _table(block: Table) -> str:
    """The table without its charts, and the charts, which need letters of one width, below it."""
    shown = [position for position, column in enumerate(block.columns) if not column.chart]
    lines = [
        _row([block.columns[position].name for position in shown]),
        _row(["---:" if block.columns[position].align == "right" else ":---" for position in shown], raw=True),
        *(_row([row[position] for position in shown]) for row in block.rows),
    ]
    charts = [position for position, column in enumerate(block.columns) if column.chart]
    return "\n".join(lines) + "".join(f"\n\n{_chart(block, position)}" for position in charts)


def _chart(block: Table, position: int) -> str:
    room = max(len(row[0]) for row in block.rows)
    rows = [f"{printable(row[0]):<{room}}  {row[position]}".rstrip() for row in block.rows]
    return "\n".join(["```text", f"{'':<{room}}  {block.columns[position].name}", *rows, "```"])


def _row(cells: Sequence[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else _escape(cell.strip()) for cell in cells) + " |"


def _escape(text: str) -> str:
    """Keep a name such as `a|b` or `a_b` from being taken for markup."""
    safe = printable(text)
    for character in "\\`*_[]<>|#":
        safe = safe.replace(character, f"\\{character}")
    return safe
