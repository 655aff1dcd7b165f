"""Real judges and people: each round in turn is current with its gold hidden, the others are history with a random
tenth of their gold.

The data stay outside the repository, where HERO_DATA points. Bounds lie around figures that an independent
implementation of the algorithm got on the same data. Majority vote and Dawid-Skene use
no gold, so they must agree with it but for its looser convergence. The other two depend on which gold was drawn: their
mean error spreads over seeds (`spread`, of ten seeds here), and of the reference we know one mean of unknown seeds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from repository import BENCHMARKS, TOOLS, load_script

import hero_eval as hero

real_rounds = load_script(BENCHMARKS, "real_rounds")
real_sets = load_script(BENCHMARKS, "real_sets")
real_differences = load_script(BENCHMARKS, "real_differences")

GOLD_SHARE = 0.10
SEEDS = (1, 2)
METHODS = ("majority_vote", "dawid_skene", "gold_proportion", "hero1")
Part = Any


@dataclass(frozen=True)
class Known:
    """What is known of a set: its rounds, the mean |error| of METHODS measured elsewhere, and the standard deviation
    over seeds of the mean |error| of gold_proportion and hero1."""

    n_rounds: int
    errors: tuple[float, float, float, float]
    spread: tuple[float, float]


SETS = {
    "tqa v1": Known(9, (0.023, 0.047, 0.017, 0.029), (0.006, 0.0014)),
    "tqa v2": Known(8, (0.102, 0.074, 0.032, 0.067), (0.006, 0.0011)),
    "imagenhub SC": Known(29, (0.237, 0.179, 0.113, 0.147), (0.011, 0.008)),
    "imagenhub PQ": Known(29, (0.136, 0.152, 0.096, 0.145), (0.009, 0.023)),
    "dices350": Known(2, (0.273, 0.160, 0.137, 0.134), (0.035, 0.012)),
}
FOLDERS = sorted({one.folder for one in real_sets.SETS.values()})


def data_folder() -> Path:
    """Where the data are; a skip with its reason, or in continuous integration a failure, if they are absent."""
    try:
        found: Path = real_sets.find_data()
    except FileNotFoundError as reason:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{reason}; continuous integration must run the real rounds")
        pytest.skip(f"{reason}; real rounds were not tested")
    return found


def parts_of(name: str, folder: Path) -> tuple[Part, ...]:
    parts: tuple[Part, ...] = real_sets.parts_of(name, folder)
    return parts


def left_out(parts: tuple[Part, ...], seed: int) -> Iterator[tuple[Part, hero.Reliability]]:
    """Each round with what the others of its pool teach."""
    rng = np.random.default_rng(seed)
    past = {part.name: part.history(rng, GOLD_SHARE) for part in parts}
    for part in parts:
        others = [past[other.name] for other in parts if other.pool == part.pool and other is not part]
        yield part, hero.fit_reliability(others)


def error_of(part: Part, fitted: hero.Reliability, method: str) -> float:
    return abs(hero.estimate_rate(part.current(), fitted, method=method).value - part.truth)


@cache
def estimated(name: str, folder: Path, seed: int) -> list[tuple[Part, hero.Reliability, dict[str, hero.Estimate]]]:
    """Each round by METHODS, with what the others taught."""
    return [
        (part, fitted, {method: hero.estimate_rate(part.current(), fitted, method=method) for method in METHODS})
        for part, fitted in left_out(parts_of(name, folder), seed)
    ]


@cache
def measured(name: str, folder: Path) -> tuple[tuple[float, ...], ...]:
    """Mean |error| of METHODS for each seed."""
    by_seed = []
    for seed in SEEDS:
        errors = [
            [abs(found[method].value - part.truth) for method in METHODS]
            for part, _, found in estimated(name, folder, seed)
        ]
        by_seed.append(tuple(np.mean(errors, axis=0).tolist()))
    return tuple(by_seed)


@pytest.mark.parametrize("name", SETS)
def test_real_rounds_are_read(name: str) -> None:
    """Tables as teams have them could not be read, or lose items on the way."""
    parts = parts_of(name, data_folder())
    assert len(parts) == SETS[name].n_rounds
    for part in parts:
        current = part.current()
        assert current.n_items == pc.count_distinct(part.labels["item"]).as_py() == part.gold.num_rows
        assert current.n_labels == part.labels.num_rows
        assert not current.notes


@pytest.mark.parametrize("folder", FOLDERS)
def test_whole_folders_are_read(folder: str) -> None:
    """A folder of the three tables would need work before it can be read."""
    path = data_folder() / folder
    whole = hero.read_round(path)
    assert whole.classes == ("0", "1")
    assert whole.n_items == whole.n_gold > 300
    assert "round" in whole.column_names


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SETS)
def test_errors_are_those_measured_elsewhere(name: str, method: str) -> None:
    """A method would do worse, or seem to do better, on real judges than it does."""
    position = METHODS.index(method)
    expected = SETS[name].errors[position]
    found = float(np.mean([errors[position] for errors in measured(name, data_folder())]))
    if method == "majority_vote":
        assert found == pytest.approx(expected, abs=0.001)  # rounding
    elif method == "dawid_skene":
        assert found == pytest.approx(expected, abs=0.005)  # theirs stops after 200 steps
    else:
        spread = SETS[name].spread[METHODS.index(method) - 2]
        assert found == pytest.approx(expected, abs=0.001 + 3 * spread * (1 + 1 / len(SEEDS)) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_method_answers_on_real_rounds(name: str) -> None:
    """A method would fail, or answer with no number and no word, on data as they are."""
    for number, (part, fitted, by_method) in enumerate(estimated(name, data_folder(), SEEDS[0])):
        more = {"hero3": hero.estimate_rate(part.current(), fitted, method="hero3")} if number % 7 == 0 else {}
        for method, found in (by_method | more).items():
            low, high = found.interval()
            assert 0 <= low <= found.value <= high <= 1, (part.name, method)
            assert low < high
            assert found.converged
            json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tqa v1", "tqa v2"])
def test_judges_that_err_together_mislead_hero3_less(name: str) -> None:
    """On real judges, who share their mistakes, the method made for them would do no better than the paper's."""
    errors = [
        [error_of(part, fitted, method) for method in ("hero1", "hero3")]
        for part, fitted in list(left_out(parts_of(name, data_folder()), seed=1))[::2]
    ]
    of_hero1, of_hero3 = np.mean(errors, axis=0)
    assert of_hero3 < 0.75 * of_hero1


