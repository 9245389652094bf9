"""Values in a form that sorts: what the dictionaries of a growing table hold.

Numbers, dates and timestamps are NumPy arrays; texts and decimals are bytes whose order is the order of the values.
Columns of different number types that are compared with each other share one form, :class:`Exact`, in which 1, 1.0 and
1.00 are one value and nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from rowlaw.kernels.lookup import search_texts


class Values(Protocol):
    """Values of one form. Those of a dictionary are in order."""

    def __len__(self) -> int: ...

    def places(self, wanted: Any) -> tuple[np.ndarray, np.ndarray]:
        """Among sorted values: the first place not below each wanted one, and whether that place holds it."""

    def take(self, places: np.ndarray) -> Self: ...

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Self:
        """The values of all parts, one after the other."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to be kept, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Values that NumPy compares."""

    array: np.ndarray

    def __len__(self) -> int:
        return len(self.array)

    def places(self, wanted: Numbers) -> tuple[np.ndarray, np.ndarray]:
        at = np.searchsorted(self.array, wanted.array)
        there = at < len(self.array)
        there[there] = self.array[at[there]] == wanted.array[there]
        return at, there

    def take(self, places: np.ndarray) -> Numbers:
        return Numbers(self.array[places])

    @classmethod
    def joined(cls, parts: Sequence[Numbers]) -> Numbers:
        return Numbers(np.concatenate([part.array for part in parts]))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"numbers": self.array}


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Values that compare byte by byte: value ``i`` is ``data[bounds[i]:bounds[i + 1]]``."""

    data: np.ndarray
    bounds: np.ndarray

    @staticmethod
    def of(texts: Sequence[bytes]) -> Texts:
        sizes = np.fromiter((len(t) for t in texts), np.int64, len(texts))
        return Texts(np.frombuffer(b"".join(texts), np.uint8), np.concatenate(([0], np.cumsum(sizes))))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Any:
        data = self.data.tobytes()
        return (data[a:b] for a, b in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True))

    def places(self, wanted: Texts) -> tuple[np.ndarray, np.ndarray]:
        return search_texts(self.data, self.bounds, wanted.data, wanted.bounds)

    def take(self, places: np.ndarray) -> Texts:
        starts = self.bounds[places]
        sizes = self.bounds[places + 1] - starts
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        within = np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)
        return Texts(self.data[np.repeat(starts, sizes) + within], bounds)

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.bounds) for part in parts)])
        data = [part.data[part.bounds[0] : part.bounds[-1]] for part in parts]
        return Texts(np.concatenate(data) if data else np.zeros(0, np.uint8), np.cumsum(sizes))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"data": self.data, "bounds": self.bounds}


class Form(Protocol):
    """How the values of some columns are kept."""

    def keep(self, values: pa.Array) -> Values:
        """Arrow values without nulls in this form."""

    def give(self, values: Any, wanted: pa.DataType) -> pa.Array:
        """Values of this form as Arrow values of a column's type."""

    def load(self, array: Callable[[str], np.ndarray]) -> Values:
        """The values whose arrays were kept, by name."""


def form(types: Sequence[pa.DataType]) -> Form:
    """The form for columns of these storage types whose values are compared with each other.

    >>> kept = form([pa.int64(), pa.float64()])
    >>> kept.keep(pa.array([2**53 + 1])).places(kept.keep(pa.array([2.0**53, 1e300])))[0].tolist()
    [0, 1]
    """
    first = types[0]
    if any(t != first for t in types):
        return Exact()
    if pa.types.is_decimal128(first):
        return Decimals()
    if pa.types.is_decimal(first):
        return Exact()
    return Strings() if pa.types.is_large_string(first) else Native()


class Native:
    """Integers, floats, booleans, dates and timestamps, each column type by itself."""

    def keep(self, values: pa.Array) -> Numbers:
        if pa.types.is_boolean(values.type):
            return Numbers(values.to_numpy(zero_copy_only=False).astype(np.int8))
        if pa.types.is_date32(values.type):
            values = values.view(pa.int32())
        elif pa.types.is_timestamp(values.type):
            values = values.view(pa.int64())
        return Numbers(values.to_numpy())

    def give(self, values: Numbers, wanted: pa.DataType) -> pa.Array:
        if pa.types.is_boolean(wanted):
            return pa.array(values.array.astype(bool))
        return pa.array(np.asarray(values.array)).view(wanted)

    def load(self, array: Callable[[str], np.ndarray]) -> Numbers:
        return Numbers(array("numbers"))


