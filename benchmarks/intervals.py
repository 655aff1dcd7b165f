"""What an interval costs: the default one at a million labels, the bootstrap at fifty thousand, and how they agree.

    python benchmarks/intervals.py

Times are compared within one run, as machines are noisy. The bars: the default interval adds less than half
to the time of the point estimate; 1,000 bootstrap replicates at 50,000 labels take less than 10 seconds on two cores;
influence and bootstrap agree on the standard error within 3%.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options
from hero_eval.labelers.fitting import fit_reliability
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round
from hero_eval.targets.rate import estimate_rate


def make_round(n_items: int, gold_rate: float, rng: np.random.Generator, rate: float, prefix: str) -> Round:
    """Items with 5 labels each by 10 labelers."""
    n_labelers, each = 10, 5
    sensitivity, specificity = np.linspace(0.6, 0.95, n_labelers), np.linspace(0.9, 0.65, n_labelers)
    truth = rng.random(n_items) < rate
    who = np.argsort(rng.random((n_items, n_labelers)), axis=1)[:, :each]
    says = rng.random((n_items, each)) < np.where(truth[:, None], sensitivity[who], 1 - specificity[who])
    items = np.repeat(np.arange(n_items), each)
    labels = pa.table({"item": items, "labeler": who.ravel(), "label": says.ravel().astype(np.int8)})
    known = np.nonzero(rng.random(n_items) < gold_rate)[0]
    gold = pa.table({"item": known, "gold": truth[known].astype(np.int8)}) if len(known) else None
    return Round(labels, gold, name=prefix)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def default_interval(n_items: int) -> None:
    """Point estimate (count, fit history, solve) against the same with influences, standard error and interval."""
    rng = np.random.default_rng(1)
    history = make_round(n_items // 2, 0.02, rng, 0.3, "history")
    current = make_round(n_items // 2, 0.0, rng, 0.4, "current")
    method = all_methods()["hero1"]

    def point() -> float:
        question = ask([current], history, Options(method="hero1")).question
        return float(method.rates(question.currents[0].evidence)[1])

    def whole() -> tuple[float, float]:
        return estimate_rate(current, history, method="hero1").interval()

    alone, together = (min(times) for times in zip(*((timed(point), timed(whole)) for _ in range(4)), strict=True))
    labels = current.n_labels + history.n_labels
    print(
        f"{labels:,} labels: point estimate {alone:.2f} s, with interval {together:.2f} s: +{together / alone - 1:.0%}"
    )


def bootstrap(n_items: int, replicates: int) -> None:
    rng = np.random.default_rng(2)
    history = fit_reliability(make_round(n_items // 2, 0.2, rng, 0.3, "history"))
    current = make_round(n_items // 2, 0.0, rng, 0.4, "current")
    start = time.perf_counter()
    drawn = estimate_rate(current, history, method="hero1", interval="bootstrap", replicates=replicates)
    seconds = time.perf_counter() - start
    spread = float(np.std(drawn.curve.replicates, ddof=1))  # type: ignore[attr-defined]
    noise = 1 / np.sqrt(2 * replicates)
    ratio = spread / drawn.std_error
    labels = current.n_labels + history.counted.patterns.n_items * 5
    print(f"{labels:,} labels: {replicates:,} bootstrap replicates in {seconds:.1f} s")
    print(f"bootstrap / influence standard error: {ratio:.3f} (Monte Carlo error {noise:.3f})")


def main() -> None:
    default_interval(200_000)
    bootstrap(10_000, 1_000)
    bootstrap(10_000, 5_000)


if __name__ == "__main__":
    main()
