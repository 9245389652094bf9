"""The folder of a state: named arrays in generations, of which a reader sees exactly one.

    STATE/manifest.json     which arrays there are, and where: the only file that is ever replaced, in one step
    STATE/lock              held by whoever writes
    STATE/data/*.bin        the arrays; a file is written once, or grows at its end

A generation is written in full and made durable before the manifest names it, so a process killed at any moment leaves
the old state or the new one. What a file holds beyond the length that the manifest gives is the rest of an attempt that
failed, and is written over. The files of the last generation are kept until the next one, so that a reader who has just
read the manifest finds them.
"""

from __future__ import annotations

import fcntl
import json
import math
import mmap
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rowlaw.errors import RowlawError
from rowlaw.storage.arrays import FileArray, step

FORMAT = 5  # of the folder, as it is written
_OLDEST_FORMAT = 4  # that is read: in it, rules are a list of entries
MANIFEST, LOCK, DATA = "manifest.json", "lock", "data"
_ALIGNED = 64  # bytes: where arrays begin in a file
_ALONE = 1 << 16  # bytes: an array this large has a file of its own, which goes when the array does
_ATTEMPTS = 20  # at reading a manifest and its files while generations pass by
_SYNCED_AT_ONCE = 8

Entry = tuple[str, int, str, list[int], int | None]  # file, offset, type, shape, capacity to grow


class Reader:
    """The arrays of one generation, mapped when the manifest is read and touched when they are used."""

    def __init__(self, store: Store, prefix: str = "") -> None:
        self._maps, self._entries, self._data, self._prefix, self._store = (
            store._maps,
            store.entries,
            store.data,
            prefix,
            store,
        )

    def under(self, prefix: str) -> Reader:
        """The arrays whose names begin with ``prefix/``, by the rest of their names."""
        reader = Reader(self._store, f"{self._prefix}{prefix}/")
        reader._maps, reader._entries = self._maps, self._entries
        return reader

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._entries

    def array(self, name: str) -> np.ndarray:
        """An array, read-only, in the pages of its file."""
        file, offset, dtype, shape, _ = self._entries[self._prefix + name]
        count = math.prod(shape)
        if not count:
            return np.zeros(shape, dtype)
        return np.frombuffer(self._maps[file], dtype, count, offset).reshape(shape)

    def private(self, name: str) -> np.ndarray:
        """An array that this process may change: pages that it writes to become its own, others stay in the file."""
        file, offset, dtype, shape, _ = self._entries[self._prefix + name]
        if not math.prod(shape):
            return np.zeros(shape, dtype)
        return np.memmap(self._data / file, dtype, "c", offset, tuple(shape)).view(np.ndarray)

    def json(self, name: str) -> Any:
        return json.loads(self.array(name).tobytes())


class Writer:
    """The next generation while it is made. What is neither written nor kept is not in it."""

    def __init__(self, store: Store, prefix: str = "", root: Writer | None = None) -> None:
        self.store, self._prefix, self._root = store, prefix, root or self
        if root is None:
            self.entries: dict[str, Entry] = {}
            self.waiting: dict[str, np.ndarray] = {}
            self.grown: dict[str, FileArray] = {}
            self.files = 0

    def under(self, prefix: str) -> Writer:
        """A writer of names that begin with ``prefix/``."""
        return Writer(self.store, f"{self._prefix}{prefix}/", self._root)

    def array(self, name: str, values: np.ndarray) -> None:
        """Write an array. It must not change before the generation is committed."""
        self._root.waiting[self._prefix + name] = np.ascontiguousarray(values)

    def json(self, name: str, value: Any) -> None:
        self.array(name, np.frombuffer(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), np.uint8))

    def __contains__(self, name: str) -> bool:
        """Whether the last generation has such an array, which may be kept."""
        return self._prefix + name in self.store.entries

    def keep(self, name: str) -> None:
        """The array of the last generation, which is not written again."""
        self._root.entries[self._prefix + name] = self.store.entries[self._prefix + name]

    def keep_all(self) -> None:
        """All arrays of the last generation whose names begin as this writer's do."""
        for name in self.store.entries:
            if name.startswith(self._prefix):
                self._root.entries[name] = self.store.entries[name]

    def keep_or_array(self, name: str, values: np.ndarray) -> None:
        """An array whose name stands for its content: it is written only if the last generation does not have it."""
        if name in self:
            self.keep(name)
        else:
            self.array(name, values)

    def grow(self, name: str, array: FileArray) -> None:
        """An array that has been extended in its file."""
        self._root.grown[self._prefix + name] = array

    def new_file(self) -> str:
        """The name of a data file that is not in use."""
        self._root.files += 1
        return f"{self.store.generation + 1:08d}-{self._root.files:03d}.bin"

    def commit(self, facts: Mapping[str, Any]) -> None:
        """Make this generation the state. ``facts`` are small things that the manifest holds itself."""
        self.store._commit(self._root, dict(facts))


