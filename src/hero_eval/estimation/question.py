"""What all targets share: from rounds and options to evidence, a chosen method, and findings.

A `Question` holds one or several current rounds over one history, so that what is learned from history is learned
once and its error is counted once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_eval.classes import common_classes, in_one_spelling
from hero_eval.counting.count import count, is_large, stays
from hero_eval.counting.covariate_sums import CurrentSide, count_with_covariates
from hero_eval.counting.memory import Counted
from hero_eval.errors import unsupported, wrong
from hero_eval.estimate import Estimate, Influence, Part, check_level
from hero_eval.estimation import covariates as shared
from hero_eval.estimation import diagnostics as guards
from hero_eval.estimation.bootstrap import Replicates, draw_replicates
from hero_eval.estimation.clusters import clusters_of, clusters_of_history, repeat_findings
from hero_eval.estimation.curves import Curve, Flat, LessSure, Normal, Resampled, Touching, resampled
from hero_eval.estimation.intervals import (
    INTERVALS,
    bounds_unseen,
    drift_curve,
    edge_floor,
    gold_freedom,
    interval_kind,
    profile_curve,
)
from hero_eval.estimation.repeated_data import overlap_findings, refuse_own_history
from hero_eval.estimation.unseen_answers import outside_gold
from hero_eval.findings import Finding, name_some, settled, unique
from hero_eval.labelers.reliability import Reliability, fit_with, history_rounds, labelers_of, no_gold, not_converged
from hero_eval.methods.hero2 import counted_shift, covariate_shift, ready_covariates
from hero_eval.methods.registry import CountedCovariates, CovariateColumns, Evidence, Fit, Method, Wide, all_methods
from hero_eval.model.em import EMOptions
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Floats, Ints, Patterns
from hero_eval.model.rates import EDGE_ITEMS
from hero_eval.model.score_tests import Transport
from hero_eval.round import Round

if TYPE_CHECKING:
    from hero_eval.estimation.select import Choice

LEAST_OWN = 2  # golds of a current round: the error of fewer is not to be had
_NO_SPREAD = 1e-20
_TOUCH = 2e-3  # the default clipping bound, and a little more
PastRounds = Round | Sequence[Round] | Reliability | None


@dataclass(frozen=True)
class Options:
    """What a caller may set on any target."""

    method: str | None = None
    covariates: Sequence[str] | None = None
    text: str | None = None
    penalty: float | None = None
    level: float = 0.95
    interval: str | None = None
    cluster: str | None = None
    replicates: int | None = None
    seed: int | None = None
    not_covariates: tuple[str, ...] = ()
    groups: Mapping[str, str] | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.method is not None and (not isinstance(self.method, str) or self.method not in all_methods()):
            raise wrong("E201", f"method is {self.method!r}. Known: {', '.join(all_methods())}")
        if self.interval is not None and self.interval not in INTERVALS:
            raise wrong("E201", f"interval is {self.interval!r}. Known: {', '.join(map(repr, INTERVALS))}")
        for name, least in (("replicates", 50), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and self.interval != "bootstrap":
                raise wrong("E204", f"{name} belongs to interval='bootstrap'; leave it out, or ask for the bootstrap")
            if value is not None and not (isinstance(value, int) and value >= least):
                raise wrong("E201", f"{name} is {value!r}. It is a whole number of {least} or more")
        if self.cluster is not None and self.interval in ("profile", "paper"):
            raise wrong(
                "E204", f"interval={self.interval!r} takes items as independent; leave out cluster, or interval"
            )
        if isinstance(self.covariates, str):
            raise wrong(
                "E201",
                f"covariates is the text {self.covariates!r}. Give a list of names: [{self.covariates!r}]",
            )
        listed = isinstance(self.covariates, Sequence) and all(isinstance(name, str) for name in self.covariates)
        if self.covariates is not None and not listed:
            raise wrong("E201", f"covariates is {self.covariates!r}. It is a list of the names of columns")
        for name in ("text", "cluster"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise wrong("E201", f"{name} is {value!r}. It is the name of a column")
        if self.groups is not None and not isinstance(self.groups, Mapping):
            kind = type(self.groups).__name__
            raise wrong("E201", f"groups is {kind}. It maps labelers to groups, such as {{'ann': 'vendor-1'}}")
        number = isinstance(self.penalty, int | float) and math.isfinite(self.penalty) and self.penalty >= 0
        if self.penalty is not None and not number:
            raise wrong("E201", f"penalty is {self.penalty!r}. It is a number of 0 or more, or None to have it chosen")


@dataclass(frozen=True, eq=False)
class Current:
    """One current round made ready: its evidence and the ids behind the items of both countings.

    A round that was counted without its items has neither ids nor clusters.
    """

    round: Round
    evidence: Evidence
    known_ids: NDArray[np.object_] | None
    all_ids: NDArray[np.object_] | None
    known: NDArray[np.bool_] | None
    findings: tuple[Finding, ...]
    clusters: NDArray[np.object_] | None = None
    own: Reliability | None = None
    """What this round's own gold says of its labelers, where there is no history with gold."""

    def ids(self, fit: Fit) -> NDArray[np.object_] | None:
        return self.all_ids if fit.on_all else self.known_ids

    def n_items(self, on_all: bool) -> int:
        return (self.evidence.current_all if on_all else self.evidence.current).n_items

    def units(self, on_all: bool) -> NDArray[np.object_] | None:
        """What moves together: the cluster of each item, or the item itself."""
        if self.clusters is None:
            return self.all_ids if on_all else self.known_ids
        assert self.known is not None
        return self.clusters if on_all else self.clusters[self.known]


