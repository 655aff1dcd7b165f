"""Many models by side-by-side votes: plain Bradley-Terry where labelers never err, corrected where gold shows how."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from repository import TESTS
from scipy import optimize
from scipy.special import expit
from typer.testing import CliRunner
from vote_tables import make_battles, make_votes

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.model import vote_errors as vote_errors_module
from hero_eval.model import vote_model
from hero_eval.model.simultaneous import t_quantile
from hero_eval.model.vote_battles import VoteState, allocated
from hero_eval.model.vote_errors import vote_errors
from hero_eval.model.vote_fit import VotePriors, _gradient, _objective, fit_votes, vote_sums
from hero_eval.model.vote_model import TIE_MODELS, VoteParameters, confusions, state_shares
from hero_eval.model.vote_sites import VoteCells, components, sites_of

STRENGTHS = np.array([0.9, 0.4, 0.0, -0.4, -0.9])
SKILL = np.array([0.5, 1.0, 1.6, 2.2])
BIAS = np.array([0.8, -0.5, 0.0, 0.3])


def drawn_votes(
    rng: np.random.Generator, n: int, *, gold: float = 0.0, errs: bool = True, ties: float = 0.0
) -> pa.Table:
    """Votes of four labelers on five models; `gold` is the share of votes whose true preference is known."""
    a = rng.integers(0, 5, n)
    b = (a + rng.integers(1, 5, n)) % 5
    wins = expit(STRENGTHS[a] - STRENGTHS[b])
    tied = rng.random(n) < ties * 2 * wins * (1 - wins)
    true = np.where(tied, 2, (rng.random(n) > wins).astype(int))
    who = rng.integers(0, 4, n)
    first = expit(np.array([1.0, -1.0, 0.0])[true] * SKILL[who] + BIAS[who])
    said = np.where(tied, 2, (rng.random(n) > first).astype(int)) if errs else true
    words = np.array(["A", "B", "tie"])
    known = rng.random(n) < gold
    table = {
        "item": [f"i{i}" for i in range(n)],
        "model_a": [f"m{i}" for i in a],
        "model_b": [f"m{i}" for i in b],
        "labeler": [f"j{j}" for j in who],
        "label": words[said],
    }
    if gold:
        table["gold"] = pa.array([word if show else None for word, show in zip(words[true], known, strict=True)])
    return pa.table(table)


# ------------------------------------------------------------------------------------------------------ the likelihood


def drawn_cells(rng: np.random.Generator, n: int = 60) -> VoteCells:
    """Votes of all kinds: with gold and without, on pairs and of history."""
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    past = rng.random(n) < 0.3
    gold = np.where(past | (rng.random(n) < 0.3), rng.integers(0, 3, n), -1)
    return VoteCells(
        np.where(past, -1, a),
        np.where(past, -1, b),
        rng.integers(0, 3, n),
        rng.integers(0, 3, n),
        gold,
        rng.integers(1, 4, n).astype(float),
        rng.normal(size=(n, 1)),
        4,
        3,
    )


def naive_log_likelihood(name: str, cells: VoteCells, at: VoteParameters) -> float:
    """Vote by vote, state by state, as the model is written down."""
    ties = TIE_MODELS[name]
    total = 0.0
    for r in range(len(cells.counts)):
        outcomes = {0: [(0, 1.0)], 1: [(1, 1.0)], 2: [(2, 1.0)] if name == "davidson" else [(0, 0.5), (1, 0.5)]}
        answers = confusions(ties, at.answers)[cells.labeler[r]]
        pi = None
        if cells.first[r] >= 0:
            delta = at.strengths[cells.first[r]] - at.strengths[cells.second[r]] + cells.covariates[r] @ at.beta
            pi = state_shares(ties, np.array([delta]), at.tau)[0]
        for answer, weight in outcomes[int(cells.label[r])]:
            if cells.gold[r] < 0:
                assert pi is not None
                total += cells.counts[r] * weight * np.log(sum(pi[k] * answers[k, answer] for k in range(len(pi))))
            else:
                states = outcomes[int(cells.gold[r])]
                total += cells.counts[r] * weight * np.log(sum(share * answers[k, answer] for k, share in states))
        if cells.gold[r] >= 0 and pi is not None:
            total += sum(cells.counts[r] * share * np.log(pi[k]) for k, share in outcomes[int(cells.gold[r])])
    return total


@pytest.mark.numbers
@pytest.mark.parametrize("name", TIE_MODELS)
def test_the_likelihood_is_that_of_votes_one_by_one(name: str) -> None:
    rng = np.random.default_rng(1)
    ties, cells = TIE_MODELS[name], drawn_cells(rng)
    sites, _ = sites_of(ties, cells, True)
    n_p = len(ties.mean)
    at = VoteParameters(rng.normal(size=4), rng.normal(size=1), 0.3, rng.normal(size=n_p), rng.normal(size=(3, n_p)))
    priors = VotePriors(np.ones(n_p), 2.0)
    no_priors = 0.5 * float(((at.answers - at.mean) ** 2).sum() + ((at.mean - ties.mean) ** 2).sum() / 1.5**2)
    found = _objective(ties, sites, at, priors) + no_priors + 0.5 * float(at.strengths @ at.strengths) / 4
    assert found == pytest.approx(naive_log_likelihood(name, cells, at), abs=1e-9)


@pytest.mark.numbers
@pytest.mark.parametrize("name", TIE_MODELS)
def test_slopes_are_those_of_small_steps(name: str) -> None:
    rng = np.random.default_rng(2)
    ties, cells = TIE_MODELS[name], drawn_cells(rng)
    sites, _ = sites_of(ties, cells, True)
    n_p = len(ties.mean)
    at = VoteParameters(rng.normal(size=4), rng.normal(size=1), 0.3, rng.normal(size=n_p), rng.normal(size=(3, n_p)))
    priors = VotePriors(np.full(n_p, 0.7), 2.0)
    shared, own = _gradient(ties, sites, at, priors, vote_sums(ties, sites, at))

    def value(x: np.ndarray) -> float:
        s, beta, rest = x[:4], x[4:5], x[5:]
        tau, rest = (rest[0], rest[1:]) if ties.has_ties else (0.3, rest)
        moved = VoteParameters(s, beta, tau, rest[:n_p], rest[n_p:].reshape(3, n_p))
        return _objective(ties, sites, moved, priors)

    x = np.concatenate([at.strengths, at.beta, [at.tau] if ties.has_ties else [], at.mean, at.answers.ravel()])
    numeric = optimize.approx_fprime(x, value, 1e-6)
    assert np.concatenate([shared, own.ravel()]) == pytest.approx(numeric, abs=2e-4)


def test_groups_that_no_vote_connects_are_found() -> None:
    cells = replace(drawn_cells(np.random.default_rng(3)), first=np.zeros(60, int), second=np.ones(60, int))
    assert [part.tolist() for part in components(cells)] == [[0, 1], [2], [3]]


def test_votes_go_to_the_pair_that_matters() -> None:
    covariance = np.diag([1.0, 1.0, 1.0, 0.01])
    worth = np.full((4, 4), 0.2)
    contrast = np.array([[1.0, -1.0, 0.0, 0.0]])
    given = allocated(VoteState(covariance, worth), contrast, np.ones(1), 101)
    assert given.sum() == 101
    assert given[0, 1] > 50
    assert given[2].sum() + given[:, 2].sum() == 0


# ---------------------------------------------------------------------------------------------- labelers without error


@pytest.mark.slow
@pytest.mark.numbers
@pytest.mark.parametrize("ties", [0.0, 0.4])
def test_labelers_who_never_err_give_plain_bradley_terry(ties: float) -> None:
    """A leaderboard would differ from all others for no reason: evalica's strengths are the same to 1e-6."""
    evalica = pytest.importorskip("evalica", reason="evalica is not installed")
    table = drawn_votes(np.random.default_rng(4), 2000, errs=False, ties=ties)
    won = {"A": evalica.Winner.X, "B": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    columns = [table[name].to_pylist() for name in ("model_a", "model_b")]
    theirs = evalica.bradley_terry(
        *columns, [won[one] for one in table["label"].to_pylist()], tolerance=1e-14, limit=10**5
    )
    wanted = np.log(theirs.scores.sort_index().to_numpy())
    wanted -= wanted.mean()
    untold = hero.rank_votes(table)
    assert untold.strengths == pytest.approx(wanted, abs=1e-6)
    assert "F521" in {one.code for one in untold.findings}
    golden = hero.rank_votes(table.append_column("gold", table["label"]))
    assert golden.strengths == pytest.approx(wanted, abs=1e-6)
    assert "F521" not in {one.code for one in golden.findings}


@pytest.mark.numbers
def test_davidsons_model_is_its_maximum_likelihood() -> None:
    table = drawn_votes(np.random.default_rng(5), 1500, errs=False, ties=0.5)
    found = hero.rank_votes(table, ties="davidson")
    a, b = (np.array([int(name[1:]) for name in table[side].to_pylist()]) for side in ("model_a", "model_b"))
    said = np.array([{"A": 0, "B": 1, "tie": 2}[one] for one in table["label"].to_pylist()])

    def loss(x: np.ndarray) -> float:
        delta = np.append(x[:4], -x[:4].sum())[a] - np.append(x[:4], -x[:4].sum())[b]
        logits = np.stack([delta / 2, -delta / 2, np.full(len(a), x[4])], axis=1)
        return -float((logits[np.arange(len(a)), said] - np.log(np.exp(logits).sum(axis=1))).sum())

    best = optimize.minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    assert found.strengths[:4] == pytest.approx(best.x[:4], abs=1e-4)
    assert found.tie[0] == pytest.approx(best.x[4], abs=1e-4)


@pytest.mark.numbers
def test_standard_errors_are_the_sandwichs() -> None:
    """By the textbook: H^-1 (sum of squared scores) H^-1 of the logistic regression."""
    table = drawn_votes(np.random.default_rng(6), 1200, errs=False, ties=0.3)
    found = hero.rank_votes(table)
    a, b = (np.array([int(name[1:]) for name in table[side].to_pylist()]) for side in ("model_a", "model_b"))
    worth = np.array([{"A": 1.0, "B": 0.0, "tie": 0.5}[one] for one in table["label"].to_pylist()])
    design = np.eye(5)[a] - np.eye(5)[b]
    p = expit(design @ found.strengths)
    inverse = np.linalg.pinv(design.T @ (design * (p * (1 - p))[:, None]), rcond=1e-10)
    scores = design * (worth - p)[:, None]
    assert found.covariance == pytest.approx(inverse @ scores.T @ scores @ inverse, abs=1e-9)


def test_votes_of_one_item_count_as_one_in_the_error() -> None:
    """An item that ten labelers voted on would count as ten items."""
    table = drawn_votes(np.random.default_rng(7), 500, errs=False)
    often = pa.concat_tables([table] * 4)
    one, four = hero.rank_votes(table), hero.rank_votes(often)
    assert four.n_items == 500
    assert four.strengths == pytest.approx(one.strengths, abs=1e-9)
    assert four.covariance == pytest.approx(one.covariance, abs=1e-12)


# ---------------------------------------------------------------------------------------------------- labelers who err


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_votes_are_corrected_by_what_gold_shows(ties: str) -> None:
    rng = np.random.default_rng(8)
    votes, past = drawn_votes(rng, 5000), drawn_votes(rng, 800, gold=1.0)
    plain, found = hero.rank_votes(votes, ties=ties), hero.rank_votes(votes, past, ties=ties)
    assert np.abs(found.strengths - STRENGTHS).mean() < 0.5 * np.abs(plain.strengths - STRENGTHS).mean()
    assert found.order == ("m0", "m1", "m2", "m3", "m4")
    rows = {row["labeler"]: row for row in found.labeler_rows}
    assert rows["j0"]["first_bias"] > 0.5
    assert rows["j3"]["right_first"] > rows["j0"]["right_second"]
    assert "F523" in {one.code for one in found.findings}
    codes = {
        one.code for one in hero.rank_votes(votes, past.filter(pa.compute.not_equal(past["labeler"], "j1"))).findings
    }
    assert "F524" in codes


@pytest.mark.slow
def test_gold_in_the_votes_and_rounds_as_history_teach_too() -> None:
    rng = np.random.default_rng(9)
    votes, past = drawn_votes(rng, 1500), drawn_votes(rng, 300, gold=1.0)
    round_ = hero.Round(
        past.select(["item", "labeler", "label"]), past.select(["item", "gold"]), classes=["A", "B", "tie"], name="past"
    )
    by_votes, by_round = hero.rank_votes(votes, past), hero.rank_votes(votes, round_)
    assert by_round.strengths == pytest.approx(by_votes.strengths, abs=1e-9)
    assert by_round.n_gold == by_votes.n_gold == 300
    inside = hero.rank_votes(drawn_votes(rng, 1500, gold=0.2))
    assert inside.n_gold > 200
    assert "corrected" in inside.method


@pytest.mark.simulation
@pytest.mark.slow
def test_intervals_of_corrected_strengths_hold() -> None:
    """10 draws of five strengths, which share what is not known of the labelers: a Monte Carlo error of about .05."""
    held = []
    for seed in range(10):
        rng = np.random.default_rng([10, seed])
        found = hero.rank_votes(drawn_votes(rng, 2000), drawn_votes(rng, 400, gold=1.0))
        error = np.sqrt(np.diag(found.covariance)) * t_quantile(0.975, found.standing.df)
        held.append(np.abs(found.strengths - STRENGTHS) <= error)
    assert np.mean(held) > 0.95 - 0.15


def test_the_integrated_fit_rests_where_its_gradient_is_nil() -> None:
    rng = np.random.default_rng(12)
    ties = TIE_MODELS["half"]
    sites, rows = sites_of(ties, replace(drawn_cells(rng, 400), covariates=np.zeros((400, 0))), True)
    fit = fit_votes(ties, sites)
    assert fit.converged
    assert fit.change < 1e-8
    assert np.linalg.eigvalsh(vote_errors(fit, rows).shared).min() > -1e-9


@pytest.mark.slow
def test_many_labelers_of_little_gold_come_to_rest() -> None:
    """Spreads of hundreds of labelers are learned slowly: 200 steps, minutes for a million votes, did not do."""
    rng, told = np.random.default_rng(8), []
    votes, past = (crowd_votes(rng, n, gold) for n, gold in ((6000, False), (600, True)))
    board = hero.rank_votes(votes, past, progress=lambda steps, _: told.append(steps))
    assert board.converged
    assert max(told) < 120


def crowd_votes(rng: np.random.Generator, n: int, gold: bool) -> pa.Table:
    """Votes by 300 labelers of all kinds on 8 models."""
    strengths, skill = np.linspace(-0.7, 0.7, 8), np.linspace(0.4, 2.5, 300)
    a, who = rng.integers(0, 8, n), rng.integers(0, 300, n)
    b = (a + rng.integers(1, 8, n)) % 8
    true = rng.random(n) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
    said = np.where(rng.random(n) < 1 / (1 + np.exp(-skill[who])), true, ~true)
    texts = {"model_a": a, "model_b": b, "labeler": who}
    table = {name: [f"{name[0]}{code}" for code in codes] for name, codes in texts.items()}
    table |= {"label": np.where(said, "A", "B").tolist()} | (
        {"gold": np.where(true, "A", "B").tolist()} if gold else {}
    )
    return pa.table({"item": [f"i{k}" for k in range(n)], **table})


@pytest.mark.slow
@pytest.mark.numbers
@pytest.mark.parametrize(("name", "clustered"), [("half", False), ("davidson", True)])
def test_votes_in_parts_say_what_they_say_at_once(name: str, clustered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strengths of millions of votes, which are never in memory together, would depend on where the parts end."""
    rng = np.random.default_rng(13)
    ties, cells = TIE_MODELS[name], drawn_cells(rng, 150)
    if clustered:
        cells = replace(cells, cell=rng.integers(0, 150, 250), cluster=rng.integers(0, 60, 250))

    def found() -> tuple[Any, Any]:
        sites, rows = sites_of(ties, cells, True)
        fit = fit_votes(ties, sites)
        return fit.at, vote_errors(fit, rows, np.array([True, False, False, False]))

    at, errors = found()
    monkeypatch.setattr(vote_model, "_PART", 40)
    monkeypatch.setattr(vote_errors_module, "_PART", 40)
    in_parts, errors_in_parts = found()
    assert in_parts.strengths == pytest.approx(at.strengths, abs=1e-7)
    assert in_parts.answers == pytest.approx(at.answers, abs=1e-7)
    assert errors_in_parts.shared == pytest.approx(errors.shared, abs=1e-7)


@pytest.mark.parametrize("ties", TIE_MODELS)
def test_models_that_only_tie_are_not_known_for_sure(ties: str) -> None:
    """Fifty ties would give one of equal models, by its name, a chance of 100% to be best."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 50)
    pairs = {"model_a": [f"m{i}" for i in a], "model_b": [f"m{i}" for i in (a + rng.integers(1, 4, 50)) % 4]}
    board = hero.rank_votes(pa.table(pairs | {"label": ["tie", "both bad"] * 25}), ties=ties)
    columns = board.columns()
    assert min(columns["std_error"]) > 20
    assert max(columns["p_best"]) < 0.4
    assert {"F522", "F525"} <= {one.code for one in board.findings}
    assert board.converged
    won = {"model_a": ["m0", "m1"] * 15, "model_b": ["m1", "m0"] * 15, "label": ["A", "A", "B"] * 10}
    one = {"model_a": ["m0", "m2"] * 10, "model_b": ["m2", "m1"] * 10, "label": ["tie"] * 20}
    columns = hero.rank_votes(pa.table({name: won[name] + one[name] for name in won}), ties=ties).columns()
    assert min(columns["std_error"]) > 20


def test_davidson_comes_to_rest_where_nobody_ties() -> None:
    """How common ties are would run away to none at all, and leave a warning about steps that nobody can give."""
    votes = drawn_votes(np.random.default_rng(5), 300, errs=False)
    plain, found = hero.rank_votes(votes), hero.rank_votes(votes, ties="davidson")
    assert found.converged
    assert found.strengths == pytest.approx(plain.strengths, abs=0.02)
    assert "F301" not in {one.code for one in found.findings}


def test_whoever_takes_a_side_whatever_is_there_is_named_without_gold() -> None:
    """A judge that always says A would be believed; and one who prefers a model, wherever it stands, be suspected."""
    votes = drawn_votes(np.random.default_rng(4), 120, errs=False).to_pydict()
    votes["label"] = [
        "A" if who == "j0" else "A" if a < b else "B"
        for who, a, b in zip(votes["labeler"], votes["model_a"], votes["model_b"], strict=True)
    ]
    found = {one.code: one for one in hero.rank_votes(pa.table(votes)).findings}
    assert found["F526"].data == {"labelers": ["j0"]}


# ------------------------------------------------------------------------------------------ two models, tables, errors


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_little_gold_that_contradicts_the_votes_still_comes_to_rest(seed: int) -> None:
    """The first answers of an expert would leave strengths that jump back and forth, or a traceback."""
    past, votes = make_battles(3, 40, 0.3)[0], make_battles(4, 150, 0.0, 1000)[0]
    rng = np.random.default_rng(seed)
    said = {}
    for item in rng.choice(votes["item"].unique(), 5, replace=False):
        row = votes[votes["item"] == item].iloc[0]
        said[item] = row["model_a"] if rng.random() < 0.5 else row["model_b"]
    board = hero.rank_votes(votes.assign(gold=votes["item"].map(said)), past)
    assert board.converged
    assert board.order[0] in ("v", "w")


def test_two_models_are_a_win_rate() -> None:
    """A user who has two models would see two answers."""
    rng = np.random.default_rng(13)
    votes, past = (
        table.set_column(1, "model_a", pa.array(["new"] * table.num_rows)).set_column(
            2, "model_b", pa.array(["old"] * table.num_rows)
        )
        for table in (drawn_votes(rng, 300), drawn_votes(rng, 300, gold=1.0))
    )
    found = hero.rank_votes(votes, past)
    here = hero.Round(votes.select(["item", "labeler", "label"]), classes=["A", "B"])
    before = hero.Round(past.select(["item", "labeler", "label"]), past.select(["item", "gold"]), classes=["A", "B"])
    rate = hero.estimate_win_rate(here, before)
    assert found.win_rate.value == pytest.approx(rate.value, abs=1e-9)
    assert found.win_rate.interval() == pytest.approx(rate.interval(), abs=1e-9)
    best = found.to_frame("pyarrow").to_pylist()[0]
    worst = found.to_frame("pyarrow").to_pylist()[1]
    assert worst["win_rate"] == pytest.approx(min(rate.value, 1 - rate.value), abs=1e-9)
    assert best["model"] == ("new" if rate.value > 0.5 else "old")


def test_sparse_and_one_sided_votes_are_drawn_together() -> None:
    table = pa.table({"model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"], "label": ["A", "A", "A"]})
    found = hero.rank_votes(table)
    assert np.isfinite(found.strengths).all()
    assert found.order == ("x", "y", "z")
    assert "F522" in {one.code for one in found.findings}


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"model_a": ["x"], "model_b": ["y"]}, "E104"),
        ({"model_a": ["x"], "model_b": ["x"], "label": ["A"]}, "E234"),
        ({"model_a": ["x"], "model_b": ["y"], "label": ["perhaps"]}, "E233"),
        ({"model_a": ["x", None], "model_b": ["y", "x"], "label": ["A", "B"]}, "E107"),
        ({"model_a": ["x", "u"], "model_b": ["y", "v"], "label": ["A", "B"]}, "E232"),
    ],
)
def test_wrong_votes_are_refused(table: dict[str, Any], code: str) -> None:
    with pytest.raises(hero.HeroError) as caught:
        hero.rank_votes(pa.table(table))
    assert caught.value.code == code


