"""Items may hold anything. What an expert sees of them runs nothing and fetches nothing."""

from __future__ import annotations

import struct
from html.parser import HTMLParser
from pathlib import Path

import pytest
from gold_store import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples

from hero_eval.errors import HeroError
from hero_eval.web.item_view import KINDS, is_address, shown, shown_side
from hero_eval.web.picture_files import dimensions, kind_of, picture_path, read_picture

TAGS = frozenset(
    "div p a em strong code pre ul ol li h4 h5 h6 hr br blockquote table thead tbody tr th td small".split()  # noqa: SIM905
)


class Found(HTMLParser):
    """Tags and attributes as a browser would meet them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


def check(text: str) -> None:
    for tag, attributes in Found(text).tags:
        assert tag in TAGS, tag
        for name, value in attributes.items():
            assert name in ("class", "dir", "href", "rel", "target", "start"), name
            if name == "href":
                assert value.lower().startswith(("http://", "https://", "mailto:")), value


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(kind: str, text: str) -> None:
    """An item could run a script as the expert, and answer in their name."""
    check(str(shown(kind, text)))
    check(str(shown(kind, f"| a | b |\n|:--|--:|\n| {text} | c |\n")))


PIECES = (
    *HOSTILE,
    "[",
    "](",
    ")",
    "<",
    ">",
    "`",
    "\n",
    "# ",
    "> ",
    "- ",
    "|",
    "\\",
    "&#106;avascript:",
    "javascript:",
    "x",
)


@pytest.mark.slow
@examples(40)
@given(parts=st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12), kind=st.sampled_from(KINDS[1:]))
def test_whatever_is_put_together(parts: list[str], kind: str) -> None:
    """Some combination could get past what each of its parts does not."""
    check(str(shown(kind, "".join(parts))))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[" * 20_000, "> " * 9_000, "*a" * 12_000, "`" * 25_000, "- " * 9_000, "a" * 10**6])
def test_no_text_takes_long(text: str) -> None:
    """One item could hold up the server for all."""
    import time

    start = time.process_time()
    shown("markdown", text)
    assert time.process_time() - start < 3.0


def test_markdown_is_rendered_and_data_left_out() -> None:
    """An expert would read stars instead of stress, or pages of letters."""
    html = str(
        shown("markdown", "# Title\n\nsome **stress** and [a link](https://example.org/x)\n\n![p](https://e.org/p.png)")
    )
    assert "<h4>Title</h4>" in html
    assert "<strong>stress</strong>" in html
    assert 'href="https://example.org/x" rel="noopener noreferrer nofollow" target="_blank"' in html
    assert "<img" not in html
    assert "not shown" in str(shown("text", HOSTILE[5]))
    assert "&lt;b&gt;" in str(shown("text", "<b>"))


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("https://example.org/a?b=c#d", True),
        ("http://localhost:80/", True),
        ("mailto:a@example.org", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        ("data:text/html,x", False),
        ("//example.org", False),
        ("https://", False),
        ("https://exa mple.org", False),
        ("https://e.org/\u202e", False),
        ("https://[::1", False),
    ],
)
def test_addresses(value: str, is_one: bool) -> None:
    """A link could lead to a script."""
    assert is_address(value) is is_one


# Pictures


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0" + b"\0" * 20


def jpeg(width: int, height: int) -> bytes:
    other = b"\xff\xe0" + struct.pack(">H", 16) + b"\0" * 14
    return b"\xff\xd8" + other + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\0" * 20


WEBP = {
    "VP8X": b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
    "VP8L": b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 4 + b"\x2f" + (639 | 479 << 14).to_bytes(4, "little"),
    "VP8 ": b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640, 480),
}


@pytest.mark.parametrize(
    "data", [png(640, 480), jpeg(640, 480), b"GIF89a" + struct.pack("<HH", 640, 480), *WEBP.values()]
)
def test_the_size_of_a_picture_is_read_from_its_head(data: bytes) -> None:
    """A small file that unpacks to gigabytes would be sent to every expert's browser."""
    kind = kind_of(data)
    assert kind is not None
    assert dimensions(data, kind) == (640, 480)


def test_only_pictures_of_the_folder_are_sent(tmp_path: Path) -> None:
    """Items could name any file of the server."""
    folder = tmp_path / "pictures"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.png").write_bytes(png(10, 10))
    (tmp_path / "secret.png").write_bytes(png(10, 10))
    (folder / "way.png").symlink_to(tmp_path / "secret.png")
    assert picture_path(str(folder), "sub/a.png") == folder / "sub" / "a.png"
    for name in ("../secret.png", "way.png", "sub", "", "https://example.org/a.png", "a\\b.png", "x" * 600, "a\0b"):
        assert picture_path(str(folder), name) is None
    assert picture_path(str(folder), str(tmp_path / "secret.png")) is None
    assert picture_path(None, "sub/a.png") is None


def test_a_side_never_shows_the_name_of_its_picture() -> None:
    """The folder of a picture is often the model's name: whoever reads it is no judge."""
    assert 'src="/gold/image"' in shown_side("gpt/1.png", "Left", "/gold/image")
    for name in ("gpt/1.png", " gpt/of 1.JPEG\n", "gpt/1.svg"):
        assert "gpt" not in shown_side(name, "Left", None)
        assert "gpt" not in shown_side(name, "Left", "/gold/image")
    for text in ("I would draw gpt.png,\nbut cannot.png", "a <script>gpt</script>", "see https://e.org/gpt.png"):
        made = shown_side(text, "Left", None)
        assert "gpt" in made
        assert "<script" not in made


def test_what_is_no_picture_or_too_large_is_not_sent(tmp_path: Path) -> None:
    """An SVG can hold scripts, and a picture of 50,000 by 50,000 points ends a browser."""
    for name, data in (
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"),
        ("b.png", b"<html><script>1</script>"),
        ("c.png", png(50_000, 50_000)),
        ("d.png", png(0, 10)),
        ("e.jpg", b"\xff\xd8\xff\xe0"),
        ("f.jpg", b"\xff\xd8\xff\xe0\0\x02" + b"\0" * 10),
        ("g.png", b"\x89PNG\r\n\x1a\n"),
        ("h.png", png(10, 10) + b"\0" * 20_000_001),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(HeroError, match="E526"):
            read_picture(tmp_path / name)
