"""What new users did on purpose, and what was misread, or ended in a traceback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from asking import ask, refused

import hero_eval as hero

JUDGES = ("ann", "bob", "cid")


def answers(seed: int, n: int = 300, gold: float = 0.4, words: tuple[str, str] = ("No", "Yes")) -> pd.DataFrame:
    """A wide table of three judges, and an expert for a share of the rows."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(int)
    said = {name: np.where(rng.random(n) < 0.85, truth, 1 - truth) for name in JUDGES}
    frame = pd.DataFrame({"id": [f"r{seed}-{k}" for k in range(n)], **said})
    frame[list(JUDGES)] = frame[list(JUDGES)].replace(dict(enumerate(words)))
    known = rng.random(n) < gold
    return frame.assign(expert=[words[of] if is_known else "" for of, is_known in zip(truth, known, strict=True)])


def with_gold(frame: pd.DataFrame, *slips: str) -> pd.DataFrame:
    rows = np.flatnonzero(frame["expert"] != "")[: len(slips)]
    expert = frame["expert"].to_numpy(copy=True)
    expert[rows] = slips
    return frame.assign(expert=expert)


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("slip", ["Yse", "no.", "yes?"])
def test_a_slip_in_gold_beside_yes_and_no_is_no_class(tmp_path: Path, slip: str, long: bool) -> None:
    """All answers were told apart then, "yes" from "Yes" too, and no rate was given."""
    frame = with_gold(answers(1), slip)
    if long:
        frame = frame.melt(["id", "expert"], var_name="labeler", value_name="label")
        frame = frame.rename(columns={"id": "item", "expert": "gold"})
    frame.to_csv(tmp_path / "may.csv", index=False)
    told = " ".join(refused("estimate", str(tmp_path / "may.csv")).split())
    assert "E147" in told
    assert f"holds '{slip}'" in told
    assert "yes or no" in told
    if long:
        assert "E147" in refused("estimate", str(tmp_path / "may.csv"), "--engine", "duckdb")
    ask("estimate", str(tmp_path / "may.csv"), "--map", f"{slip}=Yes")


def test_gold_that_is_spelled_in_other_ways_is_the_same_gold() -> None:
    frame = answers(1)
    rows = frame["expert"][frame["expert"] != ""].iloc[:5]
    spellings = {"Yes": ("YES", " yes", "y", "True", "Yes "), "No": ("NO", "no ", "n", "False", "no")}
    ways = [spellings[of][at] for at, of in enumerate(rows)]
    odd, plain = hero.Round(with_gold(frame, *ways)), hero.Round(frame)
    assert odd.values == plain.values == ("0", "1")
    assert (odd.gold == plain.gold).all()
    words = answers(1, words=("Bad", "Good"))
    cased = hero.Round(with_gold(words, *(text.lower() for text in words["expert"][words["expert"] != ""].iloc[:9])))
    assert cased.values == ("Bad", "Good")
    assert (cased.gold == hero.Round(words).gold).all()


def test_gold_that_says_nothing_is_none() -> None:
    """One "N/A" of an expert was a third class."""
    found = hero.Round(with_gold(answers(1), "N/A", "n/a"))
    assert found.values == ("0", "1")
    assert [one.data["count"] for one in found.notes if one.code == "F133"] == [2]
    often = answers(1)
    often["expert"] = often["expert"].replace("No", "N/A")
    assert "N/A" in hero.Round(often).values  # too much of it to be nothing


def test_true_and_false_among_numbers_are_1_and_0() -> None:
    plain = answers(1, words=("0", "1"))
    mixed = plain.copy()
    mixed.loc[:80, "ann"] = mixed.loc[:80, "ann"].replace({"0": "False", "1": "True"})
    found = hero.Round(mixed)
    assert found.values == ("0", "1")
    assert (found.label_answer == hero.Round(plain).label_answer).all()


@pytest.mark.parametrize("gold", [0.4, 0.0])
def test_a_new_judge_beside_known_ones_is_a_labeler(tmp_path: Path, gold: float) -> None:
    """Without gold its column was one about the items, and said nothing."""
    answers(1).to_csv(tmp_path / "april.csv", index=False)
    frame = answers(2, gold=gold)
    frame.insert(4, "gpt-5", frame["ann"])
    frame.assign(is_long=1).to_csv(tmp_path / "may.csv", index=False)
    document = ask("estimate", str(tmp_path / "may.csv"), "--history", str(tmp_path / "april.csv"), "--json")
    data = [one["data"] for one in json.loads(document)["findings"] if one["code"] == "F122"]
    assert data[0]["labelers"] == [*JUDGES, "gpt-5"]


