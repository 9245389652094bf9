"""CSV and TSV: what the file looks like (delimiter, quote, header, encoding), and splits that workers parse alone."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from rowlaw.errors import RowlawError
from rowlaw.source.infer import typed

_DELIMITERS = (",", "\t", ";", "|")
_SNIFFED_BYTES = 256 * 1024
_SNIFFED_ROWS = 200
SPLIT_BYTES = 32 * 1024 * 1024  # a split takes pyarrow a few tenths of a second
_BLOCK_BYTES = (1 << 20, 1 << 25, (1 << 31) - 1)  # that pyarrow parses at once: its default, and what longer rows need
SUFFIX_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}
# Excel writes it before the header
_SEPARATOR_LINE = re.compile(r"\ufeff?[\"']?sep=(.|\\t|tab)[\"']?\r?\n", re.IGNORECASE)
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file of delimited text is to be read."""

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    encoding: str = "utf-8"
    marked: bool = False  # the first line is Excel's sep=; and no row
    null_values: tuple[str, ...] = ()  # texts that count as null, besides empty fields


def compression(path: str) -> str | None:
    return SUFFIX_COMPRESSION.get(Path(path).suffix.casefold())


def open_bytes(path: str) -> IO[bytes]:
    """The file's bytes, decompressed."""
    return pa.input_stream(path, compression=compression(path))  # type: ignore[no-any-return]


