"""A release gate as a test. pytest loads this by itself; tests ask for the fixture `hero_round`.

    def test_release(hero_round):
        assert hero_round("rounds/may", history="rounds/2026-*").rate >= 0.85

The comparison is a gate, not one of two numbers: it holds where the bound of the estimate is on the right side and
nothing casts doubt on that bound. When it fails, the assertion gives the verdict, the interval and the findings in
short, and the section "hero" of the test's report what the terminal would say.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from hero_eval.estimate import Estimate
    from hero_eval.gates import Verdict


class GatedQuantity:
    """An estimate under test. ``>=`` and ``<=`` ask whether it is surely so; ``estimate`` is the number itself."""

    def __init__(self, estimate: Estimate, test: pytest.Item, looks: int = 1) -> None:
        self.estimate = estimate
        self.looks = looks
        self.verdict: Verdict | None = None
        """What the last comparison said."""
        self._test = test

    def __ge__(self, bound: object) -> bool:
        return self._opens(_number(bound), None)

    def __le__(self, bound: object) -> bool:
        return self._opens(None, _number(bound))

    __gt__ = __ge__
    __lt__ = __le__

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("an estimate has an interval: compare it by >= or <=, or look at its .estimate.value")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("an estimate is neither true nor false: compare it by >= or <=")

    def __repr__(self) -> str:
        return repr(self.estimate)

    def _opens(self, fail_below: float | None, fail_above: float | None) -> bool:
        from hero_eval.documents import plain
        from hero_eval.gates import Gate

        gate = Gate(fail_below, fail_above, self.looks)
        self.verdict = gate.verdict(self.estimate)
        document = {**self.estimate.to_dict(), "gate": gate.to_dict([self.verdict])}
        self._test.user_properties.append(("hero", json.dumps(plain(document), ensure_ascii=False)))
        if not self.verdict.is_open:
            self._test.add_report_section("call", "hero", self.estimate.summary())
        return self.verdict.is_open

    def explanation(self) -> list[str]:
        """The verdict, the estimate with its interval, and the findings, one line each: pytest cuts long ones."""
        words = [] if self.verdict is None else [self.verdict.words]
        return [*words, repr(self.estimate), *(f"{one.code} {one.fact}" for one in self.estimate.findings)]


class RoundUnderTest:
    """A round with its history and options; each question is answered when it is first asked."""

    def __init__(self, current: Any, history: Any, options: Mapping[str, Any], test: pytest.Item, looks: int = 1):
        self._current, self._history, self._options, self._test = current, history, dict(options), test
        self._looks = looks

    @cached_property
    def rate(self) -> GatedQuantity:
        """How often the gold answer would be the positive class."""
        from hero_eval.targets.rate import estimate_rate

        return self._gated(estimate_rate(self._current, self._history, **self._options))

    @cached_property
    def win_rate(self) -> GatedQuantity:
        """How often A is better than B in a round of side-by-side answers."""
        from hero_eval.targets.win_rate import estimate_win_rate

        return self._gated(estimate_win_rate(self._current, self._history, **self._options))

    def minus(self, other: Any) -> GatedQuantity:
        """How much higher this round's rate is than that of another model on the same items, a round or its path."""
        from hero_eval.targets.difference import estimate_difference

        root = self._test.config.rootpath
        against = other._current if isinstance(other, RoundUnderTest) else _placed(root, other)
        return self._gated(estimate_difference(self._current, against, self._history, **self._options))

    def moderation(self, flag: str) -> Mapping[str, GatedQuantity]:
        """Prevalence, precision, recall and F1 of the flags in a column of `items`."""
        from hero_eval.targets.moderation import estimate_moderation

        found = estimate_moderation(self._current, self._history, flag=flag, **self._options)
        return {name: self._gated(one) for name, one in found.items()}

    def _gated(self, estimate: Any) -> GatedQuantity:
        return GatedQuantity(estimate, self._test, self._looks)


@pytest.fixture
def hero_round(request: pytest.FixtureRequest) -> Callable[..., RoundUnderTest]:
    """A round under test: hero_round(current, history=None, **options), as `hero_eval.estimate_rate` takes them.

    Paths are relative to pytest's rootdir; those of past rounds may be patterns, which leave out the current round.
    `looks` is how often the gate may be asked of a round as it grows, as for `hero_eval.Gate`. What a comparison found
    is a property of the test, in JUnit's XML too: the document of `hero estimate --json`.
    """

    def make(current: Any, history: Any = None, *, looks: int = 1, **options: Any) -> RoundUnderTest:
        root = request.config.rootpath
        return RoundUnderTest(_placed(root, current), _placed(root, history), options, request.node, looks)

    return make


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """What a failed comparison of an estimate says."""
    turned = op.translate(str.maketrans("<>", "><"))
    for quantity, bound, way in ((left, right, op), (right, left, turned)):
        if isinstance(quantity, GatedQuantity):
            return [f"{quantity.estimate.what} {way} {bound!r}", *quantity.explanation()]
    return None


def _placed(root: Path, given: Any) -> Any:
    """Paths below pytest's rootdir; rounds and dataframes as they are."""
    if isinstance(given, list | tuple):
        return [_placed(root, one) for one in given]
    return str(root / given) if isinstance(given, str | os.PathLike) else given


def _number(bound: object) -> float:
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise TypeError(f"an estimate is compared with a number, not with {bound!r}")
    return float(bound)
