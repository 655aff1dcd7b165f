"""HERO-2: HERO-1 sharpened by covariates whose mean history knows better (paper, section 3.3).

The score equation is tilted by gamma'(current mean - historical mean), gamma from a regression of the pilot scores on
the covariates. An item therefore moves the rate in four ways: by its score, by its covariates, by its part in gamma,
and, in history, by its part in the reliabilities and in the historical mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hero_eval.findings import Finding
from hero_eval.methods.current_rate import Carried, carry, fit_findings, tilt_gradient
from hero_eval.methods.evidence import CovariateEvidence
from hero_eval.methods.hero2_findings import Shift, dropped_findings, moved_covariates, value_findings
from hero_eval.methods.hero2_influences import Influences, Pulls, item_influences, summed_influences
from hero_eval.methods.registry import CovariateUse, GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.item_posteriors import by_likelihood
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import Root, edge_point, solve_rates
from hero_eval.model.regression import FEW, Covariates, Ridge, SummedCovariates, prepare, prepare_sums, solve_ridge


@dataclass(frozen=True, eq=False)
class Tilted:
    """HERO-1, the regression of its scores on the covariates, and the root of the tilted score.

    target (P, K-1): these scores, less their mean; rows (P, d): the covariates' `row_sums`.
    """

    carried: Carried
    target: Floats
    covariates: Covariates | SummedCovariates
    rows: Floats
    ridge: Ridge
    root: Root


def rates(evidence: CovariateEvidence) -> Floats:
    return _tilt(evidence).root.rates


@method(
    "hero2",
    "HERO-1 sharpened by covariates that both rounds share",
    CovariateEvidence,
    rates,
    gold=GoldNeed.HISTORY,
    covariates=CovariateUse.ALWAYS,
    anchored=True,
)
def hero2(evidence: CovariateEvidence) -> Fit:
    tilted = _tilt(evidence)
    root, carried = tilted.root, tilted.carried
    edge = root.touches_edge(evidence.current.total)
    inside = edge_point(root.rates, evidence.current.total) if edge else root.rates
    influences = _influences(evidence, tilted, inside)
    return Fit(
        rates=root.rates,
        inside=inside,
        current=influences.current,
        history=influences.history,
        paper=influences.paper,
        by_mean=influences.by_mean,
        on_edge=edge,
        report=carried.learned.report,
        findings=(*fit_findings(carried), *_covariate_findings(evidence, tilted)),
        posteriors=by_likelihood(carried.patterns, carried.likelihood, inside, gold_used=False),
    )


def _tilt(evidence: CovariateEvidence) -> Tilted:
    patterns, total = evidence.current, evidence.current.total
    carried = carry(patterns, evidence.anchored)
    psi = carried.psi(carried.pilot)
    target = psi - patterns.counts @ psi / total
    covariates = _ready(evidence)
    rows = covariates.row_sums(patterns)
    spread = float((patterns.counts @ target**2).sum() / total)
    ridge = solve_ridge(covariates.variance, rows.T @ target / total, spread, patterns.n_items, _penalty(evidence))
    root = solve_rates(carried.likelihood, patterns.counts, ridge.gamma.T @ covariates.mean)
    return Tilted(carried, target, covariates, rows, ridge, root)


def _penalty(evidence: CovariateEvidence) -> float | None:
    """The penalty given; none for a few covariates; None, to be chosen by cross-validation, for many or for text."""
    has_text = evidence.columns is not None and bool(evidence.columns.common_scale.any())
    few = evidence.current.n_items >= FEW * len(evidence.covariate_names) and not has_text
    return (0.0 if few else None) if evidence.penalty is None else evidence.penalty


def _ready(evidence: CovariateEvidence) -> Covariates | SummedCovariates:
    """Centerd, scaled and cleaned covariates of both rounds."""
    columns, counted, drop_collinear = evidence.columns, evidence.counted, _penalty(evidence) == 0.0
    if counted is not None:
        return prepare_sums(counted.current, counted.history, evidence.current, drop_collinear=drop_collinear)
    assert columns is not None
    assert evidence.history is not None
    return prepare(
        columns.current,
        columns.history,
        evidence.current.item_weight,
        evidence.history.item_weight,
        common_scale=columns.common_scale,
        drop_collinear=drop_collinear,
    )


def _influences(evidence: CovariateEvidence, tilted: Tilted, at: Floats) -> Influences:
    """Of each item where items are at hand, else their sums of squares."""
    pulls, now, past, covariates = _pulls(tilted, at), evidence.current, evidence.history, tilted.covariates
    assert past is not None
    if isinstance(covariates, Covariates):
        return item_influences(pulls, now, past, covariates)
    assert evidence.counted is not None
    return summed_influences(pulls, now, past, covariates, evidence.counted.grams)


def _pulls(tilted: Tilted, at: Floats) -> Pulls:
    """What each item's influence on the rates depends on, with the score equation linearised `at` rates."""
    carried, covariates, ridge = tilted.carried, tilted.covariates, tilted.ridge
    total, counts = carried.patterns.total, carried.patterns.counts
    inverse = carried.inverse_information(at)
    psi = carried.psi(at)
    known = psi - counts @ psi / total  # the mean is nonzero only off an edge
    toward = ridge.inverse @ covariates.mean
    row_along = tilted.rows @ toward / total  # how far the covariates lie along the tilt
    pilot = carried.inside
    pilot_inverse = carried.inverse_information(pilot)
    pilot_psi = carried.psi(pilot)
    bend = -(pilot_psi * row_along[:, None]).T @ pilot_psi  # d tilt_k / d pilot rate_l
    gradient = carried.mean_gradients(at) - tilt_gradient(carried, row_along, pilot, pilot_inverse, bend)
    information = carried.learned.information
    seen_now, seen_past = covariates.seen()
    return Pulls(
        toward=toward,
        gamma=ridge.gamma,
        constant=known + ridge.penalty * toward @ ridge.gamma - pilot_psi @ pilot_inverse @ bend.T,
        target=tilted.target,
        known=known,
        turn=inverse / total,
        by_reliability=information.row_influence(information.solve(gradient) @ inverse),
        by_mean=(seen_now / seen_past / total)[:, None] * ridge.gamma @ inverse,
    )


