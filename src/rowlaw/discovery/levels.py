"""Order dependencies level by level: HyOD (Li, Li, Tan, Yang, ICDE 2024), sections IV and V.

The sets of columns form a lattice. Level ``l`` asks of each set ``X`` of ``l + 1`` columns whether ``X`` without ``A``
determines ``A``, and whether ``A`` and ``B`` are order compatible in the context ``X`` without both. Candidates are
first checked on a sample; what holds there is validated on all rows; pairs that break it join the sample. A level ends
with exactly the minimal dependencies of the table, so that what it prunes is pruned for good (propositions 2 to 4).
Within a level candidates are independent and run in parallel, cut by context.

Pruning. The paper assumes total orders, as ``nulls="equal"`` gives. With ``nulls="unknown"`` a null agrees with nothing
and is in no comparison. A dependency is still about the pairs of rows that agree on its context, and a larger context
still has fewer of them. So:

1. A valid dependency has no minimal one with a larger context. Holds: a pair that breaks the larger one breaks the
   smaller one.
2. If ``X`` determines ``A``, then ``{X}: A ~ B`` is not minimal. Holds: it is the definition, and no pair that agrees
   on ``X`` can swap.
3. If ``X`` determines ``A``, a context with ``X`` and ``A`` has no minimal dependency for other columns, since without
   ``A`` it has the same pairs. Wrong with unknown nulls: rows may agree on ``X`` while one of them has null in ``A``,
   and then the smaller context has more pairs. True if no row that shares its ``X`` with another has null in ``A``
   (*holds fully*, in the kernels), and used only then.
4. A set without candidates is left out, and with it all larger ones. Holds, by rules 1 to 3. Let ``X`` have no
   candidates of either kind. Columns outside of ``X`` are only ever removed by rule 3, so ``X`` contains a useless
   context ``WA``, and contexts that contain it are useless too. What remains are pairs with a side in ``X``. Both sides
   in ``X``: the pair is no candidate of ``X``, so by rule 1 none of larger sets. One side ``C`` in ``X``, the context
   containing the rest of ``X``: as ``C`` is no candidate of ``X``, either a part of the context determines ``C`` (rule
   2), or the context contains a useless one (rule 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.vacuous import not_vacuous
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.partitions import Answers, Candidates, Checking, GrowingSample, bits
from rowlaw.kernels.levels import BROKEN, HOLDS_FULLY
from rowlaw.progress import Phase, Progress
from rowlaw.rules.model import FunctionalDependency, OrderCompatible
from rowlaw.spark.jobs import DriverThreads, Workers, finished
from rowlaw.stopping import Stopped

SAMPLE = 100  # rows to begin with (HyOD, Exp-4)
PAIRS = 10  # kept of those that break a dependency, the ones that agree on most columns (HyOD, Exp-5)
TASKS_PER_SLOT = 8  # skewed contexts even out
_ROW_SECONDS = 5e-9  # of looking at one row for one candidate


@dataclass
class Levels:
    """The minimal dependencies found; if ``partial``, those of the levels that were reached, all of them valid and
    minimal."""

    fds: list[FunctionalDependency] = field(default_factory=list)
    ods: list[OrderCompatible] = field(default_factory=list)
    partial: bool = False
    levels: int = 0
    sample: int = 0  # rows of the sample in the end
    checked: int = 0  # candidates checked on the sample
    validated: int = 0  # of those, on all rows


def discover_levels(
    engine: DiscoveryEngine,
    *,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
    columns: Sequence[str] | None = None,
    ordered: Iterable[str] | None = None,
    sample: Sequence[int] | None = None,
    size: int = SAMPLE,
    pairs: int = PAIRS,
    seed: int = 0,
) -> Levels:
    """All minimal functional dependencies and order compatibilities, level by level.

    ``columns`` are those that may occur at all, ``ordered`` those that may be a side of an order compatibility; all if
    not given. ``sample`` are the rows to begin with; if not given, ``size`` random ones. ``pairs`` of those that break
    a dependency join them, the ones that agree on most columns. They decide how long it takes, not what is found.

    >>> import pyarrow as pa
    >>> from rowlaw.engine.open import open_local
    >>> from rowlaw.source import open_source
    >>> table = pa.table({"month": [1, 1, 1, 2], "week": [2, 3, 3, 6], "day": [1, 2, 3, 4]})
    >>> found = discover_levels(open_local(open_source(table)))
    >>> [str(rule) for rule in found.fds]
    ['fd (week) -> month', 'fd (day) -> month', 'fd (day) -> week']
    >>> [str(rule) for rule in found.ods]
    ['od {}: month ~ week', 'od {}: day ~ month', 'od {}: day ~ week']

    Exponential in the number of columns, as the result may be. Memory: a copy of the codes, and ``CACHE_BYTES`` of
    partitions.
    """
    index = {column.name: i for i, column in enumerate(engine.statistics.columns)}
    for name in (*(columns or ()), *(ordered or ())):
        engine.statistics.column(name)  # an unknown name is an error here
    chosen = [index[name] for name in columns] if columns is not None else list(range(len(index)))
    sides = chosen if ordered is None else sorted({index[name] for name in ordered} & set(chosen))
    rows = GrowingSample(engine.sample(), engine.nulls, size, seed, sample)
    levels = _Run(
        engine, deadline or Deadline(), progress or Progress(quiet=True), _Lattice(chosen, sides), rows, pairs
    ).result()
    levels.fds, levels.ods = not_vacuous(levels.fds, engine.known_rows), not_vacuous(levels.ods, engine.known_rows)
    return levels


class _Lattice:
    """The sets of one level with their candidates (algorithms 2 and 3).

    ``constants[X]`` are the columns that may still be determined by a set around ``X`` (``C_c+`` in the paper),
    ``orders[X]`` the pairs and directions that may still be order compatible (``C_o+``), one bit for each line of
    ``sides``.
    """

    def __init__(self, columns: Sequence[int], ordered: Sequence[int]) -> None:
        pairs = list(combinations(sorted(ordered), 2))
        self.sides = np.array([(a, b, down) for a, b in pairs for down in (0, 1)], np.int32).reshape(-1, 3)
        self._lines = {(1 << a) | (1 << b): 0b11 << 2 * i for i, (a, b) in enumerate(pairs)}
        self._touching = dict.fromkeys(columns, 0)
        for (a, b), lines in zip(pairs, self._lines.values(), strict=True):
            self._touching[a] |= lines
            self._touching[b] |= lines
        everything = sum(1 << c for c in columns)
        self.constants = {1 << c: everything for c in sorted(columns)}
        self.orders = dict.fromkeys(self.constants, 0)

    def candidates(self, deadline: Deadline) -> list[Candidates]:
        """What the level asks, by context; neighbours have much in common."""
        constants: dict[int, list[int]] = {}
        orders: dict[int, list[int]] = {}
        for members, possible in self.constants.items():
            if deadline.passed:
                return []
            for c in bits(members & possible):
                constants.setdefault(members ^ (1 << c), []).append(c)
        of_line = [(1 << int(a)) | (1 << int(b)) for a, b, _ in self.sides]
        for members, lines in self.orders.items():
            if deadline.passed:
                return []
            for line in bits(lines):
                orders.setdefault(members ^ of_line[line], []).append(line)
        none: list[int] = []
        return [
            Candidates(
                context,
                np.array(constants.get(context, none), np.int64),
                self.sides[np.array(sorted(orders.get(context, none)), np.int64)],
            )
            for context in sorted(constants.keys() | orders.keys())
        ]

    def prune(self, asked: Candidates, answers: Answers) -> None:
        """Take note of what holds on all rows (algorithm 3, lines 2 to 7)."""
        for c, answer in zip(asked.constants.tolist(), answers.constants.tolist(), strict=True):
            members = asked.context | (1 << c)
            if answer != BROKEN:
                self.constants[members] &= ~(1 << c)  # rule 1
            if answer == HOLDS_FULLY:
                self.constants[members] &= members  # rule 3
        for (a, b, down), answer in zip(asked.orders.tolist(), answers.orders.tolist(), strict=True):
            if answer != BROKEN:
                pair = (1 << a) | (1 << b)
                lines = self._lines[pair]
                self.orders[asked.context | pair] &= ~((lines & -lines) << down)  # rule 1

    def climb(self, deadline: Deadline) -> None:
        """To the next level: the sets all of whose parts still have candidates (algorithm 3, lines 8 to 13)."""
        # rule 4
        alive = sorted(members for members, constants in self.constants.items() if constants or self.orders[members])
        below = {members: self._part(members) for members in alive}
        by_prefix: dict[int, list[int]] = {}
        for members in below:
            last = 1 << (members.bit_length() - 1)
            by_prefix.setdefault(members ^ last, []).append(last)
        self.constants, self.orders = {}, {}
        for prefix, lasts in by_prefix.items():
            if deadline.passed:
                return
            for b, c in combinations(lasts, 2):
                members = prefix | b | c
                if all(members ^ (1 << d) in below for d in bits(prefix)):
                    self._inherit(members, below)

    def _part(self, members: int) -> _Part:
        settled = 0
        for c in bits(members & ~self.constants[members]):
            settled |= self._touching[c]
        return _Part(self.constants[members], self.orders[members], settled)

    def _inherit(self, members: int, below: dict[int, _Part]) -> None:
        """The candidates of a set, from those of its parts (algorithm 2, lines 4 to 9 and 15 to 16)."""
        constants = -1
        orders = self._lines.get(members, 0) if members.bit_count() == 2 else -1
        for c in bits(members):
            part, touching = below[members ^ (1 << c)], self._touching[c]
            constants &= part.constants
            orders &= (part.orders & ~touching) | (touching & ~part.settled)
        self.constants[members], self.orders[members] = constants, orders


@dataclass(frozen=True, slots=True)
class _Part:
    """The candidates of a set, for the sets that contain it.

    ``settled`` are the pairs and directions with a side in the set that is no candidate of it: in the context of the
    rest of the set that side is determined (rule 2), or the context is useless (rule 3).
    """

    constants: int
    orders: int
    settled: int


@dataclass
class _Run:
    engine: DiscoveryEngine
    deadline: Deadline
    progress: Progress
    lattice: _Lattice
    sample: GrowingSample
    pairs: int  # of rows that join the sample for each broken dependency

    def result(self) -> Levels:
        levels = Levels()
        with self.deadline.watched(), suppress(Stopped):
            self._climb(levels)
        levels.partial = self.deadline.stopped
        levels.sample = len(self.sample)
        return levels

    def _climb(self, found: Levels) -> None:
        """Level after level, until there is nothing left to ask or no time."""
        while self.lattice.constants and not self.deadline.passed:
            with self.progress.phase("discover on the sample") as phase:
                phase.update(0, note=f"level {found.levels}, {len(self.sample):,} rows")
                asked = finished(lambda: self.lattice.candidates(self.deadline), self.deadline)
                answers = self._on_sample(asked, phase)
            found.checked += sum(map(len, asked))
            if not self.sample.is_all:
                asked = [c for c in (c.kept(a) for c, a in zip(asked, answers, strict=True) if a is not None) if len(c)]
                found.validated += sum(map(len, asked))
                with self.progress.phase("validate on all rows") as phase:
                    phase.update(0, note=f"level {found.levels}")
                    answers = self._on_all(asked, phase)
            for candidates, answer in zip(asked, answers, strict=True):
                if answer is not None:
                    self.lattice.prune(candidates, answer)
                    self._report(candidates.kept(answer), found)
            if None in answers:  # the clock of a worker may be ahead of ours
                self.deadline.request()
            if self.deadline.stopped:
                break
            self.sample.grow([a for a in answers if a is not None])
            finished(lambda: self.lattice.climb(self.deadline), self.deadline)
            found.levels += 1

    def _on_sample(self, asked: list[Candidates], phase: Phase) -> list[Answers | None]:
        return self._answers(DriverThreads(), self.sample.on_sample(self.deadline), asked, "check on the sample", phase)

    def _on_all(self, asked: list[Candidates], phase: Phase) -> list[Answers | None]:
        """The engine's threads while the work is small; tasks of one Spark job, cut by context, when it is large."""
        workers = self.engine.workers_for(_ROW_SECONDS * self.engine.rows * sum(1 + len(c) for c in asked))
        work = self.sample.on_all(self.deadline, self.pairs, elsewhere=workers.session is not None)
        return self._answers(workers, work, asked, f"validate {sum(map(len, asked)):,} dependencies", phase)

    def _answers(
        self, workers: Workers, work: Checking, asked: list[Candidates], what: str, phase: Phase
    ) -> list[Answers | None]:
        """The answer to each, None where time did not suffice."""
        tasks = _cut(asked, workers.slots)
        try:
            done: Sequence[list[Answers | None] | None] = workers.map(
                work, tasks, what, phase.update, stop=self.deadline
            )
        except Stopped as stopped:
            done = stopped.results or [None] * len(tasks)
        return [answer for task, part in zip(tasks, done, strict=True) for answer in (part or [None] * len(task))]

    def _report(self, valid: Candidates, found: Levels) -> None:
        names = [c.name for c in self.engine.statistics.columns]
        context = tuple(names[c] for c in bits(valid.context))
        found.fds += [FunctionalDependency(context, names[c]) for c in valid.constants.tolist()]
        found.ods += [OrderCompatible(context, names[a], names[b], bool(down)) for a, b, down in valid.orders.tolist()]


def _cut(asked: list[Candidates], slots: int) -> list[list[Candidates]]:
    """Tasks of neighbouring contexts, which share partitions, with about as many candidates each."""
    size = sum(map(len, asked)) / (slots * TASKS_PER_SLOT)
    tasks: list[list[Candidates]] = []
    room = 0.0
    for candidates in asked:
        if room <= 0:
            tasks.append([])
            room = size
        tasks[-1].append(candidates)
        room -= len(candidates)
    return tasks
