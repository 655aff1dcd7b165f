"""A page on the terminal. It lays out and colors what it is given, and computes nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from hero_eval.cli.blocks import Block, Facts, Heading, Line, Page, Remarks, Table
from hero_eval.cli.habits import how_much
from hero_eval.findings import Finding, importance
from hero_eval.phrasing import TO_DO, count, printable

TEXT_WIDTH = 80
NARROWEST = 8
"""What is left of a name at the least."""

ASCII = str.maketrans({"…": "...", "±": "+-", "–": "-", "─": "-", "├": "|", "┤": "|", "●": "o", "┊": ":", "┼": "+"})
GAP = "  "


class Screen(Console):
    """Stdout: plain text unless it is a terminal."""

    def __init__(self) -> None:
        super().__init__(
            file=sys.stdout,
            force_terminal=sys.stdout.isatty(),
            highlight=False,
            markup=False,
            emoji=False,
        )

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    @property
    def speaks_unicode(self) -> bool:
        return self.encoding.startswith("utf")

    def spell(self, text: str) -> str:
        """The text in characters that this screen has and that do not steer it."""
        safe = printable(text)
        return safe if self.speaks_unicode else safe.translate(ASCII)

    def cut(self, text: str, width: int) -> str:
        ellipsis = "…" if self.speaks_unicode else "..."
        if cell_len(text) <= width:
            return text
        return set_cell_size(text, width - len(ellipsis)).rstrip() + ellipsis


def show(page: Page) -> None:
    """Write a page to stdout, with a blank line between blocks."""
    screen = Screen()
    for position, block in enumerate(_the_answer(page) if how_much().quiet else page):
        if position:
            screen.print()
        _show_block(screen, block)


def _show_block(screen: Screen, block: Block) -> None:
    match block:
        case Heading(text):
            _write(screen, text, style="bold cyan")
        case Line(text, whole=True):
            _print_line(screen, Text(screen.spell(text)))
        case Line(text, strong):
            _write(screen, text, style="bold" if strong else "")
        case Facts(rows):
            room = max((cell_len(screen.spell(name)) for name, _ in rows), default=0)
            for name, value in rows:
                _write(screen, value, lead=_pad(screen.spell(name), room) + GAP, lead_style="dim")
        case Remarks():
            _show_remarks(screen, block)
        case Table():
            _show_table(screen, block)


MOST_FINDINGS = 3
"""Those that are shown unless all are asked for."""


def _the_answer(page: Page) -> Page:
    """What is left of a page where only the answer is wanted; warnings are still named."""
    strong = [
        block
        for block, after in zip(page, [*page[1:], None], strict=True)
        if isinstance(block, Table)
        or (isinstance(block, Heading) and isinstance(after, Table))
        or (isinstance(block, Line) and (block.strong or block.whole))
    ]
    codes = [
        finding.code
        for block in page
        if isinstance(block, Remarks)
        for finding, _ in block.findings
        if finding.severity == "warning"
    ]
    told = sorted(set(codes), key=codes.index)
    warned: Page = [Line(f"{count(len(told), 'warning')}: {', '.join(told)}")] if told else []
    kept: Page = [*strong] or [block for block in page if not isinstance(block, Remarks)]
    return kept + warned


def _show_remarks(screen: Screen, block: Remarks) -> None:
    ordered = sorted(block.findings, key=lambda one: importance(one[0]))
    told = [(finding, whom, 0) for finding, whom in ordered] if how_much().verbose else _once_each(ordered)
    shown = told if how_much().verbose else told[:MOST_FINDINGS]
    room = max((len(finding.severity) for finding, _, _ in shown), default=0)
    for finding, whom, alike in shown:
        lead = f"{finding.severity:<{room}} {finding.code}{GAP}"
        text = f"{whom}: {finding.fact}" if whom else finding.fact
        text += f" (and {alike} more like it: --verbose)" if alike else ""
        _write(screen, text, lead=lead, lead_style="yellow" if finding.severity == "warning" else "dim")
        _write(screen, f"{TO_DO} {finding.action}", style="dim", lead=" " * cell_len(lead))
    rest = told[len(shown) :]
    if rest:
        warnings = sum(finding.severity == "warning" for finding, _, _ in rest)
        which = f", of which {count(warnings, 'warning')}" if warnings else ""
        codes = ", ".join(finding.code for finding, _, _ in rest)
        _write(screen, f"{len(rest)} more{which} ({codes}): --verbose", style="dim")


def _once_each(ordered: Sequence[tuple[Finding, str]]) -> list[tuple[Finding, str, int]]:
    """Findings of one code in one line: the first, and how many there are besides."""
    by_code: dict[str, list[tuple[Finding, str]]] = {}
    for finding, whom in ordered:
        by_code.setdefault(finding.code, []).append((finding, whom))
    return [(*found[0], len(found) - 1) for found in by_code.values()]


def _write(screen: Screen, text: str, style: str = "", lead: str = "", lead_style: str = "") -> None:
    """A paragraph of at most 80 columns, its later lines indented by the width of `lead`."""
    indent = cell_len(lead)
    room = max(20, min(screen.width, TEXT_WIDTH) - indent)
    for position, line in enumerate(Text(screen.spell(text), style).wrap(screen, room)):
        line.rstrip()
        start = Text(lead, lead_style) if not position else Text(" " * indent)
        _print_line(screen, start + line)


def _show_table(screen: Screen, block: Table) -> None:
    cells = [[screen.spell(cell) for cell in row] for row in block.rows]
    names = [screen.spell(column.name) for column in block.columns]
    widths = _widths(block, [names, *cells], screen.width)

    def line(row: Sequence[str], style: str = "") -> None:
        fitted = (
            _pad(screen.cut(cell, width), width, column.align)
            for cell, width, column in zip(row, widths, block.columns, strict=True)
        )
        _print_line(screen, Text(GAP.join(fitted).rstrip(), style))

    line(names, "bold")
    _print_line(screen, Text(screen.spell("─" * (sum(widths) + len(GAP) * (len(widths) - 1))), "dim"))
    for position, row in enumerate(cells):
        if position and position in block.breaks:
            screen.print()
        line(row)


def _print_line(screen: Screen, text: Text) -> None:
    screen.print(text, soft_wrap=True)


def _pad(text: str, width: int, align: str = "left") -> str:
    space = " " * (width - cell_len(text))
    return space + text if align == "right" else text + space


def _widths(block: Table, rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Every column as wide as its contents, except that names give way."""
    widths = [max(cell_len(row[position]) for row in rows) for position in range(len(block.columns))]
    yielding = [position for position, column in enumerate(block.columns) if column.cut]
    while yielding and sum(widths) + len(GAP) * (len(widths) - 1) > room:
        widest = max(yielding, key=lambda position: widths[position])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths
