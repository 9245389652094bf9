"""The slow, obvious twin of everything: what docs/rules.md, docs/discovery.md and docs/order.md say, in plain Python.

A table is a dictionary from column name to a list of values, all of one length; ``None`` and NaN are null.
Rows are numbered from 0. Nothing here is fast and nothing here is shared with ``rowlaw``, except the rule model.

>>> table = {"zip": [1, 1, 2], "city": ["Ulm", "Bonn", "Ulm"]}
>>> violations(FunctionalDependency(("zip",), "city"), table, "unknown")
[(0, 1), (1, 0)]
>>> sorted(map(str, minimal_keys(table, "unknown")))
['key (city, zip)']

Decisions where the papers and these pages are silent are marked "Chosen:".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Nulls,
    Op,
    Operand,
    OrderCompatible,
    Predicate,
    Rule,
    SortColumn,
    Value,
)

Table: TypeAlias = Mapping[str, Sequence[Any]]
TypeClass: TypeAlias = Literal["number", "text", "boolean", "date", "timestamp"]

EQUALITY = (Op.EQ, Op.NE)
ALL_SIX = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)


# Values and comparisons


def is_null(value: Any) -> bool:
    """Whether a value is null: ``None`` or NaN, of either number type that has one."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, Decimal) and value.is_nan())
    )


def outcome(a: Any, b: Any, nulls: Nulls) -> Op | None:
    """How ``a`` stands to ``b``: ``<``, ``=``, ``>``, or ``None`` for unknown.

    Python compares numbers of different types exactly and strings by code point, which is what we want.
    """
    if is_null(a) or is_null(b):
        if nulls == "unknown":
            return None
        if is_null(a) and is_null(b):
            return Op.EQ
        return Op.LT if is_null(a) else Op.GT
    if a == b:
        return Op.EQ
    return Op.LT if a < b else Op.GT


def compare(a: Any, b: Any, op: Op, nulls: Nulls) -> bool:
    """Whether ``a op b`` is true. ``unknown``: never with a null. ``equal``: null equals null and sorts before
    everything."""
    found = outcome(a, b, nulls)
    if found is None:
        return False
    return {
        Op.EQ: found == Op.EQ,
        Op.NE: found != Op.EQ,
        Op.LT: found == Op.LT,
        Op.LE: found in (Op.LT, Op.EQ),
        Op.GT: found == Op.GT,
        Op.GE: found in (Op.GT, Op.EQ),
    }[op]


def ranks(values: Sequence[Any]) -> list[int]:
    """Dense codes in value order, from 0; null is -1."""
    return shared_ranks([values])[0]


def shared_ranks(columns: Sequence[Sequence[Any]]) -> list[list[int]]:
    """Dense codes over one dictionary of all the columns' values, so that codes compare across columns."""
    distinct = sorted({v for values in columns for v in values if not is_null(v)})
    return [[-1 if is_null(v) else distinct.index(v) for v in values] for values in columns]


def row_count(table: Table) -> int:
    return max((len(values) for values in table.values()), default=0)


def ordered_pairs(n: int) -> list[tuple[int, int]]:
    """All ordered pairs of different rows."""
    return [(s, t) for s in range(n) for t in range(n) if s != t]


# Rules and their violations


def operand_value(operand: Operand, table: Table, s: int, t: int) -> Any:
    if isinstance(operand, Constant):
        return operand.value
    return table[operand.name][s if operand.row == "s" else t]


def holds(predicate: Predicate, table: Table, s: int, t: int, nulls: Nulls) -> bool:
    """Whether rows ``s`` and ``t`` make the predicate true."""
    if isinstance(predicate.right, Condition):
        value = operand_value(predicate.left, table, s, t)
        return meets(value, predicate.right, nulls) if predicate.op == Op.EQ else fails(value, predicate.right, nulls)
    left, right = operand_value(predicate.left, table, s, t), operand_value(predicate.right, table, s, t)
    if isinstance(predicate.right, Constant) and isinstance(left, float) and isinstance(right, Decimal):
        right = float(right)  # against floats a literal such as 0.1 means the float that is written so
    return compare(left, right, predicate.op, nulls)


