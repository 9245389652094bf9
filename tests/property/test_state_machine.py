"""Whatever comes and goes, and wherever the process is killed: the rules of a state are those of its rows, found from
scratch."""

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rowlaw.discovery import discover
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.maintain import Laws
from rowlaw.maintain.protocol import KINDS
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.relation import encode
from rowlaw.rules.implication import canonical
from rowlaw.rules.model import Denial
from rowlaw.source import open_source
from rowlaw.storage import arrays, dictionary, store, table
from tests import naive
from tests.rediscovery import Rediscovery
from tests.strategies import nulls

COLUMNS = {"a": pa.int64(), "b": pa.int64(), "c": pa.string(), "d": pa.float64()}
WIDE = [f"w{i}" for i in range(12)]
CHOSEN = {
    "key": "key (a, b)",
    "fd": "fd (c) -> a",
    "od": "od {c}: a ~ b",
    "across": "not (s.a = t.b and s.d < t.d)",
    "order": "not (s.a < t.b and s.d > t.d)",
    "row": "not (s.a > s.b)",
    "literal": "not (s.a = t.a and s.c = 'x' and t.b > 1)",
    "lists": "od [a, b] -> [d]",
}
VALUES = {
    "a": st.one_of(st.integers(0, 3), st.integers(0, 3), st.none(), st.integers(-(2**40), 2**40)),
    "b": st.one_of(st.integers(0, 3), st.integers(0, 3), st.none()),
    "c": st.one_of(st.sampled_from("xyz"), st.none(), st.text("xy", max_size=3)),
    # ever smaller ones: they all want labels in one gap
    "d": st.one_of(
        st.sampled_from([0.0, 0.5, 1.0, float("nan")]), st.integers(1, 60).map(lambda k: 0.5**k), st.floats(-2, 2)
    ),
}
COLUMNS |= dict.fromkeys(WIDE, pa.int64())
VALUES |= {name: st.one_of(st.integers(0, 1 + i % 3), st.none()) for i, name in enumerate(WIDE)}


class Killed(BaseException):
    """As good as a power cut."""


@st.composite
def some_rows(draw, columns, max_size):
    """Rows, some of them twice."""
    rows = draw(st.lists(st.tuples(*(VALUES[c] for c in columns)), max_size=max_size))
    return rows + (draw(st.lists(st.sampled_from(rows), max_size=2)) if rows else [])


