"""Every fast method against its slow twin, on random rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from random_examples import examples

from hero_eval.methods.evidence import CovariateColumns, CovariateEvidence
from hero_eval.methods.registry import all_methods
from hero_eval.model.em import EMOptions
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.model.rates import relative_likelihood, solve_binary, solve_simplex
from reference import naive

pytestmark = pytest.mark.numbers

SETTINGS = examples(25, suppress_health_check=list(HealthCheck))


class Case:
    """A random history and current round: labelers that know something, gold of every class, weights or not."""

    def __init__(self, seed: int, n_classes: int, weighted: bool) -> None:
        rng = np.random.default_rng(seed)
        self.n_classes = n_classes
        self.n_labelers = int(rng.integers(3, 7))
        n_history, n_current = int(rng.integers(60, 160)), int(rng.integers(40, 120))
        weights = rng.dirichlet(np.full(n_classes, 5.0))
        skill = rng.uniform(0.45, 0.85, self.n_labelers)
        noise = rng.dirichlet(np.full(n_classes, 2.0), (self.n_labelers, n_classes))
        self.answers = skill[:, None, None] * np.eye(n_classes) + (1 - skill)[:, None, None] * noise

        def items(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            truth = rng.choice(n_classes, count, p=weights)
            labels = np.full((count, self.n_labelers), -1)
            for i, of in enumerate(truth):
                for j in range(self.n_labelers):
                    if rng.random() < 0.6:
                        labels[i, j] = rng.choice(n_classes, p=self.answers[j, of])
            x = rng.normal(size=(count, 2)) + truth[:, None] * np.array([0.8, -0.3])
            seen = (labels >= 0).any(axis=1)
            return labels[seen], truth[seen], x[seen]

        self.history, truth, self.history_x = items(n_history)
        self.current, _, self.current_x = items(n_current)
        self.gold = np.where(rng.random(len(truth)) < 0.3, truth, -1)
        for k in range(n_classes):  # every class has gold, so that both twins start from gold alone
            self.gold[np.nonzero(truth == k)[0][:3]] = k
        self.history_weight = rng.uniform(0.5, 3.0, len(self.history)) if weighted else None
        self.current_weight = rng.uniform(0.5, 3.0, len(self.current)) if weighted else None

    def evidence(self, penalty: float | None = 0.0) -> CovariateEvidence:
        history = patterns_of_matrix(self.history, self.n_classes, self.gold, self.history_weight)
        current = patterns_of_matrix(self.current, self.n_classes, None, self.current_weight)
        columns = CovariateColumns(("a", "b"), self.current_x, self.history_x, np.array([False, False]))
        names = tuple(map(str, range(self.n_classes)))
        return CovariateEvidence(self.n_classes, current, history, classes=names, columns=columns, penalty=penalty)


CASES = st.builds(Case, st.integers(0, 2**32 - 1), st.sampled_from([2, 2, 3, 4]), st.booleans())


@SETTINGS
@given(CASES)
def test_majority_vote(case: Case) -> None:
    """A user's majority vote would not be the plurality of labels with ties shared."""
    slow = naive.majority_vote(case.current, case.n_classes, case.current_weight)
    assert all_methods()["majority_vote"].run(case.evidence()).rates == pytest.approx(slow, abs=1e-12)


def by_twin(twin: Callable[..., np.ndarray], case: Case) -> np.ndarray:
    """What the slow twin of a method with history says."""
    weights = {"hist_weights": case.history_weight, "cur_weights": case.current_weight}
    return twin(case.history, case.gold, case.current, case.n_classes, **weights)


@pytest.mark.slow
@SETTINGS
@given(CASES)
def test_gold_proportion(case: Case) -> None:
    """Gold proportions would not follow the paper's smoothed formula and likelihood."""
    slow = by_twin(naive.gold_proportion, case)
    assert all_methods()["gold_proportion"].run(case.evidence()).rates == pytest.approx(slow, abs=1e-6)


