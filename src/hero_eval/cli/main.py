"""The command `hero`: what can be asked, with which options. What each does is in `actions` and loads when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.config import ConfiguredGroup
from hero_eval.cli.exit_codes import INTERRUPTED, output_failed
from hero_eval.cli.gold_main import Judges, Prices, gold_app
from hero_eval.cli.option_groups import Counting, Estimating, FromStore, Gated, Reading, grouped
from hero_eval.cli.store_main import store_app

_ASK, _KNOW = "Estimate", "Data, labelers and methods"

app = typer.Typer(
    name="hero",
    cls=ConfiguredGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=(
        "Examples:\n"
        "  hero demo\n"
        "  hero check rounds/may --history rounds/april\n"
        "  hero estimate rounds/may --history rounds/april --covariates judge\n\n"
        "Exit codes: 0 done, 2 the input or the call is wrong,\n"
        "3 the data cannot support the answer, 4 a gate is closed."
    ),
)


def _version(asked: bool) -> None:
    if asked:
        from hero_eval import __version__

        typer.echo(f"hero-eval {__version__}")
        raise typer.Exit


@app.callback()
def hero(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """How good a generative model really is: honest rates from noisy labels and a history with a little gold."""
    del version


@app.command(rich_help_panel=_ASK)
def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write report.html, report.md and estimate.json to this folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Estimate the built-in example and explain the answer."""
    from hero_eval.cli.demo import demo as act

    act(output)


@app.command(
    rich_help_panel=_ASK,
    epilog="Example:\n  hero estimate rounds/may --history rounds/april --covariates judge",
)
@grouped
def estimate(
    *,
    current: given.Current = None,
    history: given.Histories = None,
    how: Estimating,
    positive: given.Positives = None,
    reading: Counting,
    by: given.By = None,
    gated: Gated,
    round: kept.RoundName = None,
    stored: FromStore,
    json: given.AsJson = False,
) -> None:
    """How often the gold answer would be the positive class, with an interval."""
    from hero_eval.cli import actions
    from hero_eval.cli import stored as recorded
    from hero_eval.cli.inputs import Data

    data = Data(given.some(current), history or (), reading, positive, how.covariates, how.text)
    gate = gated.gate()
    if (name := stored.named(current, round)) is not None:
        recorded.estimate("estimate", name, stored, data, how, gate, as_json=json, by=by)
    else:
        actions.estimate(data, how, gate, by, as_json=json)


@app.command(
    rich_help_panel=_ASK,
    epilog=(
        "Examples:\n"
        "  hero compare rounds/may --history rounds/april\n"
        "  hero compare rounds/may-a rounds/may-b --history rounds/april"
    ),
)
@grouped
def compare(
    *,
    a: Annotated[
        Path | None, typer.Argument(metavar="A", help=f"The round to be estimated: {given.ROUND}.", show_default=False)
    ] = None,
    b: Annotated[
        Path | None,
        typer.Argument(metavar="B", help="A second model's round on the same items.", show_default=False),
    ] = None,
    history: given.Histories = None,
    how: Estimating,
    positive: given.Positives = None,
    reading: Counting,
    gated: Gated,
    round: kept.RoundName = None,
    other_round: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --round: the round of a second model on the same items.",
            rich_help_panel="The store",
            autocompletion=kept.complete_round,
            show_default=False,
        ),
    ] = None,
    stored: FromStore,
    json: given.AsJson = False,
) -> None:
    """Every method on one round, or the difference between two models."""
    from hero_eval.cli import actions
    from hero_eval.cli import stored as recorded
    from hero_eval.cli.inputs import Data

    data = Data(given.some(a, b), history or (), reading, positive, how.covariates, how.text)
    gate = gated.gate()
    if (name := stored.named(a, round)) is not None:
        recorded.estimate("compare", name, stored, data, how, gate, as_json=json, other=other_round)
    else:
        actions.compare(data, how, gate, as_json=json)


