"""What a denial says about a row and a second row with the same values."""

from __future__ import annotations

from rowlaw.rules.model import Column, Denial, Op, Predicate


def with_itself(denial: Denial) -> tuple[Predicate, ...] | None:
    """Give the predicates about one row that make it a violation together with a copy of itself; None if no row can be
    one.

    Predicates that compare one column of both rows are left out: they are true wherever the value is known.

    >>> from rowlaw.rules.parse import parse
    >>> texts = "not (s.a <= t.a and s.b < t.c)", "not (s.a < t.a)"
    >>> [[str(p) for p in with_itself(parse(text)) or ()] for text in texts]
    [['s.b < s.c'], []]
    """
    own = []
    for p in denial.predicates:
        if not p.same_column:
            right = Column("s", p.right.name) if isinstance(p.right, Column) else p.right
            own.append(Predicate(Column("s", p.left.name), p.op, right))
        elif not p.op & Op.EQ:
            return None
    return tuple(own)
