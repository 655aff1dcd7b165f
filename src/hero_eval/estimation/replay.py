"""Past rounds played again: each in turn is current with its gold hidden, the others are history.

The gold of a round is a part of its items, so it tells the round's rate with a sampling error of its own. An interval
for the rate is therefore widened by that error before it is held against the gold's mean: it then claims to cover what
it is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.blas_threads import one_blas_thread
from hero_eval.counting.count import is_large, tally_of
from hero_eval.errors import HeroError, unsupported
from hero_eval.estimate import Estimate
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.curves import standard_quantile
from hero_eval.estimation.options import Options, PastRounds
from hero_eval.estimation.prepare import RoundSet, gather_rounds, prepare
from hero_eval.estimation.requirements import is_lack, require
from hero_eval.estimation.shared_fits import SharedFits, play_order
from hero_eval.findings import name_some
from hero_eval.influence import Influence
from hero_eval.methods.registry import all_methods
from hero_eval.methods.result import Fit
from hero_eval.model.em import EMOptions
from hero_eval.model.gold_history import past_mean
from hero_eval.model.hero3.drift import SIZES, DriftPosterior, drift_posterior, no_drift
from hero_eval.model.hero3.labeler_drift import excess_labeler_drift
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round import Round

HISTORY_MEAN = "history_mean"
"""The baseline that looks at no label: the mean of the other rounds' gold, and how much rounds differ."""

DEFAULT = "hero3"
LEAST_ROUNDS = 3
"""Fewer rounds than these do not tell methods apart."""
_FARTHEST = 12.0  # of a shift on the logit scale


@dataclass(frozen=True, eq=False)
class Quantity:
    """What is played for: contrast (K,) on the class rates, within bounds."""

    what: str
    contrast: Floats
    bounds: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Seen:
    """What the gold of one round says of a quantity: its mean, and the sampling error of that mean."""

    mean: float
    error: float
    n_gold: int
    n_items: int


@dataclass(frozen=True)
class Play:
    """One method on one round whose gold was hidden from it."""

    round: str
    method: str
    what: str
    value: float
    low: float
    high: float
    level: float
    bounds: tuple[float, float]
    seen: Seen

    @property
    def error(self) -> float:
        return self.value - self.seen.mean

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def widened(self) -> tuple[float, float]:
        """The interval with room for the gold's own error."""
        room = standard_quantile((1 + self.level) / 2, math.inf) * self.seen.error
        middle = self.value if math.isfinite(self.value) else (self.low + self.high) / 2
        low, high = middle - math.hypot(middle - self.low, room), middle + math.hypot(self.high - middle, room)
        return max(low, self.bounds[0]), min(high, self.bounds[1])

    @property
    def outside(self) -> float:
        """How far the gold's mean lies outside the widened interval."""
        low, high = self.widened
        return max(low - self.seen.mean, self.seen.mean - high, 0.0)

    @property
    def covered(self) -> bool:
        return self.outside <= 1e-9

    @property
    def score(self) -> float:
        """Width plus 2 / (1 - level) times the distance outside (40 at 95%): lower is better."""
        low, high = self.widened
        return (high - low) + 2.0 / (1.0 - self.level) * self.outside


@dataclass(frozen=True)
class RoundDrift:
    """How far the reading of one round's labels was off.

    `shift` of all class logits would have brought HERO-3's estimate to the round's gold mean, give or take
    `shift_error`; `expected` is the size of such shifts that the other rounds' gold had led to expect (nan if a single
    one had any); `own` is by how much its labelers moved against each other beyond the `usual` of the other rounds.
    """

    round: str
    shift: float
    shift_error: float
    expected: float
    own: float
    usual: float


@dataclass(frozen=True)
class Played:
    """All plays, each round's drift by HERO-3, and why some methods could not play some rounds."""

    plays: tuple[Play, ...]
    drift: tuple[RoundDrift, ...]
    skipped: Mapping[str, Mapping[str, str]]


def gold_seen(one: Round, classes: Sequence[str], quantity: Quantity) -> Seen:
    """The gold's mean, and its error as a random part of the round's items; nil if all of them have gold."""
    gold, times, weight, square = _gold_of(one)
    place = np.array([classes.index(value) for value in one.values])
    values = quantity.contrast[place[gold]]
    mean = float(weight @ values / weight.sum())
    # An item at either end more keeps gold of a single class from looking as if it had no error.
    spread = _variance(np.concatenate([values, quantity.bounds]), np.concatenate([times, [1.0, 1.0]]))
    n_gold = round(float(times.sum()))
    part = max(0.0, 1.0 - n_gold / one.n_items)
    variance = spread * float(square.sum()) / float(weight.sum()) ** 2 * part
    return Seen(mean, math.sqrt(variance), n_gold, one.n_items)


