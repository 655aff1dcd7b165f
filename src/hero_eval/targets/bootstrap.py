"""Bootstrap: items (or clusters) of every round drawn again with replacement, everything refitted from a warm start.

A draw only changes the weights of items, and with them the counts of patterns, so no data are copied. A replicate's
random numbers depend on the seed and its own number only: the same bytes for any number of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from hero_eval.methods.registry import ANCHORED, Evidence
from hero_eval.model.history import HistoryFit
from hero_eval.model.patterns import Floats, Ints

if TYPE_CHECKING:
    from hero_eval.targets.question import Question

DEFAULT_REPLICATES = 1_000


@dataclass(frozen=True, eq=False)
class Replicates:
    """For each current round: rates (B, K), and mass (B,), the sum of its items' drawn raw weights."""

    rates: tuple[Floats, ...]
    mass: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Which unit each item belongs to: units of history and of current are numbered in one row of blocks."""

    blocks: tuple[int, ...]  # sizes: units are drawn within a block
    history: Ints | None
    currents: tuple[Ints, ...]


def draw_replicates(question: Question) -> Replicates:
    """All replicates; the model's options are loosened to what a replicate needs."""
    count = question.options.replicates or DEFAULT_REPLICATES
    seed = question.options.seed or 0
    plan = _plan(question)

    def one(number: int) -> tuple[list[Floats], list[float]]:
        rng = np.random.default_rng([seed, number])
        drawn = np.concatenate([np.bincount(rng.integers(0, size, size), minlength=size) for size in plan.blocks])
        return _refit(question, plan, drawn.astype(float))

    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
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


def _plan(question: Question) -> _Plan:
    """Units: clusters over all rounds; or each history item by itself, and current items by id across rounds."""
    on_all = question.method.on_all
    currents = [current.units(on_all).astype(str) for current in question.currents]
    past = question.reliability
    if question.options.cluster is not None:
        rows = currents if past is None else [*currents, np.asarray(question.history_clusters).astype(str)]
        names, numbers = np.unique(np.concatenate(rows), return_inverse=True)
        split = np.split(numbers, np.cumsum([len(row) for row in rows])[:-1])
        return _Plan((len(names),), None if past is None else split[-1], tuple(split[: len(currents)]))
    names, numbers = np.unique(np.concatenate(currents), return_inverse=True)
    split = np.split(numbers, np.cumsum([len(row) for row in currents])[:-1])
    if past is None:
        return _Plan((len(names),), None, tuple(split))
    sizes = tuple(one.n_items for one in past.rounds)
    return _Plan((len(names), *sizes), len(names) + np.arange(sum(sizes)), tuple(split))


def _refit(question: Question, plan: _Plan, drawn: Floats) -> tuple[list[Floats], list[float]]:
    """Rates of every current round under drawn unit weights; history is fitted once for all of them."""
    rates, mass = [], []
    learned: HistoryFit | None = None
    for current, units in zip(question.currents, plan.currents, strict=True):
        here = drawn[units]
        raw = current.round.weight
        kept = slice(None) if question.method.on_all else current.known
        mass.append(float(here.sum() if raw is None else raw[kept] @ here))
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


def _redrawn(evidence: Evidence, here: Floats, there: Floats | None) -> Evidence:
    """The evidence with items drawn `here` (current) and `there` (history) times, to be fitted from a warm start."""
    em = replace(evidence.em, tolerance=min(evidence.em.tolerance, 1e-8), step_tolerance=1e-5, accelerate=True)
    if there is None or evidence.history is None:
        everything = evidence.current_all.reweighted(evidence.current_all.item_weight * here)
        return replace(evidence, current_all=everything, em=em, progress=None)
    wide = evidence.wide
    if wide is not None:
        parts = np.split(there, np.cumsum([one.n_items for one in wide.past])[:-1])
        past = tuple(one.reweighted(one.item_weight * part) for one, part in zip(wide.past, parts, strict=True))
        wide = replace(wide, current=wide.current.reweighted(wide.current.item_weight * here), past=past)
        return replace(evidence, wide=wide, progress=None)
    return replace(
        evidence,
        current=evidence.current.reweighted(evidence.current.item_weight * here),
        history=evidence.history.reweighted(evidence.history.item_weight * there),
        em=em,
        progress=None,
        given=None,
        warm=None if evidence.given is None else evidence.given.latent,
    )
