"""HERO-3: history and current fitted together, with labelers that may err together and rounds that may drift.

The model (`model/hero3`) has as many levels as the data ask for; what changes between rounds (`drift` there)
enters the interval. An item moves the rate by its own class share and by its part in all parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from hero_eval.findings import Finding, name_some
from hero_eval.methods.current_rate import weak_finding
from hero_eval.methods.evidence import JointEvidence, joined_times
from hero_eval.methods.hero2 import covariate_shift
from hero_eval.methods.registry import Gold, Use, method
from hero_eval.methods.result import Fit
from hero_eval.model.em import EMOptions
from hero_eval.model.hero3.class_split import ClassSplit, learn_split, shape_is_seen
from hero_eval.model.hero3.drift import (
    TYPICAL,
    Between,
    Drift,
    Unseen,
    gold_contradiction,
    gold_shift,
    learn_drift,
    left_of,
    mean_slopes,
    own_excess,
    shifted,
    split_shift,
    split_slopes,
    unseen_classes,
)
from hero_eval.model.hero3.levels import LevelFit, Rows, Shape, answer_logs, fit_levels, read_in_context
from hero_eval.model.history import fit_without_gold
from hero_eval.model.latent import log_shares
from hero_eval.model.patterns import Floats, Ints, Patterns, sum_by
from hero_eval.model.rates import EDGE_ITEMS, edge_point
from hero_eval.model.regression import FEW, Covariates, prepare

LEVELS = (0, 2, 3, 5, 7, 9)
CONTRADICTED = 4.5
"""Standard errors by which the gold of a class may miss what labels alone say of it before the fit is not believed."""
LEAST_MOVE = 0.005
"""Of a rate, by the shape of the round: smaller ones are not told."""
_MANY_ROUNDS = 3  # of them past: rounds may then differ in more than a tilt
_OPTIONS = EMOptions(tolerance=1e-9, step_tolerance=1e-6, max_steps=3_000)
_LOOKING = EMOptions(tolerance=1e-6, step_tolerance=None, max_steps=300)  # enough to tell shapes apart


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model chosen, whether class shares are averaged over both rounds' covariates, and what was said of it."""

    fit: LevelFit
    over_both: bool
    findings: tuple[Finding, ...]
    ready: Covariates | None = None
    alone: bool = True
    split: ClassSplit | None = None

    @cached_property
    def drift(self) -> Drift:
        """How far rounds drift."""
        return learn_drift(self.fit) if self.split is None else self.split.drift

    @cached_property
    def by_shape(self) -> Floats:
        """(K-1,): the drift of the current round that the shape of its labels shows."""
        return np.zeros(self.fit.rows.n_classes - 1) if self.split is None else self.split.shift

    @cached_property
    def seen(self) -> tuple[Floats, float]:
        """The drift of the current round that its own gold shows, and that gold's information."""
        rows = self.fit.rows
        if self.over_both or not (rows.known & rows.is_current).any():
            return np.zeros(rows.n_classes - 1), 0.0
        return gold_shift(self.fit, self.drift.size, self.by_shape)

    @cached_property
    def unseen(self) -> Unseen | None:
        """What is open of classes that no gold shows."""
        return None if self.over_both else unseen_classes(self.fit)

    @cached_property
    def shift(self) -> Floats:
        """(K-1,): of the class logits of current items without gold: drift that gold or labels show, classes that no
        gold shows."""
        shown = self.seen[0] + self.by_shape
        return shown if self.unseen is None else shown + self.unseen.middle * self.unseen.direction

    @cached_property
    def shares(self) -> Floats:
        """(P, K): P(class | answers, gold) of every row, with the current round's shift."""
        shares = self.fit.shares
        if not self.shift.any():
            return shares
        open_rows = self.fit.rows.is_current & ~self.fit.rows.known
        return np.where(open_rows[:, None], shifted(shares, self.shift), shares)


def gather_rows(evidence: JointEvidence, n_classes: int, ready: Covariates | None = None) -> Rows:
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
    )
    return Rows(patterns, of_row, len(rounds), n_classes, covariates)


