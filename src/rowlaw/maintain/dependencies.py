"""Functional dependencies and order compatibilities that follow a table: the same conversation over difference sets.

Each *target* (a column to be determined, two columns to be in order) asks for the minimal sets of columns that hit all
its edges; see :mod:`rowlaw.evidence.differences` for what these are. What pairs say is kept in a ledger for all targets
together, with witnesses; new rows are looked up by the prover, as for denial constraints, and what deletes make
possible is validated by context.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.dependencies import discover_dependencies
from rowlaw.discovery.goals import Goal, Goals
from rowlaw.discovery.together import Dependency
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.kernels.differences import holds_any
from rowlaw.maintain.cells import Cells, column_slots
from rowlaw.maintain.initial import InitialDependencies, check_complete, initial_dependencies
from rowlaw.maintain.ledger import Ledger
from rowlaw.maintain.protocol import UpkeepOptions, Witness
from rowlaw.maintain.prover import Prover
from rowlaw.maintain.select import Proof
from rowlaw.rules.model import Kind, Nulls, Op, Rule
from rowlaw.rules.outcomes import ANY, EQUAL_BIT, EQUAL_CODE, HIGHER_CODE, LOWER_CODE
from rowlaw.search.bitsets import distinct, unpack
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import minimal_edges, minimal_hitting_sets, refine
from rowlaw.source.row_ids import naming_only
from rowlaw.storage.rulebook import Terms

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer
    from rowlaw.storage.table import GrowingTable

COUNTEREXAMPLES = 10  # pairs asked for per broken law: HyOD section V.C

Name = tuple[Target, bytes]


class MaintainedDependencies:
    """The minimal functional dependencies and order compatibilities of a table that changes."""

    def __init__(
        self, kinds: Iterable[Kind], cells: Cells, ledger: Ledger, sides: Collection[str] | None = None
    ) -> None:
        """``sides``: the columns that may be a side of an order compatibility; all if not given."""
        self.kinds = frozenset(kinds) & {"fd", "od"}
        self.sides = sides
        self.cells, self.ledger = cells, ledger
        self.prover = Prover(cells, ledger)
        # laws that were proposed during the last batch, and those that all rows had to prove
        self.candidates = self.validations = 0
        self.names = cells.names
        self._goals = Goals(self.names, self.kinds, Deadline(), sides)
        self.goals, self.words = (*self._goals.first, *self._goals.second), self._goals.words
        for goal in self.goals:
            goal.sets = np.zeros((1, self.words), np.uint64)

    @staticmethod
    def create(
        table: GrowingTable,
        kinds: Iterable[Kind],
        nulls: Nulls,
        first: InitialDependencies | None = None,
        sides: Collection[str] | None = None,
    ) -> MaintainedDependencies:
        """Find the laws of the table as it is, or take them from what discovery has found."""
        initial = first or initial_dependencies(table, frozenset(kinds) & {"fd", "od"}, nulls, sides=sides)
        names = [name for name in table.names if name not in naming_only(table.row_id)]
        cells = Cells(column_slots(names, nulls, ordered="od" in kinds), table)
        made = MaintainedDependencies(kinds, cells, Ledger(cells.slots.words, counted=False), sides)
        made.ledger.compare_pairs(cells, *initial.pairs.T)
        made._refine(np.arange(len(made.ledger)))
        made._search_and_validate(table, np.asarray(table.alive), initial.proven)
        return made

    # Laws

    @property
    def rules(self) -> list[Dependency]:
        """All laws of the wanted kinds."""
        return list(self._laws().values())

    def _laws(self) -> dict[Name, Dependency]:
        laws: dict[Name, Dependency] = {}
        for goal, sets in self._listed():
            if goal.kind in self.kinds:
                for s, columns in zip(sets, unpack(sets), strict=True):
                    laws[goal.target, s.tobytes()] = self._goals.rule(goal.target, columns)
        return laws

    def _listed(self) -> list[tuple[Goal, np.ndarray]]:
        """The sets of each goal that say something: an order in a context that determines a side goes without saying
        (HyOD section III)."""
        determining = {goal.target.left: goal.sets for goal in self.goals if goal.target.right < 0}
        listed = []
        for goal in self.goals:
            sets = goal.sets
            if goal.target.right >= 0 and len(sets):
                sets = sets[
                    ~holds_any(sets, np.concatenate((determining[goal.target.left], determining[goal.target.right])))
                ]
            listed.append((goal, sets))
        return listed

    # Batches

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> dict[Rule, Witness]:
        """Follow a batch that the table has taken in; for laws that came or went a pair of rows that shows why, if
        there is one."""
        before = self._laws()
        self.candidates = self.validations = self.ledger.compared = 0
        alive = np.asarray(table.alive)
        self.cells.append(table)
        self.prover.add_rows(inserted, table.relabelled)
        gone = came = np.zeros(0, np.int64)
        shown = self.ledger.witness_pairs(np.arange(len(self.ledger)))
        if len(deleted):
            there = alive.copy()
            there[inserted] = False
            gone = self._delete(table, there)
        if len(inserted):
            came = self._insert(table, alive, inserted)
        after = self._laws()
        evidence = [(came, self.ledger.witness_pairs(came)), (gone, shown[gone])]
        witnesses: dict[Rule, Witness] = {}
        witnesses |= {law: self._witness(name, evidence, (0, 1)) for name, law in before.items() if name not in after}
        return witnesses | {
            law: self._witness(name, evidence, (1, 0)) for name, law in after.items() if name not in before
        }

    def _insert(self, table: GrowingTable, alive: np.ndarray, inserted: np.ndarray) -> np.ndarray:
        """The places of signatures that came with new rows."""
        held_before = seen = self.ledger.holds
        proof, proven = Proof(), set[Name]()
        while True:
            names, ops = self._unproven(proof, proven)
            if not names:
                return self.ledger.since(held_before)
            asked = self.prover.prove_batch(ops, inserted, alive, proof)
            proven.update(name for name, is_asked in zip(names, asked, strict=True) if not is_asked)
            proven |= self._validate(table, alive, [names[i] for i in np.flatnonzero(asked)])
            self._refine(self.ledger.since(seen))
            seen = self.ledger.holds

    def _delete(self, table: GrowingTable, alive: np.ndarray) -> np.ndarray:
        """The places of signatures that went with rows."""
        lost = self.ledger.drop_deleted(alive)
        if not len(lost):
            return lost
        proven = {(goal.target, s.tobytes()) for goal in self.goals for s in goal.sets}
        went, holds = self._difference_words(lost), self._difference_words(np.flatnonzero(self.ledger.holds))
        for goal in self.goals:
            # an edge that another one is part of was not what the sets had to hit
            edges = {edge.tobytes() for edge in goal.edges}
            if any(edge.tobytes() in edges for edge in _edges(goal.target, *went)):
                goal.edges = minimal_edges(_edges(goal.target, *holds))
                goal.sets = minimal_hitting_sets(Hypergraph(goal.edges, len(self.names))).all
        self._search_and_validate(table, alive, proven)
        return lost[~self.ledger.holds[lost]]

    def _search_and_validate(self, table: GrowingTable, alive: np.ndarray, proven: set[Name]) -> None:
        """Have what the search proposes validated on all rows, until nothing is broken."""
        asking = self._validator(table, alive)
        while True:
            names = [(goal.target, s.tobytes()) for goal, sets in self._listed() for s in sets]
            names = [name for name in names if name not in proven]
            if not names:
                return
            held_before = self.ledger.holds
            proven |= asking(names)
            self._refine(self.ledger.since(held_before))

    def _validate(self, table: GrowingTable, alive: np.ndarray, names: Sequence[Name]) -> set[Name]:
        """Those laws that hold on all rows; pairs that break the others become evidence."""
        return self._validator(table, alive)(names) if names else set()

    def _validator(self, table: GrowingTable, alive: np.ndarray) -> Callable[[Sequence[Name]], set[Name]]:
        rows = np.flatnonzero(alive).astype(np.int32)
        relation = table.relation() if len(rows) == table.living else table.relation(rows)
        engine = LocalEngine(relation, self.cells.slots.nulls)

        def ask(names: Sequence[Name]) -> set[Name]:
            asked: dict[tuple[int, ...], list[Name]] = {}
            contexts = unpack(np.array([np.frombuffer(members, np.uint64) for _, members in names]))
            for name, context in zip(names, contexts, strict=True):
                asked.setdefault(tuple(context), []).append(name)
            self.validations += len(names)
            questions = [Question(context, tuple(target for target, _ in some)) for context, some in asked.items()]
            answers = engine.ask(self.names, questions, COUNTEREXAMPLES)
            answers_by_name: list[tuple[Name, np.ndarray]] = []
            for some, answer in zip(asked.values(), answers, strict=True):
                answers_by_name += [(name, pairs.rows) for name, pairs in zip(some, answer, strict=True)]
            broken = [pairs for _, pairs in answers_by_name if len(pairs)]
            if broken:
                self.ledger.compare_pairs(self.cells, *rows[np.concatenate(broken)].T)
            return {name for name, pairs in answers_by_name if not len(pairs)}

        return ask

    # Search

    def _refine(self, fresh: np.ndarray) -> None:
        """Take new signatures into account."""
        if not len(fresh):
            return
        outcomes, differing = self._difference_words(fresh)
        for goal in self.goals:
            new = minimal_edges(_edges(goal.target, outcomes, differing))
            missed = [bool((~(goal.sets & edge).any(axis=1)).any()) for edge in new]
            new = new[missed] if len(new) else new
            if len(new):
                graph = Hypergraph(np.concatenate((goal.edges, new)), len(self.names))
                goal.sets = (
                    refine(graph, goal.sets, len(goal.edges)) if len(goal.edges) else minimal_hitting_sets(graph)
                ).all
                goal.edges = minimal_edges(graph.edges)

    def _difference_words(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The outcomes of signatures, and the columns in which rows that have them do not agree, as words."""
        outcomes = self.cells.slots.outcomes(self.ledger.signatures[places])
        differing = np.zeros((len(places), self.words), np.uint64)
        for c in range(len(self.names)):
            differing[:, c // 64] |= (outcomes[:, c] != EQUAL_CODE).astype(np.uint64) << np.uint64(c % 64)
        return outcomes, differing

    def _unproven(self, proof: Proof, proven: set[Name]) -> tuple[list[Name], np.ndarray]:
        """The laws that are not proven yet, and what they accept in each slot."""
        names, lines = [], [np.zeros((0, len(self.names)), np.uint8)]
        for goal, sets in self._listed():
            ops = self._ops(goal.target, sets)
            served = proof.serves(self.prover.planner.equal(ops), ops)
            kept = [i for i, s in enumerate(sets) if not served[i] and (goal.target, s.tobytes()) not in proven]
            names += [(goal.target, sets[i].tobytes()) for i in kept]
            lines.append(ops[kept])
        self.candidates += len(names)
        return names, np.concatenate(lines)

    def _ops(self, target: Target, sets: np.ndarray) -> np.ndarray:
        """What pairs that break laws have in each slot."""
        ops = np.full((len(sets), len(self.names)), ANY, np.uint8)
        for c in range(len(self.names)):
            ops[sets[:, c // 64] >> np.uint64(c % 64) & np.uint64(1) != 0, c] = EQUAL_BIT
        if target.right < 0:
            ops[:, target.left] = int(Op.NE)
        else:
            ops[:, target.left], ops[:, target.right] = int(Op.LT), int(Op.LT if target.descending else Op.GT)
        return ops

    def _witness(self, name: Name, evidence: Sequence[tuple[np.ndarray, np.ndarray]], wanted: Sequence[int]) -> Witness:
        """A pair whose edge a set hits as often as is wanted: never, so it breaks the law; or once, so a smaller set
        would not do."""
        target, members = name
        chosen = np.frombuffer(members, np.uint64)
        for (places, pairs), often in zip(evidence, wanted, strict=True):
            if not len(places):
                continue
            outcomes, differing = self._difference_words(places)
            speaking = _violating(target, outcomes)
            hit = np.bitwise_count(_without_sides(target, differing) & chosen).sum(axis=1)
            good = np.flatnonzero(speaking & (hit == often) & (pairs[:, 0] >= 0))
            if len(good):
                s, t = pairs[good[0]].tolist()
                return (t, s) if target.right >= 0 and outcomes[good[0], target.left] == HIGHER_CODE else (s, t)
        return ()

    # Compacting, saving, checking

    @property
    def pairs(self) -> int:
        """Pairs of rows that the last batch took comparing."""
        return self.ledger.compared

    @property
    def nbytes(self) -> int:
        return self.prover.nbytes + self.cells.nbytes

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted."""
        self.ledger.renumber(numbers)
        self.cells = Cells(self.cells.slots, table)
        self.prover = Prover(self.cells, self.ledger)

    def save(self, writer: Writer) -> None:
        """Write laws, evidence and indexes."""
        slots = self.cells.slots
        facts = {
            "kinds": sorted(self.kinds),
            "columns": self.names,
            "nulls": slots.nulls,
            "ordered": bool(slots.ordered.all()),
        }
        writer.json("facts", {**facts, "sides": None if self.sides is None else list(self.sides)})
        writer.array(
            "sets",
            np.concatenate([goal.sets for goal in self.goals]) if self.goals else np.zeros((0, self.words), np.uint64),
        )
        writer.array("numbers", np.array([len(goal.sets) for goal in self.goals], np.int64))
        writer.array(
            "edges",
            np.concatenate([goal.edges for goal in self.goals]) if self.goals else np.zeros((0, self.words), np.uint64),
        )
        writer.array("edge-numbers", np.array([len(goal.edges) for goal in self.goals], np.int64))
        self.prover.save(writer.under("indexes"))
        for name, array in self.ledger.arrays().items():
            writer.array(f"ledger-{name}", array.copy())

    @staticmethod
    def load(reader: Reader, table: GrowingTable) -> MaintainedDependencies:
        facts = reader.json("facts")
        cells = Cells(column_slots(facts["columns"], facts["nulls"], ordered=facts["ordered"]), table)
        ledger = Ledger.of_arrays(lambda name: reader.array(f"ledger-{name}"), counted=False)
        made = MaintainedDependencies(facts["kinds"], cells, ledger, facts["sides"])
        sets = np.split(reader.array("sets").copy(), np.cumsum(reader.array("numbers"))[:-1])
        edges = np.split(reader.array("edges").copy(), np.cumsum(reader.array("edge-numbers"))[:-1])
        for number, goal in enumerate(made.goals):
            goal.sets, goal.edges = sets[number], edges[number]
        made.prover.load(reader.under("indexes"))
        return made

    def _check(self, alive: np.ndarray) -> None:
        """Every invariant of ledger and indexes, and that the sets are what the evidence says."""
        self.ledger._check(self.cells, alive)
        self.prover._check(alive)
        outcomes, differing = self._difference_words(np.flatnonzero(self.ledger.holds))
        for goal in self.goals:
            graph = Hypergraph(_edges(goal.target, outcomes, differing), len(self.names))
            assert {s.tobytes() for s in minimal_hitting_sets(graph).all} == {s.tobytes() for s in goal.sets}


class ToleratedDependencies:
    """Dependencies that hold but for a share of the rows. That share depends on all rows, so they are discovered again
    after each batch."""

    candidates = validations = pairs = nbytes = 0

    def __init__(self, settings: Mapping[str, Any], rules: Sequence[Dependency]) -> None:
        """``settings`` are arguments of discovery, and the meaning of null."""
        self.settings, self.rules = dict(settings), list(rules)

    @staticmethod
    def create(table: GrowingTable, options: UpkeepOptions) -> ToleratedDependencies:
        """Discover the dependencies of the table as it is."""
        kinds = [kind for kind in options.kinds if kind != "dc"]
        settings = {
            "kinds": kinds,
            "error": options.error,
            "order_strings": options.space.order_strings,
            "nulls": options.nulls,
        }
        made = ToleratedDependencies(settings, ())
        made._discover(table)
        return made

    def _discover(self, table: GrowingTable) -> None:
        settings = dict(self.settings)
        discovered = discover_dependencies(
            LocalEngine(table.relation(), settings.pop("nulls")), settings.pop("kinds"), **settings
        )
        check_complete(Deadline(), discovered.partial)
        self.rules = discovered.rules

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> dict[Rule, Witness]:
        """Follow a batch that the table has taken in. No single pair of rows decides."""
        if len(inserted) or len(deleted):
            self._discover(table)
        return {}

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """Nothing here refers to rows."""

    def save(self, writer: Writer) -> None:
        writer.json("rules", {"settings": self.settings, "rules": [Terms().pack(rule) for rule in self.rules]})

    @staticmethod
    def load(reader: Reader, table: GrowingTable) -> ToleratedDependencies:  # noqa: ARG004 - as all parts
        saved = reader.json("rules")
        return ToleratedDependencies(
            saved["settings"], [cast("Dependency", Terms().read(packed)) for packed in saved["rules"]]
        )

    def _check(self, alive: np.ndarray) -> None:
        """There is nothing beside the rules that could disagree with them."""


def _violating(target: Target, outcomes: np.ndarray) -> np.ndarray:
    """Which pairs break the law that nothing at all is needed for a target."""
    a = outcomes[:, target.left]
    a_differs = (a == LOWER_CODE) | (a == HIGHER_CODE)
    if target.right < 0:
        return a_differs
    b = outcomes[:, target.right]
    both = a_differs & ((b == LOWER_CODE) | (b == HIGHER_CODE))
    return both & ((a == b) if target.descending else (a != b))


def _without_sides(target: Target, differing: np.ndarray) -> np.ndarray:
    edges = differing.copy()
    for c in (target.left, target.right):
        if c >= 0:
            edges[:, c // 64] &= ~(np.uint64(1) << np.uint64(c % 64))
    return edges


def _edges(target: Target, outcomes: np.ndarray, differing: np.ndarray) -> np.ndarray:
    """The edges of pairs for a target."""
    return distinct(_without_sides(target, differing[_violating(target, outcomes)]))
