"""The climb: it never falls, ends at the same place however it is run, and says whether it arrived."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples
from reference import naive

from hero_eval.model.em import EMOptions, gold_start
from hero_eval.model.history import fit_anchored, fit_without_gold
from hero_eval.model.latent import floored_shares
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.studies.designs import EXPERIMENTS, draw

pytestmark = pytest.mark.numbers


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.booleans(), st.sampled_from([1e-3, 0.05]))
def test_likelihood_never_falls(seed: int, n_classes: int, accelerate: bool, clip: float) -> None:
    """The fit could walk away from the data, and 'converged' would mean nothing."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, n_classes, (60, 4))
    labels[:, 0] = rng.integers(0, n_classes, 60)
    gold = np.where(rng.random(60) < 0.2, rng.integers(0, n_classes, 60), -1)
    patterns = patterns_of_matrix(labels, n_classes, gold, rng.uniform(0.2, 3.0, 60))
    options = EMOptions(clip=clip, max_steps=300, accelerate=accelerate)
    for fit in (fit_anchored(patterns, n_classes, options), fit_without_gold(patterns, n_classes, options)):
        assert fit.report is not None
        path = np.array(fit.report.path)
        assert (np.diff(path) >= -1e-10 * np.abs(path[:-1])).all()


def test_tracked_likelihood_is_the_one_of_the_model() -> None:
    """The reported likelihood would belong to another model than the one fitted."""
    made = draw(EXPERIMENTS["exp1-small"][9], np.random.default_rng(4))
    patterns = patterns_of_matrix(made.history_labels, 2, made.history_gold)
    fit = fit_anchored(patterns, 2, EMOptions())
    assert fit.report is not None
    answers = np.moveaxis(fit.latent.answers, 1, 2)
    slow = naive.log_likelihood(made.history_labels, made.history_gold, fit.latent.weights, answers)
    assert fit.report.log_likelihood == pytest.approx(slow, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("study", ["exp1-small", "exp1-large"])
def test_acceleration_ends_at_the_same_maximum_sooner(study: str) -> None:
    """Acceleration would trade the answer for speed, or not be faster."""
    plain_steps, fast_steps = 0, 0
    for seed in range(10):
        made = draw(EXPERIMENTS[study][4], np.random.default_rng(seed))
        patterns = patterns_of_matrix(made.history_labels, 2, made.history_gold)
        plain = fit_anchored(patterns, 2, EMOptions(accelerate=False, max_steps=100_000))
        fast = fit_anchored(patterns, 2, EMOptions())
        assert plain.report is not None
        assert fast.report is not None
        assert fast.report.converged
        assert fast.latent.weights == pytest.approx(plain.latent.weights, abs=1e-6)
        assert fast.latent.answers == pytest.approx(plain.latent.answers, abs=1e-5)
        plain_steps += plain.report.n_steps
        fast_steps += fast.report.n_steps
    assert fast_steps < plain_steps / 2


def test_not_converged_is_said() -> None:
    """A fit that was cut short would pass for a finished one."""
    made = draw(EXPERIMENTS["exp1-small"][0], np.random.default_rng(1))
    patterns = patterns_of_matrix(made.history_labels, 2, made.history_gold)
    report = fit_anchored(patterns, 2, EMOptions(max_steps=3)).report
    assert report is not None
    assert not report.converged
    assert report.n_steps <= 4
    assert report.change > 0


def test_all_gold_known_is_counting() -> None:
    """With gold for every item the reliabilities would not be plain proportions."""
    made = draw(EXPERIMENTS["exp1-large"][0], np.random.default_rng(2))
    labels, truth = made.current_labels, made.current_truth
    fit = fit_anchored(patterns_of_matrix(labels, 2, truth), 2, EMOptions())
    for j in range(labels.shape[1]):
        seen = labels[:, j] >= 0
        hits = (labels[seen & (truth == 1), j] == 1).mean()
        assert fit.latent.answers[j, 1, 1] == pytest.approx(np.clip(hits, 0.001, 0.999), abs=1e-12)
    assert fit.latent.weights[1] == pytest.approx(truth.mean(), abs=1e-12)


def test_labeler_without_gold_of_a_class_starts_from_the_pool() -> None:
    """A labeler without gold would start from nan or from 0, which kills a class."""
    labels = np.array([[1, 1], [1, 0], [0, -1], [0, -1], [1, 1]])
    gold = np.array([1, 1, 0, 0, -1])
    start = gold_start(patterns_of_matrix(labels, 2, gold), 2, 1e-3)
    assert start.answers[1, 1, 0] == pytest.approx(0.001)  # pooled over labelers on class 0: 0 of 2 said 1
    assert start.answers[1, 1, 1] == pytest.approx(0.5)
    assert start.weights[1] == pytest.approx(0.5)


@examples(200)
@given(st.lists(st.just(0.0) | st.floats(1e-6, 50), min_size=2, max_size=6), st.floats(1e-4, 0.1))
def test_floored_shares_are_the_constrained_maximum(counts: list[float], floor: float) -> None:
    """Clipping with more than two answers would lower the likelihood or leave the simplex."""
    values = np.array(counts)
    if values.sum() == 0:
        assert np.isnan(floored_shares(values, floor, axis=0)).all()
        return
    shares = floored_shares(values, floor, axis=0)
    assert shares.sum() == pytest.approx(1.0, abs=1e-9)
    assert shares.min() >= floor - 1e-12
    assert shares == pytest.approx(naive.floored_shares(values, floor), abs=1e-9)
