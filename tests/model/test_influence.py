"""Every influence against the estimate refitted with one item's weight changed, and the pieces behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hero_eval.errors import SupportError
from hero_eval.methods.evidence import CovariateColumns, CovariateEvidence
from hero_eval.methods.registry import all_methods
from hero_eval.model import information as influence_module
from hero_eval.model.coordinates import coordinates
from hero_eval.model.em import EMOptions
from hero_eval.model.history import fit_anchored
from hero_eval.model.information import Information
from hero_eval.model.latent import Latent, class_log_likelihood, posterior, state_barrier
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.model.rate_derivatives import rates_gradient
from hero_eval.model.rates import relative_likelihood, scores

pytestmark = pytest.mark.numbers

METHODS = [name for name, one in all_methods().items() if issubclass(CovariateEvidence, one.evidence)]
"""Those that the evidence below is enough for; the others' influences: `tests/methods`."""
TIGHT = EMOptions(tolerance=1e-15, step_tolerance=1e-13, max_steps=50_000)


def make_evidence(n_classes: int, seed: int, missing: bool = False) -> CovariateEvidence:
    rng = np.random.default_rng(seed)
    n_labelers = 5
    skill = rng.uniform(0.5, 0.8, n_labelers)
    noise = rng.dirichlet(np.full(n_classes, 3.0), (n_labelers, n_classes))
    answers = skill[:, None, None] * np.eye(n_classes) + (1 - skill)[:, None, None] * noise

    def items(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        truth = rng.integers(0, n_classes, count)
        said = (rng.random((count, n_labelers, 1)) > answers[:, truth].transpose(1, 0, 2).cumsum(axis=2)).sum(axis=2)
        labels = np.where(rng.random((count, n_labelers)) < 0.7, np.minimum(said, n_classes - 1), -1)
        labels[:, 0] = np.minimum(said[:, 0], n_classes - 1)
        x = rng.normal(size=(count, 2)) + truth[:, None] * np.array([1.0, -0.4])
        return labels, truth, x

    history, truth, history_x = items(260)
    current, _, current_x = items(160)
    gold = np.where(rng.random(len(truth)) < 0.4, truth, -1)
    if missing:
        current_x[rng.random(current_x.shape) < 0.1] = np.nan
    weights = rng.uniform(0.5, 2.0, len(current)), rng.uniform(0.5, 2.0, len(history))
    now = patterns_of_matrix(current, n_classes, None, weights[0])
    past = patterns_of_matrix(history, n_classes, gold, weights[1])
    columns = CovariateColumns(("a", "b"), current_x, history_x, np.array([False, False]))
    names = tuple(map(str, range(n_classes)))
    return CovariateEvidence(n_classes, now, past, em=TIGHT, classes=names, columns=columns, penalty=0.0)


def refit_slope(name: str, evidence: CovariateEvidence, side: str, item: int) -> np.ndarray:
    """d rates[1:] / d(log weight) of one item, by central differences of the refitted estimate."""
    step, moved = 1e-3, []
    for sign in (1, -1):
        patterns = getattr(evidence, side)
        weight = patterns.item_weight.copy()
        weight[item] *= 1 + sign * step
        changed = {side: patterns.reweighted(weight)}
        moved.append(all_methods()[name].run(replace(evidence, **changed)).rates[1:])
    return (moved[0] - moved[1]) / (2 * step)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", METHODS)
def test_influence_is_the_refitted_derivative(name: str, n_classes: int) -> None:
    """A standard error would not be the one of this estimator: an item moves it by another amount than claimed."""
    evidence = make_evidence(n_classes, seed=11 + n_classes)
    fit = all_methods()[name].run(evidence)
    rng = np.random.default_rng(0)
    for side, claimed in (("current", fit.current), ("history", fit.history)):
        if claimed is None:
            continue
        largest = np.abs(claimed).max()
        for item in rng.choice(len(claimed), 8, replace=False):
            assert refit_slope(name, evidence, side, int(item)) == pytest.approx(
                claimed[item], rel=2e-3, abs=2e-4 * largest
            )


@pytest.mark.parametrize("name", METHODS)
def test_influences_sum_to_zero(name: str) -> None:
    """Giving every item the same extra weight would move the estimate."""
    fit = all_methods()[name].run(make_evidence(3, seed=5))
    # the smoothing of gold proportions is a fixed amount, so there a common weight of history does matter
    for claimed in (fit.current, None if name == "gold_proportion" else fit.history):
        if claimed is not None:
            assert np.abs(claimed.sum(axis=0)).max() < 1e-7


def test_missing_covariates_keep_influence_near_the_refit() -> None:
    """With missing covariate values the interval would rest on wrong influences."""
    evidence = make_evidence(2, seed=3, missing=True)
    fit = all_methods()["hero2"].run(evidence)
    largest = np.abs(fit.current).max()
    for item in range(0, 160, 23):
        assert refit_slope("hero2", evidence, "current", item) == pytest.approx(
            fit.current[item], rel=0.02, abs=5e-3 * largest
        )


def several_states(seed: int) -> tuple[Latent, object]:
    """A model with two states in class 0, one at the clipping bound, and patterns to evaluate it on."""
    rng = np.random.default_rng(seed)
    answers = rng.dirichlet(np.full(3, 2.0), (4, 3)).transpose(0, 2, 1)
    answers[0, :, 1] = [0.001, 0.699, 0.3]
    labels = np.where(rng.random((200, 4)) < 0.8, rng.integers(0, 3, (200, 4)), -1)
    labels[:, 1] = rng.integers(0, 3, 200)
    gold = np.where(rng.random(200) < 0.3, rng.integers(0, 2, 200), -1)
    latent = Latent(np.array([0.5, 0.2, 0.3]), answers, np.array([0, 0, 1]))
    return latent, patterns_of_matrix(labels, 3, gold)


def shifted(latent: Latent, direction: np.ndarray, clip: float) -> Latent:
    """The model moved along free logit coordinates."""
    at = coordinates(latent, clip)
    on_weights, on_answers = at.unpack(direction)
    weights = latent.weights * np.exp(at.weight_slopes @ on_weights)
    steps = np.einsum(
        "jlcs,jcs->jls", at.answer_slopes, on_answers.reshape(latent.answers.shape[0], -1, latent.n_states)
    )
    answers = latent.answers * np.exp(steps)
    return Latent(weights / weights.sum(), answers / answers.sum(axis=1, keepdims=True), latent.state_class)


def test_information_is_minus_the_second_derivative() -> None:
    """Reliabilities would be claimed more (or less) sure than the likelihood's curvature says, for any states."""
    latent, patterns = several_states(4)
    information = Information(patterns, latent, clip=1e-3)
    barrier = state_barrier(patterns.gold, latent.state_class)

    def score(at: Latent) -> np.ndarray:
        moved = Information(patterns, at, clip=1e-3)
        return np.array(
            [moved.item_influence(np.eye(moved.n_parameters)[:, [c]]).sum() for c in range(moved.n_parameters)]
        )

    def height(at: Latent) -> float:
        return float(patterns.counts @ posterior(patterns, at, barrier)[1])

    step, size = 1e-4, information.n_parameters
    directions = np.eye(size)
    first = [
        (height(shifted(latent, step * d, 1e-3)) - height(shifted(latent, -step * d, 1e-3))) / (2 * step)
        for d in directions
    ]
    assert score(latent) == pytest.approx(np.array(first), abs=1e-4)
    second = [
        (score(shifted(latent, step * d, 1e-3)) - score(shifted(latent, -step * d, 1e-3))) / (2 * step)
        for d in directions
    ]
    assert information.matrix == pytest.approx(-np.array(second), abs=2e-2)
    product = np.stack([information.product(d) for d in directions], axis=1)
    assert product == pytest.approx(information.matrix, abs=1e-9)


def test_rates_gradient_for_states_within_classes() -> None:
    """Carrying reliability errors to the rate would be wrong for classes with several states."""
    latent, patterns = several_states(9)
    at = coordinates(latent, 1e-3)
    rates = np.array([0.6, 0.4])
    weights = np.random.default_rng(1).normal(size=(patterns.n_rows, 1))

    def total(model: Latent) -> float:
        return float((weights * scores(relative_likelihood(class_log_likelihood(patterns, model)), rates)).sum())

    gradient = rates_gradient(patterns, latent, at, rates, weights)
    step = 1e-5
    slopes = [
        (total(shifted(latent, step * d, 1e-3)) - total(shifted(latent, -step * d, 1e-3))) / (2 * step)
        for d in np.eye(at.n_free)
    ]
    assert gradient == pytest.approx(np.array(slopes), rel=1e-4, abs=1e-4)


def test_large_and_small_roads_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many labelers, where H is never formed and matrices are sparse, the interval would change."""
    from hero_eval.model import patterns as patterns_module

    evidence = make_evidence(3, seed=8)
    small = all_methods()["hero2"].run(evidence)
    monkeypatch.setattr(influence_module, "DENSE_LIMIT", 0)
    monkeypatch.setattr(patterns_module, "_DENSE_CELLS", 0)
    large = all_methods()["hero2"].run(make_evidence(3, seed=8))
    assert large.rates == pytest.approx(small.rates, abs=1e-9)
    assert large.current == pytest.approx(small.current, abs=1e-9)
    assert large.history == pytest.approx(small.history, abs=1e-8)
    assert small.history is not None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_information_of_sparse_patterns_is_that_of_dense_ones(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of labelers would get another interval than ten, from the same kind of data."""
    from hero_eval.model import patterns as patterns_module

    history = make_evidence(n_classes, seed=4).anchored
    dense = Information(history.patterns, history.latent, history.clip).matrix
    monkeypatch.setattr(patterns_module, "_DENSE_CELLS", 0)
    sparse = Information(replace(history.patterns), history.latent, history.clip).matrix
    np.testing.assert_allclose(sparse, dense, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_held_takes_no_part_in_the_information(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many classes, most answers of which are never given, intervals would be others, or memory not suffice."""
    history = make_evidence(n_classes, seed=4).anchored
    latent = history.latent
    answers = latent.answers.copy()
    answers[0, :, 0] = history.clip
    answers[0, 0, 0] = 1.0 - (n_classes - 1) * history.clip
    held = Information(history.patterns, replace(latent, answers=answers), history.clip)
    directions = np.eye(held.n_parameters)
    assert held.n_parameters < len(held.at.free)
    product = np.stack([held.product(d) for d in directions], axis=1)
    assert held._matrix_of_free() == pytest.approx(product, abs=1e-9)
    assert np.isnan(held.answer_std_errors()[0, :, 0]).all()
    information = Information(history.patterns, latent, history.clip)
    right = np.random.default_rng(0).normal(size=(information.n_parameters, 2))
    known = information.solve(right)
    monkeypatch.setattr(influence_module, "DENSE_LIMIT", 0)
    monkeypatch.setattr(influence_module, "_MOST_OWN", 0)
    near = Information(history.patterns, latent, history.clip)
    assert near.solve(right) == pytest.approx(known, rel=1e-4, abs=1e-7)


def test_parameters_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine would stand still, or end the program without a word."""
    history = make_evidence(3, seed=4).anchored
    monkeypatch.setattr(influence_module, "_MOST_SLOPES", 100)
    with pytest.raises(SupportError) as caught:
        Information(history.patterns, history.latent, history.clip)
    assert caught.value.code == "E306"


def test_parameters_that_no_label_speaks_of_do_no_harm() -> None:
    """A labeler never met in some state would cost a long search, or bend the influence of everybody else."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, (300, 3))
    patterns = patterns_of_matrix(labels, 2, labels[:, 0])
    answers = np.full((4, 2, 2), 0.5)
    answers[:3] = [[0.7, 0.2], [0.3, 0.8]]
    wider = replace(patterns, cells=patterns.cells.copy(), n_labelers=4)
    wider.cells.resize(patterns.n_rows, 8)
    latent = Latent(np.array([0.5, 0.5]), answers, np.arange(2))
    with_idle, without = (
        Information(one, replace(latent, answers=latent.answers[: one.n_labelers]), 1e-3) for one in (wider, patterns)
    )
    assert with_idle._factor[1]
    assert not without._factor[1]
    right = np.zeros(with_idle.n_parameters)
    idle = np.diag(with_idle.matrix) == 0
    assert idle.sum() == 2
    right[~idle] = rng.normal(size=without.n_parameters)
    moved, known = (of.solve(v[:, None]) for of, v in ((with_idle, right), (without, right[~idle])))
    np.testing.assert_allclose(moved[~idle], known, rtol=1e-9, atol=1e-12)


def test_reliability_errors_match_simulation() -> None:
    """The standard errors beside sensitivities would not be the spread seen over repeated histories."""
    sensitivity, claimed = [], []
    for seed in range(120):
        rng = np.random.default_rng([5, seed])
        truth = rng.random(400) < 0.4
        says = np.where(truth[:, None], [0.8, 0.7, 0.75, 0.85], [0.2, 0.1, 0.35, 0.3])
        labels = (rng.random((400, 4)) < says).astype(int)
        gold = np.where(rng.random(400) < 0.2, truth, -1)
        fit = fit_anchored(patterns_of_matrix(labels, 2, gold), 2, EMOptions())
        sensitivity.append(fit.latent.answers[:, 1, 1])
        claimed.append(fit.information.answer_std_errors()[:, 1, 1])
    spread = np.std(sensitivity, axis=0, ddof=1)  # relative Monte Carlo error 1 / sqrt(2 * 119) = 6.5%
    assert np.mean(claimed, axis=0) == pytest.approx(spread, rel=0.25)
