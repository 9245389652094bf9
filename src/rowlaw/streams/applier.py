"""Batches that are applied to a state: :class:`Applier`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rowlaw.errors import RowlawError
from rowlaw.maintain.change import Change
from rowlaw.maintain.feed import net, read_feed
from rowlaw.maintain.state import Laws
from rowlaw.output import whole_file
from rowlaw.streams.names import file_name


class Applier:
    """Applies batches to a state, with an own handle on it: the one that its user has may be looked at meanwhile."""

    def __init__(
        self,
        state: Laws | str | os.PathLike[str],
        *,
        change_column: str | None = None,
        order_column: str | None = None,
        guard: Any = None,
        quarantine: str | os.PathLike[str] | Callable[[pa.Table, str], None] | None = None,
        on_change: Callable[[Change], None] | None = None,
    ) -> None:
        if order_column is not None and change_column is None:
            raise RowlawError(
                "BAD_OPTION",
                option="order_column",
                value=order_column,
                problem="it orders a change feed: give change_column too",
            )
        if quarantine is not None and guard is None:
            raise RowlawError(
                "BAD_OPTION",
                option="quarantine",
                value=str(quarantine),
                problem="only a guard keeps rows out: give guard too",
            )
        self._seen = state if isinstance(state, Laws) else None
        self.laws = Laws.open(state.path, evolution=state._kind) if isinstance(state, Laws) else Laws.open(state)
        self.change_column, self.order_column = change_column, order_column
        self.guard, self.quarantine, self.on_change = guard, quarantine, on_change

    def __call__(self, rows: Any, batch_id: str, **reading: Any) -> Change:
        inserts, deletes = rows, None
        if self.change_column is not None:
            feed = read_feed(rows, self.laws.table, **reading)
            inserts, deletes = net(feed, self.laws.table, self.change_column, self.order_column)
        change = self.laws.apply(
            inserts, deletes, batch_id=batch_id, guard=self.guard, before=self._put_aside, **reading
        )
        if self._seen is not None:
            self._seen.refresh()
        if self.on_change is not None:
            self.on_change(change)
        return change

    def _put_aside(self, quarantined: pa.Table | None, batch_id: str | None) -> None:
        """Before the batch is committed, under a name that a second attempt writes again: rows are put aside exactly
        once too."""
        if self.quarantine is None or quarantined is None or not quarantined.num_rows:
            return
        assert batch_id is not None
        if callable(self.quarantine):
            self.quarantine(quarantined, batch_id)
            return
        folder = Path(self.quarantine)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RowlawError("FILE_NOT_WRITTEN", path=str(folder), problem=error.strerror) from error
        with whole_file(folder / f"{file_name(batch_id)}.parquet") as draft:
            pq.write_table(quarantined, draft)
