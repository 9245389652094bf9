"""What happened to the rules of a state: when each was born and retired, and which rows show why."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, Literal, overload

import numpy as np

from rowlaw.maintain.rulebook import Entry, read, short
from rowlaw.maintain.table import GrowingTable
from rowlaw.rules.model import Rule


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

    kind: Literal["born", "retired"]
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
        told = table.decode(wanted, table.names).to_pylist() if wanted else []
        return Rows(
            {row: {name: _plain(value) for name, value in one.items()} for row, one in zip(wanted, told, strict=True)}, table.row_id
        )

    def of(self, rows: Sequence[int]) -> tuple[tuple[Mapping[str, Any], ...], str | None]:
        """What an event says of these rows."""
        return tuple(self.values[row] for row in rows), self.row_id

    def line(self, batch: int) -> str:
        """As it is written before the events."""
        return short({"event": "rows", "batch": batch, "row_id": self.row_id, "rows": self.values})


@dataclass(frozen=True, repr=False)
class Events(Sequence[Event]):
    """The events of a batch, from what is written of them: each is read when it is looked at, because there may be thousands."""

    written: Sequence[str] = ()
    batch: BatchRecord | None = None
    rows: Rows = field(default_factory=lambda: Rows({}))

    def of(self, kind: Literal["born", "retired"]) -> Events:
        return replace(self, written=[line for line in self.written if line.startswith(_event(kind))])

    def __len__(self) -> int:
        return len(self.written)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Events: ...

    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return replace(self, written=self.written[index])
        line = json.loads(self.written[index])
        assert self.batch is not None  # nothing is written without one
        return _read(line, self.batch, self.rows)

    def __repr__(self) -> str:
        return f"Events({len(self.of('born')):,} born, {len(self.of('retired')):,} retired)"


@dataclass(frozen=True)
class History:
    """All events of a state, the oldest first; read when they are asked for."""

    batch_lines: np.ndarray = field(repr=False)
    event_lines: np.ndarray = field(repr=False)
    living: tuple[Entry, ...] = field(default=(), repr=False)

    @cached_property
    def batches(self) -> tuple[BatchRecord, ...]:
        return tuple(BatchRecord(**{**line, "at": dt.datetime.fromisoformat(line["at"])}) for line in lines(self.batch_lines))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        batches = self.batches
        written = list(happenings(self.event_lines))
        # Rules of the first batch are not written down one by one: they live still, or their retirement is.
        first = [(e.id, e.rule) for e in self.living if e.born == 0]
        first += [(line["id"], read(line["rule"])) for line in written if line["event"] == "retired" and line["born"] == 0]
        found = [Event("born", id, rule, batches[0]) for id, rule in sorted(first, key=lambda pair: int(pair[0][1:]))]
        rows: Rows = Rows({})
        for line in written:
            if line["event"] == "rows":
                rows = Rows({int(row): values for row, values in line["rows"].items()}, line["row_id"])
            else:
                found.append(_read(line, batches[line["batch"]], rows))
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


# What is written of an event. Texts are put together by hand: a batch may end twenty thousand rules, whose packed texts are JSON already.


def born(entry: Entry, witness: Sequence[int]) -> str:
    facts = ",".join([f'"{name}":{value!r}' for name, value in entry.facts.items()])  # numbers
    return (
        f'{_event("born")},"batch":{entry.born},"id":"{entry.id}","rule":{entry.packed},'
        f'"facts":{{{facts}}},"witness":[{",".join(map(str, witness))}]}}'
    )


def retired(entry: Entry, batch: int, witness: Sequence[int]) -> str:
    return (
        f'{_event("retired")},"batch":{batch},"id":"{entry.id}","rule":{entry.packed},'
        f'"born":{entry.born},"witness":[{",".join(map(str, witness))}]}}'
    )


def _event(kind: str) -> str:
    """How the text of an event begins."""
    return f'{{"event":"{kind}"'


def lines(data: np.ndarray) -> Iterator[Any]:
    """The lines of a log."""
    return (json.loads(line) for line in data.tobytes().splitlines())


def happenings(data: np.ndarray) -> Iterator[dict[str, Any]]:
    """What the log of events tells: a line holds those of one batch."""
    return chain.from_iterable(lines(data))


def log(text: str) -> np.ndarray:
    """A line to be added to a log; nothing if there is no text."""
    return np.frombuffer((text and text + "\n").encode("utf-8", "surrogatepass"), np.uint8)


def _read(line: Mapping[str, Any], batch: BatchRecord, rows: Rows) -> Event:
    return Event(line["event"], line["id"], read(line["rule"]), batch, *rows.of(line["witness"]))


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    if isinstance(value, Decimal) or (isinstance(value, float) and value in (float("inf"), float("-inf"))):
        return str(value)
    return value
