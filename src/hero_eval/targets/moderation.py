"""How good is a moderation system? Prevalence of violations, precision and recall of its flags, and F1.

The rate is estimated apart among flagged and unflagged items: precision is the flagged items' rate, and with the
flagged share f the prevalence is f * flagged rate + (1 - f) * unflagged rate. Weights undo unequal sampling of the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION, Estimate, Influence, Part
from hero_eval.findings import Finding
from hero_eval.methods.registry import Fit
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Bools, Floats
from hero_eval.round import Round
from hero_eval.targets.question import Current, History, Options, Question, ask, unique
from hero_eval.targets.rate import positive_of_two


@dataclass(frozen=True)
class Moderation(Mapping[str, Estimate]):
    """The four estimates, by attribute or by name; they share their items, so their errors are correlated."""

    prevalence: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    flagged_share: Estimate

    _names = ("prevalence", "precision", "recall", "f1", "flagged_share")

    def __getitem__(self, name: str) -> Estimate:
        if name not in self._names:
            raise KeyError(name)
        one: Estimate = getattr(self, name)
        return one

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def method(self) -> str:
        return self.prevalence.method

    @property
    def n_items(self) -> int:
        return self.prevalence.n_items

    @property
    def n_gold(self) -> int:
        return self.prevalence.n_gold

    @property
    def findings(self) -> tuple[Finding, ...]:
        return unique([finding for name in self for finding in self[name].findings])

    def to_dict(self) -> dict[str, Any]:
        out = {"schema_version": SCHEMA_VERSION, "target": "moderation"}
        return out | {name: self[name].to_dict() for name in self}

    def __repr__(self) -> str:
        return "Moderation(" + ", ".join(f"{name} {self[name].value:.4f}" for name in self) + f", {self.method})"

    def _repr_html_(self) -> str:
        return "".join(self[name]._repr_html_() for name in self)


@dataclass(frozen=True)
class _Group:
    """The flagged or the unflagged items: their rate, and its influence; None if there are none."""

    rate: float
    centre: float
    influence: Influence
    fit: Fit
    n_items: int


def estimate_moderation(
    current: Round,
    history: History = None,
    *,
    flag: str,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str = "influence",
    positive: str | None = None,
    penalty: float | None = None,
    progress: Progress | None = None,
) -> Moderation:
    """Prevalence, precision, recall and F1 of the 0/1 column `flag` of the current round's items."""
    options = Options(method, covariates, text, penalty, level, interval, (flag,), progress)
    flags = current.flags(flag)
    groups = [current.select(flags == side) for side in (True, False) if (flags == side).any()]
    question = ask(groups, history, options)
    if len(question.classes) > 2:
        raise wrong("E204", f"moderation asks for two classes; here are {', '.join(question.classes)}")
    if positive is not None and positive not in question.classes:
        raise wrong("E203", f"positive is {positive!r}. Classes: {', '.join(question.classes)}")
    if question.columns is not None:
        question = _split_history(question, flag)
    named = positive if positive is not None else positive_of_two(question, question.currents[0])
    contrast = np.array([float(name == named) for name in question.classes])
    fits = question.fits()
    found = [
        finding
        for here, fit in zip(question.currents, fits, strict=True)
        for finding in question.fit_findings(fit, here)
    ]
    made = {
        bool(here.round.flags(flag)[0]): _group(question, here, fit, contrast)
        for here, fit in zip(question.currents, fits, strict=True)
    }
    return _assemble(question, made, _flag_share(question, fits, flag), found)


def _split_history(question: Question, flag: str) -> Question:
    """The mean that history knows must be that of its flagged, or unflagged, items: the others count as unseen."""
    assert question.reliability is not None
    past = question.reliability.rounds
    lacking = [one.name for one in past if not one.has_column(flag)]
    if lacking:
        message = f"with covariates the flag column {flag!r} is needed in history too; absent from {', '.join(lacking)}"
        raise wrong("E202", message)
    flags = np.concatenate([one.flags(flag) for one in past])
    currents = []
    for here in question.currents:
        columns = here.evidence.covariates
        assert columns is not None
        same: Bools = flags == bool(here.round.flags(flag)[0])
        masked = replace(columns, history=np.where(same[:, None], columns.history, np.nan))
        currents.append(replace(here, evidence=replace(here.evidence, covariates=masked)))
    return replace(question, currents=tuple(currents))