@pytest.mark.slow
def test_drift_between_versions_runs() -> None:
    """Judging the new version's answers by the old one's judges, a team's usual case, would fail."""
    folder = data_folder()
    rng = np.random.default_rng(5)
    fitted = hero.fit_reliability([part.history(rng, GOLD_SHARE) for part in parts_of("tqa v1", folder)])
    errors = [
        [error_of(part, fitted, method) for method in ("hero1", "hero3")] for part in parts_of("tqa v2", folder)[::3]
    ]
    assert np.max(errors) < 0.25
    of_hero1, of_hero3 = np.mean(errors, axis=0)
    assert of_hero3 < of_hero1


@pytest.mark.parametrize(
    ("name", "n_pairs"), [("tqa v1", 36), ("tqa v2", 28), ("imagenhub SC", 56), ("imagenhub PQ", 56)]
)
def test_pairs_of_models_share_their_prompts(name: str, n_pairs: int) -> None:
    """Models would be compared item by item though their items have nothing in common, or pairs would be left out."""
    parts = [part.on_prompts() for part in parts_of(name, data_folder())]
    pairs = list(real_differences.pairs(parts))
    assert len(pairs) == n_pairs
    for a, b in pairs[::9]:
        first, second = (set(part.current().item_ids) for part in (a, b))
        assert len(first & second) >= 0.9 * min(len(first), len(second))
    one = parts[0]
    assert one.truth == parts_of(name, data_folder())[0].truth
    assert one.current().n_items == one.gold.num_rows


def test_a_pair_is_scored_by_the_difference_of_its_gold() -> None:
    """The benchmark would hold differences against something else than what gold says."""
    a, b, *others = parts_of("tqa v2", data_folder())
    a, b, others = a.on_prompts(), b.on_prompts(), [part.on_prompts() for part in others[:2]]
    history = [part.history(np.random.default_rng(1), GOLD_SHARE) for part in others]
    job = real_rounds.Job("tqa v2", GOLD_SHARE, 0, ("majority_vote", "hero1"))
    found = list(real_differences.play_pair(job, a, b, history))
    assert [one.method for one in found] == list(job.methods)
    for one in found:
        assert one.truth == pytest.approx(a.truth - b.truth)
        assert one.low < one.value < one.high
        assert one.n_past == 2
    assert abs(found[1].value - found[1].truth) < 0.1


