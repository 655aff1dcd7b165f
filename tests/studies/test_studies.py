"""The studies: the same bytes for any number of processes, readable files, and the case studies' story."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet
import pytest

import hero_eval as hero
from hero_eval.studies import run
from hero_eval.studies.coverage import coverage_cells
from hero_eval.studies.designs import EXPERIMENTS
from hero_eval.studies.run import STUDIES, cells_of, run_study


@pytest.mark.slow
@pytest.mark.parametrize("study", ["exp1-small", "safety"])
def test_processes_do_not_change_a_byte(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study run on another machine would give other numbers."""
    rates = (cells_of(study)[1].gold_rate,)
    monkeypatch.setattr(run, "CHUNK", 2)
    files = []
    for processes in (1, 2):
        result = run_study(study, replications=6, seed=3, processes=processes, gold_rates=rates)
        files.append(result.write(tmp_path / f"{processes}.csv").read_bytes())
    assert files[0] == files[1]
    assert run_study(study, replications=6, seed=4, processes=1, gold_rates=rates).rows != result.rows


def test_files_hold_the_rows(tmp_path: Path) -> None:
    """A study's file would not say what the terminal said."""
    result = run_study("exp2", replications=2, processes=1, gold_rates=(0.1,))
    with result.write(tmp_path / "a.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [row["method"] for row in read] == [row["method"] for row in result.rows]
    assert float(read[0]["rmse"]) == result.rows[0]["rmse"]
    table = pyarrow.parquet.read_table(result.write(tmp_path / "a.parquet"))
    assert table.to_pylist() == result.rows
    with pytest.raises(hero.HeroError, match="E201"):
        result.write(tmp_path / "a.txt")


def test_every_study_has_its_cells() -> None:
    """A cell of the paper would be left out."""
    assert sum(len(cells_of(study)) for study in EXPERIMENTS) == 26
    assert [cell.name for cell in coverage_cells()[:26]] == [
        design.name for of in EXPERIMENTS.values() for design in of
    ]
    assert len(coverage_cells()) == 43
    assert set(EXPERIMENTS) < set(STUDIES)
    for wrong in ({"study": "exp9"}, {"study": "exp2", "gold_rates": (0.3,)}):
        with pytest.raises(hero.HeroError, match="E201"):
            cells_of(**wrong)  # type: ignore[arg-type]


@pytest.mark.simulation
def test_the_case_studies_tell_the_papers_story() -> None:
    """The twins would not show what they are there to show: the vote far off, HERO near."""
    rows = {row["method"]: row for row in run_study("defect", replications=40, gold_rates=(0.1,)).rows}
    assert rows["majority_vote"]["bias"] < -0.08
    for name in ("hero1", "hero2"):
        assert rows[name]["rmse"] < 0.7 * rows["majority_vote"]["rmse"]
    safety = {row["method"]: row for row in run_study("safety", replications=20, gold_rates=(0.4,)).rows}
    assert abs(safety["majority_vote"]["bias"]) > 4 * abs(safety["hero1"]["bias"])
    # the words of the prompts take some of the noise away; on the same draws, so a small gain shows
    assert safety["hero2"]["sd"] < 1.02 * safety["hero1"]["sd"]


def test_progress_is_told() -> None:
    """A study of an hour would show nothing until its end."""
    seen: list[tuple[int, int]] = []
    run_study(
        "exp2", replications=2, processes=1, gold_rates=(0.1,), progress=lambda done, total: seen.append((done, total))
    )
    assert seen[0] == (0, 10)
    assert seen[-1] == (10, 10)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
