"""Writes label_studio.json and label_studio_min.json with label-studio-sdk's own converter.

pip install label-studio-sdk==2.1.2 && python make_label_studio.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from label_studio_sdk.converter import Converter
from label_studio_sdk.label_interface import LabelInterface
from label_studio_sdk.label_interface.objects import AnnotationValue, PredictionValue

HERE = Path(__file__).parent
CONFIG = """<View><Text name="prompt" value="$prompt"/>
<Choices name="quality" toName="prompt"><Choice value="good"/><Choice value="bad"/></Choices></View>"""
PEOPLE = {1: "ann@example.com", 2: "bob@example.com", 3: "lead@example.com"}


def main() -> None:
    interface = LabelInterface(CONFIG)
    quality = interface.get_control("quality")

    def result(choice: str) -> list:
        return [quality.label(choices=[choice])._dict()]

    tasks = []
    for number in range(1, 13):
        truth = "good" if number % 3 else "bad"
        other = "bad" if truth == "good" else "good"
        annotations = []
        for who in (1, 2):
            said = truth if (number + who) % 5 else other
            annotations.append(_annotation(number, who, result(said)))
        if number == 2:
            annotations[0]["was_cancelled"] = True
        if number == 3:
            annotations[1]["result"] = []
        if number <= 6:
            annotations.append({**_annotation(number, 3, result(truth)), "ground_truth": True})
        prediction = PredictionValue(model_version="judge-v3", score=0.9, result=[])
        predictions = [
            {
                **json.loads(prediction.model_dump_json(exclude_none=True)),
                "result": result(truth if number % 4 else other),
            }
        ]
        tasks.append(
            {
                "id": number,
                "data": {"prompt": f"draw a cat, number {number} — naïve", "length": number * 10},
                "annotations": annotations,
                "predictions": predictions,
                "meta": {},
                "project": 7,
            }
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        source.mkdir()
        for task in tasks:
            (source / f"{task['id']}.json").write_text(json.dumps(task), encoding="utf-8")
        converter = Converter(CONFIG, folder)
        converter.convert_to_json(str(source), str(Path(folder) / "json"))
        converter.convert_to_json_min(str(source), str(Path(folder) / "min"))
        shutil.copy(Path(folder) / "json" / "result.json", HERE / "label_studio.json")
        shutil.copy(Path(folder) / "min" / "result.json", HERE / "label_studio_min.json")


def _annotation(task: int, who: int, result: list) -> dict:
    made = json.loads(AnnotationValue(result=[], completed_by=who).model_dump_json(exclude_none=True))
    return {
        **made,
        "id": task * 10 + who,
        "completed_by": {"id": who, "email": PEOPLE[who], "first_name": "", "last_name": ""},
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-11-09T10:00:00.000000Z",
        "updated_at": "2026-11-09T10:00:00.000000Z",
        "lead_time": 12.5,
        "task": task,
    }


if __name__ == "__main__":
    main()