@pytest.mark.slow
@SETTINGS
@given(CASES)
def test_dawid_skene(case: Case) -> None:
    """Dawid-Skene would stop short of, or away from, the maximum that plain EM from the votes reaches."""
    slow, _ = naive.dawid_skene(case.current, case.n_classes, case.current_weight, tolerance=1e-13, max_steps=20_000)
    fit = all_methods()["dawid_skene"].run(case.evidence())
    assert fit.report is not None
    if fit.report.n_steps > 1_000:  # a ridge: the maximum itself is not determined to 1e-6
        return
    assert fit.rates == pytest.approx(slow, abs=1e-5)


@pytest.mark.slow
@SETTINGS
@given(CASES)
def test_hero1(case: Case) -> None:
    """HERO-1 would not be Algorithm 1, stages A and B."""
    slow = by_twin(naive.hero1, case)
    assert all_methods()["hero1"].run(case.evidence()).rates == pytest.approx(slow, abs=1e-6)


@pytest.mark.slow
@SETTINGS
@given(CASES, st.sampled_from([0.0, 0.0, 0.3]))
def test_hero2(case: Case, penalty: float) -> None:
    """HERO-2 would not be Algorithm 1, stage C, with or without a ridge penalty."""
    slow = naive.hero2(
        case.history,
        case.gold,
        case.history_x,
        case.current,
        case.current_x,
        case.n_classes,
        hist_weights=case.history_weight,
        cur_weights=case.current_weight,
        penalty=penalty,
    )
    assert all_methods()["hero2"].run(case.evidence(penalty)).rates == pytest.approx(slow, abs=1e-6)


@SETTINGS
@given(CASES)
def test_paper_stopping_rule_is_the_same_climb(case: Case) -> None:
    """The studies' paper setting would not take the paper's own EM steps."""
    from hero_eval.model.history import fit_anchored

    history = case.evidence().history
    assert history is not None
    few = fit_anchored(
        history, case.n_classes, EMOptions(tolerance=1e-300, step_tolerance=None, max_steps=6, accelerate=False)
    )
    weights, answers = naive.anchored_em(
        case.history, case.gold, case.n_classes, case.history_weight, tolerance=1e-300, max_steps=5
    )
    assert few.latent.weights == pytest.approx(weights, abs=1e-10)
    assert np.moveaxis(few.latent.answers, 1, 2) == pytest.approx(answers, abs=1e-10)


@examples(100)
@given(st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5), st.integers(5, 80))
def test_simplex_solver_at_two_classes_is_the_binary_one(seed: int, tilt: float, size: int) -> None:
    """The K-class code at K = 2 would give another number than the binary code."""
    rng = np.random.default_rng(seed)
    likelihood = relative_likelihood(rng.normal(scale=2.0, size=(size, 2)))
    counts = rng.uniform(0.5, 5.0, size)
    binary = solve_binary(likelihood, counts, tilt)
    general = solve_simplex(likelihood, counts, np.array([tilt]))
    assert general.rates == pytest.approx(binary.rates, abs=1e-9)
    assert general.converged
    assert (general.rates[1] in (0.0, 1.0)) == binary.on_edge


@examples(60)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(5, 60), st.booleans())
def test_simplex_solver_reaches_the_concave_maximum(seed: int, n_classes: int, size: int, tilted: bool) -> None:
    """K-class rates would not maximize the likelihood, or would leave the simplex."""
    rng = np.random.default_rng(seed)
    likelihood = relative_likelihood(rng.normal(scale=2.0, size=(size, n_classes)))
    tilt = rng.normal(scale=0.2, size=n_classes - 1) if tilted else None
    root = solve_simplex(likelihood, np.ones(size), tilt)
    gradient = (likelihood / (likelihood @ root.rates)[:, None]).mean(axis=0)
    if tilt is not None:
        gradient[1:] -= tilt
    level = gradient @ root.rates
    assert root.converged
    assert root.rates.min() >= 0
    assert root.rates.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.abs(gradient - level)[root.rates > 1e-9].max() < 1e-7
    assert (gradient - level)[root.rates <= 1e-9].max(initial=-1.0) < 1e-7
