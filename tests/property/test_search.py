"""The one search: all minimal hitting sets, by every path, equal the obvious ones."""

import pickle
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.errors import RowlawError
from rowlaw.search import bitsets, extend, hypergraph, run
from rowlaw.search import search as module
from rowlaw.search.bitsets import distinct, mirrored, one_of_each, pack, unpack, without_repeats
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import (
    branches,
    minimal_edges,
    minimal_hitting_sets,
    refine,
    search_branch,
)
from rowlaw.stopping import NEVER


def brute(edges, vertices, forbidden=()):
    """All subsets, one by one."""
    hits = [s for s in range(1 << vertices) if all(s & e for e in edges)]
    minimal = [
        s for s in hits if not any(s >> v & 1 and all(s & ~(1 << v) & e for e in edges) for v in range(vertices))
    ]
    return sorted(s for s in minimal if not any(s & f == f for f in forbidden))


def berge(edges, forbidden=()):
    """Edge by edge, comparing sets with each other."""
    sets = {0}
    for edge in edges:
        longer = {s | 1 << v for s in sets if not s & edge for v in range(edge.bit_length()) if edge >> v & 1}
        sets = {s for s in sets if s & edge}
        for s in sorted(longer, key=int.bit_count):
            if not any(t & s == t for t in sets):
                sets.add(s)
    return sorted(s for s in sets if not any(s & f == f for f in forbidden))


def members(bits):
    return [v for v in range(bits.bit_length()) if bits >> v & 1]


def graph_of(edges, vertices, forbidden=(), exchange=None):
    return Hypergraph(pack(map(members, edges), vertices), vertices, pack(map(members, forbidden), vertices), exchange)


def as_bits(sets):
    found = [sum(1 << v for v in line) for line in unpack(sets)]
    assert len(found) == len(set(found))
    return sorted(found)


@contextmanager
def settings_of(**values):
    homes = {name: module if hasattr(module, name) else run for name in values}
    saved = {name: getattr(home, name) for name, home in homes.items()}
    for name, value in values.items():
        setattr(homes[name], name, value)
    try:
        yield
    finally:
        for name, value in saved.items():
            setattr(homes[name], name, value)


@st.composite
def loose(draw, max_vertices=8, max_edges=12):
    """Any edges, among them empty, equal and dominated ones, and any forbidden sets."""
    vertices = draw(st.integers(0, max_vertices))
    some = st.integers(0, (1 << vertices) - 1)
    edges = draw(st.lists(some, max_size=max_edges))
    if draw(st.booleans()):
        edges = [e for e in edges if e]
    forbidden = [f for f in draw(st.lists(some, max_size=4)) if f]
    return edges, vertices, forbidden


@st.composite
def evidence(draw, max_columns=5, max_edges=30, nulls=True):
    """Edges with one vertex for each column (or, unknown, all of it), columns being forbidden; its symmetry; closed
    under it."""
    sizes = draw(st.lists(st.sampled_from([2, 3, 3]), min_size=1, max_size=max_columns))
    starts = [sum(sizes[:c]) for c in range(len(sizes))]
    exchange = np.arange(sum(sizes))
    for start, size in zip(starts, sizes, strict=True):
        if size == 3:
            exchange[start], exchange[start + 1] = start + 1, start
    edges = []
    for _ in range(draw(st.integers(0, max_edges))):
        edge = 0
        for start, size in zip(starts, sizes, strict=True):
            digit = draw(st.integers(0, size if nulls else size - 1))
            edge |= ((1 << size) - 1) << start if digit == size else 1 << start + digit
        edges += [edge, sum(1 << int(exchange[v]) for v in members(edge))]
    return edges, sum(sizes), [((1 << size) - 1) << start for start, size in zip(starts, sizes, strict=True)], exchange


@given(loose(), st.sampled_from([0, 1024]), st.integers(1, 2))
def test_any_edges(problem, few_words, threads):
    edges, vertices, forbidden = problem
    with settings_of(SHORT_WORDS=few_words, ALONE_WORDS=0):
        found = minimal_hitting_sets(graph_of(edges, vertices, forbidden), threads=threads)
    assert found.complete
    assert as_bits(found.sets) == brute(edges, vertices, forbidden)


