"""Are the probabilities of single items right? Real rounds, whose gold is hidden and then held against them.

    HERO_DATA=... python benchmarks/item_calibration.py [--draws 3] [--settings "tqa v1" SC] [--scores] [--method hero3]

Every round in turn is current with its gold hidden; the past rounds of its pool show a tenth of theirs, drawn as in
`real_rounds.py`. Of every round the items' probabilities of class 1 are held against all its gold: expected calibration
error (ten bins of equal width), what chance alone would make of it, the Brier score, and that of the round's own rate
without any label. Wanted: an expected calibration error of at most .05 where the interval of the rate covers. Of one
round it is told as the mean over rounds; pooled, all rounds' items are one heap, which forgives what differs between
rounds. `--scores` takes imagenhub's raw scores instead of thresholds.

No round's error can be below the distance of its items' mean from the share of gold, which is the error of the rate
(`floor`): gaps of bins add up to at least that. What the items themselves add is seen once all their logits are moved
by the same, until their mean is the share of gold (`rate right`).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from real_rounds import LEVEL, SEED, SETTINGS
from real_sets import Part, find_data, parts_of
from scores import raw_scores

import hero_eval as hero
from hero_eval.model.calibration import Calibrated, calibration
from hero_eval.model.hero3.class_split import shift_to
from hero_eval.model.hero3.drift import shift_logits
from hero_eval.round import Round

RATE = 0.10
WANTED = ("tqa v1", "tqa v2", "imagenhub SC", "imagenhub PQ", "dices350")


@dataclass(frozen=True, eq=False)
class Heard:
    """One round: whether the rate's interval covers, and its items' probabilities beside their gold."""

    covers: bool
    chance: np.ndarray
    gold: np.ndarray

    @property
    def measured(self) -> Calibrated:
        return calibration(self.chance, self.gold)

    @property
    def floor(self) -> float:
        return abs(float(self.chance[:, 1].mean() - self.gold.mean()))

    def rate_right(self) -> np.ndarray:
        """The items' probabilities with all logits moved so that their mean is the share of gold."""
        share = float(np.clip(self.gold.mean(), 1e-3, 1 - 1e-3))
        held = np.clip(self.chance, 1e-9, 1.0)
        return shift_logits(held, shift_to(held, np.ones(len(held)), np.array([1 - share, share])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--settings", nargs="+", default=list(WANTED), choices=list(SETTINGS))
    parser.add_argument("--scores", action="store_true", help="raw scores of imagenhub")
    parser.add_argument("--method", default="hero3")
    asked = parser.parse_args()
    for setting in asked.settings:
        scored = asked.scores and setting.startswith("imagenhub")
        heard = [one for draw in range(asked.draws) for one in play(setting, draw, asked.method, scored=scored)]
        tell(f"{setting}{', scores' if scored else ''}", heard)


def play(setting: str, draw: int, method: str, *, scored: bool) -> list[Heard]:
    folder = find_data()
    parts = parts_of(SETTINGS[setting][0], folder)
    pasts = parts_of(SETTINGS[setting][1], folder)
    rng = np.random.default_rng([SEED, list(SETTINGS).index(setting), round(1000 * RATE), draw])
    shown = {part.name: part.gold.filter(pa.array(rng.random(part.gold.num_rows) < RATE)) for part in pasts}

    def read(part: Part, gold: pa.Table | None) -> Round:
        if scored:
            return Round(raw_scores(part, folder), gold, name=part.name, label_kind="score")
        return Round(part.labels, gold, name=part.name, classes=["0", "1"])

    found = []
    for part in parts:
        past = [
            read(other, shown[other.name] if shown[other.name].num_rows else None)
            for other in pasts
            if other.pool == part.pool and other is not part
        ]
        estimate = hero.estimate_rate(read(part, None), past, method=method, level=LEVEL)
        items = estimate.items("pyarrow").to_pydict()
        truth = dict(zip(part.gold["item"].to_pylist(), part.gold["gold"].to_pylist(), strict=True))
        known = [place for place, item in enumerate(items["item"]) if item in truth]
        chance = np.array(items["probability_1"])[known]
        gold = np.array([int(truth[items["item"][place]]) for place in known])
        low, high = estimate.interval()
        found.append(Heard(low <= part.truth <= high, np.column_stack([1 - chance, chance]), gold))
    return found


def tell(what: str, heard: list[Heard]) -> None:
    covered = [one for one in heard if one.covers]
    print(f"{what}: {len(heard)} rounds played, the interval covers in {len(covered)}")
    for name, some in (("where it covers", covered), ("all", heard)):
        if not some:
            continue
        each = [one.measured for one in some]
        pooled = calibration(np.concatenate([one.chance for one in some]), np.concatenate([one.gold for one in some]))
        right = [one.rate_right() for one in some]
        moved = [calibration(chance, one.gold).error for chance, one in zip(right, some, strict=True)]
        together = calibration(np.concatenate(right), np.concatenate([one.gold for one in some]))
        print(
            f"  {name}: ECE pooled {pooled.error:.3f}, of a round {np.mean([one.error for one in each]):.3f} (by "
            f"chance {np.mean([one.error_by_chance for one in each]):.3f}, floor "
            f"{np.mean([one.floor for one in some]):.3f}); rate right: pooled {together.error:.3f}, of a round "
            f"{np.mean(moved):.3f}; Brier {pooled.brier:.3f}, without labels "
            f"{np.mean([one.brier_of_mean for one in each]):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
