"""Reading files: what is detected, and what is an error with a name and a place."""

import gzip
from datetime import date
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import orc

from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.source import csv, open_source


def read(source, **options):
    with encode(open_source(source, **options)) as relation:
        return relation.decode()


def write(tmp_path, name, text, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiter_is_detected(tmp_path, delimiter):
    path = write(
        tmp_path,
        "t.csv",
        f"a{delimiter}b\n1{delimiter}x,y;z w\n" if delimiter not in ",;" else f"a{delimiter}b\n1{delimiter}x y\n",
    )
    assert read(path).column_names == ["a", "b"]


def test_types_are_inferred_from_all_values(tmp_path):
    rows = ["zip,n,x,day,at,ok,word,big,gone"]
    rows += [
        f"{'07030' if i == 700 else 10000 + i},{i},{i}.5,2020-02-28,2020-02-28 10:00:00,true,w{i},{10**20 + i},"
        for i in range(800)
    ]
    table = read(write(tmp_path, "t.csv", "\n".join(rows)))
    assert [str(t) for t in table.schema.types] == [
        "large_string", "int64", "double", "date32[day]", "timestamp[us]", "bool",
        "large_string", "decimal128(38, 0)", "large_string",
    ]  # fmt: skip
    assert table.column("gone").null_count == 800
    assert table.column("day")[0].as_py() == date(2020, 2, 28)


def test_types_can_be_given(tmp_path):
    path = write(tmp_path, "t.csv", "a,b\n1,2\n3,4\n")
    table = read(path, types={"a": "string", "b": "decimal(10,2)"})
    assert str(table.schema.field("a").type) == "large_string"
    assert str(table.schema.field("b").type) == "decimal128(10, 2)"
    with pytest.raises(RowlawError, match="BAD_OPTION.*use one of"):
        open_source(path, types={"a": "strin"})
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN.*did you mean 'a'"):
        open_source(path, types={"A": "string"})


def test_value_that_has_not_the_type_given(tmp_path):
    path = write(tmp_path, "t.csv", 'a,b\n1,"two\nlines"\nx7,y\n')
    with pytest.raises(RowlawError, match=r"t\.csv, line 4, column 'a': 'x7' cannot be read as integer"):
        read(path, types={"a": "int"})


def test_null_spellings_are_null_in_typed_columns_only(tmp_path):
    table = read(write(tmp_path, "t.csv", 'n,w,q\n1,NA,""\nNA,x,\n'))
    assert table.to_pylist() == [{"n": 1, "w": "NA", "q": ""}, {"n": None, "w": "x", "q": None}]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n0,0\n", True),  # HyOD's tables call their columns 1, 2, 3
        ("country,2019,2020\nx,1,2\n", True),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", False),
        ("x,y\nu,v\n", True),
        ("x,,\n1,2,3\n", True),
    ],
)
def test_header_is_detected(tmp_path, text, header):
    assert csv.sniff(str(write(tmp_path, "t.csv", text))).header is header


def test_table_without_header_gets_names(tmp_path):
    path = write(tmp_path, "t.csv", "5,x\n6,y\n")
    assert read(path, header=False).column_names == ["c1", "c2"]
    assert read(path).num_rows == 2


def test_quotes_newlines_and_odd_names(tmp_path):
    text = '"a ""b""","c.d",`e`,1,🙂,select\n"x\ny",2,3,4,5,6\n'
    table = read(write(tmp_path, "t.csv", text))
    assert table.column_names == ['a "b"', "c.d", "`e`", "1", "🙂", "select"]
    assert table.column(0).to_pylist() == ["x\ny"]
    assert read(write(tmp_path, "u.csv", "'a','b'\n'x, y','z'\n")).to_pylist() == [{"a": "x, y", "b": "z"}]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    assert read(write(tmp_path, "t.csv", "é,b\nü,1\n", encoding)).to_pylist() == [{"é": "ü", "b": 1}]


def test_encoding_can_be_given(tmp_path):
    path = write(tmp_path, "t.csv", "é,b\nü,1\n", "latin-1")
    assert read(path, encoding="latin-1").to_pylist() == [{"é": "ü", "b": 1}]
    with pytest.raises(RowlawError, match="BAD_OPTION.*no such encoding"):
        open_source(path, encoding="latin-99")


