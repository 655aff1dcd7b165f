"""Labels that are scores: recognized, cut by order alone, answered fast, or refused with words."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import hero_eval as hero
from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options
from hero_eval.io.score_bins import MOST_BINS, cut_scores
from hero_eval.io.scores import are_scores
from hero_eval.model.hero3.level_selection import ORDERED_LEVELS
from hero_eval.model.hero3.shape import LevelParameters
from hero_eval.round import Round
from hero_eval.score_scale import bins_for

Scale = Callable[[np.ndarray], np.ndarray]


def probability(level: np.ndarray) -> np.ndarray:
    return np.round(1 / (1 + np.exp(-level)), 8)


def grade(level: np.ndarray) -> np.ndarray:
    return np.clip(np.round(5.5 + 2 * level), 1, 10)


def reward(level: np.ndarray) -> np.ndarray:
    return 10 * level


def vote(level: np.ndarray) -> np.ndarray:
    return (level > 0).astype(float)


def constant(level: np.ndarray) -> np.ndarray:
    return np.full(len(level), 7.0)


def tables(
    scales: tuple[Scale, ...], name: str, seed: int, n_items: int = 200, missing: float = 0.0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels of judges of falling skill, each on its own scale, and gold of 0 and 1."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < 0.3 + 0.1 * (seed % 4)).astype(int)
    items = [f"{name}-{i:04d}" for i in range(n_items)]
    parts = []
    for j, scale in enumerate(scales):
        level = (1.6 - 0.3 * j) * (2 * truth - 1 + rng.normal(size=n_items)) + rng.normal(size=n_items)
        parts.append(pd.DataFrame({"item": items, "labeler": f"judge{j}", "label": scale(level)}))
    labels = pd.concat(parts)
    labels.loc[rng.random(len(labels)) < missing, "label"] = np.nan
    return labels, pd.DataFrame({"item": items, "gold": truth})


def rounds(scales: tuple[Scale, ...], missing: float = 0.0, n_items: int = 200) -> tuple[Round, list[Round]]:
    past = []
    for seed in range(4):
        labels, gold = tables(scales, f"past{seed}", seed, n_items, missing)
        past.append(hero.Round(labels, gold.sample(frac=0.2, random_state=seed), name=f"past{seed}"))
    labels, _ = tables(scales, "now", 9, n_items, missing)
    return hero.Round(labels, name="now"), past


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scales", "missing"),
    [
        ((probability,) * 4, 0.0),
        ((grade,) * 4, 0.0),
        ((reward,) * 4, 0.0),
        ((grade, grade, grade, constant), 0.0),
        ((probability,) * 4, 0.05),
        ((probability, grade, vote, reward), 0.0),
        ((vote, vote, vote, probability), 0.0),
    ],
    ids=["probabilities", "1 to 10", "rewards", "a constant judge", "5% missing", "four scales", "one on another"],
)
def test_scores_are_answered(scales: tuple[Scale, ...], missing: float) -> None:
    """A judge that returns a number would hang the estimate, or become a rate "on a scale from 0 to 10"."""
    current, past = rounds(scales, missing)
    start = time.process_time()
    found = hero.estimate_rate(current, past, method="hero3")
    assert time.process_time() - start < 3
    low, high = found.interval()
    assert 0 < low < found.value < high < 1
    assert high - low < 0.6
    assert [one.code for one in found.findings].count("F118") == 1


@pytest.mark.slow
@pytest.mark.parametrize("scale", [grade, probability], ids=["1 to 10", "probabilities"])
def test_gold_may_be_grades_too(scale: Scale) -> None:
    """The mean of 1 to 10 would come back as "anything from 1 to 10", or after a minute."""
    past = []
    for seed in range(5):
        labels, _ = tables((scale,) * 4, f"past{seed}", seed, 250)
        level = tables((reward,), f"past{seed}", seed, 250)[0]
        gold = pd.DataFrame({"item": level["item"], "gold": grade(level["label"].to_numpy() / 10)})
        past.append(hero.Round(labels, gold.sample(frac=0.2, random_state=1) if seed < 4 else None, name=f"r{seed}"))
    start = time.process_time()
    found = hero.estimate_rate(past.pop(), past)
    assert time.process_time() - start < 6  # a processor that others use too
    low, high = found.interval()
    assert 1 < low < high < 10
    assert high - low < 3


@pytest.mark.slow
def test_order_is_all_that_counts() -> None:
    """A judge that writes logits instead of probabilities would change the answer."""
    current, past = rounds((probability, grade, probability))
    other, others = rounds((reward, lambda level: np.exp(grade(level)), lambda level: -1 / (probability(level) + 1)))
    one, two = hero.estimate_rate(current, past, method="hero3"), hero.estimate_rate(other, others, method="hero3")
    assert abs(one.value - two.value) < 0.1 * one.std_error


@pytest.mark.slow
def test_each_method_gets_the_bins_that_it_can_use() -> None:
    """hero1 learns every bin's reliability from gold; hero3 knows their order, and would lose what fine ones tell."""
    current, past = rounds((probability,) * 3)
    few = [one.select(np.arange(one.n_items) < 60) for one in past]
    said = {
        name: next(of.message for of in hero.estimate_rate(current, few, method=name).findings if of.code == "F118")
        for name in ("hero1", "hero3")
    }
    assert f"at most {bins_for(sum(one.n_gold for one in few))} ordered bins" in said["hero1"]
    assert f"at most {MOST_BINS} ordered bins" in said["hero3"]
    fitted = ask([current], few, Options(method="hero3")).question.fits[0].levels
    assert fitted is not None
    assert fitted.shape.n_levels == ORDERED_LEVELS
    assert fitted.parameters.tilts.shape[1] == 1