def _group(question: Question, here: Current, fit: Fit, contrast: Floats) -> _Group:
    unknown = bool(np.isnan(fit.current).any())
    return _Group(
        rate=math.nan if unknown else float(contrast @ fit.rates),
        centre=float(contrast @ fit.inside),
        influence=question.influence(fit, here, contrast),
        fit=fit,
        n_items=len(here.ids(fit)),
    )


def _flag_share(question: Question, fits: list[Fit], flag: str) -> tuple[float, Influence]:
    """The weighted share of flagged items and each item's influence on it."""
    flags, weights, ids = [], [], []
    for here, fit in zip(question.currents, fits, strict=True):
        kept = slice(None) if fit.on_all else here.known
        flags.append(here.round.flags(flag)[kept].astype(float))
        raw = np.ones(here.round.n_items) if here.round.weight is None else here.round.weight
        weights.append(raw[kept])
        ids.append(here.ids(fit))
    flagged, weight = np.concatenate(flags), np.concatenate(weights)
    share = float(weight @ flagged / weight.sum())
    values: Floats = weight * (flagged - share) / weight.sum()
    return share, Influence((Part("current", values, np.concatenate(ids)),))


def _assemble(
    question: Question, made: dict[bool, _Group], flagged: tuple[float, Influence], found: list[Finding]
) -> Moderation:
    """Delta method, once: each quantity as a function of the flagged share and the two groups' rates."""
    share, share_influence = flagged
    nothing = Influence(())
    hit, hit_centre, hit_influence = _product(share, share_influence, made.get(True))
    miss, miss_centre, miss_influence = _product(1 - share, share_influence * -1.0, made.get(False))
    prevalence, centre = hit + miss, hit_centre + miss_centre
    whole = hit_influence + miss_influence
    recall = hit / prevalence if prevalence > 0 else math.nan
    recall_centre = hit_centre / centre if centre > 0 else math.nan
    f1 = 2 * hit / (share + prevalence) if share + prevalence > 0 else math.nan
    f1_centre = 2 * hit_centre / (share + centre) if share + centre > 0 else math.nan
    if math.isnan(recall):
        found.append(Finding("F501", "no violation is estimated, so recall is undefined"))
    if True not in made:
        found.append(Finding("F501", "no item is flagged, so precision is undefined"))
    findings = unique([finding for finding in found if finding.code != "F402"])
    group = made.get(True)
    any_fit = next(iter(made.values())).fit
    n_items = sum(one.n_items for one in made.values())

    def finish(what: str, value: float, inside: float, influence: Influence) -> Estimate:
        return question.finish(
            "moderation",
            what,
            value,
            centre=inside,
            influence=influence,
            n_items=n_items,
            fit=any_fit,
            findings=findings,
        )

    safe, safe_f1 = max(centre, 1e-300), max(share + centre, 1e-300)
    return Moderation(
        prevalence=finish("prevalence", prevalence, centre, whole),
        precision=finish(
            "precision",
            math.nan if group is None else group.rate,
            math.nan if group is None else group.centre,
            nothing if group is None else group.influence,
        ),
        recall=finish("recall", recall, recall_centre, (hit_influence - recall_centre * whole) * (1 / safe)),
        f1=finish("F1", f1, f1_centre, (2.0 * hit_influence - f1_centre * (share_influence + whole)) * (1 / safe_f1)),
        flagged_share=finish("flagged share", share, share, share_influence),
    )


def _product(share: float, share_influence: Influence, group: _Group | None) -> tuple[float, float, Influence]:
    """share * rate, the same just off the edge, and its influence; an empty group adds nothing."""
    if group is None:
        return 0.0, 0.0, Influence(())
    return (
        share * group.rate,
        share * group.centre,
        share * group.influence + group.centre * share_influence,
    )