@dataclass(frozen=True, eq=False)
class Question:
    """Rounds and options, ready to be answered by `method`."""

    classes: tuple[str, ...]
    currents: tuple[Current, ...]
    reliability: Reliability | None
    method: Method
    why: str
    options: Options
    findings: tuple[Finding, ...] = ()
    history_clusters: NDArray[np.object_] | None = None
    rounds: tuple[Round, ...] = ()

    @property
    def n_gold(self) -> int:
        """The golds that the method uses, of history and of the current rounds."""
        return self.n_gold_history + self.n_gold_current

    @property
    def n_gold_history(self) -> int:
        return self.reliability.n_gold if self.method.uses_history and self.reliability is not None else 0

    @property
    def n_gold_current(self) -> int:
        used = "current gold" in self.method.takes or any(current.own is not None for current in self.currents)
        return sum(current.round.n_gold for current in self.currents) if used else 0

    def fits(self) -> list[Fit]:
        return list(self.first_fits)

    @cached_property
    def first_fits(self) -> tuple[Fit, ...]:
        """The method's fit of every current round, made once."""
        return tuple(self.method.run(current.evidence) for current in self.currents)

    def fit_findings(self, fit: Fit, current: Current) -> tuple[Finding, ...]:
        """Everything to be said of one fit, each remark once."""
        found = [*self.findings, *current.findings, *fit.findings]
        if current.own is not None:
            found += current.own.findings
        if self.method.uses_history and self.reliability is not None:
            found += [one for one in self.reliability.findings if one.code != "F301" or fit.report is not None]
        elif fit.report is not None and not fit.report.converged:
            found.append(not_converged(fit.report))
        if fit.history is not None and not np.isfinite(fit.history).all():
            why = "history does not pin its labelers down"
            found.append(Finding("F303", f"{why}; the interval is the whole range", {"why": why}))
        if fit.on_edge:
            message = "the best rate lies on the edge (0 or 1); its interval starts there and is approximate"
            more = "gold moves" if self.method.by_design else "labels move"
            action = f"Read the interval, not the value. More {more} it off the edge."
            found.append(Finding("F302", message, action=action))
        return unique(guards.act(self, fit, current, found))

    @cached_property
    def history_guards(self) -> tuple[Finding, ...]:
        """What the guards say of history, found once."""
        return guards.history_guards(self)

    @cached_property
    def transports(self) -> tuple[Transport | None, ...]:
        """For every current round, whether history's reliabilities fit it, tested once."""
        return tuple(guards.transport(self, current) for current in self.currents)

    @cached_property
    def replicates(self) -> Replicates:
        """Bootstrap replicates of all current rates, drawn once however many quantities ask for them."""
        return draw_replicates(self)

    def influence(self, fit: Fit, current: Current, contrast: Floats) -> Influence:
        """Influence on  contrast . rates  for contrast (K,), with or without history by the kind of interval."""
        along = contrast[1:] - contrast[0]
        if self.options.interval == "paper":
            return Influence((Part("current", fit.paper @ along, current.ids(fit)),))
        past = None if fit.history is None else fit.history @ along
        if current.known is None or (self.reliability is not None and self.reliability.counted.kept is None):
            items = self._counted_influence(fit, current, along, past)
        else:
            by_mean = None if fit.by_mean is None else fit.by_mean @ along
            items = self.spread(fit.current @ along, current.units(fit.on_all), past, by_mean)
        if fit.between is None:
            return items
        beyond = float(np.sqrt(max(along @ fit.between.covariance() @ along, 0.0)))
        name = np.array([f"{self.currents.index(current)} {current.round.name}"], dtype=object)
        return Influence((*items.parts, Part("rounds", np.array([beyond]), name)))

    def _counted_influence(self, fit: Fit, current: Current, along: Floats, past: Floats | None) -> Influence:
        """Influences of which some stand for several items that were not told apart."""

        def times(patterns: Patterns, values: Floats) -> Floats | None:
            return patterns.times if patterns.times is not None and len(patterns.times) == len(values) else None

        evidence = current.evidence
        here = evidence.current_all if fit.on_all and evidence.wide is None else evidence.current
        values = fit.current @ along
        parts = [Part("current", values, current.units(fit.on_all), times=times(here, values))]
        if past is not None and evidence.wide is not None:
            parts.append(Part("history", past, None, times=evidence.wide.history_times))
        elif past is not None and evidence.history is not None:
            parts.append(Part("history", past, None, times=times(evidence.history, past)))
        return Influence(tuple(parts))

    def spread(
        self,
        values: Floats,
        units: NDArray[np.object_] | None,
        past: Floats | None = None,
        by_mean: Floats | None = None,
    ) -> Influence:
        """Item influences as parts; with clusters, history's and current's items of one cluster move together."""
        clustered = self.options.cluster is not None
        parts = [Part("items" if clustered else "current", values, units, distinct=not clustered)]
        if past is not None:
            ids, source = self.history_clusters, "items" if clustered else "history"
            parts.append(Part(source, past, ids, distinct=not clustered, by_mean=by_mean))
        return Influence(tuple(parts))

    def estimate(
        self,
        target: str,
        what: str,
        fit: Fit,
        current: Current,
        contrast: Floats,
        *,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> Estimate:
        """The estimate of  contrast . rates  of one current round."""
        known = bool(np.isfinite(fit.current).all())
        influence = self.influence(fit, current, contrast)
        value = float(contrast @ fit.rates) if known else math.nan
        n_items = current.n_items(fit.on_all)
        behind = n_items if fit.edge_items is None else fit.edge_items
        # Items that all say the same of a class would know it without error: nobody is surer than by having seen them.
        unmoved = known and influence.variance() < _NO_SPREAD
        floor = edge_floor(float(contrast @ fit.inside), bounds, behind) if fit.on_edge or unmoved else 0.0
        kind, remark = interval_kind(self, [fit], [current])
        found = self.fit_findings(fit, current)
        if kind == "profile":  # it covers with a handful of gold labels, and with none of a class
            found = unique(settled(found, ("F304", "F307")))
        curve: Curve | None = None
        if kind == "profile" and known:
            curve = profile_curve(self, fit, current, contrast, math.sqrt(influence.variance()))
        elif kind == "influence" and known and fit.between is not None and fit.between.drift.counts:
            curve = drift_curve(self, fit, current, contrast, floor)
            if bounds_unseen([fit]):
                found = unique(settled(found, ("F307",)))
        elif kind == "bootstrap" and known:
            position = self.currents.index(current)
            curve = resampled(self.replicates.rates[position] @ contrast, value, influence.skewness())
        return self.finish(
            target,
            what,
            value,
            centre=float(contrast @ fit.inside),
            influence=influence,
            bounds=bounds,
            n_items=n_items,
            fit=fit,
            findings=unique([*found, *remark]),
            kind=kind,
            curve=curve,
            floor=floor,
        )

    def finish(
        self,
        target: str,
        what: str,
        value: float,
        *,
        centre: float,
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
        value = float(np.clip(value, *bounds))  # sums of shares may leave the range by a rounding error
        if isinstance(curve, Resampled) and not curve.spread > floor:  # replicates that do not vary know no error
            curve = Flat(bounds) if math.isnan(curve.spread) else None
        told = past_tells or (curve is not None and guards.past_rounds_tell(fit))
        if math.isnan(value) or (guards.knows_nothing(self) and kind != "paper" and not told):
            curve = Flat(bounds)
        if curve is None or (floor > 0 and isinstance(curve, Resampled)):
            error = math.sqrt(influence.variance()) if influence.parts else math.nan
            error = max(error, floor) if math.isfinite(error) else error
            known = math.isfinite(error) and math.isfinite(value)
            middle = value if kind == "paper" else centre
            freedom = math.inf if kind == "paper" else self.freedom
            plain: Curve = Normal(middle, error, bounds, logit and kind != "paper", freedom) if known else Flat(bounds)
            for end in bounds if floor > 0 else ():
                if known and abs(value - end) <= max(_TOUCH, EDGE_ITEMS / n_items) * (bounds[1] - bounds[0]):
                    plain = Touching(plain, end)
            curve = plain if curve is None else LessSure(curve, plain, bounds)
        return Estimate(
            target=target,
            what=what,
            value=value,
            method=self.method.name,
            n_items=n_items,
            n_gold=self.n_gold,
            n_gold_current=self.n_gold_current,
            level=self.options.level,
            interval_kind=kind,
            bounds=bounds,
            centre=centre,
            influence=influence,
            curve=curve,
            why=self.why,
            em=fit.report,
            findings=findings,
            least_error=floor,
        )

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of the intervals: few clusters, or little gold, make them longer."""
        by_clusters = math.inf if self.options.cluster is None else max(self.n_clusters - 1.0, 1.0)
        if self.method.by_design:
            return min(by_clusters, max(min(current.round.n_gold for current in self.currents) - 1.0, 1.0))
        return min(by_clusters, gold_freedom(self.n_gold, len(self.classes)) if self.n_gold else math.inf)

    @property
    def n_clusters(self) -> int:
        """How many clusters the current items make."""
        clusters = [units for units in (current.units(True) for current in self.currents) if units is not None]
        return len(np.unique(np.concatenate(clusters).astype(str)))


def ask(
    currents: Sequence[Round],
    history: PastRounds,
    options: Options,
    split: str | None = None,
    best: Callable[..., Choice] | None = None,
) -> Question:
    """Check the call, choose the method, learn from history, and count the current rounds.

    `split` is a column whose value is the same throughout each current round: history's covariate means are then those
    of its items with that value. `best` chooses where history has gold and no method is named, in the place of
    `best_with_gold`.
    """
    em, shrinkage = (history.options, history.shrinkage) if isinstance(history, Reliability) else (EMOptions(), 0.0)
    for current in currents:
        require_round(current)
    past = () if history is None else history_rounds(history)
    together = in_one_spelling([*past, *currents])
    if any(new is not old for new, old in zip(together, past, strict=False)):
        history = together[: len(past)]
    past, currents = together[: len(past)], together[len(past) :]
    for current in currents:
        refuse_own_history(current, past or None)
    classes = common_classes([*currents, *past])
    method, why, names, chosen = _choose(currents, past, classes, options, em, shrinkage, best)
    rounds, columns = tuple(currents), None
    large = is_large([*currents, *past])
    if large and (names or options.text is not None):
        shared.check_countable(currents, past, names, options.text)
    elif names or options.text is not None:
        gathered = shared.gather(currents, past, names, options.text, classes)
        rounds, columns = gathered.currents, gathered.columns
        if any(new is not old for new, old in zip(gathered.history, past, strict=True)):
            past, history = gathered.history, gathered.history
    if large and names and method.name == "hero3":
        raise wrong("E211", "covariates of hero3 need items one by one; a round here is kept without them: use hero2")
    if large and names:
        return _ask_counted(rounds, history, past, classes, method, why, options, names, em, shrinkage)
    reliability = _learn(history, past, classes, method, em, shrinkage, options.progress)
    prepared = tuple(
        _count_current(one, reliability, classes, method, options, None if columns is None else columns[position])
        for position, one in enumerate(rounds)
    )
    if len(rounds) > 1 or split is not None:
        prepared = tuple(replace(one, evidence=replace(one.evidence, alone=False)) for one in prepared)
    past_clusters, remarks = clusters_of_history(past, options.cluster)
    found = (
        *chosen,
        *_advice(currents, past, method, options, names),
        *remarks,
        *repeat_findings(rounds, past, options.cluster),
        *overlap_findings(rounds, past),
        *outside_gold(rounds, past, classes),
    )
    question = Question(classes, prepared, reliability, method, why, options, found, past_clusters, (*rounds, *past))
    if columns is not None and split is not None:
        question = _split_history(question, split)
    if options.method is None and method.name == "hero3":
        return guards.contradicted(question)
    guarded = options.method is None and method.name == "hero2" and columns is not None
    return _step_back(question) if guarded else question


def _ask_counted(
    rounds: tuple[Round, ...],
    history: PastRounds,
    past: tuple[Round, ...],
    classes: tuple[str, ...],
    method: Method,
    why: str,
    options: Options,
    names: tuple[str, ...],
    em: EMOptions,
    shrinkage: float,
) -> Question:
    """Covariates of rounds of which some are too large to be held: sums by answer pattern stand for the items."""
    labelers = labelers_of(past)
    side = count_with_covariates(past, names, labelers, classes)
    if isinstance(history, Reliability) and history.classes == classes and history.counted.kept is None:
        reliability = history
    else:
        reliability = fit_with(past, em, classes, options.progress, shrinkage, side.counted)
    prepared = []
    for one in rounds:
        current = _count_current(one, reliability, classes, method, options, None, names)
        counted = replace(current.evidence.counted, history=side.moments) if current.evidence.counted else None
        prepared.append(replace(current, evidence=replace(current.evidence, counted=counted)))
    if options.cluster is not None or options.interval == "bootstrap":
        what = "cluster" if options.cluster is not None else "interval='bootstrap'"
        raise wrong("E211", f"{what} needs the items of hero2 one by one; a round here is kept without them")
    found = _advice(rounds, past, method, options, names)
    question = Question(classes, tuple(prepared), reliability, method, why, options, found, None, (*rounds, *past))
    return _step_back(question) if options.method is None else question


def require_round(current: object) -> None:
    if not isinstance(current, Round):
        kind = type(current).__name__
        raise wrong("E201", f"the current round is {kind}. Make it a Round: hero_eval.Round(labels)")


def _split_history(question: Question, split: str) -> Question:
    """The mean that history knows must be that of its items with the same value: the others count as unseen."""
    assert question.reliability is not None
    past = question.reliability.rounds
    lacking = [one.name for one in past if not one.has_column(split)]
    if lacking:
        message = f"with covariates the column {split!r} is needed in history too; absent from {', '.join(lacking)}"
        raise wrong("E202", message)
    values = np.array([value for one in past for value in one.words(split)], dtype=object)
    currents = []
    for here in question.currents:
        columns = here.evidence.covariates
        assert columns is not None
        same = values == here.round.words(split)[0]
        masked = replace(columns, history=np.where(same[:, None], columns.history, np.nan), in_scope=same)
        wide = here.evidence.wide
        if wide is not None:
            wide = replace(wide, covariates=masked)
        currents.append(replace(here, evidence=replace(here.evidence, covariates=masked, wide=wide)))
    return replace(question, currents=tuple(currents))


def _step_back(question: Question) -> Question:
    """Without a method asked for: HERO-1 instead of HERO-2 where the covariates' means moved between the rounds."""
    for current in question.currents:
        columns = current.evidence.covariates
        level = 0.05 / len(question.currents)
        evidence = current.evidence
        if columns is None:
            shift = counted_shift(evidence, level)
        else:
            assert evidence.history is not None
            weights = evidence.current.item_weight, evidence.history.item_weight
            shift = covariate_shift(columns, ready_covariates(evidence), *weights, level)
        if shift is not None:
            moved = shift.finding("hero1 was used instead of hero2, which would take that as chance", "Nothing.")
            why = "history has gold; covariates were named, but their mean moved between the rounds"
            return replace(question, method=all_methods()["hero1"], why=why, findings=(*question.findings, moved))
    return question


def _choose(
    currents: Sequence[Round],
    past: Sequence[Round],
    classes: tuple[str, ...],
    options: Options,
    em: EMOptions,
    shrinkage: float,
    best: Callable[..., Choice] | None = None,
) -> tuple[Method, str, tuple[str, ...], tuple[Finding, ...]]:
    """The method asked for, or the best that the data allow, with the covariates it takes and what is said of it."""
    methods = all_methods()
    wants = bool(options.covariates) or options.text is not None
    gold = any(one.n_gold for one in past)
    asked: tuple[str, str, tuple[Finding, ...]] = options.method or "", "asked for", ()
    name, why, found = _best(currents, past, classes, options, em, shrinkage, best) if options.method is None else asked
    method = methods[name]
    if options.groups is not None and "all labelers" not in method.takes:
        raise wrong(
            "E204", f"groups tells what new labelers are like, which {name} does not use: use hero3, or leave it out"
        )
    _require_gold(method, currents, past)
    if wants and not gold and method.uses_covariates:
        raise wrong(
            "E206", f"covariates of {name} need a history with gold; leave them out to use the round's own gold"
        )
    tried = options.method is None and gold and (wants or options.penalty is None)
    if tried and not method.uses_covariates:  # it did better on past rounds without them
        return method, why, (), found
    if not method.uses_covariates:
        unused = {"covariates": options.covariates, "text": options.text, "penalty": options.penalty}
        given = [key for key, value in unused.items() if value is not None and value != [] and value != ()]
        if given:
            reason = f" ({why})" if options.method is None else ""
            raise wrong(
                "E204",
                f"{name}{reason} uses no covariates, but {' and '.join(given)} was given: use hero2, or leave it out",
            )
        return method, why, (), found
    names = tuple(options.covariates or ())
    if "covariates" not in method.needs:
        if not wants and options.penalty is not None:
            raise wrong("E204", "penalty is for covariates, and none were named")
        return method, why, names, found
    if not wants and options.covariates is None:
        names = shared.shared_numeric(currents, past, options.not_covariates)
    if not names and options.text is None:
        message = f"{name} needs covariates that history and current share; name them with covariates= or text="
        raise wrong("E206", message)
    return method, why, names, found


def _best(
    currents: Sequence[Round],
    past: Sequence[Round],
    classes: tuple[str, ...],
    options: Options,
    em: EMOptions,
    shrinkage: float,
    best: Callable[..., Choice] | None = None,
) -> tuple[str, str, tuple[Finding, ...]]:
    if any(one.n_gold for one in past) and is_large([*currents, *past]):
        name = "hero2" if options.covariates or options.text is not None else "hero1"
        return name, f"history has gold; of rounds kept without their items {name} needs a single pass", ()
    if any(one.n_gold for one in past):
        from hero_eval.estimation.select import best_with_gold  # it plays past rounds, which asks questions again

        known = past, classes, options, em, shrinkage
        chosen = best_with_gold(*known) if best is None else best(currents, *known)
        return chosen.name, chosen.why, chosen.findings
    lack = "history has no gold" if past else "there is no history"
    golds = [one.n_gold for one in currents]
    if (
        min(golds) >= LEAST_OWN
        and not stays(currents)
        and not (options.covariates or options.text is not None or options.penalty is not None)
    ):
        own = f"{lack}; {' and '.join(map(str, golds))} golds of the current round{'s' * (len(golds) > 1)}"
        if is_large(currents):
            return "hero1", f"{own} anchor its labelers", ()
        return "balanced", f"{own} are used: ppi, with hero3 counted for as much as they support it", ()
    few = f" ({max(golds)} gold in a current round is too little to learn from)" if max(golds) else ""
    return "dawid_skene", f"{lack}{few}, so the labelers can be compared only with each other", ()


def _require_gold(method: Method, currents: Sequence[Round], past: Sequence[Round]) -> None:
    """The gold that a method asked for cannot do without."""
    if any(one.n_gold for one in past) and not method.by_design:
        return
    if method.by_design and is_large([*currents, *past]):
        raise wrong("E211", f"{method.name} needs items one by one; a round here is kept without them: use hero1")
    least = LEAST_OWN if method.by_design else 1
    poor = [one for one in currents if one.n_gold < least or stays([one])]  # whose labels stay in an engine, cannot
    if method.by_design and poor:
        message = f"{method.name} needs gold for {LEAST_OWN} or more items of {poor[0].name!r}; {poor[0].n_gold} has it"
        raise unsupported("E305", message)
    if "history gold" in method.needs or ("gold" in method.needs and poor):
        if past:
            raise no_gold(past)
        either = "" if "history gold" in method.needs else ", and the current round has none either"
        raise wrong("E206", f"{method.name} needs a history with gold; none was given{either}")


def _learn(
    history: PastRounds,
    past: tuple[Round, ...],
    classes: tuple[str, ...],
    method: Method,
    em: EMOptions,
    shrinkage: float,
    progress: Progress | None,
) -> Reliability | None:
    """History's reliabilities if the method needs them; a fitted one is used again when its classes agree."""
    if not method.uses_history or ("history gold" not in method.needs and not any(one.n_gold for one in past)):
        return None
    if isinstance(history, Reliability) and history.classes == classes:
        return history
    return fit_with(past, em, classes, progress, shrinkage)


def _count_current(
    one: Round,
    reliability: Reliability | None,
    classes: tuple[str, ...],
    method: Method,
    options: Options,
    columns: CovariateColumns | None,
    counted: tuple[str, ...] = (),
) -> Current:
    """`counted` are covariates of which only sums are to be had."""
    if one.n_items == 0:
        raise unsupported("E303", f"no item of the current round {one.name!r} has a usable label")
    everything = count([one], one.labelers, classes)
    if reliability is None and method.uses_own_gold:
        return _count_own(one, everything, classes, method, options)
    if reliability is None:
        evidence = Evidence(len(classes), everything.patterns, everything.patterns, progress=options.progress)
        units = None if options.cluster is None else clusters_of(one, options.cluster)
        ids = None if everything.kept is None else one.item_ids
        return Current(one, evidence, ids, ids, everything.kept, _current_notes(one, method), units)
    found = list(_current_notes(one, method))
    active = set(one.labelers)
    if everything.kept is not None:
        active = {one.labelers[j] for j in np.unique(one.label_labeler)}
    strangers = sorted(active - set(reliability.labelers))
    units = None if options.cluster is None else clusters_of(one, options.cluster)
    only_strangers = len(strangers) == len(active)
    asked_for = options.method is not None or options.groups is not None
    if "all labelers" in method.takes and (asked_for or not only_strangers):
        wide = _widen(one, reliability, strangers, classes, options, columns)
        evidence = Evidence(
            len(classes),
            wide.current,
            everything.patterns,
            reliability.counted.patterns,
            columns,
            penalty=options.penalty,
            progress=options.progress,
            wide=wide,
        )
        ids = None if everything.kept is None else one.item_ids
        return Current(one, evidence, ids, ids, everything.kept, tuple(found), units)
    if only_strangers:
        message = (
            f"none of the {len(strangers)} labelers of {one.name!r} ({name_some(strangers, 3)}) occurs in history, "
            f"whose labelers are {name_some(list(reliability.labelers), 3)}: nothing is known of their errors. To take "
            "them for labelers like those, ask for the method hero3"
        )
        raise unsupported("E301", message)
    side = CurrentSide(one, counted, reliability.labelers, classes) if counted else None
    known = count([one], reliability.labelers, classes) if side is None else side.side.counted
    if strangers:
        aside = known if side is None else count([one], reliability.labelers, classes)
        lost = aside.items_set_aside
        message = (
            f"{aside.labels_set_aside} labels by {len(strangers)} labelers that history never saw were set aside "
            f"({name_some(strangers)}), and {lost} items that only they labelled"
        )
        data = {"labelers": strangers, "labels": aside.labels_set_aside, "items": lost}
        found.append(Finding("F104", message, data))
    if columns is not None:
        columns = replace(columns, current=columns.current[known.kept])
    evidence = Evidence(
        len(classes),
        known.patterns,
        everything.patterns,
        reliability.counted.patterns,
        columns,
        None if side is None else CountedCovariates(counted, side.side.moments, side.side.moments, side.grams),
        em=reliability.options,
        penalty=options.penalty,
        progress=options.progress,
        given=reliability.fit,
        shrinkage=reliability.shrinkage,
    )
    if known.kept is None:
        return Current(one, evidence, None, None, None, tuple(found), units)
    return Current(one, evidence, one.item_ids[known.kept], one.item_ids, known.kept, tuple(found), units)


def _count_own(one: Round, everything: Counted, classes: tuple[str, ...], method: Method, options: Options) -> Current:
    """A round that has nothing but its own gold to be read by."""
    own = fit_with((one,), EMOptions(), classes, options.progress, where="the current round")
    wide = Wide(
        own.labelers,
        count([one], own.labelers, classes, routed=True).patterns,
        (),
        _group_numbers(own.labelers, options.groups),
    )
    evidence = Evidence(
        len(classes),
        wide.current,
        everything.patterns,
        progress=options.progress,
        given=own.fit,
        wide=wide if "all labelers" in method.takes else None,
    )
    units = None if options.cluster is None else clusters_of(one, options.cluster)
    ids = None if everything.kept is None else one.item_ids
    return Current(one, evidence, ids, ids, everything.kept, _current_notes(one, method, own=True), units, own)


def _widen(
    one: Round,
    reliability: Reliability,
    strangers: Sequence[str],
    classes: tuple[str, ...],
    options: Options,
    columns: CovariateColumns | None,
) -> Wide:
    """All rounds, each by itself, on the labelers of all of them; strangers come last."""
    labelers = (*reliability.labelers, *strangers)
    return Wide(
        labelers,
        count([one], labelers, classes, routed=True).patterns,
        tuple(count([past], labelers, classes).patterns for past in reliability.rounds),
        _group_numbers(labelers, options.groups),
        len(strangers),
        columns,
    )


def _group_numbers(labelers: Sequence[str], groups: Mapping[str, str] | None) -> Ints:
    """Labelers without a group form one of their own."""
    named = {str(key): str(value) for key, value in (groups or {}).items()}
    unknown = sorted(set(named) - set(labelers))
    if groups is not None and len(unknown) == len(named):
        raise wrong("E201", f"groups names none of the labelers; it has {name_some(unknown, 3)}")
    numbers = {name: number + 1 for number, name in enumerate(sorted(set(named.values())))}
    return np.array([numbers[named[one]] if one in named else 0 for one in labelers], dtype=np.int64)


def _current_notes(one: Round, method: Method, *, own: bool = False) -> tuple[Finding, ...]:
    notes = [note.at(f"current {one.name!r}") for note in one.notes]
    if one.n_gold and "current gold" not in method.takes and not own:
        message = f"{one.n_gold} items of {one.name!r} have gold; {method.name} does not use the current round's gold"
        notes.append(Finding("F105", message, {"gold": one.n_gold}))
    return tuple(notes)


def _advice(
    currents: Sequence[Round], past: Sequence[Round], method: Method, options: Options, names: tuple[str, ...]
) -> tuple[Finding, ...]:
    """What the caller left to us, and what could be had."""
    found = []
    if names and not options.covariates and options.text is None:
        message = f"{method.name} uses every numeric column that all rounds share: {name_some(list(names))}"
        found.append(Finding("F406", message, {"covariates": list(names)}))
    if options.method is None and not (names or options.covariates or options.text) and method.uses_history and past:
        unused = shared.shared_numeric(currents, past, options.not_covariates)
        if unused:
            message = f"history and current share {name_some(list(unused))}, which could sharpen the estimate"
            found.append(Finding("F404", message, {"covariates": list(unused)}))
    return tuple(found)
