"""Long tables under other column names that would pass for wide ones, every label an item of its own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.arrays import encode_answers, encode_ids
from hero_eval.io.tables import SYNONYMS, suggest
from hero_eval.io.values import is_binary, number

_TIMES = 1.5
"""How often the ids of a long table stand in it, at least, on average."""
_FEWEST = 5
"""With fewer items of several rows and gold, equal gold within each may be chance."""
_PEOPLE = frozenset({"rater", "annotator", "worker", "user", "labeler_id", "worker_id", "rater_id", "annotator_id"})
"""Names of columns that say who; a column called judge may as well hold what the judge said."""
_UNIQUE = 0.9
"""The share of rows without a twin that a labeler and an item name; a slip repeats some."""


def refuse_long(name: str, table: Any, label: str, gold: str, others: Sequence[str]) -> None:
    """E130 where the only labeler's column reads as one of labels: items repeat, one row for each labeler, one gold.

    Taken for wide, such a table would count every label as an item, and every gold several times.
    """
    truth = encode_answers(table[gold]).codes
    coded = {one: encode_ids(table[one]).codes for one in others if _is_plain(table[one])}
    repeated = {one: codes for one, codes in coded.items() if _n_values(codes) * _TIMES <= len(truth)}
    for item in sorted(repeated, key=lambda one: -_n_values(repeated[one])):
        if not _shares_gold(repeated[item], truth):
            continue
        labeler = _told_apart_by(repeated, item)
        if labeler is not None:
            theirs = {"item": item, "labeler": labeler, "label": label}
            command = " ".join(f"--column {ours}={column}" for ours, column in theirs.items())
            raise wrong(
                "E130",
                f"{name} reads as a long table under other names: each {item!r} stands in several rows with the same "
                f"gold, one for each {labeler!r}. Map them (columns={theirs}; command: {command}); if every row is an "
                f"item of its own, name the labeler's column (labelers=[{label!r}]; command: --labelers {label}).",
            )


def refuse_names(name: str, table: Any, chosen: Sequence[str], gold: str | None) -> None:
    """E130 where a column taken for a labeler's holds the names of labelers, beside a column of their answers.

    Taken for wide, such a table would have a labeler who answers with names. `chosen` are the columns of labelers, one
    or two.
    """
    who = next((one for one in chosen if one.lower().strip() in SYNONYMS["labeler"]), None)
    if who is None:
        return
    texts = encode_answers(table[who]).list_texts()
    beside = [one for one in (*chosen, gold) if one is not None and one != who]
    if any(set(texts) & set(encode_answers(table[one]).list_texts()) for one in beside):
        return
    others = [one for one in table.column_names if one not in (who, gold)]
    known = ("item", *SYNONYMS["item"])
    coded = {one: encode_ids(table[one]).codes for one in others if _is_plain(table[one])}
    ids = [one for one in coded if one.lower().strip() in known]
    answers = [one for one in coded if one not in ids and _n_values(coded[one]) > 1]
    repeated = [one for one in ids if _n_values(coded[one]) * _TIMES <= len(table)]
    whose = encode_ids(table[who]).codes
    items = [one for one in repeated if _told_apart_by({one: coded[one], who: whose}, one) is not None]
    is_people = who.lower().strip() in _PEOPLE and not is_binary(texts) and any(number(text) is None for text in texts)
    if not answers or not ids or not (items or is_people):
        return
    label = answers[0] if len(answers) == 1 else suggest("label", answers) or "..."
    theirs = {"item": (items or ids)[0], "labeler": who, "label": label}
    theirs = {ours: column for ours, column in theirs.items() if ours != column}
    command = " ".join(f"--column {shlex.quote(f'{ours}={column}')}" for ours, column in theirs.items())
    raise wrong(
        "E130",
        f"{name} reads as a long table under other names: {who!r} holds who labeled ({name_some(texts)}), and another "
        f"column what they said. Map them (columns={theirs}; command: {command}); if its values are answers, name it "
        f"as a labeler's column (labelers=[{who!r}]; command: --labelers {shlex.quote(who)}).",
    )


def _is_plain(column: Any) -> bool:
    import pyarrow as pa

    return not pa.types.is_nested(column.type)


def _n_values(codes: NDArray[np.int64]) -> int:
    return int(codes.max(initial=-1)) + 1


def _shares_gold(item: NDArray[np.int64], truth: NDArray[np.int64]) -> bool:
    """Whether all rows of an item have the same gold, or none, and enough items show that it is no chance."""
    if item.min(initial=0) < 0:
        return False
    rows = np.bincount(item)
    low = np.full(len(rows), np.iinfo(np.int64).max)
    high = np.full(len(rows), -1)
    np.minimum.at(low, item, truth)
    np.maximum.at(high, item, truth)
    telling = high[(rows > 1) & (high >= 0)]
    return bool((low == high).all()) and len(telling) >= _FEWEST and len(np.unique(telling)) > 1


def _told_apart_by(coded: Mapping[str, NDArray[np.int64]], item: str) -> str | None:
    """The column that says which row of an item is whose; None if there is none."""
    for one, codes in coded.items():
        pairs = coded[item] * (_n_values(codes) + 1) + codes
        if one != item and len(np.unique(pairs)) >= _UNIQUE * len(codes) and codes.min(initial=0) >= 0:
            return one
    return None
