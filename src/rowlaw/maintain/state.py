"""``rowlaw.Laws``: the laws of a table, kept in a folder, current while rows come and go."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from rowlaw.deadline import Deadline
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.maintain.change import Change, rule_changes
from rowlaw.maintain.protocol import Evolution, Evolved, UpkeepOptions, entries
from rowlaw.predicates.space import SpaceOptions, compared_columns, predicate_space, predicates_of
from rowlaw.progress import Progress
from rowlaw.relation import encode
from rowlaw.rules import RuleSet, bind
from rowlaw.rules.model import Kind, Nulls, Predicate
from rowlaw.source import open_source
from rowlaw.source.row_ids import RowId, id_columns
from rowlaw.storage.arrays import FileArray
from rowlaw.storage.batch import Batch
from rowlaw.storage.history import BatchRecord, Events, History, RawEvent, Rows, lines, log, replay, uncollected
from rowlaw.storage.rulebook import Rulebook, saved_counts, short
from rowlaw.storage.store import Store, Writer
from rowlaw.storage.table import AppliedRows, GrowingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SNAPSHOT = 2  # the rules are written anew when so many times more events than rules have been written since
_LOGS = ("batches", "events")


class Laws:
    """The laws of a table that changes, in a folder.

    >>> import tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> cities = ["Hoboken", "Hoboken", "New York"]
    >>> table = pa.table({"id": [1, 2, 3], "zip": ["07030", "07030", "10001"], "city": cities})
    >>> laws = Laws.create(f"{folder}/state", table, row_id="id", kinds=["dc"], progress=False)
    >>> sorted(str(r.rule) for r in laws.rules)
    ['not (s.city = t.city and s.zip != t.zip)', 'not (s.zip = t.zip and s.city != t.city)']
    >>> change = laws.apply(pa.table({"id": [4], "zip": ["10001"], "city": ["Newark"]}), batch_id="monday")
    >>> [str(r.rule) for r in change.removed]
    ['not (s.zip = t.zip and s.city != t.city)']
    >>> [event.kind for event in Laws.open(laws.path).history.of(change.removed[0].id)]
    ['born', 'retired']
    """

    def __init__(self, store: Store, *, evolution: type[Evolution] | None = None) -> None:
        self._store = store
        self._kind = evolution
        self._lock = threading.RLock()  # a stream refreshes the state that its user looks at
        self._discard_memory()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        table: Any,
        *,
        row_id: RowId = None,
        kinds: Sequence[Kind] | None = None,
        rules: Any = None,
        nulls: Nulls | None = None,
        error: float = 0.0,
        columns: Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
        cross: bool = True,
        overlap: float = 0.3,
        order_strings: bool = False,
        single_row: bool = False,
        constants: float | None = None,
        operators_of: Mapping[str, str] | None = None,
        predicates: Sequence[str | Predicate] | None = None,
        index_quota: int | None = None,
        time_limit: float | None = None,
        session: SparkSession | None = None,
        progress: bool = True,
        evolution: type[Evolution] | None = None,
        **reading: Any,
    ) -> Self:
        """Make a state: read the table, discover its laws, and keep both in a new folder.

        Parameters
        ----------
        path
            The folder, which must not exist yet or be empty.
        table, columns, types, reading
            As in :func:`rowlaw.discover`. The types are fixed from here on; a batch may have other columns only if
            ``columns`` are given.
        row_id
            The column that names the rows, unique, never null and not part of any rule; or several columns that name
            them together, which rules may compare. Without one, rows are deleted by all their values.
        rules
            Chosen rules, as in :func:`rowlaw.check`: no other rules are searched, and the exact count of violations of
            each is known after every batch. Only their columns are kept unless ``columns`` are given.
        kinds, nulls, error, cross, overlap, order_strings, single_row, constants, operators_of, predicates
            As in :func:`rowlaw.discover`. The predicate space is that of the first table, from here on.
        index_quota
            Columns that may be indexed for keys (Swan), but as many as are needed; by default four more than are
            needed.
        time_limit
            Seconds after which nothing is made: a state keeps all rules that hold, or none.
        """
        space = SpaceOptions.of(
            operators_of=operators_of,
            predicates=predicates,
            cross=cross,
            overlap=overlap,
            order_strings=order_strings,
            single_row=single_row,
            constants=constants,
        )
        from rowlaw.discovery.discover import default_kinds  # a batch needs nothing of it

        chosen = _rule_set(rules, nulls) if rules is not None else None
        meaning = nulls or (chosen.nulls if chosen is not None else "unknown")
        options = UpkeepOptions(
            tuple(default_kinds(space) if kinds is None else kinds), meaning, error, space, index_quota, chosen
        )
        shown = Progress(quiet=not progress)
        if chosen is not None and columns is None:
            columns = list(dict.fromkeys(name for named in chosen for name in named.rule.columns))
        wanted = None if columns is None else list(dict.fromkeys([*id_columns(row_id), *columns]))
        Store.check_vacant(path)
        source = open_source(table, columns=wanted, types=types, session=session, **reading)
        store = Store.create(path)
        limit = Deadline.after(time_limit)
        with limit.interruptible(), limit.watched(), store.writing() as writer:
            with shown.phase("read"):
                relation = encode(source, row_id=row_id, session=session)
            with relation:
                bound = (
                    [bind(n.origin or n.rule, relation.types, relation.skipped) for n in chosen]
                    if chosen is not None
                    else None
                )
                compared = (
                    predicate_space(RelationStatistics(relation), space) if bound is None else predicates_of(bound)
                )
                grown = GrowingTable.of(relation, scales=compared_columns(compared), others=columns is not None)
            laws = cls(store, evolution=evolution or (_chosen_rules() if chosen is not None else None))
            evolved = laws._evolution_type.create(grown, options, shown, limit)
            book = Rulebook()
            for entry in entries(evolved.first, 0, book):
                book.add(entry)
            laws._table, laws._evolution, laws._book = grown, evolved, book
            facts = {"options": options.to_dict(), "created": _now().isoformat(), "batch": 0}
            total = len(chosen) if chosen is not None else len(book)
            record = BatchRecord(0, None, _now(), grown.living, 0, total, 0, total, getattr(evolved, "counts", None))
            for name, data in zip(_LOGS, (log(short(record.to_dict())), log("")), strict=True):
                laws._logs[name] = FileArray.create(store.data / writer.new_file(), data)
            with shown.phase("save"):
                writer.json("first", book.to_json())
                laws._save(writer, facts, snapshot=True)
        return laws

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, evolution: type[Evolution] | None = None) -> Self:
        """The state in a folder, as it is now. Nothing but its manifest is read yet, and other processes may go on
        writing."""
        return cls(Store.open(path), evolution=evolution)

    def _discard_memory(self) -> None:
        """What is in memory is no longer what is in the folder."""
        self._table: GrowingTable | None = None
        self._evolution: Evolution | None = None
        self._book: Rulebook | None = None
        self._logs: dict[str, FileArray] = {}
        self._seen = self._store.generation

    def refresh(self) -> bool:
        """See what other processes have written since; says whether there was anything."""
        with self._lock:
            changed = self._store.refresh()
            if changed:
                self._discard_memory()
            return changed

    def close(self) -> None:
        """Give up what is in memory. Nothing is lost: what was applied is in the folder."""
        self._discard_memory()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        with self._lock:
            rules = f"{len(self.counts):,} chosen" if self.chosen else f"{len(self._rulebook):,}"
            return f"Laws({self.path!r}: {rules} rules of {self.table.living:,} rows, batch {self.batch})"

    @property
    def path(self) -> str:
        return str(self._store.folder)

    @property
    def batch(self) -> int:
        """The number of batches applied."""
        return int(self._store.facts["batch"])

    @property
    def options(self) -> dict[str, Any]:
        """The settings the state was made with."""
        return dict(self._store.facts["options"])

    @property
    def nulls(self) -> Nulls:
        return self.options["nulls"]

    @property
    def table(self) -> GrowingTable:
        """The rows."""
        if self._table is None:
            self._table = GrowingTable.load(self._store, self._store.facts["table"], "table")
        return self._table

    @property
    def rules(self) -> RuleSet:
        """The rules that hold now. A rule keeps its id as long as it lives."""
        with self._lock:
            if self.chosen:
                return saved_counts(self._store.reader.json("evolution/chosen"))[0]
            settings = {
                name: value for name, value in self.options.items() if name not in ("kinds", "nulls", "operators")
            }
            return self._rulebook.rules(self.nulls, settings)

    @property
    def chosen(self) -> bool:
        """Whether the state keeps chosen rules, and counts their violations."""
        return bool(self.options.get("chosen"))

    @property
    def counts(self) -> dict[str, int]:
        """The exact count of violations of each chosen rule."""
        with self._lock:
            return saved_counts(self._store.reader.json("evolution/chosen"))[1] if self.chosen else {}

    @property
    def trajectory(self) -> list[dict[str, Any]]:
        """The counts of chosen rules over time: after the state was made, and after each batch."""
        return (
            [{"batch": b.number, "id": b.id, "at": b.at, **(b.counts or {})} for b in self.history.batches]
            if self.chosen
            else []
        )

    @property
    def history(self) -> History:
        """When each rule was born and retired, and by which rows."""
        with self._lock:
            reader = self._store.reader
            return History(reader.array("batches"), reader.array("events"), reader.array("first"))

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The minimal sets of columns that are unique."""
        return list(getattr(self._loaded, "keys", ()))

    @property
    def non_keys(self) -> list[tuple[str, ...]]:
        """The maximal sets of columns that are not unique."""
        return list(getattr(self._loaded, "non_keys", ()))

    @property
    def _evolution_type(self) -> type[Evolution]:
        if self._kind is None and self._store.facts and self.chosen:
            self._kind = _chosen_rules()
        if self._kind is None:
            from rowlaw.maintain.evolve import Evolution as Current

            self._kind = Current
        return self._kind

    @property
    def _loaded(self) -> Evolution:
        if self._evolution is None:
            self._evolution = self._evolution_type.load(self._store.reader.under("evolution"), self.table)
        return self._evolution

    @property
    def _rulebook(self) -> Rulebook:
        if self._book is None:
            reader = self._store.reader
            self._book = Rulebook.from_json(reader.json("rules"))
            for line in lines(reader.array("events")[self._store.facts["rules_at"] :]):
                replay(line, self._book)
        return self._book

    def apply(
        self,
        inserts: Any = None,
        deletes: Any = None,
        *,
        batch_id: str | None = None,
        guard: Any = None,
        before: Callable[[pa.Table | None, str | None], None] | None = None,
        progress: bool = False,
        **reading: Any,
    ) -> Change:
        """Take a batch in and bring the rules up to date: all of it, durably, or nothing.

        Parameters
        ----------
        inserts
            Rows that come: what :func:`rowlaw.open_source` takes, in the columns of the table.
        deletes
            Rows that go, before any come: with a ``row_id``, a frame with its columns or a list of ids; else whole
            rows, each of which takes one living row with it.
        batch_id
            A name for the batch. A batch of that name that was applied before is not applied again.
        guard
            Rules, as in :func:`rowlaw.check`: rows of the batch that break them are left out, and given back as
            ``quarantined``.
        before
            Called with the quarantined rows and the ``batch_id`` before the batch is made durable: what it raises stops
            the batch.

        >>> import tempfile, pyarrow as pa
        >>> table = pa.table({"zip": [1, 1, 2], "city": ["a", "a", "b"]})
        >>> with Laws.create(tempfile.mkdtemp(), table, progress=False) as laws:
        ...     change = laws.apply(pa.table({"zip": [2], "city": ["c"]}), pa.table({"zip": [1], "city": ["a"]}))
        >>> change.inserted, change.deleted, laws.table.living
        (1, 1, 3)
        """
        shown = Progress(quiet=not progress)
        guard_rules = _rule_set(guard, None) if guard is not None else None
        with shown.phase("read"):
            insert_batch = self.table.read(inserts, **reading) if inserts is not None else None
            delete_batch = self.table.read(deletes, deletes=True, **reading) if deletes is not None else None
        with self._store.writing() as writer:
            if self._store.generation != self._seen:
                self._discard_memory()
            if batch_id is not None and self._applied(batch_id):
                return Change(
                    0,
                    0,
                    Events(),
                    len(self._rulebook),
                    shown.seconds,
                    self.batch,
                    batch_id,
                    repeated=True,
                    _rules=lambda: self.rules,
                )
            try:
                return self._apply_locked(writer, insert_batch, delete_batch, batch_id, guard_rules, before, shown)
            except BaseException:
                self._discard_memory()
                raise

    def _apply_locked(
        self,
        writer: Writer,
        insert_batch: Batch | None,
        delete_batch: Batch | None,
        batch_id: str | None,
        guard_rules: RuleSet | None,
        before: Callable[[pa.Table | None, str | None], None] | None,
        shown: Progress,
    ) -> Change:
        quarantined: pa.Table | None = None
        if guard_rules is not None and insert_batch is not None:
            from rowlaw.maintain.guard import guarded  # few batches have one, and it brings the engine

            with shown.phase("guard"):
                trial = GrowingTable.load(self._store, self._store.facts["table"], "table")
                insert_batch, quarantined = guarded(trial, insert_batch, delete_batch, guard_rules)
        rows = sum(batch.rows for batch in (insert_batch, delete_batch) if batch is not None)
        book, table = self._rulebook, self.table
        evolution = self._loaded if rows else None  # loaded before the table changes
        with shown.phase("take"):
            taken = table.take(insert_batch, delete_batch)
        evolved = None
        with uncollected():
            if evolution is not None:
                with shown.phase("evolve"):
                    evolved = evolution.apply(table, taken.inserted, taken.deleted)
            events = self._record(taken, evolved, batch_id)
            chosen = rule_changes(evolution, self.rules, self.counts, table) if self.chosen else []
        if evolution is not None and table.sparse:
            with shown.phase("compact"):
                evolution.renumber(table, table.compact())
        if before is not None:
            before(quarantined, batch_id)
        with shown.phase("save"):
            facts = {**self._store.facts, "batch": self.batch + 1}
            since = len(self._logs["events"]) - facts["rules_at"]
            self._save(writer, facts, snapshot=since > SNAPSHOT * self._snapshot_size)
        return Change(
            len(taken.inserted),
            len(taken.deleted),
            events,
            len(self.rules) if self.chosen else len(book),
            shown.seconds,
            self.batch,
            batch_id,
            quarantined=quarantined,
            chosen=chosen,
            counters=getattr(evolution, "counters", {}),
            _rules=lambda: self.rules,
        )

    @property
    def _snapshot_size(self) -> int:
        return len(self._store.reader.array("rules"))

    def _record(self, taken: AppliedRows, evolved: Evolved | None, batch_id: str | None) -> Events:
        """Write the batch and what it did to the rules at the ends of the logs, and bring the rulebook up to date."""
        book, number = self._rulebook, self.batch + 1
        terms_before = len(book.terms)
        raw_events: list[RawEvent] = []
        if evolved is not None:
            gone, came = evolved.removed, evolved.added
            raw_events += [
                ("retired", book.remove(n), witness) for n, witness in zip(gone.numbers, gone.witnesses, strict=True)
            ]
            born = zip(entries(came, number, book), came.witnesses, strict=True)
            raw_events += [("born", book.add(entry), witness) for entry, witness in born]
        kinds = Counter(kind for kind, _, _ in raw_events)
        rows = Rows.taken(self.table, chain.from_iterable(witness for _, _, witness in raw_events))
        counts = (getattr(self._evolution, "counts", None) or self.counts) if self.chosen else None
        total = len(counts) if counts is not None else len(book)
        record = BatchRecord(
            number,
            batch_id,
            _now(),
            len(taken.inserted),
            len(taken.deleted),
            kinds["born"],
            kinds["retired"],
            total,
            counts,
        )
        events = Events(raw_events, record, rows, book.terms)
        for name, text in zip(_LOGS, (short(record.to_dict()), events.line(terms_before)), strict=True):
            self._logs[name] = self._store.growing(name)
            self._logs[name].extend(log(text))
        return events

    def _applied(self, batch_id: str) -> bool:
        """Whether a batch of this id was applied: a search in the log, where nothing else can look like it."""
        needle = f',"id":{json.dumps(batch_id, ensure_ascii=False)},'.encode()
        return needle in self._store.reader.array("batches").tobytes()

    def _save(self, writer: Writer, facts: dict[str, Any], *, snapshot: bool) -> None:
        facts["table"] = self.table.save(writer.under("table"))
        if self._evolution is not None:
            self._evolution.save(writer.under("evolution"))
        else:
            writer.under("evolution").keep_all()
        for name in _LOGS:
            writer.grow(name, self._logs[name])
        if snapshot:
            writer.json("rules", self._rulebook.to_json())
            facts["rules_at"] = len(self._logs["events"])
        else:
            writer.keep("rules")
        if "first" in writer:
            writer.keep("first")
        writer.commit(facts)
        self._seen = self._store.generation


def _rule_set(rules: Any, nulls: Nulls | None) -> RuleSet:
    from rowlaw.violations.check import rule_set  # it brings both engines, which most batches do not need

    return rule_set(rules, nulls)


def _chosen_rules() -> type[Evolution]:
    from rowlaw.maintain.chosen import ChosenRules

    return ChosenRules


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(microsecond=0)
