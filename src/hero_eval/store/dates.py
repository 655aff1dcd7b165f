"""The date of a round: given, or read from its name by patterns that take nothing else for a date; else unknown."""

from __future__ import annotations

import datetime
import re

from hero_eval.errors import wrong

YEARS = range(2000, 2100)
"""A number outside of these is no year."""

_FORMS = "2026-11-09, 20261109, 2026-w46 or 2026-11"
_DATE = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<week_year>\d{4})-?[wW](?P<week>\d{1,2})"
    r"|(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2})|(?!-\d))"
    r"|(?P<together>\d{8})"
    r")(?![A-Za-z0-9])"
)
"""A day, a week or a month that stands by itself: no letter or digit touches it, and it is no part of a longer one."""

_WHOLE = re.compile(
    r"(?P<week_year>\d{4})-?[wW](?P<week>\d{1,2})"
    r"|(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?"
    r"|(?P<together>\d{8})"
)


def day_in_name(name: str) -> datetime.date | None:
    """The day that a name holds; None if it holds none, or several different ones."""
    found = {_day(match) for match in _DATE.finditer(name)} - {None}
    return found.pop() if len(found) == 1 else None


def day_of(what: str, text: str) -> datetime.date:
    """A day as somebody writes it: the day, the Monday of a week, the first of a month. E201 if it is none."""
    match = _WHOLE.fullmatch(text.strip())
    day = _day(match) if match else None
    if day is None:
        years = f"of the years {YEARS[0]} to {YEARS[-1]}"
        raise wrong("E201", f"{what} is {text!r}. Write a day, a week or a month {years}: {_FORMS}")
    return day


def date_of(name: str, given: str | datetime.date | None) -> tuple[datetime.date | None, str | None]:
    """The date of a round, and whether it was "given" or read from its "name"; (None, None) if nobody knows."""
    if isinstance(given, datetime.datetime):
        given = given.date()
    if isinstance(given, datetime.date):
        return day_of("date", given.isoformat()), "given"
    if given is not None:
        return day_of("date", given), "given"
    found = day_in_name(name)
    return found, None if found is None else "name"


def _day(match: re.Match[str]) -> datetime.date | None:
    part = match.groupdict()
    try:
        if part["week"]:
            found = datetime.date.fromisocalendar(int(part["week_year"]), int(part["week"]), 1)
            return found if int(part["week_year"]) in YEARS else None
        if together := part["together"]:
            found = datetime.date(int(together[:4]), int(together[4:6]), int(together[6:]))
        else:
            found = datetime.date(int(part["year"]), int(part["month"]), int(part["day"] or 1))
    except ValueError:
        return None
    return found if found.year in YEARS else None
