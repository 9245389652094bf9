"""What people meet when they try rowlaw for the first time: one test for each thing that went wrong once."""

import datetime as dt
import io
import json
import subprocess
import sys
import types

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli.app import app
from rowlaw.engine.open import open_local
from rowlaw.errors import RowlawError, RowlawWarning
from rowlaw.source import open_source, standard_input
from rowlaw.source.remote import storage_error
from rowlaw.source.types import type_name

GERMAN = "id;price;day\n1;1.234,50;31.12.2023\n2;2,00;01.02.2024\n3;NA;05.03.2024\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "de.csv").write_text(GERMAN)
    return tmp_path


def command(*arguments, **given):
    found = subprocess.run(
        [sys.executable, "-c", "from rowlaw.cli.app import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **given,
    )
    return found.returncode, found.stdout, found.stderr


def check(table, rules, **options):
    return rowlaw.check(table, rules, progress=False, **options)


def values(source, **options):
    engine = open_local(open_source(source, **options))
    try:
        return engine.some_rows(10, list(engine.types)).drop_columns(["number"]).to_pydict()
    finally:
        engine.close()


# errors of the command line name its options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["de.unknown"], "give it, for example --source-format csv"),
        (["ragged.csv"], "fix the line or give --delimiter"),
        (["latin.csv"], "give the encoding, for example --encoding latin-1"),
        (
            ["de.csv", "--types", "price=integer"],
            "column 'price': '1.234,50' cannot be read as integer; give another type, for example --types",
        ),
        (["de.csv", "--types", "day=date32"], "--types day=date32: use one of boolean, date"),
        (["de.csv", "--engine", "fast"], "--engine fast: use auto, local, spark"),
        (["de.csv", "--source-format", "xml"], "--source-format xml: use one of"),
        (["de.csv", "--delimiter", "ab"], "--delimiter ab: one character"),
    ],
)
def test_errors_of_the_command_line_name_its_options(here, arguments, words):
    (here / "de.unknown").write_text(GERMAN)
    (here / "ragged.csv").write_text("a,b\n1,2,3\n")
    (here / "latin.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    code, _, error = command(
        "check", *arguments, "--rule", "key (id)" if "de." in arguments[0] else "key (b)", "--quiet"
    )
    assert code == 2
    assert words in error
    assert "format='csv'" not in error


def test_a_missing_table_of_the_catalog_is_called_a_table(monkeypatch):
    catalog = types.SimpleNamespace(
        tableExists=lambda _: False, listTables=lambda _: [types.SimpleNamespace(name="orders")]
    )
    session = types.SimpleNamespace(catalog=catalog)
    with pytest.raises(
        RowlawError, match=r"no table 'sales.order' in the catalog of Spark \(did you mean 'orders'\?\), and no file"
    ):
        open_source("sales.order", session=session)


JAVA = """An error occurred while calling o32.load.
: java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found
\tat org.apache.hadoop.conf.Configuration.getClass(Configuration.java:2737)
Caused by: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found
\tat org.apache.hadoop.conf.Configuration.getClassByName(Configuration.java:2628)
"""


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        (
            "s3a://b/t.parquet",
            JAVA,
            ["Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "org.apache.hadoop:hadoop-aws:3", "--packages"],
        ),
        (
            "gs://b/t",
            'UnsupportedFileSystemException: No FileSystem for scheme "gs"',
            ["gcs-connector", 'No FileSystem for scheme "gs"'],
        ),
        ("s3://b/t", 'No FileSystem for scheme "s3"', ["write s3a://b/t"]),
        ("https://x/t.csv", "boom", ["download the file first"]),
        ("s3a://b/t", "AccessDenied: 403 Forbidden", ["403 Forbidden", "credentials"]),
    ],
)
def test_remote_addresses_say_the_cause_and_the_package(path, text, words):
    message = str(storage_error(path, Exception(text)))
    assert all(word in message for word in words), message
    assert "\n" not in message


# Python


def test_one_kind_is_as_good_as_a_list():
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 1, 2, 2], "c": [1, 2, 3, 4]})
    expected = [str(r) for r in rowlaw.discover(table, kinds=["fd"], progress=False)]
    assert [str(r) for r in rowlaw.discover(table, kinds="fd", progress=False)] == expected
    with pytest.raises(RowlawError, match="use key, fd, od, dc"):
        rowlaw.discover(table, kinds="fds", progress=False)


def test_rules_by_position():
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 1, 2, 2], "c": [1, 2, 3, 4]})
    laws = rowlaw.discover(table, progress=False)
    assert laws[0] is next(iter(laws))
    assert laws[-1].id == laws.rules[-1].id
    assert len(laws[:2]) == 2
    with pytest.raises(RowlawError, match="no rule 9999: the set has"):
        laws[9999]


