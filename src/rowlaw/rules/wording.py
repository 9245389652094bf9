r"""A rule in plain English.

>>> from rowlaw.rules.parse import parse
>>> english(parse("not (s.state = t.state and s.salary < t.salary and s.rate > t.rate)"))
'There are no two rows with the same state where the first has a lower salary and a higher rate.'
>>> english(parse("od {}: seats ~ year")), english(parse(r"s.zip matches '\d{5}'"))
('Rows with more seats never have an earlier year.', "zip always matches '\\d{5}'.")

The words for more and less follow the type of a column where it is known, and its name: dates are later, counts are
more, the rest is higher.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping

from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range
from rowlaw.rules.model import (
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Op,
    Operand,
    OrderCompatible,
    OrderDependency,
    Predicate,
    Rule,
    SortColumn,
    TypeClass,
    quote,
)

Types = Mapping[str, TypeClass]

_VERBS = {
    Op.EQ: "equals",
    Op.NE: "differs from",
    Op.LT: "is lower than",
    Op.LE: "is at most",
    Op.GT: "is higher than",
    Op.GE: "is at least",
}
_PLURAL_VERBS = {
    Op.EQ: "equal",
    Op.NE: "differ from",
    Op.LT: "are lower than",
    Op.LE: "are at most",
    Op.GT: "are higher than",
    Op.GE: "are at least",
}
_TIME_VERBS = {Op.LT: "is before", Op.LE: "is at or before", Op.GT: "is after", Op.GE: "is at or after"}
# what holds of a value where a comparison with a literal is denied
_DENIED = {Op.LT: "at least", Op.LE: "more than", Op.GT: "at most", Op.GE: "less than"}
_DENIED_TIMES = {Op.LT: "at or after", Op.LE: "after", Op.GT: "at or before", Op.GE: "before"}
_TIMES = frozenset(
    {"year", "month", "quarter", "week", "day", "date", "time", "timestamp", "datetime", "hour", "minute", "birthday"}
)
# address, status, basis, gas, analys...
_SINGULAR_ENDINGS = ("ss", "us", "is", "os", "as", "ys", "ics", "ews", "gps", "sms")
_COUNTED_DAYS = frozenset({"days", "years", "months", "weeks", "hours", "minutes", "seconds"})
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+(?![a-z])")


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "rule"), counted(2500, "row"), counted(0, "law")
    ('1 rule', '2,500 rows', '0 laws')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """A share as people write it: two digits, and no zeros for what is not zero.

    >>> percent(0.333), percent(0.0006), percent(1.0), percent(0.0), percent(0.9999)
    ('33%', '0.06%', '100%', '0%', '99.99%')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share > 0.995:
        return f"{100 * share:.4f}".rstrip("0") + "%" if share < 0.999999 else "nearly 100%"
    return (
        f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.2g}%" if share >= 1e-6 else f"{100 * share:.1e}%"
    )


def english(rule: Rule, types: Types | None = None) -> str:
    """One sentence that says what the rule demands; ``types`` of columns, where they are known, choose better words.

    >>> english(Key(("phone", "area_code"))), english(FunctionalDependency(("zip",), "city"))
    ('No two rows share the same area_code and phone.', 'Rows with the same zip have the same city.')
    """
    known = types or {}
    match rule:
        case Key(columns):
            return f"No two rows share the same {_list(columns)}."
        case FunctionalDependency((), right):
            return f"All rows have the same {_name(right)}."
        case FunctionalDependency(left, right):
            return f"Rows with the same {_list(left)} have the same {_name(right)}."
        case OrderCompatible(context, left, right, descending):
            among = f"Among rows with the same {_list(context)}, rows" if context else "Rows"
            return f"{among} with {degree(left, True, known)} never have {degree(right, descending, known)}."
        case OrderDependency((), right):
            return f"All rows have the same {_list(c.name for c in right)}."
        case OrderDependency(left, right):
            return f"Rows sorted by {_order(left)} are also sorted by {_order(right)}, in whatever order ties fall."
    return _denial(rule, known)


def degree(name: str, up: bool, types: Types | None = None) -> str:
    """More or less of a column, as it is said of its type and name.

    >>> [degree(name, up=True) for name in ("seats", "year", "salary")], degree("hired", False, {"hired": "date"})
    (['more seats', 'a later year', 'a higher salary'], 'an earlier hired')
    """
    type = (types or {}).get(name)
    shown = _name(name)
    if type == "text":
        return f"a {shown} {'later' if up else 'earlier'} in the alphabet"
    if type in ("date", "timestamp") or (type in (None, "number") and _is_time(name)):
        return f"a later {shown}" if up else f"an earlier {shown}"
    if _is_plural(name):
        return f"{'more' if up else 'fewer'} {shown}"
    return f"a {'higher' if up else 'lower'} {shown}"


def _last_word(name: str) -> str:
    words = _WORD.findall(name)
    return words[-1].lower() if words else ""


