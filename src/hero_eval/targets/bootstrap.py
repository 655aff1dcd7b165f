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

from hero_eval.methods.registry import Evidence
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
    on_all = "history gold" not in question.method.needs
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
    shared: Evidence | None = None
    for current, units in zip(question.currents, plan.currents, strict=True):
        evidence = current.evidence
        here = drawn[units]
        raw = current.round.weight
        base = np.ones(len(here)) if raw is None else raw if len(raw) == len(here) else raw[current.known]
        mass.append(float(base @ here))
        if not here.any():
            rates.append(np.full(evidence.n_classes, np.nan))
            continue
        changed = replace(
            evidence,
            current=evidence.current.reweighted(evidence.current.item_weight * here)
            if plan.history is not None
            else evidence.current,
            current_all=evidence.current_all.reweighted(evidence.current_all.item_weight * here)
            if plan.history is None
            else evidence.current_all,
            em=replace(evidence.em, tolerance=min(evidence.em.tolerance, 1e-8), step_tolerance=1e-5, accelerate=True),
            progress=None,
        )
        if plan.history is not None and evidence.history is not None:
            past = evidence.history.reweighted(evidence.history.item_weight * drawn[plan.history])
            warm = None if evidence.given is None else evidence.given.latent
            if shared is None:
                shared = replace(changed, history=past, given=None, warm=warm)
                changed = shared
            else:
                needs_fit = question.method.name in ("hero1", "hero2")
                changed = replace(changed, history=past, given=shared.anchored if needs_fit else None, warm=warm)
        rates.append(question.method.rates(changed))
    return rates, mass
