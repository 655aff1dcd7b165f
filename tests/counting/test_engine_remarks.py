"""What is refused and remarked of rounds that an engine counts: the same as of rounds in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_rounds import ENGINES, read_on, write
from make_rounds import codes, tables_of

import hero_eval as hero
from hero_eval.counting.large_round import LargeRound

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
WHO = ("ann", "bob", "cid")
SLOW = [pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in ENGINES]


def graded(folder: Path, seed: int, *, binary: bool) -> Path:
    """Grades from 1 to 5 by three labelers, or whether they are above 3, with gold for half of the items."""
    rng = np.random.default_rng(seed)
    grade = rng.integers(1, 6, 120)
    said = np.clip(grade[:, None] + rng.integers(-1, 2, (120, 3)), 1, 5)
    gold = np.where(np.arange(120) < 60, grade, -1)
    if binary:
        said, gold = (said > 3).astype(int), np.where(gold < 0, -1, gold > 3)
    return write(folder, tables_of(said, gold, labelers=WHO, prefix=folder.name))


@pytest.mark.parametrize("engine", SLOW)
@pytest.mark.parametrize("large", ["current", "history"])
def test_rounds_on_different_scales_are_refused(tmp_path: Path, engine: str, large: str) -> None:
    """9,996 of 10,000 items would be good: grades from 1 to 5 lie at the end of a history of 0 and 1."""
    paths = {"current": graded(tmp_path / "c", 1, binary=False), "history": graded(tmp_path / "h", 2, binary=True)}
    rounds = {name: read_on(engine if name == large else "memory", path) for name, path in paths.items()}
    with pytest.raises(hero.InputError, match=r"E210 .* from 0 to 1 in 'h' and go from 1 to 5 in 'c'"):
        hero.estimate_rate(rounds["current"].without_gold(), rounds["history"], method="hero1", positive="5")


def test_saved_counts_on_another_scale_are_refused(tmp_path: Path) -> None:
    """Counts that were saved once would teach of a scale that nobody uses any more."""
    hero.save_counts(hero.read_round(graded(tmp_path / "h", 2, binary=True)), tmp_path / "past.parquet")
    past = hero.read_round(tmp_path / "past.parquet")
    assert isinstance(past, LargeRound)
    with pytest.raises(hero.InputError, match="E210"):
        hero.estimate_rate(hero.read_round(graded(tmp_path / "c", 1, binary=False)), past, positive="5")


@pytest.mark.parametrize("engine", SLOW)
def test_an_answer_that_nobody_gave_is_told(tmp_path: Path, engine: str) -> None:
    """A typo in `missing` would change nothing, and nobody would know."""
    path = graded(tmp_path / "c", 1, binary=False)
    told = read_on(engine, path, missing=["unsuer"])
    assert [one.data for one in told.notes if one.code == "F132"] == [{"missing": ["unsuer"], "map": []}]
    assert told.idle == {("missing", "unsuer")}
    assert "F132" in codes(hero.estimate_rate(told, method="majority_vote", positive="5"))
    table = pq.read_table(path / "labels.parquet")
    table = table.set_column(2, "label", pa.array(["unsure", *map(str, table["label"].to_pylist()[1:])]))
    pq.write_table(table, path / "labels.parquet")
    met = read_on(engine, path, missing=["unsure"])
    assert "F132" not in [one.code for one in met.notes]


@pytest.mark.parametrize("engine", SLOW)
def test_how_often_each_labeler_gave_each_answer(tmp_path: Path, engine: str) -> None:
    """Scales are told apart by these counts."""
    path = graded(tmp_path / "c", 1, binary=False)
    one, plain = read_on(engine, path), read_on("memory", path)
    said = np.zeros((3, 5))
    np.add.at(said, (plain.label_labeler, plain.label_answer), 1)
    np.testing.assert_array_equal(one.labels_by_answer(), said)
    assert one.labels_by_labeler().tolist() == said.sum(axis=1).tolist()