@given(loose(max_vertices=20, max_edges=14), st.integers(0, 40), st.integers(1, 2), st.booleans())
def test_a_search_that_finds_too_much_gives_up(problem, most, threads, wide):
    edges, vertices, forbidden = problem
    if wide:  # beyond a word
        vertices += 64
        edges = [edge << 60 | edge & 1 for edge in edges]
        forbidden = [some << 60 for some in forbidden]
    before, hypergraph.MOST_SETS = hypergraph.MOST_SETS, most
    try:
        with settings_of(ALONE_WORDS=0, KEPT_SETS=10, SLICE=64):
            found = minimal_hitting_sets(graph_of(edges, vertices, forbidden), threads=threads)
    finally:
        hypergraph.MOST_SETS = before
    expected = berge(edges, forbidden)
    if found.complete:
        assert as_bits(found.all) == expected
    else:
        assert len(expected) > most
        assert len(found.sets) <= 10
        assert set(as_bits(found.sets)) <= set(expected)
        with pytest.raises(RowlawError, match="MANY_RULES"):
            _ = found.all


@given(loose(max_vertices=20, max_edges=14), st.sampled_from([0, 1024]), st.integers(1, 2))
def test_more_vertices(problem, few_words, threads):
    edges, vertices, forbidden = problem
    with settings_of(SHORT_WORDS=few_words, ALONE_WORDS=0):
        found = minimal_hitting_sets(graph_of(edges, vertices, forbidden), threads=threads)
    assert as_bits(found.sets) == berge(edges, forbidden)


@given(evidence(), st.sampled_from([0, 1024]), st.integers(1, 2))
def test_evidence_and_its_symmetry(problem, few_words, threads):
    edges, vertices, forbidden, exchange = problem
    expected = berge(sorted(set(edges)), forbidden)
    with settings_of(SHORT_WORDS=few_words, ALONE_WORDS=0):
        both = minimal_hitting_sets(graph_of(edges, vertices, forbidden), threads=threads)
        graph = graph_of(edges, vertices, forbidden, exchange)
        one = minimal_hitting_sets(graph, threads=threads)
    assert as_bits(both.sets) == expected
    assert as_bits(one.sets) == as_bits(one_of_each(both.sets, exchange))
    assert set(as_bits(one.sets)) | set(as_bits(mirrored(one.sets, exchange))) == set(expected)


@given(st.data(), evidence(nulls=False, max_columns=3))
def test_symmetry_that_exchanges_columns(data, problem):
    """Two copies of each column, and the exchange of rows leads from one to the other."""
    edges, vertices, forbidden, exchange = problem
    exchange = np.concatenate([exchange + vertices, exchange])
    edges = [e | data.draw(st.sampled_from(edges)) << vertices for e in edges]
    edges += [sum(1 << int(exchange[v]) for v in members(e)) for e in edges]
    forbidden = forbidden + [f << vertices for f in forbidden]
    graph = graph_of(edges, 2 * vertices, forbidden, exchange)
    expected = berge(sorted(set(edges)), forbidden)
    found = as_bits(minimal_hitting_sets(graph).sets)
    assert set(found) | set(as_bits(mirrored(pack(map(members, found), 2 * vertices), exchange))) == set(expected)
    assert found == as_bits(one_of_each(pack(map(members, expected), 2 * vertices), exchange))


@given(st.data(), st.sampled_from([65, 100, 128, 129, 200]), st.integers(1, 2))
def test_many_vertices(data, vertices, threads):
    some = st.sets(st.integers(0, vertices - 1), min_size=1, max_size=data.draw(st.sampled_from([3, 40, 150])))
    edges = [sum(1 << v for v in e) for e in data.draw(st.lists(some, max_size=5))]
    edges = [e for e in edges if e.bit_count() < 12] + [e for e in edges if e.bit_count() >= 12][:2]
    forbidden = [
        sum(1 << v for v in f)
        for f in data.draw(st.lists(st.sets(st.integers(0, vertices - 1), min_size=1, max_size=3), max_size=3))
    ]
    found = minimal_hitting_sets(graph_of(edges, vertices, forbidden), threads=threads)
    assert found.complete
    assert as_bits(found.sets) == berge(edges, forbidden)


@given(loose(max_vertices=18) | evidence(), st.integers(1, 40), st.sampled_from([0, 1024]))
def test_branches_have_each_set_once(problem, many, few_words):
    graph = graph_of(*problem[:3])
    with settings_of(SHORT_WORDS=few_words):
        parts = [search_branch(graph, pickle.loads(pickle.dumps(branch))).sets for branch in branches(graph, many)]
        found = np.concatenate([*parts, np.zeros((0, graph.edges.shape[1]), np.uint64)])
    assert as_bits(found) == berge(sorted(set(problem[0])), problem[2])


@given(evidence(), st.integers(1, 40))
def test_branches_with_symmetry(problem, many):
    graph = graph_of(*problem)
    parts = [search_branch(graph, branch).sets for branch in branches(graph, many)]
    found = one_of_each(np.concatenate([*parts, np.zeros((0, graph.edges.shape[1]), np.uint64)]), graph.exchange)
    assert as_bits(found) == as_bits(minimal_hitting_sets(graph).sets)


@given(st.data(), st.sampled_from([9, 70]))
def test_branches_of_many_vertices(data, many):
    edges = [
        sum(1 << v for v in e)
        for e in data.draw(st.lists(st.sets(st.integers(0, 99), min_size=1, max_size=8), min_size=1, max_size=5))
    ]
    graph = graph_of(edges, 100)
    found = np.concatenate([search_branch(graph, branch).sets for branch in branches(graph, many)])
    assert as_bits(found) == berge(edges)


@given(
    st.data(),
    loose(max_vertices=10) | evidence(),
    st.sampled_from([0, 3, 4096]),
    st.sampled_from([0.0, 1e-9, 1.0]),
    st.integers(1, 2),
    st.booleans(),
)
def test_refine_equals_a_new_search(data, problem, refined, search_seconds, threads, wide):
    """With more vertices than sets are broken no bitmaps are made."""
    graph = graph_of(*problem[:3])
    if wide:
        graph = graph_of(problem[0], problem[1] + 100, problem[2])
    known = data.draw(st.integers(0, len(graph.edges)))
    before = minimal_hitting_sets(replace(graph, edges=graph.edges[:known]))
    with settings_of(REFINED=refined, SEARCH_SET=search_seconds):
        after = refine(graph, before.sets, known, threads=threads)
    assert as_bits(after.sets) == as_bits(minimal_hitting_sets(graph).sets)


@given(
    seed=st.integers(0, 2**32 - 1),
    edges=st.integers(2, 300),
    gap=st.sampled_from([0, 50]),
    forced=st.sampled_from([0, 20]),
    data=st.data(),
)
def test_refine_many_edges(seed, edges, gap, forced, data):
    """Bitmaps of several words, sets of several words (``gap``) and of many vertices (``forced``); the same without
    bitmaps."""
    rng = np.random.default_rng(seed)
    slots, first = 6, gap + forced
    some = {sum(1 << first + 3 * slot + int(rng.integers(3)) for slot in range(slots)) for _ in range(edges)}
    lines = [*(1 << gap + v for v in range(forced)), *sorted(some, key=lambda _: rng.random())]
    graph = graph_of(lines, first + 3 * slots)
    known = data.draw(st.integers(forced, len(lines)))
    before = minimal_hitting_sets(replace(graph, edges=graph.edges[:known])).sets
    expected = as_bits(minimal_hitting_sets(graph).sets)
    for threads in (1, 2):
        assert as_bits(refine(graph, before, known, threads=threads).sets) == expected
    order, nothing = np.arange(graph.vertices), graph_of([], graph.vertices).forbidden
    for bits in (graph.edges, graph.edges[:0]):
        hits = extend.bitmaps(bits, graph.vertices)
        found, _ = extend.extended(hits, order, graph.edges, known, before, nothing, 1 << 20, NEVER.flag)
        assert as_bits(found) == expected


