"""Rounds that hold the same labels: a file that was added twice, under two names."""

from __future__ import annotations

from hero_eval.findings import Finding, name_some
from hero_eval.io.values import count_of
from hero_eval.store.contents import StoredRows
from hero_eval.store.digests import digest, row_digests
from hero_eval.store.log import Log
from hero_eval.store.records import Sum


def twin_findings(fresh: StoredRows, name: str, log: Log) -> list[Finding]:
    """F810 where a round of another name was added with exactly these labels.

    What each batch holds is in the log with its digest, so no data are read; without a batch of as many labels nothing
    is worked out at all.
    """
    n_labels = fresh.labels.num_rows
    alike = [
        (row.round, held["labels"])
        for row in log.live().values()
        for held in row.bound.batches.values()
        if row.round != name and "labels" in held and held["labels"].rows == n_labels
    ]
    if not n_labels or not alike:
        return []
    own = Sum(n_labels, digest(row_digests("labels", fresh.labels)))
    twins = list(dict.fromkeys(other for other, held in alike if held == own))
    if not twins:
        return []
    message = (
        f"round {name!r} comes with the same {count_of(n_labels, 'label')} on the same items as {name_some(twins)}: if "
        "it is one evaluation under two names, it would teach twice what it teaches"
    )
    return [Finding("F810", message, {"round": name, "same_as": twins})]
