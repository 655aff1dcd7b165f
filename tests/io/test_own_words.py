"""Labelers who answer in words of their own: read where gold shows what they mean, asked about where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hero_eval as hero

N_ITEMS = 240


def table(
    seed: int,
    *,
    gold: float = 0.2,
    said: tuple[object, object] = ("no", "yes"),
    own: tuple[str, str] = ("fail", "pass"),
    scores: bool = False,
    known: tuple[object, object] | None = None,
) -> pd.DataFrame:
    """One judge in gold's words, one in words of its own, perhaps one of probabilities; second words are good."""
    rng = np.random.default_rng(seed)
    good = (rng.random(N_ITEMS) < 0.6).astype(int)
    one, other = (np.where(rng.random(N_ITEMS) < right, good, 1 - good) for right in (0.85, 0.8))
    frame = pd.DataFrame({"item": [f"{seed}-{k}" for k in range(N_ITEMS)]})
    frame["gpt"], frame["claude"] = [said[k] for k in one], [own[k] for k in other]
    share = np.clip(0.35 + 0.35 * good + rng.normal(0, 0.18, N_ITEMS), 0, 1).round(3)
    if scores:
        frame["llama"] = share
    asked = rng.random(N_ITEMS) < gold
    if gold:
        frame["gold"] = [(known or said)[k] if one else None for k, one in zip(good, asked, strict=True)]
    return frame


def read(frame: pd.DataFrame, **options: Any) -> hero.Round:
    judges = [name for name in ("gpt", "claude", "llama") if name in frame]
    return hero.Round(frame, labelers=judges, **options)


def value(current: hero.Round, history: hero.Round | None = None, **options: Any) -> float:
    return hero.estimate_rate(current, history, **options).value


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("own", [("fail", "pass"), ("zero", "all"), ("👎", "👍")])
def test_words_mean_what_gold_shows(own: tuple[str, str], scores: bool) -> None:
    """Four classes, two of which no gold has, and an interval from 0 to .27 for each of them."""
    frame = table(1, own=own, scores=scores)
    asked = read(frame, map={own[0]: "no", own[1]: "yes"})
    told = read(frame)
    assert told.holds_same_as(asked)
    assert value(told) == value(asked)
    (note,) = [one for one in told.notes if one.code == "F138"]
    assert note.data["answers"] == {own[0]: "no", own[1]: "yes"}
    assert f"{own[0]}=yes" in note.action


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("gold", [0.0, 0.02])
@pytest.mark.parametrize("own", [("fail", "pass"), ("zero", "all")])
def test_past_rounds_tell_what_words_mean(own: tuple[str, str], gold: float, scores: bool) -> None:
    """Too little gold, or none, tells nothing by itself."""
    past, current = table(1, own=own, scores=scores), table(2, own=own, gold=gold, scores=scores)
    mapped = {own[0]: "no", own[1]: "yes"}
    found = hero.estimate_rate(read(current), read(past), method="hero1")
    asked = hero.estimate_rate(read(current, map=mapped), read(past, map=mapped), method="hero1")
    assert found.value == pytest.approx(asked.value)
    assert found.std_error == pytest.approx(asked.std_error)


@pytest.mark.parametrize("gold", [0.0, 0.02])
def test_what_nobody_shows_is_asked_with_the_map_to_paste(gold: float) -> None:
    """Pass may as well mean that the answer was toxic."""
    current = read(table(2, gold=gold))
    with pytest.raises(hero.InputError, match=r"E127 .*'claude' answers 'fail', 'pass'") as told:
        value(current)
    assert "--map fail=no,pass=yes" in str(told.value)
    assert "--map fail=yes,pass=no" in str(told.value)
    assert "--exclude-labelers claude" in str(told.value)
    assert value(read(table(2, gold=gold), map={"fail": "no", "pass": "yes"}), method="majority_vote") > 0


