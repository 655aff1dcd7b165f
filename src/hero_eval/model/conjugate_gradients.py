"""Linear systems whose matrix is never formed: preconditioned conjugate gradients, the one solver for many parameters.

It is scipy's `cg` with three things that `cg` has not: it tells where the matrix is not positive definite, it can stop
when the energy right . x (a variance, where `right` is a gradient) has settled, and its sums are taken by pairs on one
core (`patterns.dot`), the same whatever the linear algebra library does with threads.
Shapes: p parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hero_eval.model.patterns import Floats, dot

DENSE_LIMIT = 2_500
"""Parameters up to which an information matrix is formed and factored: it takes 50 MB. From there on systems are solved
by products. It bounds time and memory only. Doubled, the matrix takes 200 MB and its factor eight times as long; the
answers are the same to the solver's tolerance (reasoned, and held by the tests that set it to 0)."""

Map = Callable[[Floats], Floats]


@dataclass(frozen=True)
class CGOptions:
    """When to stop.

    tolerance: of the residual, relative to the right side. settled: the share of the energy that the last `recent`
    steps gained, below which it has settled; 0 leaves that out. max_products: after so many the system is given up.
    definite: give up as well where the matrix proves not positive definite.
    """

    tolerance: float = 1e-10
    settled: float = 1e-11
    recent: int = 8
    max_products: int = 5_000
    definite: bool = True


def conjugate_gradients(product: Map, preconditioner: Map, right: Floats, options: CGOptions | None = None) -> Floats:
    """x with product(x) = right (p,); nan where it was given up. `preconditioner` is nearly the inverse of `product`.

    The energy right . x only rises on the way; what it gained of late is how far it still is from its end.
    """
    rule = options or CGOptions()
    found, residual = np.zeros_like(right), right.copy()
    ready = preconditioner(residual)
    direction, pull = ready.copy(), dot(residual, ready)
    least, gains = rule.tolerance**2 * dot(right, right), list[float]()
    for _ in range(rule.max_products):
        if dot(residual, residual) <= least or pull == 0.0:
            return found
        image = product(direction)
        curvature = dot(direction, image)
        usable = curvature > 0.0 if rule.definite else np.isfinite(curvature) and curvature != 0.0
        if not (usable and np.isfinite(pull)):
            break
        length = pull / curvature
        found += length * direction
        residual -= length * image
        gains.append(length * pull)
        if rule.settled and len(gains) > rule.recent and sum(gains[-rule.recent :]) <= rule.settled * sum(gains):
            return found
        ready = preconditioner(residual)
        pull, last = dot(residual, ready), pull
        direction *= pull / last
        direction += ready
    return np.full_like(right, np.nan)