def choose_levels(rows: Rows, groups: Ints, evidence: JointEvidence) -> LevelFit:
    """One component a class, or levels on a scale: as many as the likelihood pays for; near its maximum only.

    A component that is a class without any gold would be named by the labels alone, so there must be levels then. So
    there must where components that are classes contradict the gold.
    """
    best, worse = None, 0
    anchored = len(np.unique(rows.patterns.gold[rows.known])) == rows.n_classes
    for n_levels in LEVELS if anchored else LEVELS[1:]:
        shape = Shape(n_levels, rows.n_classes, rows.n_rounds > _MANY_ROUNDS)
        other = fit_levels(rows, shape, groups, _LOOKING, progress=evidence.progress, loose=False)
        if n_levels == 0 and gold_contradiction(other) > CONTRADICTED:
            continue
        if best is None or other.criterion > best.criterion:
            best, worse = other, 0
        else:
            worse += 1
        if worse == 2:
            break
    assert best is not None
    return best


def _fitted(evidence: JointEvidence) -> Fitted:
    found = _fitted_levels(evidence)
    if not found.alone or found.over_both or found.unseen is not None or not shape_is_seen(found.fit):
        return found
    rounds = (*evidence.past, evidence.current)
    rates = [fit_without_gold(one, evidence.n_classes, evidence.em).latent.class_weights() for one in rounds]
    return replace(found, split=learn_split(found.fit, np.stack(rates)))


def _fitted_levels(evidence: JointEvidence) -> Fitted:
    if evidence.warm_levels is not None:
        warm = evidence.warm_levels
        ready = _ready(evidence) if warm.rows.covariates.shape[1] else None
        again = fit_levels(
            gather_rows(evidence, evidence.n_classes, ready), warm.shape, evidence.groups, _OPTIONS, warm=warm
        )
        return Fitted(again, evidence.over_both, (), ready, evidence.alone)
    plain = gather_rows(evidence, evidence.n_classes)
    chosen = choose_levels(plain, evidence.groups, evidence)
    ready = None if evidence.covariates is None else _ready(evidence)
    if ready is None or not ready.kept:
        # Components that are classes were looked at with other priors than they are fitted with.
        start = chosen if chosen.shape.n_levels else None
        fit = fit_levels(plain, chosen.shape, evidence.groups, _OPTIONS, warm=start, progress=evidence.progress)
    else:
        rows = gather_rows(evidence, evidence.n_classes, ready)
        fit = fit_levels(rows, chosen.shape, evidence.groups, _OPTIONS, evidence.penalty, progress=evidence.progress)
    fit = read_in_context(fit, _OPTIONS)
    if ready is None or evidence.covariates is None:
        return Fitted(fit, False, (), alone=evidence.alone)
    if not ready.kept:
        names = list(evidence.covariates.names)
        message = f"no covariate tells items apart: {name_some(names)} not used"
        return Fitted(fit, False, (Finding("F401", message, {"columns": names}),), alone=evidence.alone)
    shift = covariate_shift(evidence.covariates, ready, evidence.current.item_weight, evidence.history_weight)
    found = []
    if shift is not None:
        so = "class rates were averaged over the current round's items only"
        found.append(shift.finding(so, "Nothing: the rate does not rest on these means."))
    return Fitted(fit, shift is None and chosen.shape.n_levels == 0, tuple(found), ready, evidence.alone)


def fitted_levels(evidence: JointEvidence) -> LevelFit:
    """The model as HERO-3 fits it, for others who predict by it."""
    return _fitted(evidence).fit


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


@dataclass(frozen=True, eq=False)
class Measured:
    """Rates of the current round by the model alone, with every row's own pull and its pull through the parameters."""

    rates: Floats
    direct: Floats  # (P, K-1) per unit of weight
    gradient: Floats  # (p, K-1)
    here: Floats  # (p, K-1): the gradient through the current rows alone
    by_labels: Floats  # (K,): the rates if no part of their shift were taken for drift


def _averaged(fitted: Fitted, in_scope: Floats) -> tuple[Floats, Floats]:
    """Class shares (P, K) and weights (P,): of the current rows, or of the rows of both rounds seen as current ones.

    `in_scope` (P,) says for how much each row's covariates count, where they do.
    """
    fit = fitted.fit
    if fitted.over_both:
        return fit.prior_shares(fit.rows.n_rounds - 1)[0], fit.rows.patterns.counts * in_scope
    return fitted.shares, fit.rows.patterns.counts * fit.rows.is_current


