"""Labels of very many labelers leave an engine in parts and are worked on some at a time: the answers stay the same."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_rounds import ENGINES, one_table, read_on, write
from make_rounds import labels_given, near_answers, tables_of

import hero_eval as hero
from hero_eval.counting.covariate_sums import source_of
from hero_eval.counting.duckdb import DuckSession, share_of
from hero_eval.counting.tally import add, align
from hero_eval.estimation.gold_sampling import routing_z
from hero_eval.model.patterns import group_rows

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
OTHERS = [pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in ENGINES[1:]]
N_LABELERS, N_PAST = 260, 120


def written(folder: Path, *, more: int = 0) -> tuple[Path, Path]:
    """A current round with covariates and weights, and a history; `more` labelers of the former are unknown there."""
    rng = np.random.default_rng(7)
    answers = np.stack([near_answers(1, 2, 0.8, rng)[0] for _ in range(N_LABELERS)])
    truth = rng.integers(0, 2, 2 * N_PAST)
    labels = labels_given(rng, truth, answers, 4 / N_LABELERS)
    labels[:N_PAST, :more] = -1
    gold = np.where(np.arange(N_PAST) % 3 > 0, truth[:N_PAST], -1)
    x = {"x": truth + rng.normal(size=len(truth)), "weight": rng.uniform(0.5, 2, len(truth))}
    past = tables_of(labels[:N_PAST], gold, {name: of[:N_PAST] for name, of in x.items()}, prefix="h")
    now = tables_of(labels[N_PAST:], None, {name: of[N_PAST:] for name, of in x.items()}, prefix="c")
    return write(folder / "c", now), write(folder / "h", past)


def small_parts(monkeypatch: pytest.MonkeyPatch, labels: int = 200) -> None:
    """Parts, and blocks of rows, that are smaller than the rounds of these tests."""
    for place, size in (
        ("counting.long_labels.PART_LABELS", labels),
        ("counting.long_labels._BLOCK", 64),
        ("counting.tally._BLOCK", 32),
        ("model.patterns._MANY_ENTRIES", 100),
        ("model.patterns._KEY_BLOCK", 32),
        ("model.patterns._DENSE_CELLS", 10),
        ("model.rates._BLOCK", 32),
        ("model.rate_derivatives._BLOCK", 32),
        ("methods.current_rate._BLOCK", 32),
        ("estimation.diagnostics._BLOCK", 32),
        ("estimation.gold_sampling._BLOCK", 32),
        ("influence._BLOCK", 32),
    ):
        monkeypatch.setattr(f"hero_eval.{place}", size)


def numbers(made: hero.Estimate) -> list[float]:
    return [made.value, made.std_error, *made.interval()]


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("more", [0, 20])
def test_parts_give_the_answers_of_the_whole(
    engine: str, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred million labels by a thousand labelers would take 9 GB at once; in parts they must say the same, also
    where history does not know some of the labelers."""
    paths = written(tmp_path, more=more)
    asked: tuple[dict[str, Any], ...] = ({"method": "hero1"}, {"method": "hero2", "covariates": ["x"]})
    whole = [read_on("memory", path, covariates=["x"]) for path in paths]
    expected = [hero.estimate_rate(*whole, interval="influence", **options) for options in asked]
    small_parts(monkeypatch)
    parts = [read_on(engine, path, covariates=["x"]) for path in paths]
    found = [hero.estimate_rate(*parts, interval="influence", **options) for options in asked]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(numbers(one), numbers(other), rtol=0, atol=1e-8)
        assert (one.n_items, one.n_gold) == (other.n_items, other.n_gold)


@pytest.mark.slow
def test_the_size_of_parts_and_blocks_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate would depend on how many labels fit into memory."""
    paths = written(tmp_path)
    made = []
    for size in (10**7, 150):
        if size < 10**7:
            small_parts(monkeypatch, size)
        rounds = [read_on("duckdb", path) for path in paths]
        made.append(hero.estimate_rate(*rounds, method="hero1", interval="influence"))
        gc.collect()
    for one in made[1:]:
        np.testing.assert_allclose(numbers(one), numbers(made[0]), rtol=0, atol=1e-9)
        assert [finding.code for finding in one.findings] == [finding.code for finding in made[0].findings]


@pytest.mark.slow
def test_repeats_and_contradictions_are_seen_in_every_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label that is there twice would count twice, and two labels of one labeler for one item would pass."""
    small_parts(monkeypatch)
    path = written(tmp_path)[0]
    labels = pq.read_table(path / "labels.parquet")
    plain = read_on("duckdb", path)
    pq.write_table(pa.concat_tables([labels, labels.slice(17, 30)]), path / "labels.parquet")
    repeated = read_on("duckdb", path)
    assert repeated.n_labels == plain.n_labels
    assert [one.data["count"] for one in repeated.notes if one.code == "F101"] == [30]
    turned = ["1" if said == "0" else "0" for said in labels["label"].to_pylist()]
    other = labels.slice(17, 1).set_column(2, "label", pa.array(turned[17:18]))
    pq.write_table(pa.concat_tables([labels, other.cast(labels.schema)]), path / "labels.parquet")
    with pytest.raises(hero.InputError, match="E108"):
        read_on("duckdb", path).n_items  # noqa: B018


