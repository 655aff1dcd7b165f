"""Covariates by answer pattern: sums, and sums of their products, which is all that the control variate needs of them.

An item's covariate j enters as two numbers: s_j, 1 if it was observed and 0 if not, and y_j = (x_j - center_j) /
scale_j, 0 if it was not observed. Any other center is then a matter of arithmetic: y' = y + shift * s.
Shapes: P rows, d covariates; products are of (s_1 .. s_d, y_1 .. y_d).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.model.patterns import Floats, Ints, sum_by


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the items of each row, with their weights w, and with w^2 (`_sq`), which variances need.

    seen, sums (P, d): sums of s and y; products (2d, 2d) over all items; observed (d,) how many items have a value;
    largest (d,) the largest |x|.
    """

    names: tuple[str, ...]
    center: Floats
    scale: Floats
    seen: Floats
    sums: Floats
    seen_sq: Floats
    sums_sq: Floats
    products: Floats
    products_sq: Floats
    observed: Floats
    largest: Floats

    @property
    def means(self) -> Floats:
        """(d,) means of the values seen."""
        middle: Floats = self.sums.sum(axis=0) / np.maximum(self.seen.sum(axis=0), 1e-300)
        return self.center + self.scale * middle

    @property
    def mean_variances(self) -> Floats:
        """(d,) of these means."""
        squares = np.diag(self.moved(self.means, self.scale).products_sq)[len(self.names) :]
        out: Floats = squares * (self.scale / np.maximum(self.seen.sum(axis=0), 1e-300)) ** 2
        return out

    def moved(self, center: Floats, scale: Floats) -> Moments:
        """The same items, measured from another center in another unit."""
        stretch = self.scale / scale
        shift = (self.center - center) / scale
        n = len(self.names)
        turn = np.eye(2 * n)
        turn[n:, n:] = np.diag(stretch)
        turn[n:, :n] = np.diag(shift)
        return replace(
            self,
            center=center,
            scale=scale,
            sums=self.sums * stretch + self.seen * shift,
            sums_sq=self.sums_sq * stretch + self.seen_sq * shift,
            products=turn @ self.products @ turn.T,
            products_sq=turn @ self.products_sq @ turn.T,
        )

    def of(self, names: tuple[str, ...]) -> Moments:
        """Some of the covariates only, in this order."""
        take = [self.names.index(name) for name in names]
        both = [*take, *(len(self.names) + j for j in take)]
        return Moments(
            names=names,
            center=self.center[take],
            scale=self.scale[take],
            seen=self.seen[:, take],
            sums=self.sums[:, take],
            seen_sq=self.seen_sq[:, take],
            sums_sq=self.sums_sq[:, take],
            products=self.products[np.ix_(both, both)],
            products_sq=self.products_sq[np.ix_(both, both)],
            observed=self.observed[take],
            largest=self.largest[take],
        )

    def weighted(self, factor: float) -> Moments:
        """The same with all weights multiplied."""
        square = factor**2
        return replace(
            self,
            seen=self.seen * factor,
            sums=self.sums * factor,
            seen_sq=self.seen_sq * square,
            sums_sq=self.sums_sq * square,
            products=self.products * factor,
            products_sq=self.products_sq * square,
        )


@dataclass(frozen=True, eq=False)
class Forms:
    """Linear forms of an item's covariates: first + on_seen . s + on_value . y;  (m,), (m, d) and (m, d)."""

    first: Floats
    on_seen: Floats
    on_value: Floats

    def among(self, names: tuple[str, ...], all_names: tuple[str, ...]) -> Forms:
        """The same forms of more covariates, of which the others count nothing."""
        place = [all_names.index(name) for name in names]
        on_seen, on_value = np.zeros((2, len(self.first), len(all_names)))
        on_seen[:, place], on_value[:, place] = self.on_seen, self.on_value
        return Forms(self.first, on_seen, on_value)

    def of(self, seen: Floats, values: Floats) -> Floats:
        """(n, m) for items with seen and values (n, d)."""
        out: Floats = self.first + seen @ self.on_seen.T + values @ self.on_value.T
        return out


def features(forms: Floats) -> Floats:
    """(n, m+1) from forms (n, m): 1, the first form a, and (a - 1) * b for each other form b.

    An item's influence on the tilted rate is linear in these, so that sums of their products give its square.
    """
    along = forms[:, :1]
    return np.concatenate([np.ones_like(along), along, (along - 1.0) * forms[:, 1:]], axis=1)


def add_moments(several: Sequence[Moments], rows: Sequence[Ints], n_rows: int) -> Moments:
    """Moments of several sources as one; `rows` says where each source's rows go."""
    first = several[0]
    alike = [one.moved(first.center, first.scale) for one in several]

    def rowwise(name: str) -> Floats:
        columns = [
            sum(sum_by(row, getattr(one, name)[:, j], n_rows) for one, row in zip(alike, rows, strict=True))
            for j in range(len(first.names))
        ]
        return np.stack([np.asarray(column) for column in columns], axis=1)

    def whole(name: str) -> Floats:
        out: Floats = np.sum([getattr(one, name) for one in alike], axis=0)
        return out

    return Moments(
        names=first.names,
        center=first.center,
        scale=first.scale,
        **{name: rowwise(name) for name in ("seen", "sums", "seen_sq", "sums_sq")},
        **{name: whole(name) for name in ("products", "products_sq", "observed")},
        largest=np.max([one.largest for one in alike], axis=0),
    )
