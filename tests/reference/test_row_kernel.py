"""HERO-3's compiled pass against loops that anyone can read, and its information against sums over single rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples

from hero_eval.errors import SupportError
from hero_eval.model.em import EMOptions, EMReport
from hero_eval.model.hero3 import fit as fit_module
from hero_eval.model.hero3 import level_information, likelihood, pair_kernel, row_kernel, shape
from hero_eval.model.hero3.fit import LevelFit, fit_levels
from hero_eval.model.hero3.level_information import LevelInformation
from hero_eval.model.hero3.level_priors import prior_gradient
from hero_eval.model.hero3.likelihood import answer_logs, e_step, expect, key_logs, shares_and_sums
from hero_eval.model.hero3.row_kernel import RowKernel
from hero_eval.model.hero3.shape import LevelParameters, LevelPrior, LevelShape, RoundRows
from hero_eval.model.patterns import Floats, Ints, patterns_of_matrix
from hero_eval.model.threads import limited_threads

pytestmark = pytest.mark.numbers


def some_rows(seed: int, n_classes: int, n_covariates: int = 0, n_labelers: int = 5, n_items: int = 60) -> RoundRows:
    rng = np.random.default_rng([seed, n_classes, n_covariates])
    labels = rng.integers(-1, n_classes, (n_items, n_labelers))
    labels[np.arange(n_items), rng.integers(0, n_labelers, n_items)] = rng.integers(0, n_classes, n_items)
    gold = np.where(rng.random(n_items) < 0.3, rng.integers(0, n_classes, n_items), -1)
    patterns = patterns_of_matrix(labels, n_classes, gold, rng.uniform(0.2, 3.0, n_items))
    at = rng.integers(0, 3, patterns.n_rows)
    covariates = rng.normal(size=(patterns.n_rows, n_covariates))
    return RoundRows(patterns, at, 3, n_classes, covariates, rng.normal(size=3))


def some_shape(n_levels: int, n_classes: int) -> LevelShape:
    """So many levels, or appeals if the number is negative."""
    return LevelShape(max(n_levels, 0), n_classes, True, max(-n_levels, 0))


def some_point(seed: int, rows: RoundRows, of: LevelShape, steep: float = 1.0) -> LevelParameters:
    rng = np.random.default_rng(seed)
    n_design = (2 if of.n_levels else 3) + rows.covariates.shape[1]
    return LevelParameters(
        steep * rng.normal(size=(rows.patterns.n_labelers, of.n_classes - 1, of.basis.shape[1])),
        rng.normal(size=max(of.n_weighted - 1, 0)),
        rng.normal(size=(3, of.n_tilts)),
        rng.normal(size=(of.n_classes - 1, n_design)),
    )


def naive_sums(rows: RoundRows, of_cells: Floats, of_keys: Floats, keys: Ints) -> tuple[Floats, Floats, float]:
    """Row by row and label by label, in logarithms."""
    cells, by_key, total = np.zeros_like(of_cells), np.zeros_like(of_keys), 0.0
    patterns = rows.patterns
    for row in range(patterns.n_rows):
        mine = patterns.cells.indices[patterns.cells.indptr[row] : patterns.cells.indptr[row + 1]]
        joint = of_keys[keys[row]].copy()
        for cell in mine:
            joint += of_cells[cell]
        whole = np.logaddexp.reduce(joint)
        share = patterns.counts[row] * np.exp(joint - whole)
        total += patterns.counts[row] * whole
        by_key[keys[row]] += share
        for cell in mine:
            cells[cell] += share
    return cells, by_key, float(total)


KINDS = st.tuples(st.sampled_from([0, 2, 5, -3, -9]), st.sampled_from([2, 3]), st.sampled_from([0, 2]))


@pytest.mark.slow
@given(st.integers(0, 10_000), KINDS, st.sampled_from([1.0, 300.0]))
@examples(25)
def test_a_pass_is_the_naive_loop(seed: int, kind: tuple[int, int, int], steep: float) -> None:
    """The fit would climb another likelihood; with steep labelers, whose products are beyond a float64, too."""
    n_levels, n_classes, n_covariates = kind
    rows, of = some_rows(seed, n_classes, n_covariates), some_shape(n_levels, n_classes)
    at = some_point(seed + 1, rows, of, steep)
    logs = answer_logs(of, at.answers).reshape(-1, of.n_components), key_logs(rows, of, at)
    keyed = rows.keyed(of)
    slow = naive_sums(rows, *logs, keyed.of_row)
    post = np.empty((rows.patterns.n_rows, of.n_components))
    plain = expect(rows, of, at)
    fast = RowKernel(keyed).expect(*logs, post)
    cells = plain.cells.reshape(slow[0].shape)
    for found in (fast, (cells, plain.by_key, plain.log_likelihood)):
        np.testing.assert_allclose(found[0], slow[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[1], slow[1], rtol=1e-9, atol=1e-9)
        assert found[2] == pytest.approx(slow[2], rel=1e-9)
    np.testing.assert_allclose(post, e_step(rows, of, at)[0], atol=1e-11)


def test_threads_change_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same data would give another answer on another machine."""
    monkeypatch.setattr(row_kernel, "_CHUNK", 20)
    monkeypatch.setattr(likelihood, "MANY_LABELS", 0)
    rows, of = some_rows(3, 2, n_items=200), LevelShape(5, 2, True)
    at = some_point(4, rows, of)
    with limited_threads(1):
        alone = expect(rows, of, at)
    together = expect(rows, of, at)
    assert (alone.cells == together.cells).all()
    assert (alone.by_key == together.by_key).all()
    assert alone.log_likelihood == together.log_likelihood
    assert shares_and_sums(rows, of, at)[1].log_likelihood == alone.log_likelihood


