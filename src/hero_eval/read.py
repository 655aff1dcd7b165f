"""Rounds from files: read into memory, or left where they are for an engine to count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from hero_eval.errors import HeroError, InputError, wrong
from hero_eval.findings import Finding
from hero_eval.io.exports.imports import refuse_export
from hero_eval.io.files import (
    beside,
    find_files,
    header_of,
    is_counts,
    is_for_engines,
    name_of,
    read_files,
    rows_of,
)
from hero_eval.io.items import LABELER_PREFIX
from hero_eval.io.places import at_hand
from hero_eval.io.read_options import ReadOptions, make_options
from hero_eval.io.reshape import is_long
from hero_eval.io.several import stands_for, which_rounds
from hero_eval.io.validate import parse_round
from hero_eval.round import Round

if TYPE_CHECKING:
    from hero_eval.counting.engine import Session
    from hero_eval.counting.large_round import LargeRound
    from hero_eval.votes import Votes

ENGINES = ("memory", "duckdb", "spark")
LARGE_ROWS = 10_000_000
"""Labels from which on files are left where they are: in memory they would take about a gigabyte, and DuckDB has
counted them in half of the time."""
LARGE_BYTES = 256 * 2**20
"""The same for files of few labels and long texts."""


def read_round(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    classes: Sequence[Any] | None = None,
    positive: Any | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    name: str | None = None,
    missing: Sequence[Any] | None = None,
    label_kind: str | None = None,
    map: Mapping[Any, Any] | None = None,
    labelers: Sequence[str] | None = None,
    exclude_labelers: Sequence[str] | None = None,
    criterion: str | None = None,
    expert: str | Sequence[str] | None = None,
    engine: str | None = None,
    memory_limit: str | None = None,
    spark: Any | None = None,
) -> Round:
    """Read a folder of tables called labels, gold and items, or one file that holds all in one table, long or wide.

    Tables are Parquet (a file, or a folder of parts), CSV, TSV, JSON, JSON lines (all three also packed: .gz) or Excel
    (extra ``excel``). A file of counts that `save_counts` wrote is read as the round it came from.

    Parameters
    ----------
    path : path-like
        The folder, or the file; ``"-"`` is standard input, and addresses such as ``s3://bucket/may`` are fetched
        (extras ``s3`` and ``gcs``; others through what fsspec has).
    columns : mapping of str to str, optional
        Our column names mapped to yours, such as ``{"labeler": "user"}``. None: the columns have our names.
    classes : sequence, optional
        All possible answers, in order. None: the answers that occur.
    positive : class, optional
        The class whose rate is asked for. None leaves that to each estimate.
    covariates : sequence of str, optional
        Columns of the items that will be covariates: naming them has them checked now. None checks none.
    text : str, optional
        The column of text that will be a covariate: naming it has it checked now. None checks none.
    name : str, optional
        What messages call the round. None: the name of the folder or file.
    missing : sequence, optional
        Answers that count as not given, such as ``"unsure"`` or ``"skip"``. None: empty ones alone.
    label_kind : {"score", "answer"}, optional
        What labels are: scores, numbers on a scale that each labeler has for itself, or answers, of which each is a
        class. None: scores if they are numbers and there are more than 20 different ones, or fractions, or others than
        0 and 1 where gold is 0 or 1; `notes` says so.
    map : mapping, optional
        Answers, of labels and gold, that are to be read as others, such as ``{"good": 1, "bad": 0}``. None: as they
        are.
    labelers : sequence of str, optional
        The labelers that count. In a wide table, which has one column for each labeler, these are columns, and the rest
        describes items. None: all of a long table; in a wide one they are recognized, and `notes` says which (F122).
    exclude_labelers : sequence of str, optional
        Labelers to leave out, ``*`` stands for any text; in a wide table their columns go too. None: none.
    criterion : str, optional
        Of several criteria in one table the one that is asked for: columns such as ``helpful_gpt`` or ``gpt_helpful``
        of a wide table, rows of a long one that has a column ``criterion``. None: there is only one.
    expert : str or sequence of str, optional
        Labelers whose answers are gold and not labels, ``*`` stands for any text; in a wide table, columns. Where two
        of them differ on an item it gets no gold. None: nobody's.
    engine : {"memory", "duckdb", "spark"}, optional
        Who counts the labels: ``"memory"`` reads all of them; the others leave them in the files. None: DuckDB for
        10 million labels or 256 MB and more, which the files say before they are read; else memory. Scores beside gold
        of more than 20 numbers are always read into memory.
    memory_limit : str, optional
        How much memory DuckDB may use, such as ``"4GB"``; naming it chooses DuckDB. None: a quarter of what the
        machine has, or 2 GB where that is more.
    spark : SparkSession or str, optional
        The session, or the URL of the master, on which Spark runs; naming it chooses Spark. None with
        ``engine="spark"``: this machine.

    Returns
    -------
    Round
        The round; one that leaves its labels in the files refuses what asks for single items (E211).

    Raises
    ------
    InputError
        With the problems of all files at once.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import hero_eval as hero
    >>> hero.read_round(files("hero_eval") / "examples" / "defect" / "current")
    Round 'current': 532 items, 1596 labels by 8 labelers, 0 gold
    """
    if not isinstance(path, str | os.PathLike):
        kind = type(path).__name__
        raise wrong(
            "E201", f"path is {kind}. read_round reads files; make a round of a dataframe: hero_eval.Round(labels)"
        )
    options = make_options(
        columns,
        classes,
        positive,
        covariates,
        text,
        name or "",
        missing,
        label_kind,
        map,
        labelers,
        exclude_labelers,
        criterion,
        expert,
    )
    return read_with(path, options, engine, memory_limit, spark)


def read_with(
    path: str | os.PathLike[str],
    options: ReadOptions,
    engine: str | None = None,
    memory_limit: str | None = None,
    spark: Any | None = None,
) -> Round:
    """As `read_round`, with options that were made before; without a name the round is called as its file."""
    with at_hand(path) as place:
        files, problems = find_files(place.path)
        options = options if options.name else replace(options, name=name_of(place.path))
        too_large = False  # for memory, if an engine could count it
        if not problems:
            _check_engine(engine, memory_limit, spark)
            if is_counts(files["labels"]):
                place.keep()
                return cast(Round, _open_counts(files["labels"], options))
            chosen = engine or ("spark" if spark is not None else _by_size(files, memory_limit))
            asked = engine is not None or spark is not None or memory_limit is not None
            if chosen != "memory" and not asked and _needs_memory(files, options):
                chosen = "memory"
            if chosen != "memory":
                _refuse_in_engine(options, chosen)
                try:
                    large = _open_large(files, options, chosen, memory_limit, spark)
                except HeroError as error:
                    if asked or error.code != "E214":  # gold of many numbers, which memory may still hold
                        raise
                    too_large = True
                else:
                    place.keep()
                    return cast(Round, large)
        sources = read_files(files, problems)
        refuse_export(place.path, sources, options)
        found = Round._of(parse_round(sources, options))
        return found.noted(_held_scores(found)) if too_large else found


def _needs_memory(files: Mapping[str, Path], options: ReadOptions) -> bool:
    """Whether no engine takes this: wide tables, labelers that are chosen, files that only Python reads."""
    if options.mapped or options.chooses_rows:
        return True
    if any(not is_for_engines(file) for file in files.values()):
        return True
    return not is_long(header_of(files["labels"]), options)


def _held_scores(found: Round) -> Finding:
    """F127: that scores of a file which an engine would have counted are in memory."""
    message = (
        f"gold is many numbers, whose mean asks for items one by one: {found.n_labels:,} scores were read into memory "
        "instead of being counted in their file"
    )
    return Finding("F127", message, {"labels": found.n_labels})


@runtime_checkable
class TableLike(Protocol):
    """A dataframe of any library: something that has columns."""

    @property
    def columns(self) -> Any:
        """Its columns."""


RoundLike = Round | str | os.PathLike[str] | TableLike
"""What stands for a round: one, the path of one, or a dataframe of one."""


def round_of(given: object, what: str = "the current round") -> Round:
    """A round, read if it is a path or a dataframe; E201 if it is none of them."""
    if isinstance(given, Round):
        return given
    if isinstance(given, str | os.PathLike):
        return read_round(given)
    if isinstance(given, TableLike):
        return Round(given)
    kind = type(given).__name__
    raise wrong("E201", f"{what} is {kind}. Give a Round, the path of one, or a dataframe: hero_eval.Round(labels)")


def past_rounds_of(given: object, currents: Sequence[object] = ()) -> list[Round]:
    """Past rounds: each a round, a dataframe, a path, a pattern such as ``rounds/2026-*``, or a folder of rounds."""
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    here = [one for one in currents if isinstance(one, str | os.PathLike)]
    out: list[Round] = []
    for one in several:
        if not isinstance(one, str | os.PathLike):
            out.append(round_of(one, "a past round"))
            continue
        found = stands_for(one, here)
        read = [read_round(path) for path in found]
        note = which_rounds([one], found)
        out += read if note is None else [read[0].noted(note), *read[1:]]
    return out


def _refuse_in_engine(options: ReadOptions, engine: str) -> None:
    """Answers are mapped, and labelers chosen, where labels are read."""
    if options.mapped:
        message = f"map is for rounds in memory, and {engine} counts this one. Give engine='memory', or map the files"
        raise wrong("E204", message)
    if options.chooses_rows:
        what = "labelers, exclude_labelers, criterion and expert are"
        raise wrong("E204", f"{what} for rounds in memory, and {engine} counts this one. Give engine='memory'")


def _check_engine(engine: str | None, memory_limit: str | None, spark: Any) -> None:
    if engine is not None and engine not in ENGINES:
        raise wrong("E201", f"engine is {engine!r}. Known: {', '.join(map(repr, ENGINES))}")
    if spark is not None and engine not in (None, "spark"):
        raise wrong("E204", f"spark belongs to engine='spark', not to {engine!r}")
    if memory_limit is not None and engine not in (None, "duckdb"):
        raise wrong("E204", f"memory_limit belongs to engine='duckdb', not to {engine!r}")


def _open_counts(file: Path, options: ReadOptions) -> LargeRound:
    """The round whose counts `save_counts` wrote."""
    from hero_eval.counting.large_round import SAVED_COUNTS, LargeRound
    from hero_eval.counting.tally_files import SavedSource

    if options.missing:
        message = f"{file} holds counts, from which no answer can be left out. Leave out missing"
        raise wrong("E204", message)
    _refuse_in_engine(options, "a file of counts")
    return LargeRound(SavedSource(file, options), options.name, SAVED_COUNTS)


def _open_large(
    files: Mapping[str, Path], options: ReadOptions, engine: str, memory_limit: str | None, spark: Any
) -> LargeRound:
    """A round that stays in its files."""
    from hero_eval.counting.large_round import LargeRound
    from hero_eval.counting.score_source import open_source
    from hero_eval.counting.sql_tables import SqlTables

    source = open_source(SqlTables(_session(engine, memory_limit, spark), files, options))
    plain = tuple(name for name in options.covariates if not name.startswith(LABELER_PREFIX))
    return LargeRound(source, options.name, engine, plain)


def _by_size(files: Mapping[str, Path], memory_limit: str | None) -> str:
    """DuckDB for what is large by the files' own account, before anything of them is read."""
    if memory_limit is not None or sum(map(_size, files.values())) >= LARGE_BYTES:
        return "duckdb"
    return "duckdb" if rows_of(files["labels"]) >= LARGE_ROWS else "memory"


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(os.stat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names)


