"""Reports: one file that says everything and asks nobody for anything, whatever the data are called."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_rounds import Pair, binary_answers, draw_pair, labels_given, round_of, some_gold
from page_text import PageText
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.cli.main import app
from hero_eval.methods.registry import all_methods
from hero_eval.report.document import MOST_LABELERS
from hero_eval.report.html import html
from hero_eval.report.making import report_of
from hero_eval.report.text import markdown

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
HOSTILE = '<script>alert("x")</script>'


class Read(PageText):
    """The text of a page, its tags, and what it would load."""

    def __init__(self, page: str) -> None:
        self.loads: list[str] = []
        super().__init__(page)

    def see(self, tag: str, given: dict[str, str | None]) -> None:
        del tag
        self.loads += [value or "" for name, value in given.items() if name in ("src", "href", "xlink:href", "action")]
        assert not [name for name in given if name.startswith("on")], "the page runs something"


@pytest.fixture(scope="module")
def estimate(pair: Pair) -> hero.Estimate:
    return hero.estimate_rate(pair.current, pair.history, covariates=["x"])


@pytest.fixture(scope="module")
def page(estimate: hero.Estimate, tmp_path_factory: pytest.TempPathFactory) -> str:
    return estimate.report(tmp_path_factory.mktemp("report") / "rate.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_says_everything(page: str, estimate: hero.Estimate, pair: Pair) -> None:
    read = Read(page)
    low, high = (f"{100 * end:.1f}%" for end in estimate.interval())
    assert f"{100 * estimate.value:.1f}%" in read.text
    assert f"{low} to {high}" in read.text
    for name in all_methods():
        assert name in read.text
    for labeler in pair.history.labelers:
        assert labeler in read.text
    for finding in estimate.findings:
        assert finding.code in read.text
        assert finding.message[1:] in read.text
    assert "What to do:" in read.text or not estimate.findings
    assert hero.__version__ in read.text


@pytest.mark.slow
def test_the_page_needs_nobody(page: str) -> None:
    """A file that is opened from a mail must not phone home, and must open without a network."""
    read = Read(page)
    assert not {"script", "link", "iframe", "object", "embed", "form", "img"} & set(read.tags)
    assert not [place for place in read.loads if place and not place.startswith("#")]
    assert not re.search(r"url\((?!#)|@import", page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


@pytest.mark.slow
def test_same_estimate_same_bytes(page: str, estimate: hero.Estimate) -> None:
    assert html(report_of(estimate)) == page


@pytest.mark.slow
def test_hostile_names_are_text() -> None:
    names = [HOSTILE, "../../etc/passwd", "'\"&|`", "😀", "y" * 10_000]
    drawn = draw_pair(5, labelers=[*names, *(f"j{place}" for place in range(5, 10))])
    found = report_of(hero.estimate_rate(drawn.current, drawn.history), title=HOSTILE)
    read = Read(html(found))
    assert "script" not in read.tags
    assert HOSTILE in read.text
    assert "😀" in read.text
    told = markdown(found)
    assert "<script>" not in told.replace("\\<", "")
    assert json.loads(json.dumps(found.to_dict()))["title"] == HOSTILE


@pytest.mark.slow
def test_markdown_and_json_say_the_same(estimate: hero.Estimate, tmp_path: Path) -> None:
    told = estimate.report(tmp_path / "rate.md").read_text(encoding="utf-8")
    found = json.loads(estimate.report(str(tmp_path / "deep" / "rate.json")).read_text(encoding="utf-8"))
    assert f"**{estimate.value:.4f}**" in told
    assert found["estimate"] == json.loads(json.dumps(estimate.to_dict()))
    assert {row["name"] for row in found["methods"]} | set(found["skipped"]) == set(all_methods())
    assert found["answer"] in told.replace("\\", "")
    assert next(one for one in found["methods"] if one["chosen"])["value"] == estimate.value
    assert all(one["action"] for one in found["findings"])


@pytest.mark.slow
def test_a_difference_names_both_models(pair: Pair) -> None:
    result = hero.estimate_difference(pair.current, pair.history, pair.history, method="hero1")
    read = Read(html(report_of(result, names=("new", HOSTILE))))
    assert f"the data cannot tell new from {HOSTILE}: " in read.text
    assert "models side by side" in read.text
    assert "script" not in read.tags
    told = markdown(report_of(result, names=("new", "old")))
    for chance in (result.probability_above(0.0), result.probability_below(0.0)):
        assert f"{100 * chance:.1f}%" in read.text
        assert f"{100 * chance:.1f}%" in told


@pytest.mark.slow
def test_more_classes_and_no_named_one() -> None:
    """Without a positive class there is no headline, but the report still comes."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 300)
    answers = np.full((5, 3, 3), 0.1) + 0.7 * np.eye(3)
    labels = labels_given(rng, truth, answers)
    one = round_of(labels, some_gold(rng, truth, 0.5), classes=["bad", "fine", "good"])
    blank = hero.estimate_rate(one.without_gold(), one)
    assert np.isnan(blank.value)
    read = Read(html(report_of(blank)))
    assert "nan" not in read.text.lower().split()
    assert "No class is named positive: of 100 items about" in read.text
    assert "0.0% to 100.0%" not in read.text  # the interval of a rate that nobody asked for
    assert "rate of each class" in read.text
    assert "--positive" not in read.text.split("What you must know")[0]


