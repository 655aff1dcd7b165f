"""How the models of a question moved: the store's rounds ranked one after the other, each by what was known then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hero_eval.errors import HeroError
from hero_eval.store.log import Entry, Log
from hero_eval.store.past_rounds import History, common_past, past_of
from hero_eval.store.reading import ReadableStore
from hero_eval.targets.arena import rank_votes
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.targets.movement import Movement, movement
from hero_eval.targets.ranking import Ranking, rank

MOST_ROUNDS = 8
"""The last rounds that are followed: each costs a ranking."""

Say = Callable[[str, int, int], None]


def movement_of_votes(
    store: ReadableStore,
    log: Log,
    current: Entry,
    options: Mapping[str, Any],
    *,
    where: Mapping[str, Any] | None = None,
    covariates: Sequence[str] | None = None,
    say: Say | None = None,
) -> Movement | None:
    """Rounds of votes up to this one, each ranked by itself, with the gold of those before it; None if none can be."""
    rows = [*past_of(log, current.round), current][-MOST_ROUNDS:]
    made: dict[str, Ranking | Leaderboard] = {}
    skipped: dict[str, str] = {}
    for at, row in enumerate(rows):
        if say is not None:
            say(f"Ranking the votes of {row.round}", at, len(rows))
        history = [store.read_votes([one]) for one in past_of(log, row.round) if one.gold]
        try:
            votes = store.read_votes([row], where=where, covariates=covariates)
            made[row.round] = rank_votes(votes, history or None, **options)
        except HeroError as error:
            skipped[row.round] = error.problems[0].message
    return movement(made, skipped) if made else None


def movement_of_rates(
    store: ReadableStore,
    log: Log,
    rows: Sequence[Entry],
    options: Mapping[str, Any],
    *,
    positive: str | None = None,
    classes: Sequence[str] | None = None,
    say: Say | None = None,
) -> Movement | None:
    """The newest round of each model as it was at each of these models' rounds; None if fewer than two could be ranked.

    `rows` are the rounds that are ranked now; whatever rounds their models had before count as they did then. All are
    read with the same `positive` class and `classes`.
    """
    models = {row.model for row in rows}
    last = max(row.place_in_time for row in rows)
    own = [row for row in log.live().values() if row.model in models and row.question == rows[0].question]
    steps = [row for row in own if row.place_in_time <= last and not row.is_votes]
    made: dict[str, Ranking | Leaderboard] = {}
    skipped: dict[str, str] = {}
    known: dict[str, Entry] = {}
    standing: list[tuple[Entry, dict[str, Entry]]] = []
    for row in steps:
        known = {**known, str(row.model): row}
        if len(known) > 1:
            standing.append((row, known))
    chosen = standing[-MOST_ROUNDS:]
    for at, (row, then) in enumerate(chosen):
        if say is not None:
            say(f"Ranking as of {row.round}", at, len(chosen))
        try:
            past, _ = common_past(log, [one.round for one in then.values()], History())
            read = store.read_all(list(then.values()), positive=positive, classes=classes)
            before = store.read_all(past, classes=classes) or None
            made[row.round] = rank(dict(zip(then, read, strict=True)), before, **options)
        except HeroError as error:
            skipped[row.round] = error.problems[0].message
    return movement(made, skipped) if made else None
