"""Writes argilla.json (nested) and argilla_flat.json with argilla's own exporters.

pip install argilla==2.8.0 && python make_argilla.py
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import argilla as rg
from argilla.records._io import GenericIO, JsonIO

HERE = Path(__file__).parent
ANN, BOB = (UUID(int=number) for number in (1, 2))


def records() -> list:
    made = []
    for number in range(10):
        truth = "yes" if number % 2 else "no"
        other = "no" if truth == "yes" else "yes"
        responses = [
            rg.Response("relevant", truth if number % 4 else other, user_id=ANN, status="submitted"),
            rg.Response("relevant", truth, user_id=BOB, status="discarded" if number == 3 else "submitted"),
        ]
        if number == 5:
            responses[1] = rg.Response("relevant", truth, user_id=BOB, status="draft")
        suggestion = rg.Suggestion("relevant", truth if number % 5 else other, agent="judge-v1", score=0.8)
        made.append(
            rg.Record(
                id=f"rec-{number}",
                fields={"text": f"text {number}"},
                metadata={"length": number},
                responses=responses,
                suggestions=[suggestion] if number != 9 else [],
            )
        )
    return made


if __name__ == "__main__":
    JsonIO.to_json(records(), HERE / "argilla.json")
    flat = GenericIO.to_list(records(), flatten=True)
    (HERE / "argilla_flat.json").write_text(json.dumps(flat), encoding="utf-8")
