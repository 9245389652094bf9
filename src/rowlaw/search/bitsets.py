"""Sets of vertices as words of 64 bits: a line of ``uint64`` for each set, vertex ``v`` being bit ``v % 64`` of word
``v // 64``.

>>> sets = pack([[0, 2], [1, 65]], 66)
>>> sets.tolist(), unpack(sets)
([[5, 0], [2, 2]], [[0, 2], [1, 65]])
>>> unpack(mirrored(sets, np.array([65, 1, *range(2, 65), 0])))
[[2, 65], [0, 1]]
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from rowlaw.kernels.sort import sorted_distinct

_BYTES = np.arange(256)
AT_ONCE = 1 << 12  # lines that stay in the cache while others are made from them
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: spreads bits


def word_count(vertices: int) -> int:
    """Return how many words a set of vertices has."""
    return max(1, -(-vertices // 64))


def pack(sets: Iterable[Iterable[int]], vertices: int) -> np.ndarray:
    """Return sets of vertices as words: ``uint64[sets, words]``."""
    return words_of([sum(1 << v for v in set(map(int, line))) for line in sets], word_count(vertices))


def unpack(sets: np.ndarray) -> list[list[int]]:
    """Return the vertices of each set."""
    return [np.flatnonzero(line).tolist() for line in members(sets)]


def members(sets: np.ndarray, vertices: int | None = None) -> np.ndarray:
    """Return a table of booleans, a line for each set and a column for each vertex (if it is not said how many, for
    each bit)."""
    return np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), axis=1, count=vertices, bitorder="little").view(
        bool
    )


def words_of(bits: list[int], words: int) -> np.ndarray:
    """Return sets given as integers, a bit for each vertex."""
    return np.array([[line >> 64 * w & 0xFFFFFFFFFFFFFFFF for w in range(words)] for line in bits], np.uint64).reshape(
        -1, words
    )


def bits_of(words: np.ndarray) -> int:
    """Return one set as an integer."""
    return int.from_bytes(words.tobytes(), "little")


def distinct(sets: np.ndarray) -> np.ndarray:
    """Return each set once, sorted by its words."""
    if sets.shape[1] == 1:
        return sorted_distinct(sets[:, 0])[:, None]
    return np.unique(sets, axis=0)


def without_repeats(sets: np.ndarray) -> np.ndarray:
    """Return each set once, several times quicker than :func:`distinct` where sets have many words. The order depends
    on the sets alone, so that threads that found them in another order change nothing."""
    if sets.shape[1] == 1:
        return distinct(sets)
    mixed = _mixed(sets)
    order = np.argsort(mixed, kind="stable")
    mixed = mixed[order]
    again = np.flatnonzero(mixed[1:] == mixed[:-1]) + 1
    if (sets[order[again]] != sets[order[again - 1]]).any():  # different sets that mix to the same word
        return distinct(sets)
    return sets[np.delete(order, again)]


def without(sets: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the sets that are not among the others."""
    if not len(sets) or not len(others):
        return sets
    mixed, known = _mixed(sets), _mixed(others)
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, mixed, sorter=order), len(known) - 1)]
    among = known[at] == mixed
    if (others[at[among]] != sets[among]).any():  # different sets that mix to the same word
        there = set(map(bytes, others))
        among = np.array([bytes(line) in there for line in sets])
    return sets[~among]


def _mixed(sets: np.ndarray) -> np.ndarray:
    """Return a word for each set: the same for the same set, and hardly ever for another one; never where sets have one
    word."""
    if sets.shape[1] == 1:
        return sets[:, 0]
    mixed = np.zeros(len(sets), np.uint64)
    for w in range(sets.shape[1]):
        mixed = (mixed ^ sets[:, w]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return mixed


def smallest(sets: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many sets, those of the fewest vertices, in the order they came in."""
    if len(sets) <= most:
        return sets
    sizes = np.bitwise_count(sets).sum(axis=1, dtype=np.uint16)  # of 16 bits: numbers that are sorted in linear time
    return sets[np.sort(np.argsort(sizes, kind="stable")[:most])]


def mirrored(sets: np.ndarray, exchange: np.ndarray) -> np.ndarray:
    """Return the images of sets under a permutation of the vertices."""
    return _images(exchange.astype(np.int64).tobytes(), sets.shape[1]).united(sets)


@lru_cache(maxsize=16)
def _images(exchange: bytes, words: int) -> ByteTable:
    """Return what each byte of a set becomes."""
    table = ByteTable(words)
    for v, image in enumerate(np.frombuffer(exchange, np.int64).tolist()):
        table.add(v // 8, _BYTES >> v % 8 & 1 == 1, image)
    return table


def one_of_each(sets: np.ndarray, exchange: np.ndarray | None) -> np.ndarray:
    """Keep of two sets that ``exchange`` maps to each other the smaller; each set once. All sets as they are if there
    is no exchange."""
    if exchange is None or not len(sets):
        return sets
    image = mirrored(sets, exchange)
    less, same = np.zeros(len(sets), bool), np.ones(len(sets), bool)
    for w in range(sets.shape[1]):
        less |= same & (image[:, w] < sets[:, w])
        same &= image[:, w] == sets[:, w]
    return without_repeats(np.where(less[:, None], image, sets))


class ByteTable:
    """Makes a set of vertices from each line of words: the union of what its bytes stand for."""

    def __init__(self, words: int) -> None:
        self._words = words
        # a byte mostly stands for vertices of few words: by byte and word, what each of its values adds to the word
        self._parts: dict[tuple[int, int], np.ndarray] = {}

    def add(self, byte: int, values: np.ndarray, vertex: int) -> None:
        """Let these values (``bool[256]``) of a byte stand for a vertex too."""
        part = self._parts.setdefault((byte, vertex // 64), np.zeros(256, np.uint64))
        part[values] |= np.uint64(1 << vertex % 64)

    def united(self, lines: np.ndarray) -> np.ndarray:
        """Return the set of each line."""
        united = np.zeros((len(lines), self._words), np.uint64)
        for start in range(0, len(lines), AT_ONCE):
            keys = np.ascontiguousarray(lines[start : start + AT_ONCE]).view(np.uint8)
            part = united[start : start + AT_ONCE]
            for (byte, w), added in self._parts.items():
                part[:, w] |= added[keys[:, byte]]
        return united
