"""What HERO-3 has to say of its fit: the findings that go with its rates."""

from __future__ import annotations

import numpy as np

from hero_eval.findings import Finding, name_some
from hero_eval.methods.current_rate import weak_finding
from hero_eval.methods.evidence import JointEvidence
from hero_eval.model.hero3.class_split import ClassSplit
from hero_eval.model.hero3.current_rates import CurrentRates, FittedRound, label_information
from hero_eval.model.hero3.drift import DriftPosterior, shift_logits
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.level_selection import CONTRADICTED

LEAST_MOVE = 0.005
"""Of a rate, by the shape of the round: smaller ones are not told. Doubled, fewer such findings: no number changes."""
LEAST_OWN_SD = 0.01
"""Of a rate, by labelers' own moves: smaller ones are not told either. Doubled, fewer findings, the same numbers."""


def fit_findings(
    fitted: FittedRound, evidence: JointEvidence, measured: CurrentRates, between: DriftVariance, excess: float
) -> list[Finding]:
    """All that is to be said of a fit: how sure it is, what it took for granted, what changed between rounds."""
    fit = fitted.fit
    found = []
    if fit.information.is_weak:
        found.append(weak_finding("the data do not pin the model down"))
    if not fit.report.converged:
        message = (
            f"the fit stopped after {fit.report.n_steps} steps, still changing by {fit.report.change:.1e} per step"
        )
        found.append(Finding("F301", message, {"steps": fit.report.n_steps, "change": fit.report.change}))
    if fit.shape.n_appeals:
        message = (
            "labelers err together given the gold: something beside its class sways all of them, for or against an "
            "item; their answers tell the two apart, and gold agrees"
        )
        found.append(Finding("F204", message, {"appeals": fit.shape.n_appeals}))
    if fit.shape.n_levels:
        message = (
            f"labelers err together given the gold: {fit.shape.n_levels} levels of items explain their answers better "
            "than one state per class"
        )
        found.append(Finding("F204", message, {"levels": fit.shape.n_levels}))
    if evidence.n_strangers:
        found.append(_stranger_finding(fit, evidence))
    if fitted.split is not None:
        found += _moved_by_shape(fitted, fitted.split)
    if evidence.past and not evidence.of_one_round and not between.drift.known:
        found.append(_unknown_drift(measured, between.drift))
    if excess > 0 and np.sqrt(between.own.max()) > LEAST_OWN_SD:
        others = "other parts of the round" if evidence.of_one_round else "past rounds"
        message = (
            f"the current labelers changed relative to each other by more than in {others} (sd {np.sqrt(excess):.2f} "
            "on the logit scale); the interval allows for it"
        )
        found.append(Finding("F207", message, {"excess_sd": float(np.sqrt(excess))}))
    return found


def _moved_by_shape(fitted: FittedRound, split: ClassSplit) -> list[Finding]:
    """Of the rates that the shape of the round moved, where that can be seen."""
    rows = fitted.fit.rows
    here = np.where(rows.is_current, rows.patterns.counts, 0.0)
    before = here @ fitted.fit.shares / here.sum()
    after = here @ shift_logits(fitted.by_moods, split.shift) / here.sum()
    if np.abs(after - before).max() < LEAST_MOVE:
        return []
    places = range(1, 2) if len(after) == 2 else range(len(after))
    moved = ", ".join(f"{before[k]:.3f} to {after[k]:.3f}" for k in places)
    why = (
        "labels tell the level of every item almost surely, and the shape of this round parts the classes elsewhere "
        "than history's gold does"
        if split.by_row is None
        else "how labels of an item agree shows that all labelers together answer otherwise than in other rounds"
    )
    message = f"{why}: rates moved from {moved}"
    data = {"weight": split.weight, "before": before.tolist(), "after": after.tolist()}
    return [Finding("F312", message, data)]


def contradiction_findings(against: float) -> list[Finding]:
    """Of a fit that misses the gold by so many standard errors."""
    if against <= CONTRADICTED:
        return []
    what = f"the fit misses the gold that it has seen by {against:.0f} standard errors, so no rate is given"
    return [Finding("F303", what, {"contradiction": against})]


def _unknown_drift(measured: CurrentRates, drift: DriftPosterior) -> Finding:
    taken = bool(np.abs(measured.rates - measured.by_labels).max() > 0.0)
    lack = f"{drift.n_rounds} past round with gold cannot show how far rounds drift"
    if drift.is_present:
        message = f"{lack}: a usual drift is assumed" + (
            ", which takes a part of the shift that labels show" if taken else ""
        )
    else:
        message = f"{lack}; here labelers err independently, so no shared drift is assumed"
    data = {"rounds": drift.n_rounds, "assumed": drift.is_present}
    return Finding("F310", message, {**data, "by_labels": measured.by_labels.tolist()} if taken else data)


def _stranger_finding(fit: LevelFit, evidence: JointEvidence) -> Finding:
    """How much of what the labels tell comes from labelers whom history does not know."""
    information = label_information(fit)
    rows = fit.rows
    here = np.where(rows.is_current, rows.patterns.counts, 0.0)
    labels = rows.patterns.to_cells(here[:, None])[:, :, 0].sum(axis=1)
    told = information * labels
    names = list(evidence.labelers[-evidence.n_strangers :])
    share = float(told[-evidence.n_strangers :].sum() / max(told.sum(), 1e-300))
    one = len(names) == 1
    message = (
        f"{'1 labeler' if one else f'{len(names)} labelers'} that history never saw ({name_some(names)}) "
        f"{'is' if one else 'are'} taken to be like {'its' if one else 'their'} "
        f"{'groups' if evidence.groups.max() > 0 else 'peers'}; {share:.0%} of what the labels tell rests on them"
    )
    return Finding("F208", message, {"labelers": names, "share": share})
