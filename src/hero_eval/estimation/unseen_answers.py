"""Answers that labelers give and gold never does: each is a class of its own, of which nothing is known."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np

from hero_eval import remedies
from hero_eval.counting.count import tally_of
from hero_eval.findings import Finding
from hero_eval.io.values import as_missing
from hero_eval.model.patterns import Floats, sum_by
from hero_eval.round import Round

SHOWN = 6


def outside_gold(currents: Sequence[Round], past: Sequence[Round], classes: Sequence[str]) -> tuple[Finding, ...]:
    """F117 with the count of every answer that no gold of these rounds gives, where nobody named the classes.

    Of two classes neither is a stranger: one without gold is what F307 tells.
    """
    rounds = [one for one in (*currents, *past) if not one.stays_in_engine]
    if len(classes) < 3 or any(one.classes_given is not None or one.has_scores for one in rounds):
        return ()
    labels, gold = dict.fromkeys(classes, 0.0), dict.fromkeys(classes, 0.0)
    for one in rounds:
        for name, said, known in zip(one.values, *_counts(one), strict=True):
            labels[name] += said
            gold[name] += known
    strange = {name: round(labels[name]) for name in classes if labels[name] and not gold[name]}
    if not strange or not any(gold.values()):
        return ()
    total = round(sum(labels.values()))
    shown = [f"{name!r} ({count})" for name, count in sorted(strange.items(), key=lambda of: (-of[1], of[0]))]
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    message = (
        f"answers that no gold gives, of {total} labels: {', '.join(shown[:SHOWN])}{more}; each counts as a class of "
        f"which nothing is known, and widens the interval"
    )
    units = _numbers_with_units(list(strange), classes)
    if units:
        command = shlex.quote(",".join(f"{name}={number}" for name, number in units.items()))
        action = (
            f"If they are numbers with a unit, map them: `map={units}`, `--map {command}`. {remedies.FINDINGS['F117']}"
        )
        return (Finding("F117", message, {"answers": strange, "labels": total}, action),)
    action = f"{remedies.FINDINGS['F117']} To leave them out: {as_missing(sorted(strange))}."
    return (Finding("F117", message, {"answers": strange, "labels": total}, action),)


_UNIT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*[^\d\s].*")


def _numbers_with_units(strange: Sequence[str], classes: Sequence[str]) -> dict[str, str]:
    """Answers that are a class that is a number, with a word: 1 star, where another labeler says 1."""
    return {name: found[1] for name in strange if (found := _UNIT.fullmatch(name)) and found[1] in classes}


def _counts(one: Round) -> tuple[Floats, Floats]:
    """How many labels, and how many gold, have each of the round's values."""
    size = len(one.values)
    if not one.holds_items:
        tally = tally_of(one)
        said = sum_by(tally.cells % size, np.repeat(tally.items, np.diff(tally.ends)), size)
        return said, sum_by(tally.gold[tally.gold >= 0], tally.items[tally.gold >= 0], size)
    labels, gold = np.bincount(one.label_answer, minlength=size), np.bincount(one.gold[one.gold >= 0], minlength=size)
    return labels.astype(float), gold.astype(float)
