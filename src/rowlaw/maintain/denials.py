"""Denial constraints that follow a table: the conversation of discovery, continued after each batch.

*Inserts* (IncDC section 8): only pairs with a new row can break a rule. The prover finds those that may, their
signatures become evidence, and new evidence refines the search where it stands. *Deletes*, which the paper leaves open:
a rule that holds goes on holding, but a shorter or weaker one may hold now. Evidence that no living pair shows any more
is dropped, the search proposes what the rest allows, and each proposal is proven or refuted by all rows; what refutes
it is evidence again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.approximate import approximate_sets, pairs_allowed
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.denial import Denials, discover_denials
from rowlaw.engine.local.rows import RowEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.maintain.cells import Cells, detached_slots
from rowlaw.maintain.initial import RecordingEngine, check_complete
from rowlaw.maintain.ledger import Ledger
from rowlaw.maintain.planner import PLAIN_PAIR
from rowlaw.maintain.prover import Prover
from rowlaw.maintain.select import Proof
from rowlaw.progress import Progress
from rowlaw.rules.model import Nulls, Predicate
from rowlaw.search import edges as edge_kernels
from rowlaw.search.bitsets import distinct, without
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import minimal_hitting_sets, refine
from rowlaw.spark.jobs import cores
from rowlaw.storage.rulebook import pack_predicate, read_predicate

if TYPE_CHECKING:
    from rowlaw.relation.relation import Relation
    from rowlaw.storage.store import Reader, Writer
    from rowlaw.storage.table import GrowingTable

FEW_ROWS = 4096  # living rows up to which all pairs are always counted
_ONE_IN = 100  # part of the rows that a batch is expected to bring, where the two ways are compared
_GROWING = 2  # times that indexes may cost more than counting: as the table grows they cost less
MAX_SECONDS = 4.0  # of counting the pairs of such a batch
COUNTEREXAMPLES = 20  # pairs asked for per broken rule


@dataclass
class Changed:
    """How the rules changed: sets of atoms that came and went, each with a pair of rows that shows why (or -1, -1)."""

    removed: np.ndarray
    removed_pairs: np.ndarray
    added: np.ndarray
    added_pairs: np.ndarray


@dataclass
class MaintainedDenials:
    """All minimal denial constraints of a table, as sets of atoms (``sets``: one of each two that exchange ``s`` and
    ``t``).

    ``edges[k]`` is the edge of signature k of the ledger.
    """

    space: tuple[Predicate, ...]
    atoms: Atoms
    cells: Cells
    ledger: Ledger
    sets: np.ndarray
    error: float = 0.0
    judged_at: int = 0  # living rows when it was last judged whether counting pays
    edges: np.ndarray = field(init=False)
    prover: Prover = field(init=False)
    candidates: int = field(init=False, default=0)  # rules that searches proposed during the last batch
    validations: int = field(init=False, default=0)  # rules that all rows had to prove
    _counting_forced: bool | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.edges = self.atoms.edges(self.ledger.signatures)
        self.prover = Prover(self.cells, self.ledger)

    @staticmethod
    def create(
        table: GrowingTable,
        space: tuple[Predicate, ...],
        nulls: Nulls,
        *,
        error: float = 0.0,
        counted: bool | None = None,
        progress: Progress | None = None,
        deadline: Deadline | None = None,
    ) -> tuple[MaintainedDenials, Denials]:
        """Discover the rules of a table and what is needed to keep them current. ``counted``: count all pairs, or do
        not; else as is cheaper."""
        engine, limit = RecordingEngine(table.relation(), nulls), deadline or Deadline()
        discovered = discover_denials(engine, space, error=error, progress=progress, deadline=limit)
        check_complete(limit, discovered.partial)
        atoms = Atoms(
            detached_slots(discovered.atoms.slots.slots, nulls),
            discovered.atoms.predicates,
            discovered.atoms.slot,
            discovered.atoms.weak,
        )
        cells = Cells(atoms.slots, table)
        made = MaintainedDenials(
            space, atoms, cells, Ledger(atoms.slots.words, counted=True), discovered.sets, error, table.living
        )
        made._counting_forced = counted
        if counted is None:
            counted = error > 0 or made._counting_pays(table)
        if counted or error > 0:
            if discovered.all_pairs:
                made.ledger.add_known(discovered.evidence.signatures, discovered.evidence.counts, atoms.slots)
                cells.sorted_by_similarity(np.arange(cells.rows))  # now rather than with the first batch
            else:
                made.ledger.compare_all(cells, np.flatnonzero(table.alive), np.zeros(0, np.int64))
                made.ledger.end_batch(1)
            made._update_edges()
        else:
            made._find_witnesses(table, discovered.evidence.signatures, engine.table_pairs)
        return made, discovered

    def _counting_pays(self, table: GrowingTable) -> bool:
        """Whether counting all pairs of batches is cheaper than looking at those that indexes find."""
        living = table.living
        if living <= FEW_ROWS:
            return True
        rows = max(1, living // _ONE_IN)
        seconds = rows * living * PLAIN_PAIR / cores()
        return (
            seconds < MAX_SECONDS
            and self.prover.batch_seconds(self.ops(self.sets), rows, table.alive) > _GROWING * seconds
        )

    def _find_witnesses(self, table: GrowingTable, signatures: np.ndarray, pairs: np.ndarray) -> None:
        """Keep witnesses of signatures that are known to be true, and of as many others as it takes to refute all rules
        but those that hold. ``pairs`` of rows are known to show some of them."""
        slots, alive = self.atoms.slots, np.asarray(table.alive)
        self.ledger = self.prover.ledger = Ledger(slots.words, counted=False)
        self.edges = self.atoms.edges(self.ledger.signatures)
        self.ledger.add_known(signatures, None, slots)
        self.ledger.compare_pairs(self.cells, *pairs.T)
        self.ledger.sample(self.cells, np.flatnonzero(alive))
        proof = Proof()
        self.prover.prove_all(self.ops(self.sets), alive, proof)
        self._update_edges()
        unwitnessed = self.ledger.drop_unwitnessed()
        if len(unwitnessed):
            self._search_and_validate(table, alive)
        self.prover.prepare(self.ops(self.sets), max(1, table.living // _ONE_IN), alive)

    # Batches

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Changed:
        """Follow a batch that the table has taken in."""
        before = self.chosen
        self.candidates = self.validations = self.ledger.compared = 0
        alive = np.asarray(table.alive)
        stayed = table.living - len(inserted)
        if min(stayed, stayed + len(deleted), table.living) < 2:  # no pairs, and nothing to go by
            fresh, _ = MaintainedDenials.create(
                table, self.space, self.atoms.slots.nulls, error=self.error, counted=self._counting_forced
            )
            self.atoms, self.cells, self.ledger, self.sets = fresh.atoms, fresh.cells, fresh.ledger, fresh.sets
            self.edges, self.prover, self.judged_at = fresh.edges, fresh.prover, fresh.judged_at
            return self._changed(before, _NOTHING, _NOTHING)
        self.cells.append(table, deleted)
        self.prover.add_rows(inserted, table.relabelled)
        gone, came = _NOTHING, _NOTHING
        if len(deleted):
            there = alive.copy()
            there[inserted] = False
            gone = self._delete(table, there, deleted)
        if len(inserted):
            came = self._insert(table, alive, inserted)
        if self.error > 0 and (len(inserted) or len(deleted)):
            self._approximate(table.living)
        elif self.ledger.counted and self._counting_forced is None and table.living > 2 * self.judged_at:
            self.judged_at = table.living
            if not self._counting_pays(table):
                self._find_witnesses(table, self.ledger.signatures[self.ledger.holds], np.zeros((0, 2), np.int64))
        return self._changed(before, gone, came)

    def _insert(self, table: GrowingTable, alive: np.ndarray, inserted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The edges that came with new rows, and a pair for each."""
        held_before = self.ledger.holds
        self.ledger.begin_batch()
        if self.ledger.counted:
            there = alive.copy()
            there[inserted] = False
            self.ledger.compare_all(self.cells, inserted, np.flatnonzero(there))
            fresh = self.ledger.end_batch(1)
            self._update_edges()
            self._refine(held_before, fresh)
            return self._edges_of(fresh)
        proof, proven = Proof(), list[np.ndarray]()
        new_places: list[np.ndarray] = []
        while True:
            sets = self._unproven(proof, proven)
            if not len(sets):
                break
            asked = self.prover.prove_batch(self.ops(sets), inserted, alive, proof)
            proven += [sets[~asked], self._ask(table, alive, sets[asked])]
            self._update_edges()
            fresh = self.ledger.since(held_before)
            self._refine(held_before, fresh)
            held_before = self.ledger.holds
            new_places.append(fresh)
        return self._edges_of(np.concatenate(new_places) if new_places else np.zeros(0, np.int64))

    def _delete(self, table: GrowingTable, alive: np.ndarray, deleted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The edges that went with rows, and a pair of each."""
        if self.ledger.counted:
            self.ledger.begin_batch()
            self.ledger.compare_all(self.cells, deleted, np.flatnonzero(alive))
            gone = self.ledger.end_batch(-1)
            self._update_edges()
            if len(gone):
                self._search()
            return self._edges_of(gone)
        before = self.ledger.witness_pairs(np.arange(len(self.ledger)))
        lost = self.ledger.drop_deleted(alive)
        if not len(lost):
            return _NOTHING
        self._search_and_validate(table, alive)
        gone = lost[~self.ledger.holds[lost]]
        return self.edges[gone], before[gone]

    def _search_and_validate(self, table: GrowingTable, alive: np.ndarray) -> None:
        """Search, and have what it proposes, besides the rules there are, proven or refuted by all rows, until nothing
        is refuted."""
        proof, proven = Proof(), [self.sets]
        self._search()
        while True:
            sets = self._unproven(proof, proven)
            if not len(sets):
                return
            held_before = self.ledger.holds
            asked = self.prover.prove_all(self.ops(sets), alive, proof)
            proven.append(self._ask(table, alive, sets[asked]))
            self._update_edges()
            self._refine(held_before, self.ledger.since(held_before))

    def _unproven(self, proof: Proof, proven: Sequence[np.ndarray]) -> np.ndarray:
        sets = self.chosen
        if proven:
            sets = without(sets, np.concatenate(proven))
        ops = self.ops(sets)
        left = sets[~proof.serves(self.prover.planner.equal(ops), ops)]
        self.candidates += len(left)
        return left

    def _ask(self, table: GrowingTable, alive: np.ndarray, sets: np.ndarray) -> np.ndarray:
        """Ask the engine about rules that no index serves; those that hold."""
        self._update_edges()
        edges = self.edges[self.ledger.holds]
        # evidence that indexes have brought may have refuted some
        sets = sets[[bool((edges & s).any(axis=1).all()) for s in sets]]
        if not len(sets):
            return sets
        self.validations += len(sets)
        rows = np.flatnonzero(alive).astype(np.int32)
        relation = table.relation() if len(rows) == table.living else table.relation(rows)
        engine = RowEngine(relation, self.atoms.slots.nulls)
        answers = engine.violating_pairs(self.atoms.denials(sets), COUNTEREXAMPLES)
        broken = [rows[pairs_of_rule] for pairs_of_rule in answers if len(pairs_of_rule)]
        if broken:
            pairs = np.concatenate(broken)
            alone = pairs[:, 0] == pairs[:, 1]  # a row that breaks a rule about single rows does so beside any other
            pairs[alone, 1] = np.where(pairs[alone, 0] == rows[0], rows[-1], rows[0])
            self.ledger.compare_pairs(self.cells, *pairs.T)
        return sets[[not len(pairs_of_rule) for pairs_of_rule in answers]]

    @property
    def pairs(self) -> int:
        """Pairs of rows that the last batch took comparing."""
        return self.ledger.compared

    @property
    def nbytes(self) -> int:
        return self.prover.nbytes + self.cells.nbytes

    # Search

    @property
    def chosen(self) -> np.ndarray:
        """The sets as rules: where nothing speaks against anything, each atom alone."""
        if len(self.sets) == 1 and not self.sets.any():
            return self.atoms.one_of_each(self.atoms.pack([[v] for v in range(len(self.atoms.predicates))]))
        return self.sets

    def _graph(self, edges: np.ndarray) -> Hypergraph:
        return Hypergraph(edges, len(self.atoms.predicates), self.atoms.forbidden, self.atoms.exchange)

    def _search(self) -> None:
        if not self.error:
            self.sets = minimal_hitting_sets(self._graph(self.edges[self.ledger.holds]), threads=cores()).all

    def _refine(self, held_before: np.ndarray, fresh: np.ndarray) -> None:
        """Take new edges into account; ``held_before`` are the places of those that the sets hit already."""
        if not len(fresh) or self.error:
            return
        new, old = distinct(self.edges[fresh]), self.edges[: len(held_before)][held_before]
        graph = self._graph(np.concatenate((old, new)))
        self.sets = refine(graph, self.sets, len(old), threads=cores()).all

    def _approximate(self, living: int) -> None:
        budget = pairs_allowed(self.error, living * (living - 1))
        holds = self.ledger.holds
        evidence = EvidenceSet(self.ledger.signatures[holds], self.ledger.counts[: len(holds)][holds])
        sets = self.atoms.consistent(approximate_sets(self.atoms, evidence, budget, Deadline()))
        self.sets = self.atoms.one_of_each(sets)

    def _update_edges(self) -> None:
        """The edges of signatures that are new in the ledger."""
        if len(self.edges) < len(self.ledger):
            self.edges = np.concatenate((self.edges, self.atoms.edges(self.ledger.signatures[len(self.edges) :])))

    def _edges_of(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.edges[places], self.ledger.witness_pairs(places)

    # What changed

    def _changed(
        self, before: np.ndarray, gone: tuple[np.ndarray, np.ndarray], came: tuple[np.ndarray, np.ndarray]
    ) -> Changed:
        after = self.chosen
        removed, added = without(before, after), without(after, before)
        removed_pairs, added_pairs = (np.full((len(s), 2), -1, np.int32) for s in (removed, added))
        _assign_witnesses(removed_pairs, removed, came, 0)  # broken by a new pair
        _assign_witnesses(added_pairs, added, gone, 0)  # no longer broken by an old one
        _assign_witnesses(added_pairs, added, came, 1)  # not minimal but for a new pair
        _assign_witnesses(removed_pairs, removed, gone, 1)  # minimal only because of an old one
        return Changed(removed, removed_pairs, added, added_pairs)

    def ops(self, sets: np.ndarray) -> np.ndarray:
        """For each set and slot the outcomes that the rule accepts there."""
        return self.atoms.accepted(sets)

    def save(self, writer: Writer) -> None:
        """Write rules, evidence and indexes."""
        facts = {
            "space": [pack_predicate(p) for p in self.space],
            "nulls": self.atoms.slots.nulls,
            "error": self.error,
            "counted": self.ledger.counted,
        }
        writer.json("facts", {**facts, "judged_at": self.judged_at, "wanted": self._counting_forced})
        writer.array("sets", self.sets)
        for name, array in self.ledger.arrays().items():
            writer.array(f"ledger-{name}", array.copy())
        self.prover.save(writer.under("indexes"))

    @staticmethod
    def load(reader: Reader, table: GrowingTable) -> MaintainedDenials:
        facts = reader.json("facts")
        space = tuple(map(read_predicate, facts["space"]))
        atoms = Atoms.of(cast("Relation", None), space, facts["nulls"])
        ledger = Ledger.of_arrays(lambda name: reader.array(f"ledger-{name}"), counted=facts["counted"])
        made = MaintainedDenials(
            space,
            atoms,
            Cells(atoms.slots, table),
            ledger,
            reader.array("sets").copy(),
            facts["error"],
            facts["judged_at"],
        )
        made._counting_forced = facts["wanted"]
        made.prover.load(reader.under("indexes"))
        return made

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted."""
        self.ledger.renumber(numbers)
        self.cells = Cells(self.atoms.slots, table)
        self.prover = Prover(self.cells, self.ledger)

    def _check(self, alive: np.ndarray) -> None:
        """Every invariant of ledger and indexes, and that the rules are what the evidence says."""
        self.ledger._check(self.cells, alive)
        self.prover._check(alive)
        assert np.array_equal(self.edges, self.atoms.edges(self.ledger.signatures[: len(self.edges)]))
        before = self.sets
        if not self.error and np.count_nonzero(alive) > 1:
            self._search()
            assert not len(without(before, self.sets))
            assert not len(without(self.sets, before))
            self.sets = before


_NOTHING = (np.zeros((0, 1), np.uint64), np.zeros((0, 2), np.int32))


def _assign_witnesses(
    pairs: np.ndarray, sets: np.ndarray, evidence: tuple[np.ndarray, np.ndarray], wanted: int
) -> None:
    """Gives sets that have no pair yet one whose edge they hit as often as is ``wanted``."""
    edges, shown = (part[evidence[1][:, 0] >= 0] for part in evidence)
    todo = np.flatnonzero(pairs[:, 0] < 0)
    first = edge_kernels.first_hit(np.ascontiguousarray(edges), sets[todo], wanted)
    pairs[todo[first >= 0]] = shown[first[first >= 0]]