def _variance(values: Floats, times: Floats) -> float:
    away = values - times @ values / times.sum()
    return float(times @ away**2 / times.sum())


def _gold_of(one: Round) -> tuple[Ints, Floats, Floats, Floats]:
    """Of items with gold, or of rows of them that are alike: its code, how many, the sum of weights and of their
    squares. Items weigh as given, and more if they were less likely to be given gold."""
    probability = one.gold_probability()
    if is_large([one]):
        tally = tally_of(one)
        known = tally.gold >= 0
        return tally.gold[known], tally.items[known], tally.weight[known], tally.square[known]
    known = one.gold >= 0
    weight = np.ones(one.n_items) if one.weight is None else one.weight
    weight = (weight if probability is None else weight / probability)[known]
    return one.gold[known], np.ones(len(weight)), weight, weight**2


@one_blas_thread()
def replay(
    rounds: Sequence[Round],
    played: Sequence[int],
    classes: tuple[str, ...],
    quantities: Sequence[Quantity],
    methods: Sequence[str],
    options: Options,
    em: EMOptions | None = None,
    shrinkage: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
    *,
    shared: SharedFits | None = None,
) -> Played:
    """Play the rounds at the positions `played` by these methods; rounds without gold are history only.

    With `shared` plays start from fits of nearly the same data (`shared_fits`), which is quicker and near enough to
    choose by; how far rounds drifted is not asked then.
    """
    names = distinct_names(rounds)
    plays: list[Play] = []
    drift: list[RoundDrift] = []
    skipped: dict[str, dict[str, str]] = {}
    total = len(played) * len(methods)
    for number, position in enumerate(played):
        seen = [gold_seen(rounds[position], classes, quantity) for quantity in quantities]
        others = tuple(one for place, one in enumerate(rounds) if place != position)
        shares = shared or SharedFits()
        history = shares.history(others, em or EMOptions(), classes, shrinkage)
        gathered = gather_rounds([rounds[position].without_gold()], history, options.at_least)
        order = play_order(len(rounds), position)
        for step, name in enumerate(methods):
            if progress is not None:
                progress(number * len(methods) + step, total)
            try:
                if name == HISTORY_MEAN:
                    plays += _history_means(others, classes, quantities, seen, names[position], options.level)
                    continue
                analysis = _analyzed(gathered, options_of(name, options))
                if len(analysis.question.classes) != len(classes):
                    raise unsupported("E305", f"without its own gold a class of {name_some(list(classes))} is unknown")
                if shared is not None:
                    analysis = shared.analysis(analysis, [order])
                estimates = [analysis.estimate("rate", one.what, one.contrast, bounds=one.bounds) for one in quantities]
                moved = None if shared else _drift_of(analysis.fits[0], estimates[0], quantities[0], seen[0])
            except HeroError as error:
                if not is_lack(error):
                    raise
                skipped.setdefault(name, {})[names[position]] = "; ".join(one.message for one in error.problems)
                continue
            for estimate, truth in zip(estimates, seen, strict=True):
                plays.append(play_of(names[position], name, estimate, truth))
            if moved is not None:
                drift.append(replace(moved, round=names[position]))
    if progress is not None:
        progress(total, total)
    return Played(tuple(plays), tuple(drift), skipped)


def analyze(currents: Sequence[Round], history: PastRounds, options: Options) -> Analysis:
    """The question answered by the method that the options name; nothing but numbers is wanted of it."""
    return _analyzed(gather_rounds(currents, history, options.at_least), options)


def _analyzed(rounds: RoundSet, options: Options) -> Analysis:
    assert options.method is not None
    chosen = require(all_methods()[options.method], "asked for", rounds, options)
    return Analysis(prepare(rounds, chosen, options, remarks=False), diagnosed=False)


def options_of(name: str, options: Options) -> Options:
    """The options as one method takes them. The method is named, so that nothing is chosen, and played, again."""
    method = all_methods()[name]
    columns = options if method.uses_covariates else Options()
    return Options(
        name,
        columns.covariates,
        columns.text,
        columns.penalty,
        options.level,
        cluster=options.cluster,
        not_covariates=options.not_covariates,
        groups=options.groups if method.takes_groups else None,
        progress=options.progress,
        at_least=options.at_least,
    )


