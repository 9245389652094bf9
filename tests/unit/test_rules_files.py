"""Rule files: what is read, what is refused and where, and how they are written."""

import os

import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import NamedRule, RuleSet, files, load, parse

GOOD = """\
# the laws of the tax table
version: 1
nulls: equal
predicates: {cross: true, overlap: 0.3, columns: [zip, "1"], limits: {a: null}}
rules:
  R1: not (s.a = t.a)   # a comment
  yes: key (zip)
  2: 'od {country}: population ~ density'
  long:
    rule: |
      not (s.a = t.a
        and s.b != t.b)
    severity: warn
    tolerate: 1e-3
    because: 2020
    error: 0
    support: 12
    score: 1.5
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "laws.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_load(write):
    rules = load(write(GOOD))
    assert [r.id for r in rules] == ["R1", "yes", "2", "long"]
    assert rules.nulls == "equal"
    assert rules.settings == {"cross": True, "overlap": 0.3, "columns": ["zip", "1"], "limits": {"a": None}}
    expected = NamedRule("long", parse("not (s.a = t.a and s.b != t.b)"), "warn", 0.001, "2020", 0.0, 12, 1.5)
    assert rules["long"] == expected
    assert rules["R1"].origin.source.line == 6
    assert rules["long"].origin.source.line == 11


def test_a_list_will_do(write):
    rules = load(write("rules:\n- key (a)\n- rule: key (b)\n  severity: warn\n"))
    assert [(r.id, str(r), r.severity) for r in rules] == [("R1", "key (a)", "error"), ("R2", "key (b)", "warn")]


def test_no_rules_must_be_said(write):
    assert len(load(write("rules: {}"))) == len(load(write("rules: []"))) == 0


def test_a_byte_order_mark_is_not_text(write):
    assert len(load(write(b"\xef\xbb\xbfrules: [key (a)]"))) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty"),
        ("# nothing\n", None, "the file is empty"),
        ("- key (a)", 1, "the file must be a map with the keys version, nulls, predicates, rules"),
        ("nulls: equal", 1, "there is no 'rules:'"),
        ("rules:\n", 1, "has nothing below it"),
        ("rules: key (a)", 1, "rules must be a map from ids to rules, or a list of rules"),
        ("rulez:\n  R1: key (a)", 1, "cannot have the key 'rulez'; did you mean 'rules'?"),
        ("nulls: maybe\nrules: {}", 1, "nulls must be unknown or equal, not maybe"),
        ("rules: {}\nnulls:\n  a: b", 3, "nulls must be unknown or equal, not {a: b}"),
        ("version: 2\nrules: {}", 1, "version must be 1"),
        ("rules: {}\npredicates: 5", 2, "predicates must be a map"),
        ("rules: {}\nrules: {}", 2, "the key 'rules' was given before, in line 1"),
        ("rules: {}\npredicates:\n  a: 1\n  a: 2", 4, "the key 'a' was given before, in line 3"),
        ("rules:\n  R1:\n", 2, "rule 'R1' has no text"),
        ("rules:\n  R1: [key (a)]", 2, "rule 'R1' must be a map"),
        ("rules:\n  R1:\n    severity: warn", 3, "rule 'R1' has no text; give it as 'rule:'"),
        ("rules:\n  R1:\n    rule: [a]", 3, "rule 'R1' has no text"),
        (
            "rules:\n  R1:\n    rule: key (a)\n    severty: warn",
            4,
            "cannot have the key 'severty'; did you mean 'severity'?",
        ),
        ("rules:\n  R1:\n    rule: key (a)\n    severity: fatal", 4, "severity must be 'error' or 'warn', not 'fatal'"),
        ("rules:\n  R1:\n    rule: key (a)\n    tolerate: 5%", 4, "tolerate must be a share from 0 to 1, not '5%'"),
        ("rules:\n  R1:\n    rule: key (a)\n    tolerate: 2", 4, "tolerate must be a share from 0 to 1, not 2"),
        ("rules:\n  R1:\n    rule: key (a)\n    tolerate:", 4, "tolerate must be a share from 0 to 1, not None"),
        ("rules:\n  R1:\n    rule: key (a)\n    support: .nan", 4, "support must be a whole number"),
        ("rules:\n  R1:\n    rule: key (a)\n    because: [x]", 4, "because must be one value"),
        ("rules:\n  ? [a]\n  : key (a)", 2, "a key of rules must be text"),
        ('rules:\n  "a\\nb": key (a)', 2, "printable"),
        ("rules:\n  R1: &x key (a)\n  R2: *x", 2, "anchors and aliases"),
        ("rules: {}\npredicates: {<<: *x}", 2, "anchors and aliases"),
        ("rules: {}\n---\nrules: {}", 2, "more than one document"),
        ("rules:\n  R1: 'key (a)\n", 3, "not valid YAML"),
        ("rules:\n  R1: key (a): b", 2, "not valid YAML"),
        ("rules:\n\tR1: key (a)", 2, "not valid YAML"),
        ("rules: {}\npredicates: " + "[" * 100000, 2, "nested more than 20 deep"),
        ("rules:\n  R1: key (\x07)", 2, "is not allowed in YAML"),
        (b"rules:\n  R1: key (\xff)", 2, "not valid UTF-8"),
    ],
)
def test_refused_with_file_and_line(write, text, line, message):
    path = write(text)
    with pytest.raises(RowlawError) as caught:
        load(path)
    assert caught.value.condition == "RULE_FILE"
    assert caught.value.message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert message in caught.value.message


def test_a_bad_rule_is_pointed_at(write):
    path = write("rules:\n  R1: key (a)\n  city:\n    rule: >\n      fd (zip -> city\n")
    with pytest.raises(RowlawError) as caught:
        load(path)
    assert str(caught.value).split("\n") == [
        "RULE_SYNTAX: expected ')' or ',', found '->'",
        f"  in rule city, {path}:5",
        "  | fd (zip -> city",
        "  |         ^^",
    ]


def test_a_duplicate_id_names_both_lines(write):
    path = write("rules:\n  A: key (a)\n  B: key (b)\n  A: key (c)\n")
    with pytest.raises(RowlawError) as caught:
        load(path)
    assert caught.value.condition == "DUPLICATE_RULE_ID"
    assert f"'A' is used twice, in lines 2 and 4 of {path}" in caught.value.message


def test_files_that_cannot_be_read(tmp_path, write, monkeypatch):
    path = write(GOOD)
    with pytest.raises(RowlawError, match=r"NO_SUCH_FILE.*did you mean 'laws.yaml'"):
        load(tmp_path / "law.yaml")
    with pytest.raises(RowlawError, match="NO_SUCH_FILE"):
        load(tmp_path / "no" / "laws.yaml")
    with pytest.raises(RowlawError, match=r"RULE_FILE.*cannot be read"):
        load(tmp_path)
    monkeypatch.setattr(files, "MAX_SIZE", 10)
    with pytest.raises(RowlawError, match="larger than 10 bytes"):
        load(path)


def test_a_file_of_a_very_long_discovery_is_read_again(tmp_path):
    """Twenty megabytes, most of them in reasons, which are quick to read."""
    rules = RuleSet.of([NamedRule(f"R{n}", parse(f"key (c{n})"), because="x" * 1_000_000) for n in range(20)])
    rules.save(tmp_path / "laws.yaml")
    assert load(tmp_path / "laws.yaml") == rules


def test_save_reads_well(tmp_path):
    path = tmp_path / "laws.yaml"
    rules = [
        NamedRule("R1", parse("not (s.a = t.a and s.x != 'it''s')")),
        NamedRule("yes", parse("od {c}: a ~ b")),
        NamedRule("R3", parse("fd (`a\nb`) -> c"), severity="warn", tolerate=1e-7, because="yes", score=3.0, support=5),
        NamedRule("R4", parse("key (a)"), because="trailing blank "),
    ]
    RuleSet.of(rules, settings={"cross": False, "columns": ["a", "b c"], "top": 1e22}).save(path)
    assert path.read_text() == (
        "version: 1\n"
        "nulls: unknown\n"
        "predicates:\n"
        "  cross: false\n"
        "  columns: [a, 'b c']\n"
        "  top: 1.0e+22\n"
        "rules:\n"
        "  R1: not (s.a = t.a and s.x != 'it''s')\n"
        "  'yes': 'od {c}: a ~ b'\n"
        "  R3:\n"
        '    rule: "fd (`a\\nb`) -> c"\n'
        "    severity: warn\n"
        "    tolerate: 1.0e-07\n"
        "    because: 'yes'\n"
        "    support: 5\n"
        "    score: 3.0\n"
        "  R4:\n"
        "    rule: key (a)\n"
        "    because: 'trailing blank '\n"
    )
    assert load(path).rules == tuple(rules)


def test_save_replaces_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "laws.yaml"
    RuleSet.of("key (a)").save(path)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    RuleSet.of("key (b)").save(link)
    assert link.is_symlink()
    assert str(load(path)["R1"]) == "key (b)"

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(RowlawError, match="No space left"):
        RuleSet.of("key (c)").save(path)
    assert str(load(path)["R1"]) == "key (b)"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["laws.yaml", "link.yaml"]


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "laws.yaml"
    with pytest.raises(RowlawError, match="NO_SUCH_FILE"):
        RuleSet().save(tmp_path / "no" / "laws.yaml")
    with pytest.raises(RowlawError, match="setting 'x': set cannot be written"):
        RuleSet(settings={"x": {1}}).save(path)
    with pytest.raises(RowlawError, match="name of a setting"):
        RuleSet(settings={5: 1}).save(path)
    with pytest.raises(RowlawError, match="not valid Unicode"):
        RuleSet.of(NamedRule("R1", parse("key (a)"), because="\ud800")).save(path)
    from rowlaw.rules import Key

    with pytest.raises(RowlawError, match="RULE_TOO_LONG"):
        RuleSet.of(Key(tuple(f"c{i}" for i in range(1001)))).save(path)
    assert not path.exists()
