"""What an expert sees of an item. Whatever it holds, nothing of it runs and nothing of it is fetched from elsewhere.

Text is text. Markdown is rendered with HTML taken as text and pictures taken as links. A link is one that a reader may
follow: http, https or mailto, shown with its whole address. A picture is shown only from the folder that the server was
started with; the page's policy (`security.POLICY`) would let nothing else through anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from hero_eval.web.picture_files import names_picture

KINDS = ("hidden", "text", "markdown", "image", "link", "side A", "side B")
"""How a column can be shown; the two sides are Markdown or pictures, next to each other in random order."""

LONGEST_TEXT = 100_000
LONGEST_MARKDOWN = 30_000
"""Characters; a longer text is shown as it is, since what Markdown makes of it takes long."""

LONGEST_ADDRESS = 2_000


@dataclass(frozen=True)
class ShownPart:
    """A column of an item as markup that we made."""

    name: str
    kind: str
    html: Markup


def shown_parts(
    contents: Mapping[str, Any], columns: Mapping[str, str], picture: Any, kinds: Sequence[str] = KINDS[1:5]
) -> list[ShownPart]:
    """The columns of an item that are shown in these ways; `picture` gives a column's address of a picture, or None."""
    parts = []
    for name, kind in columns.items():
        value = contents.get(name)
        if kind in kinds and value is not None and str(value).strip():
            parts.append(ShownPart(name, kind, shown(kind, str(value), name, picture(name))))
    return parts


def shown(kind: str, value: str, name: str = "", picture: str | None = None) -> Markup:
    """One value in its way; whatever does not fit the way is shown as text."""
    if kind == "link":
        return _link(value.strip()) or as_text(value)
    if kind == "image":
        if picture is not None:
            return _picture(picture, name)
        linked = _link(value.strip())
        return (
            Markup("{} <small>(pictures elsewhere are not loaded)</small>").format(linked) if linked else as_text(value)
        )
    if kind in ("markdown", "side A", "side B") and len(value) <= LONGEST_MARKDOWN:
        # html is off, so what comes out is made of markdown-it's own tags and escaped text
        return Markup('<div class="markdown" dir="auto">{}</div>').format(Markup(_markdown().render(value)))
    return as_text(value)


def shown_side(value: str, side: str, picture: str | None) -> Markup:
    """One of two answers: a picture, or Markdown. The name of a file may tell whose work it is, and is never shown."""
    if picture is not None:
        return _picture(picture, side)
    if names_picture(value):
        return Markup("<small>(a picture that the server does not have)</small>")
    return shown("side A", value)


def _picture(address: str, name: str) -> Markup:
    made = '<a href="{}" target="_blank"><img class="picture" src="{}" alt="{}" loading="lazy"></a>'
    return Markup(made).format(address, address, f"Picture: {name}")


def as_text(value: str) -> Markup:
    """The text as it is, its lines kept; a very long one is cut, and says so."""
    if is_data(value):
        return Markup("<small>(data of {} characters, not shown)</small>").format(f"{len(value):,}")
    cut = value[:LONGEST_TEXT]
    more = f"… cut: {LONGEST_TEXT:,} of {len(value):,} characters are shown" if len(value) > LONGEST_TEXT else ""
    note = Markup("<p><small>{}</small></p>").format(more) if more else Markup("")
    return Markup('<div class="text" dir="auto">{}</div>{}').format(cut, note)


def is_data(value: str) -> bool:
    """A file written out as an address, which nobody can read."""
    return value[:5].lower() == "data:" and len(value) > 200 and " " not in value[:200]


def is_address(value: str) -> bool:
    """Whether a reader may be led there."""
    if len(value) > LONGEST_ADDRESS or not value.isprintable() or any(sign in value for sign in " \"'<>`\\"):
        return False
    try:
        parts = urlsplit(value)
        return (parts.scheme in ("http", "https") and bool(parts.hostname)) or (
            parts.scheme == "mailto" and "@" in parts.path
        )
    except ValueError:
        return False


def _link(value: str) -> Markup | None:
    if not is_address(value):
        return None
    return Markup('<a href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>').format(value, value)


@lru_cache(maxsize=1)
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 12}).enable("table")
    made.disable(["image", "html_block", "html_inline"])
    setattr(made, "validateLink", is_address)  # noqa: B010  (mypy takes it for a method)

    def link_open(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        tokens[at].attrSet("rel", "noopener noreferrer nofollow")
        tokens[at].attrSet("target", "_blank")
        return str(renderer.renderToken(tokens, at, options, env))

    def heading(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        """Below the headings of the page."""
        tokens[at].tag = f"h{min(int(tokens[at].tag[1]) + 3, 6)}"
        return str(renderer.renderToken(tokens, at, options, env))

    def cell(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        """Without a style, which the page's policy forbids."""
        tokens[at].attrs.pop("style", None)
        return str(renderer.renderToken(tokens, at, options, env))

    made.add_render_rule("th_open", cell)
    made.add_render_rule("td_open", cell)
    made.add_render_rule("link_open", link_open)
    made.add_render_rule("heading_open", heading)
    made.add_render_rule("heading_close", heading)
    return made
