"""The same round gives the same numbers, whoever counts it: in memory, on DuckDB, on Spark."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from bad_inputs import BAD_INPUTS, BadInput, as_arguments, good_tables, write_good, write_tables
from engine_rounds import ENGINES, compiled_plans, gaps, one_table, read_on, write
from hypothesis import given
from hypothesis import strategies as st
from make_rounds import GOOD, Tables, codes, labels_given, near_answers, tables_of
from random_examples import examples

import hero_eval as hero
from hero_eval.counting.covariate_sums import source_of
from hero_eval.counting.pattern_keys import plan_words
from hero_eval.counting.tally import Tally, add, align
from hero_eval.errors import InputError
from hero_eval.methods.registry import all_methods
from hero_eval.model.moments import Forms
from hero_eval.round import Round
from hero_eval.studies.designs import draw

OTHERS = [engine for engine in ENGINES if engine != "memory"]
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")


def small_tables(seed: int, n_items: int = 300, *, gold: float = 0.3, prefix: str = "h") -> Tables:
    """A round with gaps in its labels, gold, covariates with gaps, and weights."""
    rng = np.random.default_rng(seed)
    design = replace(GOOD, n_history=n_items, gold_rate=gold)
    drawn = draw(design, rng)
    x = drawn.history_x[:, 0]
    n_items = len(x)  # items that nobody labeled are not drawn
    columns = {
        "x": gaps(rng, x, 0.1),
        "z": list(1e4 + 100 * rng.normal(size=n_items) + x),
        "weight": list(rng.uniform(0.5, 2.0, n_items)),
    }
    return tables_of(drawn.history_labels, drawn.history_gold, columns, prefix=prefix)


def as_counter(tally: Tally) -> Counter[tuple[Any, ...]]:
    """Patterns spelled out, with the number of their items."""
    out: Counter[tuple[Any, ...]] = Counter()
    n_values = len(tally.values)
    for row in range(tally.n_rows):
        cells = tally.cells[tally.ends[row] : tally.ends[row + 1]]
        said = frozenset((tally.labelers[c // n_values], tally.values[c % n_values]) for c in cells)
        gold = None if tally.gold[row] < 0 else tally.values[tally.gold[row]]
        out[said, gold] += round(tally.items[row])
    return out


def counted_by_hand(tables: Tables) -> Counter[tuple[Any, ...]]:
    """The slow twin: row by row."""
    said: dict[str, set[tuple[str, str]]] = {}
    for row in tables["labels"].to_pylist():
        said.setdefault(row["item"], set()).add((row["labeler"], str(row["label"])))
    gold = {row["item"]: str(row["gold"]) for row in tables["gold"].to_pylist()} if "gold" in tables else {}
    return Counter((frozenset(of), gold.get(item)) for item, of in said.items())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A history and a current round as folders and as single tables."""
    base = tmp_path_factory.mktemp("rounds")
    out = {}
    for name, seed, gold in (("history", 1, 0.3), ("current", 2, 0.0)):
        tables = small_tables(seed, gold=gold, prefix=name[0])
        out[name] = write(base / name, tables)
        pq.write_table(one_table(tables), base / f"{name}.parquet")
        out[f"{name} in one"] = base / f"{name}.parquet"
    return out


@pytest.fixture(scope="module")
def opened(folders: dict[str, Path]) -> Callable[[str, str], Round]:
    """A round on an engine, counted once for all tests."""
    return lru_cache(lambda engine, name: read_on(engine, folders[name], covariates=["z", "x"]))


Opened = Callable[[str, str], Round]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["", " in one"])
def test_patterns_are_those_of_a_count_by_hand(engine: str, form: str, opened: Opened) -> None:
    """An engine that miscounts would give another estimate of the same data."""
    one = opened(engine, "history" + form)
    assert as_counter(source_of(one).tally()) == counted_by_hand(small_tables(1))


ASKED: list[tuple[str, list[str] | None]] = [
    (name, columns)
    for name, one in all_methods().items()
    for columns in ((["x"], ["z", "x"]) if one.needs_covariates else (None,))
    if not one.by_design
]


def numbers(estimate: hero.Estimate) -> list[float]:
    return [estimate.value, estimate.std_error, *estimate.interval(), estimate.n_items, estimate.n_gold]


