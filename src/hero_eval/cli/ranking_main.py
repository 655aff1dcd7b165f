"""The commands that rank models: what can be asked, with which options. `main` hangs them beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.option_groups import Estimating, Reading, grouped
from hero_eval.errors import wrong

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


@ranking_app.command(
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero rank may/v7 may/v8 may/v9 --history rounds/april\n"
        "  hero rank --store hero-store --question defect --best lowest"
    ),
)
@grouped
def rank(
    *,
    rounds: Annotated[
        list[Path] | None,
        typer.Argument(metavar="ROUND", help=f"One round for each model: {given.ROUND}.", show_default=False),
    ] = None,
    history: given.Histories = None,
    best: Best = "highest",
    correction: Correction = "max-t",
    how: Estimating,
    positive: given.Positives = None,
    reading: Reading,
    question: RankedQuestion = None,
    model: RankedModels = None,
    since: kept.Since = None,
    before: kept.Before = None,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Also write the table to this file.",
            rich_help_panel="Output",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Several models by their rates, with the rank that each may have."""
    from hero_eval.cli import ranking_actions
    from hero_eval.cli.inputs import Data

    data = Data(rounds or (), history or (), reading, positive, how.covariates, how.text)
    asked = {"best": best, "correction": correction}
    if rounds:
        ranking_actions.rank(data, how, asked, csv, as_json=json)
    elif question is None and not model:
        raise wrong("E206", "no round is named. Give one for each model, or a question of the store: --question NAME")
    else:
        chosen = ranking_actions.StoredModels(store, question, tuple(model or ()), since, before)
        ranking_actions.rank_stored(data, how, asked, chosen, csv, as_json=json)
