"""Compiled passes over very many votes say what numpy says of few, and many labelers cost no more than their votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hero_eval as hero
from hero_eval.model import vote_model
from hero_eval.model.vote_columns import SiteColumns, weigh_points
from hero_eval.model.vote_model import TIE_MODELS, VoteParameters, VoteSites, site_slopes

WORDS = np.array(["A", "B", "tie"])


def votes(seed: int, n: int = 400, *, gold: bool) -> pa.Table:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 5, n)
    b = (a + rng.integers(1, 5, n)) % 5
    true = np.where(rng.random(n) < 0.15, 2, (rng.random(n) > 1.0 / (1.0 + np.exp(0.4 * (b - a)))).astype(int))
    said = np.where(rng.random(n) < 0.8, true, rng.integers(0, 3, n))
    table = {
        "item": [f"{gold}{i}" for i in range(n)],
        "model_a": [f"m{i}" for i in a],
        "model_b": [f"m{i}" for i in b],
        "labeler": [f"j{i}" for i in rng.integers(0, 30, n)],
        "label": WORDS[said],
    }
    return pa.table(table | ({"gold": WORDS[true]} if gold else {}))


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_many_votes_are_ranked_as_few_are(ties: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaderboard would move when it has its twenty-thousandth vote."""
    found: list[Any] = []
    for many in (10**9, 0):
        monkeypatch.setattr("hero_eval.model.vote_columns._MANY_SITES", many)
        monkeypatch.setattr(vote_model, "_PART", 10**6 if many else 64)
        found.append(hero.rank_votes(votes(1, gold=False), votes(2, gold=True), ties=ties))
    one, other = found
    np.testing.assert_allclose(other.strengths, one.strengths, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=0, atol=1e-9)
    assert one.converged
    assert other.converged


def drawn_sites(rng: np.random.Generator, n: int, n_labelers: int, counts: np.ndarray[Any, Any]) -> VoteSites:
    """Sites sorted by labeler; those of nobody come first."""
    first = rng.integers(0, 4, n)
    labeler = np.sort(rng.integers(-1, n_labelers, n))
    return VoteSites(first, (first + 1) % 4, labeler, np.zeros((n, 2)), np.zeros((n, 0)), counts, 4, n_labelers)


@pytest.mark.slow
def test_probabilities_next_to_nothing_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of many small probabilities would be 0, and its logarithm would end the fit."""
    rng = np.random.default_rng(3)
    ties, n = TIE_MODELS["half"], 200
    counts = np.eye(2)[rng.integers(0, 2, n)] * rng.choice([1.0, 0.5, 3.0], n)[:, None]
    sites = drawn_sites(rng, n, 3, counts)
    at = VoteParameters(np.array([-30.0, 10.0, 30.0, 0.0]), np.zeros(0), 0.0, np.zeros(2), rng.normal(0, 30, (3, 2)))
    places = at.answers + rng.normal(0, 30, (9, 3, 2))
    made = []
    for many in (10**9, 0):
        monkeypatch.setattr("hero_eval.model.vote_columns._MANY_SITES", many)
        logs = np.zeros((9, 3))
        weights, (told,) = weigh_points(ties, [SiteColumns.of(ties, sites, at)], places, logs)
        made.append((logs, weights, told))
    for one, other in zip(*made, strict=True):
        assert np.isfinite(other).all()
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


def test_a_part_of_the_votes_asks_for_its_own_labelers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million votes by 20,000 labelers were not ranked in five minutes: each part of the votes worked out how all
    labelers answer."""
    rng = np.random.default_rng(4)
    ties, n = TIE_MODELS["half"], 400
    sites = drawn_sites(rng, n, 200, np.eye(2)[rng.integers(0, 2, n)])
    at = VoteParameters(rng.normal(size=4), np.zeros(0), 0.0, np.zeros(2), rng.normal(size=(200, 2)))
    whole = site_slopes(ties, sites, at)
    asked: list[int] = []
    plain = vote_model.confusions
    monkeypatch.setattr(vote_model, "confusions", lambda of, answers: asked.append(len(answers)) or plain(of, answers))
    monkeypatch.setattr(vote_model, "_PART", 20)
    parts = [site_slopes(ties, part, at) for part in sites.parts()]
    for name in ("share", "by_delta", "by_tau", "by_answers"):
        together = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(together, getattr(whole, name))
    assert len(asked) == 20
    assert sum(asked) <= 200 + len(asked)
