"""HERO-3: history and current fitted together, with labelers that may err together and rounds that may drift.

The model (`model/hero3`) has as many levels as the data ask for; what changes between rounds (`drift` there)
enters the interval. An item moves the rate by its own class share and by its part in all parameters.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from hero_eval.findings import Finding, name_some
from hero_eval.methods.evidence import JointEvidence, joined_times
from hero_eval.methods.hero2_findings import moved_covariates
from hero_eval.methods.hero3_findings import contradiction_findings, fit_findings
from hero_eval.methods.registry import CovariateUse, GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.em import EMOptions
from hero_eval.model.gold_moves import GoldMoves, gold_moves
from hero_eval.model.hero3.class_split import learn_split, shape_is_seen, split_by_moods
from hero_eval.model.hero3.context import read_in_context
from hero_eval.model.hero3.current_rates import (
    FittedRound,
    current_rates,
    drift_variance,
    item_influences,
    rates_alone,
)
from hero_eval.model.hero3.drift import gold_contradiction
from hero_eval.model.hero3.fit import LevelFit, are_thin, fit_levels
from hero_eval.model.hero3.humps import hump_rates
from hero_eval.model.hero3.level_selection import CONTRADICTED, choose_levels
from hero_eval.model.hero3.moods import moods_are_seen, read_moods
from hero_eval.model.hero3.shape import RoundRows
from hero_eval.model.history import fit_without_gold
from hero_eval.model.item_posteriors import ItemPosteriors, RoundDoubt
from hero_eval.model.patterns import Floats, Patterns, sum_by
from hero_eval.model.rates import off_edge, on_edge
from hero_eval.model.regression import FEW, Covariates, prepare

_OPTIONS = EMOptions(tolerance=1e-9, step_tolerance=1e-6, max_steps=3_000)
"""Of the fit that is kept: parameters rest to a millionth of a logit. Doubled, rates change in their seventh digit at
most (reasoned: Newton's method ends most fits)."""

Said = tuple[Finding, ...]


def rates(evidence: JointEvidence) -> Floats:
    """(K,): the rates without their influences, for those who fit often."""
    fitted, _ = _fitted(evidence)
    return rates_alone(fitted, _scope(evidence, fitted.fit))


@method(
    "hero3",
    "History and current fitted together: labelers may err together, rounds may drift, new labelers count",
    JointEvidence,
    rates,
    gold=GoldNeed.EITHER,
    covariates=CovariateUse.IF_GIVEN,
)
def hero3(evidence: JointEvidence) -> Fit:
    fitted, said = _fitted(evidence)
    fit = fitted.fit
    found = current_rates(fitted, _scope(evidence, fit))
    by_item = item_influences(fit, found)
    between, excess = drift_variance(fitted, found)
    against = gold_contradiction(fit, None if fitted.split is None else fitted.split.by_row)
    if against > CONTRADICTED:
        by_item = np.full_like(by_item, np.nan)
    n_history, n_items = evidence.n_history, float(evidence.current.total)
    direct = fit.rows.patterns.to_items(found.direct)
    return Fit(
        rates=found.rates,
        inside=off_edge(found.rates, n_items),
        current=by_item[n_history:],
        history=by_item[:n_history] if evidence.past else None,
        paper=direct[n_history:],
        on_edge=on_edge(found.rates, n_items),
        report=fit.report,
        findings=(*said, *fit_findings(fitted, evidence, found, between, excess), *contradiction_findings(against)),
        between=between,
        levels=fit,
        over_both=fitted.over_both,
        by_mean=direct[:n_history] if fitted.over_both else None,
        posteriors=_posteriors(fitted, found.rates, n_history, RoundDoubt(between, _spread(by_item))),
    )


def _spread(by_item: Floats) -> Floats:
    """(K-1, K-1): the covariance of the rates by all items' influences; none where these are not known."""
    out: Floats = np.nan_to_num(by_item.T @ by_item)
    return out


def _posteriors(fitted: FittedRound, rates: Floats, n_history: int, doubt: RoundDoubt) -> ItemPosteriors:
    """Of the current items. A rate over both rounds' covariates is not the mean of these items, and moves none."""
    rows = fitted.fit.rows
    patterns = rows.patterns
    return ItemPosteriors(
        fitted.shares,
        patterns.row_of_item[n_history:],
        rows.known,
        patterns.item_weight[n_history:],
        None if fitted.over_both else rates,
        doubt,
    )


def moves_by_gold(evidence: JointEvidence, contrast: Floats) -> GoldMoves:
    """What gold of each current item would tell of  contrast . rates,  for contrast (K,)."""
    fitted, _ = _fitted(evidence)
    found = current_rates(fitted, _scope(evidence, fitted.fit))
    return gold_moves(fitted, found, drift_variance(fitted, found)[0], contrast)


def fitted_levels(evidence: JointEvidence) -> LevelFit:
    """The model as HERO-3 fits it, for others who predict by it."""
    return _fitted(evidence)[0].fit


def _fitted(evidence: JointEvidence) -> tuple[FittedRound, Said]:
    """The fit, with what the shape of the round says where that can be seen, and what is to be said of covariates."""
    found, said = _fitted_levels(evidence)
    found = replace(found, routing=_routing(evidence))
    if not found.alone or found.over_both or found.unseen is not None:
        return found, said
    moods = read_moods(found.fit) if moods_are_seen(found.fit) else None
    if moods is not None:
        return replace(found, split=split_by_moods(found.fit, moods)), said
    if not shape_is_seen(found.fit):
        return found, said
    rounds = (*evidence.past, evidence.current)
    rates = [fit_without_gold(one, evidence.n_classes, evidence.em).latent.class_weights() for one in rounds]
    return replace(found, split=learn_split(found.fit, np.stack(rates), hump_rates(found.fit))), said


def _routing(evidence: JointEvidence) -> Floats | None:
    """(N,) the weights that undo unequal probabilities of having gold, 1 in history; None if there are none."""
    now, without = evidence.current.item_weight, evidence.unrouted.item_weight
    if now is without or len(now) != len(without) or np.array_equal(now, without):
        return None
    found: Floats = np.concatenate([np.ones(evidence.n_history), now / without])
    return found


def _fitted_levels(evidence: JointEvidence) -> tuple[FittedRound, Said]:
    if evidence.warm_levels is not None:
        return FittedRound(_fitted_again(evidence, evidence.warm_levels), evidence.over_both, evidence.alone), ()
    plain = gather_rows(evidence, evidence.n_classes)
    chosen = choose_levels(plain, evidence.groups, evidence.progress)
    ready = None if evidence.covariates is None else _ready(evidence)
    if ready is None or not len(ready.columns.kept):
        # Components that are classes were looked at with other priors than they are fitted with, unless these are thin.
        start = chosen if chosen.shape.err_together or are_thin(plain) else None
        fit = fit_levels(plain, chosen.shape, evidence.groups, _OPTIONS, warm=start, progress=evidence.progress)
    else:
        rows = gather_rows(evidence, evidence.n_classes, ready)
        fit = fit_levels(rows, chosen.shape, evidence.groups, _OPTIONS, evidence.penalty, progress=evidence.progress)
    fit = read_in_context(fit, _OPTIONS)
    if ready is None or evidence.covariates is None:
        return FittedRound(fit, False, evidence.alone), ()
    if not len(ready.columns.kept):
        names = list(evidence.covariates.names)
        message = f"no covariate tells items apart: {name_some(names)} not used"
        return FittedRound(fit, False, evidence.alone), (Finding("F401", message, {"columns": names}),)
    shift = moved_covariates(evidence.covariates.names, ready)
    if shift is None:
        return FittedRound(fit, chosen.shape.n_levels == 0, evidence.alone), ()
    so = "class rates were averaged over the current round's items only"
    said = shift.finding(so, "Nothing: the rate does not rest on these means.")
    return FittedRound(fit, False, evidence.alone), (said,)


def _fitted_again(evidence: JointEvidence, warm: LevelFit) -> LevelFit:
    """From a fit of nearly the same data: its shape and priors, and its maximum to start from."""
    ready = _ready(evidence) if warm.rows.covariates.shape[1] else None
    return fit_levels(
        gather_rows(evidence, evidence.n_classes, ready), warm.shape, evidence.groups, _OPTIONS, warm=warm
    )


def gather_rows(evidence: JointEvidence, n_classes: int, ready: Covariates | None = None) -> RoundRows:
    """All rounds as rows: patterns within a round, or single items where covariates tell them apart."""
    rounds = (*evidence.past, evidence.current)
    starts = np.cumsum([0] + [one.n_rows for one in rounds])
    row_of_item = np.concatenate([one.row_of_item + start for one, start in zip(rounds, starts, strict=False)])
    weight = np.concatenate([one.item_weight for one in rounds])
    of_row = np.repeat(np.arange(len(rounds)), [one.n_rows for one in rounds])
    cells = sparse.vstack([one.cells for one in rounds], format="csr")
    gold = np.concatenate([one.gold for one in rounds])
    covariates = np.zeros((len(gold), 0))
    if ready is not None:
        cells, gold, of_row = cells[row_of_item], gold[row_of_item], of_row[row_of_item]
        row_of_item = np.arange(len(row_of_item))
        covariates = np.concatenate([ready.history, ready.current])
    times = joined_times(rounds)
    patterns = Patterns(
        cells=cells,
        gold=gold,
        counts=sum_by(row_of_item, weight if times is None else weight * times, len(gold)),
        row_of_item=row_of_item,
        item_weight=weight,
        times=times,
        n_labelers=evidence.current.n_labelers,
        n_answers=evidence.current.n_answers,
        row_items=None if times is None else np.concatenate([one.items_of_row for one in rounds]),
    )
    return RoundRows(patterns, of_row, len(rounds), n_classes, covariates)


def _ready(evidence: JointEvidence) -> Covariates:
    columns = evidence.covariates
    assert columns is not None
    many = columns.common_scale.any() or evidence.current.n_items < FEW * len(columns.names)
    return prepare(
        columns.current,
        columns.history,
        evidence.current.item_weight,
        evidence.history_weight,
        common_scale=columns.common_scale,
        drop_collinear=not many,
    )


def _scope(evidence: JointEvidence, fit: LevelFit) -> Floats:
    """(P,) history items whose covariates are not meant to count weigh nothing in averages over both rounds."""
    scope = np.ones(fit.rows.patterns.n_rows)
    columns = evidence.covariates
    if columns is not None and columns.in_scope is not None and len(scope) == len(fit.rows.patterns.row_of_item):
        scope[: evidence.n_history] = columns.in_scope
    return scope
