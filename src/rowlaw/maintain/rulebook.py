"""The rules of a state with their ids: a rule keeps its id as long as it lives, and no id is given twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from rowlaw.rules import NamedRule, RuleSet, parse
from rowlaw.rules.model import Column, Denial, FunctionalDependency, Key, Nulls, Op, OrderCompatible, Predicate, Rule

FACTS = ("because", "error", "support", "score")


def pack(rule: Rule) -> str:
    """A rule as a short JSON text that is read fifty times faster than rule text.

    >>> pack(parse("not (s.a = t.a and s.b < t.c)"))
    '["dc",[["s","a",2,"t","a"],["s","b",1,"t","c"]]]'
    >>> str(unpack(pack(parse("od {x}: a ~ b desc"))))
    'od {x}: a ~ b desc'
    """
    match rule:
        case Denial() if all(isinstance(p.right, Column) for p in rule.predicates):
            return pack_denial([pack_predicate(p) for p in rule.predicates])
        case Key():
            packed: list[Any] = ["key", rule.columns]
        case FunctionalDependency():
            packed = ["fd", rule.left, rule.right]
        case OrderCompatible():
            packed = ["od", rule.context, rule.left, rule.right, rule.descending]
        case _:
            packed = ["text", str(rule)]
    return short(packed)


def unpack(text: str) -> Rule:
    return read(json.loads(text))


def read(packed: Sequence[Any]) -> Rule:
    """The rule of a packed text that was read as JSON."""
    kind, *rest = packed
    match kind:
        case "dc":
            return Denial.canonical(tuple(_predicate(*p) for p in rest[0]))
        case "key":
            return Key(tuple(rest[0]))
        case "fd":
            return FunctionalDependency(tuple(rest[0]), rest[1])
        case "od":
            return OrderCompatible(tuple(rest[0]), rest[1], rest[2], rest[3])
        case _:
            return parse(rest[0])


def pack_denial(predicates: Sequence[str]) -> str:
    """A denial constraint of packed predicates."""
    return f'["dc",[{",".join(predicates)}]]'


@lru_cache(maxsize=10_000)  # thousands of rules are made of hundreds of predicates
def pack_predicate(predicate: Predicate) -> str:
    """A comparison of two columns as JSON."""
    left, right = predicate.left, cast("Column", predicate.right)
    return short([left.row, left.name, int(predicate.op), right.row, right.name])


short = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # JSON as it is written here


@lru_cache(maxsize=10_000)
def _predicate(row: Any, name: str, op: int, other_row: Any, other: str) -> Predicate:
    return Predicate(Column(row, name), Op(op), Column(other_row, other))


class Entry(NamedTuple):
    """A rule that lives: its id, the batch that brought it, and what was measured then."""

    id: str
    packed: str
    born: int
    facts: Mapping[str, Any] = MappingProxyType({})

    @property
    def rule(self) -> Rule:
        return unpack(self.packed)

    @property
    def named(self) -> NamedRule:
        return NamedRule(self.id, self.rule, **self.facts)


def facts_of(named: NamedRule) -> dict[str, Any]:
    """What was measured of a rule."""
    return {name: value for name in FACTS if (value := getattr(named, name)) is not None}


@dataclass
class Rulebook:
    """The living rules, packed, in the order of their births.

    >>> book = Rulebook()
    >>> first = book.add(pack(parse("key (a)")), batch=0)
    >>> book.remove(first.packed).id, book.add(pack(parse("key (b)")), batch=1).id
    ('R1', 'R2')
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    given: int = 0  # ids so far

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, packed: str, batch: int, facts: Mapping[str, Any] = MappingProxyType({})) -> Entry:
        assert packed not in self.entries, f"{unpack(packed)} is there already"
        self.given += 1
        entry = self.entries[packed] = Entry(f"R{self.given}", packed, batch, facts)
        return entry

    def remove(self, packed: str) -> Entry:
        """Take out a rule, or the same law with ``s`` and ``t`` exchanged."""
        if packed not in self.entries and isinstance(rule := unpack(packed), Denial):
            packed = pack(rule.exchanged)
        return self.entries.pop(packed)

    def rules(self, nulls: Nulls, settings: Mapping[str, Any]) -> RuleSet:
        return RuleSet(tuple(entry.named for entry in self.entries.values()), nulls, settings)

    def replay(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Births and retirements as they were written down."""
        for event in events:
            if event["event"] == "retired":
                del self.entries[short(event["rule"])]
            elif event["event"] == "born":
                packed = short(event["rule"])
                self.entries[packed] = Entry(event["id"], packed, event["batch"], event.get("facts", {}))
                self.given = max(self.given, int(event["id"][1:]))

    def to_json(self) -> dict[str, Any]:
        return {"given": self.given, "rules": [[e.id, e.packed, e.born, dict(e.facts)] for e in self.entries.values()]}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Rulebook:
        entries = (Entry(*fields) for fields in value["rules"])
        return Rulebook({entry.packed: entry for entry in entries}, value["given"])
