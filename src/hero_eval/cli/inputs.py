"""From the command's arguments to rounds, with the problems of all of them gathered before any is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_eval.cli.option_groups import Reading
from hero_eval.cli.problems import Problems
from hero_eval.cli.progress import Activity
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.name_lists import mapping, names, split

if TYPE_CHECKING:
    from hero_eval.round import Round


@dataclass(frozen=True)
class Data:
    """Which rounds to read, and how."""

    currents: Sequence[Path] = ()
    history: Sequence[Path] = ()
    reading: Reading = field(default_factory=Reading)
    positive: str | None = None
    covariates: str | None = None
    text: str | None = None
    flag: str | None = None
    one_positive: bool = False
    """Whether several positive classes make no sense."""
    at_least: float | None = None
    """The gold from which on an item counts."""


@dataclass(frozen=True)
class Rounds:
    """What was read. `history` is None if no path was given."""

    currents: tuple[Round, ...]
    history: tuple[Round, ...] | None
    covariates: list[str] | None
    text: str | None
    positive: list[str] | None
    """Only if several classes are named; a single one is known to the rounds."""
    at_least: float | None = None


def read_rounds(data: Data, doing: Activity, problems: Problems | None = None) -> Rounds:
    """Read all rounds; `problems` are those that the caller has found already."""
    problems = Problems() if problems is None else problems
    options = _reading_options(data, problems)
    positive = problems.attempt(lambda: names("--positive", data.positive))
    single = positive[0] if positive is not None and len(positive) == 1 else None
    problems.attempt(lambda: _refuse_twice(data.history))
    if data.one_positive and positive is not None and single is None:
        problems.errors.append(wrong("E203", f"--positive is {data.positive!r}. Here it names a single class."))

    def read(path: Path, positive: str | None) -> Round | None:
        doing.say(f"Reading {path}")
        return problems.attempt(lambda: _read(path, options | {"positive": positive}))

    currents = [read(path, single) for path in data.currents]
    history = [read(path, None if data.currents else single) for path in data.history]
    if data.flag is not None and currents[0] is not None:
        current, flag = currents[0], data.flag
        problems.attempt(lambda: current.flags(flag))
    problems.raise_any()
    return Rounds(
        currents=tuple(one for one in currents if one is not None),
        history=tuple(one for one in history if one is not None) if history else None,
        covariates=options["covariates"],
        text=data.text,
        positive=None if single is not None else positive,
        at_least=data.at_least,
    )


def _reading_options(data: Data, problems: Problems) -> dict[str, Any]:
    said = asdict(data.reading)
    return {
        "columns": problems.attempt(lambda: mapping("--column is", said.pop("column") or ())),
        "classes": problems.attempt(lambda: split("--classes", said.pop("classes"))),
        "covariates": problems.attempt(lambda: names("--covariates", data.covariates)),
        "missing": problems.attempt(lambda: names("--missing", said.pop("missing"))),
        "map": problems.attempt(lambda: mapping("--map is", split("--map", said.pop("map")) or ()) or None),
        "text": data.text,
        **said,
    }


def _read(path: Path, options: dict[str, Any]) -> Round:
    """The round, or its problems with the path in front where the message does not tell it."""
    from hero_eval import read_round

    try:
        return read_round(path, **options)
    except InputError as error:
        raise InputError(_placed(path, problem) for problem in error.problems) from error


def _placed(path: Path, problem: Problem) -> Problem:
    of_call = (
        "classes=",
        "missing names",
        "label_kind is",
        "map is",
        "map names",
        "engine is",
        "memory_limit ",
        "spark ",
        "engine='spark'",
    )
    about_call = problem.message.startswith(of_call)
    if about_call or str(path) in problem.message or (path.is_file() and path.name in problem.message):
        return problem
    return Problem(problem.code, f"{path}: {problem.message}")


def _refuse_twice(paths: Sequence[Path]) -> None:
    """A past round counted twice would make its gold look like twice as much."""
    seen: dict[Path, Path] = {}
    for path in paths:
        place = path.absolute()
        if place in seen:
            raise wrong("E201", f"--history names {path} twice. Name each past round once.")
        seen[place] = path
