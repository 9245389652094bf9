"""The floor between what is asked and where it runs: :class:`Engine`, and the :class:`Findings` of a check.

Above it (violations, discovery, report, command line) nothing sees positions of rows, arrays of codes or Spark jobs.
Below it nothing knows of commands or reports. Answers are bounded (counts, the first violations) or Spark DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rowlaw.engine.answers import EVERY_PAIR, ColumnProfile, Removal, RuleCount, Sides, WorstRow
from rowlaw.engine.choose import Choice
from rowlaw.engine.plans import RulePlan
from rowlaw.engine.questions import Question
from rowlaw.errors import RowlawError
from rowlaw.rules.model import Denial, FunctionalDependency, Nulls, Rule, TypeClass
from rowlaw.spark.jobs import Done, Workers
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rowlaw.relation import Relation
    from rowlaw.relation.known import KnownRows
    from rowlaw.relation.pairs import Pairs


class GroupWork(Protocol):
    """Work on all rows that agree on the columns of some lists, in a relation that has them.

    It can be pickled, and gives an array: dtype uint64, shape (any, ``words``).
    """

    @property
    def words(self) -> int: ...

    def __call__(
        self, relation: Relation, lists: Sequence[Sequence[str]], workers: Workers, stop: Stop = NEVER
    ) -> np.ndarray: ...


class ColumnFacts(Protocol):
    """What is known of a column."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> TypeClass: ...
    @property
    def arrow_type(self) -> pa.DataType: ...
    @property
    def distinct(self) -> int:
        """Count of distinct values, null not counted."""

    @property
    def nulls(self) -> int:
        """Count of rows with null."""


class Statistics(Protocol):
    """What planning and the predicate space need to know of a table's columns."""

    @property
    def rows(self) -> int: ...
    @property
    def row_id(self) -> tuple[str, ...]:
        """The columns that name the rows; discovery leaves out what does nothing else (`naming_only`)."""

    @property
    def columns(self) -> Sequence[ColumnFacts]: ...
    def column(self, name: str) -> ColumnFacts:
        """The facts of one column; an unknown name is an error."""

    def shared_values(self, left: str, right: str) -> float:
        """The share of distinct values that two columns have in common, of the larger count of them."""

    def mean(self, name: str, *, exact: bool) -> Any:
        """The mean of a number column over its finite values: a float, NaN where rounding decides, or a fraction if
        ``exact``."""

    def frequent_values(self, name: str, share: float) -> list[Any]:
        """The values that at least this share of the rows have."""


