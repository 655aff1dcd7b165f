"""The documents of the API, typed: what OpenAPI describes is what is sent."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float | None, Field(description="null: not known")]
Level = Annotated[float, Field(gt=0, lt=1)]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProblemOut(Shape):
    code: str = Field(pattern=r"^E\d{3}$")
    message: str
    remedy: str


class ErrorOut(ProblemOut):
    """What was wrong: the first problem, and all of them."""

    problems: list[ProblemOut]


class JobOut(Shape):
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
    error: ErrorOut | None = None


class JobsOut(Shape):
    jobs: list[JobOut]


class HeadlineOut(Shape):
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


class RoundOut(Shape):
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
    headline: HeadlineOut | None


class RoundsOut(Shape):
    store_version: int
    questions: list[str]
    rounds: list[RoundOut]


class StoreOut(Shape):
    version: int
    package: str
    rounds: int
    questions: list[str]
    items: int
    labels: int
    gold: int


class LabelerIdentity(Shape):
    labeler: str
    name: str
    kind: str | None
    model: str | None
    prompt: str | None
    settings: str | None
    vendor: str | None
    group: str | None


class ChangeOut(Shape):
    version: int
    action: str
    labels: int
    gold: int
    written: datetime.datetime | None


class RecordOut(Shape):
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


class EstimateOut(Shape):
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


class RowOut(Shape):
    name: str
    value: Number
    low: Number
    high: Number
    std_error: Number
    chosen: bool
    chance: Number
    undecided: str


class FindingOut(Shape):
    code: str
    severity: Literal["note", "warning"]
    message: str
    action: str
    doubts_interval: bool
    concerns: str


class FactOut(Shape):
    name: str
    what: str


class WidthOut(Shape):
    sentence: str
    parts: list[dict[str, Any]]


class RoundResultOut(Shape):
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


class GapOut(Shape):
    value: Number
    low: Number
    high: Number


class DoubtOut(Shape):
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


class LeaderOut(Shape):
    first: str
    second: str
    chance: Number
    low: Number
    high: Number
    is_clear: bool
    undecided: list[DoubtOut]


class LeadersOut(Shape):
    """The first and the second if high is good, and if low is."""

    high: LeaderOut | None
    low: LeaderOut | None


class ModelsOut(Shape):
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


class PointOut(Shape):
    round: str
    value: Number
    low: Number
    high: Number
    gold: int


class EndOut(Shape):
    round: str
    value: Number


class DriftOut(Shape):
    p_value: float
    lowest: EndOut
    highest: EndOut


class ShareOut(Shape):
    what: str
    points: list[PointOut]
    drift: DriftOut | None


class LabelerOut(Shape):
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


class LabelersOut(Shape):
    question: str
    store_version: int
    level: float
    rounds: list[str]
    skipped: dict[str, str]
    meaning: dict[str, str]
    labelers: list[LabelerOut]
    findings: list[FindingOut]
    charts: dict[str, str]


class MethodOut(Shape):
    method: str
    n_rounds: int
    abs_error: Number
    bias: Number
    coverage: Number
    width: Number
    score: Number


class PlayOut(Shape):
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


class BacktestDriftOut(Shape):
    common: Number
    own: Number


class BacktestOut(Shape):
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


class DroppedOut(Shape):
    reason: str
    count: int


class SampleOut(Shape):
    item: str
    labeler: str
    label: str


class HoldsOut(Shape):
    tool: str
    why: str
    items: int
    labels: int
    gold: int
    labelers: list[str]
    n_labelers: int
    answers: list[str]
    n_answers: int
    columns: list[str]
    dropped: list[DroppedOut]
    sample: list[SampleOut]


class CountsOut(Shape):
    items: int
    labels: int
    gold: int
    labelers: int


class AddedOut(Shape):
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


class PreviewOut(Shape):
    """What a file holds and what adding it would do; `problems` stand in the way."""

    file: str
    bytes: int
    holds: HoldsOut | None
    would: AddedOut | None
    problems: list[ProblemOut]
    ready: bool


class UploadOut(Shape):
    id: str
    file: str
    bytes: int
