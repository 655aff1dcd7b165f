"""The interval that an estimate would have after more gold, items or labels, by the same code that makes intervals.

Influences and drift of a fit are scaled by what `model/width_forecast.py` foresees, and the interval is made of them as
it would be of a new fit. Nothing is simulated. Methods without that model are scaled by the sources of their variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.errors import unsupported
from hero_eval.estimate import Estimate
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.question import Current, Question, gold_df
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats
from hero_eval.model.width_forecast import NOTHING, Forecast, More


@dataclass(frozen=True, eq=False)
class Outcome:
    """What to expect of an estimate of  contrast . rates  of one current round."""

    analysis: Analysis
    contrast: Floats
    bounds: tuple[float, float] = (0.0, 1.0)
    at: int = 0

    @property
    def question(self) -> Question:
        return self.analysis.question

    @property
    def fit(self) -> Fit:
        return self.question.fits[self.at]

    @property
    def current(self) -> Current:
        return self.question.currents[self.at]

    @cached_property
    def model(self) -> Forecast | None:
        """What HERO-3's model foresees; None for methods that rest on something else."""
        if self.fit.levels is None or self.question.method.by_design:
            return None
        found = Forecast(self.fit.levels, self.contrast)
        if not found.can:
            raise unsupported("E222", "the model has too many labelers for its information to be formed")
        return found if math.isfinite(found.variance()) else None

    @cached_property
    def now(self) -> Estimate:
        return self.estimate(NOTHING)

    def estimate(self, more: More) -> Estimate:
        """The estimate as it would be on average: the same value, another interval."""
        question = replace(self.question)
        question.__dict__["fits"] = tuple(
            self._after(more) if place == self.at else fit for place, fit in enumerate(self.question.fits)
        )
        question.__dict__["df"] = self._df(more)
        return Analysis(question, diagnosed=False).estimate(
            "forecast", "forecast", self.contrast, at=self.at, bounds=self.bounds
        )

    def width(self, more: More = NOTHING) -> float:
        low, high = self.estimate(more).interval()
        return high - low

    def variance(self, more: More = NOTHING) -> float:
        """Of the estimate, drift included; quicker than the interval."""
        fit = self._after(more)
        return self.question.influence(fit, self.current, self.contrast).variance()

    def drift_share(self) -> float:
        """The share of the variance that drift between rounds has now."""
        found = self.question.influence(self.fit, self.current, self.contrast).variance_by_source()
        return found.get("rounds", 0.0) / max(sum(found.values()), 1e-300)

    def without_share(self, labeler: int) -> float:
        """By which share of itself the variance would grow without the current labels of this labeler."""
        model = self.model
        assert model is not None
        one = model.without[labeler]
        if not math.isfinite(one.variance):
            return math.nan
        parts = self.question.influence(self.fit, self.current, self.contrast).variance_by_source()
        rounds = parts.get("rounds", 0.0)
        items = sum(parts.values()) - rounds
        now, least = model.variance(), model.least_variance()
        above = max(items - least, 0.0)
        left = max(one.variance - least, 0.0) / max(now - least, 1e-3 * now)
        then = min(items, least) + above * left + rounds * (one.doubt / max(model.doubt, 1e-12)) ** 2
        return max(then / sum(parts.values()) - 1.0, 0.0)

    def _df(self, more: More) -> float:
        question, added = self.question, more.gold + more.past_gold
        if question.method.by_design:
            return max(self.current.round.n_gold + more.gold - 1.0, 1.0)
        n_gold = question.n_gold + added
        return gold_df(n_gold, len(question.classes)) if n_gold else math.inf

    def _after(self, more: More) -> Fit:
        model, fit = self.model, self.fit
        if model is None:
            return self._by_source(more)
        scale, left = self._scales(model, more)
        between = fit.between
        if between is not None:
            between = replace(model.drift_after(between, more), own=left * between.own)
        history = None if fit.history is None else scale * fit.history
        return replace(fit, current=scale * fit.current, history=history, between=between)

    def _scales(self, model: Forecast, more: More) -> tuple[float, float]:
        """The factor of the influences, and of the variance beyond that of items whose classes are all known.

        With gold for every item the variance is that of a share, whatever the model has: what is above it falls as the
        model foresees.
        """
        now, then = model.variance(), model.variance(more)
        least, least_then = model.least_variance(), model.least_variance(more.items)
        left = min(max(then - least_then, 0.0) / max(now - least, 1e-3 * now), then / max(now, 1e-300) * 2.0)
        parts = self.question.influence(self.fit, self.current, self.contrast).variance_by_source()
        items = sum(variance for source, variance in parts.items() if source != "rounds")
        if items <= least:
            return math.sqrt(then / now), left
        return math.sqrt((least_then + (items - least) * left) / items), left

    def _by_source(self, more: More) -> Fit:
        """Gold of the current round, its items and history's gold: each variance falls as its number grows."""
        fit, one = self.fit, self.current.round
        items = math.sqrt(one.n_items / (one.n_items + more.items))
        current = items * fit.current
        if self.question.method.by_design and one.n_gold:
            kept = np.ones(one.n_items, bool) if self.current.kept is None else self.current.kept
            known = (one.gold >= 0)[kept]
            current[known] = math.sqrt(one.n_gold / (one.n_gold + more.gold)) * fit.current[known]
        n_past = max(self.question.n_gold_history, 1)
        history = None if fit.history is None else math.sqrt(n_past / (n_past + more.past_gold)) * fit.history
        return replace(fit, current=current, history=history)
