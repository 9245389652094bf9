"""Simulated errors: rows with one wrong cell, and what they say beside unchanged rows.

A rule is worth having for the errors that it would catch. So errors are made: the cell of a random row gets the value
of another row (*replaced*), or a row is entered again with one cell changed (*inserted*). An error breaks a rule if the
changed row breaks it together with an unchanged row. Instead of asking an engine for each rule, the changed rows are
compared once with some unchanged rows, and every rule is read off that evidence. Unchanged rows are random ones, and
for each error those most like the changed row: rows that agree on rare values are the ones that break keys and
functional dependencies, and a random sample of a large table has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rowlaw.evidence.slots import Slots
from rowlaw.evidence.tiles import evidence_of_pairs
from rowlaw.kernels import power as kernels
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.changed import changed_rows
from rowlaw.relation.relation import Relation
from rowlaw.stopping import NEVER, Stop

ALL_ROWS = 2_500  # of a table with at most so many rows, all are compared with each error
RANDOM_ROWS = 1_200  # of a larger one so many random rows are
ALIKE_ROWS = 150  # and so many that are most like the changed row
SCANNED_ROWS = 40_000  # rows among which those are looked for
_INSERTED = 3  # one error in so many is a row inserted again
_TRIES = 8  # random rows looked at for a value other than the cell's own
_ERRORS_AT_ONCE = 64  # errors whose signatures are in memory together
_SHIFTED = 0x5DEECE66D  # keeps the random numbers here apart from those of samples with the same seed

# signatures, uint64[pairs, words], to what they leave unsatisfied, uint64[pairs, words]
EdgesOf = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Edges:
    """Distinct edges of each error, ``uint64[edges, words]``, how often each occurs, and where those of each error
    end."""

    edges: np.ndarray
    counts: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True, eq=False)
class Errors:
    """Simulated errors: row ``rows[i]`` of a relation has, in the column of index ``columns[i]``, the code ``codes[i]``
    instead of its own.

    ``inserted[i]``: the changed row is there besides the row, else in its place. ``partners[i]``: positions of the
    unchanged rows.
    """

    relation: Relation
    rows: np.ndarray
    columns: np.ndarray
    codes: np.ndarray
    inserted: np.ndarray
    partners: list[np.ndarray]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """The name of each error's column."""
        return [self.relation.columns[c].name for c in self.columns.tolist()]

    @cached_property
    def _small(self) -> tuple[Relation, list[np.ndarray], np.ndarray]:
        """A relation of the unchanged rows and the changed ones; in it, the positions of partners and of the rows
        before the change."""
        used = np.zeros(self.relation.rows, bool)
        for some in (self.rows, *self.partners):
            used[some] = True
        rows = np.flatnonzero(used)
        made = changed_rows(self.relation, rows, self.rows, self.columns, self.codes)
        return made, [np.searchsorted(rows, some) for some in self.partners], np.searchsorted(rows, self.rows)

    def edges(self, slots: Slots, edges_of: EdgesOf, *, before: bool = False, stop: Stop = NEVER) -> Edges:
        """Return what the changed rows (``before``: the rows before the change) say beside their partners, in both
        directions."""
        small, partners, own = self._small
        over = slots.over(small)
        changed = small.rows - len(self) + np.arange(len(self))
        edges, counts, ends, total = [], [], [], 0
        for start in range(0, len(self), _ERRORS_AT_ONCE):
            stop.check()
            some = range(start, min(start + _ERRORS_AT_ONCE, len(self)))
            # a row inserted again has its original as a partner; before the change that is the row itself
            listed = [partners[i][partners[i] != own[i]] if before else partners[i] for i in some]
            sizes = np.array([len(rows) for rows in listed], np.int64)
            s = np.repeat((own if before else changed)[some.start : some.stop], sizes)
            signatures = evidence_of_pairs(over, s, np.concatenate([*listed, np.zeros(0, np.int64)]))
            once = np.ones(len(signatures), np.int32)
            signatures, often, upto = _distinct(signatures, once, np.cumsum(sizes))
            both = np.stack((edges_of(signatures), edges_of(slots.reverse(signatures))), axis=1)
            kept, often, upto = _distinct(both.reshape(-1, both.shape[2]), np.repeat(often, 2), 2 * upto)
            edges.append(kept)
            counts.append(often)
            ends.append(upto + total)
            total += len(kept)
        return Edges(np.concatenate(edges), np.concatenate(counts), np.concatenate(ends))