@app.command(
    rich_help_panel=_ASK,
    epilog="Example:\n  hero winrate arena/may --history arena/april --a new --b old --tie same",
)
@grouped
def winrate(
    *,
    current: given.Current = None,
    history: given.Histories = None,
    ties: Annotated[
        str,
        typer.Option(metavar="HOW", help="half: a tie is half a win; own: only outright wins of A count."),
    ] = "half",
    a: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class that says A is better.", show_default=False)
    ] = None,
    b: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class that says B is better.", show_default=False)
    ] = None,
    tie: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class that says neither is.", show_default=False)
    ] = None,
    how: Estimating,
    reading: Counting,
    gated: Gated,
    round: kept.RoundName = None,
    stored: FromStore,
    json: given.AsJson = False,
) -> None:
    """How often model A wins side by side against model B."""
    from hero_eval.cli import actions
    from hero_eval.cli import stored as recorded
    from hero_eval.cli.inputs import Data

    data = Data(given.some(current), history or (), reading, None, how.covariates, how.text)
    sides = {"a": a, "b": b, "tie": tie, "ties": ties}
    gate = gated.gate()
    if (name := stored.named(current, round)) is not None:
        recorded.estimate("winrate", name, stored, data, how, gate, as_json=json, **sides)
    else:
        actions.win_rate(data, how, sides, gate, as_json=json)


@app.command(
    rich_help_panel=_ASK,
    epilog="Example:\n  hero moderation rounds/may --history rounds/april --flag flagged",
)
@grouped
def moderation(
    *,
    flag: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="The yes/no column of the items that says what the system flagged."),
    ],
    current: given.Current = None,
    history: given.Histories = None,
    how: Estimating,
    positive: given.Positive = None,
    reading: Counting,
    round: kept.RoundName = None,
    stored: FromStore,
    json: given.AsJson = False,
) -> None:
    """Prevalence of violations, and precision and recall of the flags."""
    from hero_eval.cli import actions
    from hero_eval.cli import stored as recorded
    from hero_eval.cli.inputs import Data

    data = Data(
        given.some(current), history or (), reading, positive, how.covariates, how.text, flag=flag, one_positive=True
    )
    if (name := stored.named(current, round)) is not None:
        recorded.estimate("moderation", name, stored, data, how, Gated().gate(), as_json=json, flag=flag)
    else:
        actions.moderation(data, how, as_json=json)


@app.command(
    rich_help_panel=_ASK,
    epilog=(
        "Examples:\n"
        "  hero report rounds/may --history rounds/april --output may.html\n"
        "  hero report rounds/may-a rounds/may-b --history rounds/april"
    ),
)
@grouped
def report(
    *,
    a: Annotated[
        Path | None,
        typer.Argument(metavar="CURRENT", help=f"The round to report on: {given.ROUND}.", show_default=False),
    ] = None,
    b: Annotated[
        Path | None,
        typer.Argument(metavar="B", help="A second model's round: report the difference.", show_default=False),
    ] = None,
    history: given.Histories = None,
    output: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where to write it: .html (one file, no network), .md or .json."),
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The report's title.", show_default=False)] = None,
    how: Estimating,
    positive: given.Positives = None,
    reading: Counting,
    gated: Gated,
    round: kept.RoundName = None,
    stored: FromStore,
) -> None:
    """Write a report that one can send: the answer, all methods, the labelers, what to know."""
    from hero_eval.cli import reporting
    from hero_eval.cli.inputs import Data

    data = Data(given.some(a, b), history or (), reading, positive, how.covariates, how.text)
    if (name := stored.named(a, round)) is not None:
        reporting.from_store(name, stored, data, how, gated.gate(), output, title)
    else:
        reporting.from_files(data, how, gated.gate(), output, title)


