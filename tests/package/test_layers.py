"""The rooms of the package: imports flow one way, importing is cheap, and every code is catalogued and used."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hero_eval
from hero_eval import errors, findings

SOURCE = Path(hero_eval.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("*.py") if "examples" not in path.parts)

_BASE = {"errors", "findings"}
FLOW: dict[str, set[str]] = {
    "model": set(),
    "errors": set(),
    "findings": {"documents", "remedies"},
    "documents": set(),
    "display": set(),
    "deprecation": set(),
    "frames": {"deprecation", "errors"},
    "remedies": set(),
    "words": {"estimate", "targets", "findings"},
    "gates": {"errors", "estimate", "findings"},
    "reading": _BASE,
    "round": {*_BASE, "display", "reading"},
    "engines": {*_BASE, "model", "reading", "round"},
    "confidence": {"model"},
    "estimate": {*_BASE, "confidence", "display", "documents", "frames", "model"},
    "methods": {*_BASE, "model"},
    "reliability": {*_BASE, "deprecation", "display", "engines", "frames", "methods", "model", "round"},
    "covariates": {*_BASE, "engines", "methods", "model", "round"},
    "targets": {
        *_BASE,
        "confidence",
        "covariates",
        "display",
        "engines",
        "estimate",
        "frames",
        "methods",
        "model",
        "reading",
        "reliability",
        "round",
    },
    "studies": {
        *_BASE,
        "confidence",
        "covariates",
        "engines",
        "estimate",
        "frames",
        "methods",
        "model",
        "reliability",
        "round",
        "targets",
    },
    "over_time": {*_BASE, "frames", "reliability", "round"},
    "agreement": {"frames", "reliability"},
    "store": {*_BASE, "documents", "model", "reading", "round", "targets", "reliability", "estimate", "gates"},
}
"""Which rooms each room may import, besides itself. Rooms that only render may import all but the command."""

RENDERS = {"charts", "cli", "report", "web"}
BACK_DOORS = {
    ("io/files.py", "round"),
    ("io/files.py", "engines"),
    ("estimate.py", "report"),
    ("estimate.py", "words"),
    ("display.py", "report"),
}
"""`read_round` makes a Round, here or on an engine; estimates write reports and say themselves in words, and notebooks
show results by the reports' templates. Each loads these when called."""

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


def room_of(path: Path) -> str:
    """The room of a file: its folder, or its own name at the top."""
    inside = path.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, with the names taken from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["hero_eval", *path.relative_to(SOURCE).parts[:-1]]
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from (f"{module}.{alias.name}" for alias in node.names)


def rooms_imported(path: Path) -> set[str]:
    """The rooms of hero_eval that a file imports from, its own left out."""
    names = {name.split(".")[1] for name in imported(path) if name.startswith("hero_eval.")}
    return names - {room_of(path), "__version__"}


def show(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) not in {"__init__", *RENDERS}], ids=show)
def test_imports_flow_one_way(path: Path) -> None:
    """A change to the surface could break the mathematics, and nobody could use a room without the rest."""
    room = room_of(path)
    assert room in FLOW, f"{room} is a new room: say in FLOW what it may import"
    strangers = {name for name in rooms_imported(path) - FLOW[room] if (show(path), name) not in BACK_DOORS}
    assert not strangers, f"{show(path)} imports {', '.join(sorted(strangers))}"


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) != "cli"], ids=show)
def test_nothing_imports_the_command(path: Path) -> None:
    """Using the library would need the command's packages."""
    assert "cli" not in rooms_imported(path)


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) == "model"], ids=show)
def test_the_model_knows_arrays_only(path: Path) -> None:
    """The mathematics would need a dataframe library or a terminal to run."""
    roots = {name.split(".")[0] for name in imported(path)}
    outside = {name for name in roots if name not in sys.stdlib_module_names}
    assert outside <= {"hero_eval", "numpy", "scipy", "numba"}


def test_flow_has_no_circle() -> None:
    """The rooms could not be read, or tested, from the bottom up."""
    done: set[str] = set()
    while len(done) < len(FLOW):
        ready = {room for room, needs in FLOW.items() if room not in done and needs <= done}
        assert ready, f"a circle among {sorted(set(FLOW) - done)}"
        done |= ready


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
    # pyarrow loads pandas, where it is installed, with its first array
    assert set(_after(code)) <= {"numpy", "scipy", "pyarrow", "pandas"}


def test_every_public_name_resolves() -> None:
    """A documented name would fail with an ImportError on first use."""
    assert len(set(hero_eval.__all__)) == len(hero_eval.__all__)
    assert sorted(hero_eval.__all__) == sorted(dir(hero_eval))
    for name in hero_eval.__all__:
        assert getattr(hero_eval, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    """`hasattr(hero_eval, ...)` and misspelt imports would raise something unexpected."""
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


USED = set().union(*(_codes(path) for path in FILES))
KNOWN = {**dict.fromkeys(errors.CATALOGUE, "error"), **dict.fromkeys(findings.CATALOGUE, "finding")}


def test_every_used_code_is_catalogued() -> None:
    """A KeyError about a code would stand in the place of the message that a user needs."""
    assert sorted(USED - set(KNOWN)) == []


@pytest.mark.parametrize("code", sorted(KNOWN))
def test_every_catalogued_code_is_used(code: str) -> None:
    """The documentation would explain a code that nobody can ever meet."""
    assert code in USED


def test_codes_are_not_shared() -> None:
    """One code would mean two things."""
    assert not set(errors.CATALOGUE) & set(findings.CATALOGUE)
