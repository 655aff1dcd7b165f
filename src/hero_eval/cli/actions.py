"""What the commands do: read, ask the library, show. Heavy imports happen here, when a command runs."""

from __future__ import annotations

import errno
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.cli import checking, markdown, views
from hero_eval.cli.blocks import Line
from hero_eval.cli.habits import how_much
from hero_eval.cli.inputs import Data, Rounds, read_rounds
from hero_eval.cli.json_output import show_json
from hero_eval.cli.option_groups import Estimating
from hero_eval.cli.progress import Activity, activity, bar
from hero_eval.cli.render import show
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import InputError, Problem, unsupported, unwritable, wrong
from hero_eval.gates import Gate

GATE_CLOSED = 4
UNKNOWN_BY_ALL = "the data do not tell the rate by any method. Each method's reason says what is missing."

if TYPE_CHECKING:
    from hero_eval.labelers.reliability import Reliability


def with_gate(document: Mapping[str, Any], gate: Gate, results: Sequence[hero.Estimate]) -> dict[str, Any]:
    """The document with what the gate says of its numbers, where one was asked for."""
    return {**document, "gate": gate.to_dict(gate.verdicts(results))} if gate.is_asked else dict(document)


def enforce(gate: Gate, results: Sequence[hero.Estimate]) -> None:
    """Say on stderr what the gate says, what keeps it shut alone if it is, and leave with the gate's own exit code;
    without one, with that of data that do not tell the answer, if they tell none."""
    import typer

    from hero_eval.cli.exit_codes import say

    verdicts = gate.verdicts(results) if gate.is_asked else []
    shut = [one for one in verdicts if not one.is_open]
    for one in shut or ([] if how_much().quiet else verdicts):
        say(one.words)
    if shut:
        raise typer.Exit(GATE_CLOSED)
    if results and not gate.is_asked and all(map(_tells_nothing, results)):
        what = results[0].what if len(results) == 1 else f"{results[0].what} and the others"
        raise unsupported("E209", f"the data do not tell the {what}. The findings say what is missing.")


def tells_something(methods: Mapping[str, hero.Estimate]) -> bool:
    """Whether some method gives a number."""
    return not all(map(_tells_nothing, methods.values()))


def _tells_nothing(result: hero.Estimate) -> bool:
    """Whether the number is unknown; where no class was named, the rate of each is told instead."""
    return math.isnan(result.value) and all(finding.code != "F502" for finding in result.findings)


def options_of(rounds: Rounds, how: Estimating, doing: Activity) -> dict[str, Any]:
    """What every target is asked alike."""
    return how.arguments() | {"covariates": rounds.covariates, "text": rounds.text, "progress": doing.step}


def learned(rounds: Rounds, how: Estimating, doing: Activity) -> Any:
    """History as a target takes it: fitted before if it is to be shrunk."""
    if how.shrinkage is None or rounds.history is None:
        return rounds.history
    return hero.fit_reliability(rounds.history, shrinkage=how.shrinkage, progress=doing.step)


def estimate(data: Data, how: Estimating, gate: Gate, by: str | None, *, as_json: bool) -> None:
    with activity() as doing:
        rounds = read_rounds(data, doing, how.problems())
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | {"positive": rounds.positive, "at_least": rounds.at_least}
        current = rounds.currents[0]
        if by is not None:
            several = hero.estimate_rate(current, learned(rounds, how, doing), by=by, **options)
            results, document, page = list(several.values()), several.to_dict(), views.family(several)
        else:
            result = hero.estimate_rate(current, learned(rounds, how, doing), **options)
            results, document, page = [result], result.to_dict(), views.estimate(result)
    show_json(with_gate(document, gate, results)) if as_json else show(page)
    enforce(gate, results)


def compare(data: Data, how: Estimating, gate: Gate, *, as_json: bool) -> None:
    """One round: all methods. Two rounds: their difference."""
    problems = how.problems()
    if len(data.currents) == 1:
        problems.attempt(lambda: refuse_for_all_methods(how, gate))
    with activity() as doing:
        rounds = read_rounds(data, doing, problems)
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | {"positive": rounds.positive, "at_least": rounds.at_least}
        if len(rounds.currents) == 1:
            del options["method"]
            results: list[hero.Estimate] = []
            methods = hero.compare_methods(rounds.currents[0], learned(rounds, how, doing), **options)
            document, page, known = methods.to_dict(), views.methods_of_round(methods), tells_something(methods)
        else:
            a, b = rounds.currents
            result = hero.estimate_difference(a, b, learned(rounds, how, doing), **options)
            results, known = [result], True
            document, page = result.to_dict(), views.difference(result, *two_names(data.currents, a.name, b.name))
    show_json(with_gate(document, gate, results)) if as_json else show(page)
    enforce(gate, results)
    if not known:
        raise unsupported("E209", UNKNOWN_BY_ALL)


