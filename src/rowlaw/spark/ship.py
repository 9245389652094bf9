"""How files of the driver reach the workers: by being the same files where storage is shared, else through Spark."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rowlaw.spark.jobs import SparkTasks
from rowlaw.spark.session import by_connect, runs_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder of the driver, and the mark by which a worker knows that it sees the same one."""

    path: str
    mark: str

    @staticmethod
    def make(folder: Path) -> SharedFolder:
        mark = f"mark-{uuid.uuid4().hex}"
        (folder / mark).touch()
        return SharedFolder(str(folder), mark)

    @property
    def visible(self) -> bool:
        return os.path.exists(os.path.join(self.path, self.mark))


def seen_by_all(session: SparkSession, folder: Path) -> bool:
    """Return whether all workers see the driver's folder: a small job, except where they are processes of this
    machine."""
    if runs_here(session) and not by_connect(session):
        return True
    shared, tasks = SharedFolder.make(folder), SparkTasks(session)
    return all(tasks.map(lambda _: shared.visible, [0] * tasks.slots, "look for shared files"))


def send_files(session: SparkSession, folder: Path) -> None:
    """Copy the files of a folder to every worker machine, once each; workers find them by :func:`located`.

    Spark fetches a file when a worker first needs it, so they stay where they are offered until the process ends.
    """
    context = getattr(session, "_sc", None)
    outbox = Path(tempfile.mkdtemp(prefix="rowlaw-send-", dir=folder.parent))
    atexit.register(shutil.rmtree, outbox, ignore_errors=True)
    for file in sorted(folder.iterdir()):
        if file.is_file():
            named = outbox / f"{folder.name}--{file.name}"  # Spark keeps all files in one folder
            os.link(file, named)
            if context is not None:
                context.addFile(str(named))
            else:
                session.addArtifacts(str(named), file=True)


def located(folder: Path, name: str) -> Path:
    """Return a file of the driver's folder, as this process sees it."""
    here = folder / name
    if here.exists() or not _is_worker():
        return here
    from pyspark import SparkFiles

    return Path(SparkFiles.getRootDirectory()) / f"{folder.name}--{name}"


def _is_worker() -> bool:
    return "pyspark" in sys.modules and getattr(sys.modules["pyspark"].SparkFiles, "_is_running_on_worker", False)
