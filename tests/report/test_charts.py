"""Charts: each a picture of its result and nothing else, whoever named the labelers and whatever is unknown."""

from __future__ import annotations

import csv
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from make_rounds import Pair, draw_pair, tables_of
from repository import RESULTS

import hero_eval as hero
from hero_eval import charts
from hero_eval.charts import theme as look
from hero_eval.charts.labeler_charts import reliability_columns
from hero_eval.estimation.width_parts import SOURCES, shortening, width_parts
from hero_eval.labelers.agreement import agreement
from hero_eval.labelers.over_time import reliability_over_time
from hero_eval.methods.registry import all_methods

HOSTILE = ['<script>alert("x")</script>', "../../etc/passwd", "'\"&amp;", "😀 naïve", "x" * 10_000]


def rows_of(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def compared(pair: Pair) -> hero.Comparison:
    return hero.compare_methods(pair.current, pair.history, covariates=["x"])


@pytest.fixture(scope="module")
def fitted(pair: Pair) -> hero.Reliability:
    return hero.fit_reliability(pair.history)


@pytest.fixture(scope="module")
def every(pair: Pair, compared: hero.Comparison, fitted: hero.Reliability) -> dict[str, charts.Chart]:
    """One chart of every kind, from real results."""
    rate = compared["hero1"]
    moved = hero.estimate_difference(pair.current, pair.history, pair.history, method="hero1")
    points = [
        charts.RoundValue(f"w{week}", "2026-01-01", model, 0.3 + 0.01 * week, 0.2, 0.4)
        for week in range(3)
        for model in ("a", "b")
    ]
    return {
        "methods": charts.methods(compared, truth=pair.truth, chosen="hero1"),
        "estimates": charts.estimates({"a": rate, "b": compared["hero2"]}),
        "difference": charts.difference(moved, "new", "old"),
        "labelers": charts.labelers(fitted),
        "pool_shift": charts.pool_shift([pair.history, pair.current]),
        "over_time": charts.over_time(reliability_over_time([pair.history])),
        "agreement": charts.agreement(agreement(fitted)),
        "over_rounds": charts.over_rounds(points),
        "width": charts.width(rate),
        "study": charts.study(rows_of("exp1-small")),
        "coverage": charts.coverage(rows_of("coverage")[:6]),
        "real": charts.real([row for row in rows_of("real_rounds") if row["rounds"] == "all"], "coverage"),
        "strengths": charts.strengths(board()),
        "ranks": charts.ranks(board()),
        "win_matrix": charts.win_matrix(board()),
    }


def board() -> hero.Leaderboard:
    """Three models by a few votes."""
    sides = {"model_a": ["x", "y", "z"] * 20, "model_b": ["y", "z", "x"] * 20}
    return hero.rank_votes(pa.table({**sides, "label": (["A"] * 5 + ["B", "tie", "A", "B", "B"]) * 6}))


KINDS = (
    "methods",
    "estimates",
    "difference",
    "labelers",
    "pool_shift",
    "over_time",
    "agreement",
    "over_rounds",
    "width",
    "study",
    "coverage",
    "real",
    "strengths",
    "ranks",
    "win_matrix",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_a_picture_and_a_frame(kind: str, every: dict[str, charts.Chart], tmp_path: Path) -> None:
    """A chart that draws in a notebook only, or whose numbers cannot be had, would not travel."""
    chart = every[kind]
    chart.drawn.to_dict(validate=True)
    drawn = ET.fromstring(chart.svg())
    assert drawn.tag.endswith("svg")
    said = " ".join("".join(one.itertext()) for one in drawn.iter() if one.tag.endswith("text"))
    assert " ".join(chart.title.split())[:20] in said, "the picture does not state its result"
    assert "http" not in chart.svg().replace("http://www.w3.org/", ""), "the picture asks another host for something"
    frame = chart.to_frame("pyarrow")
    assert frame.num_rows == len(next(iter(chart.columns.values())))
    assert chart.save(tmp_path / "data.csv").read_text().count("\n") == frame.num_rows + 1


TOLD_BY_SHAPE = {"over_time": "what", "over_rounds": "model", "study": "method", "coverage": "method"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOLD_BY_SHAPE)
def test_shapes_are_explained(kind: str, every: dict[str, charts.Chart]) -> None:
    """Without the legend nobody knows which shape is which."""
    drawn = ET.fromstring(every[kind].svg())
    said = {"".join(one.itertext()) for one in drawn.iter() if one.tag.endswith("text")}
    assert set(every[kind].columns[TOLD_BY_SHAPE[kind]]) <= said


@pytest.mark.slow
def test_png_needs_no_browser(every: dict[str, charts.Chart], tmp_path: Path) -> None:
    assert every["width"].save(tmp_path / "width.png").read_bytes().startswith(b"\x89PNG")
    assert "vega-lite" in every["width"].save(tmp_path / "width.json").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_colors_are_few_and_differ_in_lightness(kind: str, every: dict[str, charts.Chart]) -> None:
    """What only color tells is lost in print and on the color-blind."""
    import re

    used = {color.lower() for color in re.findall(r"#[0-9a-fA-F]{6}\b", every[kind].svg())}
    assert used <= {look.INK, look.QUIET, look.FAINT, look.ACCENT, look.GROUND}


def test_numbers_are_those_of_the_result(compared: hero.Comparison, every: dict[str, charts.Chart]) -> None:
    frame = every["methods"].to_frame("pyarrow").to_pydict()
    assert frame["method"] == list(compared)
    assert frame["value"] == [one.value for one in compared.values()]
    assert list(zip(frame["low"], frame["high"], strict=True)) == [one.interval() for one in compared.values()]
    assert set(frame["method"]) | set(compared.skipped) == set(all_methods())


def test_agreement_with_gold_is_counted(pair: Pair, fitted: hero.Reliability) -> None:
    """Against a plain loop over labels."""
    history = pair.history
    columns = reliability_columns(fitted)
    for name, what, value in zip(columns["labeler"], columns["what"], columns["value"], strict=True):
        if what != "agreement with gold":
            continue
        own = history.label_labeler == history.labelers.index(name)
        gold = history.gold[history.label_item[own]]
        right = (history.label_answer[own] == gold)[gold >= 0]
        assert value == pytest.approx(right.mean())


def test_labelers_on_a_bound_have_an_interval_too() -> None:
    """A labeler who was never seen to err would look as if that were certain."""
    fitted = hero.fit_reliability(hero.read_round(Path(hero.__file__).parent / "examples" / "defect" / "history"))
    on_bound = int((fitted.answers.max(axis=1) > 0.9985).sum())
    assert on_bound, "the example has such labelers"
    columns = reliability_columns(fitted)
    for value, low, high in zip(columns["value"], columns["low"], columns["high"], strict=True):
        assert low < value - 0.01 or high > value + 0.01
        assert low <= value <= high + 1e-12
    met = fitted.items_met()
    assert met.sum(axis=1) == pytest.approx(fitted.to_frame("pyarrow")["labels"].to_numpy())


def test_pairs_agree_as_counted(pair: Pair, fitted: hero.Reliability) -> None:
    history, found = pair.history, agreement(fitted).pairs[0]
    answers = {}
    for name in (found.first, found.second):
        own = history.label_labeler == history.labelers.index(name)
        answers[name] = dict(zip(history.label_item[own].tolist(), history.label_answer[own].tolist(), strict=True))
    both = set(answers[found.first]) & set(answers[found.second])
    equal = [answers[found.first][item] == answers[found.second][item] for item in both]
    assert (found.items, found.observed) == (len(both), pytest.approx(np.mean(equal)))
    assert 0.0 < found.predicted < 1.0


def test_labelers_who_err_together_stand_out() -> None:
    """The picture is there to show exactly this."""
    drawn = draw_pair(3)
    labels = drawn.drawn.history_labels.copy()
    labels[:, 1] = labels[:, 0]
    gold = np.where((labels >= 0).any(axis=1), drawn.drawn.history_gold, -1)
    tables = tables_of(labels, gold)
    pairs = {(one.first, one.second): one for one in agreement(hero.fit_reliability(hero.Round(**tables))).pairs}
    copied = pairs["j0", "j1"]
    assert copied.observed == 1.0
    assert copied.observed - copied.predicted > 3 * copied.error


def test_width_adds_up(compared: hero.Comparison) -> None:
    for one in compared.values():
        parts = width_parts(one)
        assert sum(part.share for part in parts) == pytest.approx(1.0)
        assert {part.source for part in parts} <= set(SOURCES)
        assert parts[0].meaning in shortening(parts)


def test_the_covariate_mean_has_its_part(pair: Pair, compared: hero.Comparison) -> None:
    """Who names covariates is told whether more past items, even without gold, would help."""
    parts = {part.source: part for part in width_parts(compared["hero2"])}
    assert set(parts) == {"history", "covariates", "current"}
    assert parts["covariates"].share > 0
    again = hero.estimate_rate(pair.current, pair.history, covariates=["x"], method="hero2")
    more = 2.0 * again.influence
    halves = more.variance_by_source()
    assert halves == pytest.approx({key: 4 * value for key, value in again.influence.variance_by_source().items()})
    both = (again.influence + again.influence).variance_by_source()
    assert both == pytest.approx(halves)


@pytest.mark.slow
def test_drift_that_nobody_measured_has_no_part(pair: Pair) -> None:
    """A bar of 0% would say that rounds do not drift, when one past round cannot tell."""
    one = hero.estimate_rate(pair.current, pair.history)
    assert "F310" in [finding.code for finding in one.findings]
    assert "rounds" not in {part.source for part in width_parts(one)}
    assert "drift between rounds is not known" in charts.width(one).svg().replace("\n", " ")


@pytest.mark.slow
def test_unknown_is_not_drawn_as_a_number(compared: hero.Comparison) -> None:
    from dataclasses import replace

    from hero_eval.estimation.curves import Flat

    blank = replace(compared["hero1"], value=math.nan, curve=Flat((0.0, 1.0)))
    chart = charts.methods({"hero1": blank})
    assert "nan" not in chart.svg().lower()
    assert width_parts(blank) == ()
    assert charts.width(blank).svg()


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE, ids=["script", "path", "quotes", "emoji", "long"])
def test_hostile_names_are_text(name: str, compared: hero.Comparison) -> None:
    """A labeler called <script> must not run in the page that shows it."""
    svg = charts.estimates({name: compared["hero1"], "b": compared["hero2"]}).svg()
    assert "<script" not in svg
    assert len(svg) < 60_000
    ET.fromstring(svg)


def test_formulas_in_csv_are_text() -> None:
    assert look.csv_text({"a": ["=1+1", "b"], "c": [math.nan, 1.0]}) == "a,c\n'=1+1,\nb,1.0\n"


@pytest.mark.parametrize(
    "call",
    [
        lambda chart, folder: chart.save(folder / "chart.gif"),
        lambda chart, folder: chart.save(folder / "absent" / "chart.svg"),
        lambda _chart, _folder: charts.study(rows_of("exp2"), "color"),
        lambda _chart, _folder: charts.study(rows_of("exp2"), "rmse", "taste"),
        lambda _chart, _folder: charts.real(rows_of("real_rounds"), "color"),
    ],
    ids=["ending", "folder", "number", "axis", "real"],
)
def test_what_cannot_be_drawn_is_said(
    call: Callable[[charts.Chart, Path], Any], every: dict[str, charts.Chart], tmp_path: Path
) -> None:
    with pytest.raises(hero.InputError, match=r"E201|E213"):
        call(every["width"], tmp_path)


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, compared: hero.Comparison) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(hero.InputError, match=r"E410 .*hero-eval\[report\]"):
        charts.methods(compared)