class Strings:
    """Texts as UTF-8, whose order is that of code points."""

    def keep(self, values: pa.Array) -> Texts:
        if not len(values):
            return Texts.of([])
        _, bounds, data = values.buffers()
        kept = np.frombuffer(bounds, np.int64)[values.offset : values.offset + len(values) + 1]
        return Texts(np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8), kept)

    def give(self, values: Texts, wanted: pa.DataType) -> pa.Array:
        bounds, data = np.ascontiguousarray(values.bounds), np.ascontiguousarray(values.data)
        return pa.LargeStringArray.from_buffers(len(values), pa.py_buffer(bounds), pa.py_buffer(data)).cast(wanted)

    def load(self, array: Callable[[str], np.ndarray]) -> Texts:
        return Texts(array("data"), array("bounds"))


_SIGN = np.uint64(1 << 63)


class Decimals:
    """Decimals of one precision and scale: their 128 bits, the sign turned and the most significant byte first, sort as
    bytes."""

    def keep(self, values: pa.Array) -> Texts:
        if not len(values):
            return Texts.of([])
        words = np.frombuffer(values.buffers()[1], np.uint64)[
            2 * values.offset : 2 * (values.offset + len(values))
        ].reshape(-1, 2)
        turned = np.stack((words[:, 1] ^ _SIGN, words[:, 0]), axis=1).astype(">u8")
        return Texts(np.frombuffer(turned.tobytes(), np.uint8), np.arange(len(values) + 1, dtype=np.int64) * 16)

    def give(self, values: Texts, wanted: pa.DataType) -> pa.Array:
        turned = np.frombuffer(np.ascontiguousarray(values.data).tobytes(), ">u8").astype(np.uint64).reshape(-1, 2)
        words = np.stack((turned[:, 1], turned[:, 0] ^ _SIGN), axis=1)
        return pa.Array.from_buffers(wanted, len(values), [None, pa.py_buffer(np.ascontiguousarray(words))])

    def load(self, array: Callable[[str], np.ndarray]) -> Texts:
        return Texts(array("data"), array("bounds"))


_PLENTY = Context(prec=2000)  # digits: the longest float has 767
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Exact:
    """Numbers of any types, and timestamps of any units: sign, exponent and all decimal digits, as bytes that sort.

    About three microseconds a value: columns pay it only when they are compared with a column of another type.
    """

    def keep(self, values: pa.Array) -> Texts:
        if pa.types.is_timestamp(values.type):
            unit = 10**9 // _PER_SECOND[values.type.unit]
            return Texts.of([_sortable(Decimal(v * unit)) for v in values.view(pa.int64()).to_pylist()])
        return Texts.of([_sortable(Decimal(v)) for v in values.to_pylist()])

    def give(self, values: Texts, wanted: pa.DataType) -> pa.Array:
        numbers = [_number(text) for text in values]
        if pa.types.is_timestamp(wanted):
            unit = 10**9 // _PER_SECOND[wanted.unit]
            return pa.array([int(v) // unit for v in numbers], pa.int64()).view(wanted)
        if pa.types.is_decimal(wanted):
            return pa.array(numbers, wanted)
        convert = float if pa.types.is_floating(wanted) else int
        return pa.array([convert(v) for v in numbers], wanted)

    def load(self, array: Callable[[str], np.ndarray]) -> Texts:
        return Texts(array("data"), array("bounds"))


_COMPLEMENT = bytes.maketrans(b"0123456789", b"9876543210")
_MIDDLE = 1 << 15  # exponents are from about -1,100 to 400


def _sortable(value: Decimal) -> bytes:
    """Bytes that sort as numbers do: minus infinity, negative, zero, positive, infinity."""
    if value.is_infinite():
        return b"\x03" if value > 0 else b"\x00"
    if not value:
        return b"\x01"
    plain = value.normalize(_PLENTY)
    digits = bytes(48 + d for d in plain.as_tuple().digits)
    if value > 0:
        return b"\x02" + (plain.adjusted() + _MIDDLE).to_bytes(2) + digits
    # turned round: the larger the exponent and the digits, the smaller the number; a longer one lies below its own
    # beginning
    return b"\x00" + (_MIDDLE - plain.adjusted()).to_bytes(2) + digits.translate(_COMPLEMENT) + b"\xff"


def _number(text: bytes) -> Decimal:
    if len(text) == 1:
        return Decimal((-math.inf, 0, 0, math.inf)[text[0]])
    exponent = int.from_bytes(text[1:3])
    positive = text[0] == 2
    digits = text[3:] if positive else text[3:-1].translate(_COMPLEMENT)
    exponent = exponent - _MIDDLE if positive else _MIDDLE - exponent
    return Decimal((int(not positive), tuple(d - 48 for d in digits), exponent - len(digits) + 1))
