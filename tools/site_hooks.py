"""What the site needs beyond the pages in docs: the pages at the top of the repository, and formulas without a script.

MkDocs calls these functions while it builds; `mkdocs.yml` names this file.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
TOP_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
DOWNLOADS = ("LICENSE", "examples/*.ipynb", "examples/*.py", "examples/*.sh", "examples/*.yml")

_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_OUTSIDE = "https://unpkg.com/"
_SEARCH = 'data-md-component="search" role="dialog"'
_CELL_BAR = re.compile(r"`[^`\n]*\\\|[^`\n]*`")


def on_files(files: Any, config: Any) -> Any:
    """The top pages, and files that pages link to, become part of the site."""
    for source, page in TOP_PAGES.items():
        text = moved_links((ROOT / source).read_text(encoding="utf-8"), ROOT)
        files.append(File.generated(config, page, content=text))
    for pattern in DOWNLOADS:
        for path in sorted(ROOT.glob(pattern)):
            place = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_known: Any) -> str:
    text = markdown if page.file.src_uri in TOP_PAGES.values() else moved_links(markdown, ROOT / "docs")
    # in a table a bar within code is escaped for others; here that would show
    return _CELL_BAR.sub(lambda found: found[0].replace("\\|", "|"), text)


def on_page_content(content: str, **_known: Any) -> str:
    """Formulas become MathML, which browsers show by themselves."""
    return _FORMULA.sub(_as_mathml, content)


def _as_mathml(found: re.Match[str]) -> str:
    display = "block" if found[1] == "div" else "inline"
    return str(convert(html.unescape(found[2]).strip(), display=display))


def on_post_page(output: str, **_known: Any) -> str:
    """What the theme leaves without a name gets one for those who listen to the page."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')


def on_post_build(config: Any) -> None:
    """The theme's script would fetch parts that very old browsers, or diagrams, need; the site has neither."""
    for path in Path(config["site_dir"]).glob("assets/javascripts/*.js"):
        text = path.read_text(encoding="utf-8")
        if _OUTSIDE in text:
            path.write_text(text.replace(_OUTSIDE, "about:blank#"), encoding="utf-8")


def moved_links(markdown: str, folder: Path) -> str:
    """Links of a page in that folder of the repository, as they are from a page of the site."""

    def moved(found: re.Match[str]) -> str:
        place = (folder / found[1]).resolve()
        if not place.is_relative_to(ROOT):
            return found[0]
        name = place.relative_to(ROOT).as_posix()
        return TOP_PAGES.get(name, name.removeprefix("docs/"))

    return _LINK.sub(moved, markdown)
