"""Level by level: the worked examples of the HyOD paper, unknown nulls, and work that is cut and cached."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.deadline import Deadline
from rowlaw.discovery import levels
from rowlaw.discovery.levels import discover_levels
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.errors import RowlawError
from rowlaw.evidence import partitions as levels_partitions
from rowlaw.evidence.partitions import Candidates, Rows
from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.spark.jobs import SparkTasks
from rowlaw.stopping import NEVER
from tests import naive

TABLE_II = {"A": [1, 1, 1, 2, 3, 4, 5, 6], "B": [4, 5, 6, 7, 7, 7, 6, 5], "C": [6, 6, 7, 6, 6, 7, 3, 7]}


def engine(table, nulls="equal", **settings):
    return LocalEngine(encode(open_source(pa.table(table))), nulls, **settings)


def texts(found):
    return {str(rule) for rule in (*found.fds, *found.ods)}


@pytest.mark.parametrize(
    "sample",
    [
        # Example 4 (Table III): (A) -> C holds here, and would prune {A}: B ~ C, which is minimal on the table, before
        # it is refuted
        pytest.param([4, 5, 7], id="4"),
        # Example 6 (Table IV): the sample and the table agree on level 1, but not on level 0, where C is constant in
        # the sample
        pytest.param([0, 1, 3, 4], id="6"),
        # Example 7 (Table V): {}: A ~ C holds here and not on the table; one pair that breaks it has to come in (Table
        # VI)
        pytest.param([6, 7], id="7"),
        pytest.param([0, 6, 7], id="7, after"),
        pytest.param([], id="nothing"),
        pytest.param(range(8), id="everything"),
        None,
    ],
)
@pytest.mark.parametrize("pairs", [1, 10])
def test_samples_of_table_2(sample, pairs, monkeypatch):
    monkeypatch.setattr(levels, "PAIRS", pairs)
    found = discover_levels(engine(TABLE_II), sample=sample)
    assert texts(found) == {"fd (A, B) -> C", "od {A}: B ~ C"}
    assert not found.partial


def test_what_holds_on_the_samples():
    """The premises of Examples 4, 6 and 7; of 7 as the paper reads it, in ascending order."""
    assert {"fd (A) -> C"} <= on([4, 5, 7])
    assert "od {}: B ~ C" not in on([4, 5, 7])
    assert on([0, 1, 3, 4]) == {"fd () -> C", "od {}: A ~ B"}
    assert {rule for rule in on([6, 7]) if rule.startswith("od") and not rule.endswith("desc")} == {"od {}: A ~ C"}
    assert not {rule for rule in on([0, 6, 7]) if rule.startswith("od")}


def on(rows):
    return texts(discover_levels(engine({name: [values[r] for r in rows] for name, values in TABLE_II.items()})))


def test_stripped_partition_of_example_9():
    rows = Rows.whole(engine(TABLE_II).relation, "equal")
    found = rows.partition(0b010)
    groups = [found.rows[a:b].tolist() for a, b in zip(found.starts, found.starts[1:], strict=False)]
    assert sorted(map(sorted, groups)) == [[1, 7], [2, 6], [3, 4, 5]]
    answers = rows.check(Candidates(0b010, np.array([0]), np.array([[0, 2, 0]], np.int32)))
    assert not answers.constants.any()
    assert not answers.orders.any()


def test_pairs_that_agree_most_come_first():
    table = {"k": [0, 0, 0, 0], "a": [1, 2, 3, 4], "x": [1, 2, 1, 2], "y": [5, 6, 5, 6], "b": [9, 3, 2, 1]}
    rows = Rows.whole(engine(table).relation, "equal")
    constant = rows.check(Candidates(1, np.array([1]), np.zeros((0, 3), np.int32)), 1)
    assert constant.breaking.tolist() == [0, 2]  # each row against the first; (0, 2) agree on x and y
    order = rows.check(Candidates(1, np.zeros(0, np.int64), np.array([[1, 4, 0]], np.int32)), 1)
    assert len(order.breaking) == 2
    assert len(rows.check(Candidates(1, np.array([1]), np.array([[1, 4, 0]], np.int32)), 10).breaking) == 4


def test_a_dependency_on_a_column_with_nulls_prunes_only_what_it_may():
    """Rows that agree on zip do not differ in city; but where city is null they do not agree on it, so it adds to a
    context."""
    table = {"zip": [1, 1], "city": ["Ulm", None], "name": ["a", "b"]}
    unknown, equal = (texts(discover_levels(engine(table, nulls))) for nulls in ("unknown", "equal"))
    assert unknown == {"fd () -> zip"}  # no two rows have a city
    assert "fd (city) -> name" in equal
    assert "fd () -> city" not in equal
    table = {
        "zip": [1, 1, 2, 2],
        "city": ["Ulm", None, "Bonn", "Bonn"],
        "name": ["a", "b", "c", "c"],
        "id": [1, 2, 3, 4],
    }
    found = discover_levels(engine(table, "unknown"))
    assert set(found.fds) == naive.minimal_fds(table, "unknown")
    assert "fd (zip) -> city" in texts(found)
    assert "fd (city) -> name" in texts(found)
    assert "fd (zip) -> name" not in texts(found)


def generated(rows=600):
    """Sorted, coarser and independent columns, few values, and some null: so that a small sample is wrong about
    much."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 300, rows)
    columns = {
        "day": day,
        "week": day // 7,
        "countdown": 300 - day,
        "size": rng.integers(0, 4, rows),
        "kind": rng.integers(0, 3, rows),
        "price": (rng.integers(0, 50, rows) * 10 + day // 100),
    }
    table = {name: pa.array(values) for name, values in columns.items()}
    table["note"] = pa.array(rng.integers(0, 5, rows), mask=rng.random(rows) < 0.1)
    return table


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_samples_caches_and_cuts_do_not_matter(nulls, monkeypatch):
    asked = engine(generated(), nulls)
    everything = discover_levels(asked, sample=range(600))
    assert everything.validated == 0
    assert {"fd (day) -> week", "od {}: day ~ week", "od {}: countdown ~ week desc"} <= texts(everything)
    hybrid = discover_levels(asked)
    assert texts(hybrid) == texts(everything)
    assert levels.SAMPLE < hybrid.sample < 600
    assert 0 < hybrid.validated < hybrid.checked
    monkeypatch.setattr(levels_partitions, "CACHE_BYTES", 0)
    monkeypatch.setattr(levels, "TASKS_PER_SLOT", 100)
    assert texts(discover_levels(asked, sample=[1, 2], seed=7)) == texts(everything)


class Elsewhere(SparkTasks):
    """Tasks that travel, without the Spark to carry them."""

    slots = 3

    def map(self, function, tasks, description, done=None, *, large=False, stop=NEVER):
        return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(task))) for task in tasks]


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_validation_elsewhere(nulls, monkeypatch):
    shipped = []
    monkeypatch.setattr(LocalEngine, "ship", lambda self, session: shipped.append(session))
    here, there = engine(generated(), nulls), engine(generated(), nulls, workers=Elsewhere("a session"))
    assert texts(discover_levels(there)) == texts(discover_levels(here))
    assert set(shipped) == {"a session"}


