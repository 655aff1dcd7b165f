"""Options that several commands share, each explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ROUND = "a folder with labels, gold and items, or one table"

_DATA, _ESTIMATE, _OUTPUT = "How to read the data", "How to estimate", "Output"

Current = Annotated[
    Path, typer.Argument(metavar="CURRENT", help=f"The round to be estimated: {ROUND}.", show_default=False)
]
Histories = Annotated[
    list[Path] | None,
    typer.Option(
        "--history",
        metavar="PATH",
        help="A past round with some gold; give the option once for each past round.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="OURS=THEIRS",
        help="What your tables call a column, such as labeler=rater; may be repeated.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="All possible answers, in order; of two, the last is the positive one.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        help="The class whose rate is asked for.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Positives = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="C[,C2]",
        help="The class, or classes, whose rate is asked for.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The method, see `hero methods`; without it the best that the data allow.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
Covariates = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Numeric columns of the items, or labeler:NAME, to sharpen the estimate with.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="A text column of the items, such as the prompt, whose words are covariates.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
Penalty = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Ridge penalty on the covariates, 0 for none; without it one is chosen.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
Level = Annotated[
    float,
    typer.Option(metavar="SHARE", help="Confidence level of the intervals.", rich_help_panel=_ESTIMATE),
]
Interval = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="influence, or paper: as published, with reliabilities taken as known (too short).",
        rich_help_panel=_ESTIMATE,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of text.", rich_help_panel=_OUTPUT)
]
