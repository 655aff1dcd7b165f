"""The compiled pass over sparse rows: the sums of the plain code, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples

from hero_eval.model import em, kernel
from hero_eval.model import score_tests as guards
from hero_eval.model.em import EMOptions, gold_start, run_em
from hero_eval.model.information import pair_sums
from hero_eval.model.joint import Joint, stack
from hero_eval.model.kernel import Kernel
from hero_eval.model.latent import Latent, posterior, state_barrier
from hero_eval.model.patterns import Patterns, patterns_of_matrix
from hero_eval.model.threads import limited_threads, thread_count

pytestmark = pytest.mark.numbers


def some_patterns(
    seed: int, n_items: int = 60, n_labelers: int = 7, n_answers: int = 2, weighted: bool = False
) -> Patterns:
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, n_answers, (n_items, n_labelers))
    labels[np.arange(n_items), rng.integers(0, n_labelers, n_items)] = rng.integers(0, n_answers, n_items)
    gold = np.where(rng.random(n_items) < 0.2, rng.integers(0, n_answers, n_items), -1)
    return patterns_of_matrix(labels, n_answers, gold, rng.uniform(0.2, 3.0, n_items) if weighted else None)


def some_latent(seed: int, patterns: Patterns, state_class: list[int]) -> Latent:
    rng = np.random.default_rng(seed)
    answers = rng.dirichlet(np.ones(patterns.n_answers), (patterns.n_labelers, len(state_class)))
    answers = np.clip(np.moveaxis(answers, 2, 1), 1e-3, 1.0)
    weights = rng.dirichlet(np.ones(len(state_class)))
    return Latent(weights, answers / answers.sum(axis=1, keepdims=True), np.array(state_class))


def by_plain_code(patterns: Patterns, latent: Latent) -> tuple[np.ndarray, np.ndarray, float]:
    post, by_row = posterior(patterns, latent, state_barrier(patterns.gold, latent.state_class))
    expected = post * patterns.counts[:, None]
    return patterns.to_cells(expected), expected.sum(axis=0), float(patterns.counts @ by_row)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([(2, [0, 1]), (2, [0, 0, 1, 1]), (3, [0, 1, 2])]), st.booleans())
@examples(25)
def test_a_pass_is_the_plain_step(seed: int, kind: tuple[int, list[int]], weighted: bool) -> None:
    """The kernel would climb another likelihood."""
    n_answers, state_class = kind
    patterns = some_patterns(seed, n_answers=n_answers, weighted=weighted)
    latent = some_latent(seed + 1, patterns, state_class)
    for one, other in zip(Kernel(patterns).step(latent), by_plain_code(patterns, latent), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("state_class", [[0, 1], [0, 0, 1]], ids=str)
def test_rows_of_five_and_of_any_length(state_class: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are laid out by their length: a row would get another's gold or weight, or be left out at a chunk's end."""
    monkeypatch.setattr(kernel, "_CHUNK", 100)
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, (3_000, 9))
    for row, length in zip(labels, np.where(rng.random(3_000) < 0.6, 5, rng.integers(1, 10, 3_000)), strict=True):
        row[rng.permutation(9)[length:]] = -1
    gold = np.where(rng.random(3_000) < 0.1, rng.integers(0, 2, 3_000), -1)
    patterns = patterns_of_matrix(labels, 2, gold, rng.uniform(0.2, 3.0, 3_000))
    latent = some_latent(5, patterns, state_class)
    for one, other in zip(Kernel(patterns).step(latent), by_plain_code(patterns, latent), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-11)


