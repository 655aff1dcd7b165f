"""Where the parts of this repository lie, and the scripts in them that are no package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SOURCE = ROOT / "src" / "hero_eval"
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
EXAMPLES = ROOT / "examples"
BENCHMARKS = ROOT / "benchmarks"
TOOLS = ROOT / "tools"
EXPORTS = TESTS / "exports"


def load_script(folder: Path, name: str) -> Any:
    """A script of `tools`, `benchmarks` or `examples` as a module; there, scripts import each other by plain names."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
