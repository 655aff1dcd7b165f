"""The page of a store whose rounds are scores: every page of it is shown, and no error on it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from web_server import page_when_there, visiting

import hero_eval as hero
from hero_eval.web.settings import Settings


def scored(name: str, seed: int) -> hero.Round:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 60)
    items = [f"{name}-{i:02d}" for i in range(60)]
    labels = pd.concat(
        pd.DataFrame({"item": items, "labeler": judge, "label": np.round(2 * truth + rng.normal(size=60), 3)})
        for judge in ("grader", "prober")
    )
    return hero.Round(labels, pd.DataFrame({"item": items, "gold": truth}).iloc[::2], name=name)


@pytest.mark.slow
def test_pages_of_scored_rounds(tmp_path: Path) -> None:
    store = hero.create_store(tmp_path / "store")
    for week in range(2):
        store.add(scored(f"r{week}", week), round=f"2026-w0{week + 1}", model=f"v{week}", question="q")
    with visiting(Settings(str(tmp_path / "store"))) as client:
        for path in ("/", "/labelers", "/round?name=2026-w02"):
            text = page_when_there(client, path)
            assert client.get(path).status_code == 200
            assert not re.search(r"\bE\d{3}\b", text)
        assert "2026-w02" in text
