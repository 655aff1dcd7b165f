"""What the caller said about a round besides its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hero_eval.errors import Problem
from hero_eval.reading.values import answer_text, canonical, is_binary, plain_text


@dataclass(frozen=True)
class Options:
    """The options of `Round` and `read_round`, checked as far as they can be without the tables."""

    columns: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    """As the caller wrote them, as text."""
    positive: str | None = None
    covariates: tuple[str, ...] = ()
    text: str | None = None
    name: str = "round"
    problems: tuple[Problem, ...] = ()

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
) -> Options:
    """Options from the arguments of a call. Unusable class names are E118."""
    texts = None if classes is None else tuple(_class_text(value) for value in _several(classes))
    problems = _class_problems(texts)
    return Options(
        columns=dict(columns or {}),
        classes=None if problems else texts,  # every label would be outside unusable classes
        positive=None if positive is None else _class_text(positive),
        covariates=tuple(_several(covariates or ())),
        text=text,
        name=name,
        problems=tuple(problems),
    )


def _several(values: Sequence[Any]) -> Sequence[Any]:
    """A single name given where several are expected is one name, not its letters."""
    return [values] if isinstance(values, str) else list(values)


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