@pytest.mark.slow
def test_options_of_leaderboards_are_checked() -> None:
    table = drawn_votes(np.random.default_rng(14), 300)
    for options, code in (
        ({"ties": "quarter"}, "E201"),
        ({"reference": "m9"}, "E235"),
        ({"covariates": ["length"]}, "E202"),
        ({"level": 2.0}, "E201"),
        ({"correction": "none"}, "E201"),
    ):
        with pytest.raises(hero.InputError) as caught:
            hero.rank_votes(table, **options)  # type: ignore[arg-type]
        assert caught.value.code == code
    found = hero.rank_votes(table)
    for wrong, code in (({"top": 9}, "E201"), ({"pair": ["m0", "m9"]}, "E235"), ({"count": 0}, "E201")):
        with pytest.raises(hero.InputError) as caught:
            found.next_battles(**wrong)  # type: ignore[arg-type]
        assert caught.value.code == code
    assert sum(one.votes for one in found.next_battles(30, pair=["m0", "m1"])) == 30


def test_answers_may_name_the_winner_and_both_may_be_bad() -> None:
    table = pa.table(
        {
            "model_a": ["x", "y", "x", "y"] * 10,
            "model_b": ["y", "z", "z", "x"] * 10,
            "winner": ["x", "z", "tie (bothbad)", "model_b"] * 10,
        }
    )
    votes = hero.read_votes(table)
    assert (votes.n_votes, votes.models) == (40, ("x", "y", "z"))
    said = dict(zip(votes.cells.label.tolist(), votes.cells.counts.tolist(), strict=False))
    assert set(said) == {0, 1, 2}
    assert "F525" in {one.code for one in votes.notes}