def meets(value: Any, condition: Condition, nulls: Nulls) -> bool:
    """Whether a condition is true of a value. Chosen: of null only ``is null`` is ever true."""
    match condition:
        case IsNull():
            return is_null(value)
        case OneOf(values):
            return any(compare(value, _as(value, v), Op.EQ, nulls) for v in values)
        case Range(low, high):
            return compare(value, _as(value, low), Op.GE, nulls) and compare(value, _as(value, high), Op.LE, nulls)
        case Matches(pattern):
            return not is_null(value) and re.fullmatch(pattern, value, re.ASCII) is not None
    raise TypeError(condition)


def fails(value: Any, condition: Condition, nulls: Nulls) -> bool:
    """Whether the negated condition is true of a value: with unknown nulls neither is true of null."""
    if is_null(value) and nulls == "unknown" and not isinstance(condition, IsNull):
        return False
    return not meets(value, condition, nulls)


def _as(value: Any, literal: Constant) -> Any:
    """A literal beside a value: against floats 0.1 means the float that is written so."""
    return float(literal.value) if isinstance(value, float) and isinstance(literal.value, Decimal) else literal.value


def violations(rule: Rule, table: Table, nulls: Nulls) -> list[tuple[int, ...]]:
    """The ordered pairs ``(s, t)`` of different rows, or the rows ``(s,)`` of a rule about one row, that break the
    rule. Sorted."""
    n = row_count(table)
    found: list[tuple[int, ...]] = []
    for denial in rule.denials:
        places: list[tuple[int, ...]] = [(s,) for s in range(n)] if denial.arity == 1 else [*ordered_pairs(n)]
        found += [
            place for place in places if all(holds(p, table, place[0], place[-1], nulls) for p in denial.predicates)
        ]
    assert len(found) == len(set(found)), "the denials of a rule must be disjoint"
    return sorted(found)


def violations_against(rule: Rule, new: Table, old: Table, nulls: Nulls) -> list[tuple[tuple[str, int], ...]]:
    """The violations that involve at least one new row; rows are called ``("new", i)`` and ``("old", i)``. Sorted.

    A rule about one row is about the new rows.
    """
    n = row_count(old)
    both = {name: [*old[name], *new[name]] for name in new}
    found = [place for place in violations(rule, both, nulls) if any(row >= n for row in place)]
    return sorted(tuple(("new", row - n) if row >= n else ("old", row) for row in place) for place in found)


def refused(rules: Sequence[Rule], new: Table, old: Table, nulls: Nulls) -> dict[int, list[int]]:
    """The new rows that a guard keeps out, each with the rules (by index) that it breaks together with the rows that
    are in at the end.

    Rows come one after the other: one that breaks a rule by itself or together with a row that is in already stays out.
    """
    size = row_count(old)
    both = {name: [*old[name], *new[name]] for name in new}
    inside = list(range(size))

    def broken(row: int) -> list[int]:
        return [
            i
            for i, rule in enumerate(rules)
            for pair in violations(rule, both, nulls)
            if row in pair and {*pair} <= {*inside, row}
        ]

    for row in range(size, size + row_count(new)):
        if not broken(row):
            inside.append(row)
    return {row - size: sorted(set(broken(row))) for row in range(size, size + row_count(new)) if row not in inside}


def count(rule: Rule, table: Table, nulls: Nulls) -> int:
    return len(violations(rule, table, nulls))


def exists(rule: Rule, table: Table, nulls: Nulls) -> bool:
    """Whether anything breaks the rule."""
    return bool(violations(rule, table, nulls))


def row_counts(rule: Rule, table: Table, nulls: Nulls) -> dict[int, int]:
    """For each row that takes part in a violation, in how many: a pair counts once for ``s`` and once for ``t``."""
    return dict(Counter(row for place in violations(rule, table, nulls) for row in place))


def lex_outcome(keys: Sequence[SortColumn], table: Table, s: int, t: int, nulls: Nulls) -> Op | None:
    """How row ``s`` stands to row ``t`` under ``ORDER BY keys``: the first column that is not equal decides; unknown
    there is unknown."""
    for key in keys:
        found = outcome(table[key.name][s], table[key.name][t], nulls)
        if found != Op.EQ:
            return found.swapped if found is not None and key.descending else found
    return Op.EQ


def lex_violations(
    left: Sequence[SortColumn], right: Sequence[SortColumn], table: Table, nulls: Nulls
) -> list[tuple[int, int]]:
    """The pairs where ``s`` comes before or ties with ``t`` by ``left`` but after ``t`` by ``right`` (HyOD section
    III)."""
    return [
        (s, t)
        for s, t in ordered_pairs(row_count(table))
        if lex_outcome(left, table, s, t, nulls) in (Op.LT, Op.EQ) and lex_outcome(right, table, s, t, nulls) == Op.GT
    ]


