"""Labels of every shape that judges give: answered, how soon, or refused in which words.

    python benchmarks/score_shapes.py [--labels 5000]

Five judges label the items of two past rounds, three in ten of which have gold, and of a current one; they see the item
with an error. Each row is one shape of their labels: grades with gold of two classes and of ten, probabilities with
eight decimals, rewards from -30 to 30, a judge who always says the same, labels that are missing, a judge on another
scale, heaps at the ends, words beside numbers, words. Shown: seconds of the processor for reading all rounds and
estimating, with the first call, which compiles, left out; the estimate beside the truth, or the refusal. Wanted: under
3 s at 5,000 labels, or one clear message.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pyarrow as pa

import hero_eval as hero
from hero_eval.round import Round

N_JUDGES, GOLD_SHARE, SEED = 5, 0.3, 53
Labels = list[list[object]]
Shape = Callable[[np.ndarray, np.ndarray], tuple[Labels, list[object]]]
"""From what judges see (items, judges) and the items' quality to their labels, and the gold."""


def grades(seen: np.ndarray, least: int = 1, most: int = 10) -> np.ndarray:
    return np.clip(np.round(5.5 + 2.0 * seen), least, most).astype(int)


def probabilities(seen: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.round(1.0 / (1.0 + np.exp(-1.7 * seen)), 8)
    return out


def yes(quality: np.ndarray) -> list[object]:
    return list((quality > 0).astype(int))


def by_ten(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    return grades(seen).tolist(), list(grades(quality))


def constant(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    out = probabilities(seen)
    out[:, 0] = 0.7
    return out.tolist(), yes(quality)


def missing(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    out = probabilities(seen)
    out[np.random.default_rng(len(out)).random(out.shape) < 0.05] = np.nan
    return out.tolist(), yes(quality)


def other_scale(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    out = probabilities(seen)
    out[:, 0] = grades(seen[:, 0])
    return out.tolist(), yes(quality)


def one_yes_or_no(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    out = probabilities(seen)
    out[:, 0] = seen[:, 0] > 0
    return out.tolist(), yes(quality)


def heaps(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    out = np.round(np.clip(0.5 + 0.6 * seen, 0.0, 1.0), 3)
    return np.where(np.abs(out - 0.5) < 0.1, 0.5, out).tolist(), yes(quality)


def some_words(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    out: Labels = [[f"{value:.3f}" for value in row] for row in probabilities(seen)]
    out[0][0] = "unsure"
    return out, yes(quality)


def words(seen: np.ndarray, quality: np.ndarray) -> tuple[Labels, list[object]]:
    return np.where(seen > 0, "good", "bad").tolist(), yes(quality)


SHAPES: dict[str, Shape] = {
    "1 to 10, gold 0 or 1": lambda seen, quality: (grades(seen).tolist(), yes(quality)),
    "1 to 10, gold 1 to 10": by_ten,
    "0 to 100, gold 0 to 100": lambda seen, quality: (
        np.round(50 + 15 * seen).tolist(),
        list(np.round(50 + 15 * quality).astype(int)),
    ),
    "probabilities, 8 decimals": lambda seen, quality: (probabilities(seen).tolist(), yes(quality)),
    "rewards, -30 to 30": lambda seen, quality: (np.clip(9 * seen, -30, 30).tolist(), yes(quality)),
    "a constant judge": constant,
    "5% missing": missing,
    "one judge 1 to 10, others 0 to 1": other_scale,
    "one judge yes or no, others 0 to 1": one_yes_or_no,
    "heaps at 0, .5 and 1": heaps,
    "a word among numbers": some_words,
    "words, gold 0 or 1": words,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=5_000, help="labels of all rounds together")
    asked = parser.parse_args()
    warnings.simplefilter("error")
    played("", SHAPES["1 to 10, gold 0 or 1"], 600)
    for name, shape in SHAPES.items():
        print(played(name, shape, asked.labels), flush=True)


def played(name: str, shape: Shape, n_labels: int) -> str:
    """One shape, as a line."""
    rng = np.random.default_rng(SEED)
    tables, truth = [], 0.0
    for number in range(3):
        quality = rng.normal(0.1 * number, 1.0, n_labels // (3 * N_JUDGES))
        labels, gold = shape(quality[:, None] + rng.normal(size=(len(quality), N_JUDGES)), quality)
        tables.append((labels, gold, rng.random(len(quality)) < GOLD_SHARE))
        truth = float(np.mean([float(str(one)) for one in gold]))
    started = time.process_time()
    try:
        *past, current = [to_round(number, *one) for number, one in enumerate(tables)]
        found = hero.estimate_rate(current, past)
        low, high = found.interval()
        told = f"{found.value:.3f} ({low:.3f} to {high:.3f}), truth {truth:.3f}, {found.method}"
    except hero.HeroError as error:
        told = f"refused: {error}"
    return f"{name:36s} {time.process_time() - started:5.2f} s  {told}"


def to_round(number: int, labels: Labels, gold: list[object], shown: np.ndarray) -> Round:
    items = [f"r{number}-{place:05d}" for place in range(len(labels))]
    given = [
        (item, f"judge{judge}", str(label))
        for item, row in zip(items, labels, strict=True)
        for judge, label in enumerate(row)
        if label == label
    ]
    table = pa.table(dict(zip(("item", "labeler", "label"), map(list, zip(*given, strict=True)), strict=True)))
    known = [(item, str(one)) for item, one, seen in zip(items, gold, shown, strict=True) if seen and number < 2]
    golds = pa.table({"item": [one for one, _ in known], "gold": [one for _, one in known]}) if known else None
    return Round(table, golds, name=f"r{number}")


if __name__ == "__main__":
    main()
