"""Diagnostics: tests of what a method assumes, run beside every estimate, and the findings that say what they found.

Each finding has its statistic and p-value in `data` and tells what was done about it. A test looks at history and at
the current labels only; it never changes the number of a method that was asked for by name. Where labels tell nothing
of the class the interval becomes the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hero_eval.blas_threads import one_blas_thread
from hero_eval.counting.count import stays
from hero_eval.estimation.gold_sampling import routing_findings, used_probabilities
from hero_eval.estimation.label_counts import count_findings
from hero_eval.estimation.own_gold import disagreement, disagreement_finding
from hero_eval.estimation.question import Current, Question
from hero_eval.estimation.transported import Misfits, cluster_codes, transport_finding
from hero_eval.findings import Finding, unique
from hero_eval.labelers.fitting import not_converged
from hero_eval.labelers.reliability import ALARM, Reliability, dependence_data, dependence_fact, p_text
from hero_eval.methods.current_rate import carry
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats
from hero_eval.model.split_half import typical_labels

HALF_WIDTH = 0.05
"""How closely the gold that a refusal asks for would give the rate."""
LEAST_WORTH = 5.0
"""A rate known no better than by so few items with gold is weakly identified."""
MANY_LABELERS = 30
FEW_LABELS = 30
"""Of each of so many labelers no likelihood can make good use of so few labels."""
MATERIAL = 0.5
"""A bias of so many standard errors leaves a 95% interval right 92% of the time."""
MATERIAL_LABELS = 0.8
"""Labels worth less than this share of what independent ones would be worth make an interval an eighth too short."""
_HARMLESS = 2.0  # the bias is 1 / labels at most, or little more: with so many labels times standard errors it is small
_BLOCK = 1 << 18
"""Rows whose squares are added up at a time. It bounds memory only."""
ROUNDS_THAT_TELL = 3
"""Past rounds with gold from which on the distance between rounds is known, if roughly."""


@one_blas_thread()
def diagnose(question: Question) -> tuple[tuple[Finding, ...], ...]:
    """For each current round everything to be said of its fit, each remark once."""
    about_history, past = _history_findings(question), question.misfits or Misfits(question)
    return tuple(
        unique(_add_diagnostics(question, past, place, _fit_findings(question, fit, current), about_history))
        for place, (fit, current) in enumerate(zip(question.fits, question.currents, strict=True))
    )


def _fit_findings(question: Question, fit: Fit, current: Current) -> list[Finding]:
    """What the rounds, the fit and the reliabilities behind it have to say."""
    found = [*question.findings, *current.findings, *fit.findings]
    if current.own is not None:
        found += current.own.findings
    if question.method.uses_history and question.reliability is not None:
        found += [one for one in question.reliability.findings if one.code != "F301" or fit.report is not None]
    elif fit.report is not None and not fit.report.converged:
        found.append(not_converged(fit.report))
    if fit.history is not None and not np.isfinite(fit.history).all():
        why = f"{'gold' if current.siblings else 'history'} does not pin its labelers down"
        found.append(Finding("F303", f"{why}; the interval is the whole range", {"why": why}))
    if fit.on_edge:
        message = "the estimated rate is 0 or 1, or next to it; its interval begins at that edge and is approximate"
        more = "gold shortens" if question.method.by_design else "labels shorten"
        so = "Report the interval, not the value: its other end says how far from the edge the rate may be."
        found.append(Finding("F302", message, action=f"{so} More {more} it."))
    return found


def _history_findings(question: Question) -> list[Finding]:
    """What history shows of how its gold was given, where the method rests on it."""
    reliability = question.reliability
    if reliability is None or not _rests_on_history(question) or stays(question.rounds):
        return []
    return [*used_probabilities(reliability.rounds, "history"), *routing_findings(question, reliability.rounds)]


def _rests_on_history(question: Question) -> bool:
    return question.method.uses_history and not question.method.by_design


def _add_diagnostics(
    question: Question, past: Misfits, at: int, found: Sequence[Finding], about_history: Sequence[Finding]
) -> list[Finding]:
    """The findings of one fit with those of the tests, where the method rests on gold."""
    fit, current = question.fits[at], question.currents[at]
    found = [*found, *_own_gold_findings(question, fit, current), *count_findings(question, fit)]
    reliability = question.reliability
    if current.own is not None and not question.method.by_design and not stays(question.rounds):
        return _with_dependence(question, fit, current.own, found)
    if reliability is None or not _rests_on_history(question):
        return found
    found = [*found, *_few_labels(question, fit, current, reliability)]
    if stays(question.rounds):
        return found
    found = _with_dependence(question, fit, reliability, [*found, *about_history])
    found = _with_refusal(question, fit, current, reliability, found)
    moved = past.of(at)
    if moved is not None and moved.p_value < ALARM:
        found.append(transport_finding(past, fit, current, moved))
    return found


def _own_gold_findings(question: Question, fit: Fit, current: Current) -> list[Finding]:
    """Of gold in the current round, where the method uses it: how it was given, and whether the model agrees."""
    if stays(question.rounds) or not current.round.n_gold or not question.n_gold_current:
        return []
    unneeded = isinstance(current.evidence, JointEvidence) and current.evidence.gold_weight is not None
    found = used_probabilities([current.round], "current", needed=not unneeded or question.method.by_design)
    if current.own is not None or question.method.by_design:
        found += routing_findings(question, [current.round], "the current round")
    gap = None if question.method.by_design else disagreement(fit, current)
    if gap is not None and gap.p_value < ALARM:
        found.append(disagreement_finding(question, gap, f"{question.method.name} was kept, since it was asked for"))
    return found


# ------------------------------------------------------------------------------------------ few labels a labeler


def _few_labels(question: Question, fit: Fit, current: Current, reliability: Reliability) -> list[Finding]:
    """Whether many labelers have few labels each, so few that any likelihood goes astray, or that halving history shows
    what it does to the rate. Shrinkage is the remedy, and not questioned."""
    many = len(reliability.labelers) >= MANY_LABELERS
    if not question.method.anchored or not many or reliability.shrinkage > 0:
        return []
    typical, errors = typical_labels(reliability.labels_each), rate_errors(fit)
    data: dict[str, object] = {"labelers": len(reliability.labelers), "labels_each": typical}
    said = ""
    if typical >= FEW_LABELS:
        if not (typical * errors.min() < _HARMLESS and reliability.halves):
            return []
        shift = _shift_by_halves(current, reliability)
        z = np.divide(shift, errors, out=np.zeros_like(shift), where=errors > 0.0)  # an error of nil measures nothing
        k = int(np.argmax(np.abs(z))) if len(z) > 2 else len(z) - 1
        if not abs(z[k]) > MATERIAL:
            return []
        said = (
            f": fitted to halves of history the rate of {question.classes[k]!r} moves by {shift[k]:+.4f}, "
            f"{abs(z[k]):.1f} standard errors, and it is off by about as much with all of history"
        )
        by_class = dict(zip(question.classes, shift.tolist(), strict=True))
        data |= {"shift": by_class, "shift_in_errors": float(z[k])}
    message = (
        f"half of history's labels are by labelers with {typical:.0f} labels or fewer, and {question.method.name} is "
        f"biased by that{said}; its interval does not allow for it"
    )
    return [Finding("F210", message, data)]


def _shift_by_halves(current: Current, reliability: Reliability) -> Floats:
    """(K,) how far the rates move when the reliabilities are those of halves of history: an estimate of their bias."""
    known = current.evidence.current
    parts = [carry(known, half).root.rates for half in reliability.halves]
    shift: Floats = np.mean(parts, axis=0) - carry(known, reliability.fit).root.rates
    return shift


# ------------------------------------------------------------------------------------------ labelers who err together


def _with_dependence(question: Question, fit: Fit, reliability: Reliability, found: Sequence[Finding]) -> list[Finding]:
    """HERO-3's own remark gets the statistic; a method that takes labelers as independent gets a warning."""
    own = current_clusters(question, reliability)
    clusters = cluster_codes(question.history_clusters if own is None else own)
    tested = reliability.dependence if clusters is None else reliability.dependence_by(clusters)
    if tested is None:
        return list(found)
    data = dependence_data(tested)
    if any(one.code == "F204" for one in found):
        return [replace(one, data={**one.data, **data}) if one.code == "F204" else one for one in found]
    if tested.p_value >= ALARM:
        return list(found)
    worth = dependence_fact(tested)
    if fit.levels is not None:
        so = "more levels of items were tried and did not explain the answers better, so nothing was changed"
        # what the likelihood does not pay for shortens the interval by 12% or less; more is left in doubt
        doubts = tested.effective < MATERIAL_LABELS * tested.labels_per_item
        action = "Have gold for more items, so that levels show."
        return [*found, Finding("F206", f"{worth}; {so}", data, action, doubts)]
    so = f"{question.method.name} takes them as independent, so the rate may be off and its interval too short"
    return [*found, Finding("F206", f"{worth}; {so}", data)]