def test_large_files_are_split_at_row_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "SPLIT_BYTES", 200)
    rows = [f'{i},"line {i}\nand ""more"", {i}"' for i in range(300)]
    source = open_source(write(tmp_path, "t.csv", "a,b\n" + "\n".join(rows) + "\n"))
    assert len(source.splits) > 10
    with encode(source) as relation:
        table = relation.decode()
    assert table.column("a").to_pylist() == list(range(300))
    assert table.column("b").to_pylist() == [f'line {i}\nand "more", {i}' for i in range(300)]


# quotes that open a field, are doubled, stand inside a field, and follow a quoted part; ends of rows of both kinds
PIECES = st.sampled_from(
    ["a", ' "', '5" disk', '"', '""', '"b"', '"c"d"', '"x\ny"', '"say ""z""\n,"', "", "é", '"e"\r', "'"]
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(PIECES, PIECES), min_size=1, max_size=30),
    end=st.sampled_from(["\n", "\r\n"]),
    size=st.integers(1, 40),
)
def test_a_file_in_splits_is_the_file_in_one(tmp_path, monkeypatch, rows, end, size):
    path = write(tmp_path, "t.csv", end.join(["a,b", *(",".join(row) for row in rows)]) + end)
    dialect = csv.Dialect()
    monkeypatch.setattr(csv, "SPLIT_BYTES", 1 << 20)  # as another example may have left it
    (whole,) = csv.splits(path, dialect, ["a", "b"])
    monkeypatch.setattr(csv, "SPLIT_BYTES", size)
    parts = csv.splits(path, dialect, ["a", "b"])
    assert [(part.start, part.end) for part in parts[1:]] == [(a.end, b.end) for a, b in pairwise(parts)]

    def outcome(of):
        try:
            return [row for part in of for row in part.read(["a", "b"]).to_pylist()]
        except RowlawError as error:  # a quote that is never closed, or a row of another width
            return error.condition

    assert outcome(parts) == outcome([whole])


@pytest.mark.parametrize("text", ['a,b\n"e"\r,a\n', f"a,b\n{'x' * 200_000}\n"], ids=["return", "long field"])
def test_a_row_that_is_too_short_is_no_empty_table(tmp_path, text):
    with pytest.raises(RowlawError, match="RAGGED_ROW.*line 2: 1 field where the header has 2"):
        read(write(tmp_path, "t.csv", text))


def test_a_header_alone_is_an_empty_table(tmp_path):
    assert read(write(tmp_path, "t.csv", "a,b")).num_rows == 0


TABLE = pa.table({"a": [3, 1, None], "b": ["x", "é", "x"], "c.d": [1.5, float("nan"), -0.0]})
READ = [{"a": 3, "b": "x", "c.d": 1.5}, {"a": 1, "b": "é", "c.d": None}, {"a": None, "b": "x", "c.d": 0.0}]


def test_formats_that_know_their_types(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=2)
    orc.write_table(TABLE, tmp_path / "t.orc")
    with pa.ipc.new_file(tmp_path / "t.arrow", TABLE.schema) as file:
        file.write_table(TABLE)
    write(tmp_path, "t.jsonl", '{"a": 3, "b": "x"}\n{"a": 1, "b": "é"}\n')
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a,b\n3,x\n")
    assert read(tmp_path / "t.parquet").to_pylist() == READ
    assert read(tmp_path / "t.orc").to_pylist() == READ
    assert read(tmp_path / "t.arrow").to_pylist() == READ
    assert read(tmp_path / "t.jsonl").to_pylist() == [{"a": 3, "b": "x"}, {"a": 1, "b": "é"}]
    assert read(tmp_path / "t.csv.gz").to_pylist() == [{"a": 3, "b": "x"}]


def test_folders_and_globs(tmp_path):
    for year in (2023, 2024):
        folder = tmp_path / f"year={year}" / "kind=a%20b"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"n": [year]}), folder / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    rows = [{"n": 2023, "year": 2023, "kind": "a b"}, {"n": 2024, "year": 2024, "kind": "a b"}]
    assert read(tmp_path).to_pylist() == rows
    assert read(str(tmp_path / "**" / "*.parquet")).column("n").to_pylist() == [2023, 2024]


