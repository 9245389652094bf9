"""Start one worker process, watch its memory and its clock, and say what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from benchmarks import versions
from benchmarks.case import Contender, Fact
from benchmarks.process import RSS_EVERY, Sampler, within

Status = Literal["done", "timeout", "failed", "missing"]
PREPARE_LIMIT = 600.0  # seconds for everything before the first timed call
CLOSE_LIMIT = 120.0  # seconds from the end of a timed call to the next, or to the end of the process
LOG_TAIL = 3_000  # characters shown of a failed worker's output


@dataclass(frozen=True, slots=True)
class Measurement:
    """One process. Times and CPU per timed call; memory is the family's peak during those calls, in bytes."""

    status: Status
    wall: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()
    rss: int | None = None
    pss: int | None = None
    answers: tuple[Any, ...] = ()
    data: int | None = None  # bytes of the data worked on, where the case tells
    facts: tuple[Fact, ...] = ()
    reason: str = ""
    log: str = ""


def measure(contender: Contender, calls: int, timeout: float) -> Measurement:
    """Run a contender in a fresh process; a timed call that takes longer than ``timeout`` seconds is ended."""
    return measure_together([contender], calls, [timeout])[0]


def measure_together(contenders: Sequence[Contender], calls: int, timeouts: Sequence[float]) -> list[Measurement]:
    """Run contenders by turns in one fresh process, ``calls`` times each; the timeouts are for one timed call of
    each."""
    with tempfile.TemporaryDirectory() as folder:
        events, log = Path(folder, "events"), Path(folder, "log")
        events.touch()
        cases = [{"case": one.case, "params": one.params} for one in contenders]
        spec = {"cases": cases, "calls": calls, "events": str(events)}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", json.dumps(spec)],
                cwd=Path(__file__).resolve().parent.parent,
                env=os.environ | versions.environment(contenders[0].commit),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        sampler = Sampler(psutil.Process(process.pid))
        given_up = ""
        try:
            given_up = _watch(process, sampler, events, timeouts)
        finally:
            sampler.end(patience=10.0 if process.poll() is not None else 0.0)
            process.wait()
        told, text = _read(events), log.read_text(encoding="utf-8", errors="replace")
        return [_summary(told, who, sampler, given_up, process.returncode, text) for who in range(len(contenders))]


def _watch(process: subprocess.Popen[bytes], sampler: Sampler, events: Path, timeouts: Sequence[float]) -> str:
    """Sample until the worker ends; why it had to be given up, or nothing."""
    begin = time.monotonic()
    seen = 0
    last: dict[str, Any] = {}
    while process.poll() is None:
        sampler.sample()
        size = events.stat().st_size
        if size != seen:
            seen, told = size, _read(events)
            last = told[-1] if told else {}
        now = time.monotonic()
        state = last.get("event")
        if state == "start" and now - last["at"] > timeouts[last["who"]]:
            return "timeout"
        if state is None and now - begin > max(PREPARE_LIMIT, *timeouts):
            return "preparation took too long"
        if state == "end" and now - last["at"] > CLOSE_LIMIT:
            return "did not close"
        time.sleep(RSS_EVERY)
    return ""


def _read(events: Path) -> list[dict[str, Any]]:
    """Complete lines only: the worker may be writing."""
    text = events.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _summary(told: list[dict[str, Any]], who: int, sampler: Sampler, given_up: str, code: int, log: str) -> Measurement:
    ends = [event for event in told if event["event"] == "end" and event["who"] == who]
    starts = [event for event in told if event["event"] == "start" and event["who"] == who]
    windows = [(s["at"], e["at"]) for s, e in zip(starts, ends, strict=False)]
    if len(starts) > len(ends):
        windows.append((starts[-1]["at"], float("inf")))
    own_rss = [e["rss"] for e in ends]
    own_pss = [e["pss"] for e in ends if e["pss"] is not None]
    failure = next((event for event in told if event["event"] == "failed"), None)
    finished = bool(told) and told[-1]["event"] == "done"
    status: Status = "done"
    reason = ""
    if (
        not finished
        and ends
        and len(ends) == len(starts)
        and any(e["event"] == "start" and e["who"] != who for e in told[-2:])
    ):
        pass  # another contender of this process was ended or failed; what was measured before stands
    elif given_up:
        status, reason = ("timeout", "") if given_up == "timeout" else ("failed", given_up)
    elif failure is not None:
        reason = failure["reason"]
        status = "missing" if reason.startswith("no module") else "failed"
    elif code != 0 or not finished:
        status, reason = "failed", f"exit code {code}"
    return Measurement(
        status=status,
        wall=tuple(e["wall"] for e in ends),
        cpu=tuple(e["cpu"] for e in ends),
        rss=max([*within(sampler.rss_samples, windows), *own_rss], default=None),
        pss=max([*within(sampler.pss_samples, windows), *own_pss], default=None),
        answers=tuple(e["answer"] for e in ends),
        data=told[-1]["data"][who] if finished else None,
        facts=tuple(Fact(**fact) for fact in told[-1]["facts"][who]) if finished else (),
        reason=reason,
        log="" if status == "done" else log[-LOG_TAIL:],
    )
