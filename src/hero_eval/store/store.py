"""`Store`: one place where rounds accumulate. See `schemas` for how a change happens all at once or not at all."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Unpack

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.values import count_of
from hero_eval.round import Round
from hero_eval.store import delta
from hero_eval.store.adding import About, Added, add_round, options_for
from hero_eval.store.commits import create_table
from hero_eval.store.compacting import Compacted, compact_store
from hero_eval.store.estimates import Recorded, StoredOptions, listed_estimates, make_and_save, reproduce
from hero_eval.store.folding import Folded, fold_all, fold_answers
from hero_eval.store.gold_records import read_records
from hero_eval.store.log import Entry, Log, checked_name, commit, read_log
from hero_eval.store.reading import ReadableStore, refuse_old_version
from hero_eval.store.schemas import TABLES
from hero_eval.store.soundness import Soundness, check_store
from hero_eval.store.sources import incoming, take_experts
from hero_eval.store.vote_rounds import refuse_of_labels, votes_to_add


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


class Store(ReadableStore):
    """Rounds that accumulate, for years and by many hands. Made by `open_store` and `create_store`.

    Parameters
    ----------
    place : Place
        Where the store is. For use inside the package.
    version : int, optional
        The version to read. None: the store as it is now.
    """

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
        label_kind: str | None = None,
        map: Mapping[Any, Any] | None = None,
        criterion: str | None = None,
    ) -> Added:
        """Add a round under a name. To one that is there, late labels or gold.

        All of it becomes visible by one commit, or none of it: contradictions are errors that name them.

        Parameters
        ----------
        data : path-like, Round or dataframe, optional
            The round. A table with gold but without labels is late gold. A table with the columns model_a and model_b
            holds side-by-side votes, as `read_votes` reads them. None: only `gold` or a new `date` comes.
        round : str
            The name of the round.
        question : str, optional
            The question that the round answers. None: the only one that the store has, or ``"main"``.
        model : str, optional
            The model that was evaluated. None: not said.
        date : str or date, optional
            The day of the round. None: read from its name, if that holds one; else unknown (finding F804).
        gold : path-like or dataframe, optional
            Gold that comes apart, with the columns item and gold, perhaps source; of votes with item, model_a, model_b
            and gold. None: what `data` has.
        gold_source : str, optional
            Who gave the gold, where no column says so. None: not said.
        labelers : path-like, dataframe or list of str, optional
            Who the labelers are: the column labeler, and any of kind, model, prompt, settings, vendor and group. None:
            a file ``labelers`` in the round's folder, if there is one. A list of names says which labelers count; in a
            wide table, which has one column for each labeler, these are columns.
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
        label_kind : {"score", "answer"}, optional
            What labels are, as for `Round`. None: as they look; a round that is there keeps its kind.
        map : mapping, optional
            Answers that are to be read as others, such as ``{"good": 1, "bad": 0}``. None: as they are.
        criterion : str, optional
            Of several criteria in one table the one that is asked for; see `read_round`. None: there is only one.

        Returns
        -------
        Added
            The round's `entry`, how many `labels`, `gold` and new `items` came, whether they were `merged` into a round
            that was there, how many of its items `changed`, and `findings`.

        Raises
        ------
        InputError
            If the store was opened at an old version (E204), the tables have problems or contradict what is stored, all
            of it is there already (E404), or gold comes from a labeler who is judged by it (E405).
        """
        refuse_old_version(self)
        name = checked_name("round", round)
        old = self.log().live().get(name)
        for what, said in (("model", model), ("gold_source", gold_source)):
            if said is not None:
                checked_name(what, said)
        votes = votes_to_add(data, gold, columns, map, old, lambda: self.rows(self.find(name)))
        if votes is not None:
            refuse_of_labels(model=model, classes=classes, positive=positive, missing=missing, label_kind=label_kind)
            refuse_of_labels(criterion=criterion, expert=tuple(experts))
            came = gold if data is None else data
            origin = origin or (os.fspath(came) if isinstance(came, str | os.PathLike) else None)
            data, gold, columns, map = votes.tables, None, None, None
        options = options_for(name, old, data, columns, classes, positive, missing, label_kind, map)
        only = tuple(labelers) if isinstance(labelers, list | tuple) else None
        reading = replace(options, only=only, criterion=criterion, experts=tuple(experts))
        if (only is not None or criterion is not None) and isinstance(data, Round):
            raise wrong("E204", "labelers and criterion choose from tables; this is a Round. Choose when it is made.")
        given = take_experts(incoming(data, gold, labelers if only is None else None, reading), experts, options)
        if votes is not None:
            given = replace(given, findings=(*given.findings, *votes.findings), is_votes=True)
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
        refuse_old_version(self)

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
        refuse_old_version(self)

        def make(log: Log) -> Entry:
            row = log.last().get(name)
            if row is None or not row.removed:
                gone = [one.round for one in log.last().values() if one.removed]
                there = f"Removed are: {name_some(gone, 12)}." if gone else "No round is removed."
                raise wrong("E403", f"no removed round is called {name!r}. {there}")
            return replace(row, action="restore")

        return commit(self.place, make)

    # Gold that experts give on the page

    def answers(self, round: str | None = None) -> list[dict[str, Any]]:
        """What experts did on the page: answers, skips and undos, also those that were taken back.

        Parameters
        ----------
        round : str, optional
            The name of a round. None: of all rounds.

        Returns
        -------
        list of dict
            One for each, oldest first: its id, queue, round, action, item, expert, gold, second, left, note, reason,
            of, seconds, written, package.

        Raises
        ------
        InputError
            If the table cannot be read (E406).
        """
        return [asdict(one) for one in read_records(self.place, round)]

    def fold(self, round: str) -> Folded:
        """Make what experts answered on the page the gold of a round, with the probability that each item had.

        The page does it while experts answer, and `estimate` before it estimates. An answer that was taken back since
        is gold no longer.

        Parameters
        ----------
        round : str
            The name of the round.

        Returns
        -------
        Folded
            The round's `entry`, on how many items `gold` is an answer from the page, whether anything `changed`, and
            `findings`.

        Raises
        ------
        InputError
            If there is no such round (E403), the store was opened at an old version (E204), or the answers contradict
            the round's classes (E109).
        """
        return fold_answers(self, round)

    # Keeping

    def check(self) -> Soundness:
        """Read everything and say what is whole.

        Returns
        -------
        Soundness
            The rounds that are whole or damaged, and all problems; `is_whole` if there are none.
        """
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
        refuse_old_version(self)
        return compact_store(self)

    # Estimates

    def estimate(self, round: str, *, command: str = "estimate", **options: Unpack[StoredOptions]) -> Recorded:
        """Estimate a round from its history, and record it so that `reproduce` gives the same bytes.

        Parameters
        ----------
        round : str
            The name of the current round.
        command : {"estimate", "compare", "winrate", "moderation", "arena"}, default "estimate"
            Which question: `estimate_rate`, `compare_methods`, `estimate_win_rate`, `estimate_moderation`, or, of
            votes, `rank_votes`; with the option `together` votes of earlier rounds count among them.
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
        if self._version is None:
            fold_all(self)  # what experts have answered on the page meanwhile counts
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
        return reproduce(self, estimate)

    def __repr__(self) -> str:
        log = self.log()
        return f"Store {self.path!r}: {count_of(len(log.live()), 'round')}, version {log.version}"
