"""Where the width of an interval comes from, and what would shorten it: for the terminal, reports and charts alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hero_eval.estimate import Estimate

SOURCES = {
    "history": (
        "reliability",
        "what history leaves open: reliabilities, covariate means",
        "More gold in past rounds, on items of the same labelers",
    ),
    "covariates": (
        "covariate mean",
        "the covariates' mean, which history knows only so well",
        "More items in past rounds, even without gold,",
    ),
    "current": (
        "current sample",
        "the current round's sample of items and labels",
        "More items, or more labels per item, in this round",
    ),
    "rounds": (
        "drift between rounds",
        "drift of the labelers between rounds",
        "Gold in this round, or more past rounds with gold",
    ),
    "items": (
        "clusters of items",
        "clusters of items, of history and current together",
        "More clusters, such as prompts",
    ),
}
"""For each source of influences its name, what it is in words, and what would shrink its part."""


@dataclass(frozen=True)
class WidthPart:
    """A source's share of the variance, and how wide the interval would be without it, against now."""

    source: str
    name: str
    meaning: str
    share: float
    without: float
    remedy: str


APART = (
    "reliability",
    "what history leaves open of the labelers' reliabilities",
    "More gold in past rounds, on items of the same labelers",
)
"""The words for history where the covariates' mean has its own part."""


OWN_GOLD = "More gold, more items, or more labels per item, in this round"
"""What shrinks the current sample's part where the round's own gold counts."""
ALL_GOLD = "More items in this round"
"""What does, where every item has gold: labels tell nothing beyond it."""
NO_GOLD = "Gold, in this round or in past ones,"
"""What would, where no gold tells how labelers err: more labels make nobody more right."""


def width_parts(result: Estimate) -> tuple[WidthPart, ...]:
    """The sources of the variance, largest first; none if nothing is known of it.

    Drift between rounds that is not in the interval has no part, be it that nobody could measure it or that the kind
    of interval leaves it out.
    """
    found = {source: part for source, part in result.influence.variance_by_source().items() if math.isfinite(part)}
    if leaves_drift_out(result) or (
        not drift_is_in(result) and found.get("rounds", math.inf) < 0.005 * sum(found.values())
    ):
        found.pop("rounds", None)
    total = sum(found.values())
    if math.isnan(result.value) or total <= 0:
        return ()
    parts = []
    for source, variance in sorted(found.items(), key=lambda pair: -pair[1]):
        name, meaning, remedy = APART if source == "history" and "covariates" in found else SOURCES[source]
        if source == "current" and result.n_gold_current:
            remedy = ALL_GOLD if result.n_gold_current >= result.n_items else OWN_GOLD
        elif source == "current" and not result.n_gold:
            remedy = NO_GOLD
        share = variance / total
        parts.append(WidthPart(source, name, meaning, share, math.sqrt(max(1.0 - share, 0.0)), remedy))
    return tuple(parts)


def drift_is_in(result: Estimate) -> bool:
    """Whether the interval allows for drift, be it one that past rounds show or a usual one."""
    if leaves_drift_out(result):
        return False
    return all(finding.code != "F310" or finding.data.get("assumed") for finding in result.findings)


def leaves_drift_out(result: Estimate) -> bool:
    """Whether the kind of interval that was asked for does."""
    return any(finding.code == "F311" for finding in result.findings)


def shortening(parts: tuple[WidthPart, ...]) -> str:
    """What would shorten the interval most, in a sentence."""
    if not parts:
        return "The data do not tell where the width comes from."
    largest = parts[0]
    if len(parts) == 1:
        return f"All of the width comes from {largest.meaning}. {largest.remedy} would shorten it."
    return (
        f"{100 * largest.share:.0f}% of the variance comes from {largest.meaning}. {largest.remedy} would shorten the "
        f"interval, to {100 * largest.without:.0f}% of its width at best."
    )


def shorten(result: Estimate) -> dict[str, Any]:
    """Where the width comes from and what would shrink it, in plain types."""
    parts = width_parts(result)
    names = ("source", "name", "share", "without", "remedy")
    rows = [{name: getattr(part, name) for name in names} for part in parts]
    return {"words": shortening(parts), "parts": rows}
