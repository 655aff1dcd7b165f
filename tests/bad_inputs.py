"""Bad inputs, one row each: what is written, which code must come back and what the message must say.

The same table drives the tests of reading and of the command, so that both say the same of the same mistake.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[list[str]]
Tables = dict[str, Rows]

LABELERS = ("ann", "bob", "cat", "dan")


@dataclass(frozen=True)
class BadInput:
    """A mistake in the current round."""

    name: str
    write: Callable[[Path], Path]
    """Writes the bad round into a folder and returns the path to read."""
    code: str
    mentions: tuple[str, ...]
    options: tuple[str, ...] = ()
    """What else the command needs to meet the mistake."""

    def __str__(self) -> str:
        return self.name


def as_arguments(options: tuple[str, ...]) -> dict[str, Any]:
    """The options of the command as arguments of `read_round`."""
    arguments: dict[str, Any] = {}
    for option, value in zip(options[::2], options[1::2], strict=True):
        name = {"--covariates": "covariates", "--classes": "classes", "--column": "columns"}[option]
        arguments[name] = dict([value.split("=")]) if name == "columns" else value.split(",")
    return arguments


def good_tables(seed: int = 0, n_items: int = 60) -> Tables:
    """Labels, gold and items of a sound round as rows of text, headers first."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.4
    truth[:2] = [True, False]
    labels: Rows = [["item", "labeler", "label"]]
    gold: Rows = [["item", "gold"]]
    items: Rows = [["item", "x", "prompt"]]
    for i in range(n_items):
        name = f"r{seed}-{i:03d}"
        items.append([name, f"{truth[i] + rng.normal():.4f}", f"What is {i} times {i + seed}?"])
        if i < n_items // 2:
            gold.append([name, str(int(truth[i]))])
        for j, labeler in enumerate(LABELERS):
            right = rng.random() < 0.9 - 0.05 * j
            labels.append([name, labeler, str(int(truth[i] == right))])
    return {"labels": labels, "gold": gold, "items": items}


