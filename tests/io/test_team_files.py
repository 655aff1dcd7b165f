"""First files as teams have them: out of notebooks, spreadsheets and evaluation tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hero_eval as hero

N_ITEMS = 120


def frame(seed: int = 1, gold: str | None = "expert", share: float = 0.3) -> pd.DataFrame:
    """Two judges of 0 and 1, and an expert for some items."""
    rng = np.random.default_rng(seed)
    good = (rng.random(N_ITEMS) < 0.6).astype(int)
    said = {
        name: np.where(rng.random(N_ITEMS) < right, good, 1 - good) for name, right in (("gpt4", 0.9), ("claude", 0.8))
    }
    table = pd.DataFrame({"id": [f"ex{k}" for k in range(N_ITEMS)], **said})
    if gold is not None:
        table[gold] = pd.array(np.where(rng.random(N_ITEMS) < share, good, -1), "Int64")
        table.loc[table[gold] == -1, gold] = pd.NA
    return table


def codes(one: hero.Round) -> set[str]:
    return {note.code for note in one.notes}


def taken(one: hero.Round) -> dict[str, Any]:
    (note,) = [note for note in one.notes if note.code == "F122"]
    return dict(note.data)


@pytest.mark.parametrize(
    ("name", "share", "is_gold"),
    [
        ("human_expert", 0.3, True),
        ("human_expert", 1.0, True),
        ("Expert Review", 0.3, True),
        ("Expert Review", 1.0, False),
        ("experte", 0.3, True),
        ("ground_truth_label", 1.0, True),
        ("gold_customer", 1.0, False),
        ("is_gold", 0.3, False),
        ("expert_gpt", 0.3, False),
        ("human_label", 0.3, False),
    ],
)
def test_a_column_that_speaks_of_an_expert_is_gold_and_said(name: str, share: float, is_gold: bool) -> None:
    """It was one more judge, and the round had no gold; a wrong guess would take noise for truth."""
    found = hero.Round(frame(gold=name, share=share))
    assert (found.n_gold > 0) == is_gold
    assert taken(found)["gold"] == (name if is_gold else None)


def test_what_else_an_expert_wrote_hides_no_gold() -> None:
    table = frame(gold="human_expert")
    given = table["human_expert"].notna()
    beside = table.assign(
        human_expert_confidence=given.map({True: 3, False: None}), expert_name=given.map({True: "Ann", False: None})
    )
    assert taken(hero.Round(beside))["gold"] == "human_expert"


def test_two_such_columns_are_nobodys_gold() -> None:
    table = frame(gold="expert_1")
    found = hero.Round(table.assign(expert_2=table["expert_1"]))
    assert found.n_gold == 0
    (note,) = [one for one in found.notes if one.code == "F131"]
    assert "--expert expert_1 --expert expert_2" in note.action


def test_an_expert_known_as_a_labeler_stays_one() -> None:
    """Named as a labeler's, a column is no gold."""
    assert hero.Round(frame(gold="human_expert"), labelers=["gpt4", "human_expert"]).n_gold == 0


@pytest.mark.parametrize("column", ["human_label", "human_preference", "manual_review"])
def test_a_sparse_column_beside_grades_is_pointed_out(column: str) -> None:
    """It was taken for a fact about the items without a word, and the round had no gold."""
    table = frame(gold=column)
    grades = table.assign(gpt4=table["gpt4"] * 6 + 2, claude=table["claude"] * 5 + np.arange(N_ITEMS) % 3)
    (note,) = [one for one in hero.Round(grades).notes if one.code == "F131"]
    assert f"--expert {column}" in note.action
    assert hero.Round(grades, expert=column).n_gold > 0
    scores = table.assign(gpt4=np.linspace(0, 1, N_ITEMS), claude=np.linspace(1, 0, N_ITEMS))
    with pytest.raises(hero.HeroError, match=rf"E214 .*--expert {column}"):
        hero.estimate_rate(hero.Round(scores))


def test_costs_and_times_are_no_judges() -> None:
    """Named after the judge that they belong to, they were labelers of scores."""
    rng = np.random.default_rng(1)
    facts = ("gpt4_cost", "gpt4_latency_ms", "claude_tokens", "claude_time", "latency", "total_tokens", "majority")
    for gold in ("expert", None):
        table = frame(gold=gold).assign(**{one: rng.random(N_ITEMS).round(4) for one in facts})
        found = hero.Round(table)
        assert found.labelers == ("claude", "gpt4")
        assert set(facts) <= set(found.column_names)


