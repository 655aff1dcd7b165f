"""Estimates in a real MLflow, kept in a file of this test's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from make_rounds import Pair
from optional_packages import needs

import hero_eval as hero

pytestmark = [
    needs("mlflow", "MLflow is not installed: pip install 'hero-eval[mlflow]'"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow with an empty folder to write to."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow as loaded

    before = loaded.get_tracking_uri()
    loaded.set_tracking_uri(tmp_path.joinpath("runs").as_uri())
    loaded.set_experiment("release")
    yield loaded
    while loaded.active_run():
        loaded.end_run()
    loaded.set_tracking_uri(before)


def test_an_estimate_is_logged_whole(mlflow: Any, pair: Pair) -> None:
    """A tracker would hold a bare number, without its interval, and a release would be decided by it."""
    rate = hero.estimate_rate(pair.current, pair.history, method="hero1")
    run_id = rate.log_to_mlflow(gate=hero.Gate(fail_above=0.01))
    assert mlflow.active_run() is None
    run = mlflow.get_run(run_id)
    low, high = rate.interval()
    assert run.data.metrics["hero.value"] == pytest.approx(rate.value)
    assert (run.data.metrics["hero.low"], run.data.metrics["hero.high"]) == pytest.approx((low, high))
    assert run.data.tags["hero.gate"] == "closed"
    assert run.data.tags["hero.method"] == "hero1"
    document = json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/hero/estimate.json"))
    assert document["value"] == pytest.approx(rate.value)
    assert document["gate"]["state"] == "closed"


def test_it_goes_to_the_run_that_is_active_or_named(mlflow: Any, pair: Pair) -> None:
    """Numbers would lie in runs of their own, apart from the model that they are of."""
    rate = hero.estimate_rate(pair.current, method="majority_vote")
    with mlflow.start_run() as run:
        assert rate.log_to_mlflow(prefix="votes") == run.info.run_id
    assert mlflow.get_run(run.info.run_id).data.metrics["votes.n_items"] == rate.n_items
    assert rate.log_to_mlflow(run_id=run.info.run_id) == run.info.run_id
    assert mlflow.get_run(run.info.run_id).data.metrics["hero.n_items"] == rate.n_items
