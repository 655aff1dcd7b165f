"""What a new user's first files must not do: lose their gold, open a gate by a slip, end in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.exit_codes import error_width
from hero_eval.cli.main import app

JUDGES = ("gpt", "claude", "human")


def write_wide(path: Path, seed: int, n_items: int = 240, gold: float = 0.3, drift: float = 0.0) -> Path:
    """Three judges, a column each, and an expert for a share of the rows; an empty column if the share is 0."""
    rng = np.random.default_rng(seed)
    good = rng.random(n_items) < 0.4
    shift = drift * rng.normal()
    lines = ["item," + ",".join(JUDGES) + ",expert"]
    said = {}
    for right, name in zip((0.9, 0.8, 0.7), JUDGES, strict=True):
        chance = 1 / (1 + np.exp(-(np.where(good, 1, -1) * np.log(right / (1 - right)) + shift)))
        said[name] = rng.random(n_items) < chance
    for row in range(n_items):
        known = rng.random() < gold
        answers = ",".join(str(int(said[name][row])) for name in JUDGES)
        lines.append(f"{path.stem}-{row},{answers},{int(good[row]) if known else ''}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    return result.exit_code, result.output


def test_an_empty_expert_column_in_a_past_round_costs_no_gold(tmp_path: Path) -> None:
    """The current round's own gold would be set aside as a column about the items, and the answer rest on none."""
    current = write_wide(tmp_path / "may.csv", 1)
    empty = write_wide(tmp_path / "april.csv", 2, gold=0.0)
    code, told = run("estimate", current, "--history", empty, "--json")
    assert code == 0, told
    assert json.loads(told)["n_gold_current"] == hero.read_round(current).n_gold > 0


def test_a_bound_that_no_rate_can_reach_opens_nothing(tmp_path: Path) -> None:
    """Who types 30 for 30% would let every model through."""
    current = write_wide(tmp_path / "may.csv", 1, n_items=60)
    code, told = run("estimate", current, "--fail-above", "30", "--method", "majority_vote")
    assert code == 2
    assert "Did you mean 0.3?" in told.replace("\n     ", " ")
    rate = hero.estimate_rate(hero.read_round(current), method="majority_vote")
    with pytest.raises(hero.InputError, match=r"E201 fail_below is -2, but .* lies between 0 and 1"):
        hero.Gate(fail_below=-2).verdict(rate)


def test_a_misspelled_gold_column_is_no_other_column(tmp_path: Path) -> None:
    """Another column that looks like gold would be taken for it without a word."""
    current = write_wide(tmp_path / "may.csv", 1, n_items=60)
    code, told = run("estimate", current, "--column", "gold=exprt")
    assert code == 2
    assert "E104" in told
    assert "Did you mean 'expert'?" in told.replace("\n     ", " ")
    with pytest.raises(hero.InputError, match="E104"):
        hero.read_round(current, columns={"gold": "elsewhere"})


def test_what_would_shorten_the_interval_is_gold_where_gold_decides(tmp_path: Path) -> None:
    """A team would buy labels where its own plan says that only gold helps."""
    current = hero.read_round(write_wide(tmp_path / "may.csv", 1))
    assert "More gold" in hero.estimate_rate(current).summary().replace("\n", " ")
    blind = hero.read_round(write_wide(tmp_path / "june.csv", 3, gold=0.0))
    assert "Gold, in this round or in past ones," in hero.estimate_rate(blind).summary().replace("\n", " ")


@pytest.mark.slow
def test_a_plan_where_judges_err_together(tmp_path: Path) -> None:
    """`hero plan` ended in a Python error where the fit has levels and no gold is left."""
    past = [write_wide(tmp_path / f"past{i}.csv", 10 + i, gold=0.12, drift=0.6) for i in range(4)]
    current = write_wide(tmp_path / "now.csv", 20, gold=0.0, drift=0.6)
    for asked in (["--width", "0.07"], ["--budget", "80", "--cost", "gold=3,label=.05"]):
        code, told = run("plan", current, "--history", *past, *asked)
        assert code == 0, told


