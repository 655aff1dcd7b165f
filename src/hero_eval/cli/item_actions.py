"""What `hero items` does: estimate, write the items down, hold their probabilities against hidden gold, show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import item_views
from hero_eval.cli.actions import check_output, options_of, write_table
from hero_eval.cli.blocks import Line
from hero_eval.cli.inputs import Data, Rounds, read_rounds
from hero_eval.cli.json_output import show_json
from hero_eval.cli.progress import activity, bar
from hero_eval.cli.render import show
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import SupportError, wrong
from hero_eval.estimate import Source

if TYPE_CHECKING:
    from hero_eval.cli.option_groups import Estimating, FromStore


def show_items(
    data: Data,
    how: Estimating,
    stored: FromStore,
    name: str | None,
    output: Path | None,
    chart: Path | None,
    *,
    calibrated: bool,
    as_json: bool,
) -> None:
    _check_places(output, chart, calibrated=calibrated)
    result = _of_files(data, how) if name is None else _of_store(name, stored, data, how)
    table = result.items("pyarrow")
    held, why_not = _calibration(result) if calibrated else (None, "")
    if output is not None:
        write_table(table, output)
    if chart is not None and held is not None:
        from hero_eval import charts

        charts.calibration(held).save(chart)
    if as_json:
        show_json(_document(result, table, held, why_not, output))
        return
    page = item_views.items(result, table.to_pydict(), held, why_not)
    tail = [Line(f"Items: {output}", whole=True)] if output is not None else []
    tail += [Line(f"Chart: {chart}", whole=True)] if chart is not None and held is not None else []
    show([*page, *tail])


def _check_places(output: Path | None, chart: Path | None, *, calibrated: bool) -> None:
    """What would stop the files is found before the estimate takes its time."""
    if output is not None:
        check_output(output)
    if chart is None:
        return
    if not calibrated:
        raise wrong("E204", "--chart draws the calibration, which --no-calibration leaves out: leave one of them out")
    from hero_eval.charts.theme import KINDS, altair

    if chart.suffix not in KINDS:
        raise wrong("E201", f"--chart is {str(chart)!r}. Its name ends in {', '.join(KINDS)}")
    altair()


def _of_files(data: Data, how: Estimating) -> hero.Estimate:
    with activity() as doing:
        rounds: Rounds = read_rounds(data, doing, how.problems())
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | {"positive": rounds.positive, "at_least": rounds.at_least}
        result: hero.Estimate = hero.estimate_rate(rounds.currents[0], rounds.history, **options)
    return result


def _of_store(name: str, stored: FromStore, data: Data, how: Estimating) -> hero.Estimate:
    from hero_eval.cli.stored import ask_store

    how.problems().raise_any()
    result = ask_store("estimate", name, stored, data, how)[1].result
    assert isinstance(result, hero.Estimate)
    return result


def _calibration(result: hero.Estimate) -> tuple[hero.ItemCalibration | None, str]:
    """The calibration, or why there is none."""
    source = result.source or Source((), None)
    asked = {name: source.options.get(name) for name in ("covariates", "text", "penalty", "groups", "at_least")}
    try:
        with bar("Hiding gold") as progress:
            found = hero.item_calibration(
                source.currents[0], source.history, method=result.method, progress=progress, **asked
            )
    except SupportError as error:
        return None, error.problems[0].message
    return found, ""


def _document(
    result: hero.Estimate, table: Any, held: hero.ItemCalibration | None, why_not: str, output: Path | None
) -> dict[str, Any]:
    """One document; the items are in it unless a file holds them."""
    return {
        "schema_version": SCHEMA_VERSION,
        "target": "items",
        "estimate": result.to_dict(),
        "calibration": None if held is None else held.to_dict(),
        "no_calibration": why_not or None,
        **({"items": table.to_pylist()} if output is None else {"output": str(output)}),
    }
