"""Findings as data: a fact and an action, each its own field, shown everywhere from these, and never cut or glued."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_rounds import binary_answers, codes, finding, labels_given, round_of

import hero_eval as hero
from hero_eval import remedies
from hero_eval.cli import markdown
from hero_eval.cli.blocks import remarks
from hero_eval.cli.render import show
from hero_eval.documents import json_text
from hero_eval.findings import CATALOGUE, DOUBTS_INTERVAL, Finding, settled, unique
from hero_eval.report.document import Told
from hero_eval.report.html import environment

SOURCE = Path(hero.__file__).parent


def test_a_finding_has_a_fact_and_an_action() -> None:
    """What to do would have to be cut out of what is so."""
    one = Finding("F206", "labelers err together", {"p_value": 0.01})
    assert (one.fact, one.message) == ("labelers err together",) * 2
    assert one.action == remedies.FINDINGS["F206"]
    assert Finding("F206", "so", action="Ask them.").action == "Ask them."
    assert str(one) == "F206 labelers err together"
    assert one.to_dict() == {
        "code": "F206",
        "severity": "warning",
        "message": "labelers err together",
        "action": remedies.FINDINGS["F206"],
        "doubts_interval": True,
        "data": {"p_value": 0.01},
    }
    with pytest.raises(KeyError):
        Finding("F999", "no such code")


def test_a_finding_of_a_round_keeps_the_rest() -> None:
    """The round's name would cost the finding its action, or its doubt."""
    one = Finding("F101", "two rows", {"count": 2}, "Look.", doubts=True)
    there = one.at("history 'may'")
    assert there.fact == "history 'may': two rows"
    assert (there.data, there.action, there.doubts_interval) == (one.data, "Look.", True)


def test_what_the_interval_allows_for_is_settled() -> None:
    """A doubt that was met would go on shutting gates, or one that was not would vanish among equals."""
    doubting, quiet = Finding("F304", "little gold"), Finding("F304", "little gold", doubts=False)
    assert not settled([doubting], ["F304"])[0].doubts_interval
    assert settled([doubting], ["F307"])[0].doubts_interval
    assert [one.doubts_interval for one in unique([quiet, doubting])] == [True]
    assert [one.doubts_interval for one in unique([doubting, quiet])] == [True]


def test_every_action_is_a_sentence_and_every_doubt_a_code() -> None:
    """A reader would be told half of what to do; a code that is misspelled would doubt nothing."""
    assert [code for code, action in remedies.FINDINGS.items() if not action.endswith(".")] == []
    assert set(CATALOGUE) >= DOUBTS_INTERVAL
    assert "covariates" not in remedies.FINDINGS["F306"]


def test_nobody_edits_the_texts() -> None:
    """A word changed in one file would break a sentence in another."""
    edits = re.compile(r"\.(message|fact|action)\)?\.(split|removesuffix|removeprefix|rstrip|partition)\(")
    glued = re.compile(r"\b\w+\.(message|fact) \+ |replace\(\w+, (message|fact)=\w+\.(message|fact) ")
    guilty = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if edits.search(line) or glued.search(line)
    ]
    assert guilty == []


# ------------------------------------------------------------------------------------------ every surface

SHOWN = Finding("F309", "gold is scarce, and " + "very " * 20 + "much so", action="Add `gold` of class '1'.")


def test_the_terminal_shows_both_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """What to do would stand on a page that nobody opens."""
    show(remarks([SHOWN]))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("warning F309  gold is scarce, and very")
    assert "What to do: Add `gold` of class '1'." in lines[-1]


def test_markdown_and_html_show_both() -> None:
    """A report would warn and not help."""
    assert "Add `gold` of class" in markdown.write("Title", remarks([SHOWN]))
    html = environment().from_string('{% import "parts.html" as parts with context %}{{ parts.findings(told) }}')
    shown = html.render(told=[Told(SHOWN)])
    assert "Gold is scarce" in shown
    assert "Add <code>gold</code> of class" in shown


# ------------------------------------------------------------------------------------------ situations


def test_why_a_method_and_which_covariates_are_two_findings() -> None:
    """Why hero1 was chosen would be followed by advice on covariates."""
    rng = np.random.default_rng(5)
    answers = binary_answers([0.85] * 4, [0.85] * 4)
    past, now = rng.integers(0, 2, 300), rng.integers(0, 2, 200)
    history = round_of(
        labels_given(rng, past, answers),
        np.where(np.arange(300) < 90, past, -1),
        {"x": rng.normal(size=300)},
        prefix="h",
    )
    current = round_of(labels_given(rng, now, answers), columns={"x": rng.normal(size=200)}, prefix="c")
    told = finding(hero.estimate_rate(current, history, method="hero2"), "F406")
    assert told.data == {"covariates": ["x"]}
    assert "covariates" in told.action
    assert "F306" not in codes(hero.estimate_rate(current, history, method="hero2"))


def drifted_moderation() -> tuple[hero.Round, hero.Round]:
    """Rare violations, flagged well; some labelers became far stricter since history."""
    rng = np.random.default_rng(4)
    before, after = binary_answers([0.9] * 5, [0.9] * 5), binary_answers([0.9] * 5, [0.9] * 5)
    after[:2] = binary_answers([0.98] * 2, [0.6] * 2)
    past, now = (rng.random(900) < 0.3).astype(int), (rng.random(900) < 0.2).astype(int)
    history = round_of(labels_given(rng, past, before), np.where(rng.random(900) < 0.3, past, -1), prefix="h")
    flag = np.where(rng.random(900) < 0.9, now, 1 - now)
    return round_of(labels_given(rng, now, after), columns={"flag": flag}, prefix="c"), history


def test_moderation_shows_no_rate_on_another_scale() -> None:
    """ "0.77 to 0.86" of the flagged items would stand beside a prevalence of 0.07."""
    current, history = drifted_moderation()
    whole = finding(hero.estimate_rate(current, history, method="hero1"), "F205")
    assert re.search(r"\(0\.\d\d to 0\.\d\d of '1'\)", whole.fact), whole.fact
    assert set(whole.data["implied"]) == {"class", "low", "high"}
    found = hero.estimate_moderation(current, history, flag="flag", method="hero1")
    told = [one for one in found.findings if one.code == "F205"]
    assert told
    for one in told:
        assert one.fact.startswith(("flagged items: ", "unflagged items: "))
        assert not re.search(r"\d to \d", one.fact), one.fact
    assert json_text(found.to_dict())


def test_facts_and_actions_of_the_guards_are_apart() -> None:
    """What to do would be told twice, or in the middle of what is so."""
    current, history = drifted_moderation()
    advice = re.compile(r"\b(use|have|say|trust|label|name) (hero|an expert|cluster|some items|\d+ more)")
    estimates: list[Any] = [hero.estimate_rate(current, history, method=name) for name in ("hero1", "hero3")]
    for one in (told for estimate in estimates for told in estimate.findings):
        assert not one.fact.endswith("."), one
        assert one.action.endswith("."), one
        assert not advice.search(one.fact), one
    assert finding(estimates[0], "F205").doubts_interval
