"""The store notices every loss: what a round knows comes back, damage is said, and what was acknowledged is there."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from asking import ask, refused, strict
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from random_examples import examples
from repository import BENCHMARKS, TESTS, load_script
from stored_rounds import add, parts, same, small
from stored_rounds import refused as refused_by

import hero_eval as hero
from hero_eval.io.validate import Contents
from hero_eval.round import Round
from hero_eval.store import delta, disk
from hero_eval.store.dates import day_in_name
from hero_eval.store.schemas import TABLES
from hero_eval.store.store import Store

store_damage = load_script(BENCHMARKS, "store_damage")
store_power = load_script(BENCHMARKS, "store_power")
EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
FORMAT_1 = TESTS / "stores" / "format-1.tar.gz"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return hero.create_store(tmp_path / "store")


# What a round knows


def everything(one: Round) -> dict[str, Any]:
    """Every field of a round, whichever there are."""
    out: dict[str, Any] = {}
    for field in dataclasses.fields(Contents):
        value = getattr(one._contents, field.name)
        out[field.name] = value.tolist() if hasattr(value, "tolist") else value
    out["columns"] = {name: one.texts(name) for name in one.column_names}
    numeric = one.numeric_columns()
    out["numbers"] = {name: np.nan_to_num(one.covariate(name), nan=-99.0).tolist() for name in numeric}
    return out


KINDS: dict[str, Callable[[int], Any]] = {
    "double": lambda n: pa.array(np.linspace(-1, 1, n)),
    "with gaps": lambda n: pa.array([None if k % 3 else k * 0.1 for k in range(n)], pa.float64()),
    "count": lambda n: pa.array(range(n), pa.int32()),
    "huge": lambda n: pa.array([2**60 + k for k in range(n)], pa.int64()),
    "flag": lambda n: pa.array([k % 2 == 0 for k in range(n)]),
    "text": lambda n: pa.array([f"“{k}” \n 日本" if k % 4 else None for k in range(n)]),
    "day": lambda n: pa.array([datetime.date(2026, 1, 1 + k % 28) for k in range(n)]),
    "moment": lambda n: pa.array([datetime.datetime(2026, 1, 1, 0, k % 60) for k in range(n)]),
    "zoned": lambda n: pa.array(
        [datetime.datetime(2026, 1, 1, k % 24) for k in range(n)], pa.timestamp("us", tz="UTC")
    ),
    "in seconds": lambda n: pa.array([datetime.datetime(2026, 1, 1, k % 24) for k in range(n)], pa.timestamp("s")),
    "in milliseconds": lambda n: pa.array(
        [None if k % 5 == 4 else datetime.datetime(2026, 1, 1, k % 24) for k in range(n)], pa.timestamp("ms")
    ),
    "in nanoseconds": lambda n: pa.array(range(n), pa.timestamp("ns")),
    "summer time": lambda n: pa.array(
        [datetime.datetime(2026, 7, 1, k % 24) for k in range(n)], pa.timestamp("ms", tz="Europe/Berlin")
    ),
    "hour": lambda n: pa.array([datetime.time(k % 24, 30) for k in range(n)]),
    "span": lambda n: pa.array([datetime.timedelta(minutes=k) for k in range(n)]),
    "price": lambda n: pa.array([decimal.Decimal(k) / 4 for k in range(n)], pa.decimal128(9, 2)),
    "bytes": lambda n: pa.array([b"\xff" if k % 2 else b"plain" for k in range(n)]),
    "tags": lambda n: pa.array([["a", str(k)] for k in range(n)]),
    "coded": lambda n: pa.array([f"k{k % 3}" for k in range(n)]).dictionary_encode(),
    "nothing": lambda n: pa.nulls(n),
}


@st.composite
def rounds(draw: Any) -> Round:
    """A round of any kind: with classes, a positive one, weights, columns, gaps, silent labelers, notes."""
    n_items = draw(st.integers(1, 12))
    answers = draw(
        st.sampled_from([("0", "1"), ("no", "yes"), ("a", "b", "tie"), ("1", "2", "3", "4", "5"), ("ok", "Nope")])
    )
    items = [f"{draw(st.sampled_from(['i', 'ä ', '0']))}{k}" for k in range(n_items)]
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    rows = [
        (item, who, answers[rng.integers(len(answers))])
        for item in items
        for who in ("ann", "bob", "c@1")
        if rng.random() < 0.8 or who == "ann"
    ]
    rows += rows[:1] * draw(st.integers(0, 1))  # a duplicate, which a note tells of
    labels = pa.table({name: [row[c] for row in rows] for c, name in enumerate(("item", "labeler", "label"))})
    known = draw(st.integers(0, n_items))
    gold = (
        pa.table({"item": items[:known], "gold": [answers[k % len(answers)] for k in range(known)]}) if known else None
    )
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), unique=True, max_size=4))
    described = {name: KINDS[name](n_items) for name in names}
    if draw(st.booleans()):
        described["weight"] = pa.array(np.linspace(0.5, 2, n_items))
    frame = pa.table({"item": items, **described}) if described else None
    classes = draw(st.sampled_from([None, answers, answers[::-1]]))
    positive = draw(st.sampled_from([None, answers[0], answers[-1]]))
    as_pandas = draw(st.booleans())
    made = Round(labels.to_pandas() if as_pandas else labels, gold, frame, classes=classes, positive=positive, name="r")
    if n_items > 2 and draw(st.booleans()):
        made = made.select(np.arange(n_items) % 2 == 0)  # labelers and answers stay that nobody gives
    return made


@pytest.mark.slow
@given(before=rounds())
@examples(8, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
def test_everything_that_a_round_knows_survives(before: Round, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An estimate of a stored round would be of another class, or of other labelers, than that of the round itself."""
    store = hero.create_store(tmp_path_factory.mktemp("any") / "store")
    store.add(before, round="r", date="2026-11-09")
    assert everything(store.round("r")) == everything(before)
    heard = {before.values[code] for code in (*before.label_answer, *before.gold[before.gold >= 0])}
    if before.weight is not None or heard != set(before.values):
        return  # a late item would need a weight; and a part of a round alone may not tell its classes
    store.add(pa.table({"item": ["z"], "labeler": ["ann"], "label": [before.values[0]]}), round="r")
    after = store.round("r")
    assert (after.classes_given, after.positive) == (before.classes_given, before.positive)
    assert set(before.labelers) <= set(after.labelers)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_survives(store: Store, kind: str) -> None:
    """A round that was added with moments in milliseconds could never be read again; zones were spelled otherwise."""
    items = [f"i{k}" for k in range(30)]
    labels = pa.table({"item": items, "labeler": ["ann"] * 30, "label": ["0", "1"] * 15})
    before = Round(labels, None, pa.table({"item": items, "x": KINDS[kind](30)}), name="r")
    store.add(before, round="r", date="2026-11-09")
    assert everything(store.round("r")) == everything(before)


