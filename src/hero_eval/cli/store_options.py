"""Options that the commands of the store share, each explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.errors import wrong

_STORE = "The store"
DEFAULT_STORE = "hero-store"


def complete_round(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of stored rounds, for the shell. Whatever goes wrong, completing goes on without."""
    try:
        from hero_eval import open_store

        place = ctx.params.get("store") or DEFAULT_STORE
        return [row.round for row in open_store(place).rounds() if row.round.startswith(incomplete)]
    except Exception:
        return []


StorePath = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="HERO_STORE",
        metavar="PATH",
        help="The store: a folder or an object-store URL.",
        rich_help_panel=_STORE,
    ),
]
RoundName = Annotated[
    str | None,
    typer.Option(
        "--round",
        metavar="NAME",
        help="A round of the store, instead of files; its history is that of the store.",
        rich_help_panel=_STORE,
        autocompletion=complete_round,
        show_default=False,
    ),
]
NewestOf = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="NAME",
        help="The newest round of this question in the store; without it the store's only question.",
        rich_help_panel=_STORE,
        show_default=False,
    ),
]
FromQuestion = Annotated[
    str | None,
    typer.Option(
        "--from-question",
        metavar="NAME",
        help="History from rounds of this question; without it the round's own.",
        rich_help_panel=_STORE,
        show_default=False,
    ),
]
OfQuestion = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="NAME",
        help="Rounds of this question; without it the store's only one.",
        rich_help_panel=_STORE,
        show_default=False,
    ),
]
FromModels = Annotated[
    list[str] | None,
    typer.Option(
        "--from-model",
        metavar="NAME",
        help="History only from rounds of this model; may be repeated.",
        rich_help_panel=_STORE,
        show_default=False,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="History only from this day, week (2026-w40) or month on.",
        rich_help_panel=_STORE,
        show_default=False,
    ),
]
Before = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="History only from before this day, week or month.",
        rich_help_panel=_STORE,
        show_default=False,
    ),
]
NoSave = Annotated[
    bool, typer.Option("--no-save", help="Do not record the estimate in the store.", rich_help_panel=_STORE)
]
NewRound = Annotated[
    str,
    typer.Option(
        "--round",
        metavar="NAME",
        help="The name of the round; one that is there gets these as late labels and gold.",
        show_default=False,
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="What is asked of the items; without it the store's only question.", show_default=False
    ),
]
Model = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model, or its version, that made the items.", show_default=False)
]
Date = Annotated[
    str | None,
    typer.Option(
        metavar="DATE", help="The round's day; without it the one in its name, else unknown.", show_default=False
    ),
]
GoldFile = Annotated[
    Path | None, typer.Option("--gold", metavar="FILE", help="A table with item and gold.", show_default=False)
]
GoldSource = Annotated[
    str | None, typer.Option("--gold-source", metavar="NAME", help="Who wrote the gold.", show_default=False)
]
LabelersFile = Annotated[
    str | None,
    typer.Option(
        "--labelers",
        metavar="A,B,... | FILE",
        help="Only these labelers, or the columns of a wide table that are; or a table that says who they are: "
        "labeler and kind, model, prompt, settings, vendor, group.",
        show_default=False,
    ),
]
Experts = Annotated[
    list[str] | None,
    typer.Option(
        "--expert",
        metavar="LABELER",
        help="What this labeler said is gold, not labels; * stands for any text; may be repeated.",
        show_default=False,
    ),
]
ExistOk = Annotated[bool, typer.Option("--exist-ok", help="It is fine if all of this is in the store already.")]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Any other than this machine's own demands a token.")]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0 takes a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="HERO_TOKEN",
        metavar="TEXT",
        help="Who has it may come in; better set as HERO_TOKEN, since everybody here can see a command line.",
        show_default=False,
        show_envvar=False,
    ),
]
MaxUpload = Annotated[int, typer.Option("--max-upload", metavar="MB", help="The largest file that is taken.")]
Processes = Annotated[int, typer.Option(metavar="N", help="Processes that estimate beside the server.")]
MaxMemory = Annotated[
    int, typer.Option("--max-memory", metavar="MB", help="What each of these may hold; half of it to read an upload.")
]
MaxSeconds = Annotated[
    int,
    typer.Option("--max-seconds", metavar="S", help="How long one piece of work may take; a fifth to read an upload."),
]
PublicUrl = Annotated[
    str | None,
    typer.Option(
        "--public-url",
        metavar="URL",
        help="Where people open the page if a proxy stands before it; no other name is answered.",
        show_default=False,
    ),
]
ProxyHeaders = Annotated[
    str | None,
    typer.Option(
        "--proxy-headers",
        metavar="ADDRESSES",
        help="Proxies whose X-Forwarded-For and -Proto are believed, separated by commas.",
        show_default=False,
    ),
]
GoldToken = Annotated[
    str | None,
    typer.Option(
        "--gold-token",
        envvar="HERO_GOLD_TOKEN",
        metavar="TEXT",
        help="Who has it may give gold and sees nothing else; needs --token. Better set as HERO_GOLD_TOKEN.",
        show_default=False,
        show_envvar=False,
    ),
]
Images = Annotated[
    str | None,
    typer.Option(
        "--images",
        metavar="FOLDER",
        help="Show pictures that items name, from this folder, to whoever gives gold.",
        show_default=False,
    ),
]
NoRecord = Annotated[bool, typer.Option("--no-save", help="Do not record what the pages estimate in the store.")]
StoredRound = Annotated[
    str, typer.Argument(metavar="ROUND", autocompletion=complete_round, help="A round of the store.")
]


def typed(context: typer.Context, option: str) -> bool:
    """Whether the option is on the command line, and not of a file of defaults."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def store_named(context: typer.Context) -> bool:
    """Whether the caller chose the store, by an option or HERO_STORE, and did not just leave it at what it would be."""
    source = context.get_parameter_source("store")
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def refuse_beside_files(context: typer.Context, *options: str) -> None:
    """E204 for options that choose among rounds of the store where files are named: they would do nothing."""
    named = [f"--{name.replace('_', '-')}" for name in options if typed(context, name)]
    if named:
        from hero_eval import phrasing

        verb = "chooses" if len(named) == 1 else "choose"
        raise wrong("E204", f"{phrasing.join(named)} {verb} among rounds of the store, and files are named")
