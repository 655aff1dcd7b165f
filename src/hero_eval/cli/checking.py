"""What a round holds, and what could be estimated from it, in plain types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hero_eval.errors import HeroError
from hero_eval.findings import Finding

if TYPE_CHECKING:
    from hero_eval.cli.progress import Activity
    from hero_eval.round import Round
    from hero_eval.targets.comparison import Comparison


@dataclass(frozen=True)
class Outlook:
    """Every method tried on the round, the one that would be picked, and what stands in the way."""

    methods: list[dict[str, Any]] | None = None
    best: dict[str, Any] | None = None
    findings: tuple[Finding, ...] = ()
    error: HeroError | None = None


def describe(one: Round) -> dict[str, Any]:
    import numpy as np

    if not one.holds_items:
        return _describe_large(one)
    labels = np.bincount(one.label_item, minlength=one.n_items)
    by_class = np.bincount(one.gold[one.gold >= 0], minlength=len(one.values))
    numeric = one.numeric_columns()
    return {
        "name": one.name,
        "items": one.n_items,
        "labels": one.n_labels,
        "labelers": list(one.labelers),
        "gold": one.n_gold,
        "gold_by_class": {name: int(of) for name, of in zip(one.values, by_class, strict=True) if one.n_gold},
        "labels_per_item": {
            "min": int(labels.min()),
            "mean": float(labels.mean()),
            "max": int(labels.max()),
        },
        "classes": list(one.classes_given or one.values),
        "covariates": {name: float(np.isnan(one.covariate(name)).mean()) for name in numeric},
        "other_columns": [name for name in one.column_names if name not in numeric],
        "weight": None if one.weight is None else {"min": float(one.weight.min()), "max": float(one.weight.max())},
        "notes": [note.to_dict() for note in notes_of(one)],
    }


def notes_of(one: Round, past: Sequence[Round] = ()) -> tuple[Finding, ...]:
    """What reading the round showed, and the answers of it that no gold gives."""
    from hero_eval.estimation.unseen_answers import outside_gold

    values = dict.fromkeys(value for of in (one, *past) for value in of.values)
    return (*one.notes, *outside_gold([one], past, list(values)))


def _describe_large(one: Round) -> dict[str, Any]:
    """The same from counts; what only the items would tell is left out."""
    import numpy as np

    from hero_eval.counting.count import tally_of

    tally = tally_of(one)
    labels = np.diff(tally.ends)
    known = {name: float(tally.items[tally.gold == k].sum()) for k, name in enumerate(one.values)}
    moments = tally.moments
    missing = {} if moments is None else dict(zip(moments.names, 1 - moments.observed / tally.n_items, strict=True))
    return {
        "name": one.name,
        "items": one.n_items,
        "labels": one.n_labels,
        "labelers": list(one.labelers),
        "gold": one.n_gold,
        "gold_by_class": {name: int(of) for name, of in known.items() if one.n_gold},
        "labels_per_item": {"min": int(labels.min()), "mean": one.n_labels / one.n_items, "max": int(labels.max())},
        "classes": list(one.classes_given or one.values),
        "covariates": {name: float(share) for name, share in missing.items()},
        "other_columns": [name for name in one.column_names if name not in missing],
        "weight": None,
        "notes": [note.to_dict() for note in notes_of(one)],
    }


def outlook(current: Round, history: Sequence[Round], positive: list[str] | None, doing: Activity) -> Outlook:
    """Try every method, and the choice that `hero estimate` would make."""
    import hero_eval as hero

    doing.say("Trying every method")
    past = history or None
    try:
        tried = hero.compare_methods(current, past, positive=positive, progress=doing.step)
    except HeroError as error:
        return Outlook(error=error)
    methods = _tried(tried)
    try:
        chosen = hero.estimate_rate(current, past, positive=positive, progress=doing.step)
    except HeroError as error:
        return Outlook(methods, error=error)
    best: dict[str, Any] = {"method": chosen.method, "why": chosen.why, "refusal": refusal(chosen.findings)}
    return Outlook(methods, best, chosen.findings)


def refusal(findings: Sequence[Finding]) -> str | None:
    """In a sentence, that these labelers are no use here and what would be; None where they are of use."""
    told = next((one for one in findings if one.code == "F303" and "gold_needed" in one.data), None)
    return None if told is None else f"{told.fact[:1].upper()}{told.fact[1:]}. {told.action}"


def _tried(tried: Comparison) -> list[dict[str, Any]]:
    from hero_eval.methods.registry import all_methods

    return [
        {"name": name, "can_run": name in tried.estimates, "reason": tried.skipped.get(name)} for name in all_methods()
    ]


def known_labelers(current: Round, history: Sequence[Round]) -> dict[str, list[str]]:
    seen = {name for one in history for name in one.labelers}
    return {
        "known": [name for name in current.labelers if name in seen],
        "unknown": [name for name in current.labelers if name not in seen],
    }
