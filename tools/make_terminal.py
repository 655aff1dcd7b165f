"""Records a first answer as a picture of a terminal: one's own wide table, one command.

    python tools/make_terminal.py

The table is drawn with a seed: three judges, a column each, and an expert who answered some rows. The command is run
for real, at 80 columns, and what it prints becomes docs/pictures/terminal.svg, which loads nothing from anywhere.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from markers import ROOT
from outputs import alike
from rich.console import Console
from rich.text import Text

PICTURE = ROOT / "docs" / "pictures" / "terminal.svg"
COMMANDS = ("head -n 4 answers.csv", "hero estimate answers.csv")
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>A first answer: the table, the command, and what it prints</title>
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own picture, without the fonts that it would load from another host."""


def write_table(folder: Path) -> None:
    """400 answers, judged by three; the expert answered 60."""
    rng = np.random.default_rng(20)
    good = rng.random(400) < 0.7
    right = {"gpt": (0.95, 0.6), "claude": (0.85, 0.8), "crowd": (0.8, 0.7)}
    said = {name: np.where(good, rng.random(400) < yes, rng.random(400) > no) for name, (yes, no) in right.items()}
    asked = set(rng.choice(400, 60, replace=False).tolist())
    lines = ["prompt_id," + ",".join(right) + ",expert"]
    for row in range(400):
        answers = ",".join(str(int(said[name][row])) for name in right)
        lines.append(f"q{row:03d},{answers},{int(good[row]) if row in asked else ''}")
    (folder / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def session() -> str:
    """The commands with what they print."""
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder))
        env = {
            **os.environ,
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        for command in COMMANDS:
            ran = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=True)
            shown.append(f"$ {command}\n{ran.stdout.rstrip()}")
    return "\n".join(shown)


def drawn(text: str) -> str:
    console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text(text))
    return console.export_svg(title="hero", code_format=FORMAT, unique_id="hero", font_aspect_ratio=0.6)


def is_fresh() -> bool:
    """Whether the picture shows what the command prints now, but for last digits."""
    kept = PICTURE.with_suffix(".txt")
    return PICTURE.exists() and kept.exists() and alike(kept.read_text(encoding="utf-8"), session() + "\n")


def main() -> None:
    text = session()
    PICTURE.write_text(drawn(text), encoding="utf-8")
    PICTURE.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