def _measure(fitted: Fitted, in_scope: Floats) -> Measured:
    """The rates of the current round, and how every row and parameter moves them."""
    here = _measure_mean(fitted, *_averaged(fitted, in_scope))
    lean = _lean(fitted, here.rates)
    if lean is None:
        return here
    there = _measure_mean(fitted, fitted.shares, lean.past)
    direct = here.direct @ lean.by_current.T + there.direct @ lean.by_past.T
    now, before = here.gradient @ lean.by_current.T, there.gradient @ lean.by_past.T
    return Measured(lean.rates, direct, now + before, now, here.rates)


def _measure_mean(fitted: Fitted, shares: Floats, weight: Floats) -> Measured:
    """The mean class share by the rows' weights."""
    rows, information = fitted.fit.rows, fitted.fit.information
    each = _by_shares(fitted.fit.shares, shares) if fitted.shift.any() else np.eye(rows.n_classes)[:, 1:]
    total = weight.sum()
    rates = weight @ shares / total
    pull = (weight / total)[:, None, None] * each
    gradient = information.prior_gradient(pull, rows.n_rounds - 1) if fitted.over_both else information.gradient(pull)
    direct = np.where((weight > 0)[:, None], (shares - rates)[:, 1:], 0.0) / total
    return Measured(rates, direct, gradient, gradient, rates)


def _by_shares(shares: Floats, moved: Floats) -> Floats:
    """(P, K, K-1): the derivative of class shares [1:] whose logits were moved, by the shares before that."""
    ratio = moved / np.maximum(shares, 1e-300)
    own = np.eye(shares.shape[1])[:, 1:] * ratio[:, :, None]
    out: Floats = own - ratio[:, :, None] * moved[:, None, 1:]
    return out


@dataclass(frozen=True, eq=False)
class Lean:
    """Rates (K,) of the current round with a part of their shift from the one past round taken for drift.

    past (P,): the weights of that round's rows; by_current, by_past (K-1, K-1): how the means of both rounds' class
    shares move the rates.
    """

    rates: Floats
    past: Floats
    by_current: Floats
    by_past: Floats


def _lean(fitted: Fitted, rates: Floats) -> Lean | None:
    """None where several past rounds show drift, where labelers err each by itself, and where one class is all."""
    fit, rows = fitted.fit, fitted.fit.rows
    with_gold = np.unique(rows.round[rows.known & ~rows.is_current])
    if not fitted.alone or fit.shape.n_levels == 0 or len(with_gold) != 1 or fitted.unseen is not None:
        return None
    counts = rows.patterns.counts
    past, now = counts * (rows.round == with_gold[0]), counts * rows.is_current
    if past.sum() == 0.0 or np.sum(rates * now.sum() >= EDGE_ITEMS) < 2:
        return None
    before, after = _inside(past @ fit.shares / past.sum(), float(past.sum())), _inside(rates, float(now.sum()))
    seen = _log_ratios(after) - _log_ratios(before)
    reach = _log_slopes(after) @ mean_slopes(fitted.shares, now)
    size = float(left_of(np.array(TYPICAL), fitted.seen[1]))
    kept = _log_ratios(before) + split_shift(seen, reach, size)
    by_shift = split_slopes(seen, reach, size)
    found = np.exp(log_shares(np.concatenate([[0.0], kept]), axis=0))
    back = np.linalg.inv(_log_slopes(found))
    by_past = back @ (np.eye(len(seen)) - by_shift) @ _log_slopes(before)
    return Lean(found, past, back @ by_shift @ _log_slopes(after), by_past)


def _on_edge(rates: Floats, n_items: float) -> bool:
    return bool(rates.min() * n_items < EDGE_ITEMS)


def _inside(rates: Floats, n_items: float) -> Floats:
    """The rates, or just off the edge where they lie on it."""
    return edge_point(rates, n_items) if _on_edge(rates, n_items) else rates


def _log_ratios(rates: Floats) -> Floats:
    out: Floats = np.log(rates[1:] / rates[0])
    return out


def _log_slopes(rates: Floats) -> Floats:
    """(K-1, K-1): d log-ratios / d rates[1:]."""
    out: Floats = np.diag(1.0 / rates[1:]) + 1.0 / rates[0]
    return out


