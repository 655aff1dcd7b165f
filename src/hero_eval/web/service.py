"""From what a visitor asks to work that answers it. Pages and API come here; neither knows how it is done."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hero_eval.errors import HeroError, Problem, wrong
from hero_eval.estimate import check_level
from hero_eval.findings import name_some
from hero_eval.name_lists import names
from hero_eval.store.log import Entry, checked_name
from hero_eval.store.past_rounds import common_past, newest_of_models, newest_votes
from hero_eval.store.vote_rounds import vote_columns
from hero_eval.web.gold_desk import GoldDesk
from hero_eval.web.http_errors import failed
from hero_eval.web.process import Limits
from hero_eval.web.queue import Job, JobQueue, Order
from hero_eval.web.scratch import Scratch
from hero_eval.web.settings import LEAST_MEMORY, Settings
from hero_eval.web.snapshot import LatestSnapshot, Snapshot
from hero_eval.web.uploads import Upload, Uploads

MODELS_AT_FIRST = 6
WAYS_TO_RANK = ("rates", "votes")


@dataclass(frozen=True)
class RoundOptions:
    """How a round is estimated; None: as the data allow."""

    method: str | None = None
    covariates: tuple[str, ...] = ()
    level: float | None = None
    positive: str | None = None
    cluster: str | None = None

    @classmethod
    def written(cls, method: str, covariates: str, level: float, positive: str, cluster: str) -> RoundOptions:
        """From the fields of a page's form, where nothing is an empty text."""
        columns = names("covariates", covariates.strip() or None) or ()
        return cls(method or None, tuple(columns), level, positive or None, cluster or None)

    def options(self) -> dict[str, Any]:
        """As `estimate_rate` takes them; what was not said is left out, so that the default stays one question."""
        said = {
            "method": self.method,
            "covariates": list(self.covariates) or None,
            "level": None if self.level in (None, 0.95) else check_level(self.level or 0.0),
            "positive": self.positive,
            "cluster": self.cluster,
        }
        return {key: value for key, value in said.items() if value is not None}


@dataclass(frozen=True)
class RankingOptions:
    """How models are ranked: which rate is best, and the last day whose rounds count."""

    best: str = "highest"
    until: datetime.date | None = None
    level: float = 0.95
    positive: str | None = None
    by: str | None = None
    """rates or votes; None: whichever the question has, votes if it has both and they are newer."""
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Only items, or votes, whose columns have these values."""
    movement: bool = False
    """Also how models moved over the last rounds."""

    @classmethod
    def written(
        cls,
        best: str,
        until: str,
        level: float,
        positive: str,
        by: str = "",
        column: str = "",
        value: str = "",
        movement: str = "",
    ) -> RankingOptions:
        """From the fields of a page's form, where nothing is an empty text."""
        try:
            day = datetime.date.fromisoformat(until.strip()) if until.strip() else None
        except ValueError:
            raise wrong("E201", f"until is {until!r}. Write a day such as 2026-11-16") from None
        where = {column.strip(): [value.strip()]} if column.strip() and value.strip() else {}
        return cls(best, day, level, positive or None, by or None, where, bool(movement))

    def extra(self) -> dict[str, Any]:
        """What was asked for besides the default, so that the default stays one question."""
        said = {"where": {key: list(of) for key, of in self.where.items()}, "movement": self.movement}
        return {key: value for key, value in said.items() if value}


@dataclass(frozen=True)
class Answer:
    """A result, or the job that is working on it; neither if nobody has asked for it."""

    job: Job | None
    result: Any

    @property
    def is_there(self) -> bool:
        return self.result is not None

    @property
    def is_asked(self) -> bool:
        return self.job is not None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.job.problems if self.job is not None and self.job.state == "failed" else ()

    def raise_failure(self) -> None:
        if self.problems:
            raise failed(self.problems)


