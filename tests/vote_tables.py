"""Tables of side-by-side votes for tests."""

from __future__ import annotations

import numpy as np
import pandas as pd

MODELS = np.array(["v", "w", "x", "y"])


def make_votes(seed: int, n: int = 240, gold: float = 0.3, start: int = 0) -> pd.DataFrame:
    """Two votes on each item, by three labelers of whom one errs often; every tenth says that both are bad."""
    rng = np.random.default_rng(seed)
    strength = np.array([0.9, 0.3, -0.3, -0.9])
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    better = rng.random(n) < 1 / (1 + np.exp(strength[b] - strength[a]))
    who = rng.integers(0, 3, n)
    right = rng.random(n) < np.array([0.65, 0.8, 0.95])[who]
    label = np.where(better == right, "A", "B").astype(object)
    label[::10] = "both bad"
    truth = np.where(better, "A", "B").astype(object)
    truth[rng.random(n) >= gold] = None
    return pd.DataFrame(
        {
            "item": [f"i{start + k // 2}" for k in range(n)],
            "model_a": MODELS[a],
            "model_b": MODELS[b],
            "labeler": np.array(["ann", "bob", "eve"])[who],
            "label": label,
            "gold": truth,
            "category": np.where(rng.random(n) < 0.5, "code", "chat"),
            "length_a": rng.integers(10, 90, n),
            "length_b": rng.integers(10, 90, n),
        }
    )
