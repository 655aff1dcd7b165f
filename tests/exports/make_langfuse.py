"""Writes langfuse.json with the models of langfuse's own API client.

pip install langfuse==5.0.4 && python make_langfuse.py
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from langfuse.api.commons.types import CategoricalScore, NumericScore

HERE = Path(__file__).parent
WHEN = dt.datetime(2026, 11, 9, 12, tzinfo=dt.UTC)


def scores() -> list:
    out = []
    for number in range(8):
        truth = "good" if number % 2 else "bad"
        for user in ("user-ann", "user-bob"):
            said = truth if (number + len(user)) % 3 else "good"
            out.append(_score(f"{user}-{number}", number, "correctness", "ANNOTATION", said, user))
        out.append(_score(f"eval-{number}", number, "correctness-judge", "EVAL", truth, None))
    out.append(
        NumericScore(
            id="latency-0",
            trace_id="trace-0",
            name="latency",
            source="API",
            value=1.5,
            timestamp=WHEN,
            created_at=WHEN,
            updated_at=WHEN,
            environment="default",
            metadata={},
        )
    )
    return out


def _score(name: str, number: int, question: str, source: str, said: str, user: str | None) -> CategoricalScore:
    return CategoricalScore(
        id=name,
        trace_id=f"trace-{number}",
        observation_id=None,
        name=question,
        source=source,
        value=float(said == "good"),
        string_value=said,
        author_user_id=user,
        timestamp=WHEN,
        created_at=WHEN,
        updated_at=WHEN,
        environment="default",
        metadata={"model": "gpt-x", "prompt": "p3"} if source == "EVAL" else {},
    )


if __name__ == "__main__":
    made = [json.loads(one.json()) for one in scores()]
    page = {"data": made, "meta": {"page": 1, "limit": 50, "totalItems": len(made), "totalPages": 1}}
    (HERE / "langfuse.json").write_text(json.dumps(page, indent=1), encoding="utf-8")
