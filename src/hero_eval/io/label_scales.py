"""Labelers who count on another scale than gold: 1 to 10, or yes and no, beside gold of 1 to 5."""

from __future__ import annotations

import numpy as np

from hero_eval.io.labels import Gold, Labels
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.scores import MOST_ANSWERS, as_numbers
from hero_eval.io.values import SCALE_TOPS

LEAST = 10
"""Labels of a labeler below which nothing is said."""
BEYOND = 0.05
"""The share of them above the end of gold's scale that no slips explain."""


def on_other_scales(labels: Labels | None, gold: Gold | None, options: ReadOptions) -> bool:
    """Whether a labeler's numbers are not grades of gold, of which there are three or more: then all are scores.

    They go beyond gold's scale, or are 0 and 1 alone where no gold is 0.
    """
    if labels is None or gold is None or options.classes is not None or options.label_kind is not None:
        return False
    if max(len(labels.answers.texts), len(gold.answers.texts)) > MOST_ANSWERS or len(gold.answers.texts) < 3:
        return False
    known = as_numbers(gold.answers.list_texts())
    said = as_numbers(labels.answers.list_texts())
    if np.isnan([*known, *said]).any():
        return False
    top = next((one for one in SCALE_TOPS if known.max() <= one), None)
    if top is None or known.min() < 0 or said.min(initial=0.0) < 0 or set(said) <= set(known):
        return False
    rows, n_labelers = labels.usable, len(labels.labelers.texts)
    cells = labels.labelers.codes[rows] * len(said) + labels.answers.codes[rows]
    table = np.bincount(cells, minlength=n_labelers * len(said)).reshape(n_labelers, len(said))
    total = table.sum(axis=1)
    beyond = table[:, said > top].sum(axis=1) > BEYOND * total
    binary = (table[:, said > 1].sum(axis=1) == 0) & (table[:, said == 0].sum(axis=1) > BEYOND * total)
    return bool(((total >= LEAST) & (beyond | (binary & (known.min() > 0.0)))).any())
