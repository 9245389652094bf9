"""What happened to the rules of a state: when each was born and retired, and which rows show why."""

from __future__ import annotations

import datetime as dt
import gc
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from rowlaw.rules.model import Rule
from rowlaw.source.row_ids import given_id, id_columns
from rowlaw.storage.entries import Entry, EntryColumns, cut, of_text, to_text
from rowlaw.storage.rulebook import Rulebook, Terms, short
from rowlaw.storage.table import GrowingTable

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
    counts: Mapping[str, int] | None = None  # violations of chosen rules

    def to_dict(self) -> dict[str, Any]:
        """As it is written in the log."""
        fields = {**asdict(self), "at": self.at.isoformat()}
        return (
            fields if self.counts is not None else {name: value for name, value in fields.items() if name != "counts"}
        )


@dataclass(frozen=True, slots=True)
class Event:
    """A rule was born or retired by a batch. ``rows`` are its witness with all their values: many events share them."""

    kind: What
    id: str
    rule: Rule
    batch: BatchRecord
    rows: tuple[Mapping[str, Any], ...] = ()
    row_id: tuple[str, ...] = ()

    @property
    def witness(self) -> tuple[dict[str, Any], ...]:
        """Rows, each with its values in the rule's columns (and its id): a pair that breaks the rule from now on, or,
        for a birth, a pair that broke it until one of its rows went. Empty where no single pair decides.
        """
        shown = dict.fromkeys((*self.row_id, *self.rule.columns))
        return tuple({name: row[name] for name in shown} for row in self.rows)

    def __str__(self) -> str:
        return f"{self.batch.at:%Y-%m-%d %H:%M:%S} batch {self.batch.number}: {self.id} {self.kind}: {self.rule}"

    def lines(self) -> Iterator[str]:
        """What happened, and the rows that show why."""
        yield f"{'+' if self.kind == 'born' else '-'} {self.id} {self.kind}: {self.rule}"
        for row, values in zip("st", self.witness, strict=False):
            yield f"    {row}: " + ", ".join(
                f"{name} {'null' if value is None else value}" for name, value in values.items()
            )

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
    row_id: tuple[str, ...] = ()

    @staticmethod
    def taken(table: GrowingTable, rows: Iterable[int]) -> Rows:
        wanted = sorted(set(rows))
        if not wanted:
            return Rows({}, table.row_id)
        decoded = table.decode(wanted, table.names)
        lines = zip(*(_plain(column) for column in decoded.columns), strict=True)
        return Rows(
            {row: dict(zip(table.names, line, strict=True)) for row, line in zip(wanted, lines, strict=True)},
            table.row_id,
        )

    def of(self, rows: Sequence[int]) -> tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]:
        """What an event says of these rows."""
        return tuple(self.values[row] for row in rows), self.row_id


# an event and its witness, until somebody looks at it: there may be thousands
RawEvent = tuple[What, Entry, Sequence[int]]


@dataclass(frozen=True, repr=False)
class Events(Sequence[Event]):
    """The events of a batch, rules that were retired first; each is put together when it is looked at."""

    raw_events: Sequence[RawEvent] = ()
    batch: BatchRecord | None = None
    rows: Rows = field(default_factory=lambda: Rows({}))
    terms: Terms = field(default_factory=Terms)

    def of(self, kind: What) -> Events:
        return replace(self, raw_events=[one for one in self.raw_events if one[0] == kind])

    def __len__(self) -> int:
        return len(self.raw_events)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Events: ...

    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return replace(self, raw_events=self.raw_events[index])
        one = self.raw_events[index]
        assert self.batch is not None  # nothing happens without one
        return _event(one, self.batch, self.rows, self.terms)

    def __repr__(self) -> str:
        return f"Events({len(self.of('born')):,} born, {len(self.of('retired')):,} retired)"

    def line(self, first: int) -> str:
        """As they are written in the log, with the terms from number ``first`` on; empty if there are none."""
        if not self.raw_events:
            return ""
        assert self.batch is not None
        born = EntryColumns.of([entry for kind, entry, _ in self.raw_events if kind == "born"]).to_json()
        shown = [one[2] for one in self.raw_events]
        return short(
            {
                "row_id": given_id(self.rows.row_id),
                "rows": self.rows.values,
                "terms": self.terms.since(first),
                "batch": self.batch.number,
                "born": len(self.of("born")),
                "numbers": to_text(np.array([entry.number for _, entry, _ in self.raw_events], np.int64)),
                "rules": born["terms"],
                **{name: born[name] for name in ("lengths", "others", "errors", "supports", "scores")},
                "witnesses": to_text(np.fromiter(chain.from_iterable(shown), np.int32)),
                "shown": to_text(np.fromiter(map(len, shown), np.int8, len(shown))),
            }
        )


def replay(line: Mapping[str, Any], book: Rulebook) -> list[RawEvent]:
    """Do to a rulebook what a line of the log of events says."""
    book.terms.extend(line["terms"])
    numbers = of_text(line["numbers"], np.int64)
    ended = len(numbers) - line["born"]
    batches = to_text(np.full(line["born"], line["batch"]))
    came = {**line, "numbers": to_text(numbers[ended:]), "terms": line["rules"], "born": batches}
    born = EntryColumns.from_json(came)
    witnesses = cut(of_text(line["witnesses"], np.int32).tolist(), of_text(line["shown"], np.int8).tolist())
    events: list[RawEvent] = [
        ("retired", book.remove(number), shown)
        for number, shown in zip(numbers[:ended].tolist(), witnesses, strict=False)
    ]
    return events + [("born", book.add(entry), shown) for entry, shown in zip(born, witnesses[ended:], strict=True)]


@dataclass(frozen=True)
class History:
    """All events of a state, the oldest first; read when they are asked for. ``first`` are the rules it was made
    with."""

    batch_lines: np.ndarray = field(repr=False)
    event_lines: np.ndarray = field(repr=False)
    first: np.ndarray = field(repr=False)

    @cached_property
    def batches(self) -> tuple[BatchRecord, ...]:
        return tuple(
            BatchRecord(**{**line, "at": dt.datetime.fromisoformat(line["at"])}) for line in lines(self.batch_lines)
        )

    @cached_property
    def events(self) -> tuple[Event, ...]:
        book = Rulebook.from_json(json.loads(self.first.tobytes()))
        changing = (batch for batch in self.batches[1:] if batch.added or batch.removed)
        events = [_event(("born", entry, ()), self.batches[0], Rows({}), book.terms) for entry in book]
        for batch, line in zip(changing, lines(self.event_lines), strict=True):
            rows = Rows({int(row): values for row, values in line["rows"].items()}, id_columns(line["row_id"]))
            events += [_event(one, batch, rows, book.terms) for one in replay(line, book)]
        return tuple(events)

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


def _event(happening: RawEvent, batch: BatchRecord, rows: Rows, terms: Terms) -> Event:
    kind, entry, witness = happening
    return Event(kind, entry.id, terms.read(entry.packed), batch, *rows.of(witness))


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


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for unreachable objects meanwhile: a batch makes many objects that stay, and each search would look at
    all there are."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
