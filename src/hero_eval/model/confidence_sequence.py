"""How far intervals must reach that hold at every look at growing data: Robbins' normal mixture, asymptotically.

Of an estimate whose standard error is se after data of information 1 / se^2, the interval

    value +- se * sqrt( (m + 1) / m * log((m + 1) / alpha^2) ),    m = scale / se^2,

holds at all looks together with probability 1 - alpha (Robbins, 1970; Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
2024, for estimates that are asymptotically sums of influences). `scale` may not depend on the data: it decides at which
standard error the interval is shortest compared with one for a single look, and is fixed here once for all.
"""

from __future__ import annotations

import math

import numpy as np

from hero_eval.model.patterns import Floats

TUNED_ERROR = 0.025
"""The standard error, as a share of the quantity's range, at which the interval is shortest compared with a fixed one:
a width of 0.1. From a half to twice of it the interval is at most 1.7 times a fixed one of level 95%. Doubled, it is
shorter early and longer late (reasoned)."""
_BEST = 7.94
"""m at which the factor of a 95% interval is least: -2 log .05 + log(1 - 2 log .05)."""


def mixture_size(variance: float, span: float) -> float:
    """m, from the variance of an estimate and the span of its range."""
    return _BEST * TUNED_ERROR**2 * span**2 / max(variance, 1e-300)


def reach(alpha: float, m: float) -> float:
    """Standard errors to each side, so that all looks hold together with probability 1 - alpha."""
    return math.sqrt((m + 1.0) / m * math.log((m + 1.0) / alpha**2))


def alpha_of(z: float, m: float) -> float:
    """The alpha whose interval reaches z standard errors; at most 1."""
    return min(math.sqrt(m + 1.0) * math.exp(-0.5 * z**2 * m / (m + 1.0)), 1.0)


def alphas_of(z: Floats, m: float) -> Floats:
    """The same of many."""
    out: Floats = np.minimum(math.sqrt(m + 1.0) * np.exp(-0.5 * z**2 * m / (m + 1.0)), 1.0)
    return out
