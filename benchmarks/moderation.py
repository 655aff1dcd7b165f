"""Moderation by a round's own gold alone: do intervals of prevalence, precision and recall hold with few flagged golds?

    python benchmarks/moderation.py [--draws 100] [--golds 200 600] [--reviewers apart together swayed] [--method hero3]

3,000 items of which 6% are violations, a system that flags 75% of these and 3% of the rest, and three reviewers of
sensitivity .80, .85 and .75 and specificity .95, .97 and .93. They err each by itself (`apart`, two of them), with a
correlation of .5 (`together`), or lean by .7 logits towards what the system said (`swayed`, two), so that they answer
otherwise among flagged items than among the rest. Gold goes to random items, and there is no history: with 200 golds
about 15 are of flagged items. Shown of each quantity: how often its 95% interval holds the truth, overall and where no
finding doubts the interval, the spread of its values and its mean standard error. Gates stay undecided where a finding
doubts the interval.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special

import hero_eval as hero

N_ITEMS, RATE = 3_000, 0.06
FLAG, REVIEWERS = (0.75, 0.97), ((0.80, 0.95), (0.85, 0.97), (0.75, 0.93))  # sensitivity and specificity
TOGETHER, LEAN = 0.5, 0.7
KINDS = ("apart", "together", "swayed")
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
    parser.add_argument("--reviewers", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--method", help="else the default")
    asked = parser.parse_args()
    for kind, golds in product(asked.reviewers, asked.golds):
        found: dict[str, list[Seen]] = {name: [] for name in TRUTH}
        for draw in range(asked.draws):
            result = hero.estimate_moderation(
                draw_round(np.random.default_rng([SEED, golds, draw]), golds, kind), flag="flag", method=asked.method
            )
            for name, truth in TRUTH.items():
                found[name].append(look(getattr(result, name), truth))
        for name, of in found.items():
            print(f"{kind}, {golds} golds, {name}: {told(of)}", flush=True)


def draw_round(rng: np.random.Generator, golds: int, kind: str = "apart") -> hero.Round:
    truth = rng.random(N_ITEMS) < RATE
    ids = [f"c{item}" for item in range(N_ITEMS)]
    flags = answers(truth, rng.random(N_ITEMS) < np.where(truth, *FLAG))
    said = [answers(truth, right) for right in right_answers(rng, truth, flags == truth, kind)]
    known = rng.choice(N_ITEMS, golds, replace=False)
    labels = pa.table(
        {
            "item": ids * len(said),
            "labeler": [f"r{number}" for number in range(len(said)) for _ in ids],
            "label": np.concatenate(said),
        }
    )
    gold = pa.table({"item": [ids[item] for item in known], "gold": truth[known].astype(int)})
    return hero.Round(labels, gold, pa.table({"item": ids, "flag": flags}))


def right_answers(
    rng: np.random.Generator, truth: NDArray[np.bool_], flag_right: NDArray[np.bool_], kind: str
) -> list[NDArray[np.bool_]]:
    """Of each reviewer which items it gets right."""
    shared = rng.standard_normal(N_ITEMS) if kind == "together" else np.zeros(N_ITEMS)
    own = 1.0 - TOGETHER if kind == "together" else 1.0
    out = []
    for right in REVIEWERS if kind == "together" else REVIEWERS[:2]:
        chance = np.where(truth, *right)
        if kind == "swayed":
            chance = special.expit(special.logit(chance) + np.where(flag_right, LEAN, -LEAN))
        luck = np.sqrt(own) * rng.standard_normal(N_ITEMS) + np.sqrt(1.0 - own) * shared
        out.append(special.ndtr(luck) < chance)
    return out


def answers(truth: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(right, truth, ~truth).astype(np.int64)


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
