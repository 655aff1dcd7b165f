"""How much better is model A than model B on the same prompts? Paired by item id, shared history counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hero_eval.engines.counting import is_large
from hero_eval.errors import wrong
from hero_eval.estimate import Estimate, Source
from hero_eval.findings import Finding, unique
from hero_eval.model.history import Progress
from hero_eval.reliability import history_rounds
from hero_eval.round import Round
from hero_eval.targets.pairs import BOTH, WEIGHTS, Choosing, needs_second, sound_reading
from hero_eval.targets.question import History, Options, Question, ask, require_round
from hero_eval.targets.readings import Combined, Reading, difference_of


def estimate_difference(
    a: Round,
    b: Round,
    history: History = None,
    *,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: str | Sequence[str] | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Rate of A minus rate of B. The two rates are in `.distribution` as 'a' and 'b'.

    Without a method, and with gold in history, readings by hero1 and hero3 are averaged (`method="hero1+hero3"`),
    unless pairs of past rounds show that one of them alone is better, or a single past round shows that labelers err
    each by itself. The two rates are then those of hero3.
    """
    both = method == BOTH
    options = Options(
        None if both else method,
        covariates,
        text,
        penalty,
        level,
        interval,
        cluster,
        replicates,
        seed,
        groups=groups,
        progress=progress,
    )
    for side in (a, b):
        require_round(side)
        side.item_ids  # noqa: B018  pairs are found by id: a round that is counted without its items refuses here
    readings, chosen = _readings(a, b, history, options, Choosing((a, b), positive, both))
    whole = Combined(readings)
    question, fits = readings[-1].question, readings[-1].fits
    one, other = readings[-1].sides
    difference = difference_of(whole)
    found = [*difference.findings, *chosen.findings, *_pairing(question), *_shared_drift(whole)]
    difference = replace(difference, findings=unique(found))
    if len(readings) > 1:
        difference = replace(difference, method=BOTH)
    worst = next((fit.report for fit in fits if fit.report is not None and not fit.report.converged), fits[0].report)
    source = Source((a, b), question.reliability or history)
    return replace(difference, em=worst, distribution={"a": one, "b": other}, source=source)


def _readings(
    a: Round, b: Round, history: History, options: Options, chosen: Choosing
) -> tuple[list[Reading], Choosing]:
    """The method asked for or chosen; or two of them, the one that counts more last."""
    positive = chosen.positive
    if chosen.asked:
        _refuse_both(history, options)
    question = ask([a, b], history, options, best=chosen)
    last = Reading(question, 1.0, positive)
    if chosen.name != BOTH or question.reliability is None or not (chosen.asked or needs_second(last)):
        return [last], chosen
    first = sound_reading("hero1", (a, b), question.reliability, options, positive)
    if first is None:
        why = "history has gold; hero1 has nothing sure to say here, so hero3 stands alone"
        return [replace(last, question=replace(question, why=why))], replace(chosen, findings=())
    readings = [one.weighing(WEIGHTS[one.question.method.name]) for one in (first, last)]
    return readings, chosen if chosen.findings else replace(chosen, findings=(_both(readings, chosen.why),))


def _refuse_both(history: History, options: Options) -> None:
    """Why both methods asked for by name cannot answer."""
    past = () if history is None else history_rounds(history)
    n_gold = sum(one.n_gold > 0 for one in past)
    if n_gold == 0:
        raise wrong("E206", f"{BOTH} needs a history with gold; none was given")
    given = [name for name in ("covariates", "text", "penalty", "groups", "interval") if getattr(options, name)]
    if given:
        raise wrong("E204", f"{BOTH} takes no {' or '.join(given)}: use hero3, or leave it out")
    if is_large([*past]):
        raise wrong("E211", f"{BOTH} needs items one by one; a past round is kept without them: use hero1")


def _both(readings: Sequence[Reading], why: str) -> Finding:
    each = {one.question.method.name: one.value for one in readings}
    said = " and ".join(f"{name} {value:+.4f} (weighing {WEIGHTS[name]:g})" for name, value in each.items())
    message = f"{why}: the difference is the mean of {said}; the two rates beside it are those of hero3"
    return Finding("F306", message, {"differences": each, "weights": dict(WEIGHTS)})


def _shared_drift(whole: Combined) -> list[Finding]:
    """Whether past rounds showed how much of their drift two models share."""
    drift = whole.drift
    if drift is None or drift.known or not drift.own.known or not drift.own.counts:
        return []
    message = (
        "no two past rounds with gold share items and labelers, so that nothing shows how much of their drift two "
        "models share: the interval takes each to drift by itself"
    )
    return [Finding("F316", message, {"drift_sd": drift.own.size, "pairs": drift.n_pairs})]


def _pairing(question: Question) -> list[Finding]:
    first, second = (np.asarray(current.all_ids) for current in question.currents)
    both = np.intersect1d(first.astype(str), second.astype(str))
    alone = len(first) + len(second) - 2 * len(both)
    if not alone:
        return []
    message = f"{len(both)} items are labelled for both models and paired; {alone} for one model only"
    return [Finding("F106", message, {"paired": len(both), "unpaired": alone})]