def outcome(draw: int, low: float, high: float, n_past: int = 3) -> Any:
    job = real_rounds.Job("tqa v1", 0.1, draw, ("hero3",))
    return real_rounds.Outcome(job, "a round", n_past, "hero3", 0.5, 0.45, low, high)


def test_the_benchmark_scores_intervals() -> None:
    """Methods would be ranked by another score than the page says."""
    assert outcome(0, 0.4, 0.6).measures == pytest.approx((0.05, 1.0, 0.2, 0.2))
    assert outcome(0, 0.1, 0.45).measures == pytest.approx((0.05, 0.0, 0.35, 0.35 + 40 * 0.05))
    first, second = (dict(row) for row in real_rounds.summaries([outcome(0, 0.4, 0.6), outcome(1, 0.3, 0.6)]))
    assert [float(first[name]) for name in ("error", "coverage", "width")] == pytest.approx([0.05, 1.0, 0.25])
    assert float(first["width_se"]) == pytest.approx(0.05)  # of two draws, 0.2 and 0.3
    assert (first["rounds"], second["rounds"]) == ("all", "three or more past rounds")


def test_settings_count_alike_however_many_draws_they_have() -> None:
    """The mean over settings would lean to the one with most draws, and its error be that of another mean."""
    counts = {setting: 6 if setting == "dices350" else 2 for setting in real_rounds.SETTINGS}
    outcomes = [
        replace(outcome(draw, 0.4, 0.6 + 0.1 * (draw % 2)), job=real_rounds.Job(setting, 0.1, draw, ("hero3",)))
        for setting, draws in counts.items()
        for draw in range(draws)
    ]
    (row,) = (
        row
        for row in real_rounds.summaries(outcomes)
        if row["setting"] == real_rounds.OVERALL and row["rounds"] == "all"
    )
    by_setting = [np.var([0.2, 0.3] * (draws // 2), ddof=1) / draws for draws in counts.values()]
    assert float(row["width"]) == pytest.approx(0.25)
    assert float(row["width_se"]) == pytest.approx(np.sqrt(np.sum(by_setting)) / len(counts), abs=1e-6)


def test_earlier_estimates_are_counted_in(tmp_path: Path) -> None:
    """A run that adds draws would lose those of the run before, or keep old figures of a method measured anew."""
    old, new = [outcome(0, 0.4, 0.6), outcome(1, 0.3, 0.6)], [outcome(1, 0.2, 0.6), outcome(2, 0.1, 0.6)]
    real_rounds.write_raw(tmp_path / "raw.csv", old)
    both = real_rounds.merged(real_rounds.earlier([tmp_path / "raw.csv"]), new)
    assert [(one.job.draw, one.low) for one in both] == [(0, 0.4), (1, 0.2), (2, 0.1)]


def test_new_figures_replace_only_their_own(tmp_path: Path) -> None:
    """Measuring one gold rate anew would lose the figures of the others, or keep the old ones."""
    rows = list(real_rounds.summaries([outcome(0, 0.4, 0.6, 1), outcome(1, 0.3, 0.6, 1)]))
    other = [{**row, "gold_rate": "0.3"} for row in rows]
    real_rounds.update(tmp_path / "r.csv", [*rows, *other])
    real_rounds.update(tmp_path / "r.csv", [{**row, "width": "0.9"} for row in rows])
    assert [row["width"] for row in real_rounds.read(tmp_path / "r.csv")] == ["0.9", "0.250000"]


def test_the_page_shows_the_results() -> None:
    """The tables of the page would be those of another run."""
    markers = load_script(TOOLS, "markers")
    page = real_rounds.PAGE.read_text(encoding="utf-8")
    fresh = markers.replaced(page, real_rounds.sections(real_rounds.read(real_rounds.RESULTS), markers))
    assert fresh == page, "bring it up to date: python benchmarks/real_rounds.py --page"


def test_continuous_integration_does_not_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would all be skipped in continuous integration, and nobody would notice."""
    monkeypatch.delenv("HERO_DATA", raising=False)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="HERO_DATA"):
        data_folder()
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="HERO_DATA"):
        data_folder()
