"""Which Arrow types a column may have, and the type class that decides what it may be compared with."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.rules.model import TypeClass

# What a user may write for a column: rowlaw.check(..., types={"zip": "string"}).
_NAMED_TYPES: dict[str, pa.DataType] = {
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
    if (
        pa.types.is_string(dtype)
        or pa.types.is_large_string(dtype)
        or pa.types.is_string_view(dtype)
        or pa.types.is_null(dtype)
    ):
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


_WORDS = {
    "large_string": "text",
    "string": "text",
    "string_view": "text",
    "null": "null (no values)",
    "bool": "boolean",
    "double": "float",
    "float": "float (32 bits)",
    "halffloat": "float (16 bits)",
    "int64": "integer",
    "date32[day]": "date",
    "date64[ms]": "date",
    "binary": "binary",
    "large_binary": "binary",
}


def type_name(dtype: pa.DataType) -> str:
    """A type as users call it.

    >>> types = pa.date32(), pa.timestamp("us", "UTC"), pa.decimal128(10, 2), pa.list_(pa.int64())
    >>> tuple(type_name(type) for type in types)
    ('date', 'timestamp with time zone', 'decimal(10,2)', 'list of integer')
    """
    if pa.types.is_dictionary(dtype):
        return type_name(dtype.value_type)
    if pa.types.is_timestamp(dtype):
        return "timestamp with time zone" if dtype.tz else "timestamp"
    if pa.types.is_decimal(dtype):
        return f"decimal({dtype.precision},{dtype.scale})"
    if pa.types.is_integer(dtype):
        sign = "unsigned " if pa.types.is_unsigned_integer(dtype) else ""
        return "integer" if dtype.bit_width == 64 and not sign else f"{sign}integer ({dtype.bit_width} bits)"
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype) or pa.types.is_fixed_size_list(dtype):
        return f"list of {type_name(dtype.value_type)}"
    if pa.types.is_struct(dtype):
        return f"struct of {', '.join(f.name for f in dtype)}"
    if pa.types.is_map(dtype):
        return f"map from {type_name(dtype.key_type)} to {type_name(dtype.item_type)}"
    if pa.types.is_time(dtype) or pa.types.is_duration(dtype):
        return "time of day" if pa.types.is_time(dtype) else "duration"
    return _WORDS.get(str(dtype), str(dtype))


def print_types(types: Mapping[str, pa.DataType]) -> None:
    """Print the type of each column on stderr."""
    width = max((len(name) for name in types), default=0)
    for name, dtype in types.items():
        print(f"rowlaw: {name:<{width}}  {type_name(dtype)}", file=sys.stderr)  # noqa: T201 - as messages do


def named_type(column: str, name: str) -> pa.DataType:
    """The Arrow type a user means by ``name``; decimals are written ``decimal(p,s)``.

    >>> named_type("zip", "string"), named_type("price", "decimal(10, 2)")
    (DataType(large_string), Decimal128Type(decimal128(10, 2)))
    """
    wanted = str(name).strip().casefold()
    if wanted in _NAMED_TYPES:
        return _NAMED_TYPES[wanted]
    if wanted.startswith("decimal(") and wanted.endswith(")"):
        parts = wanted[len("decimal(") : -1].split(",")
        if len(parts) == 2 and all(p.strip().isdigit() for p in parts):
            precision, scale = int(parts[0]), int(parts[1])
            if 1 <= precision <= 38 and scale <= precision:
                return pa.decimal128(precision, scale)
    names = ", ".join(sorted({*_NAMED_TYPES, "decimal_comma"}))
    problem = f"use one of {names}, decimal(p,s), date:FORMAT or timestamp:FORMAT, for example date:%d.%m.%Y"
    raise RowlawError("BAD_OPTION", option="types", value=f"{column}={name}", problem=problem)