def _distinct(lines: np.ndarray, often: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct lines of each error, how often each occurs, and where those of each error end."""
    kept, counts, upto = np.empty_like(lines), np.empty(len(lines), np.int32), np.empty(len(ends), np.int64)
    number = kernels.distinct_edges(lines, often, np.concatenate(([0], ends)), kept, counts, upto)
    return kept[:number].copy(), counts[:number].copy(), upto


def simulated(relation: Relation, columns: Sequence[str], count: int, seed: int = 0, stop: Stop = NEVER) -> Errors:
    """Make about ``count`` errors in the given columns, the same number in each; none in columns that have only one
    value.

    ``relation`` may be a sample. Takes time for ``count`` comparisons of a row with ``SCANNED_ROWS`` rows.
    """
    random = np.random.default_rng((_SHIFTED, seed))
    rows = relation.rows
    scanned = np.sort(random.permutation(rows)[:SCANNED_ROWS]) if rows > SCANNED_ROWS else np.arange(rows)
    possible = np.array([relation.index(name) for name in columns if relation.column(name).distinct > 1], np.int64)
    if rows < 2 or not len(possible) or not count:
        none = np.zeros(0, np.int64)
        return Errors(relation, none, none, none, np.zeros(0, bool), [])
    wanted = np.resize(possible, count)
    chosen = random.choice(scanned, count)
    codes = np.array(
        [_other(relation, c, r, scanned, random) for c, r in zip(wanted.tolist(), chosen.tolist(), strict=True)],
        np.int64,
    )
    kept = codes >= 0
    wanted, chosen, codes = wanted[kept], chosen[kept], codes[kept]
    # columns come in turn, and so do the two kinds within each column
    inserted = np.arange(len(wanted)) // len(possible) % _INSERTED == _INSERTED - 1
    partners = _partners(relation, chosen, wanted, codes, scanned, random, stop)
    listed = [
        p if again else p[p != row] for p, again, row in zip(partners, inserted.tolist(), chosen.tolist(), strict=True)
    ]
    listed = [
        np.append(p, row) if again and row not in p else p
        for p, again, row in zip(listed, inserted, chosen, strict=True)
    ]
    return Errors(relation, chosen, wanted, codes, inserted, listed)


def _other(relation: Relation, column: int, row: int, scanned: np.ndarray, random: np.random.Generator) -> int:
    """Return the code that another row has in a column and that is not this row's; any other value where nearly all
    rows have the same."""
    codes = relation.matrix[column]
    others = codes[random.choice(scanned, _TRIES)]
    others = others[(others >= 0) & (others != codes[row])]
    if len(others):
        return int(others[0])
    known = sorted_distinct(codes[scanned])
    known = known[(known >= 0) & (known != codes[row])]
    return int(random.choice(known)) if len(known) else -1


def _partners(
    relation: Relation,
    rows: np.ndarray,
    columns: np.ndarray,
    codes: np.ndarray,
    scanned: np.ndarray,
    random: np.random.Generator,
    stop: Stop,
) -> list[np.ndarray]:
    """Return the unchanged rows to compare each error with."""
    if relation.rows <= ALL_ROWS:
        return [np.arange(relation.rows)] * len(rows)
    some = random.choice(len(scanned), min(RANDOM_ROWS, len(scanned)), replace=False)
    matrix = np.ascontiguousarray(relation.matrix[:, scanned])
    weights = np.array([_rarity(column) for column in matrix], np.float32)
    changed = np.ascontiguousarray(relation.matrix[:, rows])
    changed[columns, np.arange(len(rows))] = codes
    likeness = np.empty(len(scanned), np.float32)
    partners = []
    for i in range(len(rows)):
        stop.check()
        kernels.likeness(matrix, np.ascontiguousarray(changed[:, i]), weights, likeness)
        partner = np.zeros(len(scanned), bool)
        partner[some] = True
        partner[np.argpartition(likeness, len(likeness) - ALIKE_ROWS)[-ALIKE_ROWS:]] = True
        partners.append(scanned[partner])
    return partners


def _rarity(codes: np.ndarray) -> float:
    """Return how much it says that two rows agree on a column: the negative logarithm of how often two rows do."""
    often = np.bincount(codes[codes >= 0]).astype(np.float64)
    rows = len(codes)
    return float(-np.log(max(float(often @ often) / rows**2, 1.0 / rows**2)))
