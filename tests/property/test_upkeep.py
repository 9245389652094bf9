"""Rules that follow a table equal rules discovered from scratch, after every batch of any sequence; and every index
passes its check."""

from contextlib import contextmanager
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowlaw.discovery.denial import discover_denials
from rowlaw.discovery.discover import run
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.maintain import denials, equality, ledger, planner, prover
from rowlaw.maintain.evolve import Evolution
from rowlaw.maintain.protocol import UpkeepOptions
from rowlaw.maintain.uniques import Uniques
from rowlaw.predicates import SpaceOptions
from rowlaw.predicates.space import operators
from rowlaw.progress import Progress
from rowlaw.relation import encode
from rowlaw.rules.implication import canonical
from rowlaw.rules.model import Denial, Key, Op
from rowlaw.source import open_source
from rowlaw.storage.table import GrowingTable
from tests import naive
from tests.strategies import nulls, predicates, tables, to_arrow


class Memory:
    """Writes and reads what a state's folder would hold."""

    def __init__(self, kept=None, prefix=""):
        self.kept, self.prefix = {} if kept is None else kept, prefix

    def under(self, prefix):
        return Memory(self.kept, f"{self.prefix}{prefix}/")

    def array(self, name, values=None):
        if values is None:
            return self.kept[self.prefix + name]
        self.kept[self.prefix + name] = np.array(values)
        self.kept[self.prefix + name].flags.writeable = False
        return None

    def json(self, name, *value):
        if not value:
            return self.kept[self.prefix + name]
        self.kept[self.prefix + name] = value[0]
        return None

    keep_or_array = array

    def private(self, name):
        return self.array(name).copy()

    def keep(self, name):
        assert name in self

    def __contains__(self, name):
        return self.prefix + name in self.kept


def grown(table, **choices):
    with encode(open_source(to_arrow(table))) as relation:
        return GrowingTable.of(relation, **choices)


@st.composite
def histories(draw, max_rows=10, max_columns=3, types=("integer", "text"), steps=4):
    """A table cut into a start and batches: (table, rows at the start, [(rows that come, numbers of living rows that
    go)])."""
    table = draw(tables(min_rows=2, max_rows=max_rows, max_columns=max_columns, types=types))
    at = draw(st.integers(0, table.rows - 1))
    return (
        table,
        at,
        draw(
            st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 50), max_size=2)), min_size=1, max_size=steps)
        ),
    )


def play(table, at, batches, start, follow):
    """Apply the batches, and after each one call ``follow(growing, taken, living rows as a table)``."""
    growing = start(table.take(list(range(at))))
    living = list(range(at))
    for come, go in batches:
        gone = sorted({living[g % len(living)] for g in go}) if living else []
        rows = list(range(at, min(table.rows, at + come)))
        at += len(rows)
        taken = growing.take(
            inserts=to_arrow(table.take(rows)) if rows else None,
            deletes=to_arrow(table.take(gone)) if gone else None,
        )
        for row in gone:
            living.remove(row)
        living += rows
        follow(growing, taken, table.take(living))


@contextmanager
def ways(way):
    """``keys``, ``kinds``, ``chains``: these indexes are taken whatever they cost, so that few rows see them too.
    ``threads``: keys and kinds, looked at in threads. ``across``: equalities across columns; ``asked``: no index serves
    anything, and the engine is asked."""
    saved = (
        planner.PAIR,
        planner.MAX_TUPLE_INDEXES,
        denials.FEW_ROWS,
        denials.MAX_SECONDS,
        planner.PLAIN_PAIR,
        planner.CALL,
        planner.FETCH,
        planner.cheapest_keys,
        prover.THREAD_SECONDS,
    )
    sizes = ledger.S_TILE, ledger.T_TILE, equality.SORTED
    ledger.S_TILE, ledger.T_TILE, equality.SORTED = 2, 3, 1  # so that few rows are cut and sorted as many are
    if way != "counted":
        denials.FEW_ROWS, denials.MAX_SECONDS = 0, -1.0
    if way in ("keys", "kinds", "chains", "threads", "across", "asked"):
        planner.PLAIN_PAIR, planner.CALL, planner.FETCH = 1.0, 1e-9, -1.0 if way == "chains" else 1.0
    if way == "across":
        planner.PAIR = -1.0
    if way == "asked":
        planner.MAX_TUPLE_INDEXES = 0
    if way in ("kinds", "chains", "across", "asked"):
        planner.cheapest_keys = lambda wanted, *_: ([], np.ones(len(wanted), bool))
    if way == "threads":
        prover.THREAD_SECONDS = -1.0
    try:
        yield
    finally:
        ledger.S_TILE, ledger.T_TILE, equality.SORTED = sizes
        planner.PAIR, planner.MAX_TUPLE_INDEXES, denials.FEW_ROWS, denials.MAX_SECONDS = saved[:4]
        planner.PLAIN_PAIR, planner.CALL, planner.FETCH, planner.cheapest_keys, prover.THREAD_SECONDS = saved[4:]


