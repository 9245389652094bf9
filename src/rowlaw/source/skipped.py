"""Columns that cannot be compared: which they are, why, and how the user learns of them.

Arrays, structs, maps, binary values, times of day, durations and intervals have no order that rules could use, and a
name that occurs more than once says nothing about which column is meant. Such columns are skipped with a warning, all
columns of a repeated name too. To name one of them, in ``columns`` or in a rule, is an error that says why it is
skipped.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rowlaw.errors import RowlawError, RowlawWarning
from rowlaw.source.types import type_class, type_name

_NAMED = 5  # columns named in a warning, at most
MIXED = "mixed: "  # before the types of the values of a column that has several
_TYPE_CHARACTERS = 60  # of a type that are printed: the type of a nested column may fill pages
PACKAGE = str(Path(__file__).parents[1])


class Field(NamedTuple):
    """A column of a source; without a type its values cannot be compared. ``text`` is what the source calls its
    type."""

    name: str
    type: pa.DataType | None
    text: str


def arrow_fields(schema: pa.Schema) -> list[Field]:
    """The columns of an Arrow schema."""
    return [Field(f.name, f.type if type_class(f.type) is not None else None, type_name(f.type)) for f in schema]


def comparable(fields: Iterable[Field], source: str) -> tuple[pa.Schema, dict[str, RowlawError]]:
    """The columns that can be compared, and for each of the others the error that says why it cannot.

    >>> fields = arrow_fields(pa.schema({"id": pa.int64(), "photo": pa.binary()}))
    >>> schema, skipped = comparable(fields, "people")
    >>> schema.names
    ['id']
    >>> print(skipped["photo"])
    UNSUPPORTED_TYPE: people, column 'photo': type binary cannot be compared; leave the column out or convert it

    A table without columns is an error, and so is one without a column that can be compared.
    """
    columns = list(fields)
    if not columns:
        raise RowlawError("NO_COLUMNS", source=source)
    often = Counter(field.name for field in columns)
    kept: list[pa.Field] = []
    skipped: dict[str, RowlawError] = {}
    for field in columns:
        if often[field.name] > 1:
            skipped[field.name] = RowlawError("DUPLICATE_COLUMN", source=source, column=field.name)
        elif field.type is None and field.text.startswith(MIXED):
            skipped[field.name] = RowlawError(
                "MIXED_TYPES", source=source, column=field.name, types=field.text.removeprefix(MIXED)
            )
        elif field.type is None:
            skipped[field.name] = RowlawError(
                "UNSUPPORTED_TYPE", source=source, column=field.name, type=_short(field.text)
            )
        else:
            kept.append(pa.field(field.name, field.type))
    if not kept:
        raise next(iter(skipped.values()))
    return pa.schema(kept), skipped


def warn_skipped(source: str, skipped: Mapping[str, RowlawError]) -> None:
    """Warn of the columns that are skipped, in one line, at the place outside of rowlaw that gave the table."""
    if not skipped:
        return
    named = [f"{name!r} ({_reason(error)})" for name, error in list(skipped.items())[:_NAMED]]
    more = f" and {len(skipped) - _NAMED:,} more" if len(skipped) > _NAMED else ""
    noun = "1 column" if len(skipped) == 1 else f"{len(skipped):,} columns"
    warn_outside(RowlawWarning(f"{source}: skipped {noun} that cannot be compared: {', '.join(named)}{more}"))


def warn_outside(warning: RowlawWarning) -> None:
    """Warn at the place outside of rowlaw that gave the table."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def _reason(error: RowlawError) -> str:
    if error.condition == "MIXED_TYPES":
        return f"values of several types: {error.parameters['types']}"
    return str(error.parameters.get("type", "the name occurs more than once"))


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _TYPE_CHARACTERS else plain[:_TYPE_CHARACTERS] + "..."
