"""Frames into folders of Parquet, written by the workers: nothing passes this process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rowlaw.engine.answers import folder_exists
from rowlaw.spark.session import by_connect, runs_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CASE_SENSITIVE = "spark.sql.caseSensitive"


def write_parquet(frame: DataFrame, path: str) -> None:
    """Write a frame to a new folder. A path without a scheme is on this machine if the workers are, else where Spark's
    default is."""
    from pyspark.errors import AnalysisException

    session = frame.sparkSession
    here = runs_here(session) and not by_connect(session) and "://" not in path
    if here and os.path.lexists(path):
        raise folder_exists(path)
    try:
        with _names_as_they_are(session, frame.columns):
            frame.write.mode("error").parquet(f"file://{os.path.abspath(path)}" if here else path)
    except BaseException as error:
        if isinstance(error, AnalysisException) and error.getCondition() == "PATH_ALREADY_EXISTS":
            raise folder_exists(path) from None
        if here:
            shutil.rmtree(path, ignore_errors=True)  # half of the violations would pass for all of them
        raise


@contextmanager
def _names_as_they_are(session: SparkSession, names: Sequence[str]) -> Iterator[None]:
    """While in this block, the session accepts columns whose names differ in case only, if there are any."""
    before = session.conf.get(_CASE_SENSITIVE, None)
    if len({name.lower() for name in names}) == len(names) or before == "true":
        yield
        return
    session.conf.set(_CASE_SENSITIVE, "true")
    try:
        yield
    finally:
        session.conf.set(_CASE_SENSITIVE, before or "false")
