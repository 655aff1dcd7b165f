"""Writes lm_eval_samples.jsonl with lm-eval's own tracker, from a run of its dummy model on a small local task.

pip install lm-eval==0.4.13 && python make_lm_eval.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import lm_eval
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

HERE = Path(__file__).parent
TASK = """
task: toy
dataset_path: json
dataset_kwargs: {data_files: {test: "FOLDER/toy.jsonl"}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"]}
filter_list:
  - name: strict
    filter: [{function: take_first}]
  - name: lower
    filter: [{function: lowercase}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"question": f"say {word}", "answer": word} for word in ("lol", "yes", "no", "lol", "maybe")]
        Path(folder, "toy.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        Path(folder, "toy.yaml").write_text(TASK.replace("FOLDER", folder), encoding="utf-8")
        manager = TaskManager(include_path=folder, include_defaults=False)
        made = lm_eval.simple_evaluate(model="dummy", tasks=["toy"], task_manager=manager, log_samples=True)
        tracker = EvaluationTracker(output_path=f"{folder}/out")
        samples = made.pop("samples")
        tracker.save_results_aggregated(results=made, samples=samples)
        tracker.save_results_samples("toy", samples["toy"])
        shutil.copy(next(Path(folder, "out").rglob("samples_*.jsonl")), HERE / "lm_eval_samples.jsonl")


if __name__ == "__main__":
    main()
