"""Which kind of interval, and the profile likelihood behind the safer one.

The usual interval comes from influences. It leans on a normal approximation that needs some gold of every class,
reliabilities that the data pin down, and a rate off the edge. Outside that region the profile of the joint likelihood
of history and current takes over, where there is one: it covers even with a handful of gold labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from hero_eval.errors import wrong
from hero_eval.estimation.curves import AnytimeDrift, GridCurve, ProfileCurve, drifting
from hero_eval.estimation.question import Current, Question
from hero_eval.findings import Finding
from hero_eval.influence import Influence
from hero_eval.methods.current_rate import Carried, carry
from hero_eval.methods.evidence import CarriedEvidence
from hero_eval.methods.result import Fit
from hero_eval.model.confidence_sequence import mixture_size
from hero_eval.model.em import EMOptions, EMReport, gold_classes
from hero_eval.model.hero3.drift import drift_steps
from hero_eval.model.joint import Both, Joint, fit_joint, profile, stack
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import EDGE_ITEMS

SAFE_GOLD = 10
SAFE_OWN = 3  # golds of each class for an interval that rests on gold alone
SAFE_ALONE = 20
"""Golds of each class for a model of labelers that was learned and chosen by the current round's own gold alone: with
three labelers who err together and 30 golds, hero3's intervals held the truth in 73% of simulated rounds."""
SAFE_CLUSTERS = 20
MOST_PROFILES = 7
"""Classes that each have a profile: those of twenty took a minute."""
_OPEN_ITEMS = -math.log(0.025) / special.ndtri(0.975)
"""Items of a class of which n items show none, at most: 3.7 by 97.5%, as a standard deviation of a normal curve."""
DRIFT_POINTS = 41
_UNSEEN_TICKS = 301


def edge_floor(center: float, bounds: tuple[float, float], n_items: float) -> float:
    """Nobody is surer of a rate on the edge than by having seen this many items outright."""
    span = bounds[1] - bounds[0]
    share = min(max((center - bounds[0]) / span, 0.0), 1.0)
    return span * math.sqrt(share * (1 - share) / max(n_items, 1.0))


def is_graded(contrast: Floats, bounds: tuple[float, float]) -> bool:
    """Whether  contrast . rates  is a mean with classes between its bounds: of grades, or with ties as half a win."""
    return bool(((contrast > bounds[0]) & (contrast < bounds[1])).any())


def contrast_floor(
    contrast: Floats, inside: Floats, bounds: tuple[float, float], n_items: float, error: float | None = None
) -> float:
    """The same of  contrast . rates.

    A mean with classes between its bounds is known better than a share of items at either end: it varies as items of
    its classes do, and by what those without any item could still move it (the rule of three). `error`: how it varies
    by what is known of the classes that were seen, where labels have sharpened their mean.
    """
    center = float(contrast @ inside)
    whole = edge_floor(center, bounds, n_items)
    if not is_graded(contrast, bounds):
        return whole
    n, apart = max(n_items, 1.0), contrast - center
    empty = np.abs(apart[inside * n < EDGE_ITEMS])
    seen = math.sqrt(float(inside @ apart**2) / n) if error is None else error
    return min(whole, math.hypot(seen, _OPEN_ITEMS / n * empty.max(initial=0.0)))


def fit_floor(
    fit: Fit, contrast: Floats, bounds: tuple[float, float], n_items: int, error: float | None = None
) -> float:
    """The same of the fit of a round of `n_items` items, or of those of them that its edge rests on.

    `error` counts where these are the golds of the round, whose own scatter it has in it.
    """
    if fit.edge_items is None:
        return contrast_floor(contrast, fit.inside, bounds, n_items)
    return contrast_floor(contrast, fit.inside, bounds, fit.edge_items, error)


