"""Old public names: they work for one version more, with a warning that says what to write instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def warn_renamed(old: str, new: str) -> None:
    """A DeprecationWarning that points at whoever called the function that calls this one."""
    message = f"{old} is now called {new}; the old name will be removed in the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=3)


def renamed_option(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a function take a keyword under its old name too. Signature and documentation show only the new one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{function.__name__}() was given {new!r}, and {old!r}, which is its old name")
                warn_renamed(f"{function.__name__}({old}=)", f"{new}=")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
