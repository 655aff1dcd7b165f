"""Pictures of items, from one folder that the server was told of. What a file is, its own first bytes say.

Only PNG, JPEG, GIF and WebP: an SVG is a document that can hold scripts. A file that is too large, or that would fill a
screen many times over when it is unpacked, is not sent.
"""

from __future__ import annotations

import struct
from pathlib import Path

from hero_eval.errors import wrong

MOST_BYTES = 20_000_000
MOST_PIXELS = 40_000_000
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp", ".tif", ".tiff", ".avif", ".heic")
"""Of pictures, those that are shown and others."""


def picture_path(folder: str | None, value: str) -> Path | None:
    """The file that a value names in the folder; None if it names none, or one outside of it."""
    text = value.strip()
    if folder is None or not text or len(text) > 500 or not text.isprintable() or "://" in text or "\\" in text:
        return None
    root = Path(folder).resolve()
    try:
        found = (root / text.lstrip("/")).resolve()
        return found if found.is_relative_to(root) and found.is_file() else None
    except (OSError, ValueError):
        return None


def names_picture(value: str) -> bool:
    """Whether a text is the name of a picture, there or not."""
    text = value.strip()
    return len(text) <= 500 and text.isprintable() and "://" not in text and text.lower().endswith(ENDINGS)


def read_picture(path: Path, called: str | None = None) -> tuple[bytes, str]:
    """Bytes and kind; E526 if it is none of those that are shown, or too large, by its name or as it is `called`."""
    name = called or repr(path.name)
    if path.stat().st_size > MOST_BYTES:
        raise wrong("E526", f"{name} has more than {MOST_BYTES // 1_000_000} MB")
    data = path.read_bytes()
    kind = kind_of(data)
    if kind is None:
        raise wrong("E526", f"{name} is no PNG, JPEG, GIF or WebP")
    try:
        width, height = dimensions(data, kind)
    except (struct.error, IndexError, ValueError) as error:
        raise wrong("E526", f"{name} is damaged: its size cannot be read") from error
    if width * height > MOST_PIXELS or not width or not height:
        raise wrong("E526", f"{name} has {width:,} x {height:,} pixels; {MOST_PIXELS:,} are shown at most")
    return data, f"image/{kind}"


def kind_of(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def dimensions(data: bytes, kind: str) -> tuple[int, int]:
    """Width and height in pixels, as the head of the file says."""
    if kind == "png":
        return struct.unpack(">II", data[16:24])
    if kind == "gif":
        return struct.unpack("<HH", data[6:10])
    return _jpeg(data) if kind == "jpeg" else _webp(data)


def _jpeg(data: bytes) -> tuple[int, int]:
    """From the start-of-frame segment, past all others."""
    at = 2
    while True:
        if data[at] != 0xFF:
            raise ValueError("no segment")
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]


def _webp(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if form == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + ((bits >> 14) & 0x3FFF)
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF
