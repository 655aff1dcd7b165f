"""What a round offers to the rest: aligned columns, parts of itself, and the classes that rounds share."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bad_inputs import write_good

from hero_eval.classes import common_classes
from hero_eval.errors import InputError
from hero_eval.io.frames import to_input_table
from hero_eval.read import read_round
from hero_eval.round import Round


def small() -> Round:
    labels = pa.table(
        {
            "item": ["a", "a", "a", "b", "b", "c", "d"],
            "labeler": ["x", "y", "z", "x", "z", "y", "z"],
            "label": [1, 0, 1, 0, 1, 1, 0],
        }
    )
    items = pa.table(
        {
            "item": ["d", "c", "b", "a"],
            "x": [4.0, float("nan"), None, 1.0],
            "big": [True, False, None, True],
            "text number": [" 4", "3e1", "NA", ""],
            "word": ["Yes", "no", "null", "YES"],
            "mixed": ["1", "yes", "0", "0"],
            "infinite": [1.0, float("inf"), 2.0, 3.0],
            "empty": ["", None, "NA", "nan"],
            "prompt": ["pd", "pc", None, "pa"],
            "flag": ["1", "false", " No", "t"],
            "weight": [4, 3, 2, 1],
        }
    )
    return Round(labels, pa.table({"item": ["b", "d"], "gold": [1, 0]}), items, name="small")


def answers(*labels: Any, name: str = "round", **options: Any) -> Round:
    """A round in which one labeler gives these labels."""
    items = [f"i{k}" for k in range(len(labels))]
    return Round(pa.table({"item": items, "labeler": ["x"] * len(items), "label": labels}), name=name, **options)


def test_arrays_are_aligned_and_sorted() -> None:
    """Gold or weights out of line with the items would silently give wrong numbers."""
    made = small()
    assert list(made.item_ids) == ["a", "b", "c", "d"]
    assert made.labelers == ("x", "y", "z")
    assert list(made.label_item) == [0, 0, 0, 1, 1, 2, 3]
    assert list(made.label_labeler) == [0, 1, 2, 0, 2, 1, 2]
    assert list(made.label_answer) == [1, 0, 1, 0, 1, 1, 0]
    assert list(made.gold) == [-1, 1, -1, 0]
    assert made.weight is not None
    assert list(made.weight) == [1, 2, 3, 4]
    assert (made.n_items, made.n_labels, made.n_gold) == (4, 7, 2)
    assert made.classes == ("0", "1")


def test_arrays_are_read_only() -> None:
    """A method that changed a round would change the result of the next one."""
    made = small()
    for name in ("item_ids", "label_item", "label_labeler", "label_answer", "gold", "weight"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(made, name)[0] = 0


def test_covariates_are_numbers() -> None:
    """Booleans, text from CSV and missing values would each need handling by every method."""
    made = small()
    np.testing.assert_array_equal(made.covariate("x"), [1, np.nan, np.nan, 4])
    np.testing.assert_array_equal(made.covariate("big"), [1, np.nan, 0, 1])
    np.testing.assert_array_equal(made.covariate("text number"), [np.nan, np.nan, 30, 4])
    np.testing.assert_array_equal(made.covariate("word"), [1, np.nan, 0, 1])
    np.testing.assert_array_equal(made.covariate("empty"), [np.nan] * 4)
    assert made.numeric_columns() == ("x", "big", "text number", "word")


def test_what_is_no_covariate_is_said() -> None:
    """The error would come from numpy, without the round, the column or the value."""
    made = small()
    with pytest.raises(InputError, match=r"E112 round 'small', items column 'prompt', .*3 of 4.*'pa' \(item 'a'\)"):
        made.covariate("prompt")
    with pytest.raises(InputError, match=r"E112 .*'mixed', .*1 of 4 items, for example 'yes'"):
        made.covariate("mixed")
    with pytest.raises(InputError, match=r"E113 .*'infinite', .*inf \(item 'c'\)"):
        made.covariate("infinite")
    for absent in ("y", "weight", "item"):
        with pytest.raises(InputError, match=f"E202 round 'small' has no column '{absent}'. It has: x, big, "):
            made.covariate(absent)


def test_columns_are_listed() -> None:
    """The choice of covariates could not be explained."""
    made = small()
    assert "weight" not in made.column_names
    assert "item" not in made.column_names
    assert made.has_column("x")
    assert not made.has_column("weight")


def test_texts_have_no_null() -> None:
    """A missing prompt would crash the text model, or become the word "None"."""
    made = small()
    assert made.texts("prompt") == ["pa", "", "pc", "pd"]
    assert made.texts("x") == ["1", "", "", "4"]
    with pytest.raises(InputError, match="E202"):
        made.texts("nothing")


def test_flags_are_yes_or_no() -> None:
    """A moderation flag that is missing would count as "not flagged"."""
    made = small()
    np.testing.assert_array_equal(made.flags("flag"), [True, False, False, True])
    with pytest.raises(InputError, match=r"E112 round 'small', items column 'big', .*1 of 4 items, for example None"):
        made.flags("big")
    with pytest.raises(InputError, match=r"E112 .*for example 'pa'"):
        made.flags("prompt")
    with pytest.raises(InputError, match="E202"):
        made.flags("nothing")


def test_select_keeps_everything_in_line() -> None:
    """A subgroup's estimate would mix up its items."""
    whole = small()
    part = whole.select(np.array([False, True, False, True]))
    assert list(part.item_ids) == ["b", "d"]
    assert (part.labelers, part.values) == (whole.labelers, whole.values)
    assert list(part.label_item) == [0, 0, 1]
    assert list(part.label_labeler) == [0, 2, 2]
    assert list(part.label_answer) == [0, 1, 0]
    assert list(part.gold) == [1, 0]
    assert part.weight is not None
    assert list(part.weight) == [2, 4]
    np.testing.assert_array_equal(part.covariate("x"), [np.nan, 4])
    assert part.texts("prompt") == ["", "pd"]
    assert part.notes == ()
    assert whole.n_items == 4
    assert whole.select(np.zeros(4, np.bool_)).n_labels == 0
    with pytest.raises(ValueError, match="4 items"):
        whole.select(np.array([True]))


