"""Classes with appeals: where labels tell an item's class from whatever else all labelers see in it.

A long or polished answer appeals to every judge, right or wrong. Skilled judges go by the class of an item more than
by its appeal, others less, so that many of them together tell the two apart: the latent class model with a random
effect of Qu, Tan and Kutner (1996). A mood that all labelers share in a round is then a tilt of its appeals, and leaves
its rates alone, where on one scale of levels it would pass for quality.

But labels may part items by something that is not the expert's class. So this shape is believed only where it tells
classes almost surely and gold bears it out, and even then some gold may differ from what all labelers' answers say:
none among n golds leaves room for that (`lapse_covariance`).
Shapes: P rows, K classes.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.even_logits import even_precision
from hero_eval.model.hero3.drift import gold_rows, label_shares
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.patterns import Floats

_JEFFREYS = 0.5
"""Of either kind of gold, agreeing or not, in Jeffreys' prior: his choice. Doubled, intervals allow for about twice as
many lapses where gold shows none (reasoned)."""


def gold_log_likelihood(fit: LevelModel) -> float:
    """How probable all gold is, given the labels alone."""
    offset, gold, counts = gold_rows(fit, fit.rows.known)
    return float(counts @ offset[np.arange(len(gold)), gold])


def class_certainty(fit: LevelModel) -> float:
    """How much of the variance of items' classes is told by their labels alone."""
    shares, counts = label_shares(fit), fit.rows.patterns.counts
    mean = counts @ shares / counts.sum()
    open_part = float(counts @ (shares * (1.0 - shares)).sum(axis=1)) / counts.sum()
    return float(1.0 - open_part / max(float((mean * (1.0 - mean)).sum()), 1e-300))


def lapse_covariance(fit: LevelModel) -> Floats:
    """(K-1, K-1): what items add whose gold is not the class that their labels tell; 0 without appeals.

    The share of such items has Jeffreys' posterior, given by how many golds it is so; at worst all of them move the
    rate the same way, by that share. Its mean square is returned.
    """
    n_free = fit.rows.n_classes - 1
    if fit.shape.n_appeals == 0:
        return np.zeros((n_free, n_free))
    offset, gold, counts = gold_rows(fit, fit.rows.known)
    apart = float(counts @ -np.expm1(offset[np.arange(len(gold)), gold])) + _JEFFREYS
    whole = float(counts.sum()) + 2.0 * _JEFFREYS
    square = apart * (apart + 1.0) / (whole * (whole + 1.0))
    out: Floats = square * 0.5 * (n_free + 1) / n_free * even_precision(n_free)  # that of every class's rate
    return out