def test_a_pass_for_few_components_is_that_for_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit would jump where the number of its levels changes; rows of tiny likelihood would have none at all."""
    rows, of = some_rows(5, 2, n_labelers=40, n_items=300), LevelShape(3, 2, True)
    at = some_point(6, rows, of, steep=3.0)
    logs = answer_logs(of, at.answers).reshape(-1, 3), key_logs(rows, of, at)
    few = RowKernel(rows.keyed(of)).expect(*logs)
    monkeypatch.setattr(row_kernel, "MOST_UNROLLED", 0)
    every = RowKernel(rows.keyed(of)).expect(*logs)
    for one, other in zip(few, every, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_a_point_that_is_looked_at_has_the_sums_of_one_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method would compare points by other likelihoods than it ends with."""
    monkeypatch.setattr(likelihood, "MANY_LABELS", 0)
    one, other = some_fit(3, 3, 2, 0), some_fit(3, 3, 2, 0)
    assert other.post.shape == (other.rows.patterns.n_rows, 3)
    assert one.expected.log_likelihood == other.expected.log_likelihood
    assert "_found" not in one.__dict__
    assert (one.expected.cells == other.expected.cells).all()


def some_fit(seed: int, n_levels: int, n_classes: int, n_covariates: int) -> LevelFit:
    rows, of = some_rows(seed, n_classes, n_covariates), some_shape(n_levels, n_classes)
    at = some_point(seed + 1, rows, of)
    n_labelers, width = len(at.answers), at.answers[0].size
    prior = LevelPrior(
        np.zeros(n_labelers, dtype=int),
        np.tile(np.eye(width), (n_labelers, 1, 1)),
        np.zeros_like(at.classes),
        np.eye(at.classes.shape[1]),
    )
    return LevelFit(rows, of, at, prior, EMReport(1, 0.0, True, 0.0), prior.groups)


def naive_lost(fit: LevelFit) -> Floats:
    """Row by row: the variance of the derivatives over the components, times the row's count; in central differences
    of `component_logs`."""
    step, size = 1e-5, LevelInformation(fit).size
    slopes = []
    for number in range(size):
        move = step * (np.arange(size) == number)
        up, down = (
            likelihood.component_logs(fit.rows, fit.shape, shape.moved_parameters(fit.parameters, sign * move))
            for sign in (1.0, -1.0)
        )
        slopes.append(np.where(np.isfinite(up), up - np.where(np.isfinite(down), down, 0.0), 0.0) / (2 * step))
    out = np.zeros((size, size))
    for row, count in enumerate(fit.rows.patterns.counts):
        share, slope = fit.post[row], np.array([one[row] for one in slopes])
        center = slope @ share
        out += count * ((slope * share) @ slope.T - np.outer(center, center))
    return out


