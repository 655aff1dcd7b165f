"""A store that the page can show: models that get better, one labeler that drifts, and names that nobody hopes for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import hero_eval as hero

RATES = {"2026-w40": ("v4", 0.42), "2026-w42": ("v5", 0.38), "2026-w44": ("v6", 0.36), "2026-w46": ("v7", 0.20)}
LABELERS = ("ann", "bob", "cleo", "judge-a", "judge-b", "vendor-7")
SCRIPT = "<script>document.title='run'</script>"
HOSTILE = (SCRIPT, "../../../etc/passwd", "a\"b'c`d&amp;{{7*7}}", "😀🎉", "x" * 10_000)
"""Names of items and labelers; names of rounds end at 200 characters."""


def answers(
    seed: int, rate: float, n_items: int = 240, careless: bool = False, labelers: tuple[str, ...] = LABELERS
) -> tuple[pa.Table, pa.Table]:
    """Labels and gold of a round: three labels an item, gold on two items of five."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < rate).astype(int)
    skill = np.linspace(0.78, 0.93, len(labelers))
    if careless:
        skill[-1] = 0.55
    rows = []
    for item in range(n_items):
        for who in rng.choice(len(labelers), 3, replace=False):
            said = truth[item] if rng.random() < skill[who] else 1 - truth[item]
            rows.append((f"p{item:03d}", labelers[who], str(said)))
    labels = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("item", "labeler", "label"))})
    known = np.flatnonzero(rng.random(n_items) < 0.4)
    gold = pa.table({"item": [f"p{item:03d}" for item in known], "gold": [str(truth[item]) for item in known]})
    return labels, gold


def fill(place: Path) -> hero.Store:
    """Four rounds of four models; the last has no gold yet; `vendor-7` is careless in the third."""
    store = hero.create_store(place)
    who = pa.table({"labeler": ["judge-a", "judge-b"], "model": ["gpt-x", "gpt-y"], "prompt": ["p1", "p1"]})
    for seed, (name, (model, rate)) in enumerate(RATES.items()):
        labels, gold = answers(seed, rate, careless=name == "2026-w44")
        is_last = name == "2026-w46"
        given = {"labelers": who, "model": model, "question": "defect"}
        store.add(labels, round=name, gold=None if is_last else gold, **given)
    return store


def fill_hostile(place: Path) -> hero.Store:
    """Two rounds whose every name is an attack."""
    store = hero.create_store(place)
    for number, (name, model) in enumerate(((f"2026-01 {SCRIPT}", HOSTILE[2]), ("2026-02 ../../../etc", "😀" * 60))):
        labels, gold = answers(number, 0.4, 60, labelers=HOSTILE)
        items = pa.array([f"{HOSTILE[place % 5][:200]}{item}" for place, item in enumerate(labels["item"].to_pylist())])
        renamed = dict(zip(labels["item"].to_pylist(), items.to_pylist(), strict=True))
        labels = labels.set_column(0, "item", pa.array([renamed[item] for item in labels["item"].to_pylist()]))
        gold = gold.set_column(0, "item", pa.array([renamed[item] for item in gold["item"].to_pylist()]))
        store.add(labels, round=name, gold=gold, model=model, question=SCRIPT)
    return store


def csv_of(table: pa.Table) -> str:
    """A table as a file that somebody uploads."""
    rows = table.to_pylist()
    return "\n".join([",".join(table.column_names), *(",".join(row.values()) for row in rows)]) + "\n"
