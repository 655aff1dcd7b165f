"""`hero report`: estimate, then write it down so that it can be sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hero_eval as hero
from hero_eval.cli.actions import enforce, learned, options_of, two_names
from hero_eval.cli.blocks import Line
from hero_eval.cli.inputs import Data, read_rounds
from hero_eval.cli.progress import Activity, activity
from hero_eval.cli.render import show
from hero_eval.report.html import checked_place, environment, write
from hero_eval.report.making import report_of

if TYPE_CHECKING:
    from hero_eval.cli.option_groups import Estimating, FromStore
    from hero_eval.gates import Gate
    from hero_eval.report.document import Report


def from_files(data: Data, how: Estimating, gate: Gate, output: Path, title: str | None) -> None:
    """A report on one round, or on the difference of two."""
    _prepare(output)
    with activity() as doing:
        rounds = read_rounds(data, doing, how.problems())
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | {"positive": rounds.positive, "at_least": rounds.at_least}
        made_from = _paths(data)
        if len(rounds.currents) == 1:
            result, names = hero.estimate_rate(rounds.currents[0], learned(rounds, how, doing), **options), ("A", "B")
        else:
            a, b = rounds.currents
            result = hero.estimate_difference(a, b, learned(rounds, how, doing), **options)
            names = two_names(data.currents, a.name, b.name)
        report = _made(result, doing, names, title, made_from, gate)
        place = write(report, output)
    _tell(report, place)
    enforce(gate, [result])


def from_store(
    round: str, stored: FromStore, data: Data, how: Estimating, gate: Gate, output: Path, title: str | None
) -> None:
    """A report on a round of the store; the estimate is recorded, so that it can be made again."""
    from hero_eval.cli.stored import ask_store
    from hero_eval.store.estimates import save

    _prepare(output)
    how.problems().raise_any()
    store, recorded = ask_store("estimate", round, stored, data, how)
    made_from = [
        ("store", f"version {recorded.store_version}, question {recorded.question}"),
        *([("again", f"hero reproduce {recorded.estimate}")] if not stored.no_save else []),
    ]
    with activity() as doing:
        report = _made(recorded.result, doing, ("A", "B"), title, made_from, gate)
        place = write(report, output)
    if not stored.no_save:
        save(store, recorded)
    _tell(report, place)
    enforce(gate, [recorded.result])


def _prepare(output: Path) -> None:
    """What would stop the report is found before the estimate takes its time."""
    checked_place(output)
    environment()


def _paths(data: Data) -> list[tuple[str, str]]:
    """Names of the files only: a report is sent to people whom folders of this machine do not concern."""
    return [
        *(("current file", path.name) for path in data.currents),
        *(("history file", path.name) for path in data.history),
    ]


def _made(
    result: hero.Estimate,
    doing: Activity,
    names: tuple[str, str],
    title: str | None,
    made_from: Sequence[tuple[str, str]],
    gate: Gate,
) -> Report:
    doing.say("Writing the report")
    verdict = gate.verdict(result) if gate.is_asked else None
    return report_of(result, names=names, title=title, made_from=made_from, verdict=verdict)


def _tell(report: Report, place: Path) -> None:
    show([Line(report.answer, strong=True), Line(f"Report: {place}", whole=True)])
