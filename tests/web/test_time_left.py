"""How long work in the background still takes, as far as that can be told."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("fastapi")

from hero_eval.web.api import job_document
from hero_eval.web.queue import PATIENCE, Job


def running(seconds: float, **more: float) -> Job:
    return Job("1", "backtest", "Backtest", state="running", since=time.monotonic() - seconds, **more)  # type: ignore[arg-type]


def test_time_left_follows_from_the_steps_that_are_done() -> None:
    left = running(30.0, done=3, total=12).left
    assert left == pytest.approx(90.0, rel=0.02)
    assert job_document(running(30.0, done=12, total=12))["left"] == 0.0


def test_time_left_follows_from_what_such_work_took_before() -> None:
    assert running(10.0, usual=25.0).left == pytest.approx(15.0, abs=0.5)
    assert running(30.0, usual=25.0).left is None


def test_nothing_is_promised_where_nothing_tells() -> None:
    assert running(30.0).left is None
    assert running(PATIENCE / 4, done=1, total=100).left is None
    assert Job("1", "backtest", "Backtest").left is None
