"""The same data give the same round, whatever library, format, spelling or order they come in."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_inputs import good_tables, to_csv, write_good
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples

from hero_eval.errors import InputError
from hero_eval.io.labels import sort_labels
from hero_eval.read import read_round
from hero_eval.round import Round

LABELS = {
    "item": ["b", "a", "a", "c", "b", "a"],
    "labeler": ["x", "y", "x", "x", "y", "z"],
    "label": [1, 0, 1, 0, 1, 1],
}
GOLD = {"item": ["c", "a"], "gold": [0, 1]}
ITEMS = {"item": ["c", "b", "a"], "x": [3.5, None, 1.0], "long": [True, False, None], "prompt": ["pc", None, "pa"]}


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def labels_of(*answers: Any, kind: pa.DataType | None = None) -> pa.Table:
    """One labeler's answers to items a, b, c, …"""
    names = [chr(ord("a") + i) for i in range(len(answers))]
    return pa.table({"item": names, "labeler": ["x"] * len(names), "label": pa.array(answers, kind)})


def assert_same(one: Round, other: Round) -> None:
    """Both rounds say the same, in the same bytes."""
    assert list(one.item_ids) == list(other.item_ids)
    assert (one.labelers, one.values) == (other.labelers, other.values)
    for name in ("label_item", "label_labeler", "label_answer", "gold"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == np.int64
    assert (one.weight is None) == (other.weight is None)
    if one.weight is not None:
        np.testing.assert_array_equal(one.weight, other.weight)
    assert one.column_names == other.column_names
    assert one.numeric_columns() == other.numeric_columns()
    for name in one.numeric_columns():
        np.testing.assert_array_equal(one.covariate(name), other.covariate(name))
    for name in set(one.column_names) - set(one.numeric_columns()):
        assert one.texts(name) == other.texts(name)
    assert one.notes == other.notes


def problems_of(*args: Any, **options: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        Round(*args, **options)
    return [str(problem) for problem in caught.value.problems]


def codes_of(*args: Any, **options: Any) -> list[str]:
    return [problem[:4] for problem in problems_of(*args, **options)]


# Dataframe libraries

FRAMES: dict[str, tuple[str, Callable[[dict[str, list[Any]]], Any]]] = {
    "pandas": ("pandas", pd.DataFrame),
    "pandas with an index": ("pandas", lambda data: pd.DataFrame(data, index=range(7, 7 + len(data["item"])))),
    "pandas of objects": ("pandas", lambda data: pd.DataFrame(data, dtype=object)),
    "pandas with pyarrow types": ("pandas", lambda data: pa.table(data).to_pandas(types_mapper=pd.ArrowDtype)),
    "pandas of categories": ("pandas", lambda data: pd.DataFrame(data).astype({"item": "category"})),
    "polars": ("polars", pl.DataFrame),
    "polars, lazy": ("polars", lambda data: pl.LazyFrame(data)),
    "polars of categories": ("polars", lambda data: pl.DataFrame(data).cast({"item": pl.Categorical})),
    "pyarrow": ("pyarrow", pa.table),
    "pyarrow in chunks": ("pyarrow", lambda data: pa.concat_tables([pa.table(data)[:1], pa.table(data)[1:]])),
    "pyarrow batch": ("pyarrow", pa.RecordBatch.from_pydict),
    "pyarrow reader": ("pyarrow", lambda data: pa.table(data).to_reader()),
    "duckdb": ("duckdb", lambda data: duckdb.from_arrow(pa.table(data))),
    "narwhals": ("polars", lambda data: nw.from_native(pl.DataFrame(data))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_dataframe_gives_the_same_round(kind: str) -> None:
    """A team that moves from pandas to Polars would get other numbers."""
    expected_kind, make = FRAMES[kind]
    made = Round(make(LABELS), make(GOLD), make(ITEMS))
    assert made.frame_kind == expected_kind
    assert_same(made, Round(pa.table(LABELS), pa.table(GOLD), pa.table(ITEMS)))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
def test_one_table_gives_the_same_round(kind: str) -> None:
    """A user who joined all tables into one would get another round."""
    items, gold = dict(zip(ITEMS["item"], range(3), strict=True)), dict(zip(GOLD["item"], GOLD["gold"], strict=True))
    one = {
        **LABELS,
        "gold": [gold.get(item) for item in LABELS["item"]],
        **{name: [ITEMS[name][items[item]] for item in LABELS["item"]] for name in ("x", "long", "prompt")},
    }
    assert_same(Round(FRAMES[kind][1](one)), Round(pa.table(LABELS), pa.table(GOLD), pa.table(ITEMS)))


def test_mixed_objects_of_pandas_are_read() -> None:
    """Columns of mixed types, common after a join or an Excel import, would crash inside pyarrow."""
    frame = pd.DataFrame(
        {"item": [1, "1", 2.0, "b"], "labeler": ["x", "y", 3, 3], "label": [True, "no", 1, pd.NA]}, dtype=object
    )
    made = Round(frame)
    assert list(made.item_ids) == ["1", "2"]
    assert made.labelers == ("3", "x", "y")
    assert made.values == ("0", "1")
    assert [note.code for note in made.notes] == ["F102", "F103", "F137"]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ("labels.csv", "read_round"),
        (Path("labels.csv"), "read_round"),
        ([1, 2], "list"),
        (None, "NoneType"),
        (pd.DataFrame([["a", "b", 1, 2]], columns=["item", "labeler", "label", "label"]), "label"),
        (pa.table([["a"], ["b"], [1], [2]], names=["item", "labeler", "label", "label"]), "'label'"),
    ],
)
def test_what_is_no_table_is_said(labels: Any, says: str) -> None:
    """A path or a list given for a table would end in a traceback from another library."""
    (problem,) = problems_of(labels)
    assert problem.startswith("E117 labels ")
    assert says in problem


def test_a_column_that_is_no_text_is_said() -> None:
    """Bytes that are not text would end in a traceback from another library."""
    labels = table(item=[b"\xff\xfe"], labeler=["x"], label=[1])
    assert codes_of(labels) == ["E117"]


# Files


def write_formats(folder: Path, tables: dict[str, list[list[str]]], ending: str, encode: Callable[..., bytes]) -> Path:
    folder.mkdir()
    for name, rows in tables.items():
        (folder / f"{name}{ending}").write_bytes(encode(rows))
    return folder


def delimited(delimiter: str) -> Callable[[list[list[str]]], bytes]:
    return lambda rows: "".join(delimiter.join(row) + "\r\n" for row in rows).encode()


def parquet(rows: list[list[str]]) -> bytes:
    sink = pa.BufferOutputStream()
    columns = {name: list(column) for name, column in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}
    typed = {"x": float, "label": int, "gold": int}
    pq.write_table(pa.table({name: list(map(typed.get(name, str), column)) for name, column in columns.items()}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("ending", "encode"),
    [
        (".csv", to_csv),
        (".csv", lambda rows: b"\xef\xbb\xbf" + to_csv(rows)),
        (".csv", delimited(";")),
        (".csv", lambda rows: to_csv([[str(i), *row] if i else ["", *row] for i, row in enumerate(rows)])),
        (".csv.gz", lambda rows: gzip.compress(to_csv(rows))),
        (".tsv", delimited("\t")),
        (".parquet", parquet),
    ],
    ids=["csv", "BOM", "semicolon", "index column", "csv.gz", "tsv", "parquet"],
)
def test_every_format_gives_the_same_round(ending: str, encode: Callable[..., bytes], tmp_path: Path) -> None:
    """The same round saved in another format would give other numbers."""
    tables = good_tables(seed=3)
    folder = write_formats(tmp_path / "other", tables, ending, encode)
    read = read_round(folder, covariates=["x"], text="prompt")
    assert (read.name, read.frame_kind) == ("other", "files")
    assert_same(read, read_round(write_good(tmp_path / "good", seed=3)))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_one_file_gives_the_same_round(ending: str, tmp_path: Path) -> None:
    """A round kept in one file would differ from the same round in three."""
    tables = good_tables(seed=3)
    labels, gold, items = (pd.DataFrame(rows[1:], columns=rows[0]) for rows in tables.values())
    one = labels.merge(items, on="item").merge(gold, on="item", how="left")
    path = tmp_path / f"march{ending}"
    if ending == ".csv":
        one.to_csv(path, index=False)
    else:
        one.astype({"x": float, "label": int}).sample(frac=1, random_state=0).to_parquet(path)  # with an index
    read = read_round(path)
    assert read.name == "march"
    assert_same(read, read_round(write_good(tmp_path / "good", seed=3)))


def test_a_folder_of_parquet_parts_is_one_table(tmp_path: Path) -> None:
    """Spark writes a table as a folder; its users could not read their rounds."""
    parts = tmp_path / "round" / "labels.parquet"
    parts.mkdir(parents=True)
    whole = pa.table(LABELS)
    pq.write_table(whole[:2], parts / "part-0.parquet")
    pq.write_table(whole[2:], parts / "part-1.parquet")
    assert_same(read_round(tmp_path / "round"), Round(whole))


def test_quoted_fields_survive(tmp_path: Path) -> None:
    """Prompts hold commas, quotes and line breaks; a reader that splits there mixes up columns."""
    (tmp_path / "labels.csv").write_bytes(to_csv([["item", "labeler", "label"], ["a", "x", "1"], ["b", "x", "0"]]))
    (tmp_path / "items.csv").write_text('item,prompt\na,"one,\ntwo ""three"""\nb,é\n', encoding="utf-8")
    assert read_round(tmp_path).texts("prompt") == ['one,\ntwo "three"', "é"]


@pytest.mark.slow
def test_a_long_file_cut_short_is_noticed(tmp_path: Path) -> None:
    """Half of a download would pass as the whole round."""
    rows = [["item", "labeler", "label"], *([f"item {i}", f"labeler {i * i % 97}", str(i % 2)] for i in range(200_000))]
    packed = gzip.compress(to_csv(rows))
    (tmp_path / "labels.csv.gz").write_bytes(packed[: len(packed) * 2 // 3])
    with pytest.raises(InputError, match="E103"):
        read_round(tmp_path)


@pytest.mark.slow
def test_a_file_cut_short_is_said_with_a_single_thread(tmp_path: Path) -> None:
    """Where there is one processor, some versions of pyarrow would wait forever: `make test-lowest` has one of them."""
    rows = [["item", "labeler", "label"], *([f"item {i}", f"labeler {i * i % 97}", str(i % 2)] for i in range(200_000))]
    packed = gzip.compress(to_csv(rows))
    (tmp_path / "labels.csv.gz").write_bytes(packed[: len(packed) * 2 // 3])
    script = (
        "import sys\n"
        "from hero_eval import HeroError, read_round\n"
        "for _ in range(3):\n"
        "    try:\n"
        "        read_round(sys.argv[1])\n"
        "    except HeroError as error:\n"
        "        print(error.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.split() == ["E103"] * 3, done.stderr


def test_parquet_text_that_is_not_utf8_is_noticed(tmp_path: Path) -> None:
    """Parquet does not check its text; the error would come much later, without a place."""
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"jos\xe9"]).buffers())
    pq.write_table(pa.table({"item": ["a"], "labeler": bad, "label": [1]}), tmp_path / "labels.parquet")
    with pytest.raises(InputError, match=r"E106 .*labels\.parquet column 'labeler'"):
        read_round(tmp_path)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """A README or a backup next to the tables would stop the run."""
    write_good(tmp_path, seed=3)
    (tmp_path / "README.md").write_text("about")
    (tmp_path / "labels-old.csv").write_text("nothing")
    (tmp_path / ".labels.csv").write_text("")
    assert read_round(tmp_path, name="mine").name == "mine"


def test_a_path_deep_in_nowhere_lists_the_nearest_folder(tmp_path: Path) -> None:
    """A user with a typo high up in a path would not see which part is wrong."""
    (tmp_path / "rounds").mkdir()
    with pytest.raises(InputError, match=r"E101 .*holds: rounds\. Did you mean 'rounds'\?"):
        read_round(tmp_path / "round" / "2024" / "march")


# Order and reference

ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from(["0", "1", None])), min_size=1, max_size=30
)


@pytest.mark.slow
@given(rows=ROWS, seed=st.integers(0, 2**32 - 1))
@examples(60)
def test_row_order_changes_nothing(rows: list[tuple[int, str, str | None]], seed: int) -> None:
    """Two exports of the same database in different order would give different numbers."""
    distinct = {(item, labeler): label for item, labeler, label in rows}
    if not any(distinct.values()):
        return
    full = [(f"i{item}", labeler, label) for (item, labeler), label in distinct.items()]
    full += full[:2]  # duplicates, too
    ids = sorted({item for item, _, _ in full})
    gold = [(item, "1" if i % 2 else None) for i, item in enumerate(ids)]
    items = [(item, float(i), "t") for i, item in enumerate(ids)]

    def build(order: np.random.Generator | None) -> Round:
        def frame(data: list[Any], names: list[str]) -> pd.DataFrame:
            picked = data if order is None else [data[i] for i in order.permutation(len(data))]
            return pd.DataFrame(picked, columns=names)

        return Round(
            frame(full, ["item", "labeler", "label"]), frame(gold, ["item", "gold"]), frame(items, ["item", "x", "t"])
        )

    assert_same(build(None), build(np.random.default_rng(seed)))


@pytest.mark.slow
@given(rows=ROWS)
@examples(60)
def test_labels_are_those_of_a_plain_loop(rows: list[tuple[int, str, str | None]]) -> None:
    """The fast path through codes and sorted keys would lose or swap labels."""
    distinct = {(str(item), labeler): label for item, labeler, label in rows}
    expected = sorted((item, labeler, label) for (item, labeler), label in distinct.items() if label is not None)
    frame = pl.DataFrame(
        [(item, labeler, label) for (item, labeler), label in distinct.items()],
        schema={"item": pl.String, "labeler": pl.String, "label": pl.String},
        orient="row",
    )
    if not expected:
        assert codes_of(frame) == ["E119"]
        return
    made = Round(frame)
    got = [
        (made.item_ids[i], made.labelers[j], made.values[k])
        for i, j, k in zip(made.label_item, made.label_labeler, made.label_answer, strict=True)
    ]
    assert got == expected
    assert set(made.item_ids) == {item for item, _, _ in expected}
    assert set(made.labelers) == {labeler for _, labeler, _ in expected}


def test_sorting_is_right_beyond_the_range_of_one_key() -> None:
    """A table with astronomically many labelers would be sorted by an overflowed key."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 4, 50) * scale for scale in (2**40, 2**30, 1)]
    got = sort_labels(*columns, 2**42, 2**32, 4)
    assert sorted(zip(*columns, strict=True)) == list(zip(*got, strict=True))


# Ids


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["007", "7", " 7"], [" 7", "007", "7"]),
        ([10, 9, 2], ["10", "2", "9"]),
        ([1.0, 2.5, 2.0**60], ["1", "1.152921504606847e+18", "2.5"]),
        ([True, False, True], ["false", "true"]),
        (["NA", "null", "é"], ["NA", "null", "é"]),
    ],
)
def test_ids_are_kept(ids: list[Any], expected: list[str]) -> None:
    """Ids that change on the way in ("007" to 7) no longer match those of the gold."""
    made = Round(table(item=ids, labeler=["x", "y", "z"], label=[0, 1, 1]))
    assert list(made.item_ids) == expected


def test_ids_of_different_types_meet() -> None:
    """Gold read by pandas as floats, because of one missing value, would match no item."""
    made = Round(
        pd.DataFrame({"item": ["1", "2"], "labeler": ["x", "x"], "label": [0, 1]}),
        pd.DataFrame({"item": [1.0, 2.0], "gold": [1, 0]}),
    )
    assert list(made.gold) == [1, 0]


def test_missing_ids_of_a_dataframe() -> None:
    """A label that belongs to no item would be counted for an item called "nan"."""
    labels = pd.DataFrame({"item": [1, np.nan, 2], "labeler": ["x", "x", None], "label": [1, 0, 1]})
    assert [problem[:30] for problem in problems_of(labels)] == [
        "E107 labels column 'item' is e",
        "E107 labels column 'labeler' i",
    ]


def test_a_row_without_labeler_and_label_lists_an_item() -> None:
    """Items left-joined with labels have such rows; they say that the item has no label."""
    made = Round(table(item=["a", "b"], labeler=["x", None], label=[1, None], gold=[1, 0]))
    assert list(made.item_ids) == ["a"]
    assert [(note.code, note.data["count"]) for note in made.notes] == [("F102", 1), ("F103", 1)]


# Answers


@pytest.mark.parametrize(
    "answers",
    [
        (True, False, True),
        (1, 0, 1),
        (1.0, 0.0, 1.0),
        ("1", "0", "1.0"),
        ("TRUE", "False", "t"),
        ("Yes", " no ", "Y"),
        ("y", "n", "yes"),
    ],
)
def test_binary_answers_are_one_thing(answers: tuple[Any, ...]) -> None:
    """Judges that say yes/no and people who tick 1/0 would have no class in common."""
    made = Round(labels_of(*answers))
    assert made.values == ("0", "1")
    assert list(made.label_answer) == [1, 0, 1]


def test_gold_decides_with_the_labels_whether_answers_are_binary() -> None:
    """Labels yes/no next to gold yes/no/unsure would be read as 1/0 and match no gold."""
    made = Round(labels_of("yes", "no"), table(item=["a", "b"], gold=["yes", "unsure"]))
    assert made.values == ("no", "unsure", "yes")
    assert list(made.label_answer) == [2, 0]
    assert list(made.gold) == [2, 1]


def test_other_answers_are_stripped_text() -> None:
    """Ratings read as floats in one file and as integers in another would be different classes."""
    assert Round(labels_of(3.0, 10.0, 2.5), label_kind="answer").values == ("2.5", "3", "10")
    assert Round(labels_of("3.0", "10", " 2.5"), label_kind="answer").values == ("2.5", "3", "10")
    assert Round(labels_of("A ", "tie", "B")).values == ("A", "B", "tie")
    assert Round(labels_of(0.1, 0.2, kind=pa.float32()), label_kind="answer").values == ("0.1", "0.2")


@pytest.mark.parametrize("missing", [None, "", "NA", "NaN", "nan", "null", "NULL", "None", "  "])
def test_missing_answers_are_no_answers(missing: str | None) -> None:
    """A skipped question would become a class called "nan"."""
    made = Round(labels_of("A", missing, "B"), table(item=["a", "c"], gold=["A", missing]))
    assert made.values == ("A", "B")
    assert list(made.gold) == [0, -1]
    assert [(note.code, note.data["count"]) for note in made.notes] == [("F102", 1), ("F103", 1)]


def test_nan_is_no_answer() -> None:
    """pyarrow and Polars keep NaN apart from null; it would become a class."""
    assert Round(labels_of(1.0, float("nan"))).values == ("1",)


def test_a_class_may_be_called_none() -> None:
    """A severity scale None/minor/major would lose its lowest class."""
    made = Round(labels_of("None", "minor"), classes=["None", "minor", "major"])
    assert made.values == ("None", "minor", "major")
    assert made.n_labels == 2


def test_classes_are_spelled_like_the_answers() -> None:
    """classes=["no", "yes"] next to labels 0/1 would refuse every label."""
    made = Round(labels_of(1, 0), classes=["No", "Yes"], positive="no")
    assert (made.values, made.classes_given, made.positive) == (("0", "1"), ("0", "1"), "0")
    wider = Round(labels_of("yes", "no"), classes=["no", "tie", "yes"])
    assert wider.values == ("no", "tie", "yes")
    assert list(wider.label_answer) == [2, 0]


def test_values_outside_the_classes_are_shown_as_written() -> None:
    """A user would look for '0' in a file that says 'no'."""
    (problem,) = problems_of(labels_of("good", " no", "no"), classes=["good", "bad"])
    assert problem == (
        "E109 labels column 'label' is outside the classes 'good', 'bad' in 2 rows, for example 'no' "
        "(item 'b', labeler 'x'). Correct the values, add them to the classes, or count them as not given "
        "(missing=; command: --missing)."
    )


def test_a_wrong_label_without_an_id_is_no_crash() -> None:
    """Two mistakes in one row would end in a traceback, or name an item that is not the one."""
    labels = table(item=[None, "b", "c"], labeler=["x", "x", None], label=["z", "z", "z"])
    assert codes_of(labels, table(item=[None], gold=["z"]), classes=["a", "b"]) == ["E107", "E107", "E107", "E109"]


@pytest.mark.parametrize("classes", [["a"], ["a", "a"], ["yes", 1], ["a", None], [], "ab"])
def test_unusable_classes(classes: Any) -> None:
    """A class named twice, or alone, would give a model with a class that cannot be told apart."""
    assert codes_of(labels_of("a", "b"), classes=classes) == ["E118"]


def test_positive_must_be_an_answer() -> None:
    """A typo in positive= would estimate the rate of something that nobody can say."""
    (problem,) = problems_of(labels_of("good", "bad"), positive="defect")
    assert problem.startswith("E118 positive='defect' is not among the values seen: 'bad', 'good'.")
    assert codes_of(labels_of("good", "bad"), classes=["good", "bad"], positive="defect") == ["E118"]
    assert Round(labels_of("good", "bad"), positive="bad").positive == "bad"
    assert Round(labels_of("no", "no"), positive="yes").positive == "1"  # the rate may well be 0


# Duplicates and contradictions


def test_exact_duplicates_are_dropped_and_counted() -> None:
    """A batch exported twice would count twice."""
    made = Round(
        table(item=["a", "a", "b", "a"], labeler=["x"] * 4, label=["yes", "1", "no", "yes"]),
        table(item=["a", "b", "a"], gold=[1, 0, 1]),
        table(item=["b", "a", "b"], x=[1, 2, 1]),
    )
    assert (made.n_labels, made.n_gold) == (2, 2)
    note, words = made.notes
    assert (note.code, words.code) == ("F101", "F137")
    assert note.data == {"count": 4, "labels": 2, "gold": 1, "items": 1}


def test_contradicting_labels_are_shown_as_written() -> None:
    """Which of the two labels counts would be left to chance."""
    labels = table(item=["a", "a", "b", "b", "b"], labeler=["x"] * 5, label=["yes", "no", "no", "yes", "no"])
    (problem,) = problems_of(labels)
    assert problem == (
        "E108 labels has different labels by one labeler for one item in 2 cases, for example item 'a', labeler 'x': "
        "'no' and 'yes'. Keep one label for each item and labeler."
    )


def test_contradicting_gold_within_one_table() -> None:
    """Which of the two gold values counts would be left to chance."""
    labels = table(item=["a", "a", "b"], labeler=["x", "y", "x"], label=[1, 1, 0], gold=[1, 0, None])
    (problem,) = problems_of(labels)
    assert problem.startswith("E110 labels has different gold for 1 item, for example item 'a': '1' and '0'.")


# Gold and items


def test_gold_stands_where_it_is_found() -> None:
    """Gold in the items table would be ignored, or worse, be taken for a covariate."""
    labels = labels_of(1, 0, 1)
    in_items = Round(labels, items=table(item=["a", "b", "c"], gold=[1, None, 0], x=[1, 2, 3]))
    assert list(in_items.gold) == [1, -1, 0]
    assert in_items.column_names == ("x",)
    in_labels = labels.append_column("gold", pa.array([1, None, 0]))
    assert_same(Round(in_labels), Round(labels, table(item=["a", "c"], gold=[1, 0])))


def test_a_second_table_wins() -> None:
    """Gold given on purpose would be overruled by an old column in the labels."""
    labels = labels_of(1, 0).append_column("gold", pa.array([0, 0])).append_column("x", pa.array([1, 2]))
    made = Round(labels, table(item=["a"], gold=[1]), table(item=["a", "b"], z=[5, 6]))
    assert list(made.gold) == [1, -1]
    assert made.column_names == ("z",)


def test_columns_that_differ_within_an_item_are_ignored_and_named() -> None:
    """The seconds that one labeler took would pass for a property of the item."""
    labels = table(
        item=["a", "a", "b"],
        labeler=["x", "y", "x"],
        label=[1, 0, 1],
        seconds=[3, 4, 5],
        note=["n", "", None],
        x=[1, 1, 2],
    )
    made = Round(labels)
    assert made.column_names == ("note", "x")
    assert made.texts("note") == ["n", ""]
    (note,) = made.notes
    assert (note.code, note.data["columns"]) == ("F107", ["seconds"])
    (problem,) = problems_of(labels, covariates=["seconds"])
    assert problem == (
        "E114 labels column 'seconds' has different values on the rows of one item, for 1 item, for example item 'a': "
        "3 and 4. Keep one value for each item."
    )
    assert codes_of(labels, text="seconds") == ["E114"]
    assert codes_of(labels.rename_columns({"seconds": "weight"})) == ["E114"]


def test_items_without_labels_are_set_aside() -> None:
    """Items still waiting for labels would stop the run, or count as answered."""
    labels = labels_of(1, 0, None)
    made = Round(
        labels,
        table(item=["a", "c", "d"], gold=[1, 0, 1]),
        table(item=["a", "b", "d", "e"], x=[1, 2, 3, 4], weight=[1, 2, None, -1]),
    )
    assert list(made.item_ids) == ["a", "b"]
    assert made.weight is not None
    assert list(made.weight) == [1, 2]
    assert made.n_gold == 1
    note = made.notes[0]
    assert (note.code, note.data) == ("F102", {"count": 3, "items": ["c", "d", "e"]})


def test_items_that_are_not_described_have_missing_covariates() -> None:
    """A few items without covariates would stop the run; a missing weight must."""
    items = table(item=["a"], x=[1.5], t=["text"])
    made = Round(labels_of(1, 0), items=items, covariates=["x"])
    np.testing.assert_array_equal(made.covariate("x"), [1.5, np.nan])
    assert made.texts("t") == ["text", ""]
    assert codes_of(labels_of(1, 0), items=items.append_column("weight", pa.array([1]))) == ["E115"]


def test_gold_of_an_item_that_is_listed_but_unlabeled_is_no_mistake() -> None:
    """Gold that was collected before the labels arrive would stop the run."""
    gold = table(item=["a", "z"], gold=[1, 0])
    assert codes_of(labels_of(1, 0), gold) == ["E111"]
    assert Round(labels_of(1, 0), gold, table(item=["a", "b", "z"])).n_gold == 1
    assert Round(labels_of(1, 0), table(item=["a", "z"], gold=[1, None])).n_gold == 1


def test_weights_of_one_table() -> None:
    """Sampling weights that travel with the labels would be ignored."""
    labels = table(item=["b", "a", "a"], labeler=["x", "x", "y"], label=[1, 0, 1], weight=["2.5", "1", "1"])
    made = Round(labels)
    assert made.weight is not None
    assert list(made.weight) == [1.0, 2.5]
    assert made.column_names == ()


def test_problems_of_all_tables_come_together() -> None:
    """A user would mend one mistake a run."""
    found = codes_of(
        labels_of(1, 0, 2).rename_columns(["item", "rater", "label"]),
        table(item=["a", "a", None], gold=[1, 0, 1]),
        table(item=["a", "b"], x=["1", "low"], y=[1.0, float("inf")], weight=[1, 0]),
        covariates=["x", "y", "w"],
        text="prompt",
        classes=["0"],
    )
    assert found == ["E118", "E104", "E107", "E110", "E115", "E112", "E113", "E202", "E202"]


# Column names


def test_columns_can_have_other_names() -> None:
    """A user would have to rename the columns of every export."""
    other = Round(
        table(task=["a", "b"], rater=["x", "x"], answer=[1, 0]),
        table(task=["a"], answer=[1]),
        table(item=["a", "b"], len=[1, 2]),
        columns={"item": "task", "labeler": "rater", "label": "answer", "gold": "answer", "x": "len"},
    )
    assert_same(other, Round(labels_of(1, 0), table(item=["a"], gold=[1]), table(item=["a", "b"], x=[1, 2])))


def test_a_mapped_column_replaces_one_of_our_name() -> None:
    """A mapping given on purpose would lose against a column that happens to have our name."""
    labels = labels_of(1, 0).append_column("final", pa.array([0, 0]))
    assert Round(labels, columns={"label": "final"}).values == ("0",)


def test_a_mapping_for_gold_does_not_take_the_labels_away() -> None:
    """The mapping that the error message proposes for a gold table would break the labels table."""
    gold = table(item=["a"], label=[1])
    (problem,) = problems_of(labels_of(1, 0), gold)
    assert problem.endswith('Map it: columns={"gold": "label"} (command: --column gold=label)')
    assert Round(labels_of(1, 0), gold, columns={"gold": "label"}).n_gold == 1


@pytest.mark.parametrize(
    ("header", "missing", "proposed"),
    [
        (["task", "labeler", "label"], "item", "task"),
        (["prompt_id", "labeler", "label"], "item", "prompt_id"),
        (["item", "Annotator", "label"], "labeler", "Annotator"),
        (["item", "judge", "label"], "labeler", "judge"),
        (["item", "labeler", "vote"], "label", "vote"),
        (["item", "labelers", "label"], "labeler", "labelers"),
        (["item", "labeler", "zzz"], "label", "..."),
    ],
)
def test_the_likely_column_is_proposed(header: list[str], missing: str, proposed: str) -> None:
    """A user would have to look up how a mapping is written."""
    (problem,) = problems_of(pa.table([["a"], ["x"], ["1"]], names=header))
    assert problem == (
        f"E104 labels has no column '{missing}'. Columns: {', '.join(header)}. "
        f'Map it: columns={{"{missing}": "{proposed}"}} (command: --column {missing}={proposed})'
    )


def test_row_numbers_left_by_exports_are_no_covariates() -> None:
    """An index column of pandas would be picked as a covariate."""
    items = table(**{"item": ["a", "b"], "Unnamed: 0": [0, 1], "__index_level_0__": [0, 1], "x": [1, 2]})
    assert Round(labels_of(1, 0), items=items).column_names == ("x",)


# Covariates that the caller names


def test_named_covariates_are_checked_at_once() -> None:
    """The mistake would show only after a long fit."""
    items = table(item=["a", "b"], x=["1", "low"], y=[1.0, float("inf")], z=[1, None])
    assert Round(labels_of(1, 0), items=items).column_names == ("x", "y", "z")
    assert codes_of(labels_of(1, 0), items=items, covariates=["x", "y", "z"]) == ["E112", "E113"]
    assert codes_of(labels_of(1, 0), items=items, covariates="x") == ["E112"]
    (problem,) = problems_of(labels_of(1, 0), items=items, covariates=["zz"], name="march")
    assert problem == "E202 round 'march' has no column 'zz'. It has: x, y, z. Did you mean 'z'?"


def test_a_labeler_can_be_named_as_covariate() -> None:
    """A judge used as covariate would be looked for among the columns of the items."""
    assert Round(labels_of(1, 0), covariates=["labeler:x"]).labelers == ("x",)
    (problem,) = problems_of(labels_of(1, 0), covariates=["labeler:gpt"])
    assert problem == "E202 round 'round' has no labeler 'gpt'. It has: x."


def test_items_may_hold_anything() -> None:
    """An embedding or a date among the item columns would stop the run although nobody asked for it."""
    items = pa.table(
        {
            "item": ["a", "b", "b"],
            "vector": [[1.0, 2.0], [3.0], [3.0]],
            "day": pa.array([0, 1, 1], pa.date32()),
            "when": pa.array([0, 1, 1], pa.timestamp("ns", "UTC")),
            "nothing": pa.nulls(3),
            "sort": pa.chunked_array([pa.array(["u"]).dictionary_encode(), pa.array(["v", "v"]).dictionary_encode()]),
            "image": [b"\xff\xfe", b"\xff", b"\xff"],
            "price": pa.array([1, 2, 2], pa.decimal128(5, 2)),
        }
    )
    made = Round(labels_of(1, 0), items=items)
    assert made.numeric_columns() == ("price",)
    assert made.texts("vector") == ["[1.0, 2.0]", "[3.0]"]
    assert made.texts("nothing") == ["", ""]
    assert made.texts("sort") == ["u", "v"]
    for name in ("vector", "day", "when", "image"):
        with pytest.raises(InputError, match="E112"):
            made.covariate(name)


def test_a_dataframe_is_no_path() -> None:
    """The first thing that many try would end in a traceback of another library."""
    with pytest.raises(InputError, match=r"E201 path is Table.*hero_eval\.Round\(labels\)"):
        read_round(pa.table({"item": ["a"], "labeler": ["x"], "label": [1]}))
