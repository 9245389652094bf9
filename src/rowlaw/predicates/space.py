"""Which predicates discovery may use (Hydra section 7.1, IncDC section 3).

Comparing any column with any other would give rules that are true by accident of units. So two columns are compared
only if they share values, and by order only if they are of one magnitude. A user who knows better gives the predicates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any

from rowlaw.engine.protocol import Statistics
from rowlaw.errors import RowlawError, nearest
from rowlaw.rules.bind import bind_predicate
from rowlaw.rules.model import Column, Constant, Op, Operand, Predicate, Rule
from rowlaw.rules.parse import Parsed, parse_predicate
from rowlaw.source.row_ids import naming_only

ALL = tuple(Op)
EQUALITY = (Op.EQ, Op.NE)
ORDERED_TYPES = ("number", "date", "timestamp")  # type classes that are compared by order without being asked to
OVERLAP = 0.3  # share of distinct values that compared columns have in common: Hydra section 7.1
_FEW_SHARED = 2  # values that two columns of a tiny domain may share by accident
_MAGNITUDE = 10  # means further apart than this factor are of different magnitude
_LONGEST = 1_000  # characters of a text that is used as a literal: a rule has to fit into a rule file
MOST_PAIRS = 20_000  # of columns that are compared with each other
_BORDER = 1e-9  # how near to the border of the magnitude floats are trusted


@dataclass(frozen=True, slots=True)
class SpaceOptions:
    """The user's say in the predicate space.

    ``columns``: the columns to use (all). ``operators``: for a column, the operators to use (those of its type).
    ``cross``: compare different columns. ``overlap``: the share of distinct values two columns must have in common;
    None: 0.3, and more than two values. ``order_strings``: order texts too. ``single_row``: also predicates about one
    row. ``constants``: the share of rows that must have a value for it to be used as a literal (None: no literals).
    ``predicates``: the whole space, instead of one derived from the columns; see :func:`read_predicates`.
    """

    columns: tuple[str, ...] | None = None
    operators: Mapping[str, tuple[Op, ...]] = field(default_factory=dict)
    cross: bool = True
    overlap: float | None = OVERLAP
    order_strings: bool = False
    single_row: bool = False
    constants: float | None = None
    predicates: tuple[Parsed, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("overlap", "constants"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
                raise RowlawError("BAD_OPTION", option=name, value=value, problem="a share from 0 to 1")
        if self.predicates is None:
            return
        if not self.predicates:
            raise RowlawError(
                "BAD_OPTION",
                option="predicates",
                value=[],
                problem="give at least one predicate, or leave the option out",
            )
        defaults = {f.name: f.default for f in fields(SpaceOptions)} | {"operators": {}}
        for name in ("operators", "cross", "overlap", "single_row", "constants"):
            value = getattr(self, name)
            if value not in (defaults[name], None if name == "overlap" else defaults[name]):
                option = "operators_of" if name == "operators" else name
                problem = "the given predicates are the whole predicate space; leave one of the two options out"
                raise RowlawError("BAD_OPTION", option=option, value=value, problem=problem)

    @staticmethod
    def of(
        *,
        operators_of: Mapping[str, str] | None = None,
        predicates: str | Predicate | Iterable[str | Predicate] | None = None,
        **others: Any,
    ) -> SpaceOptions:
        """Return the options as a user spells them: operators and predicates as texts.

        >>> options = SpaceOptions.of(predicates=["s.a < t.a", "s.b = t.b"])
        >>> options == SpaceOptions.of(**options.settings)
        True
        """
        operators_by_column = {name: operators(text) for name, text in (operators_of or {}).items()}
        return SpaceOptions(operators=operators_by_column, predicates=read_predicates(predicates), **others)

    @property
    def settings(self) -> dict[str, Any]:
        """The options as a rule file keeps them: arguments of :meth:`of`, and of :func:`rowlaw.discover`."""
        names = ("cross", "overlap", "order_strings", "single_row", "constants")
        settings: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.operators:
            settings["operators_of"] = {name: " ".join(op.symbol for op in ops) for name, ops in self.operators.items()}
        if self.predicates is not None:
            settings["predicates"] = [str(parsed.comparisons[0].predicate) for parsed in self.predicates]
        return settings


def read_predicates(predicates: str | Predicate | Iterable[str | Predicate] | None) -> tuple[Parsed, ...] | None:
    """Parse the predicates that a user gave as texts or as :class:`rowlaw.rules.Predicate`.

    >>> read_predicates(["s.zip == t"])
    Traceback (most recent call last):
    rowlaw.errors.RowlawError: RULE_SYNTAX: expected '.', found the end of the predicate
      | s.zip == t
      |           ^
    """
    if predicates is None:
        return None
    given = [predicates] if isinstance(predicates, str | Predicate) else list(predicates)
    for item in given:
        if not isinstance(item, str | Predicate):
            raise RowlawError(
                "BAD_OPTION", option="predicates", value=item, problem="a predicate is a text such as 's.zip = t.zip'"
            )
    return tuple(parse_predicate(str(item)) for item in given)


def predicate_space(statistics: Statistics, options: SpaceOptions | None = None) -> tuple[Predicate, ...]:
    """Return the predicates of a table, closed under exchange of ``s`` and ``t``.

    >>> import pyarrow as pa
    >>> from rowlaw.engine.open import open_local
    >>> from rowlaw.source import open_source
    >>> table = open_local(open_source(pa.table({"city": ["a", "b"], "low": [1, 2], "high": [2, 1]}))).statistics
    >>> len(predicate_space(table, SpaceOptions(cross=False))), len(predicate_space(table))
    (14, 26)
    """
    chosen = options or SpaceOptions()
    if chosen.predicates is not None:
        return _given_space(statistics, chosen.predicates)
    unnamed = [c.name for c in statistics.columns if c.name not in naming_only(statistics.row_id)]
    names = list(chosen.columns) if chosen.columns is not None else unnamed
    for name in (*names, *chosen.operators):
        statistics.column(name)  # an unknown name is an error here
    kinds = {name: statistics.column(name).type for name in names}
    pairs = _Pairs(statistics)
    ordered = {
        name for name, kind in kinds.items() if kind in ORDERED_TYPES or (kind == "text" and chosen.order_strings)
    }
    space: list[Predicate] = []

    def operators(column: str, by_order: bool) -> tuple[Op, ...]:
        return tuple(op for op in (ALL if by_order else EQUALITY) if op in chosen.operators.get(column, ALL))

    def add(left: Column, ops: Iterable[Op], right: Operand) -> None:
        space.extend(Predicate(left, op, right) for op in ops)

    for name in names:
        add(Column("s", name), operators(name, name in ordered), Column("t", name))
    if chosen.cross or chosen.single_row:
        compared = 0
        for a, b in combinations(names, 2):
            if kinds[a] != kinds[b] or not pairs.share_enough(a, b, chosen.overlap):
                continue
            compared += 1
            if compared > MOST_PAIRS:
                raise RowlawError("MANY_PAIRS", columns=len(names), most=MOST_PAIRS)
            by_order = a in ordered and b in ordered and (kinds[a] != "number" or pairs.near_means(a, b))
            ops = tuple(op for op in operators(a, by_order) if op in operators(b, by_order))
            if chosen.cross:
                add(Column("s", a), ops, Column("t", b))
                add(Column("s", b), ops, Column("t", a))
            if chosen.single_row:
                add(Column("s", a), ops, Column("s", b))
                add(Column("t", a), ops, Column("t", b))
    if chosen.constants is not None:
        for name in names:
            for value in _literals(statistics, name, chosen.constants):
                for row in ("s", "t"):
                    add(Column(row, name), operators(name, name in ordered), Constant(value))  # type: ignore[arg-type]
    return tuple(space)


def _given_space(statistics: Statistics, predicates: Iterable[Parsed]) -> tuple[Predicate, ...]:
    """Return the predicates that a user gave, each with its exchange of ``s`` and ``t``: rules are minimal only up to
    that exchange."""
    types = {column.name: column.type for column in statistics.columns}
    bound = [bind_predicate(parsed, types) for parsed in predicates]
    return tuple(dict.fromkeys(both for p in bound for both in (p, p.exchanged)))


class _Pairs:
    """What is asked about pairs of columns."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._mean = statistics.mean

    def share_enough(self, a: str, b: str, overlap: float | None) -> bool:
        """Return whether two columns can share enough values: where one has far fewer than the other, they cannot."""
        fewer, more = sorted((self._statistics.column(a).distinct, self._statistics.column(b).distinct))
        most = fewer / more if more else 0.0
        wanted = OVERLAP if overlap is None else overlap
        if most < wanted:
            return False
        shared = self._statistics.shared_values(a, b)
        return shared >= wanted and (overlap is not None or round(shared * more) > _FEW_SHARED)

    def near_means(self, a: str, b: str) -> bool:
        """Return whether the means of two number columns are within one order of magnitude: floats decide unless it is
        close."""
        means = [self._mean(name, exact=False) for name in (a, b)]
        if any(mean is None for mean in means):
            return False
        x, y = means
        sure = all(math.isfinite(v) for v in (x, y)) and x != 0 and y != 0
        if sure:
            ratio = abs(x / y)
            sure = math.isfinite(ratio) and all(
                abs(ratio / border - 1) > _BORDER for border in (_MAGNITUDE, 1 / _MAGNITUDE)
            )
        if not sure:
            x, y = (self._mean(name, exact=True) for name in (a, b))
        if x == 0 or y == 0:
            return bool(x == y)
        return bool((x > 0) == (y > 0) and abs(x) <= _MAGNITUDE * abs(y) and abs(y) <= _MAGNITUDE * abs(x))


