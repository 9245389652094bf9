"""What discovery asks, answered on a Spark table that no process holds: :class:`SparkDiscoveryEngine`.

Evidence comes from a sample of rows. Candidates are validated on all rows: those that share a column among their
equalities are looked at in one job, in partitions by that column; the others are counted, and pairs are looked for
where the count says that there are some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from rowlaw.engine.local.agreeing import AgreeingPairs
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.protocol import GroupWork
from rowlaw.engine.questions import Question
from rowlaw.engine.spark import costs
from rowlaw.engine.spark.aggregate import simple
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.fold import folds
from rowlaw.engine.spark.groups import AggregatePlan
from rowlaw.engine.spark.involved import rows_involved
from rowlaw.engine.spark.limits import ROW_OVERHEAD, VALUE_BYTES
from rowlaw.engine.spark.looking import AskTask, GroupTask, LookTask, MeetTask, pair_schema, word_names
from rowlaw.engine.spark.planning import parts_of
from rowlaw.engine.spark.removing import Removing
from rowlaw.engine.spark.roles import KEY, hashed
from rowlaw.engine.spark.rows_to_learn import SampledRows, sampled_rows
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.single import single_rows
from rowlaw.engine.spark.statistics import SparkStatistics
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import Item
from rowlaw.errors import RowlawError
from rowlaw.progress import jobs
from rowlaw.relation.known import ENOUGH, KnownRows
from rowlaw.relation.memory import MemoryRelation
from rowlaw.relation.pairs import Pairs
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Column, Denial, Predicate, Rule
from rowlaw.spark.jobs import DriverThreads, Workers, described, failure
from rowlaw.stopping import NEVER, Stop, Stopped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")
Root = tuple[str, ...]  # columns, by their safe names, that rows are partitioned by
_ROOT_COLUMNS = 3  # at most
_GIVEN_ROWS = 8  # rows of a broken rule that partners are looked for
_COUNTED_RULES = 32  # of a partitioning; counting more takes longer, and so does finding out
_FROM_A_TASK = 4  # pairs of a rule that one task gives: a counterexample refutes many rules, so few are enough


@dataclass(frozen=True)
class SparkDiscoveryEngine(SparkEngine):
    """A SparkEngine with what discovery needs: a sample, statistics and counterexamples with the values of both
    rows."""

    seed: int = 0
    _samples: list[SampledRows] = field(default_factory=list, init=False, repr=False)
    _light: dict[Root, bool] = field(default_factory=dict, init=False, repr=False)

    @property
    def sample_is_whole(self) -> bool:
        return self.sample().rows == self.rows

    def sample(self) -> Relation:
        return self._sampled.relation

    @property
    def _sampled(self) -> SampledRows:
        if not self._samples:
            row_bytes = ROW_OVERHEAD + sum(VALUE_BYTES[kind] for kind in self.table.types.values())
            limit = self.limits.rows_to_learn(self.rows, row_bytes)
            with described(self.table.session, "sample rows"):
                self._samples.append(sampled_rows(self.table, limit, self.seed))
        return self._samples[0]

    @cached_property
    def on_sample(self) -> LocalEngine:
        return LocalEngine(self.sample(), self.nulls, workers=DriverThreads())

    @cached_property
    def statistics(self) -> SparkStatistics:
        return SparkStatistics(self.table)

    @cached_property
    def known_rows(self) -> KnownRows:
        from pyspark.sql import functions as f

        names = [name for name, nulls in self.statistics.nulls.items() if nulls] if self.nulls == "unknown" else []
        if not names:
            return KnownRows(self.rows, (), np.ones((1, 0), bool), np.array([self.rows]))
        plain = self.table.plain
        flags = [plain[self.table.names[name]].isNotNull().alias(f"f{i}") for i, name in enumerate(names)]
        counts = plain.groupBy(*flags).count().select("*", f.least("count", f.lit(ENOUGH)).alias("enough")).collect()
        patterns = np.array([row[: len(names)] for row in counts], bool).reshape(-1, len(names))
        most_known = np.argsort(-patterns.sum(axis=1), kind="stable")
        return KnownRows(
            self.rows,
            tuple(names),
            patterns[most_known],
            np.array([row["enough"] for row in counts], np.int64)[most_known],
        )

    def workers_for(self, seconds: float, *, on_rows: bool = True) -> Workers:  # noqa: ARG002 - work on the sample is done here
        return DriverThreads()

    def asked_first(self, laws: Sequence[Sequence[Denial | None]]) -> list[int]:
        denied = [[self.table.safe(denial) for denial in law if denial is not None] for law in laws]
        for root, places in self.roots([_agreed(law) for law in denied]).items():
            if root and not self._counted_sooner([denial for place in places for denial in denied[place]]):
                return places
        return list(range(len(laws)))

    def agreeing_pairs(self, columns: Sequence[str]) -> float:
        unreachable = () in self.roots([[self.table.names[name] for name in columns]])
        return math.inf if unreachable else self._agreeing.of(columns, self.rows)

    @cached_property
    def _agreeing(self) -> AgreeingPairs:
        return AgreeingPairs(self._sampled.relation, self.nulls, self._sampled.uniform)

    def in_groups(
        self,
        lists: Sequence[Sequence[str]],
        work: GroupWork,
        seconds: float,  # noqa: ARG002 - Spark has it done where the rows are
        stop: Stop = NEVER,
    ) -> list[np.ndarray] | None:
        own = tuple(self.table.own_name(safe) for safe in self._columns)
        parts = []
        rooted = self.roots([[self.table.names[name] for name in columns] for columns in lists])
        try:
            for done, (root, places) in enumerate(rooted.items()):
                jobs(done, len(rooted))
                task = GroupTask(work, tuple(tuple(lists[place]) for place in places), self._columns, own, self.nulls)
                words = work.words
                sent = self.partitioned(root, self._columns)
                lines = sent.mapInArrow(task, ", ".join(f"{name} bigint" for name in word_names(words))).distinct()
                limit = self.limits.learnt_bytes // (8 * words)
                listed = self._brought(lines.limit(limit + 1), _titled("compare rows that agree on", root), stop)
                if listed.num_rows > limit:
                    return None
                parts.append(np.stack([column.to_numpy() for column in listed.columns], axis=1).view(np.uint64))
        finally:
            jobs(0, 0)
        return parts

    @property
    def answer_seconds(self) -> float:
        return self.rows * costs.LOOK_RULE_ROW

    def estimated_counts(self, rules: Sequence[Rule], stop: Stop = NEVER) -> list[float]:
        counts = self._on_uniform.counts(rules, stop=stop)
        scale = self.rows / max(1, self._on_uniform.rows)
        arities = [max(denial.arity for denial in rule.denials) for rule in rules]
        return [count * scale**arity for count, arity in zip(counts, arities, strict=True)]

    @cached_property
    def _on_uniform(self) -> LocalEngine:
        """The uniform part of the sample."""
        relation = self._sampled.relation
        rows = np.ascontiguousarray(relation.matrix[:, self._sampled.uniform])
        return LocalEngine(relation.recoded(rows), self.nulls, workers=DriverThreads())

    def neighbours(self, columns: Sequence[str], stop: Stop = NEVER) -> Pairs:
        return self.on_sample.neighbours(columns, stop)

    def all_violations(self, rule: Rule) -> Iterator[Pairs]:
        raise RowlawError(
            "BAD_OPTION",
            option="strategy",
            value="hydra",
            problem=f"all violations of {rule} may be too many: use auto on Spark",
        )

    def counterexamples(self, rules: Sequence[Rule], limit: int, *, stop: Stop = NEVER) -> list[Pairs | None]:
        denials = [(number, self.table.safe(denial)) for number, rule in enumerate(rules) for denial in rule.denials]
        try:
            pairs = self._look([Item(number, denial) for number, denial in denials], limit, stop)
        except Stopped:
            return [None] * len(rules)
        finally:
            jobs(0, 0)
        none = self._no_pairs
        return [pairs.get(number, none) for number in range(len(rules))]

    def ask(
        self, columns: Sequence[str], questions: Sequence[Question], limit: int, stop: Stop | None = None
    ) -> list[list[Pairs]]:
        safe = tuple(self.table.names[name] for name in columns)
        firsts = np.cumsum([0, *(len(question.targets) for question in questions)]).tolist()
        numbered = list(zip(firsts, questions, strict=False))
        rooted = self.roots([[safe[c] for c in question.context] for question in questions])
        try:
            pairs: dict[int, Pairs] = {}
            counted: list[Item] = []
            for done, (root, places) in enumerate(rooted.items()):
                jobs(done, len(rooted))
                items = [item for place in places for item in _as_items(*numbered[place], safe)]
                if not root or self._counted_sooner([item.denial for item in items]):
                    counted += items
                    continue
                task = AskTask(
                    tuple(numbered[place] for place in places), safe, self.nulls, self._columns, _FROM_A_TASK
                )
                sent = self.partitioned(root, self._columns)
                pairs |= self._pairs(sent, task, _titled("validate", root), limit, stop or NEVER)
            pairs |= self._look(counted, limit, stop or NEVER)
        except Stopped:
            return [[] for _ in questions]
        finally:
            jobs(0, 0)
        return [
            [pairs.get(first + i, self._no_pairs) for i in range(len(question.targets))] for first, question in numbered
        ]

    def fewest_removed(
        self, columns: Sequence[str], questions: Sequence[Question], stop: Stop | None = None
    ) -> list[list[int]]:
        safe = tuple(self.table.names[name] for name in columns)
        try:
            return Removing(self, safe, stop or NEVER).fewest(questions)
        except Stopped:
            return [[] for _ in questions]

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        """All columns, by their safe names, in the order of the sample."""
        return tuple(self.table.names[c.name] for c in self.statistics.columns)

    @cached_property
    def _numbered_rows(self) -> DataFrame:
        """All rows, called by their numbers, whatever the user calls them."""
        return replace(self.table, row_id=()).labelled

    @property
    def _no_pairs(self) -> Pairs:
        return Pairs(self.sample(), np.zeros((0, 2), np.int32))

    def roots(self, equal: Sequence[Sequence[str]]) -> dict[Root, list[int]]:
        """For each entry (columns that must be equal) some of them to partition by: few choices serve all. The empty
        one: rows that agree on them are too many for a task."""
        left = {i: frozenset(columns) for i, columns in enumerate(equal)}
        roots: dict[Root, list[int]] = {}
        for size in range(1, _ROOT_COLUMNS + 1):
            choices = sorted({root for columns in left.values() for root in combinations(sorted(columns), size)})
            light = [root for root in choices if self._is_light(root)]
            while users := {root: n for root in light if (n := sum(c.issuperset(root) for c in left.values()))}:
                best = max(users, key=lambda root: (users[root], self._distinct_in_sample(root)))
                roots[best] = [i for i, columns in left.items() if columns.issuperset(best)]
                left = {i: columns for i, columns in left.items() if not columns.issuperset(best)}
        return {**roots, (): sorted(left)} if left else roots

    def _is_light(self, root: Root) -> bool:
        """Whether all groups of rows that agree on some columns are small enough for a task."""
        if root not in self._light:
            most = self.limits.group_share * self._whole_view.task_rows(self._columns)
            self._light[root] = self.rows <= most or not self._whole_view.sample.heavy(root, most).num_rows
        return self._light[root]

    def _distinct_in_sample(self, root: Root) -> int:
        return max(self.sample().column(self.table.own_name(safe)).distinct for safe in root)

    @cached_property
    def _whole_view(self) -> View:
        return View(self.table, self._columns, self.limits)

    def partitioned(self, root: Root, columns: Sequence[str]) -> DataFrame:
        """The rows with known values in some columns, where those with the same values meet."""
        known = self.table.known(self.table.plain, root)
        key = hashed([known[c] for c in root]).alias(KEY)
        sent = known.select(key, *(known[c] for c in dict.fromkeys((*root, *columns))))
        return sent.repartition(self._whole_view.tasks(self.rows, columns, [root]), KEY).drop(KEY)

    def _look(self, items: Sequence[Item], limit: int, stop: Stop) -> dict[int, Pairs]:
        """Pairs that violate each item, none only if it holds."""
        pairs: dict[int, Pairs] = {}
        counted: list[Item] = []
        roots = self.roots([item.denial.equal_columns for item in items])
        for done, (root, places) in enumerate(roots.items()):
            jobs(done, len(roots))
            some = [items[place] for place in places]
            if not root or self._counted_sooner([item.denial for item in some]):
                counted += some
            else:
                pairs |= self._look_by(root, some, limit, stop)
        return pairs | self._counted_first(counted, limit, stop)

    def _look_by(self, root: Root, items: Sequence[Item], limit: int, stop: Stop) -> dict[int, Pairs]:
        """Look for pairs in a partitioning by columns that must be equal."""
        task = LookTask(tuple(items), self.nulls, self._columns, _FROM_A_TASK)
        sent = self.partitioned(root, self._columns)
        return self._pairs(sent, task, _titled("look for counterexamples", root), limit, stop)

    def _counted_sooner(self, denials: Sequence[Denial]) -> bool:
        """Whether the violations of some rules are probably counted sooner than pairs are looked for: equal rows are
        folded, and no row has to go to Python."""
        if len(denials) > _COUNTED_RULES:
            return False
        view, shapes = self._whole_view, [Shape.of(denial) for denial in denials]
        looking = self.rows * (costs.LOOK_ROW + costs.LOOK_RULE_ROW * len(shapes))
        chosen = folds(view, shapes)
        counting = sum(costs.PYTHON_JOB + self.rows * costs.GROUP_ROW for _ in {fold for fold in chosen if fold})
        for shape, fold in zip(shapes, chosen, strict=True):
            if fold is not None:
                counting += fold.distinct * costs.FOLDED_ROW
            else:
                counting += AggregatePlan().seconds(view, shape) if simple(shape) else math.inf
            if counting >= looking:
                return False
        return True

    def _counted_first(self, items: Sequence[Item], limit: int, stop: Stop) -> dict[int, Pairs]:
        """Count the violations of items; for those that have some, look for pairs. Where there are no columns to
        partition by, rows that take part are compared with all others."""
        if not items:
            return {}
        own = [_with_own_names(item.denial, self.table.own_name) for item in items]
        stop.check()
        broken = [item for item, count in zip(items, self.counts(own, stop=stop), strict=True) if count]
        pairs: dict[int, Pairs] = {}
        for root, places in self.roots([item.denial.equal_columns for item in broken]).items():
            some = [broken[place] for place in places]
            pairs |= self._look_by(root, some, limit, stop) if root else self._met(some, limit, stop)
        return pairs

    def _met(self, items: Sequence[Item], limit: int, stop: Stop) -> dict[int, Pairs]:
        """Pairs of broken items: a few rows that take part are compared with all others in one scan."""
        given = [(item, self._rows_in_violations(item, stop)) for item in items if item.denial.arity == 2]
        pairs = {item.number: self._beside_others(item) for item in items if item.denial.arity == 1}
        if given:
            rows = self._numbered_rows
            task = MeetTask(tuple(given), self.nulls, ROW, self._columns, _FROM_A_TASK)
            pairs |= self._pairs(rows.select(ROW, *self._columns), task, "look for partners", limit, stop)
        return pairs

    def _rows_in_violations(self, item: Item, stop: Stop) -> pa.Table:
        from pyspark.sql import functions as f

        stop.check()
        rows = self._numbered_rows
        view = View(self.table, tuple(item.denial.columns), self.limits)
        involved = rows_involved(view, rows, parts_of(view, 0, item.denial))
        ids = [r[ROW] for r in involved.orderBy(f.desc("pairs"), f.asc(ROW)).limit(_GIVEN_ROWS).collect()]
        return rows.where(f.col(ROW).isin(ids)).select(ROW, *self._columns).toArrow()

    def _beside_others(self, item: Item) -> Pairs:
        """Rows that violate a rule about single rows, each with another row of the table."""
        view = View(self.table, tuple(item.denial.columns), self.limits)
        rows = self._numbered_rows
        breaking = (
            single_rows(view, rows, Shape.of(item.denial)).select(ROW, *self._columns).limit(_FROM_A_TASK).toArrow()
        )
        others = rows.select(ROW, *self._columns).limit(2).toArrow().cast(breaking.schema)
        together = pa.concat_tables([breaking, others])
        ids = together.column(ROW).to_pylist()
        pairs = [
            (i, next(j for j in range(breaking.num_rows, len(ids)) if ids[j] != ids[i]))
            for i in range(breaking.num_rows)
            if self.rows > 1
        ]
        if not pairs:
            pairs = [(0, 0)]
        return Pairs(self._relation(together.select(list(self._columns))), np.array(pairs, np.int32))

    def _pairs(self, sent: DataFrame, task: Any, description: str, limit: int, stop: Stop) -> dict[int, Pairs]:
        """Run a task over all partitions, and give the pairs that it finds for each item, at most ``limit``."""
        schema = pair_schema(dict(self.table.plain.dtypes), self._columns)
        listed = self._brought(sent.mapInArrow(task, schema), description, stop)
        if not listed.num_rows:
            return {}
        width = len(self._columns)
        sides = [
            listed.select(range(1 + side * width, 1 + (side + 1) * width)).rename_columns(self._columns)
            for side in (0, 1)
        ]
        relation = self._relation(pa.concat_tables(sides))
        items = listed.column(0).to_numpy()
        pairs = {}
        for item in np.unique(items).tolist():
            places = np.flatnonzero(items == item)[:limit]
            pairs[item] = Pairs(relation, np.stack((places, places + listed.num_rows), axis=1).astype(np.int32))
        return pairs

    def _brought(self, frame: DataFrame, description: str, stop: Stop) -> pa.Table:
        return self._run(frame.toArrow, description, stop)

    def _relation(self, rows: pa.Table) -> Relation:
        """Rows of the table under its own column names, with the columns of the sample."""
        return MemoryRelation.of(
            rows.combine_chunks().rename_columns([c.name for c in self.statistics.columns]), self.table.row_id
        )

    def collected(self, frame: DataFrame, description: str, stop: Stop) -> list[Any]:
        return self._run(frame.collect, description, stop)

    def _run(self, action: Callable[[], T], description: str, stop: Stop) -> T:
        """Run a job that a request to stop cancels."""
        stop.check()
        with described(self.table.session, description, stop=stop):
            try:
                return action()
            except Exception as error:  # Spark's errors come as many types
                stop.check()
                raise failure(description, error) from error


def _titled(phase: str, root: Root) -> str:
    return f"{phase} by {', '.join(root)}"


def _agreed(denials: Sequence[Denial]) -> list[str]:
    """The columns that must be equal in each of some denials."""
    common = [frozenset(denial.equal_columns) for denial in denials]
    return sorted(frozenset.intersection(*common)) if common else []


def _as_items(first: int, question: Question, names: Sequence[str]) -> list[Item]:
    """The targets of a question as denials."""
    return [Item(i, denial) for i, denial in enumerate(question.denials(names), first) if denial is not None]


def _with_own_names(denial: Denial, own_name: Callable[[str], str]) -> Denial:
    def own(operand: Any) -> Any:
        return Column(operand.row, own_name(operand.name)) if isinstance(operand, Column) else operand

    return Denial(tuple(Predicate(own(p.left), p.op, own(p.right)) for p in denial.predicates))
