"""What is wrong with a CSV file, and on which line: the file is read once more, on the way to an error."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from rowlaw.errors import RowlawError
from rowlaw.rules.wording import counted
from rowlaw.source.csv import Dialect, open_bytes, undecoded


def explain(path: str, dialect: Dialect, width: int, problem: str) -> RowlawError:
    """The named error behind a failure to parse: which line, and what is wrong there. Reads the file once more."""
    line, offset = 1, 0
    with open_bytes(path) as stream:
        if dialect.encoding in ("utf-8", "utf-8-sig"):
            for raw in io.BufferedReader(stream):  # type: ignore[type-var, arg-type]
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    return RowlawError(
                        "BAD_ENCODING", path=path, line=line, byte=offset + error.start, encoding="UTF-8"
                    )
                line, offset = line + 1, offset + len(raw)
    try:
        open_line = unclosed(path, dialect)
        if open_line is not None:
            return _unclosed_quote(path, open_line)
        with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, newline="") as text:
            begins = 1 + (next(text, None) is not None if dialect.marked else 0)
            for row, lines in _located(text, dialect):
                if row and len(row) != width:
                    above = "delete the lines above the header, " if width == 1 else ""
                    fields = counted(len(row), "field")
                    return RowlawError("RAGGED_ROW", path=path, line=begins, fields=fields, expected=width, above=above)
                begins += len(lines)
    except UnicodeError as error:
        return undecoded(path, dialect, error)
    except csv.Error as error:
        return RowlawError("BAD_FILE", path=path, problem=str(error))
    return RowlawError("BAD_FILE", path=path, problem=problem)


def _located(text: Iterable[str], dialect: Dialect) -> Iterator[tuple[list[str], list[str]]]:
    """The rows of a text, each with its lines. A field may be of any length."""
    lines: list[str] = []

    def recorded() -> Iterator[str]:
        for line in text:
            lines.append(line)
            yield line

    limit = csv.field_size_limit((1 << 31) - 1)
    try:
        for row in csv.reader(recorded(), delimiter=dialect.delimiter, quotechar=dialect.quote):
            yield row, lines
            lines.clear()
    finally:
        csv.field_size_limit(limit)


def unclosed(path: str, dialect: Dialect) -> int | None:
    """The line on which the last row begins, if a quote is opened in it that the file never closes."""
    begins, after, last = 1, 1, []
    with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, errors="replace", newline="") as text:
        for _, lines in _located(text, dialect):
            begins, last = after, list(lines)
            after += len(lines)
    limit = csv.field_size_limit((1 << 31) - 1)
    try:
        for _ in csv.reader(last, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True):
            pass
    except csv.Error as error:
        return begins if "unexpected end" in str(error) else None
    finally:
        csv.field_size_limit(limit)
    return None


def is_header_alone(path: str, dialect: Dialect) -> bool:
    """Return whether a file has one row and no more."""
    try:
        with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, newline="") as text:
            if dialect.marked:
                next(text, None)
            rows = (row for row, _ in _located(text, dialect) if row)
            return next(rows, None) is not None and next(rows, None) is None
    except (csv.Error, UnicodeError):
        return False


def check_closed(path: str, dialect: Dialect) -> None:
    """Raise an error if the file ends within a quoted field: what should be rows is then part of it."""
    line = unclosed(path, dialect)
    if line is not None:
        raise _unclosed_quote(path, line)


def _unclosed_quote(path: str, line: int) -> RowlawError:
    return RowlawError("BAD_FILE", path=path, problem=f"line {line}: a quote is opened here and never closed")


def find_value(path: str, dialect: Dialect, column: int, value: str) -> int | None:
    """The line on which ``value`` first stands in a column. Only ever asked on the way to an error."""
    with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, newline="") as text:
        rows = csv.reader(text, delimiter=dialect.delimiter, quotechar=dialect.quote)
        begins = 1
        for row in rows:
            if len(row) > column and row[column].strip() == value.strip():
                return begins
            begins = rows.line_num + 1
    return None
