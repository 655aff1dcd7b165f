"""The lines that the pages show for Weights & Biases, run with its own package, which sends nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from make_rounds import Pair
from repository import ROOT

import hero_eval as hero


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what that package warns of is its own
def test_the_lines_for_weights_and_biases(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb, of 55 MB, is not among the packages of the tests: pip install wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```py\n(import wandb\n.*?)```", page, re.DOTALL)
    rate = hero.estimate_rate(pair.current, pair.history)
    known: dict[str, object] = {"rate": rate}
    exec(lines, known)
    run = known["run"]
    logged = dict(run.summary)  # type: ignore[attr-defined]
    run.finish()  # type: ignore[attr-defined]
    assert logged["hero/value"] == pytest.approx(rate.value)
    assert logged["hero/method"] == rate.method
    assert list(tmp_path.glob("wandb/offline-run-*"))