@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 2),
    edges=st.integers(0, 1500),
    most=st.sampled_from([5, 10_000]),
)
def test_missing(seed, words, edges, most):
    """By bitmaps, of several blocks, and one by one."""
    rng = np.random.default_rng(seed)
    lines, sets = (
        rng.integers(0, 1 << 63, (n, words), np.uint64) & rng.integers(0, 1 << 63, (n, words), np.uint64)
        for n in (edges, 200)
    )
    lines[:, -1] |= np.uint64(1) << np.uint64(63)  # so that some hit them all
    sets[::3, -1] |= np.uint64(1) << np.uint64(63)
    sets[1::3] &= rng.integers(0, 1 << 63, (len(sets[1::3]), words), np.uint64) & np.uint64(0xFF)
    first = edges // 3
    expected = np.array([bool((~(lines[first:] & s).any(axis=1)).any()) for s in sets])
    found = extend.missing(lines, first, sets, most, NEVER.flag)
    assert np.array_equal(found, expected & (np.cumsum(expected) <= most + 1))
    assert np.array_equal(extend.missing(lines, first, sets[:50], most, NEVER.flag), expected[:50])


@given(st.data(), evidence())
def test_refine_with_symmetry(data, problem):
    """New edges may come in one direction only: both count."""
    edges, vertices, forbidden, exchange = problem
    known = 2 * data.draw(st.integers(0, len(edges) // 2))
    before = minimal_hitting_sets(graph_of(edges[:known], vertices, forbidden, exchange))
    after = refine(graph_of(edges[:known] + edges[known::2], vertices, forbidden, exchange), before.sets, known)
    assert as_bits(after.sets) == as_bits(minimal_hitting_sets(graph_of(edges, vertices, forbidden, exchange)).sets)


@given(loose(max_vertices=8))
def test_minimal_edges(problem):
    edges, vertices, _ = problem
    expected = sorted({e for e in edges if not any(f != e and f & e == f for f in edges)})
    assert as_bits(minimal_edges(pack(map(members, edges), vertices))) == expected


def test_no_edges_and_an_empty_edge():
    for vertices in (0, 1, 5, 64, 65, 130):
        assert unpack(minimal_hitting_sets(graph_of([], vertices)).sets) == [[]]
        assert unpack(minimal_hitting_sets(graph_of([0], vertices)).sets) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_stops_when_told(threads):
    rng = np.random.default_rng(0)
    for words, vertices in ((1, 40), (2, 90)):
        edges = rng.integers(0, 1 << 63, (400, words), np.uint64) & rng.integers(0, 1 << 63, (400, words), np.uint64)
        edges[:, -1] &= np.uint64((1 << vertices % 64) - 1)
        graph = Hypergraph(edges, vertices)
        asked = []

        def stop(asked=asked):
            asked.append(None)
            return len(asked) > 3

        with settings_of(SLICE=1 << 12, ALONE_WORDS=1 << 12):
            found = minimal_hitting_sets(graph, stop, threads)
        assert not found.complete
        for s in as_bits(found.sets)[:50]:
            assert s in brute_minimal(graph, s)


def brute_minimal(graph, s):
    """``[s]`` if ``s`` is a minimal hitting set."""
    edges = [sum(1 << v for v in line) for line in unpack(graph.edges)]
    private = 0
    for e in edges:
        if not e & s:
            return []
        if (e & s).bit_count() == 1:
            private |= e & s
    return [s] if private == s else []


@given(
    sets=st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3), min_size=1, max_size=40),
    order=st.randoms(use_true_random=False),
)
def test_without_repeats(sets, order):
    """Each set once, and in an order that does not depend on the order they came in."""
    shuffled = [*sets, *sets[::2]]
    order.shuffle(shuffled)
    found = without_repeats(np.array(shuffled, np.uint64))
    assert np.array_equal(found, without_repeats(np.array(sets, np.uint64)))
    assert np.array_equal(distinct(found), distinct(np.array(sets, np.uint64)))
    assert len(found) == len(distinct(found))


@given(words=st.integers(1, 3), data=st.data(), alike=st.booleans())
def test_without(words, data, alike):
    """Also where different sets mix to the same word."""
    some = st.lists(st.tuples(*[st.sampled_from([0, 1, 2**63, 2**64 - 1])] * words), unique=True, max_size=20)
    sets, others = data.draw(some), data.draw(some)
    mixed = bitsets._mixed
    if alike and words > 1:
        bitsets._mixed = lambda sets: sets[:, 0]
    try:
        found = bitsets.without(*(np.array(lines, np.uint64).reshape(-1, words) for lines in (sets, others)))
    finally:
        bitsets._mixed = mixed
    assert list(map(tuple, found.tolist())) == [line for line in sets if line not in others]
