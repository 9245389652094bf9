"""Row ids: the columns that name the rows of a table, and the names of rows in answers.

An id of one column is that column's value. An id of several columns is a struct in frames and Arrow tables (its fields
are the columns, so that it joins with the table), a :class:`CompositeId` in Python, a list in JSON and ``a=1, b=2`` in
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from rowlaw.errors import RowlawError, no_column

if TYPE_CHECKING:
    from rowlaw.source.source import Source

RowId = str | Sequence[str] | None  # as people give it: a column, several columns, or none


class CompositeId(tuple[Any, ...]):  # noqa: SLOT001 - the names are an attribute
    """The id of a row in several columns: a tuple of their values that prints with the names of the columns.

    >>> id = CompositeId(["origin", "flight"], ["EWR", 1545])
    >>> print(id)
    origin=EWR, flight=1545
    >>> id == ("EWR", 1545), id.names
    (True, ('origin', 'flight'))
    """

    names: tuple[str, ...]

    def __new__(cls, names: Iterable[str], values: Iterable[Any]) -> Self:
        made = super().__new__(cls, values)
        made.names = tuple(names)
        return made

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in zip(self.names, self, strict=True))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.names, tuple(self)


def id_columns(row_id: RowId) -> tuple[str, ...]:
    """The columns of a row id; none where rows go by their numbers.

    >>> id_columns("id"), id_columns(["origin", "flight"]), id_columns(None)
    (('id',), ('origin', 'flight'), ())
    """
    if row_id is None:
        return ()
    if isinstance(row_id, str):
        return (row_id,)
    if not isinstance(row_id, Sequence) or not all(isinstance(name, str) for name in row_id):
        raise RowlawError(
            "BAD_OPTION", option="row_id", value=row_id, problem="give the name of a column, or a list of names"
        )
    twice = [name for i, name in enumerate(row_id) if name in row_id[:i]]
    if twice:
        raise RowlawError(
            "BAD_OPTION", option="row_id", value=list(row_id), problem=f"the column {twice[0]!r} is named twice"
        )
    return tuple(row_id)


def given_id(columns: Sequence[str]) -> str | list[str] | None:
    """The columns of a row id as people give it: the reverse of :func:`id_columns`."""
    return None if not columns else columns[0] if len(columns) == 1 else list(columns)


def checked_id(row_id: RowId, source: Source) -> tuple[str, ...]:
    """The columns of a row id, which the source must have."""
    columns = id_columns(row_id)
    for name in columns:
        if name not in source.columns:
            raise no_column(name, source.columns, source.skipped)
    return columns


def naming_only(row_id: Sequence[str]) -> tuple[str, ...]:
    """The columns that do nothing but name rows, so that discovery leaves them out: an id of one column.

    The columns of a composite id say something of the row, each for itself.
    """
    return tuple(row_id) if len(row_id) == 1 else ()


def null_ids(column: str, nulls: int, where: str = "") -> RowlawError:
    """The error about rows without an id."""
    return RowlawError("BAD_ROW_ID", column=column, problem=f"has {nulls:,} nulls{where}; every row needs an id")


def repeated_ids(columns: Sequence[str], rows: int, distinct: int) -> RowlawError:
    """The error about rows that share an id."""
    problem = f"is not unique: {rows - distinct:,} of {rows:,} rows repeat an id"
    return RowlawError("BAD_ROW_ID", column=", ".join(columns), problem=problem)


def id_array(columns: Sequence[str], values: Sequence[pa.Array]) -> pa.Array:
    """The ids of rows, from the values of their columns: the values themselves, or structs."""
    return values[0] if len(columns) == 1 else pa.StructArray.from_arrays(list(values), names=list(columns))


def row_name(value: Any) -> Any:
    """The id of a row as Python shows it; ``value`` is as Arrow or Spark give it.

    >>> row_name({"origin": "EWR", "flight": 1545}), row_name(7)
    (('EWR', 1545), 7)
    """
    return CompositeId(value, value.values()) if isinstance(value, dict) else value


def row_names(ids: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The ids of rows as Python shows them."""
    return [row_name(value) for value in ids.to_pylist()]


def named_records(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a small table as dictionaries, with ids as Python shows them."""
    return [{name: row_name(value) for name, value in record.items()} for record in table.to_pylist()]
