"""The documents of the API, typed: what OpenAPI describes is what is sent."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float | None, Field(description="null: not known")]
Level = Annotated[float, Field(gt=0, lt=1)]


class ApiDocument(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProblemOut(ApiDocument):
    code: str = Field(pattern=r"^E\d{3}$")
    message: str
    remedy: str


class ErrorOut(ProblemOut):
    """What was wrong: the first problem, and all of them."""

    problems: list[ProblemOut]


class JobOut(ApiDocument):
    """Work in the background. Ask for it again until its state is done or failed."""

    id: str
    kind: str
    title: str
    state: Literal["waiting", "running", "done", "failed"]
    told: str
    done: int
    total: int
    ahead: int = Field(description="Pieces of work that come first.")
    seconds: float = Field(description="How long it has been in its state.")
    left: float | None = Field(None, description="About how many seconds are left, where something tells.")
    error: ErrorOut | None = None


class JobsOut(ApiDocument):
    jobs: list[JobOut]


class HeadlineOut(ApiDocument):
    """A recorded number that still holds."""

    estimate: str
    what: str
    value: Number
    low: Number
    high: Number
    level: float
    method: str
    written: str
    doubts: list[str]


class RoundOut(ApiDocument):
    round: str
    question: str
    model: str | None
    date: datetime.date | None
    items: int
    labels: int
    gold: int
    labelers: int
    source: str | None
    version: int
    holds: Literal["labels", "votes"]
    headline: HeadlineOut | None


class RoundsOut(ApiDocument):
    store_version: int
    questions: list[str]
    rounds: list[RoundOut]


class StoreOut(ApiDocument):
    version: int
    package: str
    rounds: int
    questions: list[str]
    items: int
    labels: int
    gold: int


class LabelerIdentity(ApiDocument):
    labeler: str
    name: str
    kind: str | None
    model: str | None
    prompt: str | None
    settings: str | None
    vendor: str | None
    group: str | None


class ChangeOut(ApiDocument):
    version: int
    action: str
    labels: int
    gold: int
    written: datetime.datetime | None


class RecordOut(ApiDocument):
    estimate: str
    command: str
    store_version: int
    package: str
    written: datetime.datetime


class RoundPageOut(RoundOut):
    classes: list[str] | None
    positive: str | None
    history: list[str]
    labeler_identities: list[LabelerIdentity]
    changes: list[ChangeOut]
    records: list[RecordOut]


class EstimateOut(ApiDocument):
    target: str
    what: str
    value: Number
    std_error: Number
    low: Number
    high: Number
    level: float
    interval_kind: str
    method: str
    why: str
    n_items: int
    n_gold: int
    n_gold_history: int
    n_gold_current: int
    converged: bool


class RowOut(ApiDocument):
    name: str
    value: Number
    low: Number
    high: Number
    std_error: Number
    chosen: bool
    chance: Number
    undecided: str


class FindingOut(ApiDocument):
    code: str
    severity: Literal["note", "warning"]
    message: str
    action: str
    doubts_interval: bool
    concerns: str


class FactOut(ApiDocument):
    name: str
    what: str


class WidthOut(ApiDocument):
    sentence: str
    parts: list[dict[str, Any]]


class RoundResultOut(ApiDocument):
    round: str
    question: str
    store_version: int
    history: list[str]
    recorded: str | None
    title: str
    answer: str
    bounds: tuple[float, float]
    estimate: EstimateOut
    methods: list[RowOut]
    skipped: dict[str, str]
    labelers: list[dict[str, Any]]
    n_labelers: int
    width: WidthOut
    findings: list[FindingOut]
    provenance: list[FactOut]
    charts: dict[str, str]


class GapOut(ApiDocument):
    value: Number
    low: Number
    high: Number


class DoubtOut(ApiDocument):
    """A finding that leaves open which of two models is better."""

    code: str
    message: str
    action: str


class ModelOut(EstimateOut):
    model: str
    round: str
    date: datetime.date | None
    is_baseline: bool
    difference: GapOut | None
    chance_higher: Number
    undecided: list[DoubtOut]
    history: list[str]


class LeaderOut(ApiDocument):
    first: str
    second: str
    chance: Number
    low: Number
    high: Number
    is_clear: bool
    undecided: list[DoubtOut]


class LeadersOut(ApiDocument):
    """The first and the second if high is good, and if low is."""

    high: LeaderOut | None
    low: LeaderOut | None


class ModelsOut(ApiDocument):
    question: str
    store_version: int
    what: str
    bounds: tuple[float, float]
    level: float
    baseline: str
    history: list[str]
    history_is_apart: bool
    models: list[ModelOut]
    leaders: LeadersOut
    findings: list[FindingOut]
    charts: dict[str, str]


class PointOut(ApiDocument):
    round: str
    value: Number
    low: Number
    high: Number
    gold: int


class EndOut(ApiDocument):
    round: str
    value: Number


class DriftOut(ApiDocument):
    p_value: float
    lowest: EndOut
    highest: EndOut


class ShareOut(ApiDocument):
    what: str
    points: list[PointOut]
    drift: DriftOut | None


class LabelerOut(ApiDocument):
    labeler: str
    kind: str | None
    model: str | None
    prompt: str | None
    vendor: str | None
    group: str | None
    labels: int
    gold: int
    drifts: bool
    shares: list[ShareOut]


class LabelersOut(ApiDocument):
    question: str
    store_version: int
    level: float
    rounds: list[str]
    skipped: dict[str, str]
    meaning: dict[str, str]
    labelers: list[LabelerOut]
    findings: list[FindingOut]
    charts: dict[str, str]


class MethodOut(ApiDocument):
    method: str
    n_rounds: int
    abs_error: Number
    bias: Number
    coverage: Number
    width: Number
    score: Number


class PlayOut(ApiDocument):
    round: str
    method: str
    value: Number
    low: Number
    high: Number
    gold_mean: Number
    gold_error: Number
    n_items: int
    n_gold: int
    error: Number
    covered: bool
    width: Number
    score: Number


class BacktestDriftOut(ApiDocument):
    common: Number
    own: Number


class BacktestOut(ApiDocument):
    question: str
    store_version: int
    what: str
    level: float
    best: str
    why: str
    gold_error: Number
    rounds: list[str]
    methods: list[MethodOut]
    plays: list[PlayOut]
    drift: BacktestDriftOut
    skipped: dict[str, dict[str, str]]
    findings: list[FindingOut]
    charts: dict[str, str]


class DroppedOut(ApiDocument):
    reason: str
    count: int


class LeftOut(ApiDocument):
    reason: str
    columns: list[str]


class SampleOut(ApiDocument):
    item: str
    labeler: str
    label: str


class HoldsOut(ApiDocument):
    tool: str
    why: str
    items: int
    labels: int
    gold: int
    labelers: list[str]
    n_labelers: int
    answers: list[str]
    n_answers: int
    answers_in_words: str
    columns: list[str]
    dropped: list[DroppedOut]
    left_out: list[LeftOut]
    sample: list[SampleOut]


class CountsOut(ApiDocument):
    items: int
    labels: int
    gold: int
    labelers: int


class AddedOut(ApiDocument):
    round: str
    question: str
    model: str | None
    date: datetime.date | None
    merged: bool
    items: int
    labels: int
    gold: int
    then: CountsOut
    findings: list[FindingOut]


class PreviewOut(ApiDocument):
    """What a file holds and what adding it would do; `problems` stand in the way."""

    file: str
    bytes: int
    holds: HoldsOut | None
    would: AddedOut | None
    problems: list[ProblemOut]
    ready: bool


class UploadOut(ApiDocument):
    id: str
    file: str
    bytes: int