def test_levels_that_nobody_has_keep_a_finite_prior() -> None:
    """A level whose share is no number any more would end the fit with a warning."""
    at = LevelParameters(np.zeros((1, 1, 2)), np.array([0.0, -2000.0]), np.zeros((1, 1)), np.zeros((1, 2)))
    assert at.pool[-1] == 0.0
    assert np.isfinite(at.log_pool).all()


def test_bins_never_part_equal_scores_and_are_even() -> None:
    """Heaps at 0 and 10 would be dealt out at random, or swallow all bins."""
    heaps = np.array([0.0] * 60 + [5.0] * 20 + [10.0] * 100 + list(np.linspace(1, 4, 20)))
    bins, n_bins = cut_scores(heaps, np.zeros(len(heaps), int), 1, 5)
    assert n_bins == 5
    assert len({(score, of) for score, of in zip(heaps, bins, strict=True)}) == len(set(heaps))
    assert np.bincount(bins)[[0, -1]].tolist() == [60, 100]
    even, _ = cut_scores(np.random.default_rng(1).random(1000), np.zeros(1000, int), 1, 5)
    assert np.bincount(even).min() > 180
    assert (np.diff(bins[np.argsort(heaps, kind="stable")]) >= 0).all()


def test_judges_of_few_answers_keep_both_ends() -> None:
    """A yes/no judge among judges of scores would be read as two neighboring grades; a constant one as sure."""
    score = np.array([0, 1, 0, 1, *np.arange(10), 7, 7])
    labeler = np.array([0] * 4 + [1] * 10 + [2] * 2)
    bins, n_bins = cut_scores(score.astype(float), labeler, 3, 5)
    assert n_bins == 5
    assert (set(bins[:4]), set(bins[-2:])) == ({0, 4}, {2})


