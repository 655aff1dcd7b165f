"""How a command ends: problems on stderr with the exit code they deserve, and never a traceback for the user's data."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from hero_eval.cli import json_output
from hero_eval.cli.interrupts import INTERRUPTED, MESSAGE
from hero_eval.cli.wrong_calls import WrongCall, is_wrong_call, told
from hero_eval.errors import HeroError, wrong
from hero_eval.phrasing import printable

WIDEST, NARROWEST = 80, 20
READER_GONE = 141
"""What a shell reports of a program whose reader closed the pipe."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


_JSON = "hero_eval.json"


class ExitCodeGroup(TyperGroup):
    """All commands, run under `with_exit_codes`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = args[: args.index("--")] if "--" in args else args
        json_output.begin()
        ctx.meta[_JSON] = "--json" in own  # before the call is understood: a call that is not is refused in JSON, too
        with with_exit_codes(as_json=wants_json(ctx)), _told_calls():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with with_exit_codes(as_json=wants_json(ctx)), _told_calls():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for one in [] if command is None else [command, *getattr(command, "commands", {}).values()]:
            _without_types([*one.params, one.get_help_option(ctx)])
        return command

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    """Flags without the word for their type, which help would show as if it were to be typed."""
    for one in parameters:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
    return parameters


@contextmanager
def _told_calls() -> Iterator[None]:
    """What the parser refuses, as a problem with a code."""
    try:
        yield
    except WrongCall as error:
        if not is_wrong_call(error):
            raise
        raise told(error) from None


def wants_json(ctx: Any) -> bool:
    """Whether the call asks for a JSON document."""
    return bool(ctx.meta.get(_JSON))


@contextmanager
def with_exit_codes(*, as_json: bool = False) -> Iterator[None]:
    """Turn what may be expected to go wrong into a message and an exit code; let bugs through.

    `as_json`: the refusal is the document on stdout, too; people read it on stderr as ever.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except HeroError as error:
        report(error)
        if as_json:
            with suppress(OSError):  # what cannot be said does not change how the command ends
                json_output.show_refusal(error)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        say(MESSAGE)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _stop_writing()
        raise typer.Exit(READER_GONE) from None
    except OSError as error:
        raise typer.Exit(output_failed(error)) from None


def output_failed(error: OSError) -> int:
    """Say that the output cannot be written, and the code to end with; raises again what is something else."""
    if error.errno not in _NO_ROOM:
        raise error
    _stop_writing()
    if isinstance(error.__context__, HeroError):
        report(error.__context__)
    report(wrong("E213", f"the output cannot be written: {error.strerror}. Free some space, or write elsewhere."))
    return HeroError.exit_code


def report(error: HeroError) -> None:
    """Each problem, code first."""
    for problem in error.problems:
        say(str(problem))


def say(text: str, *, whole: bool = False) -> None:
    """A sentence on stderr, folded as pages are on stdout; words, and so paths and options, stay whole.

    `whole`: on one line, whatever its length, for programs that wait for it.
    """
    with suppress(OSError):  # what cannot be said does not change how the command ends
        sys.stderr.write((printable(text) if whole else folded(text, error_width())) + "\n")
        sys.stderr.flush()


def error_width() -> int:
    """Columns of a message: those of the terminal, 80 in a log, and never more."""
    return max(min(shutil.get_terminal_size().columns, WIDEST), NARROWEST)


def folded(text: str, width: int) -> str:
    return textwrap.fill(
        printable(text), width, subsequent_indent=" " * 5, break_long_words=False, break_on_hyphens=False
    )


def _stop_writing() -> None:
    """Let the interpreter's last flush go nowhere instead of failing again."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
