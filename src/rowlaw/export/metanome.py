"""A result of Metanome, as it writes them to JSON, as rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rowlaw.rules import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Op,
    OrderDependency,
    Predicate,
    Rule,
    SortColumn,
    literals,
)

_OPERATORS = {
    "EQUAL": Op.EQ,
    "UNEQUAL": Op.NE,
    "LESS": Op.LT,
    "LESS_EQUAL": Op.LE,
    "GREATER": Op.GT,
    "GREATER_EQUAL": Op.GE,
}

Resolve = Callable[[str], str]
Fail = Callable[[str], Exception]


def rules_of(document: Any, resolve: Resolve, fail: Fail) -> Iterator[Rule]:
    """The rules that one result stands for. ``resolve`` gives column names, ``fail`` makes an error."""
    try:
        yield from _rules(document, resolve, fail)
    except (KeyError, TypeError, AttributeError) as error:
        raise fail(f"this result of Metanome lacks {error}") from None


def _rules(document: Any, resolve: Resolve, fail: Fail) -> Iterator[Rule]:
    def names(part: Any) -> list[str]:
        return [resolve(column["columnIdentifier"]) for column in part["columnIdentifiers"]]

    match document["type"]:
        case "UniqueColumnCombination":
            yield Key(tuple(names(document["columnCombination"])))
        case "FunctionalDependency":
            yield FunctionalDependency(
                tuple(names(document["determinant"])), resolve(document["dependant"]["columnIdentifier"])
            )
        case "OrderDependency":
            strict = document.get("comparisonOperator", "SMALLER_EQUAL") == "STRICTLY_SMALLER"
            pointwise = document.get("orderType", "LEXICOGRAPHICAL") == "POINTWISE"
            yield from order_rules(
                names(document["lhs"]), names(document["rhs"]), fail, strict=strict, pointwise=pointwise
            )
        case "DenialConstraint":
            yield Denial(tuple(_predicate(p, resolve, fail) for p in document["predicates"]))
        case other:
            raise fail(f"a result of type {other!r} is no rule of rowlaw")


def _predicate(document: Any, resolve: Resolve, fail: Fail) -> Predicate:
    op = _OPERATORS.get(document["op"])
    if op is None:
        raise fail(f"the operator {document['op']!r} is not known; expected one of {', '.join(_OPERATORS)}")
    left = Column("s" if document["index1"] == 0 else "t", resolve(document["column1"]["columnIdentifier"]))
    if "column2" in document:
        return Predicate(
            left, op, Column("s" if document["index2"] == 0 else "t", resolve(document["column2"]["columnIdentifier"]))
        )
    value = document["constant"]
    if isinstance(value, float):
        value = literals.number(repr(value))
    if not isinstance(value, str | int | bool) and not hasattr(value, "as_tuple"):
        raise fail("the constant of a predicate must be a number, a text or a truth value")
    return Predicate(left, op, Constant(value))


def order_rules(
    left: Sequence[str], right: Sequence[str], fail: Fail, *, strict: bool, pointwise: bool
) -> Iterator[Rule]:
    """Metanome's order dependencies. Of one column on each side, lexicographic and pointwise are the same."""
    if not right:
        raise fail("an order dependency needs at least one column on its right side")
    if not strict and not pointwise:
        yield OrderDependency(tuple(map(SortColumn, left)), tuple(map(SortColumn, right)))
        return
    if not pointwise and (len(left) > 1 or len(right) > 1):
        raise fail("a strict lexicographic order dependency of several columns is no rule of rowlaw")
    before, after = (Op.LT, Op.GE) if strict else (Op.LE, Op.GT)
    for name in right:
        if name not in left:  # else it says nothing
            ordered = tuple(Predicate(Column("s", c), before, Column("t", c)) for c in left)
            yield Denial((*ordered, Predicate(Column("s", name), after, Column("t", name))))
