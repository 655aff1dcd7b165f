"""Real models ranked by judges' labels: how near is the ranking to that of gold, and do ranges of ranks hold it?

    HERO_DATA=... python benchmarks/ranking.py [--draws 2] [--rate 0.1] [--methods default hero1 majority] [--own-gold]

tqa v2's eight models, with the rounds of tqa v1 as history, and ImagenHub's models within a task, with the other tasks
as history; past rounds show a random tenth of their gold. Rankings: `default` (hero.rank without a method), `hero1`,
`majority` (hero.rank by majority vote), and `votes`: labels of the same prompt and judge for two models made into votes
(the one with the higher label wins, equal ones tie), ranked by plain Bradley-Terry. Kendall's tau is with the order of
the rounds' gold means; a range of ranks holds where it has the rank by gold, and models of equal gold share theirs.

With `--own-gold` there is no history, and the models show a random tenth of their own gold; `balanced` takes each
model's gold for itself alone, `default` lets it count for the others, too.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from real_sets import Part, find_data, parts_of
from scipy.stats import kendalltau

import hero_eval as hero
from hero_eval.round import Round

SEED = 31
RANKINGS = ("default", "hero1", "majority", "votes", "balanced")
Floats = NDArray[np.float64]
Found = tuple[Floats, NDArray[Any], NDArray[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--methods", nargs="+", choices=RANKINGS)
    parser.add_argument("--own-gold", action="store_true")
    parser.add_argument("--settings", nargs="+", default=["tqa v2", "imagenhub SC", "imagenhub PQ"])
    asked = parser.parse_args()
    methods = asked.methods or (("default", "balanced") if asked.own_gold else RANKINGS[:-1])
    warnings.simplefilter("ignore")
    print("setting       ranking   rankings  models  Kendall's tau  ranks held  all held  ranks in a range")
    for setting in asked.settings:
        rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in methods}
        for draw in range(asked.draws):
            rng = np.random.default_rng([SEED, draw])
            for currents, past in rankings(setting):
                history = [] if asked.own_gold else [part.history(rng, asked.rate) for part in past]
                golden = {part.name: part.history(rng, asked.rate) for part in currents if asked.own_gold}
                for name in methods:
                    found = ranked(name, currents, history, golden)
                    if found is not None:
                        rows[name].append(judged(found, np.array([part.truth for part in currents])))
        for name, of in rows.items():
            if of:
                n, tau, held, every, wide = np.mean(of, axis=0)
                told = f"{n:6.1f}  {tau:13.3f}  {held:10.3f}  {every:8.2f}  {wide:6.2f}"
                print(f"{setting:13} {name:9} {len(of):7}  {told}", flush=True)


def rankings(setting: str) -> Iterator[tuple[list[Part], list[Part]]]:
    """The models that are ranked together, and whose rounds are their history."""
    parts = [part.on_prompts() for part in parts_of(setting, find_data())]
    pools = sorted({part.pool for part in parts})
    if setting == "tqa v2":
        yield parts, [part.on_prompts() for part in parts_of("tqa v1", find_data())]
        return
    if setting == "tqa v1":  # with its own gold alone
        yield parts, []
        return
    for pool in pools:
        inside = [part for part in parts if part.pool == pool]
        if len(inside) >= 3:
            yield inside, [part for part in parts if part.pool != pool]


def ranked(name: str, currents: Sequence[Part], history: list[Round], golden: dict[str, Round]) -> Found | None:
    """Values, and the best and worst rank, of each model; None where the data do not support an answer."""
    try:
        if name == "votes":
            board = hero.rank_votes(derived_votes(currents))
            place = [board.models.index(part.name) for part in currents]
            return board.strengths[place], board.standing.low[place], board.standing.high[place]
        method = {"default": None, "majority": "majority_vote"}.get(name, name)
        found = hero.rank(golden or {part.name: part.current() for part in currents}, history or None, method=method)
    except hero.HeroError as error:
        if error.exit_code != 3:
            raise
        return None
    values = np.array([found[part.name].value for part in currents])
    return values, found.standing.low, found.standing.high


def derived_votes(currents: Sequence[Part]) -> pa.Table:
    """For each prompt and judge with labels for two models a vote: the higher label wins."""
    said = [
        {
            (item, judge): int(label)
            for item, judge, label in zip(
                *(part.labels[c].to_pylist() for c in ("item", "labeler", "label")), strict=True
            )
        }
        for part in currents
    ]
    rows = [
        (key[0], currents[i].name, currents[j].name, key[1], compared(said[i][key], said[j][key]))
        for i, j in combinations(range(len(currents)), 2)
        for key in sorted(said[i].keys() & said[j].keys())
    ]
    names = ("item", "model_a", "model_b", "labeler", "label")
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def compared(one: int, other: int) -> str:
    return "A" if one > other else "B" if other > one else "tie"


def judged(found: Found, truth: Floats) -> tuple[float, ...]:
    values, low, high = found
    least = np.array([1 + (truth > one).sum() for one in truth])
    most = np.array([(truth >= one).sum() for one in truth])
    held = (low <= most) & (high >= least)
    tau = float(kendalltau(values, truth).statistic)
    return float(len(truth)), tau, float(held.mean()), float(held.all()), float((high - low + 1).mean())


if __name__ == "__main__":
    main()