class Service:
    """One server's store, work and uploads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.latest = LatestSnapshot(settings.store)
        self.scratch = Scratch()
        self.uploads = Uploads(settings.max_upload, self.scratch)
        limits = {
            "views": Limits(settings.memory, settings.seconds),
            "reading": Limits(max(settings.memory // 2, LEAST_MEMORY), settings.seconds / 5),
        }
        self.queue = JobQueue(
            settings.processes, settings.keep, limits=limits, scratch=self.scratch, when_done=self._when_done
        )
        self.secret = secrets.token_bytes(32)
        self.desk = GoldDesk(settings.store)
        self._drawing: dict[str, Order] = {}
        self._asked_progress: dict[str, Order] = {}
        self._once_more: set[str] = set()
        self._progress: dict[str, Any] = {}

    def fold_what_waits(self, only: str | None = None) -> None:
        """Make answers gold that are not yet, of a round or of all: those that a server took before it ended."""
        live = self.latest.now().live
        for name in self.desk.unfolded({name: row.written for name, row in live.items() if only in (None, name)}):
            with suppress(HeroError):
                self.start_progress(name, "")

    def start_drawing(self, round: str, asked: Mapping[str, Any], expert: str | None, client: str) -> Job:
        """Have a queue drawn."""
        order = self.draw_order(round, asked, expert)
        job = self.start(order, client).job
        assert job is not None
        self._drawing[round] = order
        return job

    def drawing(self, round: str) -> Answer | None:
        """The queue that is being drawn for a round, if one was asked for since the server started."""
        order = self._drawing.get(round)
        return None if order is None else self.look(order)

    def start_progress(self, round: str, client: str) -> None:
        """Have answers made gold and estimated; if that is under way, once more when it is done."""
        before = self._asked_progress.get(round)
        if before is not None:
            job = self.look(before).job
            if job is not None and not job.is_over:
                self._once_more.add(round)
                return
        order = self.progress_order(round)
        self.start(order, client)
        self._asked_progress[round] = order

    def progress(self, round: str) -> tuple[Job | None, Any, int]:
        """The work under way, the latest result, and how many things experts have done since that."""
        order = self._asked_progress.get(round)
        answer = Answer(None, None) if order is None else self.look(order)
        if answer.is_there:
            self._progress[round] = answer.result.document
        known = self._progress.get(round)
        newer = self.desk.n_records(round) - (0 if known is None else known["records"])
        return None if answer.is_there else answer.job, known, max(newer, 0)

    def get_ready(self) -> None:
        """Start the process that works, with what views draw with: nobody's first view then waits for that."""
        self.queue.ask(Order("ready", "Getting ready", {}))

    def close(self) -> None:
        self.queue.close()
        self.scratch.close()

    def look(self, order: Order) -> Answer:
        """What is there. Views come here: to look starts nothing."""
        return Answer(*self.queue.look(order))

    def start(self, order: Order, client: str) -> Answer:
        """Have it worked out, unless it is there or under way; what experts answered for it meanwhile becomes gold."""
        if order.kind in ("round", "vote_leaderboard"):
            self.fold_what_waits(str(order.arguments["name" if order.kind == "round" else "round"]))
        return Answer(*self.queue.ask(order, client))

    def drop(self, upload: Upload) -> None:
        """Throw a file away, and whatever is being done with it."""
        self.queue.stop_reading(str(upload.path))
        self.uploads.drop(upload.id)

    def _when_done(self, order: Order) -> None:
        if order.kind == "add":
            self.uploads.added(str(order.arguments["file"]))
        if order.kind == "gold_progress" and order.arguments["round"] in self._once_more:
            round = str(order.arguments["round"])
            self._once_more.discard(round)
            self._asked_progress.pop(round, None)
            with suppress(HeroError):
                self.start_progress(round, "")

    # Orders

    def round_order(self, now: Snapshot, name: str, choice: RoundOptions) -> Order:
        entry = now.log.find(name)
        if entry.is_votes:
            raise wrong("E529", f"round {name!r} holds side-by-side votes. See the leaderboard of {entry.question}")
        options = choice.options()
        arguments = {"name": name, "options": options}
        behind = [entry, *now.history(name)]
        # another level is another view of the same estimate: the store would fill with what somebody tried out
        saved = self.settings.save and "level" not in options
        return self._order("round", f"Estimating {name}", now, behind, arguments, saved=saved)

    def models_order(
        self, now: Snapshot, rounds: Sequence[str], baseline: str | None, choice: RoundOptions
    ) -> tuple[Order, list[Entry]]:
        """The work, and the rounds that it compares."""
        chosen = sorted((now.log.find(name) for name in dict.fromkeys(rounds)), key=lambda row: row.place_in_time)
        if len(chosen) < 2:
            raise wrong("E206", "a comparison needs two rounds or more. Add the round of a second model")
        base = baseline if baseline is not None else chosen[-2].round
        if base not in {row.round for row in chosen}:
            raise wrong("E201", f"baseline is {base!r}. It is one of: {name_some([row.round for row in chosen], 12)}")
        newest = chosen[-1]
        behind = [*chosen, *(row for row in now.history(newest.round) if row not in chosen)]
        arguments = {
            "rounds": [row.round for row in reversed(chosen)],
            "baseline": base,
            "options": choice.options(),
        }
        return self._order("models", "Comparing models", now, behind, arguments), chosen

    def labelers_order(self, now: Snapshot, question: str, level: float) -> Order:
        rows = now.rounds(question)
        latest: dict[str, Mapping[str, Any]] = {}
        for row in rows:
            latest.update({str(one["labeler"]): one for one in now.labelers.get(row.round, ())})
        people = [{key: of for key, of in one.items() if key not in ("batch", "round")} for one in latest.values()]
        arguments = {"question": question, "level": check_level(level)}
        return self._order("labelers", f"Labelers of {question}", now, rows, arguments, people=people)

    def backtest_order(self, now: Snapshot, question: str, level: float, positive: str | None = None) -> Order:
        arguments = {"question": question, "level": check_level(level), "positive": positive}
        return self._order("backtest", f"Backtest of {question}", now, now.rounds(question), arguments)

    def leaderboard_order(self, now: Snapshot, question: str, choice: RankingOptions) -> Order:
        if ranked_by(now, question, choice) == "votes":
            return self._votes_order(now, question, choice)
        rows, skipped = ranked_rounds(now, question, choice.until)
        if len(rows) < 2:
            known = name_some([str(row.model) for row in rows], 12) or "none"
            raise wrong("E230", f"{question!r} has rounds of these models to rank: {known}. Add the round of another")
        past, _ = common_past(now.log, [row.round for row in rows])
        behind = [*rows, *(row for row in past if row not in rows)]
        arguments = {
            "question": question,
            "rounds": [row.round for row in rows],
            "skipped": skipped,
            "best": choice.best,
            "level": check_level(choice.level),
            "positive": choice.positive,
            **choice.extra(),
        }
        if choice.movement:
            behind = [row for row in now.rounds(question) if not row.is_votes]
        return self._order("leaderboard", f"Leaderboard of {question}", now, behind, arguments)

    def _votes_order(self, now: Snapshot, question: str, choice: RankingOptions) -> Order:
        current = newest_votes(now.log, question, until=choice.until)
        behind = [current, *now.history(current.round)]
        level = check_level(choice.level)
        arguments = {"question": question, "round": current.round, "level": level, **choice.extra()}
        return self._order("vote_leaderboard", f"Leaderboard of {question}", now, behind, arguments)

    def course_order(self, now: Snapshot, question: str) -> Order | None:
        """Recorded numbers drawn over rounds; None if there are fewer than three of one kind."""
        rows = [(row, now.headlines[row.round]) for row in now.rounds(question) if row.round in now.headlines]
        known = [(row, one) for row, one in rows if one.is_known]
        if not known:
            return None
        what = known[-1][1].what
        known = [(row, one) for row, one in known if one.what == what and one.level == known[-1][1].level]
        if len(known) < 3 or not what.startswith("rate"):
            return None
        points = [
            {
                "round": row.round,
                "date": None if row.date is None else row.date.isoformat(),
                "model": row.model or "",
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "method": one.method,
                "n_items": row.items,
            }
            for row, one in known
        ]
        return Order("course", "Drawing", {"points": points, "what": what, "bounds": (0.0, 1.0)})

    def preview_order(self, now: Snapshot, upload: Upload) -> Order:
        arguments = {"file": str(upload.path), "about": dict(upload.about)}
        return Order("preview", f"Reading {upload.name}", arguments, (now.versions[0],), self._about_files())

    def add_order(self, upload: Upload) -> Order:
        checked_name("round", str(upload.about.get("round") or ""))
        arguments = {"file": str(upload.path), "about": dict(upload.about)}
        return Order("add", f"Adding {upload.about['round']}", arguments, (), self._about_files())

    def draw_order(self, round: str, asked: Mapping[str, Any], expert: str | None) -> Order:
        """A new queue for a round; the next one is other work though it may be asked for in the same words."""
        what = "battles" if self.latest.now().log.find(round).is_votes else "items"
        queue = self.desk.queue(round)
        arguments = {"round": round, "asked": dict(asked), "expert": expert, "number": self.desk.n_queues(round)}
        behind = (None if queue is None else queue.queue,)
        return Order("gold_queue", f"Choosing {what} of {round}", arguments, behind, {"store": self.settings.store})

    def progress_order(self, round: str) -> Order:
        """What the answers so far tell."""
        answers = self.desk.n_records(round)
        now = self.latest.now()
        past = tuple((row.round, row.version) for row in now.history(round))
        arguments = {"round": round}
        more = {"store": self.settings.store, "saved": self.settings.save}
        return Order("gold_progress", f"What the gold of {round} tells", arguments, (answers, past), more)

    def _about_files(self) -> dict[str, Any]:
        return {"store": self.settings.store, "most": self.settings.most_unpacked}

    def _order(
        self,
        kind: str,
        title: str,
        now: Snapshot,
        behind: Sequence[Entry],
        arguments: Mapping[str, Any],
        **more: Any,
    ) -> Order:
        also: dict[str, Any] = {"store": self.settings.store, "version": now.version, **more}
        return Order(kind, title, arguments, tuple((row.round, row.version) for row in behind), also)


