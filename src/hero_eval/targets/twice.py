"""The same data twice: a round that is in its own history, or whose labels are there in another state of it.

What counts twice makes intervals too short, and a round that has gold vouches for itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hero_eval.engines.counting import is_large
from hero_eval.errors import wrong
from hero_eval.findings import Finding
from hero_eval.model.patterns import Bools, Ints
from hero_eval.reliability import Reliability, history_rounds
from hero_eval.round import Round

FEW = 20
"""Labels that two rounds share must be at least so many to tell anything."""
ALIKE = 0.9
"""Cohen's kappa between two rounds' labels of the same items by the same labelers, from which on they are the same
labels: outputs of two models for one prompt do not get there, and a few corrected labels do not leave it."""


def refuse_own_history(current: Round, history: Round | Sequence[Round] | Reliability | None) -> None:
    """E208 for a current round that is one of the past rounds, under whatever name."""
    for one in () if history is None else history_rounds(history):
        if current.holds_same_as(one):
            raise wrong(
                "E208",
                f"the current round {current.name!r} is in its own history, as {one.name!r}: the same items, labels "
                f"and gold would count twice. Leave {one.name!r} out of history; to use the gold of the current round "
                "itself, take a method that does (`hero methods`), or none to have one chosen.",
            )


def overlap_findings(currents: Sequence[Round], past: Sequence[Round]) -> tuple[Finding, ...]:
    """Past rounds that seem to be another state of a current one: the same labels of the same items."""
    found = []
    for current in currents:
        for one in past:
            if is_large([current, one]):
                continue  # single labels are not at hand
            here, there = _shared_labels(current, one)
            if len(here) >= max(0.5 * current.n_labels, FEW) and _kappa(here, there) >= ALIKE:
                same = int((here == there).sum())
                message = (
                    f"{same} of {current.n_labels} labels of {current.name!r} are in past round {one.name!r} too, for "
                    "the same items by the same labelers: if it is another state of the same round, its labels and "
                    "gold count twice"
                )
                data = {"round": one.name, "labels": current.n_labels, "shared": same}
                found.append(Finding("F114", message, data))
    return tuple(found)


def _shared_labels(one: Round, other: Round) -> tuple[Ints, Ints]:
    """What both rounds' labelers answered, where both have a label of one item by one labeler."""
    nothing: Ints = np.empty(0, np.int64)
    item, labeler = _places(one.item_ids, other.item_ids), _places(one.labelers, other.labelers)
    rows: Bools = (item[one.label_item] >= 0) & (labeler[one.label_labeler] >= 0)
    if not rows.any():
        return nothing, nothing
    width = len(other.labelers)
    wanted = item[one.label_item[rows]] * width + labeler[one.label_labeler[rows]]
    have = other.label_item * width + other.label_labeler  # sorted, and each pair once
    at = np.minimum(np.searchsorted(have, wanted), len(have) - 1)
    both = have[at] == wanted
    spelled = _places(other.values, one.values)
    there: Ints = np.where(spelled < 0, len(one.values) + np.arange(len(spelled)), spelled)[other.label_answer]
    return one.label_answer[rows][both], there[at[both]]


def _places(names: Sequence[str] | np.ndarray, among: Sequence[str] | np.ndarray) -> Ints:
    """Where each name is among others, -1 = nowhere."""
    place = {name: position for position, name in enumerate(among)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int64)


def _kappa(here: Ints, there: Ints) -> float:
    """Agreement beyond what the answers' shares give by chance; 0 where chance alone explains all."""
    size = int(max(here.max(), there.max())) + 1
    expected = float(np.bincount(here, minlength=size) @ np.bincount(there, minlength=size)) / len(here) ** 2
    return 0.0 if expected >= 1.0 else (float((here == there).mean()) - expected) / (1.0 - expected)