def follows(history, options, expected, **choices):
    """Play a history, and after each batch compare; what is saved and read again is as good as what went on."""
    made = []

    def start(table):
        growing = grown(table, **choices)
        made.append(Evolution.create(growing, options, Progress(quiet=True)))
        return growing

    def follow(growing, taken, table):
        before = {r.rule for r in made[0].rules}
        evolved = made[0].apply(growing, taken.inserted, taken.deleted)
        made[0]._check(growing)
        after = {r.rule for r in made[0].rules}
        assert {h.rule for h in evolved.removed} == before - after
        assert {h.rule for h in evolved.added} == after - before
        for happened in evolved.removed:
            if happened.witness and growing.alive[list(happened.witness)].all():  # a pair that breaks it, and is there
                assert _breaks(happened.rule, growing, happened.witness, options.nulls)
        assert {_same(rule) for rule in after} == expected(made[0], growing, table)
        memory, listed = Memory(), made[0].rules
        made[0].save(memory)
        made[0] = Evolution.load(memory, growing)
        assert made[0].rules == listed

    play(*history, start, follow)


def _same(rule):
    return canonical(rule) if isinstance(rule, Denial) else rule


def _breaks(rule, growing, witness, nulls):
    values = growing.decode(list(witness)).to_pydict()
    return bool(naive.violations(rule, values, nulls))


def denials_expected(nulls, error=0.0):
    def expected(evolution, growing, table):
        space = evolution.denials.space
        own = discover_denials(LocalEngine(growing.relation(), nulls), space, error=error)
        found = {canonical(d) for d in own.denials}
        assert found == {canonical(d) for d in naive.minimal_denials(table.values, space, nulls, error)}
        return found

    return expected


@pytest.mark.parametrize("way", ["counted", "as it pays", "keys", "kinds", "chains", "threads", "asked"])
@given(history=histories(max_columns=4), nulls=nulls())
def test_denial_constraints(way, history, nulls):
    with ways(way):
        follows(history, UpkeepOptions(("dc",), nulls, 0.0, SpaceOptions(cross=False)), denials_expected(nulls))


@pytest.mark.parametrize("way", ["counted", "keys", "kinds", "across", "asked"])
@settings(max_examples=30)
@given(history=histories(max_rows=6, max_columns=2), nulls=nulls(), together=st.booleans(), single_row=st.booleans())
def test_across_columns(way, history, nulls, together, single_row):
    """``together``: columns that are compared have labels on one scale."""
    options = UpkeepOptions(("dc",), nulls, 0.0, SpaceOptions(overlap=0.0, single_row=single_row))
    numbers = [name for name in history[0].columns if history[0].types[name] == "number"]
    with ways(way):
        follows(history, options, denials_expected(nulls), scales=[numbers] if together and numbers else ())


@settings(max_examples=30)
@given(history=histories(max_rows=6, max_columns=2), nulls=nulls(), way=st.sampled_from(["counted", "kinds"]))
def test_literals(history, nulls, way):
    with ways(way):
        follows(
            history,
            UpkeepOptions(("dc",), nulls, 0.0, SpaceOptions(cross=False, constants=0.4)),
            denials_expected(nulls),
        )


