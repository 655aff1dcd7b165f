"""Thirty looks at a growing round, with a gate at the truth: how often does it open wrongly at any of them?

    python benchmarks/anytime.py [--draws 400] [--looks 30]

A history of 300 items with 150 golds teaches five labelers; the current round grows from 60 to 1,200 items, and is
looked at 30 times. A gate asks whether the rate is surely at least the true one: it should stay shut. Three ways:
intervals for a single look, as they are; the same with `looks=30`; `interval="anytime"`. hero1 estimates, whose fit of
history is made once, so that hundreds of draws can be had. Shown: how often a gate opens at some look, and the mean
width of two-sided intervals at the last look, over that of a single look.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

import hero_eval as hero
from hero_eval.estimation.ask import ask
from hero_eval.estimation.headline import rate_estimate
from hero_eval.estimation.options import Options
from hero_eval.round import Round

SEED, RATE = 53, 0.4
SKILL = np.array([0.8, 0.8, 0.9, 0.65, 0.75])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--looks", type=int, default=30)
    asked = parser.parse_args()
    started = time.process_time()
    gates = {
        "one look": (hero.Gate(fail_below=RATE), None),
        f"looks={asked.looks}": (hero.Gate(fail_below=RATE, looks=asked.looks), None),
        "anytime": (hero.Gate(fail_below=RATE), "anytime"),
    }
    opened = dict.fromkeys(gates, 0)
    widths: dict[str, list[float]] = {name: [] for name in gates}
    for draw in range(asked.draws):
        rng = np.random.default_rng([SEED, draw])
        labels, truth = drawn(rng, 300)
        learned = hero.fit_reliability(made(labels, truth, np.arange(300) < 150, "past"))
        labels, truth = drawn(rng, 1_200)
        wrong: set[str] = set()
        for size in np.linspace(60, 1_200, asked.looks).astype(int):
            now = made(labels[:size], truth[:size], np.zeros(size, bool), "now")
            found = {kind: estimated(now, learned, kind) for kind in (None, "anytime")}
            wrong |= {name for name, (gate, kind) in gates.items() if gate.verdict(found[kind]).is_open}
        for name, (gate, kind) in gates.items():
            opened[name] += name in wrong
            low, high = found[kind].interval(1 - 0.05 / gate.looks)
            widths[name].append(high - low)
    for name, times in opened.items():
        share = times / asked.draws
        ratio = np.mean(widths[name]) / np.mean(widths["one look"])
        print(
            f"{name:10s} opened wrongly in {share:.3f} of {asked.draws} draws (+-"
            f"{np.sqrt(share * (1 - share) / asked.draws):.3f}); width at the last look {np.mean(widths[name]):.4f}, "
            f"{ratio:.2f} times one look's"
        )
    print(f"{time.process_time() - started:.0f} s of processor time", file=sys.stderr)


def estimated(current: Round, learned: Any, kind: str | None) -> hero.Estimate:
    analysis = ask([current], learned, Options(method="hero1", interval=kind))
    return rate_estimate(type(analysis)(analysis.question, diagnosed=False))


def drawn(rng: Any, n: int) -> tuple[Any, Any]:
    truth = (rng.random(n) < RATE).astype(np.int64)
    right = rng.random((n, 5)) < SKILL
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


def made(labels: Any, truth: Any, known: Any, name: str) -> Round:
    ids = np.array([f"{name}-{i:05d}" for i in range(len(truth))])
    item, person = np.nonzero(labels >= 0)
    table = pa.table({"item": ids[item], "labeler": person.astype(str), "label": labels[item, person]})
    gold = pa.table({"item": ids[known], "gold": truth[known]}) if known.any() else None
    return Round(table, gold, classes=["0", "1"], name=name)


if __name__ == "__main__":
    main()
