"""Gates fail closed: no number opens one whose interval is in doubt, and none states a chance without the doubt."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from make_rounds import binary_answers, codes, labels_given, round_of, some_gold, tables_of
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.cli.main import app
from hero_eval.estimate import Estimate
from hero_eval.estimation.curves import Flat, Normal
from hero_eval.findings import CATALOGUE, DOUBTS_INTERVAL, Finding
from hero_eval.gates import Gate, chance_above
from hero_eval.influence import Influence
from hero_eval.report.document import gather
from hero_eval.report.text import markdown
from hero_eval.web.verdict import verdict

runner = CliRunner()
DOUBT = Finding("F309", "gold is scarce: the interval may be too short", action="Add gold.")


def number_of(value: float = 0.1, error: float = 0.02, *findings: Finding, target: str = "rate") -> Estimate:
    """An estimate of known error, with these findings."""
    bounds = (0.0, 1.0) if target == "rate" else (-1.0, 1.0)
    known = math.isfinite(value)
    return Estimate(
        target=target,
        what="rate of '1'" if target == "rate" else "difference in rate of '1'",
        value=value,
        method="hero3",
        n_items=100,
        n_gold=30,
        level=0.95,
        interval_kind="influence",
        bounds=bounds,
        center=value,
        influence=Influence(()),
        curve=Normal(value, error, bounds, logit=False) if known else Flat(bounds),
        findings=findings,
        least_error=error,
    )


class TestVerdict:
    def test_a_sure_number_opens(self) -> None:
        """A gate that nothing opens is no gate."""
        said = Gate(fail_above=0.2).verdict(number_of())
        assert said.state == "open"
        assert said.is_open
        assert Gate(fail_below=0.05, fail_above=0.2).verdict(number_of()).is_open

    @pytest.mark.parametrize(
        ("gate", "bound"),
        [(Gate(fail_above=0.11), 0.1329), (Gate(fail_below=0.09), 0.0671), (Gate(0.05, 0.11), 0.1329)],
    )
    def test_an_unsure_number_closes(self, gate: Gate, bound: float) -> None:
        """A model that is only probably good enough would be shipped."""
        said = gate.verdict(number_of())
        assert said.state == "closed"
        assert said.bound == pytest.approx(bound, abs=1e-4)
        assert said.words.startswith("gate closed: rate of '1' may be as")
        assert "sure that it is" in said.words

    def test_a_gate_at_nought_is_asked(self) -> None:
        """A bound of 0 would be taken for none."""
        assert Gate(fail_below=0.0).verdict(number_of(0.0, 0.02, target="difference")).state == "closed"
        assert Gate(fail_above=0.0).is_asked
        assert not Gate().is_asked
        assert Gate().verdict(number_of(0.1, 0.02, DOUBT)).is_open

    def test_a_doubt_leaves_it_undecided(self) -> None:
        """A gate would open on an interval that its own findings call too short."""
        said = Gate(fail_above=0.2).verdict(number_of(0.1, 0.02, DOUBT))
        assert said.state == "undecided"
        assert not said.is_open
        assert said.words.startswith("gate undecided: rate of '1' may be as high as 0.1329")
        assert "F309 gold is scarce" in said.words
        assert said.words.endswith("What to do: Add gold.")
        assert "sure that" not in said.words
        assert said.to_dict()["findings"] == ["F309"]

    def test_a_finding_may_settle_its_own_doubt(self) -> None:
        """A warning that the interval already allows for would shut every gate."""
        assert Gate(fail_above=0.2).verdict(number_of(0.1, 0.02, replace(DOUBT, doubts=False))).is_open
        assert not Gate(fail_above=0.2).verdict(number_of(0.1, 0.02, Finding("F302", "edge", doubts=True))).is_open

    def test_an_unknown_number_is_undecided(self) -> None:
        """Nothing known would be taken for nothing wrong."""
        for gate in (Gate(fail_above=1.0), Gate(fail_below=0.0)):
            assert gate.verdict(number_of(math.nan)).state == "undecided"

    def test_of_several_the_worst_counts(self) -> None:
        """One group of many would open the gate for all."""
        gate = Gate(fail_above=0.2)
        groups = [number_of(), number_of(0.1, 0.02, DOUBT), number_of(0.3)]
        document = gate.to_dict(gate.verdicts(groups))
        assert document["state"] == "undecided"
        assert [one["state"] for one in document["verdicts"]] == ["open", "undecided", "closed"]
        assert gate.to_dict([])["state"] == "undecided"

    def test_no_number_is_a_bound(self) -> None:
        """nan is above and below nothing, so every gate would open; a text ended in a TypeError of Python's."""
        for bound in (math.nan, "0.8", True, [0.8]):
            with pytest.raises(hero.InputError, match="E201"):
                Gate(fail_above=bound)  # type: ignore[arg-type]
        assert Gate(fail_above=float(np.float32(0.5))).is_asked
        assert Gate(fail_above=np.float32(0.5)).is_asked  # type: ignore[arg-type]

    def test_bounds_that_no_value_meets_are_refused(self) -> None:
        """A release would wait for a gate that can never open."""
        with pytest.raises(hero.InputError, match="never open"):
            Gate(fail_below=0.4, fail_above=0.3)
        assert Gate(fail_below=0.3, fail_above=0.3).is_asked


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_doubting_code_shuts(code: str) -> None:
    """A new code would be forgotten where gates are judged."""
    said = Gate(fail_above=0.2).verdict(number_of(0.1, 0.02, Finding(code, "so it is")))
    assert said.is_open == (code not in DOUBTS_INTERVAL)


