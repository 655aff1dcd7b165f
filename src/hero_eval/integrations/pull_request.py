"""An estimate as a pipeline shows it: Markdown for a pull request, and the numbers as outputs of a step.

`python -m hero_eval.integrations.pull_request ESTIMATE.json WORDS.txt` prints the Markdown of what `hero estimate` with
--json wrote to its two outputs. Where GITHUB_OUTPUT names a file, value, low, high and gate are added to it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hero_eval.escaping import code_spans, escape, row
from hero_eval.phrasing import TO_DO

_MARKS = {"open": "\N{WHITE HEAVY CHECK MARK}", "closed": "\N{CROSS MARK}", "undecided": "\N{CROSS MARK}"}
_HEAD = ["quantity", "value", "interval", "method", "items", "gold"]


def summary(document: Mapping[str, Any] | None, words: str) -> str:
    """The gate first, then the numbers, then what one must know; where there is no number, what went wrong."""
    if document is None:
        return f"### HERO: no answer\n\n{_in_one_line(words)}\n"
    if "problems" in document:
        return "### HERO: no answer\n\n" + "".join(f"{_problem(one)}\n" for one in document["problems"])
    lines = ["### HERO"]
    gate = document.get("gate")
    if gate is not None:
        lines.append(f"{_MARKS[gate['state']]} **Gate {gate['state']}**")
        lines += [escape(one["words"]) for one in gate["verdicts"]]
    estimates = _estimates(document)
    lines.append(
        "\n".join([row(_HEAD), row([":---", "---:", ":---", ":---", "---:", "---:"], raw=True), *map(_row, estimates)])
    )
    said = {(one["code"], one["message"]): one for estimate in estimates for one in estimate["findings"]}
    lines.append(
        "\n".join(
            f"- `{one['code']}` {escape(one['message'])}. {TO_DO} {code_spans(one['action'])}" for one in said.values()
        )
    )
    return "\n\n".join(line for line in lines if line) + "\n"


def _problem(one: Mapping[str, Any]) -> str:
    message = one["message"].rstrip(".")
    return f"- `{one['code']}` {escape(message)}. {TO_DO} {code_spans(one['action'])}"


def _in_one_line(words: str) -> str:
    """What was folded for a terminal: a line break is no character of its own here."""
    return escape(" ".join(words.split()))


def outputs(document: Mapping[str, Any] | None) -> str:
    """name=value, line by line; of several groups the gate alone."""
    found: dict[str, Any] = {}
    if document is not None and "problems" not in document:
        found["gate"] = document.get("gate", {}).get("state", "")
        if "value" in document:
            span = document["interval"]
            found |= {"value": document["value"], "low": span["low"], "high": span["high"]}
    return "".join(f"{name}={'' if value is None else value}\n" for name, value in found.items())


def _estimates(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(document["groups"].values()) if "groups" in document else [document]


def _row(estimate: Mapping[str, Any]) -> str:
    def shown(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.4f}"

    span = estimate["interval"]
    interval = f"{shown(span['low'])} to {shown(span['high'])} at {span['level']:.3g}"
    counts = (f"{estimate['n_items']:,}", f"{estimate['n_gold']:,}")
    return row([estimate["what"], shown(estimate["value"]), interval, estimate["method"], *counts])


def main(arguments: Sequence[str]) -> None:
    told, words = (Path(name).read_text(encoding="utf-8") for name in arguments)
    document = json.loads(told) if told.strip() else None
    sys.stdout.write(summary(document, words))
    if "GITHUB_OUTPUT" in os.environ:
        with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as out:
            out.write(outputs(document))


if __name__ == "__main__":
    main(sys.argv[1:])
