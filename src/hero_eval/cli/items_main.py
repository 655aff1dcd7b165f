"""The command `hero items`: what can be asked of single items. `main` hangs it beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.option_groups import Counting, Estimating, FromStore, grouped

items_app = typer.Typer()


@items_app.command(
    rich_help_panel="Estimate",
    epilog="Example:\n  hero items rounds/may --history rounds/april --output items.csv",
)
@grouped
def items(
    *,
    current: given.Current = None,
    history: given.Histories = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write one row for each item here: .csv or .parquet.",
            show_default=False,
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw how well probabilities agree with gold: .svg or .png.", show_default=False
        ),
    ] = None,
    no_calibration: Annotated[
        bool, typer.Option("--no-calibration", help="Do not hide gold to see how well the items are told.")
    ] = False,
    how: Estimating,
    positive: given.Positives = None,
    at_least: given.AtLeast = None,
    reading: Counting,
    round: kept.RoundName = None,
    stored: FromStore,
    json: given.AsJson = False,
) -> None:
    """How probable each class is for every item: cleaned labels, and how far to trust them."""
    from hero_eval.cli.inputs import Data
    from hero_eval.cli.item_actions import show_items

    data = Data(given.some(current), history or (), reading, positive, how.covariates, how.text, at_least=at_least)
    show_items(
        data, how, stored, stored.named(current, round), output, chart, calibrated=not no_calibration, as_json=json
    )