def write_long(path: Path, seed: int, *, who: str = "expert", gold: bool = False, n_items: int = 120) -> Path:
    """Three judges and one more labeler, who answers the first third, in a long table."""
    rng = np.random.default_rng(seed)
    good = rng.random(n_items) < 0.4
    lines = ["item,labeler,label" + (",gold" if gold else "")]
    for row in range(n_items):
        truth = f",{int(good[row])}" if gold and row < n_items // 3 else "," if gold else ""
        for right, name in zip((0.9, 0.8, 0.7), JUDGES, strict=True):
            said = int(good[row]) if rng.random() < right else 1 - int(good[row])
            lines.append(f"{path.stem}-{row},{name},{said}{truth}")
        if row < n_items // 3:
            lines.append(f"{path.stem}-{row},{who},{int(good[row])}{truth}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("who", ["expert", "gold", "human_expert", "Expert 1"])
def test_an_expert_among_the_labelers_does_not_go_unnoticed(tmp_path: Path, who: str) -> None:
    """What the expert said would count as noisy labels, and the round as one without gold."""
    path = write_long(tmp_path / "may.csv", 1, who=who)
    silent = hero.read_round(path)
    assert silent.n_gold == 0
    (note,) = [one for one in silent.notes if one.code == "F131"]
    assert who in note.fact
    assert f"--expert '{who}'" in note.action or f"--expert {who}" in note.action
    told = hero.read_round(path, expert=who)
    assert told.n_gold == 40
    assert who not in told.labelers
    assert [one.code for one in told.notes] == ["F130"]


@pytest.mark.parametrize(("every", "said"), [(4, True), (1, False)])
def test_a_mostly_empty_column_does_not_go_unnoticed(tmp_path: Path, every: int, said: bool) -> None:
    """Gold under a name that nobody can guess would count as the labels of one more judge."""
    rows = ["id,gpt,claude,ann,verdict_final"]
    rows += [f"i{row},{row % 2},{row % 3 % 2},{row % 2},{row % 2 if row % every == 0 else ''}" for row in range(80)]
    path = tmp_path / "june.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    notes = {one.code: one for one in hero.read_round(path).notes}
    assert ("F131" in notes) == said
    if said:
        assert "verdict_final answered 20 of 80 items" in notes["F131"].fact
        assert hero.read_round(path, expert="verdict_final").n_gold == 20
    named = hero.read_round(path, labelers=["gpt", "claude", "ann", "verdict_final"])
    assert "F131" not in {one.code for one in named.notes}


@pytest.mark.slow
def test_every_reading_command_takes_an_expert(tmp_path: Path) -> None:
    path, past = write_long(tmp_path / "may.csv", 1), write_long(tmp_path / "april.csv", 2)
    code, told = run("estimate", path, "--history", past, "--expert", "expert", "--json")
    assert code == 0, told
    assert json.loads(told)["n_gold_current"] == 40
    code, told = run("labelers", past, "--expert", "exp*", "--json")
    assert code == 0, told
    assert json.loads(told)["n_gold"] == 40
    code, told = run("estimate", path, "--expert", "exprt")
    assert code == 2
    assert "E131" in told
    assert "Did you mean 'expert'?" in told.replace("\n     ", " ")


def test_experts_beside_gold_and_in_wide_tables(tmp_path: Path) -> None:
    beside = hero.read_round(write_long(tmp_path / "may.csv", 1, gold=True), expert="expert")
    assert beside.n_gold == 40
    assert [one.code for one in beside.notes if one.code == "F131"] == []
    wide = write_wide(tmp_path / "june.csv", 1, gold=0.3)
    text = wide.read_text(encoding="utf-8").replace("expert", "human_expert", 1)
    wide.write_text(text, encoding="utf-8")
    by_name = hero.read_round(wide, expert="human_expert")
    assert by_name.labelers == ("claude", "gpt", "human")
    assert by_name.n_gold == hero.read_round(wide, columns={"gold": "human_expert"}).n_gold > 0
    two = tmp_path / "two.csv"
    rows = ["item,gpt,claude,a,b", "1,1,0,1,1", "2,0,0,1,0", "3,1,1,,0", "4,0,1,yes,1", "5,,,1,1", "6,1,1,0,"]
    two.write_text("\n".join(rows) + "\n", encoding="utf-8")
    read = hero.read_round(two, expert=["a", "b"])
    assert read.labelers == ("claude", "gpt")
    known = {item: int(of) for item, of in zip(read.item_ids, read.gold, strict=True)}
    assert known == {"1": 1, "2": -1, "3": 0, "4": 1, "6": 0}
    assert {one.code for one in read.notes} == {"F102", "F122", "F130", "F137", "F803"}


@pytest.mark.slow
def test_options_that_do_nothing_are_not_silent(tmp_path: Path) -> None:
    """A typo in them would change nothing, and nobody would know."""
    path, past = write_wide(tmp_path / "may.csv", 1, n_items=90), write_wide(tmp_path / "april.csv", 2, n_items=90)
    code, told = run("estimate", path, "--history", past, "--exclude-labelers", "cluade")
    assert (code, "E131" in told, "Did you mean 'claude'?" in told.replace("\n     ", " ")) == (2, True, True), told
    code, told = run("estimate", path, "--exclude-labelers", "nobody")
    assert (code, "E131" in told) == (2, True), told
    code, told = run("estimate", path, "--history", past, "--missing", "7", "--map", "9=1", "--json")
    assert code == 0, told
    (note,) = [one for one in json.loads(told)["findings"] if one["code"] == "F132"]
    assert note["data"] == {"missing": ["7"], "map": ["9"]}
    past.write_text(past.read_text(encoding="utf-8").replace("april-3,1", "april-3,7", 1), encoding="utf-8")
    code, told = run("estimate", path, "--history", past, "--missing", "7", "--json")
    assert code == 0, told
    assert "F132" not in told
    for idle in (["--looks", "3"], ["--gate-on", "recall"]):
        command = ["moderation", path, "--flag", "human"] if idle[0] == "--gate-on" else ["estimate", path]
        code, told = run(*command, *idle)
        assert (code, "E204" in told) == (2, True), told


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["oops", "2", "maybe not"])
def test_one_bad_cell_takes_no_judge_away(tmp_path: Path, bad: str) -> None:
    """The column would be one about the items, and the answer rest on the other judges."""
    lines = write_wide(tmp_path / "may.csv", 1).read_text(encoding="utf-8").replace("gpt,claude", "ann,bob").split("\n")
    lines[7] = ",".join([*lines[7].split(",")[:2], bad, *lines[7].split(",")[3:]])
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    code, told = run("estimate", path)
    told = told.replace("\n     ", " ")
    assert (code, "E147" in told) == (2, True), told
    assert f"'{bad}'" in told
    assert "column 'bob', data row 7" in told
    code, told = run("estimate", path, "--missing", bad, "--json")
    assert code == 0, told
    (note,) = [one for one in json.loads(told)["findings"] if one["code"] == "F122"]
    assert note["data"]["labelers"] == ["ann", "bob", "human"]


