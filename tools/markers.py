"""Generated parts of a page stand between two comments: `<!-- begin NAME -->` and `<!-- end NAME -->`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def replaced(page: str, sections: Mapping[str, str]) -> str:
    """The page with these sections in the place of the old ones."""
    for name, body in sections.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"the page has no section {name!r}: {begin} and {end}")
        page = f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}"
    return page


def write(path: Path, sections: Mapping[str, str]) -> None:
    old = path.read_text(encoding="utf-8")
    path.write_text(replaced(old, sections), encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {', '.join(sections)}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """A Markdown table; `align` has an l or r for each column."""
    marks = [":---" if side == "l" else "---:" for side in align.ljust(len(head), "l")]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "|".join(marks) + "|", *lines[1:]])
