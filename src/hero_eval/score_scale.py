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
from hero_eval.io.score_bins import MOST_BINS, ScoreCuts, ScoreDistribution, distribution_of
from hero_eval.io.scores import are_scores, as_numbers
from hero_eval.round import Round
from hero_eval.round_scales import refuse_other_scales
from hero_eval.round_words import with_words_read

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
    that names other answers is refused (E205), and so is one that is kept as counts of answers (E214).
    """
    rounds = with_words_read(rounds)
    refuse_other_scales(rounds)
    numeric = has_numeric_gold(rounds)
    if not numeric and not _any_scores(rounds):
        return tuple(rounds)
    for one in rounds:
        _refuse_other_kind(one, rounds)
    _refuse_numeric_gold(rounds)
    scored = [_as_scores(one) for one in rounds]
    shape = _distribution(scored)
    cuts = shape.cut(MOST_BINS if fine else bins_for(sum(one.n_gold for one in scored)))
    note = shape.note(cuts.n_bins)
    found = [_cut_anew(one, cuts, note if one is scored[-1] else None) for one in scored]
    if numeric:
        found = list(cut_gold([cast(Round, one) for one in found], at_least))
    return tuple(cast(OneRound, one) for one in found)


def _distribution(rounds: Sequence[AnyRound]) -> ScoreDistribution:
    """How the scores of these rounds lie together, wherever they are."""
    held = [one for one in rounds if isinstance(one, Round) and one.holds_items]
    if len(held) == len(rounds):
        names = tuple(sorted({name for one in held for name in one.labelers}))
        place = {name: position for position, name in enumerate(names)}
        labeler = [np.array([place[name] for name in one.labelers], np.int64)[one.label_labeler] for one in held]
        return distribution_of(np.concatenate([_scores_of(one) for one in held]), np.concatenate(labeler), names)
    from hero_eval.counting.large_round import LargeRound
    from hero_eval.counting.score_pool import HeldScores, pooled

    return pooled(
        [
            one.score_part()
            if isinstance(one, LargeRound)
            else HeldScores(one.labelers, cast(Round, one).label_labeler, _scores_of(cast(Round, one)))
            for one in rounds
        ]
    )


def bins_for(n_gold: int) -> int:
    """How many bins so much gold can pay for."""
    return int(min(max(n_gold // GOLD_PER_BIN, LEAST_BINS), MOST_PAID_BINS))


def _any_scores(rounds: Sequence[AnyRound]) -> bool:
    """Whether one of the rounds has scores, or labels that other rounds' gold shows to be scores."""
    if any(one.has_scores for one in rounds):
        return True
    if not all(one.classes_given is None and _kind_of(one) is None for one in rounds):
        return False
    gold = {value for one in rounds for value in one.gold_values}
    if not gold <= {"0", "1"} or not gold:
        return False
    labels = dict.fromkeys(value for one in rounds for value in one.values)
    return are_scores(list(labels), list(gold))


def _kind_of(one: AnyRound) -> str | None:
    """What the caller said that labels are, or what they must be."""
    if not one.holds_items:
        from hero_eval.counting.large_round import LargeRound

        return cast(LargeRound, one).label_kind
    return one.kind_given


def _refuse_numeric_gold(rounds: Sequence[AnyRound]) -> None:
    """The mean of golds takes the items one by one of every round."""
    held = [one for one in rounds if one.holds_items]
    if held and len(held) < len(rounds) and has_numeric_gold(held):
        counted = next(one.name for one in rounds if not one.holds_items)
        message = f"gold of {held[0].name!r} is many numbers, whose mean asks for items one by one, and {counted!r} is"
        raise wrong("E214", f"{message} counted without holding them. Read it with engine='memory'")


def _refuse_other_kind(one: AnyRound, rounds: Sequence[AnyRound]) -> None:
    """A round that cannot be read as scores, beside one that is."""
    if one.has_scores:
        return
    other = next((of.name for of in rounds if of.has_scores), "")
    words = [value for value, of in zip(one.values, as_numbers(one.values), strict=True) if np.isnan(of)]
    if words or _kind_of(one) == "answer":
        what = f"has the answers {name_some(words)}" if words else "was given label_kind='answer'"
        raise wrong(
            "E205",
            f"the labels of round {other!r} are scores, but round {one.name!r} {what}. Map the answers to numbers "
            "(map=; command: --map), or give all rounds the same label_kind.",
        )


def _as_scores(one: AnyRound) -> AnyRound:
    """The round with its labels as scores, and no classes but those of its gold."""
    if one.has_scores:
        return one
    if not one.holds_items:
        from hero_eval.counting.large_round import LargeRound

        return cast(LargeRound, one).as_scores()
    held = cast(Round, one)
    seen = np.unique(held.gold[held.gold >= 0])
    rank = np.full(len(held.values) + 1, -1, np.int64)
    rank[seen] = np.arange(len(seen))
    given = held.classes_given is not None
    contents = dataclasses.replace(
        held._contents,
        values=held.values if given else held.gold_values,
        gold=held.gold if given else rank[held.gold],
        label_score=as_numbers(held.values)[held.label_answer],
    )
    return Round._of(contents)


def _scores_of(one: Round) -> np.ndarray:
    assert one.label_score is not None
    return one.label_score


def _cut_anew(one: AnyRound, cuts: ScoreCuts, note: Finding | None) -> AnyRound:
    """The round in these bins; of several rounds one says so for all."""
    if not one.holds_items:
        from hero_eval.counting.large_round import LargeRound

        return cast(LargeRound, one).in_bins(cuts, note)
    held = cast(Round, one)
    bins = cuts.bins(_scores_of(held), held.label_labeler, held.labelers)
    notes = tuple(of for of in held.notes if of.code != "F118")
    notes = notes if note is None else (*notes, note)
    if held.answer_values == cuts.names and held.notes == notes and np.array_equal(held.label_answer, bins):
        return held
    return Round._of(dataclasses.replace(held._contents, label_answer=bins, answers=cuts.names, notes=notes))
