"""Arrays that grow at their end: in memory, or in a file that others have mapped."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

listeners: list[Callable[[str], None]] = []  # tests stop a process at the steps of a write that they receive


def step(name: str) -> None:
    """Announce the next step of a write, where a process may be killed."""
    for listener in listeners:
        listener(name)


class GrowingArray(Protocol):
    """A one-dimensional array that grows at its end."""

    def __len__(self) -> int: ...

    @property
    def array(self) -> np.ndarray:
        """All of it, without a copy; read-only."""

    def extend(self, values: np.ndarray) -> None: ...


class MemoryArray:
    """In memory, with space for more: extending costs what is added, amortised.

    >>> grown = MemoryArray(np.array([1, 2], np.int32))
    >>> grown.extend(np.array([3], np.int32))
    >>> grown.array.tolist()
    [1, 2, 3]
    """

    def __init__(self, values: np.ndarray) -> None:
        self._buffer, self._length = values, len(values)

    def __len__(self) -> int:
        return self._length

    @property
    def array(self) -> np.ndarray:
        view = self._buffer[: self._length]
        view.flags.writeable = False
        return view

    def extend(self, values: np.ndarray) -> None:
        needed = self._length + len(values)
        if needed > len(self._buffer):
            buffer = np.empty(max(needed, 2 * self._length), self._buffer.dtype)
            buffer[: self._length] = self._buffer[: self._length]
            self._buffer = buffer
        self._buffer[self._length : needed] = values
        self._length = needed

    def change(self, places: np.ndarray, value: object) -> None:
        """Set some of the values."""
        self._buffer[places] = value


class FileArray:
    """In a file, from byte ``offset`` on, with space for ``capacity`` values (None: as many as come, to the end of the
    file).

    What is added is written behind what others may have mapped, which stays as it is.
    """

    def __init__(
        self,
        path: Path,
        dtype: np.dtype,
        length: int = 0,
        *,
        offset: int = 0,
        capacity: int | None = None,
        mapped: np.ndarray | None = None,
    ) -> None:
        self.path, self.dtype, self.offset, self.capacity = path, dtype, offset, capacity
        self._length, self._mapped = length, mapped

    @staticmethod
    def create(path: Path, values: np.ndarray) -> FileArray:
        """An array with a file of its own."""
        with open(path, "xb"):
            pass
        made = FileArray(path, values.dtype)
        made.extend(values)
        return made

    @staticmethod
    def create_all(path: Path, arrays: Sequence[np.ndarray], capacity: int) -> list[FileArray]:
        """Several arrays of one type in one file, each with space to grow: one file to be made durable instead of
        many."""
        dtype = arrays[0].dtype
        pages = -(-max(capacity, 1) * dtype.itemsize // mmap.ALLOCATIONGRANULARITY)
        region = pages * mmap.ALLOCATIONGRANULARITY
        with open(path, "xb") as stream:
            stream.truncate(region * len(arrays))  # the holes take no space
        made = [
            FileArray(path, dtype, offset=region * i, capacity=region // dtype.itemsize) for i in range(len(arrays))
        ]
        for array, values in zip(made, arrays, strict=True):
            array.extend(values)
        return made

    def __len__(self) -> int:
        return self._length

    def fits(self, more: int) -> bool:
        return self.capacity is None or self._length + more <= self.capacity

    @property
    def array(self) -> np.ndarray:
        if self._mapped is None:
            if not self._length:
                return np.zeros(0, self.dtype)
            with open(self.path, "rb") as stream:
                pages = mmap.mmap(
                    stream.fileno(), self._length * self.dtype.itemsize, access=mmap.ACCESS_READ, offset=self.offset
                )
            self._mapped = np.frombuffer(pages, self.dtype)
        return self._mapped

    def extend(self, values: np.ndarray) -> None:
        if not len(values):
            return
        assert self.fits(len(values))
        step(f"extend {self.path.name}")
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        handle = os.open(self.path, os.O_WRONLY)
        try:
            at = self.offset + self._length * self.dtype.itemsize
            while data:
                written = os.pwrite(handle, data, at)
                data, at = data[written:], at + written
        finally:
            os.close(handle)
        self._length += len(values)
        self._mapped = None
