"""What the working process does for experts who judge battles: draw a queue, and say what their answers have done."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.documents import plain
from hero_eval.errors import HeroError, wrong
from hero_eval.store.battle_draws import battle_scores, chosen_battles, open_battles
from hero_eval.store.battle_gold import BATTLE_CLASSES, shown_of_battles
from hero_eval.store.estimates import asked_of, make
from hero_eval.store.folding import Folded, fold_answers
from hero_eval.store.gold_records import ExpertQueue, read_queues, read_records, standing, write_queue
from hero_eval.targets.battles import gold_foresight
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.web.gold_queue_parts import LITTLE, NUMBERS, TEN, answered_twice, check_size, save_estimate
from hero_eval.web.item_view import LONGEST_TEXT
from hero_eval.web.jobs import Result, findings_document, steps, told_of
from hero_eval.web.process import Tell

CALLED = {"tie": "Both are as good", "both bad": "Both are bad"}


def draw_battles(
    tell: Tell, opened: hero.Store, round: str, asked: Mapping[str, Any], expert: str | None, number: int
) -> Result:
    """Draw battles for experts, and keep the queue; `number` tells it from those drawn before with the same words."""
    sides = {kind: name for name, kind in asked["columns"].items() if kind in ("side A", "side B")}
    if len(sides) < 2:
        raise wrong(
            "E527",
            "experts compare two answers: say which column is side A (the answer of model_a) and which is side B. "
            "Votes without such columns cannot be judged here; their gold comes as a table: hero add --gold",
        )
    tell("Reading the votes", 0, 0)
    fold_answers(opened, round)
    rows = opened.rows(opened.find(round))
    battles, may = open_battles(opened, round)
    tell("Choosing battles", 0, 0)
    seed, routed = int(asked["seed"]) + number, asked["way"] == "routed"
    score = battle_scores(opened, round, battles, steps(tell, "Ranking")) if routed else np.zeros(len(battles))
    rng = np.random.default_rng([seed, 1])
    drawn, probability = chosen_battles(battles, may, score, int(asked["count"]), rng)
    order = [battles[place] for place in rng.permutation(drawn)]
    columns = list(asked["columns"])
    shown = shown_of_battles(rows, order, columns, (sides["side A"], sides["side B"]), 2 * LONGEST_TEXT)
    check_size(shown)
    options = {
        "classes": list(BATTLE_CLASSES),
        "columns": dict(asked["columns"]),
        "names": {**CALLED, **asked["names"]},
        "question": asked["question"],
        "sides": {"columns": [sides["side A"], sides["side B"]], "classes": ["A", "B"]},
        "pairs": {one.id: list(one.models) for one in order},
    }
    queue = ExpertQueue(
        queue=uuid.uuid4().hex[:16],
        round=round,
        way=str(asked["way"]),
        seed=seed,
        drawn=tuple(one.id for one in order),
        twice=answered_twice([one.id for one in order], float(asked["twice"]), rng),
        items=tuple(one.id for one in battles),
        probability=tuple(float(one) for one in probability),
        options=options,
        contents=shown,
        expert=expert,
    )
    write_queue(opened.place, queue)
    return Result(
        {"round": round, "queue": queue.queue, "items": len(order), "twice": len(queue.twice), "way": queue.way}
    )


# How far it is


def vote_progress(tell: Tell, store: hero.Store, round: str, n_records: int, folded: Folded, saved: bool) -> Result:
    """Rank with the gold there is, and say in words what is known now and what ten more answers would do."""
    document: dict[str, Any] = {
        "round": round,
        "gold": len(standing(read_records(store.place, round)).gold),
        "records": n_records,
        "from_page": folded.gold,
        "findings": findings_document(told_of(folded.findings)),
    }
    try:
        recorded = make(store, asked_of("arena", round, {}), steps(tell, "Ranking"))
    except HeroError as error:
        said = {"value": None, "low": None, "high": None, "level": 0.95, "answer": str(error.problems[0].message)}
        return Result(dict(plain({**document, **said, "expected": "", "estimate": None})))
    if saved:
        save_estimate(store, recorded)
    board: Leaderboard = recorded.result
    pairs = board.pair_columns()
    first, second = board.order[:2]
    at = next(
        at for at, pair in enumerate(zip(pairs["better"], pairs["worse"], strict=True)) if set(pair) == {first, second}
    )
    value, low, high = (float(pairs[name][at]) for name in ("elo", "low", "high"))
    said = {
        "value": value,
        "low": low,
        "high": high,
        "level": board.level,
        "answer": phrasing.leaderboard(board),
        "expected": lead_text(board, high - low, _next_pairs(store, round, board)),
        "estimate": recorded.estimate if saved else None,
    }
    document["findings"] += findings_document(told_of([one for one in board.findings if one.doubts_interval]))
    return Result(dict(plain({**document, **said})))


def _next_pairs(store: hero.Store, round: str, board: Leaderboard) -> list[tuple[int, int]]:
    """The models of the next ten battles of the open queue."""
    queue = read_queues(store.place, round)[-1]
    held = standing(read_records(store.place, round))
    place = {name: at for at, name in enumerate(board.models)}
    left = [queue.options["pairs"][one] for one in queue.drawn if one not in held.gold]
    return [(place[a], place[b]) for a, b in left[:TEN] if a in place and b in place]


def lead_text(board: Leaderboard, width: float, pairs: Sequence[tuple[int, int]]) -> str:
    """How wide the interval of the lead of the first is, and what the next answers are expected to make of it."""
    wide = f"The lead of the first over the second is known to within {phrasing.number(width / 2, 0)} Elo either way."
    if board.state is None or not pairs or not math.isfinite(width):
        return wide if math.isfinite(width) else ""
    i, j = (board.models.index(name) for name in board.order[:2])
    then = math.sqrt(gold_foresight(board.strengths, board.state, pairs, i, j))
    n = len(pairs)
    answers = "The next answer is" if n == 1 else f"The next {NUMBERS.get(n, str(n))} answers are"
    if then > LITTLE:
        return f"{wide} {answers} expected to change little."
    return f"{wide} {answers} expected to make it {phrasing.number(then * width / 2, 0)} or less."
