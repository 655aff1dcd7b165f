"""Draws how the package is built: its layers, from the contract that the linter holds, and the path of one estimate.

    python tools/make_layers.py

`tests/package/test_path.py` holds that the pictures are those of today, and that an estimate takes this path.
"""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path

from make_pictures import PICTURES, STYLE, WIDTH

ROOT = Path(__file__).resolve().parent.parent
LINE, GAP = 34, 10

SAYS = {
    "cli": "the command: words, tables, exit codes",
    "web": "a store over HTTP",
    "integrations": "inside tests, trackers, assistants",
    "report": "reports and notebooks",
    "charts": "pictures of results",
    "store": "rounds that accumulate",
    "studies": "simulations",
    "gates": "whether a number may be acted on",
    "phrasing": "results in plain words",
    "targets": "one file per question",
    "estimation": "prepare, select, diagnose, interval",
    "estimate": "a number and how sure it is",
    "influence": "how far each item moves a number",
    "methods": "one file per method",
    "item_results": "what an estimate says of single items",
    "labelers": "what is known of each labeler",
    "read": "files become rounds",
    "counting": "rounds become patterns",
    "score_scale": "scores of all rounds, cut into the same bins",
    "round_scales": "whether rounds count on one scale",
    "round_words": "what labelers' own words mean",
    "gold_scale": "gold of many numbers, cut into classes",
    "round": "labels, gold and items",
    "votes": "side-by-side votes, counted",
    "io": "files and frames become arrays",
    "model": "mathematics on arrays",
    "escaping": "Markdown that a name cannot break out of",
    "classes": "the classes of several rounds, in one spelling",
    "any_round": "what every round has, held in memory or not",
    "name_lists": "lists of names, as commands and forms take them",
    "arguments": "whether an argument is of the kind that it must be",
    "display": "how a notebook shows a result",
    "result_frames": "results as tables",
    "findings": "what a user must know",
    "errors": "what is wrong with the input",
}
"""What each room does, where its name does not say it all."""

PATH = (
    ("read", "read.read_with", "files or frames become rounds; all problems are told at once"),
    ("gather", "estimation.prepare.gather_rounds", "rounds in one spelling, none its own history"),
    ("select", "estimation.select.best_with_gold", "the method that the data allow, by past rounds"),
    ("prepare", "estimation.prepare.prepare", "what history teaches, and the method's evidence"),
    ("count", "counting.count.count", "items with the same answers become one row"),
    ("fit", "methods.hero3.hero3", "rates, and each item's influence on them"),
    ("diagnose", "estimation.diagnostics.diagnose", "tests of what the method assumes"),
    ("interval", "estimation.intervals.interval_kind", "which interval is safe here"),
    ("estimate", "estimation.analysis.Analysis.finish", "value, curve and findings in one result"),
    ("show", "cli.views.estimate", "words and tables; nothing is computed"),
)
"""The steps of `hero estimate`, each with the function that it begins with, in the order in which they are entered."""


def layers() -> list[list[str]]:
    """The rooms that may be imported by those before them, top first; rooms of one row may not import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (rows,) = (one["layers"] for one in contracts if one["id"] == "layers")
    return [re.findall(r"\w+", row) for row in rows]


def _page(height: float, title: str, body: list[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            f'aria-label="{escape(title)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def draw_layers() -> str:
    """A row for each layer: who stands above may use who stands below."""
    body = []
    for number, rooms in enumerate(layers()):
        y = 16 + number * LINE
        width = (WIDTH - 40 - GAP * (len(rooms) - 1)) / len(rooms)
        for place, room in enumerate(rooms):
            x = 20 + place * (width + GAP)
            says = SAYS.get(room, "")
            body.append(
                f'<rect class="hollow" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE - 6}" rx="4"/>'
                f'<text class="words" x="{x + 10:.1f}" y="{y + 19}">{escape(room)}</text>'
            )
            if says and len(rooms) <= 2:
                body.append(
                    f'<text class="quiet small" x="{x + width - 10:.1f}" y="{y + 19}" text-anchor="end">'
                    f"{escape(says)}</text>"
                )
    return _page(24 + len(layers()) * LINE, "The rooms of the package; imports go down only", body)


def draw_path() -> str:
    """A row for each step."""
    body = []
    for number, (step, function, says) in enumerate(PATH):
        y = 30 + number * 40
        body.append(
            f'<text class="words" x="30" y="{y}">{number + 1}. {escape(step)}</text>'
            f'<text class="words small" x="160" y="{y}">{escape(function)}</text>'
            f'<text class="quiet small" x="160" y="{y + 17}">{escape(says)}</text>'
        )
        if number:
            body.append(f'<path class="ink" d="M 22 {y - 36} V {y - 8} m -4 -6 l 4 6 l 4 -6" fill="none"/>')
    return _page(20 + len(PATH) * 40, "The path of one estimate, from files to the terminal", body)


DRAWN = {"layers.svg": draw_layers, "path.svg": draw_path}

if __name__ == "__main__":
    for name, draw in DRAWN.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
