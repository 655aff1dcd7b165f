"""Counting rounds wherever they are: those in memory with their items, others without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from hero_eval.any_round import GOLD_PROBABILITY, AnyRound
from hero_eval.counting.memory import Counted, count_in_memory
from hero_eval.errors import wrong
from hero_eval.round import Round

if TYPE_CHECKING:
    from hero_eval.counting.engine import Names
    from hero_eval.counting.large_round import LargeRound
    from hero_eval.counting.tally import Tally


def is_large(rounds: Sequence[AnyRound]) -> bool:
    """Whether the items of one of these rounds are not at hand."""
    return not all(one.holds_items for one in rounds)


def stays(rounds: Sequence[AnyRound]) -> bool:
    """Whether the labels of one of these rounds are too many even for counts."""
    return any(one.stays_in_engine for one in rounds)


def count(rounds: Sequence[Round], labelers: Sequence[str], classes: Sequence[str], *, routed: bool = False) -> Counted:
    """Count these rounds as one; labels by other labelers are left out, and items that then have none.

    `routed`: known probabilities of having gold weigh the items, which must be at hand then.
    """
    if not is_large(rounds):
        return count_in_memory(rounds, labelers, classes, routed=routed)
    from hero_eval.counting.tally import add, align  # rounds in memory, of which most are, are counted without

    if routed:
        refuse_routing(rounds)
    aligned = align(add([tally_of(one) for one in rounds]), labelers, classes)
    return Counted(aligned.patterns, None, aligned.labels_set_aside, aligned.items_set_aside)


def refuse_routing(rounds: Sequence[AnyRound]) -> None:
    """Counts cannot hold how probable gold was for each item; to leave that out unsaid would bias the answer."""
    for one in rounds:
        if one.has_column(GOLD_PROBABILITY) and one.n_gold:
            message = (
                f"round {one.name!r} says how probable gold was for each item ({GOLD_PROBABILITY}), which weighs items "
                "one by one, but this history is counted without holding its items. If it fits into memory, read it "
                "with engine='memory' (command: --engine memory); drop the column if gold went to items at random"
            )
            raise wrong("E211", message)


def refuse_routing_by_items(rounds: Sequence[AnyRound]) -> None:
    """Items can be drawn only where they are at hand."""
    for one in rounds:
        if not one.holds_items:
            message = (
                f"round {one.name!r} is counted without holding its items, of which some are to be drawn. Read it with "
                "engine='memory' (command: --engine memory)"
            )
            raise wrong("E211", message)


def tally_of(one: AnyRound, covariates: Names | None = None) -> Tally:
    """A round's tally. Sums of covariates that nobody asked for may come with it, if they were there already."""
    if not one.holds_items:
        return cast("LargeRound", one).tally(covariates)
    from hero_eval.counting.item_arrays import MemorySource  # see `count`

    return MemorySource(cast(Round, one)).tally(covariates or ())