@pytest.mark.slow
def test_covariates_of_the_pair_are_held_equal() -> None:
    """Models that write longer answers would look better than they are."""
    rng = np.random.default_rng(15)
    table = drawn_votes(rng, 3000, errs=False)
    longer = np.array([int(name[1:]) for name in table["model_a"].to_pylist()]) < 2
    length = rng.normal(size=3000) + longer
    wins = rng.random(3000) < expit(length)
    table = table.set_column(4, "label", pa.array(np.where(wins, "A", "B"))).append_column("length", pa.array(length))
    found = hero.rank_votes(table, covariates=["length"])
    value, error = found.covariates["length"]
    assert value / length.std() == pytest.approx(1.0, abs=4 * error / length.std())
    assert np.abs(found.strengths).max() < np.abs(hero.rank_votes(table).strengths).max()
    assert "F527" in {one.code for one in found.findings}


@pytest.mark.slow
def test_duckdb_and_memory_count_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(16)
    once = drawn_votes(rng, 800, gold=0.3)
    for name, table in (("once", once), ("twice", pa.concat_tables([once, once]))):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        here, there = (hero.read_votes(tmp_path / f"{name}.parquet", engine=of) for of in ("memory", "duckdb"))
        assert (here.n_votes, here.n_items, here.n_gold) == (there.n_votes, there.n_items, there.n_gold)
        a, b = hero.rank_votes(here), hero.rank_votes(there)
        assert a.strengths == pytest.approx(b.strengths, abs=1e-9)
        assert a.covariance == pytest.approx(b.covariance, abs=1e-9)