def _is_time(name: str) -> bool:
    return _last_word(name) in _TIMES


def _is_plural(name: str) -> bool:
    """Whether a name counts something, as far as its ending tells: seats, but not status or address."""
    word = _last_word(name)
    return word in _COUNTED_DAYS or (len(word) > 3 and word.endswith("s") and not word.endswith(_SINGULAR_ENDINGS))


def _denial(denial: Denial, types: Types) -> str:
    shown = denial.shown
    if denial.arity == 1:
        if len(shown) == 1 and isinstance(shown[0].right, Condition | Constant):
            return _requirement(shown[0], types)
        return f"There is no row where {_join(_phrase(p, 1, types) for p in shown)}."
    same = [p.left.name for p in shown if p.same_column and p.op == Op.EQ]
    apart = [p.left.name for p in shown if p.same_column and p.op == Op.NE]
    ordered = [_first_has(p, types) for p in shown if p.same_column and p.op.is_inequality]
    others = [_phrase(p, 2, types) for p in shown if not p.same_column]
    rows = "There are no two rows"
    if same:
        rows += f" with the same {_list(same)}"
    if apart:
        rows += f"{' but' if same else ' with'} {_different(apart)}"
    where = [*([f"the first has {_join(ordered)}"] if ordered else []), *([_join(others)] if others else [])]
    return f"{rows} where {', and '.join(where)}." if where else f"{rows}."


def _different(names: list[str]) -> str:
    only = names[0]
    return f"a different {_name(only)}" if len(names) == 1 and not _is_plural(only) else f"different {_list(names)}"


def _first_has(p: Predicate, types: Types) -> str:
    less_or_more = degree(p.left.name, bool(p.op & Op.GT), types)
    return f"the same or {less_or_more}" if p.op & Op.EQ else less_or_more


def _requirement(p: Predicate, types: Types) -> str:
    """A rule that is one condition on one column, said as what holds of every row."""
    subject, wanted = _name(p.left.name), p.op == Op.NE  # the rule denies what must not be
    always = "always" if wanted else "never"
    verb = "are" if _is_plural(p.left.name) else "is"
    match p.right:
        case IsNull():
            return f"{subject} {verb} {always} null."
        case OneOf(values):
            return f"{subject} {verb} {always} {_alternatives(values)}."
        case Range(low, high):
            return f"{subject} {verb} {always} between {_literal(low)} and {_literal(high)}."
        case Constant():
            if not p.op.is_inequality:
                return f"{subject} {verb} {always} {_literal(p.right)}."
            sorted_words = isinstance(p.right.value, dt.date | str) or types.get(p.left.name) in ("date", "timestamp")
            return f"{subject} {verb} always {(_DENIED_TIMES if sorted_words else _DENIED)[p.op]} {_literal(p.right)}."
    return f"{subject} {always} match{'' if _is_plural(p.left.name) else 'es'} {_printable(str(p.right))}."


def _alternatives(values: tuple[Constant, ...]) -> str:
    *most, last = map(_literal, values)
    return f"{', '.join(most)} or {last}" if most else last


def _phrase(p: Predicate, arity: int, types: Types) -> str:
    left, op, right = p.written
    subject, yes = _term(left, arity), op == Op.EQ
    plural = _is_plural(left.name)
    verb = "are" if plural else "is"
    match right:
        case IsNull():
            return f"{subject} {verb} {'' if yes else 'not '}null"
        case OneOf(values):
            return f"{subject} {verb} {'' if yes else 'not '}{_alternatives(values)}"
        case Range(low, high):
            return f"{subject} {verb} {'' if yes else 'not '}between {_literal(low)} and {_literal(high)}"
        case Matches():
            does = "match" if plural else "matches"
            return (
                f"{subject} {does if yes else 'do not match' if plural else 'does not match'} "
                f"{_printable(str(p.right))}"
            )
    of_time = types.get(left.name) in ("date", "timestamp") or (
        isinstance(right, Constant) and isinstance(right.value, dt.date)
    )
    verbs = {**(_PLURAL_VERBS if plural else _VERBS), **(_TIME_VERBS if of_time and not plural else {})}
    return f"{subject} {verbs[op]} {_term(right, arity)}"


def _term(operand: Operand, arity: int) -> str:
    if isinstance(operand, Constant):
        return _literal(operand)
    assert not isinstance(operand, Condition)
    which = "" if arity == 1 else " of the first" if operand.row == "s" else " of the second"
    return _name(operand.name) + which


def _literal(constant: Constant) -> str:
    value = constant.value
    return str(value) if isinstance(value, dt.date) else _printable(str(constant))


def _order(columns: Iterable[SortColumn]) -> str:
    return ", then ".join(_name(c.name) + (" (descending)" if c.descending else "") for c in columns)


def _name(name: str) -> str:
    return name if name.isidentifier() or name.isdigit() else _printable(quote(name))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _list(names: Iterable[str]) -> str:
    return _join(_name(n) for n in names)


def _join(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
