"""From a question to estimates: fits, what diagnostics say of them, the kind of interval and its curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.blas_threads import one_blas_thread
from hero_eval.estimate import Estimate
from hero_eval.estimation.bootstrap import Replicates, draw_replicates
from hero_eval.estimation.curves import (
    AnytimeCurve,
    AnytimeDrift,
    Curve,
    EdgeCurve,
    Flat,
    LessSure,
    Normal,
    Resampled,
    length,
    resampled,
    standard_quantile,
)
from hero_eval.estimation.diagnostics import diagnose, knows_nothing, past_rounds_tell
from hero_eval.estimation.intervals import (
    ProfileStart,
    bounds_unseen,
    drift_curve,
    fit_floor,
    interval_kind,
    is_by_own_gold,
    is_graded,
    profile_curve,
    profile_start,
)
from hero_eval.estimation.question import Question
from hero_eval.findings import Finding, settled, unique
from hero_eval.influence import Influence
from hero_eval.item_results import ItemResults, RoundItems
from hero_eval.methods.result import Fit
from hero_eval.model.confidence_sequence import mixture_size, reach
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import EDGE_ITEMS

_NO_SPREAD = 1e-20
_TOUCH = 2e-3  # the default clipping bound, and a little more


@dataclass(frozen=True, eq=False)
class Analysis:
    """A question with all that its estimates share, worked out once: fits, diagnostics, replicates.

    `diagnosed`: whether the method's assumptions are tested. Who wants only numbers saves the time.
    """

    question: Question
    diagnosed: bool = True

    @property
    def fits(self) -> tuple[Fit, ...]:
        return self.question.fits

    @cached_property
    def findings(self) -> tuple[tuple[Finding, ...], ...]:
        """For each current round what is to be said of its fit."""
        return diagnose(self.question) if self.diagnosed else ((),) * len(self.question.currents)

    @cached_property
    def replicates(self) -> Replicates:
        """Bootstrap replicates of all current rates, drawn once however many quantities ask for them."""
        return draw_replicates(self.question)

    @cached_property
    def _profile_starts(self) -> tuple[ProfileStart, ...]:
        """What profiles of each current round start from, however many quantities have one."""
        return tuple(profile_start(current) for current in self.question.currents)

    @one_blas_thread()
    def estimate(
        self,
        target: str,
        what: str,
        contrast: Floats,
        *,
        at: int = 0,
        bounds: tuple[float, float] = (0.0, 1.0),
        learned: Influence | None = None,
        beside: bool = False,
    ) -> Estimate:
        """The estimate of  contrast . rates  of the current round at this position.

        `learned`: how far items move the estimate through the contrast, where that was learned from gold. `beside`: it
        is shown beside another one, which was asked for.
        """
        question, fit, current = self.question, self.fits[at], self.question.currents[at]
        found = self.findings[at]
        known = bool(np.isfinite(fit.current).all())
        influence = question.influence(fit, current, contrast)
        influence = influence if learned is None else influence + learned
        value = float(contrast @ fit.rates) if known else math.nan
        # Items that all say the same of a class would know it without error: nobody is surer than by having seen them.
        unmoved = known and influence.variance() < _NO_SPREAD
        error = math.sqrt(influence.variance()) if known and not unmoved else None
        floor = fit_floor(fit, contrast, bounds, current.n_items, error) if fit.on_edge or unmoved else 0.0
        grades = contrast if is_graded(contrast, bounds) else None
        kind, remark = interval_kind(question, [fit], [current], linear=learned is None, beside=beside, grades=grades)
        curve = self._curve(kind, contrast, value, influence, floor, at) if known else None
        # That no gold is of a class tells how rare it is only if gold went to items at random.
        unseen = () if any(one.code == "F112" for one in found) else ("F307",)
        usual = curve is not None and kind == "influence"
        if kind == "profile":  # it covers with a handful of gold labels, and with none of a class
            found = unique(settled(found, ("F304", *unseen)))
        elif (usual and bounds_unseen([fit])) or (fit.on_edge and is_by_own_gold(question, grades)):
            found = unique(settled(found, unseen))
        made = self.finish(
            target,
            what,
            value,
            center=float(contrast @ fit.inside),
            influence=influence,
            bounds=bounds,
            n_items=current.n_items,
            fit=fit,
            findings=unique([*found, *remark]),
            kind=kind,
            curve=curve,
            floor=floor,
        )
        return replace(made, item_results=self.items_of(contrast, [self.round_items(at)]))

    def round_items(self, at: int) -> RoundItems:
        """What is known of the items of the current round at this position."""
        fit, current = self.fits[at], self.question.currents[at]
        known = bool(np.isfinite(fit.current).all())
        return RoundItems(current.round, current.kept, fit.posteriors, fit.current, known)

    def items_of(self, contrast: Floats, rounds: Sequence[RoundItems]) -> ItemResults:
        """The items behind an estimate of  contrast . rates."""
        return ItemResults(self.question.method.name, self.question.classes, contrast, tuple(rounds))

    def _curve(
        self, kind: str, contrast: Floats, value: float, influence: Influence, floor: float, at: int
    ) -> Curve | None:
        """The curve that this kind of interval has beyond a standard error; None: it has no other."""
        question, fit, current = self.question, self.fits[at], self.question.currents[at]
        if kind == "profile":
            return profile_curve(question, fit, self._profile_starts[at], contrast, math.sqrt(influence.variance()))
        if kind == "influence" and fit.between is not None and fit.between.drift.is_present:
            return drift_curve(question, fit, current, contrast, floor, influence)
        if kind == "bootstrap":
            return resampled(self.replicates.rates[at] @ contrast, value, influence.skewness())
        return None

    def finish(
        self,
        target: str,
        what: str,
        value: float,
        *,
        center: float,
        influence: Influence,
        n_items: int,
        fit: Fit,
        findings: tuple[Finding, ...],
        kind: str,
        curve: Curve | None = None,
        bounds: tuple[float, float] = (0.0, 1.0),
        logit: bool = True,
        floor: float = 0.0,
        past_tells: bool = False,
    ) -> Estimate:
        """An estimate with its confidence curve: the one given, or normal by the influences.

        `floor` is the least standard error of an estimate on an edge, where influences may be nil. Labelers who cannot
        tell the classes apart leave the whole range open, unless past rounds show how far apart rounds lie and the
        curve, or the influences (`past_tells`), have that in them.
        """
        question = self.question
        value = float(np.clip(value, *bounds))  # sums of shares may leave the range by a rounding error
        if isinstance(curve, Resampled) and not curve.spread > floor:  # replicates that do not vary know no error
            curve = Flat(bounds) if math.isnan(curve.spread) else None
        told = past_tells or (curve is not None and past_rounds_tell(fit))
        if math.isnan(value) or (knows_nothing(question) and kind != "paper" and not told):
            curve = Flat(bounds)
        if curve is None or (floor > 0 and isinstance(curve, Resampled)):
            middle = value if kind == "paper" else center
            plain = self._by_influences(value, middle, influence, n_items, kind, bounds, logit, floor)
            curve = plain if curve is None else LessSure(curve, plain, bounds)
        if question.options.interval == "anytime":
            kind, curve, findings = self._anytime(curve, influence, floor, bounds, findings)
        return Estimate(
            target=target,
            what=what,
            value=value,
            method=question.method.name,
            n_items=n_items,
            n_gold=question.n_gold,
            n_gold_current=question.n_gold_current,
            level=question.options.level,
            interval_kind=kind,
            bounds=bounds,
            center=center,
            influence=influence,
            curve=curve,
            why=question.why,
            em=fit.report,
            findings=findings,
            least_error=floor,
        )

    def _anytime(
        self,
        curve: Curve,
        influence: Influence,
        floor: float,
        bounds: tuple[float, float],
        findings: tuple[Finding, ...],
    ) -> tuple[str, Curve, tuple[Finding, ...]]:
        """The curve that holds at every look at a growing round."""
        variance = max(influence.variance(), floor**2)
        if isinstance(curve, Flat) or not math.isfinite(variance):
            return "anytime", curve, findings
        m, level = mixture_size(variance, bounds[1] - bounds[0]), self.question.options.level
        if isinstance(curve, AnytimeDrift):
            longer = length(curve, level) / length(curve.once, level)
        else:
            longer = reach(1.0 - level, m) / -standard_quantile((1.0 - level) / 2, math.inf)
            curve = AnytimeCurve(curve, m)
        message = f"the interval holds at every look at this round as it grows; it is about {longer:.1f} times as long"
        told = Finding("F514", f"{message} as one for a single look", {"longer": longer})
        return "anytime", curve, unique([*findings, told])

    def _by_influences(
        self,
        value: float,
        middle: float,
        influence: Influence,
        n_items: int,
        kind: str,
        bounds: tuple[float, float],
        logit: bool,
        floor: float,
    ) -> Curve:
        """Normal, or t, by the influences' standard error; on an edge it reaches that edge."""
        error = math.sqrt(influence.variance()) if influence.parts else math.nan
        error = max(error, floor) if math.isfinite(error) else error
        if not (math.isfinite(error) and math.isfinite(value)):
            return Flat(bounds)
        df = math.inf if kind == "paper" else self.question.df
        plain: Curve = Normal(middle, error, bounds, logit and kind != "paper", df)
        for end in bounds if floor > 0 else ():
            if abs(value - end) <= max(_TOUCH, EDGE_ITEMS / n_items) * (bounds[1] - bounds[0]):
                plain = EdgeCurve(plain, end)
        return plain