def question_of(now: Snapshot, asked: str | None) -> str | None:
    """The question that a page is about: as asked, else that of the latest round; None in an empty store."""
    if asked is not None and asked not in now.questions:
        there = name_some(now.questions, 12) or "none yet"
        raise wrong("E403", f"the store has no question {asked!r}. Questions: {there}.")
    return asked or (now.questions[0] if now.questions else None)


def ranked_by(now: Snapshot, question: str, choice: RankingOptions) -> str:
    """Whether models are ranked by rates or by votes; E201 for a word that is neither."""
    if choice.by is not None:
        if choice.by not in WAYS_TO_RANK:
            raise wrong("E201", f"by is {choice.by!r}. Known: {', '.join(map(repr, WAYS_TO_RANK))}")
        return choice.by
    rows = now.rounds(question)
    return "votes" if rows and rows[-1].is_votes else "rates"


def columns_to_choose_by(now: Snapshot, question: str, by: str) -> list[str]:
    """The columns of items, or of votes, of the question's rounds."""
    rows = [row for row in now.rounds(question) if row.is_votes == (by == "votes")]
    return list(dict.fromkeys(name for row in reversed(rows) for name in vote_columns(row)))[:60]


def ranked_rounds(now: Snapshot, question: str, until: datetime.date | None) -> tuple[list[Entry], dict[str, str]]:
    """The newest round of each model up to a day, and the rounds that no leaderboard can place, with why."""
    if all(row.is_votes for row in now.rounds(question)):
        return [], {}
    rows = newest_of_models(now.log, question, until=until)
    skipped = {}
    for row in now.rounds(question):
        if until is not None and row.date is None and not row.is_votes:
            skipped[row.round] = "it has no date"
        elif not row.is_votes and row.model is None and (until is None or row.date is None or row.date <= until):
            skipped[row.round] = "nobody said of which model it is"
    return rows, skipped


def models_at_first(now: Snapshot, question: str) -> list[Entry]:
    """The latest round of each model, the newest models, oldest first."""
    latest: dict[str, Entry] = {}
    for row in now.rounds(question):
        if row.is_votes:
            continue
        key = f"model {row.model}" if row.model else f"round {row.round}"
        latest.pop(key, None)
        latest[key] = row
    return list(latest.values())[-MODELS_AT_FIRST:]
