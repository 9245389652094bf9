"""Sets of pairs of rows, held as groups: every ``s`` of a group with every ``t`` of it.

This is FACET's "pair of tids" (section 3.2) for all groups at once: rows laid out group after group, in two arrays when
the two sides differ and in one when they do not (*reflexive*). Groups without a pair of different rows are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rowlaw.kernels import groups as kernels
from rowlaw.kernels.sort import sort_keys

KEY_BITS = 64
# possible keys for each row beyond which few rows share one: better sort by those alone, and by the rest what is left
_SELECTIVE = 4


@dataclass(frozen=True, slots=True)
class Side:
    """Rows laid out group after group."""

    rows: np.ndarray
    starts: np.ndarray

    @staticmethod
    def whole(rows: np.ndarray) -> Side:
        """Return all rows in one group."""
        return Side(rows, np.array([0, len(rows)], np.int64))

    def sorted_by(self, columns: Sequence[Sorted]) -> tuple[np.ndarray, np.ndarray]:
        """Keys that order by group and then by the columns, sorted, and the places they came from.

        Columns that do not fit into 64 bits together are sorted one after the other, the last first.
        """
        last = 0  # where the columns begin that fit together
        while last < len(columns) - 1 and span(self.groups, columns[last:]).bit_length() > KEY_BITS:
            last += 1
        keys, first = sort_keys(*self.keys(columns[last:]))
        for column in reversed(columns[:last]):
            side = Side(self.rows[first], self.starts)
            keys, order = sort_keys(*side.keys([column]))
            first = first[order]
        return keys, first

    def keys(self, columns: Sequence[Sorted]) -> tuple[np.ndarray, int]:
        """For each place a number that orders by group and then by the columns, and how many bits the numbers have."""
        bits = max(1, (span(self.groups, columns) - 1).bit_length())
        keys = np.zeros(len(self.rows), np.uint32 if bits <= 32 else np.uint64)
        if self.groups > 1:
            kernels.group_numbers(self.starts, keys)
        for column in columns:
            kernels.extend_keys(keys, self.rows, column.codes, keys.dtype.type(column.width), column.descending)
        return keys, bits

    @property
    def groups(self) -> int:
        return len(self.starts) - 1

    def arranged(self, columns: Sequence[Sorted]) -> Side:
        """Return the same groups, each laid out in order of the columns."""
        return Side(self.rows[self.sorted_by(columns)[1]], self.starts)

    def laid_out(self, columns: Sequence[Sorted]) -> tuple[Side, np.ndarray]:
        """Lay each group out in order of the columns, and return for each position its digit in the last column, read
        off the keys: those are in order, unlike the rows."""
        keys, order = self.sorted_by(columns)
        side, last = Side(self.rows[order], self.starts), columns[-1]
        if span(self.groups, columns).bit_length() > KEY_BITS:
            return side, last.digits(side.rows)
        return side, (keys % keys.dtype.type(last.width)).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Sorted:
    """A column to sort by; codes lie in ``-1 .. width - 2``."""

    codes: np.ndarray
    width: int
    descending: bool = False

    def digits(self, rows: np.ndarray) -> np.ndarray:
        """Return what rows bring to a key: their code plus one, counted down from the top if ``descending``."""
        digits = self.codes[rows] + np.int32(1)
        return np.int32(self.width - 1) - digits if self.descending else digits


def span(groups: int, columns: Sequence[Sorted]) -> int:
    """Return how many keys there can be."""
    many = max(1, groups)
    for column in columns:
        many *= column.width
    return many


def _stripped(keys: np.ndarray, order: np.ndarray, rows: np.ndarray) -> Side:
    number, nothing = keys.dtype.type, np.empty(0, np.int32)
    return Side(*kernels.stripped(keys, order, rows, number(1), np.empty(len(keys), np.int32), number(1), nothing))


@dataclass(frozen=True, slots=True)
class Compared:
    """A column of ``s`` beside a column of ``t``, on one scale; codes lie in ``-1 .. width - 2``."""

    left: np.ndarray
    right: np.ndarray
    width: int

    @property
    def same(self) -> bool:
        return self.left is self.right

    @property
    def of_s(self) -> Sorted:
        return Sorted(self.left, self.width)

    @property
    def of_t(self) -> Sorted:
        return Sorted(self.right, self.width)


@dataclass(frozen=True, slots=True)
class Groups:
    """Pairs of rows as groups."""

    s: Side
    t: Side

    @staticmethod
    def whole(s_rows: np.ndarray, t_rows: np.ndarray) -> Groups:
        """Return all pairs of the given rows: one group, or none if they make no pair."""
        reflexive = t_rows is s_rows
        if not len(s_rows) or not len(t_rows) or (reflexive and len(s_rows) < 2):
            nothing = Side(s_rows[:0], np.zeros(1, np.int64))
            return Groups(nothing, nothing)
        s = Side.whole(s_rows)
        return Groups(s, s if reflexive else Side.whole(t_rows))

    @property
    def reflexive(self) -> bool:
        return self.s is self.t

    @property
    def number(self) -> int:
        return len(self.s.starts) - 1

    @property
    def rows(self) -> int:
        """Rows of both sides: what further work is linear in."""
        return len(self.s.rows) + (0 if self.reflexive else len(self.t.rows))

    def refine(self, equal: Sequence[Compared]) -> Groups:
        """Return the pairs that agree on all of ``equal`` (FACET section 5.1): a radix sort for every 64 bits of
        key."""
        refined, rest = self, list(equal)
        if self.number == 1 and rest and not rest[0].same:
            refined = self._with_partners([c for c in equal if not c.same])
        while rest:
            batch = [rest.pop(0)]
            while rest and _together(refined, batch, rest[0]):
                batch.append(rest.pop(0))
            refined = refined._agreeing(batch)
        return refined

    def refine_laid_out(self, equal: Sequence[Compared], columns: Sequence[Sorted]) -> tuple[Side, np.ndarray]:
        """Of one side: the rows that agree on ``equal``, laid out by ``columns`` as by :meth:`Side.laid_out`, in one
        sort if it fits."""
        possible = span(self.number, [c.of_s for c in equal])
        if (len(equal) > 1 and possible > _SELECTIVE * self.rows) or (
            possible * span(1, columns)
        ).bit_length() > KEY_BITS:
            return self.refine(equal).s.laid_out(columns)
        keys, order = self.s.sorted_by([*(c.of_s for c in equal), *columns])
        number, room, digits = keys.dtype.type, np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
        side = Side(
            *kernels.stripped(
                keys, order, self.s.rows, number(span(1, columns)), room, number(columns[-1].width), digits
            )
        )
        return side, digits[: len(side.rows)]

    def _agreeing(self, equal: Sequence[Compared]) -> Groups:
        if self.reflexive and all(c.same for c in equal):
            s_keys, s_order = self.s.sorted_by([c.of_s for c in equal])
            side = _stripped(s_keys, s_order, self.s.rows)
            return Groups(side, side)
        s_keys, s_order = self.s.sorted_by([c.of_s for c in equal])
        t_keys, t_order = self.t.sorted_by([c.of_t for c in equal])
        s_rows, s_starts, t_rows, t_starts = kernels.matched(s_keys, s_order, self.s.rows, t_keys, t_order, self.t.rows)
        return Groups(Side(s_rows, s_starts), Side(t_rows, t_starts))

    def _with_partners(self, crossing: Sequence[Compared]) -> Groups:
        """Only rows that have any partner on the other side: a look at the values, before anything is sorted.

        The sides take turns, and take the columns from different ends: once one side is short, so is soon the other.
        """
        s_rows, t_rows = self.s.rows, self.t.rows
        for c, d in zip(crossing, reversed(crossing), strict=True):
            s_rows = _partnered(s_rows, c.left, t_rows, c.right, c.width)
            t_rows = _partnered(t_rows, d.right, s_rows, d.left, d.width)
        return Groups(Side.whole(s_rows), Side.whole(t_rows))

    def arranged(self, by: Compared, *, descending: bool = False) -> Groups:
        """Return the same groups, each side laid out in order of its column."""
        s = self.s.arranged([Sorted(by.left, by.width, descending)])
        if self.reflexive and by.same:
            return Groups(s, s)
        return Groups(s, self.t.arranged([Sorted(by.right, by.width, descending)]))

    def on_both_sides(self, rows: int) -> np.ndarray:
        """Return rows that pair with themselves; ``rows`` is the number of rows of the table."""
        if self.reflexive:
            return self.s.rows
        marks = np.full(rows, -1, np.int32)
        return kernels.same_group(self.s.rows, self.s.starts, self.t.rows, self.t.starts, marks)


def _partnered(
    rows: np.ndarray, codes: np.ndarray, others: np.ndarray, other_codes: np.ndarray, width: int
) -> np.ndarray:
    """Return the rows whose code one of the others has."""
    marks, kept = np.zeros(width + 1, np.bool_), np.empty(len(rows) + 1, np.int32)
    kernels.mark(others, other_codes, marks)
    return kept[: kernels.marked(rows, codes, marks, kept)]


def _together(groups: Groups, batch: Sequence[Compared], more: Compared) -> bool:
    """Return whether another column goes into the same key: it must fit, and what is sorted so far should leave many
    rows together."""
    keys = span(groups.number, [c.of_s for c in batch])
    return keys <= _SELECTIVE * groups.rows and (keys * more.width).bit_length() <= KEY_BITS
