"""Row ids in Arrow tables of a task: ordered and compared, also where an id is a struct, which Arrow itself does
not."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.engine.spark.table import ROW


def in_order_of_ids(rows: pa.Table) -> pa.Table:
    """The rows, ascending by id."""
    fields = _fields(rows.column(ROW))
    names = [str(i) for i in range(len(fields))]
    return rows.take(pc.sort_indices(pa.table(fields, names=names), sort_keys=[(name, "ascending") for name in names]))


def without_row(rows: pa.Table, id: pa.Scalar) -> pa.Table:
    """The rows but the one of this id."""
    fields = _fields(rows.column(ROW))
    values = [id[i] for i in range(len(fields))] if isinstance(id, pa.StructScalar) else [id]
    return rows.filter(reduce(pc.or_, map(pc.not_equal, fields, values)))


def _fields(ids: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The columns that an id is made of."""
    return list(ids.flatten()) if pa.types.is_struct(ids.type) else [ids]