def _own_covariance(fit: LevelFit, here: Floats, gradient: Floats) -> tuple[Floats, float]:
    """(K-1, K-1): what the current labelers' moves against each other add, and their variance beyond past rounds'.

    The moves reach the rates through the current rows' own shares (`here`) and through all parameters (`gradient`).
    """
    excess, _ = own_excess(fit)
    if excess == 0.0:
        return np.zeros((gradient.shape[1],) * 2), 0.0
    information = fit.information
    n_labelers, width, n_basis = fit.point.answers.shape
    shift = np.zeros((information.size, n_labelers * width))
    for column in range(n_labelers * width):
        place = column * n_basis
        shift[place : place + (1 if fit.shape.n_levels else n_basis), column] = 1.0
    now = information.of_rows(fit.rows.is_current)
    along = shift.T @ (here - now @ information.solve(gradient))
    return excess * along.T @ along, excess


def _spread_covariance(fit: LevelFit, gradient: Floats) -> Floats:
    """(K-1, K-1): what the labelers' spread around their group's mean adds: little for known ones, much for strangers.

    With H = information + prior precision P the estimate errs by its items (H^-1 information H^-1, the influences)
    and by the distance of the true parameters from the prior's mean, H^-1 P H^-1.
    """
    answers, information = fit.point.answers, fit.information
    pull = information.solve(gradient)[: information.n_answers].reshape(len(answers), answers[0].size, -1)
    return fit.prior.pooling.covariance(pull)


def _between(fitted: Fitted, measured: Measured) -> tuple[Between, float]:
    fit = fitted.fit
    own, excess = _own_covariance(fit, measured.here, measured.gradient)
    own = own + _spread_covariance(fit, measured.gradient)
    here = fit.rows.is_current
    drift = fitted.drift.after(fitted.seen[1])
    return Between(drift, fitted.shares[here], fit.rows.patterns.counts[here], own, fitted.unseen), excess


def rates(evidence: JointEvidence) -> Floats:
    fitted = _fitted(evidence)
    shares, weight = _averaged(fitted, _scope(evidence, fitted.fit))
    found: Floats = weight @ shares / weight.sum()
    lean = _lean(fitted, found)
    return found if lean is None else lean.rates


def _influences(fitted: Fitted, direct: Floats, gradient: Floats) -> Floats:
    """(N + n, K-1): every item's influence, history's first."""
    information = fitted.fit.information
    by_row = direct + information.scores @ information.solve(gradient)
    return fitted.fit.rows.patterns.to_items(by_row)


@method(
    "hero3",
    "History and current fitted together: labelers may err together, rounds may drift, new labelers count",
    JointEvidence,
    rates,
    gold=Gold.EITHER,
    covariates=Use.IF_GIVEN,
)
def hero3(evidence: JointEvidence) -> Fit:
    fitted = _fitted(evidence)
    fit = fitted.fit
    measured = _measure(fitted, _scope(evidence, fit))
    by_item = _influences(fitted, measured.direct, measured.gradient)
    between, excess = _between(fitted, measured)
    found = measured.rates
    against = gold_contradiction(fit)
    if against > CONTRADICTED:
        by_item = np.full_like(by_item, np.nan)
    n_history = evidence.n_history
    n_items = float(evidence.current.total)
    edge = _on_edge(found, n_items)
    return Fit(
        rates=found,
        inside=_inside(found, n_items),
        current=by_item[n_history:],
        history=by_item[:n_history] if evidence.past else None,
        paper=fit.rows.patterns.to_items(measured.direct)[n_history:],
        on_edge=edge,
        report=fit.report,
        findings=(*fitted.findings, *_findings(fitted, evidence, measured, between, excess), *_contradiction(against)),
        between=between,
        levels=fit,
        over_both=fitted.over_both,
        by_mean=fit.rows.patterns.to_items(measured.direct)[:n_history] if fitted.over_both else None,
    )


def _scope(evidence: JointEvidence, fit: LevelFit) -> Floats:
    """(P,) history items whose covariates are not meant to count weigh nothing in averages over both rounds."""
    scope = np.ones(fit.rows.patterns.n_rows)
    columns = evidence.covariates
    if columns is not None and columns.in_scope is not None and len(scope) == len(fit.rows.patterns.row_of_item):
        scope[: evidence.n_history] = columns.in_scope
    return scope


