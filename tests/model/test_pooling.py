"""Crowds: many labelers with few labels each are pooled as far as their labels are thin; classes that no gold shows."""

from __future__ import annotations

import numpy as np
import pytest
from make_rounds import Array, codes, finding, round_of
from repository import BENCHMARKS, load_script
from scipy.special import expit, logit

import hero_eval as hero
from hero_eval.model.hero3.unseen_classes import unseen_classes
from hero_eval.model.pooling import LEAST_SPREAD, Pooling, labeler_scores, overdispersion
from hero_eval.round import Round


def crowd(
    rng: np.random.Generator, n_items: int, n_labelers: int, per_item: int, golds: int, prefix: str, rate: float = 0.3
) -> Round:
    """Labelers who are right 8 times of 10, drawn at random for every item; gold for so many random items."""
    truth = (rng.random(n_items) < rate).astype(int)
    labels = np.full((n_items, n_labelers), -1)
    who = rng.random((n_items, n_labelers)).argsort(axis=1)[:, :per_item]
    right = rng.random(who.shape) < 0.8
    np.put_along_axis(labels, who, np.where(right, truth[:, None], 1 - truth[:, None]), axis=1)
    used = (labels >= 0).any(axis=0)
    gold = np.full(n_items, -1)
    known = rng.choice(n_items, golds, replace=False)
    gold[known] = truth[known]
    names = [f"w{j}" for j in np.flatnonzero(used)]
    return round_of(labels[:, used], gold if golds else None, prefix=prefix, labelers=names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_labelers", "per_item", "golds"), [(300, 1, 300), (1_000, 1, 300), (1_000, 3, 300), (300, 1, 30)]
)
def test_a_crowd_of_strangers_is_read_as_one_labeler(n_labelers: int, per_item: int, golds: int) -> None:
    """A platform where nobody labels twice would be told "6 of 1,000" for a rate of .3, or .99, without a warning."""
    rng = np.random.default_rng([0, n_labelers, per_item, golds])
    past = crowd(rng, 1_000, n_labelers, per_item, golds, "p")
    now = crowd(rng, 1_000, n_labelers, per_item, 0, "c")
    found = hero.estimate_rate(now, past, method="hero3")
    low, high = found.interval(0.999)  # a right one misses once in a thousand draws; the fault showed in every one
    assert low <= 0.3 <= high
    assert abs(found.value - 0.3) < (0.15 if golds > 100 else 0.3)
    assert high - low < 0.9


@pytest.mark.slow
def test_labelers_who_are_alike_speak_for_no_levels() -> None:
    """Thirty equally good labelers would be said to err together, and the rate be three times as far off as hero1's."""
    off = []
    for seed in range(2):
        rng = np.random.default_rng([seed, 30, 10, 30])
        past, now = crowd(rng, 1_000, 30, 10, 30, "p"), crowd(rng, 1_000, 30, 10, 0, "c")
        found = hero.estimate_rate(now, past, method="hero3")
        assert "F204" not in codes(found)
        assert found.std_error < 0.03
        off.append(found.value - hero.estimate_rate(now, past, method="hero1").value)
    assert np.abs(off).max() < 0.01


def test_pairs_of_labels_show_how_far_labelers_differ() -> None:
    """Labelers who differ would be taken for one, or those who do not for many."""
    rng = np.random.default_rng(3)
    n_items, n_labelers = 4_000, 200
    for sd in (0.0, 1.0):
        own = sd * rng.normal(size=n_labelers)
        labels = np.full((n_items, n_labelers), -1)
        who = rng.integers(0, n_labelers, n_items)
        labels[np.arange(n_items), who] = rng.random(n_items) < 1.0 / (1.0 + np.exp(-own[who]))
        patterns = patterns_of(labels)
        post = np.ones((patterns.n_rows, 1))
        share = np.full((n_labelers, 2, 1), 0.5)
        found = overdispersion(*labeler_scores(patterns, post, share, np.ones((1, 1))), 1)[0]
        assert found == LEAST_SPREAD if sd == 0.0 else 0.4 < found < 1.5


def patterns_of(labels: Array) -> object:
    from hero_eval.model.patterns import patterns_of_matrix

    return patterns_of_matrix(labels, 2, np.full(len(labels), -1))


def test_free_means_are_those_of_the_whole_system() -> None:
    """The error of a mean that labelers lean on would be left out, or counted wrongly: against the explicit system."""
    rng = np.random.default_rng(4)
    n_labelers, width = 7, 3
    root = rng.normal(size=(n_labelers, width, width))
    pooling = Pooling(np.array([0, 0, 1, 1, 1, 2, 2]), root @ root.transpose(0, 2, 1) + np.eye(width))
    flat = np.zeros((n_labelers * width,) * 2)
    for j, block in enumerate(pooling.precision):
        flat[j * width : (j + 1) * width, j * width : (j + 1) * width] = block
    whole = flat - pooling.dense()
    x = rng.normal(size=(n_labelers, width))
    assert pooling.gradient(x).ravel() == pytest.approx(-whole @ x.ravel())
    assert pooling.log_density(x) == pytest.approx(-0.5 * x.ravel() @ whole @ x.ravel())
    assert pooling.shared(x.ravel()) == pytest.approx(pooling.dense() @ x.ravel())
    pull = rng.normal(size=(n_labelers, width, 2))
    stacked = pull.reshape(-1, 2)
    assert pooling.covariance(pull) == pytest.approx(stacked.T @ whole @ stacked)
    data = rng.normal(size=(n_labelers, width, width))
    hessian = data @ data.transpose(0, 2, 1) + pooling.precision
    full = whole.copy()
    for j in range(n_labelers):
        at = slice(j * width, (j + 1) * width)
        full[at, at] += hessian[j] - pooling.precision[j]
    assert pooling.solve(hessian, x).ravel() == pytest.approx(np.linalg.solve(full, x.ravel()))


