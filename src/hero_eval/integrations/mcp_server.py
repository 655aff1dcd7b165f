"""A store for assistants, over the Model Context Protocol: rounds, estimates, comparisons, findings in words.

Nothing is written unless the server was started for writing, so an assistant that guesses changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from hero_eval import __version__, errors, findings, remedies
from hero_eval.documents import plain
from hero_eval.errors import HeroError, wrong
from hero_eval.gates import Gate
from hero_eval.integrations.needed import need
from hero_eval.store.estimates import asked_of, listed_estimates, make, save
from hero_eval.store.store import open_store

INSTRUCTIONS = """\
hero-eval estimates how good a generative model really is from noisy labels and a history with a little gold.
A value is never to be quoted without its interval. Where `doubts` is not empty the interval is in doubt: say so, and
say what its findings ask to be done. Numbers of two rounds are compared with `compare`, never by overlapping intervals.
"""


def make_server(store: str, *, write: bool = False) -> Any:
    """The server; `run()` serves on standard input and output. E401 if there is no store."""
    mcp = need("mcp.server.mcpserver", "mcp", "the server for assistants")
    opened = open_store(store)
    server = mcp.MCPServer("hero-eval", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reads = need("mcp.types", "mcp", "the server for assistants").ToolAnnotations(
        read_only_hint=not write, destructive_hint=False, open_world_hint=False
    )

    def tool(function: Callable[..., dict[str, Any]]) -> None:
        server.tool(annotations=reads)(_told(function))

    def answer(command: str, round: str, gate: Gate, **options: Any) -> dict[str, Any]:
        made = make(opened, asked_of(command, round, options))
        if write:
            save(opened, made)
        document = dict(plain(made.document))
        document["doubts"] = [one.code for one in made.result.doubts]
        document["in_words"] = made.result.summary()
        if gate.is_asked:
            document["gate"] = gate.to_dict([gate.verdict(made.result)])
        return document

    @tool
    def list_rounds() -> dict[str, Any]:
        """The rounds of the store: name, model, question, date, and how many items, labels and golds each has."""
        return {"rounds": [one.to_dict() for one in opened.rounds()], "store_version": opened.version}

    @tool
    def list_labelers() -> dict[str, Any]:
        """Who labels: people and judges, with the model, prompt and vendor of each."""
        return {"labelers": opened.labelers()}

    @tool
    def estimate(
        round: str,
        method: str | None = None,
        level: float = 0.95,
        positive: str | None = None,
        fail_below: float | None = None,
        fail_above: float | None = None,
    ) -> dict[str, Any]:
        """A round's rate with its interval and findings; with fail_below or fail_above also a gate's verdict."""
        return answer("estimate", round, Gate(fail_below, fail_above), method=method, level=level, positive=positive)

    @tool
    def compare(
        round: str,
        other: str,
        method: str | None = None,
        level: float = 0.95,
        fail_below: float | None = None,
        fail_above: float | None = None,
    ) -> dict[str, Any]:
        """The rate of `round` minus that of `other`, another model on the same items, with an interval."""
        return answer("compare", round, Gate(fail_below, fail_above), other=other, method=method, level=level)

    @tool
    def win_rate(round: str, level: float = 0.95) -> dict[str, Any]:
        """How often A is better than B in a round of side-by-side answers, with an interval."""
        return answer("winrate", round, Gate(), level=level)

    @tool
    def recorded_estimates() -> dict[str, Any]:
        """The recorded estimates: id, command, round, store version and when. `hero reproduce ID` repeats one."""
        wanted = ("estimate", "command", "round", "question", "store_version", "history", "package")
        rows = listed_estimates(opened)
        return {"estimates": [{**{key: row[key] for key in wanted}, "written": str(row["written"])} for row in rows]}

    @tool
    def explain(code: str) -> dict[str, Any]:
        """What a finding (F...) or an error (E...) means, and what to do about it."""
        known = errors.CATALOGUE | {name: words for name, (_, words) in findings.CATALOGUE.items()}
        if code not in known:
            raise wrong("E201", f"code is {code!r}. A code is F or E and three digits, such as F206")
        what_to_do = {**remedies.ERRORS, **remedies.FINDINGS}
        return {"code": code, "means": known[code], "what_to_do": what_to_do.get(code, "")}

    return server


def _told(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Our errors as errors of the tool, in our words."""
    failed = need("mcp.server.mcpserver.exceptions", "mcp", "the server for assistants").ToolError

    @wraps(function)
    def told(**arguments: Any) -> dict[str, Any]:
        try:
            return function(**arguments)
        except HeroError as error:
            raise failed(str(error)) from None

    return told
