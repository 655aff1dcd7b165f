"""The problems of a call, gathered so that all of them are told at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hero_eval.errors import HeroError, InputError, SupportError

T = TypeVar("T")


@dataclass
class Problems:
    """Everything that is wrong with a call, to be raised at once."""

    errors: list[HeroError] = field(default_factory=list)

    def attempt(self, action: Callable[[], T]) -> T | None:
        """What the action gives, or None with its problems noted."""
        try:
            return action()
        except HeroError as error:
            self.errors.append(error)
            return None

    def raise_any(self) -> None:
        found = dict.fromkeys(problem for error in self.errors for problem in error.problems)
        if found:
            wrong_input = any(error.exit_code == InputError.exit_code for error in self.errors)
            raise (InputError if wrong_input else SupportError)(found)
