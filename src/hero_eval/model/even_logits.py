"""Logits against the first of several classes (or answers), as they spread where no class is unlike the others.

With K effects, one for each class, independent and of variance 1/2, the K-1 differences from the first have variance 1
and covariances 1/2, and so has every other difference. A prior of that covariance gives the same answer whichever class
comes first; one that holds differences from the first independent does not.
Shapes: K classes, J regressions, m numbers for each class.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hero_eval.model.patterns import Floats


@lru_cache(maxsize=64)
def even_covariance(n_logits: int) -> Floats:
    """(K-1, K-1): of logits that spread by 1; with two classes 1."""
    out: Floats = 0.5 * (np.eye(n_logits) + 1.0)
    out.flags.writeable = False
    return out


@lru_cache(maxsize=64)
def even_precision(n_logits: int) -> Floats:
    """(K-1, K-1): the inverse of `even_covariance`."""
    out: Floats = 2.0 * (np.eye(n_logits) - 1.0 / (n_logits + 1.0))
    out.flags.writeable = False
    return out


def even_norm(logits: Floats) -> float:
    """The length of logits (K-1,), in standard deviations of `even_covariance`."""
    return float(np.sqrt(logits @ even_precision(len(logits)) @ logits))


def even_blocks(block: Floats, n_logits: int) -> Floats:
    """((K-1)m, (K-1)m): the precision of logits whose m numbers have the precision `block` (m, m) in every class."""
    return _each_by(even_precision(n_logits), block)


def even_spread(block: Floats, n_logits: int) -> Floats:
    """((K-1)m, (K-1)m): their covariance, by that of the numbers in every class."""
    return _each_by(even_covariance(n_logits), block)


def _each_by(even: Floats, block: Floats) -> Floats:
    """Their Kronecker product; with two classes, in most steps of most fits, it is the block itself."""
    if len(even) == 1:
        return np.array(block, np.float64)
    out: Floats = np.kron(even, block).astype(np.float64, copy=False)
    return out


def widest(logits: Floats) -> Floats:
    """(J, m): how far any two classes are apart, by logits (J, K-1, m) against the first one."""
    out: Floats = np.maximum(logits.max(axis=1), 0.0) - np.minimum(logits.min(axis=1), 0.0)
    return out
