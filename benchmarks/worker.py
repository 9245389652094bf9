"""One measurement in a fresh process: ``python -m benchmarks.worker SPEC``, started by ``benchmarks.measure``.

SPEC is JSON: ``case`` (``module:Class``), ``params``, ``calls``, ``events`` (a file). One JSON line per event goes to that file, because
Spark and its peers write to the standard streams as they please.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, TextIO

import psutil

from benchmarks.case import Contender
from benchmarks.process import cpu_seconds, family, pss, rss


def main(spec: dict[str, Any]) -> int:
    with open(spec["events"], "a", encoding="utf-8") as events:
        try:
            _work(spec, events)
        except ModuleNotFoundError as error:
            _tell(events, event="failed", reason=f"no module {error.name}")
            raise
        except BaseException as error:
            _tell(events, event="failed", reason=type(error).__name__)
            raise
    return 0


def _work(spec: dict[str, Any], events: TextIO) -> None:
    me = psutil.Process()
    case = Contender("", spec["case"], spec["params"]).load()
    case.prepare()
    try:
        case.warm()
        for _ in range(spec["calls"]):
            before = cpu_seconds(me)
            _tell(events, event="start", at=time.monotonic())
            begin = time.perf_counter()
            found = case.run()
            wall = time.perf_counter() - begin
            at = time.monotonic()
            cpu = cpu_seconds(me) - before
            everyone = family(me)
            _tell(events, event="end", at=at, wall=wall, cpu=cpu, rss=rss(everyone), pss=pss(everyone), answer=case.in_short(found))
        data = case.data_bytes()
    finally:
        case.close()
    _tell(events, event="done", data=data)


def _tell(events: TextIO, **what: Any) -> None:
    events.write(json.dumps(what) + "\n")
    events.flush()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
