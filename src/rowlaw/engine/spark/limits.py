"""How much work goes into one task, and when a plan pays. All numbers that the plans choose by are here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SparkLimits:
    """Limits of the plans. Tests set them so low that small tables go through every plan."""

    task_bytes: int = 192 << 20  # Arrow data of one Python task; encoding and counting take about three times as much
    group_share: float = 1.0  # a group with more rows than this share of a task's rows is cut by buckets
    histogram_cells: int = 1 << 20  # cells of the histogram of buckets that the driver sums up
    sample_rows: int = 50_000  # rows that large groups and borders of buckets are estimated from
    learnt_rows: int = 60_000  # rows that discovery takes evidence from, at most about so many
    buckets: int = 64  # of each compared column, at most
    fold_share: float = 0.2  # distinct rows of a fold, as a share of the table's rows: more are not worth the way
    driver_bytes: int = 256 << 20  # encoded columns that may be brought to the driver (DESIGN 4.6)


ROW_OVERHEAD = 16  # bytes of a row in Arrow beside its values: role, number, offsets
VALUE_BYTES = {"number": 8, "boolean": 1, "date": 4, "timestamp": 8, "text": 24}  # bytes of a value in Arrow; texts on average
