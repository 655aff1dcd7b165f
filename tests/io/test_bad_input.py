"""Every bad input is answered by its code, the place, the values and a remedy, all problems at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_inputs import BAD_INPUTS, BadInput, as_arguments, write_good

from hero_eval.errors import CATALOGUE, InputError
from hero_eval.read import read_round


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=str)
def test_bad_input_is_named(bad: BadInput, tmp_path: Path) -> None:
    """A user with this mistake would get a wrong number, or an error that does not say where to look."""
    path = bad.write(tmp_path)
    with pytest.raises(InputError) as caught:
        read_round(path, **as_arguments(bad.options))
    message = str(caught.value)
    assert caught.value.code == bad.code, message
    assert [part for part in bad.mentions if part not in message] == [], message


@pytest.mark.parametrize("bad", [bad for bad in BAD_INPUTS if bad.name != "several at once"], ids=str)
def test_one_mistake_is_reported_once(bad: BadInput, tmp_path: Path) -> None:
    """A user would look for a second mistake that does not exist."""
    with pytest.raises(InputError) as caught:
        read_round(bad.write(tmp_path), **as_arguments(bad.options))
    assert len(caught.value.problems) == 1, str(caught.value)


def test_several_mistakes_are_reported_together(tmp_path: Path) -> None:
    """A user would mend one mistake a run, and need as many runs as there are mistakes."""
    bad = next(bad for bad in BAD_INPUTS if bad.name == "several at once")
    with pytest.raises(InputError) as caught:
        read_round(bad.write(tmp_path), **as_arguments(bad.options))
    assert [problem.code for problem in caught.value.problems] == ["E103", "E104", "E112"]


def test_every_reading_code_is_met() -> None:
    """A code that nothing raises is documentation of something that does not exist."""
    met = {bad.code for bad in BAD_INPUTS}
    met |= {"E117", "E118"}  # not of files: see test_reading.py
    met |= {"E124"}  # asks for an option: see test_answers.py
    met |= {"E120", "E121", "E122"}  # of exports: see test_exports.py
    met |= {"E130", "E131", "E132", "E133"}  # of wide tables and criteria: see test_wide.py
    met |= {"E137"}  # of covariates: see tests/estimation/test_encoded.py
    met |= {"E134", "E135", "E136"}  # of other places and patterns: see test_places.py
    met |= {"E128", "E129"}  # of calls: see test_items.py and test_numeric_gold.py
    assert {code for code in CATALOGUE if code.startswith("E1")} <= met


def test_the_good_round_is_good(tmp_path: Path) -> None:
    """If the round that the bad ones are made from were bad itself, the tests above would prove nothing."""
    arguments = as_arguments(("--covariates", "x", "--classes", "0,1"))
    good = read_round(write_good(tmp_path / "good", seed=1), **arguments)
    assert repr(good) == "Round 'good': 60 items, 240 labels by 4 labelers, 30 gold"
    assert good.notes == ()
