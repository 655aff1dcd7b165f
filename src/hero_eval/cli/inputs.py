"""From the command's arguments to rounds, with the problems of all of them gathered before any is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_eval.cli.option_groups import Reading
from hero_eval.cli.problems import Problems
from hero_eval.cli.progress import Activity
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.io.column_names import called_like_an_expert
from hero_eval.name_lists import MAPPED, mapping, names, split

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
    by: str | None = None
    cluster: str | None = None
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
    past = problems.attempt(lambda: _stands_for(data)) or []
    problems.attempt(lambda: _refuse_twice(past))
    if data.one_positive and positive is not None and single is None:
        problems.errors.append(wrong("E203", f"--positive is {data.positive!r}. Here it names a single class."))

    used = tuple(one for one in (data.flag, data.by, data.cluster) if one is not None)

    of_past = Problems()

    several = len(past) + len(data.currents) > 1

    def read(path: Path, positive: str | None, known: frozenset[str], found: Problems = problems) -> Round | None:
        doing.say(f"Reading {path}")
        return found.attempt(lambda: _read(path, options | {"positive": positive}, used, known, several))

    history = [read(path, None if data.currents else single, frozenset(), of_past) for path in past]
    known = frozenset(name for one in history if one is not None for name in one.labelers)
    described = {
        name for one in history if one is not None for name in one.column_names if not called_like_an_expert(name)
    }
    used = (*used, *sorted(described - known))  # what described items then is no labeler's now
    currents = [read(path, single, known) for path in data.currents]
    problems.errors += of_past.errors  # what is wrong with the round that is asked for comes first
    problems.attempt(lambda: _refuse_unknown_labelers(options, [*history, *currents]))
    problems.attempt(lambda: _refuse_idle_names(options, [*history, *currents]))
    problems.attempt(lambda: _refuse_idle_gold(options, [*history, *currents]))
    history, currents = _with_idle_note(history, currents)
    history = _with_note(history, data.history, past)
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
        "map": problems.attempt(lambda: mapping("--map is", split("--map", said.pop("map")) or (), MAPPED) or None),
        "labelers": problems.attempt(lambda: names("--labelers", said.pop("labelers"))),
        "exclude_labelers": problems.attempt(lambda: names("--exclude-labelers", said.pop("exclude_labelers"))),
        "text": data.text,
        **said,
    }


def _stands_for(data: Data) -> list[Path]:
    """The past rounds that were named, one by one, by a pattern or as a folder."""
    from hero_eval.io.several import stands_for

    return [one for path in data.history for one in stands_for(path, data.currents)]


def _with_note(history: list[Round | None], asked: Sequence[Path], found: Sequence[Path]) -> list[Round | None]:
    """What a pattern or folder stood for is said by the first past round."""
    from hero_eval.io.several import which_rounds

    note = which_rounds(asked, found)
    if note is None or not history or history[0] is None:
        return history
    return [history[0].noted(note), *history[1:]]


def _refuse_unknown_labelers(options: dict[str, Any], rounds: Sequence[Round | None]) -> None:
    """E131 for a labeler that was named and that no round has; each alone may lack some of them."""
    from hero_eval.findings import name_some
    from hero_eval.io.tables import meant

    if any(one is None for one in rounds) or options["labelers"] is None:
        return
    there = sorted({name for one in rounds if one is not None for name in one.labelers})
    absent = [one for one in options["labelers"] if one not in there]
    if absent and not (options["exclude_labelers"] and set(absent) <= set(options["exclude_labelers"])):
        raise wrong(
            "E131",
            f"--labelers names {name_some(absent)}, which no round has. {_there(rounds)}"
            f"{meant(absent[0], [*there, *_columns(rounds)])} Name labelers that are there.",
        )


def _refuse_idle_names(options: dict[str, Any], rounds: Sequence[Round | None]) -> None:
    """E131 for labelers that are to be left out, or are experts, and that no round has."""
    from fnmatch import fnmatchcase

    from hero_eval.findings import name_some
    from hero_eval.io.tables import meant

    read = [one for one in rounds if one is not None]
    if len(read) < len(rounds) or not read:
        return
    for option, code in (("exclude_labelers", "F123"), ("expert", "F130")):
        met = {name for one in read for note in one.notes if note.code == code for name in note.data["labelers"]}
        idle = [one for one in options[option] or () if not any(fnmatchcase(name, one) for name in met)]
        if idle:
            there = sorted(met.union(*(one.labelers for one in read)))
            raise wrong(
                "E131",
                f"--{option.replace('_', '-')} names {name_some(idle)}, which no round has. {_there(read)}"
                f"{meant(idle[0], [*there, *_columns(read)])} Name labelers that are there.",
            )


def _columns(rounds: Sequence[Round | None]) -> list[str]:
    """Columns of the items of all rounds."""
    return list(dict.fromkeys(name for one in rounds if one is not None for name in one.column_names))


def _there(rounds: Sequence[Round | None]) -> str:
    """What could have been named."""
    from hero_eval.findings import name_some

    labelers = sorted({name for one in rounds if one is not None for name in one.labelers})
    others = _columns(rounds)
    return f"Labelers: {name_some(labelers, 12)}." + (f" Other columns: {name_some(others, 12)}." if others else "")


def _refuse_idle_gold(options: dict[str, Any], rounds: Sequence[Round | None]) -> None:
    """E104 for a column of gold that was named and that no round has; one alone may lack it."""
    from hero_eval.io.idle import idle_of
    from hero_eval.io.tables import meant

    read = [one for one in rounds if one is not None]
    column = (options["columns"] or {}).get("gold")
    if column is None or len(read) < max(len(rounds), 1) or ("gold", column) not in idle_of(read):
        return
    there = [*sorted({name for one in read for name in one.labelers}), *_columns(read)]
    raise wrong(
        "E104", f"--column gold={column}: no round has a column {column!r}. {_there(read)}{meant(column, there)}"
    )


def _with_idle_note(
    history: list[Round | None], currents: list[Round | None]
) -> tuple[list[Round | None], list[Round | None]]:
    """What --missing and --map name and no round has is said by the round that is asked for, or by the first past one.

    Each round alone may lack some of it.
    """
    from hero_eval.io.idle import idle_note, idle_of

    read = [one for one in (*currents, *history) if one is not None]
    if len(read) < len(history) + len(currents) or not read:
        return history, currents
    note = idle_note(idle_of(read))
    if note is None:
        return history, currents
    if currents and currents[0] is not None:
        return history, [currents[0].noted(note), *currents[1:]]
    assert history[0] is not None
    return [history[0].noted(note), *history[1:]], currents


def _read(
    path: Path, options: dict[str, Any], used: tuple[str, ...], known: frozenset[str], several: bool = False
) -> Round:
    """The round, or its problems with the path in front where the message does not tell it."""
    from hero_eval.io.read_options import make_options
    from hero_eval.read import read_with

    counting = {name: options.get(name) for name in ("engine", "memory_limit", "spark")}
    made = make_options(name="", **{name: value for name, value in options.items() if name not in counting})
    try:
        return read_with(
            path, replace(made, used=used, familiar=known, lenient=True, among_several=several), **counting
        )
    except InputError as error:
        raise InputError(_placed(path, problem) for problem in error.problems) from error


def _placed(path: Path, problem: Problem) -> Problem:
    of_call = (
        "classes=",
        "missing names",
        "label_kind is",
        "labelers names",
        "exclude_labelers names",
        "expert names",
        "criterion is",
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