class States(RuleBasedStateMachine):
    """A state beside a list of rows."""

    evolution = None  # the one that users get
    choices = st.just(("dc",))  # of kinds
    kept_rules = None  # chosen ones
    spaces = st.booleans().map(lambda cross: {"cross": cross})
    column_lists = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
    most_rows = 5

    @initialize(
        data=st.data(),
        meaning=nulls(),
        named=st.booleans(),
        labels=st.sampled_from([192, 2**31 - 1]),  # so few that they are given out anew now and then
    )
    def create(self, data, meaning, named, labels):
        self.kinds, columns = data.draw(self.choices), data.draw(self.column_lists)
        # from scratch, the space would follow the rows
        space = data.draw(self.spaces) if self.kinds == ("dc",) else {"cross": False}
        self.saved, dictionary.LABELS = dictionary.LABELS, labels
        self.folder = Path(tempfile.mkdtemp())
        self.columns, self.nulls, self.named = columns, meaning, named
        self.rows, self.next_id = {}, 0  # id -> values; ids exist even where the state does not know them
        self.batches = 0
        self.last = None
        first = self.arrow(self.added(data.draw(some_rows(columns, self.most_rows))))
        options = SpaceOptions(**space)
        with encode(open_source(first), row_id="id" if named else None) as relation:
            self.space = predicate_space(RelationStatistics(relation), options)
        Laws.create(
            self.folder / "state",
            first,
            row_id="id" if named else None,
            kinds=self.kinds,
            nulls=meaning,
            rules=self.kept_rules,
            progress=False,
            **space,
            evolution=self.evolution,
        )
        self.laws = Laws.open(self.folder / "state", evolution=self.evolution)

    def added(self, rows):
        """The rows under new ids, taken into the list."""
        found = {self.next_id + i: row for i, row in enumerate(rows)}
        self.next_id += len(rows)
        self.rows |= found
        return found

    def arrow(self, rows):
        fields = [("id", pa.int64())] if self.named else []
        fields += [(c, COLUMNS[c]) for c in self.columns]
        values = [pa.array(list(rows), pa.int64())] if self.named else []
        values += [
            pa.array([row[i] for row in rows.values()], COLUMNS[c], from_pandas=False)
            for i, c in enumerate(self.columns)
        ]
        return pa.Table.from_arrays(values, schema=pa.schema(fields))

    def batch(self, coming, going):
        """Apply a batch and say so in the list; both are remembered, to be applied again."""
        self.batches += 1
        inserts, deletes = (
            self.arrow(coming) if coming is not None else None,
            self.arrow(going) if going is not None else None,
        )
        self.last = (inserts, deletes, f"batch {self.batches}")
        change = self.laws.apply(inserts, deletes, batch_id=self.last[2])
        assert (change.inserted, change.deleted, change.repeated) == (len(coming or ()), len(going or ()), False)
        assert change.total == len(self.laws.rules)

    @rule(data=st.data())
    def insert(self, data):
        rows = data.draw(some_rows(self.columns, 4))
        self.batch(self.added(rows), None)

    @rule(data=st.data())
    def delete(self, data):
        self.batch(None, self.gone(data))

    def gone(self, data):
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.rows)), unique=True, max_size=6)) if self.rows else []
        return {i: self.rows.pop(i) for i in chosen}

    @rule(data=st.data())
    def replace(self, data):
        going = self.gone(data)
        coming = self.added(data.draw(some_rows(self.columns, 3)))
        if self.named and going and data.draw(st.booleans()):  # a row under the id of another
            kept = next(iter(going))
            coming[kept] = self.rows[kept] = data.draw(st.tuples(*(VALUES[c] for c in self.columns)))
        self.batch(coming, going)

    @rule(both=st.booleans())
    def nothing(self, both):
        self.batch({}, {} if both else None)

    @precondition(lambda self: self.last is not None)
    @rule()
    def again(self):
        change = self.laws.apply(*self.last[:2], batch_id=self.last[2])
        assert change.repeated
        assert not change.added
        assert not change.removed

    @rule()
    def reopen(self):
        self.laws.close()
        self.laws = Laws.open(self.folder / "state", evolution=self.evolution)

    @rule(data=st.data(), after=st.integers(0, 45))
    def killed(self, data, after):
        """The process dies in the middle of a batch; another one opens the state and applies the batch again."""
        left = [after]

        def stop(name):
            left[0] -= 1
            if left[0] < 0:
                raise Killed(name)

        before, batches = dict(self.rows), self.batches
        going = self.gone(data)
        coming = self.added(data.draw(some_rows(self.columns, 3)))
        arrays.listeners.append(stop)
        try:
            self.batch(coming, going)
        except Killed:
            pass
        finally:
            arrays.listeners.clear()
        inserts, deletes, name = self.last
        new, self.laws = self.rows, Laws.open(self.folder / "state", evolution=self.evolution)
        self.batches = self.laws.batch
        self.rows = before if self.batches == batches else new
        self.check()
        change = self.laws.apply(inserts, deletes, batch_id=name)
        assert change.repeated == (self.rows is new)
        self.rows, self.batches = new, batches + 1

    @invariant()
    def check(self):
        if not hasattr(self, "laws"):
            return
        values = {c: [row[i] for row in self.rows.values()] for i, c in enumerate(self.columns)}
        found = [_one(r.rule) for r in self.laws.rules]
        assert len(found) == len(set(found))
        if self.kept_rules is not None:
            assert self.laws.counts == {r.id: naive.count(r.rule, values, self.nulls) for r in self.laws.rules}
            assert self.laws.trajectory[-1]["key"] == self.laws.counts["key"]
        elif self.kinds == ("dc",):
            assert set(found) == {canonical(d) for d in naive.minimal_denials(values, self.space, self.nulls)}
        else:
            row_id = "id" if self.named else None
            fresh = discover(
                self.arrow(self.rows), kinds=self.kinds, nulls=self.nulls, cross=False, row_id=row_id, progress=False
            )
            assert set(found) == {_one(r.rule) for r in fresh}
        if "key" in self.kinds and self.kept_rules is None:
            keys = naive.minimal_keys(values, self.nulls)
            assert {frozenset(key) for key in self.laws.keys} == {frozenset(key.columns) for key in keys}
        grown = self.laws.table
        grown._check()
        assert grown.living == len(self.rows)
        if hasattr(self.laws._loaded, "_check"):
            self.laws._loaded._check(grown)
        self.check_history()

    def check_history(self):
        living = {}
        for event in self.laws.history:
            if event.kind == "born":
                assert event.id not in living
                living[event.id] = event.rule
            else:
                assert living.pop(event.id) == event.rule
        assert living == {r.id: r.rule for r in self.laws.rules if self.kept_rules is None}
        assert [b.number for b in self.laws.history.batches] == list(range(self.batches + 1))

    def teardown(self):
        if hasattr(self, "folder"):
            dictionary.LABELS = self.saved
            shutil.rmtree(self.folder)


class SlowStates(States):
    evolution = Rediscovery


class AllStates(States):
    choices = st.lists(st.sampled_from(KINDS), min_size=1, unique=True).map(
        lambda kinds: tuple(k for k in KINDS if k in kinds)
    )


class CrossStates(States):
    """Comparisons across columns, within a row and with literals."""

    spaces = st.fixed_dictionaries(
        {"overlap": st.just(0.0), "single_row": st.booleans(), "constants": st.sampled_from([None, 0.4])}
    )
    column_lists = st.lists(st.sampled_from("abd"), min_size=2, max_size=2, unique=True)
    most_rows = 4


class WideStates(States):
    """Twelve columns."""

    choices = st.sampled_from([("key",), ("fd",), ("key", "fd", "od")])
    column_lists = st.just(WIDE)


class ChosenStates(States):
    """Chosen rules, which are counted."""

    kept_rules = CHOSEN
    column_lists = st.just(["a", "b", "c", "d"])
    most_rows = 8


def _one(rule):
    """One of a denial constraint and its exchange."""
    return canonical(rule) if isinstance(rule, Denial) else rule


MACHINES = {
    "rediscovery": SlowStates,
    "evolution": States,
    "kinds": AllStates,
    "across": CrossStates,
    "twelve columns": WideStates,
    "chosen rules": ChosenStates,
}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_states(machine, monkeypatch):
    monkeypatch.setattr(table, "DEAD_SHARE", 0.3)  # compacts more often
    monkeypatch.setattr(store, "_sync", lambda path: None)  # nobody cuts the power
    quick = settings(max_examples=25, stateful_step_count=12, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(machine, settings=quick)