def test_classes_and_positive_reach_the_estimate(store: Store) -> None:
    """.739 of '0' directly would be .261 of '1' through the store."""
    given_round = Round(**small(1, gold=0.0), classes=["1", "0"], positive="0", name="2026-w46")
    store.add(given_round, round="2026-w46")
    plain = hero.estimate_rate(given_round, method="majority_vote")
    made = store.estimate("2026-w46", method="majority_vote").result
    assert (made.what, made.value) == (plain.what, plain.value)
    assert "'0'" in made.what


# Losses


def log_of(store: Store, table: str) -> list[Path]:
    return sorted(Path(store.path, table, "_delta_log").glob("*.json"))


@pytest.fixture(scope="module")
def late_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = hero.create_store(tmp_path_factory.mktemp("late") / "store")
    add(store, "2026-w45", 1, share=0.2, question="q")
    items = store.round("2026-w45").item_ids[store.round("2026-w45").gold < 0]
    store.add(pa.table({"item": items[:20], "gold": ["1", "0"] * 10}), round="2026-w45")
    add(store, "2026-w46", 2)
    return Path(store.path)


@pytest.fixture
def late(late_base: Path, tmp_path: Path) -> Store:
    """A round with gold that came late, and one that has it as history."""
    return hero.open_store(shutil.copytree(late_base, tmp_path / "store"))


def test_missing_gold_is_noticed(late: Store) -> None:
    """The answer would move from .730 to .195, with exit code 0."""
    log_of(late, "gold")[1].unlink()
    again = hero.open_store(late.path)
    assert refused_by(lambda: again.round("2026-w45")).code == "E406"
    assert refused_by(lambda: again.estimate("2026-w46")).code == "E406"
    assert not again.check().is_whole


