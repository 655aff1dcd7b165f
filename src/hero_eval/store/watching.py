"""Watching a store: the rate of every model over its rounds, changes beyond chance, and labelers who drift.

A change is the difference of two successive rounds of one model. Both rest on much of the same history, whose error
then cancels in part; it is counted twice, so that chance is allowed too much rather than too little. Holm's step-down
test keeps the chance that any change is called though none is there below 1 - level.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scipy import special

from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import HeroError, wrong
from hero_eval.estimate import Estimate, check_level, number
from hero_eval.labelers.over_time import OverTime, holm, reliability_over_time
from hero_eval.store.log import Entry
from hero_eval.store.store import open_store
from hero_eval.targets.rate import estimate_rate

if TYPE_CHECKING:
    from hero_eval.store.reading import ReadableStore


@dataclass(frozen=True, eq=False)
class Watched:
    """One round: its name, model and date, and its estimate; None with the reason where there is none."""

    round: str
    model: str
    date: datetime.date | None
    estimate: Estimate | None
    reason: str = ""
    error: HeroError | None = None

    def to_dict(self) -> dict[str, Any]:
        found = None if self.estimate is None else self.estimate.interval()
        return {
            "round": self.round,
            "model": self.model,
            "date": None if self.date is None else self.date.isoformat(),
            "value": None if self.estimate is None else number(self.estimate.value),
            "low": None if found is None else number(found[0]),
            "high": None if found is None else number(found[1]),
            "in_doubt": [] if self.estimate is None else [one.code for one in self.estimate.doubts],
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Change:
    """From one round of a model to the next: by how much, and how probable that is by chance, all changes together."""

    model: str
    before: str
    after: str
    change: float
    std_error: float
    p_value: float
    """Holm's, of all changes together."""
    beyond_chance: bool


@dataclass(frozen=True, eq=False)
class Watch:
    """What a store shows: its rounds in order, changes of models, and labelers over time.

    Attributes
    ----------
    question : str
        The question of the rounds.
    level : float
        The level of the intervals; all changes together are called with the error that it leaves.
    rounds : tuple of Watched
        The rounds in the order of time: `round`, `model`, `date`, `estimate`, or the `reason` why there is none.
    changes : tuple of Change
        From one round of a model to the next: `change`, `std_error`, `p_value`, `beyond_chance`.
    labelers : OverTime or None
        How reliable labelers were in each round, and who drifts. None: there is one round.
    """

    question: str
    level: float
    rounds: tuple[Watched, ...]
    changes: tuple[Change, ...]
    labelers: OverTime | None

    def __repr__(self) -> str:
        state = "quiet" if self.is_quiet else f"{len(self.changed)} changes, {len(self.drifting)} drifting"
        return f"Watch({self.question}: {len(self.rounds)} rounds, {state})"

    @property
    def changed(self) -> tuple[Change, ...]:
        """The changes that are beyond chance."""
        return tuple(one for one in self.changes if one.beyond_chance)

    @property
    def drifting(self) -> tuple[str, ...]:
        """Labelers who drift, each once."""
        found = () if self.labelers is None else self.labelers.drifts
        return tuple(dict.fromkeys(one.labeler for one in found if one.drifts))

    @property
    def is_quiet(self) -> bool:
        """Whether nothing changed beyond chance and nobody drifts."""
        return not self.changed and not self.drifting

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON.

        Returns
        -------
        dict
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "watch",
            "question": self.question,
            "level": self.level,
            "quiet": self.is_quiet,
            "rounds": [one.to_dict() for one in self.rounds],
            "changes": [vars(one) for one in self.changes],
            "drifting": list(self.drifting),
        }


def watch(
    store: ReadableStore | str | os.PathLike[str],
    question: str | None = None,
    *,
    level: float = 0.95,
    positive: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Watch:
    """Estimate every round of a question from the rounds before it, and compare successive rounds of each model.

    Parameters
    ----------
    store : Store or path-like
        The store, or where it is.
    question : str, optional
        Rounds of this question. None: the store's only one.
    level : float, default 0.95
        The level of the intervals, and one minus the chance that any change is called though none is there.
    positive : str, optional
        The positive class, instead of the one that is stored. None: that one.
    say : callable, optional
        Called with a sentence about what is done next. None: nothing is told.

    Returns
    -------
    Watch
        Every model's rate over its rounds, changes beyond chance, labelers who drift; `is_quiet` if there are none.

    Raises
    ------
    InputError
        If there is no store (E401), it holds several questions and none is named (E206), or no such question (E201)
        or round (E403); or, if not one round could be estimated, what stood in the way of the last.
    """
    check_level(level)
    store = open_store(store) if isinstance(store, str | os.PathLike) else store
    rows = [row for row in store.rounds() if not row.is_votes]
    questions = sorted({row.question for row in rows})
    if question is None and len(questions) > 1:
        raise wrong(
            "E206", f"the store holds the questions {', '.join(questions)}. Say which: question= (command: --question)"
        )
    if question is not None and question not in questions:
        raise wrong("E201", f"question is {question!r}. The store holds: {', '.join(questions) or 'no round'}")
    own = [row for row in rows if question in (None, row.question)]
    if not own:
        raise wrong("E403", f"{store.path} has no round to watch. Add one: hero add")
    watched = []
    for number_of, row in enumerate(own):
        if say is not None:
            say(f"Estimating {row.round} ({number_of + 1} of {len(own)})")
        watched.append(_estimated(store, row, level, positive))
    failed = [one.error for one in watched if one.error is not None]
    if len(failed) == len(watched):
        raise failed[-1]  # a store of which nothing is known is not quiet
    labelers = reliability_over_time(store.read_all(own, positive=positive), level) if len(own) > 1 else None
    return Watch(own[0].question, level, tuple(watched), changes_of(watched, level), labelers)


def _estimated(store: ReadableStore, row: Entry, level: float, positive: str | None) -> Watched:
    """The estimate of one round from those before it, by HERO-3 where there is any gold."""
    past = store.history_of(row.round)
    known = any(one.gold for one in past) or row.gold > 1
    current = store.read(row, positive=positive)
    history = store.read_all(past) or None
    try:
        found = estimate_rate(current, history, method="hero3" if known else None, level=level)
    except HeroError as error:
        return Watched(row.round, row.model or "", row.date, None, str(error), error)
    return Watched(row.round, row.model or "", row.date, found)


def changes_of(watched: Sequence[Watched], level: float) -> tuple[Change, ...]:
    """Successive rounds of each model, oldest first; rounds without a number, or in doubt, are passed over."""
    pairs = []
    for model in dict.fromkeys(one.model for one in watched):
        own = [one for one in watched if one.model == model and _is_known(one.estimate)]
        pairs += list(pairwise(own))
    found = []
    for before, after in pairs:
        assert before.estimate is not None
        assert after.estimate is not None
        gap = after.estimate.value - before.estimate.value
        error = math.hypot(after.estimate.std_error, before.estimate.std_error)
        p_value = 2.0 * float(special.ndtr(-abs(gap) / error)) if error > 0.0 else 1.0
        found.append((before, after, gap, error, p_value))
    held = holm([one[-1] for one in found])
    return tuple(
        Change(before.model, before.round, after.round, gap, error, p, p < 1.0 - level)
        for (before, after, gap, error, _), p in zip(found, held, strict=True)
    )


def _is_known(estimate: Estimate | None) -> bool:
    return estimate is not None and math.isfinite(estimate.value) and not estimate.doubts