def _session(engine: str, memory_limit: str | None, spark: Any) -> Session:
    if engine == "spark":
        from hero_eval.counting.spark import spark_session

        return spark_session(spark)
    from hero_eval.counting.duckdb import DuckSession

    return DuckSession(memory_limit)


def read_votes(
    votes: Any,
    *,
    columns: Mapping[str, str] | None = None,
    map: Mapping[Any, Any] | None = None,
    covariates: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    name: str | None = None,
    engine: str | None = None,
    memory_limit: str | None = None,
) -> Votes:
    """Read side-by-side votes: of a dataframe, or of a file (Parquet, CSV, TSV, JSON Lines of an arena or MT-Bench).

    Parameters
    ----------
    votes : dataframe or path-like
        A table with the columns model_a (shown first), model_b, label (A, B, tie, both bad, or the name of the model
        that won) and, where they are known, item, labeler and gold.
    columns : mapping of str to str, optional
        Our column names mapped to yours, such as ``{"label": "choice"}``. None: the columns have our names, or those
        that arenas use (winner, judge, question_id).
    map : mapping, optional
        Answers, of labels and gold, that are to be read as others, such as ``{"left": "A"}``. None: as they are.
    covariates : sequence of str, optional
        Columns of the pair to hold equal, such as ``length``: a column of that name, or ``length_a`` and ``length_b``,
        whose difference over their sum is taken. None: none.
    where : mapping of str to value or values, optional
        Only votes whose column has this value, or one of these, such as ``{"category": "coding"}``. None: all.
    name : str, optional
        What messages call the votes. None: the name of the file.
    engine : {"memory", "duckdb"}, optional
        Who counts the votes. None: DuckDB for 10 million votes or 256 MB and more, else memory.
    memory_limit : str, optional
        How much memory DuckDB may use, such as ``"4GB"``; naming it chooses DuckDB. None: a quarter of what the
        machine has, or 2 GB where that is more.

    Returns
    -------
    Votes
        The votes, counted.

    Raises
    ------
    InputError
        With all problems of the table at once.
    """
    from hero_eval.io.exports.vote_exports import is_json_lines, votes_of_json
    from hero_eval.votes import Votes, votes_in, votes_of

    if isinstance(votes, Votes):
        return votes
    mapped = {str(old): str(new) for old, new in (map or {}).items()}
    chosen = tuple(covariates or ())
    if not isinstance(votes, str | os.PathLike):
        return votes_of(votes, columns, mapped, chosen, name or "votes", where)
    place = Path(votes).expanduser()
    if engine is not None and engine not in ("memory", "duckdb"):
        raise wrong("E201", f"engine is {engine!r}. Known for votes: 'memory', 'duckdb'")
    called = name or name_of(place)
    if is_json_lines(place):
        return votes_in(votes_of_json(place), columns or {}, mapped, chosen, called, where)
    tables, problems = find_files(_votes_file(place))
    large = engine == "duckdb" or (engine is None and "labels" in tables and _by_size(tables, None) == "duckdb")
    if "labels" in tables and (large or memory_limit is not None):
        from hero_eval.counting.vote_counts import count_votes

        return count_votes(tables["labels"], columns or {}, mapped, chosen, called, memory_limit, where or {})
    source = read_files(tables, problems)
    if source.problems or source.labels is None:
        raise InputError(source.problems)
    return votes_in(source.labels, columns or {}, mapped, chosen, called, where)


def _votes_file(where: Path) -> Path:
    """The file of votes in a folder, or the file itself."""
    return beside(where, "votes") or where
