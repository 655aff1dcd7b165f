"""The desk at which experts answer: nobody gets another's item, nothing is counted twice, nothing is forgotten."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hero_eval as hero
from hero_eval.errors import HeroError
from hero_eval.store.gold_records import ExpertQueue, read_records, write_queue
from hero_eval.web.gold_desk import GAP, LEASE, GoldDesk, choices_of, left_side

pytestmark = pytest.mark.slow  # every answer is synced to the disk

ROUND = "r"


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def place(tmp_path: Path) -> Path:
    hero.create_store(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[..., GoldDesk]


@pytest.fixture
def make(place: Path, clock: Clock) -> Make:
    def made(n_items: int = 6, twice: int = 0, **options: Any) -> GoldDesk:
        drawn = tuple(f"i{number}" for number in range(n_items))
        known = {"classes": ["0", "1"], "columns": {}, "names": {}, "question": "", "sides": None, **options}
        queue = ExpertQueue("q1", ROUND, "random", 0, drawn, drawn[:twice], drawn, (1.0,) * n_items, known)
        write_queue(hero.open_store(place).place, queue)
        return GoldDesk(str(place), clock)

    return made


def take(desk: GoldDesk, expert: str) -> Any:
    return desk.next(ROUND, expert)


def give(desk: GoldDesk, expert: str, gold: str = "1", **more: Any) -> Any:
    """Answer the item that this expert has."""
    showing = take(desk, expert)
    return desk.answer(ROUND, expert, id=showing.id, item=showing.item, gold=gold, **more)


def test_two_experts_have_different_items(make: Make) -> None:
    """The dearest labels of all would be paid for twice."""
    desk = make()
    assert take(desk, "eve").item == take(desk, "eve").item == "i0"
    assert take(desk, "ada").item == "i1"
    give(desk, "eve")
    assert take(desk, "eve").item == "i2"


def test_an_item_that_nobody_answers_goes_to_the_next(make: Make, clock: Clock) -> None:
    """Whoever went to lunch would keep an item for ever; and what they then answer would be refused."""
    desk = make(2)
    late = take(desk, "eve")
    clock.now += LEASE + 1
    assert take(desk, "ada").item == "i0"
    give(desk, "ada", "0")
    made = desk.answer(ROUND, "eve", id=late.id, item=late.item, gold="1")
    assert made.second
    assert [one.gold for one in read_records(desk.place)] == ["0", "1"]
    assert desk.status(ROUND).agreement.differing == ("i0",)


def test_an_answer_that_is_sent_twice_counts_once(make: Make, place: Path) -> None:
    """A retry after a lost reply would be taken for a second opinion; also by a server that was started anew."""
    desk = make()
    first = give(desk, "eve")
    assert desk.answer(ROUND, "eve", id=first.id, item=first.item, gold="1") == first
    anew = GoldDesk(str(place))
    assert anew.answer(ROUND, "eve", id=first.id, item=first.item, gold="0").gold == "1"
    assert len(read_records(desk.place)) == 1


def test_some_items_are_answered_by_two(make: Make) -> None:
    """Nobody would know how well experts agree."""
    desk = make(4, twice=2)
    for _ in range(4):
        give(desk, "eve")
    seen = []
    while (showing := take(desk, "ada")) is not None:
        seen.append(showing.item)
        give(desk, "ada", "0" if showing.item == "i0" else "1")
    assert seen == ["i0", "i1"]
    found = desk.status(ROUND)
    assert (found.answered, found.second, found.left) == (4, 2, 0)
    assert (found.agreement.items, found.agreement.same) == (2, 1)
    assert take(desk, "eve") is None


def test_an_expert_who_is_alone_is_asked_again_later(make: Make) -> None:
    """A team with one expert could not know how sure that expert is."""
    desk = make(GAP + 2, twice=1)
    seen = []
    while (showing := take(desk, "eve")) is not None:
        seen.append(showing.item)
        give(desk, "eve")
    assert seen == [*(f"i{number}" for number in range(GAP + 2)), "i0"]
    assert desk.status(ROUND).agreement.own_same == 1


def test_what_was_skipped_goes_to_somebody_else(make: Make) -> None:
    """An item that one expert cannot judge would come again and again, or be lost."""
    desk = make(2)
    showing = take(desk, "eve")
    desk.skip(ROUND, "eve", id=showing.id, item=showing.item, reason="not my field", note="law")
    assert take(desk, "eve").item == "i1"
    assert take(desk, "ada").item == "i0"
    give(desk, "eve")
    assert take(desk, "eve") is None
    assert desk.status(ROUND).skipped == 1
    with pytest.raises(HeroError, match="E524"):
        desk.skip(ROUND, "eve", id="x" * 10, item="i0", reason="lazy")


def test_undo_brings_the_item_back(make: Make) -> None:
    """A slip of the finger would be gold."""
    desk = make()
    give(desk, "eve", note="not sure")
    give(desk, "eve")
    desk.undo(ROUND, "eve")
    assert take(desk, "eve").item == "i1"
    desk.undo(ROUND, "eve")
    again = take(desk, "eve")
    assert (again.item, again.note) == ("i0", "not sure")
    with pytest.raises(HeroError, match="E525"):
        desk.undo(ROUND, "eve")
    assert desk.status(ROUND).answered == 0
    give(desk, "eve", "0")
    assert [one.action for one in read_records(desk.place)] == ["answer", "answer", "undo", "undo", "answer"]
    assert desk.status(ROUND).answered == 1


def test_two_servers_lose_nothing(make: Make, place: Path) -> None:
    """What one server took would be unknown to the other, or overwritten."""
    one = make(3)
    two = GoldDesk(str(place))
    give(one, "eve")
    assert take(two, "ada").item == "i1"
    here, there = take(one, "eve"), take(two, "ada")
    assert here.item == there.item == "i1"  # who has which item is known to one server alone
    one.answer(ROUND, "eve", id=here.id, item="i1", gold="1")
    assert two.answer(ROUND, "ada", id=there.id, item="i1", gold="0").second
    assert one.status(ROUND).answered == two.status(ROUND).answered == 2


def test_many_experts_at_once(make: Make) -> None:
    """Threads would hand out an item twice, or lose an answer."""
    desk = make(24)
    wrong: list[BaseException] = []

    def work(expert: str) -> None:
        try:
            while take(desk, expert) is not None:
                give(desk, expert)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(f"expert {number}",)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert Counter(one.item for one in read_records(desk.place)) == {f"i{number}": 1 for number in range(24)}


def test_what_cannot_be_is_refused(make: Make) -> None:
    """A slip in a program would be gold."""
    desk = make()
    showing = take(desk, "eve")
    for code, asked in (
        ("E524", {"gold": "2"}),
        ("E523", {"item": "nothing"}),
        ("E508", {"id": "../../x"}),
    ):
        with pytest.raises(HeroError, match=code):
            desk.answer(ROUND, "eve", **{"id": showing.id, "item": showing.item, "gold": "1", **asked})
    for name in ("", " x", "x" * 200, "a\nb"):
        with pytest.raises(HeroError, match="E521"):
            desk.next(ROUND, name)
    with pytest.raises(HeroError, match="E522"):
        desk.next("another", "eve")
    assert not read_records(desk.place)


def test_two_answers_stand_in_random_order(make: Make) -> None:
    """Whoever prefers the left one would decide which model wins; the key would mean the other side."""
    pair = {"columns": ["one", "two"], "classes": ["A", "B"]}
    desk = make(40, classes=["A", "B", "tie"], sides=pair)
    queue = desk.queue(ROUND)
    assert queue is not None
    left = [left_side(queue, item, "eve") for item in queue.drawn]
    assert 8 <= left.count("A") <= 32
    assert left == [left_side(queue, item, "eve") for item in queue.drawn]
    for item, side in zip(queue.drawn[:6], left, strict=False):
        showing = take(desk, "eve")
        assert (showing.item, showing.left) == (item, side)
        assert showing.sides == (("one", "two") if side == "A" else ("two", "one"))
        assert [one.value for one in showing.choices] == [side, "tie", "B" if side == "A" else "A"]
        chosen = desk.choice(ROUND, "eve", item, "0")
        assert desk.answer(ROUND, "eve", id=showing.id, item=item, gold=chosen).left == chosen == side


def test_keys_are_what_people_would_press(make: Make) -> None:
    """Pressing 4 would give a 5."""
    queue = make(1, classes=["1", "2", "3", "4", "5"]).queue(ROUND)
    assert queue is not None
    assert [one.key for one in choices_of(queue, None)] == ["1", "2", "3", "4", "5"]
    named = ExpertQueue(**{**vars(queue), "options": {**queue.options, "classes": ["good", "bad"]}})
    assert [(one.value, one.key) for one in choices_of(named, None)] == [("good", "1"), ("bad", "2")]
