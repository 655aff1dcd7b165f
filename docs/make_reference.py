"""Writes the generated parts of docs/reference.md, the Python names and the commands, and the lists of all codes.

python docs/make_reference.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from markers import DOCS, table, write

import hero_eval
from hero_eval import errors, findings, remedies
from hero_eval.cli.main import app
from hero_eval.methods.registry import all_methods

FUNCTIONS = (
    "read_round",
    "fit_reliability",
    "estimate_rate",
    "estimate_difference",
    "estimate_win_rate",
    "estimate_moderation",
    "compare_methods",
    "backtest",
    "save_counts",
    "create_store",
    "open_store",
)
CLASSES = (
    "Round",
    "Reliability",
    "Estimate",
    "GroupedEstimates",
    "Comparison",
    "Backtest",
    "Moderation",
    "Store",
    "History",
    "Finding",
    "Gate",
)
ERRORS = ("HeroError", "InputError", "SupportError")

# What the docstrings leave to the name.
MEMBERS: Mapping[str, str] = {
    "Round.name": "The name that messages use: as given, or the folder's.",
    "Round.labelers": "Names of the labelers, sorted.",
    "Round.label_labeler": "(n_labels,) positions in `labelers`.",
    "Round.label_answer": "(n_labels,) positions in `values`.",
    "Round.positive": "The positive class, if one was named.",
    "Round.classes_given": "The classes as given, or None.",
    "Round.notes": "Findings on the tables: duplicates, items set aside.",
    "Round.n_items": "Items with at least one label.",
    "Round.n_labels": "Labels, duplicates not counted.",
    "Round.n_gold": "Items with gold.",
    "Round.has_column": "Whether the items have this column.",
    "Reliability.rounds": "The rounds of history.",
    "Reliability.labelers": "Names of the labelers, sorted.",
    "Reliability.classes": "The classes, in order.",
    "Reliability.shrinkage": "Pseudo-answers added to each labeler and class.",
    "Reliability.findings": "What one must know about this fit.",
    "Reliability.report": "How EM went: `n_steps`, `change`, `converged`, `log_likelihood`.",
    "Reliability.converged": "Whether EM came to rest.",
    "Reliability.n_items": "Items of history.",
    "Reliability.n_gold": "Items of history with gold.",
    "Estimate.target": "Which question was answered, such as `rate`.",
    "Estimate.what": "The quantity in words, such as `rate of '1'`.",
    "Estimate.value": "The number; nan if the data do not tell it.",
    "Estimate.method": "The method that was used.",
    "Estimate.n_items": "Current items behind the number.",
    "Estimate.n_gold": "Gold items behind the number, of history and of the current round.",
    "Estimate.n_gold_current": "Those of them that are in the current round.",
    "Estimate.gold_words": "Where they are, such as `240 in history, 60 in current`.",
    "Estimate.level": "The level of the interval.",
    "Estimate.interval_kind": "Which interval was asked for.",
    "Estimate.bounds": "The range that the quantity can take.",
    "Estimate.why": "Why this method.",
    "Estimate.curve": "The confidence curve that intervals are read off; see the method page.",
    "Estimate.em": "How EM went, or None.",
    "Estimate.least_error": "The least standard error of an estimate on an edge; else 0.",
    "Estimate.findings": "What one must know about this number.",
    "Estimate.distribution": "The rate of each class (of a difference: the two rates).",
    "Estimate.mean_score": "The mean score of numeric classes, or None.",
    "Estimate.std_error": "The standard error; nan if the value is.",
    "Estimate.converged": "Whether EM came to rest.",
    "GroupedEstimates.by": "The column that makes the groups.",
    "GroupedEstimates.estimates": "An `Estimate` for each group; also by `family[group]`.",
    "GroupedEstimates.level": "The level at which all intervals hold together.",
    "GroupedEstimates.findings": "The findings of all groups, each once.",
    "GroupedEstimates.to_dict": "The estimates in plain types, for JSON.",
    "Comparison.estimates": "An `Estimate` for each method that could run.",
    "Comparison.skipped": "For each other method the reason.",
    "Comparison.to_dict": "The estimates in plain types, for JSON.",
    "Backtest.what": "The quantity in words, such as `rate of '1'`.",
    "Backtest.level": "The level of the intervals.",
    "Backtest.plays": "One for each round and method: `round`, `method`, `value`, `low`, `high`, `seen`, `score`.",
    "Backtest.drift": "One for each round, by HERO-3: `shift`, `shift_error`, `expected`, `own`, `usual`.",
    "Backtest.findings": "What one must know about this backtest.",
    "Backtest.to_dict": "Everything in plain types, for JSON.",
    "Moderation.prevalence": "The rate of violations among all items.",
    "Moderation.precision": "The rate of violations among flagged items.",
    "Moderation.recall": "The share of violations that is flagged.",
    "Moderation.f1": "The harmonic mean of precision and recall.",
    "Moderation.flagged_share": "The share of items that is flagged.",
    "Moderation.method": "The method that was used.",
    "Moderation.n_items": "Current items behind the numbers.",
    "Moderation.n_gold": "Gold items behind the numbers.",
    "Moderation.findings": "The findings of all estimates, each once.",
    "Moderation.to_dict": "The estimates in plain types, for JSON.",
    "History.question": "Rounds of this question; None: that of the current round.",
    "History.models": "Only rounds of these models.",
    "History.since": "Only rounds from this day, week or month on.",
    "History.before": "Only rounds from before it.",
    "History.rounds": "These rounds and no others.",
    "Finding.code": "The code, such as F403.",
    "Finding.fact": "What is so, with values.",
    "Finding.action": "What to do about it.",
    "Finding.data": "The values behind both.",
    "Finding.doubts": "Whether it casts doubt on the interval, if that differs from the catalogue's; else None.",
    "Gate.fail_below": "The least value that is good enough, or None.",
    "Gate.fail_above": "The largest value that is good enough, or None.",
    "Gate.is_asked": "Whether there is a bound at all.",
    "Gate.verdicts": "The verdict on each of several numbers.",
    "Finding.severity": "`warning` or `note`.",
    "Finding.to_dict": "The finding in plain types, for JSON.",
    "HeroError.problems": "All problems found; each has `code` and `message`.",
    "HeroError.exit_code": "What the command ends with: 2, or 3 for `SupportError`.",
}

# Inside the package: of use to its own rooms, and free to change.
PRIVATE = {
    "Estimate.influence",
    "Estimate.centre",
    "Estimate.source",
    "Reliability.counted",
    "Reliability.fit",
    "Reliability.options",
    "Reliability.answers",
    "Backtest.frame_kind",
    "Comparison.frame_kind",
    "GroupedEstimates.frame_kind",
}

_ANNOTATION = re.compile(r": '([^']*)'")  # annotations are kept as text, which shows in quotes


def sections() -> dict[str, str]:
    return {
        "python": python_names(),
        "commands": commands(),
        "methods": methods(),
        "estimate json": estimate_keys(),
    }


def python_names() -> str:
    parts = ["### Functions"]
    for name in FUNCTIONS:
        function = getattr(hero_eval, name)
        parts += [f"#### `{name}`", _code(signature(name, function)), _paragraphs(function)]
    parts.append("### Classes")
    for name in CLASSES:
        parts += [f"#### `{name}`", _paragraphs(getattr(hero_eval, name))]
        if name == "Round":
            parts += [_code(signature(name, hero_eval.Round)), _paragraphs(hero_eval.Round.__init__)]
        parts.append(table(("member", "what it is"), list(members(name))))
    parts.append("### Errors")
    rows = [(f"`{name}`", first_line(getattr(hero_eval, name))) for name in ERRORS]
    rows += [row for row in members("HeroError") if row[0]]
    parts.append(table(("name", "what it is"), rows))
    return "\n\n".join(parts)


def signature(name: str, called: Any) -> str:
    """The call, on one line if that is short, else one argument a line."""
    found = inspect.signature(called)
    given = found.return_annotation
    end = "" if given in (inspect.Signature.empty, None, "None") else f" -> {given}"
    shown = [_ANNOTATION.sub(r": \1", str(one)) for one in found.parameters.values()]
    kinds = [one.kind for one in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    short = f"{name}({', '.join(shown)}){end}"
    return short if len(short) <= 100 else "\n".join([f"{name}(", *(f"    {one}," for one in shown), f"){end}"])


def members(owner: str) -> Iterator[tuple[str, str]]:
    """Public attributes and methods with a line each."""
    of = getattr(hero_eval, owner)
    fields = [field.name for field in dataclasses.fields(of)] if dataclasses.is_dataclass(of) else []
    fields += [name for name in inspect.get_annotations(of) if name not in fields]
    own = {name: value for name, value in vars(of).items() if name not in fields}
    documented = _attribute_lines(of)
    if owner == "HeroError":
        fields, own = ["problems", "exit_code"], {"code": of.code}
    for name in [*fields, *own]:
        key = f"{owner}.{name}"
        if name.startswith("_") or key in PRIVATE:
            continue
        value = own.get(name)
        shown = f"`{_call(name, value)}`" if inspect.isfunction(value) else f"`{name}`"
        yield shown, MEMBERS.get(key) or documented.get(name) or first_line(getattr(value, "func", value))


def _call(name: str, function: Any) -> str:
    """A method's call without `self` and without annotations."""
    found = inspect.signature(function)
    kept = [one.replace(annotation=inspect.Parameter.empty) for one in list(found.parameters.values())[1:]]
    return f"{name}{found.replace(parameters=kept, return_annotation=inspect.Signature.empty)}"