@pytest.mark.parametrize(("name", "votes"), [("mt_bench_human.jsonl", 18), ("fastchat_pair.jsonl", 14)])
def test_exports_of_arenas_are_read(name: str, votes: int) -> None:
    found = hero.read_votes(TESTS / "exports" / name)
    assert found.n_votes == votes
    assert found.models == ("alpha", "beta")


@pytest.mark.slow
def test_results_are_shown_and_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(17)
    votes, past = tmp_path / "votes.csv", tmp_path / "past.csv"
    pyarrow.csv.write_csv(drawn_votes(rng, 600), votes)
    pyarrow.csv.write_csv(drawn_votes(rng, 200, gold=1.0), past)
    found = hero.rank_votes(votes, past)
    assert found.to_frame("pyarrow").num_rows == 5
    assert found.differences("pyarrow").num_rows == 10
    assert found.win_matrix("pyarrow").num_columns == 6
    assert found.labelers("pyarrow").num_rows == 4
    matrix = found.to_dict()["win_matrix"]
    assert matrix["m0"]["m4"] + matrix["m4"]["m0"] == pytest.approx(1.0)
    assert "Leaderboard(600 votes" in repr(found)
    assert "m0" in found._repr_html_()
    assert "600 votes" in hero.read_votes(votes)._repr_html_()
    run = CliRunner()
    called = ["arena", str(votes), "--history", str(past)]
    shown = run.invoke(app, [*called, "--next", "50", "--csv", str(tmp_path / "out.csv")])
    assert shown.exit_code == 0, shown.output
    assert "next battles" in shown.output
    assert "in log-odds; 0 is fair" in " ".join(shown.output.split())
    assert run.invoke(app, ["arena", str(votes)]).output.count("undecided") == 6  # without gold, of each of five models
    assert (tmp_path / "out.csv").read_text().startswith("rank,model,elo")
    document = json.loads(run.invoke(app, [*called, "--next", "50", "--json"]).output)
    assert sum(row["votes"] for row in document["next_battles"]) == 50
    assert len(document["models"]) == 5
    assert run.invoke(app, [*called, "--top", "2"]).exit_code == 2
    assert run.invoke(app, ["arena", str(tmp_path / "none.csv")]).exit_code == 2


def test_votes_are_not_their_own_history() -> None:
    """`rank_votes(votes, votes)` counted every gold twice, and its intervals were too short."""
    votes = make_votes(1)
    with pytest.raises(hero.InputError, match="their own history") as caught:
        hero.rank_votes(votes, [votes])
    assert caught.value.code == "E208"
    read = hero.read_votes(votes)
    with pytest.raises(hero.InputError, match="their own history"):
        hero.rank_votes(read, read)
    assert hero.rank_votes(read, make_votes(2, start=1000)).n_votes == read.n_votes
