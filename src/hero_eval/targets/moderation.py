"""How good is a moderation system? Prevalence of violations, precision and recall of its flags, and F1.

The rate is estimated apart among flagged and unflagged items: precision is the flagged items' rate, and with the
flagged share f the prevalence is f * flagged rate + (1 - f) * unflagged rate. Weights undo unequal sampling of the two.
Where no history has gold, labelers are known by the gold of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hero_eval.display import Displayed
from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION, Estimate
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.ask import ask
from hero_eval.estimation.curves import Curve, resampled
from hero_eval.estimation.drift_of_parts import (
    drifted_rates,
    drifts_as_one,
    parts_drift_curve,
    with_drift,
    without_drift,
)
from hero_eval.estimation.headline import rate_contrast
from hero_eval.estimation.intervals import edge_floor, interval_kind
from hero_eval.estimation.options import HistoryLike, Options, as_history, as_round
from hero_eval.estimation.question import Question
from hero_eval.estimation.repeated_data import refuse_own_history
from hero_eval.findings import Finding, settled, unique
from hero_eval.influence import Influence
from hero_eval.item_results import ItemResults
from hero_eval.methods.result import Fit
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Floats
from hero_eval.read import RoundLike

QUANTITIES = ("prevalence", "precision", "recall", "f1", "flagged_share")


@dataclass(frozen=True, eq=False)
class Moderation(Displayed, Mapping[str, Estimate]):
    """The estimates, by attribute or by name; they share their items, so their errors are correlated.

    Attributes
    ----------
    prevalence : Estimate
        The rate of violations among all items.
    precision : Estimate
        The rate of violations among flagged items.
    recall : Estimate
        The share of violations that is flagged.
    f1 : Estimate
        The harmonic mean of precision and recall.
    flagged_share : Estimate
        The share of items that is flagged.
    """

    prevalence: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    flagged_share: Estimate

    def __getitem__(self, name: str) -> Estimate:
        if name not in QUANTITIES:
            raise KeyError(name)
        one: Estimate = getattr(self, name)
        return one

    def __iter__(self) -> Iterator[str]:
        return iter(QUANTITIES)

    def __len__(self) -> int:
        return len(QUANTITIES)

    @property
    def method(self) -> str:
        """The method that was used."""
        return self.prevalence.method

    @property
    def n_items(self) -> int:
        """Current items behind the numbers."""
        return self.prevalence.n_items

    @property
    def n_gold(self) -> int:
        """Gold items behind the numbers."""
        return self.prevalence.n_gold

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all estimates, each once."""
        return unique([finding for name in self for finding in self[name].findings])

    def to_dict(self) -> dict[str, Any]:
        """The estimates in plain types, for JSON.

        Returns
        -------
        dict
        """
        out = {"schema_version": SCHEMA_VERSION, "target": "moderation"}
        return out | {name: self[name].to_dict() for name in self}

    def __repr__(self) -> str:
        return "Moderation(" + ", ".join(f"{name} {self[name].value:.4f}" for name in self) + f", {self.method})"


@dataclass(frozen=True, eq=False)
class _Group:
    """The flagged or the unflagged items: their rate, and its influence; None if there are none.

    `together`: the influence if what drift moves here it moves in the other group as well; `still`: without drift.
    """

    rate: float
    center: float
    influence: Influence
    together: Influence
    still: Influence
    fit: Fit
    n_items: int


