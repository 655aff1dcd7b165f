"""What a single past round costs, on real rounds: hero3 as it is, and without what it does about drift.

    HERO_DATA=... python benchmarks/one_past_round.py [--draws 5] [--rate 0.1]

Every round of every set in turn is the current one, with one past round of its kind, drawn at random. `hero3` allows
for a usual drift and takes a part of a shift for drift (where labelers err together); "drift in the interval only"
believes every shift; "no drift" also leaves drift out of the interval. The table goes to
docs/results/one_past_round.csv and from there into docs/real-rounds.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
from real_rounds import ONE_PAST, SETTINGS, Job, Outcome, estimate, learned, run, write_page, write_rows
from real_sets import find_data, parts_of

from hero_eval.model.hero3 import current_rates, drift_split
from hero_eval.model.hero3.drift import no_drift

VARIANTS = ("hero3", "drift in the interval only", "no drift", "history mean")
LEAST_GOLD = 3
SEED = 9


@contextmanager
def without(variant: str) -> Iterator[None]:
    """hero3 with parts of it left out."""
    with ExitStack() as stack:
        if variant != "hero3":
            stack.enter_context(mock.patch.object(drift_split, "split_shift", lambda seen, *_: seen))
        if variant == "no drift":
            stack.enter_context(mock.patch.object(current_rates, "learn_drift", return_value=no_drift(1)))
        yield


def play(job: Job) -> list[Outcome]:
    """Every round of the setting as the current one, by every variant."""
    warnings.simplefilter("error")
    of_current, of_past = (parts_of(name, find_data()) for name in SETTINGS[job.setting])
    rng = np.random.default_rng([SEED, list(SETTINGS).index(job.setting), round(1000 * job.rate), job.draw])
    outcomes = []
    for part in of_current:
        others = [other for other in of_past if other.pool == part.pool and other is not part]
        past = others[rng.integers(len(others))].history(rng, job.rate)
        if past.n_gold < LEAST_GOLD:
            continue
        fitted = learned([past])
        for variant in VARIANTS[:-1]:
            with without(variant):
                answer = estimate(part.current(), fitted, "hero3")
            outcomes.append(Outcome(job, part.name, 1, variant, part.truth, *answer))
        mean = float(past.gold[past.gold >= 0].mean())
        outcomes.append(Outcome(job, part.name, 1, VARIANTS[-1], part.truth, mean, np.nan, np.nan))
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5, help="draws of past rounds and gold")
    parser.add_argument("--rate", type=float, default=0.1, help="share of past items with gold")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=ONE_PAST)
    asked = parser.parse_args()
    times = {setting: 4 if setting == "dices350" else 1 for setting in SETTINGS}  # it has two rounds only
    jobs = [Job(setting, asked.rate, draw, ()) for setting in SETTINGS for draw in range(asked.draws * times[setting])]
    outcomes = run(jobs, asked.jobs, play)
    write_rows(asked.output, list(rows(outcomes, asked.rate)))
    if asked.output == ONE_PAST:
        write_page()


def rows(outcomes: Sequence[Outcome], rate: float) -> Iterator[dict[str, str]]:
    for setting in SETTINGS:
        for variant in VARIANTS:
            kept = [one for one in outcomes if one.job.setting == setting and one.method == variant]
            kept = [one for one in kept if np.isfinite(one.value)]
            error, coverage, _, score = np.array([one.measures for one in kept]).T
            known = bool(np.isfinite(score).all())
            yield {
                "setting": setting,
                "gold_rate": f"{rate:g}",
                "method": variant,
                "estimates": str(len(kept)),
                "error": f"{error.mean():.4f}",
                "error_se": f"{error.std(ddof=1) / np.sqrt(len(kept)):.4f}",
                "coverage": f"{coverage.mean():.4f}" if known else "",
                "score": f"{score.mean():.4f}" if known else "",
            }


if __name__ == "__main__":
    main()
