"""The desk at which experts answer: who has which item, and what becomes of an answer.

An item that is shown to an expert is theirs for a while, so that no other gets it; if they do not answer, the next one
does. That is kept in memory and lost with the server, which costs nothing: an answer is never refused because its time
is over, and if somebody else was faster it is a second answer. An answer is in the store before anybody is told of it.
"""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.store import delta
from hero_eval.store.gold_records import (
    ExpertAgreement,
    ExpertQueue,
    GoldRecord,
    StandingAnswers,
    agreement,
    read_queues,
    read_records,
    standing,
    version_of_answers,
    write_record,
)

LEASE = 900.0
"""Seconds for which an item is an expert's alone."""

GAP = 5
"""Other items between two answers of one expert to the same item."""

LONGEST_NAME = 80
LONGEST_NOTE = 4_000
REASONS = ("unclear question", "cannot be judged", "does not load", "not my field", "other")

YES_AND_NO = {"0": "no", "1": "yes"}


@dataclass(frozen=True)
class Choice:
    """A possible answer: the class, what the button says, and the key that gives it."""

    value: str
    text: str
    key: str


@dataclass(frozen=True)
class Showing:
    """An item in front of an expert."""

    id: str
    queue: ExpertQueue
    item: str
    number: int
    """Its place among those that this expert has seen."""
    choices: tuple[Choice, ...]
    left: str | None
    """The class of the left one of two answers."""
    note: str = ""
    """What the expert had noted before taking the answer back."""

    @property
    def contents(self) -> Mapping[str, Any]:
        return self.queue.contents.get(self.item, {})

    @property
    def sides(self) -> tuple[str, str] | None:
        """The columns on the left and on the right, if two answers are compared."""
        return sides_of(self.queue, self.left)


@dataclass(frozen=True)
class QueueStatus:
    """How far a queue is."""

    queue: ExpertQueue
    answered: int
    skipped: int
    left: int
    """Items that nobody has answered yet."""
    second: int
    """Second answers given."""
    experts: tuple[str, ...]
    agreement: ExpertAgreement
    in_round: int
    """Items of the round answered on the page, in this queue or an earlier one."""


@dataclass
class _Lease:
    expert: str
    until: float
    id: str
    since: float
    note: str = ""


@dataclass
class _RoundDesk:
    """One round's queues and records."""

    queues: list[ExpertQueue]
    records: list[GoldRecord]

    def __post_init__(self) -> None:
        self.held: StandingAnswers = standing(self.records)

    def add(self, record: GoldRecord) -> None:
        self.records.append(record)
        self.held = standing(self.records)

    @property
    def queue(self) -> ExpertQueue | None:
        """The one that is open: the latest."""
        return self.queues[-1] if self.queues else None


