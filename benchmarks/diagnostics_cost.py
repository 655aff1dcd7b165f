"""What each diagnostic costs beside the fit that it is about, and looking ahead beside what it looks ahead to.

    python benchmarks/diagnostics_cost.py [--cases "20 labelers" "1,000 labelers" ...] [--methods hero1 hero3]

Rounds are drawn, estimated by a method, and every diagnostic is timed by itself, in processor time (one thread is
fairest: OMP_NUM_THREADS=1). A share is that of the fit: history's and the current round's. Each should stay below a
fifth. Past rounds are held against each other only by a method that knows drift, where the current labels do not fit
them (F205). `hero3` takes minutes for the large cases.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

import hero_eval as hero
from hero_eval.estimation import diagnostics, gold_sampling, prepare, transported
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.options import Options
from hero_eval.estimation.outlook import look_ahead
from hero_eval.estimation.replay import analyze
from hero_eval.estimation.transported import Misfits
from hero_eval.labelers import fitting
from hero_eval.labelers.agreement import agreement
from hero_eval.round import Round

HARD = 0.3
"""The share of an item's difficulty in whether a labeler errs: labelers err together."""


@dataclass(frozen=True)
class Case:
    """Rounds of so many items, each labeled by some of the labelers."""

    n_past: int
    n_items: int
    n_labelers: int
    labels_each: int
    n_classes: int = 2


CASES = {
    "20 labelers": Case(4, 25_000, 20, 5),
    "400 labelers": Case(4, 6_000, 400, 5),
    "1,000 labelers": Case(4, 25_000, 1_000, 5),
    "112 judges": Case(6, 1_030, 112, 112),
    "ratings 1-5": Case(4, 4_000, 20, 5, 5),
}
PARTS: dict[str, tuple[Any, str]] = {
    "few labels": (diagnostics, "_few_labels"),
    "dependence": (diagnostics, "_with_dependence"),
    "transport": (transported, "transport_test"),
    "refusal, knowledge": (diagnostics, "_with_refusal"),
    "gold's routing": (gold_sampling, "routing_z"),
    "labelers' skills": (fitting, "_labeler_findings"),
    "overlap": (prepare, "overlap_findings"),
    "repeated items": (prepare, "repeat_findings"),
    "unseen answers": (prepare, "outside_gold"),
}
FIT = (fitting, "fit_anchored")


def drawn(case: Case, seed: int, gold: float, name: str) -> Round:
    rng = np.random.default_rng(seed)
    truth = rng.choice(case.n_classes, case.n_items)
    skill = np.random.default_rng(0).uniform(0.65, 0.92, case.n_labelers)
    who = np.argsort(rng.random((case.n_items, case.n_labelers)), axis=1)[:, : case.labels_each].ravel()
    item = np.repeat(np.arange(case.n_items), case.labels_each)
    effort = np.sqrt(HARD) * rng.normal(size=case.n_items)[item] + np.sqrt(1 - HARD) * rng.normal(size=len(item))
    wrong = (truth[item] + rng.integers(1, case.n_classes, len(item))) % case.n_classes
    answers = np.where(effort < ndtri(skill[who]), truth[item], wrong)
    labels = pd.DataFrame({"item": item, "labeler": np.char.add("j", who.astype(str)), "label": answers})
    known = np.flatnonzero(rng.random(case.n_items) < gold)
    table = pd.DataFrame({"item": known, "gold": truth[known]}) if len(known) else None
    return Round(labels, gold=table, name=name)


def rounds_of(case: Case) -> tuple[Round, list[Round]]:
    return drawn(case, 99, 0.0, "current"), [drawn(case, at, 0.1, f"past {at}") for at in range(case.n_past)]


class Clock:
    """Processor time that functions take while they are watched, each without what is watched inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._kept: list[tuple[Any, str, Any]] = []

    def watch(self, label: str, home: Any, name: str) -> None:
        plain: Callable[..., Any] = getattr(home, name)

        def timed(*args: Any, **options: Any) -> Any:
            start = time.process_time()
            found = plain(*args, **options)
            self.seconds[label] = self.seconds.get(label, 0.0) + time.process_time() - start
            return found

        self._kept.append((home, name, plain))
        setattr(home, name, timed)

    def stop(self) -> None:
        for home, name, plain in self._kept:
            setattr(home, name, plain)


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def measure(case: Case, method: str) -> tuple[float, dict[str, float]]:
    """The seconds of the fit, and of each diagnostic."""
    current, past = rounds_of(case)
    clock = Clock()
    for label, (home, name) in {"history": FIT, **PARTS}.items():
        clock.watch(label, home, name)
    analysis: Analysis = replace(analyze([current], past, Options(method)), diagnosed=True)
    fit, _ = seconds_of(lambda: analysis.fits)
    history = clock.seconds.pop("history")
    assert analysis.findings
    clock.stop()
    learned = analysis.question.reliability
    assert learned is not None
    pairs, _ = seconds_of(lambda: agreement(learned))
    on_demand = {"agreement (on demand)": pairs}
    if analysis.fits[0].between is not None:
        on_demand["past rounds (F205)"], _ = seconds_of(lambda: Misfits(analysis.question).tests)
    return history + fit, clock.seconds | on_demand


def looking_ahead() -> tuple[float, float]:
    """Seconds of `look_ahead` and of what `hero check` did before: every method in full, then the default."""
    current, past = rounds_of(Case(4, 1_000, 11, 3))
    ahead, _ = seconds_of(lambda: look_ahead(current, past))
    full, _ = seconds_of(lambda: (hero.compare_methods(current, past), hero.estimate_rate(current, past)))
    return ahead, full


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--methods", nargs="+", default=["hero1"])
    asked = parser.parse_args()
    for method in asked.methods:
        measure(Case(2, 35_000, 20, 5), "hero1")  # compiled code is loaded once
        measure(Case(2, 300, 5, 3), method)
        for name in asked.cases:
            fit, parts = measure(CASES[name], method)
            print(f"{method}, {name}: fit {fit:.2f} s")
            for part, seconds in parts.items():
                print(f"    {part:22} {seconds:7.3f} s {seconds / fit:7.1%}", flush=True)
    looking_ahead()
    ahead, full = looking_ahead()
    print(f"looking ahead, 4 past rounds of 1,000 items: {ahead:.2f} s, {ahead / full:.2f} of all methods in full")


if __name__ == "__main__":
    main()
