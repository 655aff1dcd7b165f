"""Writes the built-in example, a synthetic twin of the paper's asset-defect study, as small CSV files.

    python examples/make_example.py               writes src/hero_eval/examples/defect
    python examples/make_example.py --survey 200  shows how the seed was chosen

The seed is an ordinary one, not a lucky one. For seeds 1 to 200 the twin was drawn and the methods' estimates
taken. For each number (the true share, and the size of the errors of majority vote, HERO-1 and HERO-2 against
it) the median over the seeds was noted, and the seed was kept whose four numbers are jointly nearest to their
medians, counted in standard deviations. Sizes, because the signed errors of a good method have a median near
0, and a seed near that would flatter it. So the example errs as much as such data usually do: majority vote
sees about half of the defects and the others are off by a few points.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.studies.twins import Twin, defect_twin, reveal

SEED = 106
ROOT = Path(__file__).resolve().parent.parent
DESTINATION = ROOT / "src" / "hero_eval" / "examples" / "defect"

STORY = (
    "A synthetic team generates 3D assets from 532 prompts and asks whether an asset has a defect. "
    "The older model version (history) was labeled by ten vendors, three an asset, and an expert checked a "
    "random tenth of it. The newer version (current) has labels only, two of the vendors have left, and most "
    "of those who remain overlook defects. An LLM judge gave its verdict (1: defect) on most assets of both "
    "versions. All of it is simulated, so the true share of defects is known."
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the built-in example, or show how its seed was chosen.")
    parser.add_argument("--survey", type=int, metavar="SEEDS", help="only look at seeds 1 to SEEDS")
    seeds = parser.parse_args().survey
    if seeds is None:
        write_example(DESTINATION)
    else:
        survey(seeds)


def write_example(destination: Path, seed: int = SEED) -> None:
    """All files of the example. The same seed gives the same bytes."""
    twin, gold = make_example(seed)
    items = [f"p{number:03d}" for number in range(1, len(twin.prompts) + 1)]
    history, current = destination / "history", destination / "current"
    known = [(item, answer) for item, answer in zip(items, gold, strict=True) if answer >= 0]
    _write_csv(history / "gold.csv", ("item", "gold"), known)
    for folder, labels, judge in (
        (history, twin.history_labels, twin.history_judge),
        (current, twin.current_labels, twin.current_judge),
    ):
        assert judge is not None
        verdicts = ["" if np.isnan(verdict) else int(verdict) for verdict in judge]
        _write_csv(folder / "labels.csv", ("item", "labeler", "label"), _label_rows(items, twin, labels))
        _write_csv(folder / "items.csv", ("item", "prompt", "judge"), zip(items, twin.prompts, verdicts, strict=True))
    about = {
        "truth": round(float(twin.current_truth.mean()), 6),
        "history_truth": round(float(twin.history_truth.mean()), 6),
        "seed": seed,
        "story": STORY,
    }
    (destination / "about.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8", newline="\n")


def make_example(seed: int) -> tuple[Twin, NDArray[np.int8]]:
    """The twin, and history's gold."""
    rng = np.random.default_rng(seed)
    twin = defect_twin(rng)
    return twin, reveal(twin.history_truth, twin.gold_rate, rng)


def survey(n_seeds: int) -> None:
    """Prints the medians over the seeds (of the errors: of their sizes) and the seeds nearest to them."""
    numbers = np.array([story_numbers(seed) for seed in range(1, n_seeds + 1)])
    sizes = np.abs(numbers)
    median = np.median(sizes, axis=0)
    distance = np.sqrt((((sizes - median) / sizes.std(axis=0)) ** 2).sum(axis=1))
    print("seed    truth  and the error of  majority vote   HERO-1   HERO-2   distance")
    rows = [("median", median, 0.0)]
    rows += [(str(i + 1), numbers[i], float(distance[i])) for i in np.argsort(distance)[:10]]
    for name, (truth, majority, hero1, hero2), away in rows:
        print(f"{name:6}  {truth:.3f}  {majority:+29.3f}  {hero1:+7.3f}  {hero2:+7.3f}  {away:9.2f}")


def story_numbers(seed: int) -> tuple[float, float, float, float]:
    """The true share, and the errors of majority vote, HERO-1 and HERO-2."""
    twin, gold = make_example(seed)
    assert twin.history_judge is not None
    assert twin.current_judge is not None
    truth = float(twin.current_truth.mean())
    history, current = twin.history_labels, twin.current_labels
    usual = float(np.nanmean(twin.history_judge))
    history_x = np.nan_to_num(twin.history_judge, nan=usual)[:, None]
    current_x = np.nan_to_num(twin.current_judge, nan=usual)[:, None]
    naive = _slow_twins()
    majority = naive.majority_vote(current, 2)[1]
    hero1 = naive.hero1(history, gold, current, 2, tolerance=1e-7)[1]
    hero2 = naive.hero2(history, gold, history_x, current, current_x, 2, tolerance=1e-7)[1]
    return truth, majority - truth, hero1 - truth, hero2 - truth


def _slow_twins() -> Any:
    """The methods as the tests have them, straight from the paper: what the example was chosen by."""
    sys.path.insert(0, str(ROOT / "tests"))
    found = importlib.import_module("reference.naive")
    sys.path.remove(str(ROOT / "tests"))
    return found


def _label_rows(items: Sequence[str], twin: Twin, labels: NDArray[np.int8]) -> Iterable[tuple[str, str, int]]:
    for item, row in zip(items, labels, strict=True):
        for labeler, label in zip(twin.labelers, row, strict=True):
            if label >= 0:
                yield item, labeler, int(label)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
