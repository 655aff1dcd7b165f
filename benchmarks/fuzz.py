"""Random tables through `Round` and every target: no exception but ours, no late answer, no number out of its bounds.

    python benchmarks/fuzz.py --count 5000 [--seed 0] [--seconds 60]
    python benchmarks/fuzz.py --only 1234        # one case again, with its traceback

Ctrl+C ends a run early and tells what was played so far; `--seed` goes on from there.

A case is a number: it says which library holds the tables (pandas, Polars, pyarrow), which type every column has, what
the columns hold (sound answers, or values that have broken readers before), and which options the targets are given.
`tests/estimation/test_fuzz.py` plays some of them.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import math
import re
import signal
import sys
import time
import traceback
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import hero_eval as hero
from hero_eval.methods.registry import all_methods

LIBRARIES = ("pandas", "polars", "pyarrow")
LATEST = 60
"""Seconds within which every answer must come."""
_DAY = datetime.date(2024, 1, 1)
_NOON = datetime.datetime(2024, 1, 1, 12)

Rng = np.random.Generator
Codes = Sequence[int | None]
"""Which of a column's values each row has; None = missing."""


def _texts(codes: Codes) -> list[Any]:
    return [None if code is None else f"v{code}" for code in codes]


def _make(value: Callable[[int], Any]) -> Callable[[Codes], list[Any]]:
    return lambda codes: [None if code is None else value(code) for code in codes]


