"""Runs a study: many replications of many cells with all of the paper's methods, on as many processes as asked.

A replication's random numbers depend on the seed, the study, the cell and its own number only, so the results are the
same bytes for any number of processes.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION, number
from hero_eval.estimation.curves import Flat, Normal
from hero_eval.methods.evidence import CovariateColumns, CovariateEvidence, LabelsOnly
from hero_eval.methods.registry import Method, all_methods
from hero_eval.methods.result import Fit
from hero_eval.model.em import EMOptions
from hero_eval.model.patterns import Bools, Floats, patterns_of_matrix
from hero_eval.studies.alarms import guard_cells, guard_outcome, guard_rows
from hero_eval.studies.coverage import coverage_cells, coverage_row, outcomes
from hero_eval.studies.designs import EXPERIMENTS, Design, draw
from hero_eval.studies.twins import Twin, defect_twin, reveal, safety_twin

LEVEL = 0.95
CHUNK = 20
STUDIES: dict[str, str] = {
    "exp1-small": "gold rates .01 to .10 with 5 labelers and a weak covariate (10 cells)",
    "exp1-large": "gold rates .05 to .10 with 10 labelers and a strong covariate (6 cells)",
    "exp2": "labelers that differ more and more, at gold rates .05 and .10 (10 cells)",
    "defect": "twin of the defect case study, resampled: 532 prompts, 10 labelers, a judge's label as covariate",
    "safety": "twin of the safety case study, resampled: 2,046 prompts, 11 labelers, TF-IDF covariates",
    "coverage": "do our intervals cover: the paper's grid and beyond, all targets (43 cells)",
    "guards": "do the guards alarm when they should, and only then (42 cells)",
}
_DEFAULT_REPLICATIONS = {"defect": 100, "safety": 100}
_TWIN_GOLD_RATES = {"defect": (0.05, 0.10, 0.20), "safety": (0.05, 0.10, 0.20, 0.40, 0.80)}
_TWIN_SEED = 2026


@dataclass(frozen=True)
class Cell:
    """One cell of a study; `design` is None for the twins."""

    study: str
    position: int
    name: str
    gold_rate: float
    concentration: float | None
    design: Design | None


@dataclass(frozen=True)
class StudyResult:
    """One row for each cell and method."""

    study: str
    seed: int
    rows: list[dict[str, Any]]

    @property
    def columns(self) -> list[str]:
        return list(self.rows[0])

    def to_dict(self) -> dict[str, Any]:
        rows = [{k: number(v) if isinstance(v, float) else v for k, v in row.items()} for row in self.rows]
        return {"schema_version": SCHEMA_VERSION, "study": self.study, "seed": self.seed, "rows": rows}

    def write(self, path: str | Path) -> Path:
        """CSV or Parquet, by the name's ending; written beside and then moved, so never half there."""
        target = Path(path)
        if target.suffix not in (".csv", ".parquet"):
            raise wrong("E201", f"the output {str(path)!r} must end in .csv or .parquet")
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(target.name + ".part")
        if target.suffix == ".csv":
            with beside.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, self.columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.rows)
        else:
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.Table.from_pylist(self.rows), beside)
        beside.replace(target)
        return target


def paper_methods() -> dict[str, Method]:
    """The methods that a study of the paper compares: those that take its two rounds of known labelers."""
    return {name: one for name, one in all_methods().items() if not one.takes_groups}


def cells_of(study: str, gold_rates: tuple[float, ...] | None = None) -> list[Cell]:
    if study not in STUDIES:
        raise wrong("E201", f"study is {study!r}. Known: {', '.join(STUDIES)}")
    if study in EXPERIMENTS:
        cells = [
            Cell(study, position, design.name, design.gold_rate, design.concentration, design)
            for position, design in enumerate(EXPERIMENTS[study])
        ]
    else:
        cells = [
            Cell(study, position, f"{study} gold {rate:.2f}", rate, None, None)
            for position, rate in enumerate(_TWIN_GOLD_RATES[study])
        ]
    if gold_rates is None:
        return cells
    wanted = [cell for cell in cells if any(abs(cell.gold_rate - rate) < 1e-9 for rate in gold_rates)]
    if not wanted:
        known = ", ".join(f"{rate:g}" for rate in sorted({cell.gold_rate for cell in cells}))
        raise wrong(
            "E201",
            f"{study} has no cell at gold rate {', '.join(f'{r:g}' for r in gold_rates)}. Its rates: {known}",
        )
    return wanted


