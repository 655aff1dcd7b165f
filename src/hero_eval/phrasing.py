"""Numbers and results in plain words."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hero_eval.estimate import Estimate
    from hero_eval.findings import Finding
    from hero_eval.targets.backtest import Backtest
    from hero_eval.targets.item_calibration import ItemCalibration
    from hero_eval.targets.leaderboard import Leaderboard
    from hero_eval.targets.ranking import Ranking

UNKNOWN = "–"
TIES_APART = ", ties apart"
_QUOTED = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_SIDES = re.compile(rf"win rate of {_QUOTED} over {_QUOTED}")
"""The two names in what a win rate is of."""
SHORTER = "What would shorten the interval:"
TO_DO = "What to do:"
WIDTH = 80
LONGEST_NAME = 20
"""Above this a quantity goes by the name of its target."""


def printable(text: str) -> str:
    """The text with everything that could steer a terminal replaced."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def decimals(errors: Iterable[float], least: int = 3, most: int = 6) -> int:
    """Enough places to show two digits of the smallest standard error."""
    known = [error for error in errors if math.isfinite(error) and error > 0]
    return min(most, max(least, math.ceil(-math.log10(min(known))) + 1)) if known else least


def number(value: float, places: int = 3, sign: str = "") -> str:
    return f"{value:{sign}.{places}f}" if math.isfinite(value) else UNKNOWN


def chance(share: float) -> str:
    """A chance in whole percent; never 0% or 100%, which no data give."""
    if not math.isfinite(share):
        return UNKNOWN
    return f"{100 * share:.0f}%" if 0.005 <= share <= 0.995 else (">99%" if share > 0.5 else "<1%")


def p_value(p: float) -> str:
    if not math.isfinite(p):
        return UNKNOWN
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def span(low: float, high: float, places: int = 3) -> str:
    return f"{number(low, places)} to {number(high, places)}"


def give_or_take(value: float, error: float, places: int = 2) -> str:
    """Value ± standard error; ? where the error is not known."""
    spread = number(error, places) if math.isfinite(error) else "?"
    return f"{number(value, places)} ± {spread:<{places + 2}}"


def percent(share: float) -> str:
    """0.95 as 95%, 0.999 as 99.9%."""
    return f"{100 * share:.4g}%"


