"""Change feeds: rows that say of themselves whether they come or go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.source import FrameSource
from rowlaw.source.coerce import numbered
from rowlaw.source.read import read_source
from rowlaw.storage.batch import Batch, read_batch
from rowlaw.storage.table import GrowingTable

# What feeds write: Delta and Iceberg change data, Debezium, Flink.
_INSERT = ("insert", "i", "+i", "+", "c", "r")
_DELETE = ("delete", "d", "-d", "-", "update_preimage", "update_before", "-u")
_UPDATE = ("update", "upsert", "u", "+u", "update_postimage", "update_after")
_COMES, _GOES, _REPLACES = 1, -1, 2


def net(
    frame: pa.Table, table: GrowingTable, change_column: str, order_column: str | None = None
) -> tuple[Batch, Batch]:
    """The rows that come and the rows that go, once everything in the feed has happened, in its order or that of
    ``order_column``.

    With a ``row_id`` the first and the last change of an id decide, and an update replaces the row of its id. Without
    one, rows that come and go cancel out.

    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> table = GrowingTable.of(encode(open_source(pa.table({"id": [1, 2], "n": [5, 6]})), row_id="id"))
    >>> feed = pa.table({"op": ["insert", "delete", "update", "delete"], "id": [3, 3, 1, 2], "n": [7, 7, 8, None]})
    >>> coming, going = net(feed, table, "op")
    >>> coming.columns["n"].values.to_pylist(), going.columns["id"].values.to_pylist()
    ([8], [1, 2])
    """
    for name in (change_column, *([order_column] if order_column is not None else [])):
        if name not in frame.column_names:
            raise RowlawError("BATCH_COLUMNS", source="the feed", problem=f"no column {name!r}")
    if order_column is not None:
        frame = frame.take(pc.sort_indices(frame, [(order_column, "ascending")]))
    what = _what(frame.column(change_column), change_column)
    known = [name for name in frame.column_names if name in table.names]
    rows = read_batch(frame.select(known) if known else frame, table.arrow_types, others=True)
    return _by_id(rows, what, table) if table.row_id else _by_row(rows, what)


def _what(column: pa.ChunkedArray, name: str) -> np.ndarray:
    known = {**dict.fromkeys(_INSERT, _COMES), **dict.fromkeys(_DELETE, _GOES), **dict.fromkeys(_UPDATE, _REPLACES)}
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if encoded.null_count:
        raise RowlawError(
            "BATCH_COLUMNS",
            source="the feed",
            problem=f"column {name!r} has nulls, where it should say insert or delete",
        )
    meanings = []
    for value in encoded.dictionary.to_pylist():
        if value.casefold() not in known:
            raise RowlawError(
                "BATCH_COLUMNS",
                source="the feed",
                problem=f"column {name!r} says {value!r}, which is neither insert, update nor delete",
            )
        meanings.append(known[value.casefold()])
    return np.array(meanings, np.int8)[encoded.indices.to_numpy()] if meanings else np.zeros(0, np.int8)


def _by_id(rows: Batch, what: np.ndarray, table: GrowingTable) -> tuple[Batch, Batch]:
    for name in table.row_id:
        if name not in rows.columns:
            raise RowlawError("BATCH_COLUMNS", source="the feed", problem=f"no column {name!r}")
        if (rows.columns[name].codes < 0).any():
            raise RowlawError("BAD_ROW_ID", column=name, problem="has nulls in the feed; every row needs an id")
    numbers, first = rows.numbers(table.row_id)
    last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
    coming = np.sort(last[what[last] != _GOES])
    here = table.rows_of_ids(rows, first) >= 0
    # an update goes only if there is a row to replace; a delete has to find one
    going = first[(what[first] == _GOES) | ((what[first] == _REPLACES) & here)]
    return rows.part(coming), rows.part(np.sort(going))


def _by_row(rows: Batch, what: np.ndarray) -> tuple[Batch, Batch]:
    codes = np.stack([column.codes for column in rows.columns.values()])
    _, first, number = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    balance = np.zeros(len(first), np.int64)
    np.add.at(balance, number.ravel(), np.where(what == _GOES, -1, 1))
    coming = np.repeat(first, np.maximum(balance, 0))
    going = np.repeat(first, np.maximum(-balance, 0))
    return rows.part(np.sort(coming)), rows.part(np.sort(going))


def read_feed(given: Any, table: GrowingTable, **reading: Any) -> pa.Table:
    """A feed in Arrow: a frame of any library, or a path, whose text is read with the types of the table."""
    source = read_source(given, **reading)
    if isinstance(source, FrameSource):
        return numbered(source.frame, source.columns).toArrow().rename_columns(list(source.columns))
    if source.inferred:
        types = table.arrow_types
        source = replace(source, types={name: types[name] for name in source.columns if name in types})
    with encode(source) as relation:
        return relation.decode()
