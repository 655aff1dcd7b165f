"""From columns, texts and labelers to covariate arrays of both rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hero_eval.errors import InputError, Problem, wrong
from hero_eval.estimation.encoded import encode
from hero_eval.findings import Finding
from hero_eval.methods.evidence import CovariateColumns
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round import Round

LABELER_PREFIX = "labeler:"
MOST_WORDS = 300


@dataclass(frozen=True)
class Shared:
    """Rounds with labeler covariates taken out of their labels, and the columns of both sides (all items)."""

    currents: tuple[Round, ...]
    history: tuple[Round, ...]
    columns: tuple[CovariateColumns, ...]  # one for each current round
    findings: tuple[Finding, ...] = ()


def shared_numeric(currents: Sequence[Round], history: Sequence[Round], but: Sequence[str] = ()) -> tuple[str, ...]:
    """Numeric columns that every round has, in the order of the first current round."""
    others = [set(one.numeric_columns()) for one in (*currents[1:], *history)]
    return tuple(name for name in currents[0].numeric_columns() if name not in but and all(name in of for of in others))


def gather(
    currents: Sequence[Round],
    history: Sequence[Round],
    names: Sequence[str],
    text: str | None,
    classes: Sequence[str],
) -> Shared:
    """All covariates by name; a name `labeler:X` takes labeler X's answers out of the labels and makes them one."""
    _check_present(currents, history, names, text)
    plain = [name for name in names if not name.startswith(LABELER_PREFIX)]
    rounds = [*currents, *history]
    blocks: list[list[Floats]] = [[] for _ in rounds]
    labels: list[str] = []
    judges = [name.removeprefix(LABELER_PREFIX) for name in names if name.startswith(LABELER_PREFIX)]
    for judge in judges:
        taken = [one.without_labeler(judge) for one in rounds]
        for position, (kept, answers) in enumerate(taken):
            keep = np.isin(rounds[position].item_ids, kept.item_ids)
            blocks[position] = [block[keep] for block in blocks[position]]
            blocks[position].append(_indicators(answers, kept, classes))
            rounds[position] = kept
        labels += [
            f"{LABELER_PREFIX}{judge}={name}" if len(classes) > 2 else f"{LABELER_PREFIX}{judge}"
            for name in classes[1:]
        ]
    encoded = [encode(rounds, len(currents), name) for name in plain]
    labels = [name for one in encoded for name in one.names] + labels
    for position, one in enumerate(rounds):
        numeric = [of.blocks[position] for of in encoded]
        blocks[position] = [np.zeros((one.n_items, 0)), *numeric, *blocks[position]]
    n_plain = len(labels)
    if text is not None:
        words = _words(rounds, len(currents), text)
        labels += [f"{text}:{word}" for word in words.names]
        for position, block in enumerate(words.blocks):
            blocks[position].append(block)
    whole = [np.concatenate(block, axis=1) for block in blocks]
    past = np.concatenate(whole[len(currents) :])
    common = np.arange(len(labels)) >= n_plain
    columns_of = tuple(CovariateColumns(tuple(labels), here, past, common) for here in whole[: len(currents)])
    told = tuple(finding for one in encoded for finding in one.findings)
    return Shared(tuple(rounds[: len(currents)]), tuple(rounds[len(currents) :]), columns_of, told)


def check_countable(
    currents: Sequence[Round], history: Sequence[Round], names: Sequence[str], text: str | None
) -> None:
    """Covariates of rounds that are counted without their items: plain columns only."""
    _check_present(currents, history, names, text)
    judges = [name for name in names if name.startswith(LABELER_PREFIX)]
    if judges or text is not None:
        what = f"covariate {judges[0]!r}" if judges else f"text {text!r}"
        message = (
            f"{what} needs items one by one, but a round here is counted without holding them. Use numeric columns, or "
            "read all rounds with engine='memory' (command: --engine memory)"
        )
        raise wrong("E211", message)


def _check_present(currents: Sequence[Round], history: Sequence[Round], names: Sequence[str], text: str | None) -> None:
    """A covariate absent from one side is an error that says which side."""
    problems = []
    for side, rounds in (("current", currents), ("history", history)):
        for one in rounds:
            for name in [*names, *([text] if text is not None else [])]:
                if name.startswith(LABELER_PREFIX):
                    there = name.removeprefix(LABELER_PREFIX) in one.labelers
                    kind = "Labelers: " + ", ".join(one.labelers[:12])
                else:
                    there, kind = one.has_column(name), "Columns: " + (", ".join(one.column_names) or "none")
                if not there:
                    message = f"covariate {name!r} is absent from the {side} round {one.name!r}. {kind}"
                    problems.append(Problem("E202", message))
    if len(set(names)) < len(names):
        problems.append(Problem("E201", f"covariates names a column twice: {', '.join(names)}"))
    if problems:
        raise InputError(problems)


def _indicators(answers: Ints, kept: Round, classes: Sequence[str]) -> Floats:
    """(n, K-1) 0/1 columns of a labeler's answers; nan where it gave none."""
    if kept.label_score is not None:
        classes, place = kept.answer_values, np.arange(len(kept.answer_values))
    else:
        place = np.array([list(classes).index(value) for value in kept.values], dtype=np.int64)
    known = answers >= 0
    out = np.full((len(answers), len(classes) - 1), np.nan)
    out[known] = place[answers[known]][:, None] == np.arange(1, len(classes))[None, :]
    return out


def tfidf_options() -> dict[str, Any]:
    """How texts become covariates, here and in the studies."""
    return {"max_features": MOST_WORDS, "min_df": 2, "sublinear_tf": True}


@dataclass(frozen=True)
class _Words:
    names: list[str]
    blocks: list[Floats]


def _words(rounds: Sequence[Round], n_current: int, column: str) -> _Words:
    """TF-IDF weights of the most frequent words; words and weights are history's, so that history knows their means."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    past = [text for one in rounds[n_current:] for text in one.texts(column)]
    vectorizer = TfidfVectorizer(**tfidf_options())
    try:
        vectorizer.fit(past)
    except ValueError as error:
        message = f"column {column!r} of history holds no word that occurs in two items, so it gives no text covariate"
        raise wrong("E112", message) from error
    blocks = [vectorizer.transform(one.texts(column)).toarray() for one in rounds]
    return _Words([str(word) for word in vectorizer.get_feature_names_out()], blocks)
