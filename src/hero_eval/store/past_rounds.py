"""Which past rounds of a store a round may learn from: the choice of the caller, never a round that is not earlier."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from hero_eval.errors import wrong
from hero_eval.store.dates import day_of
from hero_eval.store.log import Entry, Log, earlier


@dataclass(frozen=True)
class History:
    """Which past rounds of a store to learn from: by question, model and date, or by name.

    Parameters
    ----------
    question : str, optional
        Rounds of this question. None: that of the current round.
    models : tuple of str, optional
        Only rounds of these models. Empty: of all.
    since : str, optional
        Only rounds from this day, week (``2026-w40``) or month on. None: from the first.
    before : str, optional
        Only rounds from before this day, week or month. None: all that are earlier than the current round.
    rounds : tuple of str, optional
        These rounds and no others, whatever else is said. Empty: chosen by the rest.
    """

    question: str | None = None
    models: tuple[str, ...] = ()
    since: str | None = None
    before: str | None = None
    rounds: tuple[str, ...] = ()

    def days(self) -> tuple[datetime.date, datetime.date]:
        """`since` and `before` as days.

        Returns
        -------
        since : date
            The first day; the earliest that there is, if none was said.
        before : date
            The day after the last; the latest that there is, if none was said.

        Raises
        ------
        InputError
            If one of them is no date (E201).
        """
        since = datetime.date.min if self.since is None else day_of("since", self.since)
        return since, datetime.date.max if self.before is None else day_of("before", self.before)

    def fits(self, entry: Entry) -> bool:
        """Whether a round is of these models and days. One without a date is of no day that is asked for.

        Parameters
        ----------
        entry : Entry
            The round, as `Store.find` gives it.

        Returns
        -------
        bool

        Raises
        ------
        InputError
            If `since` or `before` is no date (E201).
        """
        since, before = self.days()
        by_day = self.since is None and self.before is None
        return (not self.models or entry.model in self.models) and (
            by_day or (entry.date is not None and since <= entry.date < before)
        )


def past_of(log: Log, name: str, chosen: History | None = None) -> list[Entry]:
    """As `Store.history_of`, in a log that was read before."""
    current, choice = log.find(name), chosen or History()
    past = earlier(log, current)
    if choice.rounds:
        return [_earlier_one(log, current, past, one) for one in dict.fromkeys(choice.rounds)]
    question = choice.question or current.question
    alike = [row for row in past if row.is_votes == current.is_votes]
    return [row for row in alike if row.question == question and choice.fits(row)]


def common_past(log: Log, names: Sequence[str], chosen: History | None = None) -> tuple[list[Entry], bool]:
    """Past rounds for several that are compared: those before the latest of them, the compared ones left out.

    Where no other round has gold the compared ones are kept, since nothing else tells how labelers err; the second
    value says whether they were left out.
    """
    newest = max((log.find(name) for name in names), key=lambda row: row.place_in_time)
    past = past_of(log, newest.round, chosen)
    apart = [row for row in past if row.round not in names]
    return (apart, True) if any(row.gold for row in apart) else (past, False)


def newest_of_models(
    log: Log, question: str | None, models: Sequence[str] = (), until: datetime.date | None = None
) -> list[Entry]:
    """Of a question, for each model its newest round: of these models, or of all that are named.

    With `until` only rounds up to that day count; one without a date is of no day.
    """
    rows = [row for row in log.live().values() if not row.is_votes]
    asked = [row for row in rows if question is None or row.question == question]
    questions = sorted({row.question for row in asked})
    if len(questions) > 1:
        raise wrong("E201", f"the store has rounds of {', '.join(map(repr, questions))}. Name one: --question NAME")
    if question is not None and not asked and any(row.question == question for row in log.live().values()):
        raise wrong(
            "E529", f"the question {question!r} has votes alone. Rank by them: hero arena --question {question}"
        )
    if question is not None and not asked:
        known = ", ".join(sorted({row.question for row in log.live().values()})) or "none"
        raise wrong("E201", f"the store has no rounds of the question {question!r}. It has: {known}")
    newest: dict[str, Entry] = {}
    if until is not None:
        asked = [row for row in asked if row.date is not None and row.date <= until]
    for row in sorted(asked, key=lambda row: row.place_in_time):
        if row.model is not None and (not models or row.model in models):
            newest[row.model] = row
    lacking = [model for model in models if model not in newest]
    if lacking:
        known = ", ".join(sorted({row.model for row in asked if row.model})) or "none"
        raise wrong("E235", f"model {lacking[0]!r} has no rounds of this question in the store. Models: {known}")
    return list(newest.values())


def newest_votes(log: Log, question: str | None, round: str | None = None, until: datetime.date | None = None) -> Entry:
    """The round of votes that is named, or the newest of a question, or of the only one, up to a day."""
    if round is not None:
        found = log.find(round)
        if question is not None and found.question != question:
            raise wrong("E204", f"round {round!r} is of the question {found.question!r}, not {question!r}")
        return found
    votes = [row for row in log.live().values() if row.is_votes]
    questions = sorted({row.question for row in votes})
    if question is None and len(questions) > 1:
        raise wrong("E201", f"the store has votes on {', '.join(map(repr, questions))}. Name one: --question NAME")
    asked = [row for row in votes if question in (None, row.question)]
    if not asked and question is None:
        raise wrong("E201", "the store has no votes. Add some: hero add votes.csv --round NAME")
    if not asked:
        known = ", ".join(questions) or "none; add some: hero add votes.csv --round NAME"
        raise wrong("E201", f"the store has no votes on the question {question!r}. Questions with votes: {known}")
    if until is not None:
        asked = [row for row in asked if row.date is not None and row.date <= until]
        if not asked:
            raise wrong("E403", f"the store has no votes on {question!r} up to {until}")
    return max(asked, key=lambda row: row.place_in_time)


def _earlier_one(log: Log, current: Entry, past: Sequence[Entry], name: str) -> Entry:
    """A past round that was named; E204 if it is not past."""
    row = log.find(name)
    if row not in past:
        what = (
            "the current round itself"
            if row.round == current.round
            else f"not before {current.round!r} ({current.day})"
        )
        raise wrong("E204", f"round {name!r} ({row.day}) is {what}, so it cannot be history. Name earlier rounds.")
    return row
