"""Column names as other tools write them: with the table before them, in quotes, or as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rowlaw.errors import Place, RowlawError, nearest
from rowlaw.rules.wording import counted

_TABLE = re.compile(r".*?\.(?:csv|tsv|txt|parquet|tbl|dat)\.(?=.)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Names:
    """The columns of the table, if they are known, and the numbers that a file gives them."""

    columns: tuple[str, ...] | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)  # of a short file of Metanome: number -> name

    @property
    def numbered(self) -> bool:
        return bool(self.numbers)

    def with_entry(self, section: str, line: str, place: Place) -> Names:
        """A line of the head of a short file: ``adult.csv<tab>1`` or ``1.age<tab>3``."""
        name, tab, number = line.rpartition("\t")
        if not tab or not number.strip().isdigit():
            raise RowlawError("RULE_SYNTAX", place, problem="expected a name, a tab and a number")
        if section == "tables":
            return self
        return replace(self, numbers={**self.numbers, number.strip(): name.partition(".")[2] or name})

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the names of a list stand: between commas, else between blanks, where known names with blanks are kept
        together."""
        if "," in text:
            yield from (piece.span() for piece in re.finditer(r"[^,]+", text))
            return
        words = [word.span() for word in re.finditer(r"\S+", text)]
        while words:
            spans = ((words[0][0], end) for _, end in reversed(words))
            span_chosen = next((span for span in spans if text[slice(*span)] in (self.columns or ())), words[0])
            yield span_chosen
            words = [word for word in words if word[0] >= span_chosen[1]]

    def resolve(self, text: str, place: Place, first: int = 0) -> str:
        """The column that a text means. ``first`` is what the first column is called where columns are numbered."""
        if text in self.numbers:
            return self._checked(self.numbers[text], place)
        name = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in '"`' else text
        if self.columns is None:
            if name.isdigit() and (first or not self.numbers):
                problem = "the columns are numbered here; give their names in order (columns)"
                raise RowlawError("RULE_SYNTAX", place, problem=problem)
            return _unquoted(_TABLE.sub("", name, count=1)) or name
        if name in self.columns:
            return name
        if name.isdigit():
            if not 0 <= int(name) - first < len(self.columns):
                raise RowlawError(
                    "UNKNOWN_COLUMN", place, column=name, hint=f": the table has {counted(len(self.columns), 'column')}"
                )
            return self.columns[int(name) - first]
        endings = sorted((c for c in self.columns if name.endswith(("." + c, f'."{c}"'))), key=len)
        return endings[-1] if endings else self._checked(name, place)

    def _checked(self, name: str, place: Place) -> str:
        if self.columns is not None and name not in self.columns:
            raise RowlawError("UNKNOWN_COLUMN", place, column=name, hint=nearest(name, self.columns))
        return name


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name
