"""Single items: probabilities by hand, influences by leaving an item out, and calibration against hidden gold."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from asking import ask, refused
from hypothesis import given
from hypothesis import strategies as st
from make_rounds import GOOD, Pair, draw_pair, options_of

import hero_eval as hero
from hero_eval import charts
from hero_eval.estimation.ask import ask as ask_question
from hero_eval.estimation.options import Options
from hero_eval.methods.registry import all_methods
from hero_eval.model.calibration import calibration
from hero_eval.model.item_posteriors import ItemPosteriors
from hero_eval.targets import item_calibration as target

EXAMPLE = files("hero_eval") / "examples" / "defect"


@pytest.fixture(scope="module")
def example() -> tuple[hero.Round, hero.Round]:
    return hero.read_round(Path(str(EXAMPLE)) / "current"), hero.read_round(Path(str(EXAMPLE)) / "history")


def own_gold(one: hero.Round, share: float) -> hero.Round:
    """The round with some gold of its own, at random."""
    rng = np.random.default_rng(5)
    labels = pd.DataFrame(
        {
            "item": one.item_ids[one.label_item],
            "labeler": np.array(one.labelers, object)[one.label_labeler],
            "label": np.array(one.values, object)[one.label_answer],
        }
    )
    first = labels.drop_duplicates("item").rename(columns={"label": "gold"})[["item", "gold"]]
    return hero.Round(labels, first[rng.random(len(first)) < share], name="own", classes=["0", "1"])


# ------------------------------------------------------------------------------------------------ probabilities


def test_hero1_by_hand(pair: Pair) -> None:
    """Bayes' rule, label by label: rate times the labelers' shares of what they said."""
    analysis = ask_question([pair.current], pair.history, Options("hero1"))
    rate, fitted = analysis.fits[0].rates, analysis.question.reliability
    assert fitted is not None
    answers, place = fitted.fit.latent.answers, {name: j for j, name in enumerate(fitted.labelers)}
    table = hero.estimate_rate(pair.current, pair.history, method="hero1").items("pandas").set_index("item")
    one = pair.current
    for number in (0, 7, 31):
        joint = rate.copy()
        for label in np.flatnonzero(one.label_item == number):
            joint = joint * answers[place[one.labelers[one.label_labeler[label]]], one.label_answer[label]]
        row = table.loc[one.item_ids[number]]
        assert row["probability_1"] == pytest.approx(joint[1] / joint.sum(), rel=1e-9)
        assert row["labels"] == int((one.label_item == number).sum())
        assert not row["has_gold"]
        assert row["gold"] is None


@pytest.mark.parametrize("method", ["dawid_skene", "gold_proportion", "hero1", "hero3"])
def test_mean_of_items_is_the_estimate(pair: Pair, method: str) -> None:
    found = hero.estimate_rate(pair.current, pair.history, method=method)
    table = found.items("pandas")
    assert len(table) == found.n_items
    assert table["expected"].mean() == pytest.approx(found.value, abs=1e-6)
    both = table[["probability_0", "probability_1"]].sum(axis=1)
    assert both.to_numpy() == pytest.approx(np.ones(len(table)))
    assert (table["class"] == np.where(table["probability_1"] > table["probability_0"], "1", "0")).all()


@pytest.mark.parametrize("method", ["ppi", "balanced", "hero3"])
def test_own_gold(pair: Pair, method: str) -> None:
    """An item with gold is what its gold says, and the others make up the mean."""
    current = own_gold(pair.current, 0.3)
    found = hero.estimate_rate(current, pair.history, method=method)
    table = found.items("pandas")
    golden = table[table["has_gold"]]
    assert len(golden) == current.n_gold
    assert (golden["class"] == golden["gold"]).all()
    assert (golden["probability_1"] == (golden["gold"] == "1")).all()
    assert table["expected"].mean() == pytest.approx(found.value, abs=1e-3)


def test_covariates(pair: Pair) -> None:
    table = hero.estimate_rate(pair.current, pair.history, **options_of("hero2")).items("pandas")
    assert len(table) == pair.current.n_items
    assert table["probability_1"].between(0, 1).all()
    table = hero.estimate_rate(pair.current, pair.history, method="hero3", covariates=["x"]).items("pandas")
    assert table["probability_1"].between(0, 1).all()


@pytest.mark.slow
def test_influence_is_what_leaving_an_item_out_does(pair: Pair) -> None:
    """To first order: within a fifth of the typical influence, of 200 items."""
    found = hero.estimate_rate(pair.current, pair.history, method="hero1")
    table = found.items("pandas")
    scale = float(np.sqrt((table["influence"] ** 2).mean()))
    for number in (0, 50, 100, 150):
        rest = pair.current.select(np.arange(pair.current.n_items) != number)
        without = hero.estimate_rate(rest, pair.history, method="hero1").value
        assert found.value - without == pytest.approx(table["influence"][number], abs=0.2 * scale)


def test_nothing_is_worked_out_before_it_is_asked_for(pair: Pair) -> None:
    found = hero.estimate_rate(pair.current, pair.history, method="hero3")
    assert found.item_results is not None
    posteriors = found.item_results.rounds[0].posteriors
    assert posteriors is not None
    assert "by_item" not in posteriors.__dict__
    found.items()
    assert "by_item" in posteriors.__dict__


def test_doubt_of_the_round_is_in_every_item(pair: Pair) -> None:
    found = hero.estimate_rate(pair.current, pair.history, method="hero3")
    assert found.item_results is not None
    posteriors = found.item_results.rounds[0].posteriors
    assert posteriors is not None
    assert posteriors.doubt is not None
    surer = replace(posteriors, doubt=None)
    assert (posteriors.by_item**2).sum(axis=1).mean() < (surer.by_item**2).sum(axis=1).mean()


def test_unknown_rate_has_unknown_items() -> None:
    """One label for each item tells Dawid and Skene's method nothing."""
    labels = pd.DataFrame({"item": [f"i{i}" for i in range(40)], "labeler": "a", "label": [0, 1] * 20})
    table = hero.estimate_rate(hero.Round(labels), method="dawid_skene").items("pandas")
    assert table["probability_1"].isna().all()
    assert table["influence"].isna().all()
    assert table["class"].isna().all()