def test_without_labeler() -> None:
    """A judge used as covariate would be counted as a labeler, too."""
    rest, its_answers = small().without_labeler("z")
    assert rest.labelers == ("x", "y")
    assert list(rest.item_ids) == ["a", "b", "c"]  # only z had labeled d
    assert list(rest.label_item) == [0, 0, 1, 2]
    assert list(rest.label_labeler) == [0, 1, 0, 1]
    assert list(its_answers) == [1, 1, -1]
    assert rest.texts("prompt") == ["pa", "", "pc"]
    rest, its_answers = small().without_labeler("x")
    assert rest.labelers == ("y", "z")
    assert list(rest.label_labeler) == [0, 1, 1, 0, 1]
    assert list(its_answers) == [1, 0, -1, -1]
    with pytest.raises(InputError, match=r"E202 round 'small' has no labeler 'gpt'\. It has: x, y, z\."):
        small().without_labeler("gpt")


def test_shown_in_one_line_and_as_a_table(tmp_path: Path) -> None:
    """A notebook would show nothing useful, or run what is hidden in a name."""
    assert repr(read_round(write_good(tmp_path / "march"))) == (
        "Round 'march': 60 items, 240 labels by 4 labelers, 30 gold"
    )
    assert repr(answers(1)) == "Round 'round': 1 item, 1 label by 1 labeler, 0 gold"
    shown = answers("<b>good</b>", "bad", None, name="<script>")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;b&gt;good&lt;/b&gt;" in shown
    assert "F103" in shown