@app.command(
    rich_help_panel=_KNOW,
    epilog="Examples:\n  hero labelers rounds/march rounds/april\n  hero labelers --over-time --store hero-store",
)
@grouped
def labelers(
    *,
    history: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="HISTORY",
            help=f"Past rounds with some gold, each {given.ROUND}; without them those of the store.",
            show_default=False,
        ),
    ] = None,
    over_time: Annotated[bool, typer.Option("--over-time", help="Each round by itself, and who drifts.")] = False,
    cost: Prices = None,
    judges: Judges = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Rounds of this question; without it the store's only one.",
            rich_help_panel="The store",
            show_default=False,
        ),
    ] = None,
    from_model: kept.FromModels = None,
    since: kept.Since = None,
    before: kept.Before = None,
    store: kept.StorePath = kept.DEFAULT_STORE,
    level: given.Level = 0.95,
    positive: given.Positive = None,
    reading: Counting,
    json: given.AsJson = False,
) -> None:
    """How reliable each labeler is; with --cost, what its labels are worth in the last round named."""
    from hero_eval.cli import actions, gold_actions
    from hero_eval.cli import stored as recorded
    from hero_eval.cli.inputs import Data

    data = Data((), history or (), reading, positive, one_positive=True)
    chosen = FromStore(question, from_model, since, before, store=store)
    if cost is not None:
        gold_actions.worth(data, chosen, cost, judges, level, as_json=json)
    elif over_time:
        recorded.labelers_over_time(chosen, data, level, as_json=json)
    elif history:
        actions.labelers(data, as_json=json)
    else:
        recorded.labelers(chosen, data, as_json=json)


@app.command(rich_help_panel=_KNOW, epilog="Example:\n  hero check rounds/may --history rounds/april")
@grouped
def check(
    *,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help=f"The round to look at: {given.ROUND}.", show_default=False)
    ],
    history: given.Histories = None,
    positive: given.Positives = None,
    reading: Counting,
    json: given.AsJson = False,
) -> None:
    """What a round holds, what is wrong with it, and what could be estimated."""
    from hero_eval.cli import actions
    from hero_eval.cli.inputs import Data

    actions.check(Data([path], history or (), reading, positive), as_json=json)


@app.command(rich_help_panel=_KNOW, epilog="Example:\n  hero count rounds/april history.parquet -o history.parquet")
@grouped
def count(
    *,
    rounds: Annotated[
        list[Path],
        typer.Argument(
            metavar="ROUND", help=f"Rounds, each {given.ROUND}; or counts of earlier ones.", show_default=False
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The .parquet file to write.", show_default=False)
    ],
    covariates: given.Covariates = None,
    reading: Counting,
    json: given.AsJson = False,
) -> None:
    """Keep rounds as counts, which serve as history without being read again."""
    from hero_eval.cli import actions
    from hero_eval.cli.inputs import Data

    actions.count(Data((), rounds, reading, covariates=covariates), output, as_json=json)


@app.command(rich_help_panel=_KNOW, epilog="Example:\n  hero backtest rounds/*")
@grouped
def backtest(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help=f"Past rounds, each {given.ROUND}.", show_default=False),
    ],
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
    json: given.AsJson = False,
    markdown: given.AsMarkdown = False,
) -> None:
    """How far each method would have been off on past rounds, and how much these drift."""
    from hero_eval.cli import actions
    from hero_eval.cli.inputs import Data

    data = Data((), paths, reading, positive, covariates, text)
    how = Estimating(penalty=penalty, level=level, cluster=cluster)
    actions.backtest(data, how, method, actions.shape_of(json, markdown))


@app.command(rich_help_panel=_KNOW)
def methods(json: given.AsJson = False) -> None:
    """The methods, what they do and what they need."""
    from hero_eval.cli import actions

    actions.methods(as_json=json)


@app.command(
    rich_help_panel=_KNOW,
    epilog="Example:\n  hero study exp1-small --replications 100 --output exp1.csv",
)
def study(
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
        typer.Option(metavar="FILE", help="Also write the rows to this .csv or .parquet file.", show_default=False),
    ] = None,
    json: given.AsJson = False,
) -> None:
    """Simulate how far each method is off, and how often its intervals cover."""
    from hero_eval.cli import actions

    rates = tuple(gold_rate) if gold_rate else None
    chosen = {"replications": replications, "seed": seed, "processes": processes, "gold_rates": rates}
    actions.study(name, chosen, output, as_json=json)


app.add_typer(gold_app)
app.add_typer(store_app)


def run() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="hero")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:  # help is written before a command is run
        sys.exit(output_failed(error))


if __name__ == "__main__":
    run()
