"""The commands of the store: what can be asked, with which options. `main` hangs them beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.option_groups import AboutRound, grouped
from hero_eval.io.exports.tool_names import TOOLS

_PANEL = "Store: rounds that accumulate"

store_app = typer.Typer()


@store_app.command(rich_help_panel=_PANEL, epilog="Example:\n  hero init --store hero-store")
@grouped
def init(
    *,
    path: Annotated[str | None, typer.Argument(metavar="PATH", help="As --store.", show_default=False)] = None,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
) -> None:
    """Make an empty store."""
    from hero_eval.cli import store_actions

    store_actions.init(path or store, as_json=json)


@store_app.command(
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero add rounds/may --round 2026-w46 --model v7 --question defect\n"
        "  hero add --round 2026-w46 --gold late-gold.csv\n"
        "  hero add votes.csv --round 2026-w46 --question chat"
    ),
)
@grouped
def add(
    *,
    round: kept.NewRound,
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help=f"The round: {given.ROUND}.", show_default=False)
    ] = None,
    about: AboutRound,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
) -> None:
    """Add a round to the store, or late labels and gold to one that is there."""
    from hero_eval.cli import store_actions

    store_actions.add(store, path, round, about, as_json=json)


@store_app.command(
    "import",
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero import export.json --dry-run\n"
        "  hero import export.json --round 2026-w46 --question defect --expert 'lead@*'"
    ),
)
@grouped
def import_(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What a tool exported.", show_default=False)],
    round: Annotated[
        str | None,
        typer.Option("--round", metavar="NAME", help="The name of the round; not needed to look.", show_default=False),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TOOL",
            help=f"{', '.join(list(TOOLS)[:-1])} or {list(TOOLS)[-1]}; without it the file tells.",
            show_default=False,
        ),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="NAME",
            help="Which of the file's questions or scores to take; may be repeated.",
            show_default=False,
        ),
    ] = None,
    labeler_columns: Annotated[
        str | None,
        typer.Option(
            "--labeler-columns",
            metavar="A,B,...",
            help="The columns of a wide table that are labelers; without it they are recognized.",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            metavar="trace|observation",
            help="What one item of Langfuse is: a trace with its observations (without it), or each observation.",
            show_default=False,
        ),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of several models in a file of promptfoo this one; without it each becomes a round.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be imported, and change nothing.")
    ] = False,
    about: AboutRound,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
) -> None:
    """Add what a labeling or evaluation tool exported."""
    from hero_eval.cli import importing

    how = importing.HowToImport(tool, tuple(field or ()), labeler_columns, dry_run, item, provider, about.criterion)
    importing.import_file(store, file, how, round, about, as_json=json)


@store_app.command(
    rich_help_panel=_PANEL, epilog="Examples:\n  hero rounds\n  hero rounds --question defect --store hero-store"
)
@grouped
def rounds(
    *,
    question: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only rounds of this question.", show_default=False)
    ] = None,
    removed: Annotated[bool, typer.Option("--removed", help="Those that were removed.")] = False,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
) -> None:
    """The rounds of the store, oldest first."""
    from hero_eval.cli import store_actions

    store_actions.rounds(store, question, removed=removed, as_json=json)


@store_app.command("show", rich_help_panel=_PANEL, epilog="Example:\n  hero show 2026-w46")
@grouped
def show_(
    *,
    round: Annotated[
        str | None,
        typer.Argument(
            metavar="ROUND",
            autocompletion=kept.complete_round,
            help="A round of the store; without it the store itself.",
            show_default=False,
        ),
    ] = None,
    store: kept.StorePath = kept.DEFAULT_STORE,
    json: given.AsJson = False,
) -> None:
    """What the store knows of a round: data, labelers, changes, estimates."""
    from hero_eval.cli import store_actions

    store_actions.show_round(store, round, as_json=json)


@store_app.command(rich_help_panel=_PANEL, epilog="Example:\n  hero remove 2026-w46")
@grouped
def remove(*, round: kept.StoredRound, store: kept.StorePath = kept.DEFAULT_STORE, json: given.AsJson = False) -> None:
    """Take a round out of the store; hero restore brings it back."""
    from hero_eval.cli import store_actions

    store_actions.remove(store, round, as_json=json)


@store_app.command(rich_help_panel=_PANEL, epilog="Example:\n  hero restore 2026-w46")
@grouped
def restore(*, round: kept.StoredRound, store: kept.StorePath = kept.DEFAULT_STORE, json: given.AsJson = False) -> None:
    """Bring back a round that was removed."""
    from hero_eval.cli import store_actions

    store_actions.restore(store, round, as_json=json)


@store_app.command(
    rich_help_panel=_PANEL,
    epilog=(
        "Examples:\n"
        "  hero serve --store hero-store\n"
        "  HERO_TOKEN=$(openssl rand -hex 16) hero serve --host 0.0.0.0 --port 8080\n"
        "  hero serve --public-url https://evals.example.org --proxy-headers 127.0.0.1"
    ),
)
@grouped
def serve(
    *,
    host: kept.Host = "127.0.0.1",
    port: kept.Port = 8000,
    token: kept.Token = None,
    max_upload: kept.MaxUpload = 200,
    processes: kept.Processes = 1,
    max_memory: kept.MaxMemory = 4000,
    max_seconds: kept.MaxSeconds = 900,
    public_url: kept.PublicUrl = None,
    proxy_headers: kept.ProxyHeaders = None,
    gold_token: kept.GoldToken = None,
    images: kept.Images = None,
    no_save: kept.NoRecord = False,
    store: kept.StorePath = kept.DEFAULT_STORE,
) -> None:
    """Show the store in the browser: rounds, models, labelers, backtest, upload, giving gold; and a JSON API."""
    from hero_eval.cli import store_actions

    store_actions.serve(
        store,
        host=host,
        port=port,
        token=token,
        max_upload=max_upload,
        processes=processes,
        max_memory=max_memory,
        max_seconds=max_seconds,
        public_url=public_url,
        proxy_headers=proxy_headers,
        gold_token=gold_token,
        images=images,
        saves=not no_save,
    )


@store_app.command(
    rich_help_panel=_PANEL,
    epilog="Example, as an assistant's configuration names it:\n  hero mcp --store hero-store",
)
def mcp(
    store: kept.StorePath = kept.DEFAULT_STORE,
    write: Annotated[
        bool, typer.Option("--write", help="Record the estimates that are asked for; without it nothing is changed.")
    ] = False,
) -> None:
    """Let an assistant ask the store, over the Model Context Protocol on standard input and output."""
    from hero_eval.cli import store_actions

    store_actions.mcp(store, write=write)


@store_app.command(rich_help_panel=_PANEL, epilog="Example:\n  hero reproduce 3f2a9c")
@grouped
def reproduce(
    *,
    estimate: Annotated[str, typer.Argument(metavar="ESTIMATE", help="The id of a recorded estimate, or its start.")],
    store: kept.StorePath = kept.DEFAULT_STORE,
) -> None:
    """Make a recorded estimate again and print its JSON, byte for byte."""
    from hero_eval.cli import store_actions

    store_actions.reproduce(store, estimate)


keeping_app = typer.Typer(no_args_is_help=True, help="Look after the store: what is whole, and how large it is.")
store_app.add_typer(keeping_app, name="store", rich_help_panel=_PANEL)


@keeping_app.command(epilog="Example:\n  hero store check --store hero-store")
@grouped
def check(*, store: kept.StorePath = kept.DEFAULT_STORE, json: given.AsJson = False) -> None:
    """Read everything in the store and say what is whole; exit code 2 if something is not."""
    from hero_eval.cli import store_actions

    store_actions.check(store, as_json=json)


@keeping_app.command(epilog="Example:\n  hero store compact --store hero-store")
@grouped
def compact(*, store: kept.StorePath = kept.DEFAULT_STORE, json: given.AsJson = False) -> None:
    """Put small files together and remove what was replaced; no round, version or estimate is lost."""
    from hero_eval.cli import store_actions

    store_actions.compact(store, as_json=json)
