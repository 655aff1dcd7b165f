"""Bootstrap: items (or clusters) of every round drawn again with replacement, everything refitted from a warm start.

A draw only changes the weights of items, and with them the counts of patterns, so no data are copied. A replicate's
random numbers depend on the seed and its own number only: the same bytes for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from hero_eval.estimation.question import Current, Question
from hero_eval.methods.evidence import CarriedEvidence
from hero_eval.model.history import HistoryFit
from hero_eval.model.patterns import Floats, Ints
from hero_eval.model.threads import limited_threads, thread_count

DEFAULT_REPLICATES = 1_000


@dataclass(frozen=True, eq=False)
class Replicates:
    """For each current round: rates (B, K), and mass (B,), the sum of its items' drawn raw weights."""

    rates: tuple[Floats, ...]
    mass: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Which unit each item belongs to: units of history and of current are numbered in one row of blocks.

    Units are drawn within a block, given by its size; where a unit stands for several items, by their numbers.
    """

    blocks: tuple[int | Floats, ...]
    history: Ints | None
    currents: tuple[Ints, ...]


def draw_replicates(question: Question) -> Replicates:
    """All replicates; the model's options are loosened to what a replicate needs."""
    count = question.options.replicates or DEFAULT_REPLICATES
    seed = question.options.seed or 0
    plan = _plan(question)

    def one(number: int) -> tuple[list[Floats], list[float]]:
        rng = np.random.default_rng([seed, number])
        return _refit(question, plan, np.concatenate([_draw(rng, block) for block in plan.blocks]))

    workers = thread_count()
    with threadpool_limits(1), limited_threads(1), ThreadPoolExecutor(workers) as pool:
        outcomes = []
        for number, outcome in enumerate(pool.map(one, range(count))):
            outcomes.append(outcome)
            if question.options.progress is not None:
                question.options.progress(number + 1, 1.0 - (number + 1) / count)
    n_currents = len(question.currents)
    return Replicates(
        rates=tuple(np.stack([rates[c] for rates, _ in outcomes]) for c in range(n_currents)),
        mass=tuple(np.array([mass[c] for _, mass in outcomes]) for c in range(n_currents)),
    )


def _draw(rng: np.random.Generator, block: int | Floats) -> Floats:
    """How often each unit is drawn; for one that stands for several items: how often each of them, on average."""
    if isinstance(block, int):
        return np.bincount(rng.integers(0, block, block), minlength=block).astype(float)
    total = block.sum()
    drawn: Floats = rng.multinomial(round(float(total)), block / total) / block
    return drawn


def _plan(question: Question) -> _Plan:
    """Units: clusters over all rounds; or each history item by itself, and current items by id across rounds."""
    units = [current.units for current in question.currents]
    past = question.reliability
    if question.options.cluster is None and any(of is None for of in units):
        return _plan_of_counts(question)
    currents = [np.asarray(of).astype(str) for of in units]
    if question.options.cluster is not None:
        rows = currents if past is None else [*currents, np.asarray(question.history_clusters).astype(str)]
        names, numbers = np.unique(np.concatenate(rows), return_inverse=True)
        split = np.split(numbers, np.cumsum([len(row) for row in rows])[:-1])
        return _Plan((len(names),), None if past is None else split[-1], tuple(split[: len(currents)]))
    names, numbers = np.unique(np.concatenate(currents), return_inverse=True)
    split = np.split(numbers, np.cumsum([len(row) for row in currents])[:-1])
    if past is None:
        return _Plan((len(names),), None, tuple(split))
    blocks = _blocks_of_history(question)
    return _Plan((len(names), *blocks), len(names) + np.arange(_size(blocks)), tuple(split))


def _blocks_of_history(question: Question) -> Sequence[int | Floats]:
    """Each round by itself; for a method that does not look at them apart, rounds that were counted without their items
    are one by now."""
    blocks = question.currents[0].evidence.past_blocks()
    assert question.reliability is not None
    return [one.n_items for one in question.reliability.rounds] if blocks is None else blocks


def _size(blocks: Sequence[int | Floats]) -> int:
    return sum(block if isinstance(block, int) else len(block) for block in blocks)


def _plan_of_counts(question: Question) -> _Plan:
    """Current rounds without ids: each is a block by itself."""
    blocks: list[int | Floats] = []
    currents = []
    for current in question.currents:
        start, here = _size(blocks), current.evidence.current
        blocks.append(len(here.row_of_item) if here.times is None else here.times)
        currents.append(np.arange(start, _size(blocks)))
    if question.reliability is None:
        return _Plan(tuple(blocks), None, tuple(currents))
    start = _size(blocks)
    blocks += _blocks_of_history(question)
    return _Plan(tuple(blocks), np.arange(start, _size(blocks)), tuple(currents))


def _refit(question: Question, plan: _Plan, drawn: Floats) -> tuple[list[Floats], list[float]]:
    """Rates of every current round under drawn unit weights; history is fitted once for all of them."""
    rates, mass = [], []
    learned: HistoryFit | None = None
    there = None if plan.history is None else drawn[plan.history]
    for current, first, units in zip(question.currents, question.fits, plan.currents, strict=True):
        here = drawn[units]
        mass.append(_mass(current, here))
        if not here.any():
            rates.append(np.full(current.evidence.n_classes, np.nan))
            continue
        beside = [drawn[plan.currents[place]] for place in current.siblings]
        redrawn = current.evidence.redrawn(here, np.concatenate(beside) if beside else there, first)
        if there is not None and question.method.anchored and isinstance(redrawn, CarriedEvidence):
            redrawn = replace(redrawn, given=learned)
            learned = redrawn.anchored
        rates.append(question.method.rates(redrawn))
    return rates, mass


def _mass(current: Current, here: Floats) -> float:
    """The sum of the raw weights of the items drawn `here` times."""
    if current.kept is None:
        patterns = current.evidence.current
        return float(patterns.reweighted(patterns.item_weight * here).total)
    raw = current.round.weight
    return float(here.sum() if raw is None else raw[current.kept] @ here)
