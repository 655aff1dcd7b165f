"""Counting in memory: rounds to answer patterns, on labelers and classes that the caller fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.model.patterns import Bools, Floats, Ints, Patterns, count_patterns
from hero_eval.model.routing import routing_weights
from hero_eval.round import Round

_KEPT = 50_000
"""Labels of a round up to which its counts are kept: some megabytes. It bounds time and memory only."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Patterns of one or several rounds; `kept` (all items) says which items have a label by these labelers.

    Rounds that are counted without their items have no `kept`, only the number of items set aside.
    """

    patterns: Patterns
    kept: Bools | None
    labels_set_aside: int
    items_set_aside: int = 0

    @property
    def n_items(self) -> int:
        return self.patterns.n_items


def count_in_memory(
    rounds: Sequence[Round], labelers: Sequence[str], classes: Sequence[str], *, routed: bool = False
) -> Counted:
    """Count these rounds as one; labels by other labelers are left out, and items that then have none.

    `routed`: known probabilities of having gold weigh the items, so that those with gold stand for all. A small round
    that is played as past and as current keeps its counts.
    """
    if len(rounds) > 1 or rounds[0].n_labels > _KEPT:
        return _counted(rounds, labelers, classes, routed)
    one = rounds[0]
    routed = routed and one.n_gold > 0 and one.gold_probability() is not None
    asked = tuple(labelers), tuple(classes), routed
    if asked not in one.counts:
        one.counts[asked] = _counted(rounds, labelers, classes, routed)
    found: Counted = one.counts[asked]
    return found


def _counted(rounds: Sequence[Round], labelers: Sequence[str], classes: Sequence[str], routed: bool) -> Counted:
    place = {name: position for position, name in enumerate(labelers)}
    class_of = {name: position for position, name in enumerate(classes)}
    scored = any(one.has_scores for one in rounds)  # then all were cut into the same bins
    items, people, answers, gold, weight = [], [], [], [], []
    offset = 0
    for one in rounds:
        labeler_map = np.array([place.get(name, -1) for name in one.labelers], dtype=np.int64)
        value_map = np.array([class_of[value] for value in one.values], dtype=np.int64)
        items.append(one.label_item + offset if offset else one.label_item)
        people.append(_moved(labeler_map, one.label_labeler))
        answers.append(one.label_answer if scored else _moved(value_map, one.label_answer))
        gold.append(np.append(value_map, -1)[one.gold])
        weight.append(_mean_one(one.weight, one.n_items) * (_routing(one) if routed else 1.0))
        offset += one.n_items
    item, person, answer = _joined(items), _joined(people), _joined(answers)
    kept = np.ones(offset, dtype=bool)
    known = person >= 0
    n_unknown = len(known) - int(np.count_nonzero(known))
    if n_unknown:
        kept = np.zeros(offset, dtype=bool)
        kept[item[known]] = True
        position: Ints = np.cumsum(kept) - 1
        item, person, answer = position[item[known]], person[known], answer[known]
    n_kept = int(np.count_nonzero(kept))
    patterns = count_patterns(
        item,
        person,
        answer,
        n_items=n_kept,
        n_labelers=len(labelers),
        n_answers=len(rounds[0].answer_values) if scored else len(classes),
        gold=_joined(gold) if n_kept == offset else _joined(gold)[kept],
        weight=_joined(weight) if n_kept == offset else _joined(weight)[kept],
    )
    return Counted(patterns, kept, n_unknown, offset - n_kept)


def _moved(to: Ints, codes: Ints) -> Ints:
    """Codes in another numbering; the same array where nothing changes."""
    return codes if np.array_equal(to, np.arange(len(to))) else to[codes]


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _routing(one: Round) -> Floats:
    probability = one.gold_probability() if one.n_gold else None
    return np.ones(one.n_items) if probability is None else routing_weights(one.gold >= 0, probability)


def _mean_one(weight: Floats | None, n_items: int) -> Floats:
    return np.ones(n_items) if weight is None else weight / weight.mean()
