"""Rounds whose labels are scores, brought to one scale: bins that are learned from all of them together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar, cast

import numpy as np

from hero_eval.any_round import AnyRound
from hero_eval.errors import wrong
from hero_eval.findings import Finding, name_some
from hero_eval.gold_scale import cut_gold, has_numeric_gold
from hero_eval.io.distinct import Codes
from hero_eval.io.scores import MOST_BINS, are_scores, as_numbers, bin_names, cut_scores, score_note
from hero_eval.round import Round
from hero_eval.round_scales import refuse_other_scales

OneRound = TypeVar("OneRound", bound=AnyRound)

GOLD_PER_BIN = 10
"""Golds that a bin takes: with fewer than that a finer cut would tell more of chance than of labelers."""
LEAST_BINS, MOST_PAID_BINS = 3, 5


def on_one_scale(
    rounds: Sequence[OneRound], at_least: float | None = None, *, fine: bool = False
) -> tuple[OneRound, ...]:
    """The rounds with scores cut into the same bins, each labeler's by that labeler's scores in all rounds, and gold of
    many numbers cut into the same classes, or at `at_least`.

    `fine` is for models that know bins to be ordered, so that more of them cost nothing; elsewhere gold pays for each.
    Rounds without scores come back as they are. If one has scores, the numbers of all others are scores too; a round
    that names other answers is refused (E205), and so is one that is kept without its items (E214).
    """
    refuse_other_scales(rounds)
    numeric = has_numeric_gold(rounds)
    if not numeric and not _any_scores(rounds):
        return tuple(rounds)
    for one in rounds:
        _refuse_other_kind(one, rounds)
    held = [_as_scores(cast(Round, one)) for one in rounds]
    names = sorted({name for one in held for name in one.labelers})
    place = {name: position for position, name in enumerate(names)}
    labeler = np.concatenate([np.array([place[name] for name in one.labelers])[one.label_labeler] for one in held])
    scores = np.concatenate([_scores_of(one) for one in held])
    n_bins = MOST_BINS if fine else bins_for(sum(one.n_gold for one in held))
    bins, n_bins = cut_scores(scores, labeler, len(names), n_bins)
    parts = np.split(bins, np.cumsum([one.n_labels for one in held])[:-1])
    note = score_note(scores, n_bins)
    found = [
        _cut_anew(one, part, n_bins, note if one is held[-1] else None) for one, part in zip(held, parts, strict=True)
    ]
    return tuple(cast(OneRound, one) for one in (cut_gold(found, at_least) if numeric else found))


def bins_for(n_gold: int) -> int:
    """How many bins so much gold can pay for."""
    return int(min(max(n_gold // GOLD_PER_BIN, LEAST_BINS), MOST_PAID_BINS))


def _any_scores(rounds: Sequence[AnyRound]) -> bool:
    """Whether one of the rounds has scores, or labels that other rounds' gold shows to be scores."""
    if any(one.label_score is not None for one in rounds):
        return True
    free = all(one.holds_items and one.classes_given is None and _kind_of(one) is None for one in rounds)
    if not free:
        return False
    gold = {value for one in rounds for value in np.array(one.values, dtype=object)[_gold_seen(one)]}
    if not gold <= {"0", "1"} or not gold:
        return False
    labels = dict.fromkeys(value for one in rounds for value in one.values)
    return are_scores(list(labels), list(gold))


def _kind_of(one: AnyRound) -> str | None:
    return one._contents.label_kind if isinstance(one, Round) and one.holds_items else None


def _gold_seen(one: AnyRound) -> np.ndarray:
    held = cast(Round, one)
    return np.unique(held.gold[held.gold >= 0])


def _refuse_other_kind(one: AnyRound, rounds: Sequence[AnyRound]) -> None:
    """A round that cannot be read as scores, beside one that is."""
    if one.label_score is not None:
        return
    other = next((of.name for of in rounds if of.label_score is not None), "")
    if not one.holds_items:
        message = f"the labels of round {other!r} are scores, and round {one.name!r} is kept without its labels"
        raise wrong("E214", f"{message}. Read all rounds with engine='memory' (command: --engine memory)")
    words = [value for value, of in zip(one.values, as_numbers(one.values), strict=True) if np.isnan(of)]
    if words or _kind_of(one) == "answer":
        what = f"has the answers {name_some(words)}" if words else "was given label_kind='answer'"
        raise wrong(
            "E205",
            f"the labels of round {other!r} are scores, but round {one.name!r} {what}. Map the answers to numbers "
            "(map=; command: --map), or give all rounds the same label_kind.",
        )


def _as_scores(one: Round) -> Round:
    """The round with its labels as scores, and no classes but those of its gold."""
    if one.label_score is not None:
        return one
    seen = _gold_seen(one)
    rank = np.full(len(one.values) + 1, -1, np.int64)
    rank[seen] = np.arange(len(seen))
    kept = one.values if one.classes_given is not None else tuple(one.values[place] for place in seen)
    contents = dataclasses.replace(
        one._contents,
        values=kept,
        gold=one.gold if one.classes_given is not None else rank[one.gold],
        label_score=as_numbers(one.values)[one.label_answer],
    )
    return Round._of(contents)


def _scores_of(one: Round) -> np.ndarray:
    assert one.label_score is not None
    return one.label_score


def _cut_anew(one: Round, bins: Codes, n_bins: int, note: Finding | None) -> Round:
    """The round in these bins; of several rounds one says so for all."""
    notes = tuple(of for of in one.notes if of.code != "F118")
    notes = notes if note is None else (*notes, note)
    names = bin_names(n_bins)
    if one.answer_values == names and one.notes == notes and np.array_equal(one.label_answer, bins):
        return one
    return Round._of(dataclasses.replace(one._contents, label_answer=bins, answers=names, notes=notes))
