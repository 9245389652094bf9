"""Puts what was measured on a cluster into the page about Spark, and an estimate made from it: no figure there is typed
by hand.

The page has the figures itself, between marks, so that they are seen in the repository too: ``python
docs/hooks/cluster.py`` writes them anew, and a test holds that they are those of the results.
"""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
PAGE = Path(__file__).parents[1] / "spark.md"
NOTHING = "No results have been recorded yet: `make bench T=cluster`."
ONE_THREAD, TWO_THREADS, ONE_WORKER, TWO_WORKERS = (
    f"rowlaw, {who}" for who in ("one thread", "two threads", "one worker", "two workers")
)

ROWS = 10**9
MACHINES, CORES = 4, 16  # of the cluster that the estimate is for, and cores of each machine
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s
WORKER_MEMORY = 16e9  # bytes
FEW = 4  # rules that are most of the work of checking
RULES = 1_000  # denial constraints that discovery asks about
PARTITION_BYTES = 8  # a row and column: its place in order, and among those that share its value

Document = dict[str, Any]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    for name, part in (("cluster", phases), ("billion", estimate)):
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if begin in markdown and end in markdown:
            before, _, rest = markdown.partition(begin)
            markdown = f"{before}{begin}\n\n{part(RESULTS)}\n\n{end}{rest.partition(end)[2]}"
    return markdown


def phases(folder: Path = RESULTS) -> str:
    """A line for each phase."""
    found = _read(folder, "cluster")
    if found is None:
        return NOTHING
    head = ["phase", "rows", "one thread", "two threads", "one worker", "two workers", "growth", "Spark over kernels"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for comparison in found["comparisons"]:
        by = {one["label"]: one for one in comparison["contenders"]}
        walls = [by[label]["median_seconds"] for label in (ONE_THREAD, TWO_THREADS, ONE_WORKER, TWO_WORKERS)]
        cells = [
            comparison["name"],
            f"{comparison['size']:,}",
            *(f"{seconds:.2f} s" if seconds else "failed" for seconds in walls),
        ]
        over = _cpu(by[ONE_WORKER]) / _cpu(by[ONE_THREAD]) if walls[0] and walls[2] else None
        cells += [f"{walls[3] / walls[2]:.2f}" if walls[2] and walls[3] else "", f"{over:.2f}" if over else ""]
        lines.append("| " + " | ".join(cells) + " |")
    machine = found["machine"]
    where = (
        f"{found['when']}; {machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB, load "
        f"{machine['load_before']} before"
    )
    return "\n".join(lines) + f"\n\n{where}."


def estimate(folder: Path = RESULTS) -> str:
    """What a billion rows would take, with every assumption said."""
    measured, checked = _read(folder, "cluster"), _read(folder, "check")
    if measured is None or checked is None:
        return NOTHING
    known = {comparison["name"]: comparison for comparison in measured["comparisons"]}
    try:
        return _estimate(known, _growth(checked), _bytes_of_a_row(checked))
    except (KeyError, StopIteration):  # a run of some cases only
        return NOTHING


def _estimate(known: dict[str, Document], growth: float, row_bytes: float) -> str:
    cores = MACHINES * CORES
    encode, check, look, validate, pairs = (_Measured(known[name]) for name in _NAMES)
    columns = encode.answer["columns"]
    codes = encode.answer["code_bytes"] / encode.rows * ROWS
    values = encode.answer["value_bytes"] / encode.rows * ROWS
    reading = encode.cpu(ONE_WORKER) / encode.rows * ROWS
    tens = _tens(check.rows)
    counting = check.cpu(ONE_WORKER) * growth**tens
    asking = look.cpu(ONE_WORKER) / look.answer["rules"] * RULES * growth ** _tens(look.rows)
    validating = validate.cpu(ONE_WORKER) * 10 ** _tens(validate.rows)
    years = pairs.cpu(ONE_WORKER) / pairs.rows**2 * ROWS**2 / cores / (365 * 86_400)
    each = look.cpu(ONE_WORKER) / look.answer["rules"] / look.rows * 1e6
    steps = [
        ["encoded table", f"{codes / ROWS:.0f} bytes a row, measured", "", _gb(codes)],
        [
            "distinct values",
            "as many for each row as measured: an upper bound, as values repeat in more rows",
            "",
            _gb(values),
        ],
        ["disk while encoding", "local codes and ordered codes", "", _gb(2 * codes + values)],
        [
            "encode",
            (
                f"{reading / ROWS * 1e6:.2f} CPU s for a million rows; all cores read, one core merges each of "
                f"{columns} columns"
            ),
            _time(reading),
            f"{_time(reading / cores)} to {_time(reading / columns)}",
        ],
        [
            "send the codes to machines with other disks",
            f"{MACHINES} times {_gb(codes)} through the driver's 10 Gbit/s",
            "",
            _time(MACHINES * codes / NETWORK),
        ],
        [
            "check 20 rules",
            f"{check.cpu(ONE_WORKER):.1f} CPU s measured, {growth:.1f} times as long for ten times the rows",
            _time(counting),
            f"{_time(counting / cores)} to {_time(counting / FEW)}, if {FEW} rules that are not cut are most of it",
        ],
        [
            "memory of a task that counts",
            f"{row_bytes:.0f} bytes a row, measured from one to ten million",
            "",
            f"{_gb(row_bytes * ROWS)} for each rule at work on a machine",
        ],
        [
            "validate functional dependencies",
            f"{validate.answer['laws']} laws; linear",
            _time(validating),
            _time(validating / cores),
        ],
        [
            "memory of a worker that validates",
            f"{PARTITION_BYTES} bytes for each row and column in use",
            "",
            f"{_gb(PARTITION_BYTES * ROWS * columns)} for each worker",
        ],
        [
            f"look for counterexamples to {RULES:,} rules",
            (
                f"a round of discovery; {each:.2f} CPU s for a rule and a million rows, growing as above; "
                f"{look.answer['broken']} of the {look.answer['rules']} measured were broken, and one that holds "
                "takes longer"
            ),
            _time(asking),
            _time(asking / cores),
        ],
        ["compare all pairs", "never chosen: the estimate sends discovery to samples", "", f"{years:,.0f} years"],
    ]
    head = ["step", "from", "on one core", f"on {cores} cores"]
    table = "\n".join(
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(line) + " |" for line in steps)]
    )
    fits = WORKER_MEMORY / (PARTITION_BYTES * columns)
    return f"""For a table like the one measured ({columns} columns of people and taxes) on {MACHINES} machines of
{CORES} cores that are as fast as this one, with nothing else running, files on shared storage that keeps up, and
no task lost. Nothing of this size was run.

{table}

There is no shuffle: workers never exchange rows. What moves is the table, from its files to codes; maps from local to
common codes; and answers.

So *checking* a billion rows is within reach of such a cluster, given machines with memory for a few rules at once.
*Validating dependencies* is bound by the memory of a worker, not by time: with {_gb(WORKER_MEMORY)} for each, about
{fits / 1e6:,.0f} million rows of {columns} columns. *Denial constraints* can be asked about at that size, but the
driver has to sort all rows once and ask in rounds.
*Upkeep* is for tables that one machine holds."""


