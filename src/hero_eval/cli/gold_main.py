"""The commands about gold: which items next, how much of it. `main` hangs them beside the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.option_groups import Counting, CurrentInStore, OptionGroup, grouped
from hero_eval.errors import wrong

_PANEL = "Gold: how much, which items, when to stop"
_BEFORE = "Before any data"

Prices = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="WHAT=PRICE,...",
        help="Prices of gold, label, judge, item, and of single labelers: gold=3,label=0.05.",
        show_default=False,
    ),
]
Judges = Annotated[
    str | None, typer.Option(metavar="A,B", help="Labelers whose labels cost what a judge's does.", show_default=False)
]


@dataclass(frozen=True)
class Designing(OptionGroup):
    """A round that is only planned."""

    items: Annotated[
        int | None, typer.Option(metavar="N", help="Items.", rich_help_panel=_BEFORE, show_default=False)
    ] = None
    sensitivity: Annotated[
        float, typer.Option(metavar="P", help="How often labelers find the positive class.", rich_help_panel=_BEFORE)
    ] = 0.8
    specificity: Annotated[
        float, typer.Option(metavar="P", help="How often they find the other.", rich_help_panel=_BEFORE)
    ] = 0.8
    gold: Annotated[int, typer.Option(metavar="G", help="Golds in history.", rich_help_panel=_BEFORE)] = 0
    own_gold: Annotated[int, typer.Option(metavar="G", help="Golds in the round itself.", rich_help_panel=_BEFORE)] = 0
    rate: Annotated[float, typer.Option(metavar="P", help="The rate expected.", rich_help_panel=_BEFORE)] = 0.5
    drift: Annotated[
        float,
        typer.Option(metavar="SD", help="Drift between rounds, logit scale; 0.5 is usual.", rich_help_panel=_BEFORE),
    ] = 0.0
    detect: Annotated[
        float | None,
        typer.Option(
            metavar="D", help="A against B: the difference to be seen.", rich_help_panel=_BEFORE, show_default=False
        ),
    ] = None
    power: Annotated[
        float, typer.Option(metavar="P", help="The chance with which it is to be seen.", rich_help_panel=_BEFORE)
    ] = 0.8


gold_app = typer.Typer()


@gold_app.command(
    "next",
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero next rounds/may --history rounds/april --count 30 --output queue.csv\n"
        "  hero next may-a may-b --history april --count 40 --target difference\n"
        "  hero next --store hero-store --question helpful --count 30"
    ),
)
@grouped
def next_items(
    *,
    currents: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CURRENT",
            help=f"The round to give gold, {given.ROUND}; or several models'. Without it one of the store.",
            show_default=False,
        ),
    ] = None,
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
    stored: CurrentInStore,
    json: given.AsJson = False,
) -> None:
    """Which items an expert should answer next, and with which probability each was drawn."""
    from hero_eval.cli import gold_actions
    from hero_eval.cli.inputs import Data

    data = Data(currents or (), history or (), reading, positive)
    source = stored if stored.is_meant(bool(currents)) else None
    chosen = {"count": count, "seed": seed, "target": target, "by": by, "floor": floor}
    sides = {"ties": ties, "a": a, "b": b, "tie": tie}
    gold_actions.next_items(data, chosen | sides, output, probabilities, as_json=json, stored=source)


@gold_app.command(
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero plan rounds/may --history rounds/april --width 0.06\n"
        "  hero plan rounds/may --history rounds/april --budget 500 \\\n"
        "    --cost gold=3,label=0.05\n"
        "  hero plan --store hero-store --question helpful --width 0.06\n"
        "  hero plan --items 500 --labelers 5 --gold 50 --sensitivity .8\n"
        "  hero plan --items 500 --labelers 5 --gold 50 --detect 0.05 --power 0.8\n\n"
        "Of a round that is only planned, --labelers is how many label each item."
    ),
)
@grouped
def plan(
    *,
    context: typer.Context,
    current: given.Current = None,
    history: given.Histories = None,
    width: Annotated[
        float | None, typer.Option(metavar="W", help="The width that the interval is to have.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="B", help="What may be spent, in the unit of --cost.", show_default=False)
    ] = None,
    cost: Prices = None,
    judges: Judges = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also draw width against spending: .svg, .png, .json or .csv.", show_default=False
        ),
    ] = None,
    design: Designing,
    level: given.Level = 0.95,
    positive: given.Positives = None,
    reading: Counting,
    stored: CurrentInStore,
    json: given.AsJson = False,
) -> None:
    """How much gold, how many items and labels a width takes, or the best for a budget."""
    from hero_eval.cli import gold_actions
    from hero_eval.cli.inputs import Data

    only_planned = current is None and design.items is not None
    meant = not only_planned and stored.is_meant(current is not None, otherwise=True)
    source = stored if meant else None
    count, reading = _labels_per_item(reading, planned=current is None and source is None)
    if current is None and source is None and not kept.typed(context, "history"):
        history = None  # a project's own past rounds are of its rounds, and not of one that is only planned
    data = Data(given.some(current), history or (), reading, positive)
    asked = {"width": width, "budget": budget, "level": level, "labelers": count}
    gold_actions.plan(data, asked | vars(design), cost, judges, chart, as_json=json, stored=source)


def _labels_per_item(reading: Counting, *, planned: bool) -> tuple[int | None, Counting]:
    """Of a round that is only planned --labelers is a number, how many label each item; else it names labelers."""
    said = reading.labelers
    if not planned or said is None:
        return None, reading
    if not said.strip().isdigit():
        raise wrong("E201", f"--labelers is {said!r}. Of a round that is only planned it is a number: labels per item")
    return int(said), replace(reading, labelers=None)


@gold_app.command(
    rich_help_panel=_PANEL, epilog="Example:\n  hero watch --store hero-store || notify 'something changed'"
)
def watch(
    question: kept.OfQuestion = None,
    level: given.Level = 0.95,
    positive: given.Positive = None,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
) -> None:
    """Every model's rate over its rounds, changes beyond chance, labelers who drift; exit code 4 if there are any."""
    from hero_eval.cli import gold_actions

    gold_actions.watch(store, question, level, positive, as_json=json)