class Store:
    """A folder, and the generation of it that this process sees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / DATA
        self.generation = 0
        self.facts: dict[str, Any] = {}
        self.entries: dict[str, Entry] = {}
        self._before: list[str] = []  # files of the generation before this one
        self._maps: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}  # of the maps
        self._mark: tuple[int, ...] | None = None  # by which a manifest is known again without reading it

    @staticmethod
    def check_vacant(path: str | os.PathLike[str]) -> None:
        """A state may be made in a folder that is not there, is empty, or was left unfinished by an earlier attempt."""
        folder = Path(path)
        if (folder / MANIFEST).exists():
            raise RowlawError("STATE_EXISTS", path=str(folder), problem="holds a state already")
        if folder.exists() and (
            not folder.is_dir() or any(p.name not in (LOCK, DATA) and not _temporary(p.name) for p in folder.iterdir())
        ):
            raise RowlawError("STATE_EXISTS", path=str(folder), problem="is not an empty folder")

    @staticmethod
    def create(path: str | os.PathLike[str]) -> Store:
        """A new folder, without a generation yet."""
        Store.check_vacant(path)
        folder = Path(path)
        try:
            (folder / DATA).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RowlawError("STATE_NOT_WRITTEN", path=str(folder), problem=str(error)) from None
        return Store(folder)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Store:
        store = Store(Path(path))
        store.refresh()
        return store

    def refresh(self) -> bool:
        """See the newest generation; says whether that is another one than before."""
        problem = ""
        for _ in range(_ATTEMPTS):
            mark = _mark(self.folder / MANIFEST)
            if mark is not None and mark == self._mark:
                return False
            manifest = self._manifest()
            if manifest["generation"] == self.generation:
                self._mark = mark
                return False
            try:
                self._adopt(manifest)
            except FileNotFoundError as error:  # generations have passed by, and with them this one's files
                problem = f"the file {Path(error.filename).name} is missing"
                continue
            self._mark = mark
            return True
        raise RowlawError("STATE_DAMAGED", path=str(self.folder), problem=problem)

    def _adopt(self, manifest: dict[str, Any]) -> None:
        """See the generation of a manifest: map its files, but for those that are mapped."""
        entries: dict[str, Entry] = {name: (e[0], e[1], e[2], e[3], e[4]) for name, e in manifest["arrays"].items()}
        sizes = _extents(entries)
        maps = {
            file: self._maps[file] if self._sizes.get(file) == size else self._map(file, size)
            for file, size in sizes.items()
        }
        self.generation, self.facts, self.entries = manifest["generation"], manifest["facts"], entries
        self._before, self._maps, self._sizes = manifest["previous"], maps, sizes

    @property
    def reader(self) -> Reader:
        return Reader(self)

    def growing(self, name: str) -> FileArray:
        """An array of this generation, to be extended."""
        file, offset, dtype, shape, capacity = self.entries[name]
        return FileArray(
            self.data / file,
            np.dtype(dtype),
            shape[0],
            offset=offset,
            capacity=capacity,
            mapped=self.reader.array(name),
        )

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            text = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            unfinished = (
                ": it was not finished"
                if (self.folder / DATA).is_dir()
                else ""
                if self.folder.exists()
                else ": there is no such folder"
            )
            raise RowlawError("NO_STATE", path=str(self.folder), hint=unfinished) from None
        except OSError as error:
            raise RowlawError(
                "STATE_DAMAGED", path=str(path), problem=f"the manifest cannot be read: {error.strerror}"
            ) from None
        try:
            manifest = json.loads(text)
            version, checksum = manifest["format"], manifest.pop("checksum")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RowlawError("STATE_DAMAGED", path=str(path), problem="the manifest is not readable") from None
        if not isinstance(version, int) or not _OLDEST_FORMAT <= version <= FORMAT:
            remedy = (
                "install a newer rowlaw" if isinstance(version, int) and version > FORMAT else "make the state anew"
            )
            raise RowlawError("STATE_FORMAT", path=str(self.folder), found=version, known=FORMAT, remedy=remedy)
        if checksum != _checksum(manifest):
            raise RowlawError("STATE_DAMAGED", path=str(path), problem="the manifest does not have its checksum")
        return manifest

    def _map(self, file: str, size: int) -> Any:
        path = self.data / file
        with open(path, "rb") as stream:
            if os.fstat(stream.fileno()).st_size < size:
                raise RowlawError("STATE_DAMAGED", path=str(path), problem=f"the file has less than {size:,} bytes")
            return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) if size else b""

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Write the next generation, alone: of the newest one, which is seen first. Readers are not kept waiting."""
        path = self.folder / LOCK
        if not self.folder.is_dir():
            raise RowlawError("NO_STATE", path=str(self.folder), hint=": there is no such folder")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise RowlawError("STATE_NOT_WRITTEN", path=str(self.folder), problem=str(error)) from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = os.pread(handle, 20, 0).decode(errors="replace").strip()
                raise RowlawError(
                    "STATE_LOCKED", path=str(self.folder), who=f"process {who}" if who else "another process"
                ) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            if self.generation or (self.folder / MANIFEST).exists():
                self.refresh()
            self._sweep()
            yield Writer(self)
        except OSError as error:
            raise RowlawError("STATE_NOT_WRITTEN", path=str(self.folder), problem=str(error)) from error
        finally:
            os.close(handle)

    def _sweep(self) -> None:
        """Delete what neither this generation nor the one before it needs."""
        needed = {*self._sizes, *self._before}
        unneeded = [self.data / name for name in os.listdir(self.data) if name not in needed]
        for path in (*unneeded, *(self.folder / name for name in os.listdir(self.folder) if _temporary(name))):
            step(f"delete {path.name}")
            path.unlink(missing_ok=True)

    def _commit(self, writer: Writer, facts: dict[str, Any]) -> None:
        entries = dict(writer.entries)
        entries |= self._write_arrays(writer)
        for name, array in writer.grown.items():
            entries[name] = (array.path.name, array.offset, array.dtype.str, [len(array)], array.capacity)
        touched = {entry[0] for entry in entries.values()} - set(self._sizes)
        touched |= {array.path.name for name, array in writer.grown.items() if entries[name] != self.entries.get(name)}
        step("make durable")
        if len(touched) < 3:
            for name in touched:
                _sync(self.data / name)
        else:
            with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
                list(pool.map(_sync, [self.data / name for name in sorted(touched)]))
        _sync(self.data)
        manifest = {
            "format": FORMAT,
            "generation": self.generation + 1,
            "facts": facts,
            "arrays": entries,
            "previous": sorted(self._sizes),
        }
        manifest = json.loads(json.dumps(manifest))  # as it will be read
        manifest["checksum"] = _checksum(manifest)
        temporary = self.folder / f"{MANIFEST}.{secrets.token_hex(8)}.tmp"
        step("write manifest")
        with open(temporary, "x", encoding="utf-8") as stream:
            stream.write(json.dumps(manifest))
            stream.flush()
            os.fsync(stream.fileno())
        step("replace manifest")
        os.replace(temporary, self.folder / MANIFEST)
        step("make manifest durable")
        _sync(self.folder)
        self._adopt(manifest)
        self._mark = _mark(self.folder / MANIFEST)
        self._sweep()

    def _write_arrays(self, writer: Writer) -> dict[str, Entry]:
        """Small arrays in one file, large ones each in its own."""
        entries: dict[str, Entry] = {}
        small = {name: a for name, a in writer.waiting.items() if a.nbytes < _ALONE}
        for group in (small, *({name: a} for name, a in writer.waiting.items() if a.nbytes >= _ALONE)):
            if not group:
                continue
            file, offset = writer.new_file(), 0
            step(f"write {file}")
            with open(self.data / file, "xb") as stream:
                for name, array in group.items():
                    stream.write(b"\0" * (-offset % _ALIGNED))
                    offset += -offset % _ALIGNED
                    stream.write(array.data if array.nbytes else b"")
                    entries[name] = (file, offset, array.dtype.str, list(array.shape), None)
                    offset += array.nbytes
                    step(f"write {name}")
        return entries


def _temporary(name: str) -> bool:
    return name.startswith(MANIFEST) and name.endswith(".tmp")


def _mark(path: Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _extents(entries: Mapping[str, Entry]) -> dict[str, int]:
    """For each file the bytes of it that are needed."""
    extents: dict[str, int] = {}
    for file, offset, dtype, shape, _ in entries.values():
        extents[file] = max(extents.get(file, 0), offset + math.prod(shape) * np.dtype(dtype).itemsize)
    return extents


def _checksum(manifest: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest, sort_keys=True).encode())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
