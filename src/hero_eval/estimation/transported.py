"""Whether history's reliabilities fit the current labels, and whether past rounds fit each other any better.

HERO-3's interval allows for the drift that past rounds show. A current round that fits them worse than they fit each
other has drifted farther, as far as its labels tell, and its interval is in doubt. Gold of the round does not settle
that while HERO-3 reads it: it expects little drift of the round, and so lets a few golds move the rate too little.
`balanced` counts them for what they are, and answers instead where nobody asked for a method (`estimation/select.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hero_eval.counting.count import count
from hero_eval.estimation.own_gold import LEAST_TO_DISAGREE
from hero_eval.estimation.question import Current, Question
from hero_eval.findings import Finding, name_some
from hero_eval.labelers.fitting import fit_with
from hero_eval.labelers.reliability import ALARM, Reliability, p_text
from hero_eval.methods.current_rate import carry
from hero_eval.methods.result import Fit
from hero_eval.model.joint import Joint, fit_joint, stack
from hero_eval.model.patterns import Floats, Ints, Patterns
from hero_eval.model.row_scores import can_test
from hero_eval.model.score_tests import Transport, beyond_past, check_transport

MOST_PLAYED = 8
"""Past rounds that are held against the others, the last ones: each takes a fit of them."""
_LEAST_ITEMS = 20


@dataclass(frozen=True, eq=False)
class Misfits:
    """How the current rounds fit past ones, and these each other: looked at once, and only if somebody asks."""

    question: Question
    _seen: dict[int, Transport | None] = field(default_factory=dict)

    def of(self, place: int) -> Transport | None:
        """How the current round at this place fits the past; None where there is nothing to test."""
        if place not in self._seen:
            self._seen[place] = transport_test(self.question, self.question.currents[place])
        return self._seen[place]

    @cached_property
    def tests(self) -> tuple[Transport, ...]:
        """Of each past round whose labels can be held against the others' reliabilities."""
        reliability = self.question.reliability
        assert reliability is not None
        rounds = reliability.rounds
        first = max(len(rounds) - MOST_PLAYED, 0)
        found = (self._played(reliability, place) for place in range(first, len(rounds)))
        return tuple(one for one in found if one is not None)

    def _played(self, reliability: Reliability, place: int) -> Transport | None:
        rounds = reliability.rounds
        played, others = rounds[place], (*rounds[:place], *rounds[place + 1 :])
        if not any(one.n_gold for one in others):
            return None
        learned = fit_with(
            others,
            reliability.options,
            reliability.classes,
            shrinkage=reliability.shrinkage,
            warm=reliability,
            remarks=False,
        )
        if not set(played.labelers) & set(learned.labelers):
            return None
        counted = count([played], learned.labelers, learned.classes)
        here, there = self._clusters(reliability, place)
        if here is not None and counted.kept is not None:
            here = here[counted.kept]
        return _test(learned, counted.patterns, (there, here)) if counted.n_items else None

    def _clusters(self, reliability: Reliability, place: int) -> tuple[Ints | None, Ints | None]:
        """Of the items of the round at this place, and of those of the others."""
        codes = cluster_codes(self.question.history_clusters)
        if codes is None:
            return None, None
        of_round = np.repeat(np.arange(len(reliability.rounds)), [one.n_items for one in reliability.rounds])
        return codes[of_round == place], codes[of_round != place]

    def explain(self, moved: Transport) -> tuple[bool, dict[str, object]]:
        """Whether the current labels fit past rounds no worse than these fit each other, and the figures.

        Rounds that all fit each other show no drift which the interval could have learned to allow for.
        """
        astray = sum(one.p_value < ALARM for one in self.tests)
        p_value = beyond_past(moved, self.tests)
        data: dict[str, object] = {
            "past_rounds": len(self.tests),
            "past_rounds_that_misfit": astray,
            "beyond_past_p_value": p_value,
        }
        return astray > 0 and p_value >= ALARM, data


def transport_test(question: Question, current: Current) -> Transport | None:
    """The gold-free test on the labelers that history knows; None where there is nothing to test."""
    reliability = question.reliability
    assert reliability is not None
    known, kept = _known_part(question, current, reliability)
    if known is None:
        return None
    here = None if current.clusters is None else cluster_codes(current.clusters[kept])
    return _test(reliability, known, (cluster_codes(question.history_clusters), here))


