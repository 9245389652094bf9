"""Files as other programs export them: each of these was read wrongly, or refused in words that did not help."""

import gzip
import json
import subprocess
import sys

import pytest

from rowlaw.engine.open import open_local
from rowlaw.errors import RowlawError
from rowlaw.source import open_source


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(source, columns=None, **options):
    engine = open_local(open_source(source, columns=columns, **options))
    try:
        return engine.some_rows(10, list(engine.types)).drop_columns(["number"]).to_pydict()
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("id,name,", ["id", "name", "c3"]),  # a delimiter ends each line
        (",name,size", ["c1", "name", "size"]),  # the index of pandas
        ("id, name, size", ["id", "name", "size"]),
        ('id," ",c2', ["id", "c2_", "c2"]),
        ("a, a,b", ["a", " a", "b"]),  # without the blank there would be two of the same name
    ],
)
def test_names_of_columns(here, header, names):
    (here / "t.csv").write_text(header + "\n1,x,\n2,y,\n")
    assert list(open_source("t.csv").columns) == names


def test_a_byte_order_mark_is_no_part_of_a_name(here):
    (here / "t.csv").write_bytes(b"\xef\xbb\xbfid,name\n1,x\n")
    assert list(open_source("t.csv", encoding="utf-8").columns) == ["id", "name"]


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_header_alone(here, end):
    (here / "t.csv").write_text("id,name" + end)
    assert values("t.csv") == {"id": [], "name": []}
    assert values("t.csv", columns=["name"]) == {"name": []}


def test_blanks_around_values_are_no_part_of_numbers(here):
    (here / "t.csv").write_text("id, price, city\n1, 1.5, A\n2, NA,  B\n3,  , C\n")
    assert values("t.csv") == {"id": [1, 2, 3], "price": [1.5, None, None], "city": [" A", "  B", " C"]}


def test_quoted_empty_fields_are_null_where_the_column_is_not_text(here):
    (here / "t.csv").write_text('"id","price","city"\n"1","2.5",""\n"2","","B"\n')
    assert values("t.csv") == {"id": [1, 2], "price": [2.5, None], "city": ["", "B"]}


@pytest.mark.parametrize("columns", [None, ["id"]])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('id,name\n1,"open\n2,b\n3,c\n', 2),
        ('id,name\n1,a\n2,"open\n3,c\n', 3),
        ('id,name\n"1,open\n2,b\n3,c\n', 2),  # the other column: too few fields as well
        ('id,name\n1,"a\nb"\n2,"open\n' + "3,c\n" * 400_000, 4),  # far beyond what pyarrow parses at once
    ],
    ids=["short", "third line", "first column", "long"],
)
def test_a_quote_that_is_never_closed_is_an_error(here, text, line, packed, columns):
    name = "t.csv.gz" if packed else "t.csv"
    (here / name).write_bytes(gzip.compress(text.encode(), 1) if packed else text.encode())
    with pytest.raises(RowlawError, match=rf"{name}: line {line}: a quote is opened here and never closed"):
        values(name, columns)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", " \n"])
@pytest.mark.parametrize(
    "field", ['"two\nlines"', '"two\nlines\n"', '"a ""quoted""\nword"', '"two\nlines" more', 'inch 5"']
)
def test_a_quote_that_is_closed_is_none(here, field, end):
    (here / "t.csv").write_text(f"id,name\n1,a\n2,{field}{end}", newline="")
    assert len(values("t.csv")["id"]) == 2


def test_a_field_of_megabytes(here):
    (here / "t.csv").write_text(f"id,name\n1,{'x' * 3_000_000}\n2,y\n")
    assert [len(v) for v in values("t.csv")["name"]] == [3_000_000, 1]


@pytest.mark.parametrize("head", ["# exported on Monday\n", "Report of 2024\n\n"])
def test_lines_above_the_header(here, head):
    (here / "t.csv").write_text(head + "id,name\n1,a\n2,b\n")
    with pytest.raises(RowlawError, match="2 fields where the header has 1; delete the lines above the header, quote"):
        values("t.csv")


@pytest.mark.parametrize(
    ("cells", "hinted"), [(["1,234", "5,678"], False), (["1,234", "5,67"], True), (["0,500", "1,250"], True)]
)
def test_thousands_are_not_called_decimals(here, cells, hinted):
    (here / "t.csv").write_text("id;n\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate(cells)))
    assert bool(open_source("t.csv", columns=["id"]).hints) is hinted


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([1, 2], "an array of objects, and element 1 is a number"),
        ([{"a": 1}, None], "an array of objects, and element 2 is null"),
        ([], "the array is empty"),
        ([{"id": 1}, {"id": "x"}], "row 2: column 'id' is a string, and a number in the rows above"),
        ([{"id": {"a": 1}}, {"id": {"a": []}}], "row 2: column 'id.a' is an array, and a number in the rows above"),
    ],
)
def test_json_that_is_no_table(here, found, words):
    (here / "t.json").write_text(json.dumps(found))
    with pytest.raises(RowlawError, match=words):
        open_source("t.json")


SPREADSHEET = """
import importlib.util, sys, types
from rowlaw.cli.process import main
known = importlib.util.find_spec
missing, patched = sys.argv.pop(1) == "missing", False
def find_spec(name, *rest):
    global patched
    if name == "openpyxl":
        return None if missing else types.SimpleNamespace()
    if name == "pandas" and not patched:
        patched = True
        import pandas
        pandas.read_excel = lambda _: pandas.DataFrame({"a": [1, 1], "day": pandas.to_datetime(["2024-01-01", None])})
    return known(name, *rest)
importlib.util.find_spec = find_spec
main()
"""


@pytest.mark.parametrize(
    ("package", "code", "words"), [("missing", 2, "needs the package 'openpyxl'"), ("there", 1, "key (a)")]
)
def test_spreadsheets_on_the_command_line(here, package, code, words):
    """The command line hides pandas from pyarrow to start quickly, and must not hide it from itself."""
    (here / "t.xlsx").write_bytes(b"PK")
    (here / "run.py").write_text(SPREADSHEET)
    given = [sys.executable, "run.py", package, "check", "t.xlsx", "--rule", "key (a)", "-q"]
    found = subprocess.run(given, capture_output=True, text=True, check=False)
    assert found.returncode == code, found.stderr
    assert words in found.stdout + found.stderr
    assert "Traceback" not in found.stderr
