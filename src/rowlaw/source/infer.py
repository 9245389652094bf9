"""What type a column of text has, judged by all its distinct values.

Only distinct values are looked at, so the whole column decides and not a sample: one ZIP code with a leading zero keeps
the column text. A column gets the first type of the list below that all its values have; spellings of "no value"
(``NA``, ``null``, quoted empty fields...) count as null in typed columns and stay text in text columns, and so do
blanks around a value.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.errors import RowlawError
from rowlaw.source.types import type_name

NULL_SPELLINGS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "Null", "null", "None", "none", "\\N", "#N/A")

# A leading zero before another digit marks a label (ZIP code, account number), not a number.
_INTEGER = r"^[+-]?(?:0|[1-9][0-9]*)$"
_FLOAT = r"^[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_INFINITE = r"^[+-]?(?:inf|Inf|INF|infinity|Infinity)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?$"
_ZONED = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
)

_PROBE = 1_000  # values looked at first: most columns of text are given away by a few


def typed(values: pa.Array, wanted: pa.DataType | None = None, *, zones: bool = True) -> pa.Array:
    """The distinct texts ``values`` as the type they have, or as the type ``wanted``.

    >>> typed(pa.array(["7", "12", "NA"])).type, typed(pa.array(["07030", "12"])).type
    (DataType(int64), DataType(large_string))

    A timestamp that is wanted may have a zone, as one that is inferred may: then all values must have one, and they are
    instants in UTC. Without ``zones`` it must have none.

    >>> typed(pa.array(["2023-12-31T12:00:00+02:00"]), pa.timestamp("us")).cast(pa.string()).to_pylist()
    ['2023-12-31 10:00:00.000000Z']

    Raises ``BAD_VALUE`` (without a place: the caller knows the file) when a value does not have the type wanted.
    """
    text = values.cast(pa.large_string())
    if wanted is not None:
        return _as_wanted(text, wanted, zones)
    plain, blank = _without_blanks(text)
    real = plain.filter(pc.invert(blank))
    if len(real) == 0:
        return text
    for check in _CHECKS.values():
        if check(real.slice(0, _PROBE)) is None:
            continue
        converted = check(real)
        if converted is not None:
            return pc.replace_with_mask(pa.nulls(len(text), converted.type), pc.invert(blank), converted)
    return text


def possible_types(values: pa.Array) -> dict[str, pa.DataType] | None:
    """The types that distinct texts may have, by the name of the check; None if no text says anything. Parts of a
    column are judged so: the whole column has the first type that all its parts may have.

    >>> possible_types(pa.array(["7", "12", "NA"]))
    {'integer': DataType(int64), 'float': DataType(double)}
    """
    text = values.cast(pa.large_string())
    plain, blank = _without_blanks(text)
    real = plain.filter(pc.invert(blank)).drop_null()
    if len(real) == 0:
        return None
    return {name: converted.type for name, check in _CHECKS.items() if (converted := check(real)) is not None}


def common_type(parts: Sequence[dict[str, pa.DataType] | None]) -> pa.DataType:
    """The type of a column whose parts may have these types."""
    said = [part for part in parts if part is not None]
    for name in _CHECKS if said else ():
        if all(name in part for part in said):
            types = [part[name] for part in said]
            # integers beyond 64 bits, if one part has them
            return next((t for t in types if pa.types.is_decimal(t)), types[0])
    return pa.large_string()


def as_type(values: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Texts of a column as the type that :func:`common_type` found for it."""
    text = values.cast(pa.large_string())
    if pa.types.is_large_string(dtype):
        return text
    plain, blank = _without_blanks(text)
    return converted(pc.if_else(blank, pa.scalar(None, pa.large_string()), plain), dtype)


