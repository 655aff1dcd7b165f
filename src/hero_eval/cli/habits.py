"""What people type by habit: several values after one option, and --verbose or --quiet behind any command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hero_eval.errors import wrong

_HELP = ("--help", "-h")
SPREAD = ("--history",)
"""Options that take all values up to the next option: `--history r1 r2 r3`."""


@dataclass(frozen=True)
class HowMuch:
    """How much a command says."""

    verbose: bool = False
    quiet: bool = False


_HOW_MUCH: ContextVar[HowMuch | None] = ContextVar("how_much", default=None)


@contextmanager
def saying(verbose: bool, quiet: bool) -> Iterator[None]:
    """While a command runs."""
    token = _HOW_MUCH.set(HowMuch(verbose, quiet))
    try:
        yield
    finally:
        _HOW_MUCH.reset(token)


def how_much() -> HowMuch:
    """What the command that runs was told."""
    return _HOW_MUCH.get() or HowMuch()


def spread(command: Any, arguments: Sequence[str]) -> list[str]:
    """The arguments with `--history r1 r2 r3` as `--history r1 --history r2 --history r3`.

    Before the first such option, what is no option is the command's own argument. If nothing came there, the last
    values are: `--history april may` estimates may, as many as the command takes.
    """
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    if not any(name in options for name in SPREAD):
        return list(arguments)
    own_arguments = [one for one in command.params if one.param_type_name == "argument"]
    room = sum(one.nargs if one.nargs > 0 else len(arguments) for one in own_arguments)
    out: list[str] = []
    own, place = 0, 0
    while place < len(arguments):
        one = arguments[place]
        place += 1
        out.append(one)
        if one == "--":
            return [*out, *arguments[place:]]
        if one in SPREAD:
            values = _values(arguments[place:])
            place += len(values)
            later = own or _has_argument(options, arguments[place:])
            rest = 0 if later else min(room, max(len(values) - 1, 0))
            taken = values[: len(values) - rest]
            out.pop()
            out += [part for value in taken for part in (one, value)] or [one]
            out += values[len(values) - rest :]
            own += rest
        elif one.startswith("-") and one != "-":
            taken_one = options.get(one)
            if taken_one is not None and not getattr(taken_one, "is_flag", False) and place < len(arguments):
                out.append(arguments[place])
                place += 1
        else:
            own += 1
    return out


def _values(arguments: Sequence[str]) -> list[str]:
    """What comes before the next option; `-` alone is standard input."""
    out = []
    for one in arguments:
        if one.startswith("-") and one != "-":
            break
        out.append(one)
    return out


def _has_argument(options: dict[str, Any], arguments: Sequence[str]) -> bool:
    """Whether an argument of the command's own comes later, behind other options."""
    place = 0
    while place < len(arguments):
        one = arguments[place]
        place += 1
        if one in SPREAD:
            place += len(_values(arguments[place:]))
        elif one.startswith("-") and one != "-":
            known = options.get(one)
            place += 0 if known is None or getattr(known, "is_flag", False) else 1
        else:
            return True
    return False


def without_slips(command: Any, arguments: list[str]) -> list[str]:
    """The arguments as they are; E201 for an option that there is not, and for one that is given two values.

    The last value would win: a round or a gate that was named first would be gone without a word.
    """
    if hasattr(command, "commands"):  # its own commands have the options
        return arguments
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    given: dict[str, str] = {}
    rest = iter(arguments)
    for one in rest:
        if one == "--":
            break
        name, equals, value = one.partition("=")
        if not name.startswith("--") and name not in options:
            continue
        option = options.get(name)
        if option is None and name in _HELP:
            return arguments
        if option is None:
            from hero_eval.io.values import nearest

            near = nearest(name, [known for known in options if known.startswith("--")])
            meant = f" Did you mean {near}?" if near is not None else ""
            raise wrong("E201", f"there is no option {name}.{meant} All options: hero {command.name} --help")
        if getattr(option, "is_flag", False):
            continue
        value = value if equals else next(rest, "")
        if not option.multiple and given.setdefault(option.name, value) != value:
            other = " The second round is --other-round." if name == "--round" and "--other-round" in options else ""
            raise wrong("E201", f"{name} is given twice, {given[option.name]!r} and {value!r}. Give it once.{other}")
    return arguments