def test_extreme_likelihoods_stay_finite() -> None:
    """Hundreds of labels for one item would overflow."""
    patterns = some_patterns(3, n_items=20, n_labelers=900)
    answers = np.where(np.arange(2)[None, :, None] == np.arange(2)[None, None, :], 0.999, 0.001)
    latent = Latent(np.array([0.5, 0.5]), np.broadcast_to(answers, (900, 2, 2)).copy(), np.arange(2))
    for one, other in zip(Kernel(patterns).step(latent), by_plain_code(patterns, latent), strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("state_class", [[0, 1], [0, 0, 1]], ids=str)
def test_threads_do_not_change_the_bytes(state_class: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same data would give other digits on another machine."""
    monkeypatch.setattr(kernel, "_CHUNK", 100)
    patterns = some_patterns(1, n_items=2_000)
    latent = some_latent(2, patterns, state_class)
    passes = Kernel(patterns)
    assert len(passes._cuts) > 20
    made = []
    for threads in (1, 2, 7):
        with limited_threads(threads):
            assert thread_count() <= threads
            made.append([np.asarray(part).tobytes() for part in passes.step(latent)])
    assert made[0] == made[1] == made[2]


def test_a_fit_by_the_kernel_is_the_plain_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large history would end at other reliabilities than a small one with the same data."""
    patterns = some_patterns(5, n_items=400)
    start = gold_start(patterns, 2, 1e-3)
    plain, _ = run_em(patterns, start, EMOptions())
    monkeypatch.setattr(em, "MANY_LABELS", 1)
    fast, report = run_em(patterns, start, EMOptions())
    assert report.converged
    np.testing.assert_allclose(fast.answers, plain.answers, atol=1e-9)
    assert np.diff(report.path).min() > -1e-9


@pytest.mark.slow
@given(st.integers(0, 10_000), st.booleans())
@examples(10)
def test_what_the_others_show_is_the_same_by_the_kernel(seed: int, weighted: bool) -> None:
    """A labeler of a large history would be accused, or not, by other numbers than one of a small history."""
    patterns = some_patterns(seed, weighted=weighted)
    latent = some_latent(seed + 1, patterns, [0, 1])
    plain = guards._share_sums(patterns, latent)
    by_kernel = guards._of_two_states(Kernel(patterns).others_show(latent))
    for one, other in zip(by_kernel, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([(2, [0, 1]), (2, [0, 0, 1, 1]), (3, [0, 1, 2])]), st.booleans())
@examples(10)
def test_two_rounds_together_are_the_same_by_the_kernel(seed: int, kind: tuple[int, list[int]], weighted: bool) -> None:
    """Whether reliabilities carry over would be tested at another point where rounds are large."""
    n_answers, state_class = kind
    history, current = (some_patterns(at, n_answers=n_answers, weighted=weighted) for at in (seed, seed + 1))
    latent = some_latent(seed + 2, history, state_class)
    at = Joint(latent, np.random.default_rng(seed).dirichlet(np.ones(n_answers)))
    plain = stack(history, current, latent).expect(at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(em, "MANY_LABELS", 1)
        fast = stack(history, current, latent).expect(at)
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_products_by_blocks_are_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large round would lose the rows between two blocks."""
    patterns = some_patterns(2, n_items=3_000, n_labelers=40)
    rng = np.random.default_rng(1)
    by_cell, by_row = rng.normal(size=(80, 3)), rng.normal(size=(patterns.n_rows, 3))
    whole = patterns.from_cells(by_cell), patterns.to_cells(by_row), patterns.entries
    monkeypatch.setattr("hero_eval.model.patterns._MANY_ENTRIES", 1_000)
    blocks = patterns.row_blocks()
    assert len(blocks) > 50
    in_blocks = patterns.from_cells(by_cell), patterns.to_cells(by_row)
    for one, other in zip(in_blocks, whole, strict=False):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    for position, of in enumerate(whole[2]):
        parts = [patterns.entries_of(rows)[position] for rows in blocks]
        np.testing.assert_array_equal(np.concatenate(parts), of)


def test_pairs_of_cells_are_the_same_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval of a large round would have another length than that of a small one with the same data."""
    patterns = some_patterns(6, n_items=500, n_labelers=300, n_answers=3)
    values = np.random.default_rng(2).uniform(size=patterns.n_rows)
    plain = pair_sums(patterns, values)
    monkeypatch.setattr(em, "MANY_LABELS", 1)
    np.testing.assert_allclose(pair_sums(patterns, values), plain, rtol=1e-12, atol=1e-12)
    cells = patterns.cells.toarray().astype(float)
    np.testing.assert_allclose(plain, cells.T @ (values[:, None] * cells), rtol=1e-12, atol=1e-12)
