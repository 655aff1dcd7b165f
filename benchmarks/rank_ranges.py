"""How sharp ranges of ranks are that hold together: how often they hold, and how wide they are.

    python benchmarks/rank_ranges.py [--draws 200]

Estimates of 8 models are drawn around true values, with known and equal errors: what is measured is the way from
differences to ranks alone. Compared are stepwise claims (`MaxT.adjusted`) and the sharper ones that are used
(`MaxT.told`; Romano, Shaikh and Wolf 2014): a first step, which spends a part of the level, bounds how far each
difference lies below zero, and those far below no longer count among the ways in which chance could mislead.
Ranges must hold in 95 of 100 draws wherever the true values lie; where models are tied, a range must hold all ranks
that the tied ones share.
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
    asked = parser.parse_args()
    print(
        f"{N_MODELS} models, {asked.draws} draws (Monte Carlo error of a share of .95: "
        f"{(0.95 * 0.05 / asked.draws) ** 0.5:.3f})"
    )
    print("design                       stepwise: hold   ranks wide   two steps: hold   ranks wide")
    for name, truth in DESIGNS.items():
        rng = np.random.default_rng(11)
        found = np.array([_drawn(truth, rng) for _ in range(asked.draws)]).mean(axis=0)
        print(f"{name:28} {found[0]:14.3f} {found[1]:12.2f} {found[2]:17.3f} {found[3]:12.2f}")


def _drawn(truth: Floats, rng: np.random.Generator) -> tuple[float, ...]:
    estimate = truth + rng.normal(0.0, 1.0, len(truth))
    t = (estimate[:, None] - estimate[None, :]) / np.sqrt(2.0)
    test = MaxT(np.eye(len(truth)) - 1.0 / len(truth), t, np.inf)
    stepwise = (test.adjusted() <= 1.0 - LEVEL) & (t > 0)
    out: list[float] = []
    for above in (stepwise, (test.told(LEVEL) <= 1.0 - LEVEL) & (t > 0)):
        low, high = rank_ranges(above)
        first = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
        last = len(truth) - (truth[None, :] < truth[:, None]).sum(axis=1)
        out += [float(((low <= first) & (high >= last)).all()), float((high - low + 1).mean())]
    return tuple(out)


if __name__ == "__main__":
    main()
