"""Choosing hero3's shape: do fits that are left early, since they seem lost, cost the best shape?

    HERO_DATA=... python benchmarks/shape_choice.py [--rates 0.1] [--draws 1] [--settings "tqa v1"]

Every public round in turn is current with its gold hidden, as in `real_rounds.py`. The shape is chosen twice in one
process: as hero3 does it, and with every shape fitted to its end. Told are the rounds whose shape differs, and the
ratio of processor time.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
from real_rounds import SEED, SETTINGS
from real_sets import find_data, parts_of

from hero_eval.blas_threads import one_blas_thread
from hero_eval.estimation.options import Options
from hero_eval.estimation.replay import analyze
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.hero3 import gather_rows
from hero_eval.model.hero3 import fit as fitting
from hero_eval.model.hero3.level_selection import choose_levels
from hero_eval.model.hero3.shape import LevelShape


def evidence_of(setting: str, rate: float, draw: int) -> Iterator[JointEvidence]:
    """What hero3 sees of each round of the setting."""
    of_current, of_past = (parts_of(name, find_data()) for name in SETTINGS[setting])
    rng = np.random.default_rng([SEED, list(SETTINGS).index(setting), round(1000 * rate), draw])
    shown = {part.name: part.history(rng, rate) for part in of_past}
    for part in of_current:
        past = [shown[other.name] for other in of_past if other.pool == part.pool and other is not part]
        if any(one.n_gold for one in past):
            evidence = analyze([part.current()], past, Options("hero3")).question.currents[0].evidence
            assert isinstance(evidence, JointEvidence)
            yield evidence


@one_blas_thread()
def chosen(evidence: JointEvidence, lost: float) -> tuple[LevelShape, float]:
    """The shape, and the processor time that choosing it takes."""
    rows, usual = gather_rows(evidence, evidence.n_classes), fitting._LOST
    fitting._LOST = lost
    try:
        start = time.process_time()
        return choose_levels(rows, evidence.groups, None).shape, time.process_time() - start
    finally:
        fitting._LOST = usual


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    asked = parser.parse_args()
    differ: Counter[str] = Counter()
    seconds, n_rounds = np.zeros(2), 0
    for setting in asked.settings:
        before, of_setting = n_rounds, np.zeros(2)
        for rate in asked.rates:
            for draw in range(asked.draws):
                for evidence in evidence_of(setting, rate, draw):
                    if n_rounds == before:  # the first loads and compiles
                        chosen(evidence, np.inf)
                    (early, took), (full, took_full) = chosen(evidence, fitting._LOST), chosen(evidence, np.inf)
                    differ[setting] += early != full
                    of_setting += took, took_full
                    n_rounds += 1
        seconds += of_setting
        ratio = of_setting[0] / of_setting[1]
        print(f"{setting}: {differ[setting]} of {n_rounds - before} shapes differ, time {ratio:.2f}", flush=True)
    print(f"all: {differ.total()} of {n_rounds} shapes differ, time {seconds[0] / seconds[1]:.2f}")


if __name__ == "__main__":
    main()
