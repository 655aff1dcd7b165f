"""Gold of 0 to 100: does the interval of the mean hold, and that of a share?

    python benchmarks/numeric_gold.py [--draws 100] [--gold .1 .3] [--shift .4] [--most-classes 6]

Rounds of 200 items and three judges (a 1-10 grade, a real number, a noisier grade) whose mean level differs between
rounds by `shift` standard deviations of an item; four past rounds show a share of their gold. hero3 estimates the
current round's mean gold, the share of 60 or more, and the difference between two rounds; the truth is that of the
round's own items. Told are bias, RMSE, the mean standard error and cover with their Monte Carlo errors. A slope of the
estimate on the truth below 1 would show how much of a shift the classes miss.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import hero_eval as hero
from hero_eval import gold_scale

SEED, N_PAST, N_ITEMS, LEAST = 17, 4, 200, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--gold", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--shift", type=float, default=0.4)
    parser.add_argument("--most-classes", type=int, default=gold_scale.MOST_CLASSES)
    asked = parser.parse_args()
    gold_scale.MOST_CLASSES = asked.most_classes
    for rate in asked.gold:
        rows = [one_draw(np.random.default_rng([SEED, draw]), rate, asked.shift) for draw in range(asked.draws)]
        for place, what in enumerate(("mean", f"share of {LEAST} or more", "difference of means")):
            tell(f"gold {rate}, {what}", [row[place] for row in rows])


def one_draw(rng: np.random.Generator, rate: float, shift: float) -> list[tuple[float, float, float, float, float]]:
    """Truth, estimate, standard error and ends of the mean, the share and the difference."""
    worlds = [a_round(rng, number, rate if number < N_PAST else 0.0, shift) for number in range(N_PAST + 2)]
    past = [one for one, _ in worlds[:N_PAST]]
    (a, of_a), (b, of_b) = worlds[N_PAST:]
    found = [
        (float(of_a.mean()), hero.estimate_rate(a, past, method="hero3")),
        (float((of_a >= LEAST).mean()), hero.estimate_rate(a, past, method="hero3", at_least=LEAST)),
        (float(of_a.mean() - of_b.mean()), hero.estimate_difference(a, b, past, method="hero3")),
    ]
    return [(truth, one.value, one.std_error, *one.interval()) for truth, one in found]


def a_round(rng: np.random.Generator, number: int, rate: float, shift: float) -> tuple[hero.Round, np.ndarray]:
    level = rng.normal(shift * rng.normal(), 1.0, N_ITEMS)
    gold = np.clip(np.round(50 + 15 * level + rng.normal(0.0, 6.0, N_ITEMS)), 0, 100)
    heard = [slope * level + rng.normal(size=N_ITEMS) for slope in (1.5, 1.0, 0.7)]
    labels = [np.clip(np.round(5.5 + 2 * heard[0]), 1, 10), heard[1], np.clip(np.round(5.5 + 2 * heard[2]), 1, 10)]
    items = np.array([f"r{number}-{i}" for i in range(N_ITEMS)])
    names = np.repeat([f"judge{j}" for j in range(3)], N_ITEMS)
    table = pa.table({"item": np.tile(items, 3), "labeler": names, "label": np.concatenate(labels)})
    shown = rng.random(N_ITEMS) < rate
    known = pa.table({"item": items[shown], "gold": gold[shown]}) if shown.any() else None
    return hero.Round(table, known, name=f"r{number}", label_kind="score"), gold


def tell(what: str, rows: Sequence[tuple[float, float, float, float, float]]) -> None:
    truth, value, error, low, high = np.array(rows).T
    off, n = value - truth, len(rows)
    cover = float(((low <= truth) & (truth <= high)).mean())
    print(
        f"{what}: bias {off.mean():+.3f} ± {off.std(ddof=1) / np.sqrt(n):.3f}, RMSE {np.sqrt((off**2).mean()):.3f}, "
        f"standard error {error.mean():.3f}, covers {cover:.3f} ± {np.sqrt(0.95 * 0.05 / n):.3f}, slope on the truth "
        f"{np.polyfit(truth, value, 1)[0]:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
