"""The table of labelers where they err together: right within its error, and said wherever the table is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from make_rounds import binary_answers, labels_given, round_of, some_gold, tables_of
from scipy import special
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.labelers.over_time import reliability_over_time
from hero_eval.model.gold_table import answers_by_gold
from hero_eval.model.latent import Latent
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.report.document import told_of

SENSITIVITY, SPECIFICITY = [0.75] * 3 + [0.8] * 3, [0.73] * 3 + [0.8] * 3


def judges(seed: int, n_items: int = 600, n_gold: int = 90, together: float = 0.5) -> tuple[Any, Any]:
    """Labels and gold: three judges of one family, who share half of what makes them err, and three people."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < 0.35).astype(int)
    shared = rng.normal(size=n_items)
    labels = np.empty((n_items, 6), dtype=int)
    for j in range(6):
        share = together if j < 3 else 0.0
        own = np.sqrt(share) * shared + np.sqrt(1 - share) * rng.normal(size=n_items)
        labels[:, j] = special.ndtr(own) < np.where(truth == 1, SENSITIVITY[j], 1 - SPECIFICITY[j])
    gold = np.full(n_items, -1)
    known = rng.choice(n_items, n_gold, replace=False)
    gold[known] = truth[known]
    return labels, gold


def shares(fitted: hero.Reliability, **asked: Any) -> tuple[Any, Any]:
    """Sensitivity and specificity (J, 2) as the frame has them, and their errors."""
    columns = fitted.to_frame("pyarrow", **asked).to_pydict()
    names = ("sensitivity", "specificity")
    return tuple(np.array([columns[f"{name}{end}"] for name in names]).T for end in ("", "_se"))  # type: ignore[return-value]


@pytest.mark.slow
def test_the_table_is_right_within_its_error() -> None:
    """Judges who copy each other's errors were ranked first: specificity 0.81 ± 0.02 where it is 0.73."""
    truth = np.array([SENSITIVITY, SPECIFICITY]).T
    by_gold, apart = [], []
    for seed in range(30):
        fitted = hero.fit_reliability(round_of(*judges(seed)))
        value, error = answers_by_gold(fitted.counted.patterns, fitted.fit.latent, fitted.answers)
        right = [np.stack([of[:, 1, 1], of[:, 0, 0]], axis=1) for of in (value, error)]
        by_gold.append((right[0] - truth, right[1]))
        plain, plain_error = shares(fitted, independent=True)
        apart.append((plain - truth, plain_error))
    off, error = (np.array([one[place] for one in by_gold]) for place in (0, 1))
    family = off[:, :3]
    assert abs(family.mean()) < 0.015
    assert (np.abs(off) < 1.96 * error).mean() > 0.9
    assert np.sqrt((family**2).mean()) < 0.05
    taken, taken_error = (np.array([one[place] for one in apart])[:, :3] for place in (0, 1))
    assert taken.mean() > 0.04  # what the fit that takes them as independent makes of them
    assert (np.abs(taken) < 1.96 * taken_error).mean() < 0.6


@pytest.mark.simulation
def test_errors_are_the_spread_of_the_table() -> None:
    """A standard error that is too small would rank labelers by chance."""
    found = []
    for seed in range(40):
        fitted = hero.fit_reliability(round_of(*judges(seed, n_items=300, n_gold=60, together=0.6)))
        value, error = answers_by_gold(fitted.counted.patterns, fitted.fit.latent, fitted.answers)
        found.append([value[:, 0, 0], error[:, 0, 0]])
    value, error = np.array(found).transpose(1, 0, 2)
    assert error.mean() == pytest.approx(value.std(axis=0, ddof=1).mean(), rel=0.2)


def test_all_gold_is_the_share_itself() -> None:
    """Where every item has gold nothing is left to predict."""
    labels, _ = judges(1)
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, len(labels))
    latent = Latent(np.array([0.5, 0.5]), binary_answers([0.7] * 6, [0.7] * 6), np.arange(2))
    value, error = answers_by_gold(patterns_of_matrix(labels, 2, gold), latent, latent.answers)
    for j in range(6):
        for k in range(2):
            share = (labels[gold == k, j] == 1).mean()
            assert value[j, 1, k] == pytest.approx(share)
            assert error[j, 1, k] == pytest.approx(np.sqrt(share * (1 - share) / (gold == k).sum()), rel=0.02)
    assert value.sum(axis=1) == pytest.approx(1.0)


def test_without_gold_of_a_class_nothing_is_claimed() -> None:
    """A labeler that met no positive gold would get an error of 0."""
    labels, gold = judges(2)
    labels[gold == 1, 0] = -1
    fitted = hero.fit_reliability(round_of(labels, gold))
    value, error = fitted.by_gold
    assert np.isnan(error[0, :, 1]).all()
    assert value[0, :, 1] == pytest.approx(fitted.answers[0, :, 1])
    few = np.where(np.cumsum(gold == 1) <= 3, gold, np.where(gold == 1, -1, gold))
    assert np.nanmin(hero.fit_reliability(round_of(labels, few)).by_gold[1][1:, :, 1]) > 0.1


def test_independent_labelers_are_left_alone() -> None:
    """The sharper fit would be thrown away where it holds."""
    rng = np.random.default_rng(8)
    truth = (rng.random(600) < 0.35).astype(int)
    fitted = hero.fit_reliability(
        round_of(labels_given(rng, truth, binary_answers(SENSITIVITY, SPECIFICITY)), some_gold(rng, truth, 0.15))
    )
    assert not fitted.errs_together
    assert fitted.table_findings == fitted.findings
    for one, other in zip(shares(fitted), shares(fitted, independent=True), strict=True):
        assert one == pytest.approx(other)


def test_it_is_said_wherever_the_table_is(tmp_path: Path) -> None:
    """The page of labelers had no warning where the comparison of methods had one."""
    labels, gold = judges(1)
    fitted = hero.fit_reliability(round_of(labels, gold))
    assert fitted.errs_together
    (told,) = [one for one in fitted.table_findings if one.code == "F206"]
    most = told.data["most"]
    assert f"{most['independent']:.2f}" in told.fact
    assert f"{most['shown']:.2f}" in told.fact
    assert not told.doubts_interval
    assert "F206" not in [one.code for one in fitted.findings]  # an estimate says it of its own method
    assert "F206" in [one.finding.code for one in told_of((), fitted)]
    assert "F206" in [one.code for one in reliability_over_time([round_of(labels, gold)]).findings]
    assert told.fact[1:30] in fitted._repr_html_()
    for name, table in tables_of(labels, gold).items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    shown = CliRunner().invoke(app, ["labelers", str(tmp_path)])
    assert "warning F206" in shown.stdout
    assert "What to do: Estimate with" in shown.stdout
    document = json.loads(CliRunner().invoke(app, ["labelers", str(tmp_path), "--json"]).stdout)
    assert document["errs_together"]
    assert "F206" in [one["code"] for one in document["findings"]]
    rows = {row["labeler"]: row["specificity"] for row in document["labelers"]}
    assert rows["j0"] == pytest.approx(fitted.by_gold[0][0, 0, 0])
