"""Bootstrap: items (or clusters) of every round drawn again with replacement, everything refitted from a warm start.

A draw only changes the weights of items, and with them the counts of patterns, so no data are copied. A replicate's
random numbers depend on the seed and its own number only: the same bytes for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from hero_eval.methods.registry import ANCHORED, Evidence
from hero_eval.model.history import HistoryFit
from hero_eval.model.patterns import Floats, Ints, Patterns
from hero_eval.model.threads import limited_threads, thread_count

if TYPE_CHECKING:
    from hero_eval.estimation.question import Current, Question

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
    on_all = question.method.on_all
    units = [current.units(on_all) for current in question.currents]
    past = question.reliability
    if question.options.cluster is None and any(of is None for of in units):
        return _plan_of_counts(question, on_all)
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


def _blocks_of_history(question: Question) -> list[int | Floats]:
    """Each round by itself; for a method that does not look at them apart, rounds that were counted without their items
    are one by now."""
    wide, past = question.currents[0].evidence.wide, question.reliability
    assert past is not None
    if wide is not None:
        return [_block_of(one) for one in wide.past]
    times = past.counted.patterns.times
    return [one.n_items for one in past.rounds] if times is None else [times]


def _block_of(patterns: Patterns) -> int | Floats:
    return len(patterns.row_of_item) if patterns.times is None else patterns.times


def _size(blocks: Sequence[int | Floats]) -> int:
    return sum(block if isinstance(block, int) else len(block) for block in blocks)


def _plan_of_counts(question: Question, on_all: bool) -> _Plan:
    """Current rounds without ids: each is a block by itself."""
    blocks: list[int | Floats] = []
    currents = []
    for current in question.currents:
        start = _size(blocks)
        blocks.append(_block_of(_patterns_of(current, on_all)))
        currents.append(np.arange(start, _size(blocks)))
    if question.reliability is None:
        return _Plan(tuple(blocks), None, tuple(currents))
    start = _size(blocks)
    blocks += _blocks_of_history(question)
    return _Plan(tuple(blocks), np.arange(start, _size(blocks)), tuple(currents))


def _patterns_of(current: Current, on_all: bool) -> Patterns:
    """The patterns of a current round that the method looks at."""
    evidence = current.evidence
    if evidence.wide is not None:
        return evidence.wide.current
    return evidence.current_all if on_all else evidence.current


def _refit(question: Question, plan: _Plan, drawn: Floats) -> tuple[list[Floats], list[float]]:
    """Rates of every current round under drawn unit weights; history is fitted once for all of them."""
    rates, mass = [], []
    learned: HistoryFit | None = None
    for current, units in zip(question.currents, plan.currents, strict=True):
        here = drawn[units]
        mass.append(_mass(current, here, on_all=question.method.on_all))
        if not here.any():
            rates.append(np.full(current.evidence.n_classes, np.nan))
            continue
        redrawn = _redrawn(current.evidence, here, None if plan.history is None else drawn[plan.history])
        if redrawn.wide is not None:
            first = question.first_fits[len(rates)]
            redrawn = replace(redrawn, warm_levels=first.levels, over_both=first.over_both)
        if plan.history is not None and question.method.name in ANCHORED:
            redrawn = replace(redrawn, given=learned)
            learned = redrawn.anchored
        rates.append(question.method.rates(redrawn))
    return rates, mass


def _mass(current: Current, here: Floats, *, on_all: bool) -> float:
    """The sum of the raw weights of the items drawn `here` times."""
    if current.known is None:
        patterns = _patterns_of(current, on_all)
        return float(patterns.reweighted(patterns.item_weight * here).total)
    raw = current.round.weight
    kept = slice(None) if on_all else current.known
    return float(here.sum() if raw is None else raw[kept] @ here)


def _redrawn(evidence: Evidence, here: Floats, there: Floats | None) -> Evidence:
    """The evidence with items drawn `here` (current) and `there` (history) times, to be fitted from a warm start."""
    em = replace(evidence.em, tolerance=min(evidence.em.tolerance, 1e-8), step_tolerance=1e-5, accelerate=True)
    if there is None or evidence.history is None:
        everything = evidence.current_all.reweighted(evidence.current_all.item_weight * here)
        current = evidence.current.reweighted(evidence.current.item_weight * here)
        wide = evidence.wide
        if wide is not None:
            wide = replace(wide, current=wide.current.reweighted(wide.current.item_weight * here))
        warm = None if evidence.given is None else evidence.given.latent
        redrawn = replace(evidence, current=current, current_all=everything, wide=wide, em=em, progress=None)
        return replace(redrawn, given=None, warm=warm)
    wide = evidence.wide
    if wide is not None:
        parts = np.split(there, np.cumsum([len(one.row_of_item) for one in wide.past])[:-1])
        past = tuple(one.reweighted(one.item_weight * part) for one, part in zip(wide.past, parts, strict=True))
        wide = replace(wide, current=wide.current.reweighted(wide.current.item_weight * here), past=past)
        everything = evidence.current_all.reweighted(evidence.current_all.item_weight * here)
        return replace(evidence, wide=wide, current_all=everything, progress=None)
    return replace(
        evidence,
        current=evidence.current.reweighted(evidence.current.item_weight * here),
        history=evidence.history.reweighted(evidence.history.item_weight * there),
        em=em,
        progress=None,
        given=None,
        warm=None if evidence.given is None else evidence.given.latent,
    )