def estimate_moderation(
    current: RoundLike,
    history: HistoryLike = None,
    *,
    flag: str,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: str | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    at_least: float | None = None,
    progress: Progress | None = None,
) -> Moderation:
    """Prevalence, precision, recall and F1 of the 0/1 column `flag` of the current round's items.

    The rate of violations is estimated apart among flagged and unflagged items. A `weight` column of the items undoes
    unequal sampling of the two. Without a history that has gold the current round's own gold counts: labelers are then
    known by the gold of flagged and unflagged items together.

    Parameters
    ----------
    current : Round, path or dataframe
        The round to be estimated. Its own gold counts too, where the method uses it.
    history : Round, path, dataframe, several of them, Reliability or None, optional
        Past rounds, in which some items have gold: they teach how each labeler answers. A fitted `Reliability` is used
        as it is, without fitting again. None: only what the current round itself holds counts.
    flag : str
        A yes/no column of the current round's items: whether the moderation system flagged the item.
    method : str, optional
        The name of a method, such as ``"hero1"``. None takes the best one that the data allow; `why` of the result says
        which and why.
    covariates : sequence of str, optional
        Numeric columns of the items of all rounds that tell something about the answer; ``"labeler:NAME"`` takes the
        answers of that labeler out of the labels and uses them as a covariate. None uses none, except that `hero2`
        takes all numeric columns that the rounds share.
    text : str, optional
        A column of text, such as the prompt, whose most frequent words become covariates. None uses no text.
    level : float, default 0.95
        The level of the interval: how sure it is to hold the quantity, between 0 and 1.
    interval : {"influence", "profile", "bootstrap", "paper", "anytime"}, optional
        How the interval is made: from influences, from the profile likelihood, from items drawn again, or as in the
        paper, which takes the reliabilities as known and is too short. None takes ``"influence"``, or ``"profile"``
        where the first is not safe and the second can be had (finding F309).
    cluster : str, optional
        A column whose equal values mark items that are not independent, such as several outputs for one prompt;
        ``"item"`` takes items of equal id in all rounds as one. None: each item counts by itself.
    replicates : int, optional
        How often the bootstrap draws the items again, at least 50. Only with ``interval="bootstrap"``; None: 1,000.
    seed : int, optional
        The seed of the bootstrap's draws, 0 or more. Only with ``interval="bootstrap"``; None: 0.
    positive : str, optional
        The class that is a violation. None takes the one that a round names; without one, ``1`` of 0 and 1 or the last
        of two classes that were given in order.
    penalty : float, optional
        The ridge penalty on the coefficients of the covariates, 0 or more. None has it chosen from the data.
    groups : mapping of labeler to group, optional
        Which labelers are alike, such as ``{"ann": "vendor-1"}``: a labeler that history never saw counts as its group
        does. Only `hero3`, `ppi` and `balanced` take it. None takes all labelers for one group.
    at_least : float, optional
        Where gold is numbers: the share of items whose gold is this number or more, instead of the mean. None: the
        mean, or the rate of the positive class.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs, and with (replicates so far, share of them
        still to come) while the bootstrap does. None: nothing is told.

    Returns
    -------
    Moderation
        An estimate for each of the four, and for the share of flagged items.

    Raises
    ------
    InputError
        If the rounds do not fit together, the flag is not yes or no for each item, there are more than two classes, or
        an option is unknown or does not fit the method.
    SupportError
        If the data cannot support the answer: history without gold, no labeler that it knows, no usable item, or too
        little gold for the method.
    """
    options = Options(
        method,
        covariates,
        text,
        penalty,
        level,
        interval,
        cluster,
        replicates,
        seed,
        (flag,),
        groups,
        progress,
        at_least,
    )
    history, current = as_history(history, current), as_round(current)
    flags = current.flags(flag)
    refuse_own_history(current, history)
    sides = [current.select(flags == side) for side in (True, False) if (flags == side).any()]
    analysis = ask(sides, history, options, split=flag)
    question = analysis.question
    if len(question.classes) > 2 and at_least is None:
        how = "; of gold that is numbers say which count: at_least= (command: --at-least)"
        raise wrong("E204", f"moderation asks for two classes; here are {', '.join(question.classes)}{how}")
    contrast = rate_contrast(question, positive)
    found = _findings(analysis, flag)
    made = {
        bool(here.round.flags(flag)[0]): _group(analysis, at, contrast) for at, here in enumerate(question.currents)
    }
    share = _flag_share(question, flag)
    whole = _assemble(analysis, made, share, contrast, found)
    return replace(whole, prevalence=replace(whole.prevalence, item_results=_items(analysis, made, share, contrast)))


def _items(
    analysis: Analysis, made: dict[bool, _Group], flagged: tuple[float, Influence], contrast: Floats
) -> ItemResults:
    """Every item, and how far it moves the prevalence: by its group's rate, the flagged share, and the other group's
    rate where its gold tells of the labelers there."""
    share, on_share = flagged
    of_all = {True: share, False: 1.0 - share}
    apart = (made[True].center - made[False].center) if len(made) == 2 else 0.0
    moved = np.split(apart * on_share.parts[0].values, np.cumsum([one.n_items for one in made.values()])[:-1])
    for at, side in enumerate(made):
        there = made[not side].fit.history if len(made) == 2 else None
        if analysis.question.currents[at].siblings and there is not None:
            moved[at] = moved[at] + of_all[not side] * (there @ (contrast[1:] - contrast[0]))
    rounds = [
        replace(analysis.round_items(at), factor=of_all[side], shift=moved[at], marks={"flagged": side})
        for at, side in enumerate(made)
    ]
    return analysis.items_of(contrast, rounds)


def _findings(analysis: Analysis, flag: str) -> list[Finding]:
    """What is said of both groups once, and of one of them with its name."""
    sides = {
        "flagged items" if here.round.flags(flag)[0] else "unflagged items": of
        for here, of in zip(analysis.question.currents, analysis.findings, strict=True)
    }
    if len(sides) == 1:
        return [finding for of in sides.values() for finding in of]
    said = [{(one.code, one.fact) for one in of} for of in sides.values()]
    both = said[0] & said[1]
    return [
        one if (one.code, one.fact) in both else one.at(name)  # shares of a group are no shares of all items
        for name, of in sides.items()
        for one in of
    ]


