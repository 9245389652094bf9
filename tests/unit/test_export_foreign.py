"""Rules in the notation of Desbordante and Metanome."""

import json

import desbordante
import pandas as pd
import pytest

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.export.foreign import import_rules, read_foreign


def texts(text, **options):
    return [str(r.rule) for r in read_foreign(text, **options)]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("!(s.A == t.A and s.B != t.B)", "not (s.A = t.A and s.B != t.B)"),
        ("  !( s.A==t.A and s.B<>t.B )  ", "not (s.A = t.A and s.B != t.B)"),
        ("¬{ t.A <= s.A ∧ t.C >= s.B }", "not (s.A >= t.A and s.B <= t.C)"),
        (
            "¬(t0.adult.csv.age=t1.adult.csv.age^t0.adult.csv.pay≤t1.adult.csv.pay)",
            "not (s.age = t.age and s.pay <= t.pay)",
        ),
        ("not (s.A == t.A && s.B > 7.5 & t.C = 'x')", "not (t.C = 'x' and s.A = t.A and s.B > 7.5)"),
        ("!(7 < s.A)", "not (s.A > 7)"),
        ("¬{ t.Order Date == s.Order Date }", "not (s.`Order Date` = t.`Order Date`)"),
        ("[A, B]", "key (A, B)"),
        ("[adult.csv.A, adult.csv.B]", "key (A, B)"),
        ("[A B] -> C", "fd (A, B) -> C"),
        ("[] -> C", "fd () -> C"),
        ("[adult.csv.A, adult.csv.B]->adult.csv.C", "fd (A, B) -> C"),
        ("[A]~>[<=,lex][B, C]", "od [A] -> [B, C]"),
        ("[A, B]~>[<=,pnt][C]", "not (s.A <= t.A and s.B <= t.B and s.C > t.C)"),
        ("[A]~>[<,lex][B]", "not (s.A < t.A and s.B >= t.B)"),
        ("{A} : [] -> B", "fd (A) -> B"),
        ("{A,B}: C ~ D", "od {A, B}: C ~ D"),
        ("{} : C<= ~ D>=", "od {}: C ~ D desc"),
    ],
)
def test_lines(line, rule):
    if line.startswith("not (s.A == t.A &&"):
        rule = str(rowlaw.parse("not (s.A = t.A and s.B > 7.5 and t.C = 'x')"))
    assert texts(line) == [rule]


def test_several_rules_of_one_line():
    assert texts("[A]~>[<=,pnt][B, C]") == ["not (s.A <= t.A and s.B > t.B)", "not (s.A <= t.A and s.C > t.C)"]


def test_lines_that_say_nothing_are_left_out():
    assert texts("# a comment\n\n// another\n[A]\n[A]\n") == ["key (A)"]


def column(name):
    return {"tableIdentifier": "a.csv", "columnIdentifier": name}


def columns(*names):
    return {"columnIdentifiers": [column(name) for name in names]}


def variable(left, index, op, right, other):
    return {
        "type": "x.PredicateVariable",
        "column1": column(left),
        "index1": index,
        "op": op,
        "column2": column(right),
        "index2": other,
    }


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({"type": "UniqueColumnCombination", "columnCombination": columns("B", '"A"')}, "key (A, B)"),
        ({"type": "FunctionalDependency", "determinant": columns("A"), "dependant": column("B")}, "fd (A) -> B"),
        (
            {
                "type": "OrderDependency",
                "lhs": columns("A"),
                "rhs": columns("C", "B"),
                "orderType": "LEXICOGRAPHICAL",
                "comparisonOperator": "SMALLER_EQUAL",
            },
            "od [A] -> [C, B]",
        ),
        (
            {
                "type": "DenialConstraint",
                "predicates": [variable("A", 0, "EQUAL", "A", 1), variable("B", 1, "GREATER", "C", 0)],
            },
            "not (s.A = t.A and s.C < t.B)",
        ),
        (
            {
                "type": "DenialConstraint",
                "predicates": [{"column1": column("A"), "index1": 0, "op": "LESS", "constant": 0.5}],
            },
            "not (s.A < 0.5)",
        ),
    ],
)
def test_json_results_of_metanome(document, rule):
    assert texts(json.dumps(document)) == [rule]


