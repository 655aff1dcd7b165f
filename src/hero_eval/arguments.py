"""Whether an argument is of the kind that it must be: slips in a notebook get a code and a way out (E201)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hero_eval.errors import wrong


def is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether it is a number from `low` to `high`; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def check_progress(progress: Any) -> None:
    """E201 unless it can be told how far the work is."""
    if progress is not None and not callable(progress):
        said = "It is a function that is called with two numbers, as in progress=lambda done, total: print(done, total)"
        raise wrong("E201", f"progress is {progress!r}. {said}")


def check_mapping(name: str, value: Any, example: str) -> None:
    """E201 unless it maps texts to something."""
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise wrong("E201", f"{name} is {_short(value)}. It is a mapping, such as {example}")


def check_names(name: str, value: Any, what: str) -> None:
    """E201 unless it is a list of texts."""
    if isinstance(value, str):
        raise wrong("E201", f"{name} is the text {value!r}. Give a list of {what}: [{value!r}]")
    if not isinstance(value, Iterable) or not all(isinstance(one, str) for one in value):
        raise wrong("E201", f"{name} is {_short(value)}. It is a list of {what}")


def _short(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 60 else type(value).__name__
