"""What a cluster brings: the phases that can be Spark jobs, by one and two workers of one core each, and by the
driver's threads.

The cluster is a standalone master and workers on this machine (``benchmarks/standalone.py``) that share its files. It
is up and its workers have compiled the kernels before the clock starts; CPU seconds and memory are those of the driver,
Java, workers and executors together. Ours is two workers: beside one worker it shows how a phase grows, beside two
threads what Spark costs over plain kernels.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from typing import Any

from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.shapes import TWENTY
from benchmarks.standalone import Standalone
from benchmarks.tables import by_name

SIZES = (1_000_000,)
PAIR_SHARE = 1 / 25  # of the rows, for comparing all pairs
WARM_ROWS = 20_000
PROPOSED_ROWS = 3_000  # rows whose denial constraints are what the engine is asked about
PROPOSED = 15
VALIDATED = 100  # functional dependencies of a few rows that are validated
MOST_INEQUALITIES = 2  # of a rule that is asked about: more take long
COUNTEREXAMPLES = 20
TABLE = "tax with errors"
ONE_CORE = {"spark.executorEnv.OMP_NUM_THREADS": "1"}  # Arrow's own threads: a worker of one core uses one


class Phase(Case):
    """A phase by so many workers of a cluster, or threads of this process, which then has as many cores."""

    def __init__(self, rows: int, size: int, spark: bool) -> None:
        self.rows, self.size, self.spark = rows, size, spark
        self.cluster: Standalone | None = None
        self.session: Any = None

    def prepare(self) -> None:
        if self.spark:
            self._start()
        else:
            self._keep_to_cores()
        from rowlaw.spark.jobs import DriverThreads, SparkTasks

        self.workers = SparkTasks(self.session) if self.spark else DriverThreads(self.size)
        self.load()

    def load(self) -> None:
        self.relation, self.small = (by_name.encoded(TABLE, rows) for rows in (self.rows, WARM_ROWS))
        for column in self.relation.columns:  # the codes are in memory
            self.relation.codes(column.name).max()

    def work(self, relation: Any) -> Any:
        """The phase on a relation."""
        raise NotImplementedError

    def warm(self) -> None:
        self.work(self.small)

    def run(self) -> Any:
        return self.work(self.relation)

    def close(self) -> None:
        if self.session is not None:
            self.session.stop()
        if self.cluster is not None:
            self.cluster.__exit__()

    def _start(self) -> None:
        self.cluster = Standalone(workers=self.size, cores=1).__enter__()
        try:
            self.session = self.cluster.session(**ONE_CORE)
        except BaseException:
            self.cluster.__exit__()
            raise

    def _keep_to_cores(self) -> None:
        import pyarrow as pa

        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, set(islice(sorted(os.sched_getaffinity(0)), self.size)))
        pa.set_cpu_count(self.size)


class Encode(Phase):
    """A Parquet file into ordered codes. The answer has the size of what is made."""

    def load(self) -> None:
        self.relation, self.small = (str(by_name.path(TABLE, rows)) for rows in (self.rows, WARM_ROWS))

    def work(self, relation: Any) -> Any:
        from rowlaw.relation import encode
        from rowlaw.source import open_source

        made = encode(open_source(relation), workers=self.workers)
        self.bytes = made.nbytes
        with made:
            values = sum(file.stat().st_size for file in made.folder.glob("dictionary-*"))
            return {"rows": made.rows, "columns": len(made.columns), "code_bytes": made.nbytes, "value_bytes": values}

    def data_bytes(self) -> int:
        return self.bytes


class Check(Phase):
    """Counting the violations of twenty rules, with the rows that take part."""

    def load(self) -> None:
        from rowlaw.rules import bind, parse_located

        super().load()
        self.rules = [bind(parse_located(text), self.relation.types) for text in TWENTY]

    def warm(self) -> None:
        """Also in pieces, as heavy rules are."""
        from rowlaw.engine.local import tasks

        usual = tasks.SPLIT_SECONDS
        for tasks.SPLIT_SECONDS in (0.0, usual):
            super().warm()

    def work(self, relation: Any) -> Any:
        from rowlaw.engine.local.engine import LocalEngine

        return [found.pairs for found in LocalEngine(relation, workers=self.workers).count(self.rules)]

    def data_bytes(self) -> int:
        return self.relation.nbytes


class Look(Phase):
    """Looking for counterexamples in all rows to denial constraints that hold on a few."""

    def load(self) -> None:
        from rowlaw.discovery.denial import discover_denials
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.engine.local.statistics import RelationStatistics
        from rowlaw.predicates.space import SpaceOptions, predicate_space

        super().load()
        few = by_name.encoded(TABLE, PROPOSED_ROWS)
        found = discover_denials(
            LocalEngine(few), predicate_space(RelationStatistics(few), SpaceOptions(cross=False))
        ).denials
        denials = sorted(
            (d for d in found if sum(p.op.is_inequality for p in d.predicates) <= MOST_INEQUALITIES), key=str
        )
        self.rules = denials[:: max(1, len(denials) // PROPOSED)][:PROPOSED]

    def work(self, relation: Any) -> Any:
        from rowlaw.engine.local.engine import LocalEngine

        return [
            len(found) > 0
            for found in LocalEngine(relation, workers=self.workers).counterexamples(self.rules, COUNTEREXAMPLES)
        ]

    def in_short(self, found: Any) -> Any:
        return {"rules": len(found), "broken": sum(found)}


class Validate(Phase):
    """Validating on all rows functional dependencies that hold on a few, and as many that do not: those without one of
    their columns."""

    def load(self) -> None:
        from rowlaw.discovery.dependencies import discover_dependencies
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.engine.questions import Question, Target

        super().load()
        self.names = [column.name for column in self.relation.columns]
        found = discover_dependencies(LocalEngine(self.small), ("fd",)).rules
        found = found[:: max(1, len(found) // VALIDATED)][:VALIDATED]
        sides: dict[tuple[int, ...], set[Any]] = {}
        for rule in found:
            context = tuple(self.names.index(name) for name in rule.left)
            for some in (context, context[1:]):
                sides.setdefault(some, set()).add(Target(self.names.index(rule.right)))
        self.questions = [Question(context, tuple(sorted(targets))) for context, targets in sorted(sides.items())]

    def work(self, relation: Any) -> Any:
        from rowlaw.engine.local.engine import LocalEngine

        return LocalEngine(relation, workers=self.workers).ask(self.names, self.questions, COUNTEREXAMPLES)

    def in_short(self, found: Any) -> Any:
        broken = [len(pairs) > 0 for answer in found for pairs in answer]
        return {"laws": len(broken), "broken": sum(broken)}


class Compare(Phase):
    """The evidence of all pairs of rows."""

    def work(self, relation: Any) -> Any:
        from rowlaw.evidence.slots import Slots
        from rowlaw.evidence.tiles import all_pairs

        return all_pairs(Slots.same_column(relation), workers=self.workers)

    def in_short(self, found: Any) -> Any:
        return {"evidences": len(found.counts), "pairs": int(found.counts.sum())}


PHASES = {
    "encode": Encode,
    "check 20 rules": Check,
    "look for counterexamples": Look,
    "validate functional dependencies": Validate,
    "compare all pairs": Compare,
}


def CASES(options: Options) -> list[Comparison]:
    """A comparison for each phase."""
    return [_phase(name, rows) for rows in options.rows or SIZES for name in PHASES]


def _phase(name: str, rows: int) -> Comparison:
    rows = round(rows * PAIR_SHARE) if PHASES[name] is Compare else rows

    def by(label: str, size: int, spark: bool) -> Contender:
        return Contender(label, f"{__name__}:{PHASES[name].__name__}", {"rows": rows, "size": size, "spark": spark})

    return Comparison(
        name=name,
        size=rows,
        ours=by("rowlaw, two workers", 2, spark=True),
        peers=(
            by("rowlaw, one worker", 1, spark=True),
            by("rowlaw, two threads", 2, spark=False),
            by("rowlaw, one thread", 1, spark=False),
        ),
        calls=3,
        make=partial(_make, rows),
    )


def _make(rows: int) -> None:
    for number in (PROPOSED_ROWS, WARM_ROWS, rows):
        by_name.encoded(TABLE, number)