@pytest.mark.slow
@given(
    st.lists(st.floats(0.01, 0.99), min_size=2, max_size=12),
    st.floats(0.05, 0.95),
)
def test_moved_to_a_mean(chances: list[float], rate: float) -> None:
    """The naive twin: bisection on one shift of all logits."""
    shares = np.array([[1 - chance, chance] for chance in chances])
    n = len(shares)
    made = ItemPosteriors(shares, np.arange(n), np.zeros(n, bool), np.ones(n), np.array([1 - rate, rate]))
    logits = np.log(shares[:, 1] / shares[:, 0])
    low, high = -4.0, 4.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-logits - middle))).mean() < rate else (low, middle)
    assert made.by_item[:, 1] == pytest.approx(1 / (1 + np.exp(-logits - low)), abs=1e-5)


# ------------------------------------------------------------------------------------------------ other questions


def test_difference_has_both_sides(pair: Pair) -> None:
    other = draw_pair(3)
    found = hero.estimate_difference(pair.current, other.current, pair.history, method="hero1")
    table = found.items("pandas")
    assert table["side"].value_counts().to_dict() == {"a": pair.current.n_items, "b": other.current.n_items}
    means = table.groupby("side")["expected"].mean()
    assert means["a"] - means["b"] == pytest.approx(found.value, abs=1e-6)
    alone = hero.estimate_rate(other.current, pair.history, method="hero1").items("pandas")
    assert table.loc[table["side"] == "b", "influence"].to_numpy() == pytest.approx(-alone["influence"].to_numpy())


def test_moderation_has_the_prevalence(pair: Pair) -> None:
    flagged = pair.current
    labels = pd.DataFrame(
        {
            "item": flagged.item_ids[flagged.label_item],
            "labeler": np.array(flagged.labelers, object)[flagged.label_labeler],
            "label": np.array(flagged.values, object)[flagged.label_answer],
        }
    )
    items = pd.DataFrame({"item": flagged.item_ids, "flag": np.arange(flagged.n_items) % 3 == 0})
    current = hero.Round(labels, items=items, name="current", classes=["0", "1"])
    found = hero.estimate_moderation(current, pair.history, flag="flag", method="hero1")
    table = found.prevalence.items("pandas")
    assert table["flagged"].sum() == (np.arange(flagged.n_items) % 3 == 0).sum()
    assert table["expected"].mean() == pytest.approx(found.prevalence.value, abs=1e-6)
    with pytest.raises(hero.InputError, match="not a mean over items"):
        found.recall.items()


