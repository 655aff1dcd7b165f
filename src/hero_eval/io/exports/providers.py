"""Which models a file holds results of, before it is read: each becomes a round."""

from __future__ import annotations

from pathlib import Path

from hero_eval.io.exports.opening import open_export
from hero_eval.io.exports.promptfoo import TOOL, listed_providers


def providers_in(path: str | Path) -> list[str]:
    """The models whose results a file of promptfoo holds; none of other files."""
    opened = open_export(Path(path).expanduser())
    try:
        return listed_providers(opened) if TOOL.fits(opened) else []
    finally:
        opened.con.close()
