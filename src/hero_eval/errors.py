"""What can be wrong with the input or the call, and how it is said.

Every problem has a code from `CATALOGUE`. A `HeroError` carries all problems that were found, not the first one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

CATALOGUE: dict[str, str] = {
    # reading
    "E101": "the path does not exist",
    "E102": "the file is empty (0 bytes)",
    "E103": "the file cannot be read (damaged, or not what its name says)",
    "E104": "a column is missing",
    "E105": "the table has no rows",
    "E106": "the text is not UTF-8",
    "E107": "an id is null",
    "E108": "one labeler gave one item different labels",
    "E109": "a label or gold value is outside the classes",
    "E110": "an item has gold twice, with different values",
    "E111": "gold or items rows for items that have no labels and are not listed",
    "E112": "a covariate is not numeric",
    "E113": "a value is infinite, or too large to calculate with",
    "E114": "an item is described twice, differently",
    "E115": "a weight is missing, zero, negative or far out of proportion",
    "E116": "the folder holds no labels table, or two files for one table",
    "E117": "the object is not a table that can be read",
    "E118": "the class names are not usable as given",
    "E119": "no label is left",
    "E120": "the file is in no known format",
    "E121": "the file holds answers to several questions",
    "E122": "the file holds nothing that can be imported",
    "E123": "a rare answer looks like a misspelling of another",
    "E124": "there are too many different answers for classes",
    "E125": "gold is numbers, of more kinds than can be classes, and labels are not",
    "E126": "labels that should be scores are not numbers",
    "E127": "labels, or those of some labelers, and gold share no answer",
    "E128": "nothing can be said about single items",
    "E129": "numeric gold does not fit what is asked",
    "E130": "it is not clear what the columns of a wide table are",
    "E131": "a labeler that was named is not there",
    "E132": "the file holds several criteria, or not the one that was named",
    "E133": "an export of a labeling tool is not a table",
    "E134": "a package that reads this kind of file is not installed",
    "E135": "a file elsewhere cannot be fetched",
    "E136": "a past round that was named is not there",
    "E137": "a covariate holds dates",
    "E147": "a few cells hold something other than the rest",
    # calls
    "E201": "an option has a value that is not known",
    "E202": "a covariate, text or flag column is absent from a round",
    "E203": "the positive class is not clear",
    "E204": "an option does not fit this method or target",
    "E205": "the rounds do not share their classes",
    "E206": "the method needs something that was not given",
    "E207": "the configuration file is wrong",
    "E208": "the current round is one of its own past rounds",
    "E209": "the data do not show what was asked for",
    "E210": "rounds are on different scales",
    "E211": "this needs single items, and the round was counted without keeping them",
    "E212": "an engine is missing, or failed",
    "E213": "the output cannot be written",
    "E214": "labels are scores, which this cannot use",
    "E220": "there are too few items to draw from",
    "E221": "nothing says what to plan for",
    "E222": "no forecast can be made",
    "E230": "there are fewer than two models to rank, or two of one name",
    "E231": "two of the rounds to be ranked hold the same",
    "E232": "no votes connect some models with the others",
    "E233": "a vote says neither A, B nor tie",
    "E234": "a model is compared with itself",
    "E235": "a model that is named has no votes",
    # data that cannot support the answer
    "E301": "no labeler of the current round is known from history",
    "E302": "history has no gold",
    "E303": "the current round has no usable item",
    "E304": "a backtest needs at least two rounds with gold",
    "E305": "the current round has too little gold for the method",
    "E306": "the classes are too many for the method",
    # the store
    "E401": "there is no store at this place",
    "E402": "the store was made by a newer hero-eval",
    "E403": "the store has no such round, or it was removed",
    "E404": "the store, or the round, is there already, or was changed by somebody else",
    "E405": "gold was written by a labeler who is judged by it",
    "E406": "the store cannot be read or written",
    "E407": "the store has no such estimate",
    "E408": "the estimate was not reproduced",
    "E409": "a package that the store needs is not installed",
    # charts, reports and the page
    "E410": "a package that this needs is not installed",
    # the page
    "E501": "others can reach the address, and no sufficiently long token keeps strangers out",
    "E502": "the token is missing or wrong",
    "E503": "the request comes from another site, or from a form that is out of date",
    "E504": "the upload, or the request, is too large",
    "E505": "the upload is of a kind that is not accepted",
    "E506": "the upload is no longer there",
    "E507": "there is no such page, file or job",
    "E508": "the request is not understood",
    "E509": "too much work is waiting",
    "E510": "work ended before it was done",
    "E511": "the server made a mistake",
    "E512": "the address cannot be used",
    "E513": "work took longer, or needed more memory, than the server allows",
    "E514": "the work was stopped",
    "E515": "nobody has asked for this to be computed",
    "E516": "the request came too slowly",
    # giving gold on the page
    "E520": "the login is one for giving gold alone",
    "E521": "the name of the expert cannot be used",
    "E522": "no queue of items waits for experts in this round",
    "E523": "the item is not, or no longer, in the queue",
    "E524": "the answer is none of the classes",
    "E525": "there is nothing to take back",
    "E526": "the picture cannot be shown",
    "E527": "a queue cannot be drawn as asked for",
    # votes in the store, and choosing among them
    "E528": "votes and labels do not go into one round, nor do votes that cannot be told from those already there",
    "E529": "the round holds votes and labels were asked for, or the other way around",
    "E531": "gold is for pairs that have no votes",
    "E532": "no row has the values that were asked for",
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: a code, and a sentence with values, place and remedy."""

    code: str
    message: str

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise KeyError(f"unknown error code {self.code}")

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class HeroError(ValueError):
    """The input or the call is wrong (exit code 2). It is a `ValueError` too.

    Parameters
    ----------
    problems : Problem or iterable of Problem
        What is wrong; each has a `code` and a `message`.

    Attributes
    ----------
    problems : tuple of Problem
        All problems found.
    exit_code : int
        What the command ends with: 2, or 3 for `SupportError`.
    """

    exit_code = 2

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @property
    def code(self) -> str:
        """The code of the first problem."""
        return self.problems[0].code

    def __reduce__(self) -> tuple[type[HeroError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class InputError(HeroError):
    """A table, a file or an option is wrong."""


class SupportError(HeroError):
    """The data cannot support the answer asked for (exit code 3)."""

    exit_code = 3


def wrong(code: str, message: str) -> InputError:
    """An `InputError` with a single problem."""
    return InputError(Problem(code, message))


def unwritable(what: str, error: OSError) -> InputError:
    """E213: this output cannot be written, for the reason that the system gives."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return wrong("E213", f"{what} cannot be written: {reason}. Write it elsewhere, or make room there.")


def unsupported(code: str, message: str) -> SupportError:
    """A `SupportError` with a single problem."""
    return SupportError(Problem(code, message))
