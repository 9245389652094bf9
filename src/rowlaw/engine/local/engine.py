"""The engine that works in this process, on the ordered codes of all rows: :class:`LocalEngine`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from rowlaw.engine.answers import EVERY_PAIR, ColumnProfile, Side, Sides
from rowlaw.engine.choose import ASKED_FOR_LOCAL, Choice
from rowlaw.engine.local import contexts
from rowlaw.engine.local.agreeing import AgreeingPairs
from rowlaw.engine.local.contexts import Contexts
from rowlaw.engine.local.findings import LocalFindings
from rowlaw.engine.local.neighbours import neighbours
from rowlaw.engine.local.profile import column_profile
from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.engine.local.tasks import ALL
from rowlaw.engine.protocol import GroupWork
from rowlaw.engine.questions import Question
from rowlaw.errors import RowlawError
from rowlaw.relation.known import KnownRows
from rowlaw.relation.pairs import Pairs
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Denial, Rule, TypeClass
from rowlaw.spark.jobs import Done
from rowlaw.stopping import NEVER, Stop


@dataclass(frozen=True)
class LocalEngine(RowEngine):
    """The engine over one relation under one meaning of null.

    ``new_from``: the position of the first new row, where the relation holds old rows and then new ones.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"zip": [1, 1, 2], "city": ["a", "b", "a"]})))
    >>> engine = LocalEngine(relation)
    >>> rule = parse("fd (zip) -> city")
    >>> engine.counts([rule])
    [2]
    >>> engine.check([rule]).first(0, limit=5).drop_columns(["s#", "t#"]).to_pylist()
    [{'s_row': 0, 't_row': 1, 's_city': 'a', 't_city': 'b', 's_zip': 1, 't_zip': 1}]
    """

    new_from: int | None = None
    choice: Choice = ASKED_FOR_LOCAL
    _contexts: dict[tuple[str, ...], Contexts] = field(default_factory=dict, init=False, repr=False)

    @property
    def rows(self) -> int:
        return self.relation.rows

    @property
    def types(self) -> dict[str, TypeClass]:
        return self.relation.types

    @property
    def skipped(self) -> Mapping[str, RowlawError]:
        return self.relation.skipped

    @property
    def arrow_types(self) -> dict[str, pa.DataType]:
        return {column.name: column.arrow_type for column in self.relation.columns}

    def profile(self, columns: Sequence[str], top: int) -> list[ColumnProfile]:
        return [column_profile(self.relation, name, top) for name in columns]

    @cached_property
    def known_rows(self) -> KnownRows:
        return KnownRows.of_relation(self.relation, self.nulls)

    @cached_property
    def statistics(self) -> RelationStatistics:
        return RelationStatistics(self.relation)

    def check(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, done: Done | None = None) -> LocalFindings:
        part = self._part(sides)
        return LocalFindings(self, tuple(rules), part, self.count(rules, part, done=done))

    def counts(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, stop: Stop = NEVER) -> list[int]:
        return [count.pairs for count in self.count(rules, self._part(sides), per_row=False, stop=stop)]

    def counterexamples(self, rules: Sequence[Rule], limit: int, *, stop: Stop = NEVER) -> list[Pairs | None]:
        return [None if rows is None else Pairs(self.relation, rows) for rows in self.examined(rules, limit, stop=stop)]

    def all_violations(self, rule: Rule) -> Iterator[Pairs]:
        for s, t in self.pairs(rule):
            yield Pairs(self.relation, np.stack((s, t), axis=1))

    def ask(
        self, columns: Sequence[str], questions: Sequence[Question], limit: int, stop: Stop | None = None
    ) -> list[list[Pairs]]:
        answers = contexts.ask(self, self.contexts(columns), questions, limit, stop)
        return [[Pairs(self.relation, rows) for rows in answer] for answer in answers]

    def fewest_removed(
        self, columns: Sequence[str], questions: Sequence[Question], stop: Stop | None = None
    ) -> list[list[int]]:
        return contexts.count(self, self.contexts(columns), questions, stop)

    def asked_first(self, laws: Sequence[Sequence[Denial | None]]) -> list[int]:
        return list(range(len(laws)))

    def agreeing_pairs(self, columns: Sequence[str]) -> float:
        return self._agreeing.of(columns, self.rows)

    @cached_property
    def _agreeing(self) -> AgreeingPairs:
        return AgreeingPairs(self.relation, self.nulls)

    def in_groups(
        self, lists: Sequence[Sequence[str]], work: GroupWork, seconds: float, stop: Stop = NEVER
    ) -> list[np.ndarray]:
        return [work(self.relation, lists, self.workers_for(seconds), stop)]

    @property
    def answer_seconds(self) -> float:
        return 0.0

    def estimated_counts(self, rules: Sequence[Rule], stop: Stop = NEVER) -> list[float]:
        return [float(pairs) for pairs in self.counts(rules, stop=stop)]

    def neighbours(self, columns: Sequence[str], stop: Stop = NEVER) -> Pairs:
        return neighbours(self.contexts(columns), stop)

    def contexts(self, columns: Sequence[str]) -> Contexts:
        """The stripped partitions of some columns, kept from question to question."""
        names = tuple(columns)
        if names not in self._contexts:
            self._contexts[names] = Contexts(self.relation, self.nulls, names)
        return self._contexts[names]

    def sample(self) -> Relation:
        return self.relation

    @property
    def sample_is_whole(self) -> bool:
        return True

    @property
    def on_sample(self) -> LocalEngine:
        return self

    def some_rows(self, limit: int, columns: Sequence[str]) -> pa.Table:
        rows = (
            np.unique(np.linspace(0, self.rows - 1, min(limit, self.rows)).astype(np.int64))
            if self.rows
            else np.zeros(0, np.int64)
        )
        values = self.relation.decode(rows, columns)
        return pa.table([pa.array(rows), *values.columns], names=["number", *columns])

    def close(self) -> None:
        self.relation.close()

    def _part(self, sides: Sides) -> Part:
        return ALL if sides == EVERY_PAIR else Part(self._rows_of(sides.s), self._rows_of(sides.t))

    def _rows_of(self, side: Side) -> np.ndarray | None:
        """The positions of the rows of a side; None: all."""
        border = self.rows if self.new_from is None else self.new_from
        match side:
            case "old":
                return self.relation.all_rows[:border]
            case "new":
                return self.relation.all_rows[border:]
            case _:
                return None
