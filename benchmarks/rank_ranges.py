"""How sharp ranges of ranks are that hold together: how often they hold, and how wide they are.

    python benchmarks/rank_ranges.py [--draws 200]
    python benchmarks/rank_ranges.py --order-known [--draws 2000]
    python benchmarks/rank_ranges.py --each [--draws 1000]

Estimates of 8 models are drawn around true values, with known and equal errors: what is measured is the way from
differences to ranks alone. Compared are stepwise claims (`MaxT.adjusted`) and the sharper ones that are used
(`MaxT.told`; Romano, Shaikh and Wolf 2014): a first step, which spends a part of the level, bounds how far each
difference lies below zero, and those far below no longer count among the ways in which chance could mislead.
Ranges must hold in 95 of 100 draws wherever the true values lie; where models are tied, a range must hold all ranks
that the tied ones share.

Beside them stands what nobody can use: one bound for all claims that is the smallest at which ranges hold in 95 of 100
draws of this very design (`oracle`). It needs the true gaps. A range that is safe where models are tied cannot hold in
just 95 of 100 draws where they are apart: to err there a claim must overcome the gap as well as the bound, and the
chance of that falls with the gap (two models, bound z: from 2 P(Z > z) at a tie to P(Z > z + gap) apart). What the
oracle is narrower by is the price of not knowing the gaps. `--order-known` shows how wide ranges would be if the order,
but no gap, were known to whoever sets the bound: only claims against that order could be false, half as many. No logic
among the claims, such as that i > j and j > k make i > k, can gain more than that in the first step.

`--each` asks for less: a range for each of 12 models by itself. Three ways: claims about this model alone that hold
together ("claims"); the middle 95% of ranks when values are drawn anew around the estimates ("drawn"); the same after
the estimates were drawn together by their own spread, as if true values were normal ("shrunk"). Shown: in how many of
the draws a model's true rank is held, the mean over models and the least of them by their estimated rank, and how many
ranks a range holds. Of tied models one is better by a hair.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from hero_eval.model.simultaneous import MaxT, rank_ranges

Floats = NDArray[np.float64]
LEVEL = 0.95
N_MODELS = 8
DESIGNS = {
    "all tied": np.zeros(N_MODELS),
    "two groups of tied models": np.repeat([0.0, 6.0], N_MODELS // 2),
    "apart by 1 standard error": np.arange(N_MODELS) * 1.0,
    "apart by 3 standard errors": np.arange(N_MODELS) * 3.0,
    "apart by 5 standard errors": np.arange(N_MODELS) * 5.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--order-known", action="store_true", help="one bound for all claims, by the true order")
    parser.add_argument("--each", action="store_true", help="a range for each model by itself")
    asked = parser.parse_args()
    if asked.each:
        each(asked.draws)
        return
    if asked.order_known:
        order_known(asked.draws)
        return
    print(
        f"{N_MODELS} models, {asked.draws} draws (Monte Carlo error of a share of .95: "
        f"{(0.95 * 0.05 / asked.draws) ** 0.5:.3f})"
    )
    print(
        "design                       stepwise: hold    wide   two steps: hold    wide   oracle: hold    wide   bound"
    )
    for name, truth in DESIGNS.items():
        rng, bound = np.random.default_rng(11), _oracle(truth)
        found = np.array([_drawn(truth, bound, rng) for _ in range(asked.draws)]).mean(axis=0)
        shown = "   ".join(f"{found[2 * at]:15.3f} {found[2 * at + 1]:7.2f}"[3 * (at == 2) :] for at in range(3))
        print(f"{name:26}{shown[1:]} {bound:7.2f}")


def order_known(n_draws: int) -> None:
    bound = _oracle(np.linspace(0.0, 1e-9, N_MODELS))
    print(f"{N_MODELS} models, {n_draws} draws; bound of claims {bound:.2f} standard errors")
    for name, truth in DESIGNS.items():
        rng, wide = np.random.default_rng(13), []
        for _ in range(n_draws):
            estimate = truth + rng.normal(0.0, 1.0, len(truth))
            low, high = rank_ranges((estimate[:, None] - estimate[None, :]) / np.sqrt(2.0) > bound)
            wide.append(float((high - low + 1).mean()))
        print(f"{name:28} {np.mean(wide):5.2f} ranks wide")


def each(n_draws: int, n: int = 12) -> None:
    designs = {
        "all tied": np.zeros(n),
        "two groups, 6 apart": np.repeat([0.0, 6.0], n // 2),
        "three groups, 3 apart": np.repeat([0.0, 3.0, 6.0], n // 3),
        **{f"apart by {gap:g}": np.arange(n) * gap for gap in (0.3, 1.0, 3.0)},
    }
    rng = np.random.default_rng(17)
    errors = rng.normal(0.0, 1.0, (20_000, n))
    bound = float(np.quantile(np.abs(errors[:, 1:] - errors[:, :1]).max(axis=1) / np.sqrt(2.0), LEVEL))
    among_all = float(np.quantile(np.ptp(errors, axis=1) / np.sqrt(2.0), LEVEL))
    print(
        f"{n} models, {n_draws} draws; bound of claims about one model {bound:.2f} standard errors, about all "
        f"{among_all:.2f}"
    )
    print(
        "design                   claims: hold   least  wide    drawn: hold   least  wide   shrunk: hold   least  wide"
    )
    for name, truth in designs.items():
        found = np.array([_each_drawn(truth, bound, rng) for _ in range(n_draws)])  # (draws, ways, 2, models)
        held, wide = found[:, :, 0].mean(axis=0), found[:, :, 1].mean(axis=(0, 2))
        shown = "    ".join(f"{h.mean():12.3f}  {h.min():.3f} {w:5.2f}" for h, w in zip(held, wide, strict=True))
        print(f"{name:24} {shown[2:]}")


def _each_drawn(truth: Floats, bound: float, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    """For each way and model, by estimated rank: whether its true rank is held, and how many ranks its range holds."""
    n = len(truth)
    estimate = truth + rng.normal(0.0, 1.0, n)
    order = np.argsort(-estimate)
    rank = np.lexsort((rng.random(n), -truth)).argsort() + 1
    spread = max(float(estimate.var(ddof=1)) - 1.0, 0.0)
    kept = spread / (spread + 1.0)
    shrunk = estimate.mean() + kept * (estimate - estimate.mean())
    ranges = [rank_ranges((estimate[:, None] - estimate[None, :]) / np.sqrt(2.0) > bound)]
    for center, error in ((estimate, 1.0), (shrunk, np.sqrt(kept))):
        drawn = center + error * rng.normal(0.0, 1.0, (1000, n)) + 1e-9 * rng.normal(0.0, 1.0, (1000, n))
        ranks = (-drawn).argsort(axis=1).argsort(axis=1) + 1
        ranges.append(tuple(np.quantile(ranks, (0.025, 0.975), axis=0, method="nearest").astype(int)))
    return [
        (((low <= rank) & (rank <= high))[order].astype(float), (high - low + 1)[order].astype(float))
        for low, high in ranges
    ]


def _oracle(truth: Floats, n_draws: int = 20_000) -> float:
    """The bound of claims, in standard errors, at which one or more is false in 5 of 100 draws of this truth."""
    rng = np.random.default_rng(12)
    false = (truth[:, None] <= truth[None, :]) & ~np.eye(len(truth), dtype=bool)
    estimates = truth + rng.normal(0.0, 1.0, (n_draws, len(truth)))
    t = (estimates[:, :, None] - estimates[:, None, :]) / np.sqrt(2.0)
    return max(float(np.quantile(t[:, false].max(axis=1), LEVEL)), 0.0)


def _drawn(truth: Floats, bound: float, rng: np.random.Generator) -> tuple[float, ...]:
    estimate = truth + rng.normal(0.0, 1.0, len(truth))
    t = (estimate[:, None] - estimate[None, :]) / np.sqrt(2.0)
    test = MaxT(np.eye(len(truth)) - 1.0 / len(truth), t, np.inf)
    stepwise = (test.adjusted() <= 1.0 - LEVEL) & (t > 0)
    out: list[float] = []
    for above in (stepwise, (test.told(LEVEL) <= 1.0 - LEVEL) & (t > 0), t > bound):
        low, high = rank_ranges(above)
        first = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
        last = len(truth) - (truth[None, :] < truth[:, None]).sum(axis=1)
        out += [float(((low <= first) & (high >= last)).all()), float((high - low + 1).mean())]
    return tuple(out)


if __name__ == "__main__":
    main()