_day = _make(lambda code: _DAY + datetime.timedelta(days=code))
_moment = _make(lambda code: _NOON + datetime.timedelta(hours=code))
_clock = _make(lambda code: datetime.time(code % 24, code // 24 % 60))
_span = _make(lambda code: datetime.timedelta(minutes=code))
_bytes = _make(lambda code: b"v%d" % code)
_number = _make(int)
_real = _make(float)
_bool = _make(lambda code: bool(code % 2))
_money = _make(lambda code: decimal.Decimal(code))


def _arrow_kinds() -> dict[str, Callable[[Codes], Any]]:
    """A pyarrow array of every type, from codes."""
    import pyarrow as pa

    def of(kind: Any, make: Callable[[Codes], list[Any]]) -> Callable[[Codes], Any]:
        return lambda codes: pa.array(make(codes), kind)

    small = _make(lambda code: code % 100)
    kinds: dict[str, Callable[[Codes], Any]] = {
        **{str(kind): of(kind, small) for kind in (pa.int8(), pa.uint8())},
        **{str(kind): of(kind, _number) for kind in (pa.int16(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64())},
        **{str(kind): of(kind, _real) for kind in (pa.float32(), pa.float64())},
        "halffloat": lambda codes: pa.array([None if c is None else np.float16(c) for c in codes], pa.float16()),
        **{str(kind): of(kind, _texts) for kind in (pa.string(), pa.large_string(), pa.string_view())},
        **{str(kind): of(kind, _bytes) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
        "fixed_size_binary": of(pa.binary(4), _make(lambda code: b"%04d" % (code % 10_000))),
        "bool": of(pa.bool_(), _bool),
        "date32": of(pa.date32(), _day),
        "date64": of(pa.date64(), _day),
        **{f"timestamp_{unit}": of(pa.timestamp(unit), _moment) for unit in ("s", "ms", "us", "ns")},
        "timestamp_tz": of(pa.timestamp("us", "Europe/Berlin"), _moment),
        "time32": of(pa.time32("s"), _clock),
        "time64": of(pa.time64("us"), _clock),
        "duration": of(pa.duration("s"), _span),
        "interval": of(pa.month_day_nano_interval(), _make(lambda code: (code, 0, 0))),
        "decimal128": of(pa.decimal128(20, 2), _money),
        "decimal256": of(pa.decimal256(50, 2), _money),
        "list": of(pa.list_(pa.int64()), _make(lambda code: [code])),
        "large_list": of(pa.large_list(pa.int64()), _make(lambda code: [code])),
        "list_view": of(pa.list_view(pa.int64()), _make(lambda code: [code])),
        "fixed_list": of(pa.list_(pa.int64(), 2), _make(lambda code: [code, 1])),
        "struct": of(pa.struct([("a", pa.int64())]), _make(lambda code: {"a": code})),
        "map": of(pa.map_(pa.string(), pa.int64()), _make(lambda code: [("a", code)])),
        "dictionary": lambda codes: pa.array(_texts(codes), pa.string()).dictionary_encode(),
        "dictionary_int": lambda codes: pa.array(_number(codes), pa.int64()).dictionary_encode(),
        "run_end_encoded": lambda codes: _run_ends(pa.array(_texts(codes), pa.string())),
        "run_end_number": lambda codes: _run_ends(pa.array(_number(codes), pa.int64())),
        "null": lambda codes: pa.nulls(len(codes)),
        "uuid": lambda codes: pa.array(
            [None if c is None else uuid.UUID(int=c).bytes for c in codes], pa.binary(16)
        ).cast(pa.uuid()),
        "json": lambda codes: pa.array([None if c is None else str(c) for c in codes], pa.string()).cast(pa.json_()),
        "union": lambda codes: pa.UnionArray.from_sparse(
            pa.array([0 if c is None else c % 2 for c in codes], pa.int8()),
            [pa.array(_number(codes), pa.int64()), pa.array(_texts(codes), pa.string())],
        ),
    }
    return kinds


def _run_ends(values: Any) -> Any:
    import pyarrow.compute as pc

    return pc.run_end_encode(values)


def _pandas_kinds() -> dict[str, Callable[[Codes], Any]]:
    import pandas as pd

    def of(kind: Any, make: Callable[[Codes], list[Any]]) -> Callable[[Codes], Any]:
        return lambda codes: pd.Series(make(codes), dtype=kind)

    kinds: dict[str, Callable[[Codes], Any]] = {
        **{kind: of(kind, _number) for kind in ("Int64", "UInt64", "Int16")},
        **{kind: of(kind, _real) for kind in ("float64", "float32", "Float64")},
        **{kind: of(kind, _texts) for kind in ("object", "string", "category")},
        "boolean": of("boolean", _bool),
        "bool_object": of("object", _bool),
        "bytes": of("object", _bytes),
        "numbers_object": of("object", _number),
        "mixed": of("object", _make(lambda code: code if code % 2 else f"v{code}")),
        "decimal": of("object", _money),
        "date": of("object", _day),
        "datetime": of("datetime64[ns]", _moment),
        "datetime_tz": lambda codes: pd.Series(_moment(codes), dtype="datetime64[ns]").dt.tz_localize("UTC"),
        "timedelta": of("timedelta64[ns]", _span),
        "period": lambda codes: pd.Series(
            [None if c is None else pd.Period(year=2000 + c % 100, freq="Y") for c in codes], dtype="period[Y]"
        ),
        "interval": lambda codes: pd.Series([None if c is None else pd.Interval(c, c + 1) for c in codes]),
        "complex": of("complex128", _make(complex)),
        "lists": of("object", _make(lambda code: [code])),
        "tuples": of("object", _make(lambda code: (code, "a"))),
        "dicts": of("object", _make(lambda code: {"a": code})),
        "sparse": lambda codes: pd.Series(pd.arrays.SparseArray([np.nan if c is None else float(c) for c in codes])),
    }
    return kinds


def _polars_kinds() -> dict[str, Callable[[Codes], Any]]:
    import polars as pl

    def of(kind: Any, make: Callable[[Codes], list[Any]]) -> Callable[[Codes], Any]:
        return lambda codes: pl.Series(make(codes), dtype=kind)

    small = _make(lambda code: code % 100)
    kinds: dict[str, Callable[[Codes], Any]] = {
        **{str(kind): of(kind, small) for kind in (pl.Int8, pl.UInt8)},
        **{str(kind): of(kind, _number) for kind in (pl.Int16, pl.Int64, pl.UInt64, pl.Int128)},
        **{str(kind): of(kind, _real) for kind in (pl.Float32, pl.Float64)},
        **{str(kind): of(kind, _texts) for kind in (pl.String, pl.Categorical)},
        "enum": lambda codes: pl.Series(
            _texts(codes), dtype=pl.Enum(sorted({text for text in _texts(codes) if text is not None}))
        ),
        "boolean": of(pl.Boolean, _bool),
        "binary": of(pl.Binary, _bytes),
        "date": of(pl.Date, _day),
        "datetime": of(pl.Datetime("us"), _moment),
        "datetime_tz": of(pl.Datetime("ns", "UTC"), _moment),
        "time": of(pl.Time, _clock),
        "duration": of(pl.Duration("ms"), _span),
        "decimal": of(pl.Decimal(20, 2), _money),
        "list": of(pl.List(pl.Int64), _make(lambda code: [code])),
        "array": of(pl.Array(pl.Int64, 2), _make(lambda code: [code, 1])),
        "struct": of(pl.Struct({"a": pl.Int64}), _make(lambda code: {"a": code})),
        "object": of(pl.Object, _make(lambda code: {code})),
        "null": lambda codes: pl.Series([None] * len(codes), dtype=pl.Null),
    }
    return kinds


KINDS: Mapping[str, Callable[[], dict[str, Callable[[Codes], Any]]]] = {
    "pandas": _pandas_kinds,
    "polars": _polars_kinds,
    "pyarrow": _arrow_kinds,
}

ODD_TEXTS = (
    "",
    " ",
    "NA",
    "nan",
    "None",
    "\ud800",
    "a\x00b",
    "Ä" * 300,
    "=1+1",
    "yes ",
    "YES",
    "\u202e",
    "1e400",
    "0x1",
)
ODD_NUMBERS = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 2**63, 2**64, -(2**63), 2**70, 10**400, True
)  # fmt: skip
ANSWERS = (
    ("0", "1"), ("yes", "no"), ("good", "bad"), ("1", "2", "3", "4", "5"), ("A", "B", "tie"), ("-1", "1e308"),
    ("good", "godo", "bad"), ("one",), ("left", "right"), ("0.5", "1.5", "1e-9"),
)  # fmt: skip


@dataclass
class Case:
    """One random call: the tables of two rounds, and how they are to be read and asked."""

    seed: int
    library: str
    tables: list[dict[str, Any]]
    reading: dict[str, Any]
    asking: dict[str, Any]
    kinds: dict[str, str] = field(default_factory=dict)


def draw_case(seed: int) -> Case:
    """The case of this number."""
    rng = np.random.default_rng([2024, seed])
    library = str(rng.choice(LIBRARIES))
    answers = _pick(rng, ANSWERS)
    wild = float(rng.choice([0.0, 0.0, 0.1, 0.5]))
    case = Case(seed, library, [], {}, {})
    for number in range(int(rng.integers(1, 4))):
        case.tables.append(_draw_tables(rng, case, answers, wild, number))
    case.reading = _draw_reading(rng, answers, wild)
    case.asking = _draw_asking(rng, wild)
    return case


def _pick(rng: Rng, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _draw_tables(rng: Rng, case: Case, answers: Sequence[str], wild: float, number: int) -> dict[str, Any]:
    """Labels, sometimes gold and items, in the library's own columns."""
    n_items, n_labelers = int(rng.choice([1, 2, 5, 30, 80])), int(rng.choice([1, 2, 3, 5, 30]))
    truth = rng.integers(len(answers), size=n_items)
    item, labeler = (grid.ravel() for grid in np.meshgrid(range(n_items), range(n_labelers), indexing="ij"))
    kept = rng.random(len(item)) < _pick(rng, (0.1, 0.5, 1.0))
    kept[int(rng.integers(len(kept)))] = True
    item, labeler = item[kept], labeler[kept]
    skill = _pick(rng, (0.0, 0.7, 0.9, 1.0))
    said = np.where(rng.random(len(item)) < skill, truth[item], rng.integers(len(answers), size=len(item)))
    disjoint = rng.random() < 0.7
    ids = item + (1_000 * number if disjoint else 0)
    labels = {
        "item": _column(rng, case, "item", ids, wild),
        "labeler": _column(rng, case, "labeler", labeler, wild),
        "label": _answers(rng, case, said, answers, wild),
    }
    tables: dict[str, Any] = {"labels": labels}
    own = np.arange(n_items) + (1_000 * number if disjoint else 0)
    some = np.flatnonzero(rng.random(n_items) < _pick(rng, (0.05, 0.3, 1.0)))
    if rng.random() < 0.7 and (len(some) or rng.random() < wild):
        tables["gold"] = {
            "item": _column(rng, case, "item", own[some], wild),
            "gold": _answers(rng, case, truth[some], answers, wild),
        }
    if rng.random() < 0.6:
        tables["items"] = {
            "item": _column(rng, case, "item", own, wild),
            "x": _odd_or(rng, case, "x", rng.integers(9, size=n_items), wild),
            "weight": _odd_or(rng, case, "weight", rng.integers(1, 5, size=n_items), wild),
            "flag": _odd_or(rng, case, "flag", rng.integers(2, size=n_items), wild),
        }
        for name in ("x", "weight", "flag"):
            if rng.random() < 0.4:
                del tables["items"][name]
    return {table: _frame(case.library, columns) for table, columns in tables.items()}


def _column(rng: Rng, case: Case, role: str, codes: Any, wild: float) -> Any:
    """A column of ids; the same type throughout the case unless it is wild."""
    kinds = KINDS[case.library]()
    plain = "string" if case.library != "polars" else "String"
    if role not in case.kinds:
        case.kinds[role] = str(_pick(rng, sorted(kinds))) if rng.random() < 0.3 + wild else plain
    listed: list[int | None] = [int(code) for code in codes]
    if rng.random() < wild and listed:
        listed[int(rng.integers(len(listed)))] = None
    return kinds[case.kinds[role]](listed)


def _answers(rng: Rng, case: Case, codes: Any, answers: Sequence[str], wild: float) -> Any:
    """A column of answers: as text, or in any type that tells them apart."""
    if rng.random() < 0.25 + wild / 2:
        return _column(rng, case, "answer", codes, wild)
    texts: list[Any] = [answers[int(code)] for code in codes]
    if rng.random() < wild and texts:
        for place in rng.integers(len(texts), size=2):
            texts[int(place)] = _pick(rng, (*ODD_TEXTS, None))
    elif rng.random() < 0.2:
        texts = [text.upper() if rng.random() < 0.05 else text for text in texts]
    return _plain(case.library, texts)


def _odd_or(rng: Rng, case: Case, role: str, codes: Any, wild: float) -> Any:
    """A column of numbers: sound, of any type, or with values that few readers expect."""
    if rng.random() < wild:
        return _column(rng, case, role, codes, wild)
    values: list[Any] = [int(code) for code in codes]
    if rng.random() < wild and values:
        values[int(rng.integers(len(values)))] = _pick(rng, ODD_NUMBERS)
    return _plain(case.library, values)


def _plain(library: str, values: list[Any]) -> Any:
    """Values as a user would hand them over; what the library cannot hold becomes text, or objects in pandas."""
    if library == "pandas":
        import pandas as pd

        try:
            return pd.Series(values, dtype="object" if any(value is None for value in values) else None)
        except (UnicodeEncodeError, OverflowError):
            return pd.Series(values, dtype="object")
    try:
        return _typed(library, values)
    except Exception:  # the library itself refuses such a column, so nobody can hand it over
        safe = [None if value is None else str(value).encode("utf-8", "replace").decode() for value in values]
        return _typed(library, safe)


def _typed(library: str, values: list[Any]) -> Any:
    if library == "polars":
        import polars as pl

        return pl.Series(values, strict=True)
    import pyarrow as pa

    return pa.array(values)


def _frame(library: str, columns: Mapping[str, Any]) -> Any:
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns))
    if library == "polars":
        import polars as pl

        return pl.DataFrame(dict(columns))
    import pyarrow as pa

    return pa.table(dict(columns))


def _draw_reading(rng: Rng, answers: Sequence[str], wild: float) -> dict[str, Any]:
    """Options of `Round`."""
    out: dict[str, Any] = {}
    if rng.random() < 0.5 and len(answers) > 1:
        out["classes"] = list(answers)
    if rng.random() < 0.8:
        out["positive"] = answers[-1]
    if rng.random() < wild:
        name = str(_pick(rng, ("classes", "positive", "covariates", "text", "columns", "name", "missing")))
        out[name] = _pick(rng, ([1], [None], "x", 3, [], {}, {"item": 1}, ["\ud800", "b"], [[1], [2]], math.nan))
    return out


def _draw_asking(rng: Rng, wild: float) -> dict[str, Any]:
    """Options of the targets."""
    out: dict[str, Any] = {}
    if rng.random() < 0.7:
        out["method"] = _pick(rng, tuple(all_methods()))
    if rng.random() < 0.4:
        out["interval"] = _pick(rng, ("influence", "profile", "paper", "bootstrap"))
    if out.get("interval") == "bootstrap":
        out["replicates"] = 50
    if rng.random() < 0.2:
        out["level"] = _pick(rng, (0.5, 0.9, 0.999999, 1e-9))
    if rng.random() < 0.15:
        out["cluster"] = "item"
    if rng.random() < 0.2:
        out["covariates"] = ["x"]
    if rng.random() < wild:
        name = str(_pick(rng, ("covariates", "level", "method", "interval", "cluster", "text", "penalty", "groups")))
        out[name] = _pick(rng, ([1], [None], "x", 3, [], {}, {"a": 1}, ["\ud800"], math.nan, -1, "labeler:v0"))
    return out


@dataclass
class Outcome:
    """What became of a case: how many answers and errors of ours, and what must not be."""

    answers: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0


class Late(Exception):
    """An answer that did not come in time."""


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time: a busy machine is no fault
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def play(case: Case, *, seconds: int = LATEST, show: bool = False) -> Outcome:
    """Read the case's rounds and ask every target; warnings count as exceptions, as they do in the tests."""
    out = Outcome()

    def attempt(what: str, act: Callable[[], Any]) -> Any:
        start = time.process_time()
        try:
            with _time_limit(seconds), warnings.catch_warnings():
                warnings.simplefilter("error")
                return act()
        except hero.HeroError as error:
            out.errors[error.code] += 1
            _message_faults(out, what, error)
        except Late:
            out.faults.append(f"{what}: no answer within {seconds} s")
        except Exception as error:
            if show:
                traceback.print_exc()
            out.faults.append(f"{what}: {type(error).__name__} {_place(error)}: {str(error)[:100]}")
        finally:
            out.slowest = max(out.slowest, time.process_time() - start)
        return None

    rounds = [
        attempt("Round", partial(hero.Round, **tables, **{"name": f"r{number}", **case.reading}))
        for number, tables in enumerate(case.tables)
    ]
    rounds = [one for one in rounds if one is not None]
    if not rounds:
        return out
    for what, act in _questions(rounds, case.asking):
        answer = attempt(what, act)
        if answer is not None:
            out.answers += 1
            out.faults += attempt(f"{what} checked", partial(_wrong_numbers, what, answer)) or []
    return out


def _message_faults(out: Outcome, what: str, error: hero.HeroError) -> None:
    """An error must be printable."""
    try:
        str(error).encode()
    except UnicodeEncodeError:
        out.faults.append(f"{what}: the message of {error.code} cannot be printed")


def _place(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "hero_eval" in frame.filename]
    return f"at {frames[-1].filename.rsplit('hero_eval/')[-1]}:{frames[-1].lineno}" if frames else ""


def _questions(rounds: list[Any], asking: Mapping[str, Any]) -> list[tuple[str, Callable[[], Any]]]:
    current, past, before = rounds[0], rounds[1:] or None, rounds[1:-1] or None
    return [
        ("estimate_rate", lambda: hero.estimate_rate(current, past, **asking)),
        ("estimate_rate by", lambda: hero.estimate_rate(current, past, by="flag", **asking)),
        ("estimate_difference", lambda: hero.estimate_difference(current, rounds[-1], before, **asking)),
        ("estimate_win_rate", lambda: hero.estimate_win_rate(current, past, **asking)),
        ("estimate_moderation", lambda: hero.estimate_moderation(current, past, flag="flag", **asking)),
        ("compare_methods", lambda: hero.compare_methods(current, past, **_without(asking, "method"))),
        ("fit_reliability", lambda: hero.fit_reliability(rounds).to_frame()),
        ("backtest", lambda: hero.backtest(rounds)),
    ]


def _without(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != name}


def _wrong_numbers(what: str, answer: Any) -> list[str]:
    """What an answer must not hold: see `wrong_bounds`; and a document that JSON cannot write."""
    found = []
    if hasattr(answer, "to_dict") and what != "fit_reliability":
        try:
            json.dumps(answer.to_dict(), allow_nan=False)
        except (TypeError, ValueError) as error:
            found.append(f"{what}: to_dict is no JSON: {error}")
    for name, one in estimates_in(answer):
        found += [f"{what} {name}: {fault}" for fault in wrong_bounds(one)]
    return found


def estimates_in(answer: Any) -> Iterator[tuple[str, Any]]:
    """Every estimate within an answer, with its name."""
    if isinstance(answer, hero.Estimate):
        yield f"{answer.method} {answer.what} {answer.interval_kind}", answer
        for one in (*answer.distribution.values(), *([answer.mean_score] if answer.mean_score else [])):
            yield from estimates_in(one) if one is not answer else ()
    elif isinstance(answer, hero.Moderation | hero.Comparison | hero.GroupedEstimates):
        for one in answer.values():
            yield from estimates_in(one)


def wrong_bounds(one: Any) -> list[str]:
    """What no estimate may do: leave its scale or its interval, be nan without saying so, or be sure of everything."""
    found = []
    low, high = one.bounds
    for level in (one.level, 0.5, 0.8, 0.999999):
        for side in (None, "lower", "upper"):
            ends = one.interval(level, side=side)
            if not all(map(math.isfinite, ends)):
                found.append(f"{side} interval {ends} at {level}")
            elif not low <= ends[0] <= ends[1] <= high:
                found.append(f"{side} interval {ends} at {level} leaves {one.bounds}")
            elif math.isfinite(one.value) and not ends[0] <= one.value <= ends[1]:
                found.append(f"value {one.value} outside its {side} interval {ends} at {level}")
    ends = one.interval()
    same = any(finding.code == "F113" for finding in one.findings) and one.target == "difference"
    if ends[1] - ends[0] <= 1e-9 * (high - low) and one.level >= 0.5 and not same:
        found.append(f"interval of no width {ends} of {one.value}")
    places = np.linspace(low - 0.1, high + 0.1, 21)
    below = [one.probability_below(place) for place in places]
    above = [one.probability_above(place) for place in places]
    if not all(0.0 <= share <= 1.0 for share in (*below, *above)):
        found.append("a probability outside 0 and 1")
    elif any(b < a - 1e-12 for a, b in pairwise(below)):
        found.append("probability_below falls")
    elif any(abs(a + b - 1.0) > 1e-9 for a, b in zip(above, below, strict=True)):
        found.append("probability_above and probability_below do not add up to 1")
    if math.isnan(one.value) and not one.findings:
        found.append("nan without a finding")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seconds", type=int, default=LATEST, help="within which every answer must come")
    parser.add_argument("--only", type=int, help="play this case alone, and show tracebacks")
    given = parser.parse_args()
    first, count = (given.seed, given.count) if given.only is None else (given.only, 1)
    answers, errors, faults, slowest = 0, Counter[str](), Counter[str](), 0.0
    examples: dict[str, int] = {}
    for seed in range(first, first + count):
        try:
            case = draw_case(seed)
            outcome = play(case, seconds=given.seconds, show=given.only is not None)
        except KeyboardInterrupt:
            count = seed - first
            break
        answers, slowest = answers + outcome.answers, max(slowest, outcome.slowest)
        errors.update(outcome.errors)
        for fault in outcome.faults:
            kind = fault if given.only is not None else _kind_of(fault)
            faults[kind] += 1
            if kind not in examples:
                examples[kind] = seed
                print(f"case {seed}: {fault}", file=sys.stderr, flush=True)
    print(f"{count} cases from {first}, {answers} answers, {errors.total()} errors of ours, slowest {slowest:.1f} s")
    print("errors:", ", ".join(f"{code} {number}" for code, number in sorted(errors.items())))
    for kind, number in faults.most_common():
        print(f"{number:5d}  case {examples[kind]}: {kind}")
    sys.exit(1 if faults else 0)


def _kind_of(fault: str) -> str:
    """Faults of one kind together, whatever their numbers."""
    return re.sub(r"(-?\d+(\.\d+)?(e[-+]?\d+)?)+", "#", re.sub(r"rate of '.*?'( or '.*?')*", "rate", fault))[:170]


if __name__ == "__main__":
    main()