@pytest.mark.parametrize("nothing", ["N/A", "-", "error", "null", "#N/A"])
def test_what_means_nothing_counts_as_not_given(tmp_path: Path, nothing: str) -> None:
    lines = write_wide(tmp_path / "may.csv", 1).read_text(encoding="utf-8").replace("gpt,claude", "ann,bob").split("\n")
    for row in (7, 9):
        lines[row] = ",".join([*lines[row].split(",")[:2], nothing, *lines[row].split(",")[3:]])
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    read = hero.read_round(path)
    assert (read.labelers, read.n_labels, read.values) == (("ann", "bob", "human"), 3 * 240 - 2, ("0", "1"))
    told = [one.data["answers"] for one in read.notes if one.code == "F133"]
    assert told == ([] if nothing == "null" else [{nothing: 2}])


def test_a_bad_cell_among_words_and_scores(tmp_path: Path) -> None:
    words = ["item,ann,bob,expert"]
    words += [
        f"{k},{'good' if k % 3 else 'bad'},{'good' if k % 2 else 'bad'},{'good' if k % 3 else 'bad'}"
        for k in range(240)
    ]
    words[5] = "4,good,broken pipe,good"
    path = tmp_path / "words.csv"
    path.write_text("\n".join(words) + "\n", encoding="utf-8")
    with pytest.raises(hero.InputError, match=r"E147 .*'broken pipe'.*column 'bob', data row 5"):
        hero.read_round(path)
    scores = ["item,ann,bob,expert"] + [f"{k},{k / 240},{1 - k / 240},{k % 2}" for k in range(240)]
    scores[5] = "4,0.5,see notes,1"
    path.write_text("\n".join(scores) + "\n", encoding="utf-8")
    with pytest.raises(hero.InputError, match=r"E147 .*'see notes'.*column 'bob', data row 5"):
        hero.read_round(path)


