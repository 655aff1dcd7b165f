"""Which model is better and how sure that is, in words for somebody who knows nothing of statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hero_eval import phrasing
from hero_eval.charts.theme import short

WAYS = ("high", "low")
PROBABLY = 0.8


def sureness(chance: float) -> str:
    """A chance as people say it; never 0% or 100%, which no data give."""
    if chance > 0.999:
        return "more than 99.9%"
    if chance < 0.001:
        return "less than 0.1%"
    return f"{100 * chance:.1f}%" if chance > 0.99 or chance < 0.01 else f"{100 * chance:.0f}%"


def verdict(found: Mapping[str, Any], better: str | None) -> str:
    """The answer of a comparison in one or two sentences. `better` says whether high or low is good."""
    leader = found["leaders"][better or "high"]
    if all(row["value"] is None for row in found["models"]):
        return "None of these models has a number yet. Below the table, name the class to count."
    if leader is not None and leader["undecided"]:
        return _undecided(leader, "better" if better else "higher")
    if leader is None or leader["chance"] is None:
        return "The data do not tell yet which model is better."
    first, second, sure = short(leader["first"]), short(leader["second"]), sureness(leader["chance"])
    best = "better" if better else "higher"
    only_two = len(found["models"]) == 2
    if leader["is_clear"]:
        told = f"{first} is {best} than {second}." if only_two else f"{first} is {_most(best)}, ahead of {second}."
        return f"{told} That is {sure} sure."
    if leader["chance"] >= PROBABLY:
        return f"{first} is probably {best} than {second}, but not surely: the chance is {sure}."
    return (
        f"{first} and {second} cannot be told apart yet: the chance that {first} is {best} is {sure}, "
        "and 50% would be a coin toss."
    )


def _undecided(leader: Mapping[str, Any], best: str) -> str:
    """That nobody should act on the order of these two, why, and what would settle it."""
    first, second = short(leader["first"]), short(leader["second"])
    why = "; ".join(dict.fromkeys(f"{one['message']} ({one['code']})" for one in leader["undecided"]))
    actions = " ".join(dict.fromkeys(one["action"] for one in leader["undecided"])).replace("`", "")
    return f"Undecided whether {first} is {best} than {second}: {why}. {phrasing.TO_DO} {actions}"


def _most(word: str) -> str:
    return {"better": "best", "higher": "highest"}[word]


def chance_of(row: Mapping[str, Any], better: str | None) -> float | None:
    """The chance that a model is better than the baseline; higher, if nobody said what is good."""
    chance: float | None = row["chance_higher"]
    return 1.0 - chance if chance is not None and better == "low" else chance


def in_order(found: Mapping[str, Any], better: str | None) -> list[Mapping[str, Any]]:
    """The best first; those without a number last."""
    sign = 1.0 if better == "low" else -1.0
    return sorted(found["models"], key=lambda row: (row["value"] is None, sign * (row["value"] or 0.0)))
