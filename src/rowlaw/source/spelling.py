"""Numbers and dates that are written in another way: decimal commas, days first. They are respelled before they get
their type.

>>> import pyarrow as pa
>>> DecimalComma().plain(pa.array(["1.234,50", "NA", None])).to_pylist()
['1234.50', 'NA', None]
>>> Moment("%d.%m.%Y", pa.date32()).plain(pa.array(["31.12.2023"])).to_pylist()
['2023-12-31']
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.errors import RowlawError
from rowlaw.source.csv import CsvSplit
from rowlaw.source.csv_errors import find_value
from rowlaw.source.infer import NULL_SPELLINGS
from rowlaw.source.source import Split

_COMMA_NUMBER = r"^\s*[+-]?(?:[0-9]{1,3}(?:[. '\x{A0}\x{202F}][0-9]{3})+|[0-9]+)(?:,[0-9]+)?\s*$"
_GROUPING = r"[.\s'\x{A0}\x{202F}]"


class Spelling(Protocol):
    """How the values of a column are written."""

    @property
    def type(self) -> pa.DataType:
        """The type that the values have."""

    @property
    def words(self) -> str:
        """What a value is, for an error about one that is not."""

    def plain(self, text: pa.Array) -> pa.Array:
        """Distinct texts as the types of rowlaw are written; what cannot be read is as it was."""

    def readable(self, text: pa.Array) -> pa.Array:
        """For each text whether it can be read."""


@dataclass(frozen=True, slots=True)
class DecimalComma:
    """``1.234,56``: a comma before the decimals; dots, blanks or apostrophes between thousands."""

    @property
    def type(self) -> pa.DataType:
        return pa.float64()

    words = "number with a decimal comma"

    def readable(self, text: pa.Array) -> pa.Array:
        return pc.match_substring_regex(text, pattern=_COMMA_NUMBER)

    def plain(self, text: pa.Array) -> pa.Array:
        digits = pc.replace_substring(pc.replace_substring_regex(text, pattern=_GROUPING, replacement=""), ",", ".")
        return pc.if_else(self.readable(text), digits, text)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or timestamp in a format of ``strptime``."""

    format: str
    type: pa.DataType

    @property
    def words(self) -> str:
        return f"{'date' if pa.types.is_date(self.type) else 'timestamp'} of the form {self.format}"

    def _read(self, text: pa.Array) -> pa.Array:
        return pc.strptime(pc.utf8_trim_whitespace(text), format=self.format, unit="s", error_is_null=True)

    def readable(self, text: pa.Array) -> pa.Array:
        return pc.or_kleene(pc.is_valid(self._read(text)), pc.is_null(text))

    def plain(self, text: pa.Array) -> pa.Array:
        read = self._read(text).cast(self.type).cast(pa.large_string())
        return pc.if_else(pc.is_valid(read), read, text)


def spelling(column: str, wanted: str) -> Spelling | None:
    """The spelling that a user means by ``decimal_comma``, ``date:%d.%m.%Y`` or ``timestamp:...``; None: a plain
    type."""
    name, colon, format = str(wanted).strip().partition(":")
    kind = name.strip().casefold()
    if kind == "decimal_comma" and not colon:
        return DecimalComma()
    if not colon or kind not in ("date", "timestamp"):
        return None
    moment = Moment(format.strip(), pa.date32() if kind == "date" else pa.timestamp("us"))
    if not re.search(r"%[A-Za-z]", moment.format) or not _works(moment.format):
        problem = (
            "the format cannot be used; write for example date:%d.%m.%Y (day %d, month %m, year %Y, hour "
            "%H, minute %M, second %S)"
        )
        raise RowlawError("BAD_OPTION", option="types", value=f"{column}={wanted}", problem=problem)
    return moment


def _works(format: str) -> bool:
    import datetime as dt

    try:
        written = dt.datetime(2023, 12, 31, 13, 45, 59).strftime(format)  # noqa: DTZ001 - only to try the format
        return bool(pc.is_valid(pc.strptime(pa.scalar(written), format=format, unit="s", error_is_null=True)).as_py())
    except (ValueError, pa.ArrowInvalid):
        return False


def respelled(column: pa.ChunkedArray, how: Spelling, place: Any) -> pa.ChunkedArray:
    """A column of texts in the plain spelling; ``place(value)`` makes the error about a value that cannot be read."""
    encoded = column.cast(pa.large_string()).combine_chunks()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    coded = encoded.dictionary_encode()
    text = coded.dictionary
    blank = pc.is_in(pc.utf8_trim_whitespace(text), value_set=pa.array([*NULL_SPELLINGS, ""], pa.large_string()))
    bad = pc.filter(text, pc.invert(pc.or_(blank, pc.fill_null(how.readable(text), True))))
    if len(bad):
        raise place(bad[0].as_py())
    plain = pc.if_else(blank, text, how.plain(text))
    return pa.chunked_array([plain.take(coded.indices)])


@dataclass(frozen=True, slots=True)
class SpelledSplit:
    """A split of which some columns are written in another way."""

    split: Split
    spellings: Mapping[str, Spelling]

    @property
    def columnar(self) -> bool:
        return self.split.columnar

    @property
    def size(self) -> int:
        return self.split.size

    def read(self, columns: Sequence[str]) -> pa.Table:
        table = self.split.read(columns)
        for i, name in enumerate(columns):
            how = self.spellings.get(name)
            if how is not None and _is_text(table.column(i).type):
                table = table.set_column(
                    i, name, respelled(table.column(i), how, lambda value, n=name, h=how: self._bad(n, h, value))
                )
        return table

    def _bad(self, column: str, how: Spelling, value: str) -> RowlawError:
        path, where = getattr(self.split, "path", "the table"), ""
        if isinstance(self.split, CsvSplit):
            line = find_value(self.split.path, self.split.dialect, self.split.names.index(column), value)
            where = f", line {line}" if line else ""
        return RowlawError("BAD_VALUE", path=path, where=where, column=column, value=value, type=how.words)


def _is_text(dtype: pa.DataType) -> bool:
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)
