"""The HTML report: what it says, that it says it safely, and that it stays small."""

import datetime as dt
import json
import re
import subprocess
import sys
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.report import report_html
from rowlaw.report.graph import dependency_graph
from rowlaw.report.limits import MOST_BYTES
from rowlaw.rules import NamedRule, RuleSet

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))
HOSTILE = "</script><script>alert(1)</script>"
TABLE = pa.table(
    {
        "id": [10, 11, 12, 13],
        "zip": ["07030", "07030", "10001", None],
        "city": ["Hoboken", HOSTILE, "New York", "Nowhere"],
        "price": [Decimal("1.50"), Decimal("2.50"), Decimal("3.00"), None],
        "seen": [dt.date(2020, 1, d) for d in (1, 2, 3, 4)],
        "low": [1.0, 5.0, float("nan"), 9.0],
        "high": [2, 4, 3, 9],
    }
)
RULES = {
    "city": "fd (zip) -> city",
    "id": "key (id)",
    "order": "not (s.low > s.high)",
    "price": "od {}: price ~ seen desc",
    "list": "od [zip] -> [city, id]",
    "limit": "not (s.high > 8)",
}


class Blocks(HTMLParser):
    """The scripts of a page by id, its tags, and the attributes that could run code."""

    def __init__(self):
        super().__init__()
        self.scripts, self.tags, self.handlers, self.open = {}, [], [], None

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        if tag == "script":
            self.open = dict(attributes).get("id", "code")
            self.scripts[self.open] = ""

    def handle_data(self, text):
        if self.open:
            self.scripts[self.open] += text

    def handle_endtag(self, tag):
        if tag == "script":
            self.open = None


def blocks(page):
    parser = Blocks()
    parser.feed(page)
    return parser


def document(page):
    return json.loads(blocks(page).scripts["data"])


@pytest.fixture(scope="module")
def result():
    found = rowlaw.check(TABLE, RULES, row_id="id", progress=False)
    yield found
    found.close()


def test_what_it_says_of_a_check(result):
    said = document(report_html(result, title="people", command="rowlaw report people.csv"))
    assert (said["kind"], said["table_rows"], said["title"], said["command"]) == (
        "check",
        4,
        "people",
        "rowlaw report people.csv",
    )
    assert {r["id"]: r["violations"] for r in said["rules"]} == result.counts
    assert said["violations"] == sum(result.counts.values())
    assert said["rows_involved"] == len({row for row, _ in result.worst(100)})
    assert said["counts"] == {"broken": len(result.broken), "holds": len(RULES) - len(result.broken)}
    by_id = {r["id"]: r for r in said["rules"]}
    city = by_id["city"]
    assert city["sentence"] == "Rows with the same zip have the same city."
    assert "SELECT" in city["sql"]
    assert city["clashes"] == [
        {
            "s": "10",
            "t": "11",
            "lines": [["zip", "07030", "=", "zip", "07030", 0], ["city", "Hoboken", "!=", "city", HOSTILE, 1]],
        }
    ]
    assert city["plot"]["x"] == {"name": "zip", "scale": "nominal"}
    assert by_id["order"]["clashes"] == [{"s": "11", "t": None, "lines": [["low", "5.0", ">", "high", "4", 1]]}]
    assert by_id["limit"]["plot"] == {
        "x": {"name": "high", "scale": "quantitative"},
        "y": {"name": None, "scale": "quantitative"},
        "single": True,
        "pairs": [[9, 3, 9, 3, 13, 13]],
        "lines": [{"column": "high", "value": 8}],
    }
    assert by_id["price"]["plot"]["y"]["scale"] == "temporal"
    assert "clashes" not in by_id["id"]
    assert said["worst"]["rows"][0]["pairs"] == result.worst(1)[0][1]
    assert said["worst"]["rows"][0]["row"] == str(result.worst(1)[0][0])
    assert said["sample"]["zip"] == ["07030", "07030", "10001", None]


def test_long_values_show_where_they_differ():
    names = [f"{'the same words ' * 20}{'aspirin' if i else 'axpirin'}, and so on" for i in range(8)]
    table = pa.table({"code": [1] * 8, "name": names})
    found = rowlaw.check(table, "fd (code) -> name", progress=False)
    said = document(report_html(found))
    found.close()
    (cell,) = said["suspects"]["cells"]
    assert "axpirin" in cell["value"]
    assert "aspirin" in cell["usual"]
    (clash,) = said["rules"][0]["clashes"]
    values = next(line for line in clash["lines"] if line[0] == "name")
    assert sorted("axpirin" in text for text in (values[1], values[4])) == [False, True]


