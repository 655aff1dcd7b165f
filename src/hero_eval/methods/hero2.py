"""HERO-2: HERO-1 sharpened by covariates whose mean history knows better (paper, section 3.3).

The score equation is tilted by gamma'(current mean - historical mean), gamma from a regression of the pilot scores on
the covariates. An item therefore moves the rate in four ways: by its score, by its covariates, by its part in gamma,
and, in history, by its part in the reliabilities and in the historical mean.
"""

from __future__ import annotations

from dataclasses import replace

from hero_eval.findings import Finding
from hero_eval.methods.current_rate import Carried, carry, fit_findings, tilt_gradient
from hero_eval.methods.evidence import CountedCovariates, CovariateColumns, CovariateEvidence
from hero_eval.methods.hero2_counts import counted_influences, counted_tilt, prepare_counts
from hero_eval.methods.hero2_findings import Dropped, Shift, dropped_findings, moved_covariates, value_findings
from hero_eval.methods.registry import CovariateUse, GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import Root, edge_point, solve_rates
from hero_eval.model.regression import FEW, Control, Covariates, fit_control, mean_shift, prepare


def _tilted(evidence: CovariateEvidence) -> tuple[Carried, Covariates, Control, Root]:
    """HERO-1, the covariates, their regression, and the root of the tilted score."""
    carried = carry(evidence.current, evidence.anchored)
    ready = ready_covariates(evidence)
    psi_items = carried.psi(carried.pilot)[evidence.current.row_of_item]
    control = fit_control(psi_items, ready.current, evidence.current.item_weight, _penalty(evidence))
    return carried, ready, control, solve_rates(carried.likelihood, evidence.current.counts, control.tilt)


def rates(evidence: CovariateEvidence) -> Floats:
    if evidence.counted is not None:
        return counted_tilt(evidence, evidence.counted, counted_penalty(evidence)).root.rates
    return _tilted(evidence)[3].rates


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
    if evidence.counted is not None:
        return _on_counts(evidence, evidence.counted)
    columns = evidence.columns
    assert columns is not None
    carried, ready, control, root = _tilted(evidence)
    edge = root.touches_edge(evidence.current.total)
    inside = edge_point(root.rates, evidence.current.total) if edge else root.rates
    current, by_reliability, by_mean, paper = _influences(evidence, carried, ready, control, inside)
    return Fit(
        rates=root.rates,
        inside=inside,
        current=current,
        history=by_reliability + by_mean,
        paper=paper,
        by_mean=by_mean,
        on_edge=edge,
        report=carried.learned.report,
        findings=(*fit_findings(carried), *_covariate_findings(carried, ready, control, evidence)),
    )


def _on_counts(evidence: CovariateEvidence, counted: CountedCovariates) -> Fit:
    """The same from sums of the covariates by answer pattern; influences are then factors of their sums of squares."""
    asked = counted_penalty(evidence)
    tilt = counted_tilt(evidence, counted, asked)
    root = tilt.root
    edge = root.touches_edge(evidence.current.total)
    inside = edge_point(root.rates, evidence.current.total) if edge else root.rates
    current, history, paper = counted_influences(evidence, counted, tilt, inside)
    ready = tilt.ready
    dropped = Dropped(ready.kept, ready.constant, ready.collinear, ready.absent)
    found = [*fit_findings(tilt.carried), *dropped_findings(counted.names, dropped)]
    if ready.kept:
        found += value_findings(ready.missing, tilt.ridge.penalty, tilt.ridge.n_effective, asked)
        shift = moved_covariates(counted.names, ready.kept, ready.shift)
        found += [] if shift is None else [shift.carried()]
    return Fit(
        rates=root.rates,
        inside=inside,
        current=current,
        history=history,
        paper=paper,
        on_edge=edge,
        report=tilt.carried.learned.report,
        findings=tuple(found),
    )


def counted_penalty(evidence: CovariateEvidence) -> float | None:
    """As `_penalty`, without texts, which are not counted."""
    assert evidence.counted is not None
    few = evidence.current.n_items >= FEW * len(evidence.counted.names)
    return (0.0 if few else None) if evidence.penalty is None else evidence.penalty


def moved_means(evidence: CovariateEvidence, level: float) -> Shift | None:
    """Covariates whose means moved between the rounds by more than chance allows (`level` over all of them)."""
    if evidence.counted is not None:
        ready = prepare_counts(evidence, evidence.counted, drop_collinear=counted_penalty(evidence) == 0.0)
        return moved_covariates(evidence.counted.names, ready.kept, ready.shift, level)
    assert evidence.columns is not None
    assert evidence.history is not None
    weights = evidence.current.item_weight, evidence.history.item_weight
    return covariate_shift(evidence.columns, ready_covariates(evidence), *weights, level)


