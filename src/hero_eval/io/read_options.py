"""What the caller said about a round besides its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hero_eval.errors import Problem
from hero_eval.io.values import answer_text, canonical, fold, is_binary, plain_text

LABEL_KINDS = ("score", "answer")


@dataclass(frozen=True)
class ReadOptions:
    """The options of `Round` and `read_round`, checked as far as they can be without the tables."""

    columns: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    """As the caller wrote them, as text."""
    positive: str | None = None
    covariates: tuple[str, ...] = ()
    text: str | None = None
    name: str = "round"
    missing: tuple[str, ...] = ()
    """Answers that count as not given."""
    label_kind: str | None = None
    """What labels are: "score", "answer", or None to see."""
    mapped: Mapping[str, str] = field(default_factory=dict)
    """Answers that are to be read as others, as texts."""
    only: tuple[str, ...] | None = None
    """The labelers that count: columns of a wide table, or names in a long one; None: all."""
    excluded: tuple[str, ...] = ()
    """Labelers that do not count."""
    criterion: str | None = None
    """Of several criteria in one file the one that is asked for."""
    experts: tuple[str, ...] = ()
    """Labelers whose answers are gold; `*` stands for any text."""
    used: tuple[str, ...] = ()
    """Columns about items that the call uses, so that they are no labelers'."""
    familiar: frozenset[str] = frozenset()
    """Labelers of other rounds, by which those of a wide table are known."""
    lenient: bool = False
    """Whether labelers that were named may be absent from this round, because others have them."""
    among_several: bool = False
    """Whether other rounds are read alike, so that one may lack the column of gold that was named."""
    spelling: bool = True
    """Whether rare answers that look like misspellings are refused; not of rounds that were taken in before."""
    problems: tuple[Problem, ...] = ()

    @property
    def chooses_rows(self) -> bool:
        """Whether labels are left out, or taken for gold, by who gave them, or by what they answer."""
        return self.only is not None or bool(self.excluded or self.experts) or self.criterion is not None

    @property
    def class_texts(self) -> tuple[str, ...]:
        """Every answer that the caller named."""
        return (*(self.classes or ()), *((self.positive,) if self.positive is not None else ()))


def make_options(
    columns: Mapping[str, str] | None,
    classes: Sequence[Any] | None,
    positive: Any | None,
    covariates: Sequence[str] | None,
    text: str | None,
    name: str,
    missing: Sequence[Any] | None = None,
    label_kind: str | None = None,
    map: Mapping[Any, Any] | None = None,
    labelers: Sequence[str] | None = None,
    exclude_labelers: Sequence[str] | None = None,
    criterion: str | None = None,
    expert: Sequence[str] | None = None,
) -> ReadOptions:
    """ReadOptions from the arguments of a call. Unusable class names are E118, other unusable values E201."""
    problems: list[Problem] = []
    listed = _several("classes", classes, problems)
    texts = None if listed is None else tuple(_class_text(value) for value in listed)
    of_classes = _class_problems(texts) or _unprintable("classes names", texts or ())
    chosen = None if positive is None else _class_text(positive)
    of_positive = _unprintable("positive is", () if chosen is None else (chosen,))
    unsaid = tuple(_class_text(value) for value in _several("missing", missing, problems) or ())
    of_missing = _missing_problems(unsaid, (*(texts or ()), *([chosen] if chosen is not None else [])))
    used = tuple(_several("covariates", covariates, problems) or ())
    problems += [*of_classes, *of_positive, *of_missing]
    chosen_labelers = _several("labelers", labelers, problems)
    excluded = _several("exclude_labelers", exclude_labelers, problems)
    experts = _several("expert", expert, problems)
    named = (
        ("covariates names", used),
        ("text is", (text,)),
        ("name is", (name,)),
        ("labelers names", chosen_labelers or ()),
        ("exclude_labelers names", excluded or ()),
        ("expert names", experts or ()),
        ("criterion is", (criterion,)),
    )
    for what, values in named:
        problems += _name_problems(what, values)
    if label_kind not in (None, *LABEL_KINDS):
        problems.append(Problem("E201", f"label_kind is {label_kind!r}. Known: 'score', 'answer'."))
    return ReadOptions(
        columns=_mapping(columns, problems),
        classes=None if of_classes else texts,  # every label would be outside unusable classes
        positive=None if of_positive else chosen,
        covariates=tuple(one for one in used if isinstance(one, str)),
        text=text if isinstance(text, str) else None,
        name=name if not _name_problems("", (name,)) else "round",
        missing=() if of_missing else unsaid,
        label_kind=label_kind,
        mapped=_answer_map(map, problems),
        only=None if chosen_labelers is None else tuple(chosen_labelers),
        excluded=tuple(excluded or ()),
        criterion=criterion if isinstance(criterion, str) else None,
        experts=tuple(one for one in experts or () if isinstance(one, str)),
        problems=tuple(problems),
    )


