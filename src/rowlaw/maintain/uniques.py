"""Minimal uniques and maximal non-uniques under inserts and deletes: Swan (Abedjan, Quiane-Ruiz, Naumann, ICDE 2014).

*Inserts* (section III): a few columns are indexed so that every minimal unique has one of them. The rows that agree with a new row on
such a column are looked up once for all uniques, and what remains after comparing the other columns is a duplicate. *Deletes* (section
IV): a maximal non-unique stays one unless the rows that went were in its duplicates; only then are its position lists intersected, and
only if it became unique are its subsets looked at.

Where we differ: columns are chosen for an index by how often uniques have them times how many values they have (a frequent column of two
values finds half of the table); the new uniques are read off the duplicates' difference sets by the search that all kinds of rules
share; and the maximal non-uniques are what the minimal uniques say: the complements of their minimal hitting sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from rowlaw.kernels import links as kernels
from rowlaw.maintain.cells import Cells, column_slots
from rowlaw.maintain.equality import EqualityIndex
from rowlaw.maintain.living import dense
from rowlaw.rules.model import Nulls
from rowlaw.search.bitsets import distinct, pack, unpack, word_count
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import minimal_edges, minimal_hitting_sets, refine
from rowlaw.source.row_ids import naming_only

if TYPE_CHECKING:
    from rowlaw.maintain.store import Reader, Writer
    from rowlaw.maintain.table import GrowingTable

Columns = frozenset[int]

SPARE = 4  # columns beyond those needed that may be indexed, unless a quota is given
BATCH = 1 << 16  # pairs looked up at a time
NEIGHBOURS = 3  # rounds of neighbours that the first difference sets are taken from


def select_columns(uniques: Iterable[Columns], weight: Callable[[int], float] = lambda _: 1.0) -> list[int]:
    """Columns such that every unique has one of them: the most frequent one, again and again (Algorithm 3).

    Frequency counts times ``weight``; without weights it is the paper's choice.

    >>> select_columns([frozenset("AB"), frozenset("AC"), frozenset("AD"), frozenset("CD")])
    ['A', 'C']
    """
    left = list(uniques)
    chosen: list[int] = []
    while left:
        often: dict[int, float] = {}
        for unique in left:
            for column in unique:
                often[column] = often.get(column, 0.0) + weight(column)
        best = max(sorted(often), key=often.__getitem__)
        chosen.append(best)
        left = [unique for unique in left if best not in unique]
    return chosen


def additional_columns(uniques: Sequence[Columns], chosen: Sequence[int], quota: int, selectivity: Mapping[int, float]) -> list[int]:
    """Further columns to index, within a quota, that narrow down what the least selective of the chosen ones find (Algorithm 4).

    >>> uniques = [frozenset("AB"), frozenset("AC"), frozenset("AD"), frozenset("CD")]
    >>> additional_columns(uniques, ["A", "C"], 3, {"A": 0.5, "B": 0.1, "C": 0.2, "D": 0.1})
    ['D']
    """
    covering: dict[int, frozenset[int]] = {}
    room = quota - len(chosen)
    for column in chosen:
        alone = [unique - {column} for unique in uniques if unique & set(chosen) == {column}]
        if any(not rest for rest in alone):
            continue  # a unique of this column only cannot be narrowed down
        cover = frozenset(select_columns(alone))
        if cover and len(cover) <= room:
            covering[column] = cover
    best: tuple[float, list[int], frozenset[int]] | None = None
    for combination in _combinations(sorted(covering)):
        together = frozenset().union(*(covering[c] for c in combination))
        if len(together) > room:
            continue
        miss = 1.0
        for column in combination:
            miss *= 1 - selectivity[column]
        if best is None or (1 - miss, -len(combination)) < (best[0], -len(best[1])):
            best = (1 - miss, combination, together)
    return sorted(best[2]) if best is not None else []


def _combinations(columns: Sequence[int], most: int = 10) -> Iterable[list[int]]:
    """All non-empty sets of the columns (of the first ten: there are a thousand)."""
    some = columns[:most]
    for bits in range(1, 1 << len(some)):
        yield [c for i, c in enumerate(some) if bits >> i & 1]


class Uniques:
    """The minimal uniques and maximal non-uniques of a table that changes, as sorted tuples of column names.

    >>> import pyarrow as pa
    >>> from rowlaw.maintain.table import GrowingTable
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> people = pa.table({"Name": ["Lee", "Payne", "Lee"], "Phone": [345, 245, 234], "Age": [20, 30, 30]})
    >>> table = GrowingTable.of(encode(open_source(people)))
    >>> uniques = Uniques.create(table)
    >>> uniques.minimal, uniques.maximal_non
    ([('Phone',), ('Age', 'Name')], [('Age',), ('Name',)])
    >>> taken = table.take(inserts=pa.table({"Name": ["Payne"], "Phone": [245], "Age": [31]}))
    >>> uniques.insert(table, taken.inserted)
    >>> uniques.minimal, uniques.maximal_non
    ([('Age', 'Name'), ('Age', 'Phone')], [('Age',), ('Name', 'Phone')])
    """

    def __init__(self, cells: Cells, sets: np.ndarray, quota: int | None, alive: np.ndarray) -> None:
        self.cells, self.sets, self.quota = cells, sets, quota
        self.names = cells.names
        self.unknown = cells.slots.unknown
        self.lists: dict[int, EqualityIndex] = {}  # position lists by column
        self.indexed: list[int] = []
        self._columns = np.arange(len(self.names), dtype=np.int64)
        self._non: np.ndarray | None = None
        self._present = alive  # the rows that a new index has to hold

    @staticmethod
    def create(table: GrowingTable, nulls: Nulls = "unknown", *, quota: int | None = None, columns: Sequence[str] | None = None) -> Uniques:
        """Find the uniques of the table as it is. ``quota``: columns that may be indexed, at most (but as many as are needed)."""
        names = columns if columns is not None else [name for name in table.names if name not in naming_only(table.row_id)]
        alive, nothing = np.asarray(table.alive), np.zeros((1, word_count(len(names))), np.uint64)
        made = Uniques(Cells(column_slots(names, nulls, ordered=False), table), nothing, quota, alive)
        made._discover(alive)
        made._choose(alive)
        return made

    @property
    def minimal(self) -> list[tuple[str, ...]]:
        """The minimal uniques, short ones first. One column at least: with less than two rows, each column is one."""
        sets = self.sets if self.sets.any() or len(self.sets) != 1 else pack([[c] for c in range(len(self.names))], len(self.names))
        return self._named(unpack(sets))

    @property
    def maximal_non(self) -> list[tuple[str, ...]]:
        """The maximal non-uniques, short ones first."""
        return self._named(unpack(self._non_uniques()))

    def _named(self, sets: Iterable[Sequence[int]]) -> list[tuple[str, ...]]:
        return sorted((tuple(sorted(self.names[c] for c in line)) for line in sets), key=lambda names: (len(names), names))

    @property
    def nbytes(self) -> int:
        return sum(index.nbytes for index in self.lists.values())

    def insert(self, table: GrowingTable, inserted: np.ndarray) -> None:
        """Rows have come (Algorithm 1)."""
        self._follow(table, inserted, np.zeros(0, np.int64))
        self._come(np.asarray(table.alive), np.asarray(inserted, np.int64))

    def delete(self, table: GrowingTable, deleted: np.ndarray) -> None:
        """Rows have gone (Algorithm 6)."""
        alive = np.asarray(table.alive)
        self._follow(table, np.zeros(0, np.int64), deleted)
        self._leave(alive, np.asarray(deleted, np.int64))

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> None:
        """A batch that took rows away and brought others."""
        before = np.asarray(table.alive).copy()
        before[inserted] = False
        self._follow(table, inserted, deleted)
        if len(deleted):
            self._leave(before, np.asarray(deleted, np.int64))
        self._come(np.asarray(table.alive), np.asarray(inserted, np.int64))

    # Inserts

    def _come(self, alive: np.ndarray, inserted: np.ndarray) -> None:
        if not len(inserted):
            return
        if len(self.sets) == 1 and not self.sets.any():
            self._discover(alive)  # there was one row at most, and nothing to go by
            self._non = None
        else:
            edges = self._duplicates(inserted, alive)
            if len(edges):
                self._refine(edges)
        if not self._covered:
            self._choose(alive)

    def _duplicates(self, inserted: np.ndarray, alive: np.ndarray) -> np.ndarray:
        """The difference sets of pairs with a new row that agree on a minimal unique. Look-ups are shared (Algorithm 2)."""
        found = [np.zeros((0, self.sets.shape[1]), np.uint64)]
        cache: dict[Columns, np.ndarray] = {}
        for line in unpack(self.sets):
            unique = frozenset(line)
            known = max((cc for cc in cache if cc <= unique), key=len, default=None)
            pairs = cache[known] if known is not None else None
            mine = sorted((c for c in unique if c in self.indexed), key=lambda c: -self._list(c).groups)
            for column in mine[: 1 if pairs is None else 0]:
                # the other indexed columns narrow the look-up down at once
                pairs = self._look_up(column, mine, inserted, alive)
                cache[frozenset(mine)] = pairs
            assert pairs is not None
            rest = np.array(sorted(unique), np.int64)
            pairs = pairs[(self.cells.matrix[pairs[:, 0]][:, rest] == self.cells.matrix[pairs[:, 1]][:, rest]).all(axis=1)]
            if self.unknown and len(pairs):
                pairs = pairs[(self.cells.matrix[pairs[:, 0]][:, rest] >= 0).all(axis=1)]
            found.append(self._differences(pairs))
        return minimal_edges(np.concatenate(found))

    def _look_up(self, column: int, agreeing: Sequence[int], rows: np.ndarray, alive: np.ndarray) -> np.ndarray:
        index, begin, found = self.lists[column], np.array([0, -1], np.int64), []
        columns = np.array(agreeing, np.int64)
        while begin[0] < len(rows):
            out = np.empty((BATCH, 2), np.int64)
            found.append(out[: kernels.earlier(self.cells.matrix, columns, rows, index.following, alive, begin, out)])
        return np.concatenate(found) if found else np.zeros((0, 2), np.int64)

    def _differences(self, pairs: np.ndarray) -> np.ndarray:
        out = np.zeros((len(pairs), self.sets.shape[1]), np.uint64)
        kernels.differences(self.cells.matrix, self._columns, self.unknown, np.asarray(pairs, np.int64), out)
        return distinct(out)

    def _refine(self, edges: np.ndarray) -> None:
        """Uniques that hit new difference sets too; the old ones are what the maximal non-uniques leave out."""
        old = self._complements(self._non_uniques())
        graph = Hypergraph(np.concatenate((old, edges)), len(self.names))
        self.sets = refine(graph, self.sets, len(old)).all
        self._non = None

    def _non_uniques(self) -> np.ndarray:
        """The maximal non-uniques: the complements of what hits every minimal unique."""
        if self._non is None:
            if not self.sets.any() and len(self.sets) == 1:  # no columns at all tell rows apart: there are no two rows
                self._non = self.sets[:0]
            else:
                self._non = self._complements(minimal_hitting_sets(Hypergraph(self.sets, len(self.names))).all)
        return self._non

    def _complements(self, sets: np.ndarray) -> np.ndarray:
        return pack([range(len(self.names))], len(self.names)) & ~sets

    # Deletes

    def _leave(self, alive: np.ndarray, deleted: np.ndarray) -> None:
        was = alive.copy()
        was[deleted] = True
        held: list[list[int]] = []
        lost: list[list[int]] = []
        for line in unpack(self._non_uniques()):
            (held if self._still_non_unique(line, deleted, alive, was) else lost).append(line)
        if not lost:
            return
        if int(np.count_nonzero(alive)) < 2:
            self.sets, self._non = np.zeros((1, self.sets.shape[1]), np.uint64), None
            self._choose(alive)
            return
        non_unique = [frozenset(line) for line in held]
        unique: list[Columns] = [frozenset(line) for line in unpack(self.sets)]
        for line in lost:
            self._subsets(frozenset(line), alive, unique, non_unique)
        smallest = [u for u in set(unique) if not any(v < u for v in unique)]
        self.sets, self._non = pack(smallest, len(self.names)), None
        if not self._covered:
            self._choose(alive)

    def _subsets(self, columns: Columns, alive: np.ndarray, unique: list[Columns], non_unique: list[Columns]) -> None:
        """What of the subsets of a former non-unique is unique now: depth first, nothing twice."""
        stack, seen = [columns], set[Columns]()
        while stack:
            top = stack.pop()
            if top in seen or any(top <= known for known in non_unique):
                continue
            seen.add(top)
            if self._has_duplicates(sorted(top), alive):
                non_unique.append(top)
                continue
            unique.append(top)
            stack += [top - {c} for c in sorted(top)]

    def _still_non_unique(self, line: Sequence[int], deleted: np.ndarray, alive: np.ndarray, was: np.ndarray) -> bool:
        """Section IV-B: look at the position lists of the rows that went, and at all of them only if those say that duplicates were
        lost."""
        columns = np.array(line, np.int64)
        if not len(columns):
            return int(np.count_nonzero(alive)) > 1
        index = max((self._list(c) for c in line), key=lambda i: i.groups)
        touched = False
        out = np.empty(2, np.int64)
        for row in deleted:
            if self.unknown and (self.cells.matrix[row, columns] < 0).any():
                continue  # null agrees with nothing: the row had no duplicates here
            left = kernels.members(self.cells.matrix, index.columns, columns, int(row), index.table, index.following, alive, out)
            if left > 1:
                return True  # duplicates of a row that went are still there
            touched = touched or left == 1 or self._had_twin(index, columns, int(row), was)
        return not touched or self._has_duplicates(line, alive)

    def _had_twin(self, index: EqualityIndex, columns: np.ndarray, row: int, was: np.ndarray) -> bool:
        out = np.empty(2, np.int64)
        return bool(kernels.members(self.cells.matrix, index.columns, columns, row, index.table, index.following, was, out) > 1)

    def _has_duplicates(self, line: Sequence[int], alive: np.ndarray) -> bool:
        """The complete intersection of position lists: whether any two rows agree."""
        return self._twins(line, alive)[0] >= 0

    def _twins(self, line: Sequence[int], alive: np.ndarray) -> tuple[int, int]:
        rows = np.flatnonzero(alive)
        if not len(line):
            return (int(rows[1]), int(rows[0])) if len(rows) > 1 else (-1, -1)
        index = EqualityIndex(self.cells, [self.names[c] for c in line], unknown=self.unknown)
        index.take(self.cells, rows)
        s, t = kernels.twins(index.following, alive, rows)
        return int(s), int(t)

    # Indexes

    @property
    def _covered(self) -> bool:
        chosen = set(self.indexed)
        return all(not line or chosen & set(line) for line in unpack(self.sets))

    def _choose(self, alive: np.ndarray) -> None:
        """Which columns to look up: Algorithms 3 and 4."""
        rows = max(1, int(np.count_nonzero(alive)))
        uniques = [frozenset(line) for line in unpack(self.sets) if line]
        used = sorted(set().union(*uniques))
        living = np.flatnonzero(alive)
        selectivity = {c: max(1, len(dense(self.cells.matrix[living, c])[1])) / rows for c in used}
        chosen = select_columns(uniques, selectivity.__getitem__)
        quota = self.quota if self.quota is not None else len(chosen) + SPARE
        self.indexed = chosen + [c for c in additional_columns(uniques, chosen, quota, selectivity) if c not in chosen]
        for column in self.indexed:
            self._list(column)

    def _list(self, column: int) -> EqualityIndex:
        """The position lists of a column, made when they are first needed."""
        if column not in self.lists:
            index = EqualityIndex(self.cells, [self.names[column]], unknown=self.unknown)
            index.take(self.cells, np.flatnonzero(self._present))
            self.lists[column] = index
        return self.lists[column]

    def _follow(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> None:
        self.cells.append(table)
        self._present = np.asarray(table.alive).copy()
        self._present[deleted] = True
        for column in [c for c in self.lists if self.names[c] in table.relabelled]:
            del self.lists[column]
        for index in self.lists.values():
            index.take(self.cells, inserted)
        for column in self.indexed:
            self._list(column)

    def save(self, writer: Writer) -> None:
        """Write the uniques; position lists are made again from the table."""
        writer.json("facts", {"columns": self.names, "nulls": self.cells.slots.nulls, "quota": self.quota, "indexed": self.indexed})
        writer.array("sets", self.sets)

    @staticmethod
    def load(reader: Reader, table: GrowingTable) -> Uniques:
        facts = reader.json("facts")
        cells = Cells(column_slots(facts["columns"], facts["nulls"], ordered=False), table)
        made = Uniques(cells, reader.array("sets").copy(), facts["quota"], np.asarray(table.alive).copy())
        made.indexed = facts["indexed"]
        return made

    def renumber(self, table: GrowingTable) -> None:
        """The table was compacted."""
        self.cells = Cells(self.cells.slots, table)
        self.lists, self._present = {}, np.asarray(table.alive)
        self._choose(np.asarray(table.alive))

    # The first uniques

    def _discover(self, alive: np.ndarray) -> None:
        """Minimal hitting sets of difference sets: of neighbours first, and then of rows that show a proposed unique to be none."""
        rows = np.flatnonzero(alive)
        found = [np.zeros((0, self.sets.shape[1]), np.uint64)]
        for order in islice(self.cells.orders(rows), NEIGHBOURS * len(self.names) if len(rows) > 1 else 0):
            found.append(self._differences(np.stack((order[1:], order[:-1]), axis=1)))
        edges = minimal_edges(np.concatenate(found))
        self.sets = minimal_hitting_sets(Hypergraph(edges, len(self.names))).all
        proven: set[tuple[int, ...]] = set()
        while True:
            pairs = []
            for line in unpack(self.sets):
                if tuple(line) not in proven:
                    s, t = self._twins(line, alive)
                    if s >= 0:
                        pairs.append((s, t))
                    else:
                        proven.add(tuple(line))
            if not pairs:
                return
            new = self._differences(np.array(pairs, np.int64))
            self.sets = refine(Hypergraph(np.concatenate((edges, new)), len(self.names)), self.sets, len(edges)).all
            edges = minimal_edges(np.concatenate((edges, new)))

    def _check(self, alive: np.ndarray) -> None:
        """Every invariant: indexes, coverage, and that the sets are minimal uniques and maximal non-uniques."""
        for index in self.lists.values():
            index._check(self.cells, alive)
        assert self._covered
        for line in unpack(self.sets):
            assert not self._has_duplicates(line, alive)
            assert all(self._has_duplicates([d for d in line if d != c], alive) for c in line)
        for line in unpack(self._non_uniques()):
            assert self._has_duplicates(line, alive)
            assert not any(self._has_duplicates(sorted([*line, c]), alive) for c in range(len(self.names)) if c not in line)
