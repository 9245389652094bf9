"""Rules: the model, its text and files, and what follows from what. Standard library only (and PyYAML, for files).

>>> import rowlaw.rules as rules
>>> str(rules.parse("fd (zip) -> city").denials[0])
'not (s.zip = t.zip and s.city != t.city)'
"""

from rowlaw.rules.bind import bind
from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range
from rowlaw.rules.files import load, save
from rowlaw.rules.implication import canonical, implies, is_trivial, minimal
from rowlaw.rules.lexicographic import set_based
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Kind,
    Nulls,
    Op,
    Operand,
    OrderCompatible,
    OrderDependency,
    Predicate,
    Row,
    Rule,
    SortColumn,
    TypeClass,
    Value,
    quote,
)
from rowlaw.rules.parse import Parsed, parse, parse_located
from rowlaw.rules.render import Dialect, sql, sql_condition
from rowlaw.rules.ruleset import NamedRule, RuleSet, Severity
from rowlaw.rules.wording import english

__all__ = [
    "Column",
    "Condition",
    "Constant",
    "Denial",
    "Dialect",
    "FunctionalDependency",
    "IsNull",
    "Key",
    "Kind",
    "Matches",
    "NamedRule",
    "Nulls",
    "OneOf",
    "Op",
    "Operand",
    "OrderCompatible",
    "OrderDependency",
    "Parsed",
    "Predicate",
    "Range",
    "Row",
    "Rule",
    "RuleSet",
    "Severity",
    "SortColumn",
    "TypeClass",
    "Value",
    "bind",
    "canonical",
    "english",
    "implies",
    "is_trivial",
    "load",
    "minimal",
    "parse",
    "parse_located",
    "quote",
    "save",
    "set_based",
    "sql",
    "sql_condition",
]
