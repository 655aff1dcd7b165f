"""Which method answers when none is named: HERO-3 where history has gold, unless past rounds speak for another.

This is the one place, with `select_pairs`, that knows methods by name: what is taken when is a policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.counting.count import stays, tally_of
from hero_eval.errors import HeroError
from hero_eval.estimation.options import Options
from hero_eval.estimation.own_gold import LEAST_TO_DISAGREE, disagreement, disagreement_finding
from hero_eval.estimation.prepare import RoundSet, prepare
from hero_eval.estimation.question import Question
from hero_eval.estimation.replay import DEFAULT, LEAST_ROUNDS, Play, Quantity, distinct_names, replay
from hero_eval.estimation.requirements import LEAST_OWN, is_lack, require
from hero_eval.estimation.rivals import Trial, choose_by_plays, figures, told_figures, try_in_turn
from hero_eval.estimation.shared_fits import SharedFits
from hero_eval.estimation.transported import Misfits, transport_finding
from hero_eval.findings import Finding
from hero_eval.labelers.reliability import ALARM
from hero_eval.methods.evidence import CovariateEvidence, JointEvidence
from hero_eval.methods.hero2 import moved_means
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round

LEAST_GOLD = 10
MOST_ROUNDS = 8
MOST_LABELS = 50_000
"""Above this many labels of history nobody should wait for a backtest that was not asked for."""
MOST_PATTERNS = 2_000_000
"""Nor is hero3 fitted unasked to more distinct answer patterns: 400,000 by 1,000 labelers took 17 s of the processor
and 1 GB."""
MOST_CLASSES = 7
"""Nor above this many classes, whose fits take long: ten of them, a quarter of a minute for 5,000 labels."""


@dataclass(frozen=True)
class MethodChoice:
    """A method's name, why it was taken, and what is to be said of it."""

    name: str
    why: str
    findings: tuple[Finding, ...] = ()
    begun: Question | None = None
    """The question as this method answers it, where that was fitted to choose by."""


def best_with_gold(rounds: RoundSet, options: Options) -> MethodChoice:
    """The method for a history that has gold."""
    return _without_playing(rounds, options) or _by_backtest(rounds, rounds_to_play(rounds.past), options)


def unplayed(rounds: RoundSet, options: Options) -> MethodChoice:
    """The same for those who will not wait for past rounds to be played: the method that these would have to beat."""
    n_played = len(rounds_to_play(rounds.past))
    why = f"the default, unless a backtest on {n_played} past rounds clearly favors another method"
    return _without_playing(rounds, options) or MethodChoice(DEFAULT, why)


def _without_playing(rounds: RoundSet, options: Options) -> MethodChoice | None:
    """The method where past rounds cannot be played to choose it, or need not; None where they are to be."""
    past = rounds.past
    by_the_paper = "hero2" if options.wants_covariates else "hero1"
    beyond = _beyond_counts(rounds, options)
    if beyond:
        message = (
            f"{beyond}, so {by_the_paper} answers, which needs a single pass: it takes labelers to err independently "
            "and rounds not to drift"
        )
        return MethodChoice(
            by_the_paper, f"history has gold; {beyond}", (Finding("F313", message, {"method": by_the_paper}),)
        )
    if options.interval in ("profile", "paper"):
        why = f"history has gold, and {by_the_paper} has the {options.interval!r} interval asked for"
        return MethodChoice(by_the_paper, why)
    if rounds.fitted_otherwise:
        return MethodChoice(by_the_paper, f"history was fitted with options of its own, which {by_the_paper} uses")
    played = rounds_to_play(past)
    n_gold = sum(one.n_gold > 0 for one in past)
    if len(played) < LEAST_ROUNDS:
        lack = (
            "one past round has gold: drift is unknown"
            if n_gold == 1
            else (
                f"history has gold; {len(played)} past rounds with {LEAST_GOLD} gold items or more cannot tell methods "
                f"apart, which takes {LEAST_ROUNDS}"
            )
        )
        return MethodChoice(DEFAULT, lack)
    n_labels, many = sum(one.n_labels for one in past), len(rounds.classes) > MOST_CLASSES
    if n_labels > MOST_LABELS or many:
        size = f"{len(rounds.classes)} classes" if many else f"{n_labels:,} labels"
        message = (
            f"{len(played)} past rounds could tell which method is best, but with {size} they were not tried unasked"
        )
        action = "Run a backtest, and name the method."
        most = f"{MOST_CLASSES} classes" if many else f"{MOST_LABELS:,} labels"
        why = f"history has gold; above {most} methods are not tried on past rounds unasked"
        return MethodChoice(
            DEFAULT, why, (Finding("F306", message, {"rounds": len(played), "labels": n_labels}, action),)
        )
    return None