def test_survives_pickling() -> None:
    """Studies that run in several processes could not pass rounds on."""
    whole = small()
    copy = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(copy.label_answer, whole.label_answer)
    np.testing.assert_array_equal(copy.covariate("x"), whole.covariate("x"))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1], ("0", "1")),
        ([1, 1], ("0", "1")),
        (["yes"], ("0", "1")),
        ([10, 9, 2], ("2", "9", "10")),
        (["-1", "0", "1"], ("-1", "0", "1")),
        (["tie", "B", "A"], ("A", "B", "tie")),
        (["1", "2", "x"], ("1", "2", "x")),
    ],
)
def test_classes_have_a_natural_order(labels: list[Any], expected: tuple[str, ...]) -> None:
    """Ratings in alphabetical order (1, 10, 2) would make charts and ordinal targets wrong."""
    assert answers(*labels).classes == expected


def test_rounds_share_their_classes() -> None:
    """A round in which nobody chose one of the answers would have fewer classes than the others."""
    assert common_classes([answers(1, 2), answers(3, 5, 4)]) == ("1", "2", "3", "4", "5")
    assert common_classes([answers("yes", "no"), answers(1, 1)]) == ("0", "1")
    assert common_classes([answers("good"), answers("bad", "good")]) == ("bad", "good")
    given = answers("good", "bad", classes=["good", "fair", "bad"])
    assert common_classes([given, answers("bad")]) == ("good", "fair", "bad")
    assert given.classes == ("good", "fair", "bad")


def test_of_two_classes_the_positive_comes_last() -> None:
    """The rate of the good answers would be reported as the rate of defects."""
    assert common_classes([answers("defect", "fine", positive="defect"), answers("fine", "defect")]) == (
        "fine",
        "defect",
    )
    assert answers(0, 1, positive="no").classes == ("1", "0")
    assert answers("a", "b", classes=["a", "b"], positive="a").classes == ("b", "a")
    assert answers("a", "b", "c", positive="a").classes == ("a", "b", "c")


def test_rounds_that_contradict_each_other_are_refused() -> None:
    """Numbers of rounds with different classes would be mixed."""
    good = answers("a", "b", name="one", classes=["a", "b"])
    with pytest.raises(InputError, match="E205 rounds 'one' and 'two' were given different classes"):
        common_classes([good, answers("a", name="two", classes=["a", "c"])])
    with pytest.raises(InputError, match=r"E205 round 'two' has answers outside the classes 'a', 'b' .*: 'c'\."):
        common_classes([good, answers("a", "c", name="two")])
    with pytest.raises(InputError, match="E205 rounds 'one' and 'two' name different positive classes: 'a' and 'b'"):
        common_classes([answers("a", "b", name="one", positive="a"), answers("a", "b", name="two", positive="b")])


def test_yes_and_no_beside_maybe_is_refused() -> None:
    """Yes of one round and yes of another would be two classes, because only one of the rounds has a maybe."""
    with pytest.raises(InputError, match=r"E205 round 'two' has the answers '0', '1' .*round 'one' has 'maybe'"):
        common_classes([answers("yes", "no", "maybe", name="one"), answers("yes", "no", name="two")])


def test_a_single_answer_needs_classes() -> None:
    """A rate of one class among one would be 1, whatever the data."""
    with pytest.raises(InputError, match=r"E118 every answer of 'one' is 'good'.*classes="):
        _ = answers("good", "good", name="one").classes
    assert answers("good", classes=["bad", "good"]).classes == ("bad", "good")


def test_a_wide_dataframe_is_read_column_by_column() -> None:
    """Of 10,000 columns each was counted among all names, and put into a copy of all columns: 49 seconds."""
    table = pa.table({"item": ["a", "b"], **{f"judge_{j}": [j % 2, 1] for j in range(200)}})
    counted: list[str] = []

    def watch(_frame: Any, event: str, what: Any) -> None:
        if event == "c_call" and getattr(what, "__name__", "") == "count":
            counted.append(what.__name__)

    sys.setprofile(watch)
    try:
        found = to_input_table("labels", table)
    finally:
        sys.setprofile(None)
    assert len(counted) < 20
    assert found.table["judge_7"].to_pylist() == [1, 1]
