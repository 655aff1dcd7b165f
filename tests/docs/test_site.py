"""The site: it builds without a warning, holds all pages, and asks no other host for anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from repository import DOCS

pytestmark = pytest.mark.slow  # a server or a site is made first

PAGES = ("index", "contributing", "changelog", *sorted(page.stem for page in DOCS.glob("*.md")))
LOADS = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
}


class Loaded(HTMLParser):
    """What a page loads, and its own anchors."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.places: list[str] = []
        self.styles: list[str] = []
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.places += [known[name] or "" for name in LOADS.get(tag, ()) if known.get(name)]
        self.styles += [known["style"] or ""] if known.get("style") else []
        self.anchors |= {known["id"] or ""} if known.get("id") else set()
        self.links += [known["href"] or ""] if tag == "a" and known.get("href") else []


def outside(place: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", place.strip(), flags=re.IGNORECASE))


def test_every_page_is_there(built_site: Path) -> None:
    """A page that is written but not on the site is not read."""
    assert not [name for name in PAGES if not (built_site / f"{name}.html").exists()]


def test_no_page_asks_another_host(built_site: Path) -> None:
    """Whoever reads the pages without a network would see a broken site, and others would be watched."""
    for path in sorted(built_site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        found = Loaded(text)
        assert not [place for place in found.places if outside(place)], path.name
        assert not [one for one in [*found.styles, *re.findall(r"<style.*?</style>", text, re.DOTALL)] if asks(one)]


def asks(style: str) -> bool:
    """Whether a style loads something from elsewhere; what stands in a data: address is no request."""
    plain = re.sub(r'url\(\s*(["\']?)data:.*?\1\s*\)', "", style, flags=re.DOTALL)
    return bool(re.search(r"(?:url\(|@import)\s*[\"']?(?:[a-z]+:)?//", plain, flags=re.IGNORECASE))


def test_no_style_or_script_asks_another_host(built_site: Path) -> None:
    """A font or a script from elsewhere would be loaded by a style or script of the theme."""
    for path in sorted(built_site.rglob("*.css")):
        assert not asks(path.read_text(encoding="utf-8")), path.name
    for path in sorted(built_site.rglob("*.js")):
        assert not re.search(r"https?://[\w.]*(?:unpkg|jsdelivr|cdnjs|googleapis)", path.read_text(encoding="utf-8"))


def test_the_guard_against_other_hosts_works() -> None:
    """A test that lets everything through would be worse than none."""
    page = '<script src="https://a.b/c.js"></script><img src="//a.b/c.png"><link href="x.css"><a href="https://a.b">'
    assert [outside(place) for place in Loaded(page).places] == [True, True, False]
    assert asks("@import 'https://a.b/c.css';")
    assert asks("src: url(//a.b/c.woff)")
    assert not asks("background: url(\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'>\")")


def test_every_link_leads_somewhere(built_site: Path) -> None:
    """A link within the site, to a page, a place on it, or a file, must not end in nothing."""
    pages = {path: Loaded(path.read_text(encoding="utf-8")) for path in sorted(built_site.glob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":  # served at any address, so that its links start at the top
            continue
        for link in page.links:
            if outside(link) or link.startswith("mailto:"):
                continue
            name, _, anchor = link.partition("#")
            there = (path.parent / name).resolve() if name else path
            there = there / "index.html" if there.is_dir() else there
            assert there.exists(), f"{path.name}: {link}"
            if anchor and there in pages:
                assert anchor in pages[there].anchors, f"{path.name}: {link}"


def test_formulas_are_shown_without_a_script(built_site: Path) -> None:
    """Formulas would be shown as TeX, or need a script from elsewhere."""
    text = (built_site / "method.html").read_text(encoding="utf-8")
    assert text.count("<math") > 100
    assert "arithmatex" not in text
    body = re.sub(r"<(pre|code|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r"\$[^$<>]*\\[a-z]+[^$<>]*\$", body)


def test_lists_are_lists(built_site: Path) -> None:
    """Markdown that other readers take for a list must be one here too."""
    for path in sorted(built_site.glob("*.html")):
        found = re.findall(r"<p>[^<]*\n[-*] .*", path.read_text(encoding="utf-8"))
        assert not found, f"{path.name}: {found[:2]}"