def distinct_names(rounds: Sequence[Round]) -> list[str]:
    """The rounds' names, numbered where several have the same."""
    names = [one.name for one in rounds]
    return [
        name if names.count(name) == 1 else f"{name} ({names[:position].count(name) + 1})"
        for position, name in enumerate(names)
    ]


def play_of(name: str, method: str, estimate: Estimate, seen: Seen) -> Play:
    """An estimate made without the gold, beside what the gold says."""
    low, high = estimate.interval()
    return Play(name, method, estimate.what, estimate.value, low, high, estimate.level, estimate.bounds, seen)


def _drift_of(fit: Fit, estimate: Estimate, quantity: Quantity, seen: Seen) -> RoundDrift | None:
    """The shift of class logits, along the direction that moves the quantity most, that leads to the gold's mean."""
    between = fit.between
    if between is None or fit.levels is None:
        return None
    along = quantity.contrast[1:] - quantity.contrast[0]
    direction, slope = between.steepest(along)
    start = float(quantity.contrast @ between.moved(0.0 * direction))
    low, high = quantity.bounds
    n_gold = seen.n_gold
    inside = (seen.mean * n_gold + (low + high) / 2) / (n_gold + 1)  # off the ends, where no shift leads
    beside = start - estimate.value if fit.over_both else 0.0  # averages over both rounds' items are of other items
    target = min(max(inside + beside, low + 1e-6), high - 1e-6)

    def gap(step: float) -> float:
        return float(quantity.contrast @ between.moved(step * direction)) - target

    ends = gap(-_FARTHEST), gap(_FARTHEST)
    from scipy import optimize  # takes long to load, and most estimates do without

    shift = optimize.brentq(gap, -_FARTHEST, _FARTHEST) if ends[0] * ends[1] < 0 else math.nan
    items = Influence(tuple(part for part in estimate.influence.parts if part.source != "rounds")).variance()
    noise = items + float(along @ between.own @ along) + seen.error**2
    excess, usual = excess_labeler_drift(fit.levels)
    expected = between.drift.of_one_round.size if between.drift.known else math.nan
    error = math.sqrt(noise) / slope if slope > 0 else math.nan
    return RoundDrift("", float(shift), error, expected, math.sqrt(excess), math.sqrt(usual))


def _history_means(
    others: Sequence[Round],
    classes: tuple[str, ...],
    quantities: Sequence[Quantity],
    seen: Sequence[Seen],
    name: str,
    level: float,
) -> Iterator[Play]:
    """What the other rounds' gold alone says of each quantity."""
    for quantity, truth in zip(quantities, seen, strict=True):
        low, high = quantity.bounds
        counts = [_pseudo_counts(gold_seen(one, classes, quantity), one, quantity) for one in others if one.n_gold]
        found = past_mean(np.array(counts), level, truth.n_items)
        value, ends = found.value[1], (found.low[1], found.high[1])
        spread = high - low
        yield Play(
            name,
            HISTORY_MEAN,
            quantity.what,
            low + spread * float(value),
            low + spread * float(ends[0]),
            low + spread * float(ends[1]),
            level,
            quantity.bounds,
            truth,
        )


def _pseudo_counts(seen: Seen, one: Round, quantity: Quantity) -> tuple[float, float]:
    """As many items at the lower and the upper end as have the gold's mean; weights make them fewer."""
    low, high = quantity.bounds
    share = (seen.mean - low) / (high - low)
    _, _, weight, square = _gold_of(one)
    size = float(weight.sum() ** 2 / square.sum())
    return size * (1.0 - share), size * share


def common_drift(drift: Sequence[RoundDrift]) -> DriftPosterior:
    """The posterior of the shifts' size; each was measured against the mean of the other rounds, which moves too."""
    known = [one for one in drift if math.isfinite(one.shift) and math.isfinite(one.shift_error)]
    if len(known) < 2:
        return no_drift(len(known))
    shifts, errors = np.array([(one.shift, one.shift_error) for one in known]).T
    spread = errors[:, None] ** 2 + SIZES**2 * len(known) / (len(known) - 1)
    return drift_posterior(-0.5 * (np.log(spread) + shifts[:, None] ** 2 / spread).sum(axis=0), len(known))
