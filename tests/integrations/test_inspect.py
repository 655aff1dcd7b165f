"""Intervals on the logs of Inspect, read and written by its own package."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from optional_packages import needs

import hero_eval as hero

pytestmark = [
    needs("inspect_ai", "Inspect is not installed: pip install 'hero-eval[inspect]'"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

LOG = Path(__file__).parents[1] / "exports" / "inspect.eval"


def test_a_log_gets_the_interval_beside_its_scores(tmp_path: Path) -> None:
    """Who opens the log would see the scorers' accuracy alone, which takes every judge at its word."""
    from inspect_ai.log import read_eval_log

    from hero_eval.integrations.inspect_metrics import attach, read_log

    path = tmp_path / "log.eval"
    shutil.copy(LOG, path)
    estimate = attach(path, method="majority_vote")
    assert estimate.value == pytest.approx(hero.estimate_rate(read_log(LOG), method="majority_vote").value)
    again = attach(path, method="majority_vote")  # a second time replaces the first
    log = read_eval_log(str(path))
    assert log.results is not None
    mine = [one for one in log.results.scores if one.name == "hero"]
    assert len(mine) == 1
    low, high = again.interval()
    found = {name: metric.value for name, metric in mine[0].metrics.items()}
    assert found == pytest.approx({"rate": again.value, "std_error": again.std_error, "low": low, "high": high})
    assert len(log.results.scores) > 1


def test_a_metric_corrects_a_scorer_by_its_history(tmp_path: Path) -> None:
    """A scorer that lets a third of the wrong answers pass would report a model as far better than it is."""
    script = Path(__file__).parent / "run_inspect.py"
    ran = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["metrics"]["rate"] == pytest.approx(told["rate"])
    assert (told["metrics"]["low"], told["metrics"]["high"]) == pytest.approx((told["low"], told["high"]))
    assert told["rate"] < told["accuracy"]