@pytest.mark.slow
@pytest.mark.parametrize("table", ["labels", "gold", "items", "labelers", "rounds", "estimates"])
@pytest.mark.parametrize("how", ["lost", "empty", "blank", "without its rows"])
def test_the_last_commit_of_a_table_is_noticed(late: Store, table: str, how: str) -> None:
    """An acknowledged round, or its gold, would vanish with exit code 0."""
    late.estimate("2026-w46", method="majority_vote")
    last = log_of(late, table)[-1]
    if how == "lost":
        last.unlink()
    elif how == "without its rows":
        last.write_text(last.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    else:
        last.write_bytes(b"" if how == "empty" else b"\n\n")
    again = hero.open_store(late.path, version=None) if table != "rounds" else None

    def asked() -> Any:
        now = again or hero.open_store(late.path)
        return now.round("2026-w45"), now.round("2026-w46"), now.labelers(), now.estimates()

    error = refused_by(asked)
    assert error.code == "E406"
    assert refused_by(lambda: hero.open_store(late.path).check().raise_any()).code == "E406"


def test_tables_of_another_store_are_noticed(late: Store, tmp_path: Path) -> None:
    """History would lose its gold, and the method fall back to one that needs none."""
    other = hero.create_store(tmp_path / "other")
    add(other, "2026-w45", 1, question="q")
    shutil.rmtree(Path(late.path) / "gold")
    shutil.copytree(Path(other.path) / "gold", Path(late.path) / "gold")
    error = refused_by(lambda: hero.open_store(late.path).estimate("2026-w46"))
    assert error.code == "E406"
    assert "another store" in str(error)


def test_exchanged_files_are_noticed(late: Store) -> None:
    """A round would be estimated from the labels of another."""
    one, other = (
        next(Path(late.path, "labels").glob(f"{late.find(name).batches[0]}*")) for name in ("2026-w45", "2026-w46")
    )
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert refused_by(lambda: hero.open_store(late.path).round("2026-w46")).code == "E406"


@pytest.mark.parametrize("column", ["record", "columns"])
def test_bad_json_in_the_log_is_an_error_of_ours(late: Store, column: str) -> None:
    log = late.log()
    broken = dataclasses.replace(log.find("2026-w46"), **{column: '{"labels": '})
    assert refused_by(lambda: late.read(broken)).code == "E406"


@pytest.mark.slow
@pytest.mark.parametrize("between", range(8))
def test_a_copy_taken_while_somebody_adds_is_whole_or_refused(store: Store, tmp_path: Path, between: int) -> None:
    """A backup would miss the gold of a round that it holds."""
    add(store, "2026-w44", 1, question="q")
    order = ["rounds", "receipts", "labels", "gold", "items", "labelers", "estimates"]
    order = order if between % 2 else order[::-1]
    for position, name in enumerate(order):
        if position == between // 2 * 2:
            add(store, "2026-w45", 2)
        shutil.copytree(Path(store.path) / name, tmp_path / "copy" / name)
    try:
        copied = hero.open_store(tmp_path / "copy")
        names = [row.round for row in copied.rounds()]
        for name in names:
            same(store.round(name), copied.round(name))
        assert copied.check().is_whole
    except hero.HeroError as error:
        if error.code != "E406":
            raise


@pytest.mark.slow
def test_damage_is_said_or_does_not_matter() -> None:
    """Each kind of damage twice; `python benchmarks/store_damage.py --cases 400` is the long form."""
    found = store_damage.run(cases=int(os.environ.get("HERO_DAMAGES", "16")), rounds=3, seed=1)
    assert found["what was wrong"] == []
    assert found["refused"] > 0
    assert len(found["by damage"]) == 8


# Losses of power


@pytest.fixture(scope="module")
def powered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store before a change, which is made on copies of it."""
    path = tmp_path_factory.mktemp("power") / "base"
    store_power.build(path, rounds=4)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("change", list(store_power.CHANGES))
def test_a_loss_of_power_leaves_all_or_nothing(change: str, powered: Path, tmp_path: Path) -> None:
    """`python benchmarks/store_power.py` plays all ways after every write; here two in turn after every so many."""
    step = {"compact": 60, "add": 17}.get(change, 11)
    found = store_power.play(powered, tmp_path, change, step, store_power.random.Random(1))
    assert found["wrong"] == []
    assert found["writes that were not seen"] == []
    assert found["writes"] > 10


@pytest.mark.parametrize("forgotten", ["sync", "sync_folder"])
def test_a_write_that_is_not_synced_would_be_noticed(tmp_path: Path, forgotten: str) -> None:
    """The play would find nothing because it looks for nothing."""
    root = tmp_path / "drive"
    (root / "base").mkdir(parents=True)
    with store_power.recorded(root) as ops:
        disk.write_new(root / "file", b"1234")
    drive = store_power.Drive(root / "base")
    for op in ops:
        if op[0] != forgotten:
            drive.play(op)
    (tmp_path / "left").mkdir()
    drive.left("all", store_power.random.Random(1))(tmp_path / "left")
    kept = tmp_path / "left" / "file"
    assert not kept.exists() or kept.read_bytes() == b""


@pytest.mark.skipif(sys.platform == "darwin", reason="another call there")
def test_the_system_is_asked_to_sync_files_and_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was reported as added would be gone after a loss of power."""
    asked = []
    monkeypatch.setattr("os.fsync", lambda opened: asked.append(os.fstat(opened).st_ino))
    disk.write_new(tmp_path / "file", b"1234")
    assert asked[-1] == tmp_path.stat().st_ino  # its name, after its contents
    assert (tmp_path / "file").stat().st_ino in asked[:-1]


# Dates


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("eval-20261109-1", "2026-11-09"),
        ("20261102", "2026-11-02"),
        ("2026-w46-2", "2026-11-09"),
        ("release_2026-11-09", "2026-11-09"),
        ("2026-11-09 and 20261109", "2026-11-09"),
        ("gpt-4-0613-5", None),
        ("build-12345-12", None),
        ("x-2026-w99", None),
        ("v2026-11-09", None),
        ("2026-11-151", None),
        ("2026-11-31", None),
        ("1999-12-31", None),
        ("2026-11-2", None),
        ("gpt-4-2024-08-06 2026-w46", None),
    ],
)
def test_only_a_date_is_read_as_one(store: Store, name: str, day: str | None) -> None:
    """A build number would decide what history is."""
    assert day_in_name(name) == (None if day is None else datetime.date.fromisoformat(day))
    added = store.add(Round(**small(1)), round=name, question="q", dry_run=True)
    assert str(added.entry.date) == str(day)
    assert ("F804" in [one.code for one in added.findings]) == (day is None)


