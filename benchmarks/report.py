"""The tables a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from benchmarks.case import Comparison
from benchmarks.compare import Record, agree, canonical, difference, ratio

Measured = Sequence[tuple[Comparison, list[Record]]]


def tables(measured: Measured, timeout: float) -> Iterable[Table]:
    """One table: a line per peer, ours repeated beside it."""
    table = Table(
        title="ours / peer: below 1 we are faster; memory is the peak of all processes together", title_justify="left"
    )
    for name in ("case", "ours", "peer", "", "ratio", "bar", "memory ours / peer", "CPU s ours / peer", "answers"):
        table.add_column(name, justify="left" if name in ("case", "peer", "bar", "answers") else "right")
    for comparison, records in measured:
        ours, peers = records[0], records[1:]
        if not peers:
            table.add_row(comparison.title, _time(ours, timeout), "", "", "", "", _memory(ours), _cpu(ours), "")
        for peer in peers:
            found = ratio(ours, peer, timeout)
            bar = peer.contender.bar
            verdict = "" if bar is None or found is None else f"bar {bar:g}: {'met' if found.meets(bar) else 'missed'}"
            table.add_row(
                comparison.title,
                _time(ours, timeout),
                peer.contender.label,
                _time(peer, timeout),
                str(found) if found else "",
                verdict,
                f"{_memory(ours)} / {_memory(peer)}",
                f"{_cpu(ours)} / {_cpu(peer)}",
                _agreement(agree(ours, peer)),
            )
    yield table


def summary(runs: Iterable[tuple[str, Measured, float]], timeout: float) -> Table:
    """A line per target: how often we are faster than another tool, how many bars are met, and how long it took."""
    table = Table(title="all targets", title_justify="left")
    for name in (
        "target",
        "cases",
        "faster / slower than another tool",
        "bars met / missed",
        "answers that differ",
        "minutes",
    ):
        table.add_column(name, justify="left" if name == "target" else "right")
    for target, measured, seconds in runs:
        pairs = [(records[0], peer) for _, records in measured for peer in records[1:]]
        found = [(peer, one) for ours, peer in pairs if (one := ratio(ours, peer, timeout)) is not None]
        faster = [one.meets(1.0) for peer, one in found if not peer.contender.is_ours]
        met = [one.meets(peer.contender.bar) for peer, one in found if peer.contender.bar is not None]
        differ = sum(agree(ours, peer) is False for ours, peer in pairs)
        table.add_row(target, str(len(measured)), _split(faster), _split(met), str(differ), f"{seconds / 60:.1f}")
    return table


def _split(verdicts: list[bool]) -> str:
    return f"{sum(verdicts)} / {len(verdicts) - sum(verdicts)}"


def memory_lines(measured: Measured) -> list[str]:
    """Peaks of memory as multiples of the data, for cases that tell its size."""
    return [
        f"peak / encoded size, {comparison.title}, {record.contender.label}: {record.over_data:.3g} "
        f"({_memory(record)} / {record.data / 2**20:,.0f} MiB)"
        for comparison, records in measured
        for record in records
        if record.over_data is not None and record.data is not None
    ]


def fact_lines(measured: Measured) -> list[str]:
    """What was measured beside time."""
    return [
        f"{comparison.title}, {record.contender.label}: {fact}"
        for comparison, records in measured
        for record in records
        for fact in record.facts
    ]


def problems(measured: Measured) -> list[Panel]:
    """What must not be overlooked: different answers, answers that change, contenders that broke down."""
    found = []
    for comparison, records in measured:
        for record in records:
            label = f"{comparison.title}, {record.contender.label}"
            if record.failure is not None and (record is records[0] or record.failure.status == "failed"):
                found.append(problem(f"{label}: {record.failure.status}, {record.failure.reason}"))
            if len({canonical(a) for a in record.answers}) > 1:
                found.append(
                    problem(
                        f"{label}: the answer changes from run to run",
                        *difference(record.answers[0], record.answers[-1]),
                    )
                )
            elif record is not records[0] and agree(records[0], record) is False:
                found.append(
                    problem(
                        f"{label}: ANSWERS DIFFER (ours / theirs)",
                        *difference(records[0].answers[0], record.answers[0]),
                    )
                )
    return found


def problem(title: str, *lines: str) -> Panel:
    """Something that must not be overlooked."""
    return Panel(Text("\n".join([title, *lines])), border_style="bold red", title="PROBLEM")


def _time(record: Record, timeout: float) -> str:
    if record.timed_out:
        return f"> {record.contender.limit(timeout):g} s"
    if record.failure is not None:
        return record.failure.reason if record.failure.status == "missing" else "failed"
    return "" if record.median is None else f"{record.median:.3g} s"


def _memory(record: Record) -> str:
    return "-" if record.memory is None else f"{record.memory / 2**20:,.0f} MiB"


def _cpu(record: Record) -> str:
    return f"{sorted(record.cpus)[len(record.cpus) // 2]:.3g}" if record.cpus else "-"


def _agreement(same: bool | None) -> Text:
    return {True: Text("agree", "green"), False: Text("DIFFER", "bold red"), None: Text("not compared", "dim")}[same]
