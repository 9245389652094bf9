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
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.maintain.cells import Cells
from rowlaw.maintain.chains import ChainIndex
from rowlaw.maintain.equality import EqualityIndex, TupleIndex
from rowlaw.maintain.ledger import Ledger
from rowlaw.maintain.select import Agreement, Order, Plan, Price, Proof, cheapest_keys
from rowlaw.relation.pairs import random_pairs
from rowlaw.rules.model import Op
from rowlaw.rules.outcomes import ANY, EQUAL_BIT
from rowlaw.spark.jobs import DriverThreads, cores

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

PAIR = 120e-9  # seconds that a pair found by an index costs: links, signature, place in the ledger
TUPLE_PAIR = 20e-9  # seconds that a pair of kinds costs: mostly it breaks no rule, and nothing is written
NEAR_PAIR = 50e-9  # seconds that a pair costs where the rows of a group lie together
PLAIN_PAIR = 15e-9  # seconds that a pair costs where all are compared
TAKE = 100e-9  # seconds that taking a row into an index costs
FETCH = 3e-6  # seconds that looking up a row in chains costs
ASK = 150e-9  # seconds per row that the engine needs for a rule
CALL = 50e-6  # seconds that using an index costs, however few the rows
SAMPLED = 1 << 15  # rows that the number of kinds is estimated from
HEAVY = 8  # rows that agree with a row, beyond which it is worth knowing how many kinds of them there are
THREAD_SECONDS = 0.02  # of looking at what indexes find that are worth a second thread
BATCHES = 10  # that an index is expected to serve
MAX_TUPLE_INDEXES = 400  # indexes for single rules, at most
WORD = 64  # columns that fit into a word: others have no index here

_ORDERING = [int(op) for op in (Op.LT, Op.LE, Op.GT, Op.GE)]