@pytest.mark.parametrize(
    ("labels", "gold", "expected"),
    [
        (["0", "1"], ["0", "1"], False),
        (["0.5", "1"], ["0", "1"], True),
        ([str(k) for k in range(30)], [], True),
        ([str(k) for k in range(1, 11)], ["0", "1"], True),
        ([str(k) for k in range(1, 11)], [str(k) for k in range(1, 11)], False),
        (["1", "1.5", "2"], ["1", "1.5"], False),
        (["1", "2", "A"], ["0", "1"], False),
        (["yes", "no"], ["0", "1"], False),
    ],
)
def test_what_counts_as_scores(labels: list[str], gold: list[str], expected: bool) -> None:
    """Ratings that gold has too would lose their classes, or scores become thirty classes."""
    assert are_scores(labels, gold) is expected


def test_the_kind_can_be_named() -> None:
    """Half points that are classes would be cut into bins, and whole numbers that are scores not."""
    labels = pd.DataFrame({"item": list("abc"), "labeler": "x", "label": [1.5, 2.0, 3.0]})
    assert hero.Round(labels, label_kind="answer").values == ("1.5", "2", "3")
    assert hero.Round(labels).label_score is not None
    with pytest.raises(hero.HeroError, match="label_kind is 'number'"):
        hero.Round(labels, label_kind="number")
    many = tables((reward,) * 2, "a", 1)[0]
    with pytest.raises(hero.HeroError, match=r"E201.*400 distinct numbers"):
        hero.Round(many, label_kind="answer")
    words = labels.assign(label=["1", "2", "good"])
    with pytest.raises(hero.HeroError, match=r"E126.*'good'"):
        hero.Round(words, label_kind="score")
    assert hero.Round(words, label_kind="score", map={"good": 5}).label_score is not None


def test_words_are_mapped_to_golds_classes() -> None:
    """Good and bad beside gold of 0 and 1 would be four classes, of which gold knows two."""
    labels, gold = tables((vote,) * 3, "a", 1)
    words = labels.assign(label=np.where(labels["label"] > 0, "good", "bad"))
    with pytest.raises(hero.HeroError, match=r"E127.*'bad', 'good'.*'0', '1'.*map="):
        hero.Round(words, gold)
    mapped = hero.Round(words, gold, map={"good": 1, "Bad": 0})
    assert mapped.holds_same_as(hero.Round(labels, gold))


@pytest.mark.slow
def test_methods_without_gold_refuse_scores() -> None:
    """A vote over bins would look like an answer."""
    current, past = rounds((probability,) * 3)
    for method in ("majority_vote", "dawid_skene"):
        with pytest.raises(hero.HeroError, match=r"E214.*looks at no gold"):
            hero.estimate_rate(current, past, method=method)
    with pytest.raises(hero.HeroError, match="E214"):
        hero.estimate_rate(current)
    compared = hero.compare_methods(current, past)
    assert set(compared.estimates) >= {"gold_proportion", "hero1", "hero3"}
    assert "majority_vote" in compared.skipped


@pytest.mark.slow
def test_other_methods_and_results_take_scores() -> None:
    """Labelers, a reused fit, parts and own gold would fail where only the rate was tried."""
    current, past = rounds((probability, grade, vote), n_items=120)
    learned = hero.fit_reliability(past)
    table = learned.to_frame("pandas")
    assert (table["discrimination"] > 0.2).all()
    assert hero.estimate_rate(current, learned).value == hero.estimate_rate(current, past).value
    assert hero.estimate_rate(past[0], method="ppi").n_gold_current > 0
    assert hero.estimate_rate(current, past, method="hero1", interval="profile").interval()[1] < 1
    assert not [one for one in learned.findings if one.code in ("F201", "F202")]


def test_rounds_of_words_and_of_scores_do_not_mix() -> None:
    """A past round of good and bad would be silently left out of the bins."""
    current, past = rounds((probability,) * 2)
    labels, _ = tables((vote,) * 2, "w", 3)
    words = hero.Round(labels.assign(label=np.where(labels["label"] > 0, "good", "bad")), name="words")
    with pytest.raises(hero.HeroError, match=r"E205.*'words'.*'bad', 'good'"):
        hero.estimate_rate(current, [*past, words])
