"""Whether two shown outputs say the same.

The last digit of a rounded number can differ from one processor to the next, as sums are taken in another order there.
So a shown number with a decimal point or an exponent may differ by one unit of its last digit. Whole numbers are counts
and must be equal, as must the words; and where every number is the same, so must the layout be.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

# a number, but not the digits of a name or a version: v2.1, judge-4.1, 4.1b, 1.2.3; a hyphen between two is no sign
NUMBER = re.compile(
    r"(?<![\w.])(?<![A-Za-z_]-)(?:(?<![^\s(\[,;=:\"'>±])[-+−])?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w|\.\w)"
)
_GAPS = re.compile(r"\s+")
_RULES = re.compile(r"[─━═-]{2,}")


def alike(kept: str, fresh: str) -> bool:
    """Whether they are equal but for the last shown digits of numbers, and what these move on the line."""
    if kept == fresh:
        return True
    old, new = NUMBER.findall(kept), NUMBER.findall(fresh)
    if old == new or len(old) != len(new):
        return False
    words = [[_loose(part) for part in NUMBER.split(text)] for text in (kept, fresh)]
    return words[0] == words[1] and all(map(close, old, new))


def _loose(words: str) -> str:
    """Words without what moves when a number becomes a digit longer: gaps, ends of lines, the rules of tables."""
    return _RULES.sub("--", _GAPS.sub(" ", words))


def close(one: str, other: str) -> bool:
    """Whether two numbers are equal, or differ by one in the last of the digits shown."""
    values = [Decimal(number.replace(",", "").replace("−", "-")) for number in (one, other)]
    if values[0] == values[1]:
        return True
    if not any(set(".eE") & set(number) for number in (one, other)):
        return False  # counts
    # 0.05 beside 0.0499 has lost its zeros: the finer of the two says how many digits were shown
    unit = Decimal(1).scaleb(min(int(value.as_tuple().exponent) for value in values))
    return abs(values[0] - values[1]) <= unit


def kept_or_fresh(kept: str, fresh: str) -> str:
    """What to keep: the old text as long as it says the same, so that a page does not change with the processor."""
    return kept if alike(kept, fresh) else fresh


def shown_by(cell: Any) -> str:
    """The HTML and the text that a notebook's cell shows; pictures are the charts' business."""
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return "\n".join("".join(one[kind]) for one in data for kind in ("text/html", "text/plain") if kind in one)
