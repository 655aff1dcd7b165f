"""What a new user's first files must not do: lose their gold, open a gate by a slip, end in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.main import app

JUDGES = ("gpt", "claude", "human")


def write_wide(path: Path, seed: int, n_items: int = 240, gold: float = 0.3, drift: float = 0.0) -> Path:
    """Three judges, a column each, and an expert for a share of the rows; an empty column if the share is 0."""
    rng = np.random.default_rng(seed)
    good = rng.random(n_items) < 0.4
    shift = drift * rng.normal()
    lines = ["item," + ",".join(JUDGES) + ",expert"]
    said = {}
    for right, name in zip((0.9, 0.8, 0.7), JUDGES, strict=True):
        chance = 1 / (1 + np.exp(-(np.where(good, 1, -1) * np.log(right / (1 - right)) + shift)))
        said[name] = rng.random(n_items) < chance
    for row in range(n_items):
        known = rng.random() < gold
        answers = ",".join(str(int(said[name][row])) for name in JUDGES)
        lines.append(f"{path.stem}-{row},{answers},{int(good[row]) if known else ''}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    return result.exit_code, result.output


def test_an_empty_expert_column_in_a_past_round_costs_no_gold(tmp_path: Path) -> None:
    """The current round's own gold would be set aside as a column about the items, and the answer rest on none."""
    current = write_wide(tmp_path / "may.csv", 1)
    empty = write_wide(tmp_path / "april.csv", 2, gold=0.0)
    code, told = run("estimate", current, "--history", empty, "--json")
    assert code == 0, told
    assert json.loads(told)["n_gold_current"] == hero.read_round(current).n_gold > 0


def test_a_bound_that_no_rate_can_reach_opens_nothing(tmp_path: Path) -> None:
    """Who types 30 for 30% would let every model through."""
    current = write_wide(tmp_path / "may.csv", 1, n_items=60)
    code, told = run("estimate", current, "--fail-above", "30", "--method", "majority_vote")
    assert code == 2
    assert "Did you mean 0.3?" in told.replace("\n     ", " ")
    rate = hero.estimate_rate(hero.read_round(current), method="majority_vote")
    with pytest.raises(hero.InputError, match=r"E201 fail_below is -2, but .* lies between 0 and 1"):
        hero.Gate(fail_below=-2).verdict(rate)


def test_a_misspelled_gold_column_is_no_other_column(tmp_path: Path) -> None:
    """Another column that looks like gold would be taken for it without a word."""
    current = write_wide(tmp_path / "may.csv", 1, n_items=60)
    code, told = run("estimate", current, "--column", "gold=exprt")
    assert code == 2
    assert "E104" in told
    assert "Did you mean 'expert'?" in told.replace("\n     ", " ")
    with pytest.raises(hero.InputError, match="E104"):
        hero.read_round(current, columns={"gold": "elsewhere"})


def test_what_would_shorten_the_interval_is_gold_where_gold_decides(tmp_path: Path) -> None:
    """A team would buy labels where its own plan says that only gold helps."""
    current = hero.read_round(write_wide(tmp_path / "may.csv", 1))
    assert "More gold" in hero.estimate_rate(current).summary().replace("\n", " ")
    blind = hero.read_round(write_wide(tmp_path / "june.csv", 3, gold=0.0))
    assert "Gold, in this round or in past ones," in hero.estimate_rate(blind).summary().replace("\n", " ")


@pytest.mark.slow
def test_a_plan_where_judges_err_together(tmp_path: Path) -> None:
    """`hero plan` ended in a Python error where the fit has levels and no gold is left."""
    past = [write_wide(tmp_path / f"past{i}.csv", 10 + i, gold=0.12, drift=0.6) for i in range(4)]
    current = write_wide(tmp_path / "now.csv", 20, gold=0.0, drift=0.6)
    for asked in (["--width", "0.07"], ["--budget", "80", "--cost", "gold=3,label=.05"]):
        code, told = run("plan", current, "--history", *past, *asked)
        assert code == 0, told
