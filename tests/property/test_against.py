"""New rows against old ones, in this process: the same answers as the definition gives, and no old row that matters is
left out."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rowlaw
from rowlaw.engine.against.boxes import MOST_BOXES, boxes
from rowlaw.engine.against.conflicts import Bound
from rowlaw.engine.answers import value_names
from tests import naive
from tests.strategies import nulls, rules, tables, to_arrow


def split(data, table):
    """The rows of a table that are new, and those that are old."""
    new = data.draw(st.lists(st.booleans(), min_size=table.rows, max_size=table.rows))
    return [table.take([i for i, flag in enumerate(new) if flag == wanted]) for wanted in (True, False)]


def listed(batches):
    """Pairs as the oracle names them."""
    found = []
    for batch in batches:
        for r in batch.to_pylist():
            rows = [
                ("new" if r[flag] else "old", r[row])
                for row, flag in (("s_row", "new_s"), ("t_row", "new_t"))
                if r.get(row) is not None
            ]
            found.append(tuple(rows))
    return sorted(found)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), table=tables(min_columns=2, max_rows=10), nulls=nulls())
def test_counts_and_pairs(data, table, nulls):
    new, old = split(data, table)
    rule = data.draw(rules(table))
    result = rowlaw.check(to_arrow(new), [rule], against=to_arrow(old), nulls=nulls, engine="local", progress=False)
    expected = naive.violations_against(rule, new.values, old.values, nulls)
    assert result.counts == {"R1": len(expected)}
    involved = Counter(row for pair in expected for row in pair)
    assert result["R1"].rows == sum(where == "new" for where, _ in involved)
    assert listed(result.pairs("R1")) == expected
    assert set(listed([result.clashes("R1", 4)])) <= set(expected)
    assert len(result.clashes("R1", 4)) == min(4, len({frozenset(pair) for pair in expected}))
    worst = sorted((pairs for (where, _), pairs in involved.items() if where == "new"), reverse=True)[:3]
    assert [pairs for _, pairs in result.worst(3)] == worst
    removal = result.rows_to_remove("R1")
    rest = new.take([i for i in range(new.rows) if i not in removal.first])
    assert not naive.violations_against(rule, rest.values, old.values, nulls)
    result.close()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), table=tables(min_columns=2, max_rows=10, types=["integer", "text", "float"]), nulls=nulls())
def test_several_rules_and_row_groups(tmp_path_factory, data, table, nulls):
    new, old = split(data, table)
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=4))
    path = tmp_path_factory.mktemp("old") / "old.parquet"
    pq.write_table(to_arrow(old), path, row_group_size=2)
    result = rowlaw.check(to_arrow(new), chosen, against=path, nulls=nulls, progress=False)
    expected = [len(naive.violations_against(rule, new.values, old.values, nulls)) for rule in chosen]
    assert list(result.counts.values()) == expected
    names = value_names(chosen[0].columns)
    for row in (r for batch in result.pairs("R1") for r in batch.to_pylist()):
        for side in ("s", "t"):
            values = (new if row.get(f"new_{side}") else old).values
            for column in chosen[0].columns:
                if row.get(f"{side}_row") is not None and names[side, column] in row:
                    assert (
                        naive.outcome(row[names[side, column]], values[column][row[f"{side}_row"]], "equal")
                        == naive.Op.EQ
                    )
    result.close()


def satisfies(bound, value, low, high):
    match bound.direction:
        case "below":
            return low < value if bound.strict else low <= value
        case "above":
            return high > value if bound.strict else high >= value
        case _:
            return low < value or high > value


BOUNDS = st.builds(
    Bound,
    st.just("k0"),
    st.just("k0"),
    st.sampled_from(["below", "above", "other"]),
    strict=st.booleans(),
    text=st.just(False),
)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6),
    bounds=st.lists(BOUNDS, min_size=0, max_size=3),
    rows=st.integers(1, 300),
    keys=st.integers(1, 4),
)
def test_no_old_row_that_conflicts_is_left_out(seed, bounds, rows, keys):
    """And where two inequalities decide and bins hold few rows, no other is kept."""
    random = np.random.default_rng(seed)
    key = random.integers(0, keys, rows)
    values = [
        pa.array(random.choice([random.normal(size=rows), random.integers(-5, 5, rows).astype(float)])) for _ in bounds
    ]
    made = boxes(key, values, bounds)
    table = made.table.to_pylist()
    for _ in range(20):
        own_key = int(random.integers(0, keys + 1))
        own = [float(random.choice([random.normal(), random.integers(-5, 5), np.inf])) for _ in bounds]
        conflict = any(
            key[i] == own_key
            and all(satisfies(b, x, v[i].as_py(), v[i].as_py()) for b, x, v in zip(bounds, own, values, strict=True))
            for i in range(rows)
        )
        bin_of = int(made.bins.of(np.array([own[made.bins.bound]]))[0]) if made.bins is not None else 0
        kept = any(
            box["key"] == own_key
            and box["bin"] == bin_of
            and all(
                satisfies(b, x, box[f"low{i}"], box[f"high{i}"])
                for i, (b, x) in enumerate(zip(bounds, own, strict=True))
            )
            for box in table
        )
        assert kept or not conflict
        if len(bounds) == 1 or (
            len(bounds) == 2 and all(b.direction != "other" for b in bounds) and rows <= MOST_BOXES
        ):
            assert kept == conflict
