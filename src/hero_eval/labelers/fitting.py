"""Learning reliabilities: from past rounds to a `Reliability`, with what is to be said of the labelers it found."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from hero_eval.arguments import check_progress, is_number
from hero_eval.blas_threads import one_blas_thread
from hero_eval.classes import common_classes, in_one_spelling
from hero_eval.counting.count import count
from hero_eval.counting.memory import Counted
from hero_eval.deprecation import renamed_option
from hero_eval.errors import SupportError, unsupported, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.labelers.reliability import ALARM, LITTLE, Reliability
from hero_eval.model.em import EMOptions, EMReport, gold_counts, gold_start
from hero_eval.model.history import HistoryFit, Progress, fit_anchored
from hero_eval.model.latent import Latent
from hero_eval.model.score_tests import measure_skills
from hero_eval.read import RoundLike, TableLike, past_rounds_of
from hero_eval.round import Round
from hero_eval.score_scale import on_one_scale


def history_rounds(history: RoundLike | Sequence[RoundLike] | Reliability) -> tuple[Round, ...]:
    """The rounds behind a `history` argument."""
    if isinstance(history, Reliability):
        return history.rounds
    if isinstance(history, Round):
        return on_one_scale((history,))
    if isinstance(history, Sequence) and history and all(isinstance(one, Round) for one in history):
        if len({id(one) for one in history}) < len(history):
            raise wrong("E201", "history holds the same round twice, which would count its gold twice")
        return on_one_scale(_each_once(in_one_spelling(cast(Sequence[Round], history))))
    several = isinstance(history, Sequence) and len(history) > 0
    if several or isinstance(history, os.PathLike | TableLike):
        return history_rounds(past_rounds_of(history))
    raise wrong("E201", f"history is {type(history).__name__}. It is a Round, a list of Rounds, or a Reliability")


def _each_once(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """Rounds that hold the same count as one, and the first of them says so."""
    kept: list[Round] = []
    places: dict[Any, list[int]] = {}
    for one in rounds:
        alike = places.setdefault(one.shape_and_sums(), [])  # so that not each is held against all others
        place = next((place for place in alike if kept[place].holds_same_as(one)), None)
        if place is None:
            alike.append(len(kept))
            kept.append(one)
            continue
        message = f"past round {one.name!r} has the same items, labels and gold, and is counted only once"
        kept[place] = kept[place].noted(Finding("F113", message, {"round": one.name, "same_as": kept[place].name}))
    return tuple(kept)


@renamed_option("warm", "warm_start")
def fit_reliability(
    history: RoundLike | Sequence[RoundLike],
    *,
    clip: float = 1e-3,
    tolerance: float = 1e-10,
    max_steps: int = 10_000,
    accelerate: bool = True,
    shrinkage: float = 0.0,
    warm_start: Reliability | None = None,
    progress: Progress | None = None,
) -> Reliability:
    """Learn every labeler's reliability from past rounds in which some items have gold (anchored EM).

    `accelerate=False, tolerance=1e-6, max_steps=200` is the paper's own setting.

    Parameters
    ----------
    history : Round, path, dataframe, or several of them
        The past rounds. Items without gold count too: what labelers say together tells something of each.
    clip : float, default 0.001
        Every probability is kept this far from 0 and 1; below 0.5.
    tolerance : float, default 1e-10
        The relative change of the likelihood at which the fit rests. At 1e-8 or less the reliabilities themselves must
        have come to rest too (of a thousand labelers or more: the likelihood as a whole).
    max_steps : int, default 10,000
        After so many EM steps the fit ends; `converged` says whether it had come to rest.
    accelerate : bool, default True
        Whether to leap ahead between EM steps, which takes fewer of them. False takes plain steps.
    shrinkage : float, default 0.0
        So many pseudo-answers are added to each labeler and class, as the pool of labelers answers. 1 to 3 steady a
        history with scarce gold; 0, the paper's method, adds none.
    warm_start : Reliability, optional
        An earlier fit to start from, which saves steps and leads to the same maximum. Labelers that it does not know
        start from the gold, as all of them do by default (None).
    progress : callable, optional
        Called with (steps so far, change in the last step) while the fit runs. None: nothing is told.

    Returns
    -------
    Reliability
        The reliabilities. Pass it as `history` to estimate without fitting again.

    Raises
    ------
    InputError
        If the rounds do not share their classes, or an option is out of range.
    SupportError
        If history has no gold (E302) or no labeler (E303).

    Examples
    --------
    >>> from importlib.resources import files
    >>> import hero_eval as hero
    >>> example = files("hero_eval") / "examples" / "defect"
    >>> current = hero.read_round(example / "current")
    >>> history = hero.read_round(example / "history")
    >>> learned = hero.fit_reliability(history)
    >>> learned
    Reliability(10 labelers from 532 items, 53 gold; converged)
    >>> hero.estimate_rate(current, learned).value == hero.estimate_rate(current, history).value
    True
    """
    check_progress(progress)
    if not (is_number(clip) and 0.0 < clip < 0.5):
        raise wrong("E201", f"clip is {clip!r}. It bounds probabilities away from 0 and 1: between 0 and 0.5")
    if not (is_number(tolerance) and 0.0 < tolerance < 1.0):
        raise wrong("E201", f"tolerance is {tolerance!r}. It is a relative change, such as 1e-10")
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 1:
        raise wrong("E201", f"max_steps is {max_steps!r}. It is a whole number of 1 or more")
    if not (is_number(shrinkage) and 0.0 <= shrinkage < 1e6):
        raise wrong("E201", f"shrinkage is {shrinkage!r}. It is a number of pseudo-answers: 0 for none, or a few")
    step_tolerance = 1e-11 if tolerance <= 1e-8 else None
    options = EMOptions(clip, tolerance, step_tolerance, max_steps, accelerate)
    if warm_start is not None and not isinstance(warm_start, Reliability):
        kind = type(warm_start).__name__
        raise wrong("E201", f"warm_start is {kind}. It is a Reliability, as fit_reliability gives it")
    return fit_with(history_rounds(history), options, None, progress, shrinkage, warm=warm_start)


@one_blas_thread()
def fit_with(
    rounds: tuple[Round, ...],
    options: EMOptions,
    classes: Sequence[str] | None = None,
    progress: Progress | None = None,
    shrinkage: float = 0.0,
    counted: Counted | None = None,
    warm: Reliability | None = None,
    where: str = "history",
    *,
    remarks: bool = True,
) -> Reliability:
    """`fit_reliability` with checked options and, if given, the classes that current rounds share, and their counts.

    `where` is what findings call the rounds; remarks on past rounds as tables go with them. Who wants only numbers
    saves the time of `remarks` on labelers.
    """
    named = tuple(classes) if classes is not None else common_classes(rounds)
    labelers = labelers_of(rounds)
    if not labelers:
        raise unsupported("E303", "no labeler of history is left whose labels could be used")
    counted = count(rounds, labelers, named, routed=True) if counted is None else counted
    if not (counted.patterns.gold >= 0).any():
        raise no_gold(rounds)
    start = None if warm is None else _warm_start(warm, labelers, named, counted, options)
    fit = fit_anchored(counted.patterns, len(named), options, progress, start, shrinkage)
    findings: tuple[Finding, ...] = ()
    if remarks:
        notes = _round_notes(rounds) if where == "history" else ()
        scored = any(one.has_scores for one in rounds)
        findings = (*notes, *_labeler_findings(labelers, named, counted, fit, where, scored=scored))
    return Reliability(rounds, labelers, named, counted, fit, options, findings, shrinkage)


def labelers_of(rounds: Sequence[Round]) -> tuple[str, ...]:
    return tuple(sorted({name for one in rounds for name in one.labelers}))


def _warm_start(
    old: Reliability, labelers: tuple[str, ...], classes: tuple[str, ...], counted: Counted, options: EMOptions
) -> Latent | None:
    """An earlier fit as the start of this one; labelers that it did not know start from the gold."""
    if old.classes != classes or old.counted.patterns.n_answers != counted.patterns.n_answers:
        return None
    place = {name: position for position, name in enumerate(old.labelers)}
    known = np.array([place.get(name, -1) for name in labelers])
    answers = old.fit.latent.answers[known]
    if (known < 0).any():
        fresh = gold_start(counted.patterns, len(classes), options.clip)
        answers = np.where((known >= 0)[:, None, None], answers, fresh.answers)
    return Latent(old.fit.latent.weights, answers, np.arange(len(classes)))


def no_gold(rounds: Sequence[Round]) -> SupportError:
    """The refusal of a history without gold."""
    names = ", ".join(repr(one.name) for one in rounds[:3])
    message = f"history ({names}) has no gold, so nothing tells how its labelers err. Add gold for some of its items"
    return unsupported("E302", message)


def not_converged(report: EMReport) -> Finding:
    message = f"EM stopped after {report.n_steps} steps, still changing by {report.change:.1e} per step"
    return Finding("F301", message, {"steps": report.n_steps, "change": report.change})


def _round_notes(rounds: Sequence[Round]) -> tuple[Finding, ...]:
    return tuple(note.at(f"history {one.name!r}") for one in rounds for note in one.notes)


def _labeler_findings(
    labelers: tuple[str, ...],
    classes: tuple[str, ...],
    counted: Counted,
    fit: HistoryFit,
    where: str,
    *,
    scored: bool,
) -> list[Finding]:
    found = []
    hits, class_gold = gold_counts(counted.patterns, len(classes))
    lacking = [classes[k] for k in range(len(classes)) if class_gold[k] == 0]
    if lacking:
        message = (
            f"{where} has no gold of class {name_some(lacking)}: how labelers answer it is guessed from their agreement"
        )
        found.append(Finding("F307", message, {"classes": lacking}))
    n_gold = counted.patterns.n_gold
    if n_gold < 20:
        has = "1 gold item" if n_gold == 1 else f"{n_gold} gold items"
        found.append(Finding("F304", f"{where} has only {has}", {"gold": n_gold}))
    found += _skill_findings(labelers, counted, fit, scored)
    without = [name for name, of in zip(labelers, hits.sum(axis=1), strict=True) if (of == 0).any()]
    if without and not lacking:
        message = f"no gold of some class for {name_some(without)}; learned from agreement with the others"
        found.append(Finding("F203", message, {"labelers": without}))
    if fit.report is not None and not fit.report.converged:
        found.append(not_converged(fit.report))
    return found


def _skill_findings(labelers: tuple[str, ...], counted: Counted, fit: HistoryFit, scored: bool) -> list[Finding]:
    """Labelers who know nothing or answer the wrong way round, beyond what chance does to little gold."""
    skills = measure_skills(counted.patterns, fit.latent, ordered=scored)
    tests = (
        (
            "F201",
            "answers that hardly depend on the gold class: {}; they add little or nothing",
            np.abs(skills.value) < LITTLE / 2,
            skills.below(LITTLE),
        ),
        (
            "F202",
            "answers that point the wrong way: {}; they are used in reverse",
            skills.value <= -LITTLE / 2,
            skills.inverted(),
        ),
    )
    found = []
    for code, message, seems, chance in tests:
        of_all = np.minimum(chance * len(labelers), 1.0)
        accused = np.flatnonzero(seems & (of_all < ALARM))
        if len(accused):
            names = [labelers[j] for j in accused]
            data = {
                "labelers": names,
                "discrimination": skills.value[accused].tolist(),
                "std_error": skills.error[accused].tolist(),
                "p_value": of_all[accused].tolist(),
            }
            found.append(Finding(code, message.format(name_some(names)), data))
    return found