@pytest.mark.parametrize("kind", [(0, 2, 0), (0, 3, 2), (3, 2, 0), (3, 3, 2), (-3, 2, 0), (-3, 3, 2)], ids=str)
@pytest.mark.parametrize("ways", ["pairs", "products", "kernel", "compiled pairs", "tables"])
def test_what_is_lost_is_the_variance_of_slopes(
    kind: tuple[int, int, int], ways: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every standard error would rest on a wrong curvature, in one of the ways to sum it up."""
    if ways != "pairs":
        monkeypatch.setattr(shape, "_MOST_PAIRS", 0)
    if ways in ("kernel", "compiled pairs", "tables"):
        monkeypatch.setattr(likelihood, "MANY_LABELS", 0)
        monkeypatch.setattr(row_kernel, "_CHUNK", 40)
        monkeypatch.setattr(level_information, "_FULL_SHARE", 0.0 if ways == "kernel" else 2.0)
        monkeypatch.setattr(pair_kernel, "_MOST_TABLE", 1 << 20 if ways == "tables" else 0)
    fit = some_fit(5, *kind)
    information, slow = LevelInformation(fit), naive_lost(fit)
    counts = fit.rows.patterns.counts
    assert (information._compiled_lost(counts) is None) == (ways not in ("compiled pairs", "tables"))
    assert information._lost(counts) == pytest.approx(slow, abs=1e-5)
    vectors = np.random.default_rng(0).normal(size=(information.size, 2))
    for vector in vectors.T:
        assert information._lost_product(counts, vector) == pytest.approx(slow @ vector, abs=1e-4)
    everywhere = np.ones(len(counts), dtype=bool)
    assert information.times(vectors, everywhere) == pytest.approx(information.of_rows(everywhere) @ vectors, abs=1e-8)
    assert information.row_influence(vectors) == pytest.approx(information.scores @ vectors, abs=1e-9)
    assert information.score_sum() == pytest.approx(information.scores.T @ counts, abs=1e-9)


def test_some_rows_are_those_rows() -> None:
    """Derivatives by the rounds' shifts would be those of other rows."""
    rows = some_rows(7, 3, 2)
    some = rows.some(rows.known)
    of = LevelShape(3, 3, True)
    at = some_point(8, rows, of)
    np.testing.assert_allclose(e_step(some, of, at)[1], e_step(rows, of, at)[1][rows.known], rtol=1e-12)
    moved = rows.with_shift(np.zeros(3))
    np.testing.assert_allclose(e_step(moved, of, at)[1], e_step(replace(rows, shift=np.zeros(3)), of, at)[1])


def test_newtons_method_climbs_where_the_likelihood_bends_the_wrong_way() -> None:
    """A fit along a flat ridge would be given up to thousands of EM steps."""
    fit = some_fit(11, 5, 2, 0)
    information = LevelInformation(fit)
    gradient = information.score_sum() + prior_gradient(fit.shape, fit.parameters, fit.prior)
    assert information.uphill(gradient, 0.0) is None  # far from the maximum
    found, rests = fit_module._newton(fit, 1e-8)
    assert rests
    at_rest = LevelInformation(found)
    left = at_rest.score_sum() + prior_gradient(found.shape, found.parameters, found.prior)
    assert np.abs(left).max() < 1e-6
    assert at_rest.uphill(left, 0.0) is not None
    assert found.report.log_likelihood > fit.expected.log_likelihood


def test_classes_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labelers' precisions of many classes would bring the machine to a halt."""
    monkeypatch.setattr(fit_module, "_MOST_PRIOR", 10)
    rows = some_rows(1, 3)
    with pytest.raises(SupportError) as caught:
        fit_levels(rows, LevelShape(0, 3), np.zeros(5, dtype=int), EMOptions())
    assert caught.value.code == "E306"
