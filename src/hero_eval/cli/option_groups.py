"""Options that belong together, as one parameter of a command: `grouped` takes a group apart for the command line.

A command says `how: Estimating` and gets one object; its help shows the options of the group in that place.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from hero_eval.cli import shared_options as given
from hero_eval.cli import store_options as kept
from hero_eval.cli.habits import saying
from hero_eval.cli.problems import Problems
from hero_eval.errors import wrong
from hero_eval.name_lists import MAPPED, mapping, names, split

if TYPE_CHECKING:
    from hero_eval.gates import Gate
    from hero_eval.store.past_rounds import History


class OptionGroup:
    """A frozen dataclass whose fields are options: names, types, help texts and defaults as a command writes them."""

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """The fields as parameters of a command, in their order."""
        hints = get_type_hints(cls, include_extras=True)
        return [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(cls)  # type: ignore[arg-type]  # every group is a dataclass
        ]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer is to see it: every group of options taken apart, and put together when it is called."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[OptionGroup]] = {}
    taken: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            groups[name] = kind
            taken += kind.parameters()
        else:
            taken.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    taken += _how_much_parameters(taken)

    @wraps(command)
    def run(**values: Any) -> None:
        said = saying(values.pop("verbose", False), values.pop("quiet", False))
        made = {
            name: kind(**{one.name: values.pop(one.name) for one in kind.parameters()}) for name, kind in groups.items()
        }
        with said:
            command(**values, **made)

    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]  # where `inspect` looks first
    run.__annotations__ = {one.name: one.annotation for one in taken}
    return run


def _how_much_parameters(taken: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """--verbose and --quiet, which every command has."""
    there = {one.name for one in taken}
    both = (("verbose", given.Verbose), ("quiet", given.Quiet))
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, kind, default=False, annotation=of) for name, of in both if name not in there]


@dataclass(frozen=True)
class Estimating(OptionGroup):
    """How to estimate. Each is an option of the library by the same name and with the same default.

    Only covariates are written differently, as one text.
    """

    method: given.Method = None
    covariates: given.Covariates = None
    text: given.TextColumn = None
    penalty: given.Penalty = None
    level: given.Level = 0.95
    interval: given.Interval = None
    cluster: given.Cluster = None
    replicates: given.Replicates = None
    seed: given.Seed = None
    groups: given.Groups = None
    shrinkage: given.Shrinkage = None

    def problems(self) -> Problems:
        """What is wrong with the options, known before anything is read."""
        from hero_eval.estimation.options import Options

        found = Problems()
        found.attempt(lambda: Options(method=self.method))
        found.attempt(lambda: Options(penalty=self.penalty))
        found.attempt(lambda: Options(level=self.level))
        found.attempt(self.labeler_groups)
        found.attempt(self.checked_shrinkage)
        found.attempt(
            lambda: Options(interval=self.interval, cluster=self.cluster, replicates=self.replicates, seed=self.seed)
        )
        return found

    def arguments(self) -> dict[str, Any]:
        """What a target takes as it is; columns of the items are known only when these have been read."""
        read_apart = ("covariates", "text", "groups", "shrinkage")
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in read_apart}
        return plain | ({} if self.groups is None else {"groups": self.labeler_groups()})

    def labeler_groups(self) -> dict[str, str] | None:
        """Which labelers are alike, as the file says that --groups names."""
        from hero_eval.io.pairs import read_pairs

        return None if self.groups is None else read_pairs(self.groups, "labeler", "group")

    def checked_shrinkage(self) -> float | None:
        """The pseudo-answers that history is fitted with; E201 if they are none."""
        if self.shrinkage is not None and not (math.isfinite(self.shrinkage) and self.shrinkage >= 0):
            raise wrong("E201", f"--shrinkage is {self.shrinkage}. It is a number of 0 or more, such as 3")
        return self.shrinkage


@dataclass(frozen=True)
class Reading(OptionGroup):
    """How tables become rounds: what they call things, and which answers count."""

    column: given.Columns = None
    classes: given.Classes = None
    missing: given.Missing = None
    label_kind: given.LabelKind = None
    map: given.AnswerMap = None
    labelers: given.Labelers = None
    exclude_labelers: given.ExcludeLabelers = None
    criterion: given.Criterion = None
    expert: given.Experts = None


@dataclass(frozen=True)
class Counting(Reading):
    """As `Reading`, and who counts the labels, and with what."""

    engine: given.Engine = None
    memory_limit: given.MemoryLimit = None
    spark: given.Spark = None


@dataclass(frozen=True)
class Gated(OptionGroup):
    """Which values are good enough."""

    fail_below: given.FailBelow = None
    fail_above: given.FailAbove = None
    looks: given.Looks = None

    def gate(self) -> Gate:
        from hero_eval.gates import Gate

        if self.looks is not None and self.fail_below is None and self.fail_above is None:
            raise wrong("E204", f"--looks {self.looks} has no effect without a gate: give --fail-below or --fail-above")
        return Gate(self.fail_below, self.fail_above, 1 if self.looks is None else self.looks)


@dataclass(frozen=True)
class FromStore(OptionGroup):
    """Which store a round comes from, with which history, and whether the estimate is recorded there."""

    from_question: kept.FromQuestion = None
    from_model: kept.FromModels = None
    since: kept.Since = None
    before: kept.Before = None
    no_save: kept.NoSave = False
    store: kept.StorePath = kept.DEFAULT_STORE

    @property
    def chooses(self) -> bool:
        """Whether past rounds are chosen by question, model or date."""
        return bool(self.from_question or self.from_model or self.since or self.before)

    def named(self, path: Path | None, round: str | None) -> str | None:
        """The round of the store that is meant, None for files; E206 or E204 if nothing or too much was named."""
        if path is not None and round is not None:
            raise wrong("E204", f"both {path} and --round {round} are named. Name files, or a round of the store.")
        if path is None and round is None:
            raise wrong(
                "E206", "no round is named. Give CURRENT, a folder or a file, or a round of the store: --round NAME"
            )
        if path is not None and self.chooses:
            raise wrong(
                "E204", "--from-question, --from-model, --since and --before need a round of the store: --round"
            )
        return round

    def history(self, named: tuple[str, ...] = ()) -> History:
        """The choice of past rounds; those that --history names are rounds of the store here."""
        from hero_eval.store.past_rounds import History

        if named and self.chooses:
            raise wrong(
                "E204", "--history names the past rounds, so nothing is left to choose by question, model or date."
            )
        return History(self.from_question, tuple(self.from_model or ()), self.since, self.before, named)


@dataclass(frozen=True)
class CurrentInStore(OptionGroup):
    """The round that gets gold, where it comes from the store: its name, or the newest of a question."""

    round: kept.RoundName = None
    question: kept.NewestOf = None
    store: kept.StorePath = kept.DEFAULT_STORE

    def is_meant(self, files: bool, *, otherwise: bool = False) -> bool:
        """Whether the store is asked: it is where no files are named, unless something else may be meant `otherwise`
        and nothing speaks for the store. E204 if both are named."""
        said = "--round" if self.round is not None else "--question" if self.question is not None else None
        if files and said is not None:
            raise wrong("E204", f"both files and {said} are named. Name CURRENT, or a round of the store.")
        if files:
            return False
        elsewhere = self.store != kept.DEFAULT_STORE or Path(self.store).exists()
        return said is not None or not otherwise or elsewhere


def _file_or_names(said: str | None) -> Path | list[str] | None:
    """A table of who the labelers are, if it is there or is called like one; else names."""
    if said is None:
        return None
    from hero_eval.io.files import ALL_ENDINGS

    is_file = Path(said).exists() or said.lower().endswith(ALL_ENDINGS)
    return Path(said) if is_file else names("--labelers", said)


@dataclass(frozen=True)
class AboutRound(OptionGroup):
    """What is said of a round that comes into the store."""

    model: kept.Model = None
    question: kept.Question = None
    date: kept.Date = None
    gold: kept.GoldFile = None
    gold_source: kept.GoldSource = None
    labelers: kept.LabelersFile = None
    expert: kept.Experts = None
    column: given.Columns = None
    classes: given.Classes = None
    missing: given.Missing = None
    label_kind: given.LabelKind = None
    map: given.AnswerMap = None
    positive: given.Positive = None
    exist_ok: kept.ExistOk = False
    criterion: given.Criterion = None

    def arguments(self) -> dict[str, Any]:
        """As `Store.add` takes it."""
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("expert", "column")}
        return said | {
            "labelers": _file_or_names(self.labelers),
            "experts": tuple(self.expert or ()),
            "columns": mapping("--column is", self.column or ()),
            "classes": split("--classes", self.classes),
            "missing": names("--missing", self.missing),
            "map": mapping("--map is", split("--map", self.map) or (), MAPPED) or None,
        }