def test_ids_of_several_columns_read_alike_everywhere():
    table = pa.table(
        {"site": ["A"] * 4 + ["B"], "number": [1, 2, 3, 4, 1], "zip": ["07030"] * 5, "city": [*"HHHJ", "H"]}
    )
    found = rowlaw.check(table, "fd (zip) -> city", row_id=("site", "number"), progress=False)
    said = document(report_html(found))
    assert str(found.causes()).endswith(": (site=A, number=4)")
    found.close()
    (cause,) = said["causes"]["rows"]
    (cell,) = said["suspects"]["cells"]
    assert cause["row"] == cell["row"] == said["worst"]["rows"][0]["row"] == "site=A, number=4"
    assert cause["cells"] == [{"column": "city", "value": "J", "usual": "H"}]


def test_broken_rules_come_first(result):
    statuses = [r["status"] for r in document(report_html(result))["rules"]]
    assert statuses == sorted(statuses, key=["broken", "holds"].index)


def test_severity_and_tolerance():
    rules = RuleSet(
        (
            NamedRule("soft", rowlaw.parse("fd (zip) -> city"), severity="warn", because="why not"),
            NamedRule("loose", rowlaw.parse("fd (zip) -> city"), tolerate=0.5),
        )
    )
    said = document(report_html(rowlaw.check(TABLE, rules, progress=False)))
    assert [(r["id"], r["status"]) for r in said["rules"]] == [("soft", "warning"), ("loose", "tolerated")]
    assert said["rules"][0]["because"] == "why not"
    assert said["rules"][1]["tolerate"] == 0.5


def test_content_is_escaped(result):
    page = report_html(result, title=HOSTILE)
    found = blocks(page)
    assert found.tags.count("script") == 3
    assert found.handlers == []
    assert HOSTILE in json.dumps(json.loads(found.scripts["data"]))
    assert "<script>alert" not in page
    assert not re.search(r"(?:src|href)=[\"'](?!#)", page.replace(found.scripts["library"], ""))  # nothing is fetched
    assert 'http-equiv="Content-Security-Policy"' in page
    assert "default-src &#x27;none&#x27;" in page
    assert "unsafe-eval" not in page


