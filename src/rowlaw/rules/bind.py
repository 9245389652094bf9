"""Checking a rule against the columns of a table, before anything runs.

>>> from rowlaw.rules.parse import parse_located
>>> types = {"Salary": "number", "hired": "date"}
>>> str(bind(parse_located("not (s.hired < '2020-01-31')"), types))
"not (s.hired < date '2020-01-31')"
>>> bind(parse_located("key (Salry)"), types)
Traceback (most recent call last):
rowlaw.errors.RowlawError: UNKNOWN_COLUMN: no column 'Salry'; did you mean 'Salary'?
  | key (Salry)
  |      ^^^^^

Every operator is allowed on every type class: text compares by code point, and false is less than true. Time is linear
in the rule, plus one search for the nearest name when there is an error.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from rowlaw.errors import Place, RowlawError, no_column
from rowlaw.rules import literals
from rowlaw.rules.conditions import IsNull, Matches, OneOf, Range
from rowlaw.rules.cursor import Comparison
from rowlaw.rules.model import Column, Constant, Denial, Predicate, Rule, TypeClass
from rowlaw.rules.parse import Parsed, parse_located

_PATTERN_HINTS = {"number": "; compare numbers with < and >, or read the column as text (--types column=string)"}


def bind(
    rule: Parsed | Rule, types: Mapping[str, TypeClass | None], skipped: Mapping[str, RowlawError] | None = None
) -> Rule:
    """The rule with its literals in the types of the columns, or the error that says why it does not fit the table.

    A type that is not known yet (None, as in a CSV file that has not been read) is not checked. ``skipped`` says of
    columns that the table has and that cannot be compared why that is so.
    """
    # A rule made in Python has no text yet; its own spelling serves, so that its errors have a caret too.
    parsed = rule if isinstance(rule, Parsed) else parse_located(str(rule))
    _check_names(parsed, types, skipped)
    if not isinstance(parsed.rule, Denial):
        return parsed.rule  # the other kinds compare each column with itself
    return Denial.written(_fit(c, parsed, types) for c in parsed.comparisons)


def bind_predicate(predicate: Parsed, types: Mapping[str, TypeClass | None]) -> Predicate:
    """The predicate of :func:`rowlaw.rules.parse.parse_predicate` with its literal in the type of the column, or the
    same errors as :func:`bind`."""
    _check_names(predicate, types, None)
    return _fit(predicate.comparisons[0], predicate, types)


def _check_names(
    parsed: Parsed, types: Mapping[str, TypeClass | None], skipped: Mapping[str, RowlawError] | None
) -> None:
    for mention in parsed.mentions:
        if mention.name not in types:
            place = parsed.source.place(mention.start, mention.end)
            raise no_column(mention.name, types, skipped, place)


def _fit(comparison: Comparison, parsed: Parsed, types: Mapping[str, TypeClass | None]) -> Predicate:
    p = comparison.predicate
    wanted = types[p.left.name]
    right = p.right
    place = parsed.source.place(comparison.start, comparison.end)
    if wanted is None or isinstance(right, IsNull):
        return p
    if isinstance(right, Matches):
        if wanted != "text":
            hint = _PATTERN_HINTS.get(wanted, "")
            raise RowlawError("PATTERN_NEEDS_TEXT", place, column=str(p.left), type=wanted, hint=hint)
        return p
    if isinstance(right, OneOf):
        return Predicate(p.left, p.op, OneOf(tuple(_literal(p.left, value, wanted, place) for value in right.values)))
    if isinstance(right, Range):
        ends = [_literal(p.left, end, wanted, place) for end in (right.low, right.high)]
        try:
            return Predicate(p.left, p.op, Range(*ends))
        except ValueError as error:  # texts in order, and moments that are not
            raise RowlawError("RULE_SYNTAX", place, problem=str(error)) from None
    if isinstance(right, Constant):
        literal = _literal(p.left, right, wanted, place)
        return p if literal is right else Predicate(p.left, p.op, literal)
    assert isinstance(right, Column)
    right_type = types[right.name]
    if right_type == wanted or right_type is None:
        return p
    raise RowlawError(
        "INCOMPATIBLE_TYPES",
        place,
        left=str(p.left),
        left_type=wanted,
        right=str(right),
        right_type=right_type,
        hint="",
    )


def _literal(column: Column, literal: Constant, wanted: TypeClass, place: Place) -> Constant:
    """A literal in the type of the column that it is compared with."""
    value, own_type = literal.value, literal.type
    if own_type == wanted:
        return literal
    if isinstance(value, str) and wanted in ("date", "timestamp"):
        moment = literals.date(value) if wanted == "date" else literals.timestamp(value)
        if moment is None:
            hint = f"; write it as '{literals.EXAMPLES[wanted]}'"
            raise RowlawError("BAD_LITERAL", place, literal=str(literal), type=wanted, hint=hint)
        return Constant(moment)
    if own_type == "date" and wanted == "timestamp" and isinstance(value, dt.date):
        return Constant(dt.datetime.combine(value, dt.time()))
    hint = _hint(literal, wanted)
    raise RowlawError(
        "INCOMPATIBLE_TYPES",
        place,
        left=str(column),
        left_type=wanted,
        right=str(literal),
        right_type=own_type,
        hint=hint,
    )


def _hint(literal: Constant, wanted: TypeClass) -> str:
    value = literal.value
    if isinstance(value, str):
        fits = (
            literals.number(value.strip()) is not None
            if wanted == "number"
            else value.strip().casefold() in ("true", "false")
        )
        return "; drop the quotes" if fits else ""
    if wanted == "text":
        spelling = value.isoformat() if isinstance(value, dt.date) else str(literal)
        # a column without a value, as a batch may have, is text too
        return f"; write the text as '{spelling}', or give the column another type (types, --types)"
    if wanted == "date" and isinstance(value, dt.datetime):
        return f"; write date '{value.date().isoformat()}'"
    return "; write true or false" if wanted == "boolean" and value in (0, 1) else ""
