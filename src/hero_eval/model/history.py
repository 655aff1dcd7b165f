"""What history teaches about its labelers: a fitted model with the means to say how sure it is.

Three ways to learn it share one result: anchored EM (HERO), the gold rows alone (proportions), no gold at all
(Dawid and Skene's EM).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.model.em import EMOptions, EMReport, gold_counts, gold_start, run_em, vote_start
from hero_eval.model.information import Information
from hero_eval.model.latent import Latent, posterior, state_barrier
from hero_eval.model.patterns import Floats, Patterns

Progress = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class HistoryFit:
    """Patterns, the model fitted to them, how the fit went (None: no iteration needed), and its bound and prior."""

    patterns: Patterns
    latent: Latent
    report: EMReport | None
    clip: float
    pseudo: float | Floats = 0.0

    @cached_property
    def information(self) -> Information:
        return Information(self.patterns, self.latent, self.clip, self.pseudo)


def fit_anchored(
    patterns: Patterns,
    n_classes: int,
    options: EMOptions,
    progress: Progress | None = None,
    warm: Latent | None = None,
    shrinkage: float = 0.0,
) -> HistoryFit:
    """Algorithm 1, stage A: start from the gold rows (or warm), then EM over all rows with the gold held fixed.

    With `shrinkage` the fit is repeated with that many pseudo-answers added to each labeler and class, shared out as
    the pool of all labelers answers that class: labelers with little to say of themselves move towards the pool.
    """
    start = gold_start(patterns, n_classes, options.clip) if warm is None else warm
    latent, report = run_em(patterns, start, options, progress)
    if shrinkage == 0.0:
        return HistoryFit(patterns, latent, report, options.clip)
    pseudo = np.broadcast_to(shrinkage * pooled_answers(patterns, latent), latent.answers.shape)
    latent, report = run_em(patterns, latent, options, progress, pseudo)
    return HistoryFit(patterns, latent, report, options.clip, pseudo)


def pooled_answers(patterns: Patterns, latent: Latent) -> Floats:
    """(1, L, S): how the pool of all labelers answers in each state."""
    post, _ = posterior(patterns, latent, state_barrier(patterns.gold, latent.state_class))
    together: Floats = patterns.to_cells(post * patterns.counts[:, None]).sum(axis=0, keepdims=True)
    shares: Floats = together / np.maximum(together.sum(axis=1, keepdims=True), 1e-300)
    return shares


def fit_without_gold(
    patterns: Patterns, n_classes: int, options: EMOptions, progress: Progress | None = None
) -> HistoryFit:
    """Dawid and Skene's EM: the same EM with no anchor, started from the votes."""
    blind = replace(patterns, gold=np.full_like(patterns.gold, -1))
    slow_first = replace(options, plain_steps=60)
    latent, report = run_em(blind, vote_start(blind, n_classes, options.clip), slow_first, progress)
    return HistoryFit(blind, latent, report, options.clip)


def fit_gold_proportions(patterns: Patterns, n_classes: int) -> HistoryFit:
    """Each labeler's answers on gold rows, (hits + 1) / (gold + L): the mode under one pseudo-answer a cell."""
    hits, class_counts = gold_counts(patterns, n_classes)
    answers = (hits + 1.0) / (hits + 1.0).sum(axis=1, keepdims=True)
    total = class_counts.sum()
    weights = (
        class_counts / total if total > 0 and class_counts.min() > 0 else (class_counts + 1.0) / (total + n_classes)
    )
    known: Floats = (patterns.gold >= 0)[patterns.row_of_item] * patterns.item_weight
    return HistoryFit(
        patterns.reweighted(known), Latent(weights, answers, np.arange(n_classes)), None, clip=0.0, pseudo=1.0
    )