@pytest.mark.parametrize(
    ("function", "name", "near"),
    [
        ("check", "nuls", "nulls"),
        ("check", "delimeter", "delimiter"),
        ("discover", "kind", "kinds"),
        ("explain", "rowid", "row_id"),
    ],
)
def test_unknown_parameters_name_the_nearest(function, name, near):
    rules = () if function == "discover" else ("key (a)",)
    with pytest.raises(RowlawError, match=rf"{function}\(\) has no parameter '{name}'; did you mean '{near}'"):
        getattr(rowlaw, function)(pa.table({"a": [1]}), *rules, progress=False, **{name: 1})


def test_unknown_options_of_a_report_name_the_nearest(tmp_path):
    with pytest.raises(RowlawError, match=r"to_html\(\) has no parameter 'titel'; did you mean 'title'"):
        check(DIRTY, "key (id)").to_html(tmp_path / "r.html", titel="x")


def test_a_column_of_mixed_types_is_no_file():
    frame = pd.DataFrame({"id": [1, 2], "code": [1, "x"]})
    with pytest.warns(RowlawWarning, match="'code' \\(values of several types: int, str\\)"):
        check(frame, "key (id)")
    with (
        pytest.warns(RowlawWarning),
        pytest.raises(
            RowlawError,
            match=r"MIXED_TYPES: DataFrame, column 'code': .* \(int, str\); give it one, for example frame\['code'\]",
        ),
    ):
        check(frame, "key (code)")


def test_types_have_the_names_that_users_know():
    assert type_name(pa.date32()) == "date"
    assert type_name(pa.timestamp("us")) == "timestamp"
    assert type_name(pa.large_string()) == "text"
    assert type_name(pa.struct([("a", pa.int64())])) == "struct of a"


def test_a_lazy_frame_of_polars_is_collected():
    assert check(pl.LazyFrame({"a": [1, 1]}), "key (a)").counts == {"R1": 2}


# files


def test_arrays_of_objects(here):
    (here / "t.json").write_text(json.dumps([{"a": 1, "b": "x"}, {"a": 1, "b": None}], indent=2))
    assert values("t.json") == {"a": [1, 1], "b": ["x", None]}
    (here / "bad.json").write_text("[1, 2]")
    with pytest.raises(RowlawError, match="an array of objects, and element 1 is a number"):
        open_source("bad.json")


@pytest.mark.parametrize("mark", ["sep=;\n", "SEP=;\r\n", "\ufeffsep=;\n"])
def test_the_separator_line_of_excel(here, mark):
    (here / "t.csv").write_text(mark + "a;b\n1;x\n2;y,z\n", newline="")
    assert values("t.csv") == {"a": [1, 2], "b": ["x", "y,z"]}


def test_standard_input(here, monkeypatch):
    assert command("check", "-", "--rule", "key (id)", "-q", input=GERMAN)[0] == 0
    code, out, _ = command(
        "check", "-", "--rule", "fd (a) -> b", "-q", "--format", "json", input='[{"a": 1, "b": 2}, {"a": 1, "b": 3}]'
    )
    assert (code, json.loads(out)["rules"][0]["violations"]) == (1, 2)
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(isatty=lambda: True, buffer=io.BytesIO()))
    standard_input.copied.cache_clear()
    with pytest.raises(RowlawError, match="nothing is sent to standard input"):
        open_source("-")


def test_spreadsheets_say_what_to_install(here, monkeypatch):
    (here / "t.xlsx").write_bytes(b"PK")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "openpyxl" else object())
    with pytest.raises(RowlawError, match="reading t.xlsx needs the package 'openpyxl'; pip install 'openpyxl'"):
        open_source("t.xlsx")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    monkeypatch.setattr("pandas.read_excel", lambda _: pd.DataFrame({"a": [1, 1]}))
    assert check("t.xlsx", "key (a)").counts == {"R1": 2}


# types


