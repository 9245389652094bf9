"""Results for other programs: CSV, Markdown, JUnit's XML and the workflow commands of GitHub.

A rule that is broken with severity warn is a warning everywhere: no failure, but never silent.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from rowlaw.rules import RuleSet, english
from rowlaw.rules.wording import counted
from rowlaw.violations import Result, Verdict
from rowlaw.violations.sides import Clash, printed

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


def check_text(result: Result, format: str, *, sample: int, source: str) -> str:
    """What ``rowlaw check --format`` prints, for the formats that only programs read."""
    match format:
        case "csv":
            return check_csv(result)
        case "markdown":
            return check_markdown(result, sample, source)
        case "junit":
            return check_junit(result, sample, source)
        case _:
            return check_github(result, sample)


def check_csv(result: Result) -> str:
    """A line for each rule."""
    rows = [
        [
            v.id,
            v.rule.kind,
            v.status,
            v.violations,
            v.rows,
            repr(v.error),
            v.named.severity,
            repr(v.named.tolerate),
            str(v.named.rule),
        ]
        for v in result.verdicts
    ]
    return _csv(["id", "kind", "verdict", "violations", "rows", "error", "severity", "tolerate", "rule"], rows)


def rules_csv(rules: RuleSet) -> str:
    """A line for each rule of a set, as ``rowlaw discover`` lists them."""
    rows = [
        [r.id, r.kind, _known(r.error), _known(r.support), _known(r.score), str(r.rule), english(r.rule)] for r in rules
    ]
    return _csv(["id", "kind", "error", "support", "score", "rule", "sentence"], rows)


def rules_markdown(rules: RuleSet) -> str:
    """A table of the rules of a set."""
    rows = [
        [_text(r.id), r.kind, "" if r.score is None else f"{r.score:.2f}", _code(str(r.rule)), _text(english(r.rule))]
        for r in rules
    ]
    return _table(["rule", "kind", "score", "law", "in words"], rows)


def check_markdown(result: Result, sample: int, source: str) -> str:
    """A summary, a table of the rules, and the clashes of those that are broken."""
    broken = len(result.broken)
    rules = counted(len(result.verdicts), "rule")
    head = f"**{broken:,} of {rules} broken** in {_text(source)}, {counted(result.table_rows, 'row')}"
    rows = [
        [_text(v.id), v.status, f"{v.violations:,}", f"{v.rows:,}", _code(str(v.named.rule))] for v in result.verdicts
    ]
    parts = [head, _table(["rule", "verdict", "violations", "rows", "law"], rows)]
    for verdict in result.broken if sample else ():
        parts.append(f"### {_text(verdict.id)}\n\n{_text(english(verdict.rule, result.engine.types))}")
        for clash in result.side_by_side(verdict.id, sample):
            parts.append(_clash_table(clash))
    return "\n\n".join(parts)


def _clash_table(clash: Clash) -> str:
    def value(shown: Any, marked: bool) -> str:
        text = _code(printed(shown))
        return f"**{text}**" if marked else text

    rows = [
        [_text(line.left), value(line.left_value, line.marked), _code(line.op), value(line.right_value, line.marked)]
        + ([_text(line.right)] if any(k.left != k.right for k in clash.lines) else [])
        for line in clash.lines
    ]
    head = ["", _text(clash.s_name), "", _text(clash.t_name), ""]
    return _table(head[: len(rows[0])], rows)


def check_junit(result: Result, sample: int, source: str) -> str:
    """A test case for each rule, in the XML that continuous integration servers read."""
    failed = [v for v in result.broken if v.named.severity == "error"]
    took = f"{sum(result.seconds.values()):.3f}"
    counts = {"tests": str(len(result.verdicts)), "failures": str(len(failed)), "errors": "0"}
    top = ET.Element("testsuites", {"name": "rowlaw", **counts, "time": took})
    suite = ET.SubElement(top, "testsuite", {"name": _xml(source), **counts, "skipped": "0", "time": took})
    for verdict in result.verdicts:
        case = ET.SubElement(
            suite, "testcase", {"name": _xml(f"{verdict.id}: {verdict.named.rule}"), "classname": "rowlaw", "time": "0"}
        )
        if not verdict.violations:
            continue
        lines = [
            english(verdict.rule, result.engine.types),
            *(_plain(clash) for clash in result.side_by_side(verdict.id, sample)),
        ]
        if verdict in failed:
            ET.SubElement(case, "failure", {"message": _xml(_summary(verdict)), "type": verdict.rule.kind}).text = _xml(
                "\n".join(lines)
            )
        else:
            ET.SubElement(case, "system-out").text = _xml("\n".join([f"{verdict.status}: {_summary(verdict)}", *lines]))
    ET.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(top, encoding="unicode")


def check_github(result: Result, sample: int) -> str:
    """An annotation for each rule that has violations, at its place in the rule file, and a line that sums up."""
    lines = []
    for verdict in result.verdicts:
        if not verdict.violations:
            continue
        level = {"broken": "error", "warning": "warning", "tolerated": "notice"}[verdict.status]
        properties = {"title": f"rowlaw: {verdict.id}"}
        origin = verdict.named.origin.source if verdict.named.origin else None
        if origin is not None and origin.file:
            properties = {"file": origin.file, "line": str(origin.line or 1), **properties}
        shown = [
            f"{english(verdict.rule, result.engine.types)} {_summary(verdict)}",
            *map(_plain, result.side_by_side(verdict.id, sample)),
        ]
        attributes = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        lines.append(f"::{level} {attributes}::{_data(chr(10).join(shown))}")
    of = counted(len(result.verdicts), "rule")
    return "\n".join([*lines, f"rowlaw: {len(result.broken):,} of {of} broken, {counted(result.table_rows, 'row')}"])


def _summary(verdict: Verdict) -> str:
    return f"{counted(verdict.violations, 'violation')} in {verdict.rows:,} of {verdict.table_rows:,} rows"


def _plain(clash: Clash) -> str:
    """A violation in one line."""
    rows = clash.s_name + (f" and {clash.t_name}" if clash.t_name else "")
    parts = []
    for line in clash.lines:
        right = "" if line.right in ("", line.left) else f"{line.right} "
        parts.append(f"{line.left} {printed(line.left_value)} {line.op} {right}{printed(line.right_value)}")
    return f"{rows}: {', '.join(parts)}"


def _known(value: float | None) -> str:
    return "" if value is None else repr(value)


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return buffer.getvalue().rstrip("\n")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts."""
    return _table(head, [[_text(cell) for cell in row] for row in rows])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _text(text: str) -> str:
    """Text of which Markdown makes nothing."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Text in Markdown's code, inside a table: the fence is longer than any run of backticks in it."""
    plain = " ".join(text.split()).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") or not plain else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def _xml(text: str) -> str:
    """Text without the characters that no XML document can hold."""
    return _NOT_XML.sub("�", text)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