def interval_kind(
    question: Question,
    fits: Sequence[Fit],
    currents: Sequence[Current],
    *,
    linear: bool = True,
    beside: bool = False,
    grades: Floats | None = None,
) -> tuple[str, list[Finding]]:
    """The kind asked for, or the usual one, or the safer one with a remark; `linear`: of one round's rates.

    `beside`: what is asked about is another class's rate. Of many classes these do without the safer one, which takes
    longer than all the rest. `grades` (K,): what each class counts for, where the mean of that is asked for.
    """
    asked = None if question.options.interval == "anytime" else question.options.interval  # it is made of the usual one
    lack = _no_profile(question, currents, linear)
    if asked == "profile" and lack:
        raise wrong("E204", f"interval='profile' is not to be had here: {lack}. Use 'influence' or 'bootstrap'")
    if asked == "profile":
        return asked, []
    reasons = _unsafe_mean(question, fits, grades) if is_by_own_gold(question, grades) else _unsafe(question, fits)
    left_out = [] if asked is None else _left_out(asked, question, fits)
    if not reasons:
        return asked or "influence", left_out
    why, data = "; ".join(reasons), {"reasons": list(reasons)}
    if lack is None and asked is None and beside and len(question.classes) > MOST_PROFILES:
        message = f"{why}: the interval may be too short; of {len(question.classes)} classes only what was asked about "
        action = "Name this class positive for a safer interval."
        return "influence", [Finding("F309", f"{message}has the safer profile-likelihood interval", data, action)]
    if lack is None and asked is None:
        message = f"{why}: the profile-likelihood interval was used instead of the usual one"
        return "profile", [Finding("F309", message, data, "Nothing; the interval allows for it.", doubts=False)]
    if lack is None:
        message = f"{why}: the interval asked for may be too short"
        action = "Leave `interval` out: a safer one is to be had."
    else:
        message = f"{why}: the interval may be too short, and no safer one is available ({lack})"
        action = " ".join(dict.fromkeys(reasons.values()))
    return asked or "influence", [Finding("F309", message, data, action), *left_out]


def _left_out(asked: str, question: Question, fits: Sequence[Fit]) -> list[Finding]:
    """Kinds that resample or look at the current items alone know nothing of how rounds differ; the paper's takes the
    reliabilities as known."""
    if asked not in ("bootstrap", "paper"):
        return []
    found = []
    if asked == "paper" and question.reliability is not None:
        message = "the interval asked for takes history's reliabilities as known, and leaves their error out"
        found.append(Finding("F311", message, {"left_out": "reliabilities"}))
    drifts = [fit.between.drift for fit in fits if fit.between is not None and fit.between.drift.is_present]
    if drifts:
        size = max(drift.size for drift in drifts)
        message = (
            f"this round's labels may have drifted (sd {size:.2f}, logit scale), which interval={asked!r} leaves out"
        )
        found.append(Finding("F311", message, {"left_out": "drift", "drift_sd": size}))
    return found


def _unsafe(question: Question, fits: Sequence[Fit]) -> dict[str, str]:
    """Why the normal approximation may fail here, each with what would mend it."""
    reasons: dict[str, str] = {}
    by_history = question.reliability if question.method.uses_history and not question.method.by_design else None
    learned = [(here.own, _place_of(question, here)) for here in question.currents if here.own is not None]
    if by_history is not None:
        learned = [(by_history, "history")]
    alone = by_history is None and len(question.currents) == 1 and not question.method.by_design
    for one, where in learned:
        by_class = gold_classes(one.counted.patterns, len(question.classes))
        if bounds_unseen(fits):
            by_class = np.where(by_class == 0, np.inf, by_class)
        scarce = int(np.argmin(by_class))
        least = SAFE_ALONE if alone else SAFE_OWN if question.method.by_design else SAFE_GOLD
        if by_class[scarce] < least:
            name = question.classes[scarce]
            items = {0: "no item", 1: "only 1 item"}.get(by_class[scarce], f"only {by_class[scarce]:g} items")
            has = f"{where} has gold for {items} of class {name!r}"
            more = f"Add gold to {where} until {least} items of class {name!r} have it"
            reasons[has] = f"{more}, or name no method." if alone else f"{more}."
        rests_on_hero1 = any(fit.levels is None for fit in fits) and not question.method.by_design
        if rests_on_hero1 and one.fit.information.is_weak:
            reasons[f"{where} does not pin the reliabilities down"] = f"Add gold to {where}."
    if question.options.cluster is not None and question.n_clusters < SAFE_CLUSTERS:
        has = f"there are only {question.n_clusters} clusters"
        reasons[has] = f"Label items of {SAFE_CLUSTERS} clusters or more."
    if any(fit.on_edge for fit in fits):
        reasons["the estimate is at the edge"] = "Have an expert answer some items of the current round."
    return reasons