def test_only_functional_dependencies():
    asked = engine(generated(), "equal")
    found = discover_levels(asked, ordered=())
    assert not found.ods
    assert set(found.fds) == set(discover_levels(asked).fds)


def test_names_of_columns():
    asked = engine({"a": [1, 2], "b": [1, 1], "c": [2, 1]})
    assert texts(discover_levels(asked, columns=["c", "a"])) == {"fd (a) -> c", "fd (c) -> a", "od {}: a ~ c desc"}
    assert discover_levels(asked, columns=[]).fds == []
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        discover_levels(asked, columns=["d"])
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        discover_levels(asked, ordered=["d"])


def test_no_time_at_all():
    found = discover_levels(engine(TABLE_II), deadline=Deadline.after(0))
    assert found.partial
    assert not found.fds
    assert not found.ods


@pytest.mark.parametrize("rows", [0, 1])
def test_without_pairs_nothing_is_said(rows):
    table = {"a": pa.array([1] * rows, pa.int64()), "b": pa.array(["x"] * rows, pa.string())}
    assert texts(discover_levels(engine(table))) == set()


def test_more_columns_than_a_machine_word_has_bits():
    table = {f"c{i}": [1, 1, 1] for i in range(70)} | {"x": [1, 2, 3], "y": [3, 3, 1]}
    found = texts(discover_levels(engine(table)))
    assert {rule for rule in found if "x" in rule} == {"fd (x) -> y", "od {}: x ~ y desc"}
    assert len(found) == 72
