"""An estimate as metrics, parameters and tags of an MLflow run, with its whole document as an artifact."""

from __future__ import annotations

from typing import Any

from hero_eval.documents import plain
from hero_eval.estimate import Estimate, number
from hero_eval.gates import Gate
from hero_eval.integrations.needed import need


def log_estimate(
    estimate: Estimate, *, prefix: str = "hero", run_id: str | None = None, gate: Gate | None = None
) -> str:
    """Log to the run that is active, to the one named, or to a new one that is ended; gives the run's id.

    What is unknown is left out, since a metric must be a number. A gate's verdict is the tag ``<prefix>.gate``.
    """
    mlflow = need("mlflow", "mlflow", "logging to MLflow")
    active = mlflow.active_run()
    if active is not None and run_id in (None, active.info.run_id):
        _log(mlflow, estimate, prefix, gate)
        return str(active.info.run_id)
    with mlflow.start_run(run_id=run_id, nested=active is not None) as run:
        _log(mlflow, estimate, prefix, gate)
        return str(run.info.run_id)


def _log(mlflow: Any, estimate: Estimate, prefix: str, gate: Gate | None) -> None:
    low, high = estimate.interval()
    numbers = {
        "value": estimate.value,
        "std_error": estimate.std_error,
        "low": low,
        "high": high,
        "level": estimate.level,
        "n_items": estimate.n_items,
        "n_gold": estimate.n_gold,
    }
    known = {f"{prefix}.{name}": number(float(of)) for name, of in numbers.items()}
    mlflow.log_metrics({name: of for name, of in known.items() if of is not None})
    document = estimate.to_dict()
    tags = {
        "what": estimate.what,
        "method": estimate.method,
        "findings": ",".join(dict.fromkeys(one.code for one in estimate.findings)) or "none",
        "interval_in_doubt": str(bool(estimate.doubts)).lower(),
    }
    if gate is not None:
        verdict = gate.verdict(estimate)
        tags |= {"gate": verdict.state, "gate_words": verdict.words[:5000]}  # the longest tag that MLflow takes
        document["gate"] = gate.to_dict([verdict])
    mlflow.set_tags({f"{prefix}.{name}": of for name, of in tags.items()})
    mlflow.log_dict(dict(plain(document)), f"{prefix}/estimate.json")
    mlflow.log_text(estimate.summary(), f"{prefix}/summary.txt")
