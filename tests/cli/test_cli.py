"""The command gives the numbers of the Python functions, in 80 columns or as JSON, and ends as it should."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from asking import ask, refused, runner, start, strict
from make_rounds import Tables, binary_answers, labels_given, near_answers, some_gold, tables_of
from rich.cells import cell_len

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.cli import actions
from hero_eval.cli.bars import Axis, common_axis
from hero_eval.cli.main import app
from hero_eval.cli.option_groups import Estimating
from hero_eval.cli.problems import Problems
from hero_eval.errors import InputError, Problem, SupportError, unsupported, wrong
from hero_eval.estimation.options import Options
from hero_eval.name_lists import joined, mapping, names, split

LONG = [f"crowd/europe-west/vendor-{j}-with-a-long-name/日本語/prompt-v{j}.{j}" for j in range(5)]


@dataclass(frozen=True)
class World:
    """Rounds on disk: current and history of each kind, by name."""

    folder: Path

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)

    def round(self, name: str, **options: Any) -> hero.Round:
        return hero.read_round(self.folder / name, **options)


def save(folder: Path, tables: Tables) -> None:
    folder.mkdir(parents=True)
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("rounds")
    rng = np.random.default_rng(20)
    two = binary_answers([0.85, 0.8, 0.75, 0.7, 0.9], [0.9, 0.8, 0.85, 0.75, 0.7])
    three, five = (near_answers(5, k, 0.65, rng) for k in (3, 5))

    def make(name: str, answers: Any, n_items: int, gold: float, **spelling: Any) -> None:
        truth = rng.choice(answers.shape[2], n_items)
        flags = np.where(rng.random(n_items) < 0.8, truth > 0, truth == 0)
        words_of = np.where(truth == 0, "a plain cat", "a dragon of glass")
        columns = {
            "x": truth + rng.normal(size=n_items),
            "flagged": flags.astype(int),
            "prompt": [f"{text} {i % 7}" for i, text in enumerate(words_of)],
        }
        labels = labels_given(rng, truth, answers, 0.7)
        known = some_gold(rng, truth, gold) if gold else None
        save(folder / name, tables_of(labels, known, columns, prefix=spelling.pop("prefix", name), **spelling))

    make("history", two, 400, 0.3)
    make("current", two, 250, 0.0, prefix="p")
    make("other", two, 250, 0.0, prefix="p")
    make("long-history", two, 300, 0.3, labelers=LONG)
    make("long-current", two, 200, 0.0, labelers=LONG)
    make("long-other", two, 200, 0.0, labelers=LONG)
    make("strangers", two, 60, 0.0, labelers=[f"s{j}" for j in range(5)])
    make("no-gold", two, 80, 0.0)
    make("sides-history", three, 400, 0.4, classes=["A", "B", "tie"])
    make("sides-current", three, 250, 0.0, classes=["A", "B", "tie"])
    make("arena-history", three, 400, 0.4, classes=["new", "old", "same"])
    make("arena-current", three, 250, 0.0, classes=["new", "old", "same"])
    make("stars-history", five, 700, 0.4, labelers=LONG)
    make("stars-current", five, 250, 0.0, labelers=LONG)
    make("words-history", two, 300, 0.3, classes=["bad", "good"])
    make("words-current", two, 200, 0.0, classes=["bad", "good"])
    return World(folder)


def as_json(value: Any) -> Any:
    return strict(json.dumps(value, allow_nan=False))


# Numbers: those of the Python functions


@pytest.mark.slow
def test_estimate_is_estimate_rate(world: World) -> None:
    """A number in a script would differ from the same number in a notebook."""
    expected = hero.estimate_rate(world.round("current"), world.round("history"))
    told = ask("estimate", world["current"], "--history", world["history"])
    low, high = expected.interval()
    for number in (expected.value, low, high, expected.std_error):
        assert f"{number:.4f}" in told
    assert f"About {100 * expected.value:.0f} of 100 items are '1'" in told
    assert "hero3 (one past round has gold" in told
    assert expected.em is not None
    assert re.search(r"^EM +converged$", told, flags=re.MULTILINE)
    found = strict(ask("estimate", world["current"], "--history", world["history"], "--json"))
    assert found == as_json(expected.to_dict())


def test_several_histories_are_pooled(world: World) -> None:
    """A second --history that is read and dropped would waste a round of gold."""
    paths = ["--history", world["history"], "--history", world["no-gold"]]
    pooled = hero.estimate_rate(world.round("current"), [world.round("history"), world.round("no-gold")])
    assert strict(ask("estimate", world["current"], *paths, "--json")) == as_json(pooled.to_dict())


@pytest.mark.slow
def test_compare_one_round_is_compare_methods(world: World) -> None:
    """A method missing from the table would look as if it did not exist."""
    expected = hero.compare_methods(world.round("current"), world.round("history"), covariates=["x"])
    arguments = ["compare", world["current"], "--history", world["history"], "--covariates", "x"]
    assert strict(ask(*arguments, "--json")) == as_json(expected.to_dict())
    told = ask(*arguments)
    for name, one in expected.estimates.items():
        row = next(line for line in told.splitlines() if line.startswith(name))
        assert f"{one.value:.3f}" in row
        assert "●" in row


def test_compare_names_methods_that_cannot_run(world: World) -> None:
    """A user would wonder where HERO is, and why."""
    told = ask("compare", world["current"], "--history", world["no-gold"])
    rows = [line for line in told.splitlines() if line.startswith("hero1")]
    assert "not possible" in rows[0]
    assert "has no gold" in rows[1]


@pytest.mark.slow
def test_compare_two_rounds_is_estimate_difference(world: World) -> None:
    """Two models would be compared as if their items and history were not shared."""
    rounds = world.round("current"), world.round("other"), world.round("history")
    expected = hero.estimate_difference(*rounds)
    arguments = ["compare", world["current"], world["other"], "--history", world["history"]]
    assert strict(ask(*arguments, "--json")) == as_json(expected.to_dict())
    told = ask(*arguments)
    assert f"{expected.value:+.4f} (current minus other)" in told
    for side in "ab":
        assert f"{expected.distribution[side].value:.3f}" in told


@pytest.mark.slow
def test_compare_says_which_is_better_only_if_it_can(world: World) -> None:
    """A difference within the noise would be sold as progress."""
    arguments = ["compare", world["current"], world["other"], "--history", world["history"]]
    value = strict(ask(*arguments, "--json"))["value"]
    assert "cannot tell current from other" in ask(*arguments, "--level", "0.9999")
    more, less = ("current", "other") if value > 0 else ("other", "current")
    assert f"higher in {more} than in {less}" in " ".join(ask(*arguments, "--level", "0.001").split())


def test_compare_tells_rounds_of_one_name_apart(world: World, tmp_path: Path) -> None:
    """Two folders called `current` would be indistinguishable in the answer."""
    save(tmp_path / "history", tables_of(np.ones((9, 5), int), ids=[f"p{i}" for i in range(9)], classes=[0, 1]))
    told = ask("compare", str(tmp_path / "history"), world["history"], "--history", world["history"])
    assert f"({tmp_path / 'history'}minus" in "".join(told.split())


@pytest.mark.slow
def test_winrate_is_estimate_win_rate(world: World) -> None:
    """Ties counted in another way than said would shift the winner."""
    current, history = world.round("sides-current"), world.round("sides-history")
    arguments = ["winrate", world["sides-current"], "--history", world["sides-history"]]
    for ties in ("half", "own"):
        expected = hero.estimate_win_rate(current, history, ties=ties)
        assert strict(ask(*arguments, "--ties", ties, "--json")) == as_json(expected.to_dict())
        assert f"{expected.value:.4f}" in ask(*arguments, "--ties", ties)


@pytest.mark.slow
def test_winrate_takes_names_for_the_sides(world: World) -> None:
    """Classes called new and old would be counted the wrong way round, or not at all."""
    arguments = ["winrate", world["arena-current"], "--history", world["arena-history"]]
    assert refused(*arguments).startswith("E203")
    named = hero.estimate_win_rate(
        world.round("arena-current"), world.round("arena-history"), a="old", b="new", tie="same"
    )
    sides = ["--a", "old", "--b", "new", "--tie", "same"]
    assert strict(ask(*arguments, *sides, "--json")) == as_json(named.to_dict())


@pytest.mark.slow
def test_moderation_is_estimate_moderation(world: World) -> None:
    """Precision would be read where recall was meant."""
    expected = hero.estimate_moderation(world.round("current"), world.round("history"), flag="flagged")
    arguments = ["moderation", world["current"], "--history", world["history"], "--flag", "flagged"]
    assert strict(ask(*arguments, "--json")) == as_json(expected.to_dict())
    told = ask(*arguments)
    for one in expected.values():
        row = next(line for line in told.splitlines() if line.startswith(one.what))
        assert f"{one.value:.3f}" in row


def test_labelers_is_fit_reliability(world: World) -> None:
    """A labeler would be paid, or dropped, on a wrong number."""
    expected = hero.fit_reliability(world.round("history")).to_frame("pyarrow").to_pylist()
    found = strict(ask("labelers", world["history"], "--json"))
    assert found["schema_version"] == 1
    told = ask("labelers", world["history"]).splitlines()
    for row, shown in zip(expected, found["labelers"], strict=True):
        assert {key: shown[key] for key in row} == row
        line = next(line for line in told if line.startswith(row["labeler"]))
        assert f"{row['sensitivity']:.2f} ± {row['sensitivity_se']:.2f}" in line
        assert f"{row['discrimination']:.2f}  {shown['quality']}" in line


def test_labelers_of_many_classes(world: World) -> None:
    """Only two classes would be shown of five."""
    frame = hero.fit_reliability(world.round("stars-history")).to_frame("pyarrow").to_pylist()
    told = ask("labelers", world["stars-history"])
    for row in frame:
        for name in "01234":
            assert f"{row[f'right_{name}']:.2f} ± {row[f'right_{name}_se']:.2f}" in told


def test_labelers_with_another_positive_class(world: World) -> None:
    """Sensitivity and specificity would change places without a word."""
    one = strict(ask("labelers", world["words-history"], "--positive", "good", "--json"))["labelers"]
    other = strict(ask("labelers", world["words-history"], "--positive", "bad", "--json"))["labelers"]
    assert [row["sensitivity"] for row in one] == pytest.approx([row["specificity"] for row in other])


def test_methods_are_the_registry() -> None:
    """A new method would be missing from the list."""
    from hero_eval.methods.registry import all_methods

    found = strict(ask("methods", "--json"))["methods"]
    assert [row["name"] for row in found] == list(all_methods())
    told = ask("methods")
    assert all(name in told for name in all_methods())


@pytest.mark.slow
def test_check_tells_what_is_there(world: World) -> None:
    """A user would find out in the estimate what a glance at the data tells."""
    found = strict(ask("check", world["current"], "--history", world["history"], "--json"))
    current, history = world.round("current"), world.round("history")
    assert found["round"]["items"] == current.n_items
    assert found["round"]["labels"] == current.n_labels
    assert found["round"]["covariates"] == {"x": 0.0, "flagged": 0.0}
    assert found["history"][0]["gold"] == history.n_gold
    assert found["labelers"] == {"known": list(current.labelers), "unknown": []}
    assert [row["name"] for row in found["methods"] if not row["can_run"]] == ["ppi", "balanced"]  # no gold of its own
    assert found["best"]["method"] == "hero3"
    told = ask("check", world["current"], "--history", world["history"])
    assert f"{current.n_items} items, {current.n_labels:,} labels by 5 labelers, 0 gold" in told
    assert "x (0% missing)" in told


def test_study_runs(tmp_path: Path) -> None:
    """A study's table and file would not hold the same rows."""
    arguments = ["study", "exp1-small", "--replications", "2", "--gold-rate", "0.05", "--processes", "1"]
    found = strict(ask(*arguments, "--json", "--output", str(tmp_path / "rows.csv")))
    written = pyarrow.csv.read_csv(tmp_path / "rows.csv").to_pylist()
    assert [row["method"] for row in written] == [row["method"] for row in found["rows"]]
    told = ask(*arguments, "--output", str(tmp_path / "deep" / "rows.parquet"))
    assert pyarrow.parquet.read_table(tmp_path / "deep" / "rows.parquet").num_rows == len(written)
    for row in found["rows"]:
        line = next(line for line in told.splitlines() if row["method"] in line)
        assert f"{row['bias']:+.3f}" in line