def refuse_for_all_methods(how: Estimating, gate: Gate) -> None:
    """E204 for what makes no sense where every method gives a number."""
    problems = []
    if how.method is not None:
        message = "--method has no effect on one round, which is shown by every method. Use hero estimate --method"
        problems.append(Problem("E204", message))
    if gate != Gate():
        problems.append(Problem("E204", "a gate needs one number: use it with hero estimate, or with two rounds"))
    if problems:
        raise InputError(problems)


def two_names(paths: Sequence[Path], a: str, b: str) -> tuple[str, str]:
    """The names of two rounds, or their paths if the names are the same."""
    return (a, b) if a != b else (str(paths[0]), str(paths[1]))


def win_rate(data: Data, how: Estimating, sides: dict[str, Any], gate: Gate, *, as_json: bool) -> None:
    with activity() as doing:
        rounds = read_rounds(data, doing, how.problems())
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | sides
        result = hero.estimate_win_rate(rounds.currents[0], learned(rounds, how, doing), **options)
    document = result.to_dict()
    show_json(with_gate(document, gate, [result])) if as_json else show(views.estimate(result))
    enforce(gate, [result])


def check_quantity(name: str, gate: Gate) -> None:
    """E201 for a quantity of a moderation that there is not, E204 for one that no gate looks at."""
    from hero_eval.targets.moderation import QUANTITIES

    if name not in QUANTITIES:
        raise wrong("E201", f"--gate-on is {name!r}. Known: {', '.join(QUANTITIES)}")
    if name != QUANTITIES[0] and not gate.is_asked:
        raise wrong("E204", f"--gate-on {name} has no effect without a gate: give --fail-below or --fail-above")


def moderation(data: Data, how: Estimating, gate: Gate, gate_on: str, *, as_json: bool) -> None:
    from hero_eval.targets.moderation_groups import moderation_by

    assert data.flag is not None
    with activity() as doing:
        rounds = read_rounds(data, doing, how.problems())
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | {"at_least": rounds.at_least}
        history = learned(rounds, how, doing)
        current = rounds.currents[0]
        if data.by is not None:
            several = moderation_by(current, history, flag=data.flag, by=data.by, **options)
            results, document = [one[gate_on] for one in several.values()], several.to_dict()
            page = views.moderation_family(several)
        else:
            result = hero.estimate_moderation(current, history, flag=data.flag, **options)
            results, document, page = [result[gate_on]], result.to_dict(), views.moderation(result)
    show_json(with_gate(document, gate, results)) if as_json else show(page)
    enforce(gate, results)


def config(*, as_json: bool) -> None:
    from hero_eval.cli.config import described_config

    file, settings, known = described_config(Path.cwd())
    document = {"schema_version": SCHEMA_VERSION, "file": file, "settings": settings, "known": known}
    show_json(document) if as_json else show(views.config(file, settings, known))


def labelers(data: Data, *, as_json: bool) -> None:
    with activity() as doing:
        rounds = read_rounds(data, doing)
        assert rounds.history is not None
        doing.say("Learning from history")
        result = hero.fit_reliability(rounds.history, progress=doing.step)
    show_labelers(result, as_json=as_json)


def show_labelers(result: Reliability, *, as_json: bool) -> None:
    rows = labeler_rows(result)
    if not as_json:
        show(views.labelers(result, rows))
        return
    show_json(
        {
            "schema_version": SCHEMA_VERSION,
            "target": "labelers",
            "classes": result.classes,
            "n_items": result.n_items,
            "n_gold": result.n_gold,
            "converged": result.converged,
            "em": {"steps": result.report.n_steps, "change": result.report.change},
            "errs_together": result.errs_together,
            "labelers": rows,
            "findings": [finding.to_dict() for finding in result.table_findings],
        }
    )


def count(data: Data, output: Path, *, as_json: bool) -> None:
    with activity() as doing:
        rounds = read_rounds(data, doing)
        assert rounds.history is not None
        doing.say("Counting")
        hero.save_counts(rounds.history, output, covariates=rounds.covariates)
        saved = hero.read_round(output)
        found = {
            "schema_version": SCHEMA_VERSION,
            "target": "count",
            "output": str(output),
            "items": saved.n_items,
            "labels": saved.n_labels,
            "labelers": len(saved.labelers),
            "gold": saved.n_gold,
            "covariates": list(saved.column_names),
        }
    show_json(found) if as_json else show(views.counted(found))


