"""Defaults from a file: `hero.toml`, or `[tool.hero]` in `pyproject.toml`, here or in a folder above.

    store = "evals/hero-store"          the store, also HERO_STORE
    question = "defect"                 what new rounds ask
    classes = ["ok", "defect"]          all possible answers, in order
    positive = "defect"                 the class whose rate is asked for
    level = 0.9                         of the intervals
    columns = { labeler = "rater" }     what the tables call their columns
    labelers = ["gpt", "claude"]        which labelers count, or which columns of a wide table are theirs
    fail_below = 0.85                   the gate
    history = ["rounds/april"]          past rounds, or { models = ["v6"], since = "2026-01-01" } of the store

What is said on the command line comes first, then the environment, then the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hero_eval.cli.exit_codes import ExitCodeGroup, wants_json, with_exit_codes
from hero_eval.cli.habits import spread, without_slips
from hero_eval.errors import HeroError, InputError, Problem, wrong
from hero_eval.name_lists import joined, mapping

_FILES = ("hero.toml", "pyproject.toml")
_ONLY = {"question": ("add", "import", "labelers", "backtest"), "model": ("add", "import")}
"""The only commands that a default is for."""
_ELSEWHERE = {
    "labelers": ("add", "import"),  # there the option is a table of who they are
    "method": ("backtest",),  # there it narrows the list of those that are tried
    "covariates": ("arena",),  # there they describe pairs
    "fail_below": ("compare",),  # the gate is for a rate, not for the difference of two
    "fail_above": ("compare",),
}
"""Commands whose option of the same name means something else."""
_OF_FILES = ("column", "missing", "labelers", "exclude_labelers", "criterion", "expert")
_OF_LABELS = ("classes", "positive", "missing", "criterion", "expert", "model")
_HISTORY = {"question": str, "models": list, "since": str, "before": str}


class ConfiguredGroup(ExitCodeGroup):
    """All commands, with the defaults that a file gives them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if command is None or name is None:
            return name, command, rest
        rest = without_slips(command, spread(command, rest))
        defaults = (ctx.default_map or {}).get(name)
        if defaults:
            called = command.make_context(name, list(rest), parent=ctx, resilient_parsing=True)
            idle = _idle(command, name, called.params)
            ctx.default_map = {**ctx.default_map, name: {key: of for key, of in defaults.items() if key not in idle}}
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        with with_exit_codes(as_json=wants_json(ctx)):
            if ctx.default_map is None:
                ctx.default_map = defaults_for(self.commands)
        return super().invoke(ctx)


