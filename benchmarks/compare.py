"""Turn measurements into statements: medians, ratios with their spread, bounds where somebody ran out of time,
agreement."""

from __future__ import annotations

import hashlib
import json
import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.case import Comparison, Contender, Fact
from benchmarks.measure import Measurement

ANSWER_LIMIT = 2_000  # characters of an answer kept in the results; a longer one is kept as its digest


@dataclass(slots=True)
class Record:
    """All measurements of one contender in one comparison, one per round."""

    contender: Contender
    rounds: list[Measurement] = field(default_factory=list)

    @property
    def walls(self) -> list[float]:
        """Seconds of each finished round: the median of its calls."""
        return [statistics.median(m.wall) for m in self.rounds if m.status == "done"]

    @property
    def cpus(self) -> list[float]:
        return [statistics.median(m.cpu) for m in self.rounds if m.status == "done"]

    @property
    def median(self) -> float | None:
        return statistics.median(self.walls) if self.walls else None

    @property
    def gave_up(self) -> bool:
        """Whether there is a bound instead of a time, or nothing at all; such a contender is not tried again."""
        return any(m.status != "done" for m in self.rounds)

    @property
    def timed_out(self) -> bool:
        return any(m.status == "timeout" for m in self.rounds)

    @property
    def failure(self) -> Measurement | None:
        return next((m for m in self.rounds if m.status in ("failed", "missing")), None)

    def peak(self, kind: str) -> int | None:
        return max((value for m in self.rounds if (value := getattr(m, kind)) is not None), default=None)

    @property
    def memory(self) -> int | None:
        """Peak in bytes: PSS where the system tells it, else RSS."""
        return self.peak("pss") or self.peak("rss")

    @property
    def data(self) -> int | None:
        """Bytes of the data worked on, where the case tells."""
        return self.peak("data")

    @property
    def over_data(self) -> float | None:
        """The peak of memory as a multiple of the data."""
        return self.memory / self.data if self.memory and self.data else None

    @property
    def facts(self) -> list[Fact]:
        """What else was measured, each in its worst round."""
        worst: dict[str, Fact] = {}
        for fact in (fact for m in self.rounds for fact in m.facts):
            if fact.name not in worst or fact.value > worst[fact.name].value:
                worst[fact.name] = fact
        return list(worst.values())

    @property
    def answers(self) -> list[Any]:
        return [answer for m in self.rounds for answer in m.answers if answer is not None]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Our time divided by a peer's: of the medians, and the least and the most of the rounds; or a bound."""

    value: float
    low: float
    high: float
    bound: str = ""  # "<" when the peer ran out of time, ">" when we did

    def __str__(self) -> str:
        if self.bound:
            return f"{self.bound} {self.value:.3g}"
        return f"{self.value:.3g} ({self.low:.3g}..{self.high:.3g})"

    def meets(self, bar: float) -> bool:
        return self.value <= bar and self.bound != ">"


def ratio(ours: Record, peer: Record, timeout: float) -> Ratio | None:
    """How our time compares, or None when that cannot be said."""
    if ours.timed_out and peer.median is not None:
        value = ours.contender.limit(timeout) / peer.median
        return Ratio(value, value, value, ">")
    if ours.median is None:
        return None
    if peer.timed_out:
        value = ours.median / peer.contender.limit(timeout)
        return Ratio(value, value, value, "<")
    if peer.median is None:
        return None
    rounds = [a / b for a, b in zip(ours.walls, peer.walls, strict=False)]
    return Ratio(ours.median / peer.median, min(rounds), max(rounds))


def canonical(answer: Any) -> str:
    return json.dumps(answer, sort_keys=True, ensure_ascii=False)


def agree(first: Record, second: Record) -> bool | None:
    """Whether all answers of both are the same; None when one of them gave none."""
    if not first.answers or not second.answers:
        return None
    return len({canonical(a) for a in first.answers + second.answers}) == 1


def difference(first: Any, second: Any, limit: int = 8) -> list[str]:
    """Where two answers differ, briefly.

    >>> difference({"rows": 3, "a": 1}, {"rows": 4, "a": 1})
    ['rows: 3 / 4']
    """
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [k for k in {**first, **second} if first.get(k) != second.get(k)]
        lines = [
            f"{k}.{line}" if ":" in line and isinstance(first.get(k), dict) else f"{k}: {line}"
            for k in keys
            for line in difference(first.get(k), second.get(k), limit)
        ]
        return lines[:limit]
    if isinstance(first, list) and isinstance(second, list):
        left, right = {canonical(a) for a in first}, {canonical(a) for a in second}
        lines = [f"only ours: {a[:200]}" for a in sorted(left - right)] + [
            f"only theirs: {a[:200]}" for a in sorted(right - left)
        ]
        return (lines or [f"{len(first)} / {len(second)} entries, in another order or number"])[:limit]
    return [f"{canonical(first)[:200]} / {canonical(second)[:200]}"]


def growth(seconds: dict[int, float], bar: float | None = None, axis: str = "rows") -> str | None:
    """How times grow from the smallest to the largest size; ``bar`` is for ten times the size.

    >>> growth({100: 1.0, 1_000: 12.0}, bar=13.0)
    '12 times the time for 10 times the rows; bar 13: met'
    """
    if len(seconds) < 2:
        return None
    small, large = min(seconds), max(seconds)
    found = seconds[large] / seconds[small]
    verdict = f"; bar {bar:g}: {'met' if found <= bar else 'missed'}" if bar is not None and large == 10 * small else ""
    return f"{found:.3g} times the time for {large / small:.3g} times the {axis}{verdict}"


def to_json(comparison: Comparison, records: list[Record], timeout: float) -> dict[str, Any]:
    """One comparison as plain data."""
    ours = records[0]
    entries = []
    for record in records:
        entry: dict[str, Any] = {
            "label": record.contender.label,
            "params": record.contender.params,
            "seconds": record.walls,
            "median_seconds": record.median,
            "cpu_seconds": record.cpus,
            "peak_rss_bytes": record.peak("rss"),
            "peak_pss_bytes": record.peak("pss"),
            "answer": _kept(record.answers[-1]) if record.answers else None,
        }
        if record.timed_out:
            entry["timeout_seconds"] = record.contender.limit(timeout)
        if record.failure is not None:
            entry["failed"] = record.failure.reason
        if record.over_data is not None:
            entry |= {"data_bytes": record.data, "peak_over_data": record.over_data}
        if record.facts:
            entry["facts"] = [asdict(fact) for fact in record.facts]
        if record is not ours:
            found = ratio(ours, record, timeout)
            if found is not None:
                entry["ratio"] = {
                    "value": found.value,
                    "min": found.low,
                    "max": found.high,
                    "bound": found.bound or None,
                }
                if record.contender.bar is not None:
                    entry["bar"] = {"at_most": record.contender.bar, "met": found.meets(record.contender.bar)}
            entry["answers_agree"] = agree(ours, record)
        entries.append(entry)
    return {
        "name": comparison.name,
        "size": comparison.size,
        "axis": comparison.axis,
        "growth_bar": comparison.growth_bar,
        "contenders": entries,
    }


def _kept(answer: Any) -> Any:
    text = canonical(answer)
    return (
        answer
        if len(text) <= ANSWER_LIMIT
        else {"sha256": hashlib.sha256(text.encode()).hexdigest(), "characters": len(text)}
    )
