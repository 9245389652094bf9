"""``rowlaw apply``: what it prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rowlaw.cli.options import write
from rowlaw.errors import RowlawError
from rowlaw.maintain import Change, Laws
from rowlaw.maintain.feed import net, read_feed
from rowlaw.output import whole_file

SHOWN = 20  # events; `rowlaw show --history` has all


def run(
    state: str,
    *,
    insert: str | None,
    delete: str | None,
    changes: str | None,
    batch_id: str | None,
    change_column: str | None,
    order_column: str | None,
    guard: str | None,
    quarantine: str | None,
    format: str,
    out: str | None,
    quiet: bool,
    reading: dict[str, Any],
) -> None:
    """Apply a batch, and say what it did."""
    if (changes is None) != (change_column is None):
        raise RowlawError(
            "BAD_OPTION",
            option="--changes",
            value=changes,
            problem="a change feed needs both --changes and --change-column",
        )
    if changes is not None and (insert is not None or delete is not None):
        raise RowlawError(
            "BAD_OPTION",
            option="--changes",
            value=changes,
            problem="give either a change feed or --insert and --delete",
        )
    if order_column is not None and changes is None:
        raise RowlawError(
            "BAD_OPTION",
            option="--order-column",
            value=order_column,
            problem="it orders a change feed: give --changes too",
        )
    if quarantine is not None and guard is None:
        raise RowlawError(
            "BAD_OPTION",
            option="--quarantine",
            value=quarantine,
            problem="only a guard keeps rows out: give --guard too",
        )
    laws = Laws.open(state)
    if insert is None and delete is None and changes is None:
        raise RowlawError(
            "BAD_OPTION",
            option="--insert",
            value=None,
            problem="there is nothing to apply: give --insert, --delete or --changes",
        )
    coming: Any = insert
    going: Any = delete
    if changes is not None and change_column is not None:
        coming, going = net(read_feed(changes, laws.table, **reading), laws.table, change_column, order_column)

    def put_aside(rows: pa.Table | None, _: str | None) -> None:
        if quarantine is not None and rows is not None:
            with whole_file(quarantine) as draft:
                pq.write_table(rows, draft)

    change = laws.apply(coming, going, batch_id=batch_id, guard=guard, before=put_aside, progress=not quiet, **reading)
    write(json.dumps(change.to_dict(), ensure_ascii=False) if format == "json" else "\n".join(_lines(change)), out)


def _lines(change: Change) -> Iterator[str]:
    yield change.summary
    for one in change.chosen:
        if one.new or one.resolved:
            yield from (f"  {line}" for line in one.lines())
    for event in change.events[:SHOWN]:
        yield from (f"  {line}" for line in event.lines())
    if len(change.events) > SHOWN:
        yield f"  ... and {len(change.events) - SHOWN:,} more: rowlaw show --history"
