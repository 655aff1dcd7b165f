"""Shown outputs may differ in the last digit of a number and in nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import TOOLS, load_script

pytestmark = pytest.mark.numbers

outputs = load_script(TOOLS, "outputs")
run_blocks = load_script(TOOLS, "run_blocks")

ALIKE = [
    ("value 0.237 (0.184 to 0.301)", "value 0.238 (0.183 to 0.301)"),
    ("0.0499", "0.05"),  # :g drops zeros
    ('x1="12"', 'x1="12.1"'),
    ("9.99  a\nb", "10.00 a\nb"),  # a digit more moves what follows
    ("| 9.9 |\n|-----|", "| 10.0 |\n|------|"),
    ("warns at 9.95 and\nmore", "warns at 9.94\nand more"),
    ("-0.000", "0.000"),
    ("−0.001", "0.000"),
    ("1.2e-07", "1.3e-07"),
    ("1,234.5 s", "1,234.6 s"),
    ("0.12-0.15", "0.12-0.16"),
    ("37.1%.", "37.2%."),
]

DIFFERENT = [
    ("0.237", "0.239"),
    ("0.237", "0.337"),
    ("0.1", "0.199"),  # not one unit of the coarser
    ("0.237", "-0.237"),
    ("1.2e-07", "1.2e-06"),
    ("53 gold", "54 gold"),  # counts
    ("exit 2", "exit 3"),
    ("95%", "94%"),
    ("1,000", "1,001"),
    ("F301", "F302"),
    ("0.2 0.3", "0.2"),
    ("0.2 is low", "0.2 is high"),
    ("0.21 is low", "0.22 is high"),
    ("v2.1", "v2.2"),  # names and versions
    ("judge-4.1", "judge-4.2"),
    ("1.2.3", "1.2.4"),
    ("a  b 0.5", "a b 0.5"),  # the layout, where no number moved it
    ("a\nb", "a b"),
    ("0.5", "nan"),
    ("0.5", ""),
]


@pytest.mark.parametrize(("kept", "fresh"), ALIKE)
def test_a_last_digit_is_no_difference(kept: str, fresh: str) -> None:
    """A fresh machine would be red."""
    assert outputs.alike(kept, fresh)
    assert outputs.alike(fresh, kept)
    assert outputs.kept_or_fresh(kept, fresh) == kept


@pytest.mark.parametrize(("kept", "fresh"), DIFFERENT)
def test_a_real_difference_is_one(kept: str, fresh: str) -> None:
    """A page would show what the code no longer gives."""
    assert not outputs.alike(kept, fresh)
    assert not outputs.alike(fresh, kept)
    assert outputs.kept_or_fresh(kept, fresh) == fresh


@given(st.integers(-(10**6), 10**6), st.integers(-50, 50), st.integers(1, 5))
def test_one_unit_is_the_limit(number: int, apart: int, places: int) -> None:
    one, other = (f"it is {value / 10**places:.{places}f}, so" for value in (number, number + apart))
    assert outputs.alike(one, other) == (abs(apart) <= 1)


def test_a_page_keeps_what_it_shows() -> None:
    """Every run on another processor would change the pages."""
    page = "```python\nprint(0.1234)\n```\n\n```text\n{}\n```\n\n```console\n$ python -c 'print(0.5)'\n{}\n```\n"
    assert run_blocks.refresh(page.format("0.1235", "0.4")) == page.format("0.1235", "0.4")
    assert run_blocks.refresh(page.format("0.1236", "0.3")) == page.format("0.1234", "0.5")


def test_a_cell_shows_text_and_html() -> None:
    cell = {"outputs": [{"data": {"text/plain": ["a", "b"], "image/svg+xml": "c", "text/html": "d"}}, {}]}
    assert outputs.shown_by(cell) == "d\nab"
    assert outputs.shown_by({}) == ""
