"""A plan: how a part of the violations of a rule is counted on Spark, and which rows take part in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from rowlaw.engine.spark.roles import Scope
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.view import View

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAIRS = "pairs"  # the column of a frame that says in how many violations a row takes part


class Counted(NamedTuple):
    """Signed violations of one rule, from one job; ``rows`` is None where the job does not count the rows that take
    part."""

    rule: int
    pairs: int
    rows: int | None


class Job(NamedTuple):
    """Work for Spark, with the description that its user interface shows."""

    description: str
    work: Callable[[], list[Counted]]


class Plan(Protocol):
    """A way to count the violations of shapes of some kind."""

    name: ClassVar[str]
    meaning: ClassVar[str]  # what it does, for people

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:
        """Whether the plan can count a shape, and none of its tasks gets more rows than it can hold."""

    def in_two_roles(self, shape: Shape) -> bool:
        """Whether rows are sent once for each role: then the pair of a row with itself is counted too, and has to be
        subtracted."""

    def seconds(self, view: View, shape: Shape) -> float:
        """Cost estimate of counting, in seconds."""

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        """The jobs that count some parts of this plan, all of them together."""


class RowPlan(Plan, Protocol):
    """A plan that looks at each row by itself, and so can say which rows take part."""

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        """Frames of ``row`` and ``pairs`` whose sum is, for each row, the count of its violations in a part, the sign
        left out."""


P_co = TypeVar("P_co", bound=Plan, covariant=True)


@dataclass(frozen=True)
class Part(Generic[P_co]):
    """A signed part of the violations of rule ``rule``, within a scope, and the plan that counts it."""

    rule: int
    sign: int
    plan: P_co
    shape: Shape
    scope: Scope = ()

    @property
    def in_two_roles(self) -> bool:
        return self.plan.in_two_roles(self.shape)


AnyPart = Part[Plan]
