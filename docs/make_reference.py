"""Writes the generated parts of docs/reference.md: the Python names, the commands, the codes.

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
from hero_eval import errors, findings
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
    "Family",
    "Comparison",
    "Backtest",
    "Moderation",
    "Store",
    "History",
    "Finding",
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
    "Estimate.n_gold": "Gold items of history behind the number.",
    "Estimate.level": "The level of the interval.",
    "Estimate.interval_kind": "Which interval was asked for.",
    "Estimate.bounds": "The range that the quantity can take.",
    "Estimate.why": "Why this method.",
    "Estimate.curve": "The confidence curve that intervals are read off; see the method page.",
    "Estimate.report": "How EM went, or None.",
    "Estimate.least_error": "The least standard error of an estimate on an edge; else 0.",
    "Estimate.findings": "What one must know about this number.",
    "Estimate.distribution": "The rate of each class (of a difference: the two rates).",
    "Estimate.mean_score": "The mean score of numeric classes, or None.",
    "Estimate.std_error": "The standard error; nan if the value is.",
    "Estimate.converged": "Whether EM came to rest.",
    "Family.by": "The column that makes the groups.",
    "Family.estimates": "An `Estimate` for each group; also by `family[group]`.",
    "Family.level": "The level at which all intervals hold together.",
    "Family.findings": "The findings of all groups, each once.",
    "Family.to_dict": "The estimates in plain types, for JSON.",
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
    "Moderation.n_gold": "Gold items of history behind the numbers.",
    "Moderation.findings": "The findings of all estimates, each once.",
    "Moderation.to_dict": "The estimates in plain types, for JSON.",
    "History.question": "Rounds of this question; None: that of the current round.",
    "History.models": "Only rounds of these models.",
    "History.since": "Only rounds from this day, week or month on.",
    "History.before": "Only rounds from before it.",
    "History.rounds": "These rounds and no others.",
    "Finding.code": "The code, such as F403.",
    "Finding.message": "The sentence, with values.",
    "Finding.data": "The values behind the sentence.",
    "Finding.severity": "`warning` or `note`.",
    "Finding.to_dict": "The finding in plain types, for JSON.",
    "HeroError.problems": "All problems found; each has `code` and `message`.",
    "HeroError.exit_code": "What the command ends with: 2, or 3 for `SupportError`.",
}

# Inside the package: of use to its own rooms, and free to change.
PRIVATE = {
    "Estimate.influence",
    "Estimate.centre",
    "Reliability.counted",
    "Reliability.fit",
    "Reliability.options",
    "Reliability.answers",
    "Backtest.frame_kind",
    "Comparison.frame_kind",
    "Family.frame_kind",
}

DO_ABOUT_ERRORS: Mapping[str, str] = {
    "E101": "Check the path; the message lists what the folder holds.",
    "E102": "Write the file again, or remove it.",
    "E103": "Write the file again; give it the ending of its format.",
    "E104": "Add the column, or map it: `columns={...}`, `--column ours=theirs`.",
    "E105": "Give the table rows, or leave the table out.",
    "E106": "Save the file as UTF-8.",
    "E107": "Give every row an item and a labeler.",
    "E108": "Keep one label a labeler and item.",
    "E109": "Correct the value, or add it to the classes.",
    "E110": "Keep one gold an item.",
    "E111": "Use the same item ids in all tables.",
    "E112": "Make the column numeric, leave bad values empty, or choose another.",
    "E113": "Replace infinite values, or leave them empty.",
    "E114": "Keep one row an item.",
    "E115": "Give every labelled item a weight above 0, or drop the column.",
    "E116": "Put one labels table in the folder, and one file a table.",
    "E117": "Give a dataframe of pandas, Polars, pyarrow or DuckDB, or a path.",
    "E118": "Name all possible answers, each once: `classes=[...]`, `--classes`.",
    "E119": "Give at least one label.",
    "E120": "Name the tool (`--from`), or map the columns of a plain table.",
    "E121": "Name the question or score to take: `--field`.",
    "E122": "Look at the reasons that the message gives; name another `--field` or `--from`.",
    "E201": "Use a value that the message lists.",
    "E202": "Name a column, or labeler, that all rounds have.",
    "E203": "Name the positive class: `positive=`, `--positive`; in a win rate `a=`, `b=`, `tie=`.",
    "E204": "Leave the option out, or take the method that uses it.",
    "E205": "Give all rounds the same classes and the same positive class.",
    "E206": "Give what the message names: a history, or covariates.",
    "E207": "Correct the key or the value in `hero.toml` or `pyproject.toml`.",
    "E211": 'Read the rounds with `engine="memory"` if they fit, or ask without what needs single items.',
    "E212": "Install the extra that the message names, give the engine more memory, or look at its own log.",
    "E301": "Add a past round in which some of these labelers took part.",
    "E302": "Have an expert answer a random part of a past round.",
    "E303": "Give the current round labels.",
    "E304": "Have an expert answer a random part of another past round.",
    "E401": "Check `--store`, or make a store: `hero init`.",
    "E402": "Update hero-eval.",
    "E403": "Choose a round that `hero rounds` lists; `hero restore` brings a removed one back.",
    "E404": "Choose another name, or run it again to add late labels.",
    "E405": "Have gold written by somebody who does not label, or count what they said as gold: `--expert`.",
    "E406": "Free disk space, mend the permissions, or bring lost files back; what was committed is unchanged.",
    "E407": "Choose an estimate that `hero show` lists.",
    "E408": "Install the version of hero-eval that the message names, and try again.",
    "E409": "`pip install 'hero-eval[store]'`.",
}

DO_ABOUT_FINDINGS: Mapping[str, str] = {
    "F101": "Nothing; look at the export if there are many.",
    "F102": "Nothing, unless these items should have labels. The rate is that of the labelled items.",
    "F103": "Nothing, unless the labels should be there.",
    "F104": "Let new labelers label some items of a past round, or have gold for a round of theirs.",
    "F105": "Compare it with the estimate: it is a free test of the method.",
    "F106": "Label the same items for both models; unpaired items widen the interval.",
    "F107": "Put what describes an item into the items table.",
    "F108": "Say `cluster=COLUMN` if these items repeat one prompt; else nothing.",
    "F109": "Nothing; it says what counted as one.",
    "F110": 'Say `cluster="item"` if equal ids are the same prompts; if they are mere row numbers, nothing.',
    "F111": "Nothing; check that the probabilities are those that were used.",
    "F112": "Give the probabilities as a column `gold_probability` of items; or draw gold at random.",
    "F201": "Instruct these labelers, or stop paying for them.",
    "F202": "Find out whether they read the question the other way round.",
    "F203": "Add gold for items that they labelled.",
    "F204": "Nothing: `hero3` allows for it. Count on fewer labelers than there are.",
    "F205": "Have an expert answer some items of the current round, and use `hero3`.",
    "F206": "Use `hero3`, which allows for it; count on fewer labelers than there are.",
    "F207": "Find out what changed in these labelers' instructions or prompts; have gold for some current items.",
    "F208": "Give new labelers some history: let them label items that have gold. Name their group (`groups=`).",
    "F209": "Find out what changed; give it gold of its own, or use history from after the change (`--since`).",
    "F301": "Raise `max_steps`; look for a labeler with hardly any labels.",
    "F302": "Read the interval, not the value. More labels move it off the edge.",
    "F303": "Do not use the number. Add labels of better labelers, or gold.",
    "F304": "Add gold to history; below about 20 items intervals are too short.",
    "F306": "Nothing; name the covariates yourself to choose others.",
    "F307": "Add gold of the class that is missing.",
    "F308": "Use a method that uses gold, if there is any.",
    "F309": "Nothing, if the profile interval was used; else take the interval as a lower bound of the doubt.",
    "F310": "Keep at least two past rounds with gold apart, each as a round of its own.",
    "F401": "Nothing, unless you expected the column to vary.",
    "F402": "Nothing; fill the gaps if there are many.",
    "F403": "Use `hero1`. Without `method=` that is done for you.",
    "F404": "Name the covariate if its mean should be the same in both rounds.",
    "F405": "Nothing; set `penalty=` to fix it.",
    "F501": "Do not use that quantity; the others hold.",
    "F502": "Name the positive class, or read the distribution.",
    "F503": "Nothing; read these intervals as a set.",
    "F601": "Add gold to these rounds, so that they can be played too.",
    "F602": "Add gold: the more a round has, the better it tells methods apart.",
    "F603": "Come back when more rounds have gold; until then trust `hero3`.",
    "F604": "Find better labelers, or spend on gold instead of labels.",
    "F605": "Read the reason; compare methods on the rounds that both played.",
    "F801": "Have some gold for items that the new labeler labels.",
    "F802": "Say who the judges are in every round: a table `labelers`, or `--labelers`.",
    "F803": "Nothing; or let the experts agree on these items.",
}


_ANNOTATION = re.compile(r": '([^']*)'")  # annotations are kept as text, which shows in quotes


def sections() -> dict[str, str]:
    return {
        "python": python_names(),
        "commands": commands(),
        "methods": methods(),
        "estimate json": estimate_keys(),
        "errors": error_codes(),
        "findings": finding_codes(),
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
    for name, command in group.commands.items():
        if command.hidden:
            continue
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        places = [_place(one) for one in arguments]
        rows = [(f"`{one.metavar}`", _fill(one.help), "") for one in arguments]
        options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        rows += [(f"`{_option(one)}`", _fill(one.help), _default(one)) for one in options]
        line = " ".join(["hero", name, *places, "[OPTIONS]"])
        parts += [f"### `hero {name}`", _fill(command.help), _code(line).replace("```py", "```sh")]
        parts.append(table(("argument or option", "what it does", "default"), rows))
    return "\n\n".join(parts)


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
    "n_gold": "Gold items of history behind the number.",
    "converged": "Whether EM came to rest.",
    "em": "`steps` and `change` of EM, or null if the method has none.",
    "findings": "A list of `code`, `severity`, `message`, `data`.",
    "distribution": "For each class `value`, `std_error`, `low`, `high`; of a difference, for `a` and `b`.",
    "mean_score": "`value`, `std_error`, `low`, `high`, if the classes are numbers or have scores.",
}


def estimate_keys() -> str:
    return table(("key", "what it holds"), [(f"`{key}`", what) for key, what in ESTIMATE_KEYS.items()])


def error_codes() -> str:
    rows = [(f"`{code}`", what, DO_ABOUT_ERRORS[code]) for code, what in errors.CATALOGUE.items()]
    return table(("code", "what is wrong", "what to do"), rows)


def finding_codes() -> str:
    rows = [
        (f"`{code}`", severity, what, DO_ABOUT_FINDINGS[code]) for code, (severity, what) in findings.CATALOGUE.items()
    ]
    return table(("code", "severity", "what was found", "what to do"), rows)


if __name__ == "__main__":
    write(DOCS / "reference.md", sections())