class GoldDesk:
    """All rounds of a store, for many threads."""

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.place = delta.place_of(path, None)
        self._lock = threading.Lock()
        self._clock = clock
        self._rounds: dict[str, _RoundDesk] = {}
        self._seen: tuple[int, int] | None = None
        self._leases: dict[tuple[str, str], _Lease] = {}

    # What is there

    def queue(self, round: str) -> ExpertQueue | None:
        """The open queue of a round."""
        with self._lock:
            return self._round(round).queue

    def status(self, round: str) -> QueueStatus:
        """How far the open queue is; E522 if there is none."""
        with self._lock:
            desk = self._round(round)
            queue = self._open(desk, round)
            own = [one for one in desk.held.records if one.queue == queue.queue]
            answered = [item for item in queue.drawn if item in desk.held.gold]
            skipped = {one.item for one in own if one.action == "skip"} - set(answered)
            return QueueStatus(
                queue,
                len(answered),
                len(skipped),
                len(queue.drawn) - len(answered),
                sum(one.second for one in own if one.action == "answer"),
                tuple(dict.fromkeys(one.expert for one in own)),
                agreement(desk.held),
                len(desk.held.gold),
            )

    def rounds(self) -> dict[str, ExpertQueue]:
        """The open queue of each round that has one."""
        with self._lock:
            self._refresh()
            return {name: one.queue for name, one in self._rounds.items() if one.queue is not None}

    def n_queues(self, round: str) -> int:
        with self._lock:
            return len(self._round(round).queues)

    def last(self, round: str, expert: str) -> GoldRecord | None:
        """What an expert did last in the open queue, be it to take something back."""
        with self._lock:
            desk = self._round(round)
            own = [one for one in desk.records if desk.queue and _is_of(one, desk.queue, expert)]
            return own[-1] if own else None

    def can_undo(self, round: str, expert: str) -> bool:
        """Whether something of theirs in the open queue can be taken back."""
        with self._lock:
            desk = self._round(round)
            return any(desk.queue is not None and _is_of(one, desk.queue, expert) for one in desk.held.records)

    def unfolded(self, since: Mapping[str, Any]) -> list[str]:
        """Rounds with records that are younger than these moments."""
        with self._lock:
            self._refresh()
            last = {name: one.records[-1].written for name, one in self._rounds.items() if one.records}
            return [
                name for name, then in last.items() if name in since and (since[name] is None or then > since[name])
            ]

    def n_records(self, round: str) -> int:
        """How many things experts have done in a round; grows with each."""
        with self._lock:
            return len(self._round(round).records)

    # What experts do

    def next(self, round: str, expert: str) -> Showing | None:
        """The item that this expert has, or the next one; None if there is none for them."""
        checked_expert(expert)
        with self._lock:
            desk = self._round(round)
            queue = self._open(desk, round)
            now = self._clock()
            self._leases = {key: one for key, one in self._leases.items() if one.until > now}
            item = self._leased(queue, expert) or self._fresh(desk, queue, expert)
            if item is None:
                return None
            lease = self._leases.setdefault((queue.queue, item), _Lease(expert, now, uuid.uuid4().hex, now))
            lease.until = now + LEASE
            left = left_side(queue, item, expert)
            number = 1 + len({one.item for one in desk.held.records if _is_of(one, queue, expert)})
            return Showing(lease.id, queue, item, number, choices_of(queue, left), left, lease.note)

    def choice(self, round: str, expert: str, item: str, place: str) -> str:
        """The class behind a button, by its place: what stands on the left is known here and not in the page."""
        with self._lock:
            _, queue = self._at(round, item)
            choices = choices_of(queue, left_side(queue, item, expert))
            if not place.isdecimal() or int(place) >= len(choices):
                raise wrong("E524", f"the answer is {place[:40]!r}. It is the number of a button, from 0")
            return choices[int(place)].value

    def answer(
        self,
        round: str,
        expert: str,
        *,
        id: str,
        item: str,
        gold: str,
        note: str = "",
    ) -> GoldRecord:
        """Keep an answer; when this returns it is in the store. The same `id` twice is one answer."""
        with self._lock:
            desk, queue = self._at(round, item)
            classes = queue.options["classes"]
            if gold not in classes:
                raise wrong("E524", f"the answer is {gold[:100]!r}. Answers: {name_some(classes, 12)}")
            record = GoldRecord(
                id=checked_id(id),
                queue=queue.queue,
                round=round,
                action="answer",
                item=item,
                expert=checked_expert(expert),
                gold=gold,
                second=item in desk.held.gold,
                left=left_side(queue, item, expert),
                note=note.strip()[:LONGEST_NOTE] or None,
                seconds=self._since_shown(queue, item, expert),
            )
            return self._keep(desk, record)

    def skip(self, round: str, expert: str, *, id: str, item: str, reason: str, note: str = "") -> GoldRecord:
        """Keep that an expert did not answer, and why; the item goes to somebody else."""
        if reason not in REASONS:
            raise wrong("E524", f"the reason is {reason[:100]!r}. Reasons: {', '.join(REASONS)}")
        with self._lock:
            desk, queue = self._at(round, item)
            who = checked_expert(expert)
            record = GoldRecord(
                checked_id(id),
                queue.queue,
                round,
                "skip",
                item,
                who,
                note=note.strip()[:LONGEST_NOTE] or None,
                reason=reason,
            )
            return self._keep(desk, record)

    def undo(self, round: str, expert: str) -> GoldRecord:
        """Take back what this expert did last in the open queue, and give them the item again; E525 if nothing is."""
        with self._lock:
            desk = self._round(round)
            queue = self._open(desk, round)
            own = [one for one in desk.held.records if _is_of(one, queue, checked_expert(expert))]
            if not own:
                raise wrong("E525", f"{expert!r} has given no answer in this queue that could be taken back")
            last = own[-1]
            for key in [key for key, one in self._leases.items() if one.expert == expert]:
                del self._leases[key]
            id = uuid.uuid4().hex
            made = self._keep(desk, GoldRecord(id, queue.queue, round, "undo", last.item, expert, of=last.id))
            now = self._clock()
            self._leases[(queue.queue, last.item)] = _Lease(expert, now + LEASE, uuid.uuid4().hex, now, last.note or "")
            return made

    # How

    def _at(self, round: str, item: str) -> tuple[_RoundDesk, ExpertQueue]:
        """The desk of a round and the queue that has the item, the latest first; E523 if none has."""
        desk = self._round(round)
        self._open(desk, round)
        found = next((queue for queue in reversed(desk.queues) if item in queue.drawn), None)
        if found is None:
            raise wrong("E523", f"no queue of round {round!r} has the item {item[:100]!r}")
        return desk, found

    def _since_shown(self, queue: ExpertQueue, item: str, expert: str) -> float | None:
        lease = self._leases.get((queue.queue, item))
        return round_(self._clock() - lease.since) if lease is not None and lease.expert == expert else None

    def _keep(self, desk: _RoundDesk, record: GoldRecord) -> GoldRecord:
        known = next((one for one in desk.records if one.id == record.id), None)
        if known is not None:  # it was sent again: whoever sent it did not hear that it had arrived
            return known
        last = desk.records[-1].written if desk.records else None
        made = write_record(self.place, record, last)
        desk.add(made)
        if self._seen is not None and version_of_answers(self.place) == self._seen[1] + 1:
            self._seen = (self._seen[0], self._seen[1] + 1)
        lease = self._leases.get((record.queue, record.item))
        if lease is not None and lease.expert == record.expert:
            del self._leases[(record.queue, record.item)]
        return made

    def _round(self, name: str) -> _RoundDesk:
        self._refresh()
        return self._rounds.setdefault(name, _RoundDesk([], []))

    def _refresh(self) -> None:
        """Read again if the store has records that were not written here."""
        listed = delta.list_log(self.place, "queues")
        drawn = listed.last if listed is not None else len(read_queues(self.place)) - 1
        now = (drawn, version_of_answers(self.place))
        if now == self._seen:
            return
        queues, records = read_queues(self.place), read_records(self.place)
        names = {one.round for one in queues} | {one.round for one in records}
        self._rounds = {
            name: _RoundDesk(
                lightened([one for one in queues if one.round == name]), [one for one in records if one.round == name]
            )
            for name in names
        }
        self._seen = now

    def _open(self, desk: _RoundDesk, round: str) -> ExpertQueue:
        if desk.queue is None:
            raise wrong("E522", f"round {round!r} has no queue of items for experts yet")
        return desk.queue

    def _leased(self, queue: ExpertQueue, expert: str) -> str | None:
        """The item that the expert has already."""
        mine = [key[1] for key, one in self._leases.items() if one.expert == expert and key[0] == queue.queue]
        return next((item for item in mine if item in queue.drawn), None)

    def _fresh(self, desk: _RoundDesk, queue: ExpertQueue, expert: str) -> str | None:
        """The first item that nobody has, in the order of the queue; then one to be answered a second time."""
        taken = {key[1] for key, one in self._leases.items() if key[0] == queue.queue and one.expert != expert}
        seen = {one.item for one in desk.held.records if one.expert == expert}
        answers: dict[str, list[str]] = {}
        for one in desk.held.records:
            if one.action == "answer":
                answers.setdefault(one.item, []).append(one.expert)
        twice = set(queue.twice)
        for item in queue.drawn:
            wanted = 2 if item in twice else 1
            if item not in taken and item not in seen and len(answers.get(item, ())) < wanted:
                return item
        return self._once_more(desk, queue, expert, taken, answers)

    def _once_more(
        self, desk: _RoundDesk, queue: ExpertQueue, expert: str, taken: set[str], answers: Mapping[str, Sequence[str]]
    ) -> str | None:
        """An expert who is alone answers some of their own items again, not right after the first time."""
        own = [one for one in desk.held.records if one.queue == queue.queue]
        if {one.expert for one in own} - {expert}:
            return None
        recent = {one.item for one in own[-GAP:]}
        again = (item for item in queue.twice if list(answers.get(item, ())) == [expert])
        return next((item for item in again if item not in taken and item not in recent), None)


