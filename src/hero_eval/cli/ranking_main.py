"""The commands that rank models: what can be asked, with which options. `main` hangs them beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.option_groups import Estimating, Reading, grouped
from hero_eval.errors import wrong
from hero_eval.name_lists import chosen_values

_PANEL = "Estimate"

ranking_app = typer.Typer()

Best = Annotated[str, typer.Option(metavar="WHICH", help="Which rate is best: highest, or lowest (as of defects).")]
Correction = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="How differences are told: max-t or holm (no false claim), fdr (few false claims).",
        rich_help_panel="How to estimate",
    ),
]
RankedQuestion = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="NAME",
        help="Rank the newest round of each model of this question in the store.",
        rich_help_panel="The store",
        show_default=False,
    ),
]
RankedModels = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Only this model of the store; may be repeated.",
        rich_help_panel="The store",
        show_default=False,
    ),
]

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Also write a report: .html (one file, no network), .md or .json.",
        rich_help_panel="Output",
        show_default=False,
    ),
]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        help="Also write the table to this file.",
        rich_help_panel="Output",
        show_default=False,
    ),
]


Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Only items, or votes, whose column has this value; may be repeated: values of one column add up.",
        rich_help_panel="How to estimate",
        show_default=False,
    ),
]


Over = Annotated[
    bool,
    typer.Option(
        "--movement",
        help="Also say how the models moved over the last rounds of the store, each ranked by what was known then.",
        rich_help_panel="The store",
    ),
]


@ranking_app.command(
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero rank may/v7 may/v8 may/v9 --history rounds/april\n"
        "  hero rank --store hero-store --question defect --best lowest \\\n"
        "    --output board.html"
    ),
)
@grouped
def rank(
    *,
    context: typer.Context,
    rounds: Annotated[
        list[Path] | None,
        typer.Argument(metavar="ROUND", help=f"One round for each model: {given.ROUND}.", show_default=False),
    ] = None,
    history: given.Histories = None,
    best: Best = "highest",
    correction: Correction = "max-t",
    how: Estimating,
    where: Where = None,
    positive: given.Positives = None,
    reading: Reading,
    question: RankedQuestion = None,
    model: RankedModels = None,
    since: kept.Since = None,
    before: kept.Before = None,
    movement: Over = False,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
    csv: Csv = None,
    output: Output = None,
) -> None:
    """Several models by their rates, with the rank that each may have."""
    from hero_eval.cli import ranking_actions
    from hero_eval.cli.inputs import Data

    data = Data(rounds or (), history or (), reading, positive, how.covariates, how.text)
    asked = {"best": best, "correction": correction, "where": chosen_values("--where", where)}
    files = ranking_actions.Files(csv, output)
    if rounds:
        kept.refuse_beside_files(context, "question", "model", "since", "before", "movement")
        ranking_actions.rank(data, how, asked, files, as_json=json)
    elif question is None and not model and not kept.store_named(context):
        remedy = "Give one for each model, or a store: --store PATH, with --question NAME if it holds several"
        raise wrong("E206", f"no round is named. {remedy}")
    else:
        chosen = ranking_actions.StoredModels(store, question, tuple(model or ()), since, before, movement)
        ranking_actions.rank_stored(data, how, asked, chosen, files, as_json=json)


@ranking_app.command(
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero arena votes.parquet --history past-votes.csv\n"
        "  hero arena votes.jsonl --next 200 --top 3\n"
        "  hero arena votes.csv --covariates length --where category=coding\n"
        "  hero arena --store hero-store --question chat --output board.html"
    ),
)
def arena(
    context: typer.Context,
    votes: Annotated[
        Path | None,
        typer.Argument(
            metavar="VOTES",
            help="A table with model_a, model_b, label and, if known, item, labeler, gold; or an arena's JSON Lines.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        list[Path] | None,
        typer.Option(
            "--history",
            metavar="PATH",
            help="Past votes with some gold, or a round whose answers are A, B and tie; may be repeated. With --round "
            "or --question: names of rounds of the store.",
            rich_help_panel="How to read the data",
            show_default=False,
        ),
    ] = None,
    ties: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="half: a tie is half a vote for each; davidson: an outcome of its own.",
            rich_help_panel="How to estimate",
        ),
    ] = "half",
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The model that win rates are against; without it the best one.",
            rich_help_panel="How to estimate",
            show_default=False,
        ),
    ] = None,
    covariates: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of the pair to hold equal, such as length (or length_a and length_b).",
            rich_help_panel="How to estimate",
            show_default=False,
        ),
    ] = None,
    where: Where = None,
    level: given.Level = 0.95,
    correction: Correction = "max-t",
    next_: Annotated[
        int | None,
        typer.Option(
            "--next",
            min=1,
            metavar="N",
            help="Also say which pairs should have the next N votes.",
            rich_help_panel="Next battles",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="With --next: what matters is who is among the best K.",
            rich_help_panel="Next battles",
            show_default=False,
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="With --next: what matters is which of these two is better.",
            rich_help_panel="Next battles",
            show_default=False,
        ),
    ] = None,
    column: given.Columns = None,
    map: given.AnswerMap = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who counts the votes: memory or duckdb; without it duckdb for large files.",
            rich_help_panel="How to read the data",
            show_default=False,
        ),
    ] = None,
    memory_limit: given.MemoryLimit = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Rank the newest votes of this question in the store; those before it are history.",
            rich_help_panel="The store",
            show_default=False,
        ),
    ] = None,
    round: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Rank the votes of this round of the store.",
            rich_help_panel="The store",
            autocompletion=kept.complete_round,
            show_default=False,
        ),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Votes of earlier rounds count too, instead of only teaching how labelers err.",
            rich_help_panel="The store",
        ),
    ] = False,
    since: kept.Since = None,
    before: kept.Before = None,
    movement: Over = False,
    no_save: kept.NoSave = False,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
    csv: Csv = None,
    output: Output = None,
) -> None:
    """Models by side-by-side votes, corrected for how each labeler errs."""
    from hero_eval.cli import ranking_actions

    reading = ranking_actions.VoteReading(column, map, covariates, engine, memory_limit, where)
    asked = {"ties": ties, "reference": reference, "level": level, "correction": correction}
    battles = ranking_actions.NextBattles(next_, top, pair)
    files = ranking_actions.Files(csv, output)
    if votes is not None:
        kept.refuse_beside_files(context, "question", "round", "together", "since", "before", "movement")
        ranking_actions.arena(votes, history or [], reading, asked, battles, files, as_json=json)
    elif question is None and round is None and not kept.store_named(context):
        remedy = "Give a file, or a store: --store PATH, with --question NAME or --round NAME"
        raise wrong("E206", f"no votes are named. {remedy}")
    else:
        from hero_eval.store.past_rounds import History

        past = History(since=since, before=before, rounds=tuple(str(one) for one in history or ()))
        chosen = ranking_actions.StoredVotes(store, question, round, together, past, not no_save, movement)
        ranking_actions.arena_stored(chosen, reading, asked, battles, files, as_json=json)
