"""Looking ahead: what each method would lack, and which would answer, without playing past rounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from make_rounds import binary_answers, labels_given, round_of, some_gold

import hero_eval as hero
from hero_eval.errors import HeroError
from hero_eval.estimation.outlook import look_ahead
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round


def made(number: int, gold: float, prefix: str = "") -> Round:
    """A round of 80 items by five labelers."""
    rng = np.random.default_rng([47, number])
    truth = (rng.random(80) < 0.4).astype(int)
    labels = labels_given(rng, truth, binary_answers([0.9, 0.8, 0.85, 0.75, 0.8], [0.85, 0.8, 0.9, 0.8, 0.75]), 0.8)
    labelers = [f"{prefix}{name}" for name in "abcde"]
    known = some_gold(rng, truth, gold) if gold else None
    return round_of(labels, known, prefix=f"r{number}-", labelers=labelers, options={"name": f"r{number}"})


PAST = [made(number, 0.4) for number in range(4)]
EXAMPLE = [hero.read_round(files("hero_eval") / "examples" / "defect" / name) for name in ("current", "history")]
CASES: dict[str, tuple[Round, Sequence[Round]]] = {
    "one past round": (made(9, 0.0), PAST[:1]),
    "its own gold too": (made(9, 0.3), PAST[:1]),
    "its own gold alone": (made(9, 0.3), ()),
    "no gold at all": (made(9, 0.0), [made(8, 0.0)]),
    "strangers": (made(9, 0.0, "new-"), PAST[:2]),
    "covariates": (EXAMPLE[0], EXAMPLE[1:]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_foresees_what_estimates_say(case: str) -> None:
    """A round would pass the look ahead and fail in the estimate, or the other way round."""
    current, past = CASES[case]
    ahead = look_ahead(current, past)
    compared = hero.compare_methods(current, past or None)
    assert ahead.lacks == {name: compared.skipped.get(name) for name in all_methods()}
    if ahead.error is not None:
        with pytest.raises(HeroError, match=re.escape(str(ahead.error))):
            hero.estimate_rate(current, past or None)
        return
    found = hero.estimate_rate(current, past or None)
    assert (ahead.method, ahead.why, ahead.error) == (found.method, found.why, None)
    assert [one.code for one in ahead.findings] == [one.code for one in found.findings]


def test_past_rounds_are_not_played(monkeypatch: Any) -> None:
    """Who looks ahead would wait for longer than for the estimate."""
    monkeypatch.setattr("hero_eval.estimation.select.replay", None)
    ahead = look_ahead(made(9, 0.0), PAST)
    assert ahead.error is None
    assert ahead.method == "hero3"
    assert "unless a backtest on 4 past rounds" in ahead.why


def test_what_is_wrong_with_the_call_is_told() -> None:
    """A class that does not exist would be found out about in the estimate only."""
    ahead = look_ahead(made(9, 0.0), PAST, positive="x")
    assert ahead.error is not None
    assert ahead.error.code == "E203"
    assert ahead.method is None
