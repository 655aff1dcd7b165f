"""Dawid and Skene's EM on the current round alone: rates and reliabilities together, with nothing to anchor them."""

from __future__ import annotations

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods.current_rate import unknown_finding, weak_finding
from hero_eval.methods.evidence import LabelsOnly
from hero_eval.methods.registry import method
from hero_eval.methods.result import Fit
from hero_eval.model.history import HistoryFit, fit_without_gold
from hero_eval.model.item_posteriors import by_likelihood
from hero_eval.model.latent import class_log_likelihood
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import edge_point, relative_likelihood, scores

NOTHING_KNOWN = 0.5
"""A standard error of a rate, of which the range is 1 wide, from which on nothing is known of it."""


def _fit(evidence: LabelsOnly) -> HistoryFit:
    return fit_without_gold(evidence.current, evidence.n_classes, evidence.em, evidence.progress)


def rates(evidence: LabelsOnly) -> Floats:
    return _fit(evidence).latent.class_weights()


@method("dawid_skene", "Dawid and Skene's EM on the current round alone, without gold", LabelsOnly, rates)
def dawid_skene(evidence: LabelsOnly) -> Fit:
    patterns = evidence.current
    fitted = _fit(evidence)
    found = fitted.latent.class_weights()
    likelihood = relative_likelihood(class_log_likelihood(patterns, fitted.latent))
    psi = scores(likelihood, found)
    curvature = (psi * patterns.counts[:, None]).T @ psi / patterns.total
    known = patterns.to_items(psi @ np.linalg.pinv(curvature, hermitian=True)) / patterns.total
    gradient = _rate_gradient(evidence.n_classes, fitted)
    direction = fitted.information.solve(gradient)
    influence = fitted.information.item_influence(direction)
    finding = Finding(
        "F308", "dawid_skene learns its labelers from the current round alone; no gold anchors the classes"
    )
    on_edge = bool(found.min() <= evidence.em.clip * 1.001)
    found_weak = [weak_finding("the labels alone do not pin the labelers down")] if fitted.information.is_weak else []
    alone = float(patterns.cells.sum(axis=1).max()) <= 1.0  # one label per item: nobody can be compared with anybody
    if alone or (not on_edge and not _pinned(gradient, direction)):
        influence, known = np.full_like(influence, np.nan), np.full_like(known, np.nan)
        found_weak = [unknown_finding("the labels alone do not tell the rate: every rate fits them about as well")]
    inside = edge_point(found, patterns.total) if on_edge else found
    return Fit(
        found,
        inside,
        influence,
        None,
        known,
        on_edge=on_edge,
        report=fitted.report,
        findings=(finding, *found_weak),
        posteriors=by_likelihood(patterns, likelihood, inside, gold_used=False),
    )


def _pinned(gradient: Floats, direction: Floats) -> bool:
    """Whether the curvature of the likelihood tells the rates from each other at all.

    Along a flat direction the items' scores are 0, so that their influences say "no error" where the error is without
    bound. The inverse of the information says it.
    """
    errors = np.sqrt(np.maximum(np.einsum("pk,pk->k", gradient, direction), 0.0))
    return bool((errors < NOTHING_KNOWN).all())


def _rate_gradient(n_classes: int, fitted: HistoryFit) -> Floats:
    """d rates[1:] / d parameters, (p, K-1): the rates are the state weights themselves."""
    at = fitted.information.at
    weights = fitted.latent.weights
    slopes = (weights[:, None] * at.weight_slopes)[1:].T  # (S-1, K-1)
    n_answers = at.answer_slopes.shape[0] * at.answer_slopes.shape[2]
    return at.pack(slopes, np.zeros((n_answers, fitted.latent.n_states, n_classes - 1)))