def test_study_lists_and_refuses(tmp_path: Path) -> None:
    """An hour would be simulated and then thrown away for a wrong file name."""
    assert "exp1-small" in ask("study")
    assert "exp2" in strict(ask("study", "--json"))["studies"]
    assert "Known: exp1-small" in refused("study", "exp9")
    assert ".parquet" in refused("study", "exp2", "--output", str(tmp_path / "rows.txt"))
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused("study", "exp2", "--output", str(tmp_path / "file" / "rows.csv"))
    assert "E201" in refused("study", "exp2", "--gold-rate", "0.5")


@pytest.mark.slow
def test_demo_explains_the_example(tmp_path: Path) -> None:
    """The first thing that a visitor runs would say something else than the library."""
    place = Path(hero.__file__).parent / "examples" / "defect"
    rounds = [hero.read_round(place / name) for name in ("current", "history")]
    expected = hero.estimate_rate(*rounds)
    vote = hero.estimate_rate(*rounds, method="majority_vote")
    told = ask("demo", "--output", str(tmp_path / "demo"))
    flat = " ".join(told.split())
    low, high = (100 * end for end in expected.interval())
    assert f"About {100 * expected.value:.0f} of 100 assets" in flat
    assert (
        f"(95% sure: between {low:.0f} and {high:.0f}); majority vote would have said {100 * vote.value:.0f}." in flat
    )
    assert "synthetic" in flat
    assert told.splitlines()[-1] == f"Report: {tmp_path / 'demo' / 'report.html'}"
    assert strict((tmp_path / "demo" / "estimate.json").read_text()) == as_json(expected.to_dict())
    report = (tmp_path / "demo" / "report.md").read_text(encoding="utf-8")
    assert f"{expected.value:.4f}" in report
    assert f"| {expected.method} | {expected.value:.3f} |" in report
    assert json.loads((place / "about.json").read_text())["story"][:60] in report


