"""How long a default run may take, and which share of it each kind of rule gets.

A run of ``rowlaw discover`` without options does not ask for millions of rules. So a run for several kinds stops at a
budget of time, which grows with the table, and of rules, and says so; a run for one kind, or with ``--all``, has none.
A time limit replaces the budget.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from rowlaw.deadline import Deadline
from rowlaw.kernels.compiling import is_compiled
from rowlaw.kernels.differences import compare_all

# after reading; adult (488,000 cells) 12 s, flights (6.4 million) 42 s
SECONDS, SECONDS_PER_CELL, MOST_SECONDS = 10.0, 5e-6, 42.0
# dependencies, and denial constraints, that are listed; of more than 100,000, which some tables have within seconds,
# writing and ranking takes longer than finding them (benchmarks/targets/reading.py, managers)
RULES = 10_000
# where Spark's jobs validate: a round is several jobs over all rows
SPARK_SECONDS, SPARK_SECONDS_PER_CELL = 120.0, 2e-5
_COMPILING = 90.0  # seconds that compiling all kernels of a run takes on a slow machine, once
# of the budget; ranking takes a few seconds, and may take longer only where the machine is busy
SEARCHED, RANKED = 0.75, 2.0
DEPENDENCIES = 0.55  # of the time left, for keys and functional dependencies
KEYS = 0.5  # of the time left then, for keys alone, if none were found
NEARLY = 0.4  # of the time left then, for laws that nearly hold
ORDERS = 0.4  # of the time left then, for order compatibilities; denial constraints have what is left


@dataclass(frozen=True)
class Budget:
    """The deadline of a run and its parts. Without shares every part may take all the time there is."""

    deadline: Deadline
    shared: bool
    seconds: float | None = None  # of a default run

    @staticmethod
    def of(deadline: Deadline, *, several: bool, complete: bool, cells: int, on_spark: bool = False) -> Budget:
        """The budget of a run that has begun: a ``deadline`` without a moment gets one in a default run for ``several``
        kinds.

        ``on_spark``: rules are validated by Spark's jobs, and the budget has no upper bound.
        """
        if complete or not several:
            return Budget(deadline, shared=False)
        if deadline.left < float("inf") or deadline.stopped:
            return Budget(deadline, shared=True)
        seconds = (
            SPARK_SECONDS + SPARK_SECONDS_PER_CELL * cells
            if on_spark
            else min(MOST_SECONDS, SECONDS + SECONDS_PER_CELL * cells)
        )
        if not is_compiled(compare_all):  # the first run on a machine
            seconds += _COMPILING
        end = time.monotonic() + SEARCHED * seconds
        deadline.end_at(end, end + RANKED * seconds)
        deadline.most = RULES
        return Budget(deadline, shared=True, seconds=seconds)

    def part(self, share: float) -> Deadline:
        """The deadline of a part of the run."""
        return self.deadline.part(share) if self.shared else self.deadline

    @property
    def said(self) -> str:
        """Why a default run is not complete."""
        if self.seconds is None:
            return ""
        return (
            f"a run without options stops after about {self.seconds:.0f} s or {RULES:,} rules; --all or a single kind "
            "(--kinds dc) finds all rules"
        )