def test_problems_of_all_parts_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user would mend what the first part shows, and be refused again for the next."""
    path = written(tmp_path)[1]
    gold = pq.read_table(path / "gold.parquet")
    first = gold.slice(0, 1).to_pylist()[0]
    other = pa.table({"item": [first["item"]], "gold": ["1" if str(first["gold"]) == "0" else "0"]})
    told = pa.concat_tables([gold, other.cast(gold.schema)])
    pq.write_table(told, path / "gold.parquet")
    small_parts(monkeypatch)
    with pytest.raises(hero.InputError, match="E110"):
        read_on("duckdb", path).n_items  # noqa: B018


def test_several_rounds_add_up_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history of several large rounds would be sorted label by label, in ten times the memory of its labels."""
    paths = written(tmp_path, more=20)
    tallies = [source_of(read_on("memory", path)).tally() for path in paths]
    known = tallies[1].labelers
    whole = add(tallies)
    before = align(whole, known, whole.values)
    small_parts(monkeypatch)
    parts = add([source_of(read_on("duckdb", path)).tally() for path in paths])
    after = align(parts, known, parts.values)
    assert before.labels_set_aside == after.labels_set_aside > 0
    assert before.items_set_aside == after.items_set_aside
    for one, other in ((parts.labels_by_answer(), whole.labels_by_answer()),):
        np.testing.assert_allclose(one, other)
    one, other = (
        sorted((row.indices.tolist(), int(gold), float(count)) for row, gold, count in rows)
        for rows in (
            zip((of.cells[[r]] for r in range(of.n_rows)), of.gold, of.counts, strict=True)
            for of in (before.patterns, after.patterns)
        )
    )
    assert [row[:2] for row in one] == [row[:2] for row in other]
    assert [row[2] for row in one] == pytest.approx([row[2] for row in other])


@pytest.mark.parametrize("engine", OTHERS)
def test_where_gold_went_is_seen_alike(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that look alike are counted together: what gold depends on must come out as it does item by item."""
    rng = np.random.default_rng(3)
    labels = rng.integers(-1, 3, (300, 5))
    labels[:, 0] = rng.integers(0, 3, 300)
    disputed = np.array([len(set(row[row >= 0].tolist())) > 1 for row in labels])
    gold = np.where(rng.random(300) < np.where(disputed, 0.6, 0.2), rng.integers(0, 3, 300), -1)
    path = write(tmp_path / "h", tables_of(labels, gold))
    expected = routing_z([read_on("memory", path)])
    monkeypatch.setattr("hero_eval.estimation.gold_sampling._BLOCK", 16)
    found = routing_z([read_on(engine, path)])
    assert found == pytest.approx(expected, abs=1e-9)
    assert len(found) > 5


def test_rows_met_again_are_grouped_as_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few of millions of rows are met again only these are looked at, and must end in the same groups."""
    rng = np.random.default_rng(5)
    for n_kinds in (20, 400, 100_000):
        kinds = rng.integers(0, n_kinds, 300)
        drawn = [np.sort(np.random.default_rng(kind).choice(500, 3, replace=False)) for kind in kinds]
        cells, ends = np.concatenate(drawn), np.arange(301) * 3
        gold = kinds % 3 - 1
        monkeypatch.setattr("hero_eval.model.patterns._KEY_BLOCK", 32)
        first, group = group_rows(cells, ends, gold, 500)
        spelled = [(tuple(row), int(of)) for row, of in zip(drawn, gold, strict=True)]
        seen = list(dict.fromkeys(spelled))
        assert group.tolist() == [seen.index(row) for row in spelled]
        assert first.tolist() == [spelled.index(row) for row in seen]


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("form", ["tables", "one"])
def test_gold_of_an_item_with_empty_labels_is_set_aside(engine: str, form: str, tmp_path: Path) -> None:
    """A labeler who skipped an item that the expert judged made DuckDB refuse the file (E111) that memory reads."""
    rng = np.random.default_rng(1)
    tables = tables_of(rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40))
    items, said = (tables["labels"][name].to_pylist() for name in ("item", "label"))
    said = [None if item == items[0] else label for item, label in zip(items, said, strict=True)]
    place = tables["labels"].column_names.index("label")
    tables["labels"] = tables["labels"].set_column(place, "label", pa.array(said, tables["labels"]["label"].type))
    path = write(tmp_path / "r", tables if form == "tables" else {"labels": one_table(tables)})
    one, other = read_on(engine, path), read_on("memory", path)
    assert (one.n_items, one.n_labels, one.n_gold) == (other.n_items, other.n_labels, other.n_gold) == (39, 117, 39)
    assert [(note.code, note.data["count"]) for note in one.notes] == [
        (note.code, note.data["count"]) for note in other.notes
    ]


@pytest.mark.parametrize(
    ("own", "taken"),
    [("18.8 GiB", 18.8 / 3), ("4.0 GiB", 2.0), ("1.5GB", 1.5), ("512 MiB", 0.5)],
)
def test_a_session_leaves_memory_to_others(own: str, taken: float) -> None:
    """Two large rounds might each take four fifths of the machine, and the estimate on them found none."""
    text = share_of(own)
    assert text.endswith("KiB")
    assert float(text[:-3]) / 2**20 == pytest.approx(taken, rel=1e-6)


def test_a_limit_that_cannot_be_read_stays() -> None:
    """A version of DuckDB that writes its limit in another way would not start."""
    assert share_of("80%") == "80%"
    assert DuckSession().query("SELECT 1 AS one").to_pylist() == [{"one": 1}]