def test_gold_of_0_and_1_beside_yes_and_pass() -> None:
    """Yes and no were words of their own beside 0, 1, pass and fail, and a round contradicted itself."""
    frame = table(1, known=(0, 1))
    assert value(read(frame)) == value(read(table(1)))
    with pytest.raises(hero.InputError, match=r"E127 .*--map fail=0,pass=1"):
        value(read(table(2, gold=0.02, known=(0, 1))))


def test_gold_that_is_words_beside_scores() -> None:
    """A probability beside gold of good and bad was to be mapped, number by number."""
    frame = table(1, said=("Bad", "Good"), scores=True)
    assert value(read(frame), positive="Good") == pytest.approx(value(read(table(1, scores=True))))
    numbers = table(1, said=(2, 4), own=("2", "4"), known=("fail", "pass"))
    assert read(numbers).label_score is not None
    past, current = table(1, said=("Bad", "Good"), scores=True), table(2, said=("Bad", "Good"), scores=True, gold=0)
    named = hero.estimate_rate(read(current, positive="Good"), read(past, positive="Good"), method="hero1")
    assert named.value == value(read(current), read(past), positive="Good", method="hero1")


def test_rounds_that_contradict_each_other_are_told() -> None:
    past = table(1, own=("pass", "fail"))
    with pytest.raises(hero.InputError, match=r"E205 by gold 'fail' means '1' in round 'round', but '0'"):
        value(read(table(2)), read(past))


def test_slips_and_rare_answers_stay_what_they_are() -> None:
    """They are no language of their own."""
    frame = table(1)
    frame.loc[[3, 5, 8], "gpt"] = "unsure"
    frame.loc[4, "claude"] = "yes"
    told = read(frame)
    assert set(told.values) == {"no", "unsure", "yes"}
    frame = table(1, own=("no", "yes"))
    frame.loc[frame.index % 9 == 0, "claude"] = "unsure"
    assert "F138" not in [one.code for one in read(frame).notes]


def test_one_of_many_judges_may_say_yes_beside_scores() -> None:
    """Of 12 judges 11 gave probabilities: yes and no were taken for slips."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"m{k}": rng.random(60).round(3) for k in range(11)})
    frame["llm"] = np.where(rng.random(60) < 0.5, "yes", "no")
    frame["gold"] = np.where(rng.random(60) < 0.5, 1, 0)
    people = [name for name in frame if name != "gold"]
    assert hero.Round(frame, labelers=people).n_labels == 720
    assert (
        hero.Round(frame.assign(llm=frame["llm"].map({"yes": "passed", "no": "failed"})), labelers=people).n_labels
        == 720
    )


def test_three_words_beside_scores_need_numbers() -> None:
    frame = table(1, scores=True)
    frame["claude"] = [("poor", "fair", "good")[k % 3] for k in range(N_ITEMS)]
    with pytest.raises(
        hero.InputError, match=r"E126 .*'claude' answers 'fair', 'good', 'poor'.*--map fair=0,good=1,poor=2"
    ):
        read(frame)


def test_all_words_strange_to_gold_are_mapped_by_paste() -> None:
    frame = table(1, said=("fail", "pass"), known=("no", "yes"))
    with pytest.raises(hero.InputError, match=r"E127 .*--map fail=no,pass=yes\)"):
        read(frame)


def test_engines_say_where_words_can_be_read(tmp_path: Path) -> None:
    """They neither learn nor map what words mean, and made classes of them."""
    frame = table(1)
    long = frame.melt("item", ["gpt", "claude"], "labeler", "label")
    long.to_csv(tmp_path / "labels.csv", index=False)
    frame[["item", "gold"]].dropna().to_csv(tmp_path / "gold.csv", index=False)
    with pytest.raises(hero.InputError, match=r"E127 .*'claude' answers 'fail', 'pass'.*--engine memory"):
        hero.estimate_rate(hero.read_round(tmp_path, engine="duckdb"))
    assert value(hero.read_round(tmp_path)) == value(read(frame))
