"""Makes the class archive of ``rowlaw.spark.cds``: ``python -m rowlaw.spark.warm``, started in the background by the first run.

It runs a small local session through what rowlaw does with Spark, so that Java has loaded those classes when it ends and writes them down.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rowlaw.spark import cds
from rowlaw.spark.java import Java, find_java

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

LIMIT = 900  # seconds until a maker that hangs is ended
ROOM = 2 << 30  # bytes that must be free on the disk
KEPT = 3  # archives of other Javas and jars


def make() -> Path | None:
    """Make the archive of this Java and this PySpark unless somebody does so already; the file, or None."""
    java = find_java()
    file = cds.archive(java)
    if file is None or file.is_file() or not cds.claim(file) or shutil.disk_usage(file.parent).free < ROOM:
        return None
    draft = file.with_name(f"{file.stem}.{os.getpid()}.tmp")
    try:
        with tempfile.TemporaryDirectory() as folder:
            _run(java, draft, Path(folder))
        if draft.stat().st_size == 0:
            return None
        os.replace(draft, file)
        cds.lock_of(file).unlink(missing_ok=True)  # after a failure it stays, and keeps the next runs from trying at once
        _prune(file)
        return file
    finally:
        for left in file.parent.glob(f"{draft.name}*"):
            left.unlink(missing_ok=True)


def exercise(spark: SparkSession, folder: Path) -> int:
    """One small job of each sort that rowlaw runs; the number of rows seen, all of which a test can know."""
    from pyspark.sql import functions as sql

    (folder / "t.csv").write_text("a,b,c,d\n" + "".join(f"{i},{i % 7},x{i % 11},2024-01-{i % 28 + 1:02}\n" for i in range(2000)))
    table = spark.read.csv(str(folder / "t.csv"), header=True, inferSchema=True)
    table.write.parquet(str(folder / "t.parquet"))
    table = spark.read.parquet(str(folder / "t.parquet"))
    seen = table.toArrow().num_rows
    seen += table.mapInArrow(_same, table.schema).count()
    seen += table.groupBy("b").applyInArrow(_whole, table.schema).count()
    sums = table.groupBy("b").agg(sql.count("*").alias("n"), sql.approx_count_distinct("c"), sql.min("d"), sql.max("a"))
    seen += table.join(sums, "b").select("a", "n").distinct().orderBy("a").limit(2000).toArrow().num_rows
    seen += spark.createDataFrame(table.limit(2000).toArrow()).repartition(2).filter("a >= 0 and c is not null").count()
    return seen


def _run(java: Java, draft: Path, folder: Path) -> None:
    from pyspark import SparkContext

    from rowlaw.spark.launch import end
    from rowlaw.spark.session import start

    spark = start("local[2]", cds.dump_options(java, draft), short=True)
    gateway = SparkContext._gateway
    try:
        exercise(spark, folder)
        spark.stop()
    finally:
        end(gateway)  # Java writes the archive now


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _whole(group: pa.Table) -> pa.Table:
    return group


def _prune(made: Path) -> None:
    """An archive is of no use once its Java or PySpark is gone, and it is large."""
    others = [file for file in made.parent.iterdir() if file.suffix == made.suffix and file != made]
    for file in sorted(others, key=lambda file: file.stat().st_mtime, reverse=True)[KEPT:]:
        file.unlink(missing_ok=True)


def _main() -> None:
    signal.alarm(LIMIT)
    os.nice(19)
    os.chdir(tempfile.gettempdir())  # the folder we were started in may go away
    with suppress(Exception):  # nobody is there to read about it
        make()


if __name__ == "__main__":
    _main()