@pytest.fixture(scope="module")
def weeks() -> list[hero.Round]:
    """Three past rounds with gold."""
    rounds = [draw_pair(seed).history for seed in (1, 2, 3)]
    return [hero.Round(**_tables(one), name=f"w{place}") for place, one in enumerate(rounds)]


@pytest.mark.slow
def test_backtest_shows_every_play(weeks: list[hero.Round]) -> None:
    """Each method on each past round, as the backtest played them."""
    played = hero.backtest(weeks, methods=["majority_vote", "hero1"])
    chart = charts.backtest(played)
    assert chart.to_frame("pyarrow")["value"].to_pylist() == played.to_frame("pyarrow")["value"].to_pylist()
    assert "w0" in chart.svg()
    assert played.best in chart.title, "the title names another method than the backtest takes"


def test_a_model_is_held_against_its_own_past() -> None:
    """Two models in one picture must not be taken for two rounds of one."""

    def at(week: int, model: str, value: float) -> charts.RoundValue:
        return charts.RoundValue(f"w{week}", "2026-01-01", model, value, value - 0.01, value + 0.01)

    assert charts.over_rounds([at(1, "a", 0.3), at(2, "a", 0.5)]).title == "50.0% in w2, clearly up from 30.0% in w1"
    two = charts.over_rounds([at(1, "a", 0.3), at(1, "b", 0.5), at(2, "a", 0.31), at(2, "b", 0.51)])
    assert two.title == "Last seen: a 31.0% and b 51.0%"


