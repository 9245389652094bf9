"""What a state starts from: the dependencies that discovery finds, and the pairs of rows that it looked at on the
way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.dependencies import Exact
from rowlaw.discovery.goals import Goals
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.errors import RowlawError
from rowlaw.progress import Progress
from rowlaw.relation.pairs import Pairs
from rowlaw.rules.model import Kind, Nulls, Rule
from rowlaw.search.bitsets import word_count
from rowlaw.search.hypergraph import MOST_SETS
from rowlaw.source.row_ids import naming_only
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from rowlaw.storage.live_relation import LiveRelation
    from rowlaw.storage.table import GrowingTable


def check_complete(limit: Deadline, partial: bool) -> None:
    """Raise if discovery was cut short: a state keeps all rules that hold, or none."""
    if limit.stopped and not limit.cause and not limit.interrupted:
        raise RowlawError("STATE_LATE")
    if limit.interrupted:
        raise KeyboardInterrupt
    if partial:
        raise RowlawError("MANY_RULES", most=MOST_SETS)


@dataclass(frozen=True)
class RecordingEngine(LocalEngine):
    """An engine that remembers the pairs of rows in its answers: evidence that need not be looked for again."""

    recorded: list[np.ndarray] = field(default_factory=list, repr=False)

    def counterexamples(self, rules: Sequence[Rule], limit: int, *, stop: Stop = NEVER) -> list[Pairs | None]:
        answers = super().counterexamples(rules, limit, stop=stop)
        self.recorded.extend(pairs.rows for pairs in answers if pairs is not None)
        return answers

    def ask(
        self, columns: Sequence[str], questions: Sequence[Question], limit: int, stop: Stop | None = None
    ) -> list[list[Pairs]]:
        answers = super().ask(columns, questions, limit, stop)
        self.recorded.extend(pairs.rows for answer in answers for pairs in answer)
        return answers

    def neighbours(self, columns: Sequence[str], stop: Stop = NEVER) -> Pairs:
        pairs = super().neighbours(columns, stop)
        self.recorded.append(pairs.rows)
        return pairs

    @property
    def table_pairs(self) -> np.ndarray:
        """All of them as rows of the table, ``int64[pairs, 2]``; a row that breaks a rule about single rows does so
        beside any other."""
        rows = cast("LiveRelation", self.relation).table_rows.astype(np.int64)
        pairs = rows[np.concatenate(self.recorded)] if self.recorded else np.zeros((0, 2), np.int64)
        alone = pairs[:, 0] == pairs[:, 1]
        if alone.any():
            pairs[alone, 1] = np.where(pairs[alone, 0] == rows[0], rows[-1], rows[0])
        return pairs[pairs[:, 0] != pairs[:, 1]]


@dataclass(frozen=True, eq=False)
class InitialDependencies:
    """The goals of discovery with all their sets, and pairs of rows of the table, ``int64[pairs, 2]``."""

    goals: Goals
    pairs: np.ndarray

    @property
    def keys(self) -> np.ndarray:
        """The minimal keys, as words."""
        key_sets = [goal.sets for goal in self.goals.first if goal.target == Target()]
        return key_sets[0] if key_sets else np.zeros((0, word_count(self.goals.columns)), np.uint64)

    @property
    def proven(self) -> set[tuple[Target, bytes]]:
        """Everything that holds: a target, and the words of a set of columns."""
        return {(goal.target, s.tobytes()) for goal in (*self.goals.first, *self.goals.second) for s in goal.sets}


def initial_dependencies(
    table: GrowingTable,
    kinds: Iterable[Kind],
    nulls: Nulls,
    *,
    columns: Sequence[str] | None = None,
    sides: Collection[str] | None = None,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> InitialDependencies:
    """Find all keys, functional dependencies and order compatibilities of a table as it is, as :func:`rowlaw.discover`
    does.

    ``sides``: the columns that may be a side of an order compatibility; all if not given.
    """
    names = columns if columns is not None else [name for name in table.names if name not in naming_only(table.row_id)]
    relation = table.relation()
    engine = RecordingEngine(relation, nulls)
    limit = deadline or Deadline()
    goals = Goals(names, frozenset(kinds), limit, sides)
    with limit.watched():
        discovered = Exact(engine, goals, progress or Progress(quiet=True)).run("auto")
    check_complete(limit, discovered.partial)
    if not engine.recorded and relation.rows > 1:  # all pairs were compared: some of them have to be named
        engine.neighbours(names)
    return InitialDependencies(goals, engine.table_pairs)