@settings(max_examples=30)
@given(
    history=histories(),
    nulls=nulls(),
    way=st.sampled_from(["counted", "kinds"]),
    chosen=st.sampled_from(["=", "< >", "<= >="]),
)
def test_restricted_operators(history, nulls, way, chosen):
    space = SpaceOptions(cross=False, operators={name: operators(chosen) for name in history[0].columns})
    with ways(way):
        follows(history, UpkeepOptions(("dc",), nulls, 0.0, space), denials_expected(nulls))


@settings(max_examples=30)
@given(
    data=st.data(),
    history=histories(max_rows=6, max_columns=3),
    nulls=nulls(),
    way=st.sampled_from(["counted", "keys", "kinds"]),
)
def test_given_predicates(data, history, nulls, way):
    space = SpaceOptions.of(predicates=data.draw(st.lists(predicates(history[0]), min_size=1, max_size=6)))
    with ways(way):
        follows(history, UpkeepOptions(("dc",), nulls, 0.0, space), denials_expected(nulls))


@settings(max_examples=50)
@given(history=histories(), nulls=nulls(), error=st.sampled_from([0.05, 0.2, 0.34]))
def test_approximate(history, nulls, error):
    follows(history, UpkeepOptions(("dc",), nulls, error, SpaceOptions(cross=False)), denials_expected(nulls, error))


@pytest.mark.parametrize("way", ["as it pays", "keys", "kinds", "chains"])
@settings(max_examples=50)
@given(history=histories(max_columns=4), nulls=nulls(), kinds=st.sampled_from([("fd",), ("od",), ("key", "fd", "od")]))
def test_dependencies(way, history, nulls, kinds):
    def expected(evolution, growing, table):
        every = {
            "fd": naive.minimal_fds(table.values, nulls, vacuous=True),
            "od": naive.minimal_ods(table.values, nulls, vacuous=True),
        }
        if "dependencies" in evolution._parts:
            found = set(evolution._parts["dependencies"].rules)
            assert found == set().union(*(every[kind] for kind in kinds if kind != "key"))
        return _run(growing, options)

    options = UpkeepOptions(kinds, nulls, space=SpaceOptions(order_strings=True))
    with ways(way):
        follows(history, options, expected)


def _run(growing, options):
    found = run(LocalEngine(growing.relation(), options.nulls), options.space, kinds=options.kinds, error=options.error)
    return {_same(r.rule) for r in found}


@settings(max_examples=30)
@given(
    history=histories(),
    nulls=nulls(),
    way=st.sampled_from(["counted", "keys"]),
    kinds=st.sampled_from([("key", "dc"), ("key", "fd", "od", "dc")]),
    error=st.sampled_from([0.0, 0.0, 0.2]),
)
def test_several_kinds(history, nulls, way, kinds, error):
    options = UpkeepOptions(kinds, nulls, error, SpaceOptions(cross=False))
    with ways(way):
        follows(history, options, lambda _, growing, __: _run(growing, options))


@given(history=histories(max_rows=12, max_columns=4), nulls=nulls(), quota=st.sampled_from([None, 1, 4]))
def test_uniques(history, nulls, quota):
    made = []

    def start(table):
        growing = grown(table)
        made.append(Uniques.create(growing, nulls, quota=quota))
        return growing

    def follow(growing, taken, table):
        made[0].apply(growing, taken.inserted, taken.deleted)
        made[0]._check(np.asarray(growing.alive))
        assert {Key(names) for names in made[0].minimal} == naive.minimal_keys(table.values, nulls, vacuous=True)
        columns = list(table.values)
        non_unique = [
            set(c) for size in range(len(columns) + 1) for c in combinations(columns, size) if _repeats(c, table, nulls)
        ]
        assert {frozenset(names) for names in made[0].maximal_non} == {
            frozenset(c) for c in non_unique if not any(c < d for d in non_unique)
        }
        memory = Memory()
        made[0].save(memory)
        made[0] = Uniques.load(memory, growing)

    play(*history, start, follow)


def _repeats(columns, table, nulls):
    """Whether two rows agree on the columns."""
    return any(
        all(naive.compare(table.values[c][s], table.values[c][t], Op.EQ, nulls) for c in columns)
        for s, t in naive.ordered_pairs(table.rows)
    )
