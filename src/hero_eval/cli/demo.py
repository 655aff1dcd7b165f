"""The built-in example, from labelers to the answer, on the terminal and as a report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.cli import markdown, views
from hero_eval.cli.actions import labeler_rows
from hero_eval.cli.blocks import Facts, Heading, Line, Page, remarks
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show
from hero_eval.documents import plain
from hero_eval.errors import wrong

if TYPE_CHECKING:
    from hero_eval.estimate import Estimate
    from hero_eval.labelers.reliability import Reliability
    from hero_eval.round import Round
    from hero_eval.targets.comparison import Comparison

NEXT = "Next: hero check FOLDER, then hero estimate CURRENT --history PAST"


@dataclass(frozen=True)
class Example:
    """The example's rounds and all that is said about them."""

    about: dict[str, Any]
    current: Round
    history: Round
    reliability: Reliability
    methods: Comparison
    answer: Estimate


def demo(output: Path | None) -> None:
    if output is not None:
        _make_folder(output)
    with activity() as doing:
        doing.say("Estimating the example")
        example = _run()
    page = _page(example)
    show([*page, Line(NEXT)])
    if output is not None:
        report = output / "report.md"
        told = [Line(example.about["story"]), *page[1:]]
        report.write_text(markdown.write("How many assets are defective?", told), encoding="utf-8")
        text = json.dumps(plain(example.answer.to_dict()), indent=2, allow_nan=False)
        (output / "estimate.json").write_text(text + "\n", encoding="utf-8")
        show([Line(f"Report: {_page_to_send(example, output) or report}", whole=True)])


def _page_to_send(example: Example, output: Path) -> Path | None:
    """report.html; None where the packages that draw are not installed."""
    try:
        return example.answer.report(output / "report.html", title="How many assets are defective?")
    except hero.InputError as error:
        if error.code != "E410":
            raise
        return None


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise wrong("E201", f"--output is {str(output)!r}, which cannot be a folder: {error.strerror}") from error


def _run() -> Example:
    place = Path(str(files("hero_eval").joinpath("examples", "defect")))
    about = json.loads((place / "about.json").read_text(encoding="utf-8"))
    current = hero.read_round(place / "current")
    history = hero.read_round(place / "history")
    return Example(
        about=about,
        current=current,
        history=history,
        reliability=hero.fit_reliability(history),
        methods=hero.compare_methods(current, history),
        answer=hero.estimate_rate(current, history),
    )


def _page(example: Example) -> Page:
    truth = example.about["truth"]
    return [
        Line(_story(example)),
        Heading("1. What history teaches about the labelers"),
        *views.labelers(example.reliability, labeler_rows(example.reliability)),
        Heading("2. Every method on the new version"),
        *views.comparison(example.methods, mark=truth),
        Line(f"┊ marks the truth, {truth:.3f}; it is known because the example is synthetic."),
        *views.comparison_remarks(example.methods),
        Heading("3. The estimate"),
        Facts(phrasing.estimate_facts(example.answer)),
        *remarks(example.answer.findings),
        Heading("4. What it means"),
        Line(_meaning(example), strong=True),
        Line(f"The truth is {100 * truth:.0f} of 100."),
    ]


def _story(example: Example) -> str:
    now, past = example.current, example.history
    return (
        f"A team makes 3D assets from {now.n_items} prompts. Its older version was labeled by {len(past.labelers)} "
        f"vendors and an expert checked {past.n_gold} assets (history); the new version has only the labels of "
        f"{len(now.labelers)} vendors (current). What share of it is defective?"
    )


def _meaning(example: Example) -> str:
    answer, vote = example.answer, example.methods["majority_vote"]
    return (
        f"About {phrasing.out_of(answer, 100)} assets of the new version are defective {phrasing.sure(answer, 100)}; "
        f"majority vote would have said {100 * vote.value:.0f}."
    )
