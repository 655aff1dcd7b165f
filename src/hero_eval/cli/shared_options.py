"""Options that several commands share, each explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ROUND = "a folder with labels, gold and items, or one table, long or wide (one column per labeler)"


def some(*paths: Path | None) -> list[Path]:
    """The paths that were given."""
    return [path for path in paths if path is not None]


_DATA, _ESTIMATE, _OUTPUT = "How to read the data", "How to estimate", "Output"

Current = Annotated[
    Path | None, typer.Argument(metavar="CURRENT", help=f"The round to be estimated: {ROUND}.", show_default=False)
]
Histories = Annotated[
    list[Path] | None,
    typer.Option(
        "--history",
        metavar="PATH",
        help="Past rounds with some gold: paths, a pattern ('rounds/2026-*') or a folder of rounds; may be repeated.",
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
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Answers that count as not given, such as unsure,skip.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
LabelKind = Annotated[
    str | None,
    typer.Option(
        metavar="score|answer",
        help="What labels are: scores, numbers on a scale of each labeler's own, or answers. Else as labels look.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
AnswerMap = Annotated[
    str | None,
    typer.Option(
        metavar="A=B,...",
        help="Answers that are read as others, such as good=1,bad=0.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Labelers = Annotated[
    str | None,
    typer.Option(
        "--labelers",
        "--only-labelers",
        metavar="A,B,...",
        help="Only these labelers; in a wide table, the columns that are labelers. Else all, or as recognized.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
ExcludeLabelers = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Labelers to leave out; * stands for any text.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Experts = Annotated[
    list[str] | None,
    typer.Option(
        "--expert",
        metavar="LABELER",
        help="What this labeler said is gold, not labels; * stands for any text; may be repeated.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Criterion = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of several criteria in one table this one: columns NAME_gpt or gpt_NAME, rows with criterion NAME.",
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
AtLeast = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Where gold is numbers: the share whose gold is this or more, instead of the mean.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who counts the labels: memory, duckdb or spark; without it memory, and duckdb for large files.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="How much memory DuckDB may use, such as 4GB; the rest goes to disk.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Spark = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The Spark master that counts the labels, such as spark://host:7077.",
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
        help="Columns of the items (numbers, categories, vectors), or labeler:NAME, to sharpen the estimate with.",
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
    str | None,
    typer.Option(
        metavar="KIND",
        help="influence, profile, bootstrap, anytime (holds at every look), or paper (too short); else the safe one.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Items with the same value here (a prompt, say) are not independent; `item` takes the ids themselves.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
Replicates = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Bootstrap replicates, 1,000 by default.", rich_help_panel=_ESTIMATE, show_default=False
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Seed of the bootstrap.", rich_help_panel=_ESTIMATE, show_default=False),
]
Groups = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A table with labeler and group: a new labeler counts as its group does.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
Shrinkage = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="Fit history with so many pseudo-answers per labeler and class, such as 3; without it none.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="One estimate for each value of this column, with intervals that hold together.",
        rich_help_panel=_ESTIMATE,
        show_default=False,
    ),
]
FailBelow = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Exit with 4 unless we are sure, at the level, that the value is at least X.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
FailAbove = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Exit with 4 unless we are sure, at the level, that the value is at most X.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Looks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Of a gate: how often it may be asked of this round as it grows; each look gets its part of the error.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
AsMarkdown = Annotated[
    bool, typer.Option("--markdown", help="Print Markdown instead of plain text.", rich_help_panel=_OUTPUT)
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show all findings, one by one.", rich_help_panel=_OUTPUT)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show the answer alone, without progress.", rich_help_panel=_OUTPUT)
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of text.", rich_help_panel=_OUTPUT)
]
