"""What experts are shown: which columns of the items and how, from names and types, as a form proposes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hero_eval.any_round import GOLD_PROBABILITY
from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.vote_table import PAIR
from hero_eval.name_lists import mapping, names
from hero_eval.store.contents import columns_by_batch
from hero_eval.store.log import Entry
from hero_eval.store.vote_rounds import ITEM
from hero_eval.web.item_view import KINDS

MOST_COUNT = 2_000
WAYS = ("routed", "random")
LONGEST_QUESTION = 2_000

_PICTURE = re.compile(r"(^|_)(image|images|picture|photo|img|thumbnail|screenshot)(_|$|path|file|url)", re.I)
_LINK = re.compile(r"(^|_)(url|uri|link|href)(_|$)", re.I)
_SWAYS = re.compile(
    r"(^|_)(model|system|label|labels|labeler|judge|vendor|score|rating|gold|answer_key|version)(_|$)", re.I
)
"""Columns that could tell an expert what others said, or whose work it is."""
_ANSWER = "(answer|response|output|completion|text|candidate|image|picture|photo|img|conversation)"
_SIDE = {
    "side A": re.compile(rf"^({_ANSWER}_?(a|1|left)|a|left)$", re.I),
    "side B": re.compile(rf"^({_ANSWER}_?(b|2|right)|b|right)$", re.I),
}


def item_columns(entry: Entry) -> dict[str, str]:
    """The columns of a round's items and their types; of votes those besides the models."""
    found: dict[str, str] = {}
    for columns in columns_by_batch(entry.columns, entry.round).values():
        found |= {one[0]: one[1] for one in columns}
    never = (*PAIR, ITEM) if entry.is_votes else (GOLD_PROBABILITY,)
    return {name: kind for name, kind in found.items() if name not in never}


def proposed_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """A way to show each column: text unless it is a number, or could sway."""
    found = {name: _proposed(name, kind) for name, kind in columns.items()}
    sides = {side: [name for name in found if looks.match(name)] for side, looks in _SIDE.items()}
    if all(len(of) == 1 for of in sides.values()):
        found |= {of[0]: side for side, of in sides.items()}
    return found


def _proposed(name: str, kind: str) -> str:
    if "string" not in kind and "dictionary" not in kind:
        return "hidden"
    if _SWAYS.search(name):
        return "hidden"
    if _PICTURE.search(name):
        return "image"
    return "link" if _LINK.search(name) else "markdown"


def queue_request(said: Mapping[str, str], columns: Sequence[str]) -> dict[str, Any]:
    """What a form, or a call, asks for, checked: how many items, how they are drawn and shown; E527, E201."""
    count = _whole("count", said.get("count") or "30", 1, MOST_COUNT)
    twice = _whole("twice", said.get("twice") or "10", 0, 100)
    seed = _whole("seed", said.get("seed") or "0", 0, 2**31 - 1)
    way = said.get("way") or WAYS[0]
    if way not in WAYS:
        raise wrong("E201", f"way is {way!r}. Known: {', '.join(WAYS)}")
    shown = {name: said[f"show {name}"] for name in columns if said.get(f"show {name}")}
    unknown = sorted({kind for kind in shown.values() if kind not in KINDS})
    if unknown:
        raise wrong("E201", f"a column is shown as {name_some(unknown)}. Known: {', '.join(KINDS)}")
    sides = [[name for name, kind in shown.items() if kind == side] for side in ("side A", "side B")]
    if any(len(of) > 1 for of in sides) or len(sides[0]) != len(sides[1]):
        raise wrong("E527", "two answers side by side need one column that is side A and one that is side B")
    texts = mapping("answers has", names("answers", said.get("answers") or None) or ())
    return {
        "count": count,
        "twice": twice / 100,
        "seed": seed,
        "way": way,
        "columns": {name: kind for name, kind in shown.items() if kind != "hidden"},
        "classes": list(names("classes", said.get("classes") or None) or ()),
        "names": texts,
        "question": (said.get("question_text") or "").strip()[:LONGEST_QUESTION],
    }


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not text.strip().isdecimal() or not least <= int(text) <= most:
        raise wrong("E201", f"{name} is {text[:40]!r}. It is a whole number from {least:,} to {most:,}")
    return int(text)
