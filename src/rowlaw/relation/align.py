"""Values of different columns, and literals, on one scale."""

from __future__ import annotations

import bisect
import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

_EXACT_FLOAT = 1 << 53  # integers up to here are floats without loss


def common_scale(left: pa.Array, right: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """For the ordered values of two columns, their positions among the union of both.

    >>> [m.tolist() for m in common_scale(pa.array([1, 5]), pa.array([1.0, 2.5]))]
    [[0, 2], [0, 1]]

    Numbers compare by value and without rounding, whatever their types.
    """
    a, b = _comparable(left, right)
    both = np.concatenate((a, b))
    # stable: equal values of the two columns become neighbours
    order = np.argsort(both, kind="stable")
    ordered = both[order]
    new = np.ones(len(both), np.int32)
    new[:1] = 0
    new[1:] = ordered[1:] != ordered[:-1]
    places = np.empty(len(both), np.int32)
    places[order] = np.cumsum(new, dtype=np.int32)
    return places[: len(a)], places[len(a) :]


def _comparable(left: pa.Array, right: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Both columns as NumPy arrays that compare exactly: of one native type where that loses nothing, else of objects."""
    a, b = _native(left), _native(right)
    if a is not None and b is not None:
        if a.dtype == b.dtype:
            return a, b
        if a.dtype.kind in "if" and b.dtype.kind in "if":
            integers = a if a.dtype.kind == "i" else b
            if len(integers) == 0 or (integers[0] >= -_EXACT_FLOAT and integers[-1] <= _EXACT_FLOAT):
                return a.astype(np.float64), b.astype(np.float64)
    return _objects(left), _objects(right)


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
    found = np.empty(len(values), object)
    if pa.types.is_timestamp(values.type):  # exact beyond microseconds, and free of time zones
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
        found[:] = [v * (10**9 // per_second) for v in values.view(pa.int64()).to_pylist()]
    else:
        found[:] = values.to_pylist()
    return found


def position(values: pa.Array, value: Any) -> tuple[int, bool]:
    """Where ``value`` stands among ordered values: the first place not below it, and whether it is there.

    >>> position(pa.array([1, 5]), 5), position(pa.array([1, 5]), Decimal("2.5"))
    ((1, True), (1, False))
    """
    if isinstance(value, dt.datetime):
        value = pa.scalar(value, pa.timestamp("us", "UTC" if value.tzinfo else None)).cast(pa.timestamp("us")).value * 1000
    if pa.types.is_floating(values.type) and isinstance(value, Decimal):
        value = float(value)  # against floats a literal such as 0.1 means the float that is written so
    key = _object_at if not pa.types.is_timestamp(values.type) else _nanoseconds_at
    place = bisect.bisect_left(range(len(values)), value, key=lambda i: key(values, i))
    return place, place < len(values) and key(values, place) == value


def _object_at(values: pa.Array, i: int) -> Any:
    return values[i].as_py()


def _nanoseconds_at(values: pa.Array, i: int) -> int:
    return int(values[i].value) * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[values.type.unit]
