"""A denial constraint by the classes of its predicates: what the plans choose by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from rowlaw.rules.conditions import IsNull
from rowlaw.rules.itself import with_itself
from rowlaw.rules.model import Column, Denial, Op, Predicate


@dataclass(frozen=True)
class Shape:
    """Predicates of a denial about pairs of rows.

    ``s_filters`` and ``t_filters`` are about one row only. ``s_known`` and ``t_known`` are further columns in which
    null keeps a row out.
    """

    equal: tuple[Predicate, ...]
    inequalities: tuple[Predicate, ...]
    differences: tuple[Predicate, ...]
    s_filters: tuple[Predicate, ...] = ()
    t_filters: tuple[Predicate, ...] = ()
    s_known: tuple[str, ...] = ()
    t_known: tuple[str, ...] = ()
    apart: bool = False  # whether other rows may stand for s than for t, whatever the predicates say
    single: bool = False  # whether it is about single rows

    @staticmethod
    def of(denial: Denial) -> Shape:
        pairs = [p for p in denial.predicates if len(p.rows) == 2]
        return Shape(
            tuple(p for p in pairs if p.op == Op.EQ),
            tuple(p for p in pairs if p.op.is_inequality),
            tuple(p for p in pairs if p.op == Op.NE),
            tuple(p for p in denial.predicates if p.rows == {"s"}),
            tuple(p for p in denial.predicates if p.rows == {"t"}),
            single=denial.arity == 1,
        )

    @property
    def between(self) -> tuple[Predicate, ...]:
        """The predicates between the two rows."""
        return (*self.equal, *self.inequalities, *self.differences)

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        return (*self.between, *self.s_filters, *self.t_filters)

    @cached_property
    def reflexive(self) -> bool:
        """Whether the same rows may stand for ``s`` and for ``t``, each compared by the same columns."""
        return self.one_side and not self.s_filters and not self.t_filters and all(p.same_column for p in self.between)

    @property
    def one_side(self) -> bool:
        """Whether the same further columns keep rows out of both roles."""
        return not self.apart and set(self.s_known) == set(self.t_known)

    @property
    def columns(self) -> tuple[str, ...]:
        compared = (name for p in self.predicates for name in p.columns)
        return tuple(dict.fromkeys((*compared, *self.s_known, *self.t_known)))

    def side_columns(self, row: str) -> tuple[str, ...]:
        """The columns of one row that are compared: with unknown nulls, a row with null in one of them takes no
        part."""
        compared = (p for p in self.predicates if not isinstance(p.right, IsNull))
        operands = (o for p in compared for o in (p.left, p.right) if isinstance(o, Column) and o.row == row)
        further = self.s_known if row == "s" else self.t_known
        return tuple(dict.fromkeys((*(o.name for o in operands), *further)))

    @property
    def same_equal(self) -> tuple[str, ...]:
        """The columns that must be equal in both rows."""
        return tuple(p.left.name for p in self.equal if p.same_column)

    def terms(self) -> list[tuple[int, Shape]]:
        """Signed shapes without differences whose pairs add up to those of this one: ``!=`` is all pairs less the equal
        ones."""
        s_known = (*self.s_known, *(operand(p, "s") for p in self.differences))
        t_known = (*self.t_known, *(operand(p, "t") for p in self.differences))
        terms = []
        for size in range(len(self.differences) + 1):
            for some in combinations(self.differences, size):
                equal = (*self.equal, *(Predicate(p.left, Op.EQ, p.right) for p in some))
                terms.append(
                    (
                        (-1) ** size,
                        Shape(
                            equal, self.inequalities, (), self.s_filters, self.t_filters, s_known, t_known, self.apart
                        ),
                    )
                )
        return terms

    def denial(self) -> Denial:
        """The shape as a denial again."""
        return Denial(self.predicates)

    def __str__(self) -> str:
        return str(self.denial()) if self.predicates else "all pairs of known rows"

    def with_itself(self) -> tuple[Predicate, ...] | None:
        """The predicates that make a row a violation together with itself; None if no row can be one."""
        return with_itself(self.denial()) if self.predicates else ()


def operand(p: Predicate, row: str) -> str:
    """The column that a predicate between two rows takes from one of them."""
    assert isinstance(p.right, Column)
    return p.left.name if p.left.row == row else p.right.name