def test_delta_without_the_delta_jars(tmp_path):
    from deltalake import write_deltalake

    write_deltalake(tmp_path / "d", pa.table({"a": [1, 2]}))
    write_deltalake(tmp_path / "d", pa.table({"a": [3]}), mode="append")
    assert sorted(read(tmp_path / "d").column("a").to_pylist()) == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "content", "condition", "words"),
    [
        ("t.csv", b"", "EMPTY_FILE", "t.csv"),
        ("t.csv", b"\n\n", "EMPTY_FILE", "t.csv"),
        ("t.csv", b"a,b\n1,2\n\n3\n4,5\n", "RAGGED_ROW", "line 4: 1 field where the header has 2"),
        ("t.csv", b'a,b\n"x\ny",2\n3,4,5\n', "RAGGED_ROW", "line 4: 3 fields"),
        ("t.csv", b"a,b\n1,2\n\xff,3\n", "BAD_ENCODING", "line 3, byte 8: not valid UTF-8"),
        ("t.csv", b"a,a\n1,x\n", "DUPLICATE_COLUMN", "'a'"),
        ("t.parquet", b"PAR1nonsense", "BAD_FILE", "t.parquet"),
        ("t.orc", b"nonsense", "BAD_FILE", "t.orc"),
        ("t.arrow", b"nonsense", "BAD_FILE", "t.arrow"),
        ("t.jsonl", b'{"a": 1}\n{"a": [', "BAD_FILE", "t.jsonl"),
        ("t.jsonl", b'{"a": {"b": 1}}\n', "UNSUPPORTED_TYPE", "column 'a'"),
        ("t.csv.gz", b"not gzip", "BAD_FILE", "t.csv.gz"),
        ("t.xyz", b"a,b\n", "UNKNOWN_FORMAT", "format='csv'"),
    ],
)
def test_bad_files(tmp_path, name, content, condition, words):
    with pytest.raises(RowlawError) as raised:
        read(write(tmp_path, name, content))
    assert raised.value.condition == condition
    assert words in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("delimiter", "||"),
        ("delimiter", ""),
        ("quote", "“"),
        ("encoding", "klingon"),
        ("format", "xml"),
        ("columns", "ab"),
    ],
)
def test_bad_options(tmp_path, option, value):
    with pytest.raises(RowlawError, match=f"BAD_OPTION: {option}="):
        read(write(tmp_path, "t.csv", "a,b\n1,2\n"), **{option: value})


def test_encoding_that_does_not_fit(tmp_path):
    with pytest.raises(RowlawError, match="BAD_FILE.*not valid utf-16"):
        read(write(tmp_path, "t.csv", "a,b\n1,2\n"), encoding="utf-16")


def test_a_file_that_changes_before_it_is_read(tmp_path):
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1, 2]}))
    source = open_source(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(RowlawError, match="BAD_FILE.*t.arrow"):
        encode(source)


def test_missing_files(tmp_path):
    write(tmp_path, "sales.csv", "a\n1\n")
    with pytest.raises(RowlawError, match="NO_SUCH_FILE.*did you mean 'sales.csv'"):
        open_source(tmp_path / "sale.csv")
    with pytest.raises(RowlawError, match="NO_SUCH_FILE.*no folder"):
        open_source(tmp_path / "nowhere" / "sales.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RowlawError, match="the folder has no data files"):
        open_source(tmp_path / "empty")


def test_files_that_do_not_belong_together(tmp_path):
    write(tmp_path, "a.csv", "a,b\n1,2\n")
    write(tmp_path, "b.csv", "a,c\n1,2\n")
    with pytest.raises(RowlawError, match="BAD_FILE.*b.csv: its columns differ"):
        open_source(tmp_path)


def test_columns_can_be_chosen(tmp_path):
    path = write(tmp_path, "t.csv", "a,b,c\n1,2,3\n")
    assert read(path, columns=["c", "a"]).to_pylist() == [{"c": 3, "a": 1}]
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        open_source(path, columns=["d"])


def test_one_column_with_empty_lines(tmp_path):
    assert read(write(tmp_path, "t.csv", "a\n1\n\n3\n")).column("a").to_pylist() == [1, None, 3]


def test_header_alone(tmp_path):
    table = read(write(tmp_path, "t.csv", "a,b\n"))
    assert (table.num_rows, table.column_names) == (0, ["a", "b"])
