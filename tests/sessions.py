"""Settings of Spark for tests: tens of thousands of small queries over a few rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

QUICK = {
    # on few rows, compiling a query takes longer than running it
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # the line of Python that each column comes from is for error messages
    "spark.sql.dataFrameQueryContext.enabled": "false",
}


@contextmanager
def quick(session: Any) -> Iterator[Any]:
    """The session with these settings, and as it was afterwards."""
    before = {name: session.conf.get(name, None) for name in QUICK}
    for name, value in QUICK.items():
        session.conf.set(name, value)
    try:
        yield session
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)