def lightened(queues: Sequence[ExpertQueue]) -> list[ExpertQueue]:
    """Queues without what the desk does not need: the probabilities, and what is shown of items whose queue is over."""
    last = len(queues) - 1
    return [
        replace(one, items=(), probability=(), contents=one.contents if place == last else {})
        for place, one in enumerate(queues)
    ]


def round_(seconds: float) -> float:
    return float(f"{seconds:.1f}")


def _is_of(record: GoldRecord, queue: ExpertQueue, expert: str) -> bool:
    return record.queue == queue.queue and record.expert == expert


def checked_expert(name: str) -> str:
    """E521 unless it is a name that a person can read back."""
    if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise wrong("E521", f"the name is {name[:100]!r}. It is 1 to {LONGEST_NAME} printable characters")
    return name


def checked_id(id: str) -> str:
    if not (8 <= len(id) <= 64 and id.isascii() and id.isalnum()):
        raise wrong("E508", f"the id is {id[:80]!r}. It is 8 to 64 letters and digits")
    return id


def left_side(queue: ExpertQueue, item: str, expert: str) -> str | None:
    """Which of two classes stands on the left: by chance, the same for this expert and item whenever it is shown."""
    pair = queue.options.get("sides")
    if not pair:
        return None
    drawn = hashlib.sha256(f"{queue.queue}\0{queue.seed}\0{item}\0{expert}".encode()).digest()[0]
    return str(pair["classes"][drawn % 2])


