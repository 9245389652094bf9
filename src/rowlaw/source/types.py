"""Which Arrow types a column may have, and the type class that decides what it may be compared with."""

from __future__ import annotations

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.rules.model import TypeClass

# What a user may write for a column: rowlaw.check(..., types={"zip": "string"}).
NAMED_TYPES: dict[str, pa.DataType] = {
    "string": pa.large_string(),
    "text": pa.large_string(),
    "integer": pa.int64(),
    "int": pa.int64(),
    "number": pa.float64(),
    "float": pa.float64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


def type_class(dtype: pa.DataType) -> TypeClass | None:
    """The type class of an Arrow type, or None when such values cannot be compared.

    >>> type_class(pa.int8()), type_class(pa.list_(pa.int8()))
    ('number', None)
    """
    if pa.types.is_dictionary(dtype):
        return type_class(dtype.value_type)
    if pa.types.is_boolean(dtype):
        return "boolean"
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return "number"
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype) or pa.types.is_null(dtype):
        return "text"
    if pa.types.is_date(dtype):
        return "date"
    if pa.types.is_timestamp(dtype):
        return "timestamp"
    return None


def storage_type(dtype: pa.DataType) -> pa.DataType:
    """The one type in which the values of a column are kept: a superset of its class's members that loses nothing."""
    if pa.types.is_dictionary(dtype):
        return storage_type(dtype.value_type)
    if pa.types.is_uint64(dtype):
        return pa.decimal128(20, 0)
    if pa.types.is_integer(dtype):
        return pa.int64()
    if pa.types.is_floating(dtype):
        return pa.float64()
    if pa.types.is_date(dtype):
        return pa.date32()
    if type_class(dtype) == "text":
        return pa.large_string()
    return dtype  # decimals, booleans, timestamps: as they are


def named_type(column: str, name: str) -> pa.DataType:
    """The Arrow type a user means by ``name``; decimals are written ``decimal(p,s)``.

    >>> named_type("zip", "string"), named_type("price", "decimal(10, 2)")
    (DataType(large_string), Decimal128Type(decimal128(10, 2)))
    """
    wanted = str(name).strip().casefold()
    if wanted in NAMED_TYPES:
        return NAMED_TYPES[wanted]
    if wanted.startswith("decimal(") and wanted.endswith(")"):
        parts = wanted[len("decimal(") : -1].split(",")
        if len(parts) == 2 and all(p.strip().isdigit() for p in parts):
            precision, scale = int(parts[0]), int(parts[1])
            if 1 <= precision <= 38 and scale <= precision:
                return pa.decimal128(precision, scale)
    names = ", ".join(sorted(NAMED_TYPES))
    raise RowlawError("BAD_OPTION", option=f"types[{column!r}]", value=name, problem=f"use one of {names}, decimal(p,s)")