def _penalty(evidence: CovariateEvidence) -> float | None:
    """The penalty given; none for a few covariates; None, to be chosen by cross-validation, for many or for text."""
    assert evidence.columns is not None
    columns = evidence.columns
    few = evidence.current.n_items >= FEW * len(columns.names) and not columns.common_scale.any()
    return (0.0 if few else None) if evidence.penalty is None else evidence.penalty


def ready_covariates(evidence: CovariateEvidence) -> Covariates:
    """Centred, scaled and cleaned covariates of both rounds."""
    columns, history = evidence.columns, evidence.history
    assert columns is not None
    assert history is not None
    return prepare(
        columns.current,
        columns.history,
        evidence.current.item_weight,
        history.item_weight,
        common_scale=columns.common_scale,
        drop_collinear=_penalty(evidence) == 0.0,
    )


def _influences(
    evidence: CovariateEvidence, carried: Carried, ready: Covariates, control: Control, at: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Influence of current items (n, K-1), of history items (N, K-1) by the reliabilities and by the covariates' mean,
    and the paper's, with all but scores known."""
    patterns, history = evidence.current, evidence.history
    assert history is not None
    total = patterns.total
    weight = patterns.item_weight[:, None]
    inverse = carried.inverse_information(at)
    pilot = carried.inside
    pilot_inverse = carried.inverse_information(pilot)
    psi = carried.psi(at)[patterns.row_of_item]
    direct = psi - ready.current @ control.gamma
    direct = direct - (weight * direct).sum(axis=0) / total  # nonzero only off an edge
    mean = patterns.item_weight @ ready.current / total
    along = control.centred @ (control.inverse @ mean)  # how far an item's covariates lie along the tilt
    pilot_psi = carried.psi(pilot)[patterns.row_of_item]
    through_gamma = along[:, None] * control.residual - control.penalty * (control.inverse @ mean) @ control.gamma
    bend = -(pilot_psi * (weight * along[:, None])).T @ pilot_psi / total  # d tilt_k / d pilot rate_l
    through_gamma = through_gamma + pilot_psi @ pilot_inverse @ bend.T
    current = weight * (direct - through_gamma) @ inverse / total
    paper = weight * direct @ inverse / total
    row_along = patterns.item_sums(along) / total
    gradient = carried.mean_gradients(at) - tilt_gradient(carried, row_along, pilot, pilot_inverse, bend)
    information = carried.learned.information
    by_reliability = information.item_influence(information.solve(gradient) @ inverse)
    return current, by_reliability, _mean_influence(evidence, ready, control) @ inverse, paper


def _mean_influence(evidence: CovariateEvidence, ready: Covariates, control: Control) -> Floats:
    """History items' pull on the historical mean, and by it on the score equation (N, K-1)."""
    assert evidence.history is not None
    weight = evidence.history.item_weight[:, None]
    seen_total = (weight * ready.history_seen).sum(axis=0)
    seen_share = evidence.current.item_weight @ ready.current_seen / evidence.current.total
    out: Floats = (weight * ready.history / seen_total * seen_share) @ control.gamma
    return out


def _covariate_findings(
    carried: Carried, ready: Covariates, control: Control, evidence: CovariateEvidence
) -> list[Finding]:
    columns = evidence.columns
    assert columns is not None
    found = dropped_findings(columns.names, Dropped(ready.kept, ready.constant, ready.collinear, ready.absent))
    if not ready.kept:
        return found
    in_history = ready.history_seen if columns.in_scope is None else ready.history_seen[columns.in_scope]
    missing = 1.0 - float(ready.current_seen.mean()), 1.0 - float(in_history.mean())
    found += value_findings(missing, control.penalty, control.n_effective, _penalty(evidence))
    assert evidence.history is not None
    shift = covariate_shift(columns, ready, evidence.current.item_weight, evidence.history.item_weight)
    return found if shift is None else [*found, _beside_hero1(shift, carried, evidence)]


def _beside_hero1(shift: Shift, carried: Carried, evidence: CovariateEvidence) -> Finding:
    """HERO-2 keeps its number where a covariate moved; the finding gets HERO-1's beside it."""
    instead = dict(zip(evidence.classes, carried.root.rates.tolist(), strict=True))
    shown = ", ".join(f"{rate:.4f} of {name!r}" for name, rate in list(instead.items())[1:])
    action = f"Trust `hero1` more, which says {shown}; or leave `method` out: the default does not rest on these means."
    told = shift.carried()
    return replace(told, action=action, data={**told.data, "hero1": instead})


def covariate_shift(
    columns: CovariateColumns,
    ready: Covariates,
    current_weight: Floats,
    history_weight: Floats,
    level: float = 0.05,
) -> Shift | None:
    """Means that moved by more than chance allows (`level` over all covariates), which HERO-2 carries into the rate."""
    return moved_covariates(columns.names, ready.kept, mean_shift(ready, current_weight, history_weight), level)