def is_by_own_gold(question: Question, grades: Floats | None) -> bool:
    """Whether a mean of grades is asked for that rests on the golds of one round, whoever labeled it."""
    return grades is not None and question.method.by_design and len(question.currents) == 1


def _unsafe_mean(question: Question, fits: Sequence[Fit], grades: Floats | None) -> dict[str, str]:
    """Why the normal approximation may fail of the mean of golds: it need not have some of every grade.

    What a grade without any gold could still move is in the interval. It is the skewness of the mean that must be no
    more than that of the share of a class with `SAFE_OWN` golds.
    """
    assert grades is not None
    current = question.currents[0].evidence.current
    times = current.counts if current.times is None else current.items_of_row
    known = current.gold >= 0
    apart = grades[current.gold[known]]
    weight = times[known]
    apart = apart - weight @ apart / max(float(weight.sum()), 1.0)
    spread = float(weight @ apart**2) ** 1.5
    reasons: dict[str, str] = {}
    if not abs(float(weight @ apart**3)) * math.sqrt(SAFE_OWN) <= spread or spread == 0.0:
        has = "the current round's gold has next to no grades but one"
        reasons[has] = f"Add gold to the current round until {SAFE_OWN} items of another grade have it."
    least, most = float(grades.min()), float(grades.max())
    share = (float(grades @ fits[0].inside) - least) / (most - least)
    if min(share, 1.0 - share) * (fits[0].edge_items or 0.0) < EDGE_ITEMS:
        reasons["the estimate is at the edge"] = "Have an expert answer more items of the current round."
    if question.options.cluster is not None and question.n_clusters < SAFE_CLUSTERS:
        has = f"there are only {question.n_clusters} clusters"
        reasons[has] = f"Label items of {SAFE_CLUSTERS} clusters or more."
    return reasons


def _place_of(question: Question, here: Current) -> str:
    """What a current round is called where gold is to be added: one of several by its name, parts of one by what parts
    them."""
    if len(question.currents) == 1:
        return "the current round"
    if len({one.round.name for one in question.currents}) > 1 or not question.options.not_covariates:
        return f"round {here.round.name!r}"
    column = question.options.not_covariates[0]
    return f"the part of the current round with {column} {here.round.words(column)[0]}"


def bounds_unseen(fits: Sequence[Fit]) -> bool:
    """Whether the intervals allow for classes that no gold shows."""
    return all(fit.between is not None and fit.between.unseen is not None for fit in fits)


def _no_profile(question: Question, currents: Sequence[Current], linear: bool) -> str | None:
    """Why there is no profile likelihood, or None if there is."""
    if not question.method.anchored:
        return f"{question.method.name} has no profile likelihood"
    if question.reliability is None:
        return "there is no history"
    if question.reliability.shrinkage > 0:
        return "its likelihood leaves out the shrinkage"
    if not linear:
        return "it exists for rates, scores and win rates of one round"
    if question.options.cluster is not None:
        return "items are clustered"
    weights = [current.evidence.current.item_weight for current in currents]
    first = currents[0].evidence
    if isinstance(first, CarriedEvidence) and first.history is not None:
        weights.append(first.history.item_weight)
    return "items are weighted" if any(np.ptp(weight) > 1e-9 for weight in weights) else None


@dataclass(frozen=True, eq=False)
class ProfileStart:
    """What the profiles of all quantities of a round start from: HERO-1's rates and the maximum of the likelihood."""

    carried: Carried
    both: Both
    maximum: tuple[Joint, EMReport]
    options: EMOptions


