"""Which predicates discovery may use (Hydra section 7.1, IncDC section 3).

Comparing any column with any other would give rules that are true by accident of units. So two columns are compared only if
they share values, and by order only if they are of one magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.errors import RowlawError, nearest
from rowlaw.relation.align import common_scale
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Column, Constant, Op, Operand, Predicate

ALL = tuple(Op)
EQUALITY = (Op.EQ, Op.NE)
ORDERED_TYPES = ("number", "date", "timestamp")  # type classes that are compared by order without being asked to
MAGNITUDE = 10  # means further apart than this factor are of different magnitude
LONGEST = 1_000  # characters of a text that is used as a literal: a rule has to fit into a rule file
MOST_PAIRS = 20_000  # of columns that are compared with each other
_BORDER = 1e-9  # how near to the border of the magnitude floats are trusted


@dataclass(frozen=True, slots=True)
class SpaceOptions:
    """The user's say in the predicate space.

    ``columns``: the columns to use (all). ``operators``: for a column, the operators to use (those of its type).
    ``cross``: compare different columns. ``overlap``: the share of distinct values two columns must have in common.
    ``order_strings``: order texts too. ``single_row``: also predicates about one row. ``constants``: the share of rows
    that must have a value for it to be used as a literal (None: no literals).
    """

    columns: tuple[str, ...] | None = None
    operators: Mapping[str, tuple[Op, ...]] = field(default_factory=dict)
    cross: bool = True
    overlap: float = 0.3
    order_strings: bool = False
    single_row: bool = False
    constants: float | None = None

    def __post_init__(self) -> None:
        for name in ("overlap", "constants"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
                raise RowlawError("BAD_OPTION", option=name, value=value, problem="a share from 0 to 1")


def predicate_space(relation: Relation, options: SpaceOptions | None = None) -> tuple[Predicate, ...]:
    """The predicates of a relation, closed under exchange of ``s`` and ``t``.

    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"city": ["a", "b"], "low": [1, 2], "high": [2, 1]})))
    >>> len(predicate_space(relation, SpaceOptions(cross=False))), len(predicate_space(relation))
    (14, 26)
    """
    chosen = options or SpaceOptions()
    names = list(chosen.columns) if chosen.columns is not None else [c.name for c in relation.columns if c.name != relation.row_id]
    for name in (*names, *chosen.operators):
        relation.index(name)  # an unknown name is an error here
    kinds = {name: relation.column(name).type for name in names}
    pairs = _Pairs(relation)
    ordered = {name for name, kind in kinds.items() if kind in ORDERED_TYPES or (kind == "text" and chosen.order_strings)}
    found: list[Predicate] = []

    def operators(column: str, by_order: bool) -> tuple[Op, ...]:
        return tuple(op for op in (ALL if by_order else EQUALITY) if op in chosen.operators.get(column, ALL))

    def add(left: Column, ops: Iterable[Op], right: Operand) -> None:
        found.extend(Predicate(left, op, right) for op in ops)

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
            for value in frequent_values(relation, name, chosen.constants):
                for row in ("s", "t"):
                    add(Column(row, name), operators(name, name in ordered), Constant(value))  # type: ignore[arg-type]
    return tuple(found)


def shared_values(left: pa.Array, right: pa.Array) -> float:
    """The share of distinct values that two columns have in common, of the larger number of them.

    >>> shared_values(pa.array([1, 2, 3]), pa.array([3.0, 4.0]))
    0.3333333333333333
    """
    if not len(left) or not len(right):
        return 0.0
    fewer, more = sorted((left, right), key=len)
    if fewer.type == more.type:
        return pc.sum(pc.is_in(fewer, value_set=more)).as_py() / len(more)  # type: ignore[no-any-return]
    a, b = common_scale(fewer, more)
    return len(np.intersect1d(a, b, assume_unique=True)) / len(more)


class _Pairs:
    """What is asked about pairs of columns. Of a thousand columns there are half a million pairs: each column is looked at once."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._values = cache(relation.dictionary)
        self._mean = cache(partial(_mean, relation))

    def share_enough(self, a: str, b: str, overlap: float) -> bool:
        """Whether two columns share so many of their values: where one has far fewer of them, they cannot."""
        fewer, more = sorted((self._relation.column(a).distinct, self._relation.column(b).distinct))
        most = fewer / more if more else 0.0
        return most >= overlap and shared_values(self._values(a), self._values(b)) >= overlap

    def near_means(self, a: str, b: str) -> bool:
        """Whether the means of two number columns are within one order of magnitude: floats decide unless it is close."""
        means = [self._mean(name, exact=False) for name in (a, b)]
        if any(mean is None for mean in means):
            return False
        x, y = means
        sure = all(math.isfinite(v) for v in (x, y)) and x != 0 and y != 0
        if sure:
            ratio = abs(x / y)
            sure = math.isfinite(ratio) and all(abs(ratio / border - 1) > _BORDER for border in (MAGNITUDE, 1 / MAGNITUDE))
        if not sure:
            x, y = (self._mean(name, exact=True) for name in (a, b))
        if x == 0 or y == 0:
            return bool(x == y)
        return bool((x > 0) == (y > 0) and abs(x) <= MAGNITUDE * abs(y) and abs(y) <= MAGNITUDE * abs(x))


def _mean(relation: Relation, name: str, *, exact: bool) -> Any:
    """The mean of a column over its finite values, weighted by how often each occurs; None if it has none."""
    codes = relation.codes(name)
    counts = np.bincount(codes[codes >= 0], minlength=relation.column(name).distinct)
    dictionary = relation.dictionary(name)
    if exact or pa.types.is_decimal(dictionary.type):
        values = dictionary.to_pylist()
        finite = [(Fraction(v), int(n)) for v, n in zip(values, counts, strict=True) if math.isfinite(v)]
        total = sum(n for _, n in finite)
        return sum((v * n for v, n in finite), Fraction(0)) / total if total else None
    numbers = dictionary.to_numpy(zero_copy_only=False).astype(np.float64)
    known = np.isfinite(numbers)
    if not counts[known].sum():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.abs(numbers[known]) @ counts[known]
        mean = float(numbers[known] @ counts[known] / counts[known].sum())
        # values that cancel leave a mean that is rounding error
        return mean if abs(mean) * counts[known].sum() > 1e-6 * spread else float("nan")


def frequent_values(relation: Relation, name: str, share: float) -> list[Any]:
    """The values that at least this share of the rows have, for use as literals (C-FASTDC's support threshold)."""
    codes = relation.codes(name)
    counts = np.bincount(codes[codes >= 0], minlength=relation.column(name).distinct)
    often = np.flatnonzero((counts >= share * relation.rows) & (counts > 0))
    values = relation.dictionary(name).take(pa.array(often)).to_pylist()
    return [v for v in values if not (isinstance(v, float) and not math.isfinite(v)) and not (isinstance(v, str) and len(v) > LONGEST)]


def operators(text: str) -> tuple[Op, ...]:
    """Operators written with blanks or commas between them.

    >>> operators("= !=")
    (<Op.EQ: 2>, <Op.NE: 5>)
    """
    symbols = {op.symbol: op for op in Op}
    found = []
    for part in text.replace(",", " ").split():
        if part not in symbols:
            raise RowlawError("BAD_OPTION", option="operators", value=part, problem=f"use {' '.join(symbols)}{nearest(part, symbols)}")
        found.append(symbols[part])
    return tuple(found)
