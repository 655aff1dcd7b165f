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


def fill(place: Path, n_rounds: int = 3, n_items: int = 240) -> hero.Store:
    """The last rounds of as many models; the very last has no gold yet; `vendor-7` is careless in the one before."""
    store = hero.create_store(place)
    who = pa.table({"labeler": ["judge-a", "judge-b"], "model": ["gpt-x", "gpt-y"], "prompt": ["p1", "p1"]})
    for seed, (name, (model, rate)) in list(enumerate(RATES.items()))[-n_rounds:]:
        labels, gold = answers(seed, rate, n_items, careless=name == "2026-w44")
        is_last = name == "2026-w46"
        given = {"labelers": who, "model": model, "question": "defect"}
        store.add(labels, round=name, gold=None if is_last else gold, **given)
    return store


def add_hostile(store: hero.Store) -> list[str]:
    """Two rounds, older than all others, whose every name is an attack; their names."""
    given = ((f"2018-01 {SCRIPT}", HOSTILE[2]), ("2018-02 ../../../etc", "😀" * 60))
    for number, (name, model) in enumerate(given):
        labels, gold = answers(number, 0.4, 60, labelers=HOSTILE)
        names = {f"p{item:03d}": f"{HOSTILE[item % 5]}{item}" for item in range(60)}
        tables = [
            table.set_column(0, "item", pa.array([names[item] for item in table["item"].to_pylist()]))
            for table in (labels, gold)
        ]
        store.add(tables[0], round=name, gold=tables[1], model=model, question=SCRIPT)
    return [name for name, _ in given]


def csv_of(table: pa.Table) -> str:
    """A table as a file that somebody uploads."""
    rows = table.to_pylist()
    return "\n".join([",".join(table.column_names), *(",".join(row.values()) for row in rows)]) + "\n"
