"""Labelers who give one answer to all items of a round are left out where nobody asked for a method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from make_rounds import binary_answers, codes, finding, labels_given, round_of, some_gold

import hero_eval as hero
from hero_eval.estimation.prepare import gather_rounds
from hero_eval.estimation.stuck import without_stuck
from hero_eval.round import Round

RIGHT = np.array([0.85, 0.8, 0.75])


def drawn(rng: np.random.Generator, rate: float, n_items: int, name: str, gold: float = 0.0) -> tuple[Any, Any, str]:
    truth = (rng.random(n_items) < rate).astype(np.int64)
    return labels_given(rng, truth, binary_answers(RIGHT, RIGHT)), some_gold(rng, truth, gold), name


def made(labels: np.ndarray, gold: np.ndarray, name: str) -> Round:
    return round_of(labels, gold, prefix=name, options={"name": name, "classes": ["0", "1"]})


def history(rng: np.random.Generator) -> list[Round]:
    return [made(*drawn(rng, 0.5, 200, f"p{number}", 0.4)) for number in range(2)]


def left(current: Round, past: list[Round]) -> tuple[str, ...]:
    """The labelers that stay."""
    return without_stuck(gather_rounds([current], past)).currents[0].labelers


@pytest.mark.slow
def test_a_judge_that_says_1_to_everything_is_left_out() -> None:
    """It drew the rate of .55 to .81 here: read by history, a judge that often says 0 had seen nothing but 1."""
    rng = np.random.default_rng(3)
    past = history(rng)
    labels, gold, name = drawn(rng, 0.55, 300, "now")
    labels[:, 0] = 1
    found = hero.estimate_rate(made(labels, gold, name), past)
    told = finding(found, "F212")
    assert told.data["labelers"] == {"j0": "1"}
    assert "'j0' gives one answer to every item" in told.fact
    assert found.value == pytest.approx(0.55, abs=0.1)
    assert "F205" not in codes(found)
    named = hero.estimate_rate(made(labels, gold, name), past, method="hero3")
    assert "F212" not in codes(named)  # who asks for a method gets it on all labels


def test_who_may_be_right_stays() -> None:
    """A round without a defect, few labels, or items that nobody else labeled speak against leaving anybody out."""
    rng = np.random.default_rng(4)
    past = history(rng)
    labels, gold, name = drawn(rng, 0.5, 300, "now")
    labels[:, 0] = 1
    assert left(made(labels, gold, name), past) == ("j1", "j2")
    varied = labels.copy()
    varied[0, 0] = 0
    assert left(made(varied, gold, name), past) == ("j0", "j1", "j2")
    few = labels.copy()
    few[15:, 0] = -1
    assert left(made(few, gold, name), past) == ("j0", "j1", "j2")
    alone = labels.copy()
    alone[0, 1:] = -1
    assert left(made(alone, gold, name), past) == ("j0", "j1", "j2")
    assert left(made(labels[:, :1], gold, name), past) == ("j0",)
    many = round_of(np.column_stack([labels, labels[:, 1:]]), gold, prefix=name, options={"name": name})
    assert left(many, past) == ("j0", "j1", "j2", "j3", "j4")  # among five the model sees it by itself
    assert left(made(labels, gold, name), [one.without_gold() for one in past]) == ("j0", "j1", "j2")


def test_a_perfect_judge_of_a_perfect_round_stays() -> None:
    """That nothing but 1 was said of 300 good items is what such a judge does."""
    rng = np.random.default_rng(5)
    truth = (rng.random(200) < 0.5).astype(np.int64)
    past = [made(np.stack([truth, truth], axis=1), some_gold(rng, truth, 0.5), "past")]
    assert left(made(np.ones((300, 2), np.int64), np.full(300, -1), "now"), past) == ("j0", "j1")


def test_a_judge_stuck_at_one_score_is_left_out() -> None:
    """Its scores are one bin, which is not what it said: the finding tells the score."""
    rng = np.random.default_rng(6)

    def scored(name: str, stuck: bool) -> Round:
        truth = rng.integers(0, 2, 200)
        scores = np.round(1.0 / (1.0 + np.exp(-2.0 * (2.4 * truth[:, None] - 1.2 + rng.normal(size=(200, 2))))), 2)
        if stuck:
            scores[:, 0] = 0.9
        table = pd.DataFrame(
            {"item": np.repeat(np.arange(200), 2), "labeler": ["a", "b"] * 200, "label": scores.ravel()}
        )
        gold = None if stuck else pd.DataFrame({"item": np.arange(80), "gold": truth[:80]})
        return Round(table, gold=gold, name=name, label_kind="score")

    rounds = without_stuck(gather_rounds([scored("now", True)], [scored("one", False), scored("two", False)]))
    assert rounds.currents[0].labelers == ("b",)
    assert rounds.currents[0].notes[-1].data["labelers"] == {"a": "0.9"}
