"""Writes the generated parts of docs/reference.md, the Python names and the commands, and the lists of all codes.

python tools/make_reference.py
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
    "rank",
    "movement",
    "rank_votes",
    "read_votes",
    "plan",
    "choose_gold",
    "labeler_worth",
    "item_calibration",
    "backtest",
    "save_counts",
    "create_store",
    "open_store",
    "watch",
)
CLASSES = (
    "Round",
    "Reliability",
    "Estimate",
    "GroupedEstimates",
    "Comparison",
    "Backtest",
    "Moderation",
    "Ranking",
    "Movement",
    "Leaderboard",
    "Battle",
    "Votes",
    "Plan",
    "GoldQueue",
    "ItemCalibration",
    "Worths",
    "Store",
    "Watch",
    "History",
    "Finding",
    "Gate",
)
MADE_BY_USERS = ("Round", "Votes", "History", "Gate")
"""Classes whose constructor users call; the others are what functions give back."""
ERRORS = ("HeroError", "InputError", "SupportError")

# Inside the package: of use to its own rooms, and free to change.
PRIVATE = {
    "Estimate.influence",
    "Estimate.center",
    "Estimate.source",
    "Reliability.counted",
    "Reliability.fit",
    "Reliability.options",
    "Reliability.answers",
    "Backtest.frame_kind",
    "Comparison.frame_kind",
    "Worths.frame_kind",
    "Movement.frame_kind",
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


@dataclasses.dataclass(frozen=True)
class Entry:
    """One entry of a numpydoc section: a parameter, a result or an error."""

    name: str
    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Docstring:
    """A docstring in the numpydoc form: what it says first, entries by section, and lines of examples."""

    told: str
    entries: Mapping[str, tuple[Entry, ...]]
    examples: str

    def of(self, section: str) -> tuple[Entry, ...]:
        return self.entries.get(section, ())


_SECTION = re.compile(r"^(\w+)\n-+$", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^\n]*?)(?: : ([^\n]+))?$((?:\n(?: {4}[^\n]*)?)*)", re.MULTILINE)


def docstring(documented: Any) -> Docstring:
    """The docstring of a function or class, taken apart."""
    text = (inspect.getdoc(documented) if documented is not None else None) or ""
    told, *parts = _SECTION.split(text)
    bodies = dict(zip(parts[::2], parts[1::2], strict=True))
    examples = bodies.pop("Examples", "")
    return Docstring(told.strip(), {name: tuple(_entries(body)) for name, body in bodies.items()}, examples.strip())


def _entries(body: str) -> Iterator[Entry]:
    for name, kind, text in _ENTRY.findall(body.strip("\n")):
        yield Entry(name.strip(), kind, " ".join(text.split()))


def python_names() -> str:
    parts = ["### Functions"]
    for name in FUNCTIONS:
        function = getattr(hero_eval, name)
        parts += [f"#### `{name}`", _code(signature(name, function)), *_documented(function)]
    parts.append("### Classes")
    for name in CLASSES:
        of = getattr(hero_eval, name)
        parts.append(f"#### `{name}`")
        parts += [_code(signature(name, of))] if name in MADE_BY_USERS else []
        parts += _documented(of, parameters=name in MADE_BY_USERS)
        said = {(f"`{one.name}`", one.text) for one in docstring(of).of("Parameters") if name in MADE_BY_USERS}
        listed = [row for row in members(name) if "(" not in row[0] and row not in said]
        parts += [table(("attribute", "what it is"), listed)] if listed else []
        for method, function in methods_of(name).items():
            parts += [f"##### `{name}.{method}`", _code(signature(method, function, bound=True))]
            parts += _documented(function)
    parts.append("### Errors")
    rows = [(f"`{name}`", first_line(getattr(hero_eval, name))) for name in ERRORS]
    rows += [row for row in members("HeroError") if row[0]]
    parts.append(table(("name", "what it is"), rows))
    return "\n\n".join(parts)


def _documented(documented: Any, parameters: bool = True) -> list[str]:
    """A docstring as Markdown: paragraphs, a table of parameters, what comes back, what is raised, examples."""
    found = docstring(documented)
    parts = [" ".join(part.split()) for part in found.told.split("\n\n")]
    rows = [(f"`{one.name}`", one.text) for one in found.of("Parameters")] if parameters else []
    parts += [table(("parameter", "what it is"), rows)] if rows else []
    for section in ("Returns", "Raises"):
        shown = [f"{_named(one)}: {one.text}" if one.text else _named(one) for one in found.of(section)]
        if len(shown) == 1:
            parts.append(f"**{section}** {shown[0]}")
        elif shown:
            parts.append("\n".join([f"**{section}**", "", *(f"- {one}" for one in shown)]))
    return [*parts, *([_code(found.examples)] if found.examples else [])]


def _named(one: Entry) -> str:
    return f"`{one.name}` ({one.kind})" if one.kind else f"`{one.name}`"


def signature(name: str, called: Any, bound: bool = False) -> str:
    """The call, on one line if that is short, else one argument per line; of a method without `self`."""
    found = inspect.signature(called)
    given = found.return_annotation
    end = "" if given in (inspect.Signature.empty, None, "None") else f" -> {given}"
    taken = list(found.parameters.values())[1 if bound else 0 :]
    shown = [_ANNOTATION.sub(r": \1", str(one)) for one in taken]
    kinds = [one.kind for one in taken]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    short = f"{name}({', '.join(shown)}){end}"
    return short if len(short) <= 100 else "\n".join([f"{name}(", *(f"    {one}," for one in shown), f"){end}"])


def members(owner: str) -> Iterator[tuple[str, str]]:
    """Public attributes and methods with a line each."""
    of = getattr(hero_eval, owner)
    fields = [field.name for field in dataclasses.fields(of)] if dataclasses.is_dataclass(of) else []
    fields += [name for name in inspect.get_annotations(of) if name not in fields]
    own = {name: value for name, value in own_names(of).items() if name not in fields}
    if owner == "HeroError":
        fields, own = ["problems", "exit_code"], {"code": of.code}
    described = docstring(of)
    lines = {one.name: one.text for section in ("Parameters", "Attributes") for one in described.of(section)}
    lines |= _attribute_lines(of)
    for name in [*fields, *own]:
        if name.startswith("_") or f"{owner}.{name}" in PRIVATE:
            continue
        value = own.get(name)
        shown = f"`{name}()`" if inspect.isfunction(value) else f"`{name}`"
        line = lines.get(name, "")
        yield shown, line if line or value is None else first_line(getattr(value, "func", value))


def own_names(of: Any) -> dict[str, Any]:
    """What a class and its bases in the same room define, the bases first."""
    room = of.__module__.rpartition(".")[0]
    bases = [base for base in reversed(of.__mro__) if base.__module__.rpartition(".")[0] == room]
    return {name: value for base in bases for name, value in vars(base).items()}


def methods_of(owner: str) -> dict[str, Any]:
    """Public methods that a class has, its bases in the same room included."""
    own = own_names(getattr(hero_eval, owner)).items()
    public = {name: value for name, value in own if not name.startswith("_") and inspect.isfunction(value)}
    return {name: value for name, value in public.items() if f"{owner}.{name}" not in PRIVATE}


def _attribute_lines(of: Any) -> dict[str, str]:
    """The texts that stand below annotated attributes."""
    pattern = re.compile(r'^    (\w+): [^\n]+\n    """(.+?)"""', re.MULTILINE | re.DOTALL)
    sources = [inspect.getsource(base) for base in reversed(of.__mro__) if base.__module__.startswith("hero_eval.")]
    return {name: " ".join(text.split()) for source in sources for name, text in pattern.findall(source)}


def first_line(documented: Any) -> str:
    """The first paragraph of a docstring, or nothing."""
    text = inspect.getdoc(documented) if documented is not None else None
    if documented is None or text is None or text == type(documented).__doc__:
        return ""
    return " ".join(text.split("\n\n")[0].split())


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
    "shorten": "Where the width of the interval comes from (`parts`), and what would shorten it (`words`).",
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
    parts = [f"# {title}", "<!-- Written by tools/make_reference.py -->", about]
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
