"""Moderation by a round's own gold alone: do intervals of prevalence, precision and recall hold with few flagged golds?

    python benchmarks/moderation.py [--draws 100] [--golds 200 600] [--method hero3]

3,000 items of which 6% are violations, a system that flags 75% of these and 3% of the rest, and two reviewers of
sensitivity .80 and .85, specificity .95 and .97, who err each by itself. Gold goes to random items, and there is no
history: with 200 golds about 15 are of flagged items. Shown of each quantity: how often its 95% interval holds the
truth, overall and where no finding doubts the interval, the spread of its values and its mean standard error. Gates
stay undecided where a finding doubts the interval.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hero_eval as hero

N_ITEMS, RATE = 3_000, 0.06
FLAG, REVIEWERS = (0.75, 0.97), ((0.80, 0.95), (0.85, 0.97))  # sensitivity and specificity
SEED = 5
FLAGGED = RATE * FLAG[0] + (1.0 - RATE) * (1.0 - FLAG[1])
TRUTH = {"prevalence": RATE, "precision": RATE * FLAG[0] / FLAGGED, "recall": FLAG[0]}


@dataclass(frozen=True)
class Seen:
    """One quantity of one draw."""

    value: float
    error: float
    covered: bool
    doubted: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--golds", type=int, nargs="+", default=[200, 600])
    parser.add_argument("--method", help="else the default")
    asked = parser.parse_args()
    for golds in asked.golds:
        found: dict[str, list[Seen]] = {name: [] for name in TRUTH}
        for draw in range(asked.draws):
            result = hero.estimate_moderation(
                draw_round(np.random.default_rng([SEED, golds, draw]), golds), None, flag="flag", method=asked.method
            )
            for name, truth in TRUTH.items():
                found[name].append(look(getattr(result, name), truth))
        for name, of in found.items():
            print(f"{golds} golds, {name}: {told(of)}", flush=True)


def draw_round(rng: np.random.Generator, golds: int) -> hero.Round:
    truth = rng.random(N_ITEMS) < RATE
    ids = [f"c{item}" for item in range(N_ITEMS)]
    flags = answers(rng, truth, *FLAG)
    said = [answers(rng, truth, *right) for right in REVIEWERS]
    known = rng.choice(N_ITEMS, golds, replace=False)
    labels = pa.table(
        {
            "item": ids * len(REVIEWERS),
            "labeler": [f"r{number}" for number in range(len(REVIEWERS)) for _ in ids],
            "label": np.concatenate(said),
        }
    )
    gold = pa.table({"item": [ids[item] for item in known], "gold": truth[known].astype(int)})
    return hero.Round(labels, gold, pa.table({"item": ids, "flag": flags}))


def answers(
    rng: np.random.Generator, truth: NDArray[np.bool_], sensitivity: float, specificity: float
) -> NDArray[np.int64]:
    return np.where(rng.random(len(truth)) < np.where(truth, sensitivity, specificity), truth, ~truth).astype(np.int64)


def look(estimate: hero.Estimate, truth: float) -> Seen:
    low, high = estimate.interval()
    doubted = any(finding.doubts_interval for finding in estimate.findings)
    return Seen(estimate.value, estimate.std_error, low <= truth <= high, doubted)


def told(seen: list[Seen]) -> str:
    cover = np.mean([one.covered for one in seen])
    error = np.sqrt(cover * (1.0 - cover) / len(seen))
    sure = [one.covered for one in seen if not one.doubted]
    of_sure = f"{np.mean(sure):.2f} of {len(sure)} that nothing doubts" if sure else "none that nothing doubts"
    spread, mean = np.std([one.value for one in seen]), np.mean([one.error for one in seen])
    return f"covers {cover:.3f} ± {error:.3f} ({of_sure}), sd {spread:.4f}, mean standard error {mean:.4f}"


if __name__ == "__main__":
    main()
