"""A page as Markdown: the same blocks, written down."""

from __future__ import annotations

from hero_eval.cli.blocks import Block, Facts, Heading, Line, Page, Remarks, Table
from hero_eval.escaping import code_spans, escape, row
from hero_eval.phrasing import TO_DO, printable


def write(title: str, page: Page) -> str:
    return "\n\n".join([f"# {escape(title)}", *(_block(block) for block in page)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {escape(text)}"
        case Line(text, strong):
            return f"**{escape(text)}**" if strong else escape(text)
        case Facts(rows):
            return "\n".join(f"- {escape(name)}: {escape(value)}" for name, value in rows)
        case Remarks(findings):
            return "\n".join(
                f"- {finding.severity} `{finding.code}` "
                + escape(f"{whom}: {finding.fact}." if whom else f"{finding.fact}.")
                + f" {TO_DO} {code_spans(finding.action)}"
                for finding, whom in findings
            )
        case Table():
            return _table(block)


def _table(block: Table) -> str:
    """The table without its charts, and the charts, which need letters of one width, below it."""
    shown = [position for position, column in enumerate(block.columns) if not column.chart]
    lines = [
        row([block.columns[position].name for position in shown]),
        row(["---:" if block.columns[position].align == "right" else ":---" for position in shown], raw=True),
        *(row([cells[position] for position in shown]) for cells in block.rows),
    ]
    charts = [position for position, column in enumerate(block.columns) if column.chart]
    return "\n".join(lines) + "".join(f"\n\n{_chart(block, position)}" for position in charts)


def _chart(block: Table, position: int) -> str:
    room = max(len(cells[0]) for cells in block.rows)
    rows = [f"{printable(cells[0]):<{room}}  {cells[position]}".rstrip() for cells in block.rows]
    return "\n".join(["```text", f"{'':<{room}}  {block.columns[position].name}", *rows, "```"])
