"""Keys, functional and order dependencies: the HyOD paper's examples, large and wide tables, work elsewhere, partial
results."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.deadline import Deadline
from rowlaw.discovery.dependencies import discover_dependencies
from rowlaw.engine.local import contexts, neighbours
from rowlaw.engine.local.contexts import Contexts
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.evidence import differences
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.rules.model import FunctionalDependency
from rowlaw.source import open_source
from rowlaw.spark.jobs import SparkTasks
from rowlaw.stopping import NEVER
from tests import naive
from tests.unit.test_naive import FLIGHTS

TABLE_II = {"A": [1, 1, 1, 2, 3, 4, 5, 6], "B": [4, 5, 6, 7, 7, 7, 6, 5], "C": [6, 6, 7, 6, 6, 7, 3, 7]}


def engine(table, nulls="equal", **settings):
    return LocalEngine(encode(open_source(pa.table(table))), nulls, **settings)


def found(table, nulls="equal", **choices):
    return {str(rule) for rule in discover_dependencies(engine(table, nulls), **choices).rules}


@pytest.mark.parametrize("strategy", ["pairs", "sample"])
@pytest.mark.parametrize("sampled", [0, 1, 20_000])
def test_table_2_of_hyod(strategy, sampled, monkeypatch):
    """Examples 4, 6 and 7: whatever the sample says, what is minimal on the table is found."""
    monkeypatch.setattr(neighbours, "SAMPLED", sampled)
    assert found(TABLE_II, kinds=["fd", "od"], strategy=strategy) == {"fd (A, B) -> C", "od {A}: B ~ C"}


@pytest.mark.parametrize("nulls", ["equal", "unknown"])
def test_flights_of_hyod(nulls):
    """Example 3: the set-based dependencies behind Example 1 follow from what is found."""
    laws = discover_dependencies(engine(FLIGHTS, nulls), ["fd", "od"]).rules
    assert set(laws) == naive.minimal_fds(FLIGHTS, nulls) | naive.minimal_ods(FLIGHTS, nulls)
    for text in (
        "fd (MTOW) -> CAP",
        "od {}: MTOW ~ CAP",
        "fd (Type) -> MC",
        "od {}: M ~ W",
        "fd (DT, ET) -> AT",
        "od {DT}: ET ~ AT",
    ):
        wanted = parse(text)
        assert any(
            law.kind == wanted.kind
            and set(law.columns) <= set(wanted.columns)
            and getattr(law, "right", "") in wanted.columns
            for law in laws
        ), text


def many_rows(rows, columns, values, seed):
    """Columns of random values, of which some follow from others, and an order among two."""
    rng = np.random.default_rng(seed)
    table = {f"c{i:02}": rng.integers(0, values + 3 * i, rows) for i in range(columns)}
    table["sum"] = table["c00"] + 7 * table["c01"]
    table["up"] = table["sum"] // 3
    table["id"] = rng.permutation(rows)
    return table


def test_many_rows_by_all_strategies(monkeypatch):
    """Enough rows that partitions come in pieces, work in threads, and validation in several rounds."""
    table = many_rows(3_000, 4, 12, 1)
    monkeypatch.setattr(contexts, "FIRST_PIECE", 500)
    monkeypatch.setattr(contexts, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(neighbours, "MANY_ROWS", 400)
    laws = found(table, strategy="sample")
    assert laws == found(table, strategy="pairs")
    assert {"key (id)", "fd (c00, c01) -> sum", "fd (sum) -> up", "od {}: sum ~ up"} <= laws


@pytest.mark.parametrize("strategy", ["pairs", "sample"])
def test_more_columns_than_bits_of_a_word(strategy):
    rng = np.random.default_rng(5)
    varied = {name: rng.integers(0, 5, 10).tolist() for name in ("c00", "c31", "c64", "c65")}
    table = {f"c{i:02}": varied.get(f"c{i:02}", [7] * 10) for i in range(66)}
    expected = {
        rule for twin in (naive.minimal_keys, naive.minimal_fds, naive.minimal_ods) for rule in twin(varied, "equal")
    }
    assert {rule.kind for rule in expected} == {"key", "fd", "od"}
    constant = {FunctionalDependency((), name) for name in table if name not in varied}
    assert set(discover_dependencies(engine(table), strategy=strategy).rules) == expected | constant
    assert set(discover_dependencies(engine(table), strategy=strategy, columns=[*varied]).rules) == expected


def test_the_column_that_names_the_rows_is_in_no_law():
    relation = encode(open_source(pa.table({"id": [1, 2, 3], "a": [1, 1, 2], "b": [1, 2, 1]})), row_id="id")
    assert {str(rule) for rule in discover_dependencies(LocalEngine(relation)).rules} == {
        "key (a, b)",
        "od {}: a ~ b desc",
    }


class Elsewhere(SparkTasks):
    """Workers that have nothing but what they are sent."""

    def __init__(self):
        object.__setattr__(self, "session", "a session")

    @property
    def slots(self):
        return 3

    def map(self, function, tasks, description, done=None, *, large=False, stop=NEVER):
        return [
            pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(task)))))
            for task in tasks
        ]


@pytest.mark.parametrize("error", [0.0, 0.05])
def test_workers_elsewhere(error, monkeypatch):
    table = many_rows(400, 3, 6, 3)
    expected = found(table, error=error, strategy="sample")
    monkeypatch.setattr(contexts, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(LocalEngine, "ship", lambda self, session: None)
    laws = discover_dependencies(engine(table, workers=Elsewhere()), error=error, strategy="sample").rules
    assert {str(rule) for rule in laws} == expected


def test_questions_about_a_context():
    with encode(open_source(pa.table({"a": [1, 1, 1, None], "b": [1, 2, 3, 4], "c": [5, 5, 4, 4]}))) as relation:
        asked = Contexts(relation, "unknown", ["a", "b", "c"])
        targets = (Target(), Target(1), Target(1, 2), Target(1, 2, True))
        (answer,) = asked.ask([Question((0,), targets)], 10)
        assert [len(pairs) for pairs in answer] == [1, 1, 1, 0]
        assert set(answer[2][0].tolist()) in ({0, 2}, {1, 2})
        assert asked.count([Question((0,), targets)]) == [[2, 2, 1, 0]]
        assert asked.ask([Question((0, 1), targets[:1])], 10) == [[pytest.approx(np.zeros((0, 2)))]]


@pytest.mark.parametrize("strategy", ["pairs", "sample"])
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_no_time_no_laws(strategy, error):
    result = discover_dependencies(engine(TABLE_II), strategy=strategy, error=error, deadline=Deadline.after(0.0))
    assert result.partial
    assert result.rules == []


@pytest.mark.parametrize("error", [0.0, 0.02])
def test_what_is_found_in_time_holds(error, monkeypatch):
    """A clock that strikes after some rounds: what is there by then is proven."""
    table = many_rows(300, 5, 5, 2)
    monkeypatch.setattr(neighbours, "SAMPLED", 5)
    whole = found(table, strategy="sample", error=error)
    parts = set()
    for looks in (10, 40, 160, 640):
        deadline = Deadline()
        left = iter(range(looks))
        monkeypatch.setattr(Deadline, "passed", property(lambda self, left=left: self.stopped or _strike(self, left)))
        result = discover_dependencies(engine(table), strategy="sample", error=error, deadline=deadline)
        laws = {str(rule) for rule in result.rules}
        assert laws <= whole
        assert result.partial or laws == whole
        parts.add(len(laws))
    assert len(parts) > 1


def _strike(deadline, left):
    deadline.stopped = next(left, None) is None
    return deadline.stopped


def test_errors_of_approximate_laws():
    table = {"zip": [1, 1, 1, 2, 2, 2, 3, 3, 3, 3], "city": list("aabcccdddd")}
    result = discover_dependencies(engine(table), ["fd"], error=0.1)
    assert {str(rule): result.errors[rule] for rule in result.rules} == {
        "fd (city) -> zip": 0.0,
        "fd (zip) -> city": 0.1,
    }


def _random_relation(columns, rows=60):
    random = np.random.default_rng(columns)
    return encode(open_source(pa.table({f"c{i}": random.integers(0, (2, 5, 20)[i % 3], rows) for i in range(columns)})))


def test_difference_sets_that_need_too_much_memory(monkeypatch):
    """Of a thousand columns they do: then the answer is partial, and true."""
    engine = LocalEngine(_random_relation(12))
    monkeypatch.setattr(differences, "MEMORY", 1 << 14)
    deadline = Deadline()
    found = discover_dependencies(engine, ("key", "fd", "od"), strategy="pairs", deadline=deadline)
    assert (found.partial, found.rules) == (True, [])
    assert "12 columns have difference sets" in deadline.cause


def test_difference_sets_need_not_be_minimal(monkeypatch):
    """Where there is no time to leave out the others, the laws are the same."""
    engine = LocalEngine(_random_relation(8))
    whole = discover_dependencies(engine, ("key", "fd", "od"), strategy="pairs").rules
    monkeypatch.setattr(differences, "MINIMISING", 0.0)
    found = discover_dependencies(engine, ("key", "fd", "od"), strategy="pairs", deadline=Deadline.after(600))
    assert not found.partial
    assert set(found.rules) == set(whole)
