"""The rooms of the package: imports flow one way, importing is cheap, and every code is catalogued and used."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports
from repository import ROOT, SOURCE

import hero_eval
from hero_eval import errors, findings

HEAVY = (
    "numpy",
    "scipy",
    "pyarrow",
    "sklearn",
    "pandas",
    "polars",
    "narwhals",
    "duckdb",
    "numba",
    "deltalake",
    "rich",
    "typer",
    "altair",
    "jinja2",
    "fastapi",
    "uvicorn",
    "pyspark",
    "scipy.optimize",
    "scipy.stats",
)


def test_imports_keep_the_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    """A change to the surface could break the mathematics, and nobody could read or use a room without the rest.

    The contracts stand in pyproject.toml; imports inside functions count.
    """
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert not broken, capsys.readouterr().out


def test_the_model_knows_arrays_only() -> None:
    """The mathematics would need a dataframe library or a terminal to run."""
    graph = grimp.build_graph("hero_eval", include_external_packages=True, cache_dir=None)
    inside = {name for name in graph.modules if name.startswith("hero_eval.model")}
    outside = {name.split(".")[0] for one in inside for name in graph.find_modules_directly_imported_by(one)}
    assert {"numpy", "scipy", "hero_eval"} <= outside
    assert outside - set(sys.stdlib_module_names) <= {
        "hero_eval",
        "numpy",
        "scipy",
        "numba",
        "llvmlite",
    }  # the last is numba's own


def _after(code: str) -> list[str]:
    """The heavy packages that are loaded after this code, in a fresh interpreter."""
    program = f"{code}\nimport sys, json\nprint(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(done.stdout)
    return loaded


def test_import_loads_nothing_heavy() -> None:
    """Every script and every `hero --help` would wait for packages that it may not use."""
    assert _after("import hero_eval; hero_eval.__version__; dir(hero_eval)") == []


def test_errors_load_nothing_heavy() -> None:
    """Catching a HeroError in a light script would load numpy and more."""
    assert _after("from hero_eval import HeroError, Finding, InputError, SupportError") == []


@pytest.mark.slow
def test_a_small_estimate_loads_what_it_uses() -> None:
    """The first estimate of a small round would wait for engines, charts and solvers that it never calls."""
    code = (
        "import hero_eval as hero; from importlib.resources import files; "
        "folder = files('hero_eval') / 'examples' / 'defect'; "
        "hero.estimate_rate(*(hero.read_round(str(folder / name)) for name in ('current', 'history')))"
    )
    # pyarrow's own conversions would load pandas, where it is installed: `io/bridge.py` goes without
    assert set(_after(code)) <= {"numpy", "scipy", "pyarrow"}


def test_every_public_name_resolves() -> None:
    """A documented name would fail with an ImportError on first use."""
    assert len(set(hero_eval.__all__)) == len(hero_eval.__all__)
    assert sorted(hero_eval.__all__) == sorted(dir(hero_eval))
    for name in hero_eval.__all__:
        assert getattr(hero_eval, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    """`hasattr(hero_eval, ...)` and misspelled imports would raise something unexpected."""
    assert not hasattr(hero_eval, "estimate_everything")


def _codes(path: Path) -> set[str]:
    """Error and finding codes that a file uses; the catalogues' own keys do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    catalogued = {
        id(key)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == "CATALOGUE"
        and isinstance(node.value, ast.Dict)
        for key in node.value.keys
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in catalogued
        and re.fullmatch(r"[EF]\d{3}", node.value)
    }


def _used() -> set[str]:
    return set().union(*(_codes(path) for path in SOURCE.rglob("*.py") if "examples" not in path.parts))


@pytest.mark.slow
def test_codes_are_used_and_catalogued() -> None:
    """A KeyError about a code would stand in the place of the message that a user needs, or the documentation would
    explain a code that nobody can ever meet."""
    used, known = _used(), {*errors.CATALOGUE, *findings.CATALOGUE}
    assert len(known) > 100
    assert sorted(used - known) == [], "used, and in no catalogue"
    assert sorted(known - used) == [], "in a catalogue, and never used"


def test_codes_are_not_shared() -> None:
    """One code would mean two things."""
    assert not set(errors.CATALOGUE) & set(findings.CATALOGUE)