class Prover:
    """Indexes over the cells of a table, made as they pay."""

    def __init__(self, cells: Cells, ledger: Ledger) -> None:
        self.cells, self.ledger = cells, ledger
        self.keys: dict[int, EqualityIndex] = {}
        self.tuples: dict[tuple[int, int], TupleIndex] = {}
        self.chains: dict[tuple[int, int, bool], ChainIndex] = {}  # by two slots, and whether their columns run one way
        self._agreement: Agreement | None = None
        self._tuple_estimates: dict[tuple[int, int], tuple[float, float]] = {}
        self._across_shares: dict[int, float] = {}
        slots, left, right = cells.slots.slots, cells.how.left, cells.how.right
        self._plain = (np.maximum(left, right) < WORD) & cells.stable
        self._bits = np.zeros(len(slots), np.uint64)  # the bits of the columns that a slot compares
        for i in np.flatnonzero(self._plain):
            self._bits[i] = (1 << int(left[i])) | (1 << int(right[i]))
        of_labels = self._plain & (np.maximum(left, right) < len(cells.names))
        self._same = of_labels & (left == right)
        self._across = of_labels & (left != right)

    @property
    def nbytes(self) -> int:
        indexes: list[EqualityIndex | TupleIndex | ChainIndex] = [*self._indexes, *self.chains.values()]
        return sum(index.nbytes for index in indexes)

    def equal(self, ops: np.ndarray) -> np.ndarray:
        """For rules, given as the outcomes they accept in each slot, the columns they ask to be equal, as bits."""
        columns = np.zeros(len(ops), np.uint64)
        for i in np.flatnonzero(self._same):
            columns |= np.where(ops[:, i] == EQUAL_BIT, self._bits[i], np.uint64(0))
        return columns

    def columns(self, ops: np.ndarray) -> np.ndarray:
        """The columns that rules speak of, as bits; 0 for rules that no index of kinds can serve."""
        used = np.zeros(len(ops), np.uint64)
        for i in range(ops.shape[1]):
            used |= np.where(ops[:, i] != ANY, self._bits[i], np.uint64(0))
        odd = (ops[:, ~self._plain] != ANY).any(axis=1)
        return np.where(odd, np.uint64(0), used)

    def agreement(self, alive: np.ndarray) -> Agreement:
        living = int(np.count_nonzero(alive))
        estimate = self._agreement
        if estimate is None or not estimate.rows / 2 <= living <= 2 * estimate.rows:
            self._tuple_estimates, self._across_shares = {}, {}
            estimate = self._agreement = Agreement.of(
                self.cells.matrix[:, : len(self.cells.names)], np.flatnonzero(alive), unknown=self.cells.slots.unknown
            )
        return estimate

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
        todo = ~proof.serves(self.equal(ops), ops)
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
        """The cheapest indexes that serve all rules for a batch of so many rows; None if comparing all pairs is
        cheaper."""
        living = int(np.count_nonzero(alive))
        pairs, equal = rows * living, self.equal(ops)
        agreement = self.agreement(alive)
        columns = self.columns(ops)
        otherwise = self._alone_seconds(columns, equal, rows, alive)
        price = Price(pairs * PAIR, CALL + rows * TAKE, living * TAKE / BATCHES)
        keys, alone = cheapest_keys(equal, otherwise, agreement, price, list(self.keys))
        across, alone = self._chosen_across(ops, otherwise, alone, rows, alive)
        orders, others = self._orders(ops[alone], otherwise[alone], rows)
        left = np.flatnonzero(alone)[others]
        numbers: dict[tuple[int, int], list[int]] = {}
        for i, kind in zip(left.tolist(), zip(columns[left].tolist(), equal[left].tolist(), strict=True), strict=True):
            numbers.setdefault(kind, []).append(i)
        served = [kind for kind in sorted(numbers, key=lambda kind: -len(numbers[kind])) if kind[0]][:MAX_TUPLE_INDEXES]
        kinds = {kind: ops[numbers[kind]] for kind in served}
        asked = np.zeros(len(ops), bool)
        asked[[i for kind, some in numbers.items() if kind not in kinds for i in some]] = True
        seconds = price.index * len(keys) + price.pairs * float(agreement.share(np.array(keys, np.uint64)).sum())
        seconds += sum(self._tuple_seconds(spoken, key, rows, alive) for spoken, key in kinds)
        seconds += len(orders) * self._order_seconds(rows) + sum(
            self._across_seconds(slot, rows, alive) for slot in across
        )
        seconds += np.count_nonzero(asked) * living * ASK
        return Plan(keys, across, orders, kinds, asked, seconds) if seconds < pairs * PLAIN_PAIR / cores() else None

    def _chosen_across(
        self, ops: np.ndarray, otherwise: np.ndarray, alone: np.ndarray, rows: int, alive: np.ndarray
    ) -> tuple[list[int], np.ndarray]:
        """Equalities across two columns whose pairs cost less than the rules that ask for them; and which rules are
        left."""
        chosen: list[int] = []
        alone = alone.copy()
        mirror = self.cells.slots.mirror[0]
        for slot in np.flatnonzero(self._across).tolist():
            mine = alone & ((ops[:, slot] == EQUAL_BIT) | (ops[:, mirror[slot]] == EQUAL_BIT))
            if mine.any() and self._across_seconds(slot, rows, alive) < float(otherwise[mine].sum()):
                chosen.append(slot)
                alone &= ~mine
        return chosen, alone

    def _across_seconds(self, slot: int, rows: int, alive: np.ndarray) -> float:
        """About what looking at the pairs costs that are equal across two columns, by a sample of random pairs."""
        if slot not in self._across_shares:
            living = np.flatnonzero(alive)
            s_rows, t_rows = random_pairs(len(living), SAMPLED)
            s = self.cells.matrix[living[s_rows], self.cells.how.left[slot]]
            t = self.cells.matrix[living[t_rows], self.cells.how.right[slot]]
            comparable = (s >= 0) if self.cells.slots.unknown else np.ones(len(s), bool)
            self._across_shares[slot] = np.count_nonzero((s == t) & comparable) / max(1, len(s))
        pairs = 2 * rows * np.count_nonzero(alive) * self._across_shares[slot]
        return 2 * (CALL + rows * TAKE) + float(pairs) * PAIR

    def _orders(self, ops: np.ndarray, otherwise: np.ndarray, rows: int) -> tuple[list[Order], np.ndarray]:
        """Rules that are nothing but two inequalities, each of one column, if chains serve them better; and which rules
        are left.

        Such a rule says that its two columns, one of them turned, run one way: so there is a single chain.
        """
        used = ops != ANY
        fitting = (used.sum(axis=1) == 2) & ~used[:, ~self._same].any(axis=1) & np.isin(ops, _ORDERING).any(axis=1)
        fitting &= (np.isin(ops, _ORDERING) == used).all(axis=1) & (otherwise > self._order_seconds(rows))
        orders = []
        for accepted in ops[fitting]:
            first, second = np.flatnonzero(accepted != ANY).tolist()
            orders.append(Order(first, int(accepted[first]), second, int(accepted[second])))
        return list(dict.fromkeys(orders)), np.flatnonzero(~fitting)

    def _order_seconds(self, rows: int) -> float:
        return 4 * CALL + rows * FETCH

    def _alone_seconds(self, columns: np.ndarray, equal: np.ndarray, rows: int, alive: np.ndarray) -> np.ndarray:
        """About what each rule costs if it is served by kinds: an index of kinds is two, and serves rules about the
        same columns only."""
        living = int(np.count_nonzero(alive))
        partners = living * self.agreement(alive).share(equal)
        seconds = CALL + rows * (2 * TAKE + partners * TUPLE_PAIR)
        both, place = np.unique(np.stack((columns, equal), axis=1), axis=0, return_inverse=True)
        place = place.ravel()
        heavy = sorted_distinct(place[(partners > HEAVY) & (columns != 0)])
        if len(heavy) <= MAX_TUPLE_INDEXES:
            for k in heavy.tolist():
                seconds[place == k] = self._tuple_seconds(int(both[k, 0]), int(both[k, 1]), rows, alive)
        there = (
            np.array([(int(c), int(e)) in self.tuples for c, e in both.tolist()], bool)[place]
            if len(both)
            else np.zeros(0, bool)
        )
        return seconds + np.where(there, 0.0, 2 * living * TAKE / BATCHES)

    def prove_all(self, ops: np.ndarray, alive: np.ndarray, proof: Proof) -> np.ndarray:
        """Look at all pairs that agree on keys which serve many of the rules; which rules the engine has to be asked
        about."""
        equal = self.equal(ops)
        todo = ~proof.serves(equal, ops)
        if todo.any():
            rows = np.flatnonzero(alive)
            agreement = self.agreement(alive)
            price = Price(len(rows) ** 2 / 2 * NEAR_PAIR, CALL + len(rows) * TAKE, len(rows) * TAKE)
            otherwise = np.full(int(todo.sum()), len(rows) * ASK + CALL)
            chosen, _ = cheapest_keys(equal[todo], otherwise, agreement, price, list(self.keys))
            for key in chosen:
                index = self.keys.get(key) or self._built(key, alive)
                index.compare_groups(self.cells, alive, self.ledger)
                proof.keys.append(key)
        return ~proof.serves(equal, ops)

    def key(self, key: int, alive: np.ndarray) -> EqualityIndex:
        """The index of a key, made if there is none."""
        if key not in self.keys:
            self.keys[key] = self._built(key, alive)
        return self.keys[key]

    def _built(self, key: int, alive: np.ndarray) -> EqualityIndex:
        index = EqualityIndex(self.cells, self._names(key), unknown=self.cells.slots.unknown)
        index.add_rows(self.cells, np.flatnonzero(alive))
        return index

    def tuple_index(self, columns: int, key: int, alive: np.ndarray) -> TupleIndex:
        """The index of kinds for rules about some columns that ask for equality in those of a key, made if there is
        none."""
        if (columns, key) not in self.tuples:
            index = TupleIndex(self.cells, self._names(columns), self._names(key), unknown=self.cells.slots.unknown)
            index.add_rows(self.cells, np.flatnonzero(alive))
            self.tuples[columns, key] = index
        return self.tuples[columns, key]

    def chain(self, order: Order, alive: np.ndarray) -> ChainIndex:
        """The chains along which a rule of two inequalities is not broken, made if there are none."""
        if order.chains not in self.chains:
            index = self.chains[order.chains] = ChainIndex(Op.GE, Op.LE if order.chains[2] else Op.GE)
            index.build(*self._points(order.chains, np.flatnonzero(alive)))
        return self.chains[order.chains]

    def _names(self, bits: int) -> list[str]:
        return [name for i, name in enumerate(self.cells.column_names) if bits >> i & 1]

    def _tuple_seconds(self, columns: int, key: int, rows: int, alive: np.ndarray) -> float:
        """About what looking at kinds costs for so many rows: the share of rows that are of a kind not seen before, and
        how many kinds a group has."""
        if (columns, key) not in self._tuple_estimates:
            living = np.flatnonzero(alive)
            some = np.random.default_rng(0).choice(living, min(len(living), SAMPLED), replace=False)
            kinds, groups = (
                _numbered(self.cells.matrix[some], [self.cells.column(n) for n in self._names(bits)])
                for bits in (columns, key)
            )
            often = np.bincount(kinds)
            founder = np.unique(kinds, return_index=True)[1]
            in_group = np.bincount(groups[founder])
            self._tuple_estimates[columns, key] = (
                float((often == 1).sum() / len(some)),
                float(in_group[groups].mean()),
            )
        fresh, others = self._tuple_estimates[columns, key]
        return CALL + rows * (2 * TAKE + fresh * others * TUPLE_PAIR)

    def save(self, writer: Writer) -> None:
        """Write the indexes and the estimates that they were chosen by."""
        facts: dict[str, Any] = {
            "keys": [[key, index.save(writer.under(f"key-{key:x}"))] for key, index in self.keys.items()],
            "kinds": [
                [*kind, index.save(writer.under(f"kind-{kind[0]:x}-{kind[1]:x}"))]
                for kind, index in self.tuples.items()
            ],
            "chains": list(self.chains),
            "kinds_seen": [[*kind, *estimate] for kind, estimate in self._tuple_estimates.items()],
        }
        for order, chain in self.chains.items():
            chain.save(writer.under(f"chain-{order[0]}-{order[1]}-{order[2]:d}"))
        if self._agreement is not None:
            facts["agreement"] = self._agreement.rows
            writer.array("agreement-masks", self._agreement.masks)
            writer.array("agreement-shares", self._agreement.shares)
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
        self._tuple_estimates = {(columns, key): (fresh, others) for columns, key, fresh, others in facts["kinds_seen"]}
        if "agreement" in facts:
            self._agreement = Agreement(
                reader.array("agreement-masks"), reader.array("agreement-shares"), facts["agreement"]
            )

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


def _numbered(matrix: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """A number for each row, the same for rows that agree on the columns."""
    numbers = np.zeros(len(matrix), np.int64)
    for c in columns:
        values = np.unique(matrix[:, c], return_inverse=True)[1]
        numbers = np.unique(numbers * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
    return numbers