def write(folder: Path, tables: dict[str, Any]) -> str:
    folder.mkdir(parents=True)
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return str(folder)


@pytest.fixture(scope="module")
def no_positive(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A past round whose 60 random golds happen to show no positive item, of which there are some."""
    rng = np.random.default_rng(11)
    place, answers = tmp_path_factory.mktemp("none"), binary_answers([0.8] * 5, [0.9] * 5)
    past, now = (np.arange(300) < 27).astype(int), (np.arange(300) < 30).astype(int)
    gold = np.where((past == 0) & (np.cumsum(past == 0) <= 60), 0, -1)
    return [
        write(place / "current", tables_of(labels_given(rng, now, answers), prefix="c")),
        "--history",
        write(place / "history", tables_of(labels_given(rng, past, answers), gold, prefix="h", classes=[0, 1])),
    ]


def test_a_class_that_gold_never_shows_opens_no_gate(no_positive: list[str]) -> None:
    """Sixty golds without a defect opened a gate at 5% for a model with twice as many."""
    for method in ("hero3", "hero1"):
        asked = ["estimate", *no_positive, "--method", method, "--fail-above", "0.05"]
        done = runner.invoke(app, asked)
        assert done.exit_code == 4, done.stdout
    shut = runner.invoke(app, ["estimate", *no_positive, "--method", "dawid_skene", "--fail-above", "0.9"])
    assert shut.exit_code == 4
    assert shut.stderr.startswith("gate undecided: ")
    assert "F308" in shut.stderr
    assert "What to do:" in shut.stderr


def test_the_document_has_the_verdict(no_positive: list[str]) -> None:
    """A pipeline that reads the JSON would have to judge by itself."""
    asked = ["estimate", *no_positive, "--method", "dawid_skene", "--json"]
    done = runner.invoke(app, [*asked, "--fail-above", "0.9"])
    gate = json.loads(done.stdout)["gate"]
    assert gate["state"] == "undecided"
    assert gate["fail_above"] == 0.9
    assert gate["fail_below"] is None
    assert "F308" in gate["verdicts"][0]["findings"]
    assert "gate" not in json.loads(runner.invoke(app, asked).stdout)


def past_rounds(seed: int, n_rounds: int = 4, rate: float = 0.3) -> tuple[hero.Round, list[hero.Round]]:
    """A well-behaved team: good labelers who err independently, several past rounds with enough gold."""
    rng = np.random.default_rng(seed)
    answers = binary_answers([0.85] * 5, [0.9] * 5)
    truths = [(rng.random(300) < rate).astype(int) for _ in range(n_rounds + 1)]
    rounds = [
        round_of(labels_given(rng, truth, answers), some_gold(rng, truth, 0.3), prefix=f"r{place}-")
        for place, truth in enumerate(truths)
    ]
    bare = labels_given(rng, truths[-1], answers)
    return round_of(bare, prefix="now"), rounds[:-1]


def test_a_well_behaved_team_opens_its_gate() -> None:
    """Nobody would use a gate that never opens."""
    current, past = past_rounds(3)
    estimate = hero.estimate_rate(current, past, method="hero3")
    assert estimate.doubts == (), [str(one) for one in estimate.findings]
    assert Gate(fail_above=0.45, fail_below=0.15).verdict(estimate).is_open
    assert Gate(fail_above=0.30).verdict(estimate).state == "closed"


def test_the_profile_interval_is_not_in_doubt() -> None:
    """Where a safer interval was taken, scarce gold would still shut the gate."""
    rng = np.random.default_rng(3)
    answers = binary_answers([0.85] * 5, [0.9] * 5)
    past, now = rng.integers(0, 2, 400), rng.integers(0, 2, 300)
    gold = np.where(np.arange(400) < 14, past, -1)
    history = round_of(labels_given(rng, past, answers), gold, prefix="h")
    current = round_of(labels_given(rng, now, answers), prefix="c")
    safe = hero.estimate_rate(current, history, method="hero1")
    assert safe.interval_kind == "profile"
    assert {"F304", "F309"} <= set(codes(safe))
    assert safe.doubts == ()
    assert Gate(fail_above=0.9).verdict(safe).is_open
    asked = hero.estimate_rate(current, history, method="hero1", interval="influence")
    assert {"F304", "F309"} <= {one.code for one in asked.doubts}
    assert not Gate(fail_above=0.9).verdict(asked).is_open
    paper = hero.estimate_rate(current, history, method="hero1", interval="paper")
    assert "F311" in {one.code for one in paper.doubts}


class TestWords:
    def test_the_headline_says_so(self) -> None:
        """ "95% sure" would stand above a warning that it is not."""
        assert phrasing.headline(number_of()) == "About 10 of 100 items are '1' (95% sure: between 6 and 14)."
        said = phrasing.headline(number_of(0.1, 0.02, DOUBT))
        assert said == "About 10 of 100 items are '1' (95% interval 6 to 14, in doubt: F309)."

    def test_a_difference_in_doubt_names_no_winner(self) -> None:
        """The verdict would say who is better, and a finding below that nobody knows."""
        clear = number_of(0.1, 0.02, target="difference")
        assert phrasing.difference(clear, "new", "old").startswith("The rate of '1' is higher in new")
        said = phrasing.difference(replace(clear, findings=(DOUBT,)), "new", "old")
        assert said.startswith("Whether new and old differ is undecided")
        assert "sure" not in said

    def test_an_unknown_difference_blames_no_class(self) -> None:
        """Who had named the positive class was told to name one."""
        unknown = replace(number_of(0.1, 0.02, target="difference"), value=math.nan)
        assert phrasing.difference(unknown, "new", "old") == (
            "The data do not tell whether the rate of '1' differs between new and old."
        )
        unnamed = replace(unknown, findings=(Finding("F502", "no class was named positive"),))
        assert phrasing.difference(unnamed, "new", "old").startswith("No class is named positive")
        assert "--positive" in unnamed.findings[0].action

    def test_flags_in_doubt_say_so(self) -> None:
        """Precision and recall would stand in the headline as if nothing below spoke against their intervals."""
        clear, doubted = number_of(), number_of(0.1, 0.02, DOUBT)
        said = phrasing.moderation(clear, clear, clear)
        assert said.endswith("10 of 100 flags are right (precision).")
        assert phrasing.moderation(doubted, doubted, doubted) == f"{said} Their intervals are in doubt: F309."

    @pytest.mark.slow
    def test_no_chance_without_the_doubt(self) -> None:
        """A table would show 100.0% beside a difference that is undecided."""
        clear = number_of(0.1, 0.02, target="difference")
        doubted = replace(clear, findings=(DOUBT,), distribution={"a": number_of(0.3), "b": number_of(0.2)})
        assert chance_above(clear, 0.0) == pytest.approx(1.0, abs=1e-5)
        assert chance_above(doubted, 0.0) is None
        assert doubted.probability_above(0.0) == clear.probability_above(0.0)  # the curve stays what it is
        told = gather(doubted, names=("new", "old"))
        assert [row.chance for row in told.rows] == [None, None]
        text = markdown(told)
        assert "undecided (F309)" in text
        assert "100.0%" not in text

    def test_the_page_says_undecided(self) -> None:
        """ "That is 97% sure" would stand on the page of two models that nobody can tell apart."""
        doubts = [{"code": "F206", "message": "labelers err together", "action": "Use `hero3`."}]
        leader = {"first": "new", "second": "old", "chance": None, "is_clear": False, "undecided": doubts}
        found = {"leaders": {"high": leader, "low": None}, "models": [{"value": 0.3}, {"value": 0.2}]}
        said = verdict(found, "high")
        assert said == (
            "Undecided whether new is better than old: labelers err together (F206). What to do: Use hero3."
        )


@pytest.mark.slow
def test_a_report_has_the_verdict(no_positive: list[str], tmp_path: Path) -> None:
    """What is sent to those who decide would say less than what stopped the pipeline."""
    asked = ["report", no_positive[0], "--method", "majority_vote", "--fail-above", "0.9", "--output"]
    for name in ("out.html", "out.md", "out.json"):
        done = runner.invoke(app, [*asked, str(tmp_path / name)])
        assert done.exit_code == 4, done.output
        assert done.stderr.startswith("gate undecided: ")
        assert "ate undecided: rate of" in (tmp_path / name).read_text(encoding="utf-8").replace("&#39;", "'")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["gate"]["state"] == "undecided"
    assert "This interval is in doubt (F308" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_nested_values_are_json() -> None:
    """A backtest that could not play a method left nan in the document."""
    told = Finding("F306", "so", {"methods": {"hero1": {"score": math.nan}}, "rounds": ("a", "b")})
    assert json.loads(json.dumps(told.to_dict(), allow_nan=False))["data"] == {
        "methods": {"hero1": {"score": None}},
        "rounds": ["a", "b"],
    }
