"""Minimal uniques and maximal non-uniques under inserts and deletes: Swan (Abedjan, Quiane-Ruiz, Naumann, ICDE 2014).

*Inserts* (section III): a few columns are indexed so that every minimal unique has one of them. The rows that agree
with a new row on these columns are looked up once for all uniques; each is a pair of rows whose difference set uniques
have to hit. *Deletes* (section IV): a maximal non-unique stays one as long as a pair of living rows agrees on it. A
pair is kept for each; when a row of it is deleted, the position lists of that row are looked at for another one.

Where we differ: columns are chosen for an index by how often uniques have them times how many values they have (a
frequent column of two values finds half of the table); uniques are read off difference sets by the search that all
kinds of rules share; and when a non-unique has lost its pair, the search proposes uniques from the difference sets of
living pairs, and all rows prove or refute them. Section IV-B looks at the subsets of the former non-unique instead, 2^k
of them for k columns: 8 s for a row of 10,000 x 15 (make bench T=upkeep).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rowlaw.discovery.together import Dependency
from rowlaw.kernels import links as kernels
from rowlaw.kernels.duplicates import agreeing
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.maintain.cells import Cells, column_slots
from rowlaw.maintain.difference_sets import DifferenceSets
from rowlaw.maintain.equality import EqualityIndex
from rowlaw.maintain.initial import InitialDependencies, initial_dependencies
from rowlaw.maintain.protocol import Witness
from rowlaw.rules.model import Key, Nulls, Rule
from rowlaw.search.bitsets import distinct, members, pack, unpack, without, word_count
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import minimal_edges, minimal_hitting_sets, refine
from rowlaw.source.row_ids import naming_only

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer
    from rowlaw.storage.table import GrowingTable

Columns = frozenset[int]

_SPARE = 4  # columns beyond those needed that may be indexed, unless a quota is given
BATCH = 1 << 16  # pairs looked up at a time
COUNTEREXAMPLES = 10  # pairs asked for per broken unique: HyOD section V.C
PORTION, GROWTH = 64, 8  # proposed uniques that are asked about at once, and how many times more once most of them hold
SAMPLED = 1 << 15  # rows that the number of values of a column is estimated from


def select_columns(uniques: Iterable[Columns], weight: Callable[[int], float] = lambda _: 1.0) -> list[int]:
    """Columns such that every unique has one of them: the most frequent one, again and again (Algorithm 3).

    Frequency counts times ``weight``; without weights it is the paper's choice.

    >>> select_columns([frozenset("AB"), frozenset("AC"), frozenset("AD"), frozenset("CD")])
    ['A', 'C']
    """
    left = list(uniques)
    chosen: list[int] = []
    often: dict[int, float] = {}
    holding: dict[int, list[int]] = {}
    for i, unique in enumerate(left):
        for column in unique:
            often[column] = often.get(column, 0.0) + weight(column)
            holding.setdefault(column, []).append(i)
    covered = [False] * len(left)
    while not all(covered):
        best = max(sorted(often), key=often.__getitem__)
        chosen.append(best)
        for i in holding[best]:
            if not covered[i]:
                covered[i] = True
                for column in left[i]:
                    often[column] -= weight(column)
        del often[best]
    return chosen


def additional_columns(
    uniques: Sequence[Columns], chosen: Sequence[int], quota: int, selectivity: Mapping[int, float]
) -> list[int]:
    """Further columns to index, within a quota, that narrow down what the least selective of the chosen ones find
    (Algorithm 4).

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
    >>> from rowlaw.storage.table import GrowingTable
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

    def __init__(
        self, cells: Cells, sets: np.ndarray, seen: DifferenceSets, quota: int | None, alive: np.ndarray
    ) -> None:
        self.cells, self.sets, self.differences, self.quota = cells, sets, seen, quota
        self.names = cells.names
        self.unknown = cells.slots.unknown
        self.lists: dict[int, EqualityIndex] = {}  # position lists by column
        self.indexed: list[int] = []
        # uniques proposed and asked about, pairs compared, by the last batch
        self.candidates = self.validations = self._compared = 0
        self._present = alive  # the rows that a new index has to hold

    @staticmethod
    def create(
        table: GrowingTable,
        nulls: Nulls = "unknown",
        *,
        quota: int | None = None,
        columns: Sequence[str] | None = None,
        first: InitialDependencies | None = None,
    ) -> Uniques:
        """Find the uniques of the table as it is, or take them from what discovery has found.

        ``quota``: columns that may be indexed, at most (but as many as are needed).
        """
        names = (
            columns if columns is not None else [name for name in table.names if name not in naming_only(table.row_id)]
        )
        alive, empty = np.asarray(table.alive), np.zeros((1, word_count(len(names))), np.uint64)
        cells = Cells(column_slots(names, nulls, ordered=False), table)
        made = Uniques(cells, empty, DifferenceSets.none(cells), quota, alive)
        made._discover(table, alive, first)
        made._select_indexes(alive)
        return made

    @property
    def minimal(self) -> list[tuple[str, ...]]:
        """The minimal uniques, short ones first. One column at least: with less than two rows, each column is one."""
        sets = self.sets if not self._without_pairs else pack([[c] for c in range(len(self.names))], len(self.names))
        return self._named(unpack(sets))

    @property
    def rules(self) -> list[Dependency]:
        """The minimal uniques as rules."""
        return [Key(names) for names in self.minimal]

    @property
    def _without_pairs(self) -> bool:
        """Whether there are no two rows: then even no column at all is unique."""
        return len(self.sets) == 1 and not self.sets.any()

    @property
    def maximal_non(self) -> list[tuple[str, ...]]:
        """The maximal non-uniques, short ones first: what the minimal difference sets leave out."""
        everything = pack([range(len(self.names))], len(self.names))
        return self._named(unpack(everything & ~self.differences.smallest))

    def _named(self, sets: Iterable[Sequence[int]]) -> list[tuple[str, ...]]:
        return sorted(
            (tuple(sorted(self.names[c] for c in line)) for line in sets), key=lambda names: (len(names), names)
        )

    @property
    def pairs(self) -> int:
        """Pairs of rows that the last batch took comparing."""
        return self._compared

    @property
    def nbytes(self) -> int:
        return sum(index.nbytes for index in self.lists.values()) + self.cells.nbytes

    def insert(self, table: GrowingTable, inserted: np.ndarray) -> None:
        """Take new rows into account (Algorithm 1)."""
        self.apply(table, inserted, np.zeros(0, np.int64))

    def delete(self, table: GrowingTable, deleted: np.ndarray) -> None:
        """Take deleted rows into account (Algorithm 6)."""
        self.apply(table, np.zeros(0, np.int64), deleted)

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> dict[Rule, Witness]:
        """Follow a batch that deleted rows and then inserted others."""
        inserted, deleted = np.asarray(inserted, np.int64), np.asarray(deleted, np.int64)
        self.candidates = self.validations = self._compared = 0
        alive = np.asarray(table.alive)
        self._update_indexes(table, inserted, deleted)
        if len(deleted):
            before = alive.copy()
            before[inserted] = False
            self._delete(before)
        if len(inserted):
            self._insert(table, alive, inserted)
        return {}

    # Inserts

    def _insert(self, table: GrowingTable, alive: np.ndarray, inserted: np.ndarray) -> None:
        if self._without_pairs:
            self._discover(table, alive)  # there was one row at most, and nothing to go by
        else:
            self._add_pairs(self._duplicates(inserted, alive))
        if not self._covered:
            self._select_indexes(alive)

    def _duplicates(self, inserted: np.ndarray, alive: np.ndarray) -> np.ndarray:
        """Pairs of a new row and another one that agree on the indexed columns of a minimal unique. Look-ups are shared
        (Algorithm 2)."""
        indexed = pack([self.indexed], len(self.names))
        # what agrees on more columns agrees on fewer: a key that holds another one need not be looked up
        keys = minimal_edges(distinct(self.sets & indexed))
        pairs = [np.zeros((0, 2), np.int64)]
        for key in unpack(keys):
            columns = sorted(key, key=lambda c: -self._position_list(c).groups)
            if columns:  # the other indexed columns narrow the look-up down at once
                pairs.append(self._look_up(columns[0], columns, inserted, alive))
        return np.concatenate(pairs)

    def _look_up(self, column: int, agreeing: Sequence[int], rows: np.ndarray, alive: np.ndarray) -> np.ndarray:
        index, begin, blocks = self._position_list(column), np.array([0, -1], np.int64), []
        columns = np.array(agreeing, np.int64)
        while begin[0] < len(rows):
            out = np.empty((BATCH, 2), np.int64)
            blocks.append(out[: kernels.earlier(self.cells.matrix, columns, rows, index.following, alive, begin, out)])
        return np.concatenate(blocks) if blocks else np.zeros((0, 2), np.int64)

    def _add_pairs(self, pairs: np.ndarray) -> None:
        """Take in pairs of rows, and find the uniques that hit their difference sets too."""
        self._compared += len(pairs)
        hit_before = self.differences.smallest  # what the uniques hit, even if some of it is not minimal any more
        new = self.differences.add(pairs)
        if len(new):
            graph = Hypergraph(np.concatenate((hit_before, new)), len(self.names))
            self.sets = (
                refine(graph, self.sets, len(hit_before)) if len(hit_before) else minimal_hitting_sets(graph)
            ).all

    # Deletes

    def _delete(self, alive: np.ndarray) -> None:
        before = self.differences.smallest
        # section IV-B: another pair of the same non-unique is most likely beside a row that went
        gone = [
            edge
            for edge, rows in self.differences.drop_deleted(alive)
            if not any(self._find_other_pair(edge, row, alive) for row in rows)
        ]
        if int(np.count_nonzero(alive)) < 2:
            self.sets, self.differences = np.zeros((1, self.sets.shape[1]), np.uint64), DifferenceSets.none(self.cells)
            self._select_indexes(alive)
        elif gone:
            proven = self.sets
            smallest = self.differences.smallest
            if len(without(smallest, before)) or len(without(before, smallest)):
                self.sets = minimal_hitting_sets(Hypergraph(smallest, len(self.names))).all
            self._search_and_validate(alive, proven)
            if not self._covered:
                self._select_indexes(alive)

    def _find_other_pair(self, edge: np.ndarray, row: int, alive: np.ndarray) -> bool:
        """Whether two living rows agree with a row that went on all columns but those of a difference set; they are
        kept then."""
        everything = pack([range(len(self.names))], len(self.names))[0]
        line = unpack((everything & ~edge)[None, :])[0]
        columns, out = np.array(line, np.int64), np.flatnonzero(alive)[:2]
        if line:
            if self.unknown and (self.cells.matrix[row, columns] < 0).any():
                return False  # null agrees with nothing: the row had no duplicates here
            index = max((self._position_list(c) for c in line), key=lambda i: i.groups)
            out = np.empty(2, np.int64)
            out = out[
                : kernels.members(
                    self.cells.matrix, index.columns, columns, row, index.table, index.following, alive, out
                )
            ]
        if len(out) == 2:
            self.differences.add(out[None, :])
        return len(out) == 2

    def _search_and_validate(self, alive: np.ndarray, proven: np.ndarray) -> None:
        """Have proposed uniques proven or refuted by all rows, until none is refuted. Those in ``proven`` need no
        proof."""
        portion, done = PORTION, [proven]
        while True:
            asked = without(self.sets, np.concatenate(done))
            self.candidates += len(asked)
            asked = asked[:portion]
            if not len(asked):
                return
            self.validations += len(asked)
            held, pairs = self._agreeing(asked, alive)
            done.append(asked[held])
            portion = portion * GROWTH if 2 * np.count_nonzero(held) > len(held) else portion
            self._add_pairs(pairs)

    def _agreeing(self, sets: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which sets of columns are unique, and pairs of living rows that agree on the others."""
        empty = (sets == 0).all(axis=1)
        if empty.any():  # any two rows agree on no columns at all
            return ~empty, np.flatnonzero(alive)[None, :2]
        has = members(sets, len(self.names))[:, self._by_distinct_count]
        order = np.lexsort(np.packbits(has, axis=1).T[::-1])[::-1]  # neighbours have their first columns in common
        columns = self._by_distinct_count[np.nonzero(has[order])[1]]
        starts = np.concatenate(([0], np.cumsum(has[order].sum(axis=1))))
        counts, pairs = agreeing(self.cells.matrix, alive, columns, starts, self.unknown, COUNTEREXAMPLES)
        held = np.zeros(len(sets), bool)
        held[order] = counts == 0
        return held, pairs

    @cached_property
    def _by_distinct_count(self) -> np.ndarray:
        """The columns, ``int64``, those of most values first."""
        some = self.cells.matrix[:: max(1, self.cells.rows // SAMPLED)]
        return np.argsort([-len(sorted_distinct(some[:, c])) for c in range(len(self.names))], kind="stable")

    # Indexes

    @property
    def _covered(self) -> bool:
        chosen = pack([self.indexed], len(self.names))
        return bool(((self.sets & chosen).any(axis=1) | ~self.sets.any(axis=1)).all())

    def _select_indexes(self, alive: np.ndarray) -> None:
        """Choose the columns to look up: Algorithms 3 and 4."""
        uniques = [frozenset(line) for line in unpack(self.sets) if line]
        used = sorted(set().union(*uniques))
        living = np.flatnonzero(alive)
        living = living[:: max(1, len(living) // SAMPLED)]
        selectivity = {
            c: max(1, len(sorted_distinct(self.cells.matrix[living, c]))) / max(1, len(living)) for c in used
        }
        chosen = select_columns(uniques, selectivity.__getitem__)
        quota = self.quota if self.quota is not None else len(chosen) + _SPARE
        self.indexed = chosen + [c for c in additional_columns(uniques, chosen, quota, selectivity) if c not in chosen]
        for column in self.indexed:  # now, so that they are saved
            self._position_list(column)

    def _position_list(self, column: int) -> EqualityIndex:
        """The position lists of a column, made when they are first needed."""
        if column not in self.lists:
            index = EqualityIndex(self.cells, [self.names[column]], unknown=self.unknown)
            index.add_rows(self.cells, np.flatnonzero(self._present))
            self.lists[column] = index
        return self.lists[column]

    def _update_indexes(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> None:
        self.cells.append(table)
        self._present = np.asarray(table.alive).copy()
        self._present[deleted] = True
        for column in [c for c in self.lists if self.names[c] in table.relabelled]:
            del self.lists[column]
        for index in self.lists.values():
            index.add_rows(self.cells, inserted)

    def save(self, writer: Writer) -> None:
        """Write uniques, difference sets and position lists."""
        lists = [[column, index.save(writer.under(f"list-{column}"))] for column, index in self.lists.items()]
        facts = {"columns": self.names, "nulls": self.cells.slots.nulls, "quota": self.quota, "indexed": self.indexed}
        writer.json("facts", {**facts, "lists": lists})
        writer.array("sets", self.sets)
        self.differences.save(writer)

    @staticmethod
    def load(reader: Reader, table: GrowingTable) -> Uniques:
        facts = reader.json("facts")
        cells = Cells(column_slots(facts["columns"], facts["nulls"], ordered=False), table)
        seen = DifferenceSets.load(reader, cells)
        made = Uniques(cells, reader.array("sets").copy(), seen, facts["quota"], np.asarray(table.alive).copy())
        made.indexed = facts["indexed"]
        for column, saved in facts["lists"]:
            index = made.lists[column] = EqualityIndex.load(
                reader.under(f"list-{column}"), saved, cells, unknown=made.unknown
            )
            index.add_rows(cells, np.arange(index.rows, cells.rows))
        return made

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted."""
        self.cells = Cells(self.cells.slots, table)
        self.differences.renumber(self.cells, numbers)
        self.lists, self._present = {}, np.asarray(table.alive)

    def _discover(self, table: GrowingTable, alive: np.ndarray, first: InitialDependencies | None = None) -> None:
        """Take the uniques that discovery finds; pairs of rows that it looked at show why there are no others."""
        if int(np.count_nonzero(alive)) < 2:
            return
        initial = first or initial_dependencies(table, ("key",), self.cells.slots.nulls, columns=self.names)
        self.differences.add(initial.pairs)
        self.sets = minimal_hitting_sets(Hypergraph(self.differences.smallest, len(self.names))).all
        self._search_and_validate(alive, initial.keys)

    def _check(self, alive: np.ndarray) -> None:
        """Assert every invariant: indexes, coverage, difference sets, and that uniques are minimal and non-uniques
        maximal."""
        for index in self.lists.values():
            index._check(self.cells, alive)
        assert self._covered
        self.differences._check(alive)
        for line in unpack(self.sets):
            assert not self._has_duplicates(line, alive)
            assert all(self._has_duplicates([d for d in line if d != c], alive) for c in line)
        for names in self.maximal_non:
            line = [self.names.index(name) for name in names]
            assert self._has_duplicates(line, alive)
            assert not any(self._has_duplicates([*line, c], alive) for c in range(len(self.names)) if c not in line)

    def _has_duplicates(self, line: Sequence[int], alive: np.ndarray) -> bool:
        """Whether any two rows agree on some columns."""
        rows = self.cells.matrix[alive][:, list(line)]
        rows = rows[(rows >= 0).all(axis=1)] if self.unknown else rows
        return len(np.unique(rows, axis=0)) < len(rows) if line else len(rows) > 1