def defaults_for(commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each command the values that take the place of its defaults."""
    found = read_config(Path.cwd())
    if not found:
        return {}
    return _for_each(commands, _as_options(found))


def _for_each(commands: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for name, command in commands.items():
        known = {parameter.name for parameter in command.params}
        out[name] = {key: value for key, value in options.items() if key in known and _meant_for(name, key)}
        out[name] |= _for_each(getattr(command, "commands", {}), options)
    return out


def _meant_for(command: str, option: str) -> bool:
    """A default question is for new rounds and for labelers; elsewhere the option only narrows a list."""
    return command in _ONLY.get(option, (command,)) and command not in _ELSEWHERE.get(option, ())


def _idle(command: Any, name: str, said: Mapping[str, Any]) -> tuple[str, ...]:
    """Options that this call would refuse, since they have no effect on it: their defaults are for other calls."""
    if name == "add":
        return _OF_LABELS if _adds_votes(said) else ()
    if name == "compare" and said.get("b") is None and said.get("other_round") is None:
        return ("method", *_of_stored(command, name, said))
    return _of_stored(command, name, said)


def _of_stored(command: Any, name: str, said: Mapping[str, Any]) -> tuple[str, ...]:
    """What says how files are read, where the round is of the store and was read when it was added."""
    files = [one.name for one in command.params if one.param_type_name == "argument"]
    if name == "import" or "store" not in said or not files or any(said.get(one) for one in files):
        return ()
    return _OF_FILES


def _adds_votes(said: Mapping[str, Any]) -> bool:
    """Whether what is added are side-by-side votes, which have models instead of classes."""
    from hero_eval.store.vote_rounds import table_of_votes

    file = said.get("path") or said.get("gold")
    try:
        return file is not None and table_of_votes(file, mapping("--column is", said.get("column") or ())) is not None
    except HeroError:  # what is wrong with the file is told by whoever adds it
        return False


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of the nearest file that has any, checked; {} if there is none."""
    return _nearest(folder)[1]


def described_config(folder: Path) -> tuple[str | None, dict[str, Any], dict[str, str]]:
    """The nearest file that has settings, these settings, and what else may be set, in words."""
    file, settings = _nearest(folder)
    return None if file is None else str(file), settings, {key: what for key, (_, what) in _KNOWN.items()}


def _nearest(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    for place in (folder, *folder.parents):
        for name in _FILES:
            file = place / name
            if file.is_file():
                settings = _settings(file)
                if settings is not None:
                    return file, _checked(file, settings)
    return None, {}


def _settings(file: Path) -> dict[str, Any] | None:
    """What the file says to hero; None if it does not speak to it."""
    try:
        whole = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if file.name == "pyproject.toml":  # somebody else's file, somebody else's mistake
            return None
        raise wrong("E207", f"{file} is not TOML: {error}.") from error
    except OSError as error:
        raise wrong("E207", f"{file} cannot be read: {error.strerror}.") from error
    found = whole if file.name == "hero.toml" else whole.get("tool", {}).get("hero")
    return dict(found) if found is not None else None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _share(value: Any) -> bool:
    return isinstance(value, float) and 0.0 < value < 1.0


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pairs(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _history(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(of, _HISTORY.get(key, ())) for key, of in value.items())
    return _texts(value)


_KNOWN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "store": (lambda value: isinstance(value, str), "a path, such as 'hero-store'"),
    "question": (lambda value: isinstance(value, str), "a name, such as 'defect'"),
    "model": (lambda value: isinstance(value, str), "a name, such as 'v7'"),
    "classes": (lambda value: _texts(value), "a list of names, such as ['ok', 'defect']"),
    "positive": (lambda value: isinstance(value, str), "one of the classes"),
    "level": (_share, "a share between 0 and 1, such as 0.9"),
    "method": (lambda value: isinstance(value, str), "a method, see hero methods"),
    "covariates": (_texts, "a list of columns"),
    "text": (lambda value: isinstance(value, str), "a column"),
    "columns": (_pairs, "a table such as { labeler = 'rater' }"),
    "labelers": (_texts, "a list of labelers: columns of wide tables, or names"),
    "exclude_labelers": (_texts, "a list of labelers to leave out"),
    "expert": (_texts, "a list of labelers whose answers are gold"),
    "criterion": (lambda value: isinstance(value, str), "one of several criteria in a table"),
    "missing": (_texts, "a list of answers that count as not given"),
    "cluster": (lambda value: isinstance(value, str), "a column"),
    "groups": (lambda value: isinstance(value, str), "a table with labeler and group"),
    "fail_below": (_number, "a number that the gate takes"),
    "fail_above": (_number, "a number that the gate takes"),
    "history": (_history, "a list of rounds, or a table with question, models, since, before"),
}


def _checked(file: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings; E207 for all that are not known or not what they should be."""
    problems = []
    for key, value in settings.items():
        if key not in _KNOWN:
            problems.append(Problem("E207", f"{file} has a key {key!r} that is not known. Known: {', '.join(_KNOWN)}."))
        elif not _KNOWN[key][0](value):
            problems.append(Problem("E207", f"{file}: {key} is {value!r}. It must be {_KNOWN[key][1]}."))
    if problems:
        raise InputError(problems)
    out = dict(settings)
    if "store" in out and "://" not in out["store"]:
        out["store"] = str(file.parent / Path(out["store"]).expanduser())
    return out


def _as_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the commands' options are written."""
    out: dict[str, Any] = {}
    for key, value in settings.items():
        if key == "columns":
            out["column"] = [f"{ours}={theirs}" for ours, theirs in value.items()]
        elif key in ("classes", "covariates", "labelers", "exclude_labelers", "missing"):
            out[key] = joined(value)
        elif key == "history" and isinstance(value, dict):
            names = {"question": "from_question", "models": "from_model", "since": "since", "before": "before"}
            out.update({names[part]: of for part, of in value.items()})
        else:
            out[key] = value
    return out