def moved_means(evidence: CovariateEvidence, level: float) -> Shift | None:
    """Covariates whose means moved between the rounds by more than chance allows (`level` over all of them)."""
    return moved_covariates(evidence.covariate_names, _ready(evidence), level)


def _covariate_findings(evidence: CovariateEvidence, tilted: Tilted) -> list[Finding]:
    covariates, names = tilted.covariates, evidence.covariate_names
    found = dropped_findings(names, covariates.columns)
    if not len(covariates.columns.kept):
        return found
    found += value_findings(_missing(evidence, covariates), tilted.ridge, _penalty(evidence))
    shift = moved_covariates(names, covariates)
    return found if shift is None else [*found, _beside_hero1(shift, tilted.carried, evidence)]


def _missing(evidence: CovariateEvidence, covariates: Covariates | SummedCovariates) -> tuple[float, float]:
    """The share of values that are missing, in current and in history."""
    assert evidence.history is not None
    scope = None if evidence.columns is None else evidence.columns.in_scope
    n_past = evidence.history.n_items if scope is None else int(scope.sum())
    here, there = (float(count.mean()) for count in covariates.observed())
    return 1.0 - here / evidence.current.n_items, 1.0 - there / n_past


def _beside_hero1(shift: Shift, carried: Carried, evidence: CovariateEvidence) -> Finding:
    """HERO-2 keeps its number where a covariate moved; the finding gets HERO-1's beside it."""
    instead = dict(zip(evidence.classes, carried.root.rates.tolist(), strict=True))
    shown = ", ".join(f"{rate:.4f} of {name!r}" for name, rate in list(instead.items())[1:])
    action = f"Trust `hero1` more, which says {shown}; or leave `method` out: the default does not rest on these means."
    told = shift.carried()
    return replace(told, action=action, data={**told.data, "hero1": instead})
