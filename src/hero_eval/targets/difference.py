"""How much better is model A than model B on the same prompts? Paired by item id, shared history counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hero_eval.confidence import Normal
from hero_eval.estimate import Estimate, Influence, Part, Source
from hero_eval.findings import Finding, name_some, unique
from hero_eval.model.history import Progress
from hero_eval.reliability import history_rounds
from hero_eval.round import Round
from hero_eval.targets.pairs import best_by_pairs
from hero_eval.targets.question import Options, PastRounds, ask, require_round
from hero_eval.targets.subtract import difference_of


def estimate_difference(
    a: Round,
    b: Round,
    history: PastRounds = None,
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

    Without a method, and with gold in history, pairs of past rounds that were labeled together choose between hero1
    and hero3 (finding F306); where they cannot tell, hero3 answers.
    """
    options = Options(
        method, covariates, text, penalty, level, interval, cluster, replicates, seed, groups=groups, progress=progress
    )
    for side in (a, b):
        require_round(side)
        side.item_ids  # noqa: B018  pairs are found by id: a round that is counted without its items refuses here
    sides, history, remarks = _apart((a, b), history)
    if any(one.code == "F114" for one in remarks) and options.cluster is None:
        options = replace(options, cluster="item")  # an item that counts on both sides counts once in the error
    question = ask(sides, history, options, best=partial(best_by_pairs, positive=positive))
    difference = difference_of(question, positive)
    found = [one for one in difference.findings if not (remarks and one.code == "F114")]
    source = Source((a, b), question.reliability or history)
    difference = replace(difference, source=source, findings=unique([*remarks, *found]))
    return _nothing(difference, a, b) if a.holds_same_as(b) else difference


def _apart(sides: tuple[Round, Round], history: PastRounds) -> tuple[tuple[Round, ...], PastRounds, list[Finding]]:
    """The two rounds and a history without them; where no other past round has gold, one of them stays there.

    Its gold then counts in history alone.
    """
    past = () if history is None else history_rounds(history)
    inside = [one for one in past if any(side.holds_same_as(one) for side in sides)]
    if not inside:
        return sides, history, []
    names, data = name_some([one.name for one in inside]), {"rounds": [one.name for one in inside]}
    others = tuple(one for one in past if not any(one is other for other in inside))
    if any(one.n_gold for one in others):
        message = f"of the rounds in history {names} is one of the two that are compared, and was left out of it"
        return sides, others, [Finding("F113", message, data, "Nothing; leave it out yourself to hear no more of it.")]
    message = f"of the rounds in history only {names} has gold, and is one of the two that are compared"
    remark = Finding("F114", message, data, "Add gold to another past round.", doubts=False)
    blind = tuple(side.without_gold() if any(side.holds_same_as(one) for one in inside) else side for side in sides)
    return blind, history, [remark]


def _nothing(difference: Estimate, a: Round, b: Round) -> Estimate:
    """A round compared with itself: no draw of items or labels could make the two differ. Its items count once."""
    message = f"{a.name!r} and {b.name!r} hold the same items, labels and gold: a round does not differ from itself"
    remark = Finding("F113", message, {"round": a.name, "same_as": b.name})
    return replace(
        difference,
        value=0.0,
        n_items=difference.n_items // 2,
        n_gold=difference.n_gold - difference.n_gold_current // 2,
        n_gold_current=difference.n_gold_current // 2,
        centre=0.0,
        influence=Influence((Part("current", np.zeros(1)),)),
        curve=Normal(0.0, 0.0, difference.bounds, logit=False),
        least_error=0.0,
        findings=unique([*difference.findings, remark]),
    )