@pytest.mark.parametrize(
    "date", ["0613-05-01", "12345-12", "soon", "2026-w99", "eval 2026-11-09", datetime.date(613, 5, 1)]
)
def test_a_date_that_is_given_must_be_one(store: Store, date: Any) -> None:
    assert refused_by(lambda: add(store, "r", 1, date=date)).code == "E201"


def test_a_round_without_a_date_counts_as_of_the_day_of_adding(store: Store) -> None:
    """It would be history of what came before it, or of nothing."""
    add(store, "2020-w01", 1, question="q")
    add(store, "pilot", 2)
    add(store, "2099-w01", 3)
    assert store.find("pilot").date is None
    assert [row.round for row in store.rounds()] == ["2020-w01", "pilot", "2099-w01"]
    assert [row.round for row in store.history_of("pilot")] == ["2020-w01"]
    assert [row.round for row in store.history_of("2099-w01")] == ["2020-w01", "pilot"]
    assert [row.round for row in store.history_of("2099-w01", hero.History(since="2010-01-01"))] == ["2020-w01"]
    made = store.estimate("pilot", method="hero1")
    assert made.undated == ("pilot",)
    assert made.document["made_from"]["undated"] == ["pilot"]
    store.add(round="pilot", date="2019-05-01")  # the remedy
    assert str(store.find("pilot").date) == "2019-05-01"
    assert [row.round for row in store.history_of("2020-w01")] == ["pilot"]
    assert refused_by(lambda: store.add(round="pilot", date="2019-05-01")).code == "E404"
    same(Round(**small(2)), store.round("pilot"))


