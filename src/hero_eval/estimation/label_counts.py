"""Whether the number of an item's labels tells its class beyond what the labels say.

HERO-3 takes who labeled an item as given. That is right if labels were asked for at random, or because of other labels:
a third one where two disagree. It is wrong where whatever decides how many labels an item gets knows more of its class
than they do, such as a filter that sends suspicious items to more people: items with many labels are then of that class
more often than their labels say, and the rate is biased. Gold shows it.

Shapes: n rows with gold, K classes.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from hero_eval.estimation.question import Question
from hero_eval.findings import Finding
from hero_eval.labelers.reliability import p_text
from hero_eval.methods.result import Fit
from hero_eval.model.hero3.drift import gold_rows
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.patterns import Floats, Ints, sum_by

TOLD = 4.0
"""Standard errors by which the number of labels goes with the class that labels tell, before gold is asked about it:
where it does not, nothing biases the rate, and one test the fewer is wrong by chance. Doubled, rounds of a hundred
items are not asked any more unless the number nearly decides the class (reasoned)."""
LEVEL = 0.2
"""Of the test by gold, which has few items and looks one way only. Of 80 rounds with 80 golds whose items of one class
have 1.6 times the labels of the other, gates at the truth open wrongly in .51; left undecided at this level, in .11,
about as in rounds without bias; at .05 in .26. Where labels alone decide how many more there are, it doubts .11 to .24
of rounds that are right (measured, 80 draws; `benchmarks/gates.py --missing .6 .2 --rates .3 --golds 80`). Doubled,
every other such round is doubted."""
SURE = 0.05
"""Below it the finding says that the rate is biased; above, that it may be."""


def count_findings(question: Question, fit: Fit) -> list[Finding]:
    """F211, where the method rests on a fit that the gold contradicts so."""
    if fit.levels is None or question.method.by_design:
        return []
    z = count_z(fit.levels)
    if not len(z):
        return []
    class_ = int(np.argmax(z))
    p_value = min(1.0, float(special.ndtr(-z[class_])) * len(z))
    if p_value >= LEVEL:
        return []
    name = question.classes[class_ if len(z) > 1 else 1]
    message = f"the number of an item's labels goes with class {name!r}, and gold says by more than the labels do (z "
    message += f"{z[class_]:.1f}, {p_text(p_value)}): what decides how many labels an item gets "
    message += (
        "knows more than they say, and the rate is biased"
        if p_value < SURE
        else "may know more than they say, and the rate may be biased"
    )
    return [Finding("F211", message, {"class": name, "z": float(z[class_]), "p_value": p_value})]


def count_z(fit: LevelModel) -> Floats:
    """(K,), of two classes (1,) of the second: how much more than by its labels alone an item's gold goes with their
    number, in standard errors and in the direction that all items show; -inf where they show none. Within rounds."""
    rows = fit.rows
    number = np.diff(rows.patterns.cells.indptr).astype(float)
    if not rows.known.any() or np.ptp(number) == 0.0:
        return np.zeros(0)
    places = slice(1, 2) if rows.n_classes == 2 else slice(None)
    counts, shares = rows.patterns.counts, fit.shares[:, places]
    sign = _association(number, shares, counts, rows.round)
    offset, gold, of_gold = gold_rows(fit, rows.known)
    share = np.exp(offset)[:, places]
    gap = np.eye(rows.n_classes)[gold][:, places] - share
    spread = of_gold[:, None] * share * (1.0 - share)
    away = _off_means(number[rows.known][:, None], spread, rows.round[rows.known])
    noise = np.sqrt((spread * away**2).sum(axis=0))
    z = (of_gold[:, None] * away * gap).sum(axis=0) / np.maximum(noise, 1e-300)
    out: Floats = np.where((np.abs(sign) > TOLD) & (noise > 0.0), z * np.sign(sign), -np.inf)
    return out


def _association(number: Floats, shares: Floats, counts: Floats, round_: Ints) -> Floats:
    """(K,): how surely the number of labels goes with the shares of each class (P, K), over all items."""
    weight = np.broadcast_to(counts[:, None], shares.shape)
    one, other = _off_means(number[:, None], weight, round_), _off_means(shares, weight, round_)
    scale = np.sqrt((weight * one**2).sum(axis=0) * (weight * other**2).sum(axis=0))
    out: Floats = (weight * one * other).sum(axis=0) / np.maximum(scale, 1e-300) * np.sqrt(counts.sum())
    return out


def _off_means(values: Floats, weight: Floats, round_: Ints) -> Floats:
    """(n, K): values (n, K or 1) less their weighted means in each round."""
    n_rounds = int(round_.max()) + 1
    columns = []
    for place in range(weight.shape[1]):
        one = values[:, place if values.shape[1] > 1 else 0]
        total = np.maximum(sum_by(round_, weight[:, place], n_rounds), 1e-300)
        columns.append(one - (sum_by(round_, weight[:, place] * one, n_rounds) / total)[round_])
    return np.stack(columns, axis=1)
