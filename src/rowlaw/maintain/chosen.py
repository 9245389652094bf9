"""Chosen rules: the exact count of violations of each, after every batch. No complete set of rules is searched.

Each denial constraint about pairs of rows has its own folded table (:mod:`rowlaw.kernels.folded`). So a batch costs
what its rows cost, whatever the size of the table, where the rule has an equality or its columns have few distinct
combinations of values. Where neither is so, the engine counts all rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.errors import RowlawError
from rowlaw.kernels import folded as kernels
from rowlaw.kernels.folded import Compared, Folded
from rowlaw.maintain.protocol import ChangedRules, Evolved, UpkeepOptions
from rowlaw.progress import Progress
from rowlaw.rules import NamedRule, RuleSet, bind
from rowlaw.rules.model import Column, Denial, Nulls, Op, Predicate, Rule
from rowlaw.stopping import Stopped
from rowlaw.storage.label_rows import matching_rows, spare
from rowlaw.storage.rulebook import read_rules

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer
    from rowlaw.storage.table import GrowingTable

SAMPLE = 10  # clashes of each sort that a batch names for each rule
SCANNED = 2_000_000_000  # comparisons of a batch with all tuples, beyond which the engine counts again: about 4 s
_LOADED = 2  # slots of a table for each tuple, at least
AT_ONCE = 1 << 20  # rows folded at a time

Pair = tuple[int, int]


@dataclass
class Counts:
    """What a batch did to a rule: its violations now, those that came and went, and some of them as pairs of rows ``(s,
    t)``."""

    violations: int
    new: int = 0
    resolved: int = 0
    new_pairs: list[Pair] = field(default_factory=list)
    resolved_pairs: list[Pair] = field(default_factory=list)


class CountedDenial:
    """The violations of one denial constraint."""

    def __init__(self, denial: Denial, nulls: Nulls, violations: int = 0) -> None:
        self.denial, self.nulls, self.violations = denial, nulls, violations
        self.folded: Folded | None = None  # none for a rule about single rows
        self._saved: tuple[int, int] | None = None  # rows and deleted rows that the files know of
        across = [p for p in denial.predicates if isinstance(p.right, Column) and p.left.row != p.right.row]
        across = [p if p.left.row == "s" else _turned(p) for p in across]
        across.sort(key=lambda p: p.op != Op.EQ)
        self._within = {row: [p for p in denial.predicates if p.rows == {row}] for row in "st"}
        names = dict.fromkeys(name for p in across for name in (p.left.name, _name(p)))
        self.fields: tuple[str, ...] = tuple(names)
        place = {name: i for i, name in enumerate(self.fields)}
        # rows that cannot be s, or t, are told by a field that is 1 where the row can be
        flags = [row for row in "st" if self._within[row] and denial.arity == 2]
        always = len(place) + len(flags)  # a field that is 1 in every row, beside the flags
        left, right = [place[p.left.name] for p in across], [place[_name(p)] for p in across]
        left += [len(place) + i if row == "s" else always for i, row in enumerate(flags)]
        right += [len(place) + i if row == "t" else always for i, row in enumerate(flags)]
        accepted = [int(p.op) for p in across] + [int(Op.EQ)] * len(flags)
        equal = sum(p.op == Op.EQ for p in across)
        self._flags = flags
        self._width = always + bool(flags)
        self.how = Compared(
            np.array(left, np.int64),
            np.array(right, np.int64),
            np.array(accepted, np.uint8),
            np.array([equal], np.int64),
            np.array([nulls == "unknown"]),
        )
        self._both = left[:equal] != right[:equal]

    # Rows as tuples

    def _tuples(self, table: GrowingTable, rows: np.ndarray) -> np.ndarray:
        """The fields of some rows, ``int32[rows, fields]``."""
        tuples = np.ones((len(rows), self._width), np.int32)
        for i, name in enumerate(self.fields):
            tuples[:, i] = table.labels(name)[rows]
        for i, row in enumerate(self._flags):
            tuples[:, len(self.fields) + i] = self._satisfies(table, rows, self._within[row])
        return tuples

    def _satisfies(self, table: GrowingTable, rows: np.ndarray, predicates: Sequence[Predicate]) -> np.ndarray:
        """Which rows satisfy predicates about one row, whichever row they name."""
        about_s = Denial(tuple(_of_s(p) for p in predicates))
        satisfied = np.zeros(len(rows), bool)
        satisfied[compile_rule(about_s, Scales(table.relation(rows), self.nulls)).s] = True
        return satisfied

    # Batches

    def start(self, table: GrowingTable, violations: int = 0) -> None:
        """Fold all living rows; how many violations there are is known."""
        self.violations = violations
        if self.denial.arity == 1:
            return
        rows = np.flatnonzero(table.alive).astype(np.int32)
        self.folded = _empty(self._width, len(rows))
        self._fold(table, rows)
        if 2 * int(self.folded.used[0]) < len(self.folded.tuples):
            self._resize(int(self.folded.used[0]))
        self._saved = None

    def _fold(self, table: GrowingTable, rows: np.ndarray) -> None:
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            self._reserve(len(some))
            assert self.folded is not None
            kernels.insert_uncounted(self._tuples(table, some), some, self.folded, self.how, self._both)

    def _reserve(self, more: int) -> None:
        assert self.folded is not None
        needed = int(self.folded.used[0]) + more
        if needed > len(self.folded.tuples) or _LOADED * needed > len(self.folded.table):
            self._resize(needed)

    def _resize(self, needed: int) -> None:
        """Make room for so many tuples, and link all of them anew."""
        before = self.folded
        assert before is not None
        used = int(before.used[0])
        self.folded = _empty(self._width, needed)
        for name in ("tuples", "weights", "rows"):
            getattr(self.folded, name)[:used] = getattr(before, name)[:used]
        self.folded.used[0] = used
        kernels.relink(self.folded, self.how, self._both)
        self._saved = None

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Counts:
        """Follow a batch that the table has taken in."""
        gone, came = np.sort(deleted).astype(np.int32), inserted.astype(np.int32)
        if self.denial.arity == 1:
            broken = [rows[self._satisfies(table, rows, self.denial.predicates)] for rows in (gone, came)]
            self.violations += len(broken[1]) - len(broken[0])
            shown = [[(int(row), int(row)) for row in rows[:SAMPLE]] for rows in broken]
            return Counts(self.violations, len(broken[1]), len(broken[0]), shown[1], shown[0])
        assert self.folded is not None
        for name in self.fields:
            if name in table.relabelled:
                used, i = int(self.folded.used[0]), self.fields.index(name)
                self.folded.tuples[:used, i] = table.relabelled[name](self.folded.tuples[:used, i])
                self._saved = None
        if self._saved is None and any(name in table.relabelled for name in self.fields):
            self._resize(int(self.folded.used[0]))
        self._reserve(len(came))
        scanned = 0 if int(self.how.equal[0]) else 2 * (len(gone) + len(came)) * int(self.folded.used[0])
        if scanned > SCANNED:
            return self._recount(table, came, gone)
        samples = [np.empty((SAMPLE, 4), np.int64) for _ in range(2)]
        sampled = [np.zeros(1, np.int64) for _ in range(2)]
        how, both = self.how, self._both
        resolved = int(kernels.delete(self._tuples(table, gone), gone, self.folded, how, both, sampled[0], samples[0]))
        # the partners of rows that went are named now: rows that come may take their place
        resolved_pairs = self._named(table, samples[0][: sampled[0][0]], inserted)
        new = int(kernels.insert(self._tuples(table, came), came, self.folded, how, both, sampled[1], samples[1]))
        self.violations += new - resolved
        return Counts(self.violations, new, resolved, self._named(table, samples[1][: sampled[1][0]]), resolved_pairs)

    def _recount(self, table: GrowingTable, came: np.ndarray, gone: np.ndarray) -> Counts:
        """Let the engine count all rows, before and after rows came."""
        assert self.folded is not None
        kernels.delete_uncounted(self._tuples(table, gone), gone, self.folded)
        kernels.insert_uncounted(self._tuples(table, came), came, self.folded, self.how, self._both)
        before = self.violations
        alive = np.asarray(table.alive).copy()
        alive[came] = False
        stayed = LocalEngine(table.relation(np.flatnonzero(alive).astype(np.int32)), self.nulls).counts([self.denial])[
            0
        ]
        self.violations = LocalEngine(table.relation(), self.nulls).counts([self.denial])[0]
        return Counts(self.violations, self.violations - stayed, before - stayed)

    def _named(self, table: GrowingTable, sample: np.ndarray, but: np.ndarray | None = None) -> list[Pair]:
        """Clashes as pairs of rows: any living row of the tuple stands for its partner."""
        assert self.folded is not None
        pairs = []
        for row, k, is_s, known_row in sample.tolist():
            other = known_row
            if other < 0 and not self._flags:  # of a rule with literals the search would have to look at all rows
                alive = np.asarray(table.alive).copy()
                alive[[row, *(() if but is None else but.tolist())]] = False
                wanted = self.folded.tuples[k, : len(self.fields)][:, None]
                other = int(matching_rows([table.labels(name) for name in self.fields], wanted, alive)[0])
                self.folded.rows[k] = other
            if other >= 0:
                pairs.append((row, other) if is_s else (other, row))
        return pairs

    def renumber(self, numbers: np.ndarray) -> None:
        """Follow a table that was compacted."""
        if self.folded is not None:
            used = int(self.folded.used[0])
            rows = self.folded.rows[:used]
            rows[rows >= 0] = numbers[rows[rows >= 0]]
            self._saved = None

    # Saving

    def save(self, writer: Writer, table: GrowingTable) -> dict[str, Any]:
        """Write the folded table, unless the one in the files has nearly all rows; what is needed to load it."""
        if self.folded is None:
            return {"violations": self.violations}
        changes = np.inf if self._saved is None else table.rows + len(table.deaths) - self._saved[0] - self._saved[1]
        if changes > spare(table.rows) or "tuples" not in writer:
            for name, array in self.folded._asdict().items():
                writer.array(name, array)
            self._saved = (table.rows, len(table.deaths))
        else:
            for name in self.folded._fields:
                writer.keep(name)
        return {"violations": self.violations, "saved": self._saved}

    def load(self, reader: Reader, facts: Mapping[str, Any], table: GrowingTable) -> None:
        """Take what was saved, and fold the rows that came and went since."""
        self.violations = facts["violations"]
        if self.denial.arity == 1:
            return
        self.folded = Folded(*(reader.private(name) for name in Folded._fields))
        rows, deaths = self._saved = tuple(facts["saved"])
        self._fold(table, np.arange(rows, table.rows, dtype=np.int32))
        gone = table.deaths[deaths:]
        kernels.delete_uncounted(self._tuples(table, gone), gone, self.folded)

    def _check(self, table: GrowingTable) -> None:
        """Assert that the count is that of the engine, and that weights are those of the living rows."""
        assert self.violations == LocalEngine(table.relation(), self.nulls).counts([self.denial])[0]
        if self.folded is not None:
            fresh = CountedDenial(self.denial, self.nulls)
            fresh.start(table)
            assert fresh.folded is not None
            assert _weighed(self.folded) == _weighed(fresh.folded)


class ChosenRules:
    """The rules of a state that keeps chosen rules: what a state asks for (see :mod:`rowlaw.maintain.protocol`)."""

    def __init__(self, rules: RuleSet, bound: Sequence[Rule]) -> None:
        self.rules, self.bound = rules, tuple(bound)
        self.denials = [[CountedDenial(d, rules.nulls) for d in rule.denials] for rule in bound]
        self.changes: dict[str, Counts] = {}  # what the last batch did
        self.first = ChangedRules()
        self._table: GrowingTable | None = None

    @classmethod
    def create(
        cls, table: GrowingTable, options: UpkeepOptions, progress: Progress, deadline: Deadline | None = None
    ) -> Self:
        """Count the violations of the table as it is."""
        assert options.rules is not None
        limit = deadline or Deadline()
        bound = [bind(named.origin or named.rule, table.types, table.skipped) for named in options.rules]
        made = cls(options.rules, bound)
        made._table = table
        with progress.phase("count") as phase:
            parts = [counted for rule in made.denials for counted in rule]
            engine = LocalEngine(table.relation(), options.rules.nulls)
            try:
                counts = engine.counts([counted.denial for counted in parts], stop=limit)
            except Stopped:
                raise RowlawError("STATE_LATE") from None
            for number, (counted, violations) in enumerate(zip(parts, counts, strict=True)):
                counted.start(table, violations)
                if limit.passed:
                    raise RowlawError("STATE_LATE")
                phase.update(number + 1, len(parts))
        return made

    @property
    def counts(self) -> dict[str, int]:
        """The exact count of violations of each rule."""
        return {
            named.id: sum(d.violations for d in denials)
            for named, denials in zip(self.rules, self.denials, strict=True)
        }

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Evolved:
        """Follow a batch that the table has taken in."""
        self.changes, self._table = {}, table
        for named, denials in zip(self.rules, self.denials, strict=True):
            counts = [d.apply(table, inserted, deleted) for d in denials]
            self.changes[named.id] = Counts(
                sum(c.violations for c in counts),
                sum(c.new for c in counts),
                sum(c.resolved for c in counts),
                [pair for c in counts for pair in c.new_pairs][:SAMPLE],
                [pair for c in counts for pair in c.resolved_pairs][:SAMPLE],
            )
        return Evolved(ChangedRules(), ChangedRules())

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted."""
        self._table = table
        for denials in self.denials:
            for counted in denials:
                counted.renumber(numbers)

    def save(self, writer: Writer) -> None:
        """Write the rules, their counts and their folded tables."""
        table = self._table
        assert table is not None
        facts = [
            [counted.save(writer.under(f"{i}-{j}"), table) for j, counted in enumerate(denials)]
            for i, denials in enumerate(self.denials)
        ]
        writer.json(
            "chosen", {"rules": [_written(named) for named in self.rules], "nulls": self.rules.nulls, "denials": facts}
        )

    @classmethod
    def load(cls, reader: Reader, table: GrowingTable) -> Self:
        """What was saved, with the table as it was then."""
        saved = reader.json("chosen")
        rules = read_rules(saved["rules"], saved["nulls"])
        made = cls(rules, [bind(named.rule, table.types, table.skipped) for named in rules])
        made._table = table
        for i, (denials, facts) in enumerate(zip(made.denials, saved["denials"], strict=True)):
            for j, (counted, fact) in enumerate(zip(denials, facts, strict=True)):
                counted.load(reader.under(f"{i}-{j}"), fact, table)
        return made

    def _check(self, table: GrowingTable) -> None:
        """Assert every invariant of every rule."""
        for denials in self.denials:
            for counted in denials:
                counted._check(table)


