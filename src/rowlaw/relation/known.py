"""Which columns of a table are known together: what decides whether any rows could break a law.

With ``nulls="unknown"`` a comparison with null is never true. So a law about pairs of rows can only be broken if there
are two different rows, one with values in all columns that the law compares in ``s``, the other in all that it compares
in ``t``; a law about one row if there is a row with values in all its columns. In most tables two rows without any null
settle the question for all laws at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls

ROWS_AT_ONCE = 1 << 12  # rows looked at before it is asked again whether two without nulls were among them
FIRST_PATTERNS = 64  # patterns that rules are compared with first: most rules are decided by a few
_GROWTH = 4  # times as many patterns in each further step
ENOUGH = 2  # rows of a pattern: more of them decide nothing that two do not


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """The rows of a table by the columns in which they are known.

    ``names``: the columns that matter, because too few rows are known in all columns. ``patterns``: ``bool[patterns,
    names]``, which of them are known, those with most known columns first. ``counts``: ``int64[patterns]``, rows of
    each pattern, 2 where there are more.

    >>> codes = {"a": np.array([0, 1, 2]), "b": np.array([-1, -1, -1]), "c": np.array([0, -1, 0])}
    >>> known = KnownRows.of(["a", "b", "c"], codes.__getitem__, 3)
    >>> known.names, known.everything
    (('b',), False)
    >>> KnownRows.of(["a", "c"], codes.__getitem__, 3).everything
    True
    """

    rows: int
    names: tuple[str, ...]
    patterns: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of_relation(relation: Relation, nulls: Nulls) -> KnownRows:
        """Return those of a relation; where null is a value, every row is known in every column."""
        names = [c.name for c in relation.columns if c.nulls] if nulls == "unknown" else []
        return KnownRows.of(names, relation.codes, relation.rows)

    @staticmethod
    def of(
        names: Sequence[str], codes: Callable[[str], np.ndarray], rows: int, present: np.ndarray | None = None
    ) -> KnownRows:
        """Return those of ``rows`` rows. ``codes`` gives a column, with null below 0; ``present`` says which of its
        rows count, all if not given.

        One look at a few thousand rows where two of them have no null; else linear in the cells.
        """
        if not names:
            return KnownRows(rows, (), np.ones((1, 0), bool), np.array([rows]))
        columns = [codes(name) for name in names]
        some = next(_known(columns, present), np.zeros((0, len(columns)), bool))
        empty = [i for i in range(len(columns)) if not some[:, i].any()]
        empty = [i for i in empty if not any(known.any() for known in _known([columns[i]], present))]
        others = [i for i in range(len(columns)) if i not in empty]
        complete = 0
        for known in _known([columns[i] for i in others], present):
            complete += int(np.count_nonzero(known.all(axis=1)))
            if complete >= ENOUGH:
                return KnownRows(
                    rows, tuple(names[i] for i in empty), np.zeros((1, len(empty)), bool), np.array([ENOUGH])
                )
        patterns, counts = _patterns(columns, present)
        most_known = np.argsort(-patterns.sum(axis=1), kind="stable")
        return KnownRows(rows, tuple(names), patterns[most_known], np.minimum(counts[most_known], ENOUGH))

    @property
    def everything(self) -> bool:
        """Whether there are two rows that are known in all columns: then no law goes without rows that could break
        it."""
        return self.rows >= ENOUGH and not self.names

    def could_break(self, in_s: np.ndarray, in_t: np.ndarray, of_pairs: np.ndarray) -> np.ndarray:
        """For each law whether any rows could break it.

        ``in_s``, ``in_t``: ``bool[laws, names]``, the columns that the law compares in each row. ``of_pairs``:
        ``bool[laws]``, whether the law is about pairs of rows; one about a single row has its columns in either.
        """
        if self.rows < ENOUGH:
            alone = ~of_pairs & (self.rows > 0)
            return alone & self._satisfied(in_s | in_t, in_s | in_t, needed=1)
        breakable = np.zeros(len(in_s), bool)
        breakable[of_pairs] = self._satisfied(in_s[of_pairs], in_t[of_pairs], needed=2)
        either = (in_s | in_t)[~of_pairs]
        breakable[~of_pairs] = self._satisfied(either, either, needed=1)
        return breakable

    def _satisfied(self, in_s: np.ndarray, in_t: np.ndarray, *, needed: int) -> np.ndarray:
        """For each line whether a row is known in the columns of ``in_s`` and another one (if two are ``needed``) in
        those of ``in_t``."""
        both, place = _distinct(np.concatenate((in_s, in_t), axis=1))
        wanted_s, wanted_t = both[:, : len(self.names)], both[:, len(self.names) :]
        done = np.zeros(len(both), bool)
        seen = np.zeros((3, len(both)), np.int64)  # rows known in the columns of s, of t, and of both
        start, size = 0, FIRST_PATTERNS
        while start < len(self.patterns) and not done.all():
            missing = (~self.patterns[start : start + size]).astype(np.float32).T
            counts, left = self.counts[start : start + size], np.flatnonzero(~done)
            fits_s, fits_t = (wanted[left].astype(np.float32) @ missing == 0 for wanted in (wanted_s, wanted_t))
            for line, fits in enumerate((fits_s, fits_t, fits_s & fits_t)):
                seen[line, left] += fits @ counts
            s, t, same = seen[:, left]
            # one row for both is not enough where two are needed
            done[left] = (s > 0) & (t > 0) & ((needed == 1) | (s > 1) | (t > 1) | (same == 0))
            start, size = start + size, size * _GROWTH
        return done[place]


def _known(columns: Sequence[np.ndarray], present: np.ndarray | None) -> Iterator[np.ndarray]:
    """Portions of the rows: whether each row is known in each column, ``bool[rows, columns]``. No columns, no rows."""
    for start in range(0, len(columns[0]) if columns else 0, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        rows = slice(None) if present is None else present[part]
        known = np.stack([column[part][rows] >= 0 for column in columns], axis=1)
        if len(known):
            yield known


def _patterns(columns: Sequence[np.ndarray], present: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct patterns of all rows, and how many rows have each: ``bool[patterns, columns]``,
    ``int64[patterns]``."""
    known = np.stack([(column if present is None else column[present]) >= 0 for column in columns], axis=1)
    patterns, place = _distinct(known)
    return patterns, np.bincount(place, minlength=len(patterns))


def _distinct(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct lines of a table of booleans, and which of them each line is."""
    width = lines.shape[1]
    words = max(1, -(-width // 64))
    data = np.zeros((len(lines), 8 * words), np.uint8)
    data[:, : -(-width // 8)] = np.packbits(lines, axis=1)
    # words sort much faster than lines
    packed = data.view(np.uint64)[:, 0] if words == 1 else data.view(f"V{8 * words}")[:, 0]
    _, first, place = np.unique(packed, return_index=True, return_inverse=True)
    return lines[first], place.ravel()
