"""JSON Lines of side-by-side votes: arenas (model_a, model_b, winner) and MT-Bench (people, or a model judge).

A model judge of FastChat sees each pair in both orders (`g1_winner`, `g2_winner`): each is a vote of its own, in which
the model that was shown first is model_a, so that its bias for a position can be told.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from hero_eval.errors import wrong
from hero_eval.io.bridge import to_text_array
from hero_eval.io.tables import InputTable

_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".json")
_NO_VOTE = ("error", "")
_LONGEST = 200
"""Characters of a text that may be a category; longer ones are conversations."""
_OURS = ("item", "labeler", "label", "gold", "model_a", "model_b", "winner", "judge", "question_id", "turn")


def is_json_lines(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(_ENDINGS)


def votes_of_json(path: Path, texts: bool = False) -> InputTable:
    """The records of a file as a table of votes, with what was said if `texts`; E103 or E122 if it holds none."""
    import pyarrow as pa

    rows = [vote for number, record in enumerate(_records(path)) for vote in _votes(path, number, record, texts)]
    if not rows:
        raise wrong("E122", f"{path} holds no votes: no record has model_a, model_b and winner.")
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {
        name: to_text_array([None if row.get(name) is None else str(row[name]) for row in rows]) for name in names
    }
    return InputTable(str(path), pa.table(columns), "files")


def first_record(path: Path) -> Any:
    """The first record of the file; None where it cannot be read as one, which its reader will say."""
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if _is_packed(path)
            else path.open(encoding="utf-8-sig") as stream
        ):
            line = next((line for line in stream if line.strip()), "")
        if line.lstrip().startswith("["):
            return next(iter(_records(path)), None)
        return json.loads(line)
    except (OSError, ValueError):
        return None


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def is_vote(record: Any) -> bool:
    """Whether a record compares two models."""
    if not isinstance(record, dict):
        return False
    return "g1_winner" in record or ({"model_a", "model_b"} <= set(record) and bool({"winner", "label"} & set(record)))


def _records(path: Path) -> list[Any]:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if _is_packed(path) else raw).decode("utf-8-sig")
        if text.lstrip().startswith("["):
            found = json.loads(text)
            return list(found)
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise wrong("E103", f"{path} cannot be read as JSON: {error}. Write it again; it may be damaged.") from error


def _votes(path: Path, number: int, record: Any, texts: bool) -> list[dict[str, Any]]:
    if not isinstance(record, dict):
        raise wrong("E103", f"{path} holds a {type(record).__name__} in record {number + 1}, not an object.")
    judge = record.get("judge", record.get("labeler"))
    question = record.get("question_id", record.get("item"))
    turn = record.get("turn")
    by = {
        "item": None if question is None else f"{question}" + (f"/{turn}" if turn is not None else ""),
        "labeler": "/".join(map(str, judge)) if isinstance(judge, list) else judge,
    }
    by = {key: value for key, value in by.items() if value is not None}
    others = {
        key: value
        for key, value in record.items()
        if key not in _OURS and (isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _LONGEST))
    }
    if texts:
        others |= {key: said for key, value in record.items() if key not in _OURS and (said := _said(value))}
    if "g1_winner" in record:
        one, two = record.get("model_1"), record.get("model_2")
        turned = {"model_1": "model_b", "model_2": "model_a"}
        return [
            {**by, "model_a": a, "model_b": b, "label": label}
            for a, b, label in (
                (one, two, {"model_1": "A", "model_2": "B"}.get(record["g1_winner"], record["g1_winner"])),
                (two, one, turned.get(record.get("g2_winner", ""), record.get("g2_winner"))),
            )
            if label not in (*_NO_VOTE, None)
        ]
    label = record.get("winner", record.get("label"))
    if label in (*_NO_VOTE, None) or "model_a" not in record:
        return []
    gold = {"gold": record["gold"]} if record.get("gold") is not None else {}
    return [{**others, **by, **gold, "model_a": record["model_a"], "model_b": record.get("model_b"), "label": label}]


def _said(value: Any) -> str:
    """A text, or a conversation as Markdown; nothing of anything else."""
    if isinstance(value, str):
        return value
    turns = value if isinstance(value, list) else []
    if not turns or not all(isinstance(one, dict) and isinstance(one.get("content"), str) for one in turns):
        return ""
    return "\n\n".join(f"**{one.get('role', 'somebody')}:**\n\n{one['content']}" for one in turns)
