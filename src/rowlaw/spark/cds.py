"""A class archive that halves the start of Spark: Java maps its classes from one file instead of parsing a few hundred jars.

The archive belongs to one Java and one set of jars, takes about 170 MB in the cache folder, and is made by a quiet process of its own when
the first run without it ends (see ``rowlaw.spark.warm``). ``ROWLAW_CDS=0`` switches it off, ``ROWLAW_CDS=use`` uses an archive that is
there and makes none. Java checks an archive before it uses it, so a stale or damaged one only costs the time it would have saved.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from rowlaw.cache import cache_dir
from rowlaw.spark.java import Java

AOT = 25  # from this Java on the archive is an ahead-of-time cache (JEP 514), which also works for runtimes without an archive of their own
RETRY = 24 * 3600  # seconds until a failed attempt is repeated

_due: set[Path] = set()


def archive(java: Java) -> Path | None:
    """The file for this Java and the jars of this PySpark, there or not; None without a PySpark to look at."""
    jars = _jars()
    if jars is None:
        return None
    key = hashlib.sha256(f"{java.runtime}\0{java.version}\0{jars}\0".encode())
    for entry in sorted(os.scandir(jars), key=lambda entry: entry.name):
        facts = entry.stat()
        key.update(f"{entry.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return cache_dir() / "cds" / f"java{java.major}-{key.hexdigest()[:16]}{'.aot' if java.major >= AOT else '.jsa'}"


def options(java: Java) -> list[str]:
    """The options of Java that use the archive, none when there is none."""
    file = archive(java) if _wish() != "0" else None
    if file is None or not file.is_file():
        return []
    # Java's own log goes to standard output, also when it only says that an archive does not fit.
    return [_quote(f"-XX:{'AOTCache' if java.major >= AOT else 'SharedArchiveFile'}={file}"), "-Xlog:disable"]


def dump_options(java: Java, file: Path) -> list[str]:
    """The options of Java that write ``file`` when it ends."""
    return [_quote(f"-XX:{'AOTCacheOutput' if java.major >= AOT else 'ArchiveClassesAtExit'}={file}")]


def make_later(java: Java) -> None:
    """When this process ends, start another that makes the archive, unless it is there, unwanted, or was tried within a day."""
    if _wish() or "CI" in os.environ:
        return
    file = archive(java)
    if file is not None and not file.is_file() and file not in _due:
        _due.add(file)
        atexit.register(_start_maker, file)


def claim(file: Path) -> bool:
    """Whether this process is the one to make ``file``: one at a time, and once a day."""
    lock = lock_of(file)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        if tried(file):
            return False
        lock.unlink(missing_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError:
        return False
    return True


def tried(file: Path) -> bool:
    """Whether somebody is making ``file``, or failed to within a day."""
    try:
        return time.time() - lock_of(file).stat().st_mtime < RETRY
    except OSError:
        return False


def lock_of(file: Path) -> Path:
    """The file that marks an attempt; it stays after a failure.

    >>> lock_of(Path("/cache/cds/java17-ab.jsa")).name
    'java17-ab.jsa.lock'
    """
    return file.with_name(f"{file.name}.lock")


def _start_maker(file: Path) -> None:
    if file.is_file() or tried(file):
        return
    environment = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_SUBMIT_ARGS", "ROWLAW_SPARK_LOG")}
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        # -P: a file of the user's current folder must not pass for a module. posix_spawn: nobody waits for this child.
        arguments = [sys.executable, "-P", "-m", "rowlaw.spark.warm"]
        os.posix_spawn(sys.executable, arguments, environment | {"ROWLAW_CDS": "0"}, file_actions=quiet, setsid=True)
    except (OSError, NotImplementedError):
        pass  # it would only have been quicker


def _wish() -> str:
    return os.environ.get("ROWLAW_CDS", "")


def _jars() -> Path | None:
    home = os.environ.get("SPARK_HOME")
    if home is None:
        spec = find_spec("pyspark")  # finds the package without importing it
        home = os.path.dirname(spec.origin) if spec is not None and spec.origin else None
    jars = Path(home) / "jars" if home else None
    return jars if jars is not None and jars.is_dir() else None


def _quote(option: str) -> str:
    """As Spark's launcher splits options: double quotes keep blanks together."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
