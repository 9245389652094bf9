"""Columns that cannot be compared, and repeated names: skipped with a warning, left out by ``columns``, an error where
they are named."""

import datetime as dt
import json
import subprocess
import sys
import warnings
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import rowlaw
from rowlaw.errors import RowlawError, RowlawWarning
from rowlaw.maintain import Laws
from rowlaw.maintain.feed import net, read_feed

PLAIN = {"id": [1, 2, 3], "zip": ["07030", "07030", "10001"], "city": ["Hoboken", "Hobken", "New York"]}
ODD = {
    "list": pa.array([[1], [2, 3], None]),
    "struct": pa.array([{"x": 1, "y": "a"}] * 3),
    "map": pa.array([[("k", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"a", b"b", None]),
    "duration": pa.array([1, 2, 3], pa.duration("s")),
    "time": pa.array([dt.time(1)] * 3),
    "deep": pa.array([[{"a": [1], "b": {"c": "x"}}]] * 3),
}
RULE = "fd (zip) -> city"


def odd_table(*names):
    """The plain columns with odd ones between them, so that positions matter."""
    found = {}
    for plain, odd in zip(PLAIN, [names[i::3] for i in range(3)], strict=True):
        found |= {plain: pa.array(PLAIN[plain]), **{name: ODD[name] for name in odd}}
    return pa.table(found)


ALL = odd_table(*ODD)


def parquet(folder):
    pq.write_table(ALL, folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


def arrow_file(folder):
    with pa.ipc.new_file(folder / "t.arrow", ALL.schema) as writer:
        writer.write_table(ALL)
    return folder / "t.arrow"


def orc_file(folder):
    orc.write_table(odd_table("list", "struct", "map", "binary"), folder / "t.orc")
    return folder / "t.orc"


def json_lines(folder):
    rows = [
        {"tags": [i], "id": PLAIN["id"][i], "zip": PLAIN["zip"][i], "where": {"x": i}, "city": PLAIN["city"][i]}
        for i in range(3)
    ]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "t.jsonl"


def csv_file(folder):
    lines = [f"x,{i},y,{z},{c},," for i, z, c in zip(*PLAIN.values(), strict=True)]
    (folder / "t.csv").write_text("\n".join(["a,id,a,zip,city,,", *lines]))
    return folder / "t.csv"


def pandas_frame(_):
    odd = {"list": [[1], [2], None], "dict": [{"a": 1}] * 3, "mixed": [1, "x", 2.5], "wait": pd.to_timedelta([1, 2, 3])}
    return pd.DataFrame({"odd": [{1}, {2}, {3}], **PLAIN, **odd})


def pandas_repeated(_):
    return pd.DataFrame(
        [["x", *row, "y", 5] for row in zip(*PLAIN.values(), strict=True)], columns=["5", *PLAIN, "a", 5]
    )


def polars_frame(_):
    return pl.DataFrame(
        {"list": [[1], [2], None], **PLAIN, "wait": [dt.timedelta(1)] * 3, "raw": [b"a"] * 3, "s": [{"a": 1}] * 3}
    )


def duckdb_relation(_):
    odd = (
        "interval 1 day as wait, [1] as list, {'x': 1} as struct, map {'a': 1} as map, 'x'::blob as raw, "
        "time '10:00' as time"
    )
    columns = (
        "unnest([1, 2, 3]) as id, unnest(['07030', '07030', '10001']) as zip, unnest(['Hoboken', 'Hobken', "
        "'New York']) as city"
    )
    return duckdb.connect().sql(f"select {odd}, {columns}")


def repeated_arrow(_):
    return pa.Table.from_arrays(
        [*map(pa.array, PLAIN.values()), pa.array([1, 2, 3]), pa.array([4, 5, 6])], names=[*PLAIN, "a", "a"]
    )


SOURCES = [
    *(parquet, arrow_file, orc_file, json_lines, csv_file),
    *(pandas_frame, pandas_repeated, polars_frame, duckdb_relation, repeated_arrow, lambda _: ALL),
]


@pytest.mark.parametrize("make", SOURCES)
def test_every_source(make, tmp_path):
    source = make(tmp_path)
    with pytest.warns(RowlawWarning, match="skipped .* that cannot be compared") as raised:
        found = rowlaw.check(source, RULE, progress=False)
    assert found.counts == {"R1": 2}
    assert {line.left_value for line in found.side_by_side("R1", 1)[0].lines} == {"Hoboken", "07030"}
    assert len(raised) == 1
    assert raised[0].filename == __file__  # where the user called, not somewhere inside
    assert "\n" not in str(raised[0].message)


@pytest.mark.parametrize("make", SOURCES)
def test_columns_that_are_left_out_never_matter(make, tmp_path):
    """Warnings are errors here."""
    assert rowlaw.check(make(tmp_path), RULE, columns=["city", "zip"], progress=False).counts == {"R1": 2}


@pytest.mark.parametrize("name", ODD)
def test_naming_one(name):
    table = odd_table(name)
    with pytest.raises(RowlawError, match=f"UNSUPPORTED_TYPE.*column '{name}': type .* cannot be compared"):
        rowlaw.check(table, RULE, columns=["zip", "city", name], progress=False)
    with pytest.raises(RowlawError, match=f"UNSUPPORTED_TYPE.*column '{name}'"):
        rowlaw.open_source(table, types={name: "string"})
    with (
        pytest.warns(RowlawWarning),
        pytest.raises(
            RowlawError, match=f"UNSUPPORTED_TYPE.*'{name}'.*\n.*rule R2\n.*fd \\(zip\\) -> {name}"
        ) as raised,
    ):
        rowlaw.check(table, [RULE, f"fd (zip) -> {name}"], progress=False)
    assert raised.value.place is not None
    with pytest.warns(RowlawWarning), pytest.raises(RowlawError, match="UNSUPPORTED_TYPE"):
        rowlaw.check(table, RULE, row_id=name, progress=False)
    with pytest.warns(RowlawWarning), pytest.raises(RowlawError, match="UNSUPPORTED_TYPE"):
        rowlaw.discover(table, operators_of={name: "="}, progress=False)


def test_naming_a_repeated_name():
    table = repeated_arrow(None)
    for given in ({"columns": ["zip", "a"]}, {"types": {"a": "string"}}):
        with pytest.raises(RowlawError, match="DUPLICATE_COLUMN.*'a' occurs more than once; rename"):
            rowlaw.open_source(table, **given)
    with (
        pytest.warns(RowlawWarning, match="'a' \\(the name occurs more than once\\)"),
        pytest.raises(RowlawError, match="DUPLICATE_COLUMN") as raised,
    ):
        rowlaw.check(table, "key (a)", progress=False)
    assert raised.value.place is not None


def test_nothing_that_can_be_compared():
    with pytest.raises(RowlawError, match="UNSUPPORTED_TYPE.*'list'"):
        rowlaw.open_source(pa.table({"list": ODD["list"], "map": ODD["map"]}))


def test_a_long_warning_is_cut():
    wide = pa.table({"a": [1], **{f"l{i}": pa.array([[{f"field{j}": 1 for j in range(50)}]]) for i in range(30)}})
    with pytest.warns(RowlawWarning, match="skipped 30 columns .* and 25 more$") as raised:
        rowlaw.open_source(wide)
    assert len(str(raised[0].message)) < 600


def test_nested_columns_of_many_files_may_differ(tmp_path):
    for number, nested in enumerate(([[1]], [["x"]])):
        pq.write_table(pa.table({"tags": nested, "id": [number]}), tmp_path / f"{number}.parquet")
    with pytest.warns(RowlawWarning):
        source = rowlaw.open_source(tmp_path)
    with rowlaw.encode(source) as relation:
        assert relation.decode().to_pylist() == [{"id": 0}, {"id": 1}]


def test_discovery_and_explanation():
    with pytest.warns(RowlawWarning):
        found = rowlaw.discover(ALL, progress=False)
    assert found.columns == tuple(PLAIN)
    assert "key (id)" in {str(r.rule) for r in found}
    with pytest.warns(RowlawWarning) as raised:
        assert rowlaw.explain(ALL, RULE, progress=False).count.pairs == 2
    assert len(raised) == 1
    with pytest.warns(RowlawWarning), pytest.raises(RowlawError, match="UNSUPPORTED_TYPE"):
        rowlaw.explain(ALL, "key (list)", progress=False)


def test_a_state_and_its_batches(tmp_path):
    """Batches have the columns of the first table, and those that were skipped are no surprise: not even where they are
    all null."""
    with pytest.warns(RowlawWarning) as raised:
        laws = Laws.create(tmp_path / "state", json_lines(tmp_path), row_id="id", progress=False)
    assert len(raised) == 1
    laws = Laws.open(laws.path)
    assert laws.table.names == ("id", "zip", "city")
    rows = [
        {"tags": None, "id": 4, "zip": "1", "where": {"x": 1}, "city": "a"},
        {"tags": None, "id": 5, "zip": "1", "where": None, "city": "b"},
    ]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert laws.apply(tmp_path / "more.jsonl").inserted == 2
    with pytest.raises(RowlawError, match="BATCH_COLUMNS.*no column 'list'"):
        laws.apply(odd_table("list"))
    with pytest.raises(RowlawError, match="UNSUPPORTED_TYPE.*column 'city'"):
        laws.apply(pa.table({"id": [6], "zip": ["1"], "city": [["a"]]}))
    with pytest.raises(RowlawError, match="UNSUPPORTED_TYPE.*column 'tags'"):
        laws.apply(pa.table({"id": [6], "zip": ["1"], "city": ["a"]}), guard=["key (tags)"])
    feed = pa.table({"op": ["insert"], "id": [7], "zip": ["1"], "city": ["a"], "tags": [[1]], "where": [{"x": 1}]})
    coming, _ = net(read_feed(feed, laws.table), laws.table, "op")
    assert coming.rows == 1
    assert laws.table.living == 5


def command(*arguments, cwd):
    return subprocess.run(
        [Path(sys.executable).with_name("rowlaw"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=250,
    )


def test_commands(tmp_path):
    """One line on stderr, stdout as ever; no line where the column is left out; exit code 2 where it is named."""
    parquet(tmp_path)
    line = "rowlaw: t.parquet: skipped 7 columns that cannot be compared: "
    for arguments in (
        ("check", "t.parquet", "--rule", RULE, "--format", "json"),
        ("discover", "t.parquet", "--format", "json"),
        ("explain", "t.parquet", RULE, "--format", "json"),
        ("explain", "t.parquet", RULE, "--plan", "--format", "json"),
        ("init", "a.state", "t.parquet", "--format", "json"),
    ):
        shown = command(*arguments, *(() if "--plan" in arguments else ("--quiet",)), cwd=tmp_path)
        assert shown.returncode == (1 if arguments[0] == "check" else 0), shown.stderr
        assert shown.stderr.startswith(line), arguments
        assert shown.stderr.count("\n") == 1
        json.loads(shown.stdout)
    report = command("report", "t.parquet", "--quiet", "--out", "r.html", cwd=tmp_path)
    assert report.stderr.startswith(line)
    assert report.stderr.count("skipped") == 1
    assert command("apply", "a.state", "--insert", "t.parquet", "--quiet", cwd=tmp_path).stderr == ""
    chosen = command("check", "t.parquet", "--rule", RULE, "--columns", "zip,city", "--quiet", cwd=tmp_path)
    assert (chosen.returncode, chosen.stderr) == (1, "")
    for arguments in (("--columns", "zip,city,list"), ("--rule", "key (list)")):
        named = command("check", "t.parquet", "--rule", RULE, *arguments, "--quiet", cwd=tmp_path)
        assert named.returncode == 2
        assert "UNSUPPORTED_TYPE: t.parquet, column 'list'" in named.stderr


def test_the_warning_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rowlaw.RowlawWarning)
        assert rowlaw.open_source(ALL).columns == tuple(PLAIN)
