"""Listing several rules in threads: limits, early ends, errors, and sharing of groups."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.engine.local import listing
from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.division import Division
from rowlaw.engine.local.listing import list_pairs
from rowlaw.engine.local.plan import order_inequalities, plan
from rowlaw.engine.local.refine import groups, pairs
from rowlaw.relation import encode
from rowlaw.relation.groups import Groups
from rowlaw.rules import bind, parse
from rowlaw.source import open_source

ROWS = 60_000  # unsorted: 1.8 * 10^9 pairs violate the first rule
RULE = "not (s.a < t.a)"
TEXTS = (
    RULE,
    "not (s.g = t.g and s.a < t.a)",
    "not (s.g = t.g and s.a < t.a and s.b > t.b)",
    "not (s.g = t.g and s.b != t.b)",
)


@pytest.fixture(scope="module")
def relation():
    random = np.random.default_rng(0)
    a = random.permutation(ROWS)
    with encode(
        open_source(pa.table({"a": a, "b": a + random.integers(0, 9, ROWS), "g": random.integers(0, 9_000, ROWS)}))
    ) as made:
        yield made


def compiled(relation, *texts):
    scales = Scales(relation, "unknown")
    return [compile_rule(bind(parse(text), relation.types).denials[0], scales) for text in texts]


def listing_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("rowlaw-list")]


def test_threads_find_what_one_thread_finds(relation):
    rules = compiled(relation, *TEXTS[1:])
    found = []
    for threads in (1, 2, 3):
        listed = [[], [], []]
        for number, s, t in list_pairs(rules, threads=threads, batch=1_000):
            listed[number].append(s.astype(np.int64) * ROWS + t)
        found.append([np.sort(np.concatenate(batches)).tolist() for batches in listed])
    assert found[0] == found[1] == found[2]
    assert not listing_threads()


def test_a_limit_is_for_each_rule_and_gives_the_same_pairs_each_time(relation):
    rules = compiled(relation, *TEXTS)
    runs = []
    for threads in (1, 2):
        listed = [[] for _ in rules]
        for number, s, t in list_pairs(rules, limit=7, threads=threads):
            listed[number] += zip(s.tolist(), t.tolist(), strict=True)
        runs.append(listed)
    assert runs[0] == runs[1]
    assert all(len(set(pairs)) == 7 for pairs in runs[0])


def test_a_limit_ends_the_work(relation, monkeypatch):
    steps = []
    step = Division.step
    monkeypatch.setattr(Division, "step", lambda division: steps.append(1) or step(division))
    (rule,) = compiled(relation, RULE)
    assert sum(len(s) for s, _ in pairs(rule, limit=10)) == 10
    assert sum(len(s) for _, s, _ in list_pairs([rule], limit=10, threads=2)) == 10
    assert len(steps) == 2, "the first step of each found enough"


def test_an_iterator_that_is_closed_ends_its_threads(relation, monkeypatch):
    monkeypatch.setattr(listing, "ALONE_SECONDS", -1.0)  # threads help after the first batch
    found = list_pairs(compiled(relation, RULE), threads=2)
    next(found)
    assert not listing_threads()
    next(found)
    assert listing_threads()
    found.close()
    assert not listing_threads()


def test_an_error_in_a_thread_is_raised(relation, monkeypatch):
    usual, calls = listing.written, []

    def broken(*given):
        calls.append(threading.current_thread())
        if len(calls) > 1:
            raise MemoryError("no more")
        return usual(*given)

    monkeypatch.setattr(listing, "ALONE_SECONDS", -1.0)
    monkeypatch.setattr(listing, "written", broken)
    with pytest.raises(MemoryError, match="no more"):
        list(list_pairs(compiled(relation, *TEXTS), threads=2))
    assert not listing_threads()


def test_rules_with_common_equalities_share_groups(relation, monkeypatch):
    refinements = []
    refine = Groups.refine
    monkeypatch.setattr(Groups, "refine", lambda whole, equal: refinements.append(equal) or refine(whole, equal))
    list(list_pairs(compiled(relation, *TEXTS[1:]), threads=1))
    assert len(refinements) == 1


def test_groups_are_far_fewer_than_pairs(relation):
    (rule,) = compiled(relation, RULE)
    found = list(groups(rule))
    assert sum(int(np.diff(some.s.starts) @ np.diff(some.t.starts)) for some in found) == ROWS * (ROWS - 1) // 2
    assert sum(len(some.s.rows) + len(some.t.rows) for some in found) < 40 * ROWS


def test_the_most_selective_pair_comes_first():
    random = np.random.default_rng(1)
    a = random.integers(0, 10**6, 5_000)
    table = pa.table({"free": random.integers(0, 10**6, 5_000), "a": a, "b": a + random.integers(0, 100, 5_000)})
    with encode(open_source(table)) as relation:
        (rule,) = compiled(relation, "not (s.free < t.free and s.a < t.a and s.b > t.b)")
        first = [str(c.predicate) for c in order_inequalities(rule)[0]][:2]
        assert sorted(first) == ["s.a < t.a", "s.b > t.b"]
        assert "divide by s.a < t.a and s.b > t.b and s.free < t.free" in str(plan(rule)).replace(
            "s.b > t.b and s.a < t.a", "s.a < t.a and s.b > t.b"
        )