def test_reward_models_are_judges() -> None:
    table = frame().assign(reward_model=np.linspace(-3, 4, N_ITEMS))
    assert hero.Round(table).labelers == ("claude", "gpt4", "reward_model")


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ([["Total", 62, 70, 20]], "'Total'"),
        ([["Average:", 0.52, 0.58, 0.61]], "'Average:'"),
        ([["Gesamt", 62, 70, 20], ["Pass rate", "52%", "58%", ""]], "'Gesamt', 'Pass rate'"),
        ([["", "SUM", "SUM", ""]], "'no name'"),
    ],
)
@pytest.mark.parametrize("gold", ["expert", None])
def test_rows_that_sum_up_the_others_are_no_items(
    last: list[list[Any]], said: str, gold: str | None, tmp_path: Path
) -> None:
    """Sums became answers, and an empty id took all ids away."""
    table = frame(gold=gold)
    lines = table.to_csv(index=False).splitlines()
    for row in last:
        cells = [str(table[one].sum()) if cell == "SUM" else str(cell) for one, cell in zip(table, row, strict=False)]
        lines.append(",".join(cells))
    path = tmp_path / "may.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = hero.read_round(path)
    assert (found.n_items, found.values) == (N_ITEMS, ("0", "1"))
    assert found.item_ids[0] == "ex0"
    (note,) = [one for one in found.notes if one.code == "F139"]
    assert said in note.fact
    assert found.holds_same_as(hero.Round(table))


def test_a_last_item_is_no_sum() -> None:
    table = frame()
    table.loc[len(table) - 1, "id"] = "total recall"
    assert hero.Round(table).n_items == N_ITEMS
    table["id"] = [("total", "average")[k % 2] for k in range(N_ITEMS)]
    assert hero.Round(table).n_items == N_ITEMS


@pytest.mark.parametrize("fenced", [False, True])
def test_verdicts_in_json_cells_are_read(fenced: bool, tmp_path: Path) -> None:
    """Three columns were asked for that such a table does not have."""
    table = frame()
    plain = table.assign(**{one: table[one].map({0: "fail", 1: "pass"}) for one in ("gpt4", "claude", "expert")})

    def cell(said: str, row: int) -> str:
        text = json.dumps({"verdict": said, "reason": f"since {row}"})
        return f"```json\n{text}\n```" if fenced else text

    wrapped = plain.assign(
        **{one: [cell(said, row) for row, said in enumerate(plain[one])] for one in ("gpt4", "claude")}
    )
    wrapped.loc[5, "gpt4"] = '{"verdict": "pa'
    path = tmp_path / "may.csv"
    wrapped.to_csv(path, index=False)
    found = hero.read_round(path)
    assert (found.labelers, found.values) == (("claude.verdict", "gpt4.verdict"), ("fail", "pass"))
    assert found.n_labels == 2 * N_ITEMS - 1
    (note,) = [one for one in found.notes if one.code == "F133"]
    assert "'gpt4' 1" in note.fact
    objects = plain.assign(gpt4=[{"verdict": said} for said in plain["gpt4"]])
    assert "gpt4.verdict" in hero.Round(objects).labelers


def test_objects_in_objects_are_columns(tmp_path: Path) -> None:
    rows = [
        {
            "id": row["id"],
            "evals": {one: {"verdict": int(row[one]), "reason": f"since {row['id']}"} for one in ("gpt4", "claude")},
        }
        for row in frame().to_dict("records")
    ]
    path = tmp_path / "may.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert hero.read_round(path).labelers == ("evals.claude.verdict", "evals.gpt4.verdict")


@pytest.mark.parametrize(
    ("dressed", "pasted"),
    [
        ({0: "[[0]]", 1: "[[1]]"}, "--map '[[0]]=0,[[1]]=1'"),
        ({0: "No.", 1: "Yes!"}, "--map 'No.=0,Yes!=1'"),
        ({0: "bad", 1: "fine"}, "--map bad=0,fine=1"),
    ],
)
def test_what_labels_seem_to_mean_can_be_pasted(dressed: dict[int, str], pasted: str) -> None:
    """Dots were to be filled in by hand."""
    table = frame(share=0.5)
    worn = table.assign(**{one: table[one].map(dressed) for one in ("gpt4", "claude")})
    with pytest.raises(hero.InputError, match="E127") as told:
        hero.Round(worn)
    assert pasted in str(told.value)
    pairs = dict(one.split("=") for one in pasted.removeprefix("--map ").strip("'").split(","))
    assert hero.estimate_rate(hero.Round(worn, map=pairs)).value == hero.estimate_rate(hero.Round(table)).value


