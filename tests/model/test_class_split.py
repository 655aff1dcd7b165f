"""Many judges show where a round's classes part: a mood that they all share must not be taken for quality."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_rounds import codes, finding, round_of
from scipy.special import expit, ndtri

import hero_eval as hero
from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options
from hero_eval.methods import hero3 as method
from hero_eval.methods.evidence import Evidence, JointEvidence
from hero_eval.model.hero3 import level_selection
from hero_eval.model.hero3.class_split import (
    BLURRED,
    LEAST_ROUNDS,
    learn_split,
    level_certainty,
    shape_is_seen,
    shift_to,
)
from hero_eval.model.hero3.drift import label_shares, shift_logits
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.humps import hump_rates
from hero_eval.model.history import fit_without_gold

TRUTH = 0.5


@pytest.fixture(autouse=True, scope="module")
def no_appeals() -> Iterator[None]:
    """These judges are told apart from their moods by appeals (`test_appeals`), which would leave shapes untested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(level_selection, "APPEALS", ())
        yield


def judged(
    rng: np.random.Generator, n_judges: int, n_items: int, mood: float, name: str, n_gold: int, rate: float = TRUTH
) -> hero.Round:
    """Judges of accuracy .6 to .9 who share a third of their errors, and a mood in this round."""
    truth = (np.arange(n_items) < rate * n_items).astype(int)
    side = (2 * truth[:, None] - 1) * ndtri(np.linspace(0.6, 0.9, n_judges))
    noise = np.sqrt(0.3) * rng.standard_normal((n_items, 1)) + np.sqrt(0.7) * rng.standard_normal((n_items, n_judges))
    labels = (side + mood + noise > 0).astype(int)
    gold = np.full(n_items, -1)
    shown = rng.choice(n_items, n_gold, replace=False)
    gold[shown] = truth[shown]
    return round_of(labels, gold if n_gold else None, prefix=name, options={"classes": ["0", "1"], "name": name})


def moody(seed: int, n_judges: int = 100, n_past: int = 5, size: float = 0.7) -> tuple[hero.Round, list[hero.Round]]:
    """A current round in which all judges are strict, and past ones in which they were strict or mild in turn."""
    rng = np.random.default_rng([31, seed])
    moods = [size * (1 if number % 2 else -1) for number in range(n_past)]
    past = [judged(rng, n_judges, 60, mood, f"past-{number}", 20) for number, mood in enumerate(moods)]
    return judged(rng, n_judges, 150, -size, "now", 0), past


def levels_of(current: hero.Round, past: list[hero.Round]) -> tuple[LevelFit, Evidence]:
    question = ask([current], past, Options("hero3")).question
    fit = question.fits[0].levels
    assert fit is not None
    return fit, question.currents[0].evidence


@pytest.fixture(scope="module")
def drawn() -> tuple[hero.Round, list[hero.Round]]:
    return moody(1)


