"""The rules of a state with their numbers: a rule keeps its number as long as it lives, and none is given twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from rowlaw.rules import NamedRule, RuleSet, parse
from rowlaw.rules.model import Column, Denial, FunctionalDependency, Key, Nulls, Op, OrderCompatible, Predicate, Rule
from rowlaw.storage.entries import Entry, EntryColumns, Packed

# JSON as it is written here, of values that hold no circles
short = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def pack_predicate(predicate: Predicate) -> list[Any]:
    """A predicate as a JSON value that is read fifty times faster than its text.

    >>> pack_predicate(Predicate(Column("s", "b"), Op.LT, Column("t", "c")))
    ['s', 'b', 1, 't', 'c']
    """
    left, right = predicate.left, predicate.right
    if isinstance(right, Column):
        return [left.row, left.name, int(predicate.op), right.row, right.name]
    turned = left.row == "t"  # what is about t alone would be read as about s
    return [turned, str(predicate.exchanged if turned else predicate)]


def read_predicate(packed: Sequence[Any]) -> Predicate:
    if len(packed) > 2:
        row, name, op, other_row, other = packed
        return Predicate(Column(row, name), Op(op), Column(other_row, other))
    turned, text = packed
    (predicate,) = cast("Denial", parse(f"not ({text})")).predicates
    return predicate.exchanged if turned else predicate


class Terms:
    """The predicates of all denial constraints there have been, each with a number: thousands of rules are made of
    hundreds of them.

    >>> terms = Terms()
    >>> texts = "not (s.a = t.a and s.b < t.c)", "not (s.a = t.a)", "key (a, b)"
    >>> tuple(terms.pack(parse(text)) for text in texts)
    (('dc', 0, 1), ('dc', 0), ('key', 'a', 'b'))
    >>> str(terms.read(("dc", 1)))
    'not (s.b < t.c)'
    """

    def __init__(self, packed: Iterable[Sequence[Any]] = ()) -> None:
        self._predicates: list[Predicate] = []
        self._numbers: dict[Predicate, int] = {}
        self.extend(packed)

    def __len__(self) -> int:
        return len(self._predicates)

    def number(self, predicate: Predicate) -> int:
        """The number of a predicate, a new one if it has none."""
        assigned = self._numbers.setdefault(predicate, len(self._predicates))
        if assigned == len(self._predicates):
            self._predicates.append(predicate)
        return assigned

    def since(self, first: int) -> list[list[Any]]:
        """Those after the first ``first``, as JSON values."""
        return [pack_predicate(p) for p in self._predicates[first:]]

    def extend(self, packed: Iterable[Sequence[Any]]) -> None:
        """Take in what :meth:`since` gave."""
        for one in packed:
            self.number(read_predicate(one))

    def pack(self, rule: Rule) -> Packed:
        match rule:
            case Denial():
                return ("dc", *map(self.number, rule.predicates))
            case Key():
                return ("key", *rule.columns)
            case FunctionalDependency():
                return ("fd", rule.left, rule.right)
            case OrderCompatible():
                return ("od", rule.context, rule.left, rule.right, rule.descending)
            case _:
                return ("text", str(rule))

    def read(self, packed: Sequence[Any]) -> Rule:
        kind, *rest = packed
        match kind:
            case "dc":
                return Denial.canonical(tuple(map(self._predicates.__getitem__, rest)))
            case "key":
                return Key(tuple(rest))
            case "fd":
                return FunctionalDependency(tuple(rest[0]), rest[1])
            case "od":
                return OrderCompatible(tuple(rest[0]), rest[1], rest[2], rest[3])
            case _:
                return parse(rest[0])


@dataclass
class Rulebook:
    """The living rules, packed, by their numbers and in the order of their births.

    >>> book = Rulebook()
    >>> first = book.add(Entry(1, book.terms.pack(parse("key (a)")), born=0))
    >>> book.remove(1) is first, len(book)
    (True, 0)
    """

    terms: Terms = field(default_factory=Terms)
    _saved: EntryColumns = field(default_factory=lambda: EntryColumns.of(()))
    _removed: set[int] = field(default_factory=set)  # positions of saved entries
    _added: dict[int, Entry] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._saved) - len(self._removed) + len(self._added)

    def __iter__(self) -> Iterator[Entry]:
        yield from (entry for position, entry in enumerate(self._saved) if position not in self._removed)
        yield from self._added.values()

    def add(self, entry: Entry) -> Entry:
        assert entry.number not in self._added, f"there is an {entry.id}"
        self._added[entry.number] = entry
        return entry

    def remove(self, number: int) -> Entry:
        if number in self._added:
            return self._added.pop(number)
        position = self._saved.position(number)
        if position is None or position in self._removed:
            raise KeyError(number)
        self._removed.add(position)
        return self._saved[position]

    def rule(self, entry: Entry) -> Rule:
        return self.terms.read(entry.packed)

    def rules(self, nulls: Nulls, settings: Mapping[str, Any]) -> RuleSet:
        named = (NamedRule(e.id, self.rule(e), error=e.error, support=e.support, score=e.score) for e in self)
        return RuleSet(tuple(named), nulls, settings)

    def to_json(self) -> dict[str, Any]:
        return {"terms": self.terms.since(0), "rules": EntryColumns.of(list(self)).to_json()}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Rulebook:
        rules = value["rules"]
        # a list of entries in states of format 4
        saved = (
            EntryColumns.of([Entry(*e) for e in rules]) if isinstance(rules, list) else EntryColumns.from_json(rules)
        )
        return Rulebook(Terms(value["terms"]), saved)


def saved_counts(saved: Mapping[str, Any]) -> tuple[RuleSet, dict[str, int]]:
    """The chosen rules of a state and their counts, as :class:`rowlaw.maintain.chosen.ChosenRules` has saved them."""
    rules = read_rules(saved["rules"], saved["nulls"])
    return rules, {
        n.id: sum(d["violations"] for d in denials) for n, denials in zip(rules, saved["denials"], strict=True)
    }


def read_rules(written: Sequence[Mapping[str, Any]], nulls: Nulls) -> RuleSet:
    """Rules as a state has them."""
    return RuleSet(tuple(NamedRule(**{**fields, "rule": parse(fields["rule"])}) for fields in written), nulls)
