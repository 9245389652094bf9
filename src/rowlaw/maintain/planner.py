"""Which indexes serve some rules at the least cost: estimates in seconds, from counts of rows and samples of them.

Six ways are compared: rows that agree on the columns of a key, rows equal across two columns, rows along chains, one
row of each distinct tuple, asking the engine, and all pairs (see :mod:`rowlaw.maintain.prover`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rowlaw.kernels.sort import sorted_distinct
from rowlaw.maintain.cells import Cells
from rowlaw.maintain.select import Agreement, Order, Plan, Price, Proof, cheapest_keys
from rowlaw.relation.pairs import random_pairs
from rowlaw.rules.model import Op
from rowlaw.rules.outcomes import ANY, EQUAL_BIT
from rowlaw.spark.jobs import cores

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

PAIR = 120e-9  # seconds that a pair found by an index costs: links, signature, place in the ledger
_TUPLE_PAIR = 20e-9  # seconds that a pair of kinds costs: mostly it breaks no rule, and nothing is written
_NEAR_PAIR = 50e-9  # seconds that a pair costs where the rows of a group lie together
PLAIN_PAIR = 15e-9  # seconds that a pair costs where all are compared
TAKE = 100e-9  # seconds that taking a row into an index costs
FETCH = 3e-6  # seconds that looking up a row in chains costs
_ASK = 150e-9  # seconds per row that the engine needs for a rule
CALL = 50e-6  # seconds that using an index costs, however few the rows
SAMPLED = 1 << 15  # rows that the number of kinds is estimated from
_HEAVY = 8  # rows that agree with a row, beyond which it is worth knowing how many kinds of them there are
_BATCHES = 10  # that an index is expected to serve
MAX_TUPLE_INDEXES = 400  # indexes for single rules, at most
_WORD = 64  # columns that fit into a word: others have no index here

_ORDERING = [int(op) for op in (Op.LT, Op.LE, Op.GT, Op.GE)]


class Planner:
    """Estimates of what looking for pairs costs, for the cells of a table. Made from samples when they are first asked
    for."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._agreement: Agreement | None = None
        self._tuple_estimates: dict[tuple[int, int], tuple[float, float]] = {}
        self._across_shares: dict[int, float] = {}
        slots, left, right = cells.slots.slots, cells.how.left, cells.how.right
        self._plain = (np.maximum(left, right) < _WORD) & cells.stable
        self._bits = np.zeros(len(slots), np.uint64)  # the bits of the columns that a slot compares
        for i in np.flatnonzero(self._plain):
            self._bits[i] = (1 << int(left[i])) | (1 << int(right[i]))
        of_labels = self._plain & (np.maximum(left, right) < len(cells.names))
        self._same = of_labels & (left == right)
        self._across = of_labels & (left != right)

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

    def batch_plan(
        self,
        ops: np.ndarray,
        rows: int,
        alive: np.ndarray,
        keys: Collection[int],
        tuples: Collection[tuple[int, int]],
    ) -> Plan | None:
        """The cheapest indexes that serve all rules for a batch of so many rows; None if comparing all pairs is
        cheaper. ``keys`` and ``tuples``: the indexes that there are."""
        living = int(np.count_nonzero(alive))
        pairs, equal = rows * living, self.equal(ops)
        agreement = self.agreement(alive)
        columns = self.columns(ops)
        otherwise = self._alone_seconds(columns, equal, rows, alive, tuples)
        price = Price(pairs * PAIR, CALL + rows * TAKE, living * TAKE / _BATCHES)
        chosen, alone = cheapest_keys(equal, otherwise, agreement, price, list(keys))
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
        seconds = price.index * len(chosen) + price.pairs * float(agreement.share(np.array(chosen, np.uint64)).sum())
        seconds += sum(self._tuple_seconds(spoken, key, rows, alive) for spoken, key in kinds)
        seconds += len(orders) * self._order_seconds(rows) + sum(
            self._across_seconds(slot, rows, alive) for slot in across
        )
        seconds += np.count_nonzero(asked) * living * _ASK
        return Plan(chosen, across, orders, kinds, asked, seconds) if seconds < pairs * PLAIN_PAIR / cores() else None

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

    def _alone_seconds(
        self,
        columns: np.ndarray,
        equal: np.ndarray,
        rows: int,
        alive: np.ndarray,
        tuples: Collection[tuple[int, int]],
    ) -> np.ndarray:
        """About what each rule costs if it is served by kinds: an index of kinds is two, and serves rules about the
        same columns only."""
        living = int(np.count_nonzero(alive))
        partners = living * self.agreement(alive).share(equal)
        seconds = CALL + rows * (2 * TAKE + partners * _TUPLE_PAIR)
        both, place = np.unique(np.stack((columns, equal), axis=1), axis=0, return_inverse=True)
        place = place.ravel()
        heavy = sorted_distinct(place[(partners > _HEAVY) & (columns != 0)])
        if len(heavy) <= MAX_TUPLE_INDEXES:
            for k in heavy.tolist():
                seconds[place == k] = self._tuple_seconds(int(both[k, 0]), int(both[k, 1]), rows, alive)
        there = (
            np.array([(int(c), int(e)) in tuples for c, e in both.tolist()], bool)[place]
            if len(both)
            else np.zeros(0, bool)
        )
        return seconds + np.where(there, 0.0, 2 * living * TAKE / _BATCHES)

    def table_plan(self, ops: np.ndarray, alive: np.ndarray, proof: Proof, keys: Collection[int]) -> list[int]:
        """The keys whose pairs, of all rows, are worth comparing for the rules that are not proven yet."""
        equal = self.equal(ops)
        todo = ~proof.serves(equal, ops)
        if not todo.any():
            return []
        rows = int(np.count_nonzero(alive))
        price = Price(rows**2 / 2 * _NEAR_PAIR, CALL + rows * TAKE, rows * TAKE)
        otherwise = np.full(int(todo.sum()), rows * _ASK + CALL)
        return cheapest_keys(equal[todo], otherwise, self.agreement(alive), price, list(keys))[0]

    def _tuple_seconds(self, columns: int, key: int, rows: int, alive: np.ndarray) -> float:
        """About what looking at kinds costs for so many rows: the share of rows that are of a kind not seen before, and
        how many kinds a group has."""
        if (columns, key) not in self._tuple_estimates:
            living = np.flatnonzero(alive)
            some = np.random.default_rng(0).choice(living, min(len(living), SAMPLED), replace=False)
            kinds, groups = (
                _numbered(self.cells.matrix[some], [self.cells.column(n) for n in self.cells.names_of(bits)])
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
        return CALL + rows * (2 * TAKE + fresh * others * _TUPLE_PAIR)

    def save(self, writer: Writer) -> dict[str, Any]:
        """Write the estimates that indexes were chosen by; what has to be known to read them."""
        facts: dict[str, Any] = {"kinds_seen": [[*kind, *estimate] for kind, estimate in self._tuple_estimates.items()]}
        if self._agreement is not None:
            facts["agreement"] = self._agreement.rows
            writer.array("agreement-masks", self._agreement.masks)
            writer.array("agreement-shares", self._agreement.shares)
        return facts

    def load(self, reader: Reader, facts: dict[str, Any]) -> None:
        """Take the estimates that were saved."""
        self._tuple_estimates = {(columns, key): (fresh, others) for columns, key, fresh, others in facts["kinds_seen"]}
        if "agreement" in facts:
            self._agreement = Agreement(
                reader.array("agreement-masks"), reader.array("agreement-shares"), facts["agreement"]
            )


def _numbered(matrix: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """A number for each row, the same for rows that agree on the columns."""
    numbers = np.zeros(len(matrix), np.int64)
    for c in columns:
        values = np.unique(matrix[:, c], return_inverse=True)[1]
        numbers = np.unique(numbers * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
    return numbers
