"""The table of a state: rows come and go, and what is written of a row never changes.

Each column is an array of *labels*, one for every row that ever came: integers in the order of the values, -1 for null.
New values take labels between old ones (see :mod:`rowlaw.storage.dictionary`), so indexes over labels stay true. Rows
that are gone are marked; when most rows are, the table is compacted.

One module: what a batch does to labels, dictionaries and deleted rows has to happen together or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.errors import RowlawError, nearest
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.columns import NULL
from rowlaw.relation.encode import MOST_ROWS
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import TypeClass
from rowlaw.source.row_ids import CompositeId, RowId, given_id, id_array, id_columns, naming_only, null_ids, row_name
from rowlaw.source.types import type_class
from rowlaw.storage.arrays import FileArray, GrowingArray, MemoryArray
from rowlaw.storage.batch import Batch, BatchColumn, read_batch
from rowlaw.storage.dictionary import Dictionary, Relabelling, Run, merged
from rowlaw.storage.label_rows import LabelRows, matching_rows
from rowlaw.storage.live_relation import LiveRelation
from rowlaw.storage.store import Reader, Store, Writer
from rowlaw.storage.values import Form, Values, form

SPARE_ROWS, SPARE_SHARE = 16_384, 0.5  # capacity for rows to come: so many, or this share of those that are here
DEAD_SHARE = 0.5  # of the rows: with more of them gone, compacting costs less than dragging them along
_UNSEEN = -2  # in the place of a label: a value that the table has never had


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column; columns of one ``scale`` share a dictionary, so that their labels may be compared with each other."""

    name: str
    arrow_type: pa.DataType
    scale: int


@dataclass(frozen=True, slots=True, eq=False)
class AppliedRows:
    """The rows that a batch brought and took away, by number."""

    inserted: np.ndarray
    deleted: np.ndarray