def _without_blanks(text: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The texts without blanks around them, and which of them say "no value" in a column that is not text.

    >>> [part.to_pylist() for part in _without_blanks(pa.array([" 7", "NA ", ""], pa.large_string()))]
    [['7', 'NA', ''], [False, True, True]]
    """
    plain = pc.utf8_trim_whitespace(text)
    return plain, pc.is_in(plain, value_set=pa.array([*NULL_SPELLINGS, ""], pa.large_string()))


def _as_wanted(text: pa.Array, wanted: pa.DataType, zones: bool) -> pa.Array:
    if pa.types.is_large_string(wanted):
        return text
    plain, blank = _without_blanks(text)
    text = pc.if_else(blank, pa.scalar(None, pa.large_string()), plain)
    if (
        zones
        and pa.types.is_timestamp(wanted)
        and wanted.tz is None
        and pc.any(pc.match_substring_regex(text, pattern=_ZONED)).as_py()
    ):
        wanted = pa.timestamp(wanted.unit, "UTC")
    return converted(text, wanted)


def converted(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Values as another type; ``BAD_VALUE`` names the first that cannot be (without a place: the caller knows it).

    >>> converted(pa.array([7, None]), pa.decimal128(3, 1)).to_pylist()
    [Decimal('7.0'), None]
    """
    whole = _cast(values, wanted) if values.null_count < len(values) else pa.nulls(len(values), wanted)
    if whole is not None:
        return whole
    for i in range(len(values)):  # to name the culprit; only ever on the way to an error
        if values[i].is_valid and _cast(values.slice(i, 1), wanted) is None:
            value = values[i].as_py()
            shown = value if isinstance(value, str | int | float) else str(value)
            raise RowlawError("BAD_VALUE", path="", where="", column="", value=shown, type=type_name(wanted))
    raise AssertionError("a cast failed as a whole and on no value")


def _cast(values: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    try:
        if pa.types.is_large_string(values.type):
            if pa.types.is_boolean(wanted):
                values = pc.utf8_lower(values)
            if pa.types.is_integer(wanted) or pa.types.is_floating(wanted):  # Arrow reads no plus sign
                values = pc.replace_substring_regex(values, pattern=r"^\+", replacement="")
        if pa.types.is_integer(values.type) and pa.types.is_decimal(wanted):  # Arrow wants room for every integer first
            values = values.cast(pa.decimal128(min(38, 19 + wanted.scale), wanted.scale))
        return values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _all(text: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(text, pattern=pattern)).as_py())


def _integers(text: pa.Array) -> pa.Array | None:
    if not _all(text, _INTEGER):
        return None
    plain = pc.replace_substring_regex(text, pattern=r"^\+", replacement="")
    integers = _cast(plain, pa.int64())
    if integers is None and pc.max(pc.utf8_length(plain)).as_py() <= 38:
        integers = _cast(plain, pa.decimal128(38, 0))  # identifiers longer than 64 bits stay exact
    return integers


def _floats(text: pa.Array) -> pa.Array | None:
    number = pc.or_(pc.match_substring_regex(text, pattern=_FLOAT), pc.match_substring_regex(text, pattern=_INFINITE))
    if not pc.all(number).as_py():
        return None
    floats = _cast(pc.replace_substring_regex(text, pattern=r"^\+", replacement=""), pa.float64())
    # a finite text that overflows to infinity would equal others that do: it stays text
    overflow = pc.and_(pc.is_inf(floats), pc.match_substring_regex(text, pattern=_FLOAT))
    return None if pc.any(overflow).as_py() else floats


def _booleans(text: pa.Array) -> pa.Array | None:
    lower = pc.utf8_lower(text)
    return lower.cast(pa.bool_()) if _all(lower, r"^(?:true|false)$") else None


def _dates(text: pa.Array) -> pa.Array | None:
    return _cast(text, pa.date32()) if _all(text, _DATE) else None


def _timestamps(text: pa.Array) -> pa.Array | None:
    return _cast(text, pa.timestamp("us")) if _all(text, _TIMESTAMP) else None


def _zoned(text: pa.Array) -> pa.Array | None:
    return _cast(text, pa.timestamp("us", "UTC")) if _all(text, _ZONED) else None


_CHECKS = {
    "integer": _integers,
    "float": _floats,
    "boolean": _booleans,
    "date": _dates,
    "timestamp": _timestamps,
    "zoned": _zoned,
}
