"""Gold for stored votes: experts answer battles, two models on one item, and the answer holds for every vote on it.

Experts must not know whose answers they compare, so that a battle is called by its item and a digest of the models.
Its models are in the order of their names: an answer A means the first of them, whichever was shown first to a voter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval.io.vote_table import PAIR
from hero_eval.store.contents import StoredRows
from hero_eval.store.gold_records import GoldRecord
from hero_eval.store.vote_rounds import ITEM

BATTLE_CLASSES = ("A", "B", "tie", "both bad")
"""What an expert can say of a battle."""
_TURNED = {"A": "B", "B": "A"}
_DIGITS = 10


@dataclass(frozen=True)
class StoredBattle:
    """Two models on one item, and the votes on them.

    Attributes
    ----------
    id : str
        What it is called where nobody may know the models.
    item : str or None
        The item; None where nobody said.
    models : tuple of str
        The two, by name.
    votes : tuple of int
        The places of its votes among the stored items.
    turned : tuple of bool
        For each vote whether it showed the second of `models` first.
    has_gold : bool
        Whether a vote on it has gold.
    """

    id: str
    item: str | None
    models: tuple[str, str]
    votes: tuple[int, ...]
    turned: tuple[bool, ...]
    has_gold: bool


def battles_of(rows: StoredRows) -> list[StoredBattle]:
    """The battles of a round of votes, in the order of their ids; without an item each vote is one by itself."""
    known = set(rows.gold["item"].to_pylist())
    kept = rows.items.select(["item", ITEM, *PAIR]).to_pydict()
    found: dict[str, list[tuple[int, bool]]] = {}
    models: dict[str, tuple[str | None, tuple[str, str]]] = {}
    golden = set()
    told = enumerate(zip(*(kept[name] for name in ("item", ITEM, *PAIR)), strict=True))
    for place, (key, item, a, b) in sorted(told, key=lambda one: one[1][0]):  # files may hold them in any order
        pair = (a, b) if a <= b else (b, a)
        id = battle_id(item, pair, key)
        models[id] = (item, pair)
        found.setdefault(id, []).append((place, a != pair[0]))
        if key in known:
            golden.add(id)
    return [
        StoredBattle(id, *models[id], tuple(at for at, _ in of), tuple(turned for _, turned in of), id in golden)
        for id, of in sorted(found.items())
    ]


def battle_id(item: str | None, pair: tuple[str, str], key: str) -> str:
    """The item and a digest; of a vote that names no item the digest of the vote."""
    said = json.dumps([item, *pair] if item is not None else [key], ensure_ascii=False)
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{'vote' if item is None else item}~{digest}"


def gold_of_votes(rows: StoredRows, given: Mapping[str, GoldRecord]) -> list[tuple[str, str, str]]:
    """For each vote on an answered battle that has no gold yet: its id, the gold as its models stood, the expert."""
    keys = rows.items["item"].to_pylist()
    known = set(rows.gold["item"].to_pylist())
    found = []
    for battle in battles_of(rows):
        one = given.get(battle.id)
        if one is None or one.gold is None:
            continue
        for place, turned in zip(battle.votes, battle.turned, strict=True):
            if keys[place] not in known:
                found.append((keys[place], _TURNED.get(one.gold, one.gold) if turned else one.gold, one.expert))
    return found


def shown_of_battles(
    rows: StoredRows, battles: Sequence[StoredBattle], columns: Sequence[str], sides: tuple[str, str], longest: int
) -> dict[str, dict[str, str]]:
    """What is shown of each battle, from its first vote: the first model's answer in the first of `sides`."""
    places = [battle.votes[0] for battle in battles]
    texts: dict[str, list[Any]] = {name: rows.items[name].take(places).to_pylist() for name in columns}
    other = {sides[0]: sides[1], sides[1]: sides[0]}
    found = {}
    for at, battle in enumerate(battles):
        turned = battle.turned[0]
        told = {name: texts[other.get(name, name) if turned else name][at] for name in columns}
        found[battle.id] = {name: "" if one is None else str(one)[:longest] for name, one in told.items()}
    return found