def run_study(
    study: str,
    *,
    replications: int | None = None,
    seed: int = 1,
    processes: int | None = None,
    gold_rates: tuple[float, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> StudyResult:
    """All cells of a study; `progress` is told replications done and in all."""
    if study == "coverage":
        if gold_rates is not None:
            raise wrong("E204", "the study coverage has cells of its own; leave out the gold rate")
        return _run_coverage(replications or 200, seed, processes, progress)
    if study == "guards":
        if gold_rates is not None:
            raise wrong("E204", "the study guards has cells of its own; leave out the gold rate")
        return _run_guards(replications or 400, seed, processes, progress)
    cells = cells_of(study, gold_rates)
    count = _DEFAULT_REPLICATIONS.get(study, 200) if replications is None else replications
    if count < 2:
        raise wrong("E201", f"replications is {count}. At least 2 are needed for a spread")
    jobs = [(cell, seed, first, min(first + CHUNK, count)) for cell in cells for first in range(0, count, CHUNK)]
    parts: dict[int, list[Floats]] = {cell.position: [] for cell in cells}
    done = 0
    if progress is not None:
        progress(0, count * len(cells))
    for (cell, _, first, last), outcome in zip(jobs, _outcomes(_run_job, jobs, processes), strict=True):
        parts[cell.position].append(outcome)
        done += last - first
        if progress is not None:
            progress(done, count * len(cells))
    rows = [row for cell in cells for row in _summary(cell, np.concatenate(parts[cell.position]))]
    return StudyResult(study, seed, rows)


def _run_coverage(
    count: int, seed: int, processes: int | None, progress: Callable[[int, int], None] | None
) -> StudyResult:
    """Every cell of the coverage study; replications that the data refuse are counted apart."""
    names = [cell.name for cell in coverage_cells()]
    jobs = [(c, seed, first, min(first + CHUNK, count)) for c in range(len(names)) for first in range(0, count, CHUNK)]
    collected: list[dict[str, list[Floats]]] = [{} for _ in names]
    for done, (job, part) in enumerate(zip(jobs, _outcomes(_coverage_job, jobs, processes), strict=True)):
        for made in part:
            for quantity, outcome in made.items():
                collected[job[0]].setdefault(quantity, []).append(outcome)
        if progress is not None:
            progress(min((done + 1) * CHUNK, count * len(names)), count * len(names))
    rows = [
        coverage_row("coverage", name, quantity, np.stack(made), count)
        for name, quantities in zip(names, collected, strict=True)
        for quantity, made in quantities.items()
        if len(made) > 1
    ]
    return StudyResult("coverage", seed, rows)


def _coverage_job(job: tuple[int, int, int, int]) -> list[dict[str, Floats]]:
    position, seed, first, last = job
    cell, study = coverage_cells()[position], list(STUDIES).index("coverage")
    with threadpool_limits(1):
        made = [outcomes(cell, np.random.default_rng([seed, study, position, one])) for one in range(first, last)]
    return [one for one in made if one is not None]


def _run_guards(
    count: int, seed: int, processes: int | None, progress: Callable[[int, int], None] | None
) -> StudyResult:
    """Every cell of the guards' study."""
    cells = guard_cells()
    jobs = [(c, seed, first, min(first + CHUNK, count)) for c in range(len(cells)) for first in range(0, count, CHUNK)]
    collected: list[list[Floats]] = [[] for _ in cells]
    for done, (job, part) in enumerate(zip(jobs, _outcomes(_guards_job, jobs, processes), strict=True)):
        collected[job[0]] += part
        if progress is not None:
            progress(min((done + 1) * CHUNK, count * len(cells)), count * len(cells))
    made = zip(cells, collected, strict=True)
    rows = [row for cell, of in made if of for row in guard_rows(cell, np.stack(of), count)]
    return StudyResult("guards", seed, rows)


def _guards_job(job: tuple[int, int, int, int]) -> list[Floats]:
    position, seed, first, last = job
    cell, study = guard_cells()[position], list(STUDIES).index("guards")
    with threadpool_limits(1):
        made = [guard_outcome(cell, np.random.default_rng([seed, study, position, one])) for one in range(first, last)]
    return [one for one in made if one is not None]


Job = tuple[Cell, int, int, int]
J = TypeVar("J")
T = TypeVar("T")


def _outcomes(work: Callable[[J], T], jobs: list[J], processes: int | None) -> Iterator[T]:
    """The jobs' outcomes in their order, from this process or from several."""
    wanted = processes if processes is not None else (os.cpu_count() or 1)
    if wanted < 1:
        raise wrong("E201", f"processes is {wanted}. At least one is needed")
    if wanted == 1 or len(jobs) == 1:
        yield from map(work, jobs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(wanted, len(jobs)), mp_context=context) as pool:
        yield from pool.map(work, jobs)


def _run_job(job: Job) -> Floats:
    """(replications, methods, 5): value, low, high, paper's low and high; one thread, as there are processes."""
    cell, seed, first, last = job
    with threadpool_limits(1):
        return np.stack([_replicate(cell, seed, number_) for number_ in range(first, last)])


def _replicate(cell: Cell, seed: int, replication: int) -> Floats:
    study = list(STUDIES).index(cell.study)
    rng = np.random.default_rng([seed, study, cell.position, replication])
    evidence = _simulated(cell.design, rng) if cell.design is not None else _resampled(cell, rng)
    labels = LabelsOnly(evidence.n_classes, evidence.current, evidence.em)
    given = {name: labels if one.evidence is LabelsOnly else evidence for name, one in paper_methods().items()}
    return np.stack([_outcome(method.run(given[name])) for name, method in paper_methods().items()])


def _outcome(fit: Fit) -> Floats:
    """Value, default interval and the paper's interval of the positive rate."""
    variance = float((fit.current**2).sum()) + (0.0 if fit.history is None else float((fit.history**2).sum()))
    error, known = np.sqrt(variance), np.sqrt(float((fit.paper**2).sum()))
    value = float(fit.rates[1])
    ours = _interval(float(fit.inside[1]), error, logit=True)
    papers = _interval(value, known, logit=False)
    return np.array([value, *ours, *papers])


def _interval(center: float, error: float, *, logit: bool) -> tuple[float, float]:
    curve = Normal(center, error, (0.0, 1.0), logit) if np.isfinite(error) else Flat((0.0, 1.0))
    return curve.quantile((1 - LEVEL) / 2), curve.quantile((1 + LEVEL) / 2)


def _simulated(design: Design, rng: np.random.Generator) -> CovariateEvidence:
    made = draw(design, rng)
    current = patterns_of_matrix(made.current_labels, 2)
    return CovariateEvidence(
        2,
        current,
        patterns_of_matrix(made.history_labels, 2, made.history_gold),
        columns=CovariateColumns(("x",), made.current_x, made.history_x, np.array([False])),
        em=EMOptions.paper(),
        classes=("0", "1"),
    )


@cache
def _twin(study: str) -> tuple[Twin, Floats, Floats, Bools]:
    """The twin's population, its covariates in history and current, and which of them share a scale (text)."""
    rng = np.random.default_rng(_TWIN_SEED)
    if study == "defect":
        twin = defect_twin(rng)
        assert twin.history_judge is not None
        assert twin.current_judge is not None
        return twin, twin.history_judge[:, None], twin.current_judge[:, None], np.array([False])
    from sklearn.feature_extraction.text import TfidfVectorizer

    from hero_eval.estimation.covariates import tfidf_options

    twin = safety_twin(rng)
    words = TfidfVectorizer(**tfidf_options()).fit_transform(twin.prompts).toarray()
    return twin, words, words, np.ones(words.shape[1], dtype=bool)


def _resampled(cell: Cell, rng: np.random.Generator) -> CovariateEvidence:
    """Items of each round drawn with replacement, apart; gold revealed for a random part of history.

    Drawing prompts once for both rounds would make the covariates' means equal, and HERO-2 the same as HERO-1.
    """
    twin, past, now, common = _twin(cell.study)
    size = len(twin.prompts)
    before, chosen = rng.integers(0, size, size), rng.integers(0, size, size)
    gold = reveal(twin.history_truth[before], cell.gold_rate, rng)
    current = patterns_of_matrix(twin.current_labels[chosen], 2)
    names = tuple(str(c) for c in range(past.shape[1]))
    return CovariateEvidence(
        2,
        current,
        patterns_of_matrix(twin.history_labels[before], 2, gold),
        columns=CovariateColumns(names, now[chosen], past[before], common),
        em=EMOptions.paper(),
        classes=("0", "1"),
    )


def _truth(cell: Cell) -> float:
    return cell.design.true_rate() if cell.design is not None else float(_twin(cell.study)[0].current_truth.mean())


def _summary(cell: Cell, outcomes: Floats) -> Iterator[dict[str, Any]]:
    """Bias, spread and coverage of each method in one cell, each with its Monte Carlo error."""
    truth = _truth(cell)
    count = len(outcomes)
    for position, name in enumerate(paper_methods()):
        value, low, high, paper_low, paper_high = outcomes[:, position].T
        error = value - truth
        rmse = float(np.sqrt(np.mean(error**2)))
        spread = float(value.std(ddof=1))
        covered = float(np.mean((low <= truth) & (truth <= high)))
        yield {
            "study": cell.study,
            "cell": cell.name,
            "method": name,
            "gold_rate": cell.gold_rate,
            "concentration": cell.concentration,
            "truth": truth,
            "replications": count,
            "mean": float(value.mean()),
            "bias": float(error.mean()),
            "bias_se": spread / np.sqrt(count),
            "sd": spread,
            "sd_se": spread / np.sqrt(2 * (count - 1)),
            "rmse": rmse,
            "rmse_se": float((error**2).std(ddof=1) / np.sqrt(count) / (2 * rmse)) if rmse > 0 else 0.0,
            "coverage": covered,
            "coverage_se": float(np.sqrt(covered * (1 - covered) / count)),
            "width": float(np.mean(high - low)),
            "paper_coverage": float(np.mean((paper_low <= truth) & (truth <= paper_high))),
            "paper_width": float(np.mean(paper_high - paper_low)),
        }
