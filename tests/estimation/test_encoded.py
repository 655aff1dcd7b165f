"""Covariates that are no numbers: categories, vectors, and dates, which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import hero_eval as hero
from hero_eval.estimation.encoded import encode


def make(seed: int, n: int = 400, gold: bool = True, **more: Any) -> hero.Round:
    """Three labelers, and items of which language and vector tell something."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.6).astype(int)
    said = {f"judge_{k}": np.where(rng.random(n) < 0.8, truth, 1 - truth) for k in range(3)}
    lang = np.where(rng.random(n) < 0.8, np.where(truth == 1, "en", "de"), "fr").astype(object)
    lang[:3] = "sw"
    vector = [list(row) for row in rng.normal(size=(n, 8)) + truth[:, None] * np.linspace(1, 0, 8)]
    day = [f"2026-0{1 + k % 9}-11" for k in range(n)]
    about = {"lang": lang, "vector": vector, "day": day, **more}
    known = {"gold": [int(of) if k % 4 == 0 else None for k, of in enumerate(truth)]} if gold else {}
    return hero.Round(
        pd.DataFrame({"item": [f"{seed}-{k}" for k in range(n)], **said, **about, **known}), name=f"r{seed}"
    )


def test_levels_are_indicators_of_history() -> None:
    """Against indicators that are made level by level."""
    now, past = make(1, gold=False), make(2)
    found = encode([now, past], 1, "lang")
    words = np.array(past.words("lang"))
    base = max(("en", "de", "fr"), key=lambda level: (words == level).sum())
    own = [level for level in ("de", "en", "fr") if level != base]
    assert found.names == (*(f"lang={level}" for level in own), "lang=other")
    for one, block in zip((now, past), found.blocks, strict=True):
        here = np.array(one.words("lang"))
        expected = np.stack([*(here == level for level in own), here == "sw"], axis=1)
        assert np.array_equal(block, expected.astype(float))
    (said,) = found.findings
    assert (said.code, said.data["other"]) == ("F125", ["sw"])


def test_vectors_are_history_components() -> None:
    """The components are orthogonal, centered on history, and the largest comes first."""
    now, past = make(1, gold=False), make(2)
    found = encode([now, past], 1, "vector")
    block = found.blocks[1]
    assert found.names[0] == "vector:1"
    assert np.abs(block.mean(axis=0)).max() < 1e-9
    spread = block.T @ block
    assert np.allclose(spread - np.diag(np.diag(spread)), 0, atol=1e-6)
    assert (np.diff(np.diag(spread)) <= 1e-9).all()
    assert found.findings[0].data["variance"] == pytest.approx(1.0)  # all eight are kept


def test_estimates_take_them() -> None:
    now, past = make(1, gold=False), make(2)
    plain = hero.estimate_rate(now, past, method="hero1")
    for name, code in (("lang", "F125"), ("vector", "F126")):
        one = hero.estimate_rate(now, past, method="hero2", covariates=[name])
        assert code in [finding.code for finding in one.findings]
        assert abs(one.value - plain.value) < 4 * plain.std_error


def test_dates_are_refused_with_words() -> None:
    with pytest.raises(hero.InputError, match="weekday") as caught:
        make(1, day=pd.date_range("2026-01-01", periods=400)) and hero.estimate_rate(
            make(1, gold=False), make(2), method="hero2", covariates=["day"]
        )
    assert caught.value.code == "E137"
    labels = pd.DataFrame({"item": ["a", "b"], "labeler": ["x", "x"], "label": [0, 1], "day": ["2026-01-02"] * 2})
    with pytest.raises(hero.InputError) as caught:
        hero.Round(labels, covariates=["day"])
    assert caught.value.code == "E137"


def test_vectors_of_two_lengths_are_refused() -> None:
    short = [[1.0, 2.0]] * 399 + [[1.0]]
    with pytest.raises(hero.InputError, match="1 and 2 dimensions"):
        encode([make(1, vector=short), make(2)], 1, "vector")
