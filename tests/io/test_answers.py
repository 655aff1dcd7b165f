"""Rare and odd answers: forgiven, refused by name, left out when told to, or shown with their count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from engine_rounds import ENGINES, read_on
from make_rounds import binary_answers, codes, finding, labels_given, some_gold, tables_of
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.errors import HeroError
from hero_eval.io.values import alike

WORDS = ("bad", "good")
runner = CliRunner(env={"COLUMNS": "100"})


def drawn(seed: int = 1, n: int = 150, gold: float = 0.5, prefix: str = "i") -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.4).astype(int)
    labels = labels_given(rng, truth, binary_answers([0.85, 0.8, 0.75], [0.9, 0.8, 0.85]))
    return tables_of(labels, some_gold(rng, truth, gold), classes=WORDS, prefix=prefix)


def with_labels(tables: dict[str, pa.Table], changes: dict[int, Any]) -> dict[str, pa.Table]:
    """The tables with other answers in some rows of the labels."""
    said = tables["labels"].to_pydict()
    for row, answer in changes.items():
        said["label"][row] = answer
    return {**tables, "labels": pa.table(said)}


def rows_saying(tables: dict[str, pa.Table], answer: str, count: int) -> list[int]:
    return np.flatnonzero(np.array(tables["labels"]["label"].to_pylist()) == answer)[:count].tolist()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("godo", "good", True),
        ("goood", "good", True),
        ("god", "good", True),
        ("yess", "yes", True),
        ("violatoin", "violation", True),
        ("vioaltoin", "violation", True),
        ("not good", "not godo", True),
        ("good", "good", False),
        ("1", "2", False),
        ("1", "10", False),
        ("model_1", "model_2", False),
        ("10.5", "10.6", False),
        ("A", "B", False),
        ("grade A", "grade B", False),
        ("tie", "lie", False),
        ("correct", "incorrect", False),
        ("relevant", "irrelevant", False),
        ("safe", "unsafe", False),
        ("increase", "decrease", False),
        ("bad", "good", False),
        ("unsure", "unsafe", False),
    ],
)
def test_what_is_spelled_alike(one: str, other: str, expected: bool) -> None:
    assert alike(one, other) is expected
    assert alike(other, one) is expected


def test_case_and_space_are_forgiven_and_said() -> None:
    tables = drawn()
    first, second, third = rows_saying(tables, "good", 3)
    odd = with_labels(tables, {first: "Good ", second: "GOOD", third: " good"})
    plain, forgiven = (hero.Round(**of, positive="good") for of in (tables, odd))
    assert forgiven.values == plain.values == ("bad", "good")
    assert (forgiven.label_answer == plain.label_answer).all()
    note = finding(type("Notes", (), {"findings": forgiven.notes}), "F115")
    assert note.data == {"count": 2, "answers": {"GOOD": 1, "Good": 1}, "padded": 2}
    assert plain.notes == ()
    assert hero.Round(**odd, positive="Good").positive == "good"
    given = hero.Round(**odd, classes=["Bad", "Good"])
    assert given.values == ("Bad", "Good")
    assert (given.label_answer == plain.label_answer).all()


def test_answers_that_gold_or_the_classes_tell_apart_stay_apart() -> None:
    tables = tables_of(np.array([[0, 1, 2]] * 9), np.array([0, 1, 2] * 3), classes=("a", "A", "b"))
    assert hero.Round(**tables).values == ("A", "a", "b")
    without = {"labels": tables["labels"]}
    assert hero.Round(**without).values == ("A", "b")  # equally frequent: the first in order
    assert hero.Round(**without, classes=["a", "A", "b"]).values == ("a", "A", "b")


def test_rounds_that_differ_in_case_share_their_classes() -> None:
    past, tables = drawn(2, prefix="h"), drawn()
    shouted = with_labels(tables, {row: a.upper() for row, a in enumerate(tables["labels"]["label"].to_pylist())})
    history = hero.Round(**past, positive="good")
    plain = hero.estimate_rate(hero.Round(labels=tables["labels"]), history, method="hero1")
    loud = hero.Round(labels=shouted["labels"])
    for asked in (history, hero.fit_reliability(history)):
        found = hero.estimate_rate(loud, asked, method="hero1")
        assert (found.value, found.interval()) == (plain.value, plain.interval())
        assert "F115" in codes(found)
    assert "hero1" in hero.compare_methods(loud, history)


def test_a_rare_misspelling_is_refused_with_count_rows_and_class() -> None:
    tables = drawn()
    first, second = rows_saying(tables, "good", 2)
    odd = with_labels(tables, {first: "godo", second: "godo"})
    with pytest.raises(HeroError) as caught:
        hero.Round(**odd)
    (problem,) = caught.value.problems
    assert problem.code == "E123"
    for part in ("'godo'", "2 rows", f"rows {first + 1}, {second + 1}", "'good'", "classes=", "missing="):
        assert part in problem.message
    assert hero.Round(**odd, classes=["bad", "godo", "good"]).values == ("bad", "godo", "good")
    assert hero.Round(**odd, missing=["godo"]).n_labels == 448


def test_a_misspelled_gold_is_refused_too() -> None:
    """A single gold of a class that no label names would be a class of its own, and put the interval in doubt."""
    tables = drawn()
    gold = {"item": [f"i{number:05d}" for number in range(40)], "gold": ["good", "bad"] * 20}
    gold["gold"][6] = "goood"
    odd = {**tables, "gold": pa.table(gold)}
    with pytest.raises(HeroError) as caught:
        hero.Round(**odd)
    (problem,) = caught.value.problems
    assert problem.code == "E123"
    for part in ("'gold'", "'goood'", "1 row", "data row 7", "no label gives", "'good'"):
        assert part in problem.message
    assert "goood" in hero.Round(**odd, classes=["bad", "good", "goood"]).values
    assert hero.Round(**odd, missing=["goood"]).n_gold == 39
    said = with_labels(odd, {rows_saying(odd, "good", 1)[0]: "goood"})
    assert "goood" in hero.Round(**said).values  # what a labeler and gold say is an answer


def test_remarks_on_a_round_alone_speak_of_no_history() -> None:
    tables = drawn()
    unsure = with_labels(tables, dict.fromkeys(rows_saying(tables, "good", 3), "unsure"))
    found = hero.estimate_rate(hero.Round(**unsure, missing=["unsure"], name="first", positive="good"))
    assert [one.fact for one in found.findings if one.code == "F116"] == [
        "current 'first': answers that count as not given: 'unsure' 3"
    ]


def test_what_is_no_misspelling_is_not_refused() -> None:
    tables = drawn()
    often = with_labels(tables, dict.fromkeys(rows_saying(tables, "good", 40), "goods"))
    assert "goods" in hero.Round(**often).values
    in_gold = {**tables, "gold": pa.table({"item": ["i00000", "i00001"], "gold": ["goods", "good"]})}
    assert "goods" in hero.Round(**with_labels(in_gold, {0: "goods"})).values
    numbers = tables_of(np.array([[1, 1, 2]] * 60 + [[1, 2, 0]]), classes=("11", "1", "2"))
    assert hero.Round(**numbers).values == ("1", "2", "11")


def test_answers_that_count_as_not_given() -> None:
    tables = drawn()
    rows = rows_saying(tables, "good", 3)
    odd = with_labels(tables, dict(zip(rows, ("unsure", "Unsure", "skip"), strict=True)))
    made = hero.Round(**odd, missing=["unsure", "skip"], positive="good")
    assert (made.values, made.n_labels) == (("bad", "good"), 447)
    note = finding(type("Notes", (), {"findings": made.notes}), "F116")
    assert note.data == {"count": 3, "answers": {"Unsure": 1, "skip": 1, "unsure": 1}}
    assert [one.code for one in made.notes] == ["F116"]  # they are no empty rows as well
    gold = {**tables, "gold": pa.table({"item": ["i00000", "i00001"], "gold": ["unsure", "good"]})}
    assert hero.Round(**gold, missing="unsure").n_gold == 1
    with pytest.raises(HeroError, match="E201 missing names 'good'"):
        hero.Round(**odd, missing=["good"], positive="good")
    with pytest.raises(HeroError, match="E119"):
        hero.Round(labels=tables["labels"], missing=["good", "bad"])


@pytest.mark.slow
def test_other_answers_are_shown_with_their_count() -> None:
    tables = drawn()
    odd = with_labels(tables, dict.fromkeys(rows_saying(tables, "good", 20), "unsure"))
    history = hero.Round(**drawn(2, prefix="h"), positive="good")
    current = hero.Round(labels=odd["labels"])
    found = hero.estimate_rate(current, history, positive="good", method="hero1")
    said = finding(found, "F117")
    assert said.data == {"answers": {"unsure": 20}, "labels": 900}
    assert "'unsure' (20)" in said.fact
    assert "missing" not in said.fact  # what to do is said once, in its own field
    assert "`missing=`" in said.action
    left_out = hero.Round(labels=odd["labels"], missing=["unsure"])
    assert "F117" not in codes(hero.estimate_rate(left_out, history, positive="good", method="hero1"))
    named = hero.Round(labels=odd["labels"], classes=["bad", "unsure", "good"])
    assert "F117" not in codes(hero.estimate_rate(named, history, positive="good", method="hero1"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_reads_answers_alike(engine: str, tmp_path: Path) -> None:
    tables = drawn()
    rows = rows_saying(tables, "good", 6)
    odd = with_labels(tables, dict(zip(rows, ("Good ", "GOOD", "unsure", "Unsure", "godo", "godo"), strict=True)))
    for name, table in odd.items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    with pytest.raises(HeroError, match=r"E123.*'godo' in 2 rows"):
        read_on(engine, tmp_path, missing=["unsure"]).n_items  # noqa: B018
    read = read_on(engine, tmp_path, missing=["unsure", "godo"])
    assert (read.values, read.n_labels, read.n_items) == (("bad", "good"), 446, 150)
    notes = {note.code: note.data for note in read.notes}
    assert notes == {
        "F115": {"count": 2, "answers": {"GOOD": 1, "Good": 1}, "padded": 1},
        "F116": {"count": 4, "answers": {"Unsure": 1, "godo": 2, "unsure": 1}},
    }


@pytest.mark.slow
def test_the_command_takes_missing_and_check_shows_strangers(tmp_path: Path) -> None:
    tables = drawn()
    odd = with_labels(tables, dict.fromkeys(rows_saying(tables, "good", 20), "unsure"))
    for folder, of in (("now", odd), ("past", drawn(2, prefix="h"))):
        (tmp_path / folder).mkdir()
        for name, table in of.items():
            pyarrow.csv.write_csv(table, tmp_path / folder / f"{name}.csv")
    now, past = str(tmp_path / "now"), str(tmp_path / "past")
    shown = runner.invoke(app, ["check", now])
    assert "'unsure' (20)" in " ".join(shown.output.split())
    asked = ["estimate", now, "--history", past, "--positive", "good", "--method", "hero1"]
    wide, narrow = (runner.invoke(app, [*asked, *more, "--json"]) for more in ([], ["--missing", "unsure,skip"]))
    assert '"F117"' in wide.output
    assert '"F116"' in narrow.output
    assert '"F117"' not in narrow.output
    clash = runner.invoke(app, [*asked, "--missing", "good"])
    assert (clash.exit_code, "E201" in clash.output) == (2, True)


def test_a_store_leaves_out_what_is_missing_and_reads_what_it_took(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    tables = drawn()
    odd = with_labels(tables, dict.fromkeys(rows_saying(tables, "good", 3), "unsure"))
    store = hero.create_store(tmp_path / "store")
    store.add(odd["labels"], round="may", gold=odd["gold"], missing=["unsure"])
    assert store.round("may").values == ("bad", "good")


# Answers that are no classes


def many(values: list[str]) -> pa.Table:
    return pa.table({"item": [f"i{k}" for k in range(len(values))], "labeler": ["ann"] * len(values), "label": values})


def test_a_thousand_classes_are_refused_with_words() -> None:
    """A fit of a thousand classes would take all memory before it said anything."""
    with pytest.raises(HeroError, match=r"E201 label_kind is 'answer'.*1000 distinct numbers"):
        hero.Round(many([f"{k / 1000:.3f}" for k in range(1000)]), label_kind="answer")
    with pytest.raises(HeroError, match=r"E124 there are 300 different answers.*free text"):
        hero.Round(many([f"answer {chr(97 + k % 26)}{k}" for k in range(300)]))


def test_as_many_classes_as_people_use_are_classes() -> None:
    assert len(hero.Round(many([str(k % 50) for k in range(200)]), label_kind="answer").values) == 50
    named = [str(k) for k in range(60)]
    assert hero.Round(many(named), classes=named).classes == tuple(named)


def test_what_yes_and_no_were_read_as_is_said() -> None:
    """Whoever wrote yes and no would not know what the rate of '1' is."""
    said = {"item": ["a", "b"] * 2, "labeler": ["x", "x", "y", "y"]}
    (found,) = hero.Round(pa.table({**said, "label": ["yes", "no", "Yes", "no"]})).notes
    assert found.code == "F137"
    assert found.fact.endswith("'no' as '0', 'Yes' as '1', 'yes' as '1'")
    assert not hero.Round(pa.table({**said, "label": ["true", "false", "True", "1"]})).notes


def test_numbers_with_a_unit_are_told_from_strangers() -> None:
    """One judge wrote "4 stars" where the others wrote 4: ten classes for five, and no word of what they may be."""
    truth = [1 + (7 * i) % 5 for i in range(40)]
    rows = [(f"i{i}", "plain", str(said)) for i, said in enumerate(truth)]
    rows += [(f"i{i}", "wordy", f"{said} star" + "s" * (said > 1)) for i, said in enumerate(truth)]
    labels = pa.table(dict(zip(("item", "labeler", "label"), zip(*rows, strict=True), strict=True)))
    gold = pa.table({"item": [f"i{i}" for i in range(30)], "gold": truth[:30]})
    said = finding(hero.estimate_rate(hero.Round(labels, gold), method="ppi"), "F117")
    assert "--map '1 star=1,2 stars=2" in said.action
    meant = {name: name.split()[0] for name in labels["label"].to_pylist() if " " in name}
    mapped = hero.Round(labels, gold, map=meant)
    assert len(mapped.classes) == 5
    assert "F117" not in codes(hero.estimate_rate(mapped, method="ppi"))
