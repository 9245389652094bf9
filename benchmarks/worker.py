"""One measurement in a fresh process: ``python -m benchmarks.worker SPEC``, started by ``benchmarks.measure``.

SPEC is JSON: ``cases`` (``case``, that is ``module:Class``, and ``params`` of each), ``calls``, ``events`` (a file).
Cases take turns. One JSON line per event goes to that file, because Spark and its peers write to the standard streams
as they please.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
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
    cases = [Contender("", one["case"], one["params"]).load() for one in spec["cases"]]
    with ExitStack() as opened:
        for case in cases:
            case.prepare()
            opened.callback(case.close)
        for case in cases:
            case.warm()
        for _ in range(spec["calls"]):
            for who, case in enumerate(cases):
                before = cpu_seconds(me)
                _tell(events, event="start", who=who, at=time.monotonic())
                begin = time.perf_counter()
                found = case.run()
                wall = time.perf_counter() - begin
                at = time.monotonic()
                cpu = cpu_seconds(me) - before
                everyone = family(me)
                memory = {"rss": rss(everyone), "pss": pss(everyone)}
                _tell(events, event="end", who=who, at=at, wall=wall, cpu=cpu, **memory, answer=case.in_short(found))
        data = [case.data_bytes() for case in cases]
        facts = [[asdict(fact) for fact in case.facts()] for case in cases]
    _tell(events, event="done", data=data, facts=facts)


def _tell(events: TextIO, **what: Any) -> None:
    events.write(json.dumps(what) + "\n")
    events.flush()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
