"""The command `hero`: what can be asked, with which options. What each does is in `actions` and loads when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.config import ConfiguredGroup
from hero_eval.cli.exit_codes import output_failed, say
from hero_eval.cli.gold_main import Judges, Prices, gold_app
from hero_eval.cli.interrupts import INTERRUPTED, MESSAGE
from hero_eval.cli.items_main import items_app
from hero_eval.cli.know_main import KNOW as _KNOW
from hero_eval.cli.know_main import know_app
from hero_eval.cli.option_groups import Counting, Estimating, FromStore, Gated, grouped
from hero_eval.cli.ranking_main import ranking_app
from hero_eval.cli.store_main import store_app

if TYPE_CHECKING:
    from hero_eval.cli.inputs import Data
    from hero_eval.cli.option_groups import Reading

_ASK = "Estimate"

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
        "  hero estimate rounds/may --history rounds/april\n\n"
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


def _data(
    paths: Sequence[Path | None], history: Sequence[Path] | None, reading: Reading, how: Estimating, **about: Any
) -> Data:
    """The rounds that were named, and how to read them."""
    from hero_eval.cli.inputs import Data

    about |= {"covariates": how.covariates, "text": how.text, "cluster": how.cluster}
    return Data(given.some(*paths), history or (), reading, **about)


@app.command(rich_help_panel=_ASK, epilog="Example:\n  hero demo --output demo")
@grouped
def demo(
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
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
    at_least: given.AtLeast = None,
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

    data = _data((current,), history, reading, how, positive=positive, by=by, at_least=at_least)
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
    at_least: given.AtLeast = None,
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

    data = _data((a, b), history, reading, how, positive=positive, at_least=at_least)
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

    data = _data((current,), history, reading, how)
    sides: dict[str, Any] = {"a": a, "b": b, "tie": tie, "ties": ties}
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
    at_least: given.AtLeast = None,
    reading: Counting,
    by: given.By = None,
    gated: Gated,
    gate_on: Annotated[
        str,
        typer.Option(
            metavar="QUANTITY",
            help="What --fail-below and --fail-above look at: prevalence, precision, recall, f1 or flagged_share.",
            rich_help_panel="Output",
        ),
    ] = "prevalence",
    round: kept.RoundName = None,
    stored: FromStore,
    json: given.AsJson = False,
) -> None:
    """Prevalence of violations, and precision and recall of the flags."""
    from hero_eval.cli import actions
    from hero_eval.cli import stored as recorded

    about = {"positive": positive, "one_positive": True, "at_least": at_least}
    data = _data((current,), history, reading, how, flag=flag, by=by, **about)
    gate = gated.gate()
    actions.check_quantity(gate_on, gate)
    if (name := stored.named(current, round)) is not None:
        extra = {"flag": flag, "by": by}
        recorded.estimate("moderation", name, stored, data, how, gate, as_json=json, gate_on=gate_on, **extra)
    else:
        actions.moderation(data, how, gate, gate_on, as_json=json)


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
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write it: .html (one file, no network), .md or .json."
        ),
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The report's title.", show_default=False)] = None,
    how: Estimating,
    positive: given.Positives = None,
    at_least: given.AtLeast = None,
    reading: Counting,
    gated: Gated,
    round: kept.RoundName = None,
    stored: FromStore,
) -> None:
    """Write a report that one can send: the answer, all methods, the labelers, what to know."""
    from hero_eval.cli import reporting

    data = _data((a, b), history, reading, how, positive=positive, at_least=at_least)
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
    context: typer.Context,
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
    question: kept.OfQuestion = None,
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
    if history:
        kept.refuse_beside_files(context, "question", "from_model", "since", "before")
    if judges is not None and cost is None:
        from hero_eval.errors import wrong

        raise wrong("E204", "--judges says whose labels cost what a judge's do: give --cost, too")
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


app.add_typer(know_app)
app.add_typer(items_app)
app.add_typer(ranking_app)
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
        say(MESSAGE)
        sys.exit(INTERRUPTED)
    except OSError as error:  # help is written before a command is run
        sys.exit(output_failed(error))


if __name__ == "__main__":
    run()