@pytest.mark.slow
def test_a_shared_mood_is_seen_by_the_shape(
    drawn: tuple[hero.Round, list[hero.Round]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judges who all turn strict would make a model look worse than it is, and its release would be stopped."""
    current, past = drawn
    found = hero.estimate_rate(current, past, method="hero3")
    monkeypatch.setattr(method, "shape_is_seen", lambda _: False)
    plain = hero.estimate_rate(current, past, method="hero3")
    assert plain.value < TRUTH - 0.06
    assert abs(found.value - TRUTH) < 0.6 * abs(plain.value - TRUTH)
    low, high = found.interval()
    assert low <= TRUTH <= high
    assert "F312" not in codes(plain)
    said = finding(found, "F312")
    assert said.data["before"][1] == pytest.approx(plain.value, abs=0.02)
    assert said.data["after"][1] == pytest.approx(found.value, abs=0.02)
    assert f"{said.data['before'][1]:.3f} to {said.data['after'][1]:.3f}" in said.fact


@pytest.mark.slow
def test_gold_decides_whether_shapes_are_believed(drawn: tuple[hero.Round, list[hero.Round]]) -> None:
    """Shapes that past gold contradicts would move every estimate the wrong way."""
    fit, _ = levels_of(*drawn)
    assert shape_is_seen(fit)
    patterns = fit.rows.patterns
    shares = label_shares(fit)
    rates = np.stack([np.array([0.5, 0.5])] * fit.rows.n_rounds)
    right = learn_split(fit, rates)
    mirrored = []  # shapes that say the opposite of what these say
    for r in range(fit.rows.n_rounds):
        at = fit.rows.round == r
        moved = shift_logits(shares[at], -right.moves[r])
        mirrored.append(patterns.counts[at] @ moved / patterns.counts[at].sum())
    wrong = learn_split(fit, np.stack(mirrored))
    assert wrong.moves == pytest.approx(-right.moves, abs=1e-6)
    assert right.weight > 0.6
    assert wrong.weight < 0.4 * right.weight
    assert right.shift[0] > 0.3
    assert abs(wrong.shift[0]) < 0.5 * right.shift[0]


@pytest.mark.slow
def test_humps_that_overlap_are_told_apart() -> None:
    """A valley between humps that overlap would draw every rate towards a half, whatever the judges' mood."""
    rng = np.random.default_rng(32)
    rates, moods = (0.2, 0.8, 0.3, 0.7, 0.25), (0.2, -0.3, -0.2, 0.3, 0.1)
    drawn = [
        judged(rng, 100, 150, mood, f"r{n}", 20, rate) for n, (rate, mood) in enumerate(zip(rates, moods, strict=True))
    ]
    fit, evidence = levels_of(drawn[-1].without_gold(), drawn[:-1])
    assert isinstance(evidence, JointEvidence)
    rounds = (*evidence.past, evidence.current)
    valley = [fit_without_gold(one, 2, evidence.em).latent.class_weights()[1] for one in rounds]
    humps = hump_rates(fit)
    assert humps.sum(axis=1) == pytest.approx(1.0)
    off_valley, off_humps = (np.abs(np.array(found) - rates).mean() for found in (valley, humps[:, 1]))
    assert off_humps < 0.75 * off_valley
    assert off_humps < 0.06


@pytest.mark.slow
def test_a_way_of_reading_that_gold_contradicts_counts_for_little(drawn: tuple[hero.Round, list[hero.Round]]) -> None:
    """An average over ways of reading would be spoiled by the worst of them."""
    fit, _ = levels_of(*drawn)
    right = np.stack([np.array([0.5, 0.5])] * fit.rows.n_rounds)
    alone = learn_split(fit, right)
    shares, counts = label_shares(fit), fit.rows.patterns.counts
    at = [fit.rows.round == r for r in range(fit.rows.n_rounds)]
    wrong = np.stack(
        [counts[on] @ shift_logits(shares[on], -alone.moves[r]) / counts[on].sum() for r, on in enumerate(at)]
    )
    both = learn_split(fit, wrong, right)
    assert abs(both.shift[0] - alone.shift[0]) < 0.2 * abs(alone.shift[0])
    assert learn_split(fit, right, right).shift == pytest.approx(alone.shift)


@pytest.mark.slow
def test_shapes_count_only_where_they_can_be_seen(drawn: tuple[hero.Round, list[hero.Round]]) -> None:
    """With few judges a round takes its shape from their noise, and few rounds leave nothing to hold it against."""
    current, past = drawn
    fit, _ = levels_of(current, past)
    assert level_certainty(fit) > BLURRED
    few, _ = levels_of(*moody(1, n_judges=8))
    assert level_certainty(few) < BLURRED
    assert not shape_is_seen(few)
    short, _ = levels_of(current, past[: LEAST_ROUNDS - 1])
    assert not shape_is_seen(short)


@given(st.integers(2, 4), st.integers(0, 10_000), st.floats(0.1, 3.0))
def test_the_shift_leads_to_the_rates(n_classes: int, seed: int, spread: float) -> None:
    """A shift that misses its rates would read a shape that is not there."""
    rng = np.random.default_rng(seed)
    shares = np.exp(spread * rng.standard_normal((40, n_classes)))
    shares /= shares.sum(axis=1, keepdims=True)
    counts = rng.integers(1, 5, 40).astype(float)
    wanted = rng.uniform(-1.5, 1.5, n_classes - 1)
    rates = counts @ shift_logits(shares, wanted) / counts.sum()
    assert shift_to(shares, counts, rates) == pytest.approx(wanted, abs=1e-5)


def test_rates_out_of_reach_move_by_no_more_than_the_bound() -> None:
    """A round that its labels call all good would send the shift to infinity."""
    shares = np.tile([0.5, 0.5], (20, 1))
    assert shift_to(shares, np.ones(20), np.array([0.0, 1.0])) == pytest.approx([4.0])
    assert expit(4.0) < 0.99
