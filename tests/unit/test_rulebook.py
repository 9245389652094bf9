"""The living rules as JSON: whatever is packed is read again, also by a book that learns the terms later."""

import datetime as dt
import json

import pytest

from rowlaw.rules import parse
from rowlaw.storage.entries import Entry, EntryColumns
from rowlaw.storage.history import BatchRecord, Events, replay
from rowlaw.storage.rulebook import Rulebook, Terms

RULES = (
    "not (s.a = t.a and s.b < t.c)",
    "not (s.a = t.a and t.b = 5)",
    "not (s.a = 'x' and t.a = 'x')",
    "not (s.b > 1.5 and s.c <= date '2020-01-01')",
    "not (t.b >= 2)",
    "key (a, b)",
    "fd (a, b) -> c",
    "fd () -> c",
    "od {x}: a ~ b desc",
    "od {}: a ~ b",
    "od [year asc, week desc] -> [quarter asc]",
)


def as_read(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("text", RULES)
def test_a_rule_is_read_as_it_was_packed(text):
    rule, terms = parse(text), Terms()
    packed = as_read(terms.pack(rule))
    assert terms.read(packed) == rule
    assert Terms(as_read(terms.since(0))).read(packed) == rule


def test_a_book_that_replays_is_the_book_that_was_written():
    book = Rulebook()
    for number, text in enumerate(RULES[:6], 1):
        book.add(Entry(number, book.terms.pack(parse(text)), 0, 0.0, 7, 0.5))
    saved, known = as_read(book.to_json()), len(book.terms)
    happened = [("retired", book.remove(2), (3, 4)), ("retired", book.remove(6), ())]
    for number, text in enumerate((*RULES[6:], "not (s.d = t.e)"), 7):
        happened.append(("born", book.add(Entry(number, book.terms.pack(parse(text)), 1, None, 3, 0.25)), (number,)))
    batch = BatchRecord(1, None, dt.datetime.now(dt.UTC), 1, 0, len(happened) - 2, 2, len(book))
    line = Events(happened, batch, terms=book.terms).line(known)
    again = Rulebook.from_json(saved)
    assert [(kind, entry.number, list(witness)) for kind, entry, witness in replay(json.loads(line), again)] == [
        (kind, entry.number, list(witness)) for kind, entry, witness in happened
    ]
    assert again.rules("unknown", {}) == book.rules("unknown", {})
    assert as_read(again.to_json()) == as_read(book.to_json())


def test_nothing_is_written_where_nothing_happened():
    assert Events().line(0) == ""
    assert list(Events()) == []


def entries_of(terms):
    return [
        Entry(number, terms.pack(parse(text)), number // 3, error, support, score)
        for number, (text, error, support, score) in enumerate(
            zip(RULES, [0.0, None] * 6, [None, 3, 0] * 4, [0.5, None, 0.0] * 4, strict=False), 5
        )
    ]


def test_entries_in_columns_are_the_entries():
    entries = entries_of(Terms())
    for order in (entries, entries[::-1]):
        for columns in (EntryColumns.of(order), EntryColumns.from_json(as_read(EntryColumns.of(order).to_json()))):
            assert as_read(list(columns)) == as_read(order)
            assert as_read([columns[i] for i in range(len(columns))]) == as_read(order)
            assert [columns.position(e.number) for e in order] == list(range(len(order)))
            assert columns.position(0) is columns.position(1000) is None
    assert list(EntryColumns.from_json(as_read(EntryColumns.of([]).to_json()))) == []


def test_a_book_of_an_older_state_is_read():
    terms = Terms()
    entries = entries_of(terms)
    older = Rulebook.from_json(as_read({"terms": terms.since(0), "rules": entries}))
    book = Rulebook(terms, EntryColumns.of(entries))
    assert older.rules("unknown", {}) == book.rules("unknown", {})
    assert as_read(older.to_json()) == as_read(book.to_json())


def test_a_saved_rule_is_removed_once():
    terms = Terms()
    book = Rulebook(terms, EntryColumns.of(entries_of(terms)))
    gone = book.remove(7)
    assert (gone.number, gone.born, len(book)) == (7, 2, len(RULES) - 1)
    assert gone not in list(book)
    with pytest.raises(KeyError):
        book.remove(7)
    again = Rulebook.from_json(as_read(book.to_json()))
    assert as_read(list(again)) == as_read(list(book))