def _attribute_lines(of: Any) -> dict[str, str]:
    """The texts that stand below annotated attributes."""
    pattern = re.compile(r'^    (\w+): [^\n]+\n    """(.+?)"""', re.MULTILINE | re.DOTALL)
    return {name: " ".join(text.split()) for name, text in pattern.findall(inspect.getsource(of))}


def first_line(documented: Any) -> str:
    """The first sentence of a docstring, or nothing."""
    text = inspect.getdoc(documented) if documented is not None else None
    if documented is None or text is None or text == type(documented).__doc__:
        return ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\.) ", paragraph)[0]


def _paragraphs(documented: Any) -> str:
    text = inspect.getdoc(documented) or ""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def commands() -> str:
    group: Any = typer.main.get_command(app)
    parts = []
    for name, command in _each(group):
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        places = [_place(one) for one in arguments]
        rows = [(f"`{one.metavar}`", _fill(one.help), "") for one in arguments]
        options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        rows += [(f"`{_option(one)}`", _fill(one.help), _default(one)) for one in options]
        line = " ".join(["hero", name, *places, "[OPTIONS]"])
        parts += [f"### `hero {name}`", _fill(command.help), _code(line).replace("```py", "```sh")]
        parts.append(table(("argument or option", "what it does", "default"), rows))
    return "\n\n".join(parts)