def count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def join(names: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def without_common(names: Sequence[str], room: int = 12) -> list[str]:
    """Long names without the words that all of them begin with, so that a table cuts no end that tells them apart."""
    if len(names) < 2 or max(map(len, names)) <= room:
        return list(names)
    first, last = min(names), max(names)  # what these two share, all share
    alike = next((place for place, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
    cut = max((place + 1 for place, sign in enumerate(first[:alike]) if not sign.isalnum()), default=0)
    return [f"…{name[cut:]}" if cut > 1 else name for name in names]


def sure(estimate: Estimate, base: float = 1.0, places: int = 0) -> str:
    """(95% sure: between 19 and 32); or that the interval is in doubt, and by which findings."""
    low, high = estimate.interval()
    return _sure_between(estimate, base * low, base * high, places)


def _sure_between(estimate: Estimate, low: float, high: float, places: int) -> str:
    level, ends = percent(estimate.level), (number(low, places), number(high, places))
    if estimate.doubts:
        return f"({level} interval {ends[0]} to {ends[1]}, in doubt: {codes(estimate.doubts)})"
    return f"({level} sure: between {ends[0]} and {ends[1]})"


def codes(findings: Iterable[Finding]) -> str:
    """F206 and F309."""
    return join(list(dict.fromkeys(one.code for one in findings)))


def base_of(estimate: Estimate) -> int:
    """Count in hundreds, or finer for a rate or an interval that would vanish in them."""
    low, high = estimate.interval()
    edge = min(estimate.value, 1.0 - estimate.value)
    finest = min(value for value in (edge or 1.0, high - low) if value >= 0)
    return next((base for base in (100, 1_000, 10_000) if finest * base >= 1), 10_000)


def out_of(estimate: Estimate, base: int) -> str:
    return f"{base * estimate.value:.0f} of {base:,}"


def begun(text: str, names: Container[str] = ()) -> str:
    """A sentence with a capital at its start, unless it starts with a name: of a file, a column or a method."""
    first = text.split(" ", 1)[0].rstrip(",:;.")
    plain = first.replace("-", "").replace("'s", "").isalpha() and first not in names
    return f"{text[:1].upper()}{text[1:]}" if plain else text


MOST_CLASSES = 5
"""How many classes a sentence names."""


def _unnamed(estimate: Estimate) -> str:
    """The rate of each class, where none of them is the one that is asked for."""
    known = {name: one for name, one in estimate.distribution.items() if not math.isnan(one.value)}
    if not known or len(known) > MOST_CLASSES:
        return "No class is named positive; below is the rate of each."
    parts = join([f"{100 * one.value:.0f} are {name!r}" for name, one in known.items()])
    return f"No class is named positive: of 100 items about {parts}."


def headline(estimate: Estimate) -> str:
    """The answer in one sentence."""
    if math.isnan(estimate.value):
        if any(finding.code == "F502" for finding in estimate.findings):
            return _unnamed(estimate)
        return f"The data do not tell the {estimate.what}."
    if estimate.target == "rate":
        base = base_of(estimate)
        counted = f"are {estimate.what.removeprefix('rate of ')}"
        if estimate.what.startswith("share of at least "):
            counted = f"have {estimate.what.removeprefix('share of ')}"
        return f"About {out_of(estimate, base)} items {counted} {sure(estimate, base)}."
    if estimate.target == "win rate":
        return f"{_win_rate(estimate)} {_verdict_on_half(estimate)}".strip()
    low, high = estimate.bounds
    places = decimals([estimate.std_error], 2)
    value = number(estimate.value, places)
    return f"The {estimate.what} is about {value} on a scale from {low:g} to {high:g} {sure(estimate, places=places)}."


def _win_rate(estimate: Estimate) -> str:
    base = base_of(estimate)
    comma = "," if estimate.what.endswith((", ties half", TIES_APART)) else ""
    return f"The {estimate.what}{comma} is about {out_of(estimate, base)} {sure(estimate, base)}."


def _verdict_on_half(estimate: Estimate) -> str:
    """Who wins, where one half is the line between the two (not so if ties are set apart)."""
    if estimate.what.endswith(TIES_APART):
        return ""
    low, high = estimate.interval()
    if estimate.doubts:
        return "Which of the two is better is undecided."
    sides = _SIDES.match(estimate.what)
    first, second = (sides[1], sides[2]) if sides is not None else ("The first", "the second")
    if low > 0.5:
        return f"{first} wins more often than {second}."
    if high < 0.5:
        return f"{first} wins less often than {second}."
    return "At this level the data cannot tell which of the two is better."


def estimate_facts(result: Estimate) -> list[tuple[str, str]]:
    if math.isnan(result.value) and result.distribution:
        return how(result)
    places = decimals([result.std_error], 4)
    facts = [
        (result.what if len(result.what) <= LONGEST_NAME else result.target, number(result.value, places)),
        (interval_name(result), span(*result.interval(), places)),
        ("standard error", number(result.std_error, places)),
    ]
    if result.mean_score is not None and result.target != "mean score":
        mean = result.mean_score
        scale = span(*mean.interval(), places)
        facts.append(("mean score", f"{number(mean.value, places)} ({scale})"))
    return facts + how(result)


def how(result: Estimate) -> list[tuple[str, str]]:
    """By which method, from how much, and whether the fit came to rest."""
    report = result.em
    facts = [
        ("method", f"{result.method} ({result.why})" if result.why else result.method),
        ("items", f"{result.n_items:,}"),
        ("gold", result.gold_words),
    ]
    if report is not None:
        facts.append(("EM", report.state if report.converged else f"{report.state} (change {report.change:.0e})"))
    return facts


def interval_name(result: Estimate) -> str:
    kinds = {
        "paper": ", as in the paper",
        "profile": ", profile",
        "bootstrap": ", bootstrap",
        "anytime": ", at every look",
    }
    return f"{percent(result.level)} interval{kinds.get(result.interval_kind, '')}"


def summary(estimate: Estimate) -> str:
    """What the terminal shows of an estimate, as plain text: the answer, the facts behind it, and the findings."""
    from hero_eval.estimation.width_parts import shortening, width_parts  # loads numpy, which help texts do without

    is_difference = estimate.target == "difference"
    answer = difference(estimate, "A", "B") if is_difference else headline(estimate)
    facts = estimate_facts(estimate)
    if is_difference or len(estimate.distribution) > 2:
        facts += [(name.upper() if is_difference else name, _value(one)) for name, one in estimate.distribution.items()]
    room = max(len(name) for name, _ in facts)
    rows = [_filled(value, f"{printable(name):<{room}}  ") for name, value in facts]
    told = [
        f"{_filled(one.fact, lead)}\n{_filled(f'{TO_DO} {one.action}', ' ' * len(lead))}"
        for one in estimate.findings
        for lead in [f"{one.severity:<7} {one.code}  "]
    ]
    parts = () if is_difference else width_parts(estimate)
    shorter = _filled(f"{SHORTER} {shortening(parts)}") if parts else ""
    return "\n\n".join(part for part in (_filled(answer), "\n".join(rows), shorter, "\n".join(told)) if part)


def _value(one: Estimate) -> str:
    places = decimals([one.std_error], 4)
    return f"{number(one.value, places)} ({span(*one.interval(), places)})"


def _filled(text: str, lead: str = "") -> str:
    """A paragraph of at most 80 columns, its later lines indented by the width of `lead`."""
    indent = " " * len(lead)
    return textwrap.fill(printable(text), WIDTH, initial_indent=lead, subsequent_indent=indent, break_long_words=False)


def difference(estimate: Estimate, a: str, b: str) -> str:
    """Which of two rounds has more, or that it cannot be told."""
    what = estimate.what.removeprefix("difference in ")
    if math.isnan(estimate.value):
        if any(finding.code == "F502" for finding in estimate.findings):
            return "No class is named positive, so there is no single difference."
        return f"The data do not tell whether the {what} differs between {a} and {b}."
    is_rate = what.startswith("rate")
    base, unit = (100.0, " points of 100") if is_rate else (1.0, "")
    places = decimals([base * estimate.std_error], 1)
    low, high = estimate.interval()
    if low == high == 0.0:
        return f"{a} and {b} hold the same, so that the {what} does not differ."
    size = number(base * abs(estimate.value), places) + unit
    if low <= 0.0 <= high:
        signed = number(base * estimate.value, places, "+") + unit
        return (
            f"At this level the data cannot tell {a} from {b}: the {what} differs by {signed} "
            f"{sure(estimate, base, places)}."
        )
    more, less = (a, b) if estimate.value > 0 else (b, a)
    if estimate.doubts:
        return (
            f"Whether {a} and {b} differ is undecided: the {what} looks higher in {more} than in {less}, by {size} "
            f"{_sure_size(estimate, base, places)}."
        )
    verdict = f"The {what} is higher in {more} than in {less}, by {size} {_sure_size(estimate, base, places)}."
    if not is_rate:
        return f"{verdict} If high scores are good, {more} is better."
    counted = what.removeprefix("rate of ")
    return f"{verdict} If {counted} is good, {more} is better; if it is a fault, {less} is."


def _sure_size(estimate: Estimate, base: float, places: int) -> str:
    low, high = sorted(abs(base * bound) for bound in estimate.interval())
    return _sure_between(estimate, low, high, places)


STEPWISE = (
    "All these intervals hold together. The clearest differences are told apart first, which leaves fewer to tell: so "
    "two models may be told apart although their interval just holds zero."
)


def ranking(result: Ranking) -> str:
    """Which model is best, or which could be."""
    models = list(result)
    which = f"the {result.best} {result.what.removeprefix('mean ')}"
    could = [model for model in models if result.rank_interval(model)[0] == 1]
    level = percent(result.level)
    if result.doubts:
        return (
            f"{models[0]} has {which} here, but whether it is best is undecided: the intervals are in doubt "
            f"({codes(result.doubts)})."
        )
    if len(could) == 1:
        return f"{could[0]} has {which} of {count(len(models), 'model')} ({level} sure)."
    if len(could) == len(models):
        return f"At this level the data cannot tell which of {count(len(models), 'model')} has {which}."
    of = count(len(models), "model")
    return f"{join(could, 'or')} has {which} of {of} ({level} sure); which of them cannot be told."


def leaderboard(result: Leaderboard) -> str:
    """Which model is strongest, or which could be."""
    could = [model for model in result.order if result.rank_interval(model)[0] == 1]
    of, level = count(len(result), "model"), percent(result.level)
    if result.doubts:
        return (
            f"{result.order[0]} is first of {of} here, but whether it is best is undecided: the intervals are in doubt "
            f"({codes(result.doubts)})."
        )
    if len(could) == 1:
        return f"{could[0]} is the best of {of} ({level} sure)."
    if len(could) == len(result):
        return f"At this level the votes cannot tell which of {of} is best."
    return f"{join(could, 'or')} is the best of {of} ({level} sure); which of them cannot be told."


def moderation(prevalence: Estimate, precision: Estimate, recall: Estimate) -> str:
    """Three numbers in one sentence; what is undefined is left out."""
    if math.isnan(prevalence.value):
        return "The data do not tell how many items are violations."
    parts = [f"About {out_of(prevalence, base_of(prevalence))} items are violations"]
    if not math.isnan(recall.value):
        parts.append(f"the flag finds {out_of(recall, 100)} of them (recall)")
    if not math.isnan(precision.value):
        parts.append(f"{out_of(precision, 100)} flags are right (precision)")
    doubt = f" Their intervals are in doubt: {codes(prevalence.doubts)}." if prevalence.doubts else ""
    return f"{join(parts)}.{doubt}"


def backtest(result: Backtest) -> str:
    """How far off the best method was, and how often its intervals held."""
    if result.best not in result.methods:
        return "No method could play any of these rounds."
    best = result.methods[result.best]
    held = f"its {percent(result.level)} intervals held in {round(best.coverage * best.n_rounds)}"
    off = f"was off by {number(best.abs_error)} on average in the {result.what}"
    return f"Over {count(best.n_rounds, 'past round')} {result.best} {off}, and {held} of them."


def calibration(result: ItemCalibration) -> str:
    """How far probabilities of items are off, and what they are worth."""
    return (
        f"On {count(result.n_gold, 'gold')} that {result.method} did not see, probabilities were off by "
        f"{number(result.error)} on average (expected calibration error; chance alone would make it "
        f"{number(result.error_by_chance)}). The Brier score is {number(result.brier)}; without labels it would be "
        f"{number(result.brier_of_mean)}."
    )


def quality(discrimination: float, uninformative: float) -> str:
    """A word for how much a labeler's answers tell."""
    if math.isnan(discrimination):
        return "unknown"
    if discrimination <= -uninformative:
        return "inverted"
    if discrimination < uninformative:
        return "no information"
    return "good" if discrimination >= 0.6 else "fair" if discrimination >= 0.3 else "weak"