def test_decimal_commas_and_days_first_are_recognised(here):
    with pytest.warns(
        RowlawWarning,
        match=r"'price' looks like numbers with a decimal comma .*types=\{'price': 'decimal_comma', 'day': 'date:%d",
    ):
        check("de.csv", "key (id)")
    code, _, error = command("check", "de.csv", "--rule", "key (id)", "-q")
    assert code == 0
    assert "--types 'price=decimal_comma,day=date:%d.%m.%Y'" in error


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["1,5", "2"], "decimal_comma"),
        (["1.234,5", "-2,25", "NA"], "decimal_comma"),
        (["1,2,3", "2"], None),
        (["31.12.2023", "1.2.2024"], "date:%d.%m.%Y"),
        (["12/31/2023", "01/02/2024"], "date:%m/%d/%Y"),
        (["31/12/2023", "01/02/2024"], "date:%d/%m/%Y"),
        (["31.12.2023 10:15", "01.02.2024 00:00"], "timestamp:%d.%m.%Y %H:%M"),
        (["32.12.2023", "1.2.2024"], None),
        (["1.2.3", "4.5.6"], None),
        (["31.12.2023"], None),
    ],
)
def test_hints(here, cells, wanted):
    (here / "t.csv").write_text("id;v\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate(cells)))
    source = open_source("t.csv", columns=["id"])
    assert [hint.type for hint in source.hints] == ([wanted] if wanted else [])


@pytest.mark.parametrize("frame", [False, True])
def test_spelled_types(here, frame):
    table = pd.read_csv("de.csv", sep=";", dtype=str) if frame else "de.csv"
    found = values(table, types={"price": "decimal_comma", "day": "date:%d.%m.%Y"})
    assert found["price"] == [1234.5, 2.0, None]
    assert found["day"] == [dt.date(2023, 12, 31), dt.date(2024, 2, 1), dt.date(2024, 3, 5)]


def test_values_that_are_not_spelled_so(here):
    with pytest.raises(
        RowlawError, match="line 2, column 'day': '31.12.2023' cannot be read as date of the form %m/%d/%Y"
    ):
        check("de.csv", "key (id)", types={"day": "date:%m/%d/%Y", "price": "string"})
    with pytest.raises(RowlawError, match="the format cannot be used"):
        check("de.csv", "key (id)", types={"day": "date:dd.mm.yyyy"})


def test_one_rule_for_values_that_mean_nothing(here):
    (here / "t.csv").write_text("n,country,k\n1,NA,-\nNA,DE,5\n,NULL,7\n")
    assert values("t.csv") == {"n": [1, None, None], "country": ["NA", "DE", "NULL"], "k": ["-", "5", "7"]}
    assert values("t.csv", null_values=["-", "NA"]) == {
        "n": [1, None, None],
        "country": [None, "DE", "NULL"],
        "k": [None, 5, 7],
    }
    code, out, _ = command(
        "check", "t.csv", "--rule", "s.k is not null", "--null-values", "-", "-q", "--format", "json"
    )
    assert (code, json.loads(out)["rules"][0]["violations"]) == (1, 1)


def test_types_are_shown_on_request(here):
    code, _, error = command("check", "de.csv", "--rule", "key (id)", "--show-types", "--types", "price=decimal_comma")
    assert code == 0
    assert "id     integer" in error
    assert "price  float" in error
    assert "day    text" in error


# the result of a check


DIRTY = pa.table({"zip": [1] * 13 + [2, 2], "city": ["Ulm"] * 12 + ["Umm", "Bonn", "Bnn"], "id": list(range(15))})


def test_a_clash_for_each_wrong_value():
    found = check(DIRTY, "fd (zip) -> city").side_by_side("R1", 5)
    assert [{line.left_value, line.right_value} for clash in found for line in clash.lines if line.marked] == [
        {"Ulm", "Umm"},
        {"Bonn", "Bnn"},
    ]


def test_causes_lead():
    result = check(DIRTY, ["fd (zip) -> city", "key (id)"])
    causes = result.causes()
    assert set(causes.rows) >= {12}
    assert (len(causes.rows), causes.explained) == (2, 26)
    assert str(causes).startswith("2 rows explain all 26 violations: ")
    assert not str(check(DIRTY, "key (id)").causes())


def test_what_a_result_is_worth():
    good, bad = check(DIRTY, "key (id)"), check(DIRTY, {"a": "fd (zip) -> city", "b": "key (id)"})
    assert good
    assert good.ok
    assert not bad
    assert (len(bad), [verdict.id for verdict in bad]) == (2, ["a", "b"])
    frame = bad.to_pandas(limit=3)
    assert list(frame.columns) == ["rule", "s_row", "t_row", "s_city", "t_city", "s_zip", "t_zip"]
    assert len(frame) == 3
    assert good.to_pandas().empty


def test_broken_rules_that_are_not_shown_are_counted(tmp_path):
    columns = {f"c{i}": [1, 1, 2] for i in range(8)}
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    shown = CliRunner().invoke(
        app, ["check", str(tmp_path / "t.csv"), *(a for i in range(8) for a in ("--rule", f"key (c{i})")), "--quiet"]
    )
    assert "1 row explains all 16 violations: 1" in shown.output.splitlines()[0]
    assert "3 more broken rules not shown: R6, R7, R8 (--format markdown shows all)" in shown.output