def lex_holds(left: Sequence[SortColumn], right: Sequence[SortColumn], table: Table, nulls: Nulls) -> bool:
    return not lex_violations(left, right, table, nulls)


def evidence(table: Table, predicates: Iterable[Predicate], nulls: Nulls) -> Counter[frozenset[Predicate]]:
    """What the ordered pairs of different rows say: which of the predicates they make true, and how many pairs say the
    same."""
    known = list(predicates)
    return Counter(
        frozenset(p for p in known if holds(p, table, s, t, nulls)) for s, t in ordered_pairs(row_count(table))
    )


def breakable(rule: Rule, table: Table, nulls: Nulls) -> bool:
    """Whether any rows could break the rule: there is a pair of different rows, for a rule about one row a row, with
    known values wherever the rule compares. Else it is *vacuous*, and no discovery reports it.

    With ``nulls="equal"`` null is a value, and any two rows will do.
    """

    def known(row: int, names: set[str]) -> bool:
        return nulls == "equal" or not any(is_null(table[name][row]) for name in names)

    n = row_count(table)
    for denial in rule.denials:
        operands = [o for p in denial.predicates for o in (p.left, p.right) if isinstance(o, Column)]
        in_s, in_t = ({o.name for o in operands if o.row == row} for row in ("s", "t"))
        if denial.arity == 1 and any(known(row, in_s | in_t) for row in range(n)):
            return True
        if denial.arity == 2 and any(known(s, in_s) and known(t, in_t) for s, t in ordered_pairs(n)):
            return True
    return False


# The predicate space


