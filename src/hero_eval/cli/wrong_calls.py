"""Calls that the parser of the command line refuses, told as all other problems are: what is wrong, and what to do."""

from __future__ import annotations

import math
import re
from typing import Any

import typer

from hero_eval.errors import HeroError, wrong

WrongCall: type[Exception] = typer.BadParameter.__bases__[0]
"""What the parser raises. Typer has had it from click, and has it as its own by now; the base is the same in both."""
_NO_NUMBER = re.compile(r"'(.*)' is not a valid (float|integer)", re.DOTALL)
_EXTRA = re.compile(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)


def is_wrong_call(error: Exception) -> bool:
    """Whether this is about the call; a command without arguments that shows its help is not."""
    return isinstance(error, WrongCall) and type(error).__name__ != "NoArgsIsHelpError"


def told(error: Any) -> HeroError:
    """E201 with what the parser found."""
    context = error.ctx
    path = "hero" if context is None else context.command_path
    help_of = f"{path} --help"
    parameter = getattr(error, "param", None)
    if hasattr(error, "param_type") and parameter is not None:
        name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar or parameter.name
        about = (getattr(parameter, "help", None) or "").rstrip(".")
        return wrong("E201", f"{path} needs {name}{f' ({about})' if about else ''}. See {help_of}")
    said = error.format_message().rstrip(".")
    number = _no_number(error, said)
    if number is not None and parameter is not None:
        value, whole = number
        better = _meant(value)
        kind = "a whole number" if whole else "a number"
        advice = f" Write {better}." if better is not None and not whole else ""
        return wrong("E201", f"{parameter.opts[-1]} is {value!r}, which is not {kind}.{advice} See {help_of}")
    extra = _EXTRA.search(said)
    if extra is not None:
        options = {name for one in context.command.params for name in one.opts}
        history = " Past rounds are named by --history." if "--history" in options else ""
        return wrong("E201", f"{path} does not know what to do with {extra[1]}.{history} See {help_of}")
    return wrong("E201", f"{said[:1].lower()}{said[1:]}{'' if said.endswith('?') else '.'} See {help_of}")


def _no_number(error: Exception, said: str) -> tuple[str, bool] | None:
    """What was given where a number is wanted, and whether it should be a whole one; Typer's older parser names it."""
    found = _NO_NUMBER.search(said)
    if found is not None:
        return found[1], found[2] == "integer"
    about: list[Any] = getattr(error.__cause__, "errors", list)()
    kind = about[0]["type"] if about else ""
    return (str(about[0]["input"]), kind.startswith("int")) if kind.startswith(("float", "int")) else None


def _meant(text: str) -> str | None:
    """A share written as a percentage, or a decimal comma, as the number to write."""
    share, percent, _ = text.strip().replace(",", ".").partition("%")
    try:
        number = float(share)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return f"{number / 100:.12g}" if percent else f"{number:.12g}"