def write_tables(folder: Path, tables: Tables) -> Path:
    """Write tables as CSV files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, rows in tables.items():
        (folder / f"{table}.csv").write_bytes(to_csv(rows))
    return folder


def to_csv(rows: Rows, encoding: str = "utf-8") -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode(encoding)


def write_good(folder: Path, seed: int = 0) -> Path:
    """A sound round: 60 items, 4 labelers, gold for half of the items, a covariate x and a text prompt."""
    return write_tables(folder, good_tables(seed))


def _said(tables: Tables, table: str, say: Callable[[int], str]) -> None:
    """Other answers in the last column, by the number of the row."""
    for row, cells in enumerate(tables[table][1:], start=1):
        cells[-1] = say(row)


def _words_and_numbers(tables: Tables) -> None:
    """Labels that are words, and gold of 0.5, 1, 1.5 and so on."""
    _said(tables, "labels", lambda row: "good" if row % 3 else "bad")
    _said(tables, "gold", lambda row: str(row / 2))


def spell(tables: Tables, words: tuple[str, str], odd: dict[int, str]) -> None:
    """Answers as words instead of 0 and 1, and some data rows of the labels with another one."""
    for table in ("labels", "gold"):
        for row in tables[table][1:]:
            row[-1] = words[int(row[-1])]
    for number, word in odd.items():
        tables["labels"][number][-1] = word


def edited(edit: Callable[[Tables], None]) -> Callable[[Path], Path]:
    """A writer of the good round after an edit of its rows."""

    def write(folder: Path) -> Path:
        tables = good_tables(seed=1)
        edit(tables)
        return write_tables(folder, tables)

    return write


def replaced(file: str, content: bytes, instead_of: str = "") -> Callable[[Path], Path]:
    """A writer of the good round with one more file, or with one `instead_of` another."""

    def write(folder: Path) -> Path:
        write_good(folder, seed=1)
        if instead_of:
            (folder / instead_of).unlink()
        (folder / file).write_bytes(content)
        return folder

    return write


def _rename(table: str, old: str, new: str) -> Callable[[Tables], None]:
    def edit(tables: Tables) -> None:
        tables[table][0] = [new if name == old else name for name in tables[table][0]]

    return edit


def _set(table: str, row: int, column: str, value: str) -> Callable[[Tables], None]:
    def edit(tables: Tables) -> None:
        tables[table][row][tables[table][0].index(column)] = value

    return edit


def _add(table: str, *row: str) -> Callable[[Tables], None]:
    def edit(tables: Tables) -> None:
        tables[table].append(list(row))

    return edit


def _weights(*special: str) -> Callable[[Tables], None]:
    """A weight column: these values first, then ones."""

    def edit(tables: Tables) -> None:
        header, *rows = tables["items"]
        header.append("weight")
        for i, row in enumerate(rows):
            row.append(special[i] if i < len(special) else "1")

    return edit


def _header_only(tables: Tables) -> None:
    del tables["labels"][1:]


def _flip_first_label(tables: Tables) -> None:
    item, labeler, label = tables["labels"][1]
    tables["labels"].append([item, labeler, str(1 - int(label))])


def _flip_first_gold(tables: Tables) -> None:
    item, gold = tables["gold"][1]
    tables["gold"].append([item, str(1 - int(gold))])


def _shift_item_ids(tables: Tables) -> None:
    for row in tables["items"][1:]:
        row[0] = row[0].replace("r1-", "other-")


def _no_labels_at_all(tables: Tables) -> None:
    for row in tables["labels"][1:]:
        row[2] = ""


def _nothing(folder: Path) -> Path:
    return write_good(folder / "round-7", seed=1).parent / "round-8"


def _no_labels_file(folder: Path) -> Path:
    write_good(folder, seed=1)
    (folder / "labels.csv").rename(folder / "votes.csv")
    return folder


def _parquet(rows: Rows) -> bytes:
    sink = pa.BufferOutputStream()
    columns = list(zip(*rows[1:], strict=True))
    pq.write_table(pa.table(dict(zip(rows[0], map(list, columns), strict=True))), sink)
    return bytes(sink.getvalue().to_pybytes())


def _several(folder: Path) -> Path:
    """A missing column, a damaged file and a covariate that is no number, in three files."""
    tables = good_tables(seed=1)
    _rename("labels", "labeler", "rater")(tables)
    _set("items", 1, "x", "high")(tables)
    write_tables(folder, tables)
    (folder / "gold.csv").unlink()
    (folder / "gold.parquet").write_bytes(_parquet(tables["gold"])[:-20])
    return folder


def _strange_file(folder: Path) -> Path:
    write_good(folder, seed=1)
    return (folder / "labels.csv").rename(folder / "labels.docx")


_GOOD = good_tables(seed=1)
_LATIN = to_csv([*_GOOD["labels"], ["r1-000", "josé", "1"]], encoding="latin-1")
_GZIP = gzip.compress(to_csv(_GOOD["labels"]), mtime=0)
_TWICE_NAMED = to_csv([["item", "labeler", "label", "label"], ["a", "ann", "1", "1"]])

BAD_INPUTS: list[BadInput] = [
    BadInput(
        "missing column",
        edited(_rename("labels", "labeler", "rater")),
        "E104",
        ("labels.csv", "'labeler'", "item, rater, label", '{"labeler": "rater"}', "--column labeler=rater"),
    ),
    BadInput(
        "missing gold column",
        edited(_rename("gold", "gold", "expert")),
        "E104",
        ("gold.csv", "'gold'", "--column gold=expert"),
    ),
    BadInput(
        "mapping to no column",
        edited(_rename("labels", "labeler", "rater")),
        "E104",
        ("'ratr'", "Did you mean 'rater'?"),
        ("--column", "labeler=ratr"),
    ),
    BadInput("empty table", edited(_header_only), "E105", ("labels.csv", "no rows")),
    BadInput(
        "one labeler, one item, two labels",
        edited(_flip_first_label),
        "E108",
        ("labels.csv", "1 case", "'r1-000'", "'ann'", "'0' and '1'"),
    ),
    BadInput(
        "a rare misspelling",
        edited(lambda tables: spell(tables, ("bad", "good"), {7: "godo"})),
        "E123",
        ("column 'label' is 'godo' in 1 row", "data row 7", "'good'", "--classes"),
    ),
    BadInput(
        "labels that never meet gold",
        edited(lambda tables: _said(tables, "labels", lambda row: "good" if row % 3 else "bad")),
        "E127",
        ("column 'label'", "'bad', 'good'", "'0', '1'", "map=", "--map bad=...,good=...", "--labelers"),
    ),
    BadInput(
        "gold of many numbers beside labels that are words",
        edited(lambda tables: _words_and_numbers(tables)),
        "E125",
        ("distinct numbers", "from 0.5 to 15", "20 that can be classes", "'bad', 'good'", "--map"),
    ),
    BadInput(
        "a score that is no number",
        edited(lambda tables: _said(tables, "labels", lambda row: "7;5" if row == 4 else str(row / 8))),
        "E147",
        ("column 'label'", "data row 4", "'7;5'", "--missing '7;5'", "--classes"),
    ),
    BadInput(
        "scores that are often no number",
        edited(lambda tables: _said(tables, "labels", lambda row: "much" if row % 4 == 0 else str(row / 8))),
        "E126",
        ("column 'label'", "distinct numbers", "'much'", "--missing", "--label-kind answer"),
    ),
    BadInput(
        "a word among numbers",
        edited(_set("labels", 7, "label", "oops")),
        "E147",
        ("labels.csv", "column 'label'", "data row 7", "'oops'", "--missing oops"),
    ),
    BadInput(
        "another number among 0 and 1",
        edited(_set("labels", 7, "label", "11")),
        "E147",
        ("labels.csv", "data row 7", "'11'", "0 or 1", "--missing 11"),
    ),
    BadInput(
        "label outside the classes",
        edited(_set("labels", 5, "label", "maybe")),
        "E109",
        ("labels.csv", "'label'", "1 row", "'maybe'", "'r1-001'", "'ann'"),
        ("--classes", "0,1"),
    ),
    BadInput(
        "gold outside the classes",
        edited(_set("gold", 2, "gold", "2")),
        "E109",
        ("gold.csv", "'gold'", "'2'", "'r1-001'"),
        ("--classes", "0,1"),
    ),
    BadInput(
        "gold twice, differently", edited(_flip_first_gold), "E110", ("gold.csv", "1 item", "'r1-000'", "'0'", "'1'")
    ),
    BadInput(
        "gold for unknown items",
        edited(_add("gold", "zz-9", "1")),
        "E111",
        ("gold.csv", "1 item", "'zz-9'", "'r1-000'"),
    ),
    BadInput(
        "items that do not line up",
        edited(_shift_item_ids),
        "E111",
        ("items.csv", "60 items", "'other-000'", "'r1-000'"),
    ),
    BadInput("null item", edited(_set("labels", 3, "item", "")), "E107", ("labels.csv", "'item'", "1 of 240", "row 3")),
    BadInput("null labeler", edited(_set("labels", 2, "labeler", "")), "E107", ("labels.csv", "'labeler'", "row 2")),
    BadInput("null item in gold", edited(_set("gold", 1, "item", "")), "E107", ("gold.csv", "'item'", "1 of 30")),
    BadInput("null item in items", edited(_set("items", 4, "item", "")), "E107", ("items.csv", "'item'", "1 of 60")),
    BadInput(
        "covariate that is no number",
        edited(_set("items", 1, "x", "high")),
        "E112",
        ("items.csv", "'x'", "1 of 60", "'high'", "'r1-000'"),
        ("--covariates", "x"),
    ),
    BadInput(
        "infinite covariate",
        edited(_set("items", 3, "x", "inf")),
        "E113",
        ("items.csv", "'x'", "1 of 60", "'inf'", "'r1-002'"),
        ("--covariates", "x"),
    ),
    BadInput(
        "covariate that is not there",
        edited(_rename("items", "x", "length")),
        "E202",
        ("'x'", "length, prompt"),
        ("--covariates", "x"),
    ),
    BadInput(
        "item described twice, differently",
        edited(_add("items", "r1-000", "17", "Another prompt")),
        "E114",
        ("items.csv", "'x'", "1 item", "'r1-000'", "'17'"),
    ),
    BadInput(
        "weight of zero", edited(_weights("0", "-1", "")), "E115", ("items.csv", "'weight'", "for 1 ", "for 2 of 60")
    ),
    BadInput("weight that is no number", edited(_weights("heavy")), "E112", ("items.csv", "'weight'", "'heavy'")),
    BadInput("infinite weight", edited(_weights("inf")), "E113", ("items.csv", "'weight'", "'inf'")),
    BadInput("no label left", edited(_no_labels_at_all), "E119", ("labels.csv", "'label'", "240")),
    BadInput(
        "wrong encoding",
        replaced("labels.csv", _LATIN),
        "E106",
        ("labels.csv", "UTF-8", "0xe9", "line 242"),
    ),
    BadInput(
        "UTF-16", replaced("labels.csv", to_csv(_GOOD["labels"], "utf-16")), "E106", ("labels.csv", "UTF-16", "UTF-8")
    ),
    BadInput(
        "truncated Parquet",
        replaced("labels.parquet", _parquet(_GOOD["labels"])[:-100], instead_of="labels.csv"),
        "E103",
        ("labels.parquet", "cannot be read"),
    ),
    BadInput(
        "text called Parquet",
        replaced("gold.parquet", to_csv(_GOOD["gold"]), instead_of="gold.csv"),
        "E103",
        ("gold.parquet", "cannot be read"),
    ),
    BadInput(
        "Parquet called CSV",
        replaced("labels.csv", _parquet(_GOOD["labels"])),
        "E103",
        ("labels.csv", "labels.parquet"),
    ),
    BadInput(
        "truncated gzip",
        replaced("labels.csv.gz", _GZIP[: len(_GZIP) // 2], instead_of="labels.csv"),
        "E103",
        ("labels.csv.gz", "cannot be read"),
    ),
    BadInput(
        "broken gzip",
        replaced("labels.csv.gz", b"\x1f\x8b" + b"no gzip at all" * 9, instead_of="labels.csv"),
        "E103",
        ("labels.csv.gz", "cannot be read"),
    ),
    BadInput(
        "ragged rows", edited(_add("labels", "r1-000", "eve", "1", "1")), "E103", ("labels.csv", "3 columns", "4")
    ),
    BadInput("two columns of one name", replaced("labels.csv", _TWICE_NAMED), "E103", ("labels.csv", "'label'")),
    BadInput("unknown ending", _strange_file, "E103", ("labels.docx", ".parquet", ".csv.gz")),
    BadInput("path that is not there", _nothing, "E101", ("round-8", "round-7", "Did you mean 'round-7'?")),
    BadInput("file of 0 bytes", replaced("labels.csv", b""), "E102", ("labels.csv", "0 bytes")),
    BadInput("gzip of nothing", replaced("gold.csv.gz", gzip.compress(b""), "gold.csv"), "E102", ("gold.csv.gz",)),
    BadInput("folder without labels", _no_labels_file, "E116", ("labels.csv", "votes.csv", "gold.csv")),
    BadInput(
        "two files for one table",
        replaced("gold.parquet", _parquet(_GOOD["gold"])),
        "E116",
        ("gold.csv and gold.parquet",),
    ),
    BadInput(
        "several at once",
        _several,
        "E103",
        ("E103", "gold.parquet", "E104", "--column labeler=rater", "E112", "'high'"),
        ("--covariates", "x"),
    ),
]