def _findings(
    fitted: Fitted, evidence: JointEvidence, measured: Measured, between: Between, excess: float
) -> list[Finding]:
    fit = fitted.fit
    found = []
    if fit.information.is_weak:
        found.append(weak_finding("the data do not pin the model down"))
    if not fit.report.converged:
        message = f"the fit stopped after {fit.report.n_steps} steps, still changing by {fit.report.change:.1e} a step"
        found.append(Finding("F301", message, {"steps": fit.report.n_steps, "change": fit.report.change}))
    if fit.shape.n_levels:
        message = (
            f"labelers err together given the gold: {fit.shape.n_levels} levels of items explain their answers better "
            "than one state a class"
        )
        found.append(Finding("F204", message, {"levels": fit.shape.n_levels}))
    if evidence.n_strangers:
        found.append(_stranger_finding(fit, evidence))
    if fitted.split is not None:
        found += _moved_by_shape(fitted, fitted.split)
    if evidence.past and not between.drift.known:
        found.append(_unknown_drift(measured, between.drift))
    if excess > 0 and np.sqrt(between.own.max()) > 0.01:
        message = (
            f"the current labelers moved against each other by more than past rounds did (sd {np.sqrt(excess):.2f} on "
            "the logit scale); the interval allows for it"
        )
        found.append(Finding("F207", message, {"excess_sd": float(np.sqrt(excess))}))
    return found


def _moved_by_shape(fitted: Fitted, split: ClassSplit) -> list[Finding]:
    """Of the rates that the shape of the round moved, where that can be seen."""
    rows = fitted.fit.rows
    here = np.where(rows.is_current, rows.patterns.counts, 0.0)
    before = here @ fitted.fit.shares / here.sum()
    after = here @ shifted(fitted.fit.shares, split.shift) / here.sum()
    if np.abs(after - before).max() < LEAST_MOVE:
        return []
    places = range(1, 2) if len(after) == 2 else range(len(after))
    moved = ", ".join(f"{before[k]:.3f} to {after[k]:.3f}" for k in places)
    message = (
        "labels tell the level of every item almost surely, and the shape of this round parts the classes elsewhere "
        f"than history's gold does: rates moved from {moved}"
    )
    data = {"weight": split.weight, "before": before.tolist(), "after": after.tolist()}
    return [Finding("F312", message, data)]


def _contradiction(against: float) -> list[Finding]:
    if against <= CONTRADICTED:
        return []
    what = f"the fit misses the gold that it has seen by {against:.0f} standard errors, so no rate is given"
    return [Finding("F303", what, {"contradiction": against})]


def _unknown_drift(measured: Measured, drift: Drift) -> Finding:
    taken = bool(np.abs(measured.rates - measured.by_labels).max() > 0.0)
    lack = f"{drift.n_rounds} past round with gold cannot show how far rounds drift"
    if drift.counts:
        message = f"{lack}: a usual drift is assumed" + (
            ", which takes a part of the shift that labels show" if taken else ""
        )
    else:
        message = f"{lack}; labelers err each by itself here, so none that they share is assumed"
    data = {"rounds": drift.n_rounds, "assumed": drift.counts}
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
    message = (
        f"{evidence.n_strangers} labelers that history never saw ({name_some(names)}) are taken to be like their "
        f"{'groups' if evidence.groups.max() > 0 else 'peers'}; {share:.0%} of what the labels tell rests on them"
    )
    return Finding("F208", message, {"labelers": names, "share": share})


def label_information(fit: LevelFit) -> Floats:
    """(J,) how much one label of each labeler tells of the component, in nats, at the current round's mix."""
    rows, shape = fit.rows, fit.shape
    post = fit.information.post[rows.is_current]
    counts = rows.patterns.counts[rows.is_current]
    mix = counts @ post / counts.sum()
    logs = answer_logs(shape, fit.point.answers)
    share = np.exp(logs)
    mean = share @ mix
    out: Floats = np.einsum("jle,e->j", share * (logs - np.log(mean)[:, :, None]), mix)
    return out
