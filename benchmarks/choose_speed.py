"""Choosing a method by past rounds: do plays that share a fit, and end in time, choose as all of them do in full?

    HERO_DATA=... python benchmarks/choose_speed.py [--rates 0.1 0.3] [--draws 3] [--sets ...] [--pairs]

Every public round with three past rounds or more is asked about, and the method chosen twice: as `method=None` does it,
where plays start from the question's own fit (`estimation/shared_fits.py`) and rounds are left that cannot change the
choice (`estimation/rivals.py`), and with every play fitted from nothing. Both run one after the other in one process,
and both have the question fitted by hero3 at the end; the ratio is that of processor time. With --pairs the method for
a difference is chosen, by past pairs (`estimation/select_pairs.py`), which takes gold for most items: --rates 0.9.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from real_sets import SETS, find_data, parts_of

from hero_eval.estimation.options import Options
from hero_eval.estimation.prepare import gather_rounds
from hero_eval.estimation.replay import Quantity, analyze, replay
from hero_eval.estimation.rivals import choose_by_plays
from hero_eval.estimation.select import best_with_gold, rounds_to_play
from hero_eval.estimation.select_pairs import PairPlay, choice_of, pairs_to_play
from hero_eval.estimation.shared_fits import SharedFits
from hero_eval.model.em import EMOptions
from hero_eval.round import Round

METHODS = ("gold_proportion", "hero1", "hero3")
CLASSES = ("0", "1")
RATE = Quantity("rate", np.array([0.0, 1.0]))
LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Compared:
    """The choice by shared and by full fits, the share of rounds that were left (of pairs: how far hero3's plays lie
    apart), and the processor time of both."""

    shared: str
    full: str
    apart: float
    seconds: tuple[float, float]


def compare(current: Round, past: list[Round], played: list[int]) -> Compared:
    start = time.process_time()
    quick = best_with_gold(gather_rounds([current], past), Options())
    between = time.process_time()
    full = replay(past, played, CLASSES, [RATE], METHODS, Options())
    assert analyze([current], past, Options("hero3")).fits
    seconds = between - start, time.process_time() - between
    left = len(quick.findings[0].data["left"])
    return Compared(quick.name, choose_by_plays(full.plays, METHODS)[0], left / len(played), seconds)


def compare_pairs(past: list[Round], pairs: list[tuple[int, int]]) -> Compared:
    found, seconds = [], []
    for shared in (SharedFits(), None):
        start = time.process_time()
        play = PairPlay(past, CLASSES, RATE, Options(), EMOptions(), 0.0, ["1"], shared)
        found.append([one for pair in pairs for one in play(*pair)])
        seconds.append(time.process_time() - start)
    names = [choice_of(plays, len(pairs))[0] for plays in found]
    gaps = [abs(one.value - other.value) for one, other in zip(*found, strict=True) if one.method == "hero3"]
    return Compared(names[0], names[1], max(gaps, default=0.0), (seconds[0], seconds[1]))


def compare_all(name: str, rng: np.random.Generator, rate: float, in_pairs: bool) -> list[Compared]:
    """Every round of a set in turn, or every two of them, by those of the others that can be played."""
    parts = [part.on_prompts() if in_pairs else part for part in parts_of(name, find_data())]
    shown = {part.name: part.history(rng, rate) for part in parts}
    done = []
    for asked in combinations(parts, 2) if in_pairs else ((part,) for part in parts):
        if len({part.pool for part in asked}) > 1:
            continue
        past = [shown[one.name] for one in parts if one.pool == asked[0].pool and one not in asked]
        if in_pairs:
            pairs, _ = pairs_to_play(past, CLASSES, RATE)
            done += [compare_pairs(past, pairs)] if pairs else []
        elif len(played := rounds_to_play(past)) >= LEAST_ROUNDS:
            done.append(compare(shown[asked[0].name].without_gold(), past, played))
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--pairs", action="store_true", help="choose for differences, by past pairs")
    asked = parser.parse_args()
    warnings.simplefilter("error")
    print(f"{'set':14} {'gold':>5} {'rounds':>6} {'same choice':>11} {'left or gap':>12} {'time shared/full':>16}")
    whole: list[Compared] = []
    for name in asked.sets:
        for rate in asked.rates:
            done: list[Compared] = []
            for draw in range(asked.draws):
                rng = np.random.default_rng([17, list(SETS).index(name), round(1000 * rate), draw])
                done += compare_all(name, rng, rate, asked.pairs)
            if done:
                print(f"{name:14} {rate:5.2f} {_told(done)}", flush=True)
                whole += done
    print(f"{'all':20} {_told(whole)}")


def _told(done: list[Compared]) -> str:
    same = np.mean([one.shared == one.full for one in done])
    quick, slow = (sum(one.seconds[place] for one in done) for place in (0, 1))
    return f"{len(done):6} {same:11.1%} {np.mean([one.apart for one in done]):12.4f} {quick / slow:16.2f}"


if __name__ == "__main__":
    main()