def current_clusters(question: Question, reliability: Reliability) -> NDArray[np.object_] | None:
    """The clusters of the current round that these reliabilities are of, if they are of one."""
    return next((here.clusters for here in question.currents if here.own is reliability), None)


# ------------------------------------------------------------------------------------------ refusal


def _with_refusal(
    question: Question, fit: Fit, current: Current, reliability: Reliability, found: Sequence[Finding]
) -> list[Finding]:
    """What to do instead, where the labels tell next to nothing of the rate."""
    worth, known = gold_worth(fit), reliability.knowledge
    weak = not worth >= LEAST_WORTH
    earlier = [str(one.data.get("why", one.fact)) for one in found if one.code == "F303"]
    n_items = current.round.n_items
    if reliability.knows_nothing and known is not None:
        why = f"they went with the gold by {known.discrimination:.2f} of what they could, {p_text(known.p_value)}"
        width = "the interval is the whole range"
        if past_rounds_tell(fit):
            width = "the interval rests on how far past rounds lie apart, and on nothing else"
    elif weak:
        why, width = f"{n_items} items with labels tell as much as {worth:.1f} with gold", "the interval is wide"
    elif earlier:
        why, width = earlier[0], "the interval is only indicative"
    else:
        return list(found)
    needed = gold_needed(question.options.level, n_items)
    cannot = f"these labelers cannot tell {_classes(question.classes)}"
    action = (
        f"Label {needed} more items with gold, which alone would give the rate to within {HALF_WIDTH:g}."
        if needed < n_items
        else f"Label all {needed} items with gold."
    )
    data = {
        "why": why,
        "discrimination": math.nan if known is None else known.discrimination,
        "statistic": math.nan if known is None else known.statistic,
        "p_value": math.nan if known is None else known.p_value,
        "gold_worth": worth,
        "gold_needed": needed,
        "half_width": HALF_WIDTH,
    }
    return [*(one for one in found if one.code != "F303"), Finding("F303", f"{cannot} ({why}); {width}", data, action)]


