"""Rounds from simulated arrays.

Labels are (n, J) matrices of class numbers with -1 for none, gold and truth (n,) likewise, as `studies.designs`
draws them. Everything random takes a Generator, so that a test's numbers depend on its seed alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from hero_eval.methods.evidence import CarriedEvidence, JointEvidence
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round
from hero_eval.studies.designs import EXPERIMENTS, Design, Draw, draw

SMALL = EXPERIMENTS["exp1-small"][-1]
LARGE = EXPERIMENTS["exp1-large"][-1]
GOOD = replace(
    SMALL,
    name="good labelers",
    n_current=200,
    n_history=400,
    specificity_mean=0.8,
    concentration=30.0,
    gold_rate=0.3,
    labeling_low=0.5,
    labeling_high=0.8,
)
"""Small and well identified: for what holds exactly, where a flat likelihood would only add noise."""

EVERY_METHOD = tuple(all_methods())
JOINT = tuple(name for name, one in all_methods().items() if issubclass(one.evidence, JointEvidence))
"""Those that fit all rounds together, with priors on labelers; it takes them longer."""
METHODS = tuple(name for name, one in all_methods().items() if not one.by_design)
"""Those that can do without gold of the current round."""
WITH_GOLD = tuple(name for name in METHODS if all_methods()[name].uses_history)
CARRIED = tuple(name for name in METHODS if issubclass(all_methods()[name].evidence, CarriedEvidence))
"""Those that learn labelers from all history as one, and judge nobody whom it never saw."""
WITHOUT_COVARIATES = tuple(name for name in METHODS if not all_methods()[name].needs_covariates)


def by_method(names: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test for each of these methods, at leisure for those that take longer."""
    marked = [pytest.param(name, marks=pytest.mark.slow) if name in JOINT else name for name in names]
    return pytest.mark.parametrize("method", marked)


def options_of(method: str) -> dict[str, Any]:
    """What to ask for, to have this method on rounds with a covariate x."""
    return {"method": method, **({"covariates": ["x"]} if all_methods()[method].needs_covariates else {})}


Array = NDArray[Any]
Tables = dict[str, pa.Table]


def tables_of(
    labels: Array,
    gold: Array | None = None,
    columns: Mapping[str, Any] | None = None,
    *,
    ids: Sequence[str] | None = None,
    labelers: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    prefix: str = "i",
) -> Tables:
    """The arrays as tables {labels[, gold][, items]}; `columns` describe the items, `classes` spell the answers."""
    n_items, n_labelers = labels.shape
    names = np.array(ids if ids is not None else [f"{prefix}{i:05d}" for i in range(n_items)], dtype=object)
    people = np.array(labelers if labelers is not None else [f"j{j}" for j in range(n_labelers)], dtype=object)
    answers = list(classes) if classes is not None else list(range(int(labels.max()) + 1))
    item, labeler = np.nonzero(labels >= 0)
    tables = {
        "labels": pa.table(
            {
                "item": names[item],
                "labeler": people[labeler],
                "label": [answers[k] for k in labels[item, labeler]],
            }
        )
    }
    if gold is not None and (gold >= 0).any():
        known = gold >= 0
        tables["gold"] = pa.table({"item": names[known], "gold": [answers[k] for k in gold[known]]})
    if columns is not None:
        tables["items"] = pa.table({"item": names, **{name: pa.array(of) for name, of in columns.items()}})
    return tables


def round_of(
    labels: Array,
    gold: Array | None = None,
    columns: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    **spelling: Any,
) -> Round:
    """A Round of these arrays; `spelling` goes to `tables_of`, `options` to Round."""
    return Round(**tables_of(labels, gold, columns, **spelling), **dict(options or {}))


def labels_of(one: Round) -> Array:
    """The labels of a round as the (n, J) matrix that it was made of."""
    labels = np.full((one.n_items, len(one.labelers)), -1)
    labels[one.label_item, one.label_labeler] = one.label_answer
    return labels


@dataclass(frozen=True)
class Pair:
    """A current round and its history, with the draw behind them."""

    current: Round
    history: Round
    drawn: Draw

    @property
    def truth(self) -> float:
        return float(self.drawn.current_truth.mean())


def pair_of(drawn: Draw, **spelling: Any) -> Pair:
    """Rounds of a draw, with its covariate x."""
    current = round_of(
        drawn.current_labels,
        columns={"x": drawn.current_x[:, 0]},
        prefix="c",
        options={"name": "current"},
        **spelling,
    )
    history = round_of(
        drawn.history_labels,
        drawn.history_gold,
        {"x": drawn.history_x[:, 0]},
        prefix="h",
        options={"name": "history"},
        **spelling,
    )
    return Pair(current, history, drawn)


def draw_pair(seed: int, design: Design = GOOD, **spelling: Any) -> Pair:
    """Rounds of one draw from a design."""
    return pair_of(draw(design, np.random.default_rng(seed)), **spelling)


def labels_given(rng: np.random.Generator, truth: Array, answers: Array, labeling: float | Array = 1.0) -> Array:
    """Labels of items with these classes by labelers with P(answer l | class k) = answers[j, l, k].

    `labeling` is the probability that a labeler labels an item, one for all or (J,). Every item gets a label.
    """
    n_labelers = answers.shape[0]
    cumulative = np.cumsum(answers, axis=1)[:, :, truth]  # (J, L, n)
    pick = rng.random((n_labelers, 1, len(truth)))
    labels = (pick > cumulative).sum(axis=1).T.astype(np.int64)
    absent = rng.random(labels.shape) >= labeling
    absent[np.arange(len(truth)), rng.integers(0, n_labelers, len(truth))] = False
    labels[absent] = -1
    return labels


def binary_answers(sensitivity: Sequence[float], specificity: Sequence[float]) -> Array:
    """(J, 2, 2) P(answer | class) of labelers with these reliabilities."""
    sens, spec = np.asarray(sensitivity), np.asarray(specificity)
    return np.stack([np.stack([spec, 1 - spec], axis=1), np.stack([1 - sens, sens], axis=1)], axis=2)


def near_answers(n_labelers: int, n_classes: int, right: float, rng: np.random.Generator) -> Array:
    """(J, K, K) labelers that are right with about this probability and otherwise name some other class."""
    answers = rng.dirichlet(np.full(n_classes, 8.0), (n_labelers, n_classes)).transpose(0, 2, 1)
    spread = rng.uniform(right - 0.1, right + 0.1, n_labelers)[:, None, None]
    return (1 - spread) * answers + spread * np.eye(n_classes)[None]


def some_gold(rng: np.random.Generator, truth: Array, share: float) -> Array:
    """The truth of a random part of the items, -1 elsewhere."""
    return np.where(rng.random(len(truth)) < share, truth, -1)


def codes(result: Any) -> list[str]:
    """The codes of a result's findings."""
    return [one.code for one in result.findings]


def finding(result: Any, code: str) -> Any:
    """The one finding of a result with this code."""
    found = [one for one in result.findings if one.code == code]
    assert len(found) == 1, f"{code}: {[str(one) for one in result.findings]}"
    return found[0]
