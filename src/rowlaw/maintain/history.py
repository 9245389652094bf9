"""What happened to the rules of a state: when each was born and retired, and which rows show why."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyarrow as pa

from rowlaw.maintain.rulebook import Entry, Rulebook, Terms, short
from rowlaw.maintain.table import GrowingTable
from rowlaw.rules.model import Rule

What = Literal["born", "retired"]


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch that was applied; number 0 made the state."""

    number: int
    id: str | None
    at: dt.datetime
    inserted: int
    deleted: int
    added: int
    removed: int
    rules: int


@dataclass(frozen=True, slots=True)
class Event:
    """A rule was born or retired by a batch. ``rows`` are its witness with all their values: many events share them."""

    kind: What
    id: str
    rule: Rule
    batch: BatchRecord
    rows: tuple[Mapping[str, Any], ...] = ()
    row_id: str | None = None

    @property
    def witness(self) -> tuple[dict[str, Any], ...]:
        """Rows, each with its values in the rule's columns (and its id): a pair that breaks the rule from now on, or, for a birth, a pair
        that broke it until one of its rows went. Empty where no single pair decides.
        """
        shown = dict.fromkeys((*(() if self.row_id is None else (self.row_id,)), *self.rule.columns))
        return tuple({name: row[name] for name in shown} for row in self.rows)

    def __str__(self) -> str:
        return f"{self.batch.at:%Y-%m-%d %H:%M:%S} batch {self.batch.number}: {self.id} {self.kind}: {self.rule}"

    def lines(self) -> Iterator[str]:
        """What happened, and the rows that show why."""
        yield f"{'+' if self.kind == 'born' else '-'} {self.id} {self.kind}: {self.rule}"
        for row, values in zip("st", self.witness, strict=False):
            yield f"    {row}: " + ", ".join(f"{name} {'null' if value is None else value}" for name, value in values.items())

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "id": self.id,
            "kind": self.rule.kind,
            "rule": str(self.rule),
            "batch": self.batch.number,
            "batch_id": self.batch.id,
            "at": self.batch.at.isoformat(),
            "witness": [dict(row) for row in self.witness],
        }


@dataclass(frozen=True)
class Rows:
    """The rows that the events of a batch name as witnesses, each once: few rows may end thousands of rules."""

    values: Mapping[int, Mapping[str, Any]]
    row_id: str | None = None

    @staticmethod
    def taken(table: GrowingTable, rows: Iterable[int]) -> Rows:
        wanted = sorted(set(rows))
        if not wanted:
            return Rows({}, table.row_id)
        told = table.decode(wanted, table.names)
        lines = zip(*(_plain(column) for column in told.columns), strict=True)
        return Rows({row: dict(zip(table.names, line, strict=True)) for row, line in zip(wanted, lines, strict=True)}, table.row_id)

    def of(self, rows: Sequence[int]) -> tuple[tuple[Mapping[str, Any], ...], str | None]:
        """What an event says of these rows."""
        return tuple(self.values[row] for row in rows), self.row_id


class Happening(NamedTuple):
    """An event as it is kept until somebody looks at it: there may be thousands."""

    kind: What
    entry: Entry
    witness: Sequence[int]

    def event(self, batch: BatchRecord, rows: Rows, terms: Terms) -> Event:
        return Event(self.kind, self.entry.id, terms.read(self.entry.packed), batch, *rows.of(self.witness))


@dataclass(frozen=True, repr=False)
class Events(Sequence[Event]):
    """The events of a batch; each is put together when it is looked at."""

    happened: Sequence[Happening] = ()
    batch: BatchRecord | None = None
    rows: Rows = field(default_factory=lambda: Rows({}))
    terms: Terms = field(default_factory=Terms)

    def of(self, kind: What) -> Events:
        return replace(self, happened=[one for one in self.happened if one.kind == kind])

    def __len__(self) -> int:
        return len(self.happened)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Events: ...

    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return replace(self, happened=self.happened[index])
        one = self.happened[index]
        assert self.batch is not None  # nothing happens without one
        return one.event(self.batch, self.rows, self.terms)

    def __repr__(self) -> str:
        return f"Events({len(self.of('born')):,} born, {len(self.of('retired')):,} retired)"

    def line(self, known: int) -> str:
        """As they are written in the log, with the terms after the first ``known``; nothing if nothing happened."""
        if not self.happened:
            return ""
        return short(
            {
                "row_id": self.rows.row_id,
                "rows": self.rows.values,
                "terms": self.terms.since(known),
                "batch": self.batch.number if self.batch is not None else 0,
                "retired": [(entry.number, *witness) for kind, entry, witness in self.happened if kind == "retired"],
                "born": [
                    (entry.number, entry.packed, entry.error, entry.support, entry.score, *witness)
                    for kind, entry, witness in self.happened
                    if kind == "born"
                ],
            }
        )


def replay(line: Mapping[str, Any], book: Rulebook) -> list[Happening]:
    """Do to a rulebook what a line of the log of events says."""
    book.terms.extend(line["terms"])
    found = [Happening("retired", book.remove(number), witness) for number, *witness in line["retired"]]
    for number, packed, error, support, score, *witness in line["born"]:
        found.append(Happening("born", book.add(Entry(number, packed, line["batch"], error, support, score)), witness))
    return found


@dataclass(frozen=True)
class History:
    """All events of a state, the oldest first; read when they are asked for. ``first`` are the rules it was made with."""

    batch_lines: np.ndarray = field(repr=False)
    event_lines: np.ndarray = field(repr=False)
    first: Mapping[str, Any] = field(repr=False)

    @cached_property
    def batches(self) -> tuple[BatchRecord, ...]:
        return tuple(BatchRecord(**{**line, "at": dt.datetime.fromisoformat(line["at"])}) for line in lines(self.batch_lines))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        book = Rulebook.from_json(self.first)
        changing = (batch for batch in self.batches[1:] if batch.added or batch.removed)
        found = [Happening("born", entry, ()).event(self.batches[0], Rows({}), book.terms) for entry in book]
        for batch, line in zip(changing, lines(self.event_lines), strict=True):
            rows = Rows({int(row): values for row, values in line["rows"].items()}, line["row_id"])
            found += [one.event(batch, rows, book.terms) for one in replay(line, book)]
        return tuple(found)

    def of(self, id: str) -> tuple[Event, ...]:
        """What happened to one rule."""
        return tuple(event for event in self.events if event.id == id)

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __repr__(self) -> str:
        return f"History({len(self.batches):,} batches, {len(self.events):,} events)"


def lines(data: np.ndarray) -> Iterator[Any]:
    """The lines of a log."""
    return (json.loads(line) for line in data.tobytes().splitlines())


def log(text: str) -> np.ndarray:
    """A line to be added to a log; nothing if there is no text."""
    return np.frombuffer((text and text + "\n").encode("utf-8", "surrogatepass"), np.uint8)


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column as JSON has them."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_temporal(column.type):
        return [value if value is None else value.isoformat() for value in values]
    if pa.types.is_decimal(column.type):
        return [value if value is None else str(value) for value in values]
    if pa.types.is_floating(column.type):
        return [str(value) if value in (math.inf, -math.inf) else value for value in values]
    return values
