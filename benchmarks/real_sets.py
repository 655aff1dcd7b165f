"""Real rounds, read where HERO_DATA points: which sets there are, their rounds as tables, and who is whose history.

The data stay outside the repository. Gold is there for every item: a benchmark hides the current round's and shows a
random part of the past rounds'.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hero_eval.round import Round


@dataclass(frozen=True)
class Set:
    """One set of real rounds: a folder, which of its items, and which columns make rounds and pools of rounds.

    `prompt` is the column that is the same for the items of several models that answer one prompt.
    """

    folder: str
    only: tuple[str, str] | None
    by: str
    within: str | None = None
    prompt: str | None = None


SETS: Mapping[str, Set] = {
    "tqa v1": Set("tqa_judges", ("round", "v1"), "model", prompt="question_id"),
    "tqa v2": Set("tqa_judges", ("round", "v2"), "model", prompt="question_id"),
    "imagenhub SC": Set("imagenhub_vie", ("aspect", "SC"), "round", "task", "uid"),
    "imagenhub PQ": Set("imagenhub_vie", ("aspect", "PQ"), "round", "task", "uid"),
    "dices350": Set("dices350", None, "round"),
}


def find_data() -> Path:
    """Where the data are; FileNotFoundError with the reason if they are absent."""
    given = os.environ.get("HERO_DATA", "")
    folders = sorted({one.folder for one in SETS.values()})
    if given and all((Path(given) / folder).is_dir() for folder in folders):
        return Path(given)
    raise FileNotFoundError(f"HERO_DATA is {given!r}: no folder with {', '.join(folders)}")


@dataclass(frozen=True, eq=False)
class Part:
    """One round as tables, with all its gold."""

    name: str
    pool: str
    labels: pa.Table
    gold: pa.Table
    prompts: pa.Table | None = None

    def on_prompts(self) -> Part:
        """The same round with its items named by their prompts, as they are in rounds of other models."""
        assert self.prompts is not None, f"items of {self.name} have no prompts"
        place, prompt = self.prompts["item"].combine_chunks(), self.prompts["prompt"]

        def renamed(table: pa.Table) -> pa.Table:
            of = pc.index_in(table["item"], place)
            return table.set_column(0, "item", prompt.take(of))

        return replace(self, labels=renamed(self.labels), gold=renamed(self.gold))

    @property
    def truth(self) -> float:
        return float(pc.mean(self.gold["gold"]).as_py())

    def current(self) -> Round:
        return Round(self.labels, classes=["0", "1"], name=self.name)

    def history(self, rng: np.random.Generator, gold_rate: float) -> Round:
        """The round with each gold shown with this probability."""
        shown = self.gold.filter(pa.array(rng.random(self.gold.num_rows) < gold_rate))
        return Round(self.labels, shown if shown.num_rows else None, classes=["0", "1"], name=self.name)


@cache
def parts_of(name: str, folder: Path) -> tuple[Part, ...]:
    """The rounds of a set, in the order of their names."""
    one = SETS[name]
    labels, gold, items = (
        pq.read_table(folder / one.folder / f"{table}.parquet") for table in ("labels", "gold", "items")
    )
    if one.only is not None:
        items = items.filter(pc.equal(items[one.only[0]], one.only[1]))
    parts = []
    for key in sorted(pc.unique(items[one.by]).to_pylist()):
        rows = items.filter(pc.equal(items[one.by], key))
        own = labels.filter(pc.is_in(labels["item"], rows["item"].combine_chunks()))
        of_gold = gold.filter(pc.is_in(gold["item"], own["item"].combine_chunks())).sort_by("item")
        pool = rows[one.within][0].as_py() if one.within else ""
        tables = own.select(["item", "labeler", "label"]), of_gold.select(["item", "gold"])
        prompts = rows.select(["item", one.prompt]).rename_columns(["item", "prompt"]) if one.prompt else None
        parts.append(Part(key, pool, *tables, prompts))
    return tuple(parts)