def _several(option: str, values: Any, problems: list[Problem]) -> Sequence[Any] | None:
    """A single name given where several are expected is one name, not its letters."""
    if values is None or isinstance(values, str):
        return None if values is None else [values]
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        problems.append(Problem("E201", f"{option} is {values!r}. It is a list of names."))
        return None
    return list(values)


def _mapping(columns: Any, problems: list[Problem]) -> dict[str, str]:
    pairs = columns if columns is not None else {}
    if isinstance(pairs, Mapping) and all(isinstance(name, str) for pair in pairs.items() for name in pair):
        return dict(pairs)
    problems.append(Problem("E201", f"columns is {columns!r}. It maps our names to yours: {{'labeler': 'rater'}}."))
    return {}


def _answer_map(map: Any, problems: list[Problem]) -> dict[str, str]:
    """Answers and what they are to be read as, both as texts."""
    if map is None:
        return {}
    if not isinstance(map, Mapping):
        problems.append(Problem("E201", f"map is {map!r}. It maps answers to others: {{'good': 1, 'bad': 0}}."))
        return {}
    pairs = {_class_text(old): _class_text(new) for old, new in map.items()}
    if "" in (*pairs, *pairs.values()):
        problems.append(Problem("E201", "map names an empty answer. Answers that are to be left out go into missing."))
        return {}
    return pairs


def _name_problems(what: str, values: Iterable[Any]) -> list[Problem]:
    """E201 for what is no text, or none that can be written."""
    wrong = [value for value in values if value is not None and not isinstance(value, str)]
    if wrong:
        return [Problem("E201", f"{what} {wrong[0]!r}, which is no text. Columns go by their names.")]
    return _unprintable(what, [value for value in values if value is not None])


def _unprintable(what: str, values: Iterable[str]) -> list[Problem]:
    bad = [value for value in values if any("\ud800" <= letter <= "\udfff" for letter in value)]
    return [Problem("E201", f"{what} {bad[0]!r}, which holds half of a surrogate pair.")] if bad else []


def _missing_problems(missing: Sequence[str], named: Sequence[str]) -> list[Problem]:
    if "" in missing:
        return [Problem("E201", "missing names an empty answer. Empty answers count as not given in any case.")]
    both = [text for text in missing if fold(text) in {fold(name) for name in named}]
    if both:
        message = f"missing names {both[0]!r}, which classes or positive name as a class. Leave it out of one of them."
        return [Problem("E201", message)]
    return _unprintable("missing names", missing)


def _class_text(value: Any) -> str:
    text = plain_text(value) or ""
    return answer_text(text, frozenset({text.strip()})) or ""


def _class_problems(texts: tuple[str, ...] | None) -> list[Problem]:
    if texts is None:
        return []
    shown = f"classes={list(texts)}"
    if "" in texts:
        return [Problem("E118", f"{shown} holds an empty class. Name every class.")]
    spelled = [canonical(text, binary=is_binary(texts)) for text in texts]
    if len(set(spelled)) < len(spelled):
        return [Problem("E118", f"{shown} names a class twice. Name each class once.")]
    if len(texts) < 2:
        return [Problem("E118", f"{shown} has {len(texts)} class. Name at least two.")]
    return []
