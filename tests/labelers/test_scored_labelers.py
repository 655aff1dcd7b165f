"""What is said of labelers whose labels are scores: by ranks, since a bin of scores is no class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hero_eval as hero
from hero_eval import charts
from hero_eval.labelers.agreement import agreement
from hero_eval.model import score_tests
from hero_eval.model.answer_order import mean_places, place_errors, rise_of
from hero_eval.model.latent import Latent
from hero_eval.model.patterns import patterns_of_matrix

pytestmark = pytest.mark.slow


def scored_round(name: str, seed: int, *, gold: str, n_items: int = 400, share: float = 0.5) -> hero.Round:
    """A probability, a grade and a yes/no answer, all of one skill and each with an error of its own, and noise."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n_items)
    seen = quality[:, None] + 0.7 * rng.normal(size=(n_items, 3))
    items = [f"{name}-{i}" for i in range(n_items)]
    labels = {
        "prober": np.round(1 / (1 + np.exp(-seen[:, 0])), 6),
        "grader": np.clip(np.round(5.5 + 2 * seen[:, 1]), 1, 10),
        "voter": (seen[:, 2] > 0).astype(float),
        "noise": rng.random(n_items),
    }
    table = pd.concat(pd.DataFrame({"item": items, "labeler": who, "label": label}) for who, label in labels.items())
    truth = quality + 0.3 * rng.normal(size=n_items)
    known = {
        "yes or no": (truth > 0).astype(int),
        "grades": np.clip(np.round(5.5 + 2 * truth), 1, 10).astype(int),
        "points": np.clip(np.round(50 + 15 * truth), 0, 100).astype(int),
    }[gold]
    shown = pd.DataFrame({"item": items, "gold": known})[rng.random(n_items) < share]
    return hero.Round(table, shown if len(shown) else None, name=name, label_kind="score")


def ranked(first: np.ndarray, second: np.ndarray) -> float:
    """How much oftener of two items the higher of `second` has the higher of `first`, than the lower has."""
    higher = np.sign(first[:, None] - first[None]) * (second[:, None] > second[None])
    return float(higher.sum() / (second[:, None] > second[None]).sum())


@pytest.mark.parametrize("gold", ["yes or no", "grades", "points"])
def test_scores_are_judged_by_their_order(gold: str) -> None:
    """Bins were held against classes of the same number: three good judges of ten grades were called weak."""
    one = scored_round("a", 1, gold=gold)
    learned = hero.fit_reliability([one])
    table = learned.to_frame("pandas").set_index("labeler")
    skill = table["discrimination"]
    assert not [name for name in table.columns if name.startswith(("right_", "sensitivity", "specificity"))]
    assert skill["prober"] > 0.55
    assert skill["grader"] > 0.55
    assert skill["voter"] > 0.35
    assert abs(skill["noise"]) < 0.15
    places = table[[name for name in table.columns if name.startswith("place_") and not name.endswith("_se")]]
    low, high = places.iloc[:, 0], places.iloc[:, -1]
    assert (high - low)[["prober", "grader", "voter"]].min() > 0.35
    accused = [name for one in learned.findings if one.code == "F201" for name in one.data["labelers"]]
    assert accused == ["noise"]


def test_discrimination_is_that_of_pairs_of_items() -> None:
    """Of a yes/no answer it is sensitivity + specificity - 1, of any scores the share of pairs in order."""
    rng = np.random.default_rng(0)
    truth = (rng.random(4000) < 0.3).astype(int)
    for bins in (2, 3, 7):
        said = np.clip(np.floor(bins * (0.3 + 0.3 * truth + 0.25 * rng.normal(size=4000))), 0, bins - 1).astype(int)
        answers = np.array([[np.mean(said[truth == k] == at) for k in (0, 1)] for at in range(bins)])[None]
        found = rise_of(answers, np.array([np.mean(truth == 0), np.mean(truth == 1)]))
        assert found[0] == pytest.approx(ranked(said, truth), abs=1e-12)
        if bins == 2:
            assert found[0] == pytest.approx(answers[0, 1, 1] + answers[0, 0, 0] - 1.0, abs=1e-12)


