"""A store asked by an assistant, with the protocol's own client."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from optional_packages import needs

import hero_eval as hero

pytestmark = [
    needs("mcp", "the protocol's package is not installed: pip install 'hero-eval[mcp]'"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two rounds of one question."""
    path = str(tmp_path_factory.mktemp("mcp") / "store")
    made = hero.create_store(path)
    for name, source in (("2026-04", "history"), ("2026-05", "current")):
        made.add(hero.read_round(EXAMPLE / source), round=name, model=f"v{name[-1]}", question="defect")
    return path


def call(store: str, name: str, *, write: bool = False, **arguments: Any) -> tuple[bool, Any]:
    """Whether a tool failed, and what it said."""
    import anyio
    from mcp import Client

    from hero_eval.integrations.mcp_server import make_server

    async def ask() -> Any:
        async with Client(make_server(store, write=write)) as client:
            return await client.call_tool(name, arguments)

    result = anyio.run(ask)
    text = result.content[0].text
    return bool(result.is_error), text if result.is_error else json.loads(text)


def test_rounds_are_listed(store: str) -> None:
    failed, told = call(store, "list_rounds")
    assert not failed
    assert [(one["round"], one["model"], one["gold"] > 0) for one in told["rounds"]] == [
        ("2026-04", "v4", True),
        ("2026-05", "v5", False),
    ]


def test_an_estimate_is_the_library_s_and_nothing_is_written(store: str) -> None:
    """An assistant would tell another number than the team's, or fill the record by asking."""
    failed, told = call(store, "estimate", round="2026-05", method="hero1", fail_above=0.01)
    assert not failed
    rate = hero.estimate_rate(
        hero.read_round(EXAMPLE / "current"), hero.read_round(EXAMPLE / "history"), method="hero1"
    )
    assert told["value"] == pytest.approx(rate.value)
    assert told["gate"]["state"] in ("closed", "undecided")
    assert told["in_words"].startswith("About")
    assert hero.open_store(store).estimates() == []


def test_with_write_what_is_asked_is_recorded(store: str) -> None:
    failed, told = call(store, "estimate", write=True, round="2026-05", method="majority_vote")
    assert not failed
    assert [one["estimate"] for one in hero.open_store(store).estimates()] == [told["made_from"]["estimate"]]
    _, listed = call(store, "recorded_estimates")
    assert [one["round"] for one in listed["estimates"]] == ["2026-05"]


def test_errors_are_ours(store: str) -> None:
    """An assistant that misspells a round must read what there is, not a traceback."""
    failed, told = call(store, "estimate", round="2026-5")
    assert failed
    assert "E403" in told
    failed, told = call(store, "explain", code="F206")
    assert not failed
    assert told["what_to_do"]
    failed, told = call(store, "explain", code="F999")
    assert failed
    assert "E201" in told


def test_the_command_serves_on_standard_input(store: str) -> None:
    """What an assistant's configuration starts: a line on stdout that is no message would break it."""
    import anyio
    from mcp import Client, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from hero_eval.cli.main import run; run()", "mcp", "--store", store],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )

    async def ask() -> Any:
        async with Client(stdio_client(server)) as client:
            return await client.list_tools()

    tools = {one.name: one for one in anyio.run(ask).tools}
    assert {"list_rounds", "list_labelers", "estimate", "compare", "win_rate", "explain"} <= set(tools)
    assert all(one.annotations is not None and one.annotations.read_only_hint for one in tools.values())
