"""Tables of side-by-side votes for tests."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

import hero_eval as hero

MODELS = np.array(["v", "w", "x", "y"])


def make_votes(seed: int, n: int = 240, gold: float = 0.3, start: int = 0) -> pd.DataFrame:
    """Two votes on each item, by three labelers of whom one errs often; every tenth says that both are bad."""
    rng = np.random.default_rng(seed)
    strength = np.array([0.9, 0.3, -0.3, -0.9])
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    better = rng.random(n) < 1 / (1 + np.exp(strength[b] - strength[a]))
    who = rng.integers(0, 3, n)
    right = rng.random(n) < np.array([0.65, 0.8, 0.95])[who]
    label = np.where(better == right, "A", "B").astype(object)
    label[::10] = "both bad"
    truth = np.where(better, "A", "B").astype(object)
    truth[rng.random(n) >= gold] = None
    return pd.DataFrame(
        {
            "item": [f"i{start + k // 2}" for k in range(n)],
            "model_a": MODELS[a],
            "model_b": MODELS[b],
            "labeler": np.array(["ann", "bob", "eve"])[who],
            "label": label,
            "gold": truth,
            "category": np.where(rng.random(n) < 0.5, "code", "chat"),
            "length_a": rng.integers(10, 90, n),
            "length_b": rng.integers(10, 90, n),
        }
    )


BATTLES = "2026-w02"
"""The round whose battles experts judge."""
STRENGTHS = {"v": 1.0, "w": 0.5, "x": -0.4, "y": -1.1}


def make_battles(seed: int, n_items: int, gold: float, start: int = 0) -> tuple[pd.DataFrame, dict[str, str]]:
    """Two votes on each item's pair, half of them in the other order, with what an expert reads; and who truly won.

    The truth is in the answers, so that whoever reads them can tell; nothing in them names a model.
    """
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for number in range(start, start + n_items):
        a, b = (str(one) for one in rng.choice(MODELS, 2, replace=False))
        won = a if rng.random() < 1 / (1 + np.exp(STRENGTHS[b] - STRENGTHS[a])) else b
        item = f"i{number}"
        truth[item] = won
        known = rng.random() < gold
        for who in rng.choice(["ann", "bob", "eve"], 2, replace=False):
            first, second = (a, b) if rng.random() < 0.5 else (b, a)
            right = rng.random() < {"ann": 0.7, "bob": 0.8, "eve": 0.9}[str(who)]
            rows.append(
                {
                    "item": item,
                    "model_a": first,
                    "model_b": second,
                    "labeler": who,
                    "label": "A" if (first == won) == right else "B",
                    "gold": won if known else None,
                    "prompt": f"Question {number}?",
                    "answer_a": f"The {'better' if first == won else 'worse'} answer to {number}.",
                    "answer_b": f"The {'better' if second == won else 'worse'} answer to {number}.",
                }
            )
    return pd.DataFrame(rows), truth


def add_battles(store: hero.Store, n_items: int = 150) -> dict[str, str]:
    """A past round of votes with a little gold and a current one without; who won on each of its items."""
    store.add(make_battles(3, 40, 0.3)[0], round="2026-w01", question="chat")
    votes, truth = make_battles(4, n_items, 0.0, start=1000)
    store.add(votes, round=BATTLES, question="chat")
    return truth


def fill_with_battles(place: Path, n_items: int = 150) -> tuple[hero.Store, dict[str, str]]:
    """A store with these rounds alone, and who won."""
    store = hero.create_store(place)
    return store, add_battles(store, n_items)


def one_color(width: int, height: int, color: tuple[int, int, int]) -> bytes:
    """A PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(color) * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def fill_with_pictures(place: Path, pictures: Path, odd: dict[str, str]) -> hero.Store:
    """Battles of pictures: those of model v are wide and green, those of w tall and red. On the items in `odd` this is
    w's answer, instead of a picture."""
    sizes = {"v": (600, 300, (40, 140, 60)), "w": (300, 500, (190, 50, 40))}
    for model, (width, height, color) in sizes.items():
        (pictures / model).mkdir(parents=True)
        (pictures / model / "any.png").write_bytes(one_color(width, height, color))
    rows = []
    for number, item in enumerate([*(f"i{at}" for at in range(8)), *odd]):
        shown = {"v": "v/any.png", "w": odd.get(item, "w/any.png")}
        first, second = ("v", "w") if number % 2 else ("w", "v")
        rows.append(
            {"item": item, "model_a": first, "model_b": second, "labeler": "ann", "label": "A"}
            | {"prompt": "A **tree** in summer", "image_a": shown[first], "image_b": shown[second]}
        )
    store = hero.create_store(place)
    store.add(pd.DataFrame(rows), round=BATTLES, question="drawn")
    return store
