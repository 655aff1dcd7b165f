"""Real pairs of models on the same prompts: how far off is each method's difference of their rates?

    HERO_DATA=... python benchmarks/real_differences.py [--rate 0.1] [--draws 3] [--settings "tqa v1"] [--methods hero3]

Every two rounds of a setting that share prompts are compared with all their gold hidden; the other rounds of their kind
are history and show a random part of their gold, drawn anew in each draw. The truth is the difference of the two
rounds' gold means. Methods are judged as in real_rounds.py, whose runner this is; `default` is the answer when no
method is named.

Results go to docs/results/real_differences.csv (only the rows that were measured anew are replaced) and from there into
docs/real-rounds.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from real_rounds import (
    DIFFERENCE_METHODS,
    DIFFERENCE_SETTINGS,
    DIFFERENCES,
    LEVEL,
    Job,
    Outcome,
    earlier,
    learned,
    merged,
    run,
    summaries,
    update,
    write_page,
    write_raw,
)
from real_sets import Part, find_data, parts_of

import hero_eval as hero
from hero_eval.round import Round

SEED = 13
DEFAULT = "default"


def main() -> None:
    asked = options()
    jobs = [
        Job(setting, asked.rate, draw, tuple(asked.methods))
        for draw in range(asked.first, asked.first + asked.draws)
        for setting in asked.settings
    ]
    outcomes = merged(earlier(asked.add), run(jobs, asked.jobs, play))
    if asked.raw is not None:
        write_raw(asked.raw, outcomes)
    update(asked.output, list(summaries(outcomes, len(DIFFERENCE_SETTINGS))), DIFFERENCE_METHODS)
    if asked.output == DIFFERENCES:
        write_page()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.1, help="share of past items with gold")
    parser.add_argument("--draws", type=int, default=3, help="draws of gold")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw, to add draws to earlier ones")
    names = list(DIFFERENCE_SETTINGS)
    parser.add_argument("--settings", nargs="+", default=names, choices=names)
    methods = list(DIFFERENCE_METHODS)
    parser.add_argument("--methods", nargs="+", default=methods, choices=methods)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=DIFFERENCES, help="summary (CSV); its other rows are kept")
    parser.add_argument("--raw", type=Path, help="every single estimate (CSV)")
    parser.add_argument(
        "--add", type=Path, nargs="+", default=[], help="estimates of earlier runs (by --raw) to count in"
    )
    return parser.parse_args()


def play(job: Job) -> list[Outcome]:
    """Every pair of the setting, by every method."""
    warnings.simplefilter("error")
    parts = [part.on_prompts() for part in parts_of(job.setting, find_data())]
    rng = np.random.default_rng([SEED, DIFFERENCE_SETTINGS.index(job.setting), round(1000 * job.rate), job.draw])
    shown = {part.name: part.history(rng, job.rate) for part in parts}
    outcomes: list[Outcome] = []
    for a, b in pairs(parts):
        history = [shown[part.name] for part in parts if part.pool == a.pool and part not in (a, b)]
        if any(one.n_gold for one in history):
            outcomes += list(play_pair(job, a, b, history))
    return outcomes


def pairs(parts: Sequence[Part]) -> Iterator[tuple[Part, Part]]:
    """Two rounds of one pool that share prompts, and that leave the pool a history."""
    sizes = {part.pool: sum(other.pool == part.pool for other in parts) for part in parts}
    for a, b in combinations(parts, 2):
        if a.pool == b.pool and sizes[a.pool] > 2 and set(ids(a)) & set(ids(b)):
            yield a, b


def ids(part: Part) -> list[str]:
    found: list[str] = part.gold["item"].to_pylist()
    return found


def play_pair(job: Job, a: Part, b: Part, history: Sequence[Round]) -> Iterator[Outcome]:
    fitted = learned(history)
    currents = a.current(), b.current()
    for method in job.methods:
        answer = difference(currents, fitted, None if method == DEFAULT else method)
        yield Outcome(job, f"{a.name} - {b.name}", len(history), method, a.truth - b.truth, *answer)


def difference(currents: tuple[Round, Round], fitted: Any, method: str | None) -> tuple[float, float, float, str]:
    """Value, ends of the interval and codes of the findings; nan where the data do not support an answer."""
    try:
        found = hero.estimate_difference(*currents, fitted, method=method, level=LEVEL)
    except hero.HeroError as error:
        if error.exit_code != 3:
            raise
        return np.nan, np.nan, np.nan, error.code
    codes = {one.code for one in found.findings}
    return found.value, *found.interval(), " ".join([found.method, *sorted(codes)])


if __name__ == "__main__":
    main()