# Names, output, order


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--model", "--question", "--gold-source"])
@pytest.mark.parametrize("name", ["a\nb", "x" * 100_000])
def test_names_are_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, name: str) -> None:
    """A log of newlines and of 100,000 characters, which no table shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HERO_STORE", raising=False)
    ask("init")
    told = refused("add", str(EXAMPLE / "history"), "--round", "r", option, name)
    assert "E201" in told
    assert len(told) < 1_000
    assert strict(ask("rounds", "--json"))["rounds"] == []


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_recorded_is_said_of_what_is_recorded(late: Store, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    """The page would name a record that was never written."""
    from typer.testing import CliRunner

    from hero_eval.cli.main import app

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    arguments = ["estimate", "--round", "2026-w46", "--store", late.path, *(["--json"] if as_json else [])]
    assert ("hero reproduce" in CliRunner().invoke(app, arguments).stdout) != as_json
    monkeypatch.setattr(disk, "_write", full)
    done = CliRunner().invoke(app, [*arguments, "--level", "0.9"])
    assert done.exit_code == 2
    assert "E406" in done.stderr
    assert "0.90" in done.stdout or "90%" in done.stdout or '"level": 0.9' in done.stdout
    assert "hero reproduce" not in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("call", [("rounds",), ("rounds", "--json"), ("--help",), ("show", "nothing")])
def test_output_that_cannot_be_written_is_said(late: Store, call: tuple[str, ...]) -> None:
    """A traceback would be what a full disk says."""
    place = () if call == ("--help",) else ("--store", late.path)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hero_eval.cli.main", *call, *place],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr
    assert (b"E213" in done.stderr) == (call != ("show", "nothing"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_command_that_can_say_nothing_ends_as_it_should(late: Store) -> None:
    """A script would take a full disk for a mistake of the program."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hero_eval.cli.main", "rounds", "--store", late.path],
            stdout=full,
            stderr=full,
            check=False,
        )
    assert done.returncode == 2


# Checking and compacting


@pytest.mark.slow
def test_the_commands_check_and_compact(late: Store) -> None:
    told = ask("store", "check", "--store", late.path)
    assert "is whole" in told
    done = strict(ask("store", "compact", "--store", late.path, "--json"))
    assert done["files"] < done["files_before"]
    assert strict(ask("store", "check", "--store", late.path, "--json"))["whole"] == ["2026-w45", "2026-w46"]
    next(Path(late.path, "gold").glob("*.parquet")).unlink()
    assert "damaged rounds  '2026-w45', '2026-w46'" in ask("store", "check", "--store", late.path, code=2)
    assert "E406" in refused("store", "compact", "--store", late.path)


