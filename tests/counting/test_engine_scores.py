"""Scores in files: bins are learned in the engine, from all rounds together, and are those of memory to the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from engine_rounds import ENGINES, compiled_plans, read_on
from hypothesis import given
from hypothesis import strategies as st
from make_rounds import codes
from random_examples import examples

import hero_eval as hero
from hero_eval.counting.count import tally_of
from hero_eval.counting.duckdb import DuckSession
from hero_eval.counting.score_pool import HeldScores, ScorePart, pooled
from hero_eval.errors import InputError
from hero_eval.io.score_bins import distribution_of
from hero_eval.round import Round
from hero_eval.score_scale import on_one_scale

OTHERS = [engine for engine in ENGINES if engine != "memory"]
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
NAMES = ("past0", "past1", "past2", "now")


def judged(seed: int, name: str, n_items: int = 150) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Probabilities, grades, rewards, votes and one who always says 5, a twentieth of them missing; gold of 0 and 1."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.2 * seed - 0.3, 1.0, n_items)
    seen = level[:, None] * [1.6, 1.2, 0.8, 1.0, 0.0] + rng.normal(size=(n_items, 5))
    scores = {
        "probability": np.round(1 / (1 + np.exp(-seen[:, 0])), 8),
        "grade": np.clip(np.round(5.5 + 2 * seen[:, 1]), 1, 10),
        "reward": 10 * seen[:, 2],
        "vote": (seen[:, 3] > 0).astype(float),
        "same": np.full(n_items, 5.0),
    }
    items = np.array([f"{name}-{i:04d}" for i in range(n_items)])
    labels = pd.concat([pd.DataFrame({"item": items, "labeler": who, "label": of}) for who, of in scores.items()])
    labels.loc[rng.random(len(labels)) < 0.05, "label"] = np.nan
    labels = labels.sample(frac=1.0, random_state=seed)
    gold = pd.DataFrame({"item": items, "gold": (level + rng.normal(0.0, 0.5, n_items) > 0).astype(int)})
    return labels, gold.sample(frac=0.3, random_state=seed).sort_index()


def write_round(folder: Path, labels: pd.DataFrame, gold: pd.DataFrame | None = None, ending: str = "parquet") -> Path:
    folder.mkdir(parents=True)
    for name, table in (("labels", labels), ("gold", gold)):
        if table is None:
            continue
        if ending == "csv":
            table.to_csv(folder / f"{name}.csv", index=False)
        else:
            table.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], Round]:
    """A round on an engine, read once for all tests, from files of a kind."""
    base = tmp_path_factory.mktemp("scored")
    for ending in ("csv", "parquet"):
        for seed, name in enumerate(NAMES):
            labels, gold = judged(seed, name)
            write_round(base / ending / name, labels, None if name == "now" else gold, ending)
    return lru_cache(lambda engine, ending, name: read_on(engine, base / ending / name))


Opened = Callable[[str, str, str], Round]


def numbers(estimate: hero.Estimate) -> list[float]:
    return [estimate.value, estimate.std_error, *estimate.interval(), estimate.n_items, estimate.n_gold]


def spelled(one: Round) -> Counter[tuple[Any, ...]]:
    """Patterns of bins, with the number of their items."""
    tally, out = tally_of(one), Counter[tuple[Any, ...]]()
    for row in range(tally.n_rows):
        cells = tally.cells[tally.ends[row] : tally.ends[row + 1]]
        said = frozenset((tally.labelers[c // tally.n_answers], int(c % tally.n_answers)) for c in cells)
        out[said, None if tally.gold[row] < 0 else tally.values[tally.gold[row]]] += round(tally.items[row])
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "engine"), [("csv", "duckdb"), ("parquet", "duckdb"), ("parquet", "spark")])
def test_bins_are_those_of_memory(ending: str, engine: str, opened: Opened) -> None:
    """A judge's score would be high in memory and middling in a large file."""
    here, there = ([opened(on, ending, name) for name in NAMES] for on in ("memory", engine))
    for fine in (True,) if engine == "spark" else (True, False):
        pairs = zip(on_one_scale(here, fine=fine), on_one_scale(there, fine=fine), strict=True)
        for one, other in pairs:
            assert other.answer_values == one.answer_values
            assert spelled(other) == spelled(one)
            assert [note.message for note in other.notes] == [note.message for note in one.notes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "engine"),
    [("hero3", "duckdb"), ("hero1", "duckdb"), (None, "duckdb"), ("hero3", "spark"), ("hero1", "spark")],
    ids=str,
)
def test_estimates_are_those_of_memory(method: str | None, engine: str, opened: Opened) -> None:
    """The answer would depend on where it was computed."""
    here, there = ([opened(on, "parquet", name) for name in NAMES] for on in ("memory", engine))
    one, other = (hero.estimate_rate(rounds[-1], rounds[:-1], method=method) for rounds in (here, there))
    assert other.method == one.method
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)
    assert set(codes(other)) - {"F112"} == set(codes(one)) - {"F112"}
    said = [next(note.message for note in of.findings if note.code == "F118") for of in (one, other)]
    assert said[0] == said[1]


