"""Places of texts among sorted texts."""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int64Array, IntArray, Uint8Array
from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def _search(
    data: Uint8Array, bounds: IntArray, wanted: Uint8Array, wanted_bounds: IntArray, found: Int64Array, there: BoolArray
) -> None:
    """Find for each wanted text the first of the sorted texts that is not below it, and whether it is equal.

    ``data``: ``uint8[bytes]`` and ``bounds``: ``int32`` or ``int64[texts + 1]``, sorted and distinct. ``wanted``
    and ``wanted_bounds`` alike, in any order. Written: ``found`` (``int64[wanted]``) and ``there``
    (``bool[wanted]``).
    """
    n = len(bounds) - 1
    for i in range(len(wanted_bounds) - 1):
        start, size = wanted_bounds[i], wanted_bounds[i + 1] - wanted_bounds[i]
        low, high = 0, n
        there[i] = False
        while low < high:
            middle = (low + high) >> 1
            other, other_size = bounds[middle], bounds[middle + 1] - bounds[middle]
            shorter = min(size, other_size)
            b = 0
            while b < shorter and data[other + b] == wanted[start + b]:
                b += 1
            below = data[other + b] < wanted[start + b] if b < shorter else other_size < size
            if below:
                low = middle + 1
            else:
                high = middle
                if b == size and b == other_size:
                    there[i] = True  # and no text occurs twice
        found[i] = low


def search_texts(
    data: np.ndarray, bounds: np.ndarray, wanted: np.ndarray, wanted_bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where each wanted text stands among sorted, distinct ones, by bytes, and whether it is there. ``O(m log n)``.

    Texts are given as Arrow's data and offsets.

    >>> texts = np.frombuffer(b"abbc", np.uint8), np.array([0, 1, 3, 4])
    >>> places, there = search_texts(*texts, np.frombuffer(b"bbzb", np.uint8), np.array([0, 0, 2, 3, 4]))
    >>> places.tolist(), there.tolist()
    ([0, 1, 3, 1], [False, True, False, False])
    """
    places, there = np.empty(len(wanted_bounds) - 1, np.int64), np.empty(len(wanted_bounds) - 1, np.bool_)
    # one compiled version: mapped files come read-only, so everything does
    _search(*(_read_only(a) for a in (data, bounds, wanted, wanted_bounds)), places, there)
    return places, there


def _read_only(array: np.ndarray) -> np.ndarray:
    view = np.ascontiguousarray(array).view(np.ndarray)[:]
    view.flags.writeable = False
    return view
