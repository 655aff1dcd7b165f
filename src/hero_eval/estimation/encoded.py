"""Covariates that are no numbers: categories become columns of 0 and 1, vectors a few principal components.

Levels and components are learned from history, so that history knows their means; what only the current round has
counts with the rare levels, or lies where history's components put it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.kinds import date_problem, kind_of, vectors
from hero_eval.model.patterns import Floats
from hero_eval.round import Round

FEW = 10
"""Items of history that a level takes to have a column of its own; rarer ones count together."""
MOST_COMPONENTS = 20
ITEMS_PER_COMPONENT = 20


@dataclass(frozen=True)
class Encoded:
    """A covariate in all rounds: the names of its columns, (n_items, columns) for each round, and what is said."""

    names: tuple[str, ...]
    blocks: tuple[Floats, ...]
    findings: tuple[Finding, ...] = ()


def encode(rounds: Sequence[Round], n_current: int, name: str) -> Encoded:
    """One column of the items of all rounds as numbers; the past rounds come after the `n_current` current ones."""
    columns = [one._contents.columns[name] for one in rounds]
    kinds = {kind_of(column) for column in columns if column.null_count < len(column)}
    if "date" in kinds:
        place = f"column {name!r} of round {rounds[0].name!r}"
        raise InputError(date_problem(place, columns[0]))
    if kinds == {"vector"}:
        return _components(rounds, n_current, name)
    if kinds and kinds <= {"category"} | ({"text"} if "category" in kinds else set()):
        return _levels(rounds, n_current, name)
    return Encoded((name,), tuple(one.covariate(name)[:, None] for one in rounds))


def _levels(rounds: Sequence[Round], n_current: int, name: str) -> Encoded:
    """A column of 0 and 1 for each level but the commonest; rare and new levels together have one."""
    words = [np.array(one.words(name), dtype=object) for one in rounds]
    past = np.concatenate(words[n_current:]) if rounds[n_current:] else np.concatenate(words)
    levels, times = np.unique(past[past != ""].astype(str), return_counts=True)
    common = [level for level, of in zip(levels, times, strict=True) if of >= FEW]
    if not common:
        raise wrong("E112", f"covariate {name!r} has no value that {FEW} items of history share. Leave it out.")
    base = max(common, key=lambda level: (times[list(levels).index(level)], level))
    own = [level for level in common if level != base]
    everything = {str(value) for of in words for value in of if value}
    rare = sorted(everything - {base, *own})
    names = [f"{name}={level}" for level in own] + ([f"{name}=other"] if rare else [])
    blocks = []
    for of in words:
        block = [of == level for level in own] + ([np.isin(of, rare)] if rare else [])
        columns = np.stack(block, axis=1).astype(float) if block else np.zeros((len(of), 0))
        columns[of == ""] = np.nan
        blocks.append(columns)
    together = f"; {name_some(rare)} count together" if rare else ""
    message = f"covariate {name!r} has the levels {name_some([*own, base], 8)}, held against {base!r}{together}"
    data = {"covariate": name, "levels": [*own, base], "base": base, "other": rare}
    return Encoded(tuple(names), tuple(blocks), (Finding("F125", message, data),))


def _components(rounds: Sequence[Round], n_current: int, name: str) -> Encoded:
    """The vectors on history's first principal components, as many as its items pay for."""
    found = [vectors(f"column {name!r} of round {one.name!r}", one._contents.columns[name]) for one in rounds]
    sizes = sorted({of.shape[1] for of in found})
    if len(sizes) > 1:
        raise wrong("E112", f"covariate {name!r} has vectors of {sizes[0]} and {sizes[-1]} dimensions in these rounds.")
    past = np.concatenate(found[n_current:] or found)
    whole = past[~np.isnan(past).any(axis=1)]
    if len(whole) < 2 * ITEMS_PER_COMPONENT:
        raise wrong(
            "E112", f"covariate {name!r} has {len(whole)} vectors in history; {2 * ITEMS_PER_COMPONENT} are few."
        )
    center = whole.mean(axis=0)
    count = int(min(MOST_COMPONENTS, len(whole) // ITEMS_PER_COMPONENT, sizes[0]))
    _, strength, axes = np.linalg.svd(whole - center, full_matrices=False)
    axes = axes[:count] * np.where(axes[:count].sum(axis=1, keepdims=True) < 0, -1.0, 1.0)  # a sign of its own
    share = float((strength[:count] ** 2).sum() / max((strength**2).sum(), 1e-300))
    blocks = tuple((of - center) @ axes.T for of in found)
    message = (
        f"covariate {name!r}: vectors of {sizes[0]} dimensions were reduced to {count} principal components of "
        f"history, which hold {share:.0%} of their variance"
    )
    data = {"covariate": name, "dimensions": sizes[0], "components": count, "variance": share}
    return Encoded(tuple(f"{name}:{k + 1}" for k in range(count)), blocks, (Finding("F126", message, data),))
