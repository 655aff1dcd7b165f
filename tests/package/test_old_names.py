"""Old public names still work and say what they are called now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from make_rounds import Pair, draw_pair, round_of

import hero_eval as hero
from hero_eval.charts import methods
from hero_eval.labelers.agreement import agreement
from hero_eval.labelers.over_time import reliability_over_time


def grouped(pair: Pair) -> Any:
    """A rate by the halves of a round."""
    halves = {"half": np.arange(len(pair.drawn.current_labels)) % 2}
    current = round_of(pair.drawn.current_labels, columns=halves, prefix="c")
    return hero.estimate_rate(current, pair.history, by="half", method="hero1")


FRAMED: dict[str, Callable[[Pair], Any]] = {
    "GroupedEstimates": grouped,
    "Comparison": lambda pair: hero.compare_methods(pair.current, pair.history),
    "Backtest": lambda pair: hero.backtest([pair.history, draw_pair(2).history], methods=["hero1"]),
    "Agreement": lambda pair: agreement(hero.fit_reliability(pair.history)),
    "OverTime": lambda pair: reliability_over_time([pair.history]),
    "Chart": lambda pair: methods(hero.compare_methods(pair.current, pair.history)),
}


@pytest.mark.parametrize("kind", FRAMED)
def test_frame_is_to_frame(pair: Pair, kind: str) -> None:
    """A script written for the last version would stop, or go on without a word until the next one stops it."""
    result = FRAMED[kind](pair)
    with pytest.warns(DeprecationWarning, match=rf"{kind}\.frame\(\) is now called to_frame\(\)") as warned:
        old = result.frame("pyarrow")
    assert old.equals(result.to_frame("pyarrow"))
    assert warned[0].filename == __file__


def test_the_frame_of_a_reliability_stays(pair: Pair) -> None:
    """The one name that scripts rely on by contract would warn."""
    fitted = hero.fit_reliability(pair.history)
    for independent in (False, True):
        new = fitted.to_frame("pyarrow", independent=independent)
        assert fitted.frame("pyarrow", independent=independent).equals(new)


def test_family_is_grouped_estimates() -> None:
    """A script that asks for the class by its old name would stop."""
    with pytest.warns(DeprecationWarning, match="GroupedEstimates") as warned:
        old = hero.Family
    assert old is hero.GroupedEstimates
    assert warned[0].filename == __file__
    assert "Family" not in dir(hero)


def test_warm_is_warm_start(pair: Pair) -> None:
    """A nightly fit that starts from the last one would stop, or start anew."""
    last = hero.fit_reliability(pair.history)
    with pytest.warns(DeprecationWarning, match="warm_start=") as warned:
        old = hero.fit_reliability(pair.history, warm=last)  # type: ignore[call-arg]
    assert old.report == hero.fit_reliability(pair.history, warm_start=last).report
    assert warned[0].filename == __file__
    with pytest.raises(TypeError, match="old name"):
        hero.fit_reliability(pair.history, warm=last, warm_start=last)  # type: ignore[call-arg]
