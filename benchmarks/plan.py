"""Plans against what happens: predicted widths after spending, promised power, and real rounds with more gold.

    python benchmarks/plan.py [--draws 200] [--golds 10,60,200] [--seconds 900]      24 simulated settings
    python benchmarks/plan.py --power [--draws 400]                      chance to see a difference
    HERO_DATA=... python benchmarks/plan.py --real [--draws 1] [--only PQ]   public rounds, 10% and 30% of their gold

Simulated: three past rounds of 200 items with 40 golds each, a current one of 250, five labelers who err each by itself
or together (latent correlation .5), rounds that drift (all labelers' logits shift by a normal of .5) or not; 10, 60 and
200 golds added to the current round; two targets, the rate of one class of two and the mean score of three. The plan is
made before the gold is given; the width seen is that of `hero3` once it is. Shown: mean predicted over mean seen.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from real_sets import find_data, parts_of
from scipy.special import expit, logit, ndtri

import hero_eval as hero
from hero_eval.estimation.ask import ask
from hero_eval.estimation.forecast import Outcome
from hero_eval.estimation.headline import rate_contrast
from hero_eval.estimation.options import Options
from hero_eval.model.design_power import RoundDesign, power_of
from hero_eval.model.width_forecast import More
from hero_eval.round import Round

SEED = 41
SETTINGS = ("tqa v1", "tqa v2", "imagenhub SC", "imagenhub PQ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--golds", default="10,60,200")
    parser.add_argument("--seconds", type=float, default=1e9, help="of processor time, after which no draw begins")
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--only", default="", help="real settings whose name has this in it")
    asked = parser.parse_args()
    started = time.process_time()
    if asked.power:
        powers(asked.draws)
    elif asked.real:
        real(asked.draws, asked.only)
    else:
        simulated(asked.draws, [int(one) for one in asked.golds.split(",")], asked.seconds)
    print(f"{time.process_time() - started:.0f} s of processor time", file=sys.stderr)


def foreseen(current: Round, history: Any) -> Outcome:
    analysis = replace(ask([current], history, Options(method="hero3")), diagnosed=False)
    contrast = rate_contrast(analysis.question, None)
    bounds = (float(contrast.min()), float(contrast.max()))
    return Outcome(analysis, contrast, bounds)


# ------------------------------------------------------------------------------------------------ simulated rounds


KINDS_OF_ROUNDS = tuple(product((2, 3), (0.0, 0.5), (0.0, 0.5)))
"""Classes, correlation of the labelers, drift."""


def simulated(draws: int, golds: Sequence[int], seconds: float) -> None:
    """All settings draw by draw, so that however many are done there are as many of each; shown every 20 draws."""
    widths: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for draw in range(draws):
        for classes, together, drift in KINDS_OF_ROUNDS:
            rng = np.random.default_rng([SEED, classes, int(10 * together), int(10 * drift), draw])
            for count, pair in one_draw(rng, classes, together, drift, golds).items():
                widths.setdefault((classes, together, drift, count), []).append(pair)
        late = time.process_time() > seconds
        if late or draw + 1 == draws or (draw + 1) % 20 == 0:
            show_widths(widths, draw + 1)
        if late:
            return


def show_widths(widths: Mapping[tuple[Any, ...], Sequence[tuple[float, float]]], draws: int) -> None:
    inside = 0
    for (classes, together, drift, count), pairs in widths.items():
        then, seen = np.array(pairs).mean(axis=0)
        error = (np.array(pairs) / seen) @ np.array([1.0, -1.0])
        inside += abs(then / seen - 1) <= 0.10
        kind = "mean score of 3 classes" if classes == 3 else "rate"
        print(
            f"{kind:24s} {'together' if together else 'each by itself':15s} drift {drift}  +{count:3d} golds  "
            f"predicted {then:.4f}  seen {seen:.4f}  ratio {then / seen:.3f} "
            f"(+-{error.std(ddof=min(1, draws - 1)) / np.sqrt(draws):.3f})"
        )
    print(f"within 10%: {inside} of {len(widths)} settings, {draws} draws each", flush=True)


def one_draw(
    rng: Any, classes: int, together: float, drift: float, golds: Sequence[int]
) -> dict[int, tuple[float, float]]:
    skill = rng.uniform(0.65, 0.9, 5)
    past = []
    for number in range(3):
        labels, truth = labeled(rng, 200, classes, skill, together, drift)
        past.append(made(labels, truth, some(rng, 200, 40), f"past{number}"))
    labels, truth = labeled(rng, 250, classes, skill, together, drift)
    outcome = foreseen(made(labels, truth, np.zeros(250, bool), "now"), past)
    found = {}
    for count in golds:
        shown = made(labels, truth, some(rng, 250, count), "now")
        found[count] = (outcome.width(More(gold=count)), foreseen(shown, past).width())
    return found


def labeled(rng: Any, n: int, classes: int, skill: Any, together: float, drift: float) -> tuple[Any, Any]:
    """Labels (n, 5) and classes (n,); errors name a class at random, and are shared in part."""
    shares = (0.6, 0.4) if classes == 2 else (0.4, 0.3, 0.3)
    truth = rng.choice(classes, n, p=shares)
    right = expit(logit(skill) + drift * rng.standard_normal())
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, 5))
    errs = np.sqrt(together) * common + np.sqrt(1 - together) * own > ndtri(right)
    other = (truth[:, None] + rng.integers(1, classes, (n, 5))) % classes
    return np.where(errs, other, truth[:, None]), truth


def some(rng: Any, n: int, count: int) -> Any:
    return np.isin(np.arange(n), rng.choice(n, count, replace=False))


def made(labels: Any, truth: Any, known: Any, name: str) -> Round:
    ids = np.array([f"{name}-{i:04d}" for i in range(len(truth))])
    item, person = np.nonzero(labels >= 0)
    table = pa.table({"item": ids[item], "labeler": person.astype(str), "label": labels[item, person]})
    gold = pa.table({"item": ids[known], "gold": truth[known]}) if known.any() else None
    return Round(table, gold, classes=[str(k) for k in range(int(labels.max()) + 1)], name=name)


# ------------------------------------------------------------------------------------------------ power


def powers(draws: int) -> None:
    """The promise of a design against how often intervals of hero1's difference leave 0 out."""
    for items, labelers, gold, effect in ((300, 3, 200, 0.10), (500, 5, 100, 0.07), (800, 5, 100, 0.05)):
        design = RoundDesign(items, labelers, 0.8, 0.85, past_gold=gold, rate=0.5 + effect / 2)
        promised, seen = power_of(design, effect, 0.95), 0
        for draw in range(draws):
            rng = np.random.default_rng([SEED, items, draw])
            past, a, b = (
                answered(rng, n, labelers, rate, name)
                for n, rate, name in ((gold, 0.5, "past"), (items, 0.5 + effect, "a"), (items, 0.5, "b"))
            )
            history = made(*past, np.ones(gold, bool), "past")
            first, second = (made(*one, np.zeros(items, bool), name) for one, name in ((a, "a"), (b, "b")))
            low, high = hero.estimate_difference(first, second, history, method="hero1").interval()
            seen += not low <= 0.0 <= high
        share = seen / draws
        error = np.sqrt(share * (1 - share) / draws)
        print(
            f"{items} items, {labelers} labelers, {gold} golds, difference {effect}: promised {promised:.3f}, seen "
            f"{share:.3f} (+-{error:.3f})",
            flush=True,
        )


