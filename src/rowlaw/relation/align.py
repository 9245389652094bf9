"""Values of different columns, and literals, on one scale."""

from __future__ import annotations

import bisect
import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

# times as many values in one column from which looking up those of the other beats merging them (15 ms to 3 ms for a
# million)
_FEWER = 64
_EXACT_FLOAT = 1 << 53  # integers up to here are floats without loss


def common_scale(*columns: pa.Array) -> list[np.ndarray]:
    """For the ordered values of some columns, their positions among the union of all.

    >>> [m.tolist() for m in common_scale(pa.array([1, 5]), pa.array([1.0, 2.5]))]
    [[0, 2], [0, 1]]

    Numbers compare by value and without rounding, whatever their types.
    """
    values = _comparable(columns)
    if len(values) == 2 and _FEWER * min(map(len, values)) <= max(map(len, values)):
        if len(values[0]) < len(values[1]):
            return _merged(values[1], values[0])[::-1]
        return _merged(values[0], values[1])
    together = np.concatenate(values)
    order = np.argsort(together, kind="stable")  # columns are in order: sorting merges runs
    ordered = together[order]
    new = np.ones(len(together), np.int32)
    new[:1] = 0
    new[1:] = ordered[1:] != ordered[:-1]
    places = np.empty(len(together), np.int32)
    places[order] = np.cumsum(new, dtype=np.int32)
    return np.split(places, np.cumsum([len(v) for v in values])[:-1])


def _merged(many: np.ndarray, few: np.ndarray) -> list[np.ndarray]:
    """Compare two columns in the same way, by looking up the few values among the many.

    >>> [m.tolist() for m in _merged(np.array([1, 3, 5]), np.array([0, 3, 4, 9]))]
    [[1, 2, 4], [0, 2, 3, 5]]
    """
    at = np.searchsorted(many, few)
    new = np.ones(len(few), np.bool_)  # the values that only the few have
    inside = at < len(many)
    new[inside] = many[at[inside]] != few[inside]
    runs = np.diff(at[new], prepend=0, append=len(many))  # of the many between two new values
    places = np.repeat(np.arange(len(runs), dtype=np.int32), runs)
    places += np.arange(len(many), dtype=np.int32)
    return [places, (at + np.cumsum(new) - new).astype(np.int32)]


def _comparable(columns: Sequence[pa.Array]) -> list[np.ndarray]:
    """Return columns as NumPy arrays that compare exactly: of one native type where that loses nothing, else of
    objects."""
    native = [v for column in columns if (v := _native(column)) is not None]
    if len(native) == len(columns):
        if len({v.dtype for v in native}) == 1:
            return native
        if all(v.dtype.kind == "f" or not len(v) or (v[0] >= -_EXACT_FLOAT and v[-1] <= _EXACT_FLOAT) for v in native):
            return [v.astype(np.float64) for v in native]
    return [_objects(column) for column in columns]


def _native(values: pa.Array) -> np.ndarray | None:
    dtype = values.type
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype):
        return values.to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(dtype):
        return values.to_numpy(zero_copy_only=False).astype(np.int8)
    if pa.types.is_date32(dtype):
        return values.view(pa.int32()).to_numpy()
    if pa.types.is_timestamp(dtype) and dtype.unit == "us":
        return values.view(pa.int64()).to_numpy()
    return None


def _objects(values: pa.Array) -> np.ndarray:
    objects = np.empty(len(values), object)
    if pa.types.is_timestamp(values.type):  # exact beyond microseconds, and free of time zones
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
        objects[:] = [v * (10**9 // per_second) for v in values.view(pa.int64()).to_pylist()]
    else:
        objects[:] = values.to_pylist()
    return objects


def position(values: pa.Array, value: Any) -> tuple[int, bool]:
    """Return where ``value`` stands among ordered values: the first place not below it, and whether it is there.

    >>> position(pa.array([1, 5]), 5), position(pa.array([1, 5]), Decimal("2.5"))
    ((1, True), (1, False))
    """
    if isinstance(value, dt.datetime):
        value = (
            pa.scalar(value, pa.timestamp("us", "UTC" if value.tzinfo else None)).cast(pa.timestamp("us")).value * 1000
        )
    if pa.types.is_floating(values.type) and isinstance(value, Decimal):
        value = float(value)  # against floats a literal such as 0.1 means the float that is written so
    key = _object_at if not pa.types.is_timestamp(values.type) else _nanoseconds_at
    place = bisect.bisect_left(range(len(values)), value, key=lambda i: key(values, i))
    return place, place < len(values) and key(values, place) == value


def _object_at(values: pa.Array, i: int) -> Any:
    return values[i].as_py()


def _nanoseconds_at(values: pa.Array, i: int) -> int:
    return int(values[i].value) * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[values.type.unit]
