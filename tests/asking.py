"""The command, asked in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from typer.testing import CliRunner

from hero_eval.cli.main import app

runner = CliRunner(env={"COLUMNS": "80"})


def ask(*arguments: str, code: int = 0) -> str:
    """Stdout of a command that ends with this code and, if all went well, says nothing on stderr."""
    result = runner.invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == code, result.stderr
    assert "Traceback" not in result.output
    if code == 0:
        assert result.stderr == ""
    return result.stdout


def refused(*arguments: str, code: int = 2) -> str:
    """Stderr of a command that must fail and print nothing on stdout, or with `--json` the refusal alone."""
    result = runner.invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == code, result.output
    if "--json" in arguments:
        assert strict(result.stdout)["exit_code"] == code
    else:
        assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def strict(text: str) -> Any:
    """JSON that any parser accepts."""

    def reject(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=reject)


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, without the settings of a CI that forces colors."""
    forced = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TERMINAL_WIDTH")
    clean = {key: value for key, value in os.environ.items() if key not in forced}
    command = [sys.executable, "-m", "hero_eval.cli.main", *arguments]
    return subprocess.run(
        command, env=clean | {"COLUMNS": "80"} | environment, capture_output=True, check=False, timeout=60
    )