def known_codes(estimate: hero.Estimate) -> set[str]:
    """Findings but those that compare ids, and whether gold went by a column, which counts do not have."""
    return {finding.code for finding in estimate.findings} - {"F108", "F110", "F112"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize(("method", "covariates"), ASKED, ids=str)
def test_estimates_are_those_of_memory(engine: str, method: str, covariates: list[str] | None, opened: Opened) -> None:
    """The answer would depend on where it was computed."""
    here, there = ([opened(on, name) for name in ("current", "history")] for on in ("memory", engine))
    for interval in (None, "paper"):
        options: dict[str, Any] = {"method": method, "covariates": covariates, "interval": interval}
        one, other = (hero.estimate_rate(*rounds, **options) for rounds in (here, there))
        np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)
        assert known_codes(other) == known_codes(one)
        assert other.interval_kind == one.interval_kind


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 / 7])
def test_a_constant_covariate_is_dropped_from_sums_too(value: float, tmp_path: Path) -> None:
    """Rounding would pass for spread, and the distance of the means, in units of it, would swamp the estimate."""
    rng = np.random.default_rng(0)
    paths = []
    for name, seed, gold in (("current", 2, 0.0), ("history", 1, 0.3)):
        tables = small_tables(seed, gold=gold, prefix=name[0])
        n_items = tables["items"].num_rows
        same = np.full(n_items, value) if name == "current" else value * rng.normal(3.0, 1.0, n_items)
        tables["items"] = tables["items"].append_column("same", pa.array(same))
        paths.append(write(tmp_path / name, tables))
    options: dict[str, Any] = {"method": "hero2", "covariates": ["x", "same"]}
    one, other = (
        hero.estimate_rate(*(read_on(on, path, covariates=["x", "same"]) for path in paths), **options)
        for on in ("memory", "duckdb")
    )
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)
    for estimate in (one, other):
        assert [found.data["columns"] for found in estimate.findings if found.code == "F401"] == [["same"]]


@pytest.mark.parametrize("sides", [("memory", "duckdb"), ("duckdb", "memory")], ids="-".join)
@pytest.mark.parametrize("covariates", [None, ["x"]], ids=str)
def test_a_small_round_goes_with_a_large_one(
    sides: tuple[str, str], covariates: list[str] | None, folders: dict[str, Path]
) -> None:
    """Today's round is small and its history is large: the commonest case of all."""
    options: dict[str, Any] = {"covariates": covariates, "method": "hero2" if covariates else "hero1"}
    pairs = [
        [read_on(on, folders[name]) for on, name in zip(by, ("current", "history"), strict=True)]
        for by in (("memory", "memory"), sides)
    ]
    one, other = (hero.estimate_rate(*rounds, **options) for rounds in pairs)
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "covariates"), [("duckdb", None), ("duckdb", ["x"]), ("spark", ["x"])], ids=str)
def test_strangers_are_set_aside_alike(engine: str, covariates: list[str] | None, tmp_path: Path) -> None:
    """Labels by labelers that history never saw would count, or items that only they labeled."""
    past, now = small_tables(1), small_tables(3, gold=0.0, prefix="c")
    rows = now["labels"].to_pylist()
    first = {row["item"] for row in rows[:60]}
    new = [{**row, "labeler": "new"} for row in rows if row["labeler"] == "j0"]
    kept = [row for row in rows if row["item"] not in first] + new
    now["labels"] = pa.Table.from_pylist(kept)
    paths = write(tmp_path / "c", now), write(tmp_path / "h", past)
    options: dict[str, Any] = {"covariates": covariates, "method": "hero2" if covariates else "hero1"}
    one, other = (
        hero.estimate_rate(*(read_on(on, path, covariates=covariates) for path in paths), **options)
        for on in ("memory", engine)
    )
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)
    told = [next(f.message for f in of.findings if f.code == "F104") for of in (one, other)]
    assert told[0] == told[1]


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_three_classes(engine: str, tmp_path: Path) -> None:
    """Ratings and win rates would be counted wrongly."""
    rng = np.random.default_rng(5)
    answers = near_answers(5, 3, 0.7, rng)
    truth = rng.integers(0, 3, 400), rng.integers(0, 3, 300)
    made = [labels_given(rng, of, answers, 0.7) for of in truth]
    classes = ["A", "B", "tie"]
    x = [{"x": of + rng.normal(size=len(of))} for of in truth]
    past = tables_of(made[0], truth[0], x[0], classes=classes, prefix="h")
    now = tables_of(made[1], None, x[1], classes=classes, prefix="c")
    paths = write(tmp_path / "c", now), write(tmp_path / "h", past)
    with compiled_plans(engine):
        here, there = ([read_on(on, path, covariates=["x"]) for path in paths] for on in ("memory", engine))
        for options in ({"method": "hero1"}, {"method": "hero2", "covariates": ["x"]}):
            one, other = (hero.estimate_win_rate(*rounds, **options) for rounds in (here, there))
            np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_bootstrap_runs_on_counts(engine: str, folders: dict[str, Path]) -> None:
    """Weights of patterns must be drawn as those of items are, else the spread is not that of the data."""
    rounds = [read_on(engine, folders[name]) for name in ("current", "history")]
    drawn = hero.estimate_rate(*rounds, method="hero1", interval="bootstrap", replicates=400, seed=1)
    usual = hero.estimate_rate(*rounds, method="hero1", interval="influence")
    widths = [high - low for low, high in (drawn.interval(), usual.interval())]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


