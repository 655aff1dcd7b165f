"""A table of side-by-side votes as codes: who was compared, who voted, and for which of the two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.arguments import check_mapping
from hero_eval.errors import HeroError, InputError, Problem, wrong
from hero_eval.findings import name_some
from hero_eval.io.arrays import encode_answers, encode_ids, to_numbers
from hero_eval.io.tables import InputTable, missing_columns, rename, unknown_mappings
from hero_eval.io.values import fold, plain_text

A_WORDS = ("a", "model_a", "model a", "left", "1", "first", "a wins", "a>b", "a>>b")
B_WORDS = ("b", "model_b", "model b", "right", "2", "second", "b wins", "b>a", "b>>a")
TIE_WORDS = (
    "tie",
    "ties",
    "draw",
    "equal",
    "same",
    "both",
    "neither",
    "0",
    "0.5",
    "a=b",
    "both good",
    "tie (bothgood)",
)
BAD_WORDS = ("both bad", "bothbad", "both_bad", "tie (bothbad)", "tie_both_bad")
PAIR = ("model_a", "model_b")
NEEDED = (*PAIR, "label")
OURS = ("item", "labeler", "gold", *NEEDED)
_SYNONYMS = {
    "label": ("winner", "vote", "preference", "verdict"),
    "labeler": ("judge", "user", "voter"),
    "item": ("question_id", "id", "battle_id", "conversation_id"),
}

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VoteArrays:
    """Rows of votes as codes. first, second: of `models`; labeler: of `labelers`; item: numbers, equal where the item
    is, None where each vote is an item; label, gold: 0 A, 1 B, 2 tie, -1 none; counts: how many votes a row stands for;
    covariates (n, d). row: which of the table's rows; bad: whether it says that both are bad. n_bad: how many votes do;
    n_ignored: rows without a label or a gold."""

    models: tuple[str, ...]
    labelers: tuple[str, ...]
    first: Codes
    second: Codes
    labeler: Codes
    item: Codes | None
    label: Codes
    gold: Codes
    counts: NDArray[np.float64]
    covariates: NDArray[np.float64]
    row: Codes
    bad: NDArray[np.bool_]
    n_bad: int
    n_ignored: int


@dataclass(frozen=True, eq=False)
class Shown:
    """Which models the votes are on, by place in `models`, and what answers the caller explained, folded."""

    models: tuple[str, ...]
    first: Codes
    second: Codes
    explained: frozenset[str]

    def named(self, texts: Sequence[str], codes: Codes) -> Codes:
        """(n,): 0 or 1 where the answer is the name of the row's first or second model, else -2."""
        place = {name: at for at, name in enumerate(self.models)}
        winner = np.array([*(place.get(text, -2) for text in texts), -2], np.int64)[codes]
        return np.where(winner < 0, -2, np.where(winner == self.first, 0, np.where(winner == self.second, 1, -2)))


def parse_votes(
    source: InputTable,
    columns: Mapping[str, str],
    mapped: Mapping[str, str],
    covariates: Sequence[str] = (),
    counts: str | None = None,
) -> VoteArrays:
    """The table's votes; InputError with all that is wrong with it."""
    columns = {**guessed_columns(source.table.column_names, columns), **columns}
    unknown = unknown_mappings([source], columns)
    problems = list(unknown.values())
    table = rename(source, OURS, columns)
    problems += missing_columns(table, NEEDED, unknown)
    if table.n_rows == 0:
        problems.append(Problem("E105", f"{source.name} has no rows. Give it votes."))
    if problems:
        raise InputError(problems)
    models, (first, second) = _together([table.columns["model_a"], table.columns["model_b"]])
    labelers: tuple[str, ...] = ("",)
    labeler = np.zeros(table.n_rows, np.int64)
    if "labeler" in table.columns:
        labelers, (labeler,) = _together([table.columns["labeler"]])
    problems += _null_problems(source.name, {"model_a": first, "model_b": second, "labeler": labeler})
    words = _words(mapped)
    shown = Shown(models, first, second, frozenset(map(fold, mapped)))
    label, bad = _outcomes(table, "label", words, shown, problems)
    gold = np.full(table.n_rows, -1, np.int64)
    if "gold" in table.columns:
        gold, _ = _outcomes(table, "gold", words, shown, problems)
    itself = np.flatnonzero((first == second) & (first >= 0))
    if len(itself):
        row, name = int(itself[0]), models[int(first[itself[0]])]
        message = (
            f"{source.name} compares a model with itself in {len(itself)} rows, first {name!r} in data row {row + 1}"
        )
        problems.append(Problem("E234", f"{message}. Drop these rows, or correct the names."))
    values = _covariates(table, covariates, problems)
    if problems:
        raise InputError(problems)
    item = encode_ids(table.columns["item"]).codes if "item" in table.columns else None
    times = np.ones(table.n_rows) if counts is None else np.asarray(table.columns[counts].to_pylist(), float)
    keep = (label >= 0) | (gold >= 0)
    return VoteArrays(
        models,
        labelers,
        first[keep],
        second[keep],
        labeler[keep],
        None if item is None else item[keep],
        label[keep],
        gold[keep],
        times[keep],
        values[keep],
        np.flatnonzero(keep),
        bad[keep],
        int(times[bad].sum()),
        int(times[~keep].sum()),
    )


