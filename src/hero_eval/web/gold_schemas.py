"""The documents of the API about giving gold, typed."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field

from hero_eval.web.api_schemas import ApiDocument, FindingOut, JobOut, Number


class AgreementOut(ApiDocument):
    """Items that were answered twice."""

    items: int = Field(description="By two experts.")
    same: int
    own_items: int = Field(description="By one expert, twice.")
    own_same: int
    differing: list[str]


class GoldProgressOut(ApiDocument):
    """What is known of the round with the answers so far."""

    round: str
    gold: int
    records: int = Field(description="What experts had done by then: answers, skips and undos.")
    from_page: int = Field(description="Items whose gold was given on the page.")
    value: Number
    low: Number
    high: Number
    level: float
    answer: str
    expected: str = Field(description="What the next ten answers are expected to do.")
    estimate: str | None = Field(description="Under which it is recorded.")
    findings: list[FindingOut]


class GoldOut(ApiDocument):
    """A queue of items for experts, and how far it is."""

    round: str
    queue: str
    way: str
    classes: list[str]
    items: int
    answered: int
    skipped: int
    left: int
    second: int
    experts: list[str]
    agreement: AgreementOut
    progress: GoldProgressOut | None
    newer: int = Field(description="What experts have done since that was worked out.")
    job: JobOut | None


class GoldQueueOut(ApiDocument):
    """A queue that was drawn."""

    round: str
    queue: str
    items: int
    twice: int
    way: str


class ChoiceOut(ApiDocument):
    value: str
    text: str
    key: str


class GoldItemOut(ApiDocument):
    """An item for an expert; `id` is sent with the answer, so that one sent twice counts once."""

    id: str
    queue: str
    item: str
    number: int
    question: str
    contents: dict[str, str]
    columns: dict[str, str] = Field(description="How each column is to be shown.")
    left: str | None = Field(description="Of two answers side by side the class of the left one.")
    choices: list[ChoiceOut]


class GoldNextOut(ApiDocument):
    item: GoldItemOut | None = Field(description="null: nothing is left for this expert.")


class GoldRecordOut(ApiDocument):
    """What is in the store now."""

    id: str
    queue: str
    round: str
    action: Literal["answer", "skip", "undo"]
    item: str
    gold: str | None
    expert: str
    second: bool
    left: str | None
    note: str | None
    reason: str | None
    of: str | None
    seconds: Number
    written: datetime.datetime
    package: str


class GoldRecordsOut(ApiDocument):
    records: list[GoldRecordOut]