def test_win_rate_and_other_class(pair: Pair) -> None:
    found = hero.estimate_rate(pair.current, pair.history, method="hero1")
    other = found.distribution["0"].items("pandas")
    assert other["expected"].to_numpy() == pytest.approx(other["probability_0"].to_numpy())
    assert other["influence"].to_numpy() == pytest.approx(-found.items("pandas")["influence"].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_every_library(pair: Pair, backend: str) -> None:
    table = hero.estimate_rate(pair.current, pair.history, method="hero1").items(backend)
    assert type(table).__module__.startswith(backend)


# ------------------------------------------------------------------------------------------------ refusals


def test_methods_without_probabilities(pair: Pair) -> None:
    found = hero.estimate_rate(pair.current, pair.history, method="majority_vote")
    with pytest.raises(hero.InputError, match="E128 majority_vote gives no probabilities of single items"):
        found.items()


def test_counted_rounds_have_no_items(example: tuple[hero.Round, hero.Round]) -> None:
    folder = Path(str(EXAMPLE))
    large = hero.read_round(folder / "current", engine="duckdb")
    found = hero.estimate_rate(large, example[1], method="hero1")
    with pytest.raises(hero.InputError, match=r"E128 round .current. was counted without its items"):
        found.items()
    with pytest.raises(hero.InputError, match=r"E128 .current. was counted without items"):
        hero.item_calibration(large, example[1])


# ------------------------------------------------------------------------------------------------ calibration


def test_calibration_by_hand() -> None:
    """Two golds in each of two bins: .1, .2 (one right of two) and .9, .9 (both): gaps .35 and .1, mean .225."""
    chance = np.array([0.1, 0.2, 0.9, 0.9])
    found = calibration(np.column_stack([1 - chance, chance]), np.array([0, 1, 1, 1]))
    assert [one.n for one in found.bins] == [2, 2]
    assert found.error == pytest.approx(0.5 * 0.35 + 0.5 * 0.1)
    assert found.brier == pytest.approx((0.01 + 0.64 + 0.01 + 0.01) / 4)
    assert found.brier_of_mean == pytest.approx(0.25 * 0.75)
    by_chance = math.sqrt(2 / math.pi) * (math.sqrt(0.09 + 0.16) + math.sqrt(0.18)) / 4
    assert found.error_by_chance == pytest.approx(by_chance)


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_calibration_twin(pairs: list[tuple[float, bool]]) -> None:
    chance, hit = np.array([one for one, _ in pairs]), np.array([int(two) for _, two in pairs])
    found = calibration(np.column_stack([1 - chance, chance]), hit)
    n_bins = min(max(len(hit) // 20, 4), 10)
    bins: dict[int, list[int]] = {}
    for place, one in enumerate(chance):
        bins.setdefault(min(int(one * n_bins), n_bins - 1), []).append(place)
    gaps = [len(of) / len(hit) * abs(chance[of].mean() - hit[of].mean()) for of in bins.values()]
    assert found.error == pytest.approx(sum(gaps), abs=1e-12)
    assert all(one.observed_low <= one.observed <= one.observed_high for one in found.bins)


def test_three_classes_count_each_against_the_others() -> None:
    chance = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    found = calibration(chance, np.array([2, 0]))
    assert sum(one.n for one in found.bins) == 6
    assert found.brier == pytest.approx((0.04 + 0.09 + 0.25 + 0.16 + 0.09 + 0.01) / 4)


def test_hidden_gold_is_hidden(pair: Pair) -> None:
    """Rounds with gold are played whole; the gold of a single one in folds, each gold once."""
    blind = pair.history.without_gold()
    method = all_methods()["hero1"]
    plays, said = target._plays((pair.history, blind), method)
    assert "a fifth" in said
    assert len(plays) == target.FOLDS
    assert np.array_equal(sum(one.hidden.astype(int) for one in plays), (pair.history.gold >= 0).astype(int))
    assert all((one.current.gold[one.hidden] == -1).all() and not one.history for one in plays)
    plays, said = target._plays((pair.history, own_gold(pair.current, 0.5)), method)
    assert "a whole round" in said
    assert all(one.current.n_gold == 0 for one in plays)
    assert [one.history[0].n_gold > 0 for one in plays] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hero1", "hero3"])
def test_calibrated_where_the_model_is_right(method: str) -> None:
    """Gold for every item of two rounds: the error is what chance makes of it, give or take two thousandths a round."""
    one, two = draw_pair(11, replace(GOOD, gold_rate=1.0)), draw_pair(12, replace(GOOD, gold_rate=1.0))
    found = hero.item_calibration(one.current, [one.history, two.history], method=method)
    assert found.n_gold == one.history.n_items + two.history.n_items
    assert found.error < found.error_by_chance + 0.04
    assert found.brier < found.brier_of_mean
    assert [finding.code for finding in found.findings] == ["F321"]


@pytest.mark.slow
def test_little_gold_is_said(example: tuple[hero.Round, hero.Round]) -> None:
    current, history = example
    thin = hero.Round._of(
        replace(history._contents, gold=np.where(np.cumsum(history.gold >= 0) <= 20, history.gold, -1))
    )
    found = hero.item_calibration(current, thin, method="hero1")
    assert found.n_gold == 20
    assert [finding.code for finding in found.findings] == ["F323", "F321"]
    with pytest.raises(hero.SupportError, match="E128 calibration asks for gold to hide"):
        hero.item_calibration(current, history.without_gold(), method="dawid_skene")


def test_wrong_probabilities_are_said() -> None:
    found = calibration(np.tile([0.1, 0.9], (100, 1)), np.zeros(100, int))
    assert [one.code for one in target._findings(found, "hidden", ())] == ["F322", "F321"]


@pytest.mark.slow
def test_calibration_shows_itself(example: tuple[hero.Round, hero.Round]) -> None:
    found = hero.item_calibration(*example, method="hero1")
    assert "expected calibration error" in repr(found)
    assert "<table" in found._repr_html_()
    assert list(found.to_frame("pandas").columns)[:4] == ["low", "high", "n", "predicted"]
    chart = charts.calibration(found)
    assert chart.columns["n"] == [one.n for one in found.bins]
    assert chart.svg().startswith("<svg")


# ------------------------------------------------------------------------------------------------ the command


ITEMS = ("items", str(EXAMPLE / "current"), "--history", str(EXAMPLE / "history"), "--method", "hero1")


@pytest.mark.slow
def test_command_writes_and_shows(tmp_path: Path, example: tuple[hero.Round, hero.Round]) -> None:
    expected = hero.estimate_rate(*example, method="hero1").items("pyarrow")
    for ending in ("csv", "parquet"):
        place = tmp_path / f"items.{ending}"
        shown = ask(*ITEMS, "--output", str(place))
        assert "Items that move the estimate most" in shown
        assert "Calibration" in shown
        assert all(len(line) <= 80 for line in shown.splitlines() if str(tmp_path) not in line)
        read = pyarrow.csv.read_csv(place) if ending == "csv" else pyarrow.parquet.read_table(place)
        assert read.column_names == expected.column_names
        assert read["probability_1"].to_pylist() == pytest.approx(expected["probability_1"].to_pylist())
        assert read["item"].to_pylist() == expected["item"].to_pylist()


@pytest.mark.slow
def test_command_as_json(tmp_path: Path) -> None:
    found = json.loads(ask(*ITEMS, "--json", "--no-calibration"))
    assert found["target"] == "items"
    assert found["calibration"] is None
    assert len(found["items"]) == 532
    place = tmp_path / "items.csv"
    found = json.loads(ask(*ITEMS, "--json", "--output", str(place), "--chart", str(tmp_path / "c.svg")))
    assert found["output"] == str(place)
    assert "items" not in found
    assert 0 < found["calibration"]["expected_calibration_error"] < 1
    assert (tmp_path / "c.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--output", "items.xlsx"), "E201"),
        (("--chart", "c.gif"), "E201"),
        (("--chart", "c.svg", "--no-calibration"), "E204"),
        (("--method", "majority_vote"), "E128"),
        (("--engine", "duckdb"), "E128"),
    ],
)
def test_command_refuses(more: tuple[str, ...], code: str) -> None:
    asked = ITEMS[: ITEMS.index("--method")] if "--method" in more else ITEMS
    assert code in refused(*asked, *more)