class Findings(Protocol):
    """What a check found, for rules that go by their index. Keeps what was computed until it is closed."""

    @property
    def counts(self) -> Sequence[RuleCount]: ...
    @property
    def told_apart(self) -> bool:
        """Whether rows are of two tables: then tables of violations also have ``new_s`` and ``new_t``, the rows
        involved have ``new``."""

    @property
    def rows_involved(self) -> int:
        """Count of rows that take part in a violation of any rule."""

    def first(self, rule: int, limit: int, each: int | None = None) -> pa.Table:
        """List violations of the worst rows, at most ``each`` per row: ``s_row``, ``t_row``, both rows' values
        (`value_names`) and their numbers (``s#``, ``t#``: where they are among the rows).

        A pair that is broken in both directions is listed in one. A rule about single rows has no ``t_row``.
        """

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The schema of :meth:`batches`."""

    def batches(
        self, rules: Sequence[int], columns: Sequence[str], limit: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """List violations of some rules, for each the first ``limit``, one batch at a time, each with the index of its
        rule.

        Columns: ``s_row``, ``t_row`` (null for single rows) and both rows' values of ``columns``.
        """

    def groups(self, rule: int) -> Iterator[pa.RecordBatch]:
        """List violations in compressed form: lists ``s_rows`` and ``t_rows``, each row of one with each of the other
        but itself."""

    def write_folder(self, rules: Mapping[int, str], path: str, limit: int | None = None) -> int | None:
        """Let the workers write violations of some rules, for each the first ``limit``, to a new folder of Parquet
        files.

        Returns their count, or None if no worker holds the rows: then nothing is written. ``rules`` gives the rules
        their ids. Columns: ``rule``, ``s_row``, ``t_row``, and both rows' values in all columns that one of the rules
        compares; null where a violation's own rule does not compare them.
        """

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:
        """All violations of a rule, lazily: ``rule``, ``s_row``, ``t_row`` and the values compared."""

    def rows(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        """The rows that take part in violations: ``row``, ``rule``, ``pairs``; ``ids`` name the rules."""

    def flagged(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        """The input with what each row is called (``row``) and the ids of the rules that it breaks
        (``broken_rules``)."""

    def worst(self, limit: int, columns: Sequence[str] = ()) -> list[WorstRow]:
        """The rows in most violations over all rules, worst first, with their values in ``columns``."""

    def rows_to_remove(self, rule: int, limit: int | None = None) -> Removal:
        """The fewest rows without which the rule holds, or an upper bound; the ids of the first ``limit`` of them."""

    def suspects(self, rules: Mapping[FunctionalDependency, bool], limit: int | None = None) -> pa.Table:
        """Cells that more dependencies contradict than confirm; the value says whether a dependency was learnt with
        exceptions."""

    def close(self) -> None:
        """Release what was materialised. Frames stay valid, except those of SparkEngine without a row id, which need
        it."""


class Engine(Protocol):
    """A table under one meaning of null, and the questions that can be asked about it. Rules must be bound to its
    columns."""

    @property
    def choice(self) -> Choice:
        """Which engine this is, and why it was chosen."""

    @property
    def nulls(self) -> Nulls: ...
    @property
    def rows(self) -> int:
        """Count of rows of the table."""

    @property
    def types(self) -> Mapping[str, TypeClass]:
        """The type class of each column."""

    @property
    def skipped(self) -> Mapping[str, RowlawError]:
        """Columns of the source that cannot be compared, and why."""

    @property
    def arrow_types(self) -> Mapping[str, pa.DataType]:
        """The Arrow type of each column."""

    def profile(self, columns: Sequence[str], top: int) -> list[ColumnProfile]:
        """Describe the values of some columns, in one pass: nulls, distinct values, range, the ``top`` most frequent
        values."""

    def check(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, done: Done | None = None) -> Findings:
        """Count the violations of each rule exactly, with the rows that take part."""

    def counts(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, stop: Stop = NEVER) -> list[int]:
        """Count the violations of each rule exactly; nothing else is kept. Raises ``Stopped`` soon after ``stop`` is
        requested."""

    def some_rows(self, limit: int, columns: Sequence[str]) -> pa.Table:
        """Up to ``limit`` rows spread over the table: ``number`` (their order) and the values of ``columns``."""

    def explain(self, rule: Rule, *, analyze: bool = False, among: Sequence[Rule] = ()) -> RulePlan:
        """How the violations of a rule are counted, together with those of ``among``, and listed; ``analyze``: measured
        too."""

    def close(self) -> None:
        """Release the table."""


class DiscoveryEngine(Engine, Protocol):
    """An engine that also answers what discovery asks: samples, statistics and counterexamples."""

    @property
    def statistics(self) -> Statistics: ...
    @property
    def known_rows(self) -> KnownRows:
        """Which columns are known together: what decides whether any rows could break a law."""

    def counterexamples(self, rules: Sequence[Rule], limit: int, *, stop: Stop = NEVER) -> list[Pairs | None]:
        """For each rule up to ``limit`` violating pairs, no pairs only if the rule holds; None if there was no time to
        examine it."""

    def all_violations(self, rule: Rule) -> Iterator[Pairs]:
        """All violating pairs of a rule, one batch at a time: what Hydra's completion takes in."""

    def ask(
        self, columns: Sequence[str], questions: Sequence[Question], limit: int, stop: Stop | None = None
    ) -> list[list[Pairs]]:
        """Up to ``limit`` pairs that break each target of each question; none only if it holds. No answers once it is
        time to stop."""

    def fewest_removed(
        self, columns: Sequence[str], questions: Sequence[Question], stop: Stop | None = None
    ) -> list[list[int]]:
        """For each target of each question the fewest rows without which it holds. No answers once it is time to
        stop."""

    def asked_first(self, laws: Sequence[Sequence[Denial | None]]) -> list[int]:
        """Of some laws, each given by what it denies (`Question.denials`), those to ask about first.

        All of them, unless an answer takes a look at the whole table: then those that one look answers, since what
        breaks them breaks others, too.
        """

    def agreeing_pairs(self, columns: Sequence[str]) -> float:
        """About how many unordered pairs of rows agree on all of some columns; infinite if :meth:`in_groups` cannot
        bring them together."""

    def in_groups(
        self, lists: Sequence[Sequence[str]], work: GroupWork, seconds: float, stop: Stop = NEVER
    ) -> list[np.ndarray] | None:
        """Do some work on the rows that agree on all columns of one of several lists, and return what it gives for each
        part of the table; no such rows are in different parts. None if that is too much to bring here. ``seconds``:
        about how long it takes. Raises ``Stopped``."""

    @property
    def answer_seconds(self) -> float:
        """About how long the answer about a rule takes, beside others; 0 if it is best found out by asking."""

    def estimated_counts(self, rules: Sequence[Rule], stop: Stop = NEVER) -> list[float]:
        """About how many violations each rule has: exactly, where the sample has all rows. Raises ``Stopped``."""

    def neighbours(self, columns: Sequence[str], stop: Stop = NEVER) -> Pairs:
        """Some pairs of rows that agree on a column, for each of the columns: such pairs say most about keys and
        dependencies."""

    def sample(self) -> Relation:
        """Rows to take evidence from: all rows where this process holds them, else a sample."""

    @property
    def sample_is_whole(self) -> bool:
        """Whether :meth:`sample` has all rows of the table: then what holds on it is proven."""

    @property
    def on_sample(self) -> DiscoveryEngine:
        """An engine over :meth:`sample` alone, which answers at once; this one, if the sample has all rows."""

    def workers_for(self, seconds: float, *, on_rows: bool = True) -> Workers:
        """The workers for so much work; ``on_rows``: the work needs the rows of :meth:`sample`."""