def write_criteria(folder: Path, n_items: int = 90) -> dict[str, Path]:
    """Two criteria, one of them without an expert, wide and long."""
    rng = np.random.default_rng(3)
    good = rng.random((n_items, 2)) < 0.5
    cells: dict[tuple[str, str], list[str]] = {}
    for place, of in enumerate(("helpful", "safe")):
        for name, right in (("gpt", 0.9), ("claude", 0.8)):
            flip = rng.random(n_items) > right
            cells[of, name] = [str(int(one)) for one in good[:, place] ^ flip]
    cells["helpful", "expert"] = [str(int(one)) if row < 30 else "" for row, one in enumerate(good[:, 0])]
    wide = ["item," + ",".join("_".join(key) for key in cells)]
    wide += [f"i{row}," + ",".join(of[row] for of in cells.values()) for row in range(n_items)]
    long = ["item,labeler,criterion,label"]
    long += [
        f"i{row},{who},{of},{told[row]}" for (of, who), told in cells.items() for row in range(n_items) if told[row]
    ]
    out = {"wide": "\n".join(wide), "long": "\n".join(long), "aspect": "\n".join(long).replace("criterion", "aspect")}
    for name, text in out.items():
        (folder / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    return {name: folder / f"{name}.csv" for name in out}


def test_several_criteria_are_never_one_question(tmp_path: Path) -> None:
    """The mean over two questions answers neither."""
    paths = write_criteria(tmp_path)
    for name in ("wide", "long"):
        with pytest.raises(hero.InputError, match=r"E132 .*'helpful', 'safe'"):
            hero.read_round(paths[name])
    with pytest.raises(hero.InputError, match=r"E108 .*'aspect'.*--column criterion=aspect --criterion helpful"):
        hero.read_round(paths["aspect"])
    helpful = hero.read_round(paths["wide"], criterion="helpful")
    assert (helpful.labelers, helpful.n_gold, helpful.column_names) == (("claude", "gpt"), 30, ())
    safe = hero.read_round(paths["wide"], criterion="safe")
    assert (safe.labelers, safe.n_gold, safe.column_names) == (("claude", "gpt"), 0, ())
    long = hero.read_round(paths["aspect"], columns={"criterion": "aspect"}, criterion="helpful", expert="expert")
    assert (long.labelers, long.n_gold) == (("claude", "gpt"), 30)


@pytest.mark.slow
def test_what_the_data_do_not_tell_ends_with_three(tmp_path: Path) -> None:
    """A script would take a page without a number for an answer."""
    rng = np.random.default_rng(1)
    rows = [f"i{row},{rng.integers(2)},{rng.integers(2)},{rng.integers(2)}" for row in range(60)]
    path = tmp_path / "noise.csv"
    path.write_text("\n".join(["item,gpt,claude,flagged", *rows]) + "\n", encoding="utf-8")
    for command in (["estimate", path], ["moderation", path, "--flag", "flagged"]):
        code, told = run(*command)
        assert (code, "E209" in told, "do not tell" in told) == (3, True, True), told
    code, told = run("check", path)
    assert code == 0
    assert "hero estimate would use dawid_skene" in told
    assert "cannot run: hero3 needs a history with gold" in " ".join(told.split())
    words = [f"i{row},{'abc'[row % 3]},{'abc'[row // 2 % 3]},{'abc'[row % 3]}" for row in range(60)]
    path.write_text("\n".join(["item,gpt,claude,expert", *words]) + "\n", encoding="utf-8")
    code, told = run("estimate", path)
    assert code == 0, told


def write_ratings(path: Path, kind: str, seed: int = 1, gold: int = 60, n_items: int = 120) -> Path:
    """Grades from 1 to 5 by three labelers, as they are, as 0 or 1 (good enough), or as shares."""
    rng = np.random.default_rng(seed)
    show = {"grades": int, "binary": lambda x: int(x > 3), "shares": lambda x: (x - 1) / 4}[kind]
    lines = ["item,ann,bob,cid,expert"]
    for row in range(n_items):
        grade = rng.integers(1, 6)
        told = [show(np.clip(grade + rng.integers(-1, 2), 1, 5)) for _ in range(3)]
        lines.append(f"{path.stem}{row},{','.join(map(str, told))},{show(grade) if row < gold else ''}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("pair", [("grades", "binary"), ("binary", "grades"), ("shares", "grades")])
def test_a_history_on_another_scale_is_refused(tmp_path: Path, pair: tuple[str, str]) -> None:
    """9,996 of 10,000 items would be good, since all labels lie at the end of the other scale."""
    current = write_ratings(tmp_path / "may.csv", pair[0], gold=0)
    past = write_ratings(tmp_path / "april.csv", pair[1], seed=2)
    code, told = run("estimate", current, "--history", past)
    assert (code, "E210" in told) == (2, True), told
    assert "from 1 to 5" in " ".join(told.split())


@pytest.mark.slow
def test_the_same_scale_is_not_refused(tmp_path: Path) -> None:
    """A model whose grades are low is on the same scale still."""
    past = write_ratings(tmp_path / "april.csv", "grades", seed=2)
    poor = tmp_path / "may.csv"
    rng = np.random.default_rng(3)
    rows = [f"i{row},{','.join(str(rng.integers(1, 3)) for _ in range(3))}," for row in range(60)]
    poor.write_text("\n".join(["item,ann,bob,cid,expert", *rows]) + "\n", encoding="utf-8")
    code, told = run("estimate", poor, "--history", past)
    assert code == 0, told


@pytest.mark.slow
def test_a_named_gold_column_may_be_in_past_rounds_alone(tmp_path: Path) -> None:
    """A round that is new has no gold yet."""
    past = write_wide(tmp_path / "april.csv", 2)
    past.write_text(past.read_text(encoding="utf-8").replace("expert", "checked_by_us", 1), encoding="utf-8")
    lines = write_wide(tmp_path / "may.csv", 1).read_text(encoding="utf-8").split("\n")
    current = tmp_path / "may.csv"
    current.write_text("\n".join(line.rpartition(",")[0] for line in lines if line) + "\n", encoding="utf-8")
    code, told = run("estimate", current, "--history", past, "--column", "gold=checked_by_us", "--json")
    assert code == 0, told
    assert json.loads(told)["n_gold_history"] > 0
    code, told = run("estimate", current, "--history", past, "--column", "gold=checked_by_u")
    assert (code, "E104" in told) == (2, True), told
    assert "Did you mean 'checked_by_us'?" in " ".join(told.split())
    code, told = run("estimate", current, "--history", past, "--labelers", "gpt,claude,checked")
    assert (code, "E131" in told) == (2, True), told
    assert "Other columns: " in " ".join(told.split())
    assert "'human'" in told


@pytest.mark.slow
def test_a_plan_before_data_ignores_nothing(tmp_path: Path) -> None:
    past = write_wide(tmp_path / "april.csv", 2, n_items=60)
    planned = ["plan", "--items", "500", "--labelers", "5", "--gold", "50"]
    code, told = run(*planned, "--history", past)
    assert (code, "E204 history has no effect" in told) == (2, True), told
    plain, spent = (run(*planned, *more) for more in ([], ["--budget", "100", "--cost", "gold=3,label=0.05"]))
    assert (plain[0], spent[0]) == (0, 0), spent[1]
    assert "100" in spent[1]
    assert spent[1] != plain[1]


@pytest.mark.slow
def test_a_width_says_whose_it_is(tmp_path: Path) -> None:
    """Without history `hero estimate` takes another method than the one that tells labelers apart."""
    current = write_wide(tmp_path / "may.csv", 1, n_items=90)
    code, told = run("labelers", current, "--cost", "gold=3,label=.05")
    assert code == 0, told
    assert "interval by hero3 is" in " ".join(told.split())
    assert "hero estimate chooses the method" in " ".join(told.split())


def test_what_is_wrong_is_folded_as_answers_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of 300 columns is hard to read beside a page of 80."""
    monkeypatch.setattr("hero_eval.cli.exit_codes.error_width", error_width)
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "odd.csv"
    path.write_text("item,rater,answer,remark\n1,a,0,x\n2,b,1,y\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["estimate", "odd.csv", "--covariates", "lenght"])
    assert result.exit_code == 2
    assert max(map(len, result.stderr.splitlines())) <= 80
    assert all(line[:1] in ("E", " ") for line in result.stderr.splitlines())


@pytest.mark.slow
def test_merging_says_what_is_new_and_what_changed(tmp_path: Path) -> None:
    """Two weeks under one name would be one round, without a word."""
    pytest.importorskip("deltalake")
    store = tmp_path / "store"
    first, second = write_wide(tmp_path / "may.csv", 1, n_items=30), write_wide(tmp_path / "june.csv", 2, n_items=20)
    assert run("init", "--store", store)[0] == 0
    assert run("add", first, "--round", "2026-05", "--store", store)[0] == 0
    code, told = run("add", second, "--round", "2026-05", "--store", store)
    assert code == 0, told
    assert "20 new items" in " ".join(told.split())
    assert "F134" in told
    late = tmp_path / "late.csv"
    known = hero.read_round(first)
    rows = [row for row in range(30) if known.gold[list(known.item_ids).index(f"may-{row}")] < 0][:3]
    late.write_text("item,gold\n" + "".join(f"may-{row},1\n" for row in rows), encoding="utf-8")
    code, told = run("add", late, "--round", "2026-05", "--store", store)
    assert code == 0, told
    assert "0 new items, 0 labels, 3 gold; 3 items changed" in " ".join(told.split())
    assert "F134" not in told


@pytest.mark.slow
def test_stored_rounds_take_groups_shrinkage_and_by(tmp_path: Path) -> None:
    """What a remedy names works for files and for the store, and is made again as it was."""
    pytest.importorskip("deltalake")
    store, place = tmp_path / "store", tmp_path
    rng = np.random.default_rng(4)
    for seed, name in ((1, "2026-04"), (2, "2026-05")):
        lines = write_wide(place / f"{name}.csv", seed, n_items=120).read_text(encoding="utf-8").split("\n")
        more = [
            f"{line},{int(rng.random() < 0.4)},{'de' if rng.random() < 0.5 else 'en'}" for line in lines[1:] if line
        ]
        (place / f"{name}.csv").write_text("\n".join([lines[0] + ",flagged,lang", *more]) + "\n", encoding="utf-8")
    (place / "groups.csv").write_text("labeler,group\ngpt,judge\nclaude,judge\nhuman,person\n", encoding="utf-8")
    assert run("init", "--store", store)[0] == 0
    for name in ("2026-04", "2026-05"):
        code, told = run("add", place / f"{name}.csv", "--round", name, "--store", store)
        assert code == 0, told
    asked = ["--round", "2026-05", "--store", store, "--json"]
    files = [place / "2026-05.csv", "--history", place / "2026-04.csv", "--json"]
    for command in (
        ["estimate", "--groups", place / "groups.csv"],
        ["estimate", "--shrinkage", "3", "--method", "hero1"],
        ["moderation", "--flag", "flagged", "--by", "lang"],
    ):
        code, told = run(*command, *asked)
        assert code == 0, told
        stored = json.loads(told)
        code, told = run(*command, *files)
        assert code == 0, told
        from_files = json.loads(told)
        if "groups" in from_files:
            stored, from_files = (one["groups"]["de"]["recall"] for one in (stored, from_files))
        assert stored["value"] == pytest.approx(from_files["value"])
        assert stored["interval"]["low"] == pytest.approx(from_files["interval"]["low"])
    code, told = run(*command, *asked[:-1])
    assert "hero reproduce" in told
    made = told.split("hero reproduce")[1].split()[0]
    code, again = run("reproduce", made, "--store", store)
    assert code == 0, again
    assert json.loads(again)["by"] == "lang"
    code, listed = run("show", "2026-05", "--store", store)
    assert (code, "moderation" in listed) == (0, True), listed


@pytest.mark.slow
def test_files_as_office_programs_write_them(tmp_path: Path) -> None:
    """Semicolons, decimal commas, percent signs, a byte order mark, Windows newlines, spaces around answers."""
    rng = np.random.default_rng(7)
    good = rng.random(90) < 0.6
    share = np.clip(0.2 + 0.6 * good[:, None] + rng.normal(0, 0.15, (90, 2)), 0, 1).round(2)
    told = ["" if row >= 30 else "Yes" if one else "no " for row, one in enumerate(good)]
    plain = [f"q{row},{a:.2f},{b:.2f},{told[row]}" for row, (a, b) in enumerate(share)]
    euro = [f"q{row};{a:.2f};{b:.2f};{told[row]}".replace(".", ",") for row, (a, b) in enumerate(share)]
    signs = [f"q{row},{100 * a:.0f}%,{100 * b:.0f} %,{told[row]}" for row, (a, b) in enumerate(share)]
    values = {}
    for name, rows in (("plain", plain), ("euro", euro), ("signs", signs)):
        by = ";" if name == "euro" else ","
        text = "\r\n".join([by.join(("id", "ann", "bob", "expert")), *rows]) + "\r\n"
        path = tmp_path / f"{name}.csv"
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        read = hero.read_round(path)
        assert (read.labelers, read.n_gold, read.values) == (("ann", "bob"), 30, ("0", "1"))
        assert ("F135" in [one.code for one in read.notes]) == (name != "plain")
        values[name] = hero.estimate_rate(read).value
    assert values["euro"] == values["signs"] == pytest.approx(values["plain"])


def test_rows_that_were_written_twice_are_no_more_items(tmp_path: Path) -> None:
    """Without unique ids rows would be numbered, and count twice."""
    lines = (
        write_wide(tmp_path / "may.csv", 1, n_items=90).read_text(encoding="utf-8").replace("item", "id").split("\n")
    )
    path = tmp_path / "twice.csv"
    path.write_text("\n".join([*lines[:-1], *lines[1:4]]) + "\n", encoding="utf-8")
    assert hero.read_round(path).n_items == 90
    slip = lines[1].replace("may-0,", "may-1,")
    slip = ",".join([slip.split(",")[0], *("10"[int(one)] for one in lines[2].split(",")[1:4]), ""])
    path.write_text("\n".join([lines[0], *lines[2:-1], slip]) + "\n", encoding="utf-8")
    with pytest.raises(hero.InputError, match=r"E108 .*'may-1'"):
        hero.read_round(path)


def test_of_two_words_both_may_be_positive(tmp_path: Path) -> None:
    """An example that names one of them is followed, right or wrong."""
    rows = [f"{row},{('PASS', 'fail')[row % 2]},{('PASS', 'fail')[row % 3 == 0]}" for row in range(30)]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["id,gpt,claude", *rows]) + "\n", encoding="utf-8")
    code, told = run("estimate", path)
    assert (code, "E203" in told) == (2, True), told
    assert "--positive PASS or --positive fail" in " ".join(told.split())


def test_scores_are_told_as_scores_before_any_gold(tmp_path: Path) -> None:
    """Twelve of hundreds of probabilities would pass for all answers, and classes would be nothing at all."""
    rng = np.random.default_rng(3)
    rows = [
        {"item": f"i{k}", "labeler": judge, "label": round(float(rng.random()), 4)}
        for k in range(40)
        for judge in ("gpt", "claude")
    ]
    (tmp_path / "scores.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    code, said = run("import", tmp_path / "scores.jsonl", "--from", "long", "--dry-run")
    assert code == 0, said
    assert "80 different numbers from 0.0" in said
    assert ": scores" in said
    code, said = run("check", tmp_path / "scores.jsonl")
    assert code == 3, said  # without gold nothing can be asked of them, which is said too
    assert "give a history with gold" in " ".join(said.split())
    assert "unknown: labels are scores, and there is no gold" in " ".join(said.split())


def test_a_comparison_that_knows_nothing_ends_with_3(tmp_path: Path) -> None:
    """A pipeline would go on with a table of dashes."""
    rng = np.random.default_rng(1)
    rows = [f"i{row},{a:.3f},{b:.3f}" for row, (a, b) in enumerate(rng.random((60, 2)))]
    path = tmp_path / "may.csv"
    path.write_text("\n".join(["item,judge_a,judge_b", *rows]) + "\n", encoding="utf-8")
    for shape in ([], ["--json"]):
        code, told = run("compare", path, *shape)
        assert (code, "E209" in told) == (3, True), told


def test_an_open_gate_says_so(tmp_path: Path) -> None:
    """Nobody would know whether the gate was asked at all; and no data are 100% sure."""
    path = write_wide(tmp_path / "may.csv", 1)
    code, told = run("estimate", path, "--fail-above", "0.9")
    assert code == 0, told
    assert "gate open: rate of '1' may be as high as" in told
    assert "(we are more than 99.9% sure that it is below)" in " ".join(told.split())
    code, told = run("estimate", path, "--fail-below", "0.99")
    assert code == 4
    assert "(we are less than 0.1% sure that it is above)" in " ".join(told.split())
    assert "gate" not in run("estimate", path, "--fail-above", "0.9", "--quiet")[1]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            ["compare", "--round", "r1", "--round", "r2"],
            "--round is given twice, 'r1' and 'r2'. Give it once. The",
        ),
        (
            ["estimate", "x.csv", "--fail-above", "0.3", "--fail-above=0.9"],
            "--fail-above is given twice, '0.3' and '0.9'",
        ),
        (["estimate", "x.csv", "--histroy", "y.csv"], "no option --histroy. Did you mean --history? All options: hero"),
        (["labelers", "x.csv", "--cost", "1"], "--cost is '1'. Write WHAT=PRICE, such as gold=3"),
        (["estimate", "x.csv", "--map", "good"], "--map is 'good'. Write OLD=NEW, such as good=1"),
    ],
)
def test_slips_of_the_keyboard_are_told(asked: list[str], told: str) -> None:
    """The last value won, and the round or the gate that was named first was gone without a word."""
    code, said = run(*asked)
    assert code == 2, said
    assert told in " ".join(said.split())


def test_the_same_value_twice_is_no_slip(tmp_path: Path) -> None:
    """A script that adds an option of its own to those it was given goes on working."""
    path = write_wide(tmp_path / "may.csv", 1, n_items=60)
    assert run("estimate", path, "--level", "0.9", "--level", "0.9", "--method", "majority_vote")[0] == 0


def test_a_file_named_without_its_ending_is_found_in_the_message(tmp_path: Path) -> None:
    """With many files in a folder the one that was meant was among "26 more"."""
    write_wide(tmp_path / "may.csv", 1, n_items=60)
    for number in range(20):
        (tmp_path / f"april-{number}.csv").write_text("x", encoding="utf-8")
    code, told = run("estimate", tmp_path / "may")
    assert (code, "Did you mean 'may.csv'?" in " ".join(told.split())) == (2, True), told


def test_one_file_named_twice_opens_no_gate(tmp_path: Path) -> None:
    """A pipeline that compares a model with itself would pass every "no worse than before"."""
    path = write_wide(tmp_path / "may.csv", 1, n_items=90)
    copy = tmp_path / "june.csv"
    copy.write_bytes(path.read_bytes())
    code, told = run("compare", path, copy, "--fail-below=-0.1")
    assert (code, "gate undecided" in told, "F113" in told) == (4, True, True), told


def test_a_folder_without_votes_is_told(tmp_path: Path) -> None:
    """An empty folder ended in a KeyError."""
    for engine in ([], ["--engine", "duckdb"], ["--memory-limit", "1GB"]):
        code, told = run("arena", tmp_path, *engine)
        assert (code, "E116" in told) == (2, True), told


@pytest.mark.slow
def test_a_class_that_only_one_round_has_ends_no_backtest(tmp_path: Path) -> None:
    """With that round's gold hidden nobody knows of the class: matrices of two sizes met in a Python error."""
    paths = [write_wide(tmp_path / f"past{seed}.csv", seed, n_items=60, gold=0.5) for seed in (1, 2, 3)]
    lines = paths[0].read_text(encoding="utf-8").split("\n")
    odd = [f"{line[:-1]}7" if line[-1:] in ("0", "1") and not line.endswith(",") else line for line in lines[1:]]
    paths[0].write_text("\n".join([lines[0], *odd]), encoding="utf-8")
    code, told = run("backtest", *paths, "--verbose")
    assert code == 0, told
    assert "without its own gold a class of '0', '1', '7' is unknown" in " ".join(told.split())


def test_a_wide_table_without_rows_lacks_nothing_else(tmp_path: Path) -> None:
    """Whose columns are labelers cannot be told without a row: three columns were asked for in vain."""
    path = tmp_path / "may.csv"
    path.write_text("id,gpt4,claude,expert\n", encoding="utf-8")
    code, told = run("estimate", path)
    assert (code, "E105" in told, "E104" in told) == (2, True, False), told


def test_scores_without_any_gold_cannot_be_told(tmp_path: Path) -> None:
    """It ended as if the call were wrong, and spoke of a method that nobody had asked for."""
    rng = np.random.default_rng(1)
    rows = [f"i{row},{a:.3f},{b:.3f}" for row, (a, b) in enumerate(rng.random((60, 2)))]
    path = tmp_path / "may.csv"
    path.write_text("\n".join(["item,judge_a,judge_b", *rows]) + "\n", encoding="utf-8")
    code, told = run("estimate", path)
    assert (code, "E214" in told, "dawid_skene" in told) == (3, True, False), told
    assert run("estimate", path, "--method", "dawid_skene")[0] == 2
    code, told = run("check", path)
    assert code == 3
    assert "unknown: labels are scores, and there is no gold" in " ".join(told.split())


def test_a_plan_without_a_round_names_options_of_the_command() -> None:
    code, told = run("plan", "--width", "0.1")
    assert (code, "--items 500 --labelers 5" in " ".join(told.split())) == (2, True), told


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("labelers", ["--since", "2026-01"]),
        ("labelers", ["--judges", "gpt"]),
        ("backtest", ["--before", "2026-01"]),
        ("rank", ["--question", "helpful"]),
        ("arena", ["--since", "2026-01"]),
    ],
)
def test_what_chooses_stored_rounds_is_refused_beside_files(command: str, options: list[str], tmp_path: Path) -> None:
    """`hero arena votes.csv --since` ranked all votes without a word."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("item,labeler,label,gold\n1,x,1,1\n2,x,0,0\n")
    files = [str(tmp_path / name) for name in (("a.csv",) if command == "arena" else ("a.csv", "b.csv"))]
    code, told = run(command, *files, *options)
    assert code == 2
    assert "E204" in told
    assert options[0] in told


def test_defaults_of_a_project_choose_nothing_beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's own dates are for its store; its files would be refused."""
    (tmp_path / "hero.toml").write_text('question = "helpful"\n[history]\nsince = "2026-01-01"\n')
    (tmp_path / "a.csv").write_text("item,labeler,label,gold\n1,x,1,1\n2,x,0,0\n3,x,1,0\n")
    monkeypatch.chdir(tmp_path)
    code, told = run("labelers", "a.csv")
    assert (code, "discrimination" in told) == (0, True), told
