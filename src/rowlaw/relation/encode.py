"""From a source to a relation: the only pass in which values are looked at.

Two rounds of tasks. *Read*: a task reads a split (or some of its columns, where the format allows), numbers the
distinct values it meets and leaves local codes and values in the relation's folder. *Merge*: a task takes one column,
sorts the distinct values of all splits and writes its ordered codes. Workers that do not see the driver's folder (a
cluster without shared storage) hand their results back instead, and the driver merges.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.output import drafts
from rowlaw.relation.columns import local_column, merge
from rowlaw.relation.groups import Side, Sorted
from rowlaw.relation.relation import CODES_FILE, Relation, RelationColumn, describe, write_dictionary
from rowlaw.source.coerce import numbered
from rowlaw.source.csv import CsvSplit
from rowlaw.source.csv_errors import find_value
from rowlaw.source.files import MemorySplit
from rowlaw.source.row_ids import RowId, checked_id, null_ids, repeated_ids
from rowlaw.source.source import FileSource, FrameSource, Source, Split
from rowlaw.spark.jobs import DriverThreads, SparkTasks, Workers
from rowlaw.spark.session import cluster
from rowlaw.spark.ship import SharedFolder, seen_by_all
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_SOURCE = 64 << 20  # bytes that the driver's threads read even when there is a cluster
MOST_ROWS = (1 << 31) - 2  # row numbers and codes are 32-bit
TASKS_PER_SLOT = 4
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
# a partition of a Spark frame is numbered in chunks of this size, to bound a worker's memory
_FRAME_CHUNK_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class _Part:
    """Local codes and values of one column of one split: in files, or in hand where files are not shared."""

    rows: int
    path: str | None
    data: tuple[bytes, bytes] | None = None

    def values(self) -> pa.Array:
        if self.data is not None:
            return pa.ipc.open_stream(self.data[1]).read_next_batch().column(0)
        with pa.memory_map(f"{self.path}.values") as source:
            return pa.ipc.open_stream(source).read_next_batch().column(0)

    def codes(self) -> np.ndarray:
        if self.data is not None:
            return np.frombuffer(self.data[0], np.int32)
        return np.fromfile(f"{self.path}.codes", np.int32)

    def stored(self, folder: str) -> _Part:
        """In files of this folder, if it was in hand."""
        if self.data is None:
            return self
        path = os.path.join(folder, uuid.uuid4().hex)
        for suffix, data in zip((".codes", ".values"), self.data, strict=True):
            Path(path + suffix).write_bytes(data)
        return _Part(self.rows, path)


def _keep(column: pa.ChunkedArray, name: str, scratch: SharedFolder) -> _Part:
    """Number the values of a column of one split and keep the result: in the scratch folder, or in hand where that is
    not shared."""
    local = local_column(column)
    codes = np.ascontiguousarray(local.codes, np.int32)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, pa.schema([("values", local.values.type)])) as writer:
        writer.write_batch(pa.record_batch([local.values], names=["values"]))
    if not scratch.visible:
        return _Part(len(codes), None, (codes.tobytes(), sink.getvalue()))
    # a name of its own for every attempt: a task that Spark runs twice must not disturb itself
    path = os.path.join(scratch.path, f"{name}-{uuid.uuid4().hex[:8]}")
    codes.tofile(f"{path}.codes")
    Path(f"{path}.values").write_bytes(sink.getbuffer())
    return _Part(len(codes), path)


def encode(
    source: Source,
    *,
    row_id: RowId = None,
    session: SparkSession | None = None,
    workers: Workers | None = None,
    folder: str | os.PathLike[str] | None = None,
    stop: Stop = NEVER,
) -> Relation:
    """Return the encoded relation of a source.

    Files and frames in memory are encoded by the driver's threads; Spark frames and, on a cluster, large files by Spark
    tasks. ``folder`` is where the relation is kept; without one it is scratch that goes with the relation. Near-linear
    in the rows. Raises ``Stopped`` soon after ``stop`` is requested.
    """
    ids = checked_id(row_id, source)
    workers = workers or _workers(source, session)
    home = (
        Path(folder)
        if folder is not None
        else Path(tempfile.mkdtemp(prefix="rowlaw-", dir=os.environ.get("ROWLAW_SCRATCH")))
    )
    if folder is None:
        drafts.add(str(home))
    home.mkdir(parents=True, exist_ok=True)
    scratch = SharedFolder.make(Path(tempfile.mkdtemp(prefix="parts-", dir=home)))
    try:
        shared = not isinstance(workers, SparkTasks) or seen_by_all(workers.session, Path(scratch.path))
        read = _read_frame if isinstance(source, FrameSource) else _read_splits
        parts = read(source, scratch, workers, shared, stop)  # type: ignore[arg-type]
        rows = sum(part.rows for part in parts[0])
        if rows > MOST_ROWS:
            raise RowlawError("TABLE_TOO_LARGE", source=source.name, rows=f"{rows:,}", limit=f"{MOST_ROWS:,}")  # noqa: TRY301 - cleaned up below
        columns = _merge_columns(source, parts, rows, home, workers if shared else DriverThreads(), stop)
        relation = Relation(home, rows, columns, row_id=ids, owned=folder is None, skipped=source.skipped)
        _check_row_id(relation)
        return relation  # noqa: TRY300 - what was written is removed if any line above fails
    except BaseException as error:
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise RowlawError("NO_ROOM", path=str(home.parent), problem=os.strerror(error.errno)) from error
        raise
    finally:
        drafts.discard(str(home))  # from here on the relation takes care of it
        shutil.rmtree(scratch.path, ignore_errors=True)


def _workers(source: Source, session: SparkSession | None) -> Workers:
    """Spark for what is Spark's already, and for large files where a cluster brings cores; else threads
    (docs/decisions/0002)."""
    if isinstance(source, FrameSource):
        return SparkTasks(session or source.frame.sparkSession)
    far = cluster(session) if source.size >= SMALL_SOURCE else None
    return SparkTasks(far) if far is not None else DriverThreads()


@dataclass(frozen=True, slots=True)
class _ReadTask:
    split: Split
    columns: tuple[str, ...]
    name: str


def _read_splits(
    source: FileSource, scratch: SharedFolder, workers: Workers, shared: bool, stop: Stop
) -> list[list[_Part]]:
    """Return the parts of each column, in the order of the splits."""
    splits = source.splits
    if isinstance(workers, SparkTasks):
        splits = tuple(
            s.spilled(os.path.join(scratch.path, f"frame-{i}.arrow")) if isinstance(s, MemorySplit) else s
            for i, s in enumerate(splits)
        )
    tasks = [
        _ReadTask(split, columns, f"{i}-{j}")
        for i, split in enumerate(splits)
        for j, columns in enumerate(_column_groups(source.columns, split, len(splits), workers.slots))
    ]

    def read(task: _ReadTask) -> list[_Part]:
        table = task.split.read(task.columns)
        return [_keep(table.column(i), f"{task.name}-{i}", scratch) for i in range(len(task.columns))]

    if isinstance(workers, SparkTasks):
        results = workers.map(
            read, tasks, f"read {source.name}", taken=None if shared else partial(_stored, scratch), stop=stop
        )
    else:
        results = workers.map(read, tasks, f"read {source.name}", stop=stop)
    parts: dict[str, list[_Part]] = {name: [] for name in source.columns}
    for task, read_parts in zip(tasks, results, strict=True):
        for name, part in zip(task.columns, read_parts, strict=True):
            parts[name].append(part)
    return [parts[name] for name in source.columns]


def _column_groups(columns: tuple[str, ...], split: Split, splits: int, slots: int) -> Iterator[tuple[str, ...]]:
    """Return a split's columns in as many groups as it takes to keep every slot busy, where reading a few costs no
    more."""
    groups = min(len(columns), -(-TASKS_PER_SLOT * slots // splits)) if split.columnar else 1
    for group in range(groups):
        yield columns[group::groups]


def _stored(scratch: SharedFolder, parts: list[_Part]) -> list[_Part]:
    return [part.stored(scratch.path) for part in parts]


def _read_frame(
    source: FrameSource, scratch: SharedFolder, workers: Workers, shared: bool, stop: Stop
) -> list[list[_Part]]:
    names = source.columns
    assert isinstance(workers, SparkTasks)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, list[_Part]]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for chunk, table in enumerate(_chunks(batches)):
            number = context.partitionId() << 32 | chunk
            yield number, [_keep(table.column(i), f"{number}-{i}", scratch) for i in range(len(names))]

    taken = None if shared else partial(_stored, scratch)
    results = workers.over(numbered(source.frame, names), read, f"read {source.name}", taken=taken, stop=stop)
    in_order = sorted(results, key=lambda pair: pair[0])
    empty = [_keep(pa.chunked_array([], field.type), "empty", scratch) for field in source.schema]
    return [[part[i] for _, part in in_order] or [empty[i]] for i in range(len(names))]


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= _FRAME_CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _allocate(path: Path, size: int) -> None:
    """Return a file of a size, with its room taken: a page of a mapped file that finds none would end the process."""
    with open(path, "wb") as file:
        file.truncate(size)
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno in NO_ROOM:  # else the file system knows no such thing
                    raise


@dataclass(frozen=True, slots=True)
class _MergeTask:
    index: int
    name: str
    parts: Sequence[_Part]
    wanted: pa.DataType | None
    infer: bool


def _merge_columns(
    source: Source, parts: list[list[_Part]], rows: int, home: Path, workers: Workers, stop: Stop
) -> list[RelationColumn]:
    path = home / CODES_FILE
    _allocate(path, 4 * rows * len(parts))
    infer = isinstance(source, FileSource) and source.inferred
    tasks = [_MergeTask(i, name, parts[i], source.types.get(name), infer) for i, name in enumerate(source.columns)]

    def merged(task: _MergeTask) -> RelationColumn:
        try:
            column = merge([part.values() for part in task.parts], task.wanted, task.infer)
        except RowlawError as error:
            raise RowlawError(error.condition, **{**error.parameters, "column": task.name}) from None
        write_dictionary(home, task.index, column.values)
        codes = np.memmap(path, np.int32, "r+", 4 * rows * task.index, (rows,)) if rows else np.zeros(0, np.int32)
        start = 0
        for part, scale in zip(task.parts, column.maps, strict=True):
            # -1 wraps to the null at the end
            np.take(scale, part.codes(), out=codes[start : start + part.rows], mode="wrap")
            start += part.rows
        return describe(task.name, column.values, codes)

    # the longest first: merging is dominated by the columns with most distinct values
    tasks.sort(key=lambda task: -sum(os.path.getsize(f"{p.path}.values") if p.path else 0 for p in task.parts))
    in_hand = any(part.data is not None for column in parts for part in column)
    try:
        encoded = (DriverThreads() if in_hand else workers).map(merged, tasks, f"encode {source.name}", stop=stop)
    except RowlawError as error:
        raise placed(error, source) from None
    return [
        column for _, column in sorted(zip((t.index for t in tasks), encoded, strict=True), key=lambda pair: pair[0])
    ]


def placed(error: RowlawError, source: Source) -> RowlawError:
    """Return a value that does not have the type wanted, with the file and line it stands on."""
    if error.condition != "BAD_VALUE":
        return error
    path, where = source.name, ""
    column, value = error.parameters["column"], error.parameters["value"]
    for outer in source.splits if isinstance(source, FileSource) else ():
        split = getattr(outer, "split", outer)
        if isinstance(split, CsvSplit) and (
            line := find_value(split.path, split.dialect, split.names.index(column), value)
        ):
            path, where = split.path, f", line {line}"
            break
    return RowlawError("BAD_VALUE", **{**error.parameters, "path": path, "where": where})


def _combinations(codes: Sequence[np.ndarray], distinct: Sequence[int]) -> int:
    """Count the distinct combinations of values in some columns (``int32[rows]`` each) without nulls: one sort."""
    rows = np.arange(len(codes[0]), dtype=np.int32)
    _, order = Side.whole(rows).sorted_by(
        [Sorted(column, width + 1) for column, width in zip(codes, distinct, strict=True)]
    )
    differ = np.zeros(max(0, len(rows) - 1), bool)
    for column in codes:
        ordered = column[order]
        differ |= ordered[1:] != ordered[:-1]
    return min(1, len(rows)) + int(np.count_nonzero(differ))


def _check_row_id(relation: Relation) -> None:
    if not relation.row_id:
        return
    columns = [relation.column(name) for name in relation.row_id]
    for column in columns:
        if column.nulls:
            raise null_ids(column.name, column.nulls)
    distinct = max((column.distinct for column in columns), default=0)
    if distinct < relation.rows and len(columns) > 1:
        distinct = _combinations(
            [relation.codes(column.name) for column in columns], [column.distinct for column in columns]
        )
    if distinct < relation.rows:
        raise repeated_ids(relation.row_id, relation.rows, distinct)
