"""Every method side by side on the same rounds, with history fitted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval.display import Displayed
from hero_eval.errors import HeroError
from hero_eval.estimate import SCHEMA_VERSION, Estimate, table_of
from hero_eval.frames import Framed, checked_backend, to_frame
from hero_eval.methods.registry import all_methods
from hero_eval.model.em import EMOptions
from hero_eval.model.history import Progress
from hero_eval.reliability import Reliability, fit_with, history_rounds
from hero_eval.round import Round, common_classes, in_one_spelling
from hero_eval.targets.question import PastRounds, require_round
from hero_eval.targets.rate import estimate_rate


@dataclass(frozen=True, eq=False)
class Comparison(Displayed, Framed, Mapping[str, Estimate]):
    """Estimates by method, and why the others could not be had."""

    estimates: Mapping[str, Estimate]
    skipped: Mapping[str, str]
    frame_kind: str = "files"

    def __getitem__(self, method: str) -> Estimate:
        return self.estimates[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_frame(self, backend: str | None = None) -> Any:
        """One row a method: value, standard error, interval, items, gold."""
        return to_frame(table_of("method", self.estimates), checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "comparison",
            "methods": {name: one.to_dict() for name, one in self.estimates.items()},
            "skipped": dict(self.skipped),
        }

    def __repr__(self) -> str:
        return "Comparison(" + ", ".join(f"{name} {one.value:.4f}" for name, one in self.estimates.items()) + ")"


def compare_methods(
    current: Round,
    history: PastRounds = None,
    *,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: str | Sequence[str] | None = None,
    scores: Mapping[str, float] | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """All methods on one round. A method that the data cannot feed is listed in `.skipped` with the reason."""
    asked: dict[str, Any] = {
        "covariates": covariates,
        "text": text,
        "penalty": penalty,
        "groups": groups,
        "level": level,
        "interval": interval,
        "cluster": cluster,
        "replicates": replicates,
        "seed": seed,
        "positive": positive,
        "scores": scores,
        "progress": progress,
    }
    return compare_some(list(all_methods()), current, history, **asked)


def compare_some(
    methods: Sequence[str],
    current: Round,
    history: PastRounds,
    *,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **common: Any,
) -> Comparison:
    """As `compare_methods`, of these methods; each is given only the options that it has a use for."""
    require_round(current)
    history = _fitted_once(current, history, progress)
    estimates, skipped = {}, {}
    asked_too_much: HeroError | None = None
    asked = {"covariates": covariates, "text": text, "penalty": penalty}
    for name in methods:
        method = all_methods()[name]
        extra: dict[str, Any] = asked if method.uses_covariates else {}
        extra = extra | ({"groups": groups} if "all labelers" in method.takes else {})
        try:
            estimates[name] = estimate_rate(current, history, method=name, progress=progress, **extra, **common)
        except HeroError as error:
            if not _is_lack(error):
                raise
            skipped[name], asked_too_much = "; ".join(problem.message for problem in error.problems), error
    if not estimates and asked_too_much is not None and asked_too_much.code == "E211":
        raise asked_too_much  # what no method can do for these rounds is wrong with the call
    return Comparison(estimates, skipped, current.frame_kind)


def _is_lack(error: HeroError) -> bool:
    """The method lacks something (gold, covariates, known labelers, items), as against a call that is wrong."""
    return error.exit_code == 3 or error.code in ("E206", "E211")


def _fitted_once(current: Round, history: PastRounds, progress: Progress | None) -> PastRounds:
    if history is None or isinstance(history, Reliability):
        return history
    *past, current = in_one_spelling([*history_rounds(history), current])
    try:
        return fit_with(tuple(past), EMOptions(), common_classes([current, *past]), progress)
    except HeroError as error:
        if error.exit_code == 3:
            return history
        raise
