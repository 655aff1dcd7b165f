"""Every public function, class and method says what it takes, what it gives back and what it raises."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from repository import TOOLS, load_script

import hero_eval

make_reference = load_script(TOOLS, "make_reference")

RAISES = re.compile(r"\braise (?:wrong|unsupported|InputError|SupportError)\b|\b(?:checked_backend|check_level)\(")


def calls() -> Iterator[tuple[str, Any]]:
    """All public functions, and the public methods of all public classes."""
    for name in hero_eval.__all__:
        found = getattr(hero_eval, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found):
            for method, value in make_reference.own_names(found).items():
                if not method.startswith("_") and inspect.isfunction(value):
                    yield f"{name}.{method}", value


CALLS = dict(calls())
CLASSES = [name for name in hero_eval.__all__ if inspect.isclass(getattr(hero_eval, name))]


def taken_by(called: Any) -> list[str]:
    """The parameters as numpydoc writes them, without self."""
    stars = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    found = inspect.signature(called).parameters.values()
    return [f"{stars.get(one.kind, '')}{one.name}" for one in found if one.name != "self"]


def explained(documented: Any, section: str) -> list[str]:
    entries = make_reference.docstring(documented).of(section)
    assert all(one.text.endswith(".") for one in entries if section in ("Parameters", "Attributes", "Raises"))
    return [one.name for one in entries]


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_explained(name: str) -> None:
    """Who calls it would have to read the code to know what an option means, or what can go wrong."""
    called = CALLS[name]
    assert explained(called, "Parameters") == taken_by(called)
    gives = inspect.signature(called).return_annotation not in (None, "None")
    assert bool(explained(called, "Returns")) == gives
    of_its_own = RAISES.search(inspect.getsource(inspect.unwrap(called)))
    if "." not in name or of_its_own:
        assert explained(called, "Raises")


@pytest.mark.parametrize("name", CLASSES)
def test_constructors_are_explained(name: str) -> None:
    """Who makes or holds such an object would have to read the code; of results the fields are attributes."""
    of = getattr(hero_eval, name)
    maker = next(one for one in of.__mro__ if "__init__" in vars(one))  # errors are made as the one above them
    section = "Parameters" if explained(maker, "Parameters") else "Attributes"
    assert explained(maker, section) == taken_by(of)


WITH_EXAMPLE = {
    name: documented
    for name, documented in (CALLS | {name: getattr(hero_eval, name) for name in CLASSES}).items()
    if make_reference.docstring(documented).examples
}


@pytest.mark.slow
@pytest.mark.numbers
@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_examples_run(name: str) -> None:
    """An example in the help would fail, or show another result."""
    (example,) = doctest.DocTestFinder(recurse=False).find(WITH_EXAMPLE[name], name, globs={})
    told: list[str] = []
    assert doctest.DocTestRunner().run(example, out=told.append).failed == 0, "".join(told)


def test_sections_are_told_apart() -> None:
    """The check would hold of docstrings that it cannot read."""

    def documented() -> None:
        """Do it.

        More of it.

        Parameters
        ----------
        first : int, default 1
            One thing.
            Two things.
        **rest
            Others.

        Returns
        -------
        bool

        Examples
        --------
        >>> 1 + 1
        2
        """

    found = make_reference.docstring(documented)
    assert found.told == "Do it.\n\nMore of it."
    assert [(one.name, one.kind, one.text) for one in found.of("Parameters")] == [
        ("first", "int, default 1", "One thing. Two things."),
        ("**rest", "", "Others."),
    ]
    assert [one.name for one in found.of("Returns")] == ["bool"]
    assert found.examples == ">>> 1 + 1\n2"
