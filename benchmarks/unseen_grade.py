"""How often the mean score's interval covers where no gold has one of the grades, and how long it is.

    python benchmarks/unseen_grade.py [--draws 60] [--methods ppi balanced]

400 items, three judges who are off by up to two grades; draws whose gold has every grade are left out. With 60 draws
the Monte Carlo error of a cover of .95 is .03.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd

import hero_eval as hero

N_ITEMS, OFF = 400, [0.1, 0.2, 0.4, 0.2, 0.1]
DESIGNS = {
    "5 grades, one of .02, 60 golds": ([0.02, 0.2, 0.4, 0.3, 0.08], 60),
    "5 grades, two of .05, 30 golds": ([0.05, 0.2, 0.4, 0.3, 0.05], 30),
    "5 grades, nearly all the same, 40 golds": ([0.01, 0.01, 0.96, 0.01, 0.01], 40),
    "10 grades, one of .01, 80 golds": ([0.01, 0.04, 0.08, 0.12, 0.17, 0.2, 0.16, 0.12, 0.07, 0.03], 80),
}


def rounds(shares: list[float], n_gold: int, seed: int) -> Iterator[hero.Round]:
    grades = np.arange(1, len(shares) + 1)
    for draw in range(10_000):
        rng = np.random.default_rng([seed, draw])
        truth = rng.choice(grades, N_ITEMS, p=shares)
        known = rng.permutation(N_ITEMS)[:n_gold]
        if len(set(truth[known].tolist())) == len(grades):
            continue
        said = {f"j{j}": np.clip(truth + rng.choice(np.arange(-2, 3), N_ITEMS, p=OFF), 1, len(grades)) for j in "123"}
        gold = pd.array([None] * N_ITEMS, dtype="Int64")
        gold[known] = truth[known]
        table = pd.DataFrame({"item": [f"i{k}" for k in range(N_ITEMS)], **said, "gold": gold})
        yield hero.Round(table, classes=list(map(str, grades)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--methods", nargs="+", default=["ppi", "balanced"])
    asked = parser.parse_args()
    print(f"{'':42}method    covers  mean width")
    for seed, (name, (shares, n_gold)) in enumerate(DESIGNS.items()):
        mean = float(np.dot(shares, np.arange(1, len(shares) + 1)))
        for method in asked.methods:
            found = [
                hero.estimate_rate(one, method=method).interval()
                for one, _ in zip(rounds(shares, n_gold, seed), range(asked.draws), strict=False)
            ]
            low, high = np.array(found).T
            print(f"{name:42}{method:10}{((low <= mean) & (mean <= high)).mean():6.2f}{(high - low).mean():12.3f}")


if __name__ == "__main__":
    main()
