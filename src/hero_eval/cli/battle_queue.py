"""`hero next` on a round of votes: which battles an expert should judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hero_eval as hero
from hero_eval.cli.blocks import Column, Line, Page, Table
from hero_eval.cli.gold_views import FEW_ROWS
from hero_eval.cli.progress import Activity
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import wrong
from hero_eval.store.battle_draws import FLOOR, battle_scores, chosen_battles, open_battles

_OF_LABELS = {"target": "rate", "by": None, "floor": 0.25, "ties": "half", "a": None, "b": None, "tie": None}
"""Options of queues of items, and what they are when nobody says so."""


def drawn_battles(store: hero.Store, round: str, chosen: Mapping[str, Any], doing: Activity) -> dict[str, list[Any]]:
    """The battles to judge next, as columns of a table to which gold is added."""
    import numpy as np

    said = [name for name, usual in _OF_LABELS.items() if chosen[name] != usual]
    if said:
        raise wrong("E204", f"--{said[0]} is for rounds of labels; battles of votes are drawn by their models")
    if chosen["count"] < 1:
        raise wrong("E201", f"count is {chosen['count']!r}. It is a whole number of 1 or more")
    battles, may = open_battles(store, round)
    if not any(one.item is not None for one in battles):
        raise wrong("E529", f"the votes of round {round!r} name no item, so that their gold would find none of them")
    may = may & np.array([one.item is not None for one in battles])
    doing.say("Looking for battles that tell most")
    score = battle_scores(store, round, battles, doing.step)
    rng = np.random.default_rng([int(chosen["seed"]), 1])
    drawn, probability = chosen_battles(battles, may, score, int(chosen["count"]), rng)
    order = rng.permutation(drawn)
    return {
        "item": [battles[at].item for at in order],
        "model_a": [battles[at].models[0] for at in order],
        "model_b": [battles[at].models[1] for at in order],
        "gold_probability": [float(probability[at]) for at in order],
    }


def document(round: str, columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {"schema_version": SCHEMA_VERSION, "target": "battle queue", "round": round, "floor": FLOOR, "battles": rows}


def shown_battles(round: str, store: str, columns: Mapping[str, list[Any]], output: Path | None) -> Page:
    """The queue, the first of it where a file has all, and how its gold comes back."""
    n = len(columns["item"])
    shown = n if output is None else min(FEW_ROWS, n)
    heads = [Column(name, "left", cut=True) for name in ("item", "model_a", "model_b")]
    rows = [[*map(str, row[:3]), f"{row[3]:.4f}"] for row in list(zip(*columns.values(), strict=True))[:shown]]
    page: Page = [
        Line(f"{n} battles to judge next, of round {round} of {store}, in this order.", strong=True),
        Table([*heads, Column("gold_probability")], rows),
    ]
    if shown < n:
        page.append(Line(f"... and {n - shown} more."))
    page.append(
        Line(
            "Half of the draw goes to all battles alike, half to pairs whose ranks are open. Fill in a column gold (A, "
            f"B, tie) and add the table: hero add FILE --store {store} --round {round}. Or give gold in hero serve, "
            "where experts see the answers without the models' names."
        )
    )
    if output is not None:
        page.append(Line(f"Queue: {output}", whole=True))
    return page
