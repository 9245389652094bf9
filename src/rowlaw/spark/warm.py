"""Makes the class archive of :mod:`rowlaw.spark.cds`, for ``rowlaw warm``.

It runs a small local session through what rowlaw does with Spark, so that Java has loaded those classes when it ends
and writes them to the archive.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rowlaw.errors import RowlawError
from rowlaw.spark import cds
from rowlaw.spark.java import Java

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FREE_BYTES = 2 << 30  # on the disk: Java writes more than the archive keeps
_KEPT = 3  # archives of other Javas and jars


def make(java: Java) -> Path | None:
    """Make the archive of this Java and this PySpark, unless it exists. Returns the file; None where PySpark has no
    jars."""
    file = cds.archive(java)
    if file is None or file.is_file():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(file.parent).free < FREE_BYTES:
        raise RowlawError(
            "FILE_NOT_WRITTEN", path=file, problem=f"making it needs {FREE_BYTES >> 30} GiB of free disk space"
        )
    draft = file.with_name(f"{file.stem}.{os.getpid()}.tmp")
    try:
        with tempfile.TemporaryDirectory() as folder:
            _run(java, draft, Path(folder))
        if not draft.is_file() or draft.stat().st_size == 0:
            raise RowlawError("FILE_NOT_WRITTEN", path=file, problem="Java wrote no class archive")
        os.replace(draft, file)
        _prune(file)
        return file
    finally:
        for left in file.parent.glob(f"{draft.name}*"):
            left.unlink(missing_ok=True)


def exercise(spark: SparkSession, folder: Path) -> int:
    """Run one small job of each sort that rowlaw runs, and count the rows seen."""
    from pyspark.sql import functions as sql

    (folder / "t.csv").write_text(
        "a,b,c,d\n" + "".join(f"{i},{i % 7},x{i % 11},2024-01-{i % 28 + 1:02}\n" for i in range(2000))
    )
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
    """Delete all but the newest other archives: one is of no use once its Java or PySpark is gone, and it is large."""
    others = [file for file in made.parent.iterdir() if file.suffix == made.suffix and file != made]
    for file in sorted(others, key=lambda file: file.stat().st_mtime, reverse=True)[_KEPT:]:
        file.unlink(missing_ok=True)
