"""Results in a notebook: the reports' templates show them, and the example notebook shows what is kept in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_rounds import Pair, draw_pair, labels_of, tables_of
from page_text import PageText
from repository import EXAMPLES, TOOLS, load_script

import hero_eval as hero
from hero_eval.report import html as pages

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"

outputs = load_script(TOOLS, "outputs")


class Tags(PageText):
    """The tags of a page, all of which must be closed again, and its words."""

    def __init__(self, page: str) -> None:
        self.open: list[str] = []
        super().__init__(page)
        assert not self.open, f"left open: {self.open}"

    def see(self, tag: str, given: dict[str, str | None]) -> None:
        del given
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            super().handle_data(data)


@pytest.fixture(scope="module")
def results(pair: Pair) -> dict[str, Any]:
    """One of every kind that has a page."""
    weeks = [draw_pair(seed).history for seed in (1, 2)]
    named = [
        hero.Round(**tables_of(labels_of(one), np.asarray(one.gold)), name=f"w{place}")
        for place, one in enumerate(weeks)
    ]
    current, history = (hero.read_round(EXAMPLE / name) for name in ("current", "history"))
    known = current.select(np.array([value != "" for value in current.words("judge")]))
    return {
        "round": pair.history,
        "large round": hero.read_round(EXAMPLE / "history", engine="duckdb"),
        "reliability": hero.fit_reliability(pair.history),
        "rate": hero.estimate_rate(pair.current, pair.history),
        "difference": hero.estimate_difference(pair.current, pair.history, pair.history, method="hero1"),
        "comparison": hero.compare_methods(pair.current, pair.history),
        "family": hero.estimate_rate(current, history, by="judge", method="hero1"),
        "moderation": hero.estimate_moderation(known, history, flag="judge", method="hero1"),
        "backtest": hero.backtest(named, methods=["majority_vote", "hero1"]),
    }


KINDS = (
    "round",
    "large round",
    "reliability",
    "rate",
    "difference",
    "comparison",
    "family",
    "moderation",
    "backtest",
)


def shown_of(kind: str, result: Any) -> list[str]:
    """What a page of this kind must say: its names and its numbers, from the result itself."""

    def parts(estimates: dict[str, Any]) -> list[str]:
        return [
            text
            for name, one in estimates.items()
            for text in (name if kind == "comparison" else name.replace("_", " "), f"{100 * one.value:.1f}%")
        ]

    if "round" in kind:
        return [f"{count:,}" for count in (result.n_items, result.n_labels, result.n_gold)]
    if kind == "reliability":
        return list(result.labelers)
    if kind == "backtest":
        return [text for name, one in result.methods.items() for text in (name, f"{one.abs_error:.3f}")]
    if kind in ("rate", "difference"):
        return [result.method, f"{100 * result.value:.1f}"]
    return parts(dict(result.items()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_a_page(kind: str, results: dict[str, Any]) -> None:
    """A result at the end of a cell would be a line of text, without its numbers, and its findings would go unread."""
    result = results[kind]
    read = Tags(result._repr_html_())
    assert "script" not in read.tags
    assert {"table", "dl"} & set(read.tags)
    told = shown_of(kind, result)
    assert len(told) > 1
    assert [text for text in told if text not in read.text] == []
    for finding in getattr(result, "findings", None) or getattr(result, "notes", ()):
        assert finding.code in read.text
        assert finding.message[1:40] in read.text
        assert finding.action.split("`")[0].strip() in read.text


@pytest.mark.slow
def test_the_number_is_that_of_the_result(results: dict[str, Any]) -> None:
    """Rounding apart, a page must not show another number than the result holds."""
    one = results["rate"]
    low, high = one.interval()
    text = Tags(one._repr_html_()).text
    assert f"{100 * one.value:.1f}%" in text
    assert f"{100 * low:.1f}% to {100 * high:.1f}%" in text


def test_of_two_models_one_sees_which_is_higher(results: dict[str, Any]) -> None:
    """Whoever compares two models wants to know how sure it is that one of them is ahead."""
    moved = results["difference"]
    text = Tags(moved._repr_html_()).text
    assert "chance to be higher" in text
    for chance in (moved.probability_above(0.0), moved.probability_below(0.0)):
        assert f"{100 * chance:.1f}%" in text


def test_every_method_is_in_the_comparison(results: dict[str, Any]) -> None:
    """Methods that could not answer must say why, or they are taken for forgotten."""
    compared = results["comparison"]
    text = Tags(compared._repr_html_()).text
    assert all(name in text for name in {*compared, *compared.skipped})


@pytest.mark.parametrize("kind", KINDS)
def test_without_jinja_the_text_is_shown(kind: str, results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks of those who did not install the extra must still show something."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    pages.environment.cache_clear()
    try:
        read = Tags(results[kind]._repr_html_())
    finally:
        pages.environment.cache_clear()
    assert read.text == " ".join(repr(results[kind]).split())


@pytest.mark.slow
@pytest.mark.numbers
def test_the_example_notebook_shows_what_it_keeps(tmp_path: Path) -> None:
    """A reader of the notebook would see numbers that the code no longer gives, or a cell that fails."""
    done = subprocess.run(
        [sys.executable, str(TOOLS / "run_notebooks.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
    fresh = json.loads((tmp_path / "notebook.ipynb").read_text(encoding="utf-8"))
    assert [one["source"] for one in fresh["cells"]] == [one["source"] for one in kept["cells"]]
    shown = [outputs.shown_by(one) for one in fresh["cells"]]
    assert shown == [outputs.shown_by(one) for one in kept["cells"]], "run tools/run_notebooks.py"
    assert sum('<div class="hero-eval">' in one for one in shown) >= 7
