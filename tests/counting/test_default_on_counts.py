"""What is taken when no method is named, and what is said of it, does not depend on who counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from engine_rounds import read_on, write
from make_rounds import Tables

import hero_eval as hero
from hero_eval.counting.duckdb import DuckSession
from hero_eval.estimation import select

pytestmark = pytest.mark.numbers
N_ITEMS, N_LABELERS = 250, 6


def tables(seed: int, gold: float, together: float, *, weighted: bool = False) -> Tables:
    """A round of labelers who may err together, with gaps, gold for some items and weights if asked for."""
    rng = np.random.default_rng([seed, round(10 * together)])
    truth = (rng.random(N_ITEMS) < 0.4 + 0.05 * (seed % 3)).astype(int)
    shared, own = rng.normal(size=(N_ITEMS, 1)), rng.normal(size=(N_ITEMS, N_LABELERS))
    right = together * shared + np.sqrt(1.0 - together**2) * own < np.linspace(0.4, 1.4, N_LABELERS)
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    item, labeler = np.nonzero(rng.random(said.shape) < 0.8)
    names = np.array([f"{seed}-{i}" for i in range(N_ITEMS)])
    known = rng.random(N_ITEMS) < gold
    out = {"labels": pa.table({"item": names[item], "labeler": labeler.astype(str), "label": said[item, labeler]})}
    if known.any():
        out["gold"] = pa.table({"item": names[known], "gold": truth[known]})
    if weighted:
        out["items"] = pa.table({"item": names, "weight": rng.uniform(0.5, 2.0, N_ITEMS)})
    return out


def answers(folder: Path, current_gold: float, n_past: int, together: float, *, weighted: bool) -> list[hero.Estimate]:
    """By default, in memory and counted by DuckDB."""
    past = [write(folder / f"past {s}", tables(s, 0.3, together, weighted=weighted)) for s in range(n_past)]
    here = write(folder / "current", tables(9, current_gold, together, weighted=weighted))
    return [
        hero.estimate_rate(read_on(engine, here), [read_on(engine, one) for one in past] or None)
        for engine in ("memory", "duckdb")
    ]


CASES = [(0.0, 4, 0.0, False), (0.0, 4, 0.8, True), (0.2, 1, 0.8, False), (0.2, 0, 0.0, True)]


@pytest.mark.slow
@pytest.mark.parametrize(("current_gold", "n_past", "together", "weighted"), CASES, ids=str)
def test_the_default_is_that_of_memory(
    current_gold: float, n_past: int, together: float, weighted: bool, tmp_path: Path
) -> None:
    """Files that DuckDB counts by itself would be read by another method than the same labels in a dataframe."""
    here, there = answers(tmp_path, current_gold, n_past, together, weighted=weighted)
    assert here.method == there.method
    assert here.method in ("hero3", "balanced")
    for one, other in zip((here.value, here.std_error), (there.value, there.std_error), strict=True):
        assert other == pytest.approx(one, abs=1e-9)
    assert there.interval() == pytest.approx(here.interval(), abs=1e-9)
    assert {one.code for one in there.findings} == {one.code for one in here.findings}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_patterns_beyond_hero3_are_said(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user would wait for hours, or get another method than was promised and not know."""
    monkeypatch.setattr(select, "MOST_PATTERNS", 100)
    here, past = (write(tmp_path / str(s), tables(s, gold, 0.0)) for s, gold in ((0, 0.0), (1, 0.3)))
    found = hero.estimate_rate(read_on(engine, here), read_on(engine, past))
    assert found.method == "hero1"
    (said,) = (one for one in found.findings if one.code == "F313")
    assert "answer patterns" in said.message
    assert "hero1" in said.message


@pytest.mark.slow
def test_covariates_of_counts_are_said(tmp_path: Path) -> None:
    """The same call would silently answer by another method where a round is counted."""
    folders = []
    for seed, gold in ((0, 0.0), (1, 0.3)):
        made = tables(seed, gold, 0.0)
        names = made["labels"]["item"].unique()
        made["items"] = pa.table({"item": names, "x": np.random.default_rng(seed).normal(size=len(names))})
        folders.append(write(tmp_path / str(seed), made))
    here, past = (read_on("duckdb", one, covariates=["x"]) for one in folders)
    found = hero.estimate_rate(here, past, covariates=["x"])
    assert found.method == "hero2"
    assert any(one.code == "F313" and "covariates" in one.message for one in found.findings)


def test_duckdb_draws_no_bar() -> None:
    """After two seconds its bar would stand in front of the JSON that a program reads."""
    shown = DuckSession().query("SELECT current_setting('enable_progress_bar') AS bar")
    assert shown["bar"].to_pylist() == [False]
