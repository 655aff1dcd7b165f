"""The commands about gold: which items next, how much of it. `main` hangs them beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli.option_groups import Counting, grouped

_PANEL = "Gold: how much, which items, when to stop"

gold_app = typer.Typer()


@gold_app.command(
    "next",
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero next rounds/may --history rounds/april --count 30 --output queue.csv\n"
        "  hero next may-a may-b --history april --count 40 --target difference"
    ),
)
@grouped
def next_items(
    *,
    currents: Annotated[
        list[Path],
        typer.Argument(
            metavar="CURRENT", help=f"The round to give gold, {given.ROUND}; or several models'.", show_default=False
        ),
    ],
    history: given.Histories = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many items the expert is to answer.")] = 30,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the queue to this .csv or .parquet file.", show_default=False
        ),
    ] = None,
    probabilities: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the probability of every item: it belongs beside the items, as gold_probability.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="WHAT", help="What is to be known better: rate, difference or win_rate.")
    ] = "rate",
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A column of the items: every value's rate is to be known.", show_default=False
        ),
    ] = None,
    floor: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of the draw that goes to all items alike.")
    ] = 0.25,
    seed: Annotated[int, typer.Option(metavar="S", help="Same seed, same queue.")] = 0,
    ties: Annotated[str, typer.Option(metavar="HOW", help="Of a win rate: half or own, as in hero winrate.")] = "half",
    a: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class that says A is better.", show_default=False)
    ] = None,
    b: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class that says B is better.", show_default=False)
    ] = None,
    tie: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class that says neither is.", show_default=False)
    ] = None,
    positive: given.Positives = None,
    reading: Counting,
    json: given.AsJson = False,
) -> None:
    """Which items an expert should answer next, and with which probability each was drawn."""
    from hero_eval.cli import gold_actions
    from hero_eval.cli.inputs import Data

    data = Data(currents, history or (), reading, positive)
    chosen = {"count": count, "seed": seed, "target": target, "by": by, "floor": floor}
    sides = {"ties": ties, "a": a, "b": b, "tie": tie}
    gold_actions.next_items(data, chosen | sides, output, probabilities, as_json=json)
