"""What a type checker says of calls: the right ones pass, slips in options are found before anything runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from mypy import api
from repository import SOURCE

import hero_eval as hero
from hero_eval.estimation.keywords import RateOptions
from hero_eval.store.estimates import StoredOptions

PROGRAM = """\
from typing import assert_type

import hero_eval as hero

r = hero.read_round("may")
assert_type(hero.estimate_rate(r, r, method="hero1", level=0.9, seed=None), hero.Estimate)
assert_type(hero.estimate_rate(r, [r], by="language", scores={"1": 1.0}), hero.GroupedEstimates)
assert_type(hero.fit_reliability(r, warm_start=None), hero.Reliability)
store = hero.open_store("evals")
store.estimate("may", covariates=["judge"], history=hero.History(models=("v6",)), by="language")
"""

# Strict as the package itself, whose own bodies are left to `make lint`.
CONFIGURATION = """\
[mypy]
strict = True
python_version = 3.11

[mypy-hero_eval.*]
ignore_errors = True
"""

# what mypy names; of overloads it names the function
SLIPS = {
    'hero.estimate_rate(r, r, methd="hero1")': "estimate_rate",
    'hero.estimate_rate(r, r, by="language", methd="hero1")': "estimate_rate",
    'hero.estimate_rate(r, r, level="high")': "estimate_rate",
    "hero.estimate_rate(r, r, by=3)": "estimate_rate",
    'hero.estimate_difference(r, r, r, methd="hero1")': "methd",
    'hero.compare_methods(r, r, method="hero1")': "method",
    "hero.fit_reliability(r, warm=None)": "warm",
    'store.estimate("may", methd="hero1")': "methd",
    'store.estimate("may", level="high")': "level",
}


@pytest.mark.slow
def test_right_calls_pass_and_slips_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelled or mistyped option would be found when the program runs, at night."""
    file = tmp_path / "calls.py"
    file.write_text(PROGRAM + "\n".join(SLIPS) + "\n", encoding="utf-8")
    file.with_suffix(".ini").write_text(CONFIGURATION, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(SOURCE.parent))
    options = ["--no-pretty", "--config-file", str(file.with_suffix(".ini")), "--cache-dir", str(tmp_path / "cache")]
    found, failed, _ = api.run([*options, str(file)])
    assert not failed
    told = {int(line): said for line, said in re.findall(r"calls\.py:(\d+): error: (.+)", found)}
    right = PROGRAM.count("\n")
    assert not [said for line, said in told.items() if line <= right]
    for line, (call, name) in enumerate(SLIPS.items(), start=right + 1):
        assert name in told.get(line, ""), f"mypy says of {call}: {told.get(line, 'nothing')}"


def test_the_overloads_have_the_options_of_the_function() -> None:
    """A new option would be refused by type checkers, or have another type for them."""
    taken = inspect.signature(hero.estimate_rate).parameters
    options = {name: one.annotation for name, one in taken.items() if one.kind is one.KEYWORD_ONLY and name != "by"}
    assert {name: of.__forward_arg__ for name, of in RateOptions.__annotations__.items()} == options


def test_a_store_takes_the_options_of_every_command() -> None:
    """A question that Python answers from files could not be asked of a store."""
    commands = (hero.estimate_rate, hero.estimate_win_rate, hero.estimate_moderation, hero.estimate_difference)
    wanted = {
        name
        for command in commands
        for name, one in inspect.signature(command).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }
    of_votes = {"reference", "correction", "where", "together"}  # columns and answers were read when votes were added
    assert set(StoredOptions.__annotations__) == wanted | {"history", "other", "classes", "shrinkage"} | of_votes