@pytest.mark.slow
def test_the_bootstrap_of_several_rounds_runs_on_counts(folders: dict[str, Path], past_paths: list[Path]) -> None:
    """hero3 looks at past rounds one by one: each must be drawn by itself, whoever counted it."""
    paths = [folders["current"], folders["history"], past_paths[0]]
    widths = []
    for by in (("memory",) * 3, ("duckdb",) * 3, ("memory", "memory", "duckdb")):
        current, *past = (read_on(on, path) for on, path in zip(by, paths, strict=True))
        drawn = hero.estimate_rate(current, past, method="hero3", interval="bootstrap", replicates=100, seed=1)
        widths.append(float(np.diff(drawn.interval())[0]))
    assert widths == pytest.approx([widths[0]] * 3, rel=0.35)


@pytest.fixture(scope="module")
def past_paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four past rounds with gold."""
    base = tmp_path_factory.mktemp("past")
    return [write(base / f"week{week}", small_tables(20 + week, prefix=f"w{week}-")) for week in range(4)]


def backtest_by(engines: tuple[str, ...], paths: list[Path]) -> hero.Backtest:
    rounds = [read_on(on, path) for on, path in zip(engines, paths, strict=True)]
    return hero.backtest(rounds, methods=["majority_vote", "gold_proportion", "hero1", "hero3"])


@pytest.fixture(scope="module")
def in_memory(past_paths: list[Path]) -> hero.Backtest:
    return backtest_by(("memory",) * 4, past_paths)


@pytest.mark.slow
@pytest.mark.parametrize("engines", [("duckdb",) * 4, ("memory", "duckdb", "memory", "duckdb")], ids="-".join)
def test_a_backtest_of_counts_is_that_of_memory(
    engines: tuple[str, ...], in_memory: hero.Backtest, past_paths: list[Path]
) -> None:
    """Which method suits a platform's data could be asked of small rounds only."""
    here, there = in_memory, backtest_by(engines, past_paths)
    assert [(one.round, one.method) for one in there.plays] == [(one.round, one.method) for one in here.plays]
    for one, other in zip(here.plays, there.plays, strict=True):
        assert (other.seen.n_gold, other.seen.n_items) == (one.seen.n_gold, one.seen.n_items)
        figures = [(of.value, of.low, of.high, of.seen.mean, of.seen.error) for of in (one, other)]
        np.testing.assert_allclose(figures[1], figures[0], rtol=0, atol=1e-8, err_msg=f"{one.round}, {one.method}")
    assert there.common_drift == pytest.approx(here.common_drift, abs=1e-7)
    assert there.best == here.best