def test_policy_names_the_script_of_the_page(result):
    import base64
    import hashlib

    page = report_html(result)
    script = blocks(page).scripts["code"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"sha256-{digest}" in page.split("Content-Security-Policy")[1].split(">")[0]


def test_tables_without_rows_or_rules():
    for table, rules in ((TABLE.slice(0, 0), RULES), (TABLE.slice(0, 1), RULES), (TABLE, {})):
        said = document(report_html(rowlaw.check(table, rules, progress=False)))
        assert said["table_rows"] == table.num_rows
        assert len(said["rules"]) == len(rules)


def test_odd_values():
    table = pa.table(
        {
            "a`b": ["\x00", "\u2028", "\ufffe", "x" * 500],
            "big": [2**63 - 1, -(2**63), 2**53 + 1, None],
            "inf": [np.inf, -np.inf, 0.0, 1.0],
        }
    )
    said = document(
        report_html(
            rowlaw.check(table, ["not (s.big < t.big)", "fd () -> `a``b`", "not (s.inf != t.inf)"], progress=False)
        )
    )
    assert len(said["rules"]) == 3
    cells = [
        cell for rule in said["rules"] for clash in rule["clashes"] for line in clash["lines"] for cell in line[:5]
    ]
    assert max(map(len, cells)) <= 80


def test_many_rules_and_violations_stay_small():
    random = np.random.default_rng(0)
    n = 4_000
    table = pa.table(
        {
            f"column number {i}": random.integers(0, 40, n).astype(str) if i % 2 else random.integers(0, 999, n)
            for i in range(20)
        }
    )
    names = table.column_names
    rules = [f"fd (`{a}`) -> `{b}`" for a in names for b in names if a != b][:200]
    result = rowlaw.check(table, rules, progress=False)
    assert sum(result.counts.values()) > 1_000_000
    page = report_html(result)
    assert len(page.encode()) <= MOST_BYTES
    said = document(page)
    assert len(said["rules"]) == 200
    assert all(r["clashes"] for r in said["rules"])
    assert {r["id"]: r["violations"] for r in said["rules"]} == result.counts


def test_lists_get_shorter_until_the_page_fits():
    long = "x" * 3_000
    table = pa.table({"a": [1] * 50, **{f"{long}{i}": [f"{long}{j}" for j in range(50)] for i in range(4)}})
    result = rowlaw.check(
        table, {f"rule {n}": f"fd (a) -> {name}" for n in range(40) for name in table.column_names[1:2]}, progress=False
    )
    page = report_html(result)
    assert len(page.encode()) <= MOST_BYTES
    with pytest.raises(RowlawError, match="no report is that small"):
        report_html(result, most_bytes=1000)


def test_discovered_rules():
    cities = ["Hoboken", "Hoboken", "New York", "New York"]
    found = rowlaw.discover(
        pa.table({"zip": ["1", "1", "2", "2"], "city": cities, "age": [1, 2, 3, 4]}), progress=False
    )
    said = document(report_html(found, title="homes"))
    assert said["kind"] == "discovery"
    assert said["total_rules"] == found.total
    assert [r["id"] for r in said["rules"]] == [r.id for r in found]
    assert {r["status"] for r in said["rules"]} == {"holds"}
    assert said["rules"][0]["score"] == found.rules[0].score
    assert said["graph"]["laws"]


def test_rules_that_nobody_checked():
    said = document(report_html(RuleSet.of(RULES)))
    assert (said["kind"], said["counts"]) == ("rules", {"unchecked": len(RULES)})


def test_history():
    def batch(number, added, removed, rules):
        at = dt.datetime(2024, 1, 1 + number, tzinfo=dt.UTC)
        return SimpleNamespace(
            number=number, id=None, at=at, inserted=5, deleted=1, added=added, removed=removed, rules=rules
        )

    batches = [batch(0, 3, 0, 3), batch(1, 1, 2, 2)]
    rule = rowlaw.parse("key (id)")
    events = [
        SimpleNamespace(kind="born", id="R1", rule=rule, batch=batches[0], witness=()),
        SimpleNamespace(
            kind="retired",
            id="R1",
            rule=rule,
            batch=batches[1],
            witness=({"id": 7, "x": HOSTILE}, {"id": 7, "x": None}),
        ),
    ]
    said = document(report_html(RuleSet.of(RULES), history=SimpleNamespace(batches=batches, events=events)))["history"]
    assert [b["rules"] for b in said["batches"]] == [3, 2]
    (event,) = said["events"]  # the rules of the first batch are the table's, not news
    assert event["witness"] == [{"id": "7", "x": HOSTILE}, {"id": "7", "x": "null"}]


def test_graph():
    rules = RuleSet.of(
        [
            "key (a, b)",
            "not (s.a = t.a and s.b = t.b and s.c != t.c)",
            "not (s.a = t.a)",
            "fd () -> d",
            "od {}: a ~ b",
            "fd (a, b) -> e",
        ]
    )
    graph = dependency_graph([(r, "holds") for r in rules])
    assert [(law["rule"], law["left"], law["right"]) for law in graph["laws"]] == [
        ("R1", ["a", "b"], None),
        ("R2", ["a", "b"], "c"),
        ("R3", ["a"], None),
        ("R4", [], "d"),
        ("R6", ["a", "b"], "e"),
    ]
    assert graph["left_out"] == 0
    assert dependency_graph([(rules["R5"], "holds")]) is None


def test_written_in_one_step(result, tmp_path):
    result.to_html(tmp_path / "report.html", title="people")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(RowlawError, match="NO_SUCH_FILE"):
        result.to_html(tmp_path / "no" / "report.html")


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, text=True, check=False, **options)


def test_command_line(tmp_path):
    (tmp_path / "people.csv").write_text("id,zip,city\n1,07030,Hoboken\n2,07030,Hobken\n3,10001,New York\n")
    (tmp_path / "rules.yaml").write_text("rules:\n  city: fd (zip) -> city\n")
    shown = run("report", "people.csv", "rules.yaml", "--out", "broken.html", "--row-id", "id", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (1, ""), shown.stderr
    said = document((tmp_path / "broken.html").read_text())
    assert said["title"] == "people.csv"
    assert said["command"] == "rowlaw report people.csv rules.yaml --out broken.html --row-id id"
    assert run("report", "people.csv", "-o", "laws.html", "-q", cwd=tmp_path).returncode == 0
    assert document((tmp_path / "laws.html").read_text())["kind"] == "discovery"


def test_notebooks(result):
    shown = result._repr_html_()
    assert f"{len(result.broken)} of {len(RULES)} rules broken" in shown
    assert "<code>fd (zip) -&gt; city</code>" in shown
    many = RuleSet.of({f"<b>{n}": f"fd (`<i>{n}`) -> city" for n in range(50)})
    shown = many._repr_html_()
    assert "... and 30 more" in shown
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert len(shown) < 20_000
    found = rowlaw.discover(pa.table({"a": [1, 2], "b": [1, 1]}), progress=False)._repr_html_()
    assert "Discovery of" in found
    assert "score" in found
