"""Writes inspect.json and inspect.eval by running an evaluation with inspect-ai's own mock model.

pip install inspect-ai==0.3.285 && python make_inspect.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import ScoreEdit, exact, includes

HERE = Path(__file__).parent


def main() -> None:
    samples = [
        Sample(id=f"q{n}", input=f"What is {n} plus {n}?", target=str(2 * n), metadata={"topic": "sums"})
        for n in range(1, 7)
    ]
    said = [
        ModelOutput.from_content("mockllm/model", str(2 * n) if n % 3 else "the answer is 99") for n in range(1, 13)
    ]
    for one in said:  # counting tokens would need a download
        one.usage = ModelUsage(input_tokens=5, output_tokens=2, total_tokens=7)
    with tempfile.TemporaryDirectory() as folder:
        task = Task(dataset=samples, scorer=[includes(), exact()], epochs=2)
        logs = eval(task, model=get_model("mockllm/model", custom_outputs=said), log_dir=folder, display="none")
        log = read_eval_log(logs[0].location)
        for number in (1, 2, 3):
            provenance = ProvenanceData(author="lead", reason="checked by hand")
            edit_score(log, f"q{number}", "includes", ScoreEdit(value="C", provenance=provenance), epoch=1)
        for sample in log.samples or []:  # the transcripts make up nine tenths of a log, and no label
            sample.events.clear()
        write_eval_log(log, f"{folder}/edited.json", format="json")
        write_eval_log(log, f"{folder}/edited.eval", format="eval")
        shutil.copy(f"{folder}/edited.json", HERE / "inspect.json")
        shutil.copy(f"{folder}/edited.eval", HERE / "inspect.eval")


if __name__ == "__main__":
    main()