def sides_of(queue: ExpertQueue, left: str | None) -> tuple[str, str] | None:
    pair = queue.options.get("sides")
    if not pair or left is None:
        return None
    first, second = pair["columns"]
    return (first, second) if left == pair["classes"][0] else (second, first)


def choices_of(queue: ExpertQueue, left: str | None) -> tuple[Choice, ...]:
    """The answers with their keys: a digit is its own key, others are numbered; of two sides the left one is 1."""
    classes = [str(one) for one in queue.options["classes"]]
    if left is not None:
        a, b = queue.options["sides"]["classes"]
        right = b if left == a else a
        rest = [one for one in classes if one not in (a, b)]
        called = queue.options.get("names", {})
        named = [(left, "Left is better"), *((one, called.get(one, one)) for one in rest), (right, "Right is better")]
        return tuple(Choice(value, text, str(place)) for place, (value, text) in enumerate(named, start=1))
    called = {**(YES_AND_NO if set(classes) == {"0", "1"} else {}), **queue.options.get("names", {})}
    if all(len(one) == 1 and one.isdigit() for one in classes):
        return tuple(Choice(one, called.get(one, one), one) for one in classes)
    return tuple(
        Choice(one, called.get(one, one), str(place) if place < 10 else "")
        for place, one in enumerate(classes, start=1)
    )