@pytest.mark.parametrize(("bins", "classes"), [(2, 6), (5, 2), (6, 6)])
def test_errors_are_those_of_dealing_scores_out_again(bins: int, classes: int) -> None:
    """A labeler would be accused of knowing nothing, or all of them refused, by chance."""
    rng = np.random.default_rng(4)
    gold, said = rng.integers(0, classes, 60), rng.integers(0, bins, (60, 3))
    latent = Latent(np.full(classes, 1 / classes), np.full((3, bins, classes), 1 / bins), np.arange(classes))
    skills, known = [], []
    for dealt in (gold, *(rng.permutation(gold) for _ in range(1500))):
        patterns = patterns_of_matrix(said, bins, dealt)
        skills.append(score_tests.measure_skills(patterns, latent, ordered=True))
        known.append(score_tests.check_knowledge(patterns, classes, ordered=True))
    values = np.array([one.value for one in skills[1:]])
    assert np.abs(values.mean(axis=0)).max() < 4 * values.std() / np.sqrt(len(values))
    assert skills[0].error == pytest.approx(values.std(axis=0), rel=0.08)
    together = np.array([one.discrimination for one in known[1:] if one is not None])
    assert known[0] is not None
    assert known[0].error == pytest.approx(together.std(), rel=0.08)


def test_errors_of_mean_places_are_those_of_a_sample() -> None:
    shares, size = np.array([0.1, 0.2, 0.4, 0.2, 0.1]), 50
    rng = np.random.default_rng(5)
    drawn = rng.multinomial(size, shares, size=20_000) / size
    seen = (drawn @ np.linspace(0, 1, 5)).std()
    answers = shares[None, :, None]
    found = place_errors(answers, np.sqrt(answers * (1 - answers) / size))
    assert found[0, 0] == pytest.approx(seen, rel=0.03)
    assert mean_places(answers)[0, 0] == pytest.approx(0.5)


def test_pairs_agree_on_any_bin() -> None:
    """Only as many bins as there are classes were looked at, so independent judges agreed far less than predicted."""
    found = agreement(hero.fit_reliability([scored_round("a", 2, gold="yes or no", n_items=2000)]))
    pair = next(one for one in found.pairs if {one.first, one.second} == {"grader", "prober"})
    assert pair.observed > 0.2
    alone = next(one for one in found.pairs if {one.first, one.second} == {"noise", "prober"})
    assert alone.observed == pytest.approx(alone.predicted, abs=4 * alone.error)


def test_the_chart_of_labelers_says_nothing_of_agreement_with_gold() -> None:
    chart = charts.labelers(hero.fit_reliability([scored_round("a", 1, gold="points")]))
    assert chart.title.startswith("How far scores rise with gold")
    assert all(what.startswith("where gold is") for what in chart.columns["what"])


@pytest.mark.numbers
def test_what_scores_are_worth_is_what_leaving_them_out_does() -> None:
    """The model's information without a labeler was no information: nan, and all golds of the round instead."""
    past = [scored_round(name, seed, gold="yes or no", share=0.2) for name, seed in (("p1", 3), ("p2", 4))]
    now = scored_round("now", 5, gold="yes or no", share=0.0, n_items=300)
    worths = hero.labeler_worth(now, past, costs={"gold": 3.0, "label": 0.05})
    found = {one.labeler: one.width_without for one in worths.labelers}
    assert found["noise"] == pytest.approx(worths.width, rel=0.02)
    for name in ("prober", "grader", "voter"):
        low, high = hero.estimate_rate(now.without_labeler(name)[0], past, method="hero3").interval()
        assert found[name] == pytest.approx(high - low, rel=0.15)
        assert found[name] > 1.01 * worths.width
