"""Commands about methods and the project, with their options. `main` hangs them beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.option_groups import Estimating, FromStore, Reading, grouped

KNOW = "Data, labelers and methods"

know_app = typer.Typer()


@know_app.command(
    rich_help_panel=KNOW, epilog="Examples:\n  hero backtest rounds/*\n  hero backtest --store hero-store"
)
@grouped
def backtest(
    *,
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help=f"Past rounds, each {given.ROUND}; without them those of the store.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this method; may be repeated.", show_default=False),
    ] = None,
    covariates: given.Covariates = None,
    text: given.TextColumn = None,
    penalty: given.Penalty = None,
    level: given.Level = 0.95,
    cluster: given.Cluster = None,
    positive: given.Positives = None,
    reading: Reading,
    question: kept.OfQuestion = None,
    from_model: kept.FromModels = None,
    since: kept.Since = None,
    before: kept.Before = None,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
    markdown: given.AsMarkdown = False,
) -> None:
    """How far each method would have been off on past rounds, and how much these drift."""
    from hero_eval.cli import actions
    from hero_eval.cli import stored as recorded
    from hero_eval.cli.inputs import Data

    data = Data((), paths or (), reading, positive, covariates, text)
    how = Estimating(penalty=penalty, level=level, cluster=cluster)
    chosen = FromStore(question, from_model, since, before, store=store)
    shape = actions.shape_of(json, markdown)
    if data.history:
        kept.refuse_beside_files(context, "question", "from_model", "since", "before")
        actions.backtest(data, how, method, shape)
    else:
        recorded.backtest(chosen, data, how, method, shape)


@know_app.command(rich_help_panel=KNOW, epilog="Example:\n  hero methods --json")
@grouped
def methods(*, json: given.AsJson = False) -> None:
    """The methods, what they do and what they need."""
    from hero_eval.cli import actions

    actions.methods(as_json=json)


@know_app.command(
    rich_help_panel=KNOW,
    epilog="Example:\n  hero study exp1-small --replications 100 --output exp1.csv",
)
@grouped
def study(
    *,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The study; without it they are listed.", show_default=False)
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(min=2, metavar="B", help="Draws a cell; without it the study's own number.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Same seed, same numbers.")] = 1,
    processes: Annotated[
        int | None,
        typer.Option(min=1, metavar="P", help="How many processes; without it one a core.", show_default=False),
    ] = None,
    gold_rate: Annotated[
        list[float] | None,
        typer.Option(metavar="R", help="Only cells with this share of gold; may be repeated.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write the rows to this .csv or .parquet file.",
            show_default=False,
        ),
    ] = None,
    json: given.AsJson = False,
) -> None:
    """Simulate how far each method is off, and how often its intervals cover."""
    from hero_eval.cli import actions

    rates = tuple(gold_rate) if gold_rate else None
    chosen = {"replications": replications, "seed": seed, "processes": processes, "gold_rates": rates}
    actions.study(name, chosen, output, as_json=json)


@know_app.command(rich_help_panel=KNOW, epilog="Example:\n  hero config")
@grouped
def config(*, json: given.AsJson = False) -> None:
    """The options of this project: what hero.toml, or table tool.hero in pyproject.toml, says, and what it may say."""
    from hero_eval.cli import actions

    actions.config(as_json=json)
