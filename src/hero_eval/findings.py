"""The catalogue of findings: what a user must know about a result.

A finding never stops an estimate; it travels with it to every place where the number is shown. It has a fact (what is
so), an action (what to do about it) and the values behind both, each in a field of its own: what differs by situation
is built where the finding is made, and nobody cuts or glues its sentences later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hero_eval import remedies
from hero_eval.documents import plain

Severity = Literal["note", "warning"]

CATALOGUE: dict[str, tuple[Severity, str]] = {
    # the data
    "F101": ("note", "exact duplicates were dropped"),
    "F102": ("note", "items without labels were set aside"),
    "F103": ("note", "rows without a label or a gold value were ignored"),
    "F104": ("warning", "labelers that history never saw were set aside"),
    "F105": ("note", "gold of the current round was not used"),
    "F106": ("note", "items of the two models that could not be paired"),
    "F107": ("note", "columns that differ within an item were ignored"),
    "F108": ("warning", "items that may repeat one prompt were taken as independent"),
    "F109": ("note", "how clusters were used"),
    "F110": ("note", "items whose ids history has too were taken as independent of it"),
    "F111": ("note", "known probabilities of having gold were used as weights"),
    "F112": ("warning", "gold did not go to a random part of the items"),
    "F113": ("warning", "rounds with the same contents count as one"),
    "F114": ("warning", "the labels of one round are in another too"),
    "F115": ("note", "answers that differ only in case or space count as one"),
    "F116": ("note", "answers that count as not given, as asked"),
    "F117": ("warning", "answers that no gold gives"),
    "F118": ("note", "labels are scores, cut into ordered bins"),
    "F119": ("note", "gold has many values, cut into ordered classes"),
    "F122": ("note", "what the columns of a wide table were taken for"),
    "F123": ("note", "labelers that were left out as asked"),
    "F124": ("note", "which past rounds a pattern or folder stood for"),
    "F125": ("note", "levels of a categorical covariate that became columns"),
    "F126": ("note", "vectors that were reduced to a few covariates"),
    "F127": ("note", "a large file of scores that was read into memory for the sake of its gold"),
    "F130": ("note", "what experts among the labelers said is gold, as asked"),
    "F131": ("warning", "labelers look like experts, and there is no gold"),
    "F132": ("note", "answers that were named, and that nobody gave"),
    "F133": ("note", "cells that hold no answer count as not given"),
    "F135": ("note", "numbers with a decimal comma or a percent sign were read as numbers"),
    "F136": ("warning", "history has no gold, though the current round has"),
    "F137": ("note", "yes and no were read as 1 and 0"),
    "F138": ("note", "words that gold never is were read as it shows"),
    "F139": ("note", "rows at the end that sum up the others were set aside"),
    # the labelers
    "F201": ("warning", "labelers whose answers carry no information"),
    "F202": ("warning", "labelers whose answers are inverted"),
    "F203": ("warning", "labelers whose reliability rests on no gold of some class"),
    "F204": ("note", "labelers err together given the gold"),
    "F205": ("warning", "history's reliabilities do not fit the current labels"),
    "F206": ("warning", "labelers err together, which the method does not allow for"),
    "F207": ("warning", "the current labelers changed relative to each other"),
    "F208": ("warning", "labelers that history never saw are taken to be like their peers"),
    "F209": ("warning", "a labeler's reliability differs between rounds"),
    "F210": ("warning", "many labelers of few labels each bias the rate"),
    "F211": ("warning", "the number of labels tells more of an item than they do"),
    "F212": ("warning", "labelers who give one answer to every item were left out"),
    "F220": ("warning", "the model and the round's own gold disagree"),
    # the fit
    "F301": ("warning", "the fit did not converge"),
    "F302": ("warning", "the estimated rate is 0 or 1, or next to it"),
    "F303": ("warning", "the rate is weakly identified"),
    "F304": ("warning", "very little gold"),
    "F306": ("note", "why this method was chosen"),
    "F307": ("warning", "no gold of one class"),
    "F308": ("warning", "nothing anchors the classes of this method to gold"),
    "F309": ("warning", "outside the usual interval's safe region"),
    "F310": ("warning", "how far rounds drift is not known"),
    "F311": ("warning", "the interval asked for leaves a part of the error out"),
    "F312": ("note", "the shape of the round's labels moved the rate"),
    "F313": ("note", "the method was chosen for the size of the rounds"),
    "F316": ("note", "how much of the drift two models share is not known"),
    "F320": ("note", "how much the labels sharpened the mean of the round's gold"),
    "F321": ("note", "which gold was hidden to see how well items are told"),
    "F322": ("warning", "probabilities of single items are off"),
    "F323": ("warning", "too little gold to see how well items are told"),
    "F324": ("warning", "a part of the round has next to no gold of its own"),
    # covariates
    "F401": ("note", "covariates were dropped"),
    "F402": ("note", "missing covariate values took the historical mean"),
    "F403": ("warning", "a covariate's mean moved between history and current"),
    "F404": ("note", "covariates that could sharpen the estimate were not used"),
    "F405": ("note", "the ridge penalty that was chosen"),
    "F406": ("note", "which covariates were taken"),
    # targets
    "F501": ("warning", "a quantity is undefined on these data"),
    "F502": ("note", "no single class was named positive"),
    "F503": ("note", "several intervals that hold jointly"),
    "F510": ("note", "the next golds are drawn at random"),
    "F513": ("note", "the interval was looked at before"),
    "F514": ("note", "the interval holds at every look"),
    "F540": ("note", "models whose gold counts for each other"),
    "F520": ("note", "what holds together in a ranking"),
    "F521": ("warning", "no gold shows how the labelers of votes err"),
    "F522": ("warning", "few votes, so that strengths were drawn together"),
    "F523": ("note", "labelers who favor a position"),
    "F524": ("note", "labelers of votes without gold count as their peers do"),
    "F525": ("note", "votes that were not counted, or not as they are"),
    "F526": ("warning", "labelers of votes whose answers carry no information"),
    "F527": ("note", "strengths are those at equal covariates of the pair"),
    # the backtest
    "F601": ("note", "the backtest left out rounds without gold"),
    "F602": ("note", "the gold's own sampling error was allowed for"),
    "F603": ("warning", "the backtest rests on few rounds"),
    "F604": ("warning", "the labels added nothing to the history's gold mean"),
    "F605": ("note", "a method could not be tried on some rounds"),
    # the store
    "F801": ("warning", "a judge changed and is a new labeler"),
    "F802": ("note", "for some judges it was not said which model and prompt they are"),
    "F803": ("note", "items on which experts differ have no gold"),
    "F804": ("warning", "a round has no date"),
    "F134": ("warning", "labels of items that a round did not have were put into it"),
    # gold that experts give on the page
    "F805": ("warning", "experts skipped many items"),
    "F806": ("warning", "experts contradict each other, or themselves"),
    "F807": ("note", "items came after the queue for experts was drawn"),
    "F808": ("note", "columns of votes that the store does not keep"),
    "F809": ("warning", "gold for pairs that have no votes"),
    "F810": ("warning", "a round with the labels of another one"),
}


DOUBTS_INTERVAL: frozenset[str] = frozenset(
    {
        "F108",  # repeats that are taken as independent
        "F112",  # what gold tells of the labelers may not hold for the other items
        "F114",
        "F205",
        "F206",
        "F209",
        "F210",
        "F211",
        "F220",  # the round's own gold says otherwise
        "F301",
        "F303",
        "F304",
        "F307",
        "F308",
        "F309",
        "F311",
        "F324",
        "F403",  # the shift of a covariate goes straight into the rate
        "F501",
        "F521",
    }
)
"""Codes that say the interval may be too short, unbounded or unidentified, unless the finding itself says otherwise:
where the interval already allows for what was found, the finding is made with `doubts=False`."""


@dataclass(frozen=True)
class Finding:
    """A coded remark on a result: what is so, what to do about it, and the values behind both.

    Parameters
    ----------
    code : str
        The code, such as ``"F403"``.
    fact : str
        What is so, with values.
    data : mapping of str to value, optional
        The values behind fact and action. Without it, none.
    action : str, optional
        What to do about it. Empty: what the catalogue says (`remedies.py`).
    doubts : bool, optional
        Whether the interval beside this finding may be wrong because of it. None: as the catalogue has it.

    Raises
    ------
    KeyError
        If the catalogue has no such code.
    """

    code: str
    fact: str
    data: Mapping[str, Any] = field(default_factory=dict)
    action: str = ""
    doubts: bool | None = None

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise KeyError(f"unknown finding code {self.code}")
        if not self.action:
            object.__setattr__(self, "action", remedies.FINDINGS.get(self.code, ""))

    @property
    def severity(self) -> Severity:
        """`warning`, which may change what you do, or `note`, which explains."""
        return CATALOGUE[self.code][0]

    @property
    def message(self) -> str:
        """The fact, under the name that errors have for it."""
        return self.fact

    @property
    def doubts_interval(self) -> bool:
        """Whether the interval may be too short, unbounded or unidentified because of this; a gate stays shut then."""
        return self.code in DOUBTS_INTERVAL if self.doubts is None else self.doubts

    def at(self, place: str) -> Finding:
        """The same finding of a round among several.

        Parameters
        ----------
        place : str
            Which one it is; it comes before the fact.

        Returns
        -------
        Finding
            A new finding.
        """
        return replace(self, fact=f"{place}: {self.fact}")

    def __str__(self) -> str:
        return f"{self.code} {self.fact}"

    def to_dict(self) -> dict[str, Any]:
        """The finding in plain types, for JSON.

        Returns
        -------
        dict
            With the keys code, severity, message (the fact), action, doubts_interval and data.
        """
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.fact,
            "action": self.action,
            "doubts_interval": self.doubts_interval,
            "data": plain(self.data),
        }


def doubts_of(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that cast doubt on the interval beside them."""
    return tuple(one for one in findings if one.doubts_interval)


def settled(findings: Iterable[Finding], codes: Iterable[str]) -> list[Finding]:
    """The findings, those of these codes without doubt: the interval that was made allows for what they say."""
    known = frozenset(codes)
    return [replace(one, doubts=False) if one.code in known else one for one in findings]


def unique(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each remark once, those that matter most first; of two that differ in nothing but doubt the doubting one."""
    seen: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        kept = seen.setdefault((finding.code, finding.fact), finding)
        if finding.doubts_interval and not kept.doubts_interval:
            seen[finding.code, finding.fact] = finding
    return tuple(sorted(seen.values(), key=importance))


def importance(finding: Finding) -> tuple[bool, bool, bool]:
    """What findings are sorted by: what casts doubt on the interval, other warnings, what was guessed, other notes."""
    return not finding.doubts_interval, finding.severity != "warning", finding.code not in GUESSES


GUESSES = frozenset({"F122", "F137", "F138"})
"""Notes on what the data were taken for: whoever finds the guess wrong must not trust the number."""


def name_some(names: list[str], most: int = 5) -> str:
    """Up to `most` names for a message, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