@pytest.mark.parametrize(
    ("dress", "pasted"),
    [
        ("{}/5", "--map 0/5=0,1/5=1,2/5=2,3/5=3"),
        ("{} out of 10", "--map '0 out of 10=0,1 out of 10=1,2 out of 10=2,3 out of 10=3'"),
        ("Score: {}", "--map 'Score: 0=0,Score: 1=1,Score: 2=2,Score: 3=3'"),
        ("[[{}]]", "--map '[[0]]=0,[[1]]=1,[[2]]=2,[[3]]=3'"),
    ],
)
def test_what_grades_seem_to_mean_can_be_pasted(dress: str, pasted: str) -> None:
    table = frame(share=0.5)
    grades = table.assign(gpt4=table["gpt4"] * 2 + np.arange(N_ITEMS) % 2, claude=table["claude"] * 3)
    worn = grades.assign(**{one: grades[one].map(dress.format) for one in ("gpt4", "claude")})
    with pytest.raises(hero.InputError, match="E127") as told:
        hero.Round(worn)
    assert pasted in str(told.value)
    pairs = dict(one.split("=") for one in pasted.removeprefix("--map ").strip("'").split(","))
    assert hero.estimate_rate(hero.Round(worn, map=pairs)).value == hero.estimate_rate(hero.Round(grades)).value


def test_scales_that_are_not_golds_are_scores() -> None:
    """Ten grades beside gold of five, five of which gold never had; and yes and no as its lowest grade."""
    rng = np.random.default_rng(3)
    level = rng.integers(1, 6, N_ITEMS)
    gold = pd.array(np.where(rng.random(N_ITEMS) < 0.5, level, -1), "Int64")
    table = pd.DataFrame({"id": range(N_ITEMS), "gpt": np.clip(2 * level - rng.integers(0, 2, N_ITEMS), 1, 10)})
    table["claude"], table["expert"] = np.clip(level + rng.integers(-1, 2, N_ITEMS), 1, 5), gold
    table.loc[table["expert"] == -1, "expert"] = pd.NA
    found = hero.Round(table)
    assert (found.label_score is not None, found.values) == (True, ("1", "2", "3", "4", "5"))
    assert hero.estimate_rate(found).value == pytest.approx(level.mean(), abs=0.25)
    assert hero.Round(table.assign(gpt=(level > 3).astype(int))).label_score is not None
    assert hero.Round(table.assign(gpt=table["claude"])).label_score is None


def test_all_columns_of_a_long_table_are_mapped_by_one_paste() -> None:
    table = frame(gold=None).melt("id", var_name="judge", value_name="verdict")
    with pytest.raises(hero.InputError, match="--column item=id --column labeler=judge --column label=verdict"):
        hero.Round(table)


def test_columns_parted_by_bars_and_lines_above_the_header(tmp_path: Path) -> None:
    path = tmp_path / "may.csv"
    path.write_text(frame().to_csv(index=False, sep="|"), encoding="utf-8")
    assert hero.read_round(path).holds_same_as(hero.Round(frame()))
    path.write_text("# exported by a tool\n" + frame().to_csv(index=False), encoding="utf-8")
    with pytest.raises(hero.InputError, match=r"E103 .*take out what stands above"):
        hero.read_round(path)


def test_answers_that_no_gold_gives_can_be_left_out_by_paste() -> None:
    table = frame(share=0.6)
    words = table.assign(**{one: table[one].map({0: "no", 1: "yes"}) for one in ("gpt4", "claude", "expert")})
    words.loc[words.index % 9 == 0, "gpt4"] = "can't say"
    found = hero.estimate_rate(hero.Round(words))
    (note,) = [one for one in found.findings if one.code == "F117"]
    assert """missing=["can't say"]; command: --missing 'can'"'"'t say'""" in note.action


def test_little_gold_may_lack_some_of_the_words() -> None:
    """Judges of five words beside gold that has two of them were facts about the items."""
    words = ["very bad", "bad", "fair", "good", "very good"]
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"id": range(60), "anna": rng.choice(words, 60), "bert": rng.choice(words, 60), "expert": None}
    )
    table.loc[:5, "expert"] = ["bad", "good"] * 3
    assert hero.Round(table).labelers == ("anna", "bert")


@pytest.mark.parametrize(
    ("filler", "rest"), [(-1, (0, 1)), (99, (1, 5)), ("unlabeled", ("no", "yes")), ("TODO", ("bad", "good"))]
)
def test_gold_that_stands_for_none_is_no_class(filler: object, rest: tuple[object, object]) -> None:
    """Most of gold was a class of its own, which no label has."""
    table = frame()
    for one in ("gpt4", "claude", "expert"):
        table[one] = [filler if pd.isna(of) else rest[int(of)] for of in table[one]]
    with pytest.raises(
        hero.InputError, match=rf"E147 labels holds '{filler}' in .*column 'expert'.*--missing {filler}"
    ):
        hero.Round(table)
    assert hero.Round(table, missing=[filler]).n_gold == hero.Round(frame()).n_gold


