"""How much better is model A than model B on the same prompts? Paired by item id, shared history counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hero_eval.estimate import Estimate, Source
from hero_eval.estimation.ask import ask
from hero_eval.estimation.curves import Normal
from hero_eval.estimation.options import HistoryLike, Options, PastRounds, as_history, as_round
from hero_eval.estimation.select_pairs import best_by_pairs
from hero_eval.estimation.subtract import difference_of
from hero_eval.findings import Finding, name_some, unique
from hero_eval.influence import Influence, Part
from hero_eval.labelers.fitting import history_rounds
from hero_eval.model.history import Progress
from hero_eval.read import RoundLike
from hero_eval.round import Round


def estimate_difference(
    a: RoundLike,
    b: RoundLike,
    history: HistoryLike = None,
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
    at_least: float | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Rate of A minus rate of B, on the same prompts: items with the same id are paired. History is counted once.

    Without a method, and with gold in history, pairs of past rounds that were labeled together choose between hero1
    and hero3 (finding F306); where they cannot tell, hero3 answers.

    Parameters
    ----------
    a : Round
        The round of the first model.
    b : Round
        The round of the second model, whose rate is subtracted.
    history : Round, path, dataframe, several of them, Reliability or None, optional
        Past rounds, in which some items have gold: they teach how each labeler answers. A fitted `Reliability` is used
        as it is, without fitting again. None: only what the current round itself holds counts.
    method : str, optional
        The name of a method, such as ``"hero1"``. None takes the best one that the data allow; `why` of the result says
        which and why.
    covariates : sequence of str, optional
        Numeric columns of the items of all rounds that tell something about the answer; ``"labeler:NAME"`` takes the
        answers of that labeler out of the labels and uses them as a covariate. None uses none, except that `hero2`
        takes all numeric columns that the rounds share.
    text : str, optional
        A column of text, such as the prompt, whose most frequent words become covariates. None uses no text.
    level : float, default 0.95
        The level of the interval: how sure it is to hold the quantity, between 0 and 1.
    interval : {"influence", "profile", "bootstrap", "paper", "anytime"}, optional
        How the interval is made: from influences, from the profile likelihood, from items drawn again, or as in the
        paper, which takes the reliabilities as known and is too short. None takes ``"influence"``, or ``"profile"``
        where the first is not safe and the second can be had (finding F309).
    cluster : str, optional
        A column whose equal values mark items that are not independent, such as several outputs for one prompt;
        ``"item"`` takes items of equal id in all rounds as one. None: each item counts by itself.
    replicates : int, optional
        How often the bootstrap draws the items again, at least 50. Only with ``interval="bootstrap"``; None: 1,000.
    seed : int, optional
        The seed of the bootstrap's draws, 0 or more. Only with ``interval="bootstrap"``; None: 0.
    positive : class or sequence of classes, optional
        The class whose rate is asked for, or several that count together. None takes the class that a round names;
        without one, ``1`` of 0 and 1 or the last of two classes that were given in order. More than two classes then
        have no positive one.
    penalty : float, optional
        The ridge penalty on the coefficients of the covariates, 0 or more. None has it chosen from the data.
    groups : mapping of labeler to group, optional
        Which labelers are alike, such as ``{"ann": "vendor-1"}``: a labeler that history never saw counts as its group
        does. Only `hero3`, `ppi` and `balanced` take it. None takes all labelers for one group.
    at_least : float, optional
        Where gold is numbers: the share of items whose gold is this number or more, instead of the mean. None: the
        mean, or the rate of the positive class.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs, and with (replicates so far, share of them
        still to come) while the bootstrap does. None: nothing is told.

    Returns
    -------
    Estimate
        The difference, between -1 and 1 for a rate; `distribution` has the two rates as ``"a"`` and ``"b"``.

    Raises
    ------
    InputError
        If the rounds do not fit together, or an option is unknown or does not fit the method.
    SupportError
        If the data cannot support the answer: history without gold, no labeler that it knows, no usable item, or too
        little gold for the method.
    """
    options = Options(
        method,
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
        at_least=at_least,
    )
    history, a, b = as_history(history, a, b), as_round(a), as_round(b)
    for side in (a, b):
        side.item_ids  # noqa: B018  pairs are found by id: a round that is counted without its items refuses here
    sides, history, remarks = kept_apart((a, b), history)
    if any(one.code == "F114" for one in remarks) and options.cluster is None:
        options = replace(options, cluster="item")  # an item that counts on both sides counts once in the error
    analysis = ask(sides, history, options, best=partial(best_by_pairs, positive=positive))
    difference = difference_of(analysis, positive)
    found = [one for one in difference.findings if not (remarks and one.code == "F114")]
    source = Source((a, b), analysis.question.reliability or history)
    difference = replace(difference, source=source, findings=unique([*remarks, *found]))
    return _nothing(difference, a, b) if a.holds_same_as(b) else difference


