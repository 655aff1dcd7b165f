"""Some of the random tables of `benchmarks/fuzz.py`: no exception but ours, no late answer, no number out of bounds."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given
from hypothesis import strategies as st
from random_examples import examples
from repository import BENCHMARKS, load_script

import hero_eval as hero
from hero_eval.errors import HeroError

fuzz = load_script(BENCHMARKS, "fuzz")

LABELS = {"item": ["a", "a", "b", "b"], "labeler": ["x", "y", "x", "y"], "label": [1, 0, 1, 1]}


@pytest.mark.slow
@examples(4, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6))
@example(27)  # an interval of no width on an edge, by replicates
@example(80)  # replicates without gold
@example(1164)  # many labelers who all say the same
@example(1415)  # a class called 1e308
@example(2804)  # items that all say the same of a class
@example(3031)  # replicates without any weight
@example(4035)  # weights of a part that nobody known labeled
@example(70269)  # answers of which no two share an item
@example(72639)  # two models labeled alike, by replicates
def test_random_tables_meet_no_exception_but_ours(seed: int) -> None:
    """Nine tables that were a fault once, and four new ones; `benchmarks/fuzz.py` plays thousands."""
    assert fuzz.play(fuzz.draw_case(seed)).faults == []


@pytest.mark.parametrize(
    ("library", "kind"), [(library, kind) for library, kinds in fuzz.KINDS.items() for kind in kinds()]
)
def test_every_type_of_every_library_is_read_or_refused(library: str, kind: str) -> None:
    """As ids, as answers and as a covariate."""
    make = fuzz.KINDS[library]()[kind]
    plain = fuzz.KINDS[library]()["string" if library != "polars" else "String"]
    item, labeler, label = [0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 1, 1, 1, 0, 0]
    for odd in ("item", "labeler", "label", "x", "weight"):
        columns = {
            name: (make if name == odd else plain)(codes)
            for name, codes in (("item", item), ("labeler", labeler), ("label", label))
        }
        if odd in ("x", "weight"):
            columns[odd] = make([1, 1, 2, 2, None, None])
        frame = fuzz._frame(library, columns)
        try:
            made = hero.Round(frame, covariates=["x"] if odd == "x" else None)
        except HeroError as error:
            str(error).encode()  # what it says can be printed
        else:
            assert made.n_labels > 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"covariates": [1]}, "E201"),
        ({"covariates": 3}, "E201"),
        ({"text": 1}, "E201"),
        ({"name": 3}, "E201"),
        ({"name": "\ud800"}, "E201"),
        ({"columns": {"item": 1}}, "E201"),
        ({"columns": ["item"]}, "E201"),
        ({"classes": 3}, "E201"),
        ({"classes": ["\ud800", "b"]}, "E201"),
        ({"missing": 3}, "E201"),
        ({"missing": [""]}, "E201"),
    ],
)
def test_options_of_the_wrong_kind_are_errors_of_ours(options: dict[str, Any], code: str) -> None:
    with pytest.raises(HeroError) as caught:
        hero.Round(pa.table(LABELS), **options)
    assert code in [problem.code for problem in caught.value.problems]
    assert str(caught.value).encode()


@pytest.mark.parametrize(
    "options",
    [
        {"covariates": [1]},
        {"covariates": 3},
        {"covariates": {"x": 1}},
        {"text": 1},
        {"cluster": ["a"]},
        {"by": ["a"]},
        {"scores": [1, 2]},
        {"scores": {0: 0, 1: 1e308}},
        {"method": ["hero1"]},
        {"interval": 3},
        {"level": "high"},
        {"groups": ["a"]},
    ],
)
def test_questions_of_the_wrong_kind_are_errors_of_ours(options: dict[str, Any]) -> None:
    with pytest.raises(HeroError):
        hero.estimate_rate(hero.Round(pa.table(LABELS)), **options)


@pytest.mark.parametrize(("value", "code"), [(1e308, "E113"), (2**1030, "E113"), (5e-324, "E115")])
def test_weights_out_of_all_proportion_are_refused(value: float, code: str) -> None:
    items = pd.DataFrame({"item": ["a", "b"], "weight": pd.Series([1, value], dtype=object)})
    with pytest.raises(HeroError) as caught:
        hero.Round(pd.DataFrame(LABELS), items=items)
    assert caught.value.code == code


def test_huge_whole_numbers_are_ids_and_covariates() -> None:
    labels = pd.DataFrame({**LABELS, "item": pd.Series([2**64, 2**64, 5, 5], dtype=object)})
    made = hero.Round(labels.assign(x=pd.Series([2**70, 2**70, 1, 1], dtype=object)), covariates=["x"])
    assert list(made.item_ids) == [str(2**64), "5"]
    assert made.covariate("x").tolist() == [2.0**70, 1.0]


def test_half_a_surrogate_pair_is_refused_with_its_row() -> None:
    for column in ("item", "labeler", "label"):
        values = ["p", "q", "p", "q"]
        values[2] = "\ud800"
        with pytest.raises(HeroError, match=r"E106.*data row 3") as caught:
            hero.Round(pd.DataFrame({**LABELS, column: pd.Series(values, dtype=object)}))
        assert str(caught.value).encode()


def test_runs_and_views_are_read_as_what_they_hold() -> None:
    import pyarrow.compute as pc

    plain = hero.Round(pa.table(LABELS))
    runs = pa.table({name: pc.run_end_encode(pa.array(values)) for name, values in LABELS.items()})
    views = pa.table(
        {
            "item": pa.array([v.encode() for v in LABELS["item"]], pa.binary_view()),
            "labeler": pa.array(LABELS["labeler"], pa.string_view()),
            "label": LABELS["label"],
        }
    )
    for table in (runs, views):
        assert hero.Round(table).holds_same_as(plain)
    assert hero.Round(pl.DataFrame(LABELS).with_columns(pl.col("item").cast(pl.Binary))).holds_same_as(plain)