@pytest.mark.slow
def test_a_backtest_of_counts_takes_covariates(past_paths: list[Path]) -> None:
    """hero2 of a large round would be left out, or one method that needs items would stop all."""
    here, there = (
        hero.backtest(
            [read_on(on, path, covariates=["x"]) for path in past_paths[:2]],
            covariates=["x"],
            methods=["hero1", "hero2", "hero3"],
        )
        for on in ("memory", "duckdb")
    )
    for name in ("hero1", "hero2"):
        plays = [[one for one in of.plays if one.method == name] for of in (here, there)]
        assert len(plays[0]) == len(plays[1]) == 2
        for one, other in zip(*plays, strict=True):
            np.testing.assert_allclose([other.value, other.low], [one.value, one.low], rtol=0, atol=1e-8)
    assert "items one by one" in next(iter(there.skipped["hero3"].values()))
    with pytest.raises(InputError) as caught:
        hero.backtest([read_on("duckdb", path) for path in past_paths], cluster="x")
    assert caught.value.code == "E211"


def test_a_round_of_counts_is_not_its_own_history(past_paths: list[Path]) -> None:
    """A copy of a large round among past rounds would make every method look better than it is."""
    found = hero.backtest([read_on("duckdb", past_paths[place]) for place in (0, 1, 0)], methods=["hero1"])
    assert "F113" in codes(found)
    assert len({one.round for one in found.plays}) == 2


# What is wrong

# It reads files one by one.
NOT_BY_ENGINE = {"several at once"}
BY_ENGINE = [bad for bad in BAD_INPUTS if bad.name not in NOT_BY_ENGINE]


@pytest.mark.parametrize("bad", BY_ENGINE, ids=str)
def test_bad_input_has_its_code_on_duckdb(bad: BadInput, tmp_path: Path) -> None:
    """A mistake that memory names would pass in silence on a large file."""
    path = bad.write(tmp_path)

    def count() -> None:
        source_of(read_on("duckdb", path, **as_arguments(bad.options))).tally(("x",))

    with pytest.raises(InputError) as caught:
        count()
    assert caught.value.code == bad.code, str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_repeats_are_dropped_and_noted(engine: str, tmp_path: Path) -> None:
    """An export that was concatenated with itself would count its labels twice."""
    tables = good_tables()
    whole = write_tables(tmp_path / "whole", tables)
    tables["labels"] += tables["labels"][1:40]
    twice = write_tables(tmp_path / "twice", tables)
    one, other = read_on("memory", whole), read_on(engine, twice)
    assert as_counter(source_of(one).tally()) == as_counter(source_of(other).tally())
    assert [note.code for note in other.notes] == ["F101"]
    assert other.notes[0].data["count"] == 39


def test_what_needs_items_is_refused(folders: dict[str, Path]) -> None:
    """Asking a large round for its items would end in an attribute that is not there."""
    current, history = (read_on("duckdb", folders[name]) for name in ("current", "history"))
    calls = [
        lambda: hero.estimate_difference(current, current, history),
        lambda: hero.estimate_moderation(current, history, flag="x"),
        lambda: hero.estimate_rate(current, history, by="x"),
        lambda: hero.estimate_rate(current, history, cluster="x"),
        lambda: hero.estimate_rate(current, history, covariates=["labeler:j1"]),
        lambda: hero.estimate_rate(current, history, text="x"),
        lambda: hero.estimate_rate(current, history, covariates=["x"], interval="bootstrap"),
        lambda: hero.compare_methods(current, history, cluster="x"),
        lambda: current.item_ids,
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.code == "E211", str(caught.value)


@pytest.mark.parametrize("method", ["hero1", "gold_proportion", "hero3"])
def test_probabilities_of_gold_are_not_left_out_unsaid(folders: dict[str, Path], tmp_path: Path, method: str) -> None:
    """Counts have no room for them; without them the answer would be another, and nobody would know."""
    shutil.copytree(folders["history"], tmp_path / "routed")
    there = next((tmp_path / "routed").glob("items.*"))
    items = pq.read_table(there)
    pq.write_table(items.append_column("gold_probability", pa.array(np.full(items.num_rows, 0.2))), there)
    current = hero.read_round(folders["current"])
    assert hero.estimate_rate(current, hero.read_round(tmp_path / "routed"), method=method).value
    history = read_on("duckdb", tmp_path / "routed")
    calls = [
        lambda: hero.estimate_rate(current, history, method=method),
        lambda: hero.save_counts(history, tmp_path / "counts.parquet"),
        lambda: hero.estimate_rate(
            current, [hero.read_round(tmp_path / "routed"), read_on("duckdb", folders["history"])], method=method
        ),
    ]
    for call in calls:
        with pytest.raises(InputError, match="gold_probability") as caught:
            call()
        assert caught.value.code == "E211"


def test_a_method_that_needs_items_does_not_stop_the_others(folders: dict[str, Path]) -> None:
    """hero3 cannot use covariates of a large round; that is no reason to keep the answer of hero2 back."""
    current, history = (read_on("duckdb", folders[name]) for name in ("current", "history"))
    found = hero.compare_methods(current, history, covariates=["x"])
    assert {"hero1", "hero2"} <= set(found)
    assert "items one by one" in found.skipped["hero3"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"engine": "oracle"}, "E201"),
        ({"engine": "duckdb", "memory_limit": "much"}, "E201"),
        ({"engine": "memory", "memory_limit": "1GB"}, "E204"),
        ({"engine": "duckdb", "spark": "local"}, "E204"),
    ],
    ids=str,
)
def test_options_of_engines_are_checked(options: dict[str, Any], code: str, tmp_path: Path) -> None:
    """A misspelled engine would be taken for the default."""
    with pytest.raises(InputError) as caught:
        hero.read_round(write_good(tmp_path), **options)
    assert caught.value.code == code


