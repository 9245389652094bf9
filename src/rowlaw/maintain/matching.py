"""Finding rows by their values, without an index: one quick pass over a column leaves few rows to look at closely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_BITS = 16
_SPREAD = np.uint32(2654435761)  # Knuth's multiplier: labels are evenly spaced, their low bits are not random


def matching_rows(columns: Sequence[np.ndarray], wanted: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """For each wanted tuple (a column of ``wanted``) a living row that has it, no row twice; -1 where there is none left.

    ``columns`` are labels, the column with most values first: one pass over it, then work on the rows that remain.

    >>> labels = [np.array([5, 7, 5, 5], np.int32), np.array([1, 1, 1, 2], np.int32)]
    >>> matching_rows(labels, np.array([[5, 5, 5], [1, 1, 1]], np.int32), np.ones(4, bool)).tolist()
    [0, 2, -1]
    """
    rows = _likely(columns[0], wanted[0])
    rows = rows[alive[rows]]
    # Tuples get numbers, column by column; rows whose values are not wanted drop out on the way.
    numbers, of_rows = np.zeros(wanted.shape[1], np.int64), np.zeros(len(rows), np.int64)
    for labels, asked in zip(columns, wanted, strict=True):
        values, places = np.unique(asked, return_inverse=True)
        here = labels[rows]
        at = np.minimum(np.searchsorted(values, here), len(values) - 1)
        same = values[at] == here
        rows, of_rows = rows[same], of_rows[same] * len(values) + at[same]
        known, numbers = np.unique(numbers * len(values) + places, return_inverse=True)
        at = np.minimum(np.searchsorted(known, of_rows), len(known) - 1)
        same = known[at] == of_rows
        rows, of_rows = rows[same], at[same]
    # The k-th wish for a tuple gets the k-th row that has it.
    order = np.argsort(of_rows, kind="stable")
    rows, of_rows = rows[order], of_rows[order]
    wishes = np.argsort(numbers, kind="stable")
    sorted_numbers = numbers[wishes]
    nth = np.arange(len(wishes)) - np.searchsorted(sorted_numbers, sorted_numbers)
    at = np.searchsorted(of_rows, sorted_numbers) + nth
    there = at < np.searchsorted(of_rows, sorted_numbers, side="right")
    found = np.full(len(wishes), -1, np.int32)
    found[wishes[there]] = rows[at[there]]
    return found


def _likely(labels: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rows that may have a wanted label, and few others."""
    marked = np.zeros(1 << _BITS, bool)
    marked[_hash(wanted)] = True
    return np.flatnonzero(marked[_hash(labels)])


def _hash(labels: np.ndarray) -> np.ndarray:
    return (labels.astype(np.uint32) * _SPREAD) >> np.uint32(32 - _BITS)