def test_the_store_of_a_configuration_is_checked(late: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HERO_STORE", raising=False)
    (tmp_path / "hero.toml").write_text(f'store = "{late.path}"\n', encoding="utf-8")
    assert "is whole" in ask("store", "check")


@pytest.mark.slow
def test_compacting_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version, an estimate or a row that somebody cites would be gone with the small files."""
    monkeypatch.setattr("hero_eval.store.commits.SMALL_FILES", 4)
    for number in range(8):
        add(store, f"2026-w{10 + number}", number, question="q")
    made = [store.estimate("2026-w12", method="hero1"), store.estimate("2026-w17", method="hero1")]
    store.remove("2026-w10")
    before = {row.round: store.round(row.round) for row in store.rounds()}
    done = store.compact()
    assert done.files < done.files_before / 2
    assert done.bytes < done.bytes_before
    for name in TABLES:
        there = [file.name for file in Path(store.path, name).glob("*.parquet")]
        assert there == [file.path for file in delta.list_files(store.place, name)], "files that nobody needs are left"
    for reader in (store, hero.open_store(store.path)):
        for name, one in before.items():
            assert everything(reader.round(name)) == everything(one)
        then = [row.version for row in reader.log().rows]
        assert [len(hero.open_store(store.path, version=then[at]).rounds()) for at in (0, 4, 7)] == [1, 5, 8]
        for one in made:
            assert reader.reproduce(one.estimate).text == one.text
    store.restore("2026-w10")
    add(store, "2026-w20", 20)
    same(Round(**small(0)), store.round("2026-w10"))
    assert store.compact().files <= done.files + 2
    assert store.check().is_whole


@pytest.mark.slow
def test_a_commit_cannot_hide_behind_a_checkpoint(store: Store) -> None:
    """A writer that was slow would take the number of a commit that was cleaned up, and its round be lost."""
    from hero_eval.store import commits

    for number in range(3):
        add(store, f"2026-w{10 + number}", number, question="q")
    store.compact()
    listed = delta.list_log(store.place, "rounds")
    assert listed is not None
    assert 2 not in listed.commits
    assert not commits._commit_next(store.place, "rounds", 2, [])
    assert delta.list_log(store.place, "rounds") == listed


@pytest.mark.slow
def test_many_rounds_are_read_from_tables_opened_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a history would take a minute, of which the labels are a second."""
    import deltalake

    for number in range(12):
        add(store, f"2026-w{10 + number}", number, question="q")
    store.compact()
    opened: list[str] = []

    class Counting(deltalake.DeltaTable):  # type: ignore[misc]
        def __init__(self, uri: str, **more: Any) -> None:
            opened.append(Path(uri).name)
            super().__init__(uri, **more)

    monkeypatch.setattr(deltalake, "DeltaTable", Counting)
    reader = hero.open_store(store.path)
    read = reader.history("2026-w21")
    assert len(read) == 11
    assert sorted(opened) == ["gold", "items", "labelers", "labels", "rounds"]
    assert len(reader.files_read) == len(set(reader.files_read)) == 4
    same(Round(**small(3)), read[3])


@pytest.mark.slow
def test_readers_go_on_while_files_are_replaced(store: Store) -> None:
    """A reader that had opened the tables would find files gone that nobody lost."""
    for number in range(3):
        add(store, f"2026-w{10 + number}", number, question="q")
    reader = hero.open_store(store.path)
    reader.round("2026-w10")
    reader.estimates()
    hero.open_store(store.path).compact()
    same(Round(**small(1)), reader.round("2026-w11"))
    assert reader.estimates() == []


# Stores of earlier versions


@pytest.fixture
def old(tmp_path: Path) -> Store:
    """A store that the version before records and digests wrote."""
    with tarfile.open(FORMAT_1) as packed:
        packed.extractall(tmp_path, filter="data")
    return hero.open_store(tmp_path / "format-1")


@pytest.mark.slow
def test_a_store_of_format_1_is_read_and_grows_on(old: Store) -> None:
    """A team would lose its history by updating."""
    assert [row.round for row in old.rounds()] == ["2026-w45", "2026-w46"]
    same(Round(**parts(3)[0]), old.round("2026-w45"))
    same(Round(**small(2)), old.round("2026-w46"))
    found = old.check()
    assert found.is_whole
    assert found.unbound == ("2026-w45", "2026-w46", "v8")
    assert "without digests" in ask("store", "check", "--store", old.path)
    assert "without digests" in ask("estimate", "--round", "2026-w46", "--method", "hero1", "--store", old.path)
    add(old, "2026-w47", 9)
    old.restore("v8")
    assert old.compact().left == ()
    assert "2026-w47" not in old.check().unbound
    for name, seed in (("2026-w46", 2), ("2026-w47", 9), ("v8", 4)):
        same(Round(**small(seed)), old.round(name))
    assert delta.open_table(old.place, "rounds").metadata().configuration["hero.format"] == "2"


@pytest.mark.parametrize("table", ["labels", "gold", "items"])
def test_losses_in_a_store_of_format_1_are_said(old: Store, table: str) -> None:
    """There are no digests, but there are counts."""
    log_of(old, table)[-1].unlink()
    log_of(old, table)[-1].unlink()
    assert (
        refused_by(lambda: [hero.open_store(old.path).round(name) for name in ("2026-w45", "2026-w46")]).code == "E406"
    )


def test_older_rows_are_bound_by_what_follows(old: Store) -> None:
    """A change of a row without a seal would go unnoticed for ever."""
    from hero_eval.store.log import _check_seals

    add(old, "2026-w47", 9)
    rows = old.log().rows
    _check_seals(old.place, rows)
    forged = (dataclasses.replace(rows[0], gold=rows[0].gold + 1), *rows[1:])
    assert refused_by(lambda: _check_seals(old.place, forged)).code == "E406"
    assert refused_by(lambda: _check_seals(old.place, rows[1:])).code == "E406"


def test_frames_of_pandas_stay_frames_of_pandas(store: Store) -> None:
    labels = pd.DataFrame(small(1)["labels"].to_pydict())
    store.add(Round(labels), round="2026-w46")
    assert store.round("2026-w46").frame_kind == "pandas"
