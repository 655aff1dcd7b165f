"""Pieces of SQL that every engine understands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from hero_eval.counting.engine import Session
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Floats

_BITS = 60


def literal(value: float) -> str:
    """A number that no engine takes for a decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def fixed_sum(session: Session, expression: str, bound: float) -> str:
    """A sum on whole numbers, so that the order of the rows cannot change it; no |value| is above `bound`."""
    factor = 2.0 ** (_BITS - math.ceil(math.log2(max(bound, 1e-30))))
    whole = f"CAST(round(({expression}) * {literal(factor)}) AS BIGINT)"
    return f"coalesce({session.whole_sum(whole)} / {literal(factor)}, 0e0)"


def is_number(kind: Any) -> bool:
    import pyarrow as pa

    return any(of(kind) for of in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


class Sums:
    """The sums that make `Moments`, as SQL over a table of items with columns x0, x1, ... and maybe w."""

    def __init__(self, session: Session, facts: dict[str, float], n_covariates: int, weighted: bool) -> None:
        self.session = session
        self.n = n_covariates
        self.weighted = weighted
        self.heaviest = facts["w_max"] if weighted else 1.0
        mean, low, high = (np.array([facts[f"x{j}_{of}"] for j in range(self.n)]) for of in ("mean", "min", "max"))
        # rounded, so that the last bits of an average do not show
        self.center = np.nan_to_num(mean).astype(np.float32).astype(np.float64)
        reach = np.maximum(np.abs(high - self.center), np.abs(low - self.center))
        self.scale = np.where(np.nan_to_num(reach) > 0, reach * 1.0000001, 1.0)
        self.observed = np.array([facts[f"x{j}_n"] for j in range(self.n)])
        self.largest = np.nan_to_num(np.maximum(np.abs(low), np.abs(high)))

    def seen(self, j: int) -> str:
        return f"CASE WHEN x{j} IS NULL THEN 0e0 ELSE 1e0 END"

    def value(self, j: int) -> str:
        """y, which lies between -1 and 1."""
        shifted = f"(x{j} - {literal(self.center[j])}) / {literal(self.scale[j])}"
        return f"CASE WHEN x{j} IS NULL THEN 0e0 ELSE {shifted} END"

    def _weighings(self) -> list[tuple[str, str, float]]:
        """Suffix, factor and its bound: once with w, once with w^2."""
        if not self.weighted:
            return [("", "", 1.0)]
        return [("", " * w", self.heaviest), ("_sq", " * w * w", self.heaviest**2)]

    def counts(self) -> list[str]:
        shown = ["count(*) AS items"]
        if self.weighted:
            shown.append(f"{fixed_sum(self.session, 'w', self.heaviest)} AS weight")
            shown.append(f"{fixed_sum(self.session, 'w * w', self.heaviest**2)} AS square")
        return shown

    def by_row(self) -> list[str]:
        return [
            f"{fixed_sum(self.session, f'({sql}){factor}', bound)} AS {name}{j}{suffix}"
            for suffix, factor, bound in self._weighings()
            for j in range(self.n)
            for name, sql in (("s", self.seen(j)), ("y", self.value(j)))
        ]

    def overall(self) -> list[str]:
        parts = [self.seen(j) for j in range(self.n)] + [self.value(j) for j in range(self.n)]
        return [
            f"{fixed_sum(self.session, f'({parts[a]}) * ({parts[b]}){factor}', bound)} AS p{a}_{b}{suffix}"
            for suffix, factor, bound in self._weighings()
            for a, b in combinations_with_replacement(range(2 * self.n), 2)
        ]

    def moments(self, names: Sequence[str], grouped: Any, whole: Any) -> Moments:
        last = self._weighings()[-1][0]

        def rows(name: str, suffix: str) -> Floats:
            return np.stack([floats(grouped[f"{name}{j}{suffix}"]) for j in range(self.n)], axis=1)

        def products(suffix: str) -> Floats:
            out = np.zeros((2 * self.n, 2 * self.n))
            for a, b in combinations_with_replacement(range(2 * self.n), 2):
                out[a, b] = out[b, a] = floats(whole[f"p{a}_{b}{suffix}"])[0]
            return out

        return Moments(
            names=tuple(names),
            center=self.center,
            scale=self.scale,
            seen=rows("s", ""),
            sums=rows("y", ""),
            seen_sq=rows("s", last),
            sums_sq=rows("y", last),
            products=products(""),
            products_sq=products(last),
            observed=self.observed,
            largest=self.largest,
        )

    def gram_columns(self, forms: Forms) -> tuple[str, list[str]]:
        """SQL for the forms f0, f1, ... of an item, and for the sums of products of their features."""
        n_forms = len(forms.first)
        bounds = np.abs(forms.first) + (np.abs(forms.on_seen) + np.abs(forms.on_value)).sum(axis=1)
        inner = []
        for m in range(n_forms):
            terms = [literal(forms.first[m])]
            for j in range(self.n):
                seen, value = literal(forms.on_seen[m, j]), literal(forms.on_value[m, j])
                terms.append(f"(({seen}) * ({self.seen(j)}) + ({value}) * ({self.value(j)}))")
            inner.append(f"{' + '.join(terms)} AS f{m}")
        shown = ["1e0", "f0", *(f"(f0 - 1e0) * f{m}" for m in range(1, n_forms))]
        limits = [1.0, bounds[0], *((bounds[0] + 1.0) * bounds[1:])]
        _, factor, heavy = self._weighings()[-1]
        grams = []
        for a, b in combinations_with_replacement(range(len(shown)), 2):
            product, bound = f"({shown[a]}) * ({shown[b]}){factor}", limits[a] * limits[b] * heavy
            grams.append(f"{fixed_sum(self.session, product, bound)} AS g{a}_{b}")
        return ", ".join(inner), grams


def floats(column: Any) -> Floats:
    return np.asarray(column.to_numpy(), np.float64)
