"""A page as its reader has it: its tags and its words."""

from __future__ import annotations

from html.parser import HTMLParser


class PageText(HTMLParser):
    """The tags of a page in their order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.see(tag, dict(attrs))

    def see(self, tag: str, given: dict[str, str | None]) -> None:
        """What a test wants to know of a tag."""

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())
