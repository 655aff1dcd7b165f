"""An evaluation by Inspect itself, with HERO's metric on a scorer; prints what its log says and the library's answer.

A process of its own: Inspect leaves streams open at its end, which tests that take warnings for errors cannot stand.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, scorer
from inspect_ai.solver import solver

import hero_eval as hero
from hero_eval.integrations.inspect_metrics import hero_rate

JUDGE, N = "lenient", 300
"""A judge that calls every third wrong answer right, and no right one wrong."""


def draw(seed: int, rate: float) -> tuple[list[str], list[str]]:
    """Gold and the judge's labels."""
    rng = np.random.default_rng(seed)
    gold = rng.random(N) < rate
    said = gold | (rng.random(N) < 1 / 3)
    return [str(int(one)) for one in gold], [str(int(one)) for one in said]


def table(labels: list[str]) -> Any:
    return pa.table({"item": [str(i) for i in range(N)], "labeler": [JUDGE] * N, "label": labels})


@solver
def silent() -> Any:
    """No model is asked: the scorer's answers are what this is about."""

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        return state

    return solve


past_gold, past_labels = draw(1, 0.5)
past_golds = pa.table({"item": [str(i) for i in range(N)], "gold": past_gold})
history = hero.Round(table(past_labels), past_golds, positive="1")
_, labels = draw(2, 0.6)


@scorer(metrics=[hero_rate(history, labeler=JUDGE, method="hero1")])
def graded() -> Any:
    async def score(state: Any, target: Any) -> Score:
        del state
        return Score(value=int(target.text))

    return score


samples = [Sample(id=str(i), input="q", target=label) for i, label in enumerate(labels)]
task = Task(dataset=samples, solver=silent(), scorer=graded())
(log,) = run(task, model="mockllm/model", log_dir=sys.argv[1], display="none")
assert log.status == "success", log.error
assert log.results is not None
same = hero.estimate_rate(hero.Round(table(labels), positive="1"), history, method="hero1")
low, high = same.interval()
told = {
    "metrics": {name: metric.value for name, metric in log.results.scores[0].metrics.items()},
    "accuracy": sum(map(int, labels)) / N,
    "rate": same.value,
    "low": low,
    "high": high,
}
print(json.dumps(told))
