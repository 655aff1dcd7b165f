"""`Store`: one place where rounds accumulate. See `schemas` for how a change happens all at once or not at all."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.read_options import ReadOptions, make_options
from hero_eval.io.validate import parse_round
from hero_eval.io.values import count_of
from hero_eval.round import Round
from hero_eval.store import contents as packing
from hero_eval.store import delta
from hero_eval.store.adding import About, Added, add_round, options_for
from hero_eval.store.commits import create_table
from hero_eval.store.contents import Rows
from hero_eval.store.dates import day_of
from hero_eval.store.fetching import Codes, check_tables, in_parts, stock
from hero_eval.store.identity import check_labelers
from hero_eval.store.log import Entry, Log, batches_of, checked_name, commit, earlier, read_log
from hero_eval.store.records import recalled, with_options
from hero_eval.store.schemas import TABLES
from hero_eval.store.sources import incoming, take_experts

if TYPE_CHECKING:
    from hero_eval.store.compacting import Compacted
    from hero_eval.store.estimates import Recorded, StoredOptions
    from hero_eval.store.soundness import Soundness


def create_store(path: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> Store:
    """Make an empty store in a folder or at an object-store URL.

    Parameters
    ----------
    path : path-like
        The folder, or the URL of an object store.
    storage_options : mapping of str to str, optional
        What the object store asks for, such as keys and a region, as the package deltalake takes it. None: nothing.

    Returns
    -------
    Store
        The new store.

    Raises
    ------
    InputError
        If there is a store already (E404), or the place cannot be written.
    """
    place = delta.place_of(path, storage_options)
    if delta.is_table(place, "rounds"):
        delta.open_table(place, "rounds")
        raise wrong("E404", f"{place.uri} is a store already. Nothing was changed.")
    for name in TABLES:
        create_table(place, name)
    return Store(place)


def open_store(
    path: str | os.PathLike[str],
    *,
    version: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Store:
    """The store at a path, as it is now or as it was at a version.

    Parameters
    ----------
    path : path-like
        The folder, or the URL of an object store.
    version : int, optional
        The version to open, which can then only be read. None: the store as it is now.
    storage_options : mapping of str to str, optional
        What the object store asks for, such as keys and a region, as the package deltalake takes it. None: nothing.

    Returns
    -------
    Store
        The store.

    Raises
    ------
    InputError
        If there is no store (E401), it was made by a newer version (E402), or it has no such version.
    """
    place = delta.place_of(path, storage_options)
    if version is None:
        delta.open_table(place, "rounds")
    else:
        read_log(place, version)
    return Store(place, version)


@dataclass(frozen=True)
class History:
    """Which past rounds of a store to learn from: by question, model and date, or by name.

    Parameters
    ----------
    question : str, optional
        Rounds of this question. None: that of the current round.
    models : tuple of str, optional
        Only rounds of these models. Empty: of all.
    since : str, optional
        Only rounds from this day, week (``2026-w40``) or month on. None: from the first.
    before : str, optional
        Only rounds from before this day, week or month. None: all that are earlier than the current round.
    rounds : tuple of str, optional
        These rounds and no others, whatever else is said. Empty: chosen by the rest.
    """

    question: str | None = None
    models: tuple[str, ...] = ()
    since: str | None = None
    before: str | None = None
    rounds: tuple[str, ...] = ()

    def days(self) -> tuple[datetime.date, datetime.date]:
        """`since` and `before` as days.

        Returns
        -------
        since : date
            The first day; the earliest that there is, if none was said.
        before : date
            The day after the last; the latest that there is, if none was said.

        Raises
        ------
        InputError
            If one of them is no date (E201).
        """
        since = datetime.date.min if self.since is None else day_of("since", self.since)
        return since, datetime.date.max if self.before is None else day_of("before", self.before)

    def fits(self, entry: Entry) -> bool:
        """Whether a round is of these models and days. One without a date is of no day that is asked for.

        Parameters
        ----------
        entry : Entry
            The round, as `Store.find` gives it.

        Returns
        -------
        bool

        Raises
        ------
        InputError
            If `since` or `before` is no date (E201).
        """
        since, before = self.days()
        by_day = self.since is None and self.before is None
        return (not self.models or entry.model in self.models) and (
            by_day or (entry.date is not None and since <= entry.date < before)
        )


class Store:
    """Rounds that accumulate, for years and by many hands. Made by `open_store` and `create_store`.

    Parameters
    ----------
    place : Place
        Where the store is. For use inside the package.
    version : int, optional
        The version to read. None: the store as it is now.
    """

    def __init__(self, place: delta.Place, version: int | None = None) -> None:
        self.place = place
        self._version = version

    @property
    def path(self) -> str:
        """The folder or URL."""
        return self.place.uri

    @property
    def version(self) -> int:
        """How many changes of rounds the store has seen; the version asked for, if one was."""
        return self.log().version

    @property
    def bytes_read(self) -> int:
        """The size of all data files that this object has read so far."""
        return self.place.bytes_read

    @property
    def files_read(self) -> tuple[str, ...]:
        """The data files that this object has read so far."""
        return tuple(self.place.files_read)

    def log(self) -> Log:
        """Every change of a round, oldest first.

        Returns
        -------
        Log
            The changes, and the version they lead to.

        Raises
        ------
        InputError
            If rows of the log are missing or damaged (E406).
        """
        return read_log(self.place, self._version)

    def rounds(self, *, removed: bool = False) -> list[Entry]:
        """The rounds, in the order of time.

        Parameters
        ----------
        removed : bool, default False
            True gives those that were removed instead.

        Returns
        -------
        list of Entry
            What the store knows of each without reading its data.
        """
        log = self.log()
        return [row for row in log.last().values() if row.removed == removed]

    def find(self, name: str) -> Entry:
        """What the store knows of a round without reading its data.

        Parameters
        ----------
        name : str
            The name of the round.

        Returns
        -------
        Entry

        Raises
        ------
        InputError
            If there is no such round, or it was removed (E403).
        """
        return self.log().find(name)

    # Reading

    def round(self, name: str) -> Round:
        """The round of this name, read.

        Parameters
        ----------
        name : str
            The name of the round.

        Returns
        -------
        Round

        Raises
        ------
        InputError
            If there is no such round, or it was removed (E403), or it is not whole (E406).
        """
        return self.read(self.find(name))

    def read(self, entry: Entry, *, positive: str | None = None, classes: Sequence[str] | None = None) -> Round:
        """A round as an ordinary `Round`: the one way from the store to all that estimates.

        Parameters
        ----------
        entry : Entry
            The round, as `find` and `rounds` give it.
        positive : str, optional
            The positive class, instead of the one that is stored. None: that one.
        classes : sequence of str, optional
            All possible answers, instead of those that are stored. None: those.

        Returns
        -------
        Round

        Raises
        ------
        InputError
            If the round is not whole (E406).
        """
        return self.read_all([entry], positive=positive, classes=classes)[0]

    def read_all(
        self, entries: Sequence[Entry], *, positive: str | None = None, classes: Sequence[str] | None = None
    ) -> list[Round]:
        """As `read`, for many rounds: each table is opened once, and each file read once.

        Parameters
        ----------
        entries : sequence of Entry
            The rounds, as `find` and `rounds` give them.
        positive : str, optional
            The positive class, instead of the one that is stored. None: that one.
        classes : sequence of str, optional
            All possible answers, instead of those that are stored. None: those.

        Returns
        -------
        list of Round
            In the same order.

        Raises
        ------
        InputError
            If one of them is not whole (E406).
        """
        found = []
        for part in in_parts(entries):
            held = stock(self.place, part)
            codes = Codes(held.loaded)
            for entry in part:
                said = positive is not None or classes is not None
                contents = None if said else held.contents(entry, codes)
                if contents is None:
                    options = _options(entry, classes, positive)
                    rows = packing.as_sources(held.rows(entry), f"round {entry.round!r}")
                    again = ("values", "classes_given", "positive") if said else ()
                    contents = recalled(parse_round(rows, options), entry.bound.knows, again)
                found.append(Round._of(contents))
        return found

    def history(self, name: str, chosen: History | None = None) -> list[Round]:
        """The past rounds of a round, read.

        Parameters
        ----------
        name : str
            The name of the round.
        chosen : History, optional
            Which of the earlier rounds to take. None: all of the same question.

        Returns
        -------
        list of Round
            Oldest first.

        Raises
        ------
        InputError
            If there is no such round, or it was removed (E403), or one that was named is not earlier (E204).
        """
        return self.read_all(self.history_of(name, chosen))

    def history_of(self, name: str, chosen: History | None = None) -> list[Entry]:
        """Which past rounds these are. Neither the round itself nor a later one is ever among them.

        Parameters
        ----------
        name : str
            The name of the round.
        chosen : History, optional
            Which of the earlier rounds to take. None: all of the same question.

        Returns
        -------
        list of Entry
            Oldest first.

        Raises
        ------
        InputError
            If there is no such round, or it was removed (E403), or one that was named is not earlier (E204).
        """
        return past_of(self.log(), name, chosen)

    def labelers(self) -> list[dict[str, Any]]:
        """Who labeled in which round, in the order of time.

        Returns
        -------
        list of dict
            One for each round and labeler: round, labeler, name, kind, model, prompt, settings, vendor, group.
        """
        rows = self.labeler_rows(self.log())
        return [{key: value for key, value in row.items() if key != "batch"} for row in rows]

    def labeler_rows(self, log: Log) -> list[dict[str, Any]]:
        """As `labelers`, at a version of the log and with the batch.

        Parameters
        ----------
        log : Log
            The log, as `log` gives it.

        Returns
        -------
        list of dict
        """
        live = list(log.live().values())
        check_tables(self.place, live)
        order = {batch: position for position, batch in enumerate(batches_of(live))}
        found: dict[str, list[dict[str, Any]]] = {batch: [] for batch in order}
        for row in delta.read_rows(self.place, "labelers"):
            if row["batch"] in found:
                found[row["batch"]].append(row)
        check_labelers(self.place, live, found)
        return sorted((row for of in found.values() for row in of), key=lambda one: (order[one["batch"]], one["name"]))

    def rows(self, entry: Entry) -> Rows:
        """All that is stored of a round, as tables.

        Parameters
        ----------
        entry : Entry
            The round, as `find` and `rounds` give it.

        Returns
        -------
        Rows

        Raises
        ------
        InputError
            If the round is not whole (E406).
        """
        return stock(self.place, [entry]).rows(entry)

    # Changing

    def add(
        self,
        data: Any = None,
        *,
        round: str,
        question: str | None = None,
        model: str | None = None,
        date: str | datetime.date | None = None,
        gold: Any = None,
        gold_source: str | None = None,
        labelers: Any = None,
        experts: Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Any] | None = None,
        positive: Any | None = None,
        origin: str | None = None,
        exist_ok: bool = False,
        dry_run: bool = False,
        missing: Sequence[Any] | None = None,
    ) -> Added:
        """Add a round under a name. To one that is there, late labels or gold.

        All of it becomes visible by one commit, or none of it: contradictions are errors that name them.

        Parameters
        ----------
        data : path-like, Round or dataframe, optional
            The round. A table with gold but without labels is late gold. None: only `gold` or a new `date` comes.
        round : str
            The name of the round.
        question : str, optional
            The question that the round answers. None: the only one that the store has, or ``"main"``.
        model : str, optional
            The model that was evaluated. None: not said.
        date : str or date, optional
            The day of the round. None: read from its name, if that holds one; else unknown (finding F804).
        gold : path-like or dataframe, optional
            Gold that comes apart, with the columns item and gold, perhaps source. None: what `data` has.
        gold_source : str, optional
            Who gave the gold, where no column says so. None: not said.
        labelers : path-like or dataframe, optional
            Who the labelers are: the column labeler, and any of kind, model, prompt, settings, vendor and group. None:
            a file ``labelers`` in the round's folder, if there is one.
        experts : sequence of str, optional
            Labelers whose answers count as gold and not as labels; ``*`` stands for any text. Empty: nobody's.
        columns : mapping of str to str, optional
            Our column names mapped to yours. None: the columns have our names.
        classes : sequence, optional
            All possible answers, in order. None: those that the round has, or that occur.
        positive : class, optional
            The class whose rate is asked for. None: the one that the round has, if any.
        origin : str, optional
            Where the data came from, for the record. None: the path, if there is one.
        exist_ok : bool, default False
            Whether it is fine that the store has all of this already. False makes that an error.
        dry_run : bool, default False
            True checks everything, says what would come, and writes nothing.
        missing : sequence, optional
            Answers that count as not given. None: empty ones alone.

        Returns
        -------
        Added
            The round's `entry`, how many `labels`, `gold` and `items` came, whether they were `merged` into a round
            that was there, and `findings`.

        Raises
        ------
        InputError
            If the store was opened at an old version (E204), the tables have problems or contradict what is stored, all
            of it is there already (E404), or gold comes from a labeler who is judged by it (E405).
        """
        self._refuse_old_version()
        name = checked_name("round", round)
        old = self.log().live().get(name)
        for what, said in (("model", model), ("gold_source", gold_source)):
            if said is not None:
                checked_name(what, said)
        options = options_for(name, old, data, columns, classes, positive, missing)
        given = take_experts(incoming(data, gold, labelers, options), experts, options)
        about = About(name, old, question, model, date, gold_source, origin or given.origin)
        return add_round(self, given, options, about, exist_ok=exist_ok, dry_run=dry_run)

    def remove(self, name: str) -> Entry:
        """Take a round out. Its data stay, and `restore` brings it back.

        Parameters
        ----------
        name : str
            The name of the round.

        Returns
        -------
        Entry
            The round as it is now.

        Raises
        ------
        InputError
            If there is no such round, or it was removed (E403), or the store was opened at an old version (E204).
        """
        self._refuse_old_version()

        def make(log: Log) -> Entry:
            return replace(log.find(name), action="remove")

        return commit(self.place, make)

    def restore(self, name: str) -> Entry:
        """Bring back a round that was removed, as it was.

        Parameters
        ----------
        name : str
            The name of the round.

        Returns
        -------
        Entry
            The round as it is now.

        Raises
        ------
        InputError
            If no removed round has this name (E403), or the store was opened at an old version (E204).
        """
        self._refuse_old_version()

        def make(log: Log) -> Entry:
            row = log.last().get(name)
            if row is None or not row.removed:
                gone = [one.round for one in log.last().values() if one.removed]
                there = f"Removed are: {name_some(gone, 12)}." if gone else "No round is removed."
                raise wrong("E403", f"no removed round is called {name!r}. {there}")
            return replace(row, action="restore")

        return commit(self.place, make)

    # Keeping

    def check(self) -> Soundness:
        """Read everything and say what is whole.

        Returns
        -------
        Soundness
            The rounds that are whole or damaged, and all problems; `is_whole` if there are none.
        """
        from hero_eval.store.soundness import check_store

        return check_store(self)

    def compact(self) -> Compacted:
        """Put small files together and remove what was replaced. No row, no version and no estimate is lost.

        Returns
        -------
        Compacted
            How many files and bytes there were, and are now.

        Raises
        ------
        InputError
            If the store was opened at an old version (E204), or is not whole (E406).
        """
        from hero_eval.store.compacting import compact_store

        self._refuse_old_version()
        return compact_store(self)

    def _refuse_old_version(self) -> None:
        """E204: the past cannot be changed."""
        if self._version is not None:
            raise wrong("E204", f"the store was opened as of version {self._version}, which can only be read")

    # Estimates

    def estimate(self, round: str, *, command: str = "estimate", **options: Unpack[StoredOptions]) -> Recorded:
        """Estimate a round from its history, and record it so that `reproduce` gives the same bytes.

        Parameters
        ----------
        round : str
            The name of the current round.
        command : {"estimate", "compare", "winrate", "moderation"}, default "estimate"
            Which question: `estimate_rate`, `compare_methods`, `estimate_win_rate` or `estimate_moderation`.
        **options
            The options of that function; `other`, the name of a second round, which asks for `estimate_difference`
            instead; `history`, a `History` that says which past rounds to take; and `classes`, all possible answers.

        Returns
        -------
        Recorded
            The `result`, the id of the `estimate`, and the `text` of the document that was saved.

        Raises
        ------
        InputError
            If there is no such round (E403), the store was opened at an old version (E204), or an option is wrong.
        SupportError
            If the data cannot support the answer.
        """
        from hero_eval.store.estimates import make_and_save

        return make_and_save(self, round, command, options)

    def estimates(self) -> list[dict[str, Any]]:
        """The recorded estimates, oldest first.

        Returns
        -------
        list of dict
            One for each: its id, command, round, question, store_version, history, options, package, document, written.

        Raises
        ------
        InputError
            If recorded estimates are lost (E406).
        """
        from hero_eval.store.estimates import listed_estimates

        return listed_estimates(self)

    def reproduce(self, estimate: str) -> Recorded:
        """Make a recorded estimate again, from the store as it was.

        Parameters
        ----------
        estimate : str
            The id of the estimate, or how it starts.

        Returns
        -------
        Recorded
            The same estimate.

        Raises
        ------
        InputError
            If there is no such estimate (E407), or a byte differs (E408).
        """
        from hero_eval.store.estimates import reproduce

        return reproduce(self, estimate)

    def __repr__(self) -> str:
        log = self.log()
        return f"Store {self.path!r}: {count_of(len(log.live()), 'round')}, version {log.version}"


def _options(entry: Entry, classes: Sequence[str] | None, positive: str | None) -> ReadOptions:
    chosen = classes if classes is not None else entry.classes
    options = make_options(None, chosen, positive or entry.positive, None, None, entry.round)
    # What the store has taken in is not refused when it is read.
    return replace(with_options(options, entry.bound.knows), spelling=False)


def past_of(log: Log, name: str, chosen: History | None = None) -> list[Entry]:
    """As `Store.history_of`, in a log that was read before."""
    current, choice = log.find(name), chosen or History()
    past = earlier(log, current)
    if choice.rounds:
        return [_earlier_one(log, current, past, one) for one in dict.fromkeys(choice.rounds)]
    question = choice.question or current.question
    return [row for row in past if row.question == question and choice.fits(row)]


def common_past(log: Log, names: Sequence[str], chosen: History | None = None) -> tuple[list[Entry], bool]:
    """Past rounds for several that are compared: those before the latest of them, the compared ones left out.

    Where no other round has gold the compared ones are kept, since nothing else tells how labelers err; the second
    value says whether they were left out.
    """
    newest = max((log.find(name) for name in names), key=lambda row: row.place_in_time)
    past = past_of(log, newest.round, chosen)
    apart = [row for row in past if row.round not in names]
    return (apart, True) if any(row.gold for row in apart) else (past, False)


def _earlier_one(log: Log, current: Entry, past: Sequence[Entry], name: str) -> Entry:
    """A past round that was named; E204 if it is not past."""
    row = log.find(name)
    if row not in past:
        what = (
            "the current round itself"
            if row.round == current.round
            else f"not before {current.round!r} ({current.day})"
        )
        raise wrong("E204", f"round {name!r} ({row.day}) is {what}, so it cannot be history. Name earlier rounds.")
    return row