def sniff(path: str, **given: Any) -> Dialect:
    """The dialect of a file, judged by its beginning; what is ``given`` is not guessed."""
    given = {name: value for name, value in given.items() if value is not None}
    for name in ("delimiter", "quote"):
        if name in given and not (isinstance(given[name], str) and len(given[name]) == 1 and given[name].isascii()):
            raise RowlawError("BAD_OPTION", option=name, value=given[name], problem="one character of ASCII is needed")
    try:
        with open_bytes(path) as stream:
            head = stream.read(_SNIFFED_BYTES)
    except (OSError, pa.ArrowException) as error:
        raise RowlawError("BAD_FILE", path=path, problem=str(error)) from None
    if not head.strip():
        raise RowlawError("EMPTY_FILE", path=path)
    encoding = given.setdefault("encoding", next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8"))
    try:
        text = head.decode(encoding, errors="ignore")
    except LookupError:
        raise RowlawError("BAD_OPTION", option="encoding", value=encoding, problem="no such encoding") from None
    whole_lines = text.rfind("\n") + 1 if len(head) == _SNIFFED_BYTES else 0
    text = text[:whole_lines] or text
    mark = _SEPARATOR_LINE.match(text)
    if mark:
        given.setdefault("delimiter", "\t" if mark[1].casefold() in ("\\t", "tab") else mark[1])
        given["marked"] = True
        text = text[mark.end() :]
    quote = given.setdefault("quote", _sniff_quote(text))
    if "delimiter" not in given:
        tabbed = Path(path).name.casefold().split(".")[1:2] == ["tsv"] or ".tsv" in path.casefold()
        given["delimiter"] = "\t" if tabbed else _sniff_delimiter(text, quote)
    if "header" not in given:
        rows = list(_rows(text, given["delimiter"], quote))
        given["header"] = _has_header(rows) if rows else True
    return Dialect(**given)


def _rows(text: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    try:
        for count, row in enumerate(row for row in rows if row):
            if count == _SNIFFED_ROWS:
                return
            yield row
    except csv.Error:  # a field beyond the csv module's limit: what was seen so far decides
        return


def _sniff_quote(text: str) -> str:
    double, single = text.count('"'), sum(text.count(f"{d}'") for d in _DELIMITERS)
    return "'" if not double and single and text.lstrip().startswith("'") else '"'


def _sniff_delimiter(text: str, quote: str) -> str:
    """The delimiter that cuts most rows into one same number of fields, and into many."""

    def merit(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in _rows(text, delimiter, quote)]
        if not widths or widths[0] < 2:
            return (0.0, 0)
        return (sum(width == widths[0] for width in widths) / len(widths), widths[0])

    return max(_DELIMITERS, key=lambda d: (merit(d)[0] > 0.9, *merit(d)))


def _has_header(rows: list[list[str]]) -> bool:
    """A first row is data only if it looks like the rows below in every column, and in one of them not by being text.

    Names such as ``1, 2, 3`` or ``2019, 2020`` are numbers too: consecutive ones count as names.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    numbers = [int(cell) for cell in first if cell.isdecimal()]
    if not below or (numbers and len(numbers) > 1 and all(b - a == 1 for a, b in pairwise(numbers))):
        return True
    if "" in first:
        return True
    kinds = []
    for column, cell in enumerate(first):
        others = [row[column] for row in below if row[column]]
        alone, together = typed(pa.array([cell])).type, typed(pa.array(others, pa.string())).type
        if not others:
            continue
        if alone != together and not (pa.types.is_integer(alone) and pa.types.is_floating(together)):
            return True
        kinds.append(together)
    return all(pa.types.is_large_string(kind) for kind in kinds)


def column_names(path: str, dialect: Dialect) -> list[str]:
    """The names in the header without blanks around them, or ``c1, c2, ...`` where there is none or where a name is
    empty."""
    try:
        with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, errors="replace", newline="") as text:
            if dialect.marked:
                next(text, None)
            first = next(
                (row for row in csv.reader(text, delimiter=dialect.delimiter, quotechar=dialect.quote) if row), []
            )
    except UnicodeError as error:  # UTF-16 that does not say which of the two it is
        raise undecoded(path, dialect, error) from None
    return _named(first if dialect.header else [""] * len(first))


def _named(cells: Sequence[str]) -> list[str]:
    """The cells of a header as names. A delimiter at the end of the line, or an index column of pandas, has an empty
    one.

    >>> _named(["id", " name", ""]), _named(["a", " a", "c3"])
    (['id', 'name', 'c3'], ['a', ' a', 'c3'])
    """
    plain = [cell.strip().removeprefix("\ufeff").strip() for cell in cells]
    names = [name if plain.count(name) == 1 else cell for name, cell in zip(plain, cells, strict=True)]
    for i, name in enumerate(names):
        if not name.strip():
            names[i] = next(own for n in count() if (own := f"c{i + 1}{'_' * n}") not in names)
    return names


def first_rows(path: str, dialect: Dialect) -> list[list[str]]:
    """The first rows of a file, without its header."""
    with open_bytes(path) as stream:
        text = stream.read(_SNIFFED_BYTES).decode(dialect.encoding, errors="ignore")
    if dialect.marked:
        text = text.partition("\n")[2]
    rows = list(_rows(text, dialect.delimiter, dialect.quote))
    return rows[1:] if dialect.header else rows


@dataclass(frozen=True, slots=True)
class CsvSplit:
    """The lines of a file from byte ``start`` to byte ``end`` (to its end if None), the header among them or not."""

    path: str
    dialect: Dialect
    names: tuple[str, ...]
    size: int
    start: int = 0
    end: int | None = None
    skip_header: bool = True

    columnar = False

    def read(self, columns: Sequence[str]) -> pa.Table:
        plain_utf8 = self.dialect.encoding in ("utf-8", "utf-8-sig")
        positions = [str(i) for i in range(len(self.names))]  # names may repeat
        # a quote that is never closed takes the rest of the file into the last field of the last row
        last = len(columns) if self.end is None or self.end == Path(self.path).stat().st_size else None
        included = [positions[self.names.index(name)] for name in columns] + (
            [positions[-1]] if last is not None else []
        )
        read_options = {
            "column_names": positions,
            "skip_rows": 1 if self.dialect.marked and self.start == 0 else 0,
            "skip_rows_after_names": 1 if self.skip_header else 0,
            "encoding": "utf8" if plain_utf8 else self.dialect.encoding,
            "use_threads": False,
        }
        parse_options = pacsv.ParseOptions(
            delimiter=self.dialect.delimiter,
            quote_char=self.dialect.quote,
            newlines_in_values=True,
            ignore_empty_lines=len(self.names) > 1,  # in a table of one column an empty line is a null
        )
        convert_options = pacsv.ConvertOptions(
            column_types=dict.fromkeys(positions, pa.string()),
            include_columns=included,
            null_values=["", *self.dialect.null_values],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        from rowlaw.source import csv_errors  # what is wrong with a file is looked for when something is

        try:
            parsed = self._parsed(read_options, parse_options, convert_options)
        except (pa.ArrowInvalid, UnicodeDecodeError, LookupError) as error:
            if self.skip_header and csv_errors.is_header_alone(self.path, self.dialect):  # without an end of line
                return pa.table({name: pa.array([], pa.string()) for name in columns})
            raise csv_errors.explain(self.path, self.dialect, len(self.names), str(error)) from None
        if last is None:
            return parsed.rename_columns(list(columns))
        if len(parsed) and "\n" in (parsed.column(last)[-1].as_py() or ""):
            csv_errors.check_closed(self.path, self.dialect)
        return parsed.select(range(last)).rename_columns(list(columns))

    def _parsed(self, read_options: dict[str, Any], *options: Any) -> pa.Table:
        """The table, in blocks that are as large as its longest row needs."""
        for block_bytes in _BLOCK_BYTES:
            limit = block_bytes if compression(self.path) else min(block_bytes, self.size + 1)
            try:
                return pacsv.read_csv(
                    self._bytes(), pacsv.ReadOptions(block_size=max(limit, _BLOCK_BYTES[0]), **read_options), *options
                )
            except pa.ArrowInvalid as error:
                if "straddl" not in str(error) or limit < block_bytes or block_bytes == _BLOCK_BYTES[-1]:
                    raise
        raise AssertionError("the last block size returns or raises")

    def _bytes(self) -> Any:
        if self.start == 0 and self.end is None:
            return open_bytes(self.path)
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return pa.BufferReader(file.read(-1 if self.end is None else self.end - self.start))


def splits(path: str, dialect: Dialect, names: Sequence[str]) -> list[CsvSplit]:
    """The file in splits of about ``SPLIT_BYTES``, cut at ends of rows (never inside a quoted field)."""
    size = Path(path).stat().st_size
    whole = CsvSplit(path, dialect, tuple(names), size, skip_header=dialect.header)
    ascii_like = dialect.encoding.casefold().replace("_", "-") in (
        "utf-8",
        "utf-8-sig",
        "ascii",
        "latin-1",
        "iso-8859-1",
        "cp1252",
    )
    if compression(path) or size <= SPLIT_BYTES * 3 // 2 or not ascii_like:
        return [whole]
    cuts = [0, *_row_ends(path, dialect), size]
    parts = []
    for start, end in pairwise(cuts):
        if end > start:
            parts.append(
                replace(whole, start=start, end=end, size=end - start, skip_header=dialect.header and start == 0)
            )
    return parts


def _row_ends(path: str, dialect: Dialect) -> list[int]:
    """Offsets just after a newline that ends a row, about ``SPLIT_BYTES`` apart."""
    from rowlaw.kernels.row_ends import FIELD_START, first_row_end, state_after  # only large files need compiled code

    marks = ord(dialect.delimiter), ord(dialect.quote)
    data = np.asarray(np.memmap(path, np.uint8, "r"))
    ends, state = [], FIELD_START
    for start in range(0, len(data), SPLIT_BYTES):
        split = data[start : start + SPLIT_BYTES]
        end = first_row_end(split, *marks, state) if start else -1
        if end >= 0:
            ends.append(start + end)
        state = state_after(split, *marks, state)
    return ends


def undecoded(path: str, dialect: Dialect, error: UnicodeError) -> RowlawError:
    return RowlawError("BAD_FILE", path=path, problem=f"not valid {dialect.encoding}: {error}; give the encoding")