def kept_apart(sides: tuple[Round, ...], history: PastRounds) -> tuple[tuple[Round, ...], PastRounds, list[Finding]]:
    """The rounds to compare and a history without them; where no other past round has gold, they stay there.

    Their gold then counts in history alone.
    """
    others, left_out = without_sides(sides, history)
    if not left_out:
        return sides, history, []
    if any(one.n_gold for one in others):
        return sides, others, left_out
    past = () if history is None else history_rounds(history)
    inside = [one for one in past if not any(one is other for other in others)]
    names, data = name_some([one.name for one in inside]), {"rounds": [one.name for one in inside]}
    golden = [one for one in inside if one.n_gold]
    if golden and len(golden) < len(inside):  # one without gold would be nothing but its own history
        history = tuple(one for one in past if not any(one is other for other in inside) or one.n_gold)
        names, data = name_some([one.name for one in golden]), {"rounds": [one.name for one in golden]}
    message = f"of the rounds in history only {names} has gold, and is one of {_count(sides)} that are compared"
    remark = Finding("F114", message, data, "Add gold to another past round.", doubts=False)
    blind = tuple(side.without_gold() if any(side.holds_same_as(one) for one in inside) else side for side in sides)
    return blind, history, [remark]


def without_sides(sides: Sequence[Round], history: PastRounds) -> tuple[tuple[Round, ...], list[Finding]]:
    """The past rounds that are none of those compared, and a remark where some were left out."""
    past = () if history is None else history_rounds(history)
    others = tuple(one for one in past if not any(side.holds_same_as(one) for side in sides))
    inside = [one.name for one in past if not any(one is other for other in others)]
    if not inside:
        return others, []
    one = len(inside) == 1
    those = f"is one of {_count(sides)} that are compared, and was" if one else "are compared themselves, and were"
    message = f"of the rounds in history {name_some(inside)} {those} left"
    action = "Nothing; leave it out yourself to hear no more of it."
    return others, [Finding("F113", f"{message} out of it", {"rounds": inside}, action)]


def _count(sides: Sequence[Round]) -> str:
    return "the two" if len(sides) == 2 else f"the {len(sides)}"


def _nothing(difference: Estimate, a: Round, b: Round) -> Estimate:
    """A round compared with itself: no draw of items or labels could make the two differ. Its items count once."""
    message = f"{a.name!r} and {b.name!r} hold the same items, labels and gold: a round does not differ from itself"
    action = "Name two rounds that differ, each once; a gate that looks at one round twice says nothing of a model."
    remark = Finding("F113", message, {"round": a.name, "same_as": b.name}, action, doubts=True)
    return replace(
        difference,
        value=0.0,
        n_items=difference.n_items // 2,
        n_gold=difference.n_gold - difference.n_gold_current // 2,
        n_gold_current=difference.n_gold_current // 2,
        center=0.0,
        influence=Influence((Part("current", np.zeros(1)),)),
        curve=Normal(0.0, 0.0, difference.bounds, logit=False),
        least_error=0.0,
        findings=unique([*difference.findings, remark]),
    )
