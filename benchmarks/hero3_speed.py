"""What an estimate by hero3 costs: in processor time, beside hero1, the default and crowd-kit's Dawid-Skene.

    python benchmarks/hero3_speed.py [--labels 7500 100000 500000] [--labelers 10 20 100 1000] [--repeats 2]

Four past rounds, a tenth of whose items have gold, and a current one, with three labels for each item; labelers err
independently, or together on hard items. All run on the same dataframes in one process, so that
their ratios hold on a busy machine; the least of some repeats is told, after one that loads and compiles. crowd-kit, if
it is installed, takes 40 steps of EM on the labels of all rounds; it has no gold and gives no interval.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

import hero_eval as hero

LABELS_OF_ITEM = 3
N_PAST = 4
TOGETHER = 0.7
"""The correlation of labelers' errors on an item, where they err together."""
CROWD_KIT_STEPS = 40
MOST_DRAWN = 100
"""Labelers of whom those of an item are drawn by a random order of all."""


def frames(seed: int, n_items: int, n_labelers: int, together: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels and gold of a round."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < 0.35 + 0.05 * (seed % 4)).astype(int)
    if n_labelers <= MOST_DRAWN:
        labelers = np.argsort(rng.random((n_items, n_labelers)), axis=1)[:, :LABELS_OF_ITEM]
    else:  # different ones of each item all the same, without a number for each of them
        apart = rng.integers(1, n_labelers // LABELS_OF_ITEM + 1, (n_items, LABELS_OF_ITEM)).cumsum(axis=1)
        labelers = (rng.integers(0, n_labelers, n_items)[:, None] + apart) % n_labelers
    skill = 0.65 + 0.3 * ((np.arange(n_labelers) * 7) % n_labelers) / n_labelers
    own, shared = rng.normal(size=labelers.shape), rng.normal(size=(n_items, 1))
    right = together * shared + np.sqrt(1.0 - together**2) * own < ndtri(skill)[labelers]
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    items = np.char.add(f"r{seed}-", np.arange(n_items).astype(str))
    names = np.char.add("labeler ", labelers.ravel().astype(str))
    labels = pd.DataFrame({"item": np.repeat(items, LABELS_OF_ITEM), "labeler": names, "label": said.ravel()})
    gold = rng.random(n_items) < 0.1
    return labels, pd.DataFrame({"item": items[gold], "gold": truth[gold]})


def processor_seconds(work: Callable[[], Any], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def crowd_kit(labels: pd.DataFrame) -> Callable[[], Any] | None:
    try:
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        return None
    table = labels.rename(columns={"item": "task", "labeler": "worker"})
    return lambda: DawidSkene(n_iter=CROWD_KIT_STEPS, tol=0.0).fit(table)


def compare(n_labels: int, n_labelers: int, together: float, repeats: int) -> None:
    n_items = n_labels // (LABELS_OF_ITEM * (N_PAST + 1))
    tables = [frames(seed, n_items, n_labelers, together) for seed in range(N_PAST + 1)]

    def estimate(method: str | None) -> Callable[[], Any]:
        def work() -> Any:
            past = [hero.Round(labels, gold=gold) for labels, gold in tables[:-1]]
            return hero.estimate_rate(hero.Round(tables[-1][0]), past, method=method)

        return work

    tasks = {"default": estimate(None), "hero3": estimate("hero3"), "hero1": estimate("hero1")}
    other = crowd_kit(pd.concat([labels for labels, _ in tables]))
    if other is not None:
        tasks["crowd-kit"] = other
    seconds = {name: processor_seconds(work, repeats) for name, work in tasks.items()}
    told = ", ".join(f"{name} {took:.2f} s" for name, took in seconds.items())
    told_ratios = [
        f"{one} {seconds[one] / seconds[other]:.2f} of {other}"
        for one, other in (("default", "crowd-kit"), ("default", "hero1"), ("hero3", "hero1"), ("hero1", "crowd-kit"))
        if other in seconds
    ]
    kind = "together" if together else "independent"
    print(f"{n_labels:>9,} labels, {n_labelers:>5,} labelers, {kind:<11}: {told}; {', '.join(told_ratios)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="+", default=[7_500, 100_000, 500_000])
    parser.add_argument("--labelers", type=int, nargs="+", default=[10, 20, 100])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    for n_labels in options.labels:
        for n_labelers in options.labelers:
            for together in (0.0, TOGETHER):
                compare(n_labels, n_labelers, together, options.repeats)


if __name__ == "__main__":
    main()