def test_the_column_of_ids_may_be_the_text_too(tmp_path: Path) -> None:
    """`--text prompt` was refused: prompts gave the ids, and so no round had them."""
    for seed, name in enumerate(("april", "may")):
        frame = answers(seed).rename(columns={"id": "prompt"})
        frame.assign(prompt=[f"a {('red', 'blue')[k % 2]} cat, {k}" for k in range(len(frame))]).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    ask("estimate", str(tmp_path / "may.csv"), "--history", str(tmp_path / "april.csv"), "--text", "prompt")


@pytest.mark.parametrize("mapping", ["item=no_such", "labeler=no_such", "weight=no_such"])
def test_a_mapping_that_maps_nothing_of_a_wide_table_is_told(tmp_path: Path, mapping: str) -> None:
    """Items went by another column, in silence; or the message listed columns that the file does not have."""
    answers(1).to_csv(tmp_path / "may.csv", index=False)
    told = " ".join(refused("estimate", str(tmp_path / "may.csv"), "--column", mapping).split())
    assert "E104" in told
    assert "may.csv has id, ann, bob, cid, expert" in told


def test_leaving_all_labelers_out_is_told(tmp_path: Path) -> None:
    answers(1).to_csv(tmp_path / "may.csv", index=False)
    told = refused("estimate", str(tmp_path / "may.csv"), "--exclude-labelers", "*")
    assert "E131" in told
    assert "E104" not in told


@pytest.mark.parametrize(
    "call", ["next may.csv --count 3 -o {}", "items may.csv -o {}", "study exp1-small -o {}"], ids=lambda call: call[:5]
)
def test_an_output_that_cannot_be_written_is_told(tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(1).to_csv(tmp_path / "may.csv", index=False)
    (tmp_path / "folder.csv").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "E213 folder.csv cannot be written: Is a directory" in refused(*call.format("folder.csv").split())


def votes(names: Mapping[str, str], seed: int = 1, n: int = 900) -> pd.DataFrame:
    """Votes on five models, the best of which comes first; who won is told by name."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 5, n)
    second = (first + rng.integers(1, 5, n)) % 5
    won = np.where(rng.random(n) < 1 / (1 + np.exp(0.7 * (first - second))), first, second)
    called = np.array([names[one] for one in "vwxyz"])
    winner = np.where(rng.random(n) < 0.1, "tie", called[won])
    return pd.DataFrame({"model_a": called[first], "model_b": called[second], "winner": winner})


@pytest.mark.parametrize("names", ["abcde", "12345", "vwxyz"])
def test_a_winner_called_like_a_side_is_the_model(names: str) -> None:
    """A vote for model "a" counted for the side shown first, and the ranking came out upside down."""
    table = votes(dict(zip("vwxyz", names, strict=True)))
    assert hero.rank_votes(table).order == tuple(names)
    sides = np.where(table["winner"] == table["model_a"], "a", np.where(table["winner"] == "tie", "tie", "b"))
    assert hero.rank_votes(table.assign(winner=sides)).order == tuple(names)


def test_a_winner_that_may_be_a_side_is_asked_about() -> None:
    table = votes(dict(zip("vwxyz", "ABcde", strict=True)))
    two = table[table["model_a"].isin(["A", "B"]) & table["model_b"].isin(["A", "B"])]
    with pytest.raises(hero.InputError, match=r"E233 .* is a model's name, and may also stand for the side"):
        hero.rank_votes(two)
    hero.rank_votes(two, map={"A": "left", "B": "right"})
    same = two[two["model_a"] == "A"]  # both readings say the same
    assert hero.rank_votes(same).order[0] in ("A", "B")


def scores(seed: int, gold: float = 0.3, n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.5
    said = {f"judge_{k}": (1 / (1 + np.exp(1 - 2 * truth - rng.normal(size=n)))).round(4) for k in "ab"}
    known = np.where(rng.random(n) < gold, truth.astype(float), np.nan)
    return pd.DataFrame({"item": [f"{seed}-{k}" for k in range(n)], **said, "gold": known})


def test_one_judge_on_another_scale_is_refused() -> None:
    """The other judge hid it: 997 of 1,000 items were good, of which 550 were."""
    past, now = scores(1), scores(2, gold=0.0)
    hundred = now.assign(judge_a=100 * now["judge_a"])
    cut = now.assign(judge_a=(now["judge_a"] > 0.5).astype(int))
    for odd, words in ((hundred, "go from"), (cut, "are 0 and 1 alone")):
        with pytest.raises(hero.InputError, match=f"E210 .*the labels of 'judge_a' .*{words}"):
            hero.estimate_rate(odd, past)
    strict = now.assign(judge_a=now["judge_a"] / 3)
    hero.estimate_rate(strict, past, method="hero1")  # the same scale still


def test_one_dataframe_is_no_list_of_models() -> None:
    """Its columns were taken for paths."""
    with pytest.raises(hero.InputError, match="E230 rounds is a single dataframe"):
        hero.rank(answers(1))  # type: ignore[arg-type]
