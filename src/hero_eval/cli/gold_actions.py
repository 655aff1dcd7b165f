"""What the commands about gold do: read, ask the library, show or write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import gold_views
from hero_eval.cli.actions import check_output, write_table
from hero_eval.cli.blocks import Line
from hero_eval.cli.inputs import Data, read_rounds
from hero_eval.cli.json_output import show_json
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show
from hero_eval.errors import wrong
from hero_eval.name_lists import mapping, names, split

if TYPE_CHECKING:
    from hero_eval.cli.inputs import Rounds
    from hero_eval.cli.option_groups import CurrentInStore, FromStore
    from hero_eval.cli.progress import Activity


def _rounds(data: Data, stored: CurrentInStore | None, doing: Activity, command: str) -> Rounds:
    """Of files, or of the store where one is asked."""
    if stored is None:
        return read_rounds(data, doing)
    from hero_eval.cli.stored import round_and_history

    doing.say(f"Reading {stored.store}")
    return round_and_history(stored, data, f"{command} CURRENT --history PATH")


def next_items(
    data: Data,
    chosen: Mapping[str, Any],
    output: Path | None,
    probabilities: Path | None,
    *,
    as_json: bool,
    stored: CurrentInStore | None = None,
) -> None:
    for path in (output, probabilities):
        if path is not None:
            check_output(path)
    if stored is not None and _next_battles(chosen, output, probabilities, as_json=as_json, stored=stored):
        return
    with activity() as doing:
        rounds = _rounds(data, stored, doing, "hero next")
        doing.say("Looking for items that tell most")
        queue = hero.choose_gold(
            rounds.currents, rounds.history, positive=rounds.positive, progress=doing.step, **chosen
        )
    written = []
    if output is not None:
        write_table(queue.to_frame("pyarrow"), output)
        written.append(f"Queue: {output}")
    if probabilities is not None:
        write_table(_all_probabilities(queue), probabilities)
        written.append(f"Probabilities of all items: {probabilities}")
        if stored is not None:
            said = f"--round {quote(rounds.currents[0].name)} --store {quote(str(stored.store))}"
            written.append(f"Into the store with the answers: hero add {quote(str(probabilities))} {said}")
    if as_json:
        show_json(queue.to_dict())
        return
    page = gold_views.queue(queue, full=output is None, kept=probabilities is not None)
    show([*_taken(rounds, stored), *page, *(Line(line, whole=True) for line in written)])


def _next_battles(
    chosen: Mapping[str, Any],
    output: Path | None,
    probabilities: Path | None,
    *,
    as_json: bool,
    stored: CurrentInStore,
) -> bool:
    """The queue of a round of votes; False if the round holds labels."""
    from hero_eval.cli import battle_queue
    from hero_eval.cli.stored import votes_meant

    meant = votes_meant(stored)
    if meant is None:
        return False
    if probabilities is not None:
        raise wrong("E204", "--probabilities is for rounds of labels; gold on battles needs no weights")
    with activity() as doing:
        columns = battle_queue.drawn_battles(*meant, chosen, doing)
    if output is not None:
        import pyarrow as pa

        write_table(pa.table(columns), output)
    if as_json:
        show_json(battle_queue.document(meant[1], columns))
    else:
        show(battle_queue.shown_battles(meant[1], stored.store, columns, output))
    return True


def plan(
    data: Data,
    asked: Mapping[str, Any],
    cost: str | None,
    judges: str | None,
    chart: Path | None,
    *,
    as_json: bool,
    stored: CurrentInStore | None = None,
) -> None:
    prices, judged = prices_of(cost), names("--judges", judges) or ()
    with activity() as doing:
        rounds = _rounds(data, stored, doing, "hero plan")
        doing.say("Looking ahead")
        current = rounds.currents[0] if rounds.currents else None
        options: dict[str, Any] = {
            "costs": prices,
            "judges": judged,
            "positive": rounds.positive,
            "progress": doing.step,
        }
        made = hero.plan(current, rounds.history, **options, **asked)
    if chart is not None:
        from hero_eval.charts.plan_chart import spending

        spending(made).save(chart)
    if as_json:
        show_json(made.to_dict())
        return
    show(
        [
            *_taken(rounds, stored),
            *gold_views.plan(made),
            *([Line(f"Chart: {chart}", whole=True)] if chart is not None else []),
        ]
    )


def _taken(rounds: Rounds, stored: CurrentInStore | None) -> list[Line]:
    """Which round of the store is meant, and what came before it: nobody may have named them."""
    if stored is None:
        return []
    past = ", ".join(one.name for one in rounds.history or ()) or "none"
    return [Line(f"Round {rounds.currents[0].name} of {stored.store}; history: {past}.")]


def worth(data: Data, chosen: FromStore, cost: str, judges: str | None, level: float, *, as_json: bool) -> None:
    """What labels are worth in the last of the rounds, by what those before it teach."""
    from hero_eval.cli.stored import past_rounds
    from hero_eval.targets.labeler_worth import labeler_worth

    prices, judged = prices_of(cost), names("--judges", judges) or ()
    rounds = past_rounds(chosen, data)
    with activity() as doing:
        doing.say("Weighing labelers")
        *past, current = rounds
        result = labeler_worth(current, past or None, costs=prices, judges=judged, level=level, progress=doing.step)
    show_json(result.to_dict()) if as_json else show(gold_views.worth(result, current.name))


def watch(store: str, question: str | None, level: float, positive: str | None, *, as_json: bool) -> None:
    import typer

    from hero_eval.cli.actions import GATE_CLOSED
    from hero_eval.store.watching import watch as look

    with activity() as doing:
        doing.say(f"Reading {store}")
        found = look(hero.open_store(store), question, level=level, positive=positive, say=doing.say)
    show_json(found.to_dict()) if as_json else show(gold_views.watch(found))
    if not found.is_quiet:
        raise typer.Exit(GATE_CLOSED)


def prices_of(cost: str | None) -> dict[str, float] | None:
    """`gold=3,label=0.05` as numbers."""
    if cost is None:
        return None
    found = {}
    prices = mapping("--cost is", split("--cost", cost) or (), "WHAT=PRICE, such as gold=3 or gold=3,label=0.05")
    for name, price in prices.items():
        try:
            found[name] = float(price)
        except ValueError:
            raise wrong("E201", f"--cost names {price!r} as the price of {name}. It is a number") from None
    return found


def _all_probabilities(queue: hero.GoldQueue) -> Any:
    """Of every item of every round; with several rounds the round's name beside it."""
    import pyarrow as pa

    tables = []
    for one in queue.draws:
        table = queue.probabilities(one.name, backend="pyarrow")
        name = pa.array([one.name] * table.num_rows)
        tables.append(table.add_column(0, "round", name) if len(queue.draws) > 1 else table)
    return pa.concat_tables(tables)