@pytest.mark.slow
def test_demo_writes_only_where_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo that litters the folder that it is started in is not run twice."""
    monkeypatch.chdir(tmp_path)
    told = ask("demo")
    assert list(tmp_path.iterdir()) == []
    assert told.splitlines()[-1].startswith("Next: hero check")
    (tmp_path / "file").write_text("")
    assert "E201" in refused("demo", "--output", "file")


# Options: each changes the result, or is refused


def changes() -> list[tuple[list[str], dict[str, Any]]]:
    return [
        (["--level", "0.8"], {"level": 0.8}),
        (["--interval", "paper"], {"interval": "paper"}),
        (["--method", "gold_proportion"], {"method": "gold_proportion"}),
        (["--method", "majority_vote"], {"method": "majority_vote"}),
        (["--covariates", "x"], {"covariates": ["x"]}),
        (["--covariates", "x,flagged"], {"covariates": ["x", "flagged"]}),
        (["--covariates", "x", "--penalty", "5"], {"covariates": ["x"], "penalty": 5.0}),
        (["--text", "prompt"], {"text": "prompt"}),
        (["--covariates", "labeler:j0"], {"covariates": ["labeler:j0"]}),
        (["--interval", "profile"], {"interval": "profile"}),
        (["--interval", "bootstrap", "--replicates", "60"], {"interval": "bootstrap", "replicates": 60}),
        (["--cluster", "prompt"], {"cluster": "prompt"}),
        (["--by", "flagged"], {"by": "flagged"}),
    ]


@pytest.fixture(scope="module")
def plain(world: World) -> Any:
    """The rate that is estimated without any option."""
    return as_json(hero.estimate_rate(world.round("current"), world.round("history")).to_dict())


@pytest.mark.slow
@pytest.mark.parametrize("which", range(13))
def test_options_reach_the_library(world: World, which: int, plain: Any) -> None:
    """An option that changes nothing is a lie."""
    options, keywords = changes()[which]
    current, history = world.round("current"), world.round("history")
    expected = as_json(hero.estimate_rate(current, history, **keywords).to_dict())
    found = strict(ask("estimate", world["current"], "--history", world["history"], *options, "--json"))
    assert found == expected
    assert found != plain


@pytest.mark.slow
def test_positive_names_one_class_or_several(world: World) -> None:
    """The rate of the wrong stars would be reported."""
    arguments = ["estimate", world["stars-current"], "--history", world["stars-history"]]
    current, history = world.round("stars-current"), world.round("stars-history")
    both = hero.estimate_rate(current, history, positive=["3", "4"])
    assert strict(ask(*arguments, "--positive", "3, 4", "--json")) == as_json(both.to_dict())
    assert "items are '3' or '4'" in ask(*arguments, "--positive", "3,4")
    one = hero.estimate_rate(current, history, positive="4")
    assert strict(ask(*arguments, "--positive", "4", "--json"))["value"] == pytest.approx(one.value)
    assert "E118" in refused(*arguments, "--positive", "9")
    assert "E203" in refused(*arguments, "--positive", "0,1,2,3,4")


@pytest.mark.slow
def test_positive_of_two_words(world: World) -> None:
    """Of bad and good, the share of bad would be taken for that of good."""
    arguments = ["estimate", world["words-current"], "--history", world["words-history"]]
    assert "--positive good" in refused(*arguments)
    good = strict(ask(*arguments, "--positive", "good", "--json"))["value"]
    bad = strict(ask(*arguments, "--positive", "bad", "--json"))["value"]
    assert good + bad == pytest.approx(1.0)
    ordered = strict(ask(*arguments, "--classes", "good,bad", "--json"))["value"]
    assert ordered == pytest.approx(bad)


@pytest.mark.slow
def test_positive_of_a_moderation(world: World) -> None:
    """Precision would be that of the harmless items."""
    paths = [world["words-current"], "--history", world["words-history"], "--flag", "flagged"]
    expected = hero.estimate_moderation(
        world.round("words-current"), world.round("words-history"), flag="flagged", positive="bad"
    )
    found = strict(ask("moderation", *paths, "--positive", "bad", "--json"))
    assert found["precision"]["value"] == pytest.approx(expected.precision.value)
    assert "E203" in refused("moderation", *paths, "--positive", "bad,good")
    assert "E203" in refused("labelers", world["words-history"], "--positive", "bad,good")


@pytest.mark.slow
def test_yes_is_a_spelling_of_one(world: World) -> None:
    """--positive yes would be refused for answers that were written yes and no."""
    arguments = ["estimate", world["current"], "--history", world["history"], "--json"]
    assert strict(ask(*arguments, "--positive", "yes"))["value"] == strict(ask(*arguments))["value"]


@pytest.mark.slow
def test_columns_are_mapped(world: World, tmp_path: Path) -> None:
    """A table of another tool would have to be rewritten."""
    for name in ("current", "history"):
        folder = tmp_path / name
        folder.mkdir()
        for file in Path(world[name]).iterdir():
            text = file.read_text().replace('"labeler","label"', '"rater","answer"')
            (folder / file.name).write_text(text)
    paths = ["estimate", str(tmp_path / "current"), "--history", str(tmp_path / "history"), "--json"]
    mapped = ["--column", "labeler=rater", "--column", "label=answer"]
    plain = strict(ask("estimate", world["current"], "--history", world["history"], "--json"))
    assert strict(ask(*paths, *mapped))["value"] == plain["value"]
    assert "--column labeler=rater" in refused(*paths)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--penalty", "1"], "E204"),
        (["--method", "hero1", "--covariates", "x"], "E204"),
        (["--method", "hero9"], "E201"),
        (["--level", "95"], "E201"),
        (["--level", "nan"], "E201"),
        (["--interval", "wide"], "E201"),
        (["--replicates", "60"], "E204"),
        (["--seed", "1"], "E204"),
        (["--interval", "bootstrap", "--replicates", "3"], "E201"),
        (["--interval", "profile", "--cluster", "prompt"], "E204"),
        (["--cluster", "nowhere"], "E202"),
        (["--by", "nowhere"], "E202"),
        (["--covariates", "x", "--penalty", "-1"], "E201"),
        (["--covariates", ""], "E201"),
        (["--covariates", "x,,y"], "E201"),
        (["--covariates", "y"], "E202"),
        (["--text", "story"], "E202"),
        (["--column", "labeler"], "E201"),
        (["--column", "labeler=a", "--column", "labeler=b"], "E201"),
        (["--classes", "0,0"], "E118"),
        (["--positive", "2"], "E118"),
    ],
)
def test_what_makes_no_sense_is_refused(world: World, options: list[str], code: str) -> None:
    """A slip in an option would be ignored, and the result believed."""
    told = refused("estimate", world["current"], "--history", world["history"], *options)
    assert told.startswith(code), told


@pytest.mark.slow
def test_a_gate_closes_with_its_own_exit_code(world: World) -> None:
    """A pipeline would ship a model that is only probably good enough, or take a closed gate for a broken run."""
    paths = ["estimate", world["current"], "--history", world["history"]]
    doubted = runner.invoke(app, [*paths, "--fail-below", "0"])
    assert doubted.exit_code == 4
    assert "F108" in doubted.stderr  # the round has a prompt column that repeats: say what that means
    paths += ["--cluster", "item"]
    estimate = hero.estimate_rate(world.round("current"), world.round("history"), cluster="item")
    low, high = estimate.interval(side="lower")[0], estimate.interval(side="upper")[1]
    for option, passes, fails in (("--fail-below", low - 0.01, low + 0.01), ("--fail-above", high + 0.01, high - 0.01)):
        assert runner.invoke(app, [*paths, option, str(passes)]).exit_code == 0
        closed = runner.invoke(app, [*paths, option, str(fails)])
        assert closed.exit_code == 4
        assert closed.stderr.startswith("gate closed: rate of '1' may be as")
        assert "95% interval" in closed.stdout
    assert strict(runner.invoke(app, [*paths, "--fail-below", "0.99", "--json"]).stdout)["value"] == estimate.value
    assert "E204" in refused("compare", world["current"], "--history", world["history"], "--fail-below", "0.5")
    both = ["compare", world["current"], world["other"], "--history", world["history"], "--fail-below", "0.9"]
    assert runner.invoke(app, both).exit_code == 4


def test_a_method_for_one_round_is_refused(world: World) -> None:
    """--method would be read and every method shown all the same."""
    arguments = ["--history", world["history"], "--method", "hero1"]
    assert "E204" in refused("compare", world["current"], *arguments)
    assert "hero1" in ask("compare", world["current"], world["other"], *arguments)


def test_history_given_twice_is_refused(world: World) -> None:
    """The same gold counted twice would make intervals too short."""
    twice = ["--history", world["history"], "--history", world["history"]]
    assert "twice" in refused("estimate", world["current"], *twice)
    assert "twice" in refused("labelers", world["history"], world["history"])


def test_flag_is_checked(world: World) -> None:
    """A flag column of text would end in a traceback."""
    arguments = ["moderation", world["current"], "--history", world["history"], "--flag"]
    assert "E202" in refused(*arguments, "flaged")
    assert "E112" in refused(*arguments, "x")


# Endings


def test_data_that_cannot_answer_end_with_3(world: World) -> None:
    """A script could not tell a typing mistake from a round that needs gold."""
    assert "E301" in refused("estimate", world["strangers"], "--history", world["history"], code=3)
    assert "E302" in refused("labelers", world["no-gold"], code=3)
    gold = ["--history", world["no-gold"], "--method", "hero1"]
    assert "E302" in refused("estimate", world["current"], *gold, code=3)


@pytest.mark.slow
def test_check_ends_as_estimate_would(world: World) -> None:
    """A round would pass the check and fail in the estimate."""
    ask("check", world["current"])
    told = ask("check", world["strangers"], "--history", world["history"], code=3)
    assert "labelers known    none" in told
    found = strict(ask("check", world["strangers"], "--history", world["history"], "--json", code=3))
    assert [problem["code"] for problem in found["problems"]] == ["E301"]
    ask("check", world["words-current"], "--history", world["words-history"], code=2)
    assert "E101" in refused("check", world["nowhere"])
    assert "dawid_skene" in ask("check", world["current"], "--history", world["no-gold"])


def test_problems_of_all_paths_come_together(world: World, tmp_path: Path) -> None:
    """Three mistakes would take three runs to find."""
    (tmp_path / "empty").mkdir()
    told = refused(
        "estimate",
        world["nowhere"],
        *("--history", str(tmp_path / "empty"), "--history", world["history"]),
        *("--level", "2", "--method", "x", "--covariates", "z", "--column", "q"),
    )
    codes = [line.split()[0] for line in told.splitlines()]
    assert codes == ["E201", "E201", "E201", "E101", "E116", "E202"]


def test_wrong_input_wins_over_lacking_data() -> None:
    """A caller would collect more data where a typing mistake is to be mended."""
    problems = Problems()
    problems.attempt(lambda: _fail(unsupported("E302", "no gold")))
    with pytest.raises(SupportError):
        problems.raise_any()
    problems.attempt(lambda: _fail(wrong("E101", "not there")))
    problems.attempt(lambda: _fail(wrong("E101", "not there")))
    with pytest.raises(InputError) as caught:
        problems.raise_any()
    assert caught.value.problems == (Problem("E302", "no gold"), Problem("E101", "not there"))


def _fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["estimate"], "CURRENT"),
        (["estimate", "x", "--histories", "y"], "--histories"),
        (["labelers"], "HISTORY"),
        (["moderation", "x"], "--flag"),
        (["guess"], "guess"),
        (["estimate", "x", "--level", "high"], "--level"),
        (["study", "exp2", "--replications", "1"], "--replications"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], says: str) -> None:
    """A script would go on after a call that did nothing."""
    assert says in refused(*arguments)


def test_a_path_that_the_system_refuses() -> None:
    """A path too long for the file system would end in a traceback."""
    assert "E103" in refused("estimate", "x" * 5000)


def test_bugs_are_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug would pass for a mistake of the user."""
    monkeypatch.setattr(actions, "estimate", lambda *_, **__: 1 / 0)
    result = runner.invoke(app, ["estimate", world["current"]])
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_an_interrupt_is_one_line(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control-C would be answered by a page of traceback."""

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(actions, "estimate", interrupt)
    result = runner.invoke(app, ["estimate", world["current"]])
    assert result.exit_code == 130
    assert (result.stdout, result.stderr) == ("", "Interrupted.\n")


# Looks


def pages_of(world: World, folder: Path) -> dict[str, list[str]]:
    long = [world["long-current"], "--history", world["long-history"]]
    stars = [world["stars-current"], "--history", world["stars-history"]]
    sides = [world["sides-current"], "--history", world["sides-history"]]
    return {
        "demo": ["demo", "--output", str(folder)],
        "estimate": ["estimate", *long, "--covariates", "x"],
        "estimate stars": ["estimate", *stars],
        "estimate sides": ["estimate", *sides],
        "compare": ["compare", *long],
        "compare sides": ["compare", *sides],
        "compare without gold": ["compare", world["current"], "--history", world["no-gold"]],
        "compare two": ["compare", world["long-current"], world["long-other"], *long[1:]],
        "winrate": ["winrate", *sides],
        "moderation": ["moderation", *long, "--flag", "flagged"],
        "labelers": ["labelers", world["long-history"]],
        "labelers stars": ["labelers", world["stars-history"]],
        "check": ["check", *long],
        "methods": ["methods"],
        "studies": ["study"],
        "study": ["study", "exp2", "--replications", "2", "--gold-rate", "0.1", "--processes", "1"],
        "version": ["--version"],
    }


NAMES = tuple(pages_of(World(Path()), Path()))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_text_fits_80_columns(world: World, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lines would break in the middle of a table."""
    folder = tmp_path_factory.mktemp("d")
    told = ask(*pages_of(world, folder)[name])
    lines = told.splitlines()
    too_long = [line for line in lines if cell_len(line) > 80 and str(folder) not in line]
    assert too_long == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert all(character.isprintable() for line in lines for character in line)


def test_long_names_are_cut_and_numbers_are_not(world: World) -> None:
    """A column of numbers would lose its last digits to a long name."""
    rows = hero.fit_reliability(world.round("long-history")).to_frame("pyarrow").to_pylist()
    told = ask("labelers", world["long-history"])
    for row in rows:
        shown = f"{row['sensitivity']:.2f} ± {row['sensitivity_se']:.2f}  {row['specificity']:.2f} ± "
        line = next(line for line in told.splitlines() if shown in line)
        assert line.startswith("crowd/")
        assert "…" in line
        assert f"{row['labels']}" in line


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """A labeler's name would color the screen, or break a table's line."""
    names = ["[red]x[/red]", "a\x1b[31mb", "c\nd", "e|f", "日本"]
    labels = np.array([[1, 1, 0, 1, 1], [0, 0, 1, 0, 0], [1, 0, 1, 1, 1], [0, 1, 0, 0, 0]] * 9)
    gold = np.array([1, 0, 1, 0] * 9)
    save(tmp_path / "odd", tables_of(labels, gold, labelers=names))
    told = ask("labelers", str(tmp_path / "odd"))
    assert "[red]x[/red]" in told
    assert "\x1b" not in told
    assert sum(" ± " in line for line in told.splitlines()) >= len(names)
    rows = strict(ask("labelers", str(tmp_path / "odd"), "--json"))["labelers"]
    assert {row["labeler"] for row in rows} == set(names)


def test_unknown_is_never_a_number(world: World) -> None:
    """A rate of no class would be shown as 0, or as NaN in JSON."""
    arguments = ["estimate", world["sides-current"], "--history", world["sides-history"]]
    assert strict(ask(*arguments, "--json"))["value"] is None
    told = ask(*arguments)
    assert "nan" not in told
    assert "F502" in told


def test_findings_come_with_code_warnings_first(world: World) -> None:
    """A warning would be overlooked below a page of notes."""
    told = ask("estimate", world["current"], "--method", "dawid_skene", "--history", world["history"])
    assert "warning F308" in told
    both = ask("compare", world["current"], "--history", world["history"], "--verbose")
    kinds = [line.split()[0] for line in both.splitlines() if line.startswith(("warning", "note"))]
    assert kinds == sorted(kinds, key=lambda kind: kind != "warning")
    assert {"warning", "note"} == set(kinds)


@pytest.mark.slow
def test_ascii_where_nothing_else_can_be_written(world: World) -> None:
    """On a terminal of another encoding the command would fail, or print question marks."""
    result = start("compare", world["long-current"], "--history", world["long-history"], PYTHONIOENCODING="ascii")
    told = result.stdout.decode("ascii")
    assert result.returncode == 0
    assert "?" not in told
    assert "|--" in told
    assert max(map(len, told.splitlines())) <= 80
    labelers = start("labelers", world["long-history"], PYTHONIOENCODING="ascii").stdout.decode("ascii")
    assert " +- " in labelers
    assert "..." in labelers
    document = start("labelers", world["long-history"], "--json", PYTHONIOENCODING="ascii").stdout.decode("ascii")
    assert {row["labeler"] for row in strict(document)["labelers"]} == set(LONG)


@pytest.mark.slow
def test_progress_is_for_those_who_watch() -> None:
    """A log would be full of spinners; a terminal would stand still."""
    pty = pytest.importorskip("pty")
    reader, writer = pty.openpty()
    study = ["study", "exp1-small", "--replications", "2", "--gold-rate", "0.05", "--processes", "1"]
    command = [sys.executable, "-m", "hero_eval.cli.main", *study]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer, env=environment) as process:
        assert process.stdout is not None
        told = process.stdout.read().decode()
    os.close(writer)
    watched = os.read(reader, 1 << 16).decode(errors="replace")
    os.close(reader)
    assert process.returncode == 0
    assert "Study exp1-small" in watched
    assert "\x1b" not in told
    assert told.startswith("cell")


