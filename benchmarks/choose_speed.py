"""Choosing a method by past rounds: do plays that share a fit choose as plays that are fitted in full?

    HERO_DATA=... python benchmarks/choose_speed.py [--rates 0.1 0.3] [--draws 3]

Every public round with three past rounds or more is asked about, and the method chosen twice: as `method=None` does it,
where plays start from the first one's fit (`estimation/shared_fits.py`), and with every play fitted from nothing. Both
run one after the other in one process; the ratio is that of processor time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass

import numpy as np
from real_sets import SETS, find_data, parts_of

from hero_eval.estimation.options import Options
from hero_eval.estimation.replay import Played, Quantity, replay
from hero_eval.estimation.rivals import choose_by_plays
from hero_eval.estimation.select import rounds_to_play
from hero_eval.round import Round

METHODS = ("gold_proportion", "hero1", "hero3")
LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Compared:
    """The choice by shared and by full fits, how far hero3's plays lie apart, and the processor time of both."""

    shared: str
    full: str
    apart: float
    seconds: tuple[float, float]


def compare(past: list[Round], played: list[int]) -> Compared:
    found, seconds = [], []
    for share in (True, False):
        start = time.process_time()
        found.append(_replay(past, played, share))
        seconds.append(time.process_time() - start)
    names = [choose_by_plays(one.plays, METHODS)[0] for one in found]
    values = [np.array([play.value for play in one.plays if play.method == "hero3"]) for one in found]
    return Compared(names[0], names[1], float(np.abs(values[0] - values[1]).max()), (seconds[0], seconds[1]))


def _replay(past: list[Round], played: list[int], share: bool) -> Played:
    quantity = Quantity("rate", np.array([0.0, 1.0]))
    return replay(past, played, ("0", "1"), [quantity], METHODS, Options(), share=share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--draws", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("error")
    print(f"{'set':14} {'gold':>5} {'rounds':>6} {'same choice':>11} {'gap of plays':>12} {'time shared/full':>16}")
    whole: list[Compared] = []
    for name in SETS:
        for rate in asked.rates:
            done = []
            for draw in range(asked.draws):
                rng = np.random.default_rng([17, list(SETS).index(name), round(1000 * rate), draw])
                shown = {part.name: part.history(rng, rate) for part in parts_of(name, find_data())}
                for part in parts_of(name, find_data()):
                    pool = [one for one in parts_of(name, find_data()) if one.pool == part.pool and one is not part]
                    past = [shown[one.name] for one in pool]
                    played = rounds_to_play(past)
                    if len(played) >= LEAST_ROUNDS:
                        done.append(compare(past, played))
            if done:
                print(f"{name:14} {rate:5.2f} {_told(done)}", flush=True)
                whole += done
    print(f"{'all':20} {_told(whole)}")


def _told(done: list[Compared]) -> str:
    same = np.mean([one.shared == one.full for one in done])
    quick, slow = (sum(one.seconds[place] for one in done) for place in (0, 1))
    return f"{len(done):6} {same:11.1%} {max(one.apart for one in done):12.4f} {quick / slow:16.2f}"


if __name__ == "__main__":
    main()