def _group(analysis: Analysis, at: int, contrast: Floats) -> _Group:
    fit, here = analysis.fits[at], analysis.question.currents[at]
    unknown = bool(np.isnan(fit.current).any())
    influence = analysis.question.influence(fit, here, contrast)
    still = without_drift(influence, fit, contrast)
    return _Group(
        rate=math.nan if unknown else float(contrast @ fit.rates),
        center=float(contrast @ fit.inside),
        influence=influence,
        together=with_drift(still, fit, contrast, "both groups"),
        still=still,
        fit=fit,
        n_items=here.n_items,
    )


def _flag_share(question: Question, flag: str) -> tuple[float, Influence]:
    """The weighted share of flagged items and each item's influence on it."""
    flags, weights, units = [], [], []
    for here in question.currents:
        kept = here.kept
        assert kept is not None
        flags.append(here.round.flags(flag)[kept].astype(float))
        raw = np.ones(here.round.n_items) if here.round.weight is None else here.round.weight
        weights.append(raw[kept])
        units.append(here.units)
    flagged, weight = np.concatenate(flags), np.concatenate(weights)
    share = float(weight @ flagged / weight.sum())
    values: Floats = weight * (flagged - share) / weight.sum()
    return share, question.spread(values, np.concatenate([np.asarray(of) for of in units]))


def _quantities(share: Floats, flagged: Floats, unflagged: Floats) -> dict[str, Floats]:
    """Everything from the flagged share and the two rates; a group that is empty has rate 0 and share 0."""
    hit = share * np.nan_to_num(flagged)
    prevalence = hit + (1 - share) * np.nan_to_num(unflagged)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "prevalence": prevalence,
            "precision": np.asarray(flagged, dtype=float),
            "recall": np.where(prevalence > 0, hit / prevalence, np.nan),
            "F1": np.where(share + prevalence > 0, 2 * hit / (share + prevalence), np.nan),
            "flagged share": np.asarray(share, dtype=float),
        }


def _assemble(
    analysis: Analysis,
    made: dict[bool, _Group],
    flagged: tuple[float, Influence],
    contrast: Floats,
    found: list[Finding],
) -> Moderation:
    """Delta method, once: each quantity as a function of the flagged share and the two groups' rates."""
    share, share_influence = flagged
    yes, no = made.get(True), made.get(False)
    unknown = any(math.isnan(group.rate) for group in made.values())
    rates = [math.nan if group is None else group.rate for group in (yes, no)]
    inner = [math.nan if group is None else group.center for group in (yes, no)]
    values = _quantities(np.array(share), *(np.array(rate) for rate in rates))
    n_items = sum(group.n_items for group in made.values())
    centers = {
        name: float(value) for name, value in _quantities(np.array(share), *(np.array(c) for c in inner)).items()
    }
    if unknown:
        values = {name: np.array(share if name == "flagged share" else math.nan) for name in values}
    if yes is None:
        values["F1"] = np.array(math.nan)
        found.append(Finding("F501", "no item is flagged, so precision and with it F1 are undefined"))
    if math.isnan(float(values["recall"])) and not unknown:
        found.append(Finding("F501", "no violation is estimated, so recall is undefined"))
    fits = [group.fit for group in made.values()]
    kind, remark = interval_kind(analysis.question, fits, analysis.question.currents, linear=False)
    findings = unique([*found, *remark])
    pulls = _less_sure(share, share_influence, yes, no, centers)
    drifting = kind == "influence" and not unknown and drifts_as_one(fits)
    curves = _drift_curves(analysis.question, made, flagged, contrast, centers) if drifting else {}
    floors = _floors(centers, n_items, one_sided=share in (0.0, 1.0), on_edge=any(fit.on_edge for fit in fits))
    drawn = _replicated(analysis, made, contrast) if kind == "bootstrap" else {}

    def finish(what: str) -> Estimate:
        value, influence = float(values[what]), pulls[what]
        curve: Curve | None = curves.get(what) if math.isfinite(value) else None
        if what in drawn and math.isfinite(value):
            curve = resampled(drawn[what], value, influence.skewness())
        return analysis.finish(
            "moderation",
            what,
            value,
            center=centers[what],
            influence=influence,
            n_items=n_items,
            fit=fits[0],
            findings=findings if math.isnan(value) else unique(settled(findings, ("F501",))),  # the others hold
            kind=kind,
            curve=curve,
            floor=floors.get(what, 0.0),
        )

    return Moderation(*(finish(what) for what in ("prevalence", "precision", "recall", "F1", "flagged share")))