def test_without_history_there_is_no_section_on_labelers(pair: Pair) -> None:
    read = Read(html(report_of(hero.estimate_rate(pair.current, method="majority_vote"))))
    assert "The labelers" not in read.text
    assert "could not answer" in read.text


@pytest.mark.slow
def test_a_large_report_stays_small() -> None:
    """The file must open at once and fit into a mail: 500 labelers are enough, and it does not grow with the items."""
    assert large_report(4_000, MOST_LABELERS + 20) < 400_000
    # from there on all pairs are shown; by a method that takes little time, since items are on no method's page
    few, many = (large_report(n_items, 40, method="hero1") for n_items in (10_000, 30_000))
    assert many < 1.1 * few


def large_report(n_items: int, n_labelers: int, method: str | None = None) -> int:
    """The bytes of a report on a round of half of these items, with the other half as its history."""
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, n_items)
    labels = np.full((n_items, n_labelers), -1)
    answers = binary_answers(rng.uniform(0.6, 0.95, n_labelers), rng.uniform(0.6, 0.95, n_labelers))
    for place in range(3):
        who = rng.integers(0, n_labelers, n_items)
        labels[np.arange(n_items), who] = (rng.random(n_items) < answers[who, 1, truth]).astype(int)
        del place
    half = n_items // 2
    history = round_of(labels[:half], some_gold(rng, truth[:half], 0.2))
    current = round_of(labels[half:], prefix="c")
    found = report_of(hero.estimate_rate(current, history, method=method))
    assert len(found.labelers) == min(n_labelers, MOST_LABELERS)
    return len(html(found).encode())


@pytest.mark.slow
def test_a_round_that_stays_in_its_files_has_a_report(tmp_path: Path) -> None:
    """Who has too many labels for the memory is who needs the report most."""
    current = hero.read_round(EXAMPLE / "current", engine="duckdb")
    history = hero.read_round(EXAMPLE / "history", engine="duckdb")
    estimate = hero.estimate_rate(current, history, covariates=["judge"])
    read = Read(estimate.report(tmp_path / "large.html").read_text(encoding="utf-8"))
    assert f"{100 * estimate.value:.1f}%" in read.text
    assert "changed hands" in read.text
    for labeler in history.labelers:
        assert labeler in read.text


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


@pytest.mark.slow
def test_the_command_writes_what_it_is_asked(tmp_path: Path) -> None:
    place = tmp_path / "may.html"
    done = run("report", str(EXAMPLE / "current"), "--history", str(EXAMPLE / "history"), "--output", str(place))
    assert done.exit_code == 0, done.output
    assert f"Report: {place}" in done.output
    assert str(EXAMPLE) not in place.read_text(encoding="utf-8"), "a folder of this machine is told to everybody"


@pytest.mark.slow
def test_the_command_compares_two(tmp_path: Path) -> None:
    place, current, past = tmp_path / "two.md", str(EXAMPLE / "current"), str(EXAMPLE / "history")
    done = run("report", current, past, "--history", past, "--output", str(place))
    assert done.exit_code == 0, done.output
    text = place.read_text(encoding="utf-8")
    assert "the data cannot tell current from history" in text
    assert re.search(r"## Models side by side\n\n.*\n.*\n\| current \| 0\.\d+ .*\n\| history \| 0\.\d+ ", text)


@pytest.mark.slow
def test_the_command_reports_on_a_stored_round(tmp_path: Path) -> None:
    store = hero.create_store(tmp_path / "store")
    store.add(EXAMPLE / "history", round="2026-w45", question="defect")
    store.add(EXAMPLE / "current", round="2026-w46", question="defect")
    place = tmp_path / "w46.html"
    done = run("report", "--round", "2026-w46", "--store", str(tmp_path / "store"), "--output", str(place))
    assert done.exit_code == 0, done.output
    (made,) = store.estimates()
    assert f"hero reproduce {made['estimate']}" in place.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--output", "report.pdf"], "E201"),
        (["--output", "file/report.html"], "E213"),
        (["--method", "magic", "--output", "report.html"], "E201"),
    ],
)
def test_what_cannot_be_written_is_said(
    words: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    done = run("report", str(EXAMPLE / "current"), "--history", str(EXAMPLE / "history"), *words)
    assert done.exit_code == 2
    assert code in done.output
    assert not list(tmp_path.glob("*.html"))


def test_a_sentence_that_starts_with_a_name_keeps_it() -> None:
    """Pages spoke of Labels.csv, Ppi and Hero_3, which are not there."""
    assert phrasing.begun("labelers err together") == "Labelers err together"
    for said in (
        "labels.csv has no column",
        "ppi alone says",
        "hero3 was chosen",
        "lang_de is constant",
        "'a' and 'b'",
    ):
        assert phrasing.begun(said, ["ppi"]) == said