def labeler_rows(result: Reliability) -> list[dict[str, Any]]:
    """The rows of `Reliability.to_frame`, each with a word for the labeler's quality; an unknown error is None."""
    from hero_eval.labelers.reliability import UNINFORMATIVE

    rows: list[dict[str, Any]] = result.to_frame("pyarrow").to_pylist()
    return [
        {key: None if value != value else value for key, value in row.items()}
        | {"quality": phrasing.quality(row["discrimination"], UNINFORMATIVE)}
        for row in rows
    ]


def check(data: Data, *, as_json: bool) -> None:
    """Show what there is even if nothing can be made of it; the exit code tells."""
    with activity() as doing:
        rounds = read_rounds(data, doing)
        current, past = rounds.currents[0], rounds.history or ()
        ahead = checking.outlook(current, past, rounds.positive, doing)
        found = {
            "schema_version": SCHEMA_VERSION,
            "target": "check",
            "round": checking.describe(current),
            "history": [checking.describe(one) for one in past],
            "labelers": checking.known_labelers(current, past) if past else None,
            **checking.plain(ahead),
        }
    show_json(found) if as_json else show(views.check(found, ahead.findings or checking.notes_of(current, past)))
    if ahead.error is not None:
        raise ahead.error


def backtest(data: Data, how: Estimating, methods: list[str] | None, shape: str) -> None:
    with activity() as doing:
        rounds = read_rounds(data, doing, how.problems())
    play(rounds, how, methods, shape)


def play(rounds: Rounds, how: Estimating, methods: list[str] | None, shape: str) -> None:
    """Each round in turn as the current one, by all methods."""
    past = rounds.history or ()
    with bar(f"Playing {phrasing.count(len(past), 'round')}") as progress:
        result = hero.backtest(
            past,
            methods=methods,
            covariates=rounds.covariates,
            text=rounds.text,
            level=how.level,
            cluster=how.cluster,
            penalty=how.penalty,
            positive=rounds.positive,
            progress=progress,
        )
    if shape == "json":
        show_json(result.to_dict())
    elif shape == "markdown":
        sys.stdout.write(markdown.write("Backtest", views.backtest(result)))
    else:
        show(views.backtest(result))


def shape_of(as_json: bool, as_markdown: bool) -> str:
    """What to print."""
    if as_json and as_markdown:
        raise wrong("E204", "--json and --markdown exclude each other: choose one")
    return "json" if as_json else "markdown" if as_markdown else "text"


def methods(*, as_json: bool) -> None:
    from hero_eval.methods.registry import all_methods

    registry = all_methods()
    rows = [{"name": one.name, "summary": one.summary, "needs": one.needs} for one in registry.values()]
    document = {"schema_version": SCHEMA_VERSION, "methods": rows}
    show_json(document) if as_json else show(views.methods(registry))


def study(name: str | None, options: dict[str, Any], output: Path | None, *, as_json: bool) -> None:
    from hero_eval.studies.run import STUDIES, run_study

    if name is None:
        known = {"schema_version": SCHEMA_VERSION, "studies": STUDIES}
        show_json(known) if as_json else show(views.studies(STUDIES))
        return
    if output is not None:
        check_output(output)
    with bar(f"Study {name}") as progress:
        result = run_study(name, progress=progress, **options)
    if output is not None:
        result.write(output)
    if as_json:
        show_json(result.to_dict())
        return
    page = views.study(result.rows)
    show([*page, Line(f"Rows: {output}", whole=True)] if output is not None else page)


def check_output(output: Path) -> None:
    """A study may take hours: find out now whether its result can be written."""
    if output.suffix not in (".csv", ".parquet"):
        raise wrong("E201", f"--output is {str(output)!r}. Its name ends in .csv or .parquet")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        beside = _beside(output)
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise unwritable(str(output), error) from error


def _beside(output: Path) -> Path:
    return output.with_name(output.name + ".part")


def write_table(table: Any, output: Path) -> None:
    """CSV or Parquet, by the ending, which `check_output` has looked at; written beside and then moved, so never half
    there."""
    from pyarrow import csv, parquet

    beside = _beside(output)
    try:
        csv.write_csv(table, beside) if output.suffix == ".csv" else parquet.write_table(table, beside)
        beside.replace(output)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise unwritable(str(output), error) from error