@pytest.mark.parametrize(("filler", "share"), [(-1, False), (-1, True), (99, True)])
def test_numbers_that_stand_for_none_are_no_scores(filler: int, share: bool) -> None:
    """A failed call was the lowest of scores, or the highest."""
    table = frame()
    if share:
        table["gpt4"] = np.linspace(0, 1, N_ITEMS).round(3)
    table.loc[table.index % 20 == 3, "gpt4"] = filler
    with pytest.raises(
        hero.InputError, match=rf"E147 .*'{filler}' in 6 cells .*numbers from 0 to 1.*--missing {filler}"
    ):
        hero.Round(table)
    assert hero.Round(table, missing=[filler]).n_labels == 2 * N_ITEMS - 6
    assert hero.Round(table, label_kind="score").n_labels == 2 * N_ITEMS
    rewards = frame().assign(gpt4=np.linspace(-3, 2, N_ITEMS).round(2))
    rewards.loc[3, "gpt4"] = -1
    assert hero.Round(rewards).n_labels == 2 * N_ITEMS


def test_a_forgotten_id_takes_no_ids_away(tmp_path: Path) -> None:
    """Rows were numbered, and those of two models paired by their place."""
    table = frame()
    table.loc[17, "id"] = ""
    with pytest.raises(
        hero.InputError, match=r"E107 labels column 'id' is empty in 1 of 120 rows, first in data row 18"
    ):
        hero.Round(table)
    path = tmp_path / "may.csv"
    path.write_text(frame().to_csv(index=False) + ",,,\n" * 250, encoding="utf-8")
    assert hero.read_round(path).holds_same_as(hero.Round(frame()))
    text = "\n".join(f"{line},," for line in frame().to_csv(index=False).splitlines())
    path.write_text(text, encoding="utf-8")
    assert hero.read_round(path).holds_same_as(hero.Round(frame()))


def test_an_index_with_a_name_and_a_column_called_item() -> None:
    assert hero.Round(frame().set_index("id")).holds_same_as(hero.Round(frame()))
    assert hero.Round(frame().rename(columns={"id": "Item"})).holds_same_as(hero.Round(frame()))


def test_what_a_judge_says_besides_is_no_second_judge() -> None:
    table = frame().assign(gpt4_confidence=np.linspace(0, 1, N_ITEMS), claude_logprob=-np.linspace(0, 1, N_ITEMS))
    assert hero.Round(table).labelers == ("claude", "gpt4")
    alone = table.drop(columns="gpt4")
    assert "gpt4_confidence" in hero.Round(alone).labelers


def test_free_texts_of_judges_are_told() -> None:
    """Three columns were asked for that a wide table does not need."""
    table = frame()
    because = table.assign(
        **{one: [f"{of}, because of {k}" for k, of in enumerate(table[one])] for one in ("gpt4", "claude")}
    )
    with pytest.raises(hero.InputError, match=r"E124 .*'gpt4', 'claude'.*'\d, because of 0'"):
        hero.Round(because)


def test_gold_called_label_beside_columns_of_judges_is_told() -> None:
    table = frame(gold="label")
    with pytest.raises(hero.InputError, match=r"--column gold=label --labelers A,B"):
        hero.Round(table)
    assert hero.Round(table, columns={"gold": "label"}).holds_same_as(hero.Round(frame()))


def test_a_title_above_a_sheet_is_told(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "may.xlsx"
    with pd.ExcelWriter(path) as book:
        frame().to_excel(book, index=False, startrow=2, sheet_name="Sheet1")
        book.sheets["Sheet1"]["A1"] = "Evaluation, May"
    with pytest.raises(hero.InputError, match=r"E102 .*'Evaluation, May' alone"):
        hero.read_round(path)


def test_a_class_of_past_gold_may_be_asked_for_beside_grades() -> None:
    """The current round's grades do not tell what gold says."""
    past = frame(gold="expert", share=1.0)
    past["expert"] = past["expert"].map({0: "poor", 1: "fine"})
    current = frame(seed=2, gold=None)
    for table in (past, current):
        table["gpt4"] = 1 + 3 * table["gpt4"] + np.arange(N_ITEMS) % 2
    asked = hero.estimate_rate(hero.Round(current, positive="fine"), hero.Round(past, positive="fine"))
    assert 0.4 < asked.value < 0.8
    with pytest.raises(hero.InputError, match="E118"):
        hero.Round(current, positive="17")