def _beyond_counts(rounds: RoundSet, options: Options) -> str:
    """Why HERO-3 does not answer unasked about rounds that are kept as counts; nothing where it does."""
    if stays(rounds.all_rounds):
        return "the labels of a round here are too many to be held even as counts"
    if rounds.is_large and options.wants_covariates:
        return "a round here is kept without its items, whose covariates hero3 asks for one by one"
    if sum(one.n_items for one in rounds.all_rounds) <= MOST_PATTERNS:
        return ""
    n_rows = sum(tally_of(one).n_rows for one in rounds.all_rounds)
    return f"{n_rows:,} answer patterns, which hero3 goes through many times, are more than {MOST_PATTERNS:,}" * (
        n_rows > MOST_PATTERNS
    )


def without_history_gold(rounds: RoundSet, options: Options) -> MethodChoice:
    """The method where no past round has gold: by the current rounds' own, or by labels alone."""
    lack = "history has no gold" if rounds.past else "there is no history"
    golds = [one.n_gold for one in rounds.currents]
    covariates = options.wants_covariates or options.penalty is not None
    if min(golds) >= LEAST_OWN and not stays(rounds.currents) and not covariates:
        each = str(sum(golds)) if rounds.one_round else " and ".join(map(str, golds))
        several = "s" * (len(golds) > 1 and not rounds.one_round)
        own = f"{lack}; {each} gold items of the current round{several}"
        return MethodChoice("balanced", f"{own} are used: ppi, blended with hero3 as far as they support it")
    if rounds.parts_share_gold and sum(golds) >= LEAST_GOLD and not covariates:
        own = f"{lack}; {sum(golds)} gold items of the current round are used, of which some parts have next to none"
        return MethodChoice(DEFAULT, own)
    few = f" ({max(golds)} gold in a current round is too little to learn from)" if max(golds) else ""
    return MethodChoice("dawid_skene", f"{lack}{few}, so the labelers can be compared only with each other")


def rounds_to_play(past: Sequence[Round]) -> list[int]:
    """Positions of the rounds with enough gold; of many those with most, and the later ones of equals."""
    enough = [position for position, one in enumerate(past) if one.n_gold >= LEAST_GOLD]
    most = sorted(enough, key=lambda position: (past[position].n_gold, position), reverse=True)
    return sorted(most[:MOST_ROUNDS])


def _by_backtest(rounds: RoundSet, played: Sequence[int], options: Options) -> MethodChoice:
    past, classes = rounds.past, rounds.classes
    by_covariates = ["hero2"] if options.wants_covariates else []
    rivals = [] if options.groups is not None else ["gold_proportion", "hero1", *by_covariates]
    methods = [*rivals, DEFAULT]
    each = np.eye(len(classes))
    quantities = [Quantity(f"rate of {name!r}", each[k]) for k, name in enumerate(classes)]
    if len(classes) == 2:
        quantities = quantities[1:]
    begun = _begin(rounds, options)
    shared = SharedFits(begun)

    def play(positions: Sequence[int], names: Sequence[str]) -> tuple[Play, ...]:
        asked = past, positions, classes, quantities, names, options, rounds.em, rounds.shrinkage
        return replay(*asked, shared=shared).plays

    tried = try_in_turn(played, rivals, play)
    names = distinct_names(past)
    name, why = choose_by_plays(tried.plays, methods)
    if tried.left:
        why = f"after {len(played) - len(tried.left)} of {len(played)}, no other method could still clearly beat it"
    data = {
        "rounds": [names[position] for position in played if position not in tried.left],
        "left": [names[position] for position in tried.left],
        "methods": {method: figures(tried.plays, method) for method in methods},
    }
    finding = Finding("F306", _told_trial(tried, len(past), len(played), methods, name), data)
    return MethodChoice(name, f"backtest of past rounds: {why}", (finding,), begun if name == DEFAULT else None)