def _literals(statistics: Statistics, name: str, share: float) -> list[Any]:
    """Return the values that at least this share of the rows have, for use as literals (C-FASTDC's support
    threshold)."""
    values = statistics.frequent_values(name, share)
    return [
        v
        for v in values
        if not (isinstance(v, float) and not math.isfinite(v)) and not (isinstance(v, str) and len(v) > _LONGEST)
    ]


def operators(text: str) -> tuple[Op, ...]:
    """Operators written with blanks or commas between them.

    >>> operators("= !=")
    (<Op.EQ: 2>, <Op.NE: 5>)
    """
    symbols = {op.symbol: op for op in Op}
    chosen = []
    for part in text.replace(",", " ").split():
        if part not in symbols:
            raise RowlawError(
                "BAD_OPTION", option="operators", value=part, problem=f"use {' '.join(symbols)}{nearest(part, symbols)}"
            )
        chosen.append(symbols[part])
    return tuple(chosen)


def predicates_of(rules: Iterable[Rule]) -> Iterator[Predicate]:
    """Return the predicates of all denial constraints that rules stand for."""
    return (predicate for rule in rules for denial in rule.denials for predicate in denial.predicates)


def compared_columns(predicates: Iterable[Predicate]) -> list[set[str]]:
    """Groups of columns that predicates compare with each other, directly or through others.

    >>> from rowlaw.rules import parse
    >>> rule = parse("not (s.a = t.b and s.c < t.c and s.b > t.d)")
    >>> [sorted(names) for names in compared_columns(predicates_of([rule]))]
    [['a', 'b', 'd']]
    """
    groups: list[set[str]] = []
    for p in predicates:
        if isinstance(p.right, Column) and p.left.name != p.right.name:
            names = {p.left.name, p.right.name}
            groups = [*(g for g in groups if not g & names), names.union(*(g for g in groups if g & names))]
    return groups