class GrowingTable:
    """Rows with stable numbers and stable labels.

    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> table = GrowingTable.of(encode(open_source(pa.table({"id": [1, 2], "pop": [50, 70]})), row_id="id"))
    >>> before = table.labels("pop").tolist()
    >>> taken = table.take(inserts=pa.table({"id": [3], "pop": [60]}), deletes=pa.table({"id": [1]}))
    >>> taken.inserted.tolist(), taken.deleted.tolist(), table.alive.tolist()
    ([2], [0], [False, True, True])
    >>> table.labels("pop")[:2].tolist() == before, bool(before[0] < table.labels("pop")[2] < before[1])
    (True, True)
    >>> table.decode([1, 2]).to_pylist()
    [{'id': 2, 'pop': 70}, {'id': 3, 'pop': 60}]
    """

    def __init__(
        self,
        columns: Sequence[TableColumn],
        labels: Sequence[GrowingArray],
        deaths: GrowingArray,
        dictionaries: Sequence[Dictionary],
        *,
        row_id: RowId = None,
        others: bool = False,
        skipped: Mapping[str, RowlawError] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.row_id = id_columns(row_id)
        self.others = others  # whether a batch may have other columns, which are left out
        # columns of the first table that could not be compared: batches may have them too
        self.skipped = dict(skipped or {})
        self._index = {column.name: i for i, column in enumerate(self.columns)}
        self._labels = list(labels)
        self._deleted_rows = deaths
        self._dictionaries = list(dictionaries)
        self._forms = [
            form([c.arrow_type for c in self.columns if c.scale == scale]) for scale in range(len(dictionaries))
        ]
        self._alive: MemoryArray | None = None
        self._relation: LiveRelation | None = None
        self._label_rows: LabelRows | None = None
        self._kept_rows: tuple[Reader, int] | None = None  # where they are, and how many
        self.compared_names = tuple(c.name for c in self.columns if c.name not in naming_only(self.row_id))
        self.relabelled: dict[str, Relabelling] = {}  # by the last batch: columns whose labels were given out anew

    @staticmethod
    def of(relation: Relation, *, scales: Sequence[Collection[str]] = (), others: bool = False) -> GrowingTable:
        """The table of an encoded relation, in memory; the columns of each of ``scales`` are to be compared with each
        other."""
        group = {name: i for i, names in enumerate(scales) for name in names}
        number: dict[Any, int] = {}
        columns = [
            TableColumn(
                c.name,
                c.arrow_type,
                number.setdefault(("scale", group[c.name]) if c.name in group else c.name, len(number)),
            )
            for c in relation.columns
        ]
        forms = [form([c.arrow_type for c in columns if c.scale == scale]) for scale in range(len(number))]
        kept = {c.name: forms[c.scale].keep(relation.dictionary(c.name)) for c in columns}
        dictionaries = [Dictionary() for _ in forms]
        own_labels: dict[str, np.ndarray] = {}
        for scale, dictionary in enumerate(dictionaries):
            own_labels |= _added(dictionary, {c.name: kept[c.name] for c in columns if c.scale == scale})[0]
        labels = [MemoryArray(np.append(own_labels[c.name], np.int32(NULL))[relation.codes(c.name)]) for c in columns]
        none = MemoryArray(np.zeros(0, np.int32))
        return GrowingTable(
            columns, labels, none, dictionaries, row_id=relation.row_id, others=others, skipped=relation.skipped
        )

    def __repr__(self) -> str:
        return f"GrowingTable({self.living:,} rows, {len(self.columns)} columns: {', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def types(self) -> dict[str, TypeClass]:
        return {c.name: kind for c in self.columns if (kind := type_class(c.arrow_type)) is not None}

    @cached_property
    def arrow_types(self) -> dict[str, pa.DataType]:
        return {c.name: c.arrow_type for c in self.columns}

    @property
    def rows(self) -> int:
        """Rows that ever came; they are numbered from 0."""
        return len(self._labels[0])

    @property
    def living(self) -> int:
        """Rows that are here."""
        return self.rows - len(self._deleted_rows)

    @property
    def deaths(self) -> np.ndarray:
        """The rows that are gone, in the order in which they went."""
        return self._deleted_rows.array

    @property
    def alive(self) -> np.ndarray:
        """For each row whether it is here."""
        if self._alive is None:
            alive = np.ones(self.rows, bool)
            alive[self._deleted_rows.array] = False
            self._alive = MemoryArray(alive)
        return self._alive.array

    def column(self, name: str) -> TableColumn:
        if name not in self._index:
            raise RowlawError("UNKNOWN_COLUMN", column=name, hint=nearest(name, self._index))
        return self.columns[self._index[name]]

    def labels(self, name: str) -> np.ndarray:
        """The labels of a column, one for every row that ever came; null is -1."""
        self.column(name)
        return self._labels[self._index[name]].array

    @property
    def label_rows(self) -> LabelRows:
        """The labels row after row; columns are :attr:`compared_names`."""
        if self._label_rows is None:
            columns = [self.labels(name) for name in self.compared_names]
            if self._kept_rows is not None:
                reader, rows = self._kept_rows
                self._label_rows = LabelRows.load(reader, "rows", rows)
                self._label_rows.append([labels[rows:] for labels in columns])
            else:
                self._label_rows = LabelRows.of(columns)
        return self._label_rows

    def comparable(self, left: str, right: str) -> bool:
        """Whether the labels of two columns are on one scale."""
        return self.column(left).scale == self.column(right).scale

    def values(self, name: str, labels: np.ndarray) -> pa.Array:
        """The values that labels of a column stand for; null for -1."""
        column = self.column(name)
        known = labels != NULL
        if not known.any():
            return pa.nulls(len(labels), column.arrow_type)
        dictionary = self._dictionaries[column.scale]
        values = self._forms[column.scale].give(dictionary.values(np.asarray(labels)[known]), column.arrow_type)
        if known.all():
            return values
        places = np.cumsum(known) - 1
        return pc.take(values, pa.array(places, mask=~known))

    def decode(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> pa.Table:
        """The values of some rows, here or gone."""
        at = np.asarray(rows, np.int64)
        return pa.table(
            {
                name: self.values(name, self.labels(name)[at])
                for name in (columns if columns is not None else self.names)
            }
        )

    def row_names(self, rows: Sequence[int] | np.ndarray) -> pa.Array:
        """How rows are called: by the columns of ``row_id``, else by their number."""
        at = np.asarray(rows, np.int64)
        return (
            id_array(self.row_id, [self.values(name, self.labels(name)[at]) for name in self.row_id])
            if self.row_id
            else pa.array(at)
        )

    def relation(self, rows: np.ndarray | None = None) -> LiveRelation:
        """The living rows (or the rows given) with dense codes; good until the next batch."""
        if rows is not None:
            return LiveRelation(self, np.asarray(rows, np.int32))
        if self._relation is None:
            self._relation = LiveRelation(self, np.flatnonzero(self.alive).astype(np.int32))
        return self._relation

    def read(self, given: Any, *, deletes: bool = False, **reading: Any) -> Batch:
        """A batch in the types of this table. Rows to delete are named by their ids where rows have one."""
        if isinstance(given, Batch):
            return given
        if deletes and self.row_id:
            if isinstance(given, (list, tuple, set, frozenset, range, np.ndarray)):
                given = self._ids(list(given))
            return read_batch(given, self.arrow_types, columns=self.row_id, others=True, **reading)
        return read_batch(given, self.arrow_types, others=self.others, skipped=self.skipped, **reading)

    def _ids(self, ids: list[Any]) -> pa.Table:
        values = [ids]
        if len(self.row_id) > 1:
            if not all(isinstance(id, (list, tuple)) and len(id) == len(self.row_id) for id in ids):
                raise RowlawError(
                    "BATCH_COLUMNS", source="deletes", problem=f"an id is a tuple of {', '.join(self.row_id)}"
                )
            values = [[id[i] for id in ids] for i in range(len(self.row_id))]
        columns = {}
        for name, own in zip(self.row_id, values, strict=True):
            wanted = self.column(name).arrow_type
            try:
                columns[name] = pa.array(own, wanted)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                problem = f"a value that does not fit ({str(error).splitlines()[0]})"
                raise RowlawError(
                    "BATCH_TYPE", source="deletes", column=name, found=problem, expected=str(wanted)
                ) from None
        return pa.table(columns)

    def rows_of_ids(self, batch: Batch, rows: np.ndarray) -> np.ndarray:
        """For each of some rows of a batch, no id twice, the living row that has its id; -1 where none has."""
        return self._matching(self.row_id, batch, rows)

    def take(self, inserts: Any = None, deletes: Any = None) -> AppliedRows:
        """Take a batch in: rows go first, then rows come, so a row may be replaced by one of its id.

        A batch that does not fit is an error and changes nothing. ``O(b log n)`` for a batch of b rows, and one pass
        over a column or a few for rows that are named.
        """
        insert_batch = self.read(inserts) if inserts is not None else None
        delete_batch = self.read(deletes, deletes=True) if deletes is not None else None
        self.relabelled = {}
        deleted = (
            self._rows_to_delete(delete_batch)
            if delete_batch is not None and delete_batch.rows
            else np.zeros(0, np.int32)
        )
        if insert_batch is not None and insert_batch.rows:
            self._check_inserts(insert_batch, deleted)
        inserted = (
            self._insert(insert_batch) if insert_batch is not None and insert_batch.rows else np.zeros(0, np.int32)
        )
        if len(deleted):
            self._deleted_rows.extend(deleted)
        if len(inserted) or len(deleted):
            self._relation = None
            if self._alive is not None:
                alive = self._alive
                alive.extend(np.ones(len(inserted), bool))
                alive.change(deleted, False)
        return AppliedRows(inserted, deleted)

    def _labels_of(self, column: TableColumn, values: pa.Array) -> np.ndarray:
        """The labels of some values, -2 for those that the table has never seen; with null's as the last."""
        labels = self._dictionaries[column.scale].find(self._forms[column.scale].keep(values))
        return np.append(np.where(labels == NULL, _UNSEEN, labels), NULL).astype(np.int32)

    def _rows_to_delete(self, batch: Batch) -> np.ndarray:
        """The rows that a batch names, one for each of its rows."""
        names = self.row_id or self.names
        rows = self._matching(names, batch, np.arange(batch.rows))
        lost = np.flatnonzero(rows < 0)
        if len(lost):
            row = {n: _value(batch.columns[n], int(lost[0])) for n in names}
            shown = repr(row[names[0]]) if len(self.row_id) == 1 else str(row)
            more = f" ({len(lost) - 1:,} more of the batch are not there either)" if len(lost) > 1 else ""
            raise RowlawError("UNKNOWN_ROW", source=batch.source, row=shown, more=more)
        return rows

    def _matching(self, names: Sequence[str], batch: Batch, rows: np.ndarray) -> np.ndarray:
        """For each of some rows of a batch a living row with its values in these columns, no row twice; -1 where none
        is left."""
        codes = [batch.columns[n].codes[rows] for n in names]
        wanted = np.stack(
            [self._labels_of(self.column(n), batch.columns[n].values)[c] for n, c in zip(names, codes, strict=True)]
        )
        seen = (wanted != _UNSEEN).all(axis=0)  # values that never came need not be looked for
        matching = np.full(len(rows), -1, np.int32)
        if seen.any():
            order = sorted(range(len(names)), key=lambda i: -len(self._dictionaries[self.column(names[i]).scale]))
            matching[seen] = matching_rows([self.labels(names[i]) for i in order], wanted[order][:, seen], self.alive)
        return matching

    def _check_inserts(self, batch: Batch, deleted: np.ndarray) -> None:
        if self.rows + batch.rows > MOST_ROWS:
            raise RowlawError(
                "TABLE_TOO_LARGE", source=batch.source, rows=f"{self.rows + batch.rows:,}", limit=f"{MOST_ROWS:,}"
            )
        if not self.row_id:
            return
        for name in self.row_id:
            nulls = int((batch.columns[name].codes == NULL).sum())
            if nulls:
                raise null_ids(name, nulls, f" in {batch.source}")
        numbers, first = batch.numbers(self.row_id)
        if len(first) < batch.rows:
            twice = int(np.flatnonzero(numbers == np.flatnonzero(np.bincount(numbers) > 1)[0])[0])
            id = CompositeId(self.row_id, (_value(batch.columns[name], twice) for name in self.row_id))
            raise RowlawError(
                "DUPLICATE_ROW_ID",
                source=batch.source,
                id=id if len(id) > 1 else id[0],
                problem="occurs twice in the batch",
            )
        rows = self.rows_of_ids(batch, first)
        rows = np.setdiff1d(rows[rows >= 0], deleted)
        if len(rows):
            taken = row_name(self.row_names(rows[:1])[0].as_py())
            raise RowlawError(
                "DUPLICATE_ROW_ID",
                source=batch.source,
                id=taken,
                problem="belongs to another row; delete that row in the same batch",
            )

    def _insert(self, batch: Batch) -> np.ndarray:
        first = self.rows
        kept: dict[str, Values] = {
            c.name: self._forms[c.scale].keep(batch.columns[c.name].values) for c in self.columns
        }
        new_labels: dict[str, np.ndarray] = {}
        for scale, dictionary in enumerate(self._dictionaries):
            labels, changed = _added(dictionary, {c.name: kept[c.name] for c in self.columns if c.scale == scale})
            new_labels |= labels
            for name in labels if changed is not None else ():
                assert changed is not None
                self._labels[self._index[name]] = MemoryArray(changed(self.labels(name)))
                self.relabelled[name] = changed
        for i, c in enumerate(self.columns):
            array = self._labels[i]
            if isinstance(array, FileArray) and not array.fits(batch.rows):
                array = self._labels[i] = MemoryArray(array.array)
            array.extend(np.append(new_labels[c.name], np.int32(NULL))[batch.columns[c.name].codes])
        if self.relabelled:
            self._kept_rows = None
        if self._label_rows is not None:
            for i, name in enumerate(self.compared_names):
                if name in self.relabelled:
                    self._label_rows.replace(i, self.labels(name)[:first])
            self._label_rows.append([self.labels(name)[first:] for name in self.compared_names])
        return np.arange(first, first + batch.rows, dtype=np.int32)

    @property
    def sparse(self) -> bool:
        """Whether so many rows are gone that the table should be compacted."""
        return len(self._deleted_rows) > DEAD_SHARE * self.rows

    def compact(self) -> np.ndarray:
        """Forget the rows that are gone, and values that only they had. Gives the new number of each old row, -1 for
        those forgotten."""
        kept = np.flatnonzero(self.alive)
        numbers = np.full(self.rows, -1, np.int32)
        numbers[kept] = np.arange(len(kept), dtype=np.int32)
        self._labels = [MemoryArray(labels.array[kept]) for labels in self._labels]
        for scale, dictionary in enumerate(self._dictionaries):
            used = sorted_distinct(
                np.concatenate([self._labels[i].array for i, c in enumerate(self.columns) if c.scale == scale])
            )
            dictionary.only(used[used != NULL])
        self._deleted_rows = MemoryArray(np.zeros(0, np.int32))
        self._alive = self._relation = self._label_rows = self._kept_rows = None
        return numbers

    def save(self, writer: Writer) -> dict[str, Any]:
        """Write what has changed since the last generation; gives the facts for the manifest."""
        unfiled = [i for i, labels in enumerate(self._labels) if not isinstance(labels, FileArray)]
        if unfiled:
            capacity = self.rows + max(SPARE_ROWS, int(self.rows * SPARE_SHARE))
            made = FileArray.create_all(
                writer.store.data / writer.new_file(), [self._labels[i].array for i in unfiled], capacity
            )
            for i, array in zip(unfiled, made, strict=True):
                self._labels[i] = array
        if not isinstance(self._deleted_rows, FileArray):
            self._deleted_rows = FileArray.create(writer.store.data / writer.new_file(), self._deleted_rows.array)
        for name, filed in (
            *((f"labels-{i}", labels) for i, labels in enumerate(self._labels)),
            ("deaths", self._deleted_rows),
        ):
            assert isinstance(filed, FileArray)
            writer.grow(name, filed)
        for scale, dictionary in enumerate(self._dictionaries):
            for run in dictionary.runs:
                _save_run(writer.under(f"scale-{scale}/run-{run.number}"), run)
        kept = None
        if self._label_rows is not None:
            kept = self._label_rows.save(writer, "rows")
        elif self._kept_rows is not None and "rows" in writer:
            writer.keep("rows")
            kept = self._kept_rows[1]
        schema = pa.schema([(c.name, c.arrow_type) for c in self.columns])
        return {
            "schema": schema.serialize().to_pybytes().hex(),
            "scales": [c.scale for c in self.columns],
            "runs": [[run.number for run in dictionary.runs] for dictionary in self._dictionaries],
            "next_runs": [dictionary.next_run for dictionary in self._dictionaries],
            "sizes": [dictionary.size for dictionary in self._dictionaries],
            "row_id": given_id(self.row_id),
            "label_rows": kept,
            "others": self.others,
            "skipped": {name: [error.condition, error.parameters] for name, error in self.skipped.items()},
        }

    @staticmethod
    def load(store: Store, facts: Mapping[str, Any], prefix: str) -> GrowingTable:
        """The table of a generation; nothing of it is read yet."""
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(facts["schema"])))
        columns = [TableColumn(f.name, f.type, scale) for f, scale in zip(schema, facts["scales"], strict=True)]
        labels = [store.growing(f"{prefix}/labels-{i}") for i in range(len(columns))]
        reader = store.reader.under(prefix)
        dictionaries = []
        for scale, numbers in enumerate(facts["runs"]):
            kept = form([c.arrow_type for c in columns if c.scale == scale])
            runs = tuple(_load_run(reader.under(f"scale-{scale}/run-{number}"), number, kept) for number in numbers)
            dictionaries.append(Dictionary(runs, facts["sizes"][scale], facts["next_runs"][scale]))
        skipped = {
            name: RowlawError(condition, **given) for name, (condition, given) in facts.get("skipped", {}).items()
        }
        deaths = store.growing(f"{prefix}/deaths")
        made = GrowingTable(
            columns, labels, deaths, dictionaries, row_id=facts["row_id"], others=facts["others"], skipped=skipped
        )
        made._kept_rows = None if facts["label_rows"] is None else (reader, facts["label_rows"])
        return made

    def _check(self) -> None:
        """Every invariant."""
        for dictionary in self._dictionaries:
            dictionary._check()
        assert len({len(labels) for labels in self._labels}) == 1
        assert len(np.unique(self._deleted_rows.array)) == len(self._deleted_rows)
        assert int(self.alive.sum()) == self.living
        for column, labels in zip(self.columns, self._labels, strict=True):
            assert np.isin(labels.array, np.append(self._dictionaries[column.scale].labels, NULL)).all()
        if self.row_id:
            ids = np.stack([self.labels(name)[self.alive] for name in self.row_id])
            assert np.unique(ids, axis=1).shape == ids.shape
            assert (ids >= 0).all()


def _added(dictionary: Dictionary, kept: Mapping[str, Values]) -> tuple[dict[str, np.ndarray], Relabelling | None]:
    """The labels of the values of some columns, in a dictionary that they share and that takes in what it does not
    have."""
    values = merged(kept.values())
    if values is None:
        return {name: np.zeros(0, np.int32) for name in kept}, None
    labels, changed = dictionary.add(values)
    return {name: labels if own is values else labels[values.places(own)[0]] for name, own in kept.items()}, changed


def _value(column: BatchColumn, row: int) -> Any:
    code = int(column.codes[row])
    return None if code == NULL else column.values[code].as_py()


def _save_run(writer: Writer, run: Run) -> None:
    for name, values in {"labels": run.labels, **run.values.arrays()}.items():
        writer.keep_or_array(name, values)


def _load_run(reader: Reader, number: int, kept: Form) -> Run:
    return Run(number, kept.load(reader.array), reader.array("labels"))
