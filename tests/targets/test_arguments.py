"""Slips in the arguments of a notebook's call: each is an error with a code and a way out, and none is a TypeError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hero_eval as hero


def one_round(seed: int, gold_share: float = 0.4) -> hero.Round:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 40)
    said = pd.DataFrame(
        [(f"i{i}", who, truth[i] if rng.random() < 0.8 else 1 - truth[i]) for i in range(40) for who in "ab"],
        columns=["item", "labeler", "label"],
    )
    known = rng.random(40) < gold_share
    gold = pd.DataFrame({"item": [f"i{i}" for i in np.flatnonzero(known)], "gold": truth[known]})
    return hero.Round(said, gold, name=f"r{seed}")


ROUNDS = [one_round(seed) for seed in (1, 2, 3)]
CURRENT, PAST = ROUNDS[0], ROUNDS[1:]
EM_OPTIONS = ("clip", "tolerance", "shrinkage", "max_steps")
CALLS: Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "estimate_rate": (hero.estimate_rate, (CURRENT, PAST)),
    "fit_reliability": (hero.fit_reliability, (PAST,)),
    "backtest": (hero.backtest, (ROUNDS,)),
    "labeler_worth": (hero.labeler_worth, (CURRENT, PAST)),
    "plan": (hero.plan, (CURRENT, PAST)),
    "item_calibration": (hero.item_calibration, (CURRENT, PAST)),
    "rank": (hero.rank, (ROUNDS,)),
}


@pytest.mark.parametrize(
    ("what", "said", "named"),
    [
        *((name, {"progress": True}, "progress is True") for name in CALLS),
        *(
            ("fit_reliability", {name: "x"}, f"{name} is 'x'")
            for name in ("clip", "tolerance", "shrinkage", "max_steps")
        ),
        ("fit_reliability", {"max_steps": 2.5}, "max_steps is 2.5"),
        ("backtest", {"methods": 3}, "methods is 3"),
        *((name, {"costs": 3}, "costs is 3") for name in ("labeler_worth", "plan")),
        *((name, {"costs": {"gold": "dear"}}, "the price of 'gold'") for name in ("labeler_worth", "plan")),
        *((name, {"judges": 3}, "judges is 3") for name in ("labeler_worth", "plan")),
        *((name, {"judges": "ann"}, r"\['ann'\]") for name in ("labeler_worth", "plan")),
        ("rank", {"where": 3}, "where is 3"),
    ],
)
def test_a_slip_is_an_error_with_a_code(what: str, said: dict[str, Any], named: str) -> None:
    """A TypeError from the middle of the package told nobody which argument was wrong."""
    call, given = CALLS[what]
    width = {"width": 0.1} if what == "plan" else {}
    with pytest.raises(hero.InputError, match=named) as caught:
        call(*given, **width, **said)
    assert caught.value.code == "E201"


@pytest.mark.parametrize("rounds", [None, 3, "rounds/may"])
def test_what_is_no_collection_of_rounds(rounds: Any) -> None:
    with pytest.raises(hero.InputError, match="Give a round for each model") as caught:
        hero.rank(rounds)
    assert caught.value.code == "E230"


@pytest.mark.parametrize("rankings", [[], 3, [None], {"may": 3}, None, {}])
def test_what_is_no_collection_of_rankings(rankings: Any) -> None:
    with pytest.raises(hero.InputError) as caught:
        hero.movement(rankings)
    assert caught.value.code == "E201"


def test_a_result_shows_itself_in_one_line() -> None:
    """A notebook's cell with what labelers are worth was filled with a thousand characters of fields."""
    assert repr(hero.labeler_worth(CURRENT, PAST)).startswith("Worths(2 labelers")
    assert "\n" not in repr(hero.labeler_worth(CURRENT, PAST))
