"""Rounds whose labelers count on different scales, from 0 to 1 here and from 1 to 5 there: no history of each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hero_eval.any_round import AnyRound
from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.scores import as_numbers
from hero_eval.io.values import number_text
from hero_eval.round import Round

Numbers = NDArray[np.float64]
TOPS = (1.0, 5.0, 10.0, 100.0)
"""Where common scales of numbers end."""
LEAST = 10
"""Labels on each side below which nothing is said."""
BEYOND, BELOW = 0.2, 0.2
"""Labels of one scale above the end of the other, and of the other below its beginning: both, and scales differ."""
MOSTLY = 0.8
"""So many above the end of the other are enough; half of them beside a scale from 0 to 1."""


def refuse_other_scales(rounds: Sequence[AnyRound]) -> None:
    """E210 if a round and the last one, the current where there is one, have the same labelers on other scales.

    Nothing is said of rounds whose classes or kind of label the caller named.
    """
    telling = [one for one in rounds if one.classes_given is None and one.kind_given is None]
    tops = [_top(one) for one in telling]
    if not telling or tops[-1] is None:
        return
    for one, top in zip(telling[:-1], tops[:-1], strict=True):
        if top is not None and top != tops[-1]:
            low, high = (one, telling[-1]) if top < tops[-1] else (telling[-1], one)
            if _differ(low, high, min(top, tops[-1])):
                _refuse(one, telling[-1])


def _top(one: AnyRound) -> float | None:
    """The end of the common scale that the labels lie on; None if they are no numbers of such a scale."""
    values = as_numbers(one.answer_values) if one.label_score is None else one.label_score
    if not len(values) or np.isnan(values).any() or values.min() < 0:
        return None
    highest = float(values.max())
    return next((top for top in TOPS if highest <= top), None)


def _differ(low: AnyRound, high: AnyRound, top: float) -> bool:
    """Whether labelers of both count on different scales, of which the lower ends at `top`."""
    shared = set(low.labelers) & set(high.labelers)
    (mine, often), (theirs, times) = _labels_of(low, shared), _labels_of(high, shared)
    if min(often.sum(), times.sum()) < LEAST or mine.min() == mine.max():
        return False
    beyond = float(times[theirs > top].sum() / times.sum())
    below = float(often[mine < theirs.min()].sum() / often.sum())
    return beyond >= (0.5 if top == 1.0 else MOSTLY) or (beyond >= BEYOND and below >= BELOW)


def _labels_of(one: AnyRound, who: Collection[str]) -> tuple[Numbers, Numbers]:
    """What these labelers said, in numbers, and how often; a round that an engine counted knows it, too."""
    theirs = np.array([name in who for name in one.labelers], np.bool_)
    if one.label_score is not None:
        scores = one.label_score[theirs[cast(Round, one).label_labeler]]
        return scores, np.ones(len(scores))
    often = one.labels_by_answer()[theirs].sum(axis=0)
    return as_numbers(one.answer_values)[often > 0], often[often > 0]


def _refuse(past: AnyRound, current: AnyRound) -> None:
    shared = sorted(set(past.labelers) & set(current.labelers))
    spans = []
    for one in (past, current):
        values, _ = _labels_of(one, shared)
        spans.append(f"from {number_text(float(values.min()))} to {number_text(float(values.max()))} in {one.name!r}")
    raise wrong(
        "E210",
        f"rounds {past.name!r} and {current.name!r} are on different scales: the labels of {name_some(shared)} go "
        f"{' and '.join(spans)}. Past rounds teach only of the scale that they are on: bring both to one scale (map=; "
        "command: --map), or leave the other round out. If it is one scale, name all answers (classes=[...]; command: "
        "--classes) or, of scores, the kind (label_kind='score'; command: --label-kind score).",
    )
