"""Scores in the outer rooms: curves by hand, charts, reports, the notebook, and a store that gives them back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from asking import ask

import hero_eval as hero
from hero_eval import charts
from hero_eval.gold_scale import gold_numbers
from hero_eval.labelers.score_curves import score_curves
from hero_eval.round import Round
from hero_eval.score_scale import on_one_scale

HOSTILE = '<script>alert("x")</script>'


def scored(name: str, seed: int, n_items: int = 120, judges: tuple[str, ...] = ("grader", HOSTILE)) -> Round:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    items = [f"{name}-{i:03d}" for i in range(n_items)]
    labels = pd.concat(
        pd.DataFrame({"item": items, "labeler": judge, "label": np.round(2 * truth + rng.normal(size=n_items), 3)})
        for judge in judges
    )
    gold = pd.DataFrame({"item": items, "gold": truth}).sample(frac=0.5, random_state=seed)
    return hero.Round(labels, gold, name=name)


def test_curves_by_hand() -> None:
    """Twenty golds of one judge, who is right above 10: two steps, of 0 of 10 and 10 of 10."""
    items = [f"i{k:02d}" for k in range(20)]
    labels = pd.DataFrame({"item": items, "labeler": "j", "label": np.arange(20) + 0.5})
    one = hero.Round(labels, pd.DataFrame({"item": items, "gold": (np.arange(20) >= 10).astype(int)}))
    found = score_curves([one])
    assert [(point.n, point.share, point.score) for point in found.points] == [(10, 0.0, 5.0), (10, 1.0, 15.0)]
    assert found.points[0].low == 0.0
    assert 0.1 < found.points[0].high < 0.35
    assert [(spread.gold, spread.n, spread.median) for spread in found.spreads] == [("0", 10, 5.0), ("1", 10, 15.0)]
    assert found.upper == "'1'"


def test_no_curves_of_answers() -> None:
    labels = pd.DataFrame({"item": ["a", "b"], "labeler": "j", "label": [0, 1]})
    with pytest.raises(hero.InputError, match="E214 these labels are not scores"):
        score_curves([hero.Round(labels, pd.DataFrame({"item": ["a"], "gold": [0]}))])


@pytest.mark.slow
def test_charts_hold_the_numbers_and_names_are_text() -> None:
    found = score_curves([scored("r0", 0)])
    for chart in (charts.score_curves(found), charts.score_spreads(found)):
        assert set(chart.columns["labeler"]) == {"grader", HOSTILE}
        assert "<script>" not in chart.svg()
    assert charts.score_curves(found).columns["share"] == [point.share for point in found.points]


@pytest.mark.slow
def test_report_and_notebook_show_scores(tmp_path: Path) -> None:
    past = [scored(f"r{seed}", seed) for seed in range(2)]
    current = scored("now", 9).without_gold()
    estimate = hero.estimate_rate(current, past, method="hero1")
    page = estimate.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "How often gold is" in page
    assert "spread in each gold class" in page
    assert "<script>alert" not in page
    assert "F118" in estimate._repr_html_()
    assert "scores" in current._repr_html_()


@pytest.mark.slow
def test_store_gives_scores_back(tmp_path: Path) -> None:
    """As they were, in their kind and with the same estimate, whether they came as a round, a file or in two parts."""
    store = hero.create_store(tmp_path / "store")
    past, current = scored("r0", 0), scored("r1", 1)
    store.add(past, round="2026-w01")
    labels = pd.DataFrame(
        {
            "item": current.item_ids[current.label_item],
            "labeler": np.array(current.labelers, object)[current.label_labeler],
            "label": current.label_score,
        }
    )
    labels.iloc[:100].to_csv(tmp_path / "first.csv", index=False)
    labels.iloc[100:].to_csv(tmp_path / "rest.csv", index=False)
    for part in ("first", "rest"):
        more = ("--round", "2026-w02", "--store", str(tmp_path / "store"))
        ask("add", str(tmp_path / f"{part}.csv"), *more, "--label-kind", "score")
    one, two = store.read_all(store.rounds())
    assert one.holds_same_as(past)
    assert two.label_score is not None
    assert current.label_score is not None
    assert two.label_score.tolist() == current.label_score.tolist()
    assert np.array_equal(two.label_answer, current.label_answer)
    from_store = hero.estimate_rate(two, one, method="hero1").value
    assert from_store == hero.estimate_rate(current.without_gold(), past, method="hero1").value


@pytest.mark.slow
def test_store_keeps_numeric_gold_and_mapped_words(tmp_path: Path) -> None:
    store = hero.create_store(tmp_path / "store")
    one = scored("r0", 0, judges=("grader",))
    labels = pd.DataFrame({"item": one.item_ids, "labeler": "grader", "label": one.label_score})
    points = pd.DataFrame({"item": one.item_ids, "gold": np.arange(one.n_items) / 4})
    store.add(hero.Round(labels, points, name="points"), round="2026-w01", question="points")
    (back,) = store.read_all(store.rounds())
    assert gold_numbers(back).tolist() == points["gold"].tolist()
    (cut,) = on_one_scale([back])
    with pytest.raises(hero.InputError, match="E129 the gold of round '2026-w01' was cut into classes"):
        store.add(cut, round="2026-w03", question="points")
    words = labels.assign(label=["good", "bad"] * (one.n_items // 2), labeler="x")
    words.to_csv(tmp_path / "words.csv", index=False)
    more = ("--round", "2026-w02", "--question", "words", "--store", str(tmp_path / "store"))
    ask("add", str(tmp_path / "words.csv"), *more, "--map", "good=1,bad=0")
    assert store.read(store.find("2026-w02")).values == ("0", "1")