def knows_nothing(question: Question) -> bool:
    """Whether the labelers that the method rests on have been shown to tell the classes apart no better than chance."""
    reliability = question.reliability
    if reliability is None or question.method.by_design or not question.method.uses_history:
        return False
    return reliability.knows_nothing


def past_rounds_tell(fit: Fit) -> bool:
    """Whether past rounds show how far a round may lie from the others, labels or not: the interval has that in it."""
    return fit.between is not None and fit.between.drift.n_rounds >= ROUNDS_THAT_TELL


def _classes(classes: Sequence[str]) -> str:
    return "good from bad" if tuple(classes) == ("0", "1") else f"{', '.join(classes[:-1])} from {classes[-1]}"


def gold_worth(fit: Fit) -> float:
    """How many items with gold would pin the rates down as well as the labels do, for the class known least."""
    errors = rate_errors(fit)
    if not np.isfinite(errors).all():
        return 0.0
    with np.errstate(divide="ignore"):
        worth = fit.inside * (1.0 - fit.inside) / errors**2
    return float(worth.min())


def rate_errors(fit: Fit) -> Floats:
    """(K,) the standard error of each class's rate, items being independent."""
    variance = np.zeros(len(fit.rates))
    for part in (fit.current, fit.history):
        if part is None:
            continue
        for start in range(0, len(part), _BLOCK):  # copies of all rows would fill memory
            some = part[start : start + _BLOCK]
            variance += (np.column_stack([-some.sum(axis=1), some]) ** 2).sum(axis=0)
    return np.sqrt(variance)


def gold_needed(level: float, n_items: int) -> int:
    """Items with gold that alone give a rate to within `HALF_WIDTH`, whatever it is; no more than there are."""
    z = -float(special.ndtri((1.0 - level) / 2))
    return min(math.ceil(0.25 * (z / HALF_WIDTH) ** 2), n_items)