def profile_start(current: Current) -> ProfileStart:
    evidence = current.evidence
    assert isinstance(evidence, CarriedEvidence)
    learned = evidence.anchored
    carried = carry(evidence.current, learned)
    both = stack(learned.patterns, evidence.current, learned.latent)
    start = Joint(learned.latent, np.maximum(carried.root.rates, 1e-6))
    options = replace(evidence.em, tolerance=1e-9, step_tolerance=None, max_steps=2_000, accelerate=True)
    return ProfileStart(carried, both, fit_joint(both, start, options), options)


def profile_curve(question: Question, fit: Fit, start: ProfileStart, contrast: Floats, error: float) -> ProfileCurve:
    """The profile of  contrast . rates;  for HERO-2 it is HERO-1's, moved by what the covariates moved the estimate."""
    least, most = float(contrast.min()), float(contrast.max())

    def place(rates: Floats) -> float:
        share = (float(contrast @ rates) - least) / (most - least)
        return float(special.logit(min(max(share, 1e-8), 1 - 1e-8)))

    share = special.expit(place(fit.inside))
    guess = error / ((most - least) * share * (1 - share)) if math.isfinite(error) else 1.0
    spacing = min(max(0.6 * float(guess), 0.05), 2.0)
    walked = profile(start.both, start.maximum, contrast, spacing, start.options)
    curve = ProfileCurve(walked.places, walked.roots, (least, most), question.df)
    return curve.shifted(place(fit.inside) - place(start.carried.inside))


def drift_curve(
    question: Question, fit: Fit, current: Current, contrast: Floats, floor: float, influence: Influence
) -> GridCurve | AnytimeDrift:
    """The confidence curve of  contrast . rates  with the drift between rounds: for each size that it may have the
    rate by labels moved to and fro, as far as past rates make it probable, blurred by the items' own noise, whose
    standard error is at least `floor`."""
    assert fit.between is not None
    least, most = float(contrast.min()), float(contrast.max())
    along = contrast[1:] - contrast[0]
    between = fit.between.along(along)

    def places(rates: Floats) -> Floats:
        out: Floats = special.logit(np.clip((rates @ contrast - least) / (most - least), 1e-9, 1 - 1e-9))
        return out

    def place(rates: Floats) -> float:
        return float(places(rates))

    def shifted(steps: Floats) -> Floats:
        return places(between.moved_by(steps.ravel()[:, None] * direction)).reshape(steps.shape)

    direction, _ = between.steepest(along)
    drifts = np.outer(between.drift.sizes, drift_steps(DRIFT_POINTS, between.drift.df))
    if between.unseen is None:
        where = shifted(drifts)
    else:
        direction = between.unseen.direction
        drifts = drifts[:, :, None] + between.unseen.steps
        ticks = np.linspace(drifts.min(), drifts.max(), _UNSEEN_TICKS)
        where = np.interp(drifts, ticks, shifted(ticks)).reshape(len(drifts), -1)
    middle, past = float(shifted(np.zeros(1))[0]), None if between.past is None else place(between.past)
    items = Influence(tuple(part for part in influence.parts if part.source != "rounds"))
    share = special.expit(place(fit.inside))
    scale = (most - least) * share * (1 - share)
    noise = (max(items.variance(), floor**2) + float(along @ between.own @ along)) / scale**2
    curve = partial(
        drifting,
        where,
        between.drift.weights,
        middle=middle,
        center=middle if between.is_split else place(fit.inside),
        df=question.df,
        bounds=(least, most),
        n_items=current.n_items,
        prior=None if past is None else lambda at: between.density(at - past),
    )
    if question.options.interval != "anytime" or not math.isfinite(noise):
        return curve(noise=noise)
    m = mixture_size(noise * scale**2, most - least)
    total = mixture_size(max(influence.variance(), floor**2), most - least)
    return AnytimeDrift(curve(noise=noise, m=m), curve(noise=noise), total, (least, most))