@pytest.mark.slow
def test_the_process_ends_as_it_should(world: World) -> None:
    """What holds in the test runner might not hold for the installed command."""
    good = start("estimate", world["current"], "--history", world["history"], "--json", FORCE_COLOR="1")
    assert (good.returncode, good.stderr) == (0, b"")
    strict(good.stdout.decode())
    bad = start("estimate", world["nowhere"], "--history", world["strangers"])
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert bad.stderr.startswith(b"E101")
    lacking = start("estimate", world["strangers"], "--history", world["history"])
    assert (lacking.returncode, lacking.stdout) == (3, b"")
    assert start("--version").stdout.decode().strip() == f"hero-eval {hero.__version__}"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes end differently there")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(world: World, options: list[str]) -> None:
    """`hero labelers … | head` would end in a traceback."""
    command = [sys.executable, "-m", "hero_eval.cli.main", "labelers", world["history"], *options]
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert result.stderr == b""
    assert result.returncode == 141


# Help


@pytest.mark.slow
def test_help_is_fast_and_loads_nothing_heavy() -> None:
    """Every look at the help would cost a second."""
    code = (
        "import sys; from hero_eval.cli.main import app\n"
        "for name in ('', 'estimate', 'study'):\n"
        "    try: app([name, '--help'] if name else ['--help'])\n"
        "    except SystemExit: pass\n"
        "print(*(set(sys.modules) & {'numpy', 'scipy', 'pyarrow', 'pandas', 'sklearn', 'duckdb'}), file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr.strip() == b""
    # against a command that does nothing, as seconds are those of a machine
    bare = "import typer\napp = typer.Typer()\napp.command()(lambda: None)\napp(['--help'])"
    ours = min(_seconds(lambda: start("--help")) for _ in range(4))
    least = min(_seconds(lambda: subprocess.run([sys.executable, "-c", bare], check=True)) for _ in range(4))
    assert ours < 2 * least


@pytest.mark.slow
def test_an_estimate_loads_no_charts_and_no_report() -> None:
    """Every estimate would wait for packages that only draw or only test hypotheses."""
    example = files("hero_eval") / "examples" / "defect"
    code = (
        "import sys; from hero_eval.cli.main import app\n"
        f"app(['estimate', {str(example / 'current')!r}, '--history', {str(example / 'history')!r}], "
        "standalone_mode=False)\n"
        "heavy = ('altair', 'jinja2', 'sklearn', 'numba', 'scipy.stats', 'hero_eval.charts', 'hero_eval.report')\n"
        "print(*(name for name in heavy if name in sys.modules), file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr.strip() == b""


def test_how_to_estimate_is_what_the_library_takes() -> None:
    """An option of the command would change nothing, or have another default than the library."""
    known = {field.name: field.default for field in fields(Options)}
    asked = {field.name: field.default for field in fields(Estimating) if field.name != "shrinkage"}
    assert asked.items() <= known.items()


def _seconds(action: Callable[[], Any]) -> float:
    """Processor time of the processes started: other tests that run beside do not count."""
    begun = os.times()
    action()
    ended = os.times()
    return ended.children_user + ended.children_system - begun.children_user - begun.children_system


COMMANDS = ("demo", "estimate", "compare", "winrate", "moderation", "labelers", "check", "backtest", "methods", "study")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_and_explains_every_option(command: str) -> None:
    """An option without a word of help is a riddle."""
    told = ask(*([command] if command else []), "--help")
    assert max(cell_len(line) for line in told.splitlines()) <= 80
    options = [line for line in told.splitlines() if line.startswith("│ --")]
    assert options
    assert all(len(line.strip("│ ").split("  ")) > 1 for line in options), options


def test_help_names_every_command_and_an_example() -> None:
    """A command that the help does not name is not found."""
    told = ask("--help")
    assert all(f"│ {name}" in told for name in COMMANDS)
    assert "hero estimate rounds/may --history rounds/april" in told
    assert "hero estimate rounds/may --history rounds/april" in ask("estimate", "--help")


# Small parts


def test_bars_share_their_axis() -> None:
    """Two intervals would look equal that are not."""
    axis = Axis(0.0, 1.0, 11)
    assert axis.draw(0.5, 0.2, 0.8) == "  ├──●──┤  "
    assert axis.draw(0.5, 0.5, 0.5) == "     ●     "
    assert axis.draw(0.5, 0.2, 0.8, mark=0.3) == "  ├┼─●──┤  "
    assert axis.draw(math.nan, 0.0, 1.0, mark=0.3) == "   ┊       "
    assert axis.title() == "0         1"


@pytest.mark.parametrize(
    "values", [[0.2, 0.4], [0.0, 1.0], [0.1234, 0.1235], [0.3], [0.0], [1.0, 1.0], [math.nan], [], [-0.3, 0.4]]
)
def test_axes_hold_all_values(values: list[float]) -> None:
    """An interval would be drawn at the edge of an axis that ends before it."""
    axis = common_axis(values, (-1.0, 1.0))
    assert axis.low < axis.high
    assert all(axis.low <= value <= axis.high for value in values if math.isfinite(value))
    assert len(axis.title()) == axis.width


@pytest.mark.parametrize(
    ("discrimination", "word"),
    [
        (0.9, "good"),
        (0.6, "good"),
        (0.4, "fair"),
        (0.15, "weak"),
        (0.05, "no information"),
        (-0.05, "no information"),
        (-0.4, "inverted"),
        (math.nan, "unknown"),
    ],
)
def test_words_for_labelers(discrimination: float, word: str) -> None:
    """An inverted labeler would pass for a weak one."""
    assert phrasing.quality(discrimination, 0.1) == word


def test_numbers_in_words() -> None:
    """A level of 99.9% would be shown as 100%, a standard error as 0."""
    assert phrasing.percent(0.95) == "95%"
    assert phrasing.percent(0.999) == "99.9%"
    assert phrasing.decimals([0.0004, 0.2]) == 5
    assert phrasing.decimals([0.0, math.nan]) == 3
    assert phrasing.number(math.nan) == "–"
    assert phrasing.join(["a", "b", "c"]) == "a, b and c"
    assert phrasing.join(["a"]) == "a"
    assert phrasing.join([]) == ""


def test_rare_classes_are_counted_finely(tmp_path: Path) -> None:
    """A rate of 3 in 1,000 would be told as 0 of 100."""
    labels = np.zeros((2000, 3), int)
    labels[:6] = 1
    save(tmp_path / "rare", tables_of(labels))
    told = ask("estimate", str(tmp_path / "rare"), "--method", "majority_vote")
    assert "About 3 of 1,000 items are '1'" in told


def test_lists_and_mappings_are_split() -> None:
    """A class with a comma in its name could not be named."""
    assert split("--classes", "a, b,c") == ["a", "b", "c"]
    assert split("--classes", '"no, never",yes') == ["no, never", "yes"]
    assert split("--classes", None) is None
    assert split("--classes", "a\nb") == ["a", "b"]
    assert mapping("--column is", ["labeler=rater", "x=a=b"]) == {"labeler": "rater", "x": "a=b"}


def test_what_is_joined_is_split_again() -> None:
    """A class with a comma in its name would become two when a form is shown a second time."""
    parts = ["no, never", 'a "b"', "yes"]
    assert names("classes", joined(parts, ", ")) == parts
