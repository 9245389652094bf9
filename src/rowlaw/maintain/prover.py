"""Looks for pairs of rows that break rules, among all pairs or those of a batch, through indexes or without.

The answer is evidence in the ledger, and which rules are *proven*: each pair that breaks such a rule has a signature in
the ledger. There are six ways: rows that agree on the columns of a key (it serves all rules that ask for these
equalities, whatever else they say), rows equal across two columns, rows along chains (they serve rules of two
inequalities and nothing else), one row of each kind (it serves rules about the same columns), asking the engine about a
rule that no index serves, and all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rowlaw.kernels import links as kernels
from rowlaw.maintain.cells import Cells
from rowlaw.maintain.chains import ChainIndex
from rowlaw.maintain.equality import EqualityIndex, TupleIndex
from rowlaw.maintain.ledger import Ledger
from rowlaw.maintain.planner import Planner
from rowlaw.maintain.select import Order, Plan, Proof
from rowlaw.rules.model import Op
from rowlaw.spark.jobs import DriverThreads, cores

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

THREAD_SECONDS = 0.02  # of looking at what indexes find that are worth a second thread


class Prover:
    """Indexes over the cells of a table, made as they pay."""

    def __init__(self, cells: Cells, ledger: Ledger) -> None:
        self.cells, self.ledger = cells, ledger
        self.keys: dict[int, EqualityIndex] = {}
        self.tuples: dict[tuple[int, int], TupleIndex] = {}
        self.chains: dict[tuple[int, int, bool], ChainIndex] = {}  # by two slots, and whether their columns run one way
        self.planner = Planner(cells)

    @property
    def nbytes(self) -> int:
        indexes: list[EqualityIndex | TupleIndex | ChainIndex] = [*self._indexes, *self.chains.values()]
        return sum(index.nbytes for index in indexes)

    def add_rows(self, rows: np.ndarray, relabelled: Collection[str]) -> None:
        """Rows have come; labels of some columns may have changed, and with them the indexes that use them."""
        for index in self._indexes:
            names = index.tuples.names if isinstance(index, TupleIndex) else index.names
            if not set(names).isdisjoint(relabelled):
                self.keys = {key: i for key, i in self.keys.items() if i is not index}
                self.tuples = {kind: i for kind, i in self.tuples.items() if i is not index}
            else:
                index.add_rows(self.cells, rows)
        for order, chain in list(self.chains.items()):
            if {self.cells.names[self.cells.how.left[i]] for i in order[:2]}.isdisjoint(relabelled):
                chain.extend(*self._points(order, rows))
            else:
                del self.chains[order]

    def _points(self, order: tuple[int, int, bool], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The labels of rows in the columns of two slots; rows with an unknown one are left out."""
        first, second = (self.cells.matrix[rows, self.cells.how.left[i]].astype(np.int64) for i in order[:2])
        comparable = (first >= 0) & (second >= 0) if self.cells.slots.unknown else np.ones(len(rows), bool)
        return first[comparable], second[comparable], np.asarray(rows, np.int64)[comparable]

    @property
    def _indexes(self) -> list[EqualityIndex | TupleIndex]:
        return [*self.keys.values(), *self.tuples.values()]

    def prove_batch(self, ops: np.ndarray, rows: np.ndarray, alive: np.ndarray, proof: Proof) -> np.ndarray:
        """Look at pairs of ``rows``, which came last, with all rows: then each of the rules is broken by evidence in
        the ledger, or holds; except for those that the engine has to be asked about, ``bool[rules]``."""
        asked = np.zeros(len(ops), bool)
        todo = ~proof.serves(self.planner.equal(ops), ops)
        if not todo.any() or not len(rows):
            return asked
        plan = self._plan(ops[todo], len(rows), alive)
        if plan is None:
            self.ledger.compare_all(self.cells, rows, _others(alive, rows))
            proof.keys.append(0)
            return asked
        for order in plan.orders:
            self._compare_chains(order, rows, alive)
        looks: list[Callable[[Ledger], None]] = [partial(self._compare_key, key, rows, alive) for key in plan.keys]
        looks += [partial(self._compare_across, slot, rows, alive) for slot in plan.across]
        looks += [partial(self._compare_tuples, kind, rules, rows, alive) for kind, rules in plan.tuples.items()]
        self._compare(looks, alive, threads=cores() if plan.seconds > THREAD_SECONDS else 1)
        proof.keys += plan.keys
        proof.across += [slot for slot in plan.across for slot in (slot, int(self.cells.slots.mirror[0][slot]))]
        proof.orders += plan.orders
        asked[np.flatnonzero(todo)[plan.asked]] = True
        return asked

    def _compare_across(self, slot: int, rows: np.ndarray, alive: np.ndarray, ledger: Ledger) -> None:
        """See the pairs of rows with living rows that are equal across two columns, in either direction (IncDC section
        7)."""
        left, right = int(self.cells.how.left[slot]), int(self.cells.how.right[slot])
        for mine, other, is_s in ((left, right, True), (right, left, False)):
            index = self.key(1 << other, alive)
            ledger.replace_pages(
                self.cells.slots,
                kernels.compare_across(
                    self.cells.matrix,
                    self.cells.how,
                    rows,
                    mine,
                    other,
                    is_s,
                    index.table,
                    index.following,
                    alive,
                    ledger.pages,
                ),
            )

    def _compare_key(self, key: int, rows: np.ndarray, alive: np.ndarray, ledger: Ledger) -> None:
        self.key(key, alive).compare(self.cells, rows, alive, ledger)

    def _compare_tuples(
        self, kind: tuple[int, int], rules: np.ndarray, rows: np.ndarray, alive: np.ndarray, ledger: Ledger
    ) -> None:
        self.tuple_index(*kind, alive).compare(self.cells, rows, alive, rules, ledger)

    def _compare(self, asked: Sequence[Callable[[Ledger], None]], alive: np.ndarray, *, threads: int) -> None:
        """See rows with those that indexes find for them. A thread makes a ledger of its own, and takes the next index
        when it is done with one."""
        todo = iter(asked)

        def work(ledger: Ledger) -> Ledger:
            for see in todo:
                see(ledger)
            return ledger

        if threads == 1:
            work(self.ledger)
            return
        ledgers = [Ledger(self.cells.slots.words, counted=False) for _ in range(threads)]
        same = np.arange(len(alive))
        for seen in DriverThreads(threads).map(work, ledgers, "compare the rows of a batch"):
            self.ledger.merge(seen, same, self.cells.slots)

    def _compare_chains(self, order: Order, rows: np.ndarray, alive: np.ndarray) -> None:
        """See the pairs of rows with living rows that two inequalities hold for, in either direction (Fetch)."""
        chain = self.chain(order, alive)
        first, second, points_rows = self._points(order.chains, rows)
        points = np.stack((first, second), axis=1)
        one, other = Op(order.first_op), Op(order.second_op)
        matches = np.concatenate(
            (chain.fetch_many(points, one, other), chain.fetch_many(points, one.swapped, other.swapped))
        )
        s_rows, t_rows = points_rows[matches[:, 0]], matches[:, 1]
        good = alive[t_rows] & (t_rows != s_rows)
        self.ledger.compare_pairs(self.cells, s_rows[good], t_rows[good])

    def batch_seconds(self, ops: np.ndarray, rows: int, alive: np.ndarray) -> float:
        """About how long looking at the pairs of so many new rows would take with indexes."""
        plan = self._plan(ops, rows, alive)
        return plan.seconds if plan is not None else float("inf")

    def prepare(self, ops: np.ndarray, rows: int, alive: np.ndarray) -> None:
        """Make the indexes that batches of about so many rows will ask for."""
        plan = self._plan(ops, rows, alive)
        if plan is not None:
            for key in plan.keys:
                self.key(key, alive)
            for slot in plan.across:
                self.key(1 << int(self.cells.how.left[slot]), alive)
                self.key(1 << int(self.cells.how.right[slot]), alive)
            for order in plan.orders:
                self.chain(order, alive)
            for columns, key in plan.tuples:
                self.tuple_index(columns, key, alive)

    def _plan(self, ops: np.ndarray, rows: int, alive: np.ndarray) -> Plan | None:
        return self.planner.batch_plan(ops, rows, alive, self.keys, self.tuples)

    def prove_all(self, ops: np.ndarray, alive: np.ndarray, proof: Proof) -> np.ndarray:
        """Look at all pairs that agree on keys which serve many of the rules; which rules the engine has to be asked
        about."""
        for key in self.planner.table_plan(ops, alive, proof, self.keys):
            index = self.keys.get(key) or self._built(key, alive)
            index.compare_groups(self.cells, alive, self.ledger)
            proof.keys.append(key)
        return ~proof.serves(self.planner.equal(ops), ops)

    def key(self, key: int, alive: np.ndarray) -> EqualityIndex:
        """The index of a key, made if there is none."""
        if key not in self.keys:
            self.keys[key] = self._built(key, alive)
        return self.keys[key]

    def _built(self, key: int, alive: np.ndarray) -> EqualityIndex:
        index = EqualityIndex(self.cells, self.cells.names_of(key), unknown=self.cells.slots.unknown)
        index.add_rows(self.cells, np.flatnonzero(alive))
        return index

    def tuple_index(self, columns: int, key: int, alive: np.ndarray) -> TupleIndex:
        """The index of kinds for rules about some columns that ask for equality in those of a key, made if there is
        none."""
        if (columns, key) not in self.tuples:
            names, equal = self.cells.names_of(columns), self.cells.names_of(key)
            index = TupleIndex(self.cells, names, equal, unknown=self.cells.slots.unknown)
            index.add_rows(self.cells, np.flatnonzero(alive))
            self.tuples[columns, key] = index
        return self.tuples[columns, key]

    def chain(self, order: Order, alive: np.ndarray) -> ChainIndex:
        """The chains along which a rule of two inequalities is not broken, made if there are none."""
        if order.chains not in self.chains:
            index = self.chains[order.chains] = ChainIndex(Op.GE, Op.LE if order.chains[2] else Op.GE)
            index.build(*self._points(order.chains, np.flatnonzero(alive)))
        return self.chains[order.chains]

    def save(self, writer: Writer) -> None:
        """Write the indexes and the estimates that they were chosen by."""
        facts: dict[str, Any] = {
            "keys": [[key, index.save(writer.under(f"key-{key:x}"))] for key, index in self.keys.items()],
            "kinds": [
                [*kind, index.save(writer.under(f"kind-{kind[0]:x}-{kind[1]:x}"))]
                for kind, index in self.tuples.items()
            ],
            "chains": list(self.chains),
            **self.planner.save(writer),
        }
        for order, chain in self.chains.items():
            chain.save(writer.under(f"chain-{order[0]}-{order[1]}-{order[2]:d}"))
        writer.json("indexes", facts)

    def load(self, reader: Reader) -> None:
        """Take the indexes that were saved, with the rows that came since."""
        facts, unknown = reader.json("indexes"), self.cells.slots.unknown
        for key, saved in facts["keys"]:
            self.keys[key] = EqualityIndex.load(reader.under(f"key-{key:x}"), saved, self.cells, unknown=unknown)
        for columns, key, saved in facts["kinds"]:
            self.tuples[columns, key] = TupleIndex.load(
                reader.under(f"kind-{columns:x}-{key:x}"), saved, self.cells, unknown=unknown
            )
        for index in self._indexes:
            indexed_rows = index.tuples.rows if isinstance(index, TupleIndex) else index.rows
            index.add_rows(self.cells, np.arange(indexed_rows, self.cells.rows))
        for first, second, along in facts["chains"]:
            chain = self.chains[first, second, along] = ChainIndex(Op.GE, Op.LE if along else Op.GE)
            indexed_rows = chain.load(reader.under(f"chain-{first}-{second}-{along:d}"))
            chain.extend(*self._points((first, second, along), np.arange(indexed_rows, self.cells.rows)))
        self.planner.load(reader, facts)

    def _check(self, alive: np.ndarray) -> None:
        """Every invariant of every index."""
        for index in self._indexes:
            index._check(self.cells, alive)
        for chain in self.chains.values():
            chain._check()


def _others(alive: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The living rows but for some."""
    there = alive.copy()
    there[rows] = False
    return np.flatnonzero(there)
