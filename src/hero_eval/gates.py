"""Release gates: whether a number may be acted on. One verdict for the command, reports, documents and the page.

A gate is open where the one-sided bound at the estimate's level is on the right side and nothing casts doubt on that
bound. Where a finding does (`Finding.doubts_interval`), or nothing is known of the number, the gate is undecided; an
undecided gate is shut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from hero_eval.errors import wrong
from hero_eval.estimate import Estimate, number
from hero_eval.findings import Finding

State = Literal["open", "closed", "undecided"]
_SHUT: tuple[State, ...] = ("undecided", "closed", "open")  # the worst of several first


@dataclass(frozen=True)
class Verdict:
    """What a gate says of one number: its state, in words, and the findings that leave it undecided."""

    state: State
    what: str
    words: str
    bound: float
    findings: tuple[Finding, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    def to_dict(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "what": self.what,
            "words": self.words,
            "bound": number(self.bound),
            "findings": [one.code for one in self.findings],
        }


@dataclass(frozen=True)
class Gate:
    """Opens where the number is surely at least `fail_below` and surely at most `fail_above`.

    Parameters
    ----------
    fail_below : float, optional
        The least value that is good enough. None: no value is too low.
    fail_above : float, optional
        The largest value that is good enough. None: no value is too high.
    looks : int, default 1
        How often the gate may be asked of a round as it grows. Each look gets an equal part of the error, so that all
        of them together open wrongly no more often than the level says, however they are spaced. An estimate with
        ``interval="anytime"`` needs no such number.

    Raises
    ------
    InputError
        If a bound is no number, no value lies between the bounds, or the number of looks is none (E201).

    Examples
    --------
    >>> from importlib.resources import files
    >>> import hero_eval as hero
    >>> example = files("hero_eval") / "examples" / "defect"
    >>> current = hero.read_round(example / "current")
    >>> history = hero.read_round(example / "history")
    >>> rate = hero.estimate_rate(current, history)
    >>> hero.Gate(fail_above=0.25).verdict(rate).state
    'closed'
    >>> hero.Gate(fail_above=0.35).verdict(rate).is_open
    True
    """

    fail_below: float | None = None
    fail_above: float | None = None
    looks: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.looks, bool) or not isinstance(self.looks, int) or self.looks < 1:
            raise wrong("E201", f"looks is {self.looks!r}. It is a whole number of 1 or more")
        for name in ("fail_below", "fail_above"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value)):
                raise wrong("E201", f"{name} is {value!r}. It is a number to compare the estimate with")
        if self.fail_below is not None and self.fail_above is not None and self.fail_below > self.fail_above:
            raise wrong(
                "E201",
                f"fail_below is {self.fail_below:g} and fail_above is {self.fail_above:g}: no value can pass both, so "
                "the gate could never open. Were they swapped?",
            )

    @property
    def is_asked(self) -> bool:
        """Whether there is a bound at all."""
        return self.fail_below is not None or self.fail_above is not None

    def verdict(self, estimate: Estimate) -> Verdict:
        """Open, closed or undecided, by the one-sided bounds at the estimate's level.

        Both may be asked for; the first that fails is told. A bound that the quantity cannot reach is refused (E201).

        Parameters
        ----------
        estimate : Estimate
            The number that the gate is for.

        Returns
        -------
        Verdict
            With the `state`, the `words` for it, the `bound` that was looked at, and the `findings` that leave it
            undecided.
        """
        self._refuse_beyond(estimate)
        spent = 1.0 - (1.0 - estimate.level) / (1 if estimate.interval_kind == "anytime" else self.looks)
        low, high = (estimate.interval(spent, side=side)[end] for side, end in (("lower", 0), ("upper", 1)))
        sides = [
            _side(estimate, low, "low", self.fail_below, low >= (self.fail_below or 0.0), spent),
            _side(estimate, high, "high", self.fail_above, high <= (self.fail_above or 0.0), spent),
        ]
        asked = [side for side in sides if side is not None]
        failed = [side for side in asked if side[0] is False]
        holds, bound, may, sure = (failed or asked or [(True, math.nan, "nothing was asked", "")])[0]
        doubts, shut = estimate.doubts if asked else (), "An undecided gate is closed."
        if math.isnan(estimate.value) and asked:
            words = f"gate undecided: the data do not tell the {estimate.what}. {shut} {_actions(doubts)}"
            return Verdict("undecided", estimate.what, words.strip(), bound, doubts)
        if doubts:
            why = "; ".join(map(str, doubts))
            words = f"gate undecided: {may}, but that bound is in doubt: {why}. {shut} {_actions(doubts)}"
            return Verdict("undecided", estimate.what, words, bound, doubts)
        state: State = "open" if holds else "closed"
        return Verdict(state, estimate.what, f"gate {state}: {may}{sure}", bound)

    def _refuse_beyond(self, estimate: Estimate) -> None:
        """E201 for a bound that the quantity cannot reach: 30 for a rate would let everything through."""
        low, high = estimate.bounds
        for name in ("fail_below", "fail_above"):
            asked = getattr(self, name)
            if asked is not None and not low <= asked <= high:
                percent = f" Did you mean {asked / 100:g}?" if high == 1.0 and low <= asked / 100 <= high else ""
                raise wrong(
                    "E201", f"{name} is {asked:g}, but the {estimate.what} lies between {low:g} and {high:g}.{percent}"
                )

    def verdicts(self, estimates: Sequence[Estimate]) -> list[Verdict]:
        """The verdict on each of several numbers.

        Parameters
        ----------
        estimates : sequence of Estimate
            The numbers.

        Returns
        -------
        list of Verdict
            In the same order.
        """
        return [self.verdict(one) for one in estimates]

    def to_dict(self, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """What was asked, the verdict of all numbers together (open if each is), and each one.

        Parameters
        ----------
        verdicts : sequence of Verdict
            The verdicts, as `verdicts` gives them.

        Returns
        -------
        dict
            In plain types, for JSON.
        """
        together = next((state for state in _SHUT if any(one.state == state for one in verdicts)), "undecided")
        return {
            "fail_below": self.fail_below,
            "fail_above": self.fail_above,
            **({"looks": self.looks} if self.looks > 1 else {}),
            "state": together,
            "verdicts": [one.to_dict() for one in verdicts],
        }


def chance_above(estimate: Estimate, threshold: float) -> float | None:
    """How sure it is that the quantity lies above `threshold`; None where that is undecided, or nothing is known."""
    if math.isnan(estimate.value) or estimate.doubts:
        return None
    return estimate.probability_above(threshold)


def _side(
    estimate: Estimate, bound: float, way: str, asked: float | None, holds: bool, level: float
) -> tuple[bool, float, str, str] | None:
    """Whether one bound holds, the bound, what it may be, and how sure that is; None if it was not asked for."""
    if asked is None:
        return None
    chance, side, was = (
        (estimate.probability_above(asked), "above", "required")
        if way == "low"
        else (estimate.probability_below(asked), "below", "allowed")
    )
    may = f"{estimate.what} may be as {way} as {bound:.4f} at level {level:.4g}; {asked:g} was {was}"
    return holds, bound, may, f" (we are {_share(chance)} sure that it is {side})"


def _share(chance: float) -> str:
    """As a percentage that is never all or nothing: no data are that sure."""
    return "more than 99.9%" if chance > 0.999 else "less than 0.1%" if chance < 0.001 else f"{chance:.1%}"


def _actions(findings: Sequence[Finding]) -> str:
    """What would settle it, each remedy once."""
    actions = list(dict.fromkeys(one.action for one in findings))
    return f"What to do: {' '.join(actions)}" if actions else ""
