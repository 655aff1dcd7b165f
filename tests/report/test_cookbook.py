"""The cookbook's notebooks run from top to bottom, and their last cells show what their words promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from repository import DOCS, EXAMPLES

NOTEBOOKS = sorted((EXAMPLES / "cookbook").glob("*.ipynb"))


def cells_of(path: Path, kind: str) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opens a recipe would meet an error in a cell."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells_of(path, "code"):
        exec(compile(cell, path.name, "exec"), names)
    estimate = names["estimate"]
    low, high = estimate.interval()
    assert low < estimate.value < high
    if "truth" in names and path.stem == "judge_scores":
        assert low < names["truth"] < high
    if path.stem == "release_gate":
        assert names["verdict"].is_open
        assert (tmp_path / "release.html").exists()


def test_notebooks_are_kept_without_outputs_and_are_on_the_site() -> None:
    """Outputs of another version would be read as today's, and nobody would find the recipes."""
    page = (DOCS / "cookbook.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") for cell in cells)
        assert f"`examples/cookbook/{path.name}`" in page
        assert cells_of(path, "markdown")[0].startswith("# ")