def answered(rng: Any, n: int, labelers: int, rate: float, name: str) -> tuple[Any, Any]:
    del name
    truth = (rng.random(n) < rate).astype(np.int64)
    right = rng.random((n, labelers)) < np.where(truth, 0.8, 0.85)[:, None]
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


# ------------------------------------------------------------------------------------------------ real rounds


def real(draws: int, only: str) -> None:
    """Predicted against realized width after 10% and 30% of current gold; ratios, and the ratio of the means."""
    ratios: dict[float, list[float]] = {0.1: [], 0.3: []}
    for setting in [name for name in SETTINGS if only in name]:
        parts = parts_of(setting, find_data())
        own: dict[float, list[float]] = {0.1: [], 0.3: []}
        widths: dict[float, list[tuple[float, float]]] = {0.1: [], 0.3: []}
        for draw, (number, part) in product(range(draws), enumerate(parts)):
            rng = np.random.default_rng([SEED, SETTINGS.index(setting), number, draw])
            past = [one.history(rng, 0.1) for one in parts if one.pool == part.pool and one.name != part.name]
            past = [one for one in past if one.n_gold]
            if not past:
                continue
            learned = hero.fit_reliability(past)
            outcome = foreseen(part.current(), learned)
            for share in own:
                count = round(share * part.gold.num_rows)
                shown = part.gold.take(pa.array(rng.choice(part.gold.num_rows, count, replace=False)))
                now = Round(part.labels, shown, classes=["0", "1"], name=part.name)
                then, seen = outcome.width(More(gold=count)), foreseen(now, learned).width()
                own[share].append(then / seen)
                widths[share].append((then, seen))
        for share, found in own.items():
            ratios[share] += found
            then, seen = np.mean(widths[share], axis=0)
            print(
                f"{setting:14s} +{share:.0%} gold: predicted over realized {np.mean(found):.3f} "
                f"(sd {np.std(found):.3f}, {len(found)} rounds), of the mean widths {then / seen:.3f}",
                flush=True,
            )
    for share, found in ratios.items():
        print(f"all            +{share:.0%} gold: predicted over realized {np.mean(found):.3f} ({len(found)} rounds)")


if __name__ == "__main__":
    main()