def _test(reliability: Reliability, known: Patterns, clusters: tuple[Ints | None, Ints | None]) -> Transport | None:
    history, learned = reliability.counted.patterns, reliability.fit
    if known.n_items < _LEAST_ITEMS or not can_test(history, learned.latent):
        return None
    carried = carry(known, learned)
    if not carried.root.converged or not can_test(known, learned.latent):
        return None
    blind = replace(known, gold=np.full_like(known.gold, -1))
    start = Joint(learned.latent, np.maximum(carried.root.rates, 1e-6))
    options = replace(reliability.options, tolerance=1e-8, step_tolerance=None, max_steps=500, accelerate=True)
    fitted, _ = fit_joint(stack(history, blind, learned.latent), start, options)
    by_history = Joint(learned.latent, carried.root.rates)
    return check_transport(history, blind, fitted, by_history, reliability.drawn, learned.clip, clusters)


def _known_part(
    question: Question, current: Current, reliability: Reliability
) -> tuple[Patterns | None, NDArray[np.bool_] | None]:
    """The current labels of labelers that history knows, and the items that have any, where items are told apart."""
    if not question.method.evidence.every_labeler:
        return current.evidence.current, current.kept
    if not set(current.round.labelers) & set(reliability.labelers):
        return None, current.kept
    counted = count([current.round], reliability.labelers, question.classes)
    return (counted.patterns if counted.n_items else None), counted.kept


def transport_finding(
    past: Misfits, fit: Fit, current: Current, moved: Transport, settled: str | None = None
) -> Finding:
    """F205, with what the interval makes of it; `settled` tells what was done about it instead."""
    question = past.question
    assert question.reliability is not None
    parts = {"common": moved.common, "rates": moved.rates, "skills": moved.skills}
    least = min(parts, key=lambda name: parts[name].p_value)
    bound = -float(special.ndtri(ALARM / 2 / len(moved.z)))
    names = [question.reliability.labelers[j] for j in np.flatnonzero(np.abs(moved.z) > bound)]
    implied = np.clip(moved.implied[np.isfinite(moved.implied)], 0.0, 1.0)
    seen, expected = moved.agreement
    said = {
        "common": "labelers together have become better or worse at telling the classes apart",
        "rates": "each labeler alone implies a rate, and these lie further apart than chance allows"
        + _implied_span(question, implied),
        "skills": "some labelers agree with the others more, or less, than they did",
    }[least]
    allowed, done, beside = _allowance(past, fit, moved) if settled is None else (True, settled, {})
    message = (
        f"history's reliabilities do not fit the current labels ({p_text(moved.p_value)}): {said}"
        f"{f', {name_some(names)} most' if names else ''}; two labels of an item agree {seen:.0%} of the time, "
        f"{expected:.0%} expected; {done}"
    )
    data = {
        "p_value": moved.p_value,
        **{f"{name}_statistic": one.statistic for name, one in parts.items()},
        **{f"{name}_p_value": one.p_value for name, one in parts.items()},
        "labelers": names,
        "agreement": seen,
        "agreement_expected": expected,
        "implied": {"class": question.classes[-1], "low": float(implied.min()), "high": float(implied.max())}
        if len(implied)
        else None,
        **beside,
    }
    if any(moved.sampled):
        data["rows_sampled"] = dict(zip(("history", "current"), moved.sampled, strict=True))
    return Finding("F205", message, data, _action(question, fit, current, allowed), doubts=not allowed)


def _action(question: Question, fit: Fit, current: Current, allowed: bool) -> str:
    """What to do about it; nothing to add to what the catalogue says where the method knows no drift."""
    if fit.between is None:
        return ""
    if not allowed and question.n_gold_current and current.round.n_gold >= LEAST_TO_DISAGREE:
        return "Name no method and no covariates, so that the round's own gold answers."
    return "Have an expert answer some items of the current round: they show the drift."


def _allowance(past: Misfits, fit: Fit, moved: Transport) -> tuple[bool, str, dict[str, object]]:
    """Whether the interval allows for the misfit, what to say of that, and the figures behind it."""
    question = past.question
    drift = None if fit.between is None else fit.between.drift
    if drift is None or not drift.is_present or question.options.interval in ("bootstrap", "paper"):
        return False, "the interval does not allow for it", {}
    if not drift.known:
        return True, "the interval allows for a usual drift", {}
    usual, data = past.explain(moved)
    if usual:
        return True, "the interval allows for the drift that past rounds show", data
    return False, "past rounds fit each other better, and the interval allows for no more drift than they show", data


def _implied_span(question: Question, implied: Floats) -> str:
    """The lowest and the highest rate that labelers imply, and of which class; of a part of the items they would stand
    beside a number on another scale, so nothing is said."""
    if len(implied) < 2 or len(question.currents) > 1:
        return ""
    return f" ({implied.min():.2f} to {implied.max():.2f} of {question.classes[-1]!r})"


def cluster_codes(names: NDArray[np.object_] | None) -> Ints | None:
    """Clusters as numbers."""
    if names is None:
        return None
    codes: Ints = np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64)
    return codes
