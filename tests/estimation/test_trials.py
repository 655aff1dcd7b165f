"""Past rounds tried in turn: no more of them than it takes to know which method answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples

from hero_eval.estimation.curves import standard_quantile
from hero_eval.estimation.replay import Play, Seen
from hero_eval.estimation.rivals import _may_be_clear, can_win, choose_by_plays, clear_winner, try_in_turn

RIVALS = ("gold_proportion", "hero1")
errors = st.lists(st.floats(0.001, 0.3), min_size=1, max_size=8)


def play(position: int, method: str, error: float) -> Play:
    """A round whose gold's mean is 0.5, by a method that is so far off, with an interval of twice that."""
    seen = Seen(0.5, 0.01, 100, 200)
    value = 0.5 + error
    return Play(f"r{position}", method, "rate", value, value - 2 * error, value + 2 * error, 0.95, (0.0, 1.0), seen)


def plays(method: str, found: Sequence[float]) -> tuple[Play, ...]:
    return tuple(play(position, method, error) for position, error in enumerate(found))


@examples(60)
@given(errors, errors, st.lists(st.floats(0.0005, 0.45), min_size=8, max_size=8))
def test_who_cannot_win_does_not(ours: list[float], theirs: list[float], later: list[float]) -> None:
    """A round would be left out that would have changed the choice."""
    theirs = theirs[: len(ours)]
    rival = plays("hero1", ours)
    if can_win((*rival, *plays("hero3", theirs)), "hero1"):
        return
    for stop in range(len(theirs), len(ours) + 1):
        whole = [*theirs, *later][:stop]
        assert clear_winner((*rival, *plays("hero3", whole)), ["hero1"]) is None


@pytest.mark.slow
@examples(60)
@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=4), st.integers(0, 4))
def test_the_bound_is_what_a_search_finds(known: list[float], more: int) -> None:
    """Rounds would be left out that matter: gains that are alike make t largest."""
    gains = np.round(np.array(known), 3)
    reached = False
    for extra in range(more + 1):
        n = len(gains) + extra
        if n < 3:
            continue
        for value in np.concatenate([[0.0], np.geomspace(1e-4, 1e5, 400)]) if extra else [0.0]:
            whole = np.append(gains, np.full(extra, value))
            error = whole.std(ddof=1) / np.sqrt(n)
            reached |= bool(whole.mean() > (1.0 + 1e-9) * standard_quantile(0.975, n - 1.0) * error)
    assert _may_be_clear(gains, more) or not reached


@pytest.mark.parametrize(
    ("gains", "left", "open_still"),
    [([-0.1], 3, False), ([-0.1], 7, True), ([0.1], 2, True), ([], 2, False), ([0.1, 0.1], 0, False)],
)
def test_few_rounds_settle_it_by_hand(gains: list[float], left: int, open_still: bool) -> None:
    """One loss among four leaves t = 3.00 at most, short of 3.18; among eight 7.00, beyond 2.36."""
    assert _may_be_clear(np.array(gains), left) is open_still


@pytest.mark.parametrize("n_rounds", [3, 4])
def test_one_round_in_which_the_default_is_better_settles_it(n_rounds: int) -> None:
    """With three or four rounds nobody clearly beats a method that was better in one: the others were played for
    nothing."""
    errors = {"gold_proportion": [0.05] * n_rounds, "hero1": [0.04, 0.06, 0.2, 0.05][:n_rounds]}
    errors["hero3"] = [0.03, 0.03, 0.04, 0.03][:n_rounds]
    asked: list[tuple[int, str]] = []

    def played(positions: Sequence[int], methods: Sequence[str]) -> tuple[Play, ...]:
        asked.extend((position, method) for position in positions for method in methods)
        return tuple(play(position, method, errors[method][position]) for position in positions for method in methods)

    tried = try_in_turn(range(n_rounds), RIVALS, played)
    assert [method for _, method in asked].count("hero3") == 1
    assert len(tried.left) == n_rounds - 1
    assert {one.round for one in tried.plays} == {f"r{position}" for position in range(n_rounds)} - {
        f"r{position}" for position in tried.left
    }
    assert choose_by_plays(tried.plays, [*RIVALS, "hero3"])[0] == "hero3"


def test_a_rival_that_may_win_is_played_to_the_end() -> None:
    """A better method would not be found."""
    errors = {"gold_proportion": [0.2] * 4, "hero1": [0.01, 0.012, 0.011, 0.01], "hero3": [0.1, 0.11, 0.1, 0.1]}

    def played(positions: Sequence[int], methods: Sequence[str]) -> tuple[Play, ...]:
        return tuple(play(position, method, errors[method][position]) for position in positions for method in methods)

    tried = try_in_turn(range(4), RIVALS, played)
    assert tried.left == ()
    assert choose_by_plays(tried.plays, [*RIVALS, "hero3"])[0] == "hero1"


def test_without_rivals_every_round_is_played() -> None:
    """Groups of labelers leave one method: what its plays came to would not be told."""
    tried = try_in_turn(
        [0, 2], (), lambda positions, methods: tuple(play(p, m, 0.1) for p in positions for m in methods)
    )
    assert [one.round for one in tried.plays] == ["r0", "r2"]
