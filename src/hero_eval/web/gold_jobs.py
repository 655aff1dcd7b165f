"""What the working process does for experts: draw a queue, make answers gold, and say what they have done so far."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.classes import common_classes
from hero_eval.documents import plain
from hero_eval.errors import HeroError, wrong
from hero_eval.round import Round
from hero_eval.store.estimates import asked_of, make
from hero_eval.store.folding import fold_answers
from hero_eval.store.gold_records import ExpertQueue, read_queues, read_records, write_queue
from hero_eval.targets.win_rate import win_worth
from hero_eval.web.gold_queue_parts import LITTLE, NUMBERS, TEN, answered_twice, check_size, save_estimate
from hero_eval.web.item_view import LONGEST_TEXT
from hero_eval.web.jobs import Result, findings_document, steps, told_of
from hero_eval.web.process import Tell
from hero_eval.web.vote_gold_jobs import draw_battles, vote_progress


def draw_queue(tell: Tell, store: str, round: str, asked: Mapping[str, Any], expert: str | None, number: int) -> Result:
    """Draw items for experts, and keep the queue; `number` tells it from those drawn before with the same words."""
    opened = hero.open_store(store)
    if opened.find(round).is_votes:
        return draw_battles(tell, opened, round, asked, expert, number)
    tell("Reading the round and its history", 0, 0)
    fold_answers(opened, round)
    current, history = opened.round(round), opened.history(round)
    classes = list(asked["classes"]) or list(common_classes([current, *history]))
    tell("Choosing items", 0, 0)
    seed = int(asked["seed"]) + number
    pair = _sides(classes, asked["columns"])
    target = "rate" if pair is None else "win_rate"
    drawn, probability = chosen_items(current, history, int(asked["count"]), seed, str(asked["way"]), target)
    rng = np.random.default_rng([seed, 2])
    order = [drawn[place] for place in rng.permutation(len(drawn))]
    twice = answered_twice(order, float(asked["twice"]), rng)
    options = {
        "classes": classes,
        "columns": dict(asked["columns"]),
        "names": dict(asked["names"]),
        "question": asked["question"],
        "sides": pair,
    }
    queue = ExpertQueue(
        queue=uuid.uuid4().hex[:16],
        round=round,
        way=str(asked["way"]),
        seed=seed,
        drawn=tuple(order),
        twice=twice,
        items=tuple(str(one) for one in current.item_ids),
        probability=tuple(float(one) for one in probability),
        options=options,
        contents=_contents(current, order, list(asked["columns"])),
        expert=expert,
    )
    write_queue(opened.place, queue)
    return Result({"round": round, "queue": queue.queue, "items": len(order), "twice": len(twice), "way": queue.way})


def chosen_items(
    current: Round, history: Sequence[Round], count: int, seed: int, way: str, target: str = "rate"
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """The items, and for each item of the round how probable it was to be among them; E527 if all have gold."""
    bare = np.flatnonzero(current.gold < 0)
    if not len(bare):
        raise wrong("E527", f"every item of round {current.name!r} has gold already: {current.n_gold} items")
    size = min(count, len(bare))
    if way == "routed":
        queue = hero.choose_gold(current, list(history) or None, count=size, seed=seed, target=target)
        known = dict(zip(map(str, queue.draws[0].ids), queue.draws[0].now, strict=True))
        return list(queue.items), np.array([known[str(item)] for item in current.item_ids], np.float64)
    rng = np.random.default_rng([seed, 1])
    picked = np.sort(rng.permutation(bare)[:size])
    return [str(current.item_ids[place]) for place in picked], np.full(current.n_items, size / len(bare))


def _sides(classes: Sequence[str], columns: Mapping[str, str]) -> dict[str, Any] | None:
    """The two columns that are compared, and the classes that say which is better."""
    shown = {kind: name for name, kind in columns.items() if kind in ("side A", "side B")}
    if not shown:
        return None
    _, (wins, loses, _) = win_worth(classes, (None, None, None), "half")
    return {"columns": [shown["side A"], shown["side B"]], "classes": [wins, loses]}


def _contents(current: Round, items: Sequence[str], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """What is shown of each item; E527 if it is too much to keep."""
    place = {str(item): at for at, item in enumerate(current.item_ids)}
    known = {name: current.texts(name) for name in columns}
    found = {item: {name: texts[place[item]][: 2 * LONGEST_TEXT] for name, texts in known.items()} for item in items}
    check_size(found)
    return found


# How far it is


def gold_progress(tell: Tell, store: str, round: str, saved: bool = True) -> Result:
    """Make answers gold, estimate, and say in words what is known now and what ten more answers would do."""
    opened = hero.open_store(store)
    tell("Making answers gold", 0, 0)
    n_records = len(read_records(opened.place, round))
    folded = fold_answers(opened, round)
    if folded.entry.is_votes:
        return vote_progress(tell, opened, round, n_records, folded, saved)
    queues = read_queues(opened.place, round)
    command = "winrate" if queues and queues[-1].options.get("sides") else "estimate"
    tell("Estimating", 0, 0)
    document: dict[str, Any] = {
        "round": round,
        "gold": folded.entry.gold,
        "records": n_records,
        "from_page": folded.gold,
        "findings": findings_document(told_of(folded.findings)),
    }
    try:
        # experts look at it after every few answers, so it must hold at every look
        asked = asked_of(command, round, {"interval": "anytime"})
        recorded = make(opened, asked, steps(tell, "Learning from history"))
    except HeroError as error:
        said = {"value": None, "low": None, "high": None, "level": 0.95, "answer": str(error.problems[0].message)}
        return Result(dict(plain({**document, **said, "expected": "", "estimate": None})))
    if saved:
        save_estimate(opened, recorded)
    estimate = recorded.result
    low, high = estimate.interval()
    said = {
        "value": estimate.value,
        "low": low,
        "high": high,
        "level": estimate.level,
        "answer": phrasing.headline(estimate),
        "expected": expected_of_ten(opened, round, estimate),
        "estimate": recorded.estimate if saved else None,
    }
    document["findings"] += findings_document(told_of([one for one in estimate.findings if one.doubts_interval]))
    return Result(dict(plain({**document, **said})))


def expected_of_ten(store: hero.Store, round: str, estimate: hero.Estimate) -> str:
    """What ten more answers are expected to do to the interval, by the plan; empty where it cannot tell."""
    current = store.round(round)
    left = current.n_items - current.n_gold
    if not left or estimate.target != "rate" or not math.isfinite(estimate.value):
        return ""
    count = min(TEN, left)
    try:
        made = hero.plan(current, store.history(round) or None, budget=float(count), costs={"gold": 1.0})
    except HeroError:
        return ""
    if made.best is None or not made.width > 0.0 or not math.isfinite(made.best.width):
        return ""
    low, high = estimate.interval()
    return narrowing(high - low, (high - low) * made.best.width / made.width, count)


def narrowing(now: float, then: float, count: int) -> str:
    """The width of an interval of a rate now and after so many answers, in points of 100."""
    answers = "The next answer is" if count == 1 else f"The next {NUMBERS.get(count, str(count))} answers are"
    wide = f"{100 * now:.0f} points wide now, and holds at every look"
    if then > LITTLE * now:
        return f"It is {wide}. {answers} expected to change little."
    return f"It is {wide}. {answers} expected to make it about {100 * then:.0f}."
