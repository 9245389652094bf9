"""A class archive that halves the start of Spark: Java maps its classes from one file instead of parsing a few hundred
jars.

The archive belongs to one Java and one set of jars, takes about 170 MB in the cache folder, and is made by ``rowlaw
warm`` (see :mod:`rowlaw.spark.warm`). ``ROWLAW_CDS=0`` switches it off. Java checks an archive before it uses it, so a
stale or damaged one only costs the time it would have saved.
"""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

from rowlaw.cache import cache_dir
from rowlaw.spark.java import Java

# from this Java on the archive is an ahead-of-time cache (JEP 514), which also works for runtimes without an archive of
# their own
_AOT = 25


def archive(java: Java) -> Path | None:
    """Name the file for this Java and the jars of this PySpark, whether it exists or not; None where PySpark has no
    jars."""
    jars = _jars()
    if jars is None:
        return None
    key = hashlib.sha256(f"{java.runtime}\0{java.version}\0{jars}\0".encode())
    for entry in sorted(os.scandir(jars), key=lambda entry: entry.name):
        facts = entry.stat()
        key.update(f"{entry.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return cache_dir() / "cds" / f"java{java.major}-{key.hexdigest()[:16]}{'.aot' if java.major >= _AOT else '.jsa'}"


def options(java: Java) -> list[str]:
    """Give the options of Java that use the archive, none when there is no archive."""
    file = archive(java) if os.environ.get("ROWLAW_CDS") != "0" else None
    if file is None or not file.is_file():
        return []
    # Java's own log goes to standard output, also when it only says that an archive does not fit.
    return [_quote(f"-XX:{'AOTCache' if java.major >= _AOT else 'SharedArchiveFile'}={file}"), "-Xlog:disable"]


def dump_options(java: Java, file: Path) -> list[str]:
    """Give the options of Java that write ``file`` when it ends."""
    return [_quote(f"-XX:{'AOTCacheOutput' if java.major >= _AOT else 'ArchiveClassesAtExit'}={file}")]


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
