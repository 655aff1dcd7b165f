"""What a round holds, and what could be estimated from it, in plain types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hero_eval.findings import Finding

if TYPE_CHECKING:
    from hero_eval.cli.progress import Activity
    from hero_eval.estimation.outlook import Outlook
    from hero_eval.round import Round


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
    """What each method would need, and what `hero estimate` would do."""
    from hero_eval.estimation.outlook import look_ahead

    doing.say("Looking ahead")
    return look_ahead(current, history, positive, doing.step)


def plain(ahead: Outlook) -> dict[str, Any]:
    """That in plain types."""
    best = {"method": ahead.method, "why": ahead.why, "refusal": refusal(ahead.findings)}
    lacks = ahead.lacks or {}
    return {
        "methods": [{"name": name, "can_run": lack is None, "reason": lack} for name, lack in lacks.items()] or None,
        "best": None if ahead.method is None else best,
        "findings": [finding.to_dict() for finding in ahead.findings],
        "problems": [
            {"code": one.code, "message": one.message} for one in (ahead.error.problems if ahead.error else ())
        ],
    }


def refusal(findings: Sequence[Finding]) -> str | None:
    """In a sentence, that these labelers are no use here and what would be; None where they are of use."""
    told = next((one for one in findings if one.code == "F303" and "gold_needed" in one.data), None)
    return None if told is None else f"{told.fact[:1].upper()}{told.fact[1:]}. {told.action}"


def known_labelers(current: Round, history: Sequence[Round]) -> dict[str, list[str]]:
    seen = {name for one in history for name in one.labelers}
    return {
        "known": [name for name in current.labelers if name in seen],
        "unknown": [name for name in current.labelers if name not in seen],
    }