def _drift_curves(
    question: Question,
    made: dict[bool, _Group],
    flagged: tuple[float, Influence],
    contrast: Floats,
    centers: dict[str, float],
) -> dict[str, Curve]:
    """Of each quantity that drift of the whole round moves, its curve."""
    share, on_share = flagged
    sides = {side: drifted_rates(group.fit, contrast) for side, group in made.items()}
    yes, no = (_by(made.get(side), "still") for side in (True, False))
    pulls = _influences(share, on_share, yes, no, centers)
    counts = _counts(centers, sum(group.n_items for group in made.values()))

    def of(what: str, *rates: Floats) -> Floats:
        known = dict(zip(sides, rates, strict=True))
        absent = np.full(rates[0].shape, math.nan)
        return _quantities(np.array(share), known.get(True, absent), known.get(False, absent))[what]

    return {
        what: parts_drift_curve(
            question,
            list(sides.values()),
            partial(of, what),
            center=centers[what],
            noise=pulls[what].variance(),
            n_items=counts[what],
        )
        for what in ("prevalence", "precision", "recall", "F1")
        if 0.0 < centers[what] < 1.0
    }


def _by(group: _Group | None, which: str) -> _Group | None:
    """The group with another of its influences in the place of the usual one."""
    return None if group is None else replace(group, influence=getattr(group, which))


def _counts(centers: dict[str, float], n_items: int) -> dict[str, float]:
    """Of how many items each share is a share."""
    of = {"flagged share": float(n_items), "recall": max(n_items * centers["prevalence"], 1.0)}
    of |= {"prevalence": float(n_items), "precision": n_items * centers["flagged share"]}
    of["F1"] = n_items * (centers["flagged share"] + centers["prevalence"]) / 2
    return of


def _floors(centers: dict[str, float], n_items: int, *, one_sided: bool, on_edge: bool) -> dict[str, float]:
    """Least standard errors, by the number of items that each share is a share of, where a share lies on an edge.

    With all or no items flagged the sample says as much of the flagged share, and of recall, as so many tosses would.
    """
    of = _counts(centers, n_items)
    wanted = (["flagged share", "recall"] if one_sided else []) + (
        ["prevalence", "precision", "recall", "F1"] if on_edge else []
    )
    out = {}
    for name in wanted:
        inside = (of[name] * centers[name] + 0.5) / (of[name] + 1.0)
        if math.isfinite(inside):
            out[name] = edge_floor(inside, (0.0, 1.0), of[name])
    return out


def _less_sure(
    share: float, on_share: Influence, yes: _Group | None, no: _Group | None, centers: dict[str, float]
) -> dict[str, Influence]:
    """Each quantity's influence with drift of each group by itself, or of both together: whichever leaves more open."""
    apart = _influences(share, on_share, yes, no, centers)
    together = _influences(share, on_share, _by(yes, "together"), _by(no, "together"), centers)
    more = {what for what, one in apart.items() if together[what].variance() > one.variance()}
    return {what: together[what] if what in more else one for what, one in apart.items()}


def _influences(
    share: float, on_share: Influence, yes: _Group | None, no: _Group | None, centers: dict[str, float]
) -> dict[str, Influence]:
    """Each quantity's influence by the product and quotient rules."""
    hit = _product(share, on_share, yes)
    whole = hit + _product(1 - share, on_share * -1.0, no)
    prevalence = max(centers["prevalence"], 1e-300)
    both = max(share + centers["prevalence"], 1e-300)
    return {
        "prevalence": whole,
        "precision": Influence(()) if yes is None else yes.influence,
        "recall": (hit - centers["recall"] * whole) * (1 / prevalence),
        "F1": (2.0 * hit - centers["F1"] * (on_share + whole)) * (1 / both),
        "flagged share": on_share,
    }


def _product(share: float, on_share: Influence, group: _Group | None) -> Influence:
    """Influence on share * rate; an empty group adds nothing."""
    return Influence(()) if group is None else share * group.influence + group.center * on_share


def _replicated(analysis: Analysis, made: dict[bool, _Group], contrast: Floats) -> dict[str, Floats]:
    """Bootstrap replicates of every quantity."""
    drawn = analysis.replicates
    rates = {side: of @ contrast for side, of in zip(made, drawn.rates, strict=True)}
    mass = dict(zip(made, drawn.mass, strict=True))
    nothing = np.zeros(len(drawn.mass[0]))
    flagged, unflagged = (mass.get(side, nothing) for side in (True, False))
    unknown = np.full(len(nothing), math.nan)
    whole = flagged + unflagged
    share = np.divide(flagged, whole, out=unknown.copy(), where=whole > 0)  # a replicate may hold no weight at all
    return _quantities(share, rates.get(True, unknown), rates.get(False, unknown))