def _each(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that is shown, with the names of the groups that it is in."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _each(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def _place(argument: Any) -> str:
    name = f"{argument.metavar}..." if argument.nargs == -1 else str(argument.metavar)
    return name if argument.required else f"[{name}]"


def _option(one: Any) -> str:
    flags = ", ".join(one.opts)
    return flags if one.is_flag else f"{flags} {one.metavar}"


def _default(one: Any) -> str:
    if one.required:
        return "required"
    return "" if one.default in (None, False, ()) else f"`{one.default}`"


def _fill(text: str | None) -> str:
    return " ".join((text or "").split())


def methods() -> str:
    rows = [(f"`{one.name}`", one.summary, " and ".join(one.needs) or "labels only") for one in all_methods().values()]
    return table(("method", "what it does", "needs"), rows)


ESTIMATE_KEYS: Mapping[str, str] = {
    "schema_version": "The version of this layout.",
    "target": "The question: `rate`, `mean score`, `win rate`, `difference`.",
    "what": "The quantity in words.",
    "value": "The estimate.",
    "std_error": "Its standard error.",
    "interval": "`level`, `low`, `high`, and `kind`: which interval it is.",
    "method": "The method used.",
    "why": "Why this method.",
    "n_items": "Current items behind the number.",
    "n_gold": "Gold items behind the number.",
    "n_gold_history": "Those of them that are in history.",
    "n_gold_current": "Those of them that are in the current round.",
    "converged": "Whether EM came to rest.",
    "em": "`steps` and `change` of EM, or null if the method has none.",
    "findings": "A list of `code`, `severity`, `message` (the fact), `action`, `doubts_interval`, `data`.",
    "distribution": "For each class `value`, `std_error`, `low`, `high`; of a difference, for `a` and `b`.",
    "mean_score": "`value`, `std_error`, `low`, `high`, if the classes are numbers or have scores.",
}


def estimate_keys() -> str:
    return table(("key", "what it holds"), [(f"`{key}`", what) for key, what in ESTIMATE_KEYS.items()])


ERROR_GROUPS = {
    "E1": "Tables and files",
    "E2": "The call",
    "E3": "Data that cannot support the answer",
    "E4": "The store, charts and reports",
    "E5": "The page",
}
FINDING_GROUPS = {
    "F1": "The data",
    "F2": "The labelers",
    "F3": "The fit",
    "F4": "Covariates",
    "F5": "The question",
    "F6": "The backtest",
    "F8": "The store",
}


def catalogues() -> dict[str, str]:
    """The lists of errors and of findings: pages that are generated as a whole."""
    wrong = {code: f"{_sentence(what)} {remedies.ERRORS[code]}" for code, what in errors.CATALOGUE.items()}
    found = {
        code: f"*{severity.capitalize()}.* {_sentence(what)} {remedies.FINDINGS[code]}{_doubt(code)}"
        for code, (severity, what) in findings.CATALOGUE.items()
    }
    about_errors = (
        "What can be wrong with the input or the call. Python raises a `HeroError` with all problems that it can "
        "find; the command prints them and ends with 2, or with 3 where the data cannot support the answer (E3)."
    )
    about_findings = (
        "What one must know about a result. A finding does not stop an estimate; it travels with it to every place "
        "where the number is shown. A *warning* may change what you do; a *note* explains. One that casts doubt on "
        "the interval leaves every gate undecided, which is closed, unless the finding itself says that the interval "
        "allows for it (`doubts_interval` is then false)."
    )
    return {
        "errors.md": _catalogue("Errors", about_errors, wrong, ERROR_GROUPS),
        "findings.md": _catalogue("Findings", about_findings, found, FINDING_GROUPS),
    }


def _doubt(code: str) -> str:
    return " *Casts doubt on the interval.*" if code in findings.DOUBTS_INTERVAL else ""


def _sentence(what: str) -> str:
    return f"**{what[0].upper()}{what[1:]}.** What to do:"


def _catalogue(title: str, about: str, entries: Mapping[str, str], groups: Mapping[str, str]) -> str:
    """A page with a heading for every code, so that each can be linked to."""
    parts = [f"# {title}", "<!-- Written by docs/make_reference.py -->", about]
    for group, name in groups.items():
        parts.append(f"## {name}")
        for code in sorted(code for code in entries if code.startswith(group)):
            parts += [f"### {code}", entries[code]]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    write(DOCS / "reference.md", sections())
    for name, page in catalogues().items():
        (DOCS / name).write_text(page, encoding="utf-8")
        print(f"docs/{name}")