@pytest.mark.slow
def test_drift_between_rounds_has_its_part_of_the_width(pair: Pair, weeks: list[hero.Round]) -> None:
    """Without it a reader would buy labels where gold in this round is what shortens the interval."""
    one = hero.estimate_rate(pair.current, weeks, method="hero3")
    parts = {part.source: part for part in width_parts(one)}
    assert set(parts) == {"history", "current", "rounds"}
    assert parts["rounds"].share > 0
    assert "drift between rounds" in charts.width(one).svg()


@pytest.mark.slow
def test_labelers_over_the_rounds_of_a_store(weeks: list[hero.Round], tmp_path: Path) -> None:
    """The picture must show each round of the store once, in its order."""
    store = hero.create_store(tmp_path / "store")
    for one in weeks:
        store.add(hero.Round(**_tables(one)), round=one.name, question="q")
    chart = charts.over_time(reliability_over_time([store.read(entry) for entry in store.rounds()]))
    frame = chart.to_frame("pyarrow")
    assert list(dict.fromkeys(frame["round"].to_pylist())) == ["w0", "w1", "w2"]
    assert "w2" in chart.svg()


def _tables(one: hero.Round) -> dict[str, Any]:
    from make_rounds import labels_of

    return tables_of(labels_of(one), np.asarray(one.gold))
