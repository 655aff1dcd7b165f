"""Runs the examples of the pages and writes down what they really print.

    python tools/run_blocks.py                 brings the shown output of every page up to date
    python tools/run_blocks.py docs/method.md  of one page

A page is run from top to bottom in an empty folder that holds `src` and `examples` of this repository. Its `python`
blocks share one namespace; a `text` block right below one is what it prints. In a `console` block a line that starts
with `$ ` is a command and the lines below it are its output; a command without output below it is run, but what it
prints is not compared. A command that fails must be followed by `$ echo $?`. Other blocks are not run. A block whose
numbers differ in nothing but their last shown digits is left as it is (`outputs.py`).
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outputs import kept_or_fresh

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_SIGNS = re.compile(r"[|<>;&$`]")
INTO_FILE = re.compile(r"(hero [^|<>;&$`]+) > ([\w.-]+)")


class BlockError(Exception):
    """An example does not do what its page says."""


@dataclass
class Session:
    """What the blocks of one page share."""

    names: dict[str, Any]
    tools: Path
    exit_code: int = 0


class Terminal(io.StringIO):
    """A plain terminal: messages are folded, as a reader sees them."""

    def isatty(self) -> bool:
        return True


def refresh(text: str) -> str:
    """The page with the output that its examples print now."""
    with tempfile.TemporaryDirectory() as folder, _as_reader(Path(folder)) as session:
        parts: list[str] = []
        position = 0
        printed: tuple[int, str] | None = None
        for fence in FENCE.finditer(text):
            kind, body = fence.groups()
            parts.append(text[position : fence.start(2)])
            position = fence.end(2)
            below = printed is not None and not text[printed[0] : fence.start()].strip()
            if printed is not None and printed[1] and not (kind == "text" and below):
                raise BlockError(f"a python block prints this, but no text block below it says so:\n{printed[1]}")
            new = kept_or_fresh(body, printed[1]) if printed is not None and kind == "text" and below else body
            printed = None
            if kind == "python":
                printed = fence.end(), run_python(body, session)
            elif kind == "console":
                new = kept_or_fresh(body, run_console(body, session))
            parts.append(new)
        if printed is not None and printed[1]:
            raise BlockError(f"a python block prints this, but no text block below it says so:\n{printed[1]}")
        return "".join(parts) + text[position:]


@contextmanager
def _as_reader(folder: Path) -> Iterator[Session]:
    """An empty folder, a plain terminal of 80 columns, and `hero` and `python` at hand."""
    tools = folder / "tools"
    place = folder / "place"
    tools.mkdir()
    place.mkdir()
    for name in ("src", "examples"):
        (place / name).symlink_to(ROOT / name)
    _tool(tools / "python", '"$@"')
    _tool(tools / "hero", '-m hero_eval.cli.main "$@"')
    before = {name: os.environ.get(name) for name in ("COLUMNS", "TERM", "NO_COLOR")}
    os.environ.update({"COLUMNS": "80", "TERM": "dumb"})
    os.environ.pop("NO_COLOR", None)
    try:
        with chdir(place):
            yield Session({"__name__": "page"}, tools)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _tool(path: Path, arguments: str) -> None:
    path.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}\n", encoding="utf-8")
    path.chmod(0o755)


def run_python(source: str, session: Session) -> str:
    """Run a block in the page's namespace and return what it prints, without spaces at the ends of lines."""
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(source, "<page>", "exec"), session.names)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def run_console(body: str, session: Session) -> str:
    """The block with each command's real output, where output was shown."""
    lines = []
    commands = list(_commands(body))
    for position, (command, shown) in enumerate(commands):
        follows = commands[position + 1][0] if position + 1 < len(commands) else ""
        output = f"{session.exit_code}\n" if command == "echo $?" else run_command(command, session)
        if session.exit_code != 0 and command != "echo $?" and follows != "echo $?":
            raise BlockError(f"`{command}` ended with {session.exit_code}:\n{output}")
        lines.append(f"$ {command}\n" + (output if shown else ""))
    return "".join(lines)


def _commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command with the output shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = f"{command}\n{more}"
        yield command, shown


def run_command(command: str, session: Session) -> str:
    if command.startswith("hero ") and not SHELL_SIGNS.search(command):
        return "".join(_run_hero(command, session))
    if found := INTO_FILE.fullmatch(command):
        printed, told = _run_hero(found[1], session)
        Path(found[2]).write_text(printed, encoding="utf-8")
        return told
    path = f"{session.tools}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    session.exit_code = done.returncode
    return done.stdout


def _run_hero(command: str, session: Session) -> tuple[str, str]:
    """What the command prints, and what it says beside it, in this process, which spares the time to start one."""
    from hero_eval.cli.main import app

    arguments = shlex.split(command.replace("\\\n", " "))[1:]
    terminal, out = Terminal(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(terminal):
        try:
            app(arguments, prog_name="hero")
            session.exit_code = 0
        except SystemExit as end:
            session.exit_code = end.code if isinstance(end.code, int) else 1
    return out.getvalue(), terminal.getvalue()


def main() -> None:
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        old = page.read_text(encoding="utf-8")
        new = refresh(old)
        page.write_text(new, encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {'as it was' if new == old else 'brought up to date'}")


if __name__ == "__main__":
    main()