_NAMES = (
    "encode",
    "check 20 rules",
    "look for counterexamples",
    "validate functional dependencies",
    "compare all pairs",
)


class _Measured:
    """A phase and what its contenders took."""

    def __init__(self, comparison: Document) -> None:
        self.rows: int = comparison["size"]
        self._by = {one["label"]: one for one in comparison["contenders"]}
        self.answer: Document = self._by[ONE_WORKER]["answer"]

    def cpu(self, label: str) -> float:
        return _cpu(self._by[label])


def _cpu(contender: Document) -> float:
    return statistics.median(contender["cpu_seconds"])


def _tens(rows: int) -> float:
    """How many times tenfold it is from so many rows to the estimate's."""
    return math.log10(ROWS / rows)


def _series(checked: Document) -> dict[str, dict[int, Document]]:
    """Cases of one rule at several sizes."""
    found: dict[str, dict[int, Document]] = {}
    for comparison in checked["comparisons"]:
        one = comparison["contenders"][0]
        if comparison["name"].startswith("growth") and one["median_seconds"]:
            found.setdefault(comparison["name"], {})[comparison["size"]] = one
    return {name: sizes for name, sizes in found.items() if len(sizes) > 1}


def _growth(checked: Document) -> float:
    """How much longer the rule that grows most takes for ten times the rows; ten at least."""
    factors = [
        (sizes[max(sizes)]["median_seconds"] / sizes[min(sizes)]["median_seconds"])
        ** (1 / math.log10(max(sizes) / min(sizes)))
        for sizes in _series(checked).values()
    ]
    return max([10.0, *factors])


def _bytes_of_a_row(checked: Document) -> float:
    """By how much the peak of memory grows with a row, for the rule with which it grows most."""
    return max(
        (sizes[max(sizes)]["peak_pss_bytes"] - sizes[min(sizes)]["peak_pss_bytes"]) / (max(sizes) - min(sizes))
        for sizes in _series(checked).values()
    )


def _read(folder: Path, target: str) -> Document | None:
    path = folder / "summary.json"
    return json.loads(path.read_text(encoding="utf-8")).get(target) if path.exists() else None


def _gb(number: float) -> str:
    return f"{number / 1e9:,.0f} GB"


def _time(seconds: float) -> str:
    """For people.

    >>> _time(30.0), _time(600.0), _time(9000.0)
    ('30 s', '10 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


if __name__ == "__main__":
    PAGE.write_text(on_page_markdown(PAGE.read_text()))