# ------------------------------------------------------------------------------------------ a class without gold


def rare_rounds(seed: int) -> tuple[Round, Round, float]:
    """A past round whose 60 golds happen to hold no positive, and a current one with more of them."""
    rng = np.random.default_rng([1, seed])
    sensitivity, specificity = rng.uniform(0.7, 0.9, 5), rng.uniform(0.88, 0.97, 5)

    def one(rate: float, golds: int, prefix: str) -> tuple[Round, float]:
        truth = (rng.random(300) < rate).astype(int)
        says_one = np.where(truth[:, None] == 1, sensitivity, 1.0 - specificity)
        labels = (rng.random((300, 5)) < says_one).astype(int)
        gold = np.full(300, -1)
        gold[rng.choice(np.flatnonzero(truth == 0), golds, replace=False)] = 0
        return round_of(labels, gold if golds else None, prefix=prefix), float(truth.mean())

    past, _ = one(0.03, 60, "p")
    now, rate = one(0.10, 0, "c")
    return past, now, rate


@pytest.mark.slow
def test_a_class_that_no_gold_shows_is_not_ruled_out() -> None:
    """A gate would open on a guess: 60 golds without a positive were read as "between 0 and .05" for a truth of .1."""
    for seed in range(6):
        past, now, truth = rare_rounds(seed)
        found = hero.estimate_rate(now, past, method="hero3")
        low, high = found.interval()
        assert low <= truth <= high
        assert low <= found.value <= high
        assert found.interval(0.9, side="upper")[1] > 0.05
        assert "F307" in codes(found)
        assert not finding(found, "F307").doubts_interval


def test_the_bound_of_an_unseen_class_is_the_exact_one() -> None:
    """With labels that tell nothing, n golds without a class must leave 1 - .05^(1/n) of it possible, no less."""
    past, now, _ = rare_rounds(0)
    levels = hero_fit(past, now)
    unseen = unseen_classes(levels)
    assert unseen is not None
    rows = levels.rows
    from hero_eval.model.hero3.drift import label_shares

    share = label_shares(levels)[rows.known, 1]
    odds = share / (1.0 - share)
    for q, step in ((0.2475, 49), (0.9475, 189)):
        none = np.prod((1.0 + odds * np.exp(unseen.middle + unseen.steps[step])) ** -rows.patterns.counts[rows.known])
        assert none == pytest.approx(1.0 - q, abs=2e-3)


def hero_fit(past: Round, now: Round) -> object:
    from hero_eval.estimation.ask import ask
    from hero_eval.estimation.options import Options

    return ask([now], past, Options("hero3")).fits[0].levels


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "golds"), [(1, 300), (3, 30), (3, 300)])
def test_a_crowd_of_labelers_who_are_alike_is_one_labeler(labels: int, golds: int) -> None:
    """Hundreds of labelers' own numbers would move the rate, or their errors be missing from its interval.

    The twin knows that all labelers are one: its maximum of the likelihood and Wald's interval are the best there is,
    and cover .948 to .958 (`benchmarks/thin_labelers.py`, B = 20,000).
    """
    thin = load_script(BENCHMARKS, "thin_labelers")
    cell = thin.Cell(300, labels, golds, 0.0)
    rng = np.random.default_rng([5, labels, golds])
    right = np.full((300, 2), thin.RIGHT)
    past, current = thin.draw_round(rng, cell, right, golds), thin.draw_round(rng, cell, right, 0)
    found = hero.estimate_rate(current.round("now"), past.round("past"), method="hero3")
    value, low, high = (float(one[0]) for one in thin.one_labeler.estimate(thin.counted(past, current)))
    assert found.value == pytest.approx(value, abs=0.004)
    assert found.interval() == pytest.approx((low, high), abs=0.008)


@pytest.mark.slow
def test_labelers_who_differ_do_not_differ_in_one_class_alone() -> None:
    """Labelers' few labels of the rarer class would let all of their differences pass for those in the other: the rate
    was .20 (.17 to .25) where .3 is right, and 12 of 20 such draws were missed."""
    thin = load_script(BENCHMARKS, "thin_labelers")
    cell = thin.Cell(300, 3, 300, 1.0)
    rng = np.random.default_rng([thin.SEED, 300, 3, 300, 100, 0])
    right = expit(logit(np.array(cell.right)) + rng.normal(size=(300, 2)))
    past, current = thin.draw_round(rng, cell, right, 300), thin.draw_round(rng, cell, right, 0)
    found = hero.estimate_rate(current.round("now"), past.round("past"), method="hero3")
    low, high = found.interval()
    assert low <= thin.RATE <= high
    assert found.value == pytest.approx(thin.pooled_rates(past, current)[0], abs=0.02)