def test_short_files_of_metanome():
    head = "# TABLES\nadult.csv\t1\n# COLUMN\n1.age\t1\n1.pay.day\t2\n1.zip\t3\n# RESULTS\n"
    assert texts(head + "1,2->3\n1,3\n2~>[<=,lex]1\n->2\n") == [
        "fd (age, `pay.day`) -> zip",
        "key (age, zip)",
        "od [`pay.day`] -> [age]",
        "fd () -> `pay.day`",
    ]


@pytest.mark.parametrize(
    ("text", "words", "caret"),
    [
        ("[A]\nnonsense", "expected !(s.A == t.A)", "^^^^^^^^"),
        ("!s.A == t.A", "stands in brackets", "^^^^^^^^^^^"),
        ("!(s.A == t.A}", "'(' is closed by '}'", "            ^"),
        ("!(s.A t.A)", "a comparison is missing", "  ^^^^^^^"),
        ("!()", "at least one comparison", "  ^"),
        ("!(s.A == t.A and )", "a comparison is missing", "                 ^"),
        ("!(s.A == t.A != s.B)", "more than one comparison", "  ^^"),
        ("!(s.A == s.A)", "compared with itself", "  ^^^^^"),
        ("!(1 == 2)", "two literals", "  ^^^^^^"),
        ("!(s. == t.A)", "name is missing after the dot", "  ^^"),
        ("!(s.A == A)", "expected s.column", "         ^"),
        ("[]", "at least one column", "^^"),
        ("[A, ] -> B", "a column name is missing", "   ^"),
        ("{1} : [] -> 2<=", "the columns are numbered", " ^"),
        ("[A, B]~>[<,lex][C]", "strict lexicographic", "^^^^^"),
        ("[A]~>[<=,lex][]", "at least one column on its right", "^^^^^"),
        ('{"type": "InclusionDependency"}', "'InclusionDependency' is no rule", "^"),
        ('{"type": "FunctionalDependency"}', "lacks 'determinant'", "^"),
        ('{"type": "FunctionalDependency"', "this is not JSON", "                               ^"),
        ('{"type": "DenialConstraint", "predicates": [{"op": "LIKE"}]}', "'LIKE' is not known", "^"),
        ("# COLUMN\nage 1\n# RESULTS\n", "a name, a tab and a number", "^^^^^"),
    ],
)
def test_errors_point_at_the_place(text, words, caret):
    with pytest.raises(RowlawError) as raised:
        read_foreign(text, file="found.txt")
    shown = str(raised.value)
    assert words in shown
    assert f"\n  | {caret}" in shown
    assert f"found.txt:{2 if 'nonsense' in text or 'COLUMN' in text else 1}" in shown


def test_known_columns_guard_against_misreading(tmp_path):
    assert texts("[A B b] -> C", columns=["A", "B b", "C"]) == ["fd (A, `B b`) -> C"]
    assert texts("[t.x.csv.A]", columns=["A"]) == ["key (A)"]
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN.*did you mean 'City'"):
        read_foreign("[Citi]", columns=["City"])
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN: no column '9'"):
        read_foreign("{9} : [] -> 1", columns=["A"])
    with pytest.raises(RowlawError, match="NO_SUCH_FILE"):
        import_rules(tmp_path / "nothing.txt")
    (tmp_path / "latin.txt").write_bytes(b"[\xe9]")
    with pytest.raises(RowlawError, match="BAD_FILE"):
        import_rules(tmp_path / "latin.txt")


def test_what_desbordante_prints_holds_on_its_table():
    """Rules that it finds, as it prints them, are true of the table they were found in."""
    frame = pd.DataFrame({"A": [1, 1, 2, 3, 4], "B b": list("xxyyz"), "C": [5, 4, 3, 2, 1], "D": [1, 2, 2, 3, 9]})
    printed = []
    for algorithm, results, options in (
        (desbordante.dc.algorithms.FastADC(), ["get_dcs"], {"shard_length": 5}),
        (desbordante.fd.algorithms.HyFD(), ["get_fds"], {}),
        (desbordante.ucc.algorithms.HyUCC(), ["get_uccs"], {}),
        (desbordante.od.algorithms.Fastod(), ["get_asc_ods", "get_desc_ods", "get_simple_ods"], {}),
    ):
        algorithm.load_data(table=frame)
        algorithm.execute(**options)
        printed += [str(found) for name in results for found in getattr(algorithm, name)()]
    rules = read_foreign("\n".join(printed), columns=list(frame.columns))
    assert {r.kind for r in rules} == {"dc", "fd", "key", "od"}
    assert len(rules) > 30
    result = rowlaw.check(frame, rules, progress=False)
    assert result.broken == ()
