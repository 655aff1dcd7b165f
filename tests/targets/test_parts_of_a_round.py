"""Parts of one round (flagged and unflagged items, groups) without a history: labelers are known by the gold of all."""

from __future__ import annotations

import numpy as np
import pytest
from make_rounds import codes, round_of
from scipy import special

import hero_eval as hero
from hero_eval.model.prediction_powered import GoldSample, tuned_power
from hero_eval.round import Round

Array = np.ndarray


def reviewed(seed: int, golds: int = 120, *, n_items: int = 600, unflagged_only: bool = False) -> tuple[Round, Array]:
    """A round with a system's flags, two reviewers and gold for random items, and its truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < 0.2).astype(np.int64)
    flags = np.where(rng.random(n_items) < np.where(truth, 0.7, 0.96), truth, 1 - truth)
    right = rng.random((n_items, 2)) < np.where(truth[:, None], [0.8, 0.85], [0.93, 0.9])
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    able = np.flatnonzero(flags == 0) if unflagged_only else np.arange(n_items)
    gold = np.full(n_items, -1)
    known = rng.choice(able, golds, replace=False)
    gold[known] = truth[known]
    return round_of(labels, gold, {"flag": flags, "other": 1 - flags}), truth


def test_every_gold_tells_of_every_parts_labelers() -> None:
    """Precision would rest on the few golds of flagged items, as if reviewers were others there."""
    found = hero.estimate_moderation(reviewed(1)[0], flag="flag", method="hero3")
    moved = [part for part in found.precision.influence.parts if part.source == "current"]
    assert sum(len(part.values) for part in moved) == 600
    assert np.abs(moved[1].values).max() > 0.01 * np.abs(moved[0].values).max()
    assert "F310" not in codes(found)  # no past round is spoken of
    items = found.prevalence.items("pyarrow")
    assert items.num_rows == 600


@pytest.mark.parametrize("method", [None, "hero3"])
def test_naming_the_other_side_changes_nothing(method: str | None) -> None:
    """Flagged items would be read by other rules than unflagged ones."""
    one, _ = reviewed(2)
    by_flag = hero.estimate_moderation(one, flag="flag", method=method)
    by_other = hero.estimate_moderation(one, flag="other", method=method)
    assert by_flag.prevalence.value == pytest.approx(by_other.prevalence.value, abs=1e-9)
    assert by_flag.prevalence.std_error == pytest.approx(by_other.prevalence.std_error, abs=1e-9)
    assert by_flag.flagged_share.value == pytest.approx(1.0 - by_other.flagged_share.value)


def test_a_part_without_gold_is_read_by_the_others_and_shuts_gates() -> None:
    """Gold of 80 unflagged items would be ignored since no flagged item has any, or a gate open on it."""
    one, truth = reviewed(3, golds=80, unflagged_only=True)
    found = hero.estimate_moderation(one, flag="flag")
    assert (found.method, found.n_gold) == ("hero3", 80)
    assert "F324" in codes(found)
    assert any(finding.doubts_interval for finding in found.precision.findings)
    low, high = found.prevalence.interval()
    assert low < truth.mean() < high


def test_groups_learn_from_each_other() -> None:
    """A group of few golds would know its labelers by these alone."""
    one, _ = reviewed(4, golds=60)
    together = hero.estimate_rate(one, by="flag", method="hero3")["1"]
    alone = hero.estimate_rate(one.select(one.flags("flag")), method="hero3", level=together.level)
    assert together.std_error < 0.9 * alone.std_error


@pytest.mark.slow
def test_the_bootstrap_draws_the_other_part_too() -> None:
    """An item would be drawn once for its own part, and otherwise for the part that learns from it."""
    one, _ = reviewed(5, golds=100, n_items=300)
    usual = hero.estimate_moderation(one, flag="flag", method="hero3")
    again = hero.estimate_moderation(one, flag="flag", method="hero3", interval="bootstrap", replicates=60, seed=1)
    for name in ("prevalence", "precision"):
        assert again[name].value == usual[name].value
        assert 0.6 < np.ptp(again[name].interval()) / np.ptp(usual[name].interval()) < 1.6


@pytest.mark.slow
def test_replicates_may_lack_a_part() -> None:
    """A part of two items, which now and then is not drawn at all, would make every other part's rate unknown."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 80)
    labels = np.where(rng.random((80, 3)) < 0.85, truth[:, None], 1 - truth[:, None])
    parts = np.array(["few", "few", *["many"] * 78])
    one = round_of(labels, np.where(np.arange(80) < 40, truth, -1), {"part": parts})
    found = hero.estimate_rate(one, by="part", interval="bootstrap", replicates=60, seed=1)["many"]
    low, high = found.interval()
    assert low < found.value < high
    assert high - low < 0.4


def test_power_of_several_samples_is_a_slope_within_them() -> None:
    """Golds elsewhere would tell how far predictions hold by how far the samples lie apart."""
    rng = np.random.default_rng(6)
    samples, x, y = [], [], []
    for middle, size in ((0.2, 40), (0.8, 90)):
        share = special.expit(special.logit(middle) + rng.normal(0.0, 1.0, size))
        gold = (rng.random(size) < share).astype(float)
        both = np.full(size, 1.0 / size), np.ones(size)
        samples.append(GoldSample(np.column_stack([1 - gold, gold]), np.column_stack([1 - share, share]), *both, size))
        x.append(share - share.mean())
        y.append(gold - gold.mean())
    x_all, y_all = np.concatenate(x), np.concatenate(y)
    slope = x_all @ y_all / (x_all @ x_all)
    error = ((y_all - slope * x_all) ** 2).sum() / (130 - 3) / (x_all @ x_all)
    assert tuned_power(samples) == pytest.approx(min(slope * (1.0 - 2.0 * error / slope**2), 1.0))