def _written(named: NamedRule) -> dict[str, Any]:
    fields = {"id": named.id, "rule": str(named.rule), "severity": named.severity, "tolerate": named.tolerate}
    return {**fields, "because": named.because}


def _empty(width: int, tuples: int) -> Folded:
    """A folded table with room for so many tuples and some more."""
    capacity = tuples + spare(tuples)
    slots = 1 << (_LOADED * capacity).bit_length()
    shapes: dict[str, tuple[int, ...]] = {
        "tuples": (capacity, width),
        "weights": (capacity,),
        "rows": (capacity,),
        "table": (slots,),
    }
    shapes |= {"s_table": (slots,), "s_next": (capacity,), "t_table": (slots,), "t_next": (capacity,)}
    return Folded(**{name: np.zeros(shape, np.int32) for name, shape in shapes.items()}, used=np.zeros(1, np.int64))


def _of_s(p: Predicate) -> Predicate:
    """The same predicate about one row, which is called ``s``."""
    right = Column("s", p.right.name) if isinstance(p.right, Column) else p.right
    return Predicate(Column("s", p.left.name), p.op, right)


def _turned(p: Predicate) -> Predicate:
    """The same comparison with its operands exchanged."""
    return Predicate(cast("Column", p.right), p.op.swapped, p.left)


def _name(p: Predicate) -> str:
    return cast("Column", p.right).name


def _weighed(folded: Folded) -> dict[bytes, int]:
    """The weight of each tuple that living rows have."""
    return {folded.tuples[k].tobytes(): int(folded.weights[k]) for k in range(int(folded.used[0])) if folded.weights[k]}