def wanted_values(where: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of each column the values that are asked for, as texts; E201 if there are none."""
    check_mapping("where", where, "{'language': 'de'}")
    found = {}
    for column, values in where.items():
        listed = [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
        if not listed:
            raise wrong("E201", f"where asks for no value of {column!r}. Name one or more")
        found[str(column)] = [str(plain_text(value)) for value in listed]
    return found


def chosen_rows(source: InputTable, where: Mapping[str, Any]) -> InputTable:
    """The rows whose columns have these values; E202 or E532 if there is no such column, or no such row."""
    import pyarrow as pa

    keep = np.ones(source.table.num_rows, dtype=bool)
    for column, wanted in wanted_values(where).items():
        if column not in source.table.column_names:
            has = ", ".join(source.table.column_names)
            raise wrong("E202", f"{source.name} has no column {column!r} to choose by. Columns: {has}")
        coded = encode_ids(source.table[column])
        texts = coded.list_texts()
        keep &= np.array([*(text in wanted for text in texts), False])[coded.codes]
        if not keep.any():
            raise no_rows_left(source.name, column, wanted, texts)
    return replace(source, table=source.table.filter(pa.array(keep)))


def no_rows_left(name: str, column: str, wanted: Sequence[str], there: Sequence[str]) -> HeroError:
    """E532: nothing has these values."""
    asked = " or ".join(map(repr, wanted))
    known = name_some(sorted(there), 12)
    return wrong("E532", f"no row of {name} is left where {column} is {asked}. Values of {column}: {known}")


def guessed_columns(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """What a table of an arena calls our columns, where it has none by our names and nobody said."""
    found = {}
    for ours, theirs in _SYNONYMS.items():
        if ours not in names and ours not in given:
            known = next((name for name in theirs if name in names and name not in given.values()), None)
            if known is not None:
                found[ours] = known
    return found


def _together(columns: Sequence[Any]) -> tuple[tuple[str, ...], list[Codes]]:
    """Several columns of names, coded by one sorted list of them."""
    coded = [encode_ids(column) for column in columns]
    names = sorted({name for one in coded for name in one.list_texts()})
    place = {name: at for at, name in enumerate(names)}
    codes = [np.array([*(place[name] for name in one.list_texts()), -1], np.int64)[one.codes] for one in coded]
    return tuple(names), codes


def _null_problems(name: str, codes: Mapping[str, Codes]) -> list[Problem]:
    found = []
    for column, of in codes.items():
        empty = np.flatnonzero(of < 0)
        if len(empty):
            message = f"{name} column {column!r} is empty in {len(empty)} of {len(of)} rows, first in data row"
            found.append(Problem("E107", f"{message} {empty[0] + 1}. Fill it, or drop these rows."))
    return found


def _words(mapped: Mapping[str, str]) -> dict[str, int]:
    """What each answer says, folded: 0 A, 1 B, 2 tie, 3 both bad."""
    known = {fold(word): code for code, words in enumerate((A_WORDS, B_WORDS, TIE_WORDS, BAD_WORDS)) for word in words}
    return {**known, **{fold(old): known[fold(new)] for old, new in mapped.items() if fold(new) in known}}


def outcome_of(text: str) -> int | None:
    """0 A, 1 B, 2 tie; None where the word says none of these."""
    code = _words({}).get(fold(text))
    return None if code is None else min(code, 2)


def _outcomes(
    table: Any,
    column: str,
    words: Mapping[str, int],
    shown: Shown,
    problems: list[Problem],
) -> tuple[Codes, NDArray[np.bool_]]:
    """(n,): 0 A, 1 B, 2 tie, -1 none; and which say that both are bad. An answer may name the model that won."""
    coded = encode_answers(table.columns[column])
    texts = coded.list_texts()
    by_word = np.array([*(words.get(fold(text), -2) for text in texts), -1], np.int64)
    said, named = by_word[coded.codes], shown.named(texts, coded.codes)
    both = [text in shown.models and fold(text) in words and fold(text) not in shown.explained for text in texts]
    either = np.array([*both, False], np.bool_)[coded.codes]
    if either.any():
        said = _name_or_side(table, column, said, named, either, problems)
    said = np.where(said == -2, named, said)
    strange = np.flatnonzero(said == -2)
    if len(strange):
        names = sorted({coded.text(int(coded.codes[row])) for row in strange})[:5]
        problems.append(
            Problem(
                "E233",
                f"{table.column(column)} says {', '.join(map(repr, names))} in {len(strange)} of {table.n_rows} rows, "
                f"first in data row {strange[0] + 1}. Known: A, B, tie, both bad, or the name of the model that won. "
                "Say what it means: map={'...': 'A'} (command: --map ...=A)",
            )
        )
    return np.where(said == 3, 2, np.maximum(said, -1)), said == 3


def _name_or_side(
    table: Any, column: str, said: Codes, named: Codes, either: NDArray[np.bool_], problems: list[Problem]
) -> Codes:
    """The outcomes where answers such as "a" or "1" (`either`) may be a model's name or a word for a side.

    The other answers tell which; E233 if they do not, and it matters.
    """
    by_name = bool((~either & (said == -2) & (named >= 0)).any())
    by_side = bool((~either & ((said == 0) | (said == 1))).any() or (either & (named < 0)).any())
    if by_name != by_side:
        return np.where(either, named, said) if by_name else said
    apart = np.flatnonzero(either & (named != said))
    if len(apart):
        text = str(table.columns[column][int(apart[0])])
        code = int(said[apart[0]])
        side = ("left", "right", "tie", "both bad")[code]
        means = ("the side shown first", "the side shown second", "a tie", "both bad")[code]
        problems.append(
            Problem(
                "E233",
                f"{table.column(column)} says {text!r}, first in data row {apart[0] + 1}, which is a model's name, and "
                f"may also stand for {means}. If it does, say so: map={{{text!r}: {side!r}}} (command: --map "
                f"{text}={side}); if it names the model, call the model something else in all columns",
            )
        )
    return said


def _covariates(table: Any, names: Sequence[str], problems: list[Problem]) -> NDArray[np.float64]:
    """(n, d): of a pair, standardized: NAME as it is, or (a - b) / (a + b) of NAME_a and NAME_b."""
    out = np.zeros((table.n_rows, len(names)))
    for at, name in enumerate(names):
        sides = [f"{name}_a", f"{name}_b"]
        columns = [name] if name in table.columns else sides
        absent = [one for one in columns if one not in table.columns]
        if absent:
            has = ", ".join(table.header)
            problems.append(
                Problem(
                    "E202", f"{table.name} has no column {name!r}, nor {sides[0]!r} and {sides[1]!r}. It has: {has}."
                )
            )
            continue
        found = [to_numbers(table.columns[one]) for one in columns]
        if any(len(one.bad) or len(one.infinite) or np.isnan(one.values).any() for one in found):
            problems.append(
                Problem(
                    "E112", f"{table.name} column {columns[0]!r} is not a number in every row. Fill it, or leave it."
                )
            )
            continue
        values = found[0].values
        if len(found) == 2:
            total = found[0].values + found[1].values
            values = np.divide(found[0].values - found[1].values, total, out=np.zeros(len(total)), where=total != 0)
        spread = float(values.std())
        out[:, at] = values / spread if spread > 0 else 0.0
    return out