def test_large_files_stay_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody with a large file would have to know of engines before the first try."""
    path = write_good(tmp_path / "round")
    assert type(hero.read_round(path)) is Round
    monkeypatch.setattr("hero_eval.read.LARGE_BYTES", 100)
    large = hero.read_round(path)
    assert isinstance(large, Round)
    assert not large.holds_items


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files_of_many_labels_stay_in_place_by_their_own_count(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet packs ten million labels into 20 MB, which in memory were a gigabyte."""
    table = pa.table({"item": [f"i{k}" for k in range(300)], "labeler": ["ann"] * 300, "label": ["0", "1", "1"] * 100})
    path = tmp_path / f"labels.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.output_stream(path) as stream:
            pyarrow.csv.write_csv(table, stream)
    monkeypatch.setattr("hero_eval.read.LARGE_ROWS", 301 + (ending != "parquet"))  # a header is a line too
    assert hero.read_round(path).holds_items
    monkeypatch.setattr("hero_eval.read.LARGE_ROWS", 300)
    assert not hero.read_round(path).holds_items
    assert hero.read_round(path, engine="memory").holds_items


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_large_files_of_scores_stay_in_place(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody whose judges give probabilities would need a machine with room for all of them."""
    score = [(k * 7 % 1000) / 999 for k in range(600)]
    columns = {"item": [f"i{k // 2}" for k in range(600)], "labeler": ["ann", "bob"] * 300, "label": score}
    table = pa.table({**columns, "gold": [None if k % 8 > 1 else int(score[k // 2 * 2] > 0.5) for k in range(600)]})
    path = tmp_path / f"labels.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.csv.write_csv(table, path)
    small = hero.read_round(path)
    monkeypatch.setattr("hero_eval.read.LARGE_ROWS", 300)
    large = hero.read_round(path)
    assert not large.holds_items
    assert large.answer_values == small.answer_values
    assert large.notes == small.notes


# Keys


@pytest.mark.slow
@given(st.integers(1, 200), st.integers(2, 6), st.integers(0, 10_000))
@examples(60)
def test_keys_spell_their_pattern(n_labelers: int, n_answers: int, seed: int) -> None:
    """Two patterns in one key would be one pattern with both counts."""
    words = plan_words(n_labelers, n_answers)
    if words is None:
        assert n_labelers * np.log2(n_answers + 1) > 300
        return
    rng = np.random.default_rng(seed)
    labelers = np.sort(rng.permutation(n_labelers)[: rng.integers(1, n_labelers + 1)])
    answers = rng.integers(0, n_answers, len(labelers))
    columns = words.columns(labelers, answers)
    cells, ends, once = words.read([np.array([columns[name].sum()]) for name in words.names])
    assert once
    assert ends.tolist() == [0, len(labelers)]
    assert cells.tolist() == (labelers * n_answers + answers).tolist()


@given(st.integers(1, 12), st.integers(2, 4), st.integers(0, 10_000))
@examples(200)
def test_keys_tell_who_labeled_twice(n_labelers: int, n_answers: int, seed: int) -> None:
    """A second label by the same labeler would turn into another labeler's."""
    words = plan_words(n_labelers, n_answers)
    assert words is not None
    rng = np.random.default_rng(seed)
    labelers = rng.integers(0, n_labelers, rng.integers(2, 2 * n_labelers + 2))
    answers = rng.integers(0, n_answers, len(labelers))
    columns = words.columns(labelers, answers)
    _, _, once = words.read([np.array([columns[name].sum()]) for name in words.names])
    assert once == (len(set(labelers.tolist())) == len(labelers))


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_more_labelers_than_keys_hold(engine: str, tmp_path: Path) -> None:
    """A platform with hundreds of labelers would be refused, or counted wrongly."""
    rng = np.random.default_rng(7)
    n_labelers = 260
    assert plan_words(n_labelers, 2) is None
    answers = np.stack([near_answers(1, 2, 0.8, rng)[0] for _ in range(n_labelers)])
    truth = rng.integers(0, 2, 400)
    labels = labels_given(rng, truth, answers, 4 / n_labelers)
    x = {"x": truth + rng.normal(size=400), "weight": rng.uniform(0.5, 2, 400)}
    past, now = (
        tables_of(labels[:200], truth[:200], {k: v[:200] for k, v in x.items()}, prefix="h"),
        tables_of(labels[200:], None, {k: v[200:] for k, v in x.items()}, prefix="c"),
    )
    paths = write(tmp_path / "c", now), write(tmp_path / "h", past)
    here, there = ([read_on(on, path, covariates=["x"]) for path in paths] for on in ("memory", engine))
    for options in ({"method": "hero1"}, {"method": "hero2", "covariates": ["x"]}):
        one, other = (hero.estimate_rate(*of, interval="influence", **options) for of in (here, there))
        np.testing.assert_allclose(numbers(other), numbers(one), rtol=0, atol=1e-8)


# Covariates by row


@pytest.mark.parametrize("engine", OTHERS)
def test_sums_of_covariates_are_those_of_items(engine: str, opened: Opened) -> None:
    """HERO-2 would be tilted by wrong means, or its interval would have the wrong length."""
    names = ("x", "z")
    there, here = (source_of(opened(on, "history")) for on in (engine, "memory"))
    labelers, classes = here.labelers, here.values
    sides = []
    forms = Forms(np.array([0.3, -0.2]), np.array([[0.1, 0.0], [0.2, 0.3]]), np.array([[1.0, -0.5], [0.7, 0.2]]))
    for source in (there, here):
        tally = source.tally(names)
        assert tally.moments is not None
        row = align(tally, labelers, classes).row
        common = tally.moments.moved(np.zeros(2), np.array([1.0, 1e4]))
        order = np.argsort(row)
        sides.append((common, order, tally))
    for name in ("seen", "sums", "seen_sq", "sums_sq"):
        one, other = (np.sort(getattr(moments, name), axis=0) for moments, _, _ in sides)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    for name in ("products", "products_sq", "observed", "largest"):
        np.testing.assert_allclose(getattr(sides[0][0], name), getattr(sides[1][0], name), rtol=1e-9, atol=1e-9)
    assert there.grams(names, None, forms).shape[1:] == (3, 3)


# Saved counts


def test_history_grows_by_counts(folders: dict[str, Path], tmp_path: Path) -> None:
    """Adding a round would mean reading all of history again, or would change the answer."""
    later = write(tmp_path / "later", small_tables(9, prefix="l"))
    current = read_on("memory", folders["current"])
    rounds = [read_on("memory", path) for path in (folders["history"], later)]
    saved = tmp_path / "history.parquet"
    hero.save_counts(read_on("duckdb", folders["history"]), saved, covariates=["x", "z"])
    hero.save_counts([hero.read_round(saved), rounds[1]], saved)  # with the covariates that are there
    for options in ({"method": "hero1"}, {"method": "hero2", "covariates": ["x"]}):
        at_once = hero.estimate_rate(current, rounds, **options)
        grown = hero.estimate_rate(current, hero.read_round(saved), **options)
        np.testing.assert_allclose(numbers(grown), numbers(at_once), rtol=0, atol=1e-9)


def test_saved_counts_know_what_they_lack(folders: dict[str, Path], tmp_path: Path) -> None:
    """Covariates that were not saved would be taken for absent from the data, without a word on saving."""
    saved = tmp_path / "history.parquet"
    hero.save_counts(read_on("duckdb", folders["history"]), saved)
    current = read_on("duckdb", folders["current"])
    with pytest.raises(InputError) as caught:
        hero.estimate_rate(current, hero.read_round(saved), method="hero2", covariates=["x"])
    assert caught.value.code == "E202"
    hero.save_counts(current, saved, covariates=["x"])
    past, now = read_on("duckdb", folders["history"]), hero.read_round(saved)
    with pytest.raises(InputError) as caught:
        hero.estimate_rate(now, past, method="hero2", covariates=["x"])
    assert caught.value.code == "E211"


@given(st.lists(st.integers(0, 50), min_size=1, max_size=4))
@examples(20)
def test_tallies_add_up(seeds: list[int]) -> None:
    """A history of several rounds would not be what its rounds are together."""
    rounds = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        labels = labels_given(rng, rng.integers(0, 2, 40), near_answers(4, 2, 0.8, rng), 0.6)
        tables = tables_of(labels, rng.integers(-1, 2, 40), labelers=[f"w{seed % 3 + j}" for j in range(4)])
        rounds.append(hero.Round(**tables))
    whole = add([source_of(one).tally() for one in rounds])
    by_hand: Counter[tuple[Any, ...]] = Counter()
    for one in rounds:
        by_hand.update(as_counter(source_of(one).tally()))
    assert as_counter(whole) == by_hand
    assert whole.n_rows == len(by_hand)
    assert whole.n_labels == sum(one.n_labels for one in rounds)


@pytest.mark.slow
def test_the_same_bytes_each_time(folders: dict[str, Path]) -> None:
    """Two runs of one call would differ in the last digits."""
    made = set()
    for _ in range(3):
        rounds = [read_on("duckdb", folders[name], covariates=["x"]) for name in ("current", "history")]
        made.add(repr(numbers(hero.estimate_rate(*rounds, covariates=["x"], method="hero2"))))
    assert len(made) == 1


# Beyond memory


@pytest.fixture
def many(tmp_path: Path) -> tuple[Path, Path]:
    """A history and a current round by more labelers than keys hold."""
    rng = np.random.default_rng(11)
    n_labelers, n_past = 280, 3_000
    answers = np.stack([near_answers(1, 2, 0.8, rng)[0] for _ in range(n_labelers)])
    truth = rng.integers(0, 2, n_past + 300)
    labels = labels_given(rng, truth, answers, 4 / n_labelers)
    weight = rng.uniform(0.5, 2, len(truth))
    gold = np.where(np.arange(n_past) % 3 > 0, truth[:n_past], -1)
    past = tables_of(labels[:n_past], gold, {"weight": weight[:n_past]}, prefix="h")
    now = tables_of(labels[n_past:], None, {"weight": weight[n_past:]}, prefix="c")
    return write(tmp_path / "c", now), write(tmp_path / "h", past)


def test_more_labels_than_memory_holds_are_refused(
    many: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Counting them would fill the memory before anybody hears of it."""
    current, whole = read_on("memory", many[0]), read_on("memory", many[1])
    monkeypatch.setattr("hero_eval.counting.sql_round.MOST_LABELS", 100)
    past = read_on("duckdb", many[1])
    assert past.stays_in_engine
    assert (past.n_items, past.n_labels, past.n_gold) == (whole.n_items, whole.n_labels, whole.n_gold)
    calls = [
        lambda: hero.fit_reliability(past),
        lambda: hero.estimate_rate(current, past, method="hero1"),
        lambda: hero.estimate_rate(past, whole, method="hero1"),
        lambda: hero.save_counts(past, tmp_path / "counts.parquet"),
        lambda: hero.backtest([past, whole]),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.code == "E212"