def _told_trial(tried: Trial, n_past: int, n_played: int, methods: Sequence[str], taken: str) -> str:
    """What was played, how the methods did, and why no more was."""
    cap = f", of {n_past} those with most gold," if n_past > n_played else ""
    part = f"{n_played - len(tried.left)} of " if tried.left else ""
    told = f"{part}{n_played} past rounds{cap} were estimated with their gold hidden"
    enough = "; the remaining rounds could not change that" if tried.left else ""
    return f"{told}: {told_figures(tried.plays, methods)}. {taken} was chosen{enough}"


def _begin(rounds: RoundSet, options: Options) -> Question | None:
    """The question as the default method answers it, fitted; None where plays cannot share in that."""
    if len(rounds.currents) > 1 or options.wants_covariates:
        return None
    try:
        question = prepare(rounds, require(all_methods()[DEFAULT], "", rounds, options), options)
        question.fits  # noqa: B018
    except HeroError as error:
        if not is_lack(error):
            raise
        return None
    return question


def reconsider(question: Question) -> Question:
    """Another method where what it assumes is refuted by the question itself: nobody asked for this one by name."""
    if question.method.name == "hero3":
        return _contradicted(question)
    return _step_back(question) if question.method.name == "hero2" else question


def _step_back(question: Question) -> Question:
    """HERO-1 instead of HERO-2 where the covariates' means moved between the rounds."""
    for current in question.currents:
        assert isinstance(current.evidence, CovariateEvidence)
        shift = moved_means(current.evidence, 0.05 / len(question.currents))
        if shift is not None:
            moved = shift.finding("hero1 was used instead of hero2, which would take that as chance", "Nothing.")
            why = "history has gold; covariates were named, but their mean moved between the rounds"
            return replace(question, method=all_methods()["hero1"], why=why, findings=(*question.findings, moved))
    return question


def _contradicted(question: Question) -> Question:
    """PPI instead of HERO-3 where a current round's own gold contradicts it; balanced where its labels do."""
    if stays(question.rounds) or min(here.round.n_gold for here in question.currents) < LEAST_TO_DISAGREE:
        return question
    evidence = [here.evidence for here in question.currents]
    if any(isinstance(one, JointEvidence) and one.covariates is not None for one in evidence):
        return question
    gaps = [disagreement(fit, here) for fit, here in zip(question.fits, question.currents, strict=True)]
    said = [gap for gap in gaps if gap is not None and gap.p_value < ALARM / len(gaps)]
    if not said:
        return _drifted(question)
    told = disagreement_finding(question, said[0], "ppi was used, which rests on that gold alone")
    why = f"{question.why}, but the current round's own gold contradicts hero3"
    finding = replace(told, doubts=False)
    return replace(question, method=all_methods()["ppi"], why=why, findings=(*question.findings, finding))


def _drifted(question: Question) -> Question:
    """Balanced instead of HERO-3 where labels show more drift than past rounds do.

    HERO-3 would let a few golds move the rate as little as past rounds say that a round drifts, and be sure of it.
    """
    if question.reliability is None:
        return question
    misfits = Misfits(question)
    told = []
    for at, (fit, here) in enumerate(zip(question.fits, question.currents, strict=True)):
        moved = misfits.of(at)
        if moved is not None and moved.p_value < ALARM and transport_finding(misfits, fit, here, moved).doubts_interval:
            done = "balanced was used, which goes by the round's own gold as far as that speaks against history"
            told.append(transport_finding(misfits, fit, here, moved, done))
    if not told:
        return replace(question, misfits=misfits)
    why = f"{question.why}, but the current labels do not fit past rounds as these fit each other"
    return replace(question, method=all_methods()["balanced"], why=why, findings=(*question.findings, *told))
