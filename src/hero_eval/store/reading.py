"""A store as it can be read, now or at a version: its log, its rounds, their labelers and their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hero_eval.errors import wrong
from hero_eval.io.read_options import ReadOptions, make_options
from hero_eval.io.validate import parse_round
from hero_eval.round import Round
from hero_eval.store import contents as packing
from hero_eval.store import delta
from hero_eval.store.contents import StoredRows
from hero_eval.store.fetching import Codes, check_tables, in_parts, stock
from hero_eval.store.identity import check_labelers
from hero_eval.store.log import Entry, Log, batches_of, read_log
from hero_eval.store.past_rounds import History, past_of
from hero_eval.store.records import recalled, with_options
from hero_eval.store.vote_rounds import stored_votes, together
from hero_eval.votes import Votes, votes_in


class ReadableStore:
    """What reading a store needs, and all that `Store` has besides changing it.

    Parameters
    ----------
    place : Place
        Where the store is.
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

    def votes(
        self,
        name: str,
        *,
        covariates: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Votes:
        """The side-by-side votes of a round, read.

        Parameters
        ----------
        name : str
            The name of the round.
        covariates : sequence of str, optional
            Columns of the pair to hold equal; see `read_votes`. None: none.
        where : mapping of str to value or values, optional
            Only votes whose column has this value, or one of these; see `read_votes`. None: all.

        Returns
        -------
        Votes

        Raises
        ------
        InputError
            If there is no such round, or it was removed (E403), it holds labels (E529), or it is not whole (E406).
        """
        return self.read_votes([self.find(name)], covariates=covariates, where=where)

    def read_votes(
        self,
        entries: Sequence[Entry],
        *,
        covariates: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Votes:
        """As `votes`, of several rounds together: votes on one item stay votes on one item.

        Parameters
        ----------
        entries : sequence of Entry
            The rounds, as `find` and `rounds` give them.
        covariates : sequence of str, optional
            Columns of the pair to hold equal. None: none.
        where : mapping of str to value or values, optional
            Only votes whose column has this value, or one of these. None: all.

        Returns
        -------
        Votes
            Under the name of the last round.

        Raises
        ------
        InputError
            If one of them holds labels (E529), or is not whole (E406).
        """
        for entry in entries:
            if not entry.is_votes:
                raise wrong("E529", f"round {entry.round!r} holds labels, not votes. Rank its model: hero rank")
        held = stock(self.place, entries)
        tables = [stored_votes(held.rows(entry), entry.round) for entry in entries]
        return votes_in(together(tables, "votes"), {}, {}, covariates or (), entries[-1].round, where or {})

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

    def rows(self, entry: Entry) -> StoredRows:
        """All that is stored of a round, as tables.

        Parameters
        ----------
        entry : Entry
            The round, as `find` and `rounds` give it.

        Returns
        -------
        StoredRows

        Raises
        ------
        InputError
            If the round is not whole (E406).
        """
        return stock(self.place, [entry]).rows(entry)


def refuse_old_version(store: ReadableStore) -> None:
    """E204: the past cannot be changed."""
    if store._version is not None:
        raise wrong("E204", f"the store was opened as of version {store._version}, which can only be read")


def _options(entry: Entry, classes: Sequence[str] | None, positive: str | None) -> ReadOptions:
    chosen = classes if classes is not None else entry.classes
    options = make_options(None, chosen, positive or entry.positive, None, None, entry.round)
    # What the store has taken in is not refused when it is read.
    return replace(with_options(options, entry.bound.knows), spelling=False)