def shared_values(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The share of distinct non-null values that two columns have in common: of the larger set, so it is a share of
    *each* column's.

    Chosen: Hydra 7.1 ("at least 20% common values") and IncDC 3 ("at least 30% of common values") do not say of what.
    We take the smaller of the two shares: symmetric, and a column of few values does not become comparable with every
    wide column that happens to contain them. (Hydra's and Desbordante's code sum min and max of frequencies over the
    first column's values only.)
    """
    left, right = ({v for v in values if not is_null(v)} for values in (a, b))
    return len(left & right) / max(len(left), len(right)) if left and right else 0.0


def near_means(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether the means of two number columns are within one order of magnitude.

    Chosen: exact means over the rows with finite values; both zero, or one sign and neither more than ten times the
    other.
    """
    finite = [[Fraction(v) for v in values if not is_null(v) and math.isfinite(v)] for values in (a, b)]
    if not all(finite):
        return False
    x, y = (sum(values, Fraction(0)) / len(values) for values in finite)
    if x == 0 or y == 0:
        return x == y
    return x * y > 0 and Fraction(1, 10) <= x / y <= 10


def predicate_space(
    table: Table,
    types: Mapping[str, TypeClass],
    *,
    cross: bool = True,
    overlap: float = 0.3,
    order_strings: bool = False,
    single_row: bool = False,
    constants: Mapping[str, Iterable[Value]] | None = None,
) -> list[Predicate]:
    """The predicates that discovery uses (docs/architecture/predicates.md); closed under exchange of ``s`` and ``t``.

    Same column: ``= !=``, and the other four for ordered types. Two columns of one type class, when `shared_values` is
    at least `overlap`: ``= !=`` between ``s.A, t.B`` and between ``s.B, t.A``, and the other four for ordered types.

    Chosen: the condition on means concerns numbers only, because the zero of a calendar is arbitrary. `single_row` adds
    ``s.A op s.B`` and ``t.A op t.B`` with the operators that the pair of columns would have across rows, whatever
    `cross` says. `constants` adds ``s.A op c`` and ``t.A op c`` with the operators of the column.
    """
    ordered = {
        name
        for name, kind in types.items()
        if kind in ("number", "date", "timestamp") or (kind == "text" and order_strings)
    }
    found: list[Predicate] = []

    def add(left: Column, ops: Iterable[Op], right: Operand) -> None:
        found.extend(Predicate(left, op, right) for op in ops)

    for a in table:
        add(Column("s", a), ALL_SIX if a in ordered else EQUALITY, Column("t", a))
    for a, b in combinations(table, 2):
        if types[a] != types[b] or shared_values(table[a], table[b]) < overlap:
            continue
        by_order = a in ordered and (types[a] != "number" or near_means(table[a], table[b]))
        ops = ALL_SIX if by_order else EQUALITY
        if cross:
            add(Column("s", a), ops, Column("t", b))
            add(Column("s", b), ops, Column("t", a))
        if single_row:
            add(Column("s", a), ops, Column("s", b))
            add(Column("t", a), ops, Column("t", b))
    for a, values in (constants or {}).items():
        for value in values:
            add(Column("s", a), ALL_SIX if a in ordered else EQUALITY, Constant(value))
            add(Column("t", a), ALL_SIX if a in ordered else EQUALITY, Constant(value))
    return found


# Minimal denial constraints


def canonical(denial: Denial) -> Denial:
    """The representative of a rule and its exchange: the smaller by text."""
    return min(denial, denial.exchanged, key=str)


def follows(weak: Denial, strong: Denial) -> bool:
    """Whether ``weak`` follows from ``strong`` by adding predicates, strengthening operators, or exchanging ``s`` and
    ``t``."""

    def step(law: Sequence[Predicate]) -> bool:
        return all(
            any((p.left, p.right) == (q.left, q.right) and p.op.implies(q.op) for p in weak.predicates) for q in law
        )

    # predicate by predicate: `strong.exchanged` would write a rule about row t alone as one about s again
    return step(strong.predicates) or step([q.exchanged for q in strong.predicates])


def is_trivial(denial: Denial) -> bool:
    """Whether the rule is true on every table: no values whatever make all its predicates true."""
    return not all(satisfiable(part) for part in _connected_parts(denial.predicates))


def _connected_parts(predicates: Iterable[Predicate]) -> list[frozenset[Predicate]]:
    """The predicates in parts that have no column in common, so that values for one part say nothing about another."""
    parts: list[tuple[set[Operand], set[Predicate]]] = []
    for p in predicates:
        columns: set[Operand] = {o for o in (p.left, p.right) if isinstance(o, Column)}
        members = {p}
        for part in [part for part in parts if part[0] & columns]:
            parts.remove(part)
            columns, members = columns | part[0], members | part[1]
        parts.append((columns, members))
    return [frozenset(members) for _, members in parts]


@lru_cache(maxsize=100_000)
def satisfiable(predicates: frozenset[Predicate]) -> bool:
    """Whether some values of the columns make all predicates true, by trying small integers for them.

    Chosen: columns range over an unbounded dense order, whatever their type, and are not null. So ``s.a > 1 and s.a <
    2`` is satisfiable for an integer too, and three booleans may all differ. Nulls add nothing: under ``equal`` null is
    one more value.
    """
    columns = sorted({o for p in predicates for o in (p.left, p.right) if isinstance(o, Column)}, key=str)
    constants = sorted({p.right.value for p in predicates if isinstance(p.right, Constant)}, key=_by_class)
    room = len(columns)  # so many different values fit below, between and above the constants
    domain = range(room * (len(constants) + 1) + len(constants))
    place: dict[Operand, int] = {Constant(v): room * (i + 1) + i for i, v in enumerate(constants)}

    def assign(remaining: list[Column]) -> bool:
        if not remaining:
            return True
        first, *rest = remaining
        for value in domain:
            place[first] = value
            ready = (p for p in predicates if first in (p.left, p.right) and p.left in place and p.right in place)
            if all(compare(place[p.left], place[p.right], p.op, "equal") for p in ready) and assign(rest):
                return True
        del place[first]
        return False

    return assign(_connected(columns, predicates))


def _by_class(value: Value) -> tuple[str, Any]:
    """A sort key for literals of all types: those of different classes are never compared, so their order is
    immaterial."""
    return ("number" if isinstance(value, int | Decimal) else type(value).__name__), value


def _connected(columns: list[Column], predicates: frozenset[Predicate]) -> list[Column]:
    """The columns in an order that keeps neighbours together, so that a contradiction is seen early."""
    order: list[Column] = []
    while len(order) < len(columns):
        linked = [
            c for c in columns if c not in order and any({c, o} == {p.left, p.right} for p in predicates for o in order)
        ]
        order.append((linked or [c for c in columns if c not in order])[0])
    return order


def minimal_denials(
    table: Table,
    space: Iterable[Predicate],
    nulls: Nulls,
    error: float = 0.0,
    *,
    max_predicates: int | None = None,
    vacuous: bool = False,
) -> set[Denial]:
    """All valid minimal non-trivial rules over a predicate space that some rows could break (or all, with `vacuous`);
    one of each rule and its exchange, the smaller by text.

    Valid: violating ordered pairs / n(n-1) is at most `error`, as floats, so that 3 of 10 is within 0.3. A rule about
    one row: violating rows / n, which is the same number when there are two rows or more. Minimal: every rule that is
    weaker by one step (a predicate dropped, or its operator replaced by a weaker one) is not valid. One step suffices:
    violations only grow along further steps.

    Vacuous rules are left out last: one that implies another compares no more than that does, so it is vacuous only if
    the other is. Chosen: the space is closed under exchange and under conjunction (``<=`` and ``>=`` bring ``=``). With
    fewer than two rows every rule about pairs is valid and vacuous, so the minimal ones are the single weakest
    predicates. The empty rule is no rule.

    Rules grow by one predicate at a time, over the operand pairs in order. A rule that is valid is not grown further.
    Nor is one with a weaker twin that the same pairs break: whatever is added to both, the twin is valid as well.
    `max_predicates` cuts the search: the result is then exactly the minimal rules of at most that size. Give it (3,
    say) when more than three columns are compared with each other: the number of rules explodes, not only the time.
    """
    n = row_count(table)
    places = [(0, 0)] if n == 1 else ordered_pairs(n)  # a single row makes no pair, but can break a rule about one row
    atoms = [
        [_Atom(p, _bits(holds(p, table, s, t, nulls) for s, t in places), []) for p in group]
        for group in _by_operands(space)
    ]
    for group in atoms:
        for a in group:
            a.weaker.extend(b.bits for b in group if b is not a and a.predicate.op.implies(b.predicate.op))

    def valid(rule: tuple[_Atom, ...], broken: int) -> bool:
        if n == 1 and len({r for a in rule for r in a.predicate.rows}) == 2:
            return True
        return n == 0 or broken.bit_count() / len(places) <= error

    def minimal(rule: tuple[_Atom, ...], without: list[int]) -> bool:
        for i, (a, broken) in enumerate(zip(rule, without, strict=True)):
            if len(rule) > 1 and valid((*rule[:i], *rule[i + 1 :]), broken):
                return False
            if any(valid(rule, broken & bits) for bits in a.weaker):
                return False
        return True

    def has_twin(rule: tuple[_Atom, ...], without: list[int], broken: int) -> bool:
        return any(w == broken or broken in [w & bits for bits in a.weaker] for a, w in zip(rule, without, strict=True))

    result: set[Denial] = set()
    # next operand pair, rule, what breaks it (one bit per place), and what would break it without its i-th predicate
    frontier: list[tuple[int, tuple[_Atom, ...], int, list[int]]] = [(0, (), (1 << len(places)) - 1, [])]
    while frontier and (max_predicates is None or len(frontier[0][1]) < max_predicates):
        grown = []
        for start, rule, broken, without in frontier:
            for following, a in [(i + 1, a) for i in range(start, len(atoms)) for a in atoms[i]]:
                still_broken = broken & a.bits
                if still_broken == broken and n > 1:
                    continue  # the rule without a is its twin
                longer, longer_without = (*rule, a), [*[w & a.bits for w in without], broken]
                if not valid(longer, still_broken):
                    if n == 1 or not has_twin(longer, longer_without, still_broken):
                        grown.append((following, longer, still_broken, longer_without))
                elif minimal(longer, longer_without):
                    denial = Denial(tuple(b.predicate for b in longer))
                    if not is_trivial(denial):
                        result.add(canonical(denial))
        frontier = grown
    return {denial for denial in result if vacuous or breakable(denial, table, nulls)}


class _Atom(NamedTuple):
    """A predicate, where it is true (one bit per place), and where the weaker ones of its operands are."""

    predicate: Predicate
    bits: int
    weaker: list[int]


def _bits(truths: Iterable[bool]) -> int:
    return sum(1 << i for i, truth in enumerate(truths) if truth)


def _by_operands(space: Iterable[Predicate]) -> list[list[Predicate]]:
    """The space closed under exchange and conjunction, grouped by what is compared."""
    masks: dict[tuple[Column, Operand], set[int]] = {}
    for given in space:
        for p in (given, given.exchanged):
            masks.setdefault((p.left, p.right), set()).add(int(p.op))
    groups = []
    for (left, right), ops in masks.items():
        while more := {a & b for a in ops for b in ops if a & b} - ops:
            ops.update(more)
        groups.append([Predicate(left, Op(op), right) for op in sorted(ops)])
    return groups


# Keys, functional dependencies, order compatibilities


def rows_to_remove(rule: Rule, table: Table, nulls: Nulls) -> int:
    """The least number of rows without which the rule holds, by trying all sets of rows: the definition of g3, for tiny
    tables."""
    found = violations(rule, table, nulls)
    for size in range(row_count(table) + 1):
        for rows in combinations(range(row_count(table)), size):
            if all(set(place) & set(rows) for place in found):
                return size
    raise AssertionError("without any rows every rule holds")


def _groups(columns: Sequence[str], table: Table, nulls: Nulls) -> list[list[int]]:
    """The rows that are pairwise equal on all columns. ``unknown``: a row with a null there is equal to none and left
    out."""
    groups: dict[tuple[int, ...], list[int]] = {}
    codes = [ranks(table[c]) for c in columns]
    for row in range(row_count(table)):
        value = tuple(code[row] for code in codes)
        if nulls == "equal" or -1 not in value:
            groups.setdefault(value, []).append(row)
    return list(groups.values())


def suspects(
    rules: Mapping[FunctionalDependency, bool], table: Table, nulls: Nulls
) -> dict[tuple[int, str], tuple[int, int]]:
    """Cells that more dependencies contradict than confirm, with the numbers of both; those marked as learnt must say
    more than chance."""
    against: Counter[tuple[int, str]] = Counter()
    backing: Counter[tuple[int, str]] = Counter()
    for rule, learnt in rules.items():
        codes = ranks(table[rule.right])
        known = {row for row in range(row_count(table)) if nulls == "equal" or codes[row] >= 0}
        groups = [[row for row in group if row in known] for group in _groups(rule.left, table, nulls)]
        members = [row for group in groups for row in group]
        shared = [group for group in groups if len(group) > 1]
        beside = {
            row: [codes[other] != codes[row] for other in group if other != row] for group in shared for row in group
        }
        if not beside:
            continue
        differ = sum(Fraction(sum(others), len(others)) for others in beside.values()) / len(beside)
        pairs = [codes[s] != codes[t] for s in members for t in members if s != t]
        if learnt and differ > Fraction(sum(pairs), len(pairs)) / 5:
            continue
        for group in shared:
            usual, number = Counter(codes[row] for row in group).most_common(1)[0]
            if 4 * number >= 3 * len(group):
                for row in group:
                    (backing if codes[row] == usual else against)[row, rule.right] += 1
    return {cell: (votes, backing[cell]) for cell, votes in against.items() if votes > backing[cell]}


def _share(rows: int, table: Table) -> float:
    return rows / row_count(table) if row_count(table) else 0.0


def key_error(columns: Sequence[str], table: Table, nulls: Nulls) -> float:
    """g3 of a key: the share of rows beyond the first of each group of rows that agree.

    Under ``equal`` this is (n - distinct)/n; under ``unknown`` rows with a null in the key never conflict.
    """
    return _share(sum(len(g) - 1 for g in _groups(columns, table, nulls)), table)


def fd_error(left: Sequence[str], right: str, table: Table, nulls: Nulls) -> float:
    """g3 of a functional dependency: the least share of rows to remove so that it holds.

    In each group of rows that agree on the left, all rows but those with the most frequent right value must go. Under
    ``unknown`` rows with a null on either side never conflict, so they stay.
    """
    codes = ranks(table[right])
    removed = 0
    for group in _groups(left, table, nulls):
        values = [codes[row] for row in group if nulls == "equal" or codes[row] != -1]
        removed += len(values) - max(Counter(values).values(), default=0)
    return _share(removed, table)


def od_error(context: Sequence[str], left: str, right: str, descending: bool, table: Table, nulls: Nulls) -> float:
    """g3 of an order compatibility: in each group the rows outside a longest run that is in order on both sides must
    go.

    Sorted by (left, right), two rows swap exactly when the later one has the smaller right value.
    """
    a = ranks(table[left])
    b = [-code if descending else code for code in ranks(table[right])]
    removed = 0
    for group in _groups(context, table, nulls):
        known = [r for r in group if nulls == "equal" or not (is_null(table[left][r]) or is_null(table[right][r]))]
        points = sorted((a[r], b[r]) for r in known)
        longest: list[int] = []  # the longest run that ends at each point
        for i, (_, y) in enumerate(points):
            longest.append(1 + max((longest[j] for j in range(i) if points[j][1] <= y), default=0))
        removed += len(points) - max(longest, default=0)
    return _share(removed, table)


def _smallest_sets(
    columns: Sequence[str], valid: Callable[[tuple[str, ...]], bool], least: int
) -> list[tuple[str, ...]]:
    """The valid sets of at least `least` columns that contain no smaller valid one."""
    found: list[tuple[str, ...]] = []
    for size in range(least, len(columns) + 1):
        for candidate in combinations(columns, size):
            if not any(set(f) <= set(candidate) for f in found) and valid(candidate):
                found.append(candidate)
    return found


def minimal_keys(table: Table, nulls: Nulls, error: float = 0.0, *, vacuous: bool = False) -> set[Key]:
    """The subset-minimal column sets with `key_error` at most `error` that are not `vacuous`. A key has at least one
    column."""
    found = {Key(c) for c in _smallest_sets(list(table), lambda c: key_error(c, table, nulls) <= error, 1)}
    return {key for key in found if vacuous or breakable(key, table, nulls)}


def minimal_fds(table: Table, nulls: Nulls, error: float = 0.0, *, vacuous: bool = False) -> set[FunctionalDependency]:
    """The constant order dependencies of HyOD: subset-minimal left sides without the right side; an empty one says that
    it is constant."""
    found: set[FunctionalDependency] = set()
    for right in table:

        def valid(left: tuple[str, ...], right: str = right) -> bool:
            return fd_error(left, right, table, nulls) <= error

        found.update(
            FunctionalDependency(left, right) for left in _smallest_sets([c for c in table if c != right], valid, 0)
        )
    return {fd for fd in found if vacuous or breakable(fd, table, nulls)}


def minimal_ods(
    table: Table, nulls: Nulls, error: float = 0.0, *, ordered: Iterable[str] | None = None, vacuous: bool = False
) -> set[OrderCompatible]:
    """The order compatible dependencies of HyOD section III, both directions.

    Minimal: no smaller context is valid, and the context determines neither side (`fd_error` at most the same `error`).
    `ordered`: the columns that may be a side, all by default as in HyOD; contexts use every column.
    """
    found = set()
    for left, right in combinations([c for c in table if ordered is None or c in set(ordered)], 2):
        others = [c for c in table if c not in (left, right)]
        for descending in (False, True):

            def valid(
                context: tuple[str, ...], left: str = left, right: str = right, descending: bool = descending
            ) -> bool:
                return od_error(context, left, right, descending, table, nulls) <= error

            for context in _smallest_sets(others, valid, 0):
                if all(fd_error(context, side, table, nulls) > error for side in (left, right)):
                    found.add(OrderCompatible(context, left, right, descending))
    return {od for od in found if vacuous or breakable(od, table, nulls)}


# What rules would catch, and what nearly holds


def caught(
    rule: Rule, table: Table, row: int, column: str, value: Any, nulls: Nulls, *, inserted: bool
) -> tuple[int, int]:
    """How many violations a row takes part in with a cell changed, and how many it took part in before.

    ``inserted``: the changed row is there besides the row itself, else in its place.
    """
    changed = {name: [*values, value if name == column else values[row]] for name, values in table.items()}
    new = row_count(table)
    after = [pair for pair in violations(rule, changed, nulls) if new in pair and (inserted or row not in pair)]
    before = [pair for pair in violations(rule, table, nulls) if row in pair]
    return len(after), len(before)


def mu_plus(left: Sequence[str], right: str, table: Table, nulls: Nulls) -> float:
    """mu+ of a functional dependency, over the rows that are known on both sides."""
    codes = ranks(table[right])
    groups = [
        [codes[row] for row in group if nulls == "equal" or codes[row] != -1] for group in _groups(left, table, nulls)
    ]
    groups = [group for group in groups if group]
    every = [code for group in groups for code in group]
    n = len(every)
    if not n or len(groups) == n:
        return 0.0
    by_chance = sum(Fraction(k, n) ** 2 for k in Counter(every).values())
    if by_chance == 1:
        return 0.0
    agreement = sum(Fraction(k * k, len(group)) for group in groups for k in Counter(group).values()) / n
    return max(0.0, float(1 - (1 - agreement) / (1 - by_chance) * Fraction(n - 1, n - len(groups))))
