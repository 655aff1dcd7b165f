"""What must not change a result, and what must change it in one known way only.

Reordering rows and changing files or libraries give the same bytes: a round sorts what it reads. Renaming and
splitting change the order of sums, and with it the last digits; 1e-9 is far below anything shown.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from make_rounds import (
    CARRIED,
    EVERY_METHOD,
    GOOD,
    JOINT,
    LARGE,
    Pair,
    Tables,
    by_method,
    draw_pair,
    options_of,
    pair_of,
    round_of,
    tables_of,
)

import hero_eval as hero
from hero_eval.estimate import Estimate
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round
from hero_eval.studies.designs import Design, Draw

pytestmark = pytest.mark.numbers

EXACT = 1e-9


def assert_same(one: Estimate, other: Estimate, tolerance: float = EXACT) -> None:
    """Value and standard error agree to this absolute tolerance."""
    assert one.value == pytest.approx(other.value, abs=tolerance, rel=0)
    assert one.std_error == pytest.approx(other.std_error, abs=tolerance, rel=0)


def own_gold(drawn: Draw, method: str) -> np.ndarray | None:
    """Gold of every fourth current item, for methods that rest on it."""
    if not all_methods()[method].by_design:
        return None
    return np.where(np.arange(len(drawn.current_truth)) % 4 == 0, drawn.current_truth, -1)


def current_tables(drawn: Draw, method: str = "hero1", **spelling: Any) -> Tables:
    """The current round, with what this method needs of it."""
    gold = own_gold(drawn, method)
    return tables_of(drawn.current_labels, gold, {"x": drawn.current_x[:, 0]}, prefix="c", **spelling)


def history_tables(drawn: Draw, **spelling: Any) -> Tables:
    return tables_of(drawn.history_labels, drawn.history_gold, {"x": drawn.history_x[:, 0]}, prefix="h", **spelling)


# Two models on the same items


def two_models(seed: int, shift: float = 0.1, method: str = "hero1") -> tuple[Round, Round, Round]:
    """Rounds of models A and B on the same items, and a history by the same labelers."""
    pair = draw_pair(seed)
    drawn = pair.drawn
    rng = np.random.default_rng([seed, 1])
    worse = drawn.current_truth * (rng.random(len(drawn.current_truth)) > shift)
    says = rng.random(drawn.current_labels.shape) < np.where(
        worse[:, None] == 1, drawn.sensitivity, 1 - drawn.specificity
    )
    labels = np.where(drawn.current_labels >= 0, says, -1)
    made = [
        Round(**current_tables(one, method), name=name)
        for name, one in (("a", drawn), ("b", replace(drawn, current_labels=labels, current_truth=worse)))
    ]
    return made[0], made[1], pair.history


@by_method(EVERY_METHOD)
def test_swapping_the_models_flips_the_sign(method: str) -> None:
    """The sure answer to "is A better?" would depend on which model is called A."""
    a, b, history = two_models(3, method=method)
    forth = hero.estimate_difference(a, b, history, **options_of(method))
    back = hero.estimate_difference(b, a, history, **options_of(method))
    assert back.value == -forth.value
    assert back.std_error == forth.std_error > 0
    low, high = forth.interval()
    assert back.interval() == (-high, -low)


@by_method(EVERY_METHOD)
def test_swapping_keeps_a_partial_overlap(method: str) -> None:
    """Pairing by item would depend on which model is named first when some items lack a partner."""
    a, b, history = two_models(4, method=method)
    fewer = b.select(np.arange(b.n_items) % 3 > 0)
    forth = hero.estimate_difference(a, fewer, history, **options_of(method))
    back = hero.estimate_difference(fewer, a, history, **options_of(method))
    assert (back.value, back.std_error) == (-forth.value, forth.std_error)


# Names and order


@pytest.mark.slow
@pytest.mark.parametrize("design", [GOOD, LARGE], ids=lambda design: design.name)
@by_method(EVERY_METHOD)
def test_renaming_changes_nothing(method: str, design: Design) -> None:
    """A team that anonymises its items or labelers would publish another number."""
    for seed in range(2):
        drawn = draw_pair(seed, design).drawn
        rng = np.random.default_rng([seed, 7])
        labelers = [f"person {code}" for code in rng.permutation(design.n_labelers)]
        renamed = [
            Round(**build(ids=[f"{code}é" for code in rng.permutation(size)], labelers=labelers))
            for build, size in (
                (partial(current_tables, drawn, method), len(drawn.current_labels)),
                (partial(history_tables, drawn), len(drawn.history_labels)),
            )
        ]
        before = hero.estimate_rate(*_both(pair_of(drawn), method), **options_of(method))
        after = hero.estimate_rate(*renamed, **options_of(method))
        assert_same(before, after)


def _both(pair: Pair, method: str = "hero1") -> tuple[Round, Round]:
    """The pair, the current round with what this method needs of it."""
    if not all_methods()[method].by_design:
        return pair.current, pair.history
    return Round(**current_tables(pair.drawn, method), name="current"), pair.history


def shuffled(tables: Tables, seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {name: table.take(pa.array(rng.permutation(table.num_rows))) for name, table in tables.items()}


@by_method(EVERY_METHOD)
def test_row_order_changes_nothing(pair: Pair, method: str) -> None:
    """Two exports of the same labels would give two results."""
    before = hero.estimate_rate(*_both(pair, method), **options_of(method))
    mixed = [
        Round(**shuffled(tables, seed), name=name)
        for seed, (tables, name) in enumerate(
            [(current_tables(pair.drawn, method), "current"), (history_tables(pair.drawn), "history")]
        )
    ]
    assert hero.estimate_rate(*mixed, **options_of(method)).to_dict() == before.to_dict()


# Files and libraries


def _csv(table: pa.Table, delimiter: str = ",") -> bytes:
    sink = pa.BufferOutputStream()
    pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter=delimiter))
    return bytes(sink.getvalue().to_pybytes())


def _to_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path.with_suffix(".parquet"))


def _to_csv(table: pa.Table, path: Path) -> None:
    path.with_suffix(".csv").write_bytes(_csv(table))


def _to_gzip(table: pa.Table, path: Path) -> None:
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(_csv(table)))


def _to_tsv(table: pa.Table, path: Path) -> None:
    path.with_suffix(".tsv").write_bytes(_csv(table, "\t"))


FORMATS: dict[str, tuple[Callable[[pa.Table, Path], None], ...]] = {
    "parquet": (_to_parquet, _to_parquet, _to_parquet),
    "csv": (_to_csv, _to_csv, _to_csv),
    "gzip": (_to_gzip, _to_gzip, _to_gzip),
    "tsv": (_to_tsv, _to_tsv, _to_tsv),
    "mixed": (_to_parquet, _to_gzip, _to_csv),
}


def written(tables: Tables, folder: Path, kind: str) -> Round:
    folder.mkdir()
    for write, (name, table) in zip(FORMATS[kind], tables.items(), strict=False):
        write(table, folder / name)
    return hero.read_round(folder)


@pytest.mark.parametrize("kind", FORMATS)
def test_file_format_changes_nothing(pair: Pair, kind: str, tmp_path: Path) -> None:
    """Saving the same round as CSV instead of Parquet would change its result."""
    before = hero.estimate_rate(*_both(pair), method="hero2", covariates=["x"])
    current = written(current_tables(pair.drawn), tmp_path / "current", kind)
    history = written(history_tables(pair.drawn), tmp_path / "history", kind)
    assert hero.estimate_rate(current, history, method="hero2", covariates=["x"]).to_dict() == before.to_dict()


def _one_table(tables: Tables) -> Tables:
    """Labels, gold and items joined into one table."""
    frames = {name: table.to_pandas() for name, table in tables.items()}
    joined = frames["labels"]
    for name in ("gold", "items"):
        if name in frames:
            joined = joined.merge(frames[name], on="item", how="left")
    return {"labels": joined}


LIBRARIES: dict[str, Callable[[Tables], dict[str, Any]]] = {
    "pandas": lambda tables: {name: table.to_pandas() for name, table in tables.items()},
    "pandas arrow": lambda tables: {
        name: table.to_pandas(types_mapper=pd.ArrowDtype) for name, table in tables.items()
    },
    "pandas categories": lambda tables: {
        name: table.to_pandas().astype({"item": "category"}) for name, table in tables.items()
    },
    "polars": lambda tables: {name: pl.from_arrow(table) for name, table in tables.items()},
    "polars lazy": lambda tables: {name: pl.from_arrow(table).lazy() for name, table in tables.items()},
    "duckdb": lambda tables: {name: duckdb.from_arrow(table) for name, table in tables.items()},
    "chunks": lambda tables: {
        name: pa.concat_tables([table.slice(0, 7), table.slice(7)]) for name, table in tables.items()
    },
    "one table": _one_table,
}


@pytest.mark.parametrize("kind", LIBRARIES)
def test_dataframe_library_changes_nothing(pair: Pair, kind: str) -> None:
    """Colleagues with another dataframe library would get another result."""
    before = hero.estimate_rate(*_both(pair), method="hero2", covariates=["x"])
    current = Round(**LIBRARIES[kind](current_tables(pair.drawn)), name="current")
    history = Round(**LIBRARIES[kind](history_tables(pair.drawn)), name="history")
    assert hero.estimate_rate(current, history, method="hero2", covariates=["x"]).to_dict() == before.to_dict()


# Weights


def weighted(pair: Pair, method: str, current: float | None, history: float | None) -> tuple[Round, Round]:
    """The pair with unequal weights times these factors; None = no weights."""
    drawn = pair.drawn
    rng = np.random.default_rng(5)
    columns = []
    for x, factor in ((drawn.current_x, current), (drawn.history_x, history)):
        weight = rng.uniform(0.2, 4.0, len(x))
        columns.append({"x": x[:, 0], **({} if factor is None else {"weight": factor * weight})})
    return (
        round_of(drawn.current_labels, own_gold(drawn, method), columns[0], prefix="c"),
        round_of(drawn.history_labels, drawn.history_gold, columns[1], prefix="h"),
    )


@by_method(EVERY_METHOD)
def test_scaling_the_weights_changes_nothing(pair: Pair, method: str) -> None:
    """Weights as shares and weights as population counts would give different answers."""
    before = hero.estimate_rate(*weighted(pair, method, 1.0, 1.0), **options_of(method))
    after = hero.estimate_rate(*weighted(pair, method, 1e4, 1e-3), **options_of(method))
    assert_same(before, after)
    assert before.value != hero.estimate_rate(*_both(pair, method), **options_of(method)).value


@by_method(EVERY_METHOD)
def test_equal_weights_are_no_weights(pair: Pair, method: str) -> None:
    """A weight column of ones would move the estimate."""
    drawn = pair.drawn
    ones = np.full(len(drawn.current_labels), 3.0)
    columns = {"x": drawn.current_x[:, 0], "weight": ones}
    current = round_of(drawn.current_labels, own_gold(drawn, method), columns, prefix="c")
    assert_same(
        hero.estimate_rate(current, pair.history, **options_of(method)),
        hero.estimate_rate(*_both(pair, method), **options_of(method)),
        1e-12,
    )


def repeated(drawn: Draw, current: np.ndarray, history: np.ndarray) -> Draw:
    """The draw with each item as often as these counts say."""
    return replace(
        drawn,
        current_labels=np.repeat(drawn.current_labels, current, axis=0),
        current_truth=np.repeat(drawn.current_truth, current),
        current_x=np.repeat(drawn.current_x, current, axis=0),
        history_labels=np.repeat(drawn.history_labels, history, axis=0),
        history_gold=np.repeat(drawn.history_gold, history),
        history_x=np.repeat(drawn.history_x, history, axis=0),
    )


# A prior on labelers weighs a fixed number of items, so there copies, which are more items, outweigh it; and so it is
# with the pseudo-answers of a gold proportion and history.
@pytest.mark.parametrize(
    ("side", "method"),
    [("current", name) for name in EVERY_METHOD if name not in JOINT]
    + [("history", name) for name in CARRIED if not all_methods()[name].by_gold_rows],
)
def test_a_weight_is_a_number_of_copies(pair: Pair, method: str, side: str) -> None:
    """Weights that undo unequal sampling would not undo it."""
    drawn = pair.drawn
    rng = np.random.default_rng(11)
    counts = {
        "current": np.ones(len(drawn.current_labels), np.int64),
        "history": np.ones(len(drawn.history_labels), np.int64),
    }
    counts[side] = rng.integers(1, 4, len(counts[side]))
    copies = pair_of(repeated(drawn, **counts))
    current = round_of(
        drawn.current_labels,
        own_gold(drawn, method),
        {"x": drawn.current_x[:, 0], "weight": counts["current"].astype(float)},
        prefix="c",
    )
    history = round_of(
        drawn.history_labels,
        drawn.history_gold,
        {"x": drawn.history_x[:, 0], "weight": counts["history"].astype(float)},
        prefix="h",
    )
    by_weight = hero.estimate_rate(current, history, **options_of(method))
    by_copies = hero.estimate_rate(*_both(copies, method), **options_of(method))
    assert by_weight.value == pytest.approx(by_copies.value, abs=1e-6)
    assert by_weight.std_error > by_copies.std_error  # copies are no new evidence


# Classes


@by_method(EVERY_METHOD)
def test_class_names_change_nothing(pair: Pair, method: str) -> None:
    """Labels "defect" and "ok" would give another rate than 1 and 0."""
    drawn = pair.drawn
    words = [
        Round(**tables, positive="defect")
        for tables in (
            current_tables(drawn, method, classes=["ok", "defect"]),
            history_tables(drawn, classes=["ok", "defect"]),
        )
    ]
    named = hero.estimate_rate(*words, **options_of(method))
    assert_same(named, hero.estimate_rate(*_both(pair, method), **options_of(method)))
    assert "'defect'" in named.what


@pytest.mark.parametrize("where", ["rounds", "call"])
@by_method(EVERY_METHOD)
def test_the_other_class_has_the_rest(pair: Pair, method: str, where: str) -> None:
    """Defect rate and success rate of one round would not add up to one."""
    positive = {"positive": "0"}
    rounds = [
        Round(**tables, **(positive if where == "rounds" else {}))
        for tables in (current_tables(pair.drawn, method), history_tables(pair.drawn))
    ]
    call = positive if where == "call" else {}
    good = hero.estimate_rate(*rounds, **options_of(method), **call)
    bad = hero.estimate_rate(*_both(pair, method), **options_of(method))
    assert good.value == pytest.approx(1 - bad.value, abs=EXACT)
    assert good.std_error == pytest.approx(bad.std_error, abs=EXACT)
    low, high = bad.interval()
    assert good.interval() == pytest.approx((1 - high, 1 - low), abs=1e-7)


# History in parts


@pytest.mark.slow
@pytest.mark.parametrize("design", [GOOD, LARGE], ids=lambda design: design.name)
@pytest.mark.parametrize("method", CARRIED)
def test_splitting_history_changes_nothing(method: str, design: Design) -> None:
    """Keeping the past in monthly rounds instead of one would change every result."""
    for seed in range(4):
        pair = draw_pair(seed, design)
        early = np.arange(pair.history.n_items) % 3 == 0
        parts = [pair.history.select(early), pair.history.select(~early)]
        whole = hero.estimate_rate(*_both(pair, method), **options_of(method))
        assert_same(whole, hero.estimate_rate(pair.current, parts, **options_of(method)))
        assert_same(whole, hero.estimate_rate(pair.current, tuple(parts[::-1]), **options_of(method)))


def test_weights_are_relative_to_their_round(pair: Pair) -> None:
    """A past round whose weights are population counts would drown one whose weights are shares."""
    drawn = pair.drawn
    early = np.arange(len(drawn.history_labels)) % 3 == 0

    def part(mask: np.ndarray, factor: float) -> Round:
        weight = factor * np.random.default_rng(2).uniform(0.2, 4.0, int(mask.sum()))
        return round_of(
            drawn.history_labels[mask], drawn.history_gold[mask], {"weight": weight}, prefix=f"h{mask.sum()}-"
        )

    before = hero.estimate_rate(pair.current, [part(early, 1.0), part(~early, 1.0)], method="hero1")
    after = hero.estimate_rate(pair.current, [part(early, 5000.0), part(~early, 0.01)], method="hero1")
    assert_same(before, after)


@by_method([name for name in EVERY_METHOD if all_methods()[name].uses_history])
def test_a_fitted_reliability_stands_for_its_rounds(pair: Pair, method: str) -> None:
    """Fitting history once for many rounds would give other numbers than fitting it each time."""
    fitted = hero.fit_reliability(pair.history)
    before = hero.estimate_rate(*_both(pair, method), **options_of(method))
    assert hero.estimate_rate(_both(pair, method)[0], fitted, **options_of(method)).to_dict() == before.to_dict()


def test_a_fitted_reliability_keeps_its_options(pair: Pair) -> None:
    """The options of fit_reliability would be forgotten as soon as a labeler serves as covariate."""
    options = {"method": "hero2", "covariates": ["labeler:j0"]}
    plain = hero.estimate_rate(pair.current, pair.history, **options)
    rough = hero.estimate_rate(pair.current, hero.fit_reliability(pair.history, clip=0.2), **options)
    assert hero.estimate_rate(pair.current, hero.fit_reliability(pair.history), **options).value == plain.value
    # labelers held to be right at most four times in five explain fewer of the votes, here for the smaller class
    assert rough.value > plain.value + 0.02


@pytest.mark.slow
def test_a_fitted_reliability_serves_differences() -> None:
    """Two models could not be compared over a history that is fitted already."""
    a, b, history = two_models(5)
    fitted = hero.fit_reliability(history)
    before = hero.estimate_difference(a, b, history)
    assert hero.estimate_difference(a, b, fitted).to_dict() == before.to_dict()


# More of the same


@pytest.mark.parametrize(
    "method", [name for name, one in all_methods().items() if name not in JOINT and not one.by_gold_rows]
)
def test_twice_the_data_is_surer_by_root_two(pair: Pair, method: str) -> None:
    """Standard errors would not shrink with the number of items as they should."""
    drawn = pair.drawn
    twice = pair_of(
        repeated(
            drawn,
            np.full(len(drawn.current_labels), 2),
            np.full(len(drawn.history_labels), 2),
        )
    )
    once = hero.estimate_rate(*_both(pair, method), **options_of(method))
    double = hero.estimate_rate(*_both(twice, method), **options_of(method))
    assert double.value == pytest.approx(once.value, abs=1e-6)
    assert double.std_error == pytest.approx(once.std_error / math.sqrt(2), rel=1e-5)


def test_twice_the_difference_is_surer_by_root_two() -> None:
    """The error of a comparison would not shrink with the number of items as it should."""
    a, b, history = two_models(6)
    once = hero.estimate_difference(a, b, history, method="hero1")
    doubled = [_doubled(one) for one in (a, b, history)]
    double = hero.estimate_difference(*doubled, method="hero1")
    assert double.value == pytest.approx(once.value, abs=1e-6)
    assert double.std_error == pytest.approx(once.std_error / math.sqrt(2), rel=1e-5)


def _doubled(one: Round) -> Round:
    """The round with a second item of another name for each item."""
    labels = pa.table(
        {
            "item": one.item_ids[one.label_item],
            "labeler": np.array(one.labelers, dtype=object)[one.label_labeler],
            "label": np.array(one.values, dtype=object)[one.label_answer],
        }
    )
    known = one.gold >= 0
    gold = pa.table({"item": one.item_ids[known], "gold": np.array(one.values, dtype=object)[one.gold[known]]})
    again = [_renamed(table) for table in (labels, gold)]
    return Round(again[0], again[1] if known.any() else None)


def _renamed(table: pa.Table) -> pa.Table:
    """The table and, below it, the table with other item ids."""
    other = pa.array([f"copy of {item}" for item in table["item"].to_pylist()])
    return pa.concat_tables([table, table.set_column(0, "item", other)])