@pytest.mark.parametrize("by", [("memory", "duckdb"), ("duckdb", "memory")], ids="-".join)
def test_scores_in_memory_go_with_scores_in_files(by: tuple[str, str], opened: Opened) -> None:
    """Today's round is small and its history is large: the commonest case of all."""
    past, now = by
    one, other = (
        hero.estimate_rate(
            opened(current, "csv", "now"), [opened(on, "csv", name) for name in NAMES[:-1]], method="hero1"
        )
        for on, current in (("memory", "memory"), (past, now))
    )
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_other_questions_are_answered(opened: Opened) -> None:
    """Labelers and a backtest would be refused for the size of the file."""
    here, there = ([opened(on, "parquet", name) for name in NAMES[:-1]] for on in ("memory", "duckdb"))
    one, other = (hero.fit_reliability(rounds) for rounds in (here, there))
    np.testing.assert_allclose(other.answers, one.answers, rtol=0, atol=1e-9)
    assert list(other.confusion("pandas")["answer"]) == list(one.confusion("pandas")["answer"])
    plays = [hero.backtest(rounds, methods=["hero1", "gold_proportion"]).plays for rounds in (here, there)]
    for mine, theirs in zip(*plays, strict=True):
        assert (mine.round, mine.method) == (theirs.round, theirs.method)
        np.testing.assert_allclose([theirs.value, theirs.low], [mine.value, mine.low], rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("engine", ["duckdb"])
def test_a_labeler_has_the_same_bins_in_parts(engine: str, seed: int, tmp_path: Path) -> None:
    """Rounds that only together have enough scores would be cut each by itself."""
    labels, gold = judged(seed, "r", 300)
    half = labels["item"].isin(sorted(set(labels["item"]))[:150])
    parts = [
        (labels[of], gold[gold["item"].isin(labels["item"][of]) & gold["item"].isin(labels["item"].dropna())])
        for of in (half, ~half)
    ]
    paths = [write_round(tmp_path / str(k), *part) for k, part in enumerate(parts)]
    whole = on_one_scale([hero.read_round(write_round(tmp_path / "whole", labels, gold))])[0]
    cut = on_one_scale([read_on(engine, path) for path in paths])
    assert spelled(cut[0]) + spelled(cut[1]) == spelled(whole)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.one_of(st.integers(0, 12).map(float), st.floats(-5, 5, width=32))),
        min_size=1,
        max_size=400,
    ),
    st.integers(1, 3),
    st.sampled_from([3, 50, 1_000_000]),
)
@examples(40)
def test_parts_of_scores_are_those_of_memory(rows: list[tuple[int, float]], n_rounds: int, at_a_time: int) -> None:
    """Ties, few scores and many, however many are looked at at a time: bins would begin elsewhere."""
    session = DuckSession(threads=1)
    labeler, score = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    names = ("a", "b", "c")
    parts: list[ScorePart | HeldScores] = []
    for k in range(n_rounds):
        own = np.arange(len(rows)) % n_rounds == k
        shift = k % 3  # rounds number their labelers differently
        order = names[shift:] + names[:shift]
        code = (labeler[own] - shift) % 3
        session.lend(f"rows{k}", pd_to_arrow(pd.DataFrame({"j": code, "score": score[own]})))
        table = session.share(f"part{k}", f"SELECT j, score + 0e0 AS score, count(*) AS n FROM rows{k} GROUP BY ALL")
        parts.append(ScorePart(order, session, table) if k == 0 else HeldScores(order, code, score[own]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hero_eval.counting.score_pool.MOST_RANKED", at_a_time)
        found, wanted = pooled(parts), distribution_of(score, labeler, names)
    assert (found.distinct, found.low, found.high) == (wanted.distinct, wanted.low, wanted.high)
    for one, other in zip(found.atoms, wanted.atoms, strict=True):
        assert np.array_equal(one.lows, other.lows)
        assert np.array_equal(one.counts, other.counts)


def pd_to_arrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


# What else files hold


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_odd_labels_are_read_as_in_memory(engine: str, tmp_path: Path) -> None:
    """Yes, padded numbers, numbers that stand for nothing and cells that say so would be lost, or be scores."""
    labels, gold = judged(1, "r")
    text = labels["label"].map(lambda value: "" if np.isnan(value) else f"{value:.6g}")
    vote = labels["labeler"] == "vote"
    text[vote] = text[vote].map({"0": "No", "1": "yes", "": ""})
    places = np.flatnonzero(labels["labeler"] == "probability")
    for place, odd in zip(places, ["-1", " 0.25 ", "N/A", "-1.0", "+0.75", "1e-3", "0.5000"] * 4, strict=False):
        text.iloc[place] = odd
    path = write_round(tmp_path / "r", labels.assign(label=text), gold, "csv")
    with compiled_plans(engine):
        one, other = (read_on(on, path, missing=["-1"]) for on in ("memory", engine))
        assert other.answer_values == one.answer_values
        assert spelled(on_one_scale([other], fine=True)[0]) == spelled(on_one_scale([one], fine=True)[0])
    told = [{note.code: note.data for note in of.notes} for of in (one, other)]
    assert told[0].pop("F115") == {"count": 0, "answers": {}, "padded": 4}  # an engine ignores space unsaid
    assert told[0].keys() == {"F103", "F116", "F118", "F133"}
    assert told[1] == told[0]


@pytest.mark.parametrize("engine", ["duckdb"])
def test_repeated_scores_count_once(engine: str, tmp_path: Path) -> None:
    """An export that was concatenated with itself would cut bins by labels that are there twice."""
    labels, gold = judged(2, "r")
    given = labels.dropna()
    again = given[given["labeler"] == "reward"].sort_values("label")[:60]
    twice = write_round(tmp_path / "twice", pd.concat([given, again]), gold)
    once = hero.read_round(write_round(tmp_path / "once", given, gold))
    other = read_on(engine, twice)
    assert spelled(on_one_scale([other], fine=True)[0]) == spelled(on_one_scale([once], fine=True)[0])
    assert [note.data["count"] for note in other.notes if note.code == "F101"] == [60]
    assert other.n_labels == once.n_labels
    clash = again.assign(label=again["label"] + 1e-9)  # the same bin, and not the same score
    with pytest.raises(InputError, match=r"E108.*reward"):
        read_on(engine, write_round(tmp_path / "clash", pd.concat([given, clash]), gold)).n_labels  # noqa: B018


@pytest.mark.parametrize("engine", ["duckdb"])
def test_labels_that_other_rounds_show_to_be_scores(engine: str, tmp_path: Path) -> None:
    """Grades without gold would be ten classes, of which history knows two."""
    paths = []
    for seed, name in enumerate(("past0", "past1", "now")):
        labels, gold = judged(seed, name)
        grades = labels[labels["labeler"].isin(["grade", "same"])]
        gold = gold[gold["item"].isin(grades["item"])]
        paths.append(write_round(tmp_path / name, grades, None if name == "now" else gold))
    here, there = ([read_on(on, path) for path in paths] for on in ("memory", engine))
    assert not there[-1].has_scores
    one, other = (hero.estimate_rate(of[-1], of[:-1], method="hero1") for of in (here, there))
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)


def test_scores_that_come_late_in_a_file_stay_in_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first thousands of rows are one judge's votes: all distinct scores of the others would be fetched."""
    labels, gold = judged(2, "r")
    by_name = labels.sort_values("labeler", key=lambda of: of != "vote", kind="stable")
    path = write_round(tmp_path / "r", by_name, gold)
    monkeypatch.setattr("hero_eval.counting.sql_look.FIRST_ROWS", 50)
    monkeypatch.setattr("hero_eval.counting.sql_look.MOST_PAIRS", 60)
    one, other = (read_on(on, path) for on in ("memory", "duckdb"))
    assert other.has_scores
    assert spelled(on_one_scale([other], fine=True)[0]) == spelled(on_one_scale([one], fine=True)[0])


def test_words_among_scores_are_refused_in_files(tmp_path: Path) -> None:
    """A word would be a score of nothing, in silence."""
    labels, gold = judged(2, "r")
    text = labels["label"].map(lambda value: "" if np.isnan(value) else f"{value:.8g}")
    text.iloc[7:10] = "good"
    path = write_round(tmp_path / "r", labels.assign(label=text), gold, "csv")
    for engine in ("memory", "duckdb"):
        with pytest.raises(InputError, match=r"E147.*'good' in 3 cells"):
            read_on(engine, path)
        with pytest.raises(InputError, match=r"E126.*'good'"):
            read_on(engine, path, label_kind="score")


def test_gold_of_many_numbers_needs_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of golds cannot be had from counts; an answer from counts would be another."""
    labels, gold = judged(2, "r")
    path = write_round(tmp_path / "r", labels, gold.assign(gold=np.arange(len(gold)) * 1.5))
    with pytest.raises(InputError, match=r"E214.*distinct numbers.*engine='memory'"):
        read_on("duckdb", path)
    monkeypatch.setattr("hero_eval.read.LARGE_ROWS", 100)
    large = hero.read_round(path)
    assert large.holds_items
    assert "F127" in {note.code for note in large.notes}
    counted = read_on("duckdb", write_round(tmp_path / "s", *judged(1, "s")))
    with pytest.raises(InputError, match=r"E214.*many numbers"):
        hero.estimate_rate(counted, large)


def test_counts_of_scores_are_not_saved(tmp_path: Path, opened: Opened) -> None:
    """Counts in bins of one day would meet those of another."""
    for engine in ("memory", "duckdb"):
        with pytest.raises(InputError, match=r"E214.*bins"):
            hero.save_counts(opened(engine, "csv", "past0"), tmp_path / "counts.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spark"])
def test_engines_do_not_pool_scores_of_each_other(engine: str, opened: Opened) -> None:
    """Two engines have no memory in common: bins of one would be laid on the other's scores."""
    with pytest.raises(InputError, match=r"E204.*duckdb and spark"):
        hero.estimate_rate(opened(engine, "parquet", "now"), opened("duckdb", "parquet", "past0"))


def test_many_labelers_of_scores(tmp_path: Path) -> None:
    """Patterns that no key can spell leave the engine label by label, in bins too."""
    rng = np.random.default_rng(4)
    n = 4000
    labels = pd.DataFrame(
        {
            "item": [f"i{k % 400:03d}" for k in range(n)],
            "labeler": [f"w{k // 400 * 50 + k % 50:03d}" for k in range(n)],
            "label": np.round(rng.random(n), 3),
        }
    )
    gold = pd.DataFrame({"item": [f"i{k:03d}" for k in range(0, 400, 4)], "gold": rng.integers(0, 2, 100)})
    path = write_round(tmp_path / "r", labels, gold)
    one, other = (on_one_scale([read_on(on, path)])[0] for on in ("memory", "duckdb"))
    assert spelled(other) == spelled(one)


@pytest.mark.parametrize("kinds", [("probability", "probability"), ("grade", "same")], ids="-".join)
def test_a_history_on_another_scale_is_refused_in_files(kinds: tuple[str, str], tmp_path: Path) -> None:
    """Percents beside probabilities: bins would hold both, and the estimate would be next to 1."""
    labels, gold = judged(1, "past")
    now, _ = judged(2, "now")
    past = labels[labels["labeler"].isin(kinds)]
    gold = gold[gold["item"].isin(past["item"])]
    other = now[now["labeler"].isin(kinds)]
    paths = [
        write_round(tmp_path / "past", past, gold),
        write_round(tmp_path / "now", other.assign(label=(other["label"] * 10).round(6))),
    ]
    for engine in ("memory", "duckdb"):
        history, current = (read_on(engine, path) for path in paths)
        with pytest.raises(InputError, match=r"E210.*different scales"):
            hero.estimate_rate(current, history, method="hero1")
        assert hero.estimate_rate(history, method="hero1").value > 0  # alone it is on one scale
