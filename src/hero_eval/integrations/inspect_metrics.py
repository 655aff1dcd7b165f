"""HERO's interval on Inspect's evaluations: as a metric of a task, and on a log that is written already.

Inspect's own accuracy takes its scorers at their word. `hero_rate` is a metric that corrects them by a history in which
people checked some scores; `attach` does the same for a whole log, all of its scorers together.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from hero_eval.errors import wrong
from hero_eval.estimate import Estimate
from hero_eval.estimation.options import PastRounds
from hero_eval.integrations.needed import need
from hero_eval.io.exports.imports import read_export
from hero_eval.io.read_options import make_options
from hero_eval.io.validate import parse_round
from hero_eval.round import Round
from hero_eval.targets.rate import estimate_rate

_WHAT = "HERO's interval on an evaluation log"


def read_log(path: str | os.PathLike[str]) -> Round:
    """A log as a round: its scorers are labelers, and scores that a person edited are gold.

    Parameters
    ----------
    path : path-like
        The log, ``.eval`` or ``.json``.

    Returns
    -------
    Round
        With a round's items, labels and gold; its positive class is ``1``, a correct answer.
    """
    export = read_export(os.fspath(path), tool="inspect")
    options = make_options(None, None, "1", None, None, str(path), None, None, None)
    return Round._of(parse_round(export.sources(), options))


def attach(
    path: str | os.PathLike[str],
    history: PastRounds = None,
    *,
    output: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Estimate:
    """Write the estimate of a log's rate into the log, as a score named ``hero`` beside those of its scorers.

    Parameters
    ----------
    path : path-like
        The log.
    history : Round, sequence of Round or Reliability, optional
        Past rounds, such as `read_log` gives. None: the log's own edited scores are its gold.
    output : path-like, optional
        Where to write the log. None: over the one that was read.
    **options
        Options of `hero_eval.estimate_rate`.

    Returns
    -------
    Estimate
        What was written.
    """
    logs = need("inspect_ai.log", "inspect", _WHAT)
    estimate: Estimate = estimate_rate(read_log(path), history, **options)
    log = logs.read_eval_log(str(path))
    if log.results is None:
        raise wrong("E303", f"{os.fspath(path)} has no results: the evaluation did not end")
    low, high = estimate.interval()
    numbers = {"rate": estimate.value, "std_error": estimate.std_error, "low": low, "high": high}
    log.results.scores = [
        *(one for one in log.results.scores if one.name != "hero"),
        logs.EvalScore(
            name="hero",
            scorer="hero",
            scored_samples=estimate.n_items,
            metrics={name: logs.EvalMetric(name=name, value=float(value)) for name, value in numbers.items()},
            metadata=estimate.to_dict(),
        ),
    ]
    logs.write_eval_log(log, str(path if output is None else output))
    return estimate


def hero_rate(history: PastRounds, *, labeler: str, **options: Any) -> Any:
    """A metric for Inspect's scorers: the rate of correct answers, corrected by what history knows of the scorer.

    Parameters
    ----------
    history : Round, sequence of Round or Reliability
        Past rounds with gold in which the scorer labeled, such as `read_log` gives.
    labeler : str
        The scorer's name in that history.
    **options
        Options of `hero_eval.estimate_rate`.

    Returns
    -------
    Metric
        With the values rate, low and high; for ``metrics=[...]`` of a scorer or a task.
    """
    scorer = need("inspect_ai.scorer", "inspect", _WHAT)
    grade = scorer.value_to_float()

    @scorer.metric(name="hero_rate")  # type: ignore[untyped-decorator]
    def made() -> Any:
        def compute(scores: Sequence[Any]) -> dict[str, float]:
            rows = [(str(one.sample_id), f"{grade(one.score.value):g}") for one in scores]
            items, labels = zip(*rows, strict=True)
            table = {"item": list(items), "labeler": [labeler] * len(items), "label": list(labels)}
            estimate = estimate_rate(Round(pa.table(table), positive="1"), history, **options)
            low, high = estimate.interval()
            return {"rate": float(estimate.value), "low": float(low), "high": float(high)}

        return compute

    return made()
